"""The pages and schemas that the program's texts name, such as "docs/theory/foundations.md", where the program is installed.

`python -m designer.files.documents` lists their paths, so that an editor can be pointed at a schema.
"""

from __future__ import annotations

from pathlib import Path

from designer.errors import InvalidProblem
from designer.values.checks import shown

PACKAGE = Path(__file__).parent.parent
PAGES = ("exchange.md", "other_languages.md", "programs.md")


def documents() -> dict[str, Path]:
    """The path of every page of theory, every schema, and the pages that texts name, by the name that they give it."""
    docs = PACKAGE / "docs"
    found = sorted([*docs.glob("*.json"), *(docs / "theory").glob("*.md"), *(docs / page for page in PAGES)])
    return {path.relative_to(PACKAGE).as_posix(): path for path in found}


def document(name: str) -> Path:
    """The file of that name.

    >>> document("docs/theory/foundations.md").name
    'foundations.md'
    """
    known = documents()
    if name not in known:
        raise InvalidProblem(f"document: {shown(name)} is none of {list(known)}.")
    return known[name]


if __name__ == "__main__":
    print(*documents().values(), sep="\n")
