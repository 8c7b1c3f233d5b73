"""Tables and paragraphs for a terminal: aligned, and no wider than it is.

What is handed in is fit to print already (`designer.base.printing`).
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

WIDTH = 100  # where no terminal says its own
NARROWEST = 40
GAP = "  "
SHORTEST_NAME = 12
_NUMBER = re.compile(r"(-?[0-9,]+)([.][0-9]+)?( %)?")
_LABEL = re.compile(r" *(?:[A-Z][\w ]*: +(?=\S))?")  # what the lines below a long one are set in by


@dataclass(frozen=True)
class Column:
    """A column of a table: its head and its cells; numbers are set with their decimal marks one below another."""

    head: str
    cells: tuple[str, ...]
    number: bool = True


def terminal_width() -> int:
    """The columns of the terminal, which `COLUMNS` overrides; a fixed width elsewhere."""
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def text_table(columns: Sequence[Column], width: int = WIDTH) -> list[str]:
    """The lines of a table: heads, a rule, a line for each row.

    columns: the first names the rows and always stays, cut where it must be; of the others as many as fit, from the left.

    >>> print("\\n".join(text_table([Column("family", ("a", "long"), False), Column("loss", ("1.25", "10"))], 40)))
    family   loss
    ------  -----
    a        1.25
    long    10
    """
    set_out = [_set(column) for column in columns]
    ends = list(accumulate(len(column[0]) + len(GAP) for column in set_out))
    first = len(set_out[0][0])
    spare = max(SHORTEST_NAME, first - max(0, ends[min(1, len(ends) - 1)] - len(GAP) - width))
    names = [_cut(line, min(first, spare)) for line in set_out[0]]
    saved = first - len(names[0])
    kept = [column for column, end in zip(set_out[1:], ends[1:], strict=True) if end - len(GAP) - saved <= width]
    return [GAP.join(cells).rstrip() for cells in zip(names, *kept, strict=True)]


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """A line in as many as it takes; those below are set in behind the label of the first, or as it is.

    >>> wrapped("Limit: no noise that keeps the promise loses less than that at any number.", 40)
    ['Limit: no noise that keeps the promise', '       loses less than that at any', '       number.']
    """
    if len(text) <= width:
        return [text]
    found = _LABEL.match(text)
    inner = found.end() if found and found.end() <= width // 2 else 0
    words = textwrap.wrap(text[inner:], width - inner, break_long_words=False, break_on_hyphens=False)
    return [(text[:inner] if place == 0 else " " * inner) + line for place, line in enumerate(words)]


def _set(column: Column) -> list[str]:
    """Head, rule and cells, all of one width."""
    cells = _aligned(column.cells) if column.number else list(column.cells)
    width = max(map(len, [column.head, *cells]))
    if not column.number:
        return [column.head.ljust(width), "-" * width, *(cell.ljust(width) for cell in cells)]
    return [column.head.rjust(width), "-" * width, *(cell.rjust(width) for cell in cells)]


def _aligned(cells: Sequence[str]) -> list[str]:
    """Numbers with what is behind their decimal marks in one width; cells with words or an exponent as they are."""
    found = [_NUMBER.fullmatch(cell) for cell in cells]
    longest = max((len(number[2] or "") for number in found if number), default=0)
    return [
        f"{number[1]}{number[2] or '':{longest}}{number[3] or ''}" if number and longest else cell
        for number, cell in zip(found, cells, strict=True)
    ]


def _cut(line: str, width: int) -> str:
    text = line.rstrip()
    return text.ljust(width) if len(text) <= width else text[: width - 1] + ("-" if set(text) == {"-"} else "…")
