"""What a policy is: a public function from a record to the privacy loss it may suffer, exact and over whole columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable
from designer.base.checks import Declared, rational, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import as_data
from designer.limits import LARGEST_POLICY_EXPONENT
from designer.relations.records.engines import number_column, require_column
from designer.relations.records.values import entry, python_number

Unit = Literal["zcdp", "pure"]
Columns = Mapping[str, NDArray[Any]]
Read = Callable[[Any], "Policy"]
UNIT_WORDS: dict[str, str] = {"zcdp": "rho of zero-concentrated privacy", "pure": "epsilon of pure privacy"}
# Parameters stay within these powers of two, and engines see measures cut at 1e60: no product of theirs over- or underflows.
LARGEST_MEASURE = 1e60


class Policy(Declared, Immutable, ABC):
    """`P(record)`: the most that adding or removing that record may cost, for every data set around it.

    In unit "zcdp" a mechanism M keeps the policy when `D_a(M(D) || M(D')) <= a P(r)` for all a > 1 where D, D' differ in r. In
    unit "pure" it does when the likelihood ratio is at most `exp(P(r))` (Seeman et al., definition 3.2). The function is
    public. Its value at a record of a confidential table is as confidential as the record.

    Measures count with their absolute values; a missing one (None or NaN) counts as 0, because it adds nothing to a sum. All
    policies are nondecreasing in every absolute measure,
    so cutting a measure towards 0 before it is summed keeps the promise made for the record.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the policy reads, keys among them."""

    @property
    def unit(self) -> Unit:
        """What the loss is measured in."""
        return "zcdp"

    @abstractmethod
    def exact(self, record: Mapping[str, object]) -> Fraction:
        """The loss of one record; rounded up by less than 2^-60 (relative, plus 2^-160) where it is irrational."""

    @abstractmethod
    def __call__(self, columns: Columns) -> Floats:
        """The losses of many records, shape (n,), rounded up: never below `exact`."""

    @abstractmethod
    def expression(self, table: Any) -> Any:
        """The losses as an Ibis column expression of `table`.

        The engine computes with 64-bit floats: use it to look at losses, not to promise them.
        """

    @abstractmethod
    def sentence(self) -> str:
        """The formula, in one line."""

    def to_spec(self) -> dict[str, Any]:
        """Plain data, `kind` and the fields; `kinds.policy_from_spec` inverts it."""
        held: Any = self
        return {"kind": self.kind, **{field.name: as_data(getattr(self, field.name)) for field in fields(held)}}

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        """From plain data; `read` turns the data of an inner policy into one."""

    def keys(self) -> dict[str, tuple[str | int, ...]]:
        """The key attributes and the values that the policy knows of each."""
        return {}

    def inner(self) -> tuple[Policy, ...]:
        """The policies it is made of."""
        return ()


class Amounts(Mapping[str, Fraction]):
    """A positive rational number for each attribute, frozen.

    >>> Amounts({"emp": 50}, "thresholds")["emp"]
    Fraction(50, 1)
    """

    def __init__(self, given: object, field: str) -> None:
        if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
            raise InvalidProblem(f"{field}: {shown(given)} is no mapping from attribute names to numbers.", value=given)
        self._numbers = {name: parameter(given[name], f"{field}[{name!r}]") for name in given}

    def __getitem__(self, name: str) -> Fraction:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __hash__(self) -> int:
        return hash(frozenset(self._numbers.items()))

    def __repr__(self) -> str:
        return repr({name: str(number) for name, number in self._numbers.items()})


def parameter(value: object, field: str, *, zero: bool = False) -> Fraction:
    """A rational from 2^-128 to 2^128, or 0 where that is allowed."""
    number = rational(value, field)
    if not (zero and number == 0) and not Fraction(1, 2**LARGEST_POLICY_EXPONENT) <= number <= 2**LARGEST_POLICY_EXPONENT:
        raise InvalidProblem(
            f"{field}: {shown(value)} is out of range; give a number from 2^-{LARGEST_POLICY_EXPONENT} to "
            f"2^{LARGEST_POLICY_EXPONENT}.",
            value=value,
        )
    return number


def parameters(values: object, field: str) -> tuple[Fraction, ...]:
    """A list of positive rationals."""
    if not isinstance(values, (list, tuple)):
        raise InvalidProblem(f"{field}: {shown(values)} is no list of numbers.", value=values)
    return tuple(parameter(value, f"{field}[{i}]") for i, value in enumerate(values))


def require_unit(unit: object, field: str = "in_unit") -> object:
    """The unit; refuses anything but "zcdp" and "pure"."""
    if unit not in UNIT_WORDS:
        raise InvalidProblem(f"{field}: {shown(unit)} is unknown; use one of {sorted(UNIT_WORDS)}.", value=unit)
    return unit


def bracketed(number: Fraction) -> str:
    """A rational to divide by, in words."""
    return f"{number}" if number.denominator == 1 else f"({number})"


def magnitude(record: Mapping[str, object], attribute: str) -> Fraction:
    """`|r_a|` of one record, 0 where it is missing."""
    value = python_number(entry(record, attribute), attribute)
    if value is None:
        return Fraction(0)
    finite = isinstance(value, Decimal) and value.is_finite()
    return abs(Fraction(value) if finite else rational(value, f"record[{attribute!r}]"))


def column(columns: Columns, attribute: str) -> NDArray[Any]:
    if attribute not in columns:
        raise InvalidProblem(f"columns: no {attribute!r}, which the policy reads; there are {shown(sorted(columns))}.")
    return np.asarray(columns[attribute])


def magnitudes(values: NDArray[Any]) -> Floats:
    """`|values|` as floats next to the exact numbers (relative error at most 2^-53), 0 where missing.

    values: (n,). Returns (n,).
    """
    if values.dtype.kind not in "iufO":
        raise InvalidProblem(f"columns: one of type {values.dtype} holds no numbers; convert it.")
    floats = np.array([_float(value) for value in values.tolist()]) if values.dtype.kind == "O" else values.astype(np.float64)
    return np.abs(np.where(np.isnan(floats), 0.0, floats))


def _float(value: Any) -> float:
    given = value if type(value) in (int, float) else python_number(value, "columns")
    try:
        return 0.0 if given is None else float(given)
    except OverflowError:
        return np.inf


def length(columns: Columns) -> int:
    """The number of records of a table of columns."""
    return len(next(iter(columns.values()))) if columns else 0


def raised(values: Floats, roundings: int) -> Floats:
    """Floats that `roundings` operations, each within 2^-53 (relative),
    have computed from above: an upper bound of the exact numbers.

    values: (n,). Returns (n,).
    """
    return np.asarray(values * (1 + (roundings + 2) * 2.0**-53) * (1 + 2.0**-52))


def measure(table: Any, attribute: str) -> Any:
    """`|r_a|` as a float expression of an Ibis table, 0 where it is missing, cut at 1e60."""
    import ibis

    given = numeric(table, attribute)
    floats = given.cast("float64").abs().coalesce(0.0)
    numbers = floats.isnan().ifelse(0.0, floats) if given.type().is_floating() else floats
    return ibis.least(numbers, LARGEST_MEASURE)


def numeric(table: Any, attribute: str) -> Any:
    """A column of numbers of an Ibis table, or of texts that spell some; InvalidProblem, by the schema alone, where there is
    none of that name."""
    require_column(table, attribute)
    kind = table[attribute].type()
    if not (kind.is_integer() or kind.is_floating() or kind.is_decimal() or kind.is_string()):
        raise InvalidProblem(f"records: column {attribute!r} is of type {kind}; a measure is a column of numbers.")
    return number_column(table[attribute])


def same_unit(parts: Iterable[Policy], field: str) -> Unit:
    units = sorted({part.unit for part in parts})
    if len(units) != 1:
        raise InvalidProblem(f"{field}: mixes the units {units}; convert pure policies with `AsZcdp` first.")
    return units[0]
