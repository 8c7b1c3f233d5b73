"""Nearest tables: the vector with given sums `A x = t`, nonnegative, integer, or both,
closest to a target in least squares or in l1.

Derivations in docs/theory/invariants.md, section 8. A real least-squares table is a projection onto an affine space or a
polytope. An integer one minimises a separable convex cost, written in steps of one with growing prices, so that the cheaper
steps are taken first. Where A is totally unimodular (two-way margins, a partition, a total)
that program is a min-cost flow and its linear relaxation integral.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.exact.points import is_combination
from solvers.exact.rational import exact_rank
from solvers.lattices.conforming_tables import Fibre, integer_minimum
from solvers.limits import MOST_TRANSPORT_STEPS
from solvers.programs.nearest_sums import fitted_sums, kept, left_over, none_at_all
from solvers.solution import Status

# Projections onto `{x : A x = t}`, in least squares (docs/theory/invariants.md, section 8).
#
# Statistics repeat each other (the rows and the columns of a table have one total), so A has fewer independent rows than
# rows. How many is counted exactly, because a cut-off on singular values takes rounding for a constraint from 34 x 34 tables
# on.


TIMES = 3  # that a projection is applied to what rounding left of the sums


def projected(rows: Array, sums: Array, y: Array) -> Array | None:
    """The point of `{A x = t}` nearest to y; None when that is empty.

    >>> projected(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([2.0, 4.0]), np.array([2.0, 1.0])).round(12).tolist()
    [1.5, 0.5]
    """
    basis, lift = row_space(rows)
    flat = y
    for _ in range(TIMES):
        flat = flat + basis.T @ (lift @ left_over(rows, flat, sums))
    return flat if kept(rows, flat, sums) else None


def row_space(rows: Array) -> tuple[Array, Array]:
    """Q (r, N), an orthonormal basis of the row space of A, and L (r, p) with `A^+ = Q'L`; r is the exact rank."""
    lengths = np.linalg.norm(rows, axis=1)
    lengths[lengths == 0] = 1.0
    # Orthogonal columns first: singular values of the small triangle take a hundredth of the time of those of a long matrix.
    columns, triangle = np.linalg.qr((rows / lengths[:, None]).T)
    right, values, left = np.linalg.svd(triangle, full_matrices=False)
    rank = _rank(rows)
    return (columns @ right[:, :rank]).T, left[:rank] / values[:rank, None] / lengths


def _rank(rows: Array) -> int:
    """Exactly; small whole numbers by their Gram matrix, which floats hold exactly and which has the same rank."""
    exact = (rows == np.rint(rows)).all() and float((rows**2).sum(axis=1).max(initial=0.0)) < 2.0**53
    return exact_rank(rows @ rows.T if exact and rows.shape[0] < rows.shape[1] else rows)


Array = NDArray[np.float64]
TransportLength = Literal["l1", "l2"]

# Half-width of the window of unit steps around the real table that is tried first;
# a wider one follows where the optimality proof needs it.
WINDOW = 2


@dataclass(frozen=True, eq=False)
class Nearest:
    """`point` (N,) with `A point = t`, and its l1 or l2 distance to the target;
    `point` is None and the status says why where there is none."""

    status: Status
    point: Array | None
    distance: float


def nearest_real(matrix: ArrayLike, totals: ArrayLike, target: ArrayLike, nonnegative: bool = True) -> Nearest:
    """The real x of least `|x - y|_2` with `A x = t`, and `x >= 0` unless said otherwise.

    matrix A: (p, d). totals t: (p,). target y: (d,). ValueError where shapes do not fit.

    >>> nearest_real([[1, 1, 1]], [3], [2.0, 2.0, -4.0]).point.round(9).tolist()
    [1.5, 1.5, 0.0]
    """
    from scipy.sparse import csr_array, eye_array

    rows, sums, y = _checked(matrix, totals, target)
    point = projected(rows, sums, y)
    if point is None:
        return Nearest(Status.INFEASIBLE, None, math.inf)
    if nonnegative and (point < 0).any():
        found = fitted_sums(eye_array(len(y)), y, np.ones(len(y)), csr_array(rows), sums)
        if found is None:
            return Nearest(Status.INFEASIBLE if none_at_all(rows, sums) else Status.FAILED, None, math.inf)
        point = found.cells
    return _nearest(point, y, "l2")


def nearest_integer(
    matrix: ArrayLike, totals: ArrayLike, target: ArrayLike, nonnegative: bool = True, closeness: TransportLength = "l2"
) -> Nearest:
    """An integer x of least `|x - y|_1` or `|x - y|_2` with `A x = t`, and `x >= 0` unless said otherwise;
    A and t are integers.

    matrix A: (p, d). totals t: (p,). target y: (d,). ValueError where shapes do not fit, or A or t is not whole. INFEASIBLE is
    proven without the solver of the program: see `Fibre.is_proven_empty`.

    >>> nearest_integer([[1, 1, 1]], [3], [1.4, 1.3, 0.5]).point.tolist()
    [1.0, 1.0, 1.0]
    """
    rows, sums, y = _checked(matrix, totals, target)
    if (rows != np.rint(rows)).any() or (sums != np.rint(sums)).any():
        raise ValueError("matrix and totals must be whole numbers for an integer table.")
    lower = 0.0 if nonnegative else -math.inf
    try:
        close = _nearest_l1(rows, sums, y, lower)
        if close is not None and closeness == "l2":
            close = _nearest_l2(rows, sums, y, nonnegative, close)
    except RuntimeError:
        return Nearest(Status.FAILED, None, math.inf)
    if close is None:
        none = (
            Fibre(rows, sums).is_proven_empty()
            if nonnegative
            else not is_combination(sums.astype(int).tolist(), rows.T.astype(int))
        )
        return Nearest(Status.INFEASIBLE if none else Status.FAILED, None, math.inf)
    return _nearest(close, y, closeness)


def _checked(matrix: ArrayLike, totals: ArrayLike, target: ArrayLike) -> tuple[Array, Array, Array]:
    rows, sums, y = (np.array(value, dtype=float) for value in (matrix, totals, target))
    if rows.ndim != 2 or sums.shape != rows.shape[:1] or y.shape != rows.shape[1:]:
        raise ValueError(
            f"matrix {rows.shape}, totals {sums.shape}, target {y.shape}: give (p, N), (p,) and (N,), one total for each row."
        )
    if not all(np.isfinite(array).all() for array in (rows, sums, y)):
        raise ValueError("matrix, totals and target must be finite numbers.")
    return rows, sums, y


def _nearest(point: Array, y: Array, closeness: TransportLength) -> Nearest:
    point.setflags(write=False)
    return Nearest(Status.OPTIMAL, point, float(np.linalg.norm(point - y, ord=1 if closeness == "l1" else 2)))


def _nearest_l1(rows: Array, sums: Array, y: Array, lower: float) -> Array | None:
    """`x = f - d + m + u`, f the target rounded down: d and u steps of price 1, m the one step across the target."""
    n = len(y)
    floor = np.maximum(np.floor(y), lower)
    middle = np.abs(floor + 1 - y) - np.abs(floor - y)
    solved = integer_minimum(
        np.concatenate([np.ones(n), middle, np.ones(n)]),
        np.hstack([-rows, rows, rows]),
        sums - rows @ floor,
        sums - rows @ floor,
        np.zeros(3 * n),
        np.concatenate([floor - lower, np.ones(n), np.full(n, np.inf)]),
    )
    return None if solved is None else np.asarray(floor - solved[:n] + solved[n : 2 * n] + solved[2 * n :], dtype=np.float64)


def _nearest_l2(rows: Array, sums: Array, y: Array, nonnegative: bool, start: Array) -> Array:
    """The best integer table, proven. With p the real one, `g = p - y` and any multipliers l, two allowed tables x and b
    have `|x - y|^2 - |b - y|^2 = |x - p|^2 - |b - p|^2 + 2 r (x - b)`, `r = g - A' l`, since `A (x - b) = 0`; near a minimum
    r is 0 but for entries that are held at 0, where it is positive. A better x thus has, with h those entries and m = `|r|`
    elsewhere, `|x - p|^2 - 2 m |x - p| <= |b - p|^2 + 2 m |b - p| + 2 r_h b_h`: a window that wide misses nothing. Neither p
    nor r has to be exact: rounding of large numbers widens the window, and no more."""
    real = nearest_real(rows, sums, y, nonnegative).point
    if real is None:
        raise RuntimeError("the real table was not found")
    held = (real < 1) & nonnegative
    slope = _slope(rows, real - y, held)
    held &= slope >= 0
    off = float(np.linalg.norm(slope[~held]))
    best, width = start, WINDOW
    while True:
        found = _in_window(rows, sums, slope, real, width, nonnegative)
        if found is not None and (found - best) @ ((found - real) + (best - real) + 2 * slope) < 0:
            best = found
        apart = float(np.linalg.norm(best - real))
        needed = off + math.sqrt(off**2 + apart**2 + 2 * off * apart + 2 * float(slope[held] @ best[held])) + 1e-6
        if needed <= width:
            return best
        if needed * len(y) > MOST_TRANSPORT_STEPS:
            raise RuntimeError("the window of the integer program is too wide")
        width = math.ceil(needed)


def _slope(rows: Array, gradient: Array, held: NDArray[np.bool_]) -> Array:
    """`g - A' l` for the multipliers l that leave least of it, positive values of the entries that are held not counted."""
    from scipy.optimize import lsq_linear

    terms = np.hstack([rows.T, np.eye(len(gradient))[:, held]])
    if not terms.shape[1]:
        return gradient
    least = np.concatenate([np.full(len(rows), -np.inf), np.zeros(int(held.sum()))])
    found = lsq_linear(terms, gradient, (least, np.inf), method="bvls").x
    return np.asarray(gradient - rows.T @ found[: len(rows)], dtype=np.float64)


def _in_window(rows: Array, sums: Array, slope: Array, real: Array, width: int, nonnegative: bool) -> Array | None:
    """The least `|x - real|^2 + 2 slope x` among integer tables within `width` of `real`: entry i climbs from its lowest value
    in steps of one whose prices `2 (x_i - real_i + slope_i) + 1` grow, so that a minimum takes them in order."""
    from scipy.sparse import csr_array

    low = np.ceil(real - width)
    low = np.maximum(low, 0.0) if nonnegative else low
    steps = (np.floor(real + width) - low).astype(int)
    owner = np.repeat(np.arange(len(real)), steps)
    level = np.arange(len(owner)) - np.repeat(np.cumsum(steps) - steps, steps)
    prices = 2 * (low[owner] - real[owner] + level + slope[owner]) + 1
    rest = sums - rows @ low
    taken = integer_minimum(prices, rows[:, owner], rest, rest, np.zeros(len(owner)), np.ones(len(owner)))
    if taken is None:
        return None
    climb = csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(real), len(owner)))
    return np.asarray(low + climb @ taken)
