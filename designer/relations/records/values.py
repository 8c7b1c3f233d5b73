"""Values of one public record: missing ones, numbers and labels, in the types that tables hold; every other type is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.labels import is_missing, label_of

Number = int | float | Decimal | Fraction


def entry(record: Mapping[str, object], attribute: str) -> object:
    """A value of a record; InvalidProblem where the record has no such column."""
    if attribute not in record:
        raise InvalidProblem(f"record: has no {attribute!r}, which the policy reads; it has {shown(sorted(map(str, record)))}.")
    return record[attribute]


def is_whole(value: object) -> bool:
    """Is it an integer of Python or numpy? Booleans and durations are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def python_number(value: object, column: str) -> Number | None:
    """A number as one of Python's, None where it is missing; InvalidProblem for every type that no column of numbers holds."""
    if is_missing(value):
        return None
    if is_whole(value):
        return int(value)  # type: ignore[call-overload, no-any-return]
    if isinstance(value, (float, np.floating)) and (isinstance(value, float) or value.itemsize <= 8):
        return float(value)
    if not isinstance(value, (Decimal, Fraction)):
        raise InvalidProblem(
            f"record[{column!r}]: a {type(value).__name__} is no number; give an integer, a float or a Decimal."
        )
    return value


def label(value: object, column: str) -> str | None:
    """The text by which groups know a value, None where it is missing;
    InvalidProblem for every type that no key column holds."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        return _text(str.__str__(value), column)
    if isinstance(value, (bool, np.bool_, int, float, Decimal, Fraction, np.floating, date, np.datetime64)) or is_whole(value):
        return label_of(value)
    raise InvalidProblem(
        f"record[{column!r}]: a {type(value).__name__} is no key; keys are texts, whole numbers, booleans or dates."
    )


def _text(value: str, column: str) -> str:
    """Texts of tables are UTF-8, which has no halves of surrogate pairs."""
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidProblem(f"record[{column!r}]: holds half of a surrogate pair; correct its encoding.")
    return value
