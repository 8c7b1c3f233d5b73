"""The numbers of a release as a table: a key for each answer, its standard error, and intervals from the law of its noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import meant, probability, shown
from designer.base.display import (
    HEAD,
    SHOWN_ROWS,
    Column,
    Displayed,
    Preview,
    at_most,
    printed,
    terminal_width,
    text_table,
    wrapped,
)
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.frames import frame_of

Scalar = str | int | float
ULP = 2.0**-51  # of an answer, as a float: ends of intervals move outwards by this
LEVEL = 0.95
RELEASED = "The released answer, with noise; unbiased, unless `dp-designer show` of the spec says BIASED."


class ConfidenceLimits(NamedTuple):
    """Both ends of the intervals of all answers of a release, (A,) each, and by which law, in a sentence.

    missing: why some have none, whose ends are not numbers.
    """

    lower: Floats
    upper: Floats
    law: str
    missing: str = ""


Limiting = Callable[[float, bool], ConfidenceLimits]  # from a level, and whether it is for all answers together


class LawOfAnswers(Protocol):
    """What a release asks of the mechanism that made it, when intervals are wanted."""

    def _limits_of(self, released: Any, level: float, simultaneous: bool) -> ConfidenceLimits:
        """Intervals of all answers of all tables of the release, in order; `InvalidProblem` with the reason where none is
        proven."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Ends of intervals, (G,) each, that hold the answers without noise with probability `level`. That is each by itself, or,
    `simultaneous`, all answers of all tables of the release at once.

    law: in a sentence, by which law. The probability is that of the noise, before it was drawn.
    """

    lower: Floats
    upper: Floats
    level: float
    simultaneous: bool
    law: str


def _unknown(level: float, simultaneous: bool) -> ConfidenceLimits:
    """Of a release without a mechanism: refused."""
    raise InvalidProblem(
        "intervals: this release does not know the mechanism that made it; read it with its spec "
        "(`read_release(spec, path)`), or release anew."
    )


@dataclass(frozen=True, eq=False)
class AnswerTable(Displayed):
    """One table of a release.

    name: the query of a plan, the attributes of a marginal, "answers". columns: names of the category columns; ("query",) for
    plain answers. keys: (G,) one tuple for each answer, as long as columns. answers, standard_errors: (G,), in the units of
    the query; None where no standard error follows from the law. error_words: what they are where they are not computed, in a
    sentence; empty where they are. meaning: what the answers are. limits: intervals of all answers of the release, of which
    those of this table begin at place `first`.
    """

    name: str
    columns: tuple[str, ...]
    keys: tuple[tuple[Scalar, ...], ...]
    answers: Floats
    standard_errors: Floats | None
    error_words: str = field(default="", kw_only=True)
    meaning: str = field(default=RELEASED, kw_only=True)
    limits: Limiting = field(default=_unknown, repr=False, kw_only=True)  # of all answers of the release
    first: int = field(default=0, repr=False, kw_only=True)

    def _display_facts(self) -> Mapping[str, object]:
        return {"table": self.name, "answers": len(self.answers)}

    def _display_rows(self) -> Preview | None:
        return _preview((self,))

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
        if (np.isnan(found.lower[own]) | np.isnan(found.upper[own])).any():
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


def _limits_of_kept(law: LawOfAnswers, released: Any, level: float, simultaneous: bool) -> ConfidenceLimits:
    """The intervals of a release; where it bounds the rows of entities, of the rows that were kept."""
    found, row = law._limits_of(released, level, simultaneous), getattr(released, "row", None)
    entity = None if row is None else row.entity
    return found if entity is None else found._replace(law=f"{found.law}; of the rows that were kept of each {entity!r}")


def symmetric_limits(answers: Floats, margins: Floats, whole: NDArray[np.bool_], law: str) -> ConfidenceLimits:
    """`answers` plus and minus `margins`, both (A,), moved outwards by the rounding of floats.

    whole: (A,) booleans, where the answer without noise is a whole number: an interval shrinks to the whole numbers that it
    holds, and holds that answer as often as before; one that holds none stays. An answer without noise is its own interval.
    """
    with np.errstate(invalid="ignore"):
        slack = np.where(margins > 0, ULP * (np.abs(answers) + margins), 0.0)
        lower, upper = answers - margins - slack, answers + margins + slack
        inner = np.ceil(lower) + 0.0, np.floor(upper) + 0.0  # no -0, which people would read
    shrunk = whole & (margins > 0) & (inner[0] <= inner[1])
    return ConfidenceLimits(np.where(shrunk, inner[0], lower), np.where(shrunk, inner[1], upper), law)


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


# The answers of a release for people: a table with standard errors and intervals, as long as a screen.


ROWS = 40  # of all tables together, where a file has all
EXACT = "exact, no noise"


def answer_lines(
    tables: Sequence[AnswerTable],
    unit: Callable[[str], str] = lambda name: "",
    rows: int | None = None,
    level: float = LEVEL,
    simultaneous: bool = False,
    label: Callable[[str, str], str] = lambda column, code: "",
    head: str = "Noisy answers, with the standard error of their noise",
) -> list[str]:
    """Every answer with the standard error of its noise and its interval, and by which law, below a line of what they are.

    unit: of a query, by its name; empty where none is known. rows: how many answers are listed at most; None for all of them.
    level, simultaneous: of the intervals. label: of a code of a column, shown behind it; empty where it has none.
    """
    known = [_intervals(table, level, simultaneous) for table in tables]
    claim = f"; {_claim(level, simultaneous)}" if any(found is not None for found, _ in known) else ""
    lines = [f"{head}{claim}"]
    left = sum(len(table.keys) for table in tables) if rows is None else rows
    for table, found in zip(tables, known, strict=True):
        if left > 0:
            lines += ["", *_lines_of(table, min(left, len(table.keys)), unit, label, found, titled=len(tables) > 1)]
        left -= len(table.keys)
    if left < 0:
        lines += ["", f"... and {-left:,} more, in the file that was saved."]
    return lines


def _with_labels(columns: Sequence[str], key: Sequence[Scalar], label: Callable[[str, str], str]) -> list[str]:
    """The categories of an answer, or the name of its query, with the labels of codes behind them."""
    if tuple(columns) == ("query",):
        parts = [(part.partition("=")[0], part.partition("=")[2], part) for part in str(key[0]).split(", ")]
        return [", ".join(f"{part} ({found})" if (found := label(name, code)) else part for name, code, part in parts)]
    named = zip(columns, map(str, key), strict=True)
    return [f"{code} ({found})" if (found := label(column, code)) else code for column, code in named]


def _claim(level: float, simultaneous: bool) -> str:
    """What the intervals hold."""
    one, many = (
        "each interval would hold the answer without noise",
        "all intervals together would hold all answers without noise",
    )
    return f"{many if simultaneous else one} {in_releases(100 * level)}"


def in_releases(percent: object) -> str:
    """How often an interval holds what it is for, and what it is not for."""
    of = f"{percent:g}" if isinstance(percent, float) else f"{percent}"
    return f"in {of} of 100 releases; nothing is said of people who were not asked"


def has_errors(tables: Sequence[AnswerTable]) -> bool:
    """Whether anything is known of the noise in some answers."""
    return any(table.standard_errors is not None for table in tables)


def _lines_of(
    table: AnswerTable,
    rows: int,
    unit: Callable[[str], str],
    label: Callable[[str, str], str],
    known: tuple[Intervals | None, str],
    titled: bool,
) -> list[str]:
    found, why = known
    columns = _columns_of(table, rows, label, found)
    own = table.columns == ("query",) or table.name == "answers"  # each answer is of a query, and not a group of one
    units = tuple(printed(unit(str(key[0]) if own else table.name)) for key in table.keys[:rows])
    if any(units):
        columns.append(Column("unit", units, number=False))
    title = [printed(table.name), ""] if titled else []
    said = [line for words in (table.error_words, why) if words for line in wrapped(words, terminal_width())]
    return [*title, *text_table(columns, terminal_width()), *said]


def _columns_of(table: AnswerTable, rows: int, label: Callable[[str, str], str], found: Intervals | None) -> list[Column]:
    """Categories, answers, standard errors and intervals of the first rows, with the digits that the noise leaves."""
    names = [", ".join(map(printed, _with_labels(table.columns, key, label))) for key in table.keys[:rows]]
    errors = np.full(rows, np.nan) if table.standard_errors is None else table.standard_errors[:rows]
    places = _places(table, found)[:rows]
    columns = [
        Column(" x ".join(map(printed, table.columns)), tuple(names), number=False),
        Column("answer", tuple(_fixed(a, p) for a, p in zip(table.answers.tolist(), places, strict=False))),
    ]
    if table.standard_errors is not None or found is None:
        cells = tuple(EXACT if e == 0 else "-" if np.isnan(e) else at_most(e) for e in errors.tolist())
        columns.append(Column("standard error", cells))
    if found is not None:
        ends = zip(found.lower.tolist(), found.upper.tolist(), places, strict=False)
        cells = tuple(f"{_down(low, p)} to {_up(high, p)}" for low, high, p in ends)
        columns.append(Column(f"{100 * found.level:g} % interval", cells, number=False))
    return columns


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
    return [noise_places(s) for s in _floats(spreads, table)]


def noise_places(spread: float) -> int | None:
    """The decimal places of two significant digits of the size of the noise, from 0 to 12; None where there is no such size.

    >>> [noise_places(spread) for spread in (1234.0, 2.5, 0.03, 0.0)]
    [0, 1, 3, None]
    """
    return min(12, max(0, 1 - math.floor(math.log10(spread)))) if 0 < spread < math.inf else None


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


# Released numbers as columns: the categories, the answer, its standard error, and both kinds of interval; as data frames of
# any library, and as what notebooks show.


@dataclass(frozen=True)
class NamedColumns:
    """A table as columns by name, each with what it means, in a sentence, and why others are not there.

    columns: texts, or arrays of numbers, all (G,). categories: how many of them, the first, say what a row is.
    """

    columns: Mapping[str, Any]
    meanings: Mapping[str, str]
    missing: Mapping[str, str]
    categories: int


class Tabular(Displayed):
    """A release that holds numbers."""

    @abstractmethod
    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """Its numbers as tables."""

    def to_frame(self, backend: str = "pandas", *, table: str | None = None, level: float = LEVEL) -> Any:
        """One table as a data frame: a column for each category, `answer`, `standard_error`, `lower_95`, `upper_95` (each
        holds the answer without noise with that probability), `joint_lower_95`, `joint_upper_95` (all do at once).

        backend: "pandas", "polars" or "pyarrow". table: its name, where the release has several. level: of the intervals, which
        names their columns. Columns that no law gives are left out. Raises `InvalidProblem` for an unknown table or backend.
        """
        return frame_of(numbers_of(_named(self.answer_tables(), table), level).columns, backend)

    def to_frames(self, backend: str = "pandas", *, level: float = LEVEL) -> dict[str, Any]:
        """All tables as data frames, by name; see `to_frame`."""
        return {table.name: frame_of(numbers_of(table, level).columns, backend) for table in self.answer_tables()}

    def _display_facts(self) -> Mapping[str, object]:
        """The fingerprint of what made it."""
        return {"fingerprint": str(getattr(self, "fingerprint", ""))[:HEAD] or None}

    def _display_rows(self) -> Preview | None:
        return _preview(self.answer_tables())


def _preview(tables: Sequence[AnswerTable]) -> Preview:
    """The first rows of the first tables as the terminal shows them: answer, standard error, interval."""
    rows: list[tuple[str, ...]] = []
    heads: tuple[str, ...] = ("key", "answer", "standard error")
    for table in tables:
        if len(rows) < SHOWN_ROWS:
            here = min(SHOWN_ROWS - len(rows), len(table.keys))
            columns = _columns_of(table, here, lambda column, code: "", _intervals(table, LEVEL, False)[0])
            rows += [
                (*([table.name] if len(tables) > 1 else []), *cells) for cells in zip(*(c.cells for c in columns), strict=True)
            ]
            heads = max(heads, ("key", *(column.head for column in columns[1:])), key=len)
    return Preview((*(["table"] if len(tables) > 1 else []), *heads), rows, sum(len(table.answers) for table in tables))


def _named(tables: Sequence[AnswerTable], name: str | None) -> AnswerTable:
    """The table of that name, or the only one."""
    known = [table.name for table in tables]
    if not tables:
        raise InvalidProblem("table: this release holds no numbers, so there is no table of them.")
    if name is None and len(tables) > 1:
        raise InvalidProblem(
            f"table: is missing; this release has {len(tables)}: name one of {shown(known)}, or use to_frames."
        )
    if name is not None and name not in known:
        raise InvalidProblem(f"table: {shown(name)} is none; {meant(name, known)}use one of {shown(known)}.", value=name)
    return tables[0 if name is None else known.index(name)]


def numbers_of(table: AnswerTable, level: float = LEVEL) -> NamedColumns:
    """A table of a release as columns, with what each means.

    level: of the intervals, between 0 and 1. An interval that no law gives is left out, and the reason kept.
    """
    percent = f"{100 * probability(level, 'level'):.6g}"
    free = _free(table.columns)
    columns: dict[str, Any] = {name: _values(table.keys, k) for k, name in enumerate(free)}
    columns["answer"] = table.answers
    meanings = {name: f"Category {own!r}." for name, own in zip(free, table.columns, strict=True)}
    meanings["answer"] = table.meaning
    missing: dict[str, str] = {}
    if table.standard_errors is None:
        missing["standard_error"] = "No standard error follows from the law of the noise."
    else:
        columns["standard_error"] = table.standard_errors
        meanings["standard_error"] = f"Standard deviation of the noise in the answer. {table.error_words}".strip()
    for simultaneous, prefix in ((False, ""), (True, "joint_")):
        names = [f"{prefix}{end}_{percent.replace('.', '_')}" for end in ("lower", "upper")]
        try:
            found = table.intervals(level, simultaneous)
        except InvalidProblem as reason:
            missing |= dict.fromkeys(names, str(reason))
            continue
        columns |= dict(zip(names, (found.lower, found.upper), strict=True))
        meanings |= {name: _interval_words(percent, simultaneous, found.law) for name in names}
    return NamedColumns(columns, meanings, missing, len(table.columns))


def _interval_words(percent: str, simultaneous: bool, law: str) -> str:
    if simultaneous:
        held = f"these would hold the answers without noise of all rows of all tables at once {in_releases(percent)}"
    else:
        held = f"it would hold the answer without noise of this row {in_releases(percent)}"
    return f"End of an interval: {held}. Law: {law.rstrip('.')}."


NUMBERS = ("answer", "standard_error", "consistent")
ENDS = ("lower_", "upper_", "joint_lower_", "joint_upper_", "consistent_")


def _free(names: Sequence[str]) -> list[str]:
    """Category columns under their own names, unless a column of numbers is called so."""
    free: list[str] = []
    for name in names:
        while name in NUMBERS or name.startswith(ENDS) or name in free or name in names[len(free) + 1 :]:
            name = f"{name}_"
            if name.startswith(ENDS):
                name = f"category_{name}"
        free.append(name)
    return free


def _values(keys: Sequence[Sequence[Any]], place: int) -> Any:
    """One category of all rows: whole numbers where all are, floats where all are, texts otherwise."""
    held = [key[place] for key in keys]
    kinds = set(map(type, held))
    if kinds == {int} and all(abs(value) < 2**63 for value in held):
        return np.array(held, dtype=np.int64)
    return np.array(held, dtype=np.float64) if kinds == {float} else list(map(str, held))
