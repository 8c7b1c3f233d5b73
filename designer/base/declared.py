"""Fields of frozen dataclasses that say themselves how their values are checked, and values that constructors add.

What relates several fields stays in the `__post_init__` of the class, after `super().__post_init__()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np


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
