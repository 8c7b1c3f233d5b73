"""Counted work: when long searches end, however busy the machine is.

A search says what its steps cost (`spend`), by formulas of its sizes alone. Within a block of `within`
it ends when the units of the block are spent: those that improve a point answer with the best so far, others raise `OutOfWork`.
No clock is read, unless a caller sets `seconds`, too: then what is found depends on the machine, and the block says so.

Calibration: a unit is about a second of one core of an x86-64 server, with one thread for linear algebra. Of the 25 searches of
`benchmarks/units_of_work.py` that spend a tenth of a unit or more, a unit takes 0.84 s (median); 0.4 to 1.8 s where steps are
counted, from 12 places to 200 ranges of 144, and less where a family counts an estimate and not its steps.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

# How many make a unit: floating operations of dense algebra of moderate size; numbers that vectorised passes look at; steps of
# the interpreter, each with a handful of array operations; entries of a sparse program that its solver looks at in all.
FLOPS, ENTRIES, CALLS, PIVOTS = 1.5e10, 3e8, 2e4, 2e7
# Units of a whole search, by how much effort it may take.
QUICK = "quick"
EFFORTS = {QUICK: 2.0, "normal": 20.0, "thorough": 200.0}


class OutOfWork(Exception):
    """A search that has nothing to show yet was stopped: its units of work, or the seconds of a caller, were over."""


@dataclass(eq=False)
class Budget:
    """What searches within a block may spend, and what became of it.

    units: of work. seconds, end: a limit on the clock, infinite where no caller set it. of: what the caller set, of which the
    seconds are left. spent: units so far, those of inner blocks too. cut: whether a search was ended before it was done. clock:
    the limit on the clock that ended it, of this block or of one around it; infinite where none did. finishing: no block around
    it ends what runs within. proving: of those around it, only the clocks do.
    """

    units: float
    seconds: float
    of: float
    outer: Budget | None
    end: float = math.inf
    spent: float = 0.0
    cut: bool = False
    clock: float = math.inf
    finishing: bool = False
    proving: bool = False

    def __post_init__(self) -> None:
        if self.seconds < math.inf:
            self.end = time.perf_counter() + self.seconds

    @property
    def left(self) -> float:
        """Units that are left."""
        return self.units - self.spent

    @property
    def by_clock(self) -> bool:
        """Whether seconds on the clock ended a search."""
        return self.clock < math.inf


_budget: ContextVar[Budget | None] = ContextVar("work", default=None)


@contextmanager
def within(units: float = math.inf, seconds: float = math.inf, of: float | None = None) -> Iterator[Budget]:
    """Searches within this block end after so many units of work, or seconds on the clock, or with a block around it, whichever
    is first. ValueError for less than nothing. of: the limit on the clock as a caller set it, where part of it is over.

    >>> with within(1.0) as budget:
    ...     spend(flops=6e9)
    ...     (is_over(), round(budget.spent, 3))
    (False, 0.4)
    """
    if not (units >= 0 and seconds >= 0):
        raise ValueError(f"work: {units} units, {seconds} s are less than nothing; give 0 or more, or leave them out.")
    with _entered(Budget(units, seconds, seconds if of is None else of, _budget.get())) as own:
        yield own


@contextmanager
def finishing() -> Iterator[None]:
    """Within this block work is counted, and nothing ends: what a search has found is made ready, and proven."""
    with _entered(Budget(math.inf, math.inf, math.inf, _budget.get(), finishing=True)):
        yield


@contextmanager
def proving() -> Iterator[Budget]:
    """Within this block work is counted, and only a caller's limit on the clock ends it: a long proof of what was found."""
    with _entered(Budget(math.inf, math.inf, math.inf, _budget.get(), proving=True)) as own:
        yield own


@contextmanager
def _entered(own: Budget) -> Iterator[Budget]:
    token = _budget.set(own)
    try:
        yield own
    finally:
        _budget.reset(token)


def spend(units: float = 0.0, *, flops: float = 0.0, entries: float = 0.0, calls: float = 0.0, pivots: float = 0.0) -> None:
    """Count work: units as they are, and what `FLOPS`, `ENTRIES`, `CALLS` and `PIVOTS` make units of."""
    own = _budget.get()
    if own is None:
        return
    cost = units + flops / FLOPS + entries / ENTRIES + calls / CALLS + pivots / PIVOTS
    while own is not None:
        own.spent += cost
        own = own.outer


def is_over(ahead: float = 0.0) -> bool:
    """Whether a search is to end here: the budget of a block around it is spent, or the clock leaves less than the seconds that
    its next step takes, about. Those who ask are about to go on: they are cut, which the blocks remember."""
    now: float | None = None
    inner: list[Budget] = []
    own, counted = _budget.get(), True
    while own is not None and not own.finishing:
        inner.append(own)
        over, late = counted and own.spent >= own.units, False
        counted = counted and not own.proving
        if not over and own.end < math.inf:
            now = time.perf_counter() if now is None else now
            late = now + ahead >= own.end
        if over or late:
            for one in inner:
                one.cut, one.clock = True, own.of if late else one.clock
            return True
        own = own.outer
    return False


def go_on() -> None:
    """Raise `OutOfWork` where the search is to end."""
    if is_over():
        raise OutOfWork("stopped: the work that it was given is done")


def units_left() -> float:
    """Units that a search may still spend; infinite where nothing ends it."""
    left, own = math.inf, _budget.get()
    while own is not None and not (own.finishing or own.proving):
        left, own = min(left, own.left), own.outer
    return left


def seconds_left() -> float:
    """Seconds until the limits that callers set on the clock, 0 beyond them; infinite where there are none."""
    end, own = math.inf, _budget.get()
    while own is not None and not own.finishing:
        end, own = min(end, own.end), own.outer
    return max(0.0, end - time.perf_counter()) if end < math.inf else math.inf


def about_left() -> float:
    """About how many seconds a search may go on, for progress: units count as seconds; infinite where nothing ends it."""
    return min(units_left(), seconds_left())


# Linear algebra on one thread, so that the digits of a search do not depend on how many threads a machine offers.
#
# A sum that several threads share is added up in another order: its last digits differ, and a search may end elsewhere. Small
# matrices, which most searches handle, are also multiplied faster by one thread than by several that wait for each other.


_lock = threading.Lock()
_here = threading.local()  # depth: of the blocks around, in each thread of Python
_threads = 0  # of Python, within a block
_before: list[tuple[Any, int]] = []  # the libraries, and how many threads each used


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this block BLAS and OpenMP use one thread; with the end of the last block, whatever thread of Python had it, they
    use as many as before.

    It limits what threadpoolctl knows (OpenBLAS, MKL, BLIS, OpenMP; Apple's Accelerate is not among them), of libraries that
    were loaded when the first block began: those of NumPy and SciPy are. The limits of most hold for the whole process. Where
    threadpoolctl is not installed, nothing is limited.

    >>> with one_thread():
    ...     pass
    """
    _here.depth = getattr(_here, "depth", 0) + 1
    try:
        if _here.depth == 1:
            _enter()
        yield
    finally:
        _here.depth -= 1
        if _here.depth == 0:
            _leave()


def _enter() -> None:
    global _threads
    with _lock:
        if not _threads:
            _before.extend((library, library.num_threads) for library in _libraries())
            _take_control()
        _threads += 1
        for library, _ in _before:
            library.set_num_threads(1)


def _leave() -> None:
    global _threads
    with _lock:
        _threads -= 1
        if not _threads:
            _take_control()
        for library, number in _before:
            if not _threads or getattr(library, "threading_layer", "") == "openmp":  # whose numbers are of each thread
                library.set_num_threads(number)
        if not _threads:
            _take_control()
            _before.clear()


def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  # brings a library of its own, which otherwise is loaded later, with all its threads

    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return []
    return [library for library in ThreadpoolController().lib_controllers if library.num_threads]


def _take_control() -> None:
    """Later versions of threadpoolctl heed one thread of Python alone, the first that sets OpenBLAS: let it be the next."""
    for library, _ in _before:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
