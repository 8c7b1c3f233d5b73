"""Every family on every problem of the grid: loss over the least, efficiency, processor seconds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.which_family.grid import GRID, Asked
from designer import DesignFailed, Problem, design
from designer.base.progress import each_of
from designer.designing.auto import FamilyRun, chosen_families, runs_for
from designer.designing.least_noise import Limit, limit, part_of_loss

FIGURES = Path(__file__).parents[1] / "which_family.json"


@dataclass(frozen=True)
class Row:
    """One family on one problem: the loss over the least, the efficiency (None where no limit is known), processor seconds."""

    family: str
    ratio: float
    efficiency: float | None
    seconds: float
    baseline: bool = False


@dataclass(frozen=True)
class Measured:
    """A problem of the grid: what `design(problem)` chose and in which time, and all families, the least loss first.

    without: families that serve the notion and have no mechanism, with their reason.
    """

    key: str
    asked: str
    hidden: str
    least: float
    chosen: str
    chosen_ratio: float
    chosen_seconds: float
    rows: tuple[Row, ...]
    without: dict[str, str]

    def ratio(self, family: str) -> float:
        """The loss of a family over the least, of several choices of its options the best; infinite without a mechanism."""
        return min((row.ratio for row in self.rows if row.family.split(",")[0] == family), default=float("inf"))


def ways(problem: Problem) -> list[FamilyRun]:
    """Every family of the problem's own notion that serves it, baselines too, with each of its choices but a part of another
    one. Noise that keeps a stronger promise, which weaker notions take as well, is left out there."""
    proven = {"pure": lambda family: family.notion == "pure", "approximate": lambda family: family.with_delta}
    own = filter(proven.get(problem.notion, lambda family: family.notion == problem.notion), chosen_families())
    served = [family for family in own if family.serves(problem) and family.concerns(problem)]
    found = runs_for([family for family in served if not family.on_request], problem)
    return [way for way in found if way.options.get("search", True)]


def measured(asked: Asked) -> Measured:
    """Design for one problem, by itself and with every family, to its end."""
    problem = asked.make()
    start = time.process_time()
    chosen = design(problem)
    chosen_loss, seconds = chosen.loss, time.process_time() - start
    without: dict[str, str] = {}
    known = limit(problem)
    found = [*_families(problem, known, without), *_others(asked, known)]
    least = min(row.ratio for row in found)
    rows = sorted((Row(**{**asdict(row), "ratio": row.ratio / least}) for row in found), key=lambda row: row.ratio)
    of_auto = chosen.mechanism.family, chosen_loss / least, seconds
    return Measured(asked.key, asked.asked, asked.hidden, least, *of_auto, tuple(rows), without)


def _families(problem: Problem, known: Limit | None, without: dict[str, str]) -> Iterator[Row]:
    """A row with the loss of each family in the place of its ratio; those without a mechanism go to `without`."""
    for way in ways(problem):
        start = time.process_time()
        try:
            made = design(problem, way.family.name, **way.options)
            loss = made.loss
        except DesignFailed as failed:
            without[way.name] = str(failed)
            continue
        seconds = time.process_time() - start
        part = part_of_loss(known, problem, made.mechanism, loss) if known and not made.is_biased else None
        yield Row(way.name, loss, part, seconds, way.family.baseline)


def _others(asked: Asked, known: Limit | None) -> Iterator[Row]:
    """The same of other ways to the same answers."""
    for name, make in asked.others:
        start = time.process_time()
        loss = make().error("squared")
        yield Row(name, loss, known.value / loss if known else None, time.process_time() - start)


def measure(asked: Iterable[Asked] = GRID) -> tuple[Measured, ...]:
    """All problems, with progress."""
    return tuple(measured(one) for one in each_of(list(asked), "problems"))


def save(found: Iterable[Measured], path: Path = FIGURES) -> None:
    """The figures as JSON."""
    path.write_text(json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def saved(path: Path = FIGURES) -> tuple[Measured, ...]:
    """The figures of the last run."""
    return tuple(_read(one) for one in json.loads(path.read_text(encoding="utf-8")))


def _read(known: dict[str, Any]) -> Measured:
    return Measured(**{**known, "rows": tuple(Row(**row) for row in known["rows"])})
