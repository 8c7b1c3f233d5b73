"""Arrays that nobody can change, and the validation of what callers hand in as arrays; all that is reachable from a frozen
object, made read-only; and a seal that shows any later change of it."""

from __future__ import annotations

import copyreg
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property, partial
from operator import is_
from threading import RLock
from types import CellType, FunctionType, MappingProxyType, MemberDescriptorType, MethodType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem

if TYPE_CHECKING:
    from inspect import Signature

ATOMS = frozenset({NoneType, bool, int, float, complex, str, bytes, Fraction, range, slice})
OWN = ("designer.", "solvers.", "scipy.sparse.")  # rooms whose objects are opened; those of a caller are the caller's
LOCK = RLock()  # objects that two threads build may share parts


def view(entries: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    """A mapping that nobody can write to, of a dictionary that nobody else has."""
    return MappingProxyType(entries)


copyreg.pickle(MappingProxyType, lambda mapping: (view, (dict(mapping),)))  # Python pickles none by itself


def settled(array: NDArray[Any]) -> bool:
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


def copied(array: NDArray[Any], order: str = "C") -> NDArray[Any]:
    """A copy to which nobody can write, whatever its flags are set to.

    array: (...,), any shape, kept; order: "C", or "F" for columns first. Objects stay those that they are, and a copy of them
    is read-only through every view of it.
    """
    if order == "F":
        return copied(array.T).T
    if array.dtype.hasobject or not array.size or not array.dtype.itemsize:
        owner = np.array(array, order="C", copy=True)
        owner.setflags(write=False)
        return owner[...]
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def locked(value: Any) -> Any:
    """`value` with nothing in it that could be written to.

    Arrays become read-only copies, lists tuples, dictionaries views of a dictionary that nobody else has, sets frozen sets.
    Attributes of objects of this program, and what its functions close over, are replaced in place.
    """
    if type(value) in ATOMS:
        return value
    with LOCK:
        return _Walk(opens=False).of(value)


class Seal:
    """What an object consisted of when it was sealed, part by part, by identity: since no part can be written to, an object
    whose parts are the same is the same.

    holder: is made read-only. notes: names of attributes that may be replaced.
    """

    def __init__(self, holder: Any, notes: Iterable[str]) -> None:
        with LOCK:
            walk = _Walk(opens=True)
            own = {name: walk.of(value) for name, value in vars(holder).items()}
            vars(holder).update(own)
            self._notes = frozenset((*notes, "_seal"))
            self._own = _named({name: value for name, value in own.items() if name not in self._notes})
            self._known, self._places = self._notes.union(own), tuple(walk.places)

    def copy(self) -> Seal:
        """Of a twin: what it remembers later is its own."""
        made = object.__new__(Seal)
        vars(made).update(vars(self))
        return made

    def add(self, name: str, value: Any) -> None:
        """What the object has remembered since, read-only."""
        walk = _Walk(opens=True)
        walk.of(value)
        names, values = self._own
        self._known |= {name}
        self._own, self._places = ((*names, name), (*values, value)), (*self._places, *walk.places)

    def holds(self, holder: Any) -> bool:
        """Whether all that was there is there, in `holder` or in a twin of it, and is what it was, and `holder` has nothing
        beside it."""
        if self._holds(holder):
            return True
        with LOCK:  # another thread may be between what it remembers and the seal of that
            return self._holds(holder)

    def _holds(self, holder: Any) -> bool:
        now = vars(holder)
        if not _same(now, self._own) or not self._known.issuperset(now):
            return False
        try:  # what `_same` asks of each, without a call: a release costs as much as this for each part
            for read, place, (names, values) in self._places:
                if not all(map(is_, map(read(place).__getitem__, names), values)):
                    return False
        except KeyError:
            return False
        return True


Named = tuple[tuple[Any, ...], tuple[Any, ...]]  # names, and what they stand for


def _named(parts: Mapping[Any, Any]) -> Named:
    return tuple(parts), tuple(parts.values())


def _same(now: Mapping[Any, Any], parts: Named) -> bool:
    """Whether every part is there, and is the very object that it was."""
    names, values = parts
    try:
        return all(map(is_, map(now.__getitem__, names), values))
    except KeyError:
        return False


class _Walk:
    """One pass over what is reachable; `places`: where references stand that somebody could replace, with what they name.

    opens: also objects whose own constructor has made them read-only.
    """

    def __init__(self, opens: bool) -> None:
        self.opens = opens
        self.places: list[tuple[Callable[[Any], Mapping[Any, Any]], Any, Named]] = []  # and how each is read
        self._seen: dict[int, tuple[Any, Any]] = {}  # by identity: the value, kept alive, and what stands for it

    def of(self, value: Any) -> Any:
        kind = type(value)
        if kind in ATOMS or isinstance(value, (type, ModuleType, Enum, Seal)):  # a seal inside grows by ordinary use
            return value
        if id(value) not in self._seen:
            self._seen[id(value)] = (value, value)  # a circle ends here
            self._seen[id(value)] = (value, made := self._made(value))
            self._seen.setdefault(id(made), (made, made))
        return self._seen[id(value)][1]

    def _made(self, value: Any) -> Any:
        match value:
            case np.ndarray():
                return self._array(value)
            case tuple() | list():
                return self._sequence(value)
            case set() | frozenset():
                return value if isinstance(value, frozenset) else frozenset(value)
            case dict() | MappingProxyType():
                return self._mapping(value)
            case partial():
                held = (value.func, *value.args, *value.keywords.values())
                parts = [self.of(part) for part in held]
                if all(a is b for a, b in zip(parts, held, strict=True)):
                    return value
                named = 1 + len(value.args)
                return partial(parts[0], *parts[1:named], **dict(zip(value.keywords, parts[named:], strict=True)))
            case MethodType():
                self.of(value.__self__)
                return value
            case FunctionType() if _own(value.__module__):
                for cell in value.__closure__ or ():
                    self._replaced(cell)
            case FunctionType() | CellType():
                pass
            case _ if _own(type(value).__module__) and (self.opens or not isinstance(type(value), ReadOnlyParts)):
                self._replaced(value)
        return value

    def _array(self, array: NDArray[Any]) -> NDArray[Any]:
        if settled(array):
            return array
        columns_first = array.flags.f_contiguous and not array.flags.c_contiguous
        return copied(array, "F" if columns_first else "C")

    def _sequence(self, given: tuple[Any, ...] | list[Any]) -> Any:
        if type(given) is tuple and ATOMS.issuperset(map(type, given)):
            return given
        parts = [self.of(part) for part in given]
        if isinstance(given, tuple) and all(a is b for a, b in zip(parts, given, strict=True)):
            return given
        return type(given)(*parts) if hasattr(given, "_fields") else tuple(parts)

    def _mapping(self, given: Mapping[Any, Any]) -> MappingProxyType[Any, Any]:
        parts = {name: self.of(part) for name, part in given.items()}
        same = isinstance(given, MappingProxyType) and all(parts[name] is part for name, part in given.items())
        made = given if isinstance(given, MappingProxyType) and same else MappingProxyType(parts)
        self.places.append((_parts, made, _named(parts)))
        return made

    def _replaced(self, place: Any) -> None:
        """The attributes of an object, or the content of a cell, read-only."""
        found = _parts(place)
        made = {name: self.of(part) for name, part in found.items()}
        for name, part in made.items():
            if part is not found[name]:
                _put(place, name, part)
        self.places.append((_parts if type(place) is CellType or _slots(place.__class__) else vars, place, _named(made)))


def _own(module: str | None) -> bool:
    return f"{module}.".startswith(OWN)


def _parts(place: Any) -> Mapping[Any, Any]:
    """The references that an object, a mapping or a cell of a closure holds, by name."""
    if isinstance(place, MappingProxyType):
        return place
    if isinstance(place, CellType):
        try:
            return {"cell_contents": place.cell_contents}
        except ValueError:  # nothing is in it
            return {}
    slots = _slots(place.__class__)
    held = {name: getattr(place, name) for name in slots if hasattr(place, name)}
    return held | vars(place) if hasattr(place, "__dict__") else held


@cache
def _slots(kind: type) -> tuple[str, ...]:
    """The names of the slots of a class and of those that it inherits from."""
    return tuple(name for base in kind.__mro__ for name, part in vars(base).items() if type(part) is MemberDescriptorType)


def _put(place: Any, name: str, part: Any) -> None:
    if isinstance(place, CellType):
        place.cell_contents = part
    elif name in getattr(place, "__dict__", {}):
        vars(place)[name] = part
    else:
        object.__setattr__(place, name, part)


class ReadOnlyParts(ABCMeta):
    """Of classes whose constructors leave nothing behind that could be written to."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        vars(made).update({name: locked(part) for name, part in vars(made).items()})
        return made

    @property
    def __signature__(cls) -> Signature:
        """What `help` shows of a class: the arguments of its constructor, and not those of the call above."""
        from inspect import signature

        made: Any = cls
        taken = signature(made.__init__)
        return taken.replace(parameters=list(taken.parameters.values())[1:])


class ReadOnlyProperty(cached_property[Any]):
    """A cached property whose value is made read-only, and part of the seal of the object, if it has one: then nothing is
    remembered while the seal is broken."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None or self.attrname is None:
            return self
        known = vars(instance)
        if self.attrname in known:
            return known[self.attrname]
        made = locked(self.func(instance))
        with LOCK:
            if self.attrname in known:
                return known[self.attrname]
            if isinstance(seal := known.get("_seal"), Seal):
                if not seal.holds(instance):  # what follows from a changed part would outlive the change
                    return made
                seal.add(self.attrname, made)
            known[self.attrname] = made
        return made


Floats = NDArray[np.float64]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A private, contiguous copy to which nobody can write: see `copied`.

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
