"""Progress of long scans, shown only where somebody asked for it (the command line on a terminal)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

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
    """The items, counted on a progress bar when bars are shown; bars vanish when done and appear after half a second."""
    if not _shown.get():
        return items
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    bar: Iterable[Item] = tqdm(items, desc=label, unit=" blocks", leave=False, delay=0.5)
    return bar
