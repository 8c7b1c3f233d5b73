"""Pages for readers speak of what is there: every file and every name in them exists, and the theory that code cites."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
DOCS = ROOT / "docs"
SITE = [page for page in sorted(DOCS.rglob("*.md")) if "gallery" not in page.parts]
# Those that speak of our own code: tutorials and guides from other libraries have names of their readers and of others.
PAGES = [page for page in SITE if page.parent.name in ("guides", "explanation", "decisions") and "coming_from" not in page.name]
ROOTS = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES += ROOTS
CITED = re.compile(r"docs/theory/(\w+\.md)(?:,\s+(?:sections?\s+)?(\d+)(?:(?:\s+(?:and|to)\s+|,\s+)(\d+)\b)?)?")
# Files that a recipe has its reader write.
EXAMPLES = {"ring.py", "spec.json", "release.json", "tables.json", "NAME.release.json"}


def test_files_that_a_page_names_exist() -> None:
    for page in PAGES:
        named = set(re.findall(r"`([\w./]+\.(?:py|json|toml|md))`", page.read_text()))
        missing = [name for name in named if not (page.parent / name).exists() and f"/{name}" not in ends(name)]
        assert [name for name in missing if Path(name).name not in EXAMPLES] == [], page


@cache
def code() -> dict[Path, str]:
    """The text of every file of the program and of its tests, read once a run."""
    return {path: path.read_text() for place in ("designer", "solvers", "tests") for path in (ROOT / place).rglob("*.py")}


@cache
def files() -> list[Path]:
    """Those that a page may name, from the root on."""
    places = ("designer", "solvers", "tests", "docs", "benchmarks", "examples")
    found = [*(path for place in places for path in (ROOT / place).rglob("*.*")), *ROOT.glob("*.*")]
    return [path.relative_to(ROOT) for path in found]


def ends(name: str) -> set[str]:
    """Of the paths of files, from the root on, the last parts: as many as the name has."""
    parts = name.count("/") + 1
    return {"/" + "/".join(path.parts[-parts:]) for path in files() if len(path.parts) >= parts}


def test_names_that_a_page_gives_in_code_are_in_the_source() -> None:
    known = {word for text in code().values() for word in re.findall(r"\w+", text)}
    for page in PAGES:
        prose = re.sub("```.*?```", "", page.read_text(), flags=re.DOTALL)
        names = set(re.findall(r"`([A-Za-z_]\w{5,})(?:\(.*?\))?`", prose))
        assert [name for name in names if name not in known and not (ROOT / "designer" / name).exists()] == [], page


def test_links_of_a_page_lead_somewhere() -> None:
    """As a view of the repository follows them; the site holds more than files, and is checked where it is built."""
    for page in [*SITE, *ROOTS, ROOT / "README.md"]:
        targets = re.findall(r"\]\(([^)#]+)", page.read_text())
        assert [t for t in targets if not t.startswith("https://") and not (page.parent / t).exists()] == [], page


def _missing_names(text: str) -> list[str]:
    """The names below `designer` in a text that are neither a module nor in one; `.name` after a name is its sibling."""
    missing, folder = [], ""
    for name in re.findall(r"`(designer(?:\.\w+)+|\.[a-z_]+)`", text):
        if name.startswith(".") and not folder:
            continue
        whole = f"{folder}{name}" if name.startswith(".") else name
        folder = whole.rpartition(".")[0]
        try:
            pkgutil.resolve_name(whole)
        except (ImportError, AttributeError):
            missing.append(whole)
    return missing


def test_modules_that_a_page_names_are_there() -> None:
    assert [(page, name) for page in SITE for line in page.read_text().splitlines() for name in _missing_names(line)] == []


def test_a_module_that_is_not_there_is_found_missing() -> None:
    assert _missing_names("`designer.tradeoff.account`, `.functions`, `.subsampled`") == ["designer.tradeoff.subsampled"]
    assert _missing_names("`designer.files` and `designer.metrics.uniform`") == []


def test_every_word_of_the_glossary_has_one_entry() -> None:
    glossary = (DOCS / "explanation" / "glossary.md").read_text()
    words = re.findall(r"^\| ([^|]+?) \| ", glossary, re.MULTILINE)[1:]
    entries = [word for word in words if set(word) != {"-"}]
    assert len(entries) == len(set(entries)) and entries == sorted(entries)
    forms = {form for word in entries for form in (word, word + "s", word + "es", word[:-1] + "ies")}
    assert {used for used in re.findall(r"\*([a-z -]+)\*", glossary) if used != "italics"} <= forms


def test_cited_theory_exists() -> None:
    """`docs/theory/name.md, section n` leads to a heading `## n. ...` of that page."""
    cited = {found for path, text in code().items() if (ROOT / "tests") not in path.parents for found in CITED.findall(text)}
    assert len(cited) > 100
    for page, *numbers in sorted(cited):
        text = (DOCS / "theory" / page).read_text()
        for number in filter(None, numbers):
            assert re.search(rf"^## {number}\. ", text, re.MULTILINE), f"{page}, section {number}"
