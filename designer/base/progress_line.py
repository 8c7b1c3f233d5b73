"""The line that tells of progress: the steps that are under way, how far they are, the time that is left, and when it is drawn.

On a terminal it is one line on standard error, drawn first after half a second, or at once where a long step is announced,
again when a step with another name begins, at most once a second otherwise, and erased at the end; no escape sequences.
Elsewhere, where it is asked for, a line of its own for each step that takes long.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

Clock = Callable[[], float]
FIRST = 0.5  # seconds until something is drawn
NAMED = 0.2  # between two lines, where the name changes
AGAIN = 1.0  # between two lines with the same names
WRITTEN = 10.0  # between two lines about one step where lines cannot be drawn over
SOON = 2.0  # seconds from which on the time left is said
WIDTH = 80  # of a terminal that does not say how wide it is
LINE = 1000  # of what is not drawn over


@dataclass(eq=False)
class Step:
    """One step that is under way: its name, how far it is, and when it has to end.

    of: how many items there are, None where nobody knows. items: how many are done; since: when the last of them was. share:
    how much of the whole is done, 0 where nobody knows. counts: whether items are told one by one.
    """

    name: str
    started: float
    of: int | None = None
    counts: bool = False
    items: int = 0
    share: float = 0.0
    since: float = 0.0
    end: float = math.inf

    def advance(self, share: float | None, now: float) -> None:
        """One more item is done, and with it this share of the whole; None: one more of as many as there are."""
        self.items, self.since = self.items + 1, now
        if share is None and self.of:
            share = self.items / self.of
        self.share = min(1.0, max(self.share, share or 0.0))

    def left(self, now: float) -> float | None:
        """Seconds that are likely left: items take as long as they did on average; the one that is under way as long as that,
        or, once it has taken half of it, as long again as it has. Never beyond its time limit; None where nothing is known, and
        behind the limit."""
        limit = self.end - now
        if limit <= 0:
            return None
        if not self.items or not self.share:
            return limit if limit < math.inf else None
        item, spent, current = self.share / self.items, self.since - self.started, now - self.since
        taking = max(spent / self.items, 2 * current) if self.share < 1 else 0.0
        after = max(0.0, 1 - self.share - item) * (spent + taking) / (self.share + item)
        return max(0.0, min(taking - current + after, limit))

    def words(self, now: float) -> str:
        """The name, how far it is, and the time left."""
        return self.name + self._far() + self._time_left(now)

    def _far(self) -> str:
        if self.counts and self.of:
            return f" {min(self.items + 1, self.of)} of {self.of}"
        if not self.items:
            return ""
        return f" {self.share:.0%}" if self.share else f" {self.items}"

    def _time_left(self, now: float) -> str:
        left = self.left(now) if now - self.started >= SOON else None
        return "" if left is None else f", about {time_words(left)} left"


class Announced(Step):
    """A step that ends when the one around it does, or another begins."""


class Display:
    """Where progress is shown: the steps that are under way, and the line that tells of them.

    drawn_over: a terminal, whose line is drawn again and erased; otherwise lines are written one below another.
    """

    def __init__(self, stream: TextIO, drawn_over: bool, clock: Clock = time.monotonic) -> None:
        self.stream, self.drawn_over, self.clock = stream, drawn_over, clock
        self.steps: list[Step] = []
        self.hidden = 0
        self._begun, self._at = clock(), -math.inf
        self._line = self._names = ""
        self._lock, self._over = threading.Lock(), threading.Event()

    def begin(self, own: Step) -> None:
        """A step is under way, and no longer what was announced before it. What is announced is told at once."""
        while self.steps and isinstance(self.steps[-1], Announced):
            self.steps.pop()
        self.steps.append(own)
        self.update(at_once=isinstance(own, Announced))

    def end(self, own: Step) -> None:
        """It is done, with all that began within it."""
        if own in self.steps:
            del self.steps[self.steps.index(own) :]

    def line(self, now: float, room: int = WIDTH) -> str:
        """All steps that are under way, outer ones first, with the time left of the innermost that knows it; where there is no
        room for all, the inner ones."""
        knowing = [place for place, own in enumerate(self.steps) if own.left(now) is not None][-1:]
        told = [own.words(now if [place] == knowing else own.started) for place, own in enumerate(self.steps)]
        while len(told) > 1 and len(" > ".join(told)) > room:
            told.pop(0)
        text = " > ".join(told)
        return text if len(text) <= room else text[: room - 3] + "..."

    def update(self, *, at_once: bool = False) -> None:
        """Draw, where it is time to."""
        with self._lock:
            now, names = self.clock(), " > ".join(own.name for own in self.steps)
            if self.hidden or not self.steps or not (at_once or now - self._begun >= FIRST):
                return
            pause = NAMED if names != self._names else AGAIN if self.drawn_over else WRITTEN
            told = at_once and not (self.drawn_over and now - self._at < NAMED)
            if told or not self._line or now - self._at >= pause:
                self._draw(self.line(now, self._room()), now, names)

    def _draw(self, shown: str, now: float, names: str) -> None:
        if self.drawn_over:
            self._write("\r" + shown.ljust(len(self._line)))
        elif shown != self._line:
            self._write(shown + "\n")
        self._line, self._at, self._names = shown, now, names

    def erase(self) -> None:
        """Leave the line of the terminal empty."""
        with self._lock:
            if self._line and self.drawn_over:
                self._write("\r" + " " * len(self._line) + "\r")
            self._line = ""

    def _room(self) -> int:
        if not self.drawn_over:
            return LINE
        try:
            return (os.get_terminal_size(self.stream.fileno()).columns or WIDTH) - 1
        except (OSError, ValueError):
            return WIDTH

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text.encode("ascii", "backslashreplace").decode())
            self.stream.flush()
        except (OSError, ValueError):  # closed, or gone: nobody looks
            self.hidden += 1

    def keep_drawing(self) -> None:
        """Draw from time to time until `stop`, for steps that report nothing."""
        while not self._over.wait(FIRST / 2):
            self.update()

    def stop(self) -> None:
        """No more is drawn."""
        self._over.set()


def time_words(seconds: float) -> str:
    """A stretch of time, for people.

    >>> time_words(0.0251), time_words(12.34), time_words(125.0), time_words(7384.0), time_words(400000.0)
    ('0.03 s', '12 s', '2 min 5 s', '2 h 3 min', '4 d 15 h')
    """
    if seconds < 9.95:
        return f"{seconds:.2f} s" if seconds < 0.995 else f"{seconds:.1f} s"
    whole = math.floor(seconds + 0.5)
    for large, small, size, inner in (("d", "h", 86400, 3600), ("h", "min", 3600, 60), ("min", "s", 60, 1)):
        if whole >= size:
            rest = whole % size // inner
            return f"{whole // size} {large}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


# The logger "dp-designer": what this program did, for a service that keeps a log. No line holds data, or anything drawn.


NAME = "dp-designer"


def logged(text: str, *values: object) -> None:
    """A line at level INFO, `text % values`, where the process has loaded `logging`; elsewhere nobody can be listening.

    values: what is public: names, numbers of entries, fingerprints.
    """
    if (logging := sys.modules.get("logging")) is not None:
        logging.getLogger(NAME).info(text, *values)
