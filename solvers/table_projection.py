"""Projections onto `{x : A x = t}` and onto its nonnegative part, in least squares (docs/theory/invariants.md, section 8).

Statistics repeat each other (the rows and the columns of a table have one total), so A has fewer independent rows than rows.
How many is counted exactly, because a cut-off on singular values takes rounding for a constraint from 34 x 34 tables on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.exact.rational import exact_rank

Array = NDArray[np.float64]
STEPS = 300
# Added to a Newton matrix with eigenvalues from 0 to 1, so that a step exists where few entries are free;
# the first that gives one.
DAMPINGS = (1e-12, 1e-9, 1e-6)
# Parts of the largest entry by which sums may be off when Newton's method ends, and where it stalls for rounding;
# polishing mends the rest.
FINE, COARSE = 1e-11, 1e-7


def keeps(rows: Array, sums: Array, x: Array) -> bool:
    """Whether `A x = t` up to 1e-8 of the largest total."""
    return bool(np.abs(rows @ x - sums).max(initial=0.0) <= 1e-8 * max(1.0, np.abs(sums).max(initial=0.0)))


def projected(rows: Array, sums: Array, y: Array) -> Array | None:
    """The point of `{A x = t}` nearest to y; None when that is empty.

    >>> projected(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([2.0, 4.0]), np.array([2.0, 1.0])).round(12).tolist()
    [1.5, 0.5]
    """
    basis, lift = row_space(rows)
    flat: Array = y + basis.T @ (lift @ (sums - rows @ y))
    return flat if keeps(rows, sums, flat) else None


def nonnegative_projection(rows: Array, sums: Array, flat: Array) -> Array | None:
    """The point of `{A x = t, x >= 0}` nearest to a point of `{A x = t}`;
    None when that is empty, `RuntimeError` when it is not found.

    With Q an orthonormal basis of the row space it is `max(0, f + Q'm)`, where m minimises the convex piecewise quadratic
    function `|max(0, f + Q'm)|^2 / 2 - (Q f)'m`: Newton's method with exact line searches.
    """
    basis, _ = row_space(rows)
    wanted, size = basis @ flat, max(1.0, float(np.abs(flat).max()))
    multipliers = np.zeros(len(basis))
    for _ in range(STEPS):
        place = flat + basis.T @ multipliers
        point = np.maximum(place, 0.0)
        gradient = basis @ point - wanted
        off = np.abs(gradient).max(initial=0.0) / size
        step = np.zeros_like(gradient) if off <= FINE else _step(basis, place, gradient)
        if not step.any():
            break
        multipliers += step
    if off <= COARSE:
        return _polished(rows, sums, flat, point)
    if _is_empty(rows, sums):
        return None
    raise RuntimeError("the projection onto the nonnegative tables did not converge")


def _step(basis: Array, place: Array, gradient: Array) -> Array:
    """A Newton step as long as the function falls along it; 0 where rounding leaves none that ends."""
    free = basis[:, place > 0]
    for damping in DAMPINGS:
        step = np.linalg.solve(free @ free.T + damping * np.eye(len(basis)), -gradient)
        length = _line_minimum(place, basis.T @ step, float(gradient @ step))
        if np.isfinite(length):
            return np.asarray(length * step)
    return np.zeros_like(gradient)


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


def _line_minimum(place: Array, move: Array, slope: float) -> float:
    """The s > 0 that minimises `|max(0, place + s move)|^2 / 2` plus a linear function, from the slope at 0;
    infinite where it falls on.

    The slope is piecewise linear: an entry that becomes positive at `-place / move` adds `move^2` to its rate,
    one that ceases takes it away.
    """
    rate = float((move[(place > 0) | ((place == 0) & (move > 0))] ** 2).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        breaks = np.where(move != 0, -place / move, 0.0)
    there = np.flatnonzero(breaks > 0)
    there = there[np.argsort(breaks[there])]
    rates = np.maximum(rate + np.concatenate([[0.0], np.cumsum(np.sign(move[there]) * move[there] ** 2)]), 0.0)
    ends = np.concatenate([[0.0], breaks[there]])
    slopes = slope + np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(ends))])
    # A slope that ends at 0 (no entry is left free) ends within rounding of it.
    last = int(np.searchsorted(slopes >= 1e-12 * slope, True)) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = ends[last] - slopes[last] / np.float64(rates[last])
    return float(np.minimum(beyond, ends[last + 1]) if last + 1 < len(ends) else beyond)


def _polished(rows: Array, sums: Array, flat: Array, near: Array) -> Array:
    """With the entries at 0 left out the projection is one onto an affine space, without the rounding of the iteration."""
    size = max(1.0, float(np.abs(flat).max()))
    for cut in (1e-9, 1e-7, 1e-5):
        exact, free = np.zeros(len(flat)), near > cut * size
        found = projected(rows[:, free], sums, flat[free]) if free.any() else exact[free]
        if found is not None:
            exact[free] = found
            if (exact >= 0).all() and keeps(rows, sums, exact):
                return exact
    return near


def _is_empty(rows: Array, sums: Array) -> bool:
    """Whether no nonnegative x has `A x = t`, by linear programming (HiGHS)."""
    from scipy.optimize import linprog

    return bool(linprog(np.zeros(rows.shape[1]), A_eq=rows, b_eq=sums, bounds=(0, None)).status == 2)
