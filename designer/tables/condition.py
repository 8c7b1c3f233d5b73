"""Conditions on a record: what a query counts and what it leaves out,
the same for a record here and for rows of a table there."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from designer.base.arrays import Immutable
from designer.base.checks import assign, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.labels import is_missing
from designer.base.schema import Named, either, keys, list_of, one_of, record, text
from designer.relations.records.engines import is_among, number_column, require_column
from designer.relations.records.values import Number, entry, label, python_number

ORDERS: dict[str, Callable[[Any, Any], Any]] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
OPERATORS = ("present", "==", "!=", "in", *ORDERS)

Value = str | int


@dataclass(frozen=True)
class Condition(Immutable):
    """`column op value`: "==", "!=", "in" for texts and whole numbers, "<", "<=", ">", ">=" for whole numbers,
    "present" without a value.

    A missing value, or NaN, meets no condition, "!=" among them. Texts are not ordered here, because every engine orders
    them its own way. Raises `InvalidProblem` for another operator, and a value that does not fit it.

    column: the column that is looked at. op: one of the operators above. value: what it compares with; a list for "in".

    >>> Condition("pay", ">=", 1000).meets({"pay": 2000})
    True
    """

    column: str
    op: str
    value: Value | tuple[Value, ...] | None = None
    schema = Named(
        "condition",
        record(
            {
                "column": text(),
                "op": one_of(*OPERATORS),
                "value": either({"type": ["null", "string", "integer"]}, list_of({"type": ["string", "integer"]}, least=0)),
            }
        ),
    )

    def __post_init__(self) -> None:
        if self.op not in OPERATORS or not isinstance(self.column, str):
            raise InvalidProblem(
                f"where: {shown(self.column)} {shown(self.op)}; give a column and one of {list(OPERATORS)}.", value=self.column
            )
        value = tuple(self.value) if isinstance(self.value, list) else self.value
        assign(self, value=value)
        kinds = {type(entry) for entry in self.values}
        fits = {"present": value is None, "in": isinstance(value, tuple) and len(kinds) == 1 and kinds <= {str, int}}
        if not fits.get(self.op, kinds == {int} or (kinds == {str} and self.op in ("==", "!="))):
            raise InvalidProblem(
                f"where: {self.column!r} {self.op} {shown(value)}; the value does not fit: {type(self).__doc__}",
                value=self.column,
            )
        if any(isinstance(entry, int) and abs(entry) >= 2**53 for entry in self.values):
            raise InvalidProblem(
                f"where: {self.column!r} {self.op} a number beyond 2^53; floats would blur it.", value=self.column
            )

    @property
    def values(self) -> tuple[Value, ...]:
        """All values, as a tuple."""
        if self.value is None:
            return ()
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def meets(self, record: Mapping[str, Any]) -> bool:
        """Does a public or hypothetical record meet it? InvalidProblem where the record lacks the column,
        or holds another type.

        record: by the names of its columns.
        """
        given = entry(record, self.column)
        if is_missing(given) or not self.values:
            return not is_missing(given)
        value = self._text(given) if isinstance(self.values[0], str) else self._number(given)
        if self.op in ORDERS:
            return bool(ORDERS[self.op](value, self.value))
        return (value in self.values) != (self.op == "!=")

    def _number(self, given: object) -> Number | None:
        """Booleans count as 0 and 1, as they do on engines."""
        return python_number(int(given) if isinstance(given, (bool, np.bool_)) else given, self.column)

    def _text(self, given: object) -> str | None:
        if not isinstance(given, str):
            raise InvalidProblem(
                f"record[{self.column!r}]: a {type(given).__name__} is no text; the condition compares with "
                f"{shown(self.value)}."
            )
        return label(given, self.column)

    def expression(self, table: Any) -> Any:
        """The same as a boolean column of an Ibis table, never missing."""
        require_column(table, self.column)
        column = table[self.column]
        column = number_column(column) if self.values and isinstance(self.values[0], int) else column
        kind = column.type()
        if self.values and not self._compares(kind):
            raise InvalidProblem(
                f"records: column {self.column!r} is of type {kind}; the condition compares with {shown(self.value)}."
            )
        real = kind.is_floating() or kind.is_decimal()
        present = column.notnull() & ~column.cast("float64").isnan() if real else column.notnull()
        if self.op == "present":
            return present
        if self.op in ORDERS:
            return present & ORDERS[self.op](_comparable(column), self.value).fill_null(False)
        among = is_among(column, map(str, self.values)) if kind.is_string() else _comparable(column).isin(self.values)
        return present & (~among if self.op == "!=" else among).fill_null(False)

    def _compares(self, kind: Any) -> bool:
        """Is a column of the type of the values: texts, or numbers and booleans?"""
        if isinstance(self.values[0], str):
            return bool(kind.is_string())
        return bool(kind.is_integer() or kind.is_floating() or kind.is_decimal() or kind.is_boolean())

    def sentence(self) -> str:
        """The condition in words."""
        return f"{self.column} is present" if self.op == "present" else f"{self.column} {self.op} {self.value!r}"

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {"column": self.column, "op": self.op, "value": self.value}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Condition:
        """From plain data; `InvalidProblem` where a key is missing or unknown."""
        require_keys(spec, keys(cls.schema), "where")
        return cls(spec["column"], spec["op"], spec["value"])


def floats(column: Any) -> Any:
    """A column of numbers as 64-bit floats, each the nearest one.

    Decimals of more than 15 digits go through their texts: engines read texts correctly,
    but divide such decimals with two roundings.
    """
    kind = column.type()
    long = kind.is_decimal() and (kind.precision is None or kind.precision > 15)
    return (column.cast("string") if long else column).cast("float64")


def _comparable(column: Any) -> Any:
    """A column that compares with whole numbers exactly: engines would round the number to a 32-bit float, or to a boolean."""
    kind = column.type()
    wider = (
        "float64" if kind.is_floating() else "int64" if kind.is_boolean() else "decimal(38, 0)" if kind.is_uint64() else None
    )
    return column if wider is None else column.cast(wider)


def all_met(where: Sequence[Condition], table: Any) -> Any | None:
    """The conjunction as a boolean column; None for no condition."""
    return reduce(operator.and_, [condition.expression(table) for condition in where]) if where else None
