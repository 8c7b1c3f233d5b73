"""A plugin of pytest: which functions of the packages each test calls, and its seconds.

Written to `called.json`: `{test: {"seconds": s, "calls": [[file, first line], ...]}}`. What a test file calls while it is read
stands under the file.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOT = str(Path(__file__).parents[2])
PACKAGES = (f"{ROOT}/designer/", f"{ROOT}/solvers/")
SEEN: dict[str, dict[str, Any]] = {}


@contextmanager
def _noting(name: str) -> Iterator[None]:
    calls: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code.co_filename.startswith(PACKAGES):
            calls.add((frame.f_code.co_filename[len(ROOT) + 1 :], frame.f_code.co_firstlineno))

    before, started = sys.gettrace(), time.monotonic()
    sys.settrace(note)
    try:
        yield
    finally:
        sys.settrace(before)
        known = SEEN.get(name, {"seconds": 0.0, "calls": []})  # a file is read for its doctests and for its tests
        calls |= set(known["calls"])
        SEEN[name] = {"seconds": known["seconds"] + time.monotonic() - started, "calls": sorted(calls)}


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Notes what a file calls while it is read."""
    with _noting(collector.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Notes what a test calls, its fixtures included."""
    with _noting(item.nodeid):
        return (yield)


def pytest_sessionfinish() -> None:
    """Writes what was noted."""
    (Path(ROOT) / "called.json").write_text(json.dumps(SEEN))
