"""One thing whose growth is measured: a size in, seconds and peak memory of a process of its own out."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from designer import DesignFailed, InvalidProblem

SECONDS = 600
MEGABYTES = 8_192
LAST = 3  # points whose slope is told
EACH = 45.0  # processor seconds of a case: no size is begun that is foretold to take it beyond them


@dataclass(frozen=True)
class Case:
    """What is built at each size.

    ``run(size)`` does the whole of what is measured and returns a few words about its result (a certified gap, say); it must be
    a function of a module, because every size runs in a fresh process. ``prepare(size)`` makes what is not measured, and its
    result is handed to ``run`` in place of the size.

    ``sizes`` rise; a case stops before the first one that is foretold to take it beyond `EACH` processor seconds. A search for
    the largest size goes on beyond them, to the first one that takes more than ten minutes or 8 GB, or is refused.
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


def measured(case: Case, small: bool = False, largest: bool = False, each: float = EACH) -> Iterator[Point | str]:
    """The points of a case, and why there are no more; with ``small`` the first two.

    largest: sizes go on rising until one fails to end within ten minutes and 8 GB. each: of processor seconds otherwise.
    """
    points: list[Point] = []
    for size in rising(case.sizes[:2] if small else case.sizes, largest):
        if not largest and foretold(points, size) > each:
            yield f"the next size is foretold to take the case beyond {each:.0f} processor seconds"
            return
        point = _one(case, size)
        if isinstance(point, str):
            yield f"{size:,}: {point}"
            return
        points.append(point)
        yield point
    yield "small run" if small else "the largest that was tried"


def rising(sizes: tuple[int, ...], on: bool) -> Iterator[int]:
    """The sizes; where they go on, by equal steps if they rise by these, otherwise by the last factor.

    >>> from itertools import islice
    >>> list(islice(rising((1, 2, 3), True), 5)), list(islice(rising((2, 4, 8), True), 5))
    ([1, 2, 3, 4, 5], [2, 4, 8, 16, 32])
    """
    yield from sizes
    before, last = sizes[-2:]
    equal = len({b - a for a, b in pairwise(sizes)}) == 1
    while on:
        before, last = last, last + (last - before) if equal else round(last * last / before)
        yield last


def foretold(points: list[Point], size: int) -> float:
    """The processor seconds of a case with one size more, which grow as its last two did, in proportion at least."""
    spent = sum(point.processor for point in points)
    if not points:
        return 0.0
    before, last = points[-2:][0], points[-1]
    grown = np.log(last.processor / before.processor) / np.log(last.size / before.size) if last.size > before.size else 1.0
    return float(spent + last.processor * (size / last.size) ** max(1.0, grown))


def exponent(points: list[Point]) -> float | None:
    """The slope of log processor seconds on log size, by least squares over the last `LAST` of points of at least 0.1 s, where
    what every run costs weighs least; None if fewer than two remain."""
    told = [point for point in points if point.processor >= 0.1][-LAST:]
    if len(told) < 2:
        return None
    return float(np.polyfit(np.log([p.size for p in told]), np.log([p.processor for p in told]), 1)[0])


def _one(case: Case, size: int) -> Point | str:
    """A point, or why there is none."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(case, size, theirs))
    process.start()
    theirs.close()
    try:
        found: Point | str = ours.recv() if ours.poll(SECONDS) else "took over ten minutes"
        return found
    except EOFError:  # the process died, of memory as a rule
        return "died, of memory as a rule"
    finally:
        process.kill()
        process.join()


def _run(case: Case, size: int, out: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES << 20, MEGABYTES << 20))
    try:
        given = size if case.prepare is None else case.prepare(size)
        begun = time.process_time()
        out.send(_measured(case, size, given))
    except MemoryError:
        out.send(f"took over {MEGABYTES / 1024:.0f} GB")
    except (DesignFailed, InvalidProblem) as refused:
        out.send(f"is refused after {time.process_time() - begun:.2f} s: {refused}")


def _measured(case: Case, size: int, given: Any) -> Point:
    start, used = time.perf_counter(), time.process_time()
    result = case.run(given)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Point(size, seconds, processor, peak, result)
