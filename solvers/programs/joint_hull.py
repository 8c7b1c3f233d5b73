"""Rows P near targets Q, with noise whose ball is the hull of `+-(P_i - P_j) / d_ij` (K-norm noise): a descent.

Loss `max_i |P_i - Q_i|^2 + tr M`, M the covariance of the noise, in the units of `joint_ellipsoid`. M is not convex in P. Two
halves are: rows `T P + c`, whose noise is `T M T'`, and rows whose moves are in a multiple of the ball of now. Only decreases
are kept, each by the hull computed anew (docs/theory/biased.md, 7).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.programs.joint_ellipsoid import PairsOfPoints
from solvers.programs.loads import ConicBlock, solve_conic, sparse_entries
from solvers.work import is_over, spend

Floats = NDArray[np.float64]

FLAT = 1e-9  # singular values of the moves below this part of the largest are none
BEST, STEPS, GAIN = 3, 20, 2e-4  # starts that are followed, rounds of both halves, and what of the loss one gains at least
MOST_MOVED = 600  # entries of P that are moved one by one: half a second; of 2,265 a step takes 20 s and gains 1 %
CUTS, BEYOND = 6, 1e-3  # rounds of facets that join, and by how much rows may leave the ball before one does
SPREAD = 1e-5  # a small price of all biases, as in `joint_ellipsoid`
NEAR = 0.5  # gauge from which pairs are known at first


@dataclass(frozen=True, eq=False)
class HullDescent:
    """Targets Q (K, C), pairs, and constants (p, C), rows that may be added to any row: one for each component of points
    without the origin."""

    targets: Floats
    pairs: PairsOfPoints
    constants: Floats

    def least(self, starts: Iterable[Floats]) -> RowsInHull:
        """The best point: both halves once from every start, then from the best few as long as they gain. starts: rows
        (K, C)."""
        tried = [RowsInHull(self, self.targets)]
        for rows in starts:
            tried.append(self._both(RowsInHull(self, rows)))
        tried.sort(key=lambda point: point.loss)
        return min([self._descended(point) for point in tried[:BEST]], key=lambda point: point.loss)

    def _descended(self, best: RowsInHull) -> RowsInHull:
        for _ in range(STEPS):
            moved = best if is_over() else self._both(best)
            gained, best = best.loss - moved.loss, moved
            if not gained > GAIN * best.loss:
                break
        return best

    def _both(self, point: RowsInHull) -> RowsInHull:
        if not np.isfinite(point.loss):
            return point
        for half in (self._mapped, self._moved) if self.targets.size <= MOST_MOVED else (self._mapped,):
            if (rows := half(point)) is not None:
                point = min(point, RowsInHull(self, rows), key=lambda one: one.loss)
        return point

    def _mapped(self, point: RowsInHull) -> Floats | None:
        """The best `T P + c`. Unknowns: T in units in which the noise is white, c, and the largest bias."""
        (k, n), p = self.targets.shape, len(self.constants)
        white = np.linalg.solve(np.linalg.cholesky(point.moment), point.basis.T @ point.rows)
        s, unit = len(white), np.sqrt(point.loss)
        held = np.concatenate([white, self.constants / unit])
        last, each, row = k * (s + p), np.arange(n)[:, None, None] * (k + 1), np.arange(k)[:, None]
        columns = np.concatenate([row * s + np.arange(s), k * s + row * p + np.arange(p)], axis=1)
        entries = [(each[:, 0], last, -1.0), (each + 1 + row, columns, -np.broadcast_to(held.T[:, None, :], (n, k, s + p)))]
        side = np.concatenate([np.zeros((n, 1)), -self.targets.T / unit], axis=1).ravel()
        curvature = np.concatenate([np.full(k * s, 2.0), np.zeros(k * p), [2.0]])
        block = ConicBlock(sparse_entries(entries, n * (k + 1), last + 1), side, [("second_order", k + 1)] * n)
        answer = solve_conic(curvature, np.zeros(last + 1), [block])
        if answer is None:
            return None
        x = answer[0]
        return np.asarray(unit * (x[: k * s].reshape(k, s) @ white + x[k * s : last].reshape(k, p) @ held[s:]))

    def _moved(self, point: RowsInHull) -> Floats | None:
        """The best P in a multiple of the ball of now: facets and pairs that rows break join."""
        sizes, facet = point.gauges(point.rows)
        found = self.pairs.best_of_each(sizes, self.targets.shape[1])
        known = np.stack([found, facet[found]])[:, sizes[found] > NEAR]
        rows = None
        for _ in range(CUTS):
            answer = self._in_ball(point, known)
            if answer is None:
                return rows
            rows, multiple = answer
            sizes, facet = point.gauges(rows)
            found = self.pairs.best_of_each(sizes, self.targets.shape[1])
            found = found[sizes[found] > multiple * (1 + BEYOND)]
            if not found.size or is_over():
                return rows
            known = np.unique(np.concatenate([known, np.stack([found, facet[found]])], axis=1), axis=1)
        return rows

    def _in_ball(self, point: RowsInHull, known: NDArray[np.intp]) -> tuple[Floats, float] | None:
        """P and the multiple, for these pairs and facets, (2, m). Unknowns: `P - Q`, the multiple, the largest bias."""
        (k, n), m, unit = self.targets.shape, known.shape[1], np.sqrt(point.loss)
        held, facets = self.pairs.chosen(known[0]), point.facets[known[1]] * unit
        row, column = np.arange(k), np.arange(m)
        entries = [(column, k * n, -1.0), (m + column, k * n, -1.0)]
        for end, sign in ((held.left, 1.0), (held.right, -1.0)):
            real = np.flatnonzero(end < n)
            slopes = sign * facets[real] / held.budgets[real, None]
            for part, side in ((0, 1.0), (m, -1.0)):
                entries.append((part + column[real, None], row * n + end[real, None], side * slopes))
        now = (facets * held.moves(self.targets / unit).T).sum(axis=1)
        limits = ConicBlock(sparse_entries(entries, 2 * m, k * n + 2), np.concatenate([-now, now]), [("nonnegative", 2 * m)])
        each = np.arange(n)[:, None] * (k + 1)
        near = [(each, k * n + 1, -1.0), (each + 1 + row, row * n + np.arange(n)[:, None], -1.0)]
        off = ConicBlock(sparse_entries(near, n * (k + 1), k * n + 2), np.zeros(n * (k + 1)), [("second_order", k + 1)] * n)
        noise = float(np.trace(point.moment)) / unit**2
        curvature = np.concatenate([np.full(k * n, 2 * SPREAD / n), [2 * noise, 2.0]])
        answer = solve_conic(curvature, np.zeros(k * n + 2), [limits, off])
        if answer is None:
            return None
        return self.targets + unit * answer[0][: k * n].reshape(k, n), float(answer[0][k * n])


@dataclass(frozen=True, eq=False)
class RowsInHull:
    """Rows P (K, C) with the hull of their moves, all in floats."""

    descent: HullDescent
    rows: Floats

    @cached_property
    def _hull(self) -> tuple[Floats, Floats, Floats]:
        """An orthonormal basis of the moves (K, s), the covariance of the noise there (s, s), and facets (F, K)."""
        from scipy.spatial import ConvexHull

        moves = self.descent.pairs.moves(self.rows)
        vectors, values, _ = np.linalg.svd(moves, full_matrices=False)
        basis = vectors[:, values > FLAT * values[0]]
        inside = basis.T @ moves
        size = np.abs(inside).max(axis=1, keepdims=True)
        s = len(inside)
        if s == 0:
            return basis, np.full((1, 1), np.inf), basis.T  # constants are no mechanism
        if s == 1:
            return basis, 2 * size**2, basis.T / size
        hull = ConvexHull(np.concatenate([inside / size, -inside / size], axis=1).T)
        spend(entries=20.0 * inside.size + hull.simplices.size * 100)
        corners = hull.points[hull.simplices]
        shares = np.abs(np.linalg.det(corners))
        sums = corners.sum(axis=1)
        moment = np.einsum("m,mij,mik->jk", shares, corners, corners) + np.einsum("m,mj,mk->jk", shares, sums, sums)
        normals = np.unique((hull.equations[:, :-1] / -hull.equations[:, -1:]).round(10), axis=0)
        return basis, moment / shares.sum() * size * size.T, (normals / size.T) @ basis.T

    @property
    def basis(self) -> Floats:
        return self._hull[0]

    @property
    def moment(self) -> Floats:
        """The covariance of K-norm noise in the basis: `(s + 1) (s + 2)` times the second moment of the uniform law."""
        return self._hull[1]

    @property
    def covariance(self) -> Floats:
        """M, (K, K)."""
        return np.asarray(self.basis @ self.moment @ self.basis.T)

    @property
    def facets(self) -> Floats:
        """Normals a of the ball `|a'z| <= 1`, (F, K)."""
        return self._hull[2]

    @cached_property
    def loss(self) -> float:
        """`max_i |P_i - Q_i|^2 + tr M`."""
        off = self.rows - self.descent.targets
        return float(np.square(off).sum(axis=0).max() + np.trace(self.moment))

    def gauges(self, rows: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """The gauge of every move of other rows in this ball, (M,), and the facet that says so."""
        moves = self.descent.pairs.moves(rows)
        spend(entries=2.0 * moves.shape[1] * len(self.facets))
        sizes, facet = np.zeros(moves.shape[1]), np.zeros(moves.shape[1], dtype=np.intp)
        for place, normal in enumerate(self.facets):
            here = normal @ moves
            longer = here > sizes
            sizes[longer], facet[longer] = here[longer], place
        return sizes, facet
