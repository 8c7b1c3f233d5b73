"""The pages that the program's texts name, such as "docs/theory/foundations.md", where the program is installed.

`python -m designer.files.shipped` lists their paths.
"""

from __future__ import annotations

from pathlib import Path

from designer.base.checks import shown
from designer.base.errors import InvalidProblem

PACKAGE = Path(__file__).parent.parent
PARTS = ("tutorials", "guides", "explanation", "theory", "papers")  # folders of docs/ whose pages are shipped


def documents() -> dict[str, Path]:
    """The path of every page, by the name that texts give it."""
    docs = PACKAGE / "docs"
    found = sorted([*docs.glob("*.md"), *(page for part in PARTS for page in (docs / part).rglob("*.md"))])
    return {path.relative_to(PACKAGE).as_posix(): path for path in found}


def document(name: str) -> Path:
    """The file of that name.

    >>> document("docs/theory/foundations.md").name
    'foundations.md'
    """
    known = documents()
    if name not in known:
        raise InvalidProblem(f"document: {shown(name)} is none of {list(known)}.", value=name)
    return known[name]


if __name__ == "__main__":
    print(*documents().values(), sep="\n")
