"""Answers of a release with their intervals: one picture for each of its tables, whatever made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from designer.base.answer_table import LEVEL, AnswerTable
from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.figures import size_for, spans_by_name
from designer.publish.pictures.labels import with_unit
from designer.publish.pictures.numerals import for_people

MOST_TABLES = 12
Unit = Callable[[str], str]  # from the name of a query to what its answer is counted in, empty where that is not known


def no_unit(query: str) -> str:
    """Nothing is known of what answers are counted in."""
    return ""


class HoldsAnswers(Protocol):
    """A release."""

    def answer_tables(self) -> tuple[AnswerTable, ...]: ...


def tables_to_draw(released: HoldsAnswers) -> tuple[AnswerTable, ...]:
    """The tables of a release; none where they are too many to be written out."""
    try:
        return released.answer_tables()
    except InvalidProblem:
        return ()


def answer_drawings(tables: Sequence[AnswerTable], unit: Unit = no_unit) -> tuple[Drawing, ...]:
    """A picture for each of the first tables of a release with several answers, called `answers`, `answers_2`, and so on."""
    several = [table for table in tables if len(table.answers) > 1]
    kept = (several or [table for table in tables if len(table.answers)])[:MOST_TABLES]
    names = ["answers" if place == 1 else f"answers_{place}" for place in range(1, len(kept) + 1)]
    return tuple(_drawing(name, table, unit) for name, table in zip(names, kept, strict=True))


def key_names(table: AnswerTable) -> list[str]:
    """The keys of the answers of a table in a line each."""
    return [" / ".join(map(str, key)) for key in table.keys]


def spans_of(table: AnswerTable, level: float = LEVEL) -> tuple[Floats | None, str]:
    """Both ends of a line for each answer, (2, G), and what it stands for: the interval, or, where no law gives one, one
    standard error to each side, or nothing."""
    try:
        found = table.intervals(level)
        return np.stack([found.lower, found.upper]), f"{level:.0%} intervals"
    except InvalidProblem:
        if table.standard_errors is None:
            return None, "without intervals"
        return np.stack([table.answers - table.standard_errors, table.answers + table.standard_errors]), "one standard error"


def _drawing(name: str, table: AnswerTable, unit: Unit) -> Drawing:
    spans, words = spans_of(table)
    names, answers = key_names(table), table.answers
    own = table.name if table.name != "answers" else ""
    low, high = int(np.nanargmin(answers)), int(np.nanargmax(answers))
    alt = (
        f"A point for each of {len(answers)} noisy answers, with {words}: from {for_people(answers[low])} ({names[low]}) to "
        f"{for_people(answers[high])} ({names[high]})."
    )
    units = {unit(own)} if own else {unit(query) for query in names}
    shared = units.pop() if len(units) == 1 else ""
    if not own and not shared:
        names = [with_unit(query, unit(query)) for query in names]
    label = with_unit(f"noisy answer, {words}", shared)

    def draw(axes: Any) -> None:
        spans_by_name(axes, names, answers, spans, label)

    return Drawing(name, f"Noisy answers{own and ': ' + own}", alt, draw, **size_for(names))
