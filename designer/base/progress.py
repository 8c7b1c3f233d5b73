"""Progress of long steps, by name and with the time left, shown only where somebody asked for it (`progress_line.py`): the
command line does on a terminal. Nothing is written where nobody asked.

While confidential data are read (`unseen`), nothing but the step that was under way before is shown: no counts, no time left
and no names of inner steps, which may follow from the data.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TextIO, TypeVar

from designer.base.progress_line import Announced, Display, Step
from solvers.work import about_left

Item = TypeVar("Item")
_display: ContextVar[Display | None] = ContextVar("progress_display", default=None)
_UNSHOWN = nullcontext()


@contextmanager
def showing_progress(wanted: bool = True, stream: TextIO | None = None) -> Iterator[None]:
    """Show progress within this block on a stream, standard error unless given; nothing is shown where `wanted` is False."""
    out = sys.stderr if stream is None else stream
    if not wanted or out is None or _display.get() is not None:
        token = _display.set(_display.get() if wanted else None)
        try:
            yield
        finally:
            _display.reset(token)
        return
    shown = Display(out, out.isatty())
    token = _display.set(shown)
    drawing = threading.Thread(target=shown.keep_drawing, name="progress", daemon=True)
    drawing.start()
    try:
        yield
    finally:
        _display.reset(token)
        shown.stop()
        drawing.join()
        shown.erase()


@contextmanager
def step(name: str, of: int | None = None, counts: bool = False) -> Iterator[Step | None]:
    """A step with a name; what is handed out counts its items, and is None where nothing is shown."""
    display = _display.get()
    if display is None:
        yield None
        return
    now = display.clock()
    begun = Step(name, now, of, counts, since=now, end=now + about_left())
    display.begin(begun)
    try:
        yield begun
    finally:
        display.end(begun)


def unseen() -> AbstractContextManager[None]:
    """Within this block nothing is drawn: confidential data are read."""
    display = _display.get()
    return _UNSHOWN if display is None else _hidden(display)


@contextmanager
def _hidden(display: Display) -> Iterator[None]:
    display.update()
    display.hidden += 1
    try:
        yield
    finally:
        display.hidden -= 1


def announce(doing: str) -> None:
    """The name of a step of which nothing is counted, until the one around it ends or another begins."""
    display = _display.get()
    if display is not None:
        now = display.clock()
        display.begin(Announced(doing, now, since=now, end=now + about_left()))


def track(items: Iterable[Item], label: str, reached: Callable[[Item], float | None] | None = None) -> Iterator[Item]:
    """The items, counted where progress is shown.

    reached: the share of the whole that is done with an item; by default, and where it is None, all items are alike.
    """
    of = len(items) if isinstance(items, Sized) else None
    with step(label, of) as counted:
        for item in items:
            yield item
            if counted is not None:
                _advance(counted, reached(item) if reached else None)


def each_of(
    items: Sequence[Item], label: str, weight: Callable[[Item], float] = lambda item: 1.0, within: float = math.inf
) -> Iterator[Item]:
    """The items, told one by one where progress is shown: "designing 3 of 14".

    weight: how long an item takes, in any unit. within: seconds that all are meant to take at most, for the time that is left.
    """
    weights = [weight(item) for item in items]
    with step(label, len(items), counts=True) as counted:
        if counted is not None:
            counted.end = min(counted.end, counted.started + within)
        for place, item in enumerate(items):
            yield item
            if counted is not None:
                _advance(counted, sum(weights[: place + 1]) / (sum(weights) or 1.0))


def _advance(counted: Step, share: float | None) -> None:
    display = _display.get()
    if display is not None:
        counted.advance(share, display.clock())
        display.update()
