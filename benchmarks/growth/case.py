"""One thing whose growth is measured: a size in, seconds and peak memory of a process of its own out."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

SECONDS = 600
MEGABYTES = 8_192


@dataclass(frozen=True)
class Case:
    """What is built at each size.

    ``run(size)`` does the whole of what is measured and returns a few words about its result (a certified gap, say); it must be
    a function of a module, because every size runs in a fresh process. ``prepare(size)`` makes what is not measured, and its
    result is handed to ``run`` in place of the size. ``sizes`` rise; a case stops at the first one that takes more than ten
    minutes or 8 GB, which is how the largest size that is reached is found.
    """

    name: str
    unit: str
    sizes: tuple[int, ...]
    run: Callable[[Any], str]
    prepare: Callable[[int], Any] | None = None


@dataclass(frozen=True)
class Point:
    """What one size took: seconds of wall and of processor, the largest memory of the process in MB, words of its result."""

    size: int
    seconds: float
    processor: float
    megabytes: float
    result: str


def measured(case: Case, small: bool = False) -> Iterator[Point]:
    """The points of a case, until a size fails to end within ten minutes and 8 GB; with ``small`` the first two."""
    for size in case.sizes[:2] if small else case.sizes:
        point = _one(case, size)
        if point is None or point.megabytes > MEGABYTES:
            return
        yield point


def exponent(points: list[Point]) -> float | None:
    """The slope of log seconds on log size, by least squares, over points of at least 0.1 s; None if fewer than two remain."""
    told = [point for point in points if point.seconds >= 0.1]
    if len(told) < 2:
        return None
    return float(np.polyfit(np.log([p.size for p in told]), np.log([p.seconds for p in told]), 1)[0])


def _one(case: Case, size: int) -> Point | None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(case, size, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(SECONDS) else None
    except EOFError:  # the process died, of memory as a rule
        return None
    finally:
        process.kill()
        process.join()


def _run(case: Case, size: int, out: Connection) -> None:
    given = size if case.prepare is None else case.prepare(size)
    start, used = time.perf_counter(), time.process_time()
    result = case.run(given)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    out.send(Point(size, seconds, processor, peak, result))
