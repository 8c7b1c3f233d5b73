"""The least factor on the budgets at which one family meets the targets: found by designing, shown by two designs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.display import share_at_most
from designer.base.errors import DesignFailed
from designer.base.progress import announce
from designer.designing.design_result import Design
from designer.designing.repair import CONTINUOUS as OF_CONTINUOUS
from designer.designing.rescale import stretched, stretches
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.bounds import cell
from designer.mechanism.interface import CONFIDENCE, Mechanism, reach_of_answers
from designer.problem.compressed_rows import difference, rows_of
from designer.problem.targets import Target, Targets
from designer.problem.workload import Workload
from designer.relations.delta_lengths import with_budgets_times
from designer.relations.problem import Problem
from solvers.programs.loads import LARGEST, LEAST, Bracket, least_factor
from solvers.work import go_on

# What a frozen mechanism reaches of the targets, and the problem whose design reaches most.


# Of the largest loss of a query with a target: what those without one may take of it together, as a share of its root.
UNASKED = 1e-4


@dataclass(frozen=True)
class Reached:
    """What one query reaches: the standard error (the margin, for a margin), biases included where records are known."""

    target: Target
    value: float

    @property
    def ratio(self) -> float:
        """What is reached over what may be reached at most: met up to 1."""
        return self.value / self.target.most

    @property
    def in_units(self) -> float:
        """The value in the units of the target: a relative error is relative."""
        return self.value if self.target.reference is None else self.value / abs(self.target.reference)

    def sentence(self) -> str:
        return f"{self.target.sentence()}, reached {self.in_units:.6g}"


def reached_by(mechanism: Mechanism, problem: Problem, targets: Targets) -> tuple[Reached, ...]:
    """What the noise that is in fact drawn reaches of every target, in the order of the queries.

    Standard errors are those of `mechanism.standard_errors()`, margins those of `mechanism.margins()`, as releases and reports
    state them; `standing_words` says what they are where they are not computed. With a public number of records n the largest
    bias over histograms of n records, `n max_i |P - Q|_ki`, is part of it: `root(variance + bias^2)`, margin + bias.
    """
    asked = targets.of(mechanism.workload.queries)
    kinds = {target.kind == "margin" for target in asked}
    bias = largest_biases(mechanism, problem)
    margins = mechanism.margins(CONFIDENCE) + bias if True in kinds else bias
    errors = np.hypot(mechanism.standard_errors(), bias) if False in kinds else bias
    return tuple(Reached(t, float((margins if t.kind == "margin" else errors)[t.place])) for t in asked)


def largest_biases(mechanism: Mechanism, problem: Problem) -> Floats:
    """Of every answer the largest bias over histograms of the public number of records, (K,); 0 where it is not public."""
    if problem.records is None:
        return np.zeros(len(mechanism.workload.queries))
    off = difference(mechanism.effective, problem.workload.matrix)
    return np.asarray(problem.records * (off.max(axis=1) if isinstance(off, np.ndarray) else off.max(axis=1).toarray().ravel()))


def standing_words(mechanism: Mechanism, targets: Sequence[Target]) -> list[str]:
    """What the numbers that meet these targets are, where they are not computed, and by which law margins are; in sentences."""
    kinds = {target.kind == "margin" for target in targets}
    errors = [words] if False in kinds and (words := mechanism.error_source.words) else []
    return [*errors, *([f"Margins by {reach_of_answers(mechanism, CONFIDENCE, False)[1]}."] if True in kinds else [])]


def worst_of(reached: Sequence[Reached]) -> Reached:
    """The query that is farthest from its target, or nearest to missing it."""
    return max(reached, key=lambda one: one.ratio)


def missed_words(reached: Sequence[Reached]) -> str:
    """Which targets are missed, worst first, the first few by name."""
    missed = sorted((one for one in reached if one.ratio > 1), key=lambda one: -one.ratio)
    listed = "; ".join(shown(one.sentence())[1:-1] for one in missed[:3])
    return f"{len(missed)} of {len(reached)} are missed: {listed}" + ("; ..." if len(missed) > 3 else "")


def towards(problem: Problem, targets: Targets, mechanism: Mechanism) -> Problem:
    """The problem whose loss is the largest `(error / target)^2`: its best design meets the targets at the least budgets, for
    families that heed losses and weights.

    mechanism: of the problem. Its ratios of margins to standard errors turn margins into standard errors, and its variances
    say what is little for a query without a target, which gets what is left.
    """
    asked = targets.of(problem.workload.queries)
    errors = mechanism.standard_errors()
    per_error = np.ones(len(asked))
    if any(target.kind == "margin" for target in asked):
        margins = mechanism.margins(CONFIDENCE)
        places = [target.place if target.kind == "margin" else -1 for target in asked]
        per_error = np.array([margins[k] / errors[k] if k >= 0 and margins[k] and errors[k] else 1.0 for k in places])
    own = per_error / np.array([target.most for target in asked])
    return replace(problem, loss="max", weights=_spread(own, [target.place for target in asked], errors))


def _spread(own: Floats, places: Sequence[int], errors: Floats) -> Floats:
    """Weights of all queries, (K,): the squares of `own` at `places`, and little elsewhere."""
    worst = float((own * errors[list(places)]).max()) or float(own.max())
    little = UNASKED / len(errors) * worst / np.where(errors > 0, errors, worst / own.min())
    little[list(places)] = own
    return np.asarray(little**2)


Builder = Callable[[Problem], Design[Mechanism]]

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


def made_at(factor: float, base: Design[Mechanism], make: Builder) -> Design[Mechanism]:
    """The design of a problem with all budgets times a factor: the same noise stretched where that is the best there too."""
    there = problem_at(factor, base.problem)
    if factor == 1.0:
        return base
    return stretched(base, factor, there) if stretches(base) else make(there)


def factor_of_family(problem: Problem, targets: Targets, family: str, make: Builder, step: float) -> FamilyFactor:
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
    step = max(step, base.mechanism.error_source.uncertain) if told else step
    bracket = least_factor(ratio, step)
    if bracket is None:
        raise DesignFailed(_no_bracket(family, max(worst_of(reached).ratio for _, reached in found.values())))
    made, reached = found[bracket.met]
    own = Design(problem_at(bracket.met, problem), made.mechanism, made.seconds)
    missed = worst_of(found[bracket.missed][1])
    bound = _lower_bound(problem, targets, family, make, made.mechanism, bracket)
    seconds = time.perf_counter() - start
    uncertain = own.mechanism.error_source.uncertain if told else 0.0
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


def _nearest(problem: Problem, targets: Targets, make: Builder) -> Design[Mechanism]:
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
    problem: Problem, targets: Targets, family: str, make: Builder, mechanism: Mechanism, bracket: Bracket
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
    workload = problem.workload
    if part:
        names = [workload.queries[place] for place in places]
        workload = Workload(rows_of(workload.matrix, places), names, workload.elements, workload.keys)
    try:
        claim = make(replace(aimed, workload=workload, weights=np.asarray(aimed.costs)[places], loss="max")).optimality
    except DesignFailed:
        return None
    if claim is None or not claim.objective.startswith("max"):
        return None
    if fine:
        return bracket.met * math.sqrt(claim.lower_bound) * CONTINUOUS
    return bracket.missed if claim.lower_bound > 1 and not claim.objective.endswith(OF_CONTINUOUS) else None
