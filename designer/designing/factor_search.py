"""The least factor on the budgets at which one family meets the targets: found by designing, shown by two designs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from designer.base.errors import DesignFailed
from designer.base.progress import announce
from designer.base.rounding import share_at_most
from designer.designing.accuracy import Reached, reached_by, towards, worst_of
from designer.families.made import Design
from designer.families.repair import CONTINUOUS as OF_CONTINUOUS
from designer.families.stretching import stretched, stretches
from designer.mechanisms.additive.bounds import cell
from designer.mechanisms.additive.interface import Mechanism
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.problem.targets import Targets
from designer.problem.workload import Workload
from designer.relations.budget_factor import with_budgets_times
from designer.relations.problem import Problem
from solvers.programs.factor_bracket import LARGEST, LEAST, Bracket, least_factor
from solvers.work import go_on

Make = Callable[[Problem], Design[Mechanism]]

# One standard error is the same multiple of a margin in all designs of these families, whatever their scales.
ONE_SHAPE = ("laplace", "gaussian", "diagonal_gaussian", "ellipsoid")
# A part of one of their designs that answers fewer queries is a design of the same family.
PARTS = ("laplace", "gaussian")
FINE = 1e-5  # half a step in every coordinate, as the norm measures it
CONTINUOUS = 1 - 1e-6  # bounds speak of continuous noise and exact queries; grids keep 30 bits of these where noise is wide


@dataclass(frozen=True, eq=False)
class FamilyFactor:
    """What one family needs: `design` meets all targets at `factor` times the budgets, and at `missed_at`, smaller by the
    relative `step`, the family's design does not: `missed` is its worst query there. uncertain: to which share the factor is
    told where standard errors with targets are simulated, when the step is no smaller; 0 elsewhere.

    lower_bound: no factor below it is enough for any design of the family, from the bound of its program; None where its
    program proves none. seconds: of the whole search. base: the design at the given budgets that was followed.
    """

    family: str
    factor: float
    design: Design[Mechanism]
    reached: tuple[Reached, ...]
    missed_at: float
    missed: Reached
    lower_bound: float | None
    seconds: float
    base: Design[Mechanism]
    step: float
    uncertain: float = 0.0

    @property
    def words(self) -> str:
        """To which share the factor is told, where simulation tells it; empty elsewhere."""
        return f"told to about {share_at_most(self.uncertain)}: standard errors are simulated" if self.uncertain else ""

    @property
    def rho_factor(self) -> float | None:
        """The factor on rho, for gaussian problems: the square of that on the budgets."""
        return self.factor**2 if self.design.problem.notion == "zcdp" else None


def problem_at(factor: float, problem: Problem) -> Problem:
    """The problem with all budgets times a factor."""
    return replace(problem, relation=with_budgets_times(factor, problem.relation))


def made_at(factor: float, base: Design[Mechanism], make: Make) -> Design[Mechanism]:
    """The design of a problem with all budgets times a factor: the same noise stretched where that is the best there too."""
    there = problem_at(factor, base.problem)
    if factor == 1.0:
        return base
    return stretched(base, factor, there) if stretches(base) else make(there)


def factor_of_family(problem: Problem, targets: Targets, family: str, make: Make, step: float) -> FamilyFactor:
    """The least factor for a family whose designs `make` gives.

    Two losses are tried, the problem's own and the one that the targets set (`towards`); the one that comes nearer at the given
    budgets is kept. Raises `DesignFailed` where no factor from 1e-30 to 1e30 has the targets on its two sides.
    """
    start = time.perf_counter()
    announce(f"{family}: searching for the least factor on the budgets")
    base = _nearest(problem, targets, make)
    found: dict[float, tuple[Design[Mechanism], tuple[Reached, ...]]] = {}
    if _public(base, targets):
        raise DesignFailed(_no_bracket(family, 0.0))

    def ratio(factor: float) -> float:
        go_on()
        made = made_at(factor, base, make)
        found[factor] = made, reached_by(made.mechanism, problem, targets)
        return worst_of(found[factor][1]).ratio

    told = any(target.kind != "margin" for target in targets.of(problem.workload.queries))
    step = max(step, base.mechanism.uncertain) if told else step
    bracket = least_factor(ratio, step)
    if bracket is None:
        raise DesignFailed(_no_bracket(family, max(worst_of(reached).ratio for _, reached in found.values())))
    made, reached = found[bracket.met]
    own = Design(problem_at(bracket.met, problem), made.mechanism, made.seconds)
    missed = worst_of(found[bracket.missed][1])
    bound = _lower_bound(problem, targets, family, make, made.mechanism, bracket)
    seconds = time.perf_counter() - start
    uncertain = own.mechanism.uncertain if told else 0.0
    return FamilyFactor(family, bracket.met, own, reached, bracket.missed, missed, bound, seconds, base, step, uncertain)


def _public(made: Design[Mechanism], targets: Targets) -> bool:
    """Whether no noise reaches any query with a target, at these budgets or others."""
    if not isinstance(made.mechanism, AdditiveMechanism) or made.is_biased:
        return False
    exact = set(made.mechanism.exact)
    return all(target.query in exact for target in targets.of(made.problem.workload.queries))


def _no_bracket(family: str, ratio: float) -> str:
    if ratio <= 1:
        return (
            f"{family}: meets the targets at every budget, down to {LEAST:g} times the given ones, so that none is least: no "
            "protected change moves the queries that have targets. Ask for the accuracy of others."
        )
    return f"{family}: misses the targets even at {LARGEST:g} times the budgets; ask for less."


def _nearest(problem: Problem, targets: Targets, make: Make) -> Design[Mechanism]:
    """The design of least loss, or that of the loss that the targets set, whichever leads to the smaller ratio."""
    own = make(problem)
    try:
        aimed = make(towards(problem, targets, own.mechanism))
    except DesignFailed:
        return own
    ratios = [worst_of(reached_by(made.mechanism, problem, targets)).ratio for made in (own, aimed)]
    return own if ratios[0] < ratios[1] else aimed


def _fine(mechanism: Mechanism) -> bool:
    """Whether the grid is so fine that its noise cannot be told from continuous noise by 1e-9 of a variance."""
    return isinstance(mechanism, AdditiveMechanism) and cell(mechanism)[0] <= FINE


def _lower_bound(
    problem: Problem, targets: Targets, family: str, make: Make, mechanism: Mechanism, bracket: Bracket
) -> float | None:
    """From the bound B of the program that minimises the largest `(error / target)^2`.

    With continuous noise errors are inversely proportional to the factor: B at `bracket.met`, where grids are fine, says that
    no factor below `met root B` meets the targets. Errors on a coarse grid are not, but still fall with the budgets: B above 1
    at `bracket.missed` says that no smaller factor meets the targets, if it is one of the noise on that grid and not of
    continuous noise. Neither holds under (b, delta), the second not for margins, which are no multiples of standard errors.
    """
    asked = targets.of(problem.workload.queries)
    part, fine = len(asked) < len(problem.workload.queries), _fine(mechanism)
    if problem.notion == "approximate" or family not in (PARTS if part else ONE_SHAPE):
        return None
    if not fine and any(target.kind == "margin" for target in asked):
        return None
    there = problem_at(bracket.met if fine else bracket.missed, problem)
    aimed = towards(there, targets, mechanism)
    places = [target.place for target in asked]
    names = [problem.workload.queries[place] for place in places]
    workload = Workload(problem.workload.dense()[places], names, problem.workload.elements, problem.workload.keys)
    try:
        claim = make(replace(aimed, workload=workload, weights=np.asarray(aimed.costs)[places], loss="max")).optimality
    except DesignFailed:
        return None
    if claim is None or not claim.objective.startswith("max"):
        return None
    if fine:
        return bracket.met * math.sqrt(claim.lower_bound) * CONTINUOUS
    return bracket.missed if claim.lower_bound > 1 and not claim.objective.endswith(OF_CONTINUOUS) else None
