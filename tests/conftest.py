"""The tiers: `quick` is the first case of every test, those marked slow or heavy left out; the default is all but heavy."""

from __future__ import annotations

import os

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
