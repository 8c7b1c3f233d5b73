"""The numbers of a release as a table: a key for each answer, its standard error, and intervals from the law of its noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import probability, shown
from designer.base.errors import DesignFailed, InvalidProblem

Scalar = str | int | float
ULP = 2.0**-51  # of an answer, as a float: ends of intervals move outwards by this
LEVEL = 0.95


class Limits(NamedTuple):
    """Both ends of the intervals of all answers of a release, (A,) each, and by which law, in a sentence.

    missing: why some have none, whose ends are not numbers.
    """

    lower: Floats
    upper: Floats
    law: str
    missing: str = ""


Limiting = Callable[[float, bool], Limits]  # from a level, and whether it is for all answers together


class LawOfAnswers(Protocol):
    """What a release asks of the mechanism that made it, when intervals are wanted."""

    def limits_of(self, released: Any, level: float, simultaneous: bool) -> Limits:
        """Intervals of all answers of all tables of the release, in order; `InvalidProblem` with the reason where none is
        proven."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Ends of intervals, (G,) each, that hold the answers without noise with probability `level`: each of them, or,
    `simultaneous`, all answers of all tables of the release at once.

    law: in a sentence, by which law. The probability is that of the noise, before it was drawn.
    """

    lower: Floats
    upper: Floats
    level: float
    simultaneous: bool
    law: str


def _unknown(level: float, simultaneous: bool) -> Limits:
    """Of a release without a mechanism: refused."""
    raise InvalidProblem(
        "intervals: this release does not know the mechanism that made it; read it with its spec "
        "(`read_release(spec, path)`), or release anew."
    )


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """One table of a release.

    name: the query of a plan, the attributes of a marginal, "answers". columns: names of the category columns; ("query",) for
    plain answers. keys: (G,) one tuple for each answer, as long as columns. answers, standard_errors: (G,), in the units of
    the query; None where no standard error follows from the law. error_words: what they are where they are not computed, in a
    sentence; empty where they are. limits: intervals of all answers of the release, of which
    those of this table begin at place `first`.
    """

    name: str
    columns: tuple[str, ...]
    keys: tuple[tuple[Scalar, ...], ...]
    answers: Floats
    standard_errors: Floats | None
    error_words: str = field(default="", kw_only=True)
    limits: Limiting = field(default=_unknown, repr=False, kw_only=True)  # of all answers of the release
    first: int = field(default=0, repr=False, kw_only=True)

    def names(self) -> list[str]:
        """A name for each answer: the table and its categories, or the query."""
        before = () if self.columns == ("query",) else (self.name,)
        return [" / ".join(map(str, (*before, *key))) for key in self.keys]

    def intervals(self, level: float = LEVEL, simultaneous: bool = False) -> Intervals:
        """Intervals of the answers of this table, from the law of the noise as it reaches them.

        level: between 0 and 1. simultaneous: with this probability all answers of all tables of the release are within
        theirs; otherwise each is. Raises `InvalidProblem` with the reason where none is known.
        """
        level = probability(level, "level")
        if type(simultaneous) is not bool:
            raise InvalidProblem(f"simultaneous: {shown(simultaneous)} is neither True nor False.", value=simultaneous)
        found = self.limits(level, simultaneous)
        own = slice(self.first, self.first + len(self.answers))
        if np.isnan(found.lower[own] + found.upper[own]).any():
            raise InvalidProblem(f"intervals: {found.missing or 'some answer is no number.'}")
        return Intervals(found.lower[own], found.upper[own], level, simultaneous, found.law)


def tables_in_order(tables: list[AnswerTable], law: LawOfAnswers | None, released: Any) -> tuple[AnswerTable, ...]:
    """The tables of one release, which share its intervals: each knows where its own begin. Each pair of level and kind is
    computed once."""
    limits = _unknown if law is None else cache(partial(_limits_of_kept, law, released))
    starts = np.cumsum([0, *(len(table.answers) for table in tables)]).tolist()
    names = _told_apart([table.name for table in tables])
    return tuple(
        replace(t, name=name, limits=limits, first=start) for t, name, start in zip(tables, names, starts, strict=False)
    )


def _told_apart(names: list[str]) -> list[str]:
    """Names that differ: of equal ones, as of tables over "a x b" and over a and b, all but the first are numbered."""
    found: dict[str, None] = {}
    given = frozenset(names)
    for name in names:
        own, number = name, 1
        while own in found or (number > 1 and own in given):
            number += 1
            own = f"{name} ({number})"
        found[own] = None
    return [*found]


def _limits_of_kept(law: LawOfAnswers, released: Any, level: float, simultaneous: bool) -> Limits:
    """The intervals of a release; where it bounds the rows of entities, of the rows that were kept."""
    found, row = law.limits_of(released, level, simultaneous), getattr(released, "row", None)
    entity = None if row is None else row.entity
    return found if entity is None else found._replace(law=f"{found.law}; of the rows that were kept of each {entity!r}")


def symmetric_limits(answers: Floats, margins: Floats, whole: NDArray[np.bool_], law: str) -> Limits:
    """`answers` plus and minus `margins`, both (A,), moved outwards by the rounding of floats.

    whole: (A,) booleans, where the answer without noise is a whole number: an interval shrinks to the whole numbers that it
    holds, and holds that answer as often as before; one that holds none stays. An answer without noise is its own interval.
    """
    with np.errstate(invalid="ignore"):
        slack = np.where(margins > 0, ULP * (np.abs(answers) + margins), 0.0)
        lower, upper = answers - margins - slack, answers + margins + slack
        inner = np.ceil(lower) + 0.0, np.floor(upper) + 0.0  # no -0, which people would read
    shrunk = whole & (margins > 0) & (inner[0] <= inner[1])
    return Limits(np.where(shrunk, inner[0], lower), np.where(shrunk, inner[1], upper), law)


def interval_data(tables: Sequence[AnswerTable], level: float = LEVEL) -> list[dict[str, Any]]:
    """The intervals of a release as plain data, an entry for each table: keys, both ends of each interval and of those of all
    answers at once, and by which law; or why there are none."""
    return [{"table": t.name, "columns": list(t.columns), "level": level, **_data_of(t, level)} for t in tables]


def _data_of(table: AnswerTable, level: float) -> dict[str, Any]:
    try:
        each, joint = table.intervals(level), table.intervals(level, simultaneous=True)
    except (DesignFailed, InvalidProblem) as refusal:
        return {"none": str(refusal)}
    ends = {"lower": each.lower, "upper": each.upper, "joint_lower": joint.lower, "joint_upper": joint.upper}
    listed = {name: [None if not np.isfinite(x) else x for x in end.tolist()] for name, end in ends.items()}
    return {"keys": [list(key) for key in table.keys], **listed, "law": each.law, "joint_law": joint.law}
