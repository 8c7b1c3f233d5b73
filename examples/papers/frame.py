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

    REPRODUCED = "reproduced"  # the paper's design and data: nothing is chosen here
    CONSISTENT = "consistent with, under these choices"  # the paper leaves something open, which is chosen here
    PROVEN = "proven and tested"
    ERRATUM = "counter-example: erratum"
    DIFFERS = "differs"
    DEFINITION = "nothing to compute: definition"


class Severity(StrEnum):
    """What an erratum endangers; the list is closed."""

    PRIVACY = "privacy fails"  # what is called private is not, at the budget that is stated
    THEOREM = "theorem false"  # a statement does not hold as printed
    GAP = "proof gap"  # the statement holds, the printed proof does not show it
    SLIP = "slip"  # a misprint or an oversight; what is meant is clear
    ARGUABLE = "arguable"  # it depends on how a definition is read


class Read(StrEnum):
    """How an expected value was taken from the paper; the list is closed."""

    TEXT = "text"  # a number in a sentence
    TABLE = "table"  # a cell of a table
    FILE = "authors' file"  # a file of results in the authors' repository
    PLOT = "plot"  # read off a picture, as an interval
    WORDS = "words"  # a statement in words, as an inequality
    THEOREM = "theorem"  # what a theorem or a formula of the paper gives
    OWN = "own check"  # not in the paper: another computation, or what must hold beside

    @property
    def printed(self) -> bool:
        """Whether the value itself stands in the paper, as a number or in a picture."""
        return self in (Read.TEXT, Read.TABLE, Read.PLOT)


CHOSEN = (Verdict.CONSISTENT, Verdict.DIFFERS)
COMPARED = (Verdict.REPRODUCED, *CHOSEN)


@cache
def results(reproduce: Callable[..., Result], full: bool) -> Result:
    """`reproduce(full=...)`, once."""
    return reproduce(full=full)


@dataclass(frozen=True)
class Value:
    """One quantity: computed, expected (None: by nobody), how that was read, why it differs ("": it does not).

    What is expected is published where `read.printed`; else it follows from the paper's words or formulas, or is an own check.
    """

    name: str
    computed: float
    expected: Interval | None
    read: Read
    reason: str = ""

    @property
    def reached(self) -> bool:
        """Whether the computed value lies in the expected interval, or nothing is expected."""
        return self.expected is None or self.expected[0] <= self.computed <= self.expected[1]


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
        computed, expected = results(self.reproduce, full)
        return [
            Value(
                name,
                float(computed[name]),
                expected.get(name),
                self.read if name in expected else Read.OWN,
                self.differences.get(name, ""),
            )
            for name in computed
            if self.asked(name)
        ]

    def missing(self) -> list[str]:
        """Names that the full run does not compute."""
        computed, _ = results(self.reproduce, True)
        return [name for name in self.names if not any(matches(name, key) for key in computed)]

    def asked(self, name: str) -> bool:
        """Whether a quantity is one of these."""
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
    text: a paragraph for the reader, in Markdown. severity: what it endangers. force: the definition, or the reading of the
    paper, under which it is judged. follows: the title of the erratum whose fault this is, too; "" where it is one of its own.
    """

    title: str
    text: str
    claim: str
    contradiction: Callable[[], tuple[Exact, Exact]]
    severity: Severity = field(kw_only=True)
    force: str = field(kw_only=True)
    follows: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if not self.force:
            raise ValueError(f"erratum {self.title!r}: force is empty; name the definition that it is judged by.")

    def holds(self) -> bool:
        """Whether the paper is contradicted."""
        stated, found = self.contradiction()
        relations = {"equal": found == stated, "at most": found <= stated, "at least": found >= stated}
        return not relations[self.claim] and not math.isnan(float(found))


@dataclass(frozen=True)
class Choice:
    """What the paper leaves open and is chosen here, and what the result does when the choice moves; neither is empty."""

    what: str
    moved: str

    def __post_init__(self) -> None:
        if not (self.what and self.moved):
            raise ValueError("a choice names what is chosen, and what the result does when it moves.")


@dataclass(frozen=True)
class Setting:
    """paper: the paper's design and data. choices: all that is chosen here; none where the paper states everything."""

    paper: str
    choices: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        if not self.paper:
            raise ValueError("a setting names the paper's design.")


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

    def reasons(self) -> dict[str, str]:
        """Why some of its quantities differ."""
        return {name: why for numbers in self.numbers for name, why in numbers.differences.items() if numbers.asked(name)}


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
    """A page. key: its name, `dx`; title: its heading; minutes: of a full run on two cores; settings: item -> the paper's
    design and the choices here, for every row that computes a number or differs.

    Raises ValueError for a row without its setting, for a setting without a row, for `reproduced` with a choice, and for
    `consistent` or `differs` without one.
    """

    key: str
    title: str
    sections: tuple[Section, ...]
    minutes: float
    settings: Mapping[str, Setting]

    def __post_init__(self) -> None:
        wrong = [f"{row.item}: {reason}" for row in self.rows for reason in self._misfits(row)]
        wrong += [f"{item}: no row" for item in self.settings if item not in {row.item for row in self.rows}]
        if wrong:
            raise ValueError(f"settings of {self.key}: {'; '.join(wrong)}.")

    def _misfits(self, row: Row) -> list[str]:
        setting = self.settings.get(row.item)
        if setting is None:
            return ["no setting"] if row.numbers or row.verdict in COMPARED else []
        if row.verdict is Verdict.REPRODUCED and setting.choices:
            return ["reproduced, with a choice"]
        return [f"{row.verdict}, without a choice"] if row.verdict in CHOSEN and not setting.choices else []

    @property
    def rows(self) -> list[Row]:
        """All rows, in the paper's order."""
        return [row for section in self.sections for row in section.rows]

    @property
    def errata(self) -> list[Erratum]:
        """All errata, each once: one may stand at several items."""
        return list(dict.fromkeys(erratum for row in self.rows for erratum in row.errata))

    @property
    def faults(self) -> list[Erratum]:
        """Errata with a fault of their own, not what follows from another's."""
        return [erratum for erratum in self.errata if not erratum.follows]
