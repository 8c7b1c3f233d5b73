"""Arrays that nobody can change, and the validation of what callers hand in as arrays; all that fields of a frozen object
lead to, made read-only."""

from __future__ import annotations

import copyreg
from abc import ABCMeta
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem

if TYPE_CHECKING:
    from inspect import Signature


ATOMS = frozenset({NoneType, bool, int, float, complex, str, bytes, Fraction, range, slice})
OWN = ("designer.", "solvers.", "scipy.sparse.")  # rooms whose objects are opened; those of a caller are the caller's


def view(entries: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    """A mapping that nobody can write to, of a dictionary that nobody else has."""
    return MappingProxyType(entries)


copyreg.pickle(MappingProxyType, lambda mapping: (view, (dict(mapping),)))  # Python pickles none by itself


def is_readonly(array: NDArray[Any]) -> bool:
    """Whether nobody can write to an array, nor make it writable again: its numbers are those of a `bytes` object, or, where
    it holds objects, of another array that is read-only.

    array: (...,), any shape.
    """
    part: Any = array
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            return False
        owner, part = part, part.base
    return isinstance(part, bytes) or (array.dtype.hasobject and owner is not array) or not array.size


def readonly_copy(array: NDArray[Any], order: str = "C") -> NDArray[Any]:
    """A copy to which nobody can write, whatever its flags are set to.

    array: (...,), any shape, kept; order: "C", or "F" for columns first. Objects stay those that they are, and a copy of them
    is read-only through every view of it.
    """
    if order == "F":
        return readonly_copy(array.T).T
    if array.dtype.hasobject or not array.size or not array.dtype.itemsize:
        owner = np.array(array, order="C", copy=True)
        owner.setflags(write=False)
        return owner[...]
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def freeze(value: Any) -> Any:
    """`value` with nothing in it that could be written to.

    Arrays become read-only copies, lists tuples, dictionaries views of a dictionary that nobody else has, sets frozen sets.
    Attributes of objects of this program are replaced in place; those of `Immutable` are read-only since their construction.
    """
    return _Lock().of(value)


class _Lock:
    """One pass over what is reachable through entries and attributes; what stands in several places stays one object."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[Any, Any]] = {}  # by identity: the value, kept alive, and what stands for it

    def of(self, value: Any) -> Any:
        if type(value) in ATOMS or isinstance(value, (type, ModuleType, Enum)):
            return value
        if id(value) not in self._seen:
            self._seen[id(value)] = (value, value)  # a circle ends here
            self._seen[id(value)] = (value, self._made(value))
        return self._seen[id(value)][1]

    def _made(self, value: Any) -> Any:
        match value:
            case np.ndarray():
                columns_first = value.flags.f_contiguous and not value.flags.c_contiguous
                return value if is_readonly(value) else readonly_copy(value, "F" if columns_first else "C")
            case tuple() | list():
                return self._sequence(value)
            case set() | frozenset():
                return frozenset(value)
            case dict() | MappingProxyType():
                parts = {name: self.of(part) for name, part in value.items()}
                same = isinstance(value, MappingProxyType) and all(parts[name] is part for name, part in value.items())
                return value if same else MappingProxyType(parts)
            case _ if f"{type(value).__module__}.".startswith(OWN) and not isinstance(type(value), ReadOnlyParts):
                self.attributes(value)
        return value

    def attributes(self, holder: Any) -> None:
        """Make those of an object read-only, in place."""
        own = getattr(holder, "__dict__", {})
        own.update({name: self.of(part) for name, part in own.items()})

    def _sequence(self, given: tuple[Any, ...] | list[Any]) -> Any:
        if type(given) is tuple and ATOMS.issuperset(map(type, given)):
            return given
        parts = [self.of(part) for part in given]
        if isinstance(given, tuple) and all(a is b for a, b in zip(parts, given, strict=True)):
            return given
        return type(given)(*parts) if hasattr(given, "_fields") else tuple(parts)


class ReadOnlyParts(ABCMeta):
    """Of classes whose constructors leave nothing behind that could be written to."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        _Lock().attributes(made)
        return made

    @property
    def __signature__(cls) -> Signature:
        """What `help` shows of a class: the arguments of its constructor, and not those of the call above."""
        from inspect import signature

        made: Any = cls
        taken = signature(made.__init__)
        return taken.replace(parameters=list(taken.parameters.values())[1:])


class ReadOnlyProperty(cached_property[Any]):
    """A cached property whose value is made read-only; threads that read it first at the same time get one object."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None or self.attrname is None:
            return self
        known = vars(instance)
        if self.attrname not in known:
            known.setdefault(self.attrname, freeze(self.func(instance)))
        return known[self.attrname]


Floats = NDArray[np.float64]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A private, contiguous copy to which nobody can write: see `readonly_copy`.

    array: (...,), any shape, kept.
    """
    return readonly_copy(np.asarray(array))


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


# Sequences in which few objects stand many times: what follows from each is found once.


Given = TypeVar("Given")
Found = TypeVar("Found")


def distinct(values: Iterable[Given]) -> list[Given]:
    """The objects, each once, in the order in which they first stand there; equal ones that are not the same object stay apart.

    >>> one = (1, 2)
    >>> distinct([one, one, (3,)])
    [(1, 2), (3,)]
    """
    return list({id(value): value for value in values}.values())


def for_each(function: Callable[[Given], Found], values: Sequence[Given]) -> list[Found]:
    """`function` of every value, called once for each object.

    >>> one = (1, 2)
    >>> for_each(len, [one, one, (3,)])
    [2, 2, 1]
    """
    found = {id(value): function(value) for value in distinct(values)}
    return [found[id(value)] for value in values]
