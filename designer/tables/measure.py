"""Measures: numeric attributes as whole numbers of a public step, between public bounds, the same on every engine.

What a record can move: docs/theory/tables.md, section 1.

Fields that take what stands for a rational and hold rationals: annotations for the type checker alone,
`rational` does the work.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from designer.base.arrays import Immutable
from designer.base.checks import assign, rational
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import RATIONAL, SIGNED_RATIONAL, Named, keys, record, text
from designer.limits import MOST_MEASURE_STEPS
from designer.relations.records.values import python_number
from designer.tables.condition import floats
from designer.tables.policies.policy import numeric

Given = Fraction | float | str


class Rational:
    """A field that is given as a Fraction, a number or a text such as "1/3", and read as a Fraction."""

    def __get__(self, owner: object, kind: type | None = None) -> Fraction:
        raise NotImplementedError

    def __set__(self, owner: object, value: Given) -> None:
        raise NotImplementedError


class OptionalRational:
    """The same, given as None where a default is to be found, and never read as None."""

    def __get__(self, owner: object, kind: type | None = None) -> Fraction:
        raise NotImplementedError

    def __set__(self, owner: object, value: Given | None) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Measure(Immutable):
    """`units(x) = floor(clip(x, lower, upper) / step + 1/2)`, a whole number for every value that a column can hold.

    step: a positive rational, 1 / n or whole parts (`"0.01"`, `"1/8"`, 1000). lower, upper: public bounds in the unit of the
    column; by default 0 and 2^52 - 1 steps. Missing values and NaN count as 0 (0 must lie within the bounds), minus and plus
    infinity as the bounds, negative values as `lower`.
    The rule is part of the query: what is private is what it makes of a record.

    >>> pay = Measure("pay", "0.01", upper=1000)
    >>> [pay.units(x) for x in (12.345, None, -3, float("nan"), 1e300)]
    [1235, 0, 0, 0, 100000]
    """

    column: str
    step: Rational = Fraction(1)  # type: ignore[assignment]
    lower: Rational = Fraction(0)  # type: ignore[assignment]
    upper: OptionalRational = None  # type: ignore[assignment]
    schema = Named(
        "measure",
        record(
            {"column": text(), "step": RATIONAL, "lower": SIGNED_RATIONAL, "upper": SIGNED_RATIONAL},
            note="A column clipped to [lower, upper] and rounded to multiples of `step`.",
        ),
    )

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidProblem(f"column: {self.column!r} is not the name of a column.", value=self.column)
        step = rational(self.step, "step")
        if step <= 0 or max(step.numerator, step.denominator) > MOST_MEASURE_STEPS:
            raise InvalidProblem(
                f"step: {step} is not a positive rational of parts up to 2^52; give 1, 1000 or '0.01'.", value=step
            )
        upper = (MOST_MEASURE_STEPS - 1) * step if self.upper is None else rational(self.upper, "upper")
        assign(self, step=step, lower=rational(self.lower, "lower"), upper=upper)
        if not self.lower <= 0 <= upper or self.lower == upper:
            raise InvalidProblem(f"lower, upper: {self.lower} and {upper} do not enclose 0, which stands for missing values.")
        if max(-self.lower, upper) / step > MOST_MEASURE_STEPS - 1:
            raise InvalidProblem(f"upper: the bounds are more than 2^52 - 1 steps of {step} away; take a coarser step.")

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest number of units. Clipping, scaling and rounding are monotone, so all others lie between."""
        return self._rounded(float(self.lower)), self._rounded(float(self.upper))

    @property
    def whole(self) -> bool:
        """May whole numbers be taken as they are?"""
        return self.step == 1 and self.lower.denominator == 1 and self.upper.denominator == 1

    def units(self, value: Any) -> int:
        """The number of steps that a public or hypothetical value stands for;
        InvalidProblem for what no column of numbers holds.

        value: in the unit of the column.
        """
        value = python_number(value, self.column)
        if value is None:
            return 0
        low, high = float(self.lower), float(self.upper)
        if isinstance(value, int) and self.whole:
            return min(max(value, int(self.lower)), int(self.upper))
        return self._rounded(low if value <= low else high if value >= high else float(value))

    def _rounded(self, clipped: float) -> int:
        rounded: int = math.floor(self._shifted(clipped))
        return rounded

    def _shifted(self, clipped: Any) -> Any:
        """`(clipped q + p / 2) / p` for steps of p / q: correctly rounded operations here and on every engine.

        In this order no quotient underflows, which some engines (PostgreSQL) take for an error.
        """
        p, q = float(self.step.numerator), float(self.step.denominator)
        shifted = (clipped if q == 1 else clipped * q) + p / 2
        return shifted if p == 1 else shifted / p

    def expression(self, table: Any) -> Any:
        """`units` of a column of an Ibis table, of 64-bit integers; nothing that a row holds can make it fail."""
        import ibis

        column = numeric(table, self.column)
        if not self._taken_whole(column):
            return self._raised(column).floor().cast("int64")
        low, high = ibis.literal(int(self.lower), "int64"), ibis.literal(int(self.upper), "int64")
        zero, given = ibis.literal(0, "int64"), column.cast("int64")
        return ibis.cases((column.between(low, high), given), (column < low, low), (column > high, high), else_=zero)

    def quick_expression(self, table: Any) -> Any:
        """The same, of floats that are whole numbers where they are computed as floats: for engines whose FLOOR of a float is
        one (Ibis would make it an integer)."""
        column = numeric(table, self.column)
        return self.expression(table) if self._taken_whole(column) else _floor()(self._raised(column))

    def _taken_whole(self, column: Any) -> bool:
        kind = column.type()
        return bool(kind.is_integer() and self.whole and not kind.is_uint64())

    def _raised(self, column: Any) -> Any:
        """What is floored."""
        import ibis

        column = floats(column)
        zero, low, high = (ibis.literal(float(bound), "float64") for bound in (0, self.lower, self.upper))
        # NaN first: over Parquet files DuckDB folds comparisons by statistics that leave NaN out, so that none keeps it out.
        # Then what lies within, because engines go on with the other rows only.
        clipped = ibis.cases(
            (column.isnan(), zero), (column.between(low, high), column), (column < low, low), (column > high, high), else_=zero
        )
        return self._shifted(clipped)

    def in_unit_of_column(self, units: Any) -> Any:
        """A column of units as amounts: whole numbers where steps are whole, floats otherwise."""
        if self.step.denominator == 1:
            return units if self.step == 1 else units * self.step.numerator
        scaled = units.cast("float64") * float(self.step.numerator) if self.step.numerator != 1 else units.cast("float64")
        return scaled / float(self.step.denominator)

    def sentence(self) -> str:
        """The measure in words."""
        return f"{self.column} (steps of {self.step}, clipped to [{self.lower}, {self.upper}])"

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {"column": self.column, "step": str(self.step), "lower": str(self.lower), "upper": str(self.upper)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Measure:
        """From plain data; `InvalidProblem` where a key is missing or unknown."""
        require_keys(spec, keys(cls.schema), "measure")
        return cls(spec["column"], *(rational(spec[key], key) for key in ("step", "lower", "upper")))


@cache
def _floor() -> Any:
    import ibis

    def of_one(value: Any) -> Any:
        """Only the name of the argument is read."""

    return ibis.udf.scalar.builtin(of_one, name="floor", signature=(("float64",), "float64"))
