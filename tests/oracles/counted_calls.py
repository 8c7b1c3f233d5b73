"""A limit to work that is the same on every machine: how many functions are called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


@contextmanager
def at_most(calls: int) -> Iterator[list[int]]:
    """Fail as soon as the block has made more calls, of functions in Python or in C; yields the count, in a list."""
    count, before = [0], sys.getprofile()

    def seen(_: FrameType, event: str, __: object) -> None:
        count[0] += event in ("call", "c_call")
        if count[0] > calls:
            pytest.fail(f"more than {calls:,} calls")

    sys.setprofile(seen)
    try:
        yield count
    finally:
        sys.setprofile(before)
