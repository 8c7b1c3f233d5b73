"""What Sphinx reads of a docstring that is written as plain sentences.

Names and formulas stand between single backticks, lists begin with `- ` or `* `, formulas of their own are indented,
parameters have numpydoc's section, and examples are doctests. Everything else is text: no character of it is markup, so `|u|`,
`x_i` and `2 * n` mean what they say. Types of parameters stand in signatures: behind the colon is what a value must be.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from docutils import nodes
from sphinx import addnodes

QUOTED = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"([\\*|_<`])")
BULLET = re.compile(r"\s*(?:[-*]|\d+\.) ")
HEADING = ["Parameters", "----------"]
# Names, and what is said of them behind " : " or in the indented lines below.
ENTRY = re.compile(r"^(\S.*?)(?: : |\n +)(.*(?:\n +.*)*)", re.MULTILINE)
# What an argument of this name is wherever it stands, for docstrings that say nothing of it.
RECURRING = {
    "mechanism": "the frozen mechanism.",
    "problem": "what is asked, and what is protected.",
    "released": "what a release of the mechanism returned.",
    "workload": "the queries.",
    "domain": "the attributes and their values.",
    "path": "where the file is, or is written.",
    "level": "the probability with which intervals hold, such as 0.95.",
    "simultaneous": "whether all intervals hold together with that probability, or each by itself.",
    "seed": "of repeatable draws.",
    "entropy": "the source of random bits.",
    "delta": "a probability.",
    "epsilon": "in nats.",
    "adjacency": "the most records that change together.",
    "fingerprint": "SHA-256 of what decides what the mechanism does.",
    "guarantee": "what is proven to be protected.",
    "optimality": "how near the design is to the best; a note, which decides nothing.",
    "provenance": "how the design was made; a note, which decides nothing.",
    "notion": "the kind of privacy guarantee.",
    "histogram": "(N,), the number of records of each element.",
    "solver": "which solver runs, by name.",
    "from_core.core": "the part of a spec that decides what the mechanism does.",
    "from_dict.data": "plain data, as `to_dict` returns them.",
    "from_spec.spec": "plain data, as `to_spec` returns them.",
    "release.data": "confidential counts or records, in a form that the mechanism takes.",
    "check.data": "confidential counts or records, in a form that the mechanism takes.",
    "release.unit": "the caller's word for a row that is not one record.",
    "check.unit": "the caller's word for a row that is not one record.",
    "release.entity": "the column that says whose row it is; then whole entities are protected.",
    "check.entity": "the column that says whose row it is; then whole entities are protected.",
    "release.rows_per_entity": "how many rows of each entity count.",
    "check.rows_per_entity": "how many rows of each entity count.",
    "write_tables.path": "the folder that is written.",
    "Guarantee.mechanism": "which noise is added, in a sentence.",
    "PreprocessingProgram.mechanism": '"mwem" or "small_db".',
    "share_above.level": "a loss.",
    "compare.families": "which are tried, by name; None for all that serve the problem.",
}


def plain(text: str) -> str:
    """A line of prose: what stands between backticks as code, all other characters as themselves.

    >>> plain("`b` is at least |u_i|")
    '``b`` is at least \\\\|u\\\\_i\\\\|'
    """
    pieces = QUOTED.split(text)
    return "".join(
        f"`{piece}`" if QUOTED.fullmatch(piece) else MARKUP.sub(r"\\\1", piece)
        for piece in pieces
    )


def paragraph(lines: list[str]) -> list[str]:
    """A paragraph as markup: doctests and indented formulas as blocks of code, lists item by item, the rest as prose."""
    if lines[0].lstrip().startswith(">>>"):
        return lines
    if lines[0].startswith("    "):
        return ["::", "", *lines]
    items = "\n".join(lines)
    starts = re.split(r"\n(?=(?:[-*]|\d+\.) )", items)
    return [
        line
        for item in starts
        for line in [*marked(item), *([""] if len(starts) > 1 else [])]
    ]


def marked(item: str) -> list[str]:
    """An item of a list, or a paragraph without any, with its bullet left as it is."""
    bullet = BULLET.match(item)
    start = bullet.end() if bullet else 0
    return (item[:start] + plain(item[start:])).splitlines()


def paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """The lines between blank ones."""
    for blank, some in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield list(some)


def parameters_of(obj: object) -> list[str]:
    """The names that a function or class takes."""
    declared = list(getattr(obj, "__dataclass_fields__", ()))
    try:
        return declared + [
            name for name in inspect.signature(obj).parameters if name not in declared
        ]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return declared


def recurring(obj: object, names: list[str]) -> dict[str, str]:
    """What arguments of these names are that mean the same everywhere.

    >>> def release(data, level): ...
    >>> recurring(release, ["data", "level", "size"])["level"]
    'the probability with which intervals hold, such as 0.95.'
    """
    try:
        taken = set(inspect.signature(obj).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}
    own = getattr(obj, "__name__", "")
    found = {
        name: RECURRING.get(f"{own}.{name}", RECURRING.get(name, ""))
        for name in names
        if name in taken
    }
    return {name: told for name, told in found.items() if told}


def listed(item: str, names: list[str]) -> tuple[str, dict[str, str]]:
    """A paragraph without what it says of parameters, and that by name: from "name: " at the start of a sentence to the next
    such, or to what is raised.

    >>> listed("Sums up. level: 0.95. Both are stated. seed: any. Raises `InvalidProblem`.", ["level", "seed"])
    ('Sums up. Raises `InvalidProblem`.', {'level': '0.95. Both are stated.', 'seed': 'any.'})
    """
    if not names:
        return item, {}
    text, found = " ".join(item.split()), {}
    starts = re.compile(rf"(?:^|(?<=[.;:] ))({'|'.join(map(re.escape, names))}): ")
    places = [*starts.finditer(text)]
    if not places:
        return item, {}
    raised = re.search(r"(?<=\. )Raises `", text[places[0].end() :])
    end = places[0].end() + raised.start() if raised else len(text)
    for place, after in zip(places, [*places[1:], None], strict=True):
        if place.start() < end:
            found[place[1]] = text[
                place.end() : min(end, after.start() if after else end)
            ].strip()
    return (text[: places[0].start()] + text[end:]).strip(), found


def section(lines: list[str]) -> dict[str, str]:
    """What the lines of a section say of each parameter; those that have a line in common share its text.

    >>> section(["seed : of draws.", "low, high", "    above 0,", "    in nats.", "**options : of the builder."])
    {'seed': 'of draws.', 'low': 'above 0, in nats.', 'high': 'above 0, in nats.', 'options': 'of the builder.'}
    """
    return {
        name.strip("*"): " ".join(text.split())
        for names, text in ENTRY.findall("\n".join(lines))
        for name in names.split(", ")
    }


def as_markup(
    app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]
) -> None:
    """The hook of autodoc: `lines` in place, with what they say of parameters as a list behind the prose."""
    if isinstance(obj, str):  # a text has the docstring of its type alone
        lines.clear()
    names = parameters_of(obj) if what in ("function", "method", "class") else []
    before: list[str] = []
    behind: list[str] = []
    fields: dict[str, str] = {}
    for part in paragraphs(list(lines)):
        if part[:2] == HEADING:
            fields |= section(part[2:])
            continue
        is_prose = not part[0].startswith((" ", ">>>")) and not BULLET.match(part[0])
        if is_prose and not behind:
            rest, found = listed("\n".join(part), names)
            fields |= found
            before += [*paragraph(rest.splitlines()), ""] if rest else []
        else:
            behind += [*paragraph(part), ""]
            if is_prose or not part[0].lstrip().startswith(">>>"):
                before, behind = before + behind, []
    fields = recurring(obj, names) | fields
    told = [f":param {name}: {plain(fields[name])}" for name in names if name in fields]
    lines[:] = [*before, *told, *([""] if told else []), *behind]


def leave_types_alone(
    app: Any, env: Any, node: nodes.Element, shown: nodes.Node
) -> nodes.Node | None:
    """A type in a signature that has no page of its own is shown without a link; a reference in a text must lead somewhere."""
    above = node.parent
    while above is not None and not isinstance(above, addnodes.desc_signature):
        above = above.parent
    return None if above is None else shown
