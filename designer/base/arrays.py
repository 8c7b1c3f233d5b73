"""Arrays that nobody can change, and the validation of what callers hand in as arrays."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.base.read_only import ReadOnlyParts, ReadOnlyProperty, copied

Floats = NDArray[np.float64]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A private, contiguous copy to which nobody can write: see `designer.base.read_only.copied`.

    array: (...,), any shape, kept.
    """
    return copied(np.asarray(array))


def real_array(value: object, field: str, ndim: int, *, allow_inf: bool = False) -> Floats:
    """`value` as a frozen float64 array of `ndim` dimensions;
    NaN (and infinity, unless allowed) are refused with their place."""
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
    """Integers beyond 2^53 do not fit a float64: silently answering a different query is worse than refusing.

    array: (...,). `InvalidProblem` elsewhere.
    """
    if np.abs(array, where=np.isfinite(array), out=np.zeros_like(array)).max() >= 2.0**53:
        # As objects, because a list that mixes integers and floats has become an array of rounded floats already.
        original = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
        integers = ((a, b) for a, b in zip(original.ravel(), array.ravel(), strict=True) if isinstance(a, (int, np.integer)))
        if any(int(a) != int(b) for a, b in integers):
            raise InvalidProblem(
                f"{field}: holds integers beyond 2^53 that a float64 cannot hold; divide the row by a power of two."
            )


class Immutable(metaclass=ReadOnlyParts):
    """A frozen dataclass that is its own copy, with parts to which nobody can write: arrays, and what properties remember of
    them, are read-only, lists tuples, dictionaries views. Unpickling goes through the constructor: checks run again."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, found in list(vars(cls).items()):
            if type(found) is cached_property:
                kept = ReadOnlyProperty(found.func)
                kept.__set_name__(cls, name)
                setattr(cls, name, kept)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), {f.name: getattr(self, f.name) for f in fields(self) if f.init})  # type: ignore[arg-type]


def _rebuilt(kind: type, arguments: dict[str, Any]) -> Any:
    return kind(**arguments)
