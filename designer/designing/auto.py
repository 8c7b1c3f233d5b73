"""Which families "auto" and `compare` start, and how far they go: cheap ones first; others while the work that is left, and a
proven gap, leave room for them.

Work is counted (`solvers/work.py`), so that no clock and no load decides the choice. A family says by
itself which options are tried (`Family.choices`) and about how much work a design is (`Family.work`), so that nothing here
speaks of any one of them.

Why families have no mechanism, each reason once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, TypeVar

from designer.base.checks import near, positive, shown
from designer.base.display import at_least, at_most
from designer.base.errors import DesignFailed, InvalidProblem, Refusal
from designer.certificate.implicit_rows import LARGE, is_described
from designer.designing.design_result import Design
from designer.designing.family import Family, Sizes, pure_twin
from designer.designing.least_noise import Limit, limit
from designer.limits import MOST_AUTO_ELEMENTS
from designer.mechanism.interface import Mechanism
from designer.relations.problem import Problem
from solvers.work import EFFORTS, Budget, OutOfWork, within

M = TypeVar("M", bound=Mechanism)
NEARLY_LEAST = 1e-4  # gap up to which a family's optimum is reached
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


MOMENT = 0.1  # units that a cheap family takes, for progress
SEVERAL = 3.0  # times as much for comparisons and least budgets, which make several designs
CHEAP = 0.5  # units: families that take no more are started before all others, whatever the gap
LONG = 5.0  # units: what takes less is started, or ends, sooner than the linear programs of a sharper limit
ROOM = 1e-3  # of the loss: below this gap to the limit no family is worth a search
CUT_OFF = "cut off"
NOTHING_YET = "no mechanism yet"
UNFINISHED = (CUT_OFF, "were left", "were over", "were done")  # how what is said of such a family ends


def units_of(effort: object) -> float:
    """The units of work of an effort; `InvalidProblem` where it is none."""
    if not isinstance(effort, str) or effort not in EFFORTS:
        told = near(effort, EFFORTS) if isinstance(effort, str) else ""
        raise InvalidProblem(f"effort: {shown(effort)} is unknown{told}; give one of {list(EFFORTS)}.")
    return EFFORTS[effort]


def cap_of(seconds: object) -> float:
    """The seconds on the clock that a caller allows, infinite for None; `InvalidProblem` where they are no time."""
    if seconds is None:
        return math.inf
    try:
        return positive(seconds, "seconds")
    except InvalidProblem:
        raise InvalidProblem(
            f"seconds: {shown(seconds)} is no limit on the clock; give a number above 0, or leave it out: effort decides.",
            value=seconds,
        ) from None


def chosen_families(names: Sequence[str] | None = None) -> tuple[Family, ...]:
    """The families of these names, or all: the list is imported, with its solvers, when it is first asked for."""
    from designer.designing.listed import family_named, known_families

    return known_families() if names is None else tuple(map(family_named, names))


def is_of_the_house(family: Family) -> bool:
    """Whether it is one of the list, and none that a program registered."""
    from designer.designing.listed import FAMILIES

    return family in FAMILIES


def is_own(solver: str) -> bool:
    """Whether a family's own solver is meant, and none of CVXPY's."""
    return solver.lower() == "auto"


def automatic_families(problem: Problem, solver: str = "auto") -> list[Family]:
    """Those that "auto" tries: keeping the problem's notion, no baselines, none that serve another end than least loss; with a
    solver of CVXPY, those that have a program."""
    stated = [family for family in chosen_families() if is_own(solver) or family.program]
    known = [family for family in stated if family.serves(problem) and family.concerns(problem)]
    return [family for family in known if not (family.baseline or family.on_request)]


def left_out(problem: Problem, solver: str = "auto") -> dict[str, str]:
    """Why families that would be tried for the notion, by their own solvers, cannot be under what was asked, by name."""
    asked = [family for family in chosen_families() if not (family.baseline or family.on_request) and family.concerns(problem)]
    bare = {
        family.name: "left out: no delta is proven for its noise"
        for family in asked
        if problem.notion == "approximate" and not family.serves(problem)
    }
    unstated = {
        family.name: f"left out: no program states it for {solver}"
        for family in asked
        if not is_own(solver) and family.serves(problem) and not family.program
    }
    from designer.designing.hierarchy import has_best_tree

    nested = {
        family.name: "left out: the tree of these nested counts has the noise on its nodes that it would have on queries"
        for family in chosen_families()
        if is_own(solver) and family.notion == "pure" and family.where and not family.concerns(problem)
    }
    return bare | unstated | needing_rows(problem) | (nested if has_best_tree(problem) else {})


def needing_rows(problem: Problem) -> dict[str, str]:
    """Why families that write queries out are left out, where the queries never are, by name."""
    if not is_described(problem.workload, problem.relation):
        return {}
    queries, elements = problem.workload.shape
    why = f"left out: would write out {queries:,} queries over {elements:,} elements, {queries * elements * 8e-9:.3g} GB"
    known = [family for family in chosen_families() if not (family.baseline or family.on_request or family.described)]
    return {family.name: why for family in known if family.serves(problem)}


def refuse_writing_out(family: str, problem: Problem) -> None:
    """`DesignFailed` for a family that writes queries out, which are too many for that; they are kept as they are described."""
    queries, elements = problem.workload.shape
    if queries * elements <= LARGE:
        return
    others = [known.name for known in chosen_families() if known.described and known.serves(problem) and not known.baseline]
    raise DesignFailed(
        f"{family}: would write out {queries:,} queries over {elements:,} elements, {queries * elements * 8e-9:.3g} GB, and "
        f"look at every pair of elements; use one of {others}, which take the queries as they are described, or merge elements."
    )


@dataclass(frozen=True, eq=False)
class FamilyRun:
    """A family with the options that it is tried with. work: about how many units a design takes."""

    family: Family
    options: Mapping[str, Any]
    work: float = 0.0

    @property
    def name(self) -> str:
        """The family, and the options where there is a choice, but for a switch that is on: "lattice_laplace, shape l1"."""
        told = (f"{key} {value}" for key, value in self.options.items() if value is not True)
        return ", ".join([self.family.name, *told])


def runs_for(
    families: Sequence[Family], problem: Problem, times: float = 1.0, options: Mapping[str, Any] | None = None
) -> list[FamilyRun]:
    """Every choice of every family, the cheap ones first, the others by their ranks and by how much work they are. For zCDP
    those of pure noise go behind all others, which mostly leave them no room.

    times: how many designs each of them stands for. options: that are given, in the place of those of a choice.
    """
    sizes = Sizes(problem)
    large = problem.relation.size > MOST_AUTO_ELEMENTS
    found = [
        FamilyRun(family, chosen, 0.0 if large else times * estimated(family, chosen, sizes))
        for family in families
        for chosen in _with(options or {}, family.choices)
    ]
    found.sort(key=lambda way: (way.family.rank, way.work) if way.work > CHEAP else (-1, 0.0))
    return sorted(found, key=lambda way: problem.notion == "zcdp" and way.family.notion == "pure")


def longer_by_delta(ways: Iterable[FamilyRun], problem: Problem) -> list[FamilyRun]:
    """Those of pure families to which its delta gives longer changes than the pure problem has, by more than a part of
    `ROOM / 2`, whose noise loses about `ROOM` less. A length m has the budget `m + log(1 - delta (1 + e^-m))`."""
    if problem.delta is None or 4 * problem.delta <= ROOM * problem.relation.least_budget():
        return []
    return [way for way in ways if way.family.aimed(problem) is problem]


def _with(given: Mapping[str, Any], choices: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The options that are given, with what is left of each choice."""
    rests: list[dict[str, Any]] = []
    for choice in choices:
        rest = {name: value for name, value in choice.items() if name not in given}
        if rest not in rests:
            rests.append(rest)
    return [{**given, **rest} for rest in rests]


def estimated(family: Family, options: Mapping[str, Any], sizes: Sizes) -> float:
    """About how many units a design takes; 0 where the problem is refused before its size is known: the family will say so
    itself. `InvalidProblem` for less than nothing, which a family of one's own may say. Options that are no choice of "auto"
    do not matter."""
    if family.work is None:
        return 0.0
    matters = {name for choice in family.choices for name in choice}
    try:
        units = family.work(sizes, **{name: value for name, value in options.items() if name in matters})
    except (Refusal, ArithmeticError, ValueError):
        return 0.0
    return stated_by(family, "work", units, "estimates", "units; give 0 or more, one for about a second")


def stated_by(family: Family, field: str, value: object, says: str, remedy: str) -> float:
    """A number, at least 0, that a function of a family computed; `InvalidProblem` for anything else, which one of a family of
    one's own may return."""
    try:
        known = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        known = math.inf if value > 0 else -math.inf  # type: ignore[operator]
    if not known >= 0:
        raise InvalidProblem(f"family.{field}: {family.name!r} {says} {shown(value)} {remedy}.", value=value)
    return known


@dataclass(eq=False)
class WorkBudget:
    """The work that all families have together, what was spent of it, and what is known of the problem's limit.

    units: of work. end: on the clock, where a caller set seconds. gap: whether the least loss alone is sought, so that nothing
    is started where the limit leaves no room. any_size: start families of many scans on any size.
    """

    problem: Problem
    units: float
    seconds: float = math.inf
    gap: bool = True
    any_size: bool = False
    spent: float = 0.0
    late: bool = False
    _end: float = math.inf
    _limits: dict[tuple[str, str], Limit | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.seconds < math.inf:
            self._end = time.perf_counter() + self.seconds

    @property
    def left(self) -> float:
        return self.units - self.spent

    @property
    def seconds_left(self) -> float:
        """Seconds that are left on the clock; infinite, and no clock is read, where nobody set any."""
        return self._end - time.perf_counter() if self._end < math.inf else math.inf

    def refusal(self, way: FamilyRun, best: float | None) -> str:
        """Why a way is not started, or an empty text.

        best: the least loss so far, infinite where none is sought; None before there is a mechanism, when work is free.
        """
        if self.problem.relation.size > MOST_AUTO_ELEMENTS and not (self.any_size or way.family.scans_little):
            return f"not started: more than {MOST_AUTO_ELEMENTS} elements; ask for it by name"
        if best is None:
            return ""
        if self.seconds_left <= 0:
            self.late = True
            return f"not started: {self.seconds:g} s were over"
        seeks = self.gap or way.family.aimed(self.problem) is not self.problem
        if (
            seeks
            and best < math.inf
            and not way.family.biased
            and (why := self._no_room(way.family.aimed(self.problem), way.work, best))
        ):
            return f"not started: {why}"
        if way.work > MOMENT and best < math.inf and way.family.floor is not None and (why := self._cannot_win(way, best)):
            return f"not started: {why}"
        if way.work > CHEAP and self.left <= 0:
            return f"not started: {self.units:g} units of work were done"
        if way.work > max(self.left, CHEAP) and not way.family.counted:
            return f"not started: about {way.work:.2g} units of work, and {self.left:.2g} of {self.units:g} were left"
        return ""

    def no_pure_room(self, best: float, ways: Sequence[FamilyRun]) -> str:
        """Why no unbiased pure noise can be below `best`, or an empty text, before the ways of the pure problem are begun."""
        if best == math.inf:
            return ""
        if self.seconds_left <= 0:
            self.late = True
            return f"{self.seconds:g} s were over"
        return self._no_room(pure_twin(self.problem), max(way.work for way in ways), best)

    def _no_room(self, aimed: Problem, work: float, best: float) -> str:
        """Why no noise can lose much less than `best`, or an empty text: by closed forms, before what takes longer, or keeps
        more than was asked, by a program too, before what is `LONG` by all programs."""
        sharper: dict[str, dict[str, Any]] = {"closed": {"closed": True}, "quick": {"rows": 0}, "sharp": {}}
        twin = aimed is not self.problem
        for name in list(sharper)[: 1 + (work > CHEAP or twin) + (work > LONG)]:
            key = name, aimed.notion
            if key not in self._limits:
                self._limits[key] = self._limit(aimed, **sharper[name])
            known = self._limits[key]
            if known is not None and best <= known.value * (1 if twin else 1 + ROOM):
                kind = "pure" if twin else "additive"
                return f"no {kind} noise loses less than {known.value:.6g} ({known.theorem}), and {best:.6g} is reached"
        return ""

    def _limit(self, problem: Problem, **how: Any) -> Limit | None:
        try:
            with self._counted(max(self.left / 3, CHEAP)):
                return limit(problem, **how)
        except (Refusal, ArithmeticError, ValueError, OutOfWork):
            return None

    def _cannot_win(self, way: FamilyRun, best: float) -> str:
        """Why no mechanism of the family can lose much less than `best`, or an empty text."""
        assert way.family.floor is not None
        try:
            with self._counted(max(self.left / 3, CHEAP)):
                found = way.family.floor(way.family.aimed(self.problem))
        except (Refusal, ArithmeticError, ValueError, OutOfWork):
            return ""
        least = stated_by(way.family, "floor", found, "loses", "at least; give 0 or more, 0 where nothing is proven")
        return f"cannot be below {at_least(least)}, and {at_most(best)} is reached" if best <= least * (1 + ROOM) else ""

    @contextmanager
    def running(self, way: FamilyRun, ends: bool, timed: bool = False) -> Iterator[Budget]:
        """Searches within this block end when the work that is left is done, if there is a mechanism already: a third of all
        where the way was thought to take a moment, and others are tried. timed: the family was asked for by its name, and the
        clock of the caller ends its searches in any case."""
        own = self.left if timed or way.work > CHEAP else min(self.left, self.units / 3)
        with self._counted(max(own, CHEAP) if ends else math.inf, ends or timed) as budget:
            if not way.family.counted:
                budget.units += way.work  # which fits, and is spent at once
            yield budget

    @contextmanager
    def _counted(self, units: float, timed: bool = True) -> Iterator[Budget]:
        with within(units, max(self.seconds_left, 0.0) if timed else math.inf, self.seconds) as budget:
            try:
                yield budget
            finally:
                self.spent += budget.spent
                self.late |= budget.by_clock


def is_held(way: FamilyRun, best: Design[Mechanism]) -> bool:
    """Whether all noise of a family is of the one that has the best design, whose optimum is reached, but for `WIDE`."""
    from designer.designing.ellipsoid import WIDE

    claim = best.optimality
    if not way.family.within or way.family.within != best.mechanism.family or claim is None or claim.gap > NEARLY_LEAST:
        return False
    return best.problem.notion == "zcdp" and best.problem.relation.largest_budget() <= WIDE


def remedy_for(effort: str, named: bool, seconds: float = math.inf) -> str:
    """What gives more work to searches that ended early: a higher effort, or, where families share the work of one, a family by
    its name; with the seconds that ended them, more of these. Empty where no effort gives more.

    >>> remedy_for("normal", named=False), remedy_for("quick", named=True), remedy_for("thorough", named=True)
    ('effort = "thorough", or a family by its name,', 'effort = "thorough"', '')
    """
    if seconds < math.inf:
        return f"a limit above {seconds:g} s, or none,"
    most = max(EFFORTS, key=lambda name: EFFORTS[name])
    ways = [*([] if effort == most else [f'effort = "{most}"']), *([] if named else ["a family by its name"])]
    return ", or ".join(ways) + ("," if len(ways) > 1 else "")


def cut_words(effort: str, named: bool, seconds: float = math.inf) -> str:
    """What a design says of a search that was cut off, by the seconds of a caller where they are finite."""
    if seconds < math.inf:
        return (
            f"ended by the clock, seconds = {seconds:g}: another run may find another design; give more, or leave seconds out"
        )
    if remedy := remedy_for(effort, named):
        return f"its search was cut off: {remedy} gives it more work"
    return f"its search was cut off after {EFFORTS[effort]:g} units of work, the most that an effort gives"


def saying_cut(made: Design[M], words: str) -> Design[M]:
    """The design, with a note where its search was cut off."""
    if not words:
        return made
    return replace(made, mechanism=made.mechanism.annotated({**made.mechanism.provenance, "cut": words}))


def unfinished(made: Design[Mechanism]) -> str:
    """What is said behind a loss where the search for it was cut off."""
    return f", {CUT_OFF}" if made.cut else ""


def is_unfinished(words: str) -> bool:
    """Whether what is said of a family says that it was not started, or its search cut off, for want of work or time."""
    return words.endswith(UNFINISHED) or NOTHING_YET in words


def weight_of(way: FamilyRun) -> float:
    """How much of the work of all ways this one is, for the time that is left: its estimate, at least a moment."""
    return max(way.work, MOMENT)
