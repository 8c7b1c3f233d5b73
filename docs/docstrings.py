"""What Sphinx reads of a docstring that is written as plain sentences.

Names and formulas stand between single backticks, lists begin with `- ` or `* `, formulas of their own are indented, and
examples are doctests. Everything else is text: no character of it is markup, so `|u|`, `x_i` and `2 * n` mean what they say.
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
        is_prose = not part[0].startswith((" ", ">>>")) and not BULLET.match(part[0])
        if is_prose and not behind:
            rest, found = listed("\n".join(part), names)
            fields |= found
            before += [*paragraph(rest.splitlines()), ""] if rest else []
        else:
            behind += [*paragraph(part), ""]
            if is_prose or not part[0].lstrip().startswith(">>>"):
                before, behind = before + behind, []
    told = [f":param {name}: {plain(text)}" for name, text in fields.items()]
    lines[:] = [*before, *told, *([""] if told else []), *behind]


def leave_types_alone(
    app: Any, env: Any, node: nodes.Element, shown: nodes.Node
) -> nodes.Node | None:
    """A type in a signature that has no page of its own is shown without a link; a reference in a text must lead somewhere."""
    above = node.parent
    while above is not None and not isinstance(above, addnodes.desc_signature):
        above = above.parent
    return None if above is None else shown
