"""`design`: a problem in, a certified frozen mechanism out.

What a registered family hands back, made anew for the problem that was asked.

A mechanism is certified by its constructor, from its own numbers, for its own questions and relation. A family of one's own may
hand back an honest proof of something else, or an object whose numbers, or what was computed from them, were changed later. So
it is constructed once more, by classes of the house alone, from its numbers and the problem's own questions and relation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from designer.base.checks import near, shown
from designer.base.errors import DesignFailed, InvalidProblem, Refusal, UntrueBound
from designer.base.json_text import canonical
from designer.base.lazy_imports import at_address
from designer.base.progress import each_of, step
from designer.base.progress_line import logged
from designer.base.version import VERSION
from designer.certificate.guarantee import CUSTOM, AdditiveFamily, LatticeFamily, StaircaseFamily
from designer.certificate.implicit_rows import is_described
from designer.designing.auto import (
    NOTHING_MADE,
    NOTHING_YET,
    FamilyRun,
    WorkBudget,
    automatic_families,
    cap_of,
    chosen_families,
    cut_words,
    estimated,
    is_held,
    is_of_the_house,
    is_own,
    left_out,
    longer_by_delta,
    refuse_writing_out,
    runs_for,
    said_once,
    saying_cut,
    unfinished,
    units_of,
    weight_of,
)
from designer.designing.design_result import Design, asks_for_whole, rank_by_consistency
from designer.designing.factor_search import Builder
from designer.designing.family import (
    FALLOFFS,
    Family,
    Sizes,
    WorseThanIncumbent,
    build_for_notion,
    pure_twin,
    with_incumbent,
)
from designer.designing.own_solver import Solver, known_solver, named
from designer.designing.problem_kinds import ProblemOfKind, problem_kind
from designer.designing.targets import TargetsMissed, design_meeting, remedy
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.consistency import BREAKS, BROKEN, FRACTIONS
from designer.mechanism.interface import BIASED, Mechanism
from designer.mechanism.release import known_errors
from designer.problem.relation import Relation
from designer.problem.targets import Targets, require_targets
from designer.relations.problem import Problem
from solvers.work import QUICK, OutOfWork, spend, within

OF_THE_HOUSE = ("designer", "builtins", "numpy", "fractions")  # whose classes may be parts of a mechanism
OF_THE_PROBLEM = ("workload", "relation", "allow_vacuous")


def recertify(family: Family, problem: Problem, made: Mechanism) -> Mechanism:
    """The mechanism of a registered family, constructed and certified once more.

    Raises `InvalidProblem` if it does not answer what was asked, protects another relation, keeps another notion or another
    delta, is of a class of one's own, hides nothing although that was not asked for, or is biased although the family does not
    say so; `NotPrivate` if its numbers do not keep the promise.
    """
    _require_classes(family, made)
    asked = made.workload is problem.workload or made.workload == problem.workload
    if not asked or not _same_relation(made.relation, problem.relation):
        other = "protects another relation" if asked else "answers other queries"
        raise InvalidProblem(
            f"family: a mechanism of {family.name!r} {other} than the problem; take problem.workload and problem.relation."
        )
    _require_notion(family, problem, made)
    mine: Any = {part.name: getattr(problem, part.name) for part in fields(made) if part.name in OF_THE_PROBLEM}  # type: ignore[arg-type]
    anew: Mechanism = replace(made, **mine).described(made.about)  # type: ignore[type-var]
    _require_unbiased(family, anew)
    return anew


def _same_relation(one: Relation, other: Relation) -> bool:
    """Whether both protect the same changes with the same budgets, by their data."""
    return one is other or (type(one) is type(other) and canonical(one.to_spec()) == canonical(other.to_spec()))


def _require_classes(family: Family, made: Any) -> None:
    """Neither it nor a part of it, but the problem's own, is of a class whose methods nobody proved."""
    for part in (made, *(getattr(made, name) for name in _parts(made))):
        if type(part).__module__.partition(".")[0] not in OF_THE_HOUSE:
            raise InvalidProblem(
                f"family: a mechanism of {family.name!r} is or holds a {type(part).__name__}, a class of your own, for which "
                "nothing is proven; use the classes of designer themselves."
            )


def _parts(made: Any) -> list[str]:
    """What it was constructed from, beside what the problem gives."""
    return (
        [field.name for field in fields(made) if field.init and field.name not in OF_THE_PROBLEM] if is_dataclass(made) else []
    )


def _require_notion(family: Family, problem: Problem, made: Mechanism) -> None:
    if made.delta != problem.delta:
        raise InvalidProblem(
            f"family: a mechanism of {family.name!r} has delta {shown(made.delta)}, the problem {shown(problem.delta)}; take "
            "problem.delta."
        )
    if problem.notion != "approximate" and made.falloff != FALLOFFS[problem.notion][0]:
        raise InvalidProblem(
            f"family: {family.name!r} is {family.notion}, and its mechanism has noise of {made.falloff} fall-off; "
            f"build it with {FALLOFFS[problem.notion][0]!r}, or state the other notion.",
            value=family.name,
        )


def _require_unbiased(family: Family, made: Mechanism) -> None:
    if family.biased or getattr(made, "projected", False) or (errors := known_errors(made)) is None:
        return
    off = float(made.rounding().max())
    if off > BIASED * np.max(errors):
        raise InvalidProblem(
            f"family: the answers of {family.name!r} are off by up to {off:.3g} for each record; give it a reconstruction "
            "with reconstruction x measured = the queries, or state Family(..., biased=True)."
        )


if TYPE_CHECKING:
    from designer.lattice.mechanism import LatticeMechanism  # with FLINT behind it
    from designer.mechanism.staircase import StaircaseMechanism

T = TypeVar("T")
WORST = (math.inf, math.inf)  # before there is a design
TIE_TOLERANCE = 1e-6  # of the loss: what the family that was tried first may lose more, so that no last digit decides
STRONGER = "of the pure problem: "  # which is designed for a weaker notion, too
NOTED = ("hull",)  # what a family may add to the provenance; specs hold no other notes
Settings = Mapping[str, Any]


@overload
def design(
    problem: Problem,
    /,
    family: LatticeFamily,
    *,
    effort: str = ...,
    seconds: float | None = ...,
    targets: Targets | None = ...,
    solver: Solver = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[LatticeMechanism]: ...
@overload
def design(
    problem: Problem,
    /,
    family: StaircaseFamily,
    *,
    effort: str = ...,
    seconds: float | None = ...,
    targets: Targets | None = ...,
    solver: Solver = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[StaircaseMechanism]: ...
@overload
def design(
    problem: Problem,
    /,
    family: AdditiveFamily,
    *,
    effort: str = ...,
    seconds: float | None = ...,
    targets: Targets | None = ...,
    solver: Solver = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[AdditiveMechanism]: ...
@overload
def design(
    problem: Problem,
    /,
    family: str = ...,
    *,
    effort: str = ...,
    seconds: float | None = ...,
    targets: Targets | None = ...,
    solver: Solver = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[Mechanism]: ...
@overload
def design(
    problem: Problem | ProblemOfKind,
    /,
    family: str = ...,
    *,
    effort: str = ...,
    seconds: float | None = ...,
    targets: Targets | None = ...,
    solver: Solver = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[Any]: ...
def design(
    problem: Problem | ProblemOfKind,
    /,
    family: str = "auto",
    *,
    effort: str = "normal",
    seconds: float | None = None,
    targets: Targets | None = None,
    solver: Solver = "auto",
    solver_options: Settings | None = None,
    **options: Any,
) -> Design[Any]:
    """Design the best mechanism of a family, certified.

    Pure families serve weaker notions, too. Where no more budget is proven for their noise, they keep the pure promise.
    Where units of effort are spent, a search hands over its best, and says so. Named families whose search has nothing to hand
    over run to their end, but for "quick". Kinds of problems whose design is one program, without a search, take any. A
    `StructuredProblem` is designed by the family "structured", without writing its queries out; "auto" tries the others beside
    where it is small. What a solver answers is repaired and certified like every design, and the provenance says how far it was
    off. Raises `InvalidProblem` for an unknown family, effort, option or solver and for a family without a program. Raises
    `DesignFailed` when the family has no mechanism for the problem, or none that meets the targets. The message names the
    queries, what they reach, and the factor on the budgets that `least_budget` finds.

    Parameters
    ----------
    problem
        of any kind: a `Problem` of linear queries, a `StructuredProblem`, `MarginalProblem`, `SelectionProblem`,
        `SyntheticProblem`, `ReportProblem`, `HierarchyProblem` or `PlanProblem`.
    family
        a name in `designer.designing.FAMILIES`, one of your own (see `register` there), or "auto" for the best that applies
        (see `best_of_all`).
    effort
        how much counted work searches may take, whatever the clock, the load and the number of threads: "quick", "normal"
        or "thorough". That is 2, 20 or 200 units, each about a second of one core, for one family or all of "auto".
    seconds : a limit on the clock besides; what it cuts off depends on the machine, and says so.
    targets
        accuracy that the answers must have at these budgets, checked at the frozen noise; with "auto" the best of the
        families that meet them.
    solver
        "auto", the family's own specialised solver. An installed solver of CVXPY gets the family's program (see
        `designer.programs`); with the family "auto", the best of those that have a program. A function gets the numbers of
        the program (those of `designer.designing.own_solver`) and hands back those of an answer.
    solver_options : for a solver of CVXPY.
    **options
        those of the builder. Of those that "auto" tries the best are taken, unless they are given. With "auto" `strategy`, rows
        of your own to measure, (p, N), that are evaluated, certified and frozen as they are (`strategy_laplace`,
        `strategy_gaussian`).

    >>> from designer import Problem, Workload, metrics
    >>> made = design(Problem(Workload.identity(3), metrics.uniform(3, epsilon=1.0)), "laplace")
    >>> made.privacy.holds, made.mechanism.scales.round(9).tolist()
    (True, [2.0, 2.0, 2.0])
    """
    solver = named(solver)
    _require_settings(solver, solver_options)
    units_of(effort), cap_of(seconds)
    choices: dict[str, Any] = {"targets": targets, "solver": solver, "solver_options": solver_options}
    limits = {"effort": effort, "seconds": seconds}
    made: Design[Any] = problem_kind(problem).part("design")(problem, family, **limits, **choices, **options)
    logged("designed %s: %s", made.mechanism.format, made.mechanism.fingerprint)
    return made


def design_linear(
    problem: Problem,
    /,
    family: str = "auto",
    *,
    effort: str = "normal",
    seconds: float | None = None,
    targets: Targets | None = None,
    solver: str = "auto",
    solver_options: Settings | None = None,
    **options: Any,
) -> Design[Mechanism]:
    limits: Settings = {"effort": effort, "seconds": seconds}
    if targets is not None:
        choices = {"solver": solver, "solver_options": solver_options}
        return _meeting(problem, family, require_targets(targets), choices, limits, options)
    if family == "auto" and "strategy" in options:
        family = "strategy_laplace" if problem.notion == "pure" else "strategy_gaussian"
    if family == "auto":
        if options:
            raise InvalidProblem(
                f"options: {shown(sorted(options))} unknown to 'auto'; name a family beside them. What limits a search "
                "is effort and seconds.",
                value=sorted(options),
            )
        return best_of_all(problem, **limits, solver=solver, solver_options=solver_options)
    (chosen,) = chosen_families([family])
    given = {**limits, "solver": solver, "solver_options": solver_options}
    pure: Design[Mechanism] | None = None
    if problem.notion == "approximate" and (chosen.notion, chosen.anytime, is_own(solver)) == ("pure", True, True):
        # A search among local optima may end higher where more budget is allowed.
        pure = replace(design_linear(pure_twin(problem), family, **given, **options), problem=problem)
        if chosen.aimed(problem) is not problem:
            return pure
    try:
        if is_own(solver) and len(chosen.choices) > 1 and len(ways := runs_for([chosen], problem, options=options)) > 1:
            made = replace(best_of_all(chosen.aimed(problem), **given, ways=ways), problem=problem)
        else:
            made = _of_one_way(problem, chosen, options, **given)
    except DesignFailed:
        if pure is None:
            raise
        return pure
    return made if pure is None or made.loss < pure.loss else pure


def _of_one_way(
    problem: Problem,
    chosen: Family,
    options: Settings,
    effort: str,
    seconds: float | None,
    solver: str,
    solver_options: Settings | None,
) -> Design[Mechanism]:
    """The design of a family with these options and no others."""
    unknown = sorted(set(options) - set(chosen.options()))
    if unknown:
        raise InvalidProblem(
            f"options: {shown(unknown)} unknown to family {chosen.name!r}, which takes {chosen.options() or 'none'}"
            f"{near(unknown[0], chosen.options())}.",
            value=unknown,
        )
    if not chosen.serves(problem):
        raise DesignFailed(
            f"family: {chosen.name!r} is {chosen.notion}, the problem asks for {problem.notion!r}; choose another family.",
            value=chosen.name,
        )
    if is_described(problem.workload, problem.relation) and not chosen.described:
        refuse_writing_out(chosen.name, problem)
    aimed = chosen.aimed(problem)
    # What cannot hand over a best runs to its end; under "quick" it has nothing to show then.
    units = units_of(effort) if chosen.anytime or effort == QUICK else math.inf
    with step(chosen.name), within(units, cap_of(seconds)) as budget:
        try:
            if is_own(solver):
                made = _designed(chosen, aimed, options)
            else:
                made = designed_by(solver, chosen, aimed, solver_options or {}, options)
        except OutOfWork as stopped:
            raise DesignFailed(f"{chosen.name}: {NOTHING_YET}; {cut_words(effort, True, budget.clock)}.") from stopped
        return saying_cut(replace(made, problem=problem), cut_words(effort, True, budget.clock) if budget.cut else "")


def _designed(chosen: Family, problem: Problem, options: Settings) -> Design[Mechanism]:
    start = time.perf_counter()
    if not chosen.counted:
        spend(estimated(chosen, options, Sizes(problem)))

    def own(asked: Problem) -> Mechanism:
        return chosen.build(asked, **options)

    mechanism = _of_the_family(chosen, problem, as_design_failure(chosen, lambda: build_for_notion(chosen, problem, own)))
    seconds = time.perf_counter() - start
    provenance = {
        "software": f"dp-designer {VERSION}",
        "family": chosen.title,
        "loss": problem.loss,
        "options": options,
        **{note: mechanism.provenance[note] for note in NOTED if note in mechanism.provenance},
    }
    return Design(problem, mechanism.annotated(provenance), seconds)


def _meeting(
    problem: Problem, family: str, targets: Targets, choices: Settings, limits: Settings, options: Settings
) -> Design[Mechanism]:
    """`design` with targets: those of the families that are asked, or a refusal that says what would meet them."""
    targets.of(problem.workload.queries)
    effort = limits["effort"]
    missed: list[tuple[TargetsMissed, Builder]] = []

    def meeting(asked: Problem, name: str, chosen: Settings) -> Design[Mechanism]:
        def own(aimed: Problem) -> Design[Mechanism]:
            return design(aimed, name, **choices, **chosen, **({"effort": effort} if family == "auto" else limits))

        try:
            return design_meeting(asked, targets, name, own)
        except TargetsMissed as failure:
            missed.append((failure, own))
            raise

    def best(asked: Problem, seconds: float | None, ways: Sequence[FamilyRun] | None = None) -> Design[Mechanism]:
        def make(way: FamilyRun) -> Design[Mechanism]:
            return meeting(asked, way.family.name, way.options)

        return best_of_all(
            asked, effort, seconds, **choices, make=make, pure=lambda left: best(pure_twin(asked), left), ways=ways
        )

    try:
        if family == "auto":
            return best(problem, limits["seconds"])
        ways = runs_for(chosen_families([family]), problem, options=options)
        return best(problem, limits["seconds"], ways) if len(ways) > 1 else meeting(problem, family, options)
    except DesignFailed:
        if not missed:
            raise
        nearest, own = min(missed, key=lambda one: one[0].ratio)
        words = remedy(problem, targets, nearest, own)
        others = f" No other of the {len(missed)} families comes as near." if len(missed) > 1 else ""
        raise DesignFailed(f"{nearest}{others} {words}") from None


def _require_settings(solver: str, settings: object) -> None:
    """Options are a mapping, and given only where a solver is named."""
    if settings is not None and not isinstance(settings, Mapping):
        raise InvalidProblem(f"solver_options: {shown(settings)} is no mapping; give {{name: value}}.", value=settings)
    if not is_own(solver):
        known_solver(solver)
    elif settings:
        raise InvalidProblem("solver_options: belong to a solver of CVXPY; name it as solver.")


def designed_by(solver: str, family: Family, problem: Problem, settings: Settings, options: Settings) -> Design[Mechanism]:
    """The design of a family whose program a solver of CVXPY solves."""
    if family.program is None:
        stated = [known.name for known in chosen_families() if known.program]
        raise InvalidProblem(
            f"solver: {shown(solver)} is named, but no program states family {family.name!r} as a whole. "
            f"{family.search and f'{family.search} '}Leave solver out, or use one of {stated}.",
            value=solver,
        )
    if options:
        raise InvalidProblem(
            f"options: {shown(sorted(options))} are of the family's own solver; leave them out beside solver = "
            f"{shown(solver)}, whose options are solver_options."
        )
    program, start = at_address(family.program), time.perf_counter()

    def solved(asked: Problem) -> Mechanism:
        found: Mechanism = program(asked).design(solver, **settings).mechanism
        return found

    mechanism = as_design_failure(family, lambda: build_for_notion(family, problem, solved))
    made = Design(problem, mechanism, time.perf_counter() - start)
    notes = {**mechanism.provenance, "family": family.title, "repaired_loss": made.loss}
    return replace(made, mechanism=mechanism.annotated(notes))


def as_design_failure(family: Family, make: Callable[[], T]) -> T:
    """What is made; arithmetic that stops, on numbers that floats cannot hold side by side, is a refusal in words, and in a
    builder of the user's own an error with its place, as it came."""
    try:
        return make()
    except (Refusal, UntrueBound):
        raise
    except (ArithmeticError, ValueError) as failure:  # overflow, singular matrices, solvers that are handed infinity
        if not is_of_the_house(family):
            raise
        raise DesignFailed(
            f"{family.name}: {reason(failure)}; its numbers may span more orders of magnitude than floats can: state the "
            "queries or the budgets in other units, or choose another family."
        ) from failure


def _of_the_family(family: Family, problem: Problem, made: Mechanism) -> Mechanism:
    """The mechanism, if it bears the family's name, or, from a family that was registered, the name for noise of one's own."""
    if not isinstance(made, Mechanism):
        raise InvalidProblem(f"family: the builder of {family.name!r} returned {shown(made)}; it must return a mechanism.")
    if made.family not in (family.name, CUSTOM):
        raise InvalidProblem(
            f"family: a mechanism of {family.name!r} says that it is {made.family!r}; build it with family={CUSTOM!r}."
        )
    return made if is_of_the_house(family) else recertify(family, problem, made)


def best_of_all(
    problem: Problem,
    effort: str = "normal",
    seconds: float | None = None,
    solver: str = "auto",
    solver_options: Settings | None = None,
    *,
    make: Callable[[FamilyRun], Design[Mechanism]] | None = None,
    pure: Callable[[float | None], Design[Mechanism]] | None = None,
    ways: Sequence[FamilyRun] | None = None,
) -> Design[Mechanism]:
    """The design of least loss, as it is measured, among the families that serve the problem's notion, baselines left out,
    noise on lattices and staircases included; its provenance lists what was tried, and what was not and why.

    effort: how much work all families have together. Those that take a moment come first. Another one is started if the limit
    of `designer.designing.least_noise` leaves more than 0.1 % to be gained, and if what it may take fits into what is left, or
    its search can be cut off: then it ends, when what is left is done, with the best that it has. Before there is a mechanism,
    nothing is refused for its work. A family that fails, in whatever way, is listed with its reason, and the others go on.
    Under a weaker notion the design of the pure problem, with units of its own, is among those that are compared, unless no
    pure noise is as good as what is found; so a weaker promise never has more noise.
    seconds: a limit on the clock, none by default; where it ended a search, or kept one from starting, the design says so.
    Where statistics are published, only noise that leaves them alone is taken, so that what is released agrees with them, and
    where counts are asked, noise in whole numbers before any other (`designer.mechanism.consistency`).
    solver, solver_options: of CVXPY, for the families that have a program; the others are then left out. make: from a family
    with its options to its design, and pure: from the seconds that are left to that of the pure problem, unless given as they
    are without targets. ways: the choices of one family that is asked for by its name, each of which has the work of the
    effort; all that apply unless given.
    """
    begun = time.perf_counter()
    named = ways[0].family.name if ways else ""
    units = units_of(effort) * len(ways or [named])
    race = _Race(problem, WorkBudget(problem, units, cap_of(seconds), gap=not named, any_size=bool(named)), named)
    given: Settings = {"effort": effort, "solver": solver, "solver_options": solver_options}
    own = make or (lambda way: _of_one_way(problem, way.family, way.options, seconds=None, **given))
    if ways is not None:
        race.run(ways, own)
        return race.ended(effort, begun)
    known = runs_for(automatic_families(problem, solver), problem)  # the sizes of the problem are found once, for all of them
    stronger = [way for way in known if way.family.notion == "pure" and problem.notion != "pure"]
    race.run([way for way in known if way not in stronger], own)
    if stronger and (why := race.allowance.no_pure_room(race.reached, stronger)):
        race.tried |= {way.name: f"not started: {why}" for way in stronger}
        biased = [way for way in stronger if way.family.biased]  # of which no limit speaks
        race.run(biased, make or (lambda way: _of_one_way(pure_twin(problem), way.family, way.options, seconds=None, **given)))
    elif stronger:
        race.take_pure(pure or (lambda left: best_of_all(pure_twin(problem), seconds=left, **given)))
    race.run(longer_by_delta(stronger, problem), own, f", delta {problem.delta}")
    race.tried |= left_out(problem, solver)
    if race.place[0] == BROKEN and race.best and is_own(solver):
        raise DesignFailed(
            f"auto: no noise that agrees with the published statistics was found; {race.best.mechanism.family!r} {BREAKS}. "
            f"{' '.join(said_once(race.tried.items()))}"
        )
    return race.ended(effort, begun)


@dataclass(eq=False)
class _Race:
    """The least loss among designs of one problem, and what is said of each that was tried.

    named: the family whose choices alone are tried, because it was asked for by its name.
    """

    problem: Problem
    allowance: WorkBudget
    named: str = ""
    best: Design[Mechanism] | None = None
    place: tuple[float, float] = WORST
    tried: dict[str, str] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)

    @property
    def reached(self) -> float:
        """The least loss of what the default may take."""
        return math.inf if self.place[0] else self.place[1]

    def run(self, ways: Sequence[FamilyRun], own: Callable[[FamilyRun], Design[Mechanism]], suffix: str = "") -> None:
        """Try the ways one after the other. suffix: of their names."""
        whole = asks_for_whole(self.problem)
        ways = sorted(ways, key=lambda way: (way.family.fractions, not way.family.invariants_only)) if whole else ways
        for way in each_of(ways, "designing", weight_of, self.allowance.units):
            if whole and way.family.fractions and self.place[0] == 0:
                self.tried[way.name + suffix] = f"not started: {FRACTIONS}, and whole numbers are found"
                continue
            if self.best is not None and is_held(way, self.best):
                family = self.best.mechanism.family
                self.tried[way.name + suffix] = f"not started: its noise is a case of {family}, whose least loss is reached"
                continue
            usable = self.best is not None and self.place[0] != BROKEN
            if why := self.allowance.refusal(way, self.reached if usable else None):
                self.tried[way.name + suffix] = why
                continue
            try:
                with (
                    self.allowance.running(way, usable, bool(self.named)),
                    with_incumbent(way.family.aimed(self.problem), self.reached),
                ):
                    candidate = own(way)
                self.tried[way.name + suffix] = self._compared(candidate) + unfinished(candidate)
            except WorseThanIncumbent as behind:
                self.tried[way.name + suffix] = str(behind)
            except Exception as failure:
                self.tried[way.name + suffix] = NOTHING_MADE + reason(failure)
                self.failures.append(failure)

    def _compared(self, candidate: Design[Mechanism], tie: float = TIE_TOLERANCE) -> str:
        """What is said of a design, which is taken where it is better than the best so far."""
        rank, words = rank_by_consistency(self.problem, candidate)
        if (rank, candidate.loss) < (self.place[0], self.place[1] * (1 - tie)):
            self.best, self.place = candidate, (rank, candidate.loss)
        elif self.best and self.best.optimality is None and candidate.loss <= self.place[1] * (1 + tie):
            bounded = candidate.optimality and type(candidate.mechanism) is type(self.best.mechanism)
            if rank == self.place[0] and (self.named or bounded):  # the same noise, with a bound
                self.best = candidate
        return ", ".join(filter(None, [f"loss {_measured(candidate)}", words]))

    def ended(self, effort: str, begun: float) -> Design[Mechanism]:
        """The best, with what is said of all."""
        reasons = said_once(self.tried.items()) if self.best is None else []
        if self.named:
            for failure in self.failures:
                if isinstance(failure, InvalidProblem) or len(reasons) == 1:
                    raise failure
        if self.best is None:
            raise DesignFailed(f"{self.named or 'auto'}: no family has a mechanism for this problem. {' '.join(reasons)}")
        notes = {**self.best.mechanism.provenance, "effort": effort, "tried": self.tried}
        if self.allowance.late or self.best.cut:
            notes["cut"] = cut_words(effort, bool(self.named), self.allowance.seconds if self.allowance.late else math.inf)
        return Design(self.problem, self.best.mechanism.annotated(notes), time.perf_counter() - begun)

    def take_pure(self, own: Callable[[float | None], Design[Mechanism]]) -> None:
        """Compare the design of the pure problem, as it is found without this one, and take over what it says of families."""
        left = self.allowance.seconds_left
        try:
            made = own(max(left, 1e-3) if left < math.inf else None)
            self._compared(replace(made, problem=self.problem), 0.0)
        except Exception as failure:
            self.tried["pure noise"] = NOTHING_MADE + reason(failure)
            return
        self.allowance.late |= self.allowance.seconds_left <= 0
        for name, words in made.mechanism.provenance["tried"].items():
            self.tried[name] = STRONGER * words.startswith("loss") + words


def _measured(made: Design[Mechanism]) -> str:
    """The loss, and by how many draws it is simulated where it is."""
    draws = made.mechanism.error_source.draws
    return f"{made.loss:.6g}" + (f" ({draws} draws)" if draws else "")


def reason(failure: Exception) -> str:
    """Why a family has no mechanism: its refusal, or the error that stopped it, by name."""
    if isinstance(failure, OutOfWork):
        return str(failure)
    return str(failure) if isinstance(failure, DesignFailed) else f"stopped by {type(failure).__name__}: {failure}"
