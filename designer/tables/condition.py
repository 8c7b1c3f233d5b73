"""Conditions on a record: what a query counts and what it leaves out, the same for a record here and for rows of a table there."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from numbers import Rational
from typing import Any

from designer.errors import InvalidProblem
from designer.files.json_text import require_keys
from designer.frozen import Immutable, shown

ORDERS: dict[str, Callable[[Any, Any], Any]] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
OPERATORS = ("present", "==", "!=", "in", *ORDERS)

Value = str | int


@dataclass(frozen=True)
class Condition(Immutable):
    """`column op value`: "==", "!=", "in" for texts and whole numbers, "<", "<=", ">", ">=" for whole numbers, "present" without a value.

    A missing value, or NaN, meets no condition, "!=" among them. Texts are not ordered here, because every engine orders them its own way.
    """

    column: str
    op: str
    value: Value | tuple[Value, ...] | None = None

    def __post_init__(self) -> None:
        if self.op not in OPERATORS or not isinstance(self.column, str):
            raise InvalidProblem(f"where: {shown(self.column)} {shown(self.op)}; give a column and one of {list(OPERATORS)}.")
        value = tuple(self.value) if isinstance(self.value, list) else self.value
        object.__setattr__(self, "value", value)
        kinds = {type(entry) for entry in self.values}
        fits = {"present": value is None, "in": isinstance(value, tuple) and len(kinds) == 1 and kinds <= {str, int}}
        if not fits.get(self.op, kinds == {int} or (kinds == {str} and self.op in ("==", "!="))):
            raise InvalidProblem(
                f"where: {self.column!r} {self.op} {shown(value)}; the value does not fit: {type(self).__doc__}"
            )
        if any(isinstance(entry, int) and abs(entry) >= 2**53 for entry in self.values):
            raise InvalidProblem(f"where: {self.column!r} {self.op} a number beyond 2^53; floats would blur it.")

    @property
    def values(self) -> tuple[Value, ...]:
        """All values, as a tuple."""
        if self.value is None:
            return ()
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def meets(self, record: Mapping[str, Any]) -> bool:
        """Does a public or hypothetical record meet it?"""
        given = record.get(self.column)
        if given is None or _is_nan(given):
            return False
        if self.op == "present":
            return True
        if self.op in ORDERS:
            if not isinstance(given, (Rational, float, Decimal)):
                raise InvalidProblem(
                    f"record: {shown(self.column)} is {shown(given)}, which {self.op} does not order; give a number."
                )
            return bool(ORDERS[self.op](given, self.value))
        return bool((given in self.values) != (self.op == "!="))

    def expression(self, table: Any) -> Any:
        """The same as a boolean column of an Ibis table, never missing."""
        if self.column not in table.columns:
            raise InvalidProblem(f"records: the table has no column {self.column!r}; rename one.")
        column, kind = table[self.column], table[self.column].type()
        if self.values and not (
            kind.is_string() if isinstance(self.values[0], str) else kind.is_numeric() or kind.is_boolean()
        ):
            raise InvalidProblem(
                f"records: column {self.column!r} is of type {kind}; the condition compares with {shown(self.value)}."
            )
        present = column.notnull() & ~column.isnan() if kind.is_floating() else column.notnull()
        if self.op == "present":
            return present
        if self.op in ORDERS:
            return present & ORDERS[self.op](column, self.value).fill_null(False)
        among = column.isin(self.values).fill_null(False)
        return present & (~among if self.op == "!=" else among)

    def words(self) -> str:
        return f"{self.column} is present" if self.op == "present" else f"{self.column} {self.op} {self.value!r}"

    def to_spec(self) -> dict[str, Any]:
        return {"column": self.column, "op": self.op, "value": self.value}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Condition:
        require_keys(spec, {"column", "op", "value"}, "where")
        return cls(spec["column"], spec["op"], spec["value"])


def _is_nan(value: Any) -> bool:
    """NaN of any type; a signalling one may not even be compared, and some arrays and tables have no answer."""
    try:
        return value.is_nan() if isinstance(value, Decimal) else bool(value != value)
    except (TypeError, ValueError):
        return False


def all_met(where: Sequence[Condition], table: Any) -> Any | None:
    """The conjunction as a boolean column; None for no condition."""
    return reduce(operator.and_, [condition.expression(table) for condition in where]) if where else None
