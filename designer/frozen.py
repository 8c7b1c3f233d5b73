"""Arrays that nobody can change, and the validation of what callers hand in as arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from designer.errors import InvalidProblem

Floats = NDArray[np.float64]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A private, contiguous, read-only copy."""
    copy = np.array(array, order="C", copy=True)
    copy.setflags(write=False)
    return copy


def real_array(value: object, field: str, ndim: int, *, allow_inf: bool = False) -> Floats:
    """`value` as a frozen float64 array of `ndim` dimensions; NaN (and infinity, unless allowed) are refused with their place."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf" and not _all_numbers(given):
            raise InvalidProblem(f"{field}: entries of type {given.dtype} are not real numbers; convert them to floats first.")
        array = np.asarray(given, dtype=np.float64)
    except InvalidProblem:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProblem(
            f"{field}: not an array of real numbers ({error}); give {ndim}-dimensional rows of equal length."
        ) from None
    if array.ndim != ndim:
        raise InvalidProblem(f"{field}: has {array.ndim} dimensions, shape {array.shape}; give an array with {ndim}.")
    if array.size == 0:
        raise InvalidProblem(f"{field}: is empty, shape {array.shape}; give at least one entry along every axis.")
    bad = np.isnan(array) if allow_inf else ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidProblem(f"{field}: entry {list(where)} is {array[where]}; replace it by a finite number.")
    refuse_lossy_integers(value, array, field)
    return frozen(array)


def _all_numbers(array: NDArray[Any]) -> bool:
    """Are the entries of an array of objects plain real numbers (Python integers beyond 64 bits, mostly)?"""
    return array.dtype.kind == "O" and all(isinstance(entry, (int, float, np.integer, np.floating)) for entry in array.ravel())


def refuse_lossy_integers(value: object, array: Floats, field: str) -> None:
    """Integers beyond 2^53 do not fit a float64: silently answering a different query is worse than refusing."""
    if np.abs(array, where=np.isfinite(array), out=np.zeros_like(array)).max() >= 2.0**53:
        # As objects, because a list that mixes integers and floats has become an array of rounded floats already.
        original = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
        integers = ((a, b) for a, b in zip(original.ravel(), array.ravel(), strict=True) if isinstance(a, (int, np.integer)))
        if any(int(a) != int(b) for a, b in integers):
            raise InvalidProblem(
                f"{field}: holds integers beyond 2^53 that a float64 cannot hold; divide the row by a power of two."
            )


def names(given: Sequence[object] | None, count: int, field: str, prefix: str) -> tuple[str, ...]:
    """`count` distinct names, `prefix0, prefix1, ...` where none are given."""
    if given is None:
        return tuple(f"{prefix}{i}" for i in range(count))
    if isinstance(given, str) or len(given) != count:
        raise InvalidProblem(f"{field}: {len(given)} names for {count} entries; give one name for each.")
    result = tuple(str(name) for name in given)
    if not all(map(_is_text, result)):
        raise InvalidProblem(f"{field}: a name holds half of a surrogate pair, which no file can store; correct its encoding.")
    if len(set(result)) != count:
        twice = next(name for name, times in Counter(result).items() if times > 1)
        raise InvalidProblem(f"{field}: the name {shown(twice)} appears twice; make the names distinct.")
    return result


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: object) -> str:
    """`repr` for messages, numpy's numbers as plain ones; long values are cut."""
    text = repr(value.item() if isinstance(value, np.generic) else value) if not isinstance(value, int) else _digits(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _digits(value: int) -> str:
    return repr(value) if value.bit_length() < 300 else f"an integer of {value.bit_length()} bits"


class Immutable:
    """A frozen dataclass that is its own copy. Unpickling goes through the constructor: checks run again, arrays stay read-only."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), {f.name: getattr(self, f.name) for f in fields(self) if f.init})  # type: ignore[arg-type]


def _rebuilt(kind: type, arguments: dict[str, Any]) -> Any:
    return kind(**arguments)


def positive(value: object, field: str, *, allow_inf: bool = False) -> float:
    """A positive float, finite unless infinity is allowed."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidProblem(f"{field}: {shown(value)} is not a number; give a positive number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if not number > 0 or (np.isinf(number) and not allow_inf):
        raise InvalidProblem(f"{field}: {number} is not a positive{'' if allow_inf else ' finite'} number.")
    return number


def probability(value: object, field: str) -> float:
    """A float strictly between 0 and 1."""
    try:
        number = positive(value, field)
    except InvalidProblem:
        number = math.inf
    if not number < 1:
        raise InvalidProblem(f"{field}: {shown(value)} is not between 0 and 1; give a probability.")
    return number


def count(value: object, field: str, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or int(value) < least:
        raise InvalidProblem(f"{field}: {shown(value)} is not a whole number of at least {least}.")
    return int(value)
