"""The smallest ellipsoid that covers a set of vectors, smallest by trace: `min tr(C Sigma)` subject to
`r_m' Sigma^-1 r_m <= 1` for all m.

Convex in `W = Sigma^-1`: `tr(C W^-1)` is convex and the constraints are linear. Sigma is the covariance of least total
variance in whose norm no vector is longer than 1. The dual is closed, `max F(lambda)^2 / sum lambda` (see `ellipsoid_dual`),
and any lambda gives a Sigma as well, by `Sigma C Sigma = sum lambda_m r_m r_m'`: every iterate carries its own certified gap.
Derivations in docs/theory/ellipsoid.md.

Directions that no vector reaches get no variance; directions that cost nothing are not measured (Sigma lives in the range of
C).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from solvers.ellipsoids.independent_rows import DEPENDENT, follow
from solvers.ellipsoids.planes import Found, cover
from solvers.ellipsoids.reduction import Reduction, Roots, apply, cost_roots, query_roots
from solvers.ellipsoids.rows import Array, Differences, Rows, VectorRows, scan_differences
from solvers.solution import Solution
from solvers.status import Status

__all__ = ["Differences", "Ellipsoid", "Separation", "minimise_maximum", "minimise_trace", "scan_differences"]

Separation = Callable[[Array], tuple[float, Array]]

# Off the span of the rows, the precision shown to `separate` is this many times the inverse square of their size: enough to
# notice a vector that leaves the span by 1e-4, and little enough that cancellation disturbs the others by 1e-8 only.
OUTSIDE = 1e8


@dataclass(frozen=True)
class Ellipsoid:
    """`{z : z' precision z <= 1}` and the covariance it belongs to.

    covariance: Sigma, (s, s), zero off the span of the vectors (and off the range of the cost).
    precision: W, (s, s), with `Sigma W Sigma = Sigma`; `r' W r = r' Sigma^+ r` for every covered vector r.
    query_weights: omega, summing to one, with which `minimise_maximum` proved its bound; empty after `minimise_trace`.
    directions: (p, s), vectors a that prove the bound: `sum a a'` is the cost up to a factor, and `sum_a max_r (a' r)^2` the
    bound up to the same factor (`DualPoint.directions`); empty where there is nothing to cover.
    """

    covariance: Array
    precision: Array
    query_weights: Array
    directions: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        for array in (self.covariance, self.precision, self.query_weights, self.directions):
            array.setflags(write=False)


def minimise_trace(
    rows: ArrayLike | Differences,
    cost: ArrayLike | None = None,
    *,
    separate: Separation | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> Solution[Ellipsoid]:
    """`min tr(cost Sigma)` subject to `r' Sigma^-1 r <= 1` for every row r.

    rows: (m, s), or `Differences` of points, which are never written out. Zero rows bind nothing and are dropped.
    cost: positive semidefinite (s, s), or its diagonal (s,), or None for the identity.
    separate(W) returns `(worst, more)`: the largest `r' W r` over an implicit set that includes `rows`, and some vectors of it
    that exceed 1 (an empty array ends the search). `rows` must span that set; W is made huge off their span, so that a set
    which leaves it is noticed.
    tolerance: the certified relative gap at which to stop. The covariance covers every row up to rounding, in any case; when
    `max_iterations` Newton steps (for each working set) end above the tolerance, the status is STALLED and the gap is what it
    is.

    Raises:
        ValueError: an entry is not finite, shapes disagree, the cost has a negative direction, or `separate` leaves the span
        of `rows`.

    >>> solution = minimise_trace([[3.0, 0.0], [0.0, 1.0]])
    >>> solution.point.covariance.round(4)
    array([[9., 0.],
           [0., 1.]])
    >>> round(solution.value, 4), solution.gap < 1e-6
    (10.0, True)
    """
    family = as_rows(rows)
    given = None if cost is None else as_finite("cost", cost)
    roots = cost_roots(given, family.dimension)
    none = VectorRows(np.zeros((0, family.dimension)))

    def value(covariance: Array) -> float:
        diagonal = np.ones(family.dimension) if given is None else given
        return float(np.diagonal(covariance) @ diagonal if diagonal.ndim == 1 else np.vdot(covariance, diagonal))

    if separate is None and isinstance(family, VectorRows) and family.count == family.dimension:
        found = _independent(family.vectors, given, value, tolerance)
        if found is not None:
            return found
    return _solve(family, roots, none, value, separate, tolerance, max_iterations)


def _independent(
    rows: Array, cost: Array | None, value: Callable[[Array], float], tolerance: float
) -> Solution[Ellipsoid] | None:
    """The solution by Newton's method where the rows are a well-conditioned basis, to a quarter of the tolerance; else None."""
    lengths = np.sqrt(np.square(rows).sum(axis=1))
    try:
        inverse = np.linalg.inv(rows / lengths[:, None]) / lengths
    except np.linalg.LinAlgError:
        return None
    if not np.linalg.norm(inverse * lengths) * np.sqrt(len(rows)) * DEPENDENT < 1.0:
        return None
    weighted = rows if cost is None else rows * cost if cost.ndim == 1 else rows @ cost
    reached = follow(weighted @ rows.T, tolerance / 4)
    if reached is None:
        return None
    point, bound, steps = reached
    covariance = rows.T @ point.covariance @ rows
    precision: Array = np.linalg.inv(covariance).astype(np.float64, copy=False)
    worst = float(VectorRows(rows).ratios(precision).max())
    total = value(covariance * worst)
    if not total - bound <= tolerance * total:
        return None
    directions = (inverse @ point.precision() * np.sqrt(point.multipliers)).T
    made = Ellipsoid(covariance * worst, precision / worst, np.zeros(0), directions)
    return Solution(Status.OPTIMAL, made, total, min(bound, total), steps, "Newton's method on independent rows")


def minimise_maximum(
    rows: ArrayLike | Differences,
    queries: ArrayLike | None = None,
    *,
    separate: Separation | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> Solution[Ellipsoid]:
    """`min max_k q_k' Sigma q_k` subject to `r' Sigma^-1 r <= 1` for every row r.

    queries: (K, s); or weights v (s,), for the largest `v_k Sigma_kk`; or None for the largest `Sigma_kk`. The rest as in
    `minimise_trace`. The bound is `F(lambda, omega)^2 / (sum lambda sum omega)`, valid for every weights omega >= 0 of the
    queries.

    Raises:
        ValueError: as in `minimise_trace`.

    >>> round(minimise_maximum([[3.0, 0.0], [0.0, 1.0]]).value, 4)
    9.0
    """
    family = as_rows(rows)
    given = as_finite("queries", np.ones(family.dimension) if queries is None else queries)
    if given.ndim == 1 and np.any(given < 0.0):
        raise ValueError(
            f"queries has the weight {given.min():.3g}, must be nonnegative: pass weights v >= 0, or a matrix (K, s)"
        )
    matrix = np.diag(np.sqrt(given)) if given.ndim == 1 else given
    if matrix.shape[1:] != (family.dimension,):
        raise ValueError(
            f"queries have shape {given.shape}: pass (K, {family.dimension}), or ({family.dimension},) weights >= 0"
        )

    def value(covariance: Array) -> float:
        return float(VectorRows(matrix).ratios(covariance).max())

    return _solve(family, query_roots(matrix), VectorRows(matrix), value, separate, tolerance, max_iterations)


def as_finite(name: str, values: ArrayLike) -> Array:
    """A float copy of `values`, of any shape (M, s) or (M,); `name` is what an error calls it.

    Raises:
        ValueError: an entry is not finite.
    """
    array = np.array(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} has an entry that is not finite: drop what has no budget before calling the solver")
    return array


def as_rows(rows: ArrayLike | Differences) -> Rows:
    """The nonzero rows of a matrix (M, s), checked; differences of points are taken as they are.

    Raises:
        ValueError: not a matrix, or an entry is not finite.
    """
    if isinstance(rows, Differences):
        as_finite("points", rows.points)
        return rows
    array = as_finite("rows", rows)
    if array.ndim != 2:
        raise ValueError(f"rows have shape {array.shape}: pass one vector a row, (m, s)")
    return VectorRows(array[np.any(array != 0.0, axis=1)])


def _solve(
    family: Rows,
    roots: Roots,
    queries: VectorRows,
    value: Callable[[Array], float],
    separate: Separation | None,
    tolerance: float,
    max_iterations: int,
) -> Solution[Ellipsoid]:
    """Reduce, cover, and go back; the value and the worst ratio are taken again from the caller's own numbers."""
    if not np.any(apply(family.spanning().vectors, roots.root)):
        zero = np.zeros((family.dimension, family.dimension))
        even = np.full(len(queries.vectors), 1 / max(1, len(queries.vectors)))
        return Solution(Status.OPTIMAL, Ellipsoid(zero, zero.copy(), even), 0.0, 0.0, 0, "nothing to cover")
    reduction = Reduction.of(family, roots)
    scan = None if separate is None else _Outside(reduction, separate)
    found = cover(
        family.transformed(reduction.forward), queries.transformed(reduction.queries), scan, tolerance, max_iterations
    )
    precision = reduction.precision(found.point.precision)
    worst = max(found.worst, float(family.ratios(precision).max()))
    covariance = reduction.covariance(found.point.covariance) * worst
    cost = value(covariance)
    bound = found.bound * reduction.unit**2
    status = Status.OPTIMAL if cost - bound <= tolerance * cost else Status.STALLED
    omega = found.prover.query_weights
    directions = found.prover.directions() @ reduction.forward.T
    point = Ellipsoid(covariance, precision / worst, omega / max(omega.sum(), 1e-300), directions)
    return Solution(status, point, cost, min(bound, cost), found.iterations, found.method)


@dataclass(frozen=True)
class _Outside:
    """The caller's scan, in reduced coordinates."""

    reduction: Reduction
    separate: Separation

    def __call__(self, found: Found) -> tuple[float, VectorRows]:
        outside = self.reduction.outside
        precision = self.reduction.precision(found.point.precision / found.worst) + OUTSIDE * (outside @ outside.T)
        worst, more = self.separate(precision)
        vectors = as_finite("rows returned by separate", more).reshape(-1, len(precision))
        if vectors.size and np.abs(vectors @ outside).max(initial=0.0) > 1e-9:
            raise ValueError(
                "separate returned a vector outside the span of the initial rows: start from rows that span the whole set"
            )
        return worst, VectorRows(vectors @ self.reduction.forward)
