"""Independent Laplace noise with a scale for each query: the optimum, and the baselines of DX section 4.2.

With weights `w_k = 1 / c_k` the privacy condition `sum_k |u_k| / c_k <= b` of DX Theorem 1 is linear in w and the errors
`2 sum c_k^2`, `sum c_k` are convex: the problem DX calls hard is solved to the optimum (docs/theory/scales.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import positive
from designer.base.errors import DesignFailed
from designer.base.progress import announce
from designer.certificate.certificate import refuse_extreme, refuse_infinite
from designer.certificate.norms import Gauge, Norm, NormOrder, weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.evenness import asks_for_counts, even_noise, in_units, with_implicit_changes
from designer.designing.family import Family, Sizes, Tolerance, refuse_outdone
from designer.designing.group_privacy import weights_for_records
from designer.designing.hierarchy import serves_queries_alone
from designer.designing.implicit_rows import equal_noise, independent_noise, is_implicit, one_budget
from designer.designing.measured import Coordinates, combination, measurable, once
from designer.designing.repair import Bound, freeze
from designer.limits import MOST_LISTED_NUMBERS
from designer.mechanism.additive import AdditiveMechanism, measured_matrix
from designer.mechanism.interface import Falloff
from designer.mechanism.noise import Grid
from designer.relations import metrics
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.metrics.metric import Metric
from designer.relations.problem import Problem
from solvers.programs.scales import equalise_costs, minimise_scales
from solvers.rounding import reconstruction_of
from solvers.solution import Solution

SPLIT = 3e-8  # seconds for each of them and each round of a split

OBJECTIVES = {
    "squared": "sum_k v_k Var_k, the weighted squared error of independent Laplace noise on the multiples of each query's step",
    "absolute": "sum_k v_k E|z_k|, the weighted absolute error of independent Laplace noise on those multiples",
    "max": "max_k v_k Var_k, the largest weighted squared error of independent Laplace noise on those multiples",
}


def design_laplace(problem: Problem, tolerance: Tolerance = 1e-9) -> AdditiveMechanism:
    """The scales of least loss, with a dual certificate of global optimality.

    Noise lies on the coarsest grid that holds the queries: counts are answered by whole numbers, with the geometric law's
    smaller error (docs/theory/scales.md).
    """
    tolerance = positive(tolerance, "options.tolerance")
    if is_implicit(problem):
        return independent_noise(problem, "laplace", "exponential", OBJECTIVES[problem.loss])
    problem = with_implicit_changes(problem, "l1")
    if asks_for_counts(problem):
        return even_noise(problem, "laplace", "l1", "exponential", projected=False, objective=OBJECTIVES[problem.loss])
    heard = ~measurable(problem).silent_coordinates()
    if not heard.any():
        return mechanism(problem, "laplace", np.full(len(heard), np.inf), Bound(OBJECTIVES[problem.loss], 0.0, ""))
    steps = in_units(problem.workload.dense(), problem.relation).steps
    solution = weights_of_queries(problem, heard, steps, tolerance)
    if not solution.status.usable:
        raise DesignFailed(f"laplace: {solution.status.value}")
    refuse_outdone(problem, solution.lower_bound)
    weights = np.full(len(heard), np.inf)
    weights[heard] = solution.point
    bound = Bound(OBJECTIVES[problem.loss], solution.lower_bound, solution.method, on_grid=True)
    return mechanism(problem, "laplace", weights, bound)


def weights_of_queries(problem: Problem, heard: NDArray[np.bool_], steps: Floats, tolerance: float = 1e-9) -> Solution[Floats]:
    """`best_weights` of the queries that changes move, once for a problem. heard: (K,). steps: (K,)."""

    def best() -> Solution[Floats]:
        return best_weights(measurable(problem).among(heard), problem.costs[heard], problem.loss, tolerance, steps[heard])

    return once(problem, ("weights", tolerance, heard.tobytes(), steps[heard].tobytes()), best)


def best_weights(
    sensitivity: SensitivitySet, costs: Floats, loss: str, tolerance: float, steps: Floats | None = None
) -> Solution[Floats]:
    """Weights of least loss over a set in which every coordinate moves; value and bound in the units of the loss.

    costs: (K,), positive. steps: (K,), of the grid of the noise; the real line where none are given. Weights (K,).
    docs/theory/scales.md.
    """
    rows = starting_weights(sensitivity)

    def separate(weights: Floats) -> tuple[float, Floats]:
        worst, pairs = sensitivity.worst(weighted_l1(weights), limit=max(200, 4 * len(costs)))
        return worst, np.abs(pairs.normalised)

    power, unit = (1, 1.0) if loss == "absolute" else (2, 2.0)
    solve = equalise_costs if loss == "max" else minimise_scales
    found = solve(rows, costs, power, separate, steps=steps, tolerance=tolerance)
    return Solution(found.status, found.point, unit * found.value, unit * found.lower_bound, found.iterations, found.method)


def starting_weights(sensitivity: SensitivitySet) -> Floats:
    """Rows |u| / b, (M, K), of pairs that are long in units in which all coordinates vary alike, none of which is zero in all.

    `DesignFailed` for a pair of budget 0 that moves an answer, and where the floats do not hold the numbers.
    """
    sensitivity.require_rows()
    spread = sensitivity.spread()
    refuse_infinite(sensitivity, weighted_l1(1 / spread))
    _, start = sensitivity.worst(weighted_l1(1 / spread), limit=max(1000, 4 * len(spread)))
    rows = np.abs(start.normalised)
    for k in np.flatnonzero(rows.max(axis=0) == 0):
        rows = np.concatenate([rows, np.abs(sensitivity.worst_along(int(k)).normalised)])
    refuse_extreme(rows.max(axis=0))
    return rows


def _announce_searches(family: str, sensitivity: SensitivitySet, searches: int) -> None:
    """Says how many searches among the pairs a baseline makes, where these are many; each shows its own progress."""
    if sensitivity.searched is not None:
        announce(f"{family}: {searches} searches among {sensitivity.relation.pair_count():.2g} pairs, and those of the proof")


def strategy_1(problem: Problem) -> AdditiveMechanism:
    """Equal shares: each query gets the budget d / K for itself (DX section 4.2, Strategy 1)."""
    sensitivity = measurable(problem)
    _announce_searches("strategy_1", sensitivity, sensitivity.dimension + 1)
    refuse_infinite(sensitivity, weighted_l1(np.ones(sensitivity.dimension)))
    alone = sensitivity.worst_coordinates()
    with np.errstate(divide="ignore"):
        return mechanism(problem, "strategy_1", 1 / (alone * np.count_nonzero(alone)))


def strategy_2(problem: Problem) -> AdditiveMechanism:
    """Equal scales: c = max ||u||_1 / d for every query (DX section 4.2, Strategy 2)."""
    if is_implicit(problem):
        return equal_noise(problem, "strategy_2", "exponential")
    sensitivity = measurable(problem)
    _announce_searches("strategy_2", sensitivity, 1)
    scale = refuse_infinite(sensitivity, weighted_l1(np.ones(sensitivity.dimension)))
    return mechanism(problem, "strategy_2", np.where(sensitivity.silent_coordinates(), np.inf, 1 / scale if scale else np.inf))


def strategy_3(problem: Problem) -> AdditiveMechanism:
    """DX Algorithm 3: repeat a proportional split of the remaining budget, made to terminate.

    As printed the loop divides by zero when a row of Q is constant or a pair's answers agree, and stops only when all
    increments are exactly 0. Here a query that can gain nothing more (a pair it moves has no budget left) leaves the loop, and
    the loop ends when no query gains more than 1e-12 of its weight.
    """
    sensitivity = measurable(problem)
    _require_listing(sensitivity)
    refuse_infinite(sensitivity, weighted_l1(np.ones(sensitivity.dimension)))
    pairs = sensitivity.all_pairs(limit=max(1, MOST_LISTED_NUMBERS // sensitivity.dimension))
    moves = np.abs(pairs.differences)
    heard = np.asarray(moves.any(axis=0))
    weights = np.full(sensitivity.dimension, np.inf)
    if heard.any():
        weights[heard] = _proportional_weights(moves[:, heard], pairs.budgets)
    return mechanism(problem, "strategy_3", weights)


def _require_listing(sensitivity: SensitivitySet) -> None:
    """Refuses more pairs than are written out, before any is; says how long the others take."""
    pairs, queries = sensitivity.relation.pair_count(), sensitivity.dimension
    if pairs * queries > MOST_LISTED_NUMBERS:
        raise DesignFailed(
            f"strategy_3: {pairs:,} pairs with {queries} answers each would be written out, {pairs * queries * 8e-9:.2g} GB "
            f"and more than {MOST_LISTED_NUMBERS:,} numbers; use laplace, which searches the pairs and whose loss is never "
            "larger."
        )
    if (seconds := listing_work(pairs, queries)) > 2:
        announce(f"strategy_3: {pairs:,} pairs with {queries} answers each are written out and split, up to {seconds:.0f} s")


def listing_work(pairs: int, queries: int) -> float:
    """About how many seconds `strategy_3` takes at most: a round for each query, each of which looks at every number; 0 where
    it is refused at once."""
    numbers = pairs * queries
    return 0.0 if numbers > MOST_LISTED_NUMBERS else numbers * (1 + queries) * SPLIT


def _split_work(sizes: Sizes) -> float:
    return listing_work(sizes.pairs, sizes.queries)


def _proportional_weights(moves: Floats, budgets: Floats, gain: float = 1e-12) -> Floats:
    """Algorithm 3 on |u|, shape (M, K), and budgets (M,): the accumulated weights R."""
    weights = np.zeros(moves.shape[1])
    left = budgets.copy()
    while True:
        # Rounding leaves specks of budget; a pair that is spent up to 1e-15 of what it had is spent.
        left = np.where(left > 1e-15 * budgets, left, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            need = np.nanmax(np.where(moves > 0, moves / left[:, None], 0.0), axis=0)
        active = np.isfinite(need)
        if not active.any():
            return weights
        asked = moves[:, active] / need[active]
        # The share of the pair's budget that query k gets is asked_k / sum(asked), so c_k = max over the pairs it moves of
        # |u_k| / (left * share) = need_k * sum(asked) / left.
        with np.errstate(divide="ignore", invalid="ignore"):
            load = np.where(asked > 0, (asked.sum(axis=1) / left)[:, None], 0.0).max(axis=0)
        step = np.zeros_like(weights)
        step[active] = 1 / (need[active] * load)
        weights += step
        left = left - moves @ step
        if (step <= gain * weights).all():
            return weights


def uniform_budget(problem: Problem) -> AdditiveMechanism:
    """The Laplace mechanism that knows one budget only, the smallest: c = Delta_1 / min d for every query (DX section 4.1)."""
    if is_implicit(problem):
        return equal_noise(one_budget(problem), "uniform_budget", "exponential", problem)
    sensitivity = measurable(problem)
    _announce_searches("uniform_budget", sensitivity, 2)
    refuse_infinite(sensitivity, weighted_l1(np.ones(sensitivity.dimension)))
    scale = unit_sensitivity(sensitivity) / smallest_budget(problem)
    refuse_extreme(np.array([scale] if scale else []))
    return mechanism(
        problem, "uniform_budget", np.where(sensitivity.silent_coordinates(), np.inf, 1 / scale if scale else np.inf)
    )


def unit_sensitivity(sensitivity: SensitivitySet) -> float:
    """The l1 sensitivity Delta_1 = max ||u||_1 over the pairs, whatever their budgets."""
    norm = weighted_l1(np.ones(sensitivity.dimension))
    if isinstance(sensitivity.relation, Metric):
        return SensitivitySet(metrics.uniform(sensitivity.relation.size, 1.0), sensitivity.points).worst(norm)[0]
    largest = 0.0
    for block, ratios in sensitivity.ratios(norm):
        finite = np.isfinite(block.budgets)
        largest = max(largest, float((ratios[finite] * block.budgets[finite]).max(initial=0.0)))
    return largest


def smallest_budget(problem: Problem) -> float:
    least = problem.relation.least_budget(positive=True)
    if not np.isfinite(least):
        raise DesignFailed("uniform_budget: the relation has no positive finite budget; this baseline needs one.")
    refuse_extreme(np.array([least]))
    return least


def mechanism(problem: Problem, family: str, weights: Floats, bound: Bound | None = None) -> AdditiveMechanism:
    """Build the frozen mechanism with these weights on the queries themselves, each in its own unit.

    Parameters
    ----------
    problem : linear queries.
    family : the name that the provenance gives.
    weights : (K,), infinite for an answer without noise.
    bound : what a solver proved of all designs of the family.
    """
    whole = in_units(problem.workload.dense(), problem.relation)
    measured, coordinates = whole.weights(weights), whole.coordinates(np.isfinite(weights))
    return freeze(problem, family, coordinates, 1 / measured, lambda _: weighted_l1(measured), "exponential", bound, whole=True)


LAPLACE = Family(
    "laplace",
    "independent Laplace noise, optimal scales",
    "pure",
    design_laplace,
    scans_little=True,
    described=True,
    program="designer.programs:laplace",
    where=lambda problem: not serves_queries_alone(problem),
)
STRATEGY_1 = Family("strategy_1", "Laplace noise, the budget shared equally", "pure", strategy_1, baseline=True)
STRATEGY_2 = Family("strategy_2", "Laplace noise, equal scales", "pure", strategy_2, baseline=True, described=True)
STRATEGY_3 = Family(
    "strategy_3", "Laplace noise, a greedy split of the budget", "pure", strategy_3, baseline=True, work=_split_work
)
UNIFORM_BUDGET = Family(
    "uniform_budget", "Laplace noise, one budget for all pairs", "pure", uniform_budget, baseline=True, described=True
)


# Projection: noise that was calibrated answer by answer, kept in the directions that protected changes reach (SEMI
# Proposition 26).
#
# `Q x + P z`, P the orthogonal projection onto the span of the differences. What the projection drops is published exactly:
# no protected change moves it. The projected noise is a function of the unprojected release and of public statistics, so the
# certificate is the same.


def projected_laplace(problem: Problem) -> AdditiveMechanism:
    """Laplace noise on every answer, with the best scales for the protected differences, projected onto their span."""
    problem = with_implicit_changes(problem, "l1")
    if asks_for_counts(problem):
        return even_noise(problem, "projected_laplace", "l1", "exponential", projected=True)
    return replace(project(design_laplace(problem)), family="projected_laplace")


def project(mechanism: AdditiveMechanism) -> AdditiveMechanism:
    """The mechanism with the noise of its answers projected onto the span of their protected differences, orthogonally.

    The total squared error never grows. Raises `DesignFailed` where the answers that are left over are no public statistics,
    which nearly dependent queries cause.
    """
    target, workload, relation = measured_matrix(mechanism), mechanism.workload, mechanism.relation
    answers = workload.dense() if mechanism.reconstruction is None else mechanism.reconstruction @ target
    projection = span_projection(SensitivitySet.of(workload.dense(), relation))
    rebuilt = projection if mechanism.reconstruction is None else projection @ mechanism.reconstruction
    public = relation.public_rows()
    needed, shares = combination(answers - rebuilt @ target, public, np.abs(answers).max(axis=1))
    rows = len(target)
    measured = np.vstack([target, public[needed]])
    reconstruction = reconstruction_of(np.hstack([rebuilt, shares[:, needed]]), measured, answers)
    off = np.abs(reconstruction @ measured - answers).max(axis=1)
    if (off > 1e-9 * np.abs(answers).max(axis=1)).any():
        raise DesignFailed(
            f"projection: answers would be off by up to {off.max():.2g} a record; drop queries that nearly repeat others."
        )
    silent = Grid.for_scales(public[needed], np.zeros(int(needed.sum()))) if needed.any() else Grid(())
    return AdditiveMechanism(
        mechanism.family,
        workload,
        relation,
        _with_silent(mechanism.norm, rows, int(needed.sum())),
        Grid(mechanism.grid.exponents + silent.exponents),
        mechanism.falloff,
        measured,
        reconstruction,
        allow_vacuous=mechanism.allow_vacuous,
    )


def span_projection(sensitivity: SensitivitySet) -> Floats:
    """The orthogonal projection (K, K) onto the span of all differences."""
    values, vectors = np.linalg.eigh(sensitivity.span().T @ sensitivity.span())
    basis = vectors[:, values > 1e-10 * values[-1]]
    return np.asarray(basis @ basis.T)


def _with_silent(norm: Norm, rows: int, more: int) -> Norm:
    """The norm with `more` coordinates without noise behind its own."""
    if isinstance(norm, Gauge):
        return Gauge(np.hstack([norm.differences, np.zeros((len(norm.differences), more))]), norm.budgets, norm.scale)
    return Norm(np.concatenate([norm.map, np.full((*norm.map.shape[:-1], more), np.inf)], axis=-1), norm.order)


PROJECTED_LAPLACE = Family(
    "projected_laplace",
    "Laplace noise, projected on the published statistics",
    "pure",
    projected_laplace,
    scans_little=True,
    invariants_only=True,
)


# Subspace differential privacy (SEMI Definition 10), the comparison: noise for ONE record, projected onto what the statistics
# leave open.
#
# It measures closeness of outputs within the subspace for databases one record apart, although no two databases with the same
# statistics may be one record apart. For those that are, several records apart, it spends more than its epsilon: the ratio of
# the largest change that the invariant allows to that of one record. No family of `design` is built on it;
# `subspace_mechanism` states what is really spent.


# The stated budget exceeds the computed one by this factor, so that the norm passes as it is.
ROOM = 1 + 2.0**-30


def subspace_mechanism(problem: Problem) -> AdditiveMechanism:
    """Build the subspace mechanism whose subspace-DP budget is that of the problem: Laplace ("pure") or Gaussian noise.

    Its relation has the invariant and the adjacency of the problem, with the Semi-DP budget that the mechanism really gives. It
    is `epsilon sup ||u|| / Delta(S_DP)` over the differences u that the invariant leaves. Under the problem's own budget its
    certificate fails.

    problem: under an invariant.
    """
    relation = problem.relation
    if not isinstance(relation, InvariantChanges) or not relation.invariant.records_public:
        raise DesignFailed("subspace: needs a relation from invariants.<...>.protect(...) whose number of records is public.")
    pure = problem.notion == "pure"
    order: NormOrder = "l1" if pure else "l2"
    weights = weights_for_records(problem, metrics.uniform(relation.size, relation.epsilon), order)
    norm = Norm(weights, order)
    spent = relation.epsilon * problem.sensitivity().worst(norm)[0] * ROOM
    honest = replace(problem, relation=replace(relation, epsilon=max(spent, relation.epsilon)))
    heard = np.isfinite(weights)
    family = "subspace_laplace" if pure else "subspace_gaussian"
    falloff: Falloff = "exponential" if pure else "gaussian"
    return project(freeze(honest, family, Coordinates(None, None, heard), 1 / weights, lambda _: norm, falloff, whole=pure))
