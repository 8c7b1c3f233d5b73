"""Confidential counts in the order of the universe: whatever carries names is joined by name,
and positions count only where nothing has a name."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Immutable
from designer.base.checks import assign, column_fault, meant, shown
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.frames import Columns, columns_of, holds_numbers, index_of, is_frame, number_columns, series_of
from designer.base.labels import Labels, is_missing
from designer.base.schema import NAMES, Fragment, Named, list_of, noted, one_of, record, text
from designer.problem.compressed_rows import IntervalRows, Matrix, row_places, row_sums

# What happens to a record with a value that is not listed: one rule for all kinds of releases from records.
#
# Let T be what counting makes of the records; the relation speaks of T of them (docs/theory/entities.md).
#
# - "refuse", the default: nothing is released from data that hold such a record. T is the identity on all other data, so the
#   promise holds between any two of these; the refusal is one bit about the data, in one fixed text, that nothing bounds.
# - "count as others": such a value counts as `OTHERS`, which its column lists. T acts on each record alone and leaves none out,
#   so one changed record is one changed record, with the budget between what the two count as.
# - "drop": such a record counts nowhere. One that comes to be unlisted disappears from T, so this needs a relation in which a
#   record may disappear; where the number of records is public it is refused.


OTHERS = "(all others)"  # the value that stands for every one that is not listed, missing ones among them
Unlisted = Literal["refuse", "count as others", "drop"]
RULES: tuple[Unlisted, ...] = ("refuse", "count as others", "drop")
REFUSE = RULES[0]
NOTE = (
    'What happens to a record with a value that is not listed, or missing: "refuse" (unless given) releases nothing, '
    f'"count as others" counts the value as "{OTHERS}", which must be listed, "drop" leaves the record out.'
)
IN_FILES: dict[str, Fragment] = {"unlisted": noted(NOTE, one_of(*RULES))}  # of a problem
IN_SPECS: dict[str, Fragment] = {"unlisted": noted(NOTE, one_of(*RULES[1:]))}
UNREADABLE = (
    "records: a column of numbers holds a value that is none; correct it, say how numbers are written (--decimal, --thousands) "
    'or state that such values count as missing: unlisted = "count as others" or "drop". dp-designer check, for the holder of '
    "the data, says which they are. Nothing was released."
)
WORDS: dict[str, str] = {
    "refuse": (
        "Nothing is released from data in which a record has a value that is not listed, or lacks one; that they are refused "
        "is outside the guarantee."
    ),
    "count as others": (f'A value that is not listed, or missing, counts as "{OTHERS}", and is protected as that value is.'),
    "drop": "A record with a value that is not listed, or without one, is left out, and is protected as an absent record is.",
}


def checked_rule(rule: object) -> Unlisted:
    """One of `RULES`."""
    for known in RULES:
        if rule == known:
            return known
    raise InvalidProblem(f"unlisted: {shown(rule)} is unknown; {meant(str(rule), RULES)}use one of {list(RULES)}.", value=rule)


def rule_entry(rule: Unlisted) -> dict[str, Any]:
    """What a spec says of the rule; nothing where it is the one that holds unless another is stated."""
    return {} if rule == REFUSE else {"unlisted": rule}


def rule_from(spec: Mapping[str, Any]) -> Unlisted:
    """The rule of a spec, which states any but the first; `InvalidSpec` for another."""
    if "unlisted" not in spec:
        return REFUSE
    if spec["unlisted"] not in RULES[1:]:
        raise InvalidSpec(f"unlisted: {shown(spec['unlisted'])} is none of {list(RULES[1:])}.", value=spec["unlisted"])
    return checked_rule(spec["unlisted"])


def needs_others(where: str, remedy: str) -> InvalidProblem:
    """The refusal of a list without a value for all that are not listed; for the caller to raise."""
    return InvalidProblem(f'unlisted: "count as others" needs "{OTHERS}" {where}; {remedy}, or take another rule.')


# One text for every unusable count, so that the refusal says nothing about the data.
UNUSABLE = (
    "histogram: must hold one nonnegative whole number below 2^53 for each universe element: digits "
    "alone, no decimal or thousands mark, no empty cell, in UTF-8; `dp-designer check FILE PROBLEM --column COLUMN`, for the "
    "holder of the data, says where; nothing was released."
)
# And one for names that are unknown, missing or there twice.
MISNAMED = (
    "histogram: must name every universe element exactly once, and nothing else; write 0 where there is no record. "
    "`dp-designer check FILE PROBLEM --column COLUMN`, for the holder of the data, says which. Nothing was released."
)
# And one for records that have what was declared impossible.
IMPOSSIBLE = (
    "histogram: counts records of elements that were declared impossible; declare only what no record can have. Nothing was "
    "released."
)
# And one for tables of the same records that do not agree.
DISAGREE = (
    "histogram: its tables disagree on a margin that they share; count all of them from the same records. Nothing was released."
)
PLAIN = (np.ndarray, np.memmap, list, tuple, range, array)


@dataclass(frozen=True)
class Keys(Immutable):
    """The columns of a table that name universe elements, and what they hold for each element, as texts.

    unlisted: what happens to a record that names none of them; see `designer.problem.histogram`.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    unlisted: Unlisted = REFUSE
    schema = Named(
        "keys",
        record(
            {"columns": NAMES, "rows": list_of(list_of(text()))},
            IN_SPECS,
            note=(
                "The columns of a table that name the elements, and what they hold for each element; counts are joined by them."
            ),
        ),
    )

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise InvalidProblem(
                f"keys.columns: {shown(list(self.columns))} must name at least one column, each once.", value=self.columns
            )
        texts = (text for row in (self.columns, *self.rows) for text in row)
        if not all(len(row) == len(self.columns) for row in self.rows) or not all(isinstance(text, str) for text in texts):
            raise InvalidProblem(f"keys.rows: must hold {len(self.columns)} texts for each element, one of each column.")
        if checked_rule(self.unlisted) == "count as others" and self.others not in self.rows:
            raise needs_others(f"among the values of each of {shown(list(self.columns))}", "add it")

    @property
    def others(self) -> tuple[str, ...]:
        """The element of all records that name no other, where the rule counts them."""
        return (OTHERS,) * len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the elements: what their columns hold, joined."""
        return tuple(map(", ".join, self.rows))

    @property
    def assignments(self) -> tuple[str, ...]:
        """The same with the names of the columns, as a domain writes them."""
        return tuple(", ".join(f"{column}={text}" for column, text in zip(self.columns, row, strict=True)) for row in self.rows)

    def spell_cells(self, elements: tuple[str, ...]) -> bool:
        """Are these the names of cells of several tables: the first column names the table, and one that it lacks is empty;
        the attributes of a table are in an order of its own."""
        return len(elements) == len(self.rows) and all(
            name.startswith(f"{row[0]}: ")
            and sorted(name.removeprefix(f"{row[0]}: ").split(", "))
            == sorted(", ".join(f"{k}={text}" for k, text in zip(self.columns[1:], row[1:], strict=True) if text).split(", "))
            for name, row in zip(elements, self.rows, strict=True)
        )

    def require_spelled(self, elements: tuple[str, ...]) -> None:
        """Refuse keys that belong to elements of other names."""
        if elements not in (self.names, self.assignments) and not self.spell_cells(elements):
            raise InvalidProblem(
                f"workload.keys: {len(self.rows)} rows over {list(self.columns)} do not spell the names of the "
                f"{len(elements)} elements; give the keys alone, and the elements are called what they say."
            )

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows], **rule_entry(self.unlisted)}


@dataclass(frozen=True)
class Universe(Immutable):
    """The elements that counts speak of: their names, the columns of a table that hold them, where that is known, which of
    them, by position, no record can have, and rows, (q, N), whose answers are 0 of all data that there can be.

    tables: where the elements are the cells of several tables of the same records, the columns that name those of each: a
    record is in one cell of every table.
    """

    elements: tuple[str, ...]
    keys: Keys | None = None
    impossible: tuple[int, ...] = ()
    agreeing: NDArray[np.int64] | None = field(default=None, compare=False)
    tables: tuple[Keys, ...] = ()

    @classmethod
    def of_size(cls, size: int) -> Universe:
        """Elements without names of their own."""
        return cls(tuple(f"e{i}" for i in range(size)))

    @property
    def is_numbered(self) -> bool:
        """Are the names of the elements their positions, so that an array without names has them all the same?"""
        return all(row in ((f"e{place}",), (str(place),)) for place, row in enumerate(self.rows))

    @property
    def rows(self) -> Sequence[tuple[str, ...]]:
        """What names each element: its keys, or its name alone."""
        return self.keys.rows if self.keys else [(name,) for name in self.elements]

    @cached_property
    def position(self) -> Mapping[tuple[str, ...], int]:
        """The element that a row of texts names."""
        return {row: place for place, row in enumerate(self.rows)}

    @cached_property
    def labels(self) -> tuple[Labels, ...]:
        """The labels of each column."""
        return tuple(Labels(column, (OTHERS, "")) for column in zip(*self.rows, strict=True))

    def names(self, columns: Sequence[Iterable[object]]) -> list[list[str | None]]:
        """The labels of some columns in the order of the keys; None where a value is missing, or none of them."""
        return [known.names(column) for column, known in zip(columns, self.labels, strict=True)]

    def places(self, columns: Sequence[Sequence[object]]) -> list[int | None]:
        """The element of each row of some columns in the order of the keys; None where a row names none."""
        if self.tables:  # a text that is empty is of an attribute that a table does not have
            columns = [["" if is_missing(value) else value for value in column] for column in columns]
        return [self.position.get(row) for row in zip(*self.names(columns), strict=True)]  # None is in no row

    def counted_places(self, columns: Sequence[Sequence[object]]) -> list[int | None]:
        """The element that each record counts for, by the rule of the keys; None for one that is refused, or left out.

        Where others are counted, a value that its column does not list counts as `OTHERS`, and a combination that no element
        has as that of `OTHERS` alone.
        """
        if self.keys is None or self.keys.unlisted != "count as others":
            return self.places(columns)
        texts = [[OTHERS if name is None else name for name in column] for column in self.names(columns)]
        others = self.position[self.keys.others]
        return [self.position.get(row, others) for row in zip(*texts, strict=True)]

    def chosen(self, columns: Columns) -> list[Sequence[object]]:
        """Of named columns those that name elements, in the order of the keys; what a column is called is public."""
        if len(columns) == 1 and (self.keys is None or (columns[0][0] is None and len(self.keys.columns) == 1)):
            return [columns[0][1]]
        if self.keys is None:
            raise InvalidProblem(
                f"histogram: has {len(columns)} columns that may name the elements; keep the one that does, or give an array "
                "in the order of the elements. A workload with `keys` knows its columns: name them in [elements] or "
                "[domain] and design the mechanism again."
            )
        names = [name for name, _ in columns]
        if missing := [column for column in self.keys.columns if names.count(column) != 1]:
            raise InvalidProblem(
                f"histogram: {column_fault(missing[0], names)}; the elements are named by the columns "
                f"{list(self.keys.columns)}: name the columns, or the levels of the index, so."
            )
        return [next(values for name, values in columns if name == column) for column in self.keys.columns]


@dataclass(frozen=True)
class Labelled:
    """Counts in any order, with the named columns of which some name their elements;
    none where a table holds nothing but counts."""

    columns: Columns
    counts: Sequence[object]


@dataclass(frozen=True, eq=False)
class Counts:
    """Says that `table` holds counts where its type alone would say records. `table` is a data frame (pandas, polars, Arrow)
    with the columns that name the elements, or with them as its index, and one of counts.

    Whatever else holds counts needs no such word: an array, a list, a series, a mapping from the names of elements. For
    mechanisms of marginals and products, `table` may also hold the true tables of counts, `{("sex", "age"): array}`, of at
    least the largest that are asked for. Nothing is looked at before a release, which raises `InvalidProblem`. Source:
    docs/theory/foundations.md.

    table: a data frame with one column of counts, or true tables by their attributes.

    >>> from designer import Counts, Problem, Workload, design, metrics
    >>> made = design(Problem(Workload.identity(["north", "south"]), metrics.uniform(2, 1.0)), "laplace").mechanism
    >>> len(made.release(Counts({"north": 3, "south": 5})).answers)
    2
    """

    table: object = field(repr=False)


def counts(histogram: object, universe: Universe) -> NDArray[np.int64]:
    """The counts as integers, in the order of the universe.

    histogram: an array in that order; or counts by name: a mapping from names (or tuples of what the key columns hold), a
    pandas Series or DataFrame (names in the index or in columns), a polars or Arrow table, or any of these as `Counts`. Shapes
    and names of columns are public and named in errors; values, types that depend on them, and which elements are named never
    are.
    """
    whole = whole_counts(in_order(histogram, universe))
    if universe.impossible and whole[list(universe.impossible)].any():
        raise InvalidProblem(IMPOSSIBLE)
    if universe.agreeing is not None and exact_answers(universe.agreeing, whole).any():
        raise InvalidProblem(DISAGREE)
    return whole


def in_order(histogram: object, universe: Universe) -> NDArray[Any]:
    """One entry for each element, joined by name where there are names, whatever the entries are."""
    histogram = bare(histogram)
    _require_countable(histogram, universe)
    labelled = _labelled(histogram, universe)
    if labelled is None:
        return _array(histogram, len(universe.elements))
    if labelled.columns:
        return _array(_joined(labelled, universe), len(universe.elements))
    if not universe.is_numbered:
        where = f"in columns {list(universe.keys.columns)} or in its index" if universe.keys else "in its index"
        raise InvalidProblem(
            f"histogram: does not name its counts; name their elements {where}, or give a plain array in the order of the "
            "elements. Records are counted first, in pandas records[column].value_counts().reindex(elements, fill_value=0)."
        )
    return _array(labelled.counts, len(universe.elements))


def _require_countable(histogram: object, universe: Universe) -> None:
    """Refuse what is declared to be of a type that no number has: times, texts, complex numbers. No entry is looked at."""
    columns, own = number_columns(histogram), universe.keys.columns if universe.keys else ()
    held = [holds_numbers(histogram)] if columns is None else [able for name, able in columns if name not in own]
    if held == [False]:  # of several, none is known to hold the counts
        raise InvalidProblem(UNUSABLE)


def bare(histogram: object) -> object:
    """What `Counts` holds; anything else as it is."""
    return histogram.table if isinstance(histogram, Counts) else histogram


def whole_counts(given: NDArray[Any]) -> NDArray[np.int64]:
    """Counts as integers; minus zero is none of them, because it tells where a number came from.

    given: (N,). Returns (N,).
    """
    if given.dtype.kind == "O":
        given = np.array([_whole(entry) for entry in given], dtype=np.int64)
    if given.dtype.kind not in "biuf":
        raise InvalidProblem(UNUSABLE)
    if given.dtype.kind != "f":  # no fraction, no minus zero
        if given.size and not (given.min() >= 0 and given.max() < 2**53):
            raise InvalidProblem(UNUSABLE)
        return given.astype(np.int64)
    with np.errstate(invalid="ignore", over="ignore"):  # 2^53 is beyond float16
        usable = np.isfinite(given) & (given >= 0) & (given < 2.0**53) & (given == np.floor(given))
    if not usable.all() or np.signbit(given).any():
        raise InvalidProblem(UNUSABLE)
    return given.astype(np.int64)


def _whole(entry: object) -> int:
    """A count among Python objects, by its value: whole numbers of any type, and no number that is not exactly one."""
    if isinstance(entry, (float, np.floating)):
        return int(whole_counts(np.array([float(entry)]))[0])
    exact = isinstance(entry, (int, np.integer, np.bool_, Fraction)) or (
        isinstance(entry, Decimal) and entry.is_finite() and not (entry.is_zero() and entry.is_signed())
    )
    if not exact or not 0 <= entry < 2**53 or entry != int(entry):  # type: ignore[operator, call-overload]
        raise InvalidProblem(UNUSABLE)
    return int(entry)  # type: ignore[call-overload,no-any-return]


def carries_names(value: object) -> bool:
    """Has it labels, which an array of its entries would drop?"""
    named = isinstance(value, (Mapping, Labelled)) or (isinstance(value, np.ndarray) and value.dtype.names is not None)
    return named or hasattr(getattr(value, "index", None), "get_level_values") or is_frame(value)


def _labelled(histogram: object, universe: Universe) -> Labelled | None:
    """What carries names, taken apart; None for a plain array."""
    if isinstance(histogram, Labelled):
        return histogram
    if isinstance(histogram, Mapping):
        return _of_mapping(histogram, universe)
    if (columns := columns_of(histogram)) is not None:
        return _of_columns(columns, len(index_of(histogram)), universe)
    entries = series_of(histogram)
    if entries is not None and hasattr(histogram, "index"):
        return Labelled(index_of(histogram), entries)
    _require_plain(histogram)
    return None


def _of_columns(columns: Columns, levels: int, universe: Universe) -> Labelled:
    """The one column that names nothing holds the counts; the first `levels` columns are an index, which never does."""
    own = universe.keys.columns if universe.keys else ()
    rest = [place for place, (name, _) in enumerate(columns) if place >= levels and name not in own]
    if len(rest) != 1:
        beside = f"beside {list(own)}" if own else "and the names of the elements in its index"
        raise InvalidProblem(f"histogram: has {len(rest)} columns that may hold the counts; keep one, {beside}.")
    return Labelled([column for place, column in enumerate(columns) if place != rest[0]], columns[rest[0]][1])


def _of_mapping(histogram: Mapping[Any, object], universe: Universe) -> Labelled:
    """Names of elements, or tuples of what the key columns hold."""
    by_name = dict(zip(universe.elements, universe.rows, strict=True))
    width = len(universe.rows[0])
    rows = [_row(key, by_name, width, universe) for key in histogram]
    names = universe.keys.columns if universe.keys else (None,)
    return Labelled([(name, [row[k] for row in rows]) for k, name in enumerate(names)], list(histogram.values()))


def _row(key: object, by_name: Mapping[str, tuple[str, ...]], width: int, universe: Universe) -> tuple[object, ...]:
    """What the key columns hold for one key of a mapping; a text that could be the name of two elements names none."""
    row = key if isinstance(key, tuple) else (key,)
    named = by_name.get(key) if isinstance(key, str) else None
    direct = len(row) == width and universe.places([[part] for part in row]) != [None]
    if named is not None and not (direct and named != row):
        return named
    return row if direct and named is None else (None,) * width


def _joined(labelled: Labelled, universe: Universe) -> list[object]:
    places = universe.places(universe.chosen(labelled.columns))
    if None in places or sorted(places) != list(range(len(universe.elements))):  # type: ignore[type-var]
        raise InvalidProblem(MISNAMED)
    ordered: list[object] = [None] * len(places)
    for place, entry in zip(places, labelled.counts, strict=True):
        ordered[place] = entry  # type: ignore[index]
    return ordered


def _array(entries: object, size: int) -> NDArray[Any]:
    try:
        given = np.asarray(entries)
    except (TypeError, ValueError):
        raise InvalidProblem(UNUSABLE) from None
    if given.shape != (size,):
        raise InvalidProblem(
            f"histogram: has shape {given.shape}; give {size} counts, in the order of the workload's elements."
        )
    return given


def _require_plain(histogram: object) -> None:
    """Names that numpy would drop (of fields, coordinates, masks) are refused; arrays that have none are taken."""
    known = (
        type(histogram) in PLAIN
        or type(histogram).__module__.startswith("pandas.")  # what is neither a Series nor a DataFrame is an array
        or series_of(histogram) is not None
    )
    if not known or (isinstance(histogram, np.ndarray) and histogram.dtype.names):
        raise InvalidProblem(
            f"histogram: is of type {type(histogram).__name__}; give a plain array in the order of the elements, or counts "
            "by name (a mapping, a pandas, polars or Arrow table)."
        )


SPARSE_FROM, SPARSE = 2**12, 8  # entries from which on rows are summed by those that are not 0, where these are an eighth


@dataclass(frozen=True, eq=False)
class ExactRows(Immutable):
    """Rows of whole numbers that are answered again and again, `exact_answers` with what follows from the rows alone found
    once: the largest sum of sizes of a row, and of many entries those that are not 0. integers: (R, N), dense, or rows that are
    described (`designer.problem.compressed_rows`)."""

    integers: Matrix
    _largest: float = field(init=False, repr=False)
    _entries: tuple[NDArray[Any], ...] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.integers, np.ndarray):
            largest = float(np.abs(self.integers).sum(axis=1, dtype=np.float64).max(initial=0.0))
            assign(self, _largest=largest, _entries=_sparse_entries(self.integers))
        else:
            assign(self, _largest=float(row_sums(self.integers).max()), _entries=None)

    def answers(self, histogram: NDArray[np.int64]) -> NDArray[Any]:
        """`M x` without rounding or overflow. histogram x: (N,). Returns (R,), of int64 or of Python integers."""
        if not self._largest * max(float(histogram.max()), -float(histogram.min())) < 2.0**62:
            return exact_answers(self.integers, histogram) if isinstance(self.integers, np.ndarray) else self._beyond(histogram)
        if self._entries is None:
            return np.asarray(self.integers @ histogram)
        column, values, rows, starts = self._entries
        found = np.zeros(len(self.integers), dtype=np.int64)
        if len(rows):
            found[rows] = np.add.reduceat(values * histogram[column], starts)
        return found

    def _beyond(self, histogram: NDArray[np.int64]) -> NDArray[Any]:
        """The same of described rows in Python integers."""
        if isinstance(self.integers, IntervalRows):
            return self.integers @ histogram.astype(object)
        found = np.zeros(self.integers.shape[0], dtype=object)
        np.add.at(found, row_places(self.integers), self.integers.data.astype(object) * histogram[self.integers.indices])
        return found


def _sparse_entries(integers: NDArray[np.int64]) -> tuple[NDArray[Any], ...] | None:
    """Of entries other than 0 the columns and what they hold, and the rows that have any, with where each begins."""
    if integers.size < SPARSE_FROM or SPARSE * np.count_nonzero(integers) > integers.size:
        return None
    row, column = np.nonzero(integers)
    rows, starts = np.unique(row, return_index=True)
    return column, integers[row, column], rows, starts


def exact_answers(integers: NDArray[np.int64], histogram: NDArray[np.int64]) -> NDArray[Any]:
    """`M x` without rounding or overflow: int64 where the largest sum fits, Python integers otherwise.

    integers M: (R, N). histogram x: (N,). Returns (R,), of int64 or of Python integers.
    """
    bound = np.abs(integers).astype(np.float64) @ np.abs(histogram.astype(np.float64))
    if bound.max() < 2.0**62:
        return np.asarray(integers @ histogram)
    return np.asarray(integers.astype(object) @ histogram.astype(object))
