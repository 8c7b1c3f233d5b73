"""Unit splitting (Seeman et al., Algorithm 1): a record becomes as many rows as its largest measure needs,
in exact integers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from designer.base.arrays import Immutable
from designer.base.checks import assign, count, rational
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import COUNT, RATIONALS, Named, keys, list_of, or_null, record, text
from designer.relations.records.engines import label_column, octets, octets_of, require_table_columns
from designer.relations.records.values import entry, label
from designer.tables.measure import Measure

# Key columns: texts, whole numbers, booleans or dates that tell groups apart, or prefixes of nested codes.


@dataclass(frozen=True)
class Key(Immutable):
    """A key column as text, cut to its first `prefix` characters where codes are nested (NAICS 11, 111, 1111).

    column: of the table; prefix: how many characters, None for all. Raises `InvalidProblem` for neither a name nor a
    positive length.

    >>> Key("naics", 2).label({"naics": "1119"})
    '11'
    """

    column: str
    prefix: int | None = None
    schema = Named("column", record({"column": text(), "prefix": or_null(COUNT)}))

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidProblem(f"key: {self.column!r} is not the name of a column.", value=self.column)
        if self.prefix is not None:
            count(self.prefix, "prefix")

    @property
    def name(self) -> str:
        """The column, with the length of its prefix."""
        return self.column if self.prefix is None else f"{self.column}[:{self.prefix}]"

    def label(self, record: Mapping[str, Any]) -> str | None:
        """The label of a public or hypothetical record; None where it is missing or shorter than the prefix."""
        text = label(entry(record, self.column), self.column)
        return text if text is None or self.prefix is None else self._cut(text)

    def _cut(self, text: str) -> str | None:
        return text[: self.prefix] if len(text) >= (self.prefix or 0) else None

    def expression(self, table: Any) -> Any:
        """The column of an Ibis table to group by: texts as their bytes, so that no collation merges them;
        labels are its texts."""
        column = self.plain(table)
        return octets(column) if column.type().is_string() else column

    def plain(self, table: Any) -> Any:
        """The column whose texts are the labels, as it is; texts are not to be compared but by their bytes."""
        require_table_columns(table, [self.column])
        column = label_column(table[self.column])
        if self.prefix is None:
            return column
        text = column.cast("string")
        return (text.length() >= self.prefix).ifelse(text.left(self.prefix), None)

    def octets(self, table: Any) -> Any:
        """The labels of an Ibis table as bytes, whatever the type of the column."""
        column = self.expression(table)
        return column if column.type().is_binary() else octets(column.cast("string"))


Thresholds = tuple[Fraction, ...]


@dataclass(frozen=True)
class UnitSplitting(Immutable):
    """`m(r) = max(1, max_a ceil(|u_a| / T_a))` rows for record r, u_a its measures in units; row j holds
    `min(T_a, |u_a| - j T_a)`, at least 0, of each.

    measures: what is split, other columns are repeated.
    thresholds: one for each measure, in the unit of its column, whole numbers of steps.
    by, own: thresholds of their own for some labels of a key column, `{label: thresholds}`. A record of zeros stays one row, so
    that its id is still counted; negative measures keep their sign.

    >>> split = UnitSplitting([Measure("emp"), Measure("pay")], [50, 5_000_000])
    >>> split.rows({"id": 2, "emp": 50, "pay": 15_000_000})
    [{'emp': 50, 'pay': 5000000}, {'emp': 0, 'pay': 5000000}, {'emp': 0, 'pay': 5000000}]
    """

    measures: tuple[Measure, ...]
    thresholds: Thresholds
    by: Key | None = None
    own: tuple[tuple[str, Thresholds], ...] = ()
    schema = Named(
        "splitting",
        record(
            {
                "measures": list_of(Measure.schema, least=0),
                "thresholds": RATIONALS,
                "by": or_null(Key.schema),
                "own": {"type": "object", "additionalProperties": RATIONALS},
            },
            note=(
                "A record counts as the rows that it is split into at these thresholds; `own` has those of single "
                "groups of `by`."
            ),
        ),
    )

    def __init__(
        self,
        measures: Sequence[Measure],
        thresholds: Sequence[object],
        by: str | Key | None = None,
        own: Mapping[Any, Sequence[object]] | Sequence[tuple[str, Sequence[object]]] | None = None,
    ) -> None:
        columns = [measure.column for measure in measures]
        if not columns or len(set(columns)) != len(columns):
            raise InvalidProblem(f"measures: {columns}; name one or several columns, each once.")
        if bool(own) != (by is not None):
            raise InvalidProblem("by, own: a key column and thresholds for some of its labels go together.")
        listed = [(label(key, "own"), _thresholds(measures, Ts, f"own[{key!r}]")) for key, Ts in dict(own or {}).items()]
        given = {text: Ts for text, Ts in listed if text is not None}
        if len(given) != len(listed):
            raise InvalidProblem("own: a label is missing, or given twice; give every label its thresholds once.")
        fields = {
            "measures": tuple(measures),
            "thresholds": _thresholds(measures, thresholds, "thresholds"),
            "by": Key(by) if isinstance(by, str) else by,
            "own": tuple(sorted(given.items())),
        }
        for name, value in fields.items():
            assign(self, **{name: value})

    @cached_property
    def _own_units(self) -> dict[str, tuple[int, ...]]:
        return {label: self._units(thresholds) for label, thresholds in self.own}

    def _units(self, thresholds: Thresholds) -> tuple[int, ...]:
        return tuple(int(T / measure.step) for measure, T in zip(self.measures, thresholds, strict=True))

    def threshold_units(self, record: Mapping[str, Any]) -> tuple[int, ...]:
        """The thresholds that apply to a record, in units."""
        default = self._units(self.thresholds)
        own = None if self.by is None else self.by.label(record)
        return default if own is None else self._own_units.get(own, default)

    def splits(self, record: Mapping[str, Any]) -> int:
        """m, the number of rows of a public or hypothetical record.

        record: by the names of its columns.
        """
        return max(1, *(-(-abs(u) // T) for u, T in self._sizes(record)))

    @property
    def all_thresholds(self) -> list[Thresholds]:
        """Those that a record may have, whatever its label."""
        return [self.thresholds, *(thresholds for _, thresholds in self.own)]

    @property
    def most_rows(self) -> int:
        """The rows of the largest record that the bounds of the measures allow."""
        limits: list[int] = [min(Ts) for Ts in zip(self._units(self.thresholds), *self._own_units.values(), strict=True)]
        return max(-(-max(map(abs, measure.bounds)) // T) for measure, T in zip(self.measures, limits, strict=True))

    def rows(self, record: Mapping[str, Any]) -> list[dict[str, Fraction | int]]:
        """The measures of its rows, whole numbers as `int`.

        record: by the names of its columns.
        """
        sizes = self._sizes(record)
        parts = [[int(math.copysign(min(T, max(0, abs(u) - j * T)), u)) for u, T in sizes] for j in range(self.splits(record))]
        return [{m.column: _plain(part * m.step) for m, part in zip(self.measures, row, strict=True)} for row in parts]

    def _sizes(self, record: Mapping[str, Any]) -> list[tuple[int, int]]:
        units = [measure.units(entry(record, measure.column)) for measure in self.measures]
        return list(zip(units, self.threshold_units(record), strict=True))

    def count(self, table: Any) -> Any:
        """m as a 64-bit integer column of an Ibis table: `SUM` of it by group is the number of split rows,
        which need not exist for that."""
        return self.count_of(self.inputs(table))

    def inputs(self, table: Any) -> list[Any]:
        """What m is computed from: the measures in units, then their thresholds where they differ by label."""
        return [measure.expression(table) for measure in self.measures] + (self._threshold_columns(table) if self.by else [])

    def count_of(self, inputs: list[Any]) -> Any:
        """m from those columns."""
        import ibis

        units = inputs[: len(self.measures)]
        thresholds = inputs[len(self.measures) :] or [ibis.literal(T, "int64") for T in self._units(self.thresholds)]
        sizes = [u if measure.lower == 0 else u.abs() for u, measure in zip(units, self.measures, strict=True)]
        needed = [quotient(size + (T - 1), T) for size, T in zip(sizes, thresholds, strict=True)]
        return ibis.greatest(ibis.literal(1, "int64"), *needed)

    def split(self, table: Any, place: str = "split") -> Any:
        """The split table as an Ibis expression: every row m times, numbered 0 .. m - 1 in the column `place`,
        measures cut into parts.

        Nothing is computed until the caller asks for it (`.to_pyarrow()`, `.cache()`, `.to_parquet(path)`). Sums, counts and
        distinct counts by group never need it. Measures of whole steps come back as 64-bit integers, others as floats.
        """
        import ibis

        hidden = {f"{place}_u{k}": measure.expression(table) for k, measure in enumerate(self.measures)}
        limits = {f"{place}_t{k}": T for k, T in enumerate(self._threshold_columns(table))}
        if taken := [name for name in (place, *hidden, *limits) if name in table.columns]:
            raise InvalidProblem(f"place: the table has columns {taken} already; choose another name.")
        wide = table.mutate(**hidden, **limits, **{place: ibis.range(0, self.count(table)).unnest()})
        parts = {}
        for k, measure in enumerate(self.measures):
            u, T = wide[f"{place}_u{k}"], wide[f"{place}_t{k}"]
            rest = u.abs() - wide[place].cast("int64") * T
            part = ibis.cases((rest <= 0, ibis.literal(0, "int64")), (rest >= T, T), else_=rest) * u.sign().cast("int64")
            parts[measure.column] = measure.in_unit_of_column(part)
        return wide.mutate(**parts).drop(*hidden, *limits)

    def _threshold_columns(self, table: Any) -> list[Any]:
        import ibis

        defaults = [ibis.literal(T, "int64") for T in self._units(self.thresholds)]
        if self.by is None:
            return defaults
        found, own = self.by.octets(table), self._own_units
        cases = [
            [(found == octets_of(text, found), ibis.literal(Ts[k], "int64")) for text, Ts in own.items()]
            for k in range(len(defaults))
        ]
        return [ibis.cases(*branches, else_=default) for branches, default in zip(cases, defaults, strict=True)]

    def threshold_words(self) -> str:
        """The thresholds in words."""
        default = ", ".join(f"{m.column} {T}" for m, T in zip(self.measures, self.thresholds, strict=True))
        return default + (f", others by {self.by.name}" if self.by else "")

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "measures": [measure.to_spec() for measure in self.measures],
            "thresholds": [str(T) for T in self.thresholds],
            "by": None if self.by is None else {"column": self.by.column, "prefix": self.by.prefix},
            "own": {label: [str(T) for T in thresholds] for label, thresholds in self.own},
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> UnitSplitting:
        """From plain data; `InvalidProblem` where a key is missing or unknown."""
        require_keys(spec, keys(cls.schema), "splitting")
        by = None if spec["by"] is None else Key(**spec["by"])
        return cls([Measure.from_spec(m) for m in spec["measures"]], spec["thresholds"], by, spec["own"] or None)


def _thresholds(measures: Sequence[Measure], given: Sequence[object], field: str) -> Thresholds:
    if isinstance(given, str) or len(given) != len(measures):
        raise InvalidProblem(f"{field}: {given!r}; give one threshold for each of {len(measures)} measures.", value=given)
    exact = tuple(rational(T, field) for T in given)
    for measure, T in zip(measures, exact, strict=True):
        if T <= 0 or (T / measure.step).denominator != 1 or T / measure.step >= 2**52:
            raise InvalidProblem(f"{field}: {T} is not a positive whole number of steps of {measure.step} below 2^52.", value=T)
    return exact


def quotient(dividend: Any, divisor: Any) -> Any:
    """`floor(dividend / divisor)` for whole numbers below 2^53, whichever way the engine divides.

    Where the engine divides floats, the rounded quotient of a and b does not reach the next whole number k. It is 1 / b or more
    away, which is more than half a unit in the last place below k because a < 2^53 (docs/theory/tables.md, 5).
    """
    return (dividend // divisor).cast("int64")


def _plain(value: Fraction) -> Fraction | int:
    return int(value) if value.denominator == 1 else value
