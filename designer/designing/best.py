"""`design`: a problem in, a certified frozen mechanism out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from designer.additive.interface import Mechanism
from designer.additive.mechanism import AdditiveMechanism
from designer.certified.family_names import CUSTOM, AdditiveFamily, LatticeFamily, StaircaseFamily
from designer.designing.approximate import under_the_notion
from designer.designing.factor_search import Make
from designer.designing.family import Family
from designer.designing.made import Design
from designer.designing.meeting import TargetsMissed, design_meeting, remedy
from designer.designing.problem import Problem
from designer.errors import DesignFailed, InvalidProblem, Refusal, UntrueBound
from designer.question.targets import Targets, require_targets
from designer.values.checks import positive, shown
from designer.version import VERSION

if TYPE_CHECKING:
    from designer.lattice.mechanism import LatticeMechanism  # with FLINT behind it
    from designer.staircase.mechanism import StaircaseMechanism

# Above this many universe elements a scan of all pairs takes a second or more, and "auto" leaves out families that need many.
AUTO_ELEMENTS = 5000
T = TypeVar("T")
NOTED = ("hull",)  # what a family may add to the provenance; specs hold no other notes


def chosen_families(names: Sequence[str] | None = None) -> tuple[Family, ...]:
    """The families of these names, or all: the list is imported, with its solvers, when it is first asked for."""
    from designer.designing.families.listed import family_named, known_families

    return known_families() if names is None else tuple(map(family_named, names))


Settings = Mapping[str, Any]


@overload
def design(
    problem: Problem,
    /,
    family: LatticeFamily,
    *,
    targets: Targets | None = ...,
    solver: str = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[LatticeMechanism]: ...
@overload
def design(
    problem: Problem,
    /,
    family: StaircaseFamily,
    *,
    targets: Targets | None = ...,
    solver: str = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[StaircaseMechanism]: ...
@overload
def design(
    problem: Problem,
    /,
    family: AdditiveFamily,
    *,
    targets: Targets | None = ...,
    solver: str = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[AdditiveMechanism]: ...
@overload
def design(
    problem: Problem,
    /,
    family: str = ...,
    *,
    targets: Targets | None = ...,
    solver: str = ...,
    solver_options: Settings | None = ...,
    **options: Any,
) -> Design[Mechanism]: ...
def design(
    problem: Problem,
    /,
    family: str = "auto",
    *,
    targets: Targets | None = None,
    solver: str = "auto",
    solver_options: Settings | None = None,
    **options: Any,
) -> Design[Mechanism]:
    """The best mechanism of a family for a problem, certified.

    family: a name in `designer.designing.families.FAMILIES`, one of your own (see `register_family` there), or "auto" for the
    best that applies (see `best_of_all`). targets: accuracy that the answers must have at these budgets, checked at the frozen
    noise; with "auto" the best of the families that meet them. options: those of the builder; with "auto" `strategy`, rows of
    your own to measure, (p, N), that are evaluated, certified and frozen as they are (`strategy_laplace`,
    `strategy_gaussian`). solver: "auto", the family's own specialised solver; or an installed solver of CVXPY, to which the
    family's program is given with `solver_options` (see `designer.programs`; with the family "auto", the best of those that
    have a program). What it answers is repaired and certified like every design, and the provenance says how far it was off.
    Raises `InvalidProblem` for an unknown family, option or solver and for a family without a program, `DesignFailed` when the
    family has no mechanism for the problem, or none that meets the targets: the message names the queries, what they reach,
    and the factor on the budgets that `least_budget` finds.

    >>> from designer import Problem, Workload, metrics
    >>> made = design(Problem(Workload.identity(3), metrics.uniform(3, epsilon=1.0)), "laplace")
    >>> made.privacy.holds, made.mechanism.scales.round(9).tolist()
    (True, [2.0, 2.0, 2.0])
    """
    _require_settings(solver, solver_options)
    if targets is not None:
        choices = {"solver": solver, "solver_options": solver_options}
        return _meeting(problem, family, require_targets(targets), choices, options)
    if family == "auto" and "strategy" in options:
        family = "strategy_laplace" if problem.notion == "pure" else "strategy_gaussian"
    if family == "auto":
        if unknown := sorted(set(options) - {"seconds"}):
            raise InvalidProblem(
                f"options: {shown(unknown)} unknown to 'auto', which takes ['seconds']; name a family beside them."
            )
        return best_of_all(problem, solver=solver, solver_options=solver_options, **options)
    (chosen,) = chosen_families([family])
    unknown = sorted(set(options) - set(chosen.options()))
    if unknown:
        raise InvalidProblem(
            f"options: {shown(unknown)} unknown to family {chosen.name!r}, which takes {chosen.options() or 'none'}."
        )
    if not chosen.serves(problem):
        raise DesignFailed(
            f"family: {chosen.name!r} is {chosen.notion}, the problem asks for {problem.notion!r}; choose another family."
        )
    if not is_own(solver):
        return designed_by(solver, chosen, problem, solver_options or {}, options)
    return _designed(chosen, problem, options)


def _designed(chosen: Family, problem: Problem, options: Settings) -> Design[Mechanism]:
    """The design of a family by its own solver."""
    start = time.perf_counter()
    mechanism = _of_the_family(chosen, refusing(chosen, lambda: under_the_notion(chosen, problem, options)))
    seconds = time.perf_counter() - start
    provenance = {
        "software": f"dp-designer {VERSION}",
        "family": chosen.title,
        "loss": problem.loss,
        "options": options,
        "seconds": round(seconds, 3),
        **{note: mechanism.provenance[note] for note in NOTED if note in mechanism.provenance},
    }
    return Design(problem, mechanism.annotated(provenance), seconds)


def _meeting(problem: Problem, family: str, targets: Targets, choices: Settings, options: Settings) -> Design[Mechanism]:
    """`design` with targets: those of the families that are asked, or a refusal that says what would meet them."""
    targets.of(problem.workload.queries)
    missed: list[TargetsMissed] = []

    def own(name: str) -> Make:
        chosen = options if name == family else {}
        return lambda aimed: design(aimed, name, **choices, **chosen)

    def make(name: str) -> Design[Mechanism]:
        try:
            return design_meeting(problem, targets, name, own(name))
        except TargetsMissed as failure:
            missed.append(failure)
            raise

    try:
        return best_of_all(problem, make=make, **choices, **options) if family == "auto" else make(family)
    except DesignFailed:
        if not missed:
            raise
        nearest = min(missed, key=lambda one: one.ratio)
        words = remedy(problem, targets, nearest, own(nearest.family))
        others = f" No other of the {len(missed)} families comes as near." if len(missed) > 1 else ""
        raise DesignFailed(f"{nearest}{others} {words}") from None


def is_own(solver: str) -> bool:
    """Whether a family's own solver is meant, and none of CVXPY's."""
    return solver.lower() == "auto"


def _require_settings(solver: object, settings: object) -> None:
    """A solver is named by a text, its options in a mapping, and only where it is named."""
    if not isinstance(solver, str):
        raise InvalidProblem(f"solver: {shown(solver)} is no name; give 'auto', or the name of a solver of CVXPY.")
    if settings is not None and not isinstance(settings, Mapping):
        raise InvalidProblem(f"solver_options: {shown(settings)} is no mapping; give {{name: value}}.")
    if not is_own(solver):
        from designer.convex.solving import known_solver

        known_solver(solver)
    elif settings:
        raise InvalidProblem("solver_options: belong to a solver of CVXPY; name it as solver.")


def designed_by(
    solver: str, family: Family, problem: Problem, settings: Settings, options: Settings
) -> Design[AdditiveMechanism]:
    """The design of a family whose program a solver of CVXPY solves."""
    if not family.has_program:
        stated = [known.name for known in chosen_families() if known.has_program]
        raise InvalidProblem(
            f"solver: {shown(solver)} is named, but no program states family {family.name!r}; leave solver out, or use one of "
            f"{stated}."
        )
    if options:
        raise InvalidProblem(
            f"options: {shown(sorted(options))} are of the family's own solver; leave them out beside solver = "
            f"{shown(solver)}, whose options are solver_options."
        )
    from designer.designing.programs.listed import PROGRAMS

    made = refusing(family, lambda: PROGRAMS[family.name](problem).design(solver, **settings))
    return replace(made, mechanism=made.mechanism.annotated({**made.mechanism.provenance, "family": family.title}))


def refusing(family: Family, make: Callable[[], T]) -> T:
    """What is made; arithmetic that stops, on numbers that floats cannot hold side by side, is a refusal in words."""
    try:
        return make()
    except (Refusal, UntrueBound):
        raise
    except (ArithmeticError, ValueError) as failure:  # overflow, singular matrices, solvers that are handed infinity
        raise DesignFailed(
            f"{family.name}: {reason(failure)}; its numbers may span more orders of magnitude than floats can: state the "
            "queries or the budgets in other units, or choose another family."
        ) from failure


def _of_the_family(family: Family, made: Mechanism) -> Mechanism:
    """The mechanism, if it bears the family's name, or, from a family that was registered, the name for noise of one's own."""
    if not isinstance(made, Mechanism):
        raise InvalidProblem(f"family: the builder of {family.name!r} returned {shown(made)}; it must return a mechanism.")
    if made.family not in (family.name, CUSTOM):
        raise InvalidProblem(
            f"family: a mechanism of {family.name!r} says that it is {made.family!r}; build it with family={CUSTOM!r}."
        )
    return made


def automatic_families(problem: Problem, solver: str = "auto") -> list[Family]:
    """Those that "auto" tries: of the problem's notion, no baselines, none that serve another end than least loss; with a
    solver of CVXPY, those that have a program."""
    stated = [family for family in chosen_families() if is_own(solver) or family.has_program]
    known = [family for family in stated if family.serves(problem) and family.concerns(problem)]
    return [family for family in known if not (family.baseline or family.on_request or family.by_name)]


def not_started(problem: Problem, family: Family, late: bool, allowed: float) -> str:
    """Why "auto" does not start a family, or an empty text. late: one has a mechanism, and the time allowed is over."""
    if late:
        return f"not started: {allowed:g} s were over"
    if problem.relation.size > AUTO_ELEMENTS and not family.scans_little:
        return f"not started: more than {AUTO_ELEMENTS} elements; ask for it by name"
    return ""


def best_of_all(
    problem: Problem,
    seconds: float = 60.0,
    solver: str = "auto",
    solver_options: Settings | None = None,
    *,
    make: Callable[[str], Design[Mechanism]] | None = None,
) -> Design[Mechanism]:
    """The design of least loss among the families that serve the problem's notion, baselines left out;
    its provenance lists what was tried.

    seconds: once one family has a mechanism, none is started after this time. They come in the order of the list. A family that
    fails, in whatever way, is listed with its reason, and the others go on.
    solver, solver_options: of CVXPY, for the families that have a program; the others are then left out. make: from the name of
    a family to its design, `design` itself unless given.
    """
    allowed, start = positive(seconds, "options.seconds"), time.perf_counter()
    made: list[Design[Mechanism]] = []
    tried: dict[str, str] = {}
    own = make or (lambda name: design(problem, name, solver=solver, solver_options=solver_options))
    for family in automatic_families(problem, solver):
        if why := not_started(problem, family, bool(made) and time.perf_counter() - start > allowed, allowed):
            tried[family.name] = why
            continue
        try:
            candidate = own(family.name)
            tried[family.name] = f"loss {candidate.loss:.6g} in {candidate.seconds:.2f} s"
        except Exception as failure:
            tried[family.name] = f"no mechanism: {reason(failure)}"
        else:
            made.append(candidate)
    if not made:
        raise DesignFailed(f"auto: no family has a mechanism for this problem: {tried}")
    best = min(made, key=lambda candidate: candidate.loss)
    provenance = {**best.mechanism.provenance, "tried": tried}
    return Design(problem, best.mechanism.annotated(provenance), time.perf_counter() - start)


def reason(failure: Exception) -> str:
    """Why a family has no mechanism: its refusal, or the error that stopped it, by name."""
    return str(failure) if isinstance(failure, DesignFailed) else f"stopped by {type(failure).__name__}: {failure}"
