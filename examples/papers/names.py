"""The public name that gives each item of a paper, and the page of the reference where it stands.

`names/dx.txt` has a line for each item: the item, a bar, and dotted names; `designer.design:k_norm` is
`design(problem, "k_norm")`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

FOLDER = Path(__file__).parent / "names"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
DIRECTIVE = re.compile(r"^\.\. auto(?:function|class|exception|data):: ([\w.]+)$", re.MULTILINE)


@cache
def names_of(key: str) -> dict[str, tuple[str, ...]]:
    """The names of each item of a paper."""
    lines = (line.partition(" | ") for line in (FOLDER / f"{key}.txt").read_text().splitlines())
    return {item: tuple(names.split()) for item, _, names in lines}


@cache
def _pages() -> dict[str, str]:
    """Each entry of the reference, and the page where it stands."""
    found: dict[str, str] = {}
    for page in sorted(REFERENCE.glob("*.md")):
        for name in DIRECTIVE.findall(page.read_text()):
            found.setdefault(name, page.name)
    return found


def page_of(name: str) -> str | None:
    """The page of the reference with the entry of a name, of the class that has it, or of the same object under another name;
    None where there is none."""
    called = name.partition(":")[0]
    while called.count(".") > 1 or called in _pages():
        if called in _pages():
            return _pages()[called]
        thing = resolve_name(called)
        same = [page for entry, page in _pages().items() if callable(thing) and resolve_name(entry) is thing]
        if same:
            return same[0]
        called = called.rpartition(".")[0]
    return None


def written(name: str) -> str:
    """A link to the reference, which reads as the name is called."""
    called, _, family = name.partition(":")
    text = f'design(problem, "{family}")' if family else called
    return f"[`{text}`](../reference/{page_of(name)})"
