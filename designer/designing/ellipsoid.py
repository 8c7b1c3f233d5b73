"""Noise with a Euclidean norm: the ellipsoid of least error with exponential fall-off,
and the optimal Gaussian matrix mechanism.

`min tr(V T Sigma T')` subject to `u' Sigma^-1 u <= b^2`, T the reconstruction and V the queries' weights: convex in Sigma^-1,
with a dual certificate. With Gaussian fall-off the covariance is Sigma, and no Gaussian mechanism, correlated or not, has a
smaller loss; with exponential fall-off it is (s + 1) Sigma and the mechanism is pure (docs/theory/ellipsoid.md).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import positive
from designer.base.errors import DesignFailed
from designer.certificate.certificate import refuse_extreme, refuse_infinite
from designer.certificate.norms import Norm, weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.evenness import asks_for_counts, even_noise, in_units, refuse_large_ball, with_implicit_changes
from designer.designing.family import Family, Sizes, Tolerance, refuse_outdone
from designer.designing.implicit_rows import equal_noise, independent_noise, is_implicit
from designer.designing.measured import Coordinates, dimension_of, moving_coordinates
from designer.designing.repair import Bound, freeze, on_heard
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.interface import Falloff
from designer.mechanism.noise import coarsest_exponent
from designer.problem.compressed_rows import extremes
from designer.relations.delta_lengths import AllowedLengths
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.problem import Problem
from solvers.ellipsoids.program import Ellipsoid, Separation, minimise_maximum, minimise_trace
from solvers.exact.points import unit_exponents
from solvers.programs.noise_costs import GaussianCost
from solvers.programs.scales import minimise_scales
from solvers.solution import Solution

# A set of at most this many numbers is handed to the solver as it is; a larger one is scanned for violated pairs.
WRITTEN_OUT = 4_000_000
STARTING = 20_000  # pairs that a program starts from where all of them are searched
# Of the largest cost of a coordinate, in units in which all vary alike: what the others
# cost at least where a smaller cost is lost.
RIDGE = 1e-12
# Correlations of which nothing is seen in a loss.
UNCORRELATED = 1e-9
# In squared steps: from this variance on discrete Gaussian noise has that of the continuous one to 1e-15.
NARROW = 2.0
WIDE = 1.0  # budget up to which it has that of the continuous one but for 3e-7: a change moves a row by a step or more
ON_MULTIPLES = "of independent Gaussian noise on the multiples of each measured coordinate's step"
OBJECTIVES = {
    "squared": "sum_k v_k Var_k, the weighted squared error",
    "max": "max_k v_k Var_k, the largest weighted squared error of a query",
}


def design_ellipsoid(problem: Problem, tolerance: Tolerance = 1e-6) -> AdditiveMechanism:
    """Exponential fall-off in the best ellipsoid: pure, any dimension. Of the counts under changes that nobody wrote out a ball
    in all of them, projected (docs/theory/invariants.md, 11.6)."""
    if asks_for_counts(problem):
        stated = OBJECTIVES.get(problem.loss)
        return even_noise(problem, "ellipsoid", "l2", "exponential", projected=True, objective=stated)
    return _shaped(problem, "ellipsoid", "exponential", tolerance)


def gaussian(problem: Problem, tolerance: Tolerance = 1e-6) -> AdditiveMechanism:
    """Gaussian fall-off in the best ellipsoid: the optimal Gaussian matrix mechanism under the relation. Of queries that are
    not written out, independent noise."""
    if is_implicit(problem):
        return independent_noise(problem, "gaussian", "gaussian", OBJECTIVES.get(problem.loss, ""), claims=False)
    problem = with_implicit_changes(problem, "l2")
    if asks_for_counts(problem):
        stated = OBJECTIVES.get(problem.loss)
        return even_noise(problem, "gaussian", "l2", "gaussian", projected=True, objective=stated)
    return _shaped(problem, "gaussian", "gaussian", tolerance)


def _shaped(problem: Problem, family: str, falloff: Falloff, tolerance: float) -> AdditiveMechanism:
    coordinates, moving = heard_set(problem, family)
    if falloff == "exponential":
        refuse_large_ball(problem, family, moving.dimension)
    if problem.loss == "absolute":
        # E|z_k| is a multiple of the standard deviation. This solver knows sums of variances only, so the squared error
        # stands in for it and no bound is claimed; the program of the family in CVXPY minimises it itself.
        solution = covering(moving, problem, coordinates, "squared", tolerance)
    else:
        solution = covering(moving, problem, coordinates, problem.loss, tolerance)
    refuse_unusable(solution, family)
    inflation = 1 if falloff == "gaussian" else moving.dimension + 1
    bound = None
    if problem.loss != "absolute":
        refuse_outdone(problem, inflation * solution.lower_bound)
        bound = Bound(OBJECTIVES[problem.loss], inflation * solution.lower_bound, solution.method)
    return shaped(problem, family, coordinates, solution.point.covariance, falloff, bound)


def shaped(
    problem: Problem, family: str, coordinates: Coordinates, covariance: Floats, falloff: Falloff, bound: Bound | None
) -> AdditiveMechanism:
    """Noise in the norm `(z' Sigma^-1 z)^(1/2)` of the heard coordinates, divided by what privacy requires. Gaussian noise
    whose coordinates are uncorrelated is drawn in each one's unit.

    covariance: Sigma, (s, s), positive definite.
    """
    # F'F = Sigma^-1; deviations and correlations apart, because the units of the coordinates may differ.
    spread, correlation = _correlation(covariance)
    if falloff == "gaussian" and np.abs(correlation - np.eye(len(spread))).max() <= UNCORRELATED:
        weights = on_heard(1 / spread, coordinates, np.inf)
        return independent_gaussian(problem, family, coordinates, weights, bound)
    factor = np.linalg.inv(np.linalg.cholesky(correlation)) / spread
    norm = Norm(on_heard(factor, coordinates, np.inf), "l2")
    return freeze(problem, family, coordinates, on_heard(spread, coordinates), lambda _: norm, falloff, bound)


def independent_gaussian(
    problem: Problem, family: str, coordinates: Coordinates, weights: Floats, bound: Bound | None
) -> AdditiveMechanism:
    """Independent Gaussian noise, on the multiples of each coordinate's unit where that is narrow, or where no answer is a sum
    of several: there its variance is that of continuous noise or less. On a fine grid under (b, delta), where noise is rounded.

    weights: (R,), one over the deviations of the measured coordinates, infinite where there is no noise.
    """
    whole = False
    if not isinstance(problem.relation, AllowedLengths):
        units = in_units(coordinates.matrix(problem), problem.relation)
        coordinates, weights = units.coordinates(coordinates.heard, coordinates.reconstruction), units.weights(weights)
        own = bool((np.count_nonzero(coordinates.answers(problem), axis=1) <= 1).all())
        whole = own or bool((_steps(problem, coordinates) * weights[coordinates.heard] > NARROW**-0.5).any())
    return freeze(problem, family, coordinates, 1 / weights, lambda _: Norm(weights, "l2"), "gaussian", bound, whole=whole)


def _steps(problem: Problem, coordinates: Coordinates) -> Floats:
    """The coarsest grids that hold the heard coordinates, (s,)."""
    return np.ldexp(1.0, [coarsest_exponent(row) for row in coordinates.matrix(problem)[coordinates.heard]])


def heard_set(problem: Problem, family: str) -> tuple[Coordinates, SensitivitySet]:
    """Full-rank coordinates and the differences in them."""
    coordinates = moving_coordinates(problem)
    if not coordinates.heard.any():
        raise DesignFailed(f"{family}: no protected change moves an answer, so there is nothing to shape; use laplace.")
    moving = coordinates.sensitivity(problem)
    refuse_infinite(moving, weighted_l1(np.ones(moving.dimension)))
    refuse_extreme(np.ptp(moving.points, axis=0))
    return coordinates, moving


def refuse_unusable(solution: Solution[Ellipsoid], family: str) -> None:
    """A solution without a point, or with a flat one, is no design."""
    if not solution.status.usable:
        raise DesignFailed(f"{family}: {solution.status.value}")
    refuse_flat(solution.point.covariance, family)


def refuse_flat(covariance: Floats, family: str) -> None:
    """A covariance that is not positive definite, in units in which its diagonal is 1, cannot be sampled.

    covariance: (s, s).
    """
    if _is_degenerate(covariance):
        raise DesignFailed(
            f"{family}: the best ellipsoid is flat beyond the floats: some query is nearly a combination of others; drop it."
        )


def _correlation(covariance: Floats) -> tuple[Floats, Floats]:
    """Deviations (s,) and correlations (s, s); zero where there is no variance."""
    deviations = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    inverse = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    return deviations, covariance * inverse * inverse[:, None]


def _is_degenerate(covariance: Floats) -> bool:
    values = np.linalg.eigvalsh(_correlation(covariance)[1])
    return not values[0] > 1e-13 * values[-1]


def covering(
    moving: SensitivitySet, problem: Problem, coordinates: Coordinates, loss: str, tolerance: float
) -> Solution[Ellipsoid]:
    """The ellipsoid of least loss that covers all u / b.

    Solved in units in which the coordinates vary alike. Where some direction costs too little to be seen beside the rest, it is
    given a cost of `RIDGE` of the largest, so that it gets noise as well; the bound remains that of the loss itself.
    """
    limit = positive(tolerance, "options.tolerance")
    exponents = unit_exponents(np.ptp(moving.points, axis=0))
    alike = SensitivitySet(moving.relation, np.ldexp(moving.points, -exponents)) if exponents.any() else moving
    answers = np.ldexp(coordinates.answers(problem) * np.sqrt(problem.costs)[:, None], exponents)
    solution = _least(alike, answers, loss, limit)
    if solution.status.usable and _is_degenerate(solution.point.covariance):
        more = math.sqrt(RIDGE) * np.linalg.norm(answers, axis=0).max() * np.eye(len(exponents))
        fuller = _least(alike, np.vstack([answers, more]), loss, limit)
        solution = replace(solution, status=fuller.status, point=fuller.point, value=fuller.value)
    point = solution.point
    outer = exponents + exponents[:, None]
    return replace(
        solution,
        point=Ellipsoid(np.ldexp(point.covariance, outer), np.ldexp(point.precision, -outer), np.array(point.query_weights)),
    )


def _least(moving: SensitivitySet, answers: Floats, loss: str, tolerance: float) -> Solution[Ellipsoid]:
    rows, separate = starting_rows(moving)
    if loss == "max":
        return minimise_maximum(rows, answers, separate=separate, tolerance=tolerance)
    return minimise_trace(rows, answers.T @ answers, separate=separate, tolerance=tolerance)


def starting_rows(moving: SensitivitySet) -> tuple[Floats, Separation | None]:
    """All u / b where they fit, otherwise each point's worst partner and a scan for the rest."""
    from designer.problem.relation import BLOCK_PAIRS

    total = STARTING if moving.searched is not None else moving.relation.pair_count()
    if moving.searched is None and total * moving.dimension <= WRITTEN_OUT:
        return moving.all_pairs().normalised, None
    spread = np.ptp(moving.points, axis=0)
    _, start = moving.worst(weighted_l1(1 / spread), limit=min(total, BLOCK_PAIRS))

    def separate(precision: Floats) -> tuple[float, Floats]:
        values, vectors = np.linalg.eigh(precision)
        factor = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        worst, pairs = moving.worst(Norm(factor, "l2"), limit=max(400, 4 * moving.dimension))
        return worst**2, pairs.normalised

    return start.normalised, separate


def l2_ball(problem: Problem) -> AdditiveMechanism:
    """Exponential fall-off in a Euclidean ball of the answers (SEMI Algorithm 5)."""
    return _ball(problem, "l2_ball", "exponential")


def isotropic_gaussian(problem: Problem) -> AdditiveMechanism:
    """Equal, independent Gaussian noise: the Gaussian mechanism of l2 sensitivity max ||u||_2 / b."""
    if is_implicit(problem):
        return equal_noise(problem, "isotropic_gaussian", "gaussian")
    problem = with_implicit_changes(problem, "l2")
    if asks_for_counts(problem):
        return even_noise(problem, "isotropic_gaussian", "l2", "gaussian", projected=True)
    return _ball(problem, "isotropic_gaussian", "gaussian")


def _ball(problem: Problem, family: str, falloff: Falloff) -> AdditiveMechanism:
    """A ball in the space of the answers, cut with their span when it is smaller: `||z|| = |T z|_2 / radius`,
    T the reconstruction."""
    coordinates, moving = heard_set(problem, family)
    if falloff == "exponential":
        refuse_large_ball(problem, family, moving.dimension)
    answers = coordinates.answers(problem)
    shape = np.ones(moving.dimension) if coordinates.reconstruction is None else np.asarray(np.linalg.qr(answers, mode="r"))
    radius = refuse_infinite(moving, Norm(shape, "l2"))
    scales = radius / np.linalg.norm(answers, axis=0)
    norm = Norm(on_heard(shape / radius, coordinates, np.inf), "l2")
    return freeze(problem, family, coordinates, on_heard(scales, coordinates), lambda _: norm, falloff)


def diagonal_gaussian(problem: Problem, tolerance: Tolerance = 1e-9) -> AdditiveMechanism:
    """Independent Gaussian noise with the best variance for each measured coordinate: `min sum_k v_k f_k(w_k)`,
    `sum_k w_k u_k^2 <= b^2`.

    f_k is 1 / w_k, or, of discrete Gaussian noise on the multiples of the coordinate's unit, its variance, which is less where
    noise is narrow beside the unit (docs/theory/scales.md). Under (b, delta), where noise is rounded, the first."""
    limit = positive(tolerance, "options.tolerance")
    if is_implicit(problem):
        return independent_noise(problem, "diagonal_gaussian", "gaussian", f"{OBJECTIVES.get(problem.loss, '')} {ON_MULTIPLES}")
    problem = with_implicit_changes(problem, "l2")
    if asks_for_counts(problem):
        return even_noise(problem, "diagonal_gaussian", "l2", "gaussian", projected=True)
    coordinates, moving = heard_set(problem, "diagonal_gaussian")
    steps = None
    if not isinstance(problem.relation, AllowedLengths):
        units = in_units(coordinates.matrix(problem), problem.relation)
        coordinates = units.coordinates(coordinates.heard, coordinates.reconstruction)
        moving, steps = coordinates.sensitivity(problem), _steps(problem, coordinates)
    spread = np.ptp(moving.points, axis=0)
    asked = (coordinates.answers(problem) ** 2 * problem.costs[:, None]).sum(axis=0)
    least = RIDGE * (asked * spread**2).max() / spread**2
    costs = np.maximum(asked, least)
    _, start = moving.worst(Norm(1 / spread, "l2"), limit=max(1000, 4 * len(spread)))
    rows = start.normalised**2
    missing = np.flatnonzero(rows.max(axis=0) == 0)
    if len(missing):
        rows = np.concatenate([rows, moving.all_pairs().normalised[:] ** 2])

    def separate(weights: Floats) -> tuple[float, Floats]:
        worst, pairs = moving.worst(Norm(np.sqrt(weights), "l2"), limit=max(200, 4 * len(spread)))
        return worst**2, pairs.normalised**2

    found = minimise_scales(rows, costs, 1, separate, steps=steps, noise=GaussianCost, tolerance=limit)
    weights = on_heard(np.sqrt(found.point), coordinates, np.inf)
    bound = None
    if problem.loss == "squared" and (asked >= least).all():
        objective = OBJECTIVES["squared"] if steps is None else f"{OBJECTIVES['squared']} {ON_MULTIPLES}"
        bound = Bound(objective, found.lower_bound, found.method, on_grid=steps is not None)
    return independent_gaussian(problem, "diagonal_gaussian", coordinates, weights, bound)


def covering_work(sizes: Sizes) -> float:
    """Seconds, of changes of several records, which are scanned in every round; other relations take a moment, or have a
    working set whose size is not known before."""
    relation = sizes.problem.relation
    if relation.single_records or isinstance(relation, InvariantDistance):
        return 0.0
    return 0.05 + 1e-6 * sizes.freedom * (sizes.pairs if getattr(relation, "listed", True) else sizes.elements**2)


LARGE = 200  # elements from which on the pairs that hold an ellipsoid are many
ON_STEPS = 1 - 1e-9  # for noise on steps of 2^-40 of its scale


def _ellipsoid_work(sizes: Sizes) -> float:
    """More than a moment where elements are many, so that `floor` is asked first."""
    return max(covering_work(sizes), 0.2 if sizes.elements >= LARGE else 0.0)


def floor(problem: Problem) -> float:
    """What noise in an ellipsoid loses at least, in s dimensions: `s + 1` times the square of how far, for its budget, a change
    moves each answer, because `a (F'F)^-1 a' >= (a u)^2 / |F u|^2` and `|F u| <= b`. Pure noise and squared loss, where all
    changes of a record have one budget; 0 elsewhere."""
    simple = problem.relation.simple
    if simple is None or problem.notion != "pure" or problem.loss != "squared":
        return 0.0
    rows = problem.workload.matrix
    least, most = (rows.min(axis=1), rows.max(axis=1)) if isinstance(rows, np.ndarray) else extremes(rows)
    reach = np.zeros(len(least))
    if len(simple.appear) == 1:
        reach = np.maximum(np.abs(least), np.abs(most)) / float(simple.appear[0])
    if simple.change is not None:
        reach = np.maximum(reach, (most - least) / float(simple.change))
    return float(ON_STEPS * (dimension_of(problem) + 1) * (problem.costs @ reach**2))


ELLIPSOID = Family(
    "ellipsoid",
    "exponential noise in the best ellipsoid",
    "pure",
    design_ellipsoid,
    program="designer.programs:ellipsoid",
    work=_ellipsoid_work,
    anytime=True,
    fractions=True,
    floor=floor,
)
GAUSSIAN = Family(
    "gaussian",
    "the optimal Gaussian matrix mechanism",
    "zcdp",
    gaussian,
    described=True,
    program="designer.programs:gaussian",
    work=covering_work,
    anytime=True,
)
DIAGONAL_GAUSSIAN = Family(
    "diagonal_gaussian",
    "independent Gaussian noise, optimal scales",
    "zcdp",
    diagonal_gaussian,
    program="designer.programs:diagonal_gaussian",
    scans_little=True,
    described=True,
    within="gaussian",
)
ISOTROPIC_GAUSSIAN = Family(
    "isotropic_gaussian", "equal Gaussian noise", "zcdp", isotropic_gaussian, baseline=True, described=True
)
L2_BALL = Family("l2_ball", "exponential noise in a Euclidean ball", "pure", l2_ball, baseline=True)
