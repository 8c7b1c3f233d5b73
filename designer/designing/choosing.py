"""Which families "auto" and `compare` start, and when: cheap ones first; others while the time that is left, and a proven gap,
leave room for them.

A family says by itself which options are tried (`Family.choices`) and about how long a design takes (`Family.work`), so that
nothing here speaks of any one of them.

Why families have no mechanism, each reason once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from designer.base.errors import Refusal
from designer.families.family import Family
from designer.families.least_noise import Limit, limit
from designer.families.sizes import Sizes
from designer.relations.problem import Problem
from solvers.deadline import OutOfTime, time_limit

NOTHING_MADE = "no mechanism: "


def said_once(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """The reasons, each behind the families that have it; most refusals name their family themselves.

    >>> said_once([("laplace", "laplace: too large"), ("box", "no mechanism: too large"), ("even", "left out")])
    ['laplace, box: too large', 'even: left out']
    """
    by_reason: dict[str, list[str]] = {}
    for family, reason in reasons:
        bare = reason.removeprefix(NOTHING_MADE).removeprefix(f"{family.split(',')[0]}: ")
        by_reason.setdefault(bare, []).append(family)
    return [f"{', '.join(families)}: {reason}" for reason, families in by_reason.items()]


# Above this many universe elements a scan of all pairs takes a second or more, and "auto" leaves out families that need many.
AUTO_ELEMENTS = 5000
SECONDS = 15.0  # for all families together, where nothing else is said
MOMENT = 0.1  # seconds that a cheap family takes, for progress
CHEAP = 0.5  # seconds: families that take no longer are started before all others, whatever the gap
ROOM = 1e-3  # of the loss: below this gap to the limit no family is worth seconds


def chosen_families(names: Sequence[str] | None = None) -> tuple[Family, ...]:
    """The families of these names, or all: the list is imported, with its solvers, when it is first asked for."""
    from designer.families.listed import family_named, known_families

    return known_families() if names is None else tuple(map(family_named, names))


def is_of_the_house(family: Family) -> bool:
    """Whether it is one of the list, and none that a program registered."""
    from designer.families.listed import FAMILIES

    return family in FAMILIES


def is_own(solver: str) -> bool:
    """Whether a family's own solver is meant, and none of CVXPY's."""
    return solver.lower() == "auto"


def automatic_families(problem: Problem, solver: str = "auto") -> list[Family]:
    """Those that "auto" tries: of the problem's notion, no baselines, none that serve another end than least loss; with a
    solver of CVXPY, those that have a program."""
    stated = [family for family in chosen_families() if is_own(solver) or family.has_program]
    known = [family for family in stated if family.serves(problem) and family.concerns(problem)]
    return [family for family in known if not (family.baseline or family.on_request)]


def left_out(problem: Problem, solver: str = "auto") -> dict[str, str]:
    """Why families that would be tried for the notion, by their own solvers, cannot be under what was asked, by name."""
    asked = [family for family in chosen_families() if not (family.baseline or family.on_request) and family.concerns(problem)]
    bare = {
        family.name: "left out: no delta is proven for its noise"
        for family in asked
        if problem.notion == "approximate" and not family.with_delta
    }
    unstated = {
        family.name: f"left out: no program states it for {solver}"
        for family in asked
        if not is_own(solver) and family.serves(problem) and not family.has_program
    }
    return bare | unstated


@dataclass(frozen=True, eq=False)
class Way:
    """A family with the options that it is tried with. seconds: about how long a design takes."""

    family: Family
    options: Mapping[str, Any]
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The family, and the options where there is a choice: "lattice_laplace, shape l1"."""
        return ", ".join([self.family.name, *(f"{key} {value}" for key, value in self.options.items())])

    @property
    def about(self) -> str:
        """The estimate in words."""
        return f"about {self.seconds:.2g} s"


def ways_of(families: Sequence[Family], problem: Problem, times: float = 1.0) -> list[Way]:
    """Every choice of every family, the cheap ones first, the others by their ranks and by how long they take.

    times: how many designs each of them stands for.
    """
    sizes = Sizes(problem)
    large = problem.relation.size > AUTO_ELEMENTS
    found = [
        Way(family, options, 0.0 if large else times * estimated(family, options, sizes))
        for family in families
        for options in family.choices
    ]
    return sorted(found, key=lambda way: (way.family.rank, way.seconds) if way.seconds > CHEAP else (-1, 0.0))


def estimated(family: Family, options: Mapping[str, Any], sizes: Sizes) -> float:
    """About how many seconds a design takes; 0 where the problem is refused before its size is known: the family will say so
    itself."""
    if family.work is None:
        return 0.0
    try:
        return float(family.work(sizes, **options))
    except (Refusal, ArithmeticError, ValueError):
        return 0.0


@dataclass(eq=False)
class Deadline:
    """The time that all families have together, and what is known of the problem's limit.

    gap: whether what is sought is least loss, which the limit speaks of. any_size: start families of many scans on any size.
    """

    problem: Problem
    seconds: float
    gap: bool = True
    any_size: bool = False
    spent: float = 0.0
    _limit: list[Limit | None] = field(default_factory=list)

    @property
    def left(self) -> float:
        """Seconds that are left by the estimates of what was started, whatever that took in fact."""
        return self.seconds - self.spent

    def refusal(self, way: Way, best: float | None) -> str:
        """Why a way is not started, or an empty text.

        best: the least loss so far, any number where none is sought; None before there is a mechanism, when time is long.
        """
        if self.problem.relation.size > AUTO_ELEMENTS and not (self.any_size or way.family.scans_little):
            return f"not started: more than {AUTO_ELEMENTS} elements; ask for it by name"
        if best is None:
            return ""
        left = self.left
        if left <= 0:
            return f"not started: {self.seconds:g} s were over"
        if way.seconds > CHEAP and self.gap and not way.family.biased and (why := self._no_room(best)):
            return f"not started: {why}"
        left = self.left
        if way.seconds > max(left, CHEAP):
            return f"not started: {way.about}, and {left:.2g} s of {self.seconds:g} s were left"
        return ""

    def _no_room(self, best: float) -> str:
        """Why no noise can lose much less than `best`, or an empty text."""
        if not self._limit:
            try:
                with time_limit(max(self.left / 3, CHEAP)):
                    self._limit.append(limit(self.problem))
            except (Refusal, ArithmeticError, ValueError, OutOfTime):
                self._limit.append(None)
        (known,) = self._limit
        if known is None or best > known.value * (1 + ROOM):
            return ""
        return f"no additive noise loses less than {known.value:.6g} ({known.theorem}), and {best:.6g} is reached"

    @contextmanager
    def running(self, way: Way, ends: bool) -> Iterator[None]:
        """Searches within this block end when the time is over, if there is a mechanism already: a third of all the time where
        the way was thought to take a moment."""
        own = self.left if way.seconds > CHEAP else min(self.left, self.seconds / 3)
        self.spent += way.seconds
        if not ends:
            yield
            return
        with time_limit(max(own, CHEAP)):
            yield


def weight_of(way: Way) -> float:
    """How much of the work of all ways this one is, for the time that is left: its estimate, at least a moment."""
    return max(way.seconds, MOMENT)
