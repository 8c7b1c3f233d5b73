"""Progress of long scans, shown only where somebody asked for it (the command line on a terminal)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from solvers.deadline import go_on, time_left

Item = TypeVar("Item")

_shown: ContextVar[bool] = ContextVar("progress_shown", default=False)


@contextmanager
def showing_progress(wanted: bool = True) -> Iterator[None]:
    """Show progress bars on standard error within this block, if tqdm is installed."""
    token = _shown.set(wanted)
    try:
        yield
    finally:
        _shown.reset(token)


def announce(doing: str) -> None:
    """One line on standard error before a long step without parts to count, where progress is shown."""
    if _shown.get():
        print(f"{doing} ...", file=sys.stderr, flush=True)


def track(items: Iterable[Item], label: str) -> Iterable[Item]:
    """The items, counted on a progress bar when bars are shown; bars vanish when done and appear after half a second.
    No further item is begun once the `time_limit` has passed: `OutOfTime`."""
    return _counted(items, label) if time_left() == math.inf else _until_the_limit(_counted(items, label))


def track_named(items: Iterable[Item], name: Callable[[Item], str], unit: str) -> Iterator[Item]:
    """The items, and on a progress bar, where bars are shown, the name of the one that is worked on."""
    bar = _counted(items, unit, delay=0.0)
    for item in bar:
        if hasattr(bar, "set_description"):
            bar.set_description(name(item))
        yield item


def _counted(items: Iterable[Item], label: str, delay: float = 0.5) -> Iterable[Item]:
    if not _shown.get():
        return items
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    bar: Iterable[Item] = tqdm(items, desc=label, unit=" blocks", leave=False, delay=delay)
    return bar


def _until_the_limit(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        go_on()
        yield item
