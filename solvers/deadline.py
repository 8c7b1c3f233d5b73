"""A time limit that long searches heed: those that improve a point answer with the best so far, others stop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_end: ContextVar[float] = ContextVar("time_limit", default=math.inf)


class OutOfTime(Exception):
    """A search that has nothing to show yet was stopped at its time limit."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Searches within this block end after so many seconds, or at the limit of a block around it, whichever is first."""
    token = _end.set(min(_end.get(), time.perf_counter() + seconds))
    try:
        yield
    finally:
        _end.reset(token)


def time_left() -> float:
    """Seconds until the limit; infinite where none is set."""
    return _end.get() - time.perf_counter()


def is_over() -> bool:
    """Whether the limit has passed."""
    return time_left() <= 0


def go_on() -> None:
    """Raise `OutOfTime` where the limit has passed."""
    if is_over():
        raise OutOfTime("stopped at its time limit")
