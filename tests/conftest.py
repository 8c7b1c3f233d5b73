"""The tiers: `quick` is the first case of every test, those marked slow or heavy left out; the default is all but heavy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import settings

# Two workers share two cores: a thread each for linear algebra, where nobody asked for more.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# How long an example takes depends on what else the machine does.
settings.register_profile("house", deadline=None)
settings.load_profile("house")

pytest.register_assert_rewrite("tests.oracles")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the first case of every test function, so that the quick tier meets each room and each new test without a list."""
    seen = set()
    for item in items:
        function = item.nodeid.partition("[")[0]
        if function in seen or item.get_closest_marker("heavy") or item.get_closest_marker("slow"):
            continue
        seen.add(function)
        item.add_marker(pytest.mark.quick)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In the quick tier, makes the first case of a test that is neither slow nor heavy, and no other, which would be left out
    once it is made; a test that is itself marked quick keeps all its cases."""
    if metafunc.config.option.markexpr == "quick" and not metafunc.definition.get_closest_marker("quick"):
        metafunc.parametrize = partial(_first_case, metafunc.parametrize)  # type: ignore[method-assign]


def _first_case(
    parametrize: Callable[..., None],
    names: str | Sequence[str],
    values: Iterable[Any],
    *rest: Any,
    ids: Any = None,
    **named: Any,
) -> None:
    """`parametrize` with the first of its values that is marked neither slow nor heavy; with the first one where all are."""
    listed = list(values)
    kept = next((k for k, value in enumerate(listed) if not _left_out(value)), 0)
    one = slice(kept, kept + 1)
    given = ids if ids is None or callable(ids) else list(ids)[one]
    parametrize(names, listed[one], *rest, ids=given, **named)


def _left_out(value: Any) -> bool:
    """Whether the value of a parameter is marked slow or heavy."""
    return isinstance(value, type(pytest.param())) and any(mark.name in ("slow", "heavy") for mark in value.marks)
