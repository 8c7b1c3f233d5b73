"""The answers of a release for people: a table with standard errors and intervals, as long as a screen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from designer.base.answer_table import LEVEL, AnswerTable, Intervals
from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.on_terminal import Column, terminal_width, text_table, wrapped
from designer.base.printing import printed
from designer.base.rounding import at_most

ROWS = 40  # of all tables together, where a file has all
EXACT = "exact, no noise"


def answer_lines(
    tables: Sequence[AnswerTable],
    unit: Callable[[str], str] = lambda name: "",
    rows: int | None = None,
    level: float = LEVEL,
    simultaneous: bool = False,
) -> list[str]:
    """Every answer with the standard error of its noise and its interval, and by which law.

    unit: of a query, by its name; empty where none is known. rows: how many answers are listed at most; None for all of them.
    level, simultaneous: of the intervals.
    """
    known = [_intervals(table, level, simultaneous) for table in tables]
    claim = f"; {_claim(level, simultaneous)}" if any(found is not None for found, _ in known) else ""
    lines = [f"Noisy answers, with the standard error of their noise{claim}"]
    left = sum(len(table.keys) for table in tables) if rows is None else rows
    for table, found in zip(tables, known, strict=True):
        if left > 0:
            lines += ["", *_lines_of(table, min(left, len(table.keys)), unit, found, titled=len(tables) > 1)]
        left -= len(table.keys)
    if left < 0:
        lines += ["", f"... and {-left:,} more, in the file that was saved."]
    return lines


def _claim(level: float, simultaneous: bool) -> str:
    """What the intervals hold."""
    one, many = "each interval holds the answer without noise", "all intervals hold the answers without noise together"
    return f"{many if simultaneous else one} with probability {100 * level:g} %"


def has_errors(tables: Sequence[AnswerTable]) -> bool:
    """Whether anything is known of the noise in some answers."""
    return any(table.standard_errors is not None for table in tables)


def _lines_of(
    table: AnswerTable, rows: int, unit: Callable[[str], str], known: tuple[Intervals | None, str], titled: bool
) -> list[str]:
    found, why = known
    names = [", ".join(map(printed, key)) for key in table.keys[:rows]]
    errors = np.full(rows, np.nan) if table.standard_errors is None else table.standard_errors[:rows]
    places = _places(table, found)[:rows]
    columns = [
        Column(" x ".join(map(printed, table.columns)), tuple(names), number=False),
        Column("answer", tuple(_fixed(a, p) for a, p in zip(table.answers.tolist(), places, strict=False))),
        Column("standard error", tuple(EXACT if e == 0 else "-" if np.isnan(e) else at_most(e) for e in errors.tolist())),
    ]
    if found is not None:
        ends = zip(found.lower.tolist(), found.upper.tolist(), places, strict=False)
        cells = tuple(f"{_down(low, p)} to {_up(high, p)}" for low, high, p in ends)
        columns.append(Column(f"{100 * found.level:g} % interval", cells, number=False))
    own = table.columns == ("query",) or table.name == "answers"  # each answer is of a query, and not a group of one
    units = tuple(printed(unit(str(key[0]) if own else table.name)) for key in table.keys[:rows])
    if any(units):
        columns.append(Column("unit", units, number=False))
    title = [printed(table.name), ""] if titled else []
    said = [line for words in (table.error_words, why) if words for line in wrapped(words, terminal_width())]
    return [*title, *text_table(columns, terminal_width()), *said]


def _intervals(table: AnswerTable, level: float, simultaneous: bool) -> tuple[Intervals | None, str]:
    """The intervals, and by which law they are; or None, and why there are none."""
    try:
        found = table.intervals(level, simultaneous)
    except (DesignFailed, InvalidProblem) as refusal:
        return None, f"No {refusal}"
    return found, f"Law: {found.law}."


def _places(table: AnswerTable, found: Intervals | None) -> list[int | None]:
    """For each answer decimal places with two digits beyond the size of the noise; None where there is none, and for whole
    numbers."""
    if (table.answers == np.rint(table.answers)).all():
        return [None] * len(table.keys)
    known = table.standard_errors
    spreads = (found.upper - found.lower) / 4 if known is None and found is not None else known
    return [None if not 0 < s < math.inf else min(12, max(0, 1 - math.floor(math.log10(s)))) for s in _floats(spreads, table)]


def _floats(spreads: Floats | None, table: AnswerTable) -> list[float]:
    return [math.inf] * len(table.keys) if spreads is None else [float(s) for s in spreads]


def _fixed(value: float, places: int | None) -> str:
    return f"{value:,.15g}" if places is None or not math.isfinite(value) else f"{value:,.{places}f}"


def _down(value: float, places: int | None) -> str:
    """Rounded down, as the lower end of an interval."""
    if places is None or not abs(value) * 10.0**places < 2**52:
        return _fixed(value, places)
    return _fixed(math.floor(value * 10.0**places) / 10.0**places, places)


def _up(value: float, places: int | None) -> str:
    """Rounded up, as the upper end."""
    down = _down(-value, places)
    return down[1:] if down.startswith("-") else "0" if down.strip("0.") == "" else f"-{down}"
