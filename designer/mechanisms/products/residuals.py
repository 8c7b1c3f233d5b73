"""Residuals of structured workloads: what an attribute adds to the others' totals, for queries of any kind.

Around a reference z (n,), `1'z = 1`, the histogram of an attribute is `x = z (1'x) + R M x`; products of M over the attributes
of a set A, summed over the others, are its residual, and are measured with a strength of their own. Tables over a set B are put
together from the residuals within B: variances are linear in 1 / s, and what a change spends is linear in s, so the best
strengths are a convex program, that of marginals (docs/theory/structured.md, 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.mechanisms.products.blocks import MeasuredProduct, Protection, StrategyMatrix, kinds_of_changes, loads_of
from designer.mechanisms.products.reconstruction import split_inverse
from designer.problem.products_workload import StructuredWorkload
from designer.relations.metrics.metric import Metric
from solvers.ellipsoids.program import minimise_trace
from solvers.ellipsoids.rows import Differences
from solvers.programs.budget_shares import minimise_cost

RESIDUALS_LIMIT = 1_000_000
FREE = 2.0**20  # strength of what no protected change moves: noise that is never seen


def uniform_residual(gram: Floats) -> Floats:
    """Rows (n - 1, n) that sum to 0, of least `tr(gram (B'B)^+)` with columns of length at most 1: the best residual around the
    mean."""
    basis = _contrasts(len(gram))
    if _alike(gram, basis):
        return np.asarray(basis.T)
    return _least_residual(gram, basis, basis)


def protected_residual(gram: Floats, part: Metric | None, longest: float = math.inf) -> Floats | None:
    """Rows (n - 1, n) that sum to 0, of least `tr(gram (B'B)^+)` with differences of columns within the budgets of a metric on
    the values, one budget for all without one, and columns of at most the `longest` length: where other attributes change, it
    is the length that counts. None where values without a finite budget between them leave a direction free, or one is 0."""
    squares = np.ones((len(gram),) * 2) if part is None else part.distances() ** 2
    np.fill_diagonal(squares, np.inf)
    if not squares.min(initial=np.inf) > 0 or not _connected(np.isfinite(squares)):
        return None
    basis = _contrasts(len(gram))
    apart = squares[~np.eye(len(gram), dtype=bool)]
    if apart.size and np.isfinite(apart).all() and np.ptp(apart) == 0 and _alike(gram, basis):
        changed = math.sqrt(squares.min() / 2)  # the contrasts of two values are sqrt(2) apart, and sqrt(1 - 1 / n) long
        return np.asarray(basis.T * min(changed, longest / math.sqrt(1 - 1 / len(gram))))
    inverses = np.pad((1 / squares + 1 / squares.T) / 2, (0, 1), constant_values=longest**-2.0)
    np.fill_diagonal(inverses, 0.0)
    return _least_residual(gram, basis, Differences.of(np.vstack([basis, np.zeros(len(basis) - 1)]), inverses))


def _contrasts(n: int) -> Floats:
    """Orthonormal columns (n, n - 1) that sum to 0."""
    return np.asarray(np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, : n - 1]]))[0][:, 1:])


def _least_residual(gram: Floats, basis: Floats, covered: Floats | Differences) -> Floats:
    """The residual in coordinates of contrasts whose ellipsoid holds what is covered at the least cost."""
    n = len(gram)
    fuller = basis.T @ gram @ basis + 1e-9 * np.trace(gram) / n * np.eye(n - 1)
    covariance = minimise_trace(covered, fuller, tolerance=1e-5).point.covariance
    return np.asarray(np.linalg.cholesky(np.linalg.inv(covariance)).T @ basis.T)


def _alike(gram: Floats, basis: Floats) -> bool:
    """Whether values are asked about alike (identity, tables): no program is needed then, because what is best is a multiple of
    the contrasts, the only ellipsoids that every permutation of the values leaves as they are."""
    turned = basis.T @ gram @ basis
    return np.allclose(turned, np.eye(len(turned)) * np.trace(turned) / len(turned), atol=1e-12 * np.trace(gram))


def _connected(joined: NDArray[np.bool_]) -> bool:
    """Whether all values are reached from the first one."""
    reached = np.zeros(len(joined), dtype=bool)
    reached[:1] = True
    while not np.array_equal(wider := reached | joined[reached].any(axis=0), reached):
        reached = wider
    return bool(reached.all())


def residual_blocks(
    workload: StructuredWorkload, protection: Protection, matrices: Mapping[int, StrategyMatrix]
) -> list[MeasuredProduct]:
    """A block for every part of every term's attributes, with the best strengths."""
    costs = _costs(workload, matrices)
    parts = list(costs)
    listed = {axis: (matrix,) for axis, matrix in matrices.items()}
    changes = kinds_of_changes(protection, workload.domain, workload.used)
    loads = loads_of(changes, "gaussian", listed, [dict.fromkeys(part, 0) for part in parts])
    moved = np.flatnonzero(loads.any(axis=0))
    strengths = np.full(len(parts), FREE)
    if not any(costs[parts[k]] > 0 for k in moved.tolist()):
        raise DesignFailed("structured: no protected change moves an answer; give an attribute that is asked about a budget.")
    # In units of what a record moves, so that the integers of the matrices do not spread the numbers.
    units = np.array([math.prod(matrices[axis].presence("gaussian") for axis in part) for part in parts], dtype=np.float64)[
        moved
    ]
    cost = np.array([costs[part] for part in parts])[moved] * units
    found = minimise_cost(loads[:, moved] / units, np.maximum(cost, 1e-14 * cost.max())[None, :], tolerance=1e-8)
    strengths[moved] = found.point / units
    return [MeasuredProduct(dict.fromkeys(part, 0), float(s)) for part, s in zip(parts, strengths, strict=True)]


def _costs(workload: StructuredWorkload, matrices: Mapping[int, StrategyMatrix]) -> dict[tuple[int, ...], float]:
    """What each residual adds to the total of weighted variances at strength 1."""
    known: dict[tuple[int, int], tuple[float, float]] = {}
    costs: dict[tuple[int, ...], float] = {}
    for term, weight in zip(workload.terms, workload.weights, strict=True):
        for axis, queries in term.items():
            if (axis, id(queries)) not in known:
                own, rest = split_inverse(matrices[axis])
                known[axis, id(queries)] = float(np.vdot(own, queries.gram @ own)), float(rest @ queries.gram @ rest)
        for size in range(len(term) + 1):
            for part in combinations(term, size):
                factors = (known[axis, id(q)][0 if axis in part else 1] for axis, q in term.items())
                costs[part] = costs.get(part, 0.0) + float(weight) * math.prod(factors)
        if len(costs) > RESIDUALS_LIMIT:
            raise DesignFailed(f"structured: more than {RESIDUALS_LIMIT} residuals; ask for terms of fewer attributes.")
    return costs
