"""What a line of a page becomes: no wrapped line of a sentence is a quotation or a list, and no code has backslashes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

markdown_it = pytest.importorskip("markdown_it")
ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "SECURITY", "CONTRIBUTING"))]
OPENS = ("blockquote_open", "bullet_list_open", "ordered_list_open", "heading_open", "hr")
PARSER = markdown_it.MarkdownIt("commonmark").enable("table")


def broken(text: str) -> list[str]:
    """Lines at which a block begins in the middle of a paragraph; a block that is meant has an empty line above it."""
    lines = text.split("\n")
    found = []
    for token in PARSER.parse(re.sub(r"\A---\n.*?\n---\n", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)):
        if token.type == "blockquote_open" or token.type in OPENS:
            start = token.map[0]
            above = lines[start - 1].strip() if start else ""
            titled = re.fullmatch(r"- \*\*[^*]+\*\*", above)  # an item that is a title, above its own items
            if above and not titled and not above.startswith(("```", "<!--", ":::", "(")):
                found.append(f"{start + 1}: {lines[start].strip()[:80]}")
    return found


def test_the_check_sees_what_it_is_for() -> None:
    for marker in (">", "+", "-", "*", "1."):
        assert broken(f"A sum of\n{marker} so and so.\n") == [f"2: {marker} so and so."]
    assert broken("Text.\n\n- one\n- two\n  goes on\n\n1. first\n\n   - inner\n") == []
    assert broken("1. one, J\n   >= j) = a^j\n") != [] and broken("- one\n\n  and a\n  > b\n") != []


def test_no_line_of_a_sentence_becomes_a_block_and_no_code_has_an_escape() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert broken(text) == [], page
        for token in PARSER.parse(text):
            codes = [child.content for child in token.children or () if child.type == "code_inline"]
            assert not [code for code in codes if re.search(r"\\[_*|<>\[\]]", code)], (page, token.map, codes)
