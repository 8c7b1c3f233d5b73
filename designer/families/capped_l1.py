"""Exponential noise in a box with its corners cut, `max(max_k v_k |z_k|, sum_k v_k |z_k| / cap)` (docs/theory/bundles.md, 5).

Where a record votes for or against at most k of K questions its ball is the hull of all differences: between Laplace noise, for
records that answer one, and the box, for records that answer all.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.capped_norm import CappedNorm
from designer.certified.norms import Norm, weighted_l1
from designer.certified.refusals import refuse_infinite
from designer.certified.sensitivity import SensitivitySet
from designer.families.family import Family
from designer.families.laplace import best_weights
from designer.families.measured import dimension_of, moving_coordinates
from designer.families.repair import freeze, on_heard
from designer.families.sizes import Sizes
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem
from solvers.exact.corners_cut import capped_cube

LARGEST_DIMENSION = 128  # beyond, floats leave too many draws to ball arithmetic
CAP_STEP = 2.0**-30  # caps are such multiples: their moments are shorter rationals, and k items of one size get the cap k
BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the weights of the box and those of Laplace noise
TOLERANCE = 1e-6  # of the weights of Laplace noise


def design_capped_l1(problem: Problem) -> AdditiveMechanism:
    """The best of boxes with corners cut whose sides are those of the smallest box, the scales of the best Laplace noise, or
    geometric means of both; each as small as privacy allows.

    Chosen by squared error (by largest error for that loss). Raises `DesignFailed` where nothing moves, and beyond 128
    dimensions.
    """
    s = dimension_of(problem)
    if s == 0:
        raise DesignFailed("capped_l1: no protected change moves an answer, so there is nothing to shape; use laplace.")
    if s > LARGEST_DIMENSION:
        raise DesignFailed(
            f"capped_l1: {s} dimensions, more than the {LARGEST_DIMENSION} that are drawn fast; use {Sizes(problem).serving}."
        )
    coordinates = moving_coordinates(problem)
    moving = coordinates.sensitivity(problem)
    refuse_infinite(moving, weighted_l1(np.ones(s)))
    rows = coordinates.answers(problem)

    def loss(norm: CappedNorm) -> float:
        variances = rows**2 @ _variances(norm)
        return problem.loss_of(variances, np.sqrt(variances) if problem.loss == "absolute" else None)

    best = min(_candidates(moving, problem.costs @ rows**2), key=loss)
    weights = on_heard(best.weights, coordinates, np.inf)
    return freeze(problem, "capped_l1", coordinates, 1 / weights, lambda _: CappedNorm(weights, best.cap), "exponential")


def _candidates(moving: SensitivitySet, costs: Floats) -> list[CappedNorm]:
    """One norm for each blend of weights, at most as long as its budget on every pair, but for roundings."""
    box = 1 / moving.worst_coordinates()
    steady = best_weights(moving, np.maximum(costs, costs.max() * 1e-9), "squared", TOLERANCE)
    if not steady.status.usable:
        return [_fitted(moving, box)]
    return [_fitted(moving, box ** (1 - t) * np.asarray(steady.point) ** t) for t in BLENDS]


def _fitted(moving: SensitivitySet, shape: Floats) -> CappedNorm:
    """Weights in proportion to `shape` that bring every side of every pair, and the cap all sides together, within the
    budget."""
    weights = shape / moving.worst(Norm(shape, "linf"))[0]
    return CappedNorm(weights, float(np.rint(moving.worst(weighted_l1(weights))[0] / CAP_STEP) * CAP_STEP))


def _variances(norm: CappedNorm) -> Floats:
    """Of the continuous law, (s,)."""
    s = norm.dimension
    return np.asarray((s + 1) * (s + 2) * float(capped_cube(s, Fraction(norm.cap)).square) / norm.weights**2)


def _work(sizes: Sizes) -> float:
    """Seconds: scans of the pairs, weights of Laplace noise, exact moments; 0 where it is refused."""
    s = sizes.dimension
    return 0.1 + 2e-7 * s * sizes.pairs + 3e-7 * s**3 if 0 < s <= LARGEST_DIMENSION else 0.0


CAPPED_L1 = Family(
    "capped_l1",
    "exponential noise in a box with its corners cut",
    "pure",
    design_capped_l1,
    work=_work,
    fractions=True,
    has_program=True,
)
