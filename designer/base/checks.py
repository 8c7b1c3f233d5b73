"""Checks of arguments: names, counts, positive numbers, probabilities and rationals, each with one clear refusal."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from designer.base.errors import InvalidProblem
from designer.limits import LARGEST_NUMBER, MOST_DENOMINATOR_DIGITS


def names(given: Sequence[object] | None, count: int, field: str, prefix: str) -> tuple[str, ...]:
    """`count` distinct names, `prefix0, prefix1, ...` where none are given."""
    if given is None:
        return tuple(f"{prefix}{i}" for i in range(count))
    if isinstance(given, str) or len(given) != count:
        raise InvalidProblem(f"{field}: {len(given)} names for {count} entries; give one name for each.")
    result = tuple(str(name) for name in given)
    if not is_text("".join(result)):
        raise InvalidProblem(f"{field}: a name holds half of a surrogate pair, which no file can store; correct its encoding.")
    if len(set(result)) != count:
        twice = next(name for name, times in Counter(result).items() if times > 1)
        raise InvalidProblem(f"{field}: the name {shown(twice)} appears twice; make the names distinct.")
    return result


def is_text(name: str) -> bool:
    """Can a file hold it? Half of a surrogate pair has no bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: object) -> str:
    """`repr` for messages, numpy's numbers as plain ones; long values are cut."""
    text = repr(value.item() if isinstance(value, np.generic) else value) if not isinstance(value, int) else _digits(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def system_words(error: Exception) -> str:
    """Why a path cannot be opened: the system's words, or those of Python, which refuses a zero byte with a ValueError."""
    return getattr(error, "strerror", None) or str(error)


def meant(given: object, known: Iterable[str]) -> str:
    """The known name that a mistyped one is nearest to, as a clause before what there is; empty where none is near.

    >>> f"unknown; {meant('unifrom', ['uniform', 'graph'])}use one of ..."
    "unknown; perhaps 'uniform' is meant; use one of ..."
    """
    near = get_close_matches(given, list(known), n=1) if isinstance(given, str) else []
    return f"perhaps {near[0]!r} is meant; " if near else ""


def near(given: object, known: Iterable[str]) -> str:
    """The same as a clause at the end of a sentence.

    >>> f"is not one of the attributes{near('sxe', ['sex', 'age'])}."
    "is not one of the attributes; perhaps 'sex' is meant."
    """
    return f"; {meant(given, known)}".removesuffix("; ")


def column_fault(name: str, names: Sequence[object]) -> str:
    """What is wrong with a column that must be there once. Other names are not listed: the first line may be a record.

    >>> column_fault("age", ["aeg", "sex"]), column_fault("age", ["age", "age"])
    ("has no column 'age'; perhaps 'aeg' is meant", "has 2 columns named 'age'; rename all but one")
    """
    times = list(names).count(name)
    if times > 1:
        return f"has {times} columns named {shown(name)}; rename all but one"
    return f"has no column {shown(name)}{near(name, [known for known in names if isinstance(known, str)])}"


def without_percent(given: object) -> str:
    """What to write for a percentage, as a clause at the end of a sentence; empty for anything else.

    >>> without_percent("95%"), without_percent("95")
    ('; write 0.95', '')
    """
    found = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%\s*", given) if isinstance(given, str) else None
    return f"; write {(Decimal(found[1]) / 100).normalize():f}" if found else ""


def _digits(value: int) -> str:
    return repr(value) if value.bit_length() < 300 else f"an integer of {value.bit_length()} bits"


def positive(value: object, field: str, *, allow_inf: bool = False) -> float:
    """A positive float, finite unless infinity is allowed."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        remedy = without_percent(value) or "; give a positive number"
        raise InvalidProblem(f"{field}: {shown(value)} is not a number{remedy}.", value=value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if not number > 0 or (np.isinf(number) and not allow_inf):
        raise InvalidProblem(
            f"{field}: {number} is not a positive{'' if allow_inf else ' finite'} number; give one above 0.", value=number
        )
    return number


def probability(value: object, field: str) -> float:
    """A float strictly between 0 and 1."""
    try:
        number = positive(value, field)
    except InvalidProblem:
        number = math.inf
    if not number < 1:
        as_percentage = f"; write {number / 100:g} for {number:g} %" if 1 < number < 100 else ""
        remedy = without_percent(value) or as_percentage or "; give a probability"
        raise InvalidProblem(f"{field}: {shown(value)} is not between 0 and 1{remedy}.", value=value)
    return number


def count(value: object, field: str, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or int(value) < least:
        raise InvalidProblem(f"{field}: {shown(value)} is not a whole number of at least {least}.", value=value)
    return int(value)


RATIONAL_TEXT = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399}|(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?)?")


def rational(value: object, field: str) -> Fraction:
    """An exact rational from an integer, a finite float (taken at its exact value), a Fraction, a Decimal,
    or a text such as "1/3", "2.56" or "1e-6".

    >>> rational("1/3", "epsilon"), rational(0.5, "epsilon"), rational("2.56", "rho"), rational("1e-6", "delta")
    (Fraction(1, 3), Fraction(1, 2), Fraction(64, 25), Fraction(1, 1000000))
    """
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < 2 * MOST_DENOMINATOR_DIGITS:
        return _short(Fraction(value), field)
    if isinstance(value, str) and RATIONAL_TEXT.fullmatch(value):
        return _short(Fraction(value), field)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction, np.integer, np.floating)):
        raise InvalidProblem(
            f"{field}: {shown(value)} is not a number; give an integer, a float, a Fraction, a Decimal or a text like '1/3'.",
            value=value,
        )
    if isinstance(value, Decimal) or (isinstance(value, (float, np.floating)) and not np.isfinite(value)):
        raise InvalidProblem(
            f"{field}: {shown(value)} is not finite, or of too many digits; give a moderate number.", value=value
        )
    return _moderate(Fraction(value.item() if isinstance(value, np.generic) else value), field)


def _moderate(number: Fraction, field: str) -> Fraction:
    if abs(number) > LARGEST_NUMBER:
        raise InvalidProblem(f"{field}: is beyond 2^1000; give a smaller number.")
    return number


def _short(number: Fraction, field: str) -> Fraction:
    if number.denominator > 10**MOST_DENOMINATOR_DIGITS:
        raise InvalidProblem(
            f"{field}: has a denominator of more than {MOST_DENOMINATOR_DIGITS} digits; give a shorter number."
        )
    return _moderate(number, field)


def rational_from(value: object, field: str, low: int, high: int | None = None) -> Fraction:
    """A rational of at least `low` and at most `high`."""
    number = rational(value, field)
    if number < low or (high is not None and number > high):
        upper = "" if high is None else f" and at most {high}"
        raise InvalidProblem(f"{field}: {shown(float(number))} must be at least {low}{upper}.", value=number)
    return number


# Fields of frozen dataclasses that say themselves how their values are checked, and values that constructors add.
#
# What relates several fields stays in the `__post_init__` of the class, after `super().__post_init__()`.


def checked(check: Callable[..., Any], *beside: Any, says: str = "", **options: Any) -> Mapping[str, Any]:
    """The metadata of a field whose value is what `check(value, name, *beside, **options)` makes of the given one.

    says: what refusals call the field; its name where nothing is said. None is not checked where it is the default.

    >>> from dataclasses import dataclass, field
    >>> from designer.base.checks import count
    >>> @dataclass(frozen=True)
    ... class Group(Declared):
    ...     size: int = field(metadata=checked(count, least=2))
    >>> Group(3).size
    3
    >>> Group(1)
    Traceback (most recent call last):
    designer.base.errors.InvalidProblem: size: 1 is not a whole number of at least 2.
    """
    return {"check": lambda name: lambda value: check(value, says or name, *beside, **options)}


class Declared:
    """A frozen dataclass whose constructor checks each field as is said beside it."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, check, optional in _checks(kind):
            value = getattr(self, name)
            if value is not None or not optional:
                assign(self, **{name: check(value)})


@cache
def _checks(kind: Any) -> tuple[tuple[str, Callable[[Any], Any], bool], ...]:
    """The fields that have a check, which of them may be None."""
    said = [field for field in fields(kind) if "check" in field.metadata]
    return tuple((field.name, field.metadata["check"](field.name), field.default is None) for field in said)


def assign(made: Any, **values: Any) -> None:
    """Set attributes of a frozen object, for its constructor alone; arrays must be its own, and become read-only."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(made, name, value)
