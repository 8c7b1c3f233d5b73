"""The K-norm mechanism: the norm ball is the convex hull of `{+-u/b}`, the smallest that any private norm can have (SEMI
Definition 22; docs/theory/hull.md).

Every private norm ball contains this hull: it is the least in the containment order of Awan and Slavkovic. That does not make
its squared error the least: a ball that is fuller near its centre may contain a needle and yet spread less.
No optimality is claimed.
"""

from __future__ import annotations

import numpy as np

from designer.additive.mechanism import AdditiveMechanism
from designer.certified.norms import MAX_SIMPLICES, Gauge, Norm, weighted_l1
from designer.certified.refusals import refuse_infinite
from designer.certified.sensitivity import SensitivitySet
from designer.designing.family import Family
from designer.designing.measured import moving_coordinates
from designer.designing.problem import Problem
from designer.designing.repair import freeze, on_heard
from designer.errors import DesignFailed
from designer.values.arrays import Floats
from designer.values.checks import count
from solvers.exact.points import unit_exponents
from solvers.exact.rational import float_below
from solvers.polytopes.extremes import Push, extreme_rows
from solvers.polytopes.facets import HullFailed

LARGEST_DIMENSION = 12
PAIRS = 400_000
ROUNDS = 20


def design_k_norm(problem: Problem, max_simplices: int = MAX_SIMPLICES) -> AdditiveMechanism:
    """The K-norm mechanism of the hull of the sensitivity set, in its span.

    Raises `DesignFailed` before any heavy work when the hull has too many dimensions or, by a lower bound, more than
    `max_simplices` simplices; the families ellipsoid and strategy_laplace go on from there.
    """
    limit = count(max_simplices, "options.max_simplices")
    coordinates = moving_coordinates(problem)
    dimension = int(coordinates.heard.sum())
    if dimension == 0:
        raise DesignFailed("k_norm: no protected change moves an answer, so there is nothing to shape; use laplace.")
    if dimension > LARGEST_DIMENSION:
        raise DesignFailed(
            f"k_norm: the hull has {dimension} dimensions, more than {LARGEST_DIMENSION}; use ellipsoid (any dimension) or "
            "strategy_laplace."
        )
    refuse_infinite(coordinates.sensitivity(problem), weighted_l1(np.ones(dimension)))
    alone = coordinates.sensitivity(problem).worst_coordinates()

    def shape(rounded: SensitivitySet) -> Norm:
        heard = SensitivitySet(rounded.relation, rounded.points[:, coordinates.heard])
        differences, budgets = spanning_pairs(heard, limit)
        return Gauge(on_heard(differences, coordinates), budgets)

    try:
        return freeze(problem, "k_norm", coordinates, on_heard(dimension * alone, coordinates), shape, "exponential")
    except HullFailed as failed:
        raise DesignFailed(f"k_norm: {failed}; use ellipsoid (any dimension) or strategy_laplace.") from None


def spanning_pairs(sensitivity: SensitivitySet, limit: int) -> tuple[Floats, Floats]:
    """Differences and budgets whose hull is that of the whole set, up to the repair that follows.

    A set that can be written out is reduced by a float hull; a larger one starts from each point's worst partner and adds what
    lies outside until nothing does. Budgets are the exact ones rounded down.
    """
    pairs = sensitivity.all_pairs(PAIRS)
    vectors = np.ldexp(pairs.normalised, -unit_exponents(np.abs(pairs.normalised).max(axis=0)))
    keep, _ = (
        extreme_rows(vectors, Push.generic(len(vectors)), limit, "qhull") if vectors.shape[1] > 1 else (_longest(vectors), None)
    )
    chosen = list(zip(pairs.left[keep].tolist(), pairs.right[keep].tolist(), strict=True))
    budgets = [sensitivity.relation.exact_budget(left, right) for left, right in chosen]
    return pairs.differences[keep], np.array([float_below(b) for b in budgets if b is not None])


def _longest(vectors: Floats) -> Floats:
    """On a line the hull is an interval."""
    return np.array([int(np.abs(vectors[:, 0]).argmax())])


K_NORM = Family("k_norm", "K-norm: the convex hull of the sensitivity set", "pure", design_k_norm)
