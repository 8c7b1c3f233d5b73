"""Pages of the site that are put together from several files of this folder.

The files stay small, because certificates and source comments cite them by name and section; the site joins what is read
together. `PARTS` says which files follow which page. Links to a part lead to its place in the page that holds it.
"""

from __future__ import annotations

import re
from os.path import normpath, relpath
from pathlib import Path, PurePosixPath

from derived import with_tables

HERE = Path(__file__).parent
PARTS = {
    "guides/on_the_command_line": ["guides/in_python"],
    "guides/composition": ["guides/ledger"],
    "guides/tables_out": ["guides/spark"],
    "guides/reports": ["guides/pictures"],
    "guides/exchange": ["guides/other_languages"],
    "guides/programs": ["guides/for_a_paper"],
    "explanation/auditing": ["explanation/trust"],
    "explanation/architecture": [
        f"explanation/decisions/{name}"
        for name in (
            "index",
            "integers_on_a_grid",
            "closed_lists",
            "checks_of_fields",
            "libraries",
            "families_that_stay",
            "own_solvers",
            "power_of_two_steps",
            "certificates_in_rationals",
            "names_instead_of_positions",
            "versions_of_files",
            "signed_bytes",
            "documentation_site",
        )
    ],
    "reference/problems": [
        "reference/metrics",
        "reference/invariants",
        "reference/lattices",
    ],
    "reference/designing": ["reference/mechanisms", "reference/programs"],
    "reference/tables": [
        f"reference/{name}"
        for name in ("policies", "marginals", "structured", "selection", "own_reports")
    ],
    "reference/promises": ["reference/composition", "reference/ledger"],
    "reference/files": [
        "reference/drawings",
        "reference/datasets",
        "reference/exchange",
    ],
    "reference/errors": ["reference/extend"],
    "theory/foundations": [
        f"theory/{name}" for name in ("million", "hull", "sampling", "intervals")
    ],
    "theory/protection": [
        f"theory/{name}" for name in ("metrics", "invariants", "records", "entities")
    ],
    "theory/guarantees": [
        f"theory/{name}" for name in ("tradeoff", "approximate", "composition")
    ],
    "theory/least_noise": ["theory/staircase", "theory/readings", "theory/biased"],
    "theory/noise": [
        f"theory/{name}"
        for name in ("scales", "ellipsoid", "bundles", "strategies", "lattice")
    ],
    "theory/large_tables": [
        f"theory/{name}"
        for name in ("marginals", "structured", "tables", "record_design")
    ],
    "theory/other_answers": [
        f"theory/{name}"
        for name in ("selection", "synthetic", "statistical", "own_reports", "columns")
    ],
}
# For those who have the source: neither on the site nor part of a page of it.
REPOSITORY = ("explanation/where_things_are",)
HOST = {part: page for page, parts in PARTS.items() for part in parts}
FENCE = re.compile(r"^ *(```+|~~~+|:::+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(
    r"(?P<text>\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<path>[^()\s:#]+\.\w+)(?P<anchor>#[^()\s]*)?\)"
)


def place(part: str) -> str:
    """The anchor of a part in its page."""
    return part.replace("/", "-").replace("_", "-")


def led(text: str, source: str, page: str) -> str:
    """A file's text with its links as they are on the page: `source` is the file, `page` where it is read, from the root.

    >>> led("see [lattices](lattice.md) and [this](images/a.svg)", "docs/theory/hull", "docs/theory/foundations")
    'see [lattices](noise.md#theory-lattice) and [this](images/a.svg)'
    >>> led("[walks](docs/explanation/where_things_are.md)", "CONTRIBUTING", "CONTRIBUTING")
    'walks (`docs/explanation/where_things_are.md`)'
    """

    def leads(link: re.Match[str]) -> str:
        target = normpath(PurePosixPath(source).parent / link["path"])
        name, anchor = (
            target.removeprefix("docs/").removesuffix(".md"),
            link["anchor"] or "",
        )
        if name in REPOSITORY:
            return f"{link['text'][1:-1]} (`{target}`)"
        if name in HOST:
            target, anchor = f"docs/{HOST[name]}.md", anchor or f"#{place(name)}"
        return f"{link['text']}({relpath(target, PurePosixPath(page).parent)}{anchor})"

    return LINK.sub(leads, text)


def below(text: str) -> str:
    """A file's text one level down: its title becomes a section, its sections become sections of that.

    >>> below("# A\\n\\n```\\n# a comment\\n```\\n\\n## B\\n")
    '## A\\n\\n```\\n# a comment\\n```\\n\\n### B\\n'
    """
    end, pieces = 0, []
    for fence in FENCE.finditer(text):
        pieces += [
            re.sub(r"^#", "##", text[end : fence.start()], flags=re.MULTILINE),
            fence.group(),
        ]
        end = fence.end()
    return "".join(pieces) + re.sub(r"^#", "##", text[end:], flags=re.MULTILINE)


def assembled(page: str, text: str) -> str:
    """The page with its tables, and with its parts behind it, each under an anchor of its own."""
    pieces = [led(with_tables(text), f"docs/{page}", f"docs/{page}")]
    for part in PARTS.get(page, []):
        own = with_tables((HERE / part).with_suffix(".md").read_text(encoding="utf-8"))
        pieces.append(
            f"({place(part)})=\n\n{below(led(own, f'docs/{part}', f'docs/{page}'))}"
        )
    return "\n\n".join(pieces)
