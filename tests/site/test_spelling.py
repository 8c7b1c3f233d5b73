"""Words are spelt right, and in one way: pages, docstrings and comments by codespell, and British forms on pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "gallery" not in path.parts]
PAGES += [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
SKIPPED = "*.json,*.csv,*.svg,*.parquet,*.ipynb,*/docs/gallery/*"
MEANT = "linz,whis,nd,sav"  # a town, the ends of whiskers, North Dakota, a file of SPSS
AMERICAN = re.compile(
    r"\b(?:(?:optim|minim|maxim|normal|random|general|summar|organ|recogn|real|emphas|factor|penal|special|symbol|util)"
    r"iz(?:e[srd]?|ing|ation\w*)|analyz\w*|colors?|centers?|behaviors?|neighbor\w*|favor\w*|labeled|modeling|gray|artifacts?)\b",
    re.IGNORECASE,
)


def prose(text: str) -> str:
    """The words of a page, its code and its titles of other people's works left out."""
    return re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|\"[^\"]*\"|^    .*$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_codespell_finds_nothing() -> None:
    places = [*PAGES, *(ROOT / name for name in ("designer", "solvers", "examples", "benchmarks"))]
    command = [sys.executable, "-m", "codespell_lib", "-L", MEANT, "--skip", SKIPPED]
    done = subprocess.run([*command, *map(str, places)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


OWN = [page for page in PAGES if page.parent.name != "papers" and page.name != "benchmarks.md"]  # those quote titles and words


def test_words_have_their_british_form() -> None:
    assert [(page, found) for page in OWN if (found := AMERICAN.findall(prose(page.read_text(encoding="utf-8"))))] == []


def test_american_forms_are_found_in_words_and_not_in_code() -> None:
    assert AMERICAN.findall(prose("We optimize the neighbors' `color` of [grey](gray.md) size.")) == ["optimize", "neighbors"]
    assert AMERICAN.findall(prose("`optimize` and\n\n    center\n\n```python\ncolor = 1\n```\n")) == []
