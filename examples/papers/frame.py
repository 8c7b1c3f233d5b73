"""What a page about a paper is made of: a row for every item, with its numbers, its verdict, its errata and its pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType

from examples.reproduction import Result

Exact = int | Fraction | float
Interval = tuple[float, float]


class Verdict(StrEnum):
    """What became of an item; the list is closed."""

    REPRODUCED = "reproduced"
    PROVEN = "proven and tested"
    ERRATUM = "counter-example: erratum"
    DIFFERS = "differs"
    DEFINITION = "nothing to compute: definition"


class Read(StrEnum):
    """How a published value was taken from the paper; the list is closed."""

    TEXT = "text"  # a number in a sentence
    TABLE = "table"  # a cell of a table
    FILE = "authors' file"  # a file of results in the authors' repository
    PLOT = "plot"  # read off a picture, as an interval
    WORDS = "words"  # a statement in words, as an inequality
    THEOREM = "theorem"  # what a theorem or a formula of the paper gives
    OWN = "own check"  # not in the paper: another computation, or what must hold beside


@cache
def results(reproduce: Callable[..., Result], full: bool) -> Result:
    """`reproduce(full=...)`, once."""
    return reproduce(full=full)


@dataclass(frozen=True)
class Value:
    """One quantity: computed, published (None: the paper states none), how it was read, why it differs ("": it does not)."""

    name: str
    computed: float
    published: Interval | None
    read: Read
    reason: str = ""

    @property
    def reached(self) -> bool:
        """Whether the computed value lies in the published interval, or nothing is published."""
        return self.published is None or self.published[0] <= self.computed <= self.published[1]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Quantities of a `reproduce(full)`, by name; a name that ends in `*` stands for all that begin so. No names: all.

    differences: name of a quantity -> why it is outside its published interval.
    """

    reproduce: Callable[..., Result]
    names: tuple[str, ...] = ()
    read: Read = Read.TEXT
    differences: Mapping[str, str] = field(default_factory=dict)

    def values(self, full: bool) -> list[Value]:
        """What they are; a quantity of the full run only is missing from a sampled one."""
        computed, published = results(self.reproduce, full)
        chosen = [name for name in computed if self._asked(name)]
        return [
            Value(name, float(computed[name]), published.get(name), self.read, self.differences.get(name, ""))
            for name in chosen
        ]

    def missing(self) -> list[str]:
        """Names that the full run does not compute."""
        computed, _ = results(self.reproduce, True)
        return [name for name in self.names if not any(matches(name, key) for key in computed)]

    def _asked(self, name: str) -> bool:
        return not self.names or any(matches(pattern, name) for pattern in self.names)


def matches(pattern: str, name: str) -> bool:
    """Whether a name is the pattern, or begins as a pattern that ends in `*`."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def of_example(example: ModuleType, *names: str, read: Read = Read.TEXT) -> Numbers:
    """Quantities of an example, with the differences that it explains."""
    return Numbers(example.reproduce, names, read, example.DIFFERENCES)


@dataclass(frozen=True, eq=False)
class Erratum:
    """A counter-example that runs: `contradiction()` gives (what the paper states, what is so), in exact numbers where
    possible.

    claim: how the paper says that the second relates to the first, "equal", "at most" or "at least"; it does not.
    text: a paragraph for the reader, in Markdown. needs: functions of the same file that the code calls.
    The file imports the standard library, numpy, `designer` and `solvers` alone: its code stands on the page and runs there.
    """

    title: str
    text: str
    claim: str
    contradiction: Callable[[], tuple[Exact, Exact]]
    needs: tuple[Callable[..., object], ...] = ()

    def holds(self) -> bool:
        """Whether the paper is contradicted."""
        stated, found = self.contradiction()
        relations = {"equal": found == stated, "at most": found <= stated, "at least": found >= stated}
        return not relations[self.claim] and not math.isnan(float(found))


@dataclass(frozen=True)
class Row:
    """An item of the paper, numbered as there.

    says: what it says, in half a sentence. verdict: one of the closed list. lives: places, `designer/FILE.py:name`.
    run: a test, `tests/FILE.py::name`, or a command, `python -m examples.NAME`. because: why it differs, and what is right.
    """

    item: str
    says: str
    verdict: Verdict
    lives: tuple[str, ...]
    run: str
    numbers: tuple[Numbers, ...] = ()
    because: str = ""
    errata: tuple[Erratum, ...] = ()

    def values(self, full: bool) -> list[Value]:
        """Its quantities."""
        return [value for numbers in self.numbers for value in numbers.values(full)]


@dataclass(frozen=True)
class Picture:
    """A figure of the paper drawn again: `draw(folder)` writes `files`, SVG, below the folder."""

    draw: Callable[[Path], object]
    files: tuple[str, ...]
    caption: str


@dataclass(frozen=True)
class Section:
    """A section of the paper: its rows, its pictures, and a few words before them (Markdown)."""

    title: str
    rows: tuple[Row, ...]
    pictures: tuple[Picture, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Paper:
    """A page. key: its name, `dx`; title: its heading; about: a paragraph on paper and page; minutes: of a full run on two
    cores."""

    key: str
    title: str
    about: str
    sections: tuple[Section, ...]
    minutes: float

    @property
    def rows(self) -> list[Row]:
        """All rows, in the paper's order."""
        return [row for section in self.sections for row in section.rows]
