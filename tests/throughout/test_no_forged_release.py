"""No public name of a mechanism turns numbers of a caller into a release: `release` alone does, with noise."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem
from designer.certificate.frozen import FrozenMechanism
from tests.oracles.release_specimens import releases

ENTRIES = ("release",)  # which draws noise


def exact_numbers(released: Any) -> Iterator[object]:
    """The numbers of a release in every form that its file, its attributes and its tables have."""
    for name, value in vars(released).items():
        if not isinstance(value, FrozenMechanism) and name not in ("guarantee", "fingerprint", "law", "row", "mechanism"):
            yield value
            if isinstance(value, np.ndarray):
                yield [int(number) for number in value.ravel()]
    yield from (0, 1, [0], [0, 0], {})


def dressed(found: object, made: FrozenMechanism) -> bool:
    """Whether it says of itself that the guarantee of the mechanism holds of it."""
    return (
        getattr(found, "fingerprint", None) == made.fingerprint
        and hasattr(found, "guarantee")
        and not isinstance(found, FrozenMechanism)
    )


def callables(made: FrozenMechanism) -> Iterator[str]:
    for name in {*object.__dir__(made)}:
        listed = not name.startswith("_") and name not in (*ENTRIES, "save", "plot")
        if listed and not isinstance(getattr(type(made), name, None), property) and callable(getattr(made, name, None)):
            yield name


@pytest.mark.parametrize("name", list(releases()))
def test_no_public_name_makes_a_release_of_given_numbers(name: str) -> None:
    made, released = releases()[name]
    for method in callables(made):
        function = getattr(made, method)
        places = [
            p for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if not places:
            continue
        for given in exact_numbers(released):
            try:
                found = function(*[given] * max(1, sum(p.default is p.empty for p in places)))
            except (ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError, InvalidProblem, DesignFailed):
                continue
            assert not dressed(found, made), f"{method}({given!r}) is dressed as a release"
