"""Public names of a room that are imported when they are first asked for: who needs one file of it loads that file alone.

The `__init__.py` of such a room imports its names for type checkers and editors, under `TYPE_CHECKING`, and says where they
live.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any


def at_address(address: str) -> Any:
    """What `module:name` names, imported now if it was not: how kinds and families name what other rooms have for them."""
    module, _, name = address.partition(":")
    return getattr(import_module(module), name)


def is_there(address: str) -> bool:
    """Whether the room of an address is part of this installation; nothing of it is imported."""
    from importlib.util import find_spec

    return find_spec(".".join(address.split(".")[:2])) is not None


def at_addresses(addresses: Iterable[str]) -> tuple[Any, ...]:
    """What several name, without those of rooms that are not there."""
    return tuple(at_address(each) for each in addresses if is_there(each))


def public_names(room: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a room.

    room: its module. homes: by the full name of a module, the names that it gives, parted by spaces; `public=own` where a
    name is another one there, `public=` for the module itself.
    """
    known = dict(_entries(homes))

    def found(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        home, own = known[name]
        try:
            module = import_module(home)
        except ModuleNotFoundError as missing:
            if str(missing.name).partition(".")[0] in ("designer", "solvers"):
                raise
            from designer.base.errors import NoAttribute

            raise NoAttribute(f"{room}.{name}: needs {missing.name!r}, which is not installed; install it.") from missing
        value = getattr(module, own) if own else module
        setattr(sys.modules[room], name, value)
        return value

    return found, lambda: list(sys.modules[room].__all__)


def _entries(homes: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each public name, where it lives and what it is called there."""
    for home, names in homes.items():
        for given in names.split():
            public, equals, own = given.partition("=")
            yield public, (home, own if equals else public)
