"""Rows P near targets Q and an ellipsoid for their differences, chosen together:

    min max_i |P_i - Q_i|^2 + tr S   subject to   u' S^-1 u <= d^2   for every pair, u = P_i - P_j

in units in which both terms have the weight 1. Jointly convex in (P, S), because `u' S^-1 u` is; by Schur's complement a limit
is a semidefinite block. Few pairs bind: those that a scan finds join, and none leaves. Derivations: docs/theory/biased.md, 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.programs.loads import ConicBlock, solve_conic, sparse_entries
from solvers.solution import Solution, Status, relative_gap
from solvers.work import is_over, spend

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# A small price of all biases, not of the largest alone, leaves one best P: without it rounds do not end.
SPREAD = 1e-7
ROUNDS = 40
LEAST = 1e-14  # of the largest eigenvalue: what the others count as at least
BROKEN = 1e-5  # what a limit may be broken by before its pair joins; the repair covers it


@dataclass(frozen=True, eq=False)
class PairsOfPoints:
    """Pairs left, right (M,) of C points with positive budgets (M,); a right point C is the origin, where P is 0."""

    left: Indices
    right: Indices
    budgets: Floats

    def moves(self, rows: Floats) -> Floats:
        """`(P_left - P_right) / d`, (K, M), of rows (K, C)."""
        held = np.concatenate([rows, np.zeros((len(rows), 1))], axis=1)
        return np.asarray((held[:, self.left] - held[:, self.right]) / self.budgets)

    def chosen(self, places: Indices) -> PairsOfPoints:
        """Some of them, by their places (m,)."""
        return PairsOfPoints(self.left[places], self.right[places], self.budgets[places])

    def times(self, factor: float) -> PairsOfPoints:
        """With all budgets so many times as large."""
        return PairsOfPoints(self.left, self.right, self.budgets * factor)

    def best_of_each(self, sizes: Floats, points: int) -> Indices:
        """The place of the pair of largest size (M,) of every point that has one, each once."""
        order = np.argsort(-sizes, kind="stable")
        spend(entries=4.0 * len(sizes))
        firsts = [order[np.unique(ends[order], return_index=True)[1]] for ends in (self.left, self.right)]
        return np.unique(np.concatenate(firsts))


@dataclass(frozen=True, eq=False)
class RowsInEllipsoid:
    """Rows P (K, C), the covariance S (K, K), and the places of the pairs that were looked at."""

    rows: Floats
    covariance: Floats
    places: Indices


def fit_in_ellipsoid(
    targets: Floats, pairs: PairsOfPoints, tolerance: float = 1e-4, places: Indices | None = None
) -> Solution[RowsInEllipsoid]:
    """The optimum, feasible for all pairs, and the bound that multipliers prove (`bound_of`).

    targets Q: (K, C). places: of pairs that probably bind, beside those that are found.

    >>> two = PairsOfPoints(np.array([0]), np.array([1]), np.array([2.1]))
    >>> found = fit_in_ellipsoid(np.array([[0.0, 3.0]]), two)
    >>> round(found.value, 4), round(9 / (2.1**2 + 4), 4)
    (1.0702, 1.0702)
    """
    points = targets.shape[1]
    known = steepest_pairs(targets, pairs) if places is None else places
    best, bound, rounds, value = RowsInEllipsoid(targets, np.eye(len(targets)), known), 0.0, 0, np.inf
    unit = noise_alone(targets, pairs)[1]
    while rounds < ROUNDS:
        rounds += 1
        answer = _solve(targets / unit, pairs.chosen(known))
        if answer is None:
            break
        rows, covariance, forces, prices = answer
        bound = max(bound, unit**2 * bound_of(targets / unit, pairs.chosen(known), forces, prices))
        lengths = squared_lengths(pairs.moves(rows), covariance)
        worst = float(lengths.max(initial=0.0))
        reached = unit**2 * (_bias(rows - targets / unit) + worst * float(np.trace(covariance)))
        if reached < value:
            best, value = RowsInEllipsoid(rows * unit, covariance * worst * unit**2, known), reached
        if relative_gap(value, bound) <= tolerance or is_over():
            break
        found = pairs.best_of_each(lengths, points)
        more = np.setdiff1d(found[lengths[found] > 1 + BROKEN], known)
        if not more.size:
            break
        known = np.concatenate([known, more])
    best = RowsInEllipsoid(best.rows, best.covariance, known)
    status = Status.FAILED if value == np.inf else Status.OPTIMAL if relative_gap(value, bound) <= tolerance else Status.STALLED
    method = f"semidefinite program, Clarabel, {len(known)} pairs at the end; multipliers, dual in closed form"
    return Solution(status, best, value, min(bound, value), rounds, method)


def squared_lengths(moves: Floats, covariance: Floats) -> Floats:
    """`u' S^-1 u` of columns u (K, M)."""
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, LEAST * values[-1])
    return np.asarray(np.square((vectors.T @ moves) / np.sqrt(values)[:, None]).sum(axis=0))


def noise_alone(targets: Floats, pairs: PairsOfPoints) -> tuple[Floats, float]:
    """A covariance that is large enough for Q itself, and the root of what shrinking Q towards a constant loses with it."""
    moves = pairs.moves(targets)
    shape = moves @ moves.T
    shape += 1e-9 * np.trace(shape) * np.eye(len(shape))
    shape *= squared_lengths(moves, shape).max()
    off = targets - (targets.max(axis=1) + targets.min(axis=1))[:, None] / 2
    noise, bias = float(np.trace(shape)), _bias(off)
    return shape, float(np.sqrt(noise * bias / (noise + bias)))


def _bias(off: Floats) -> float:
    return float(np.square(off).sum(axis=0).max())


def steepest_pairs(targets: Floats, pairs: PairsOfPoints) -> Indices:
    """The steepest pair of each point, in units in which all directions vary alike."""
    moves = pairs.moves(targets)
    return pairs.best_of_each(squared_lengths(moves, moves @ moves.T), targets.shape[1])


def bound_of(targets: Floats, pairs: PairsOfPoints, forces: Floats, prices: Floats) -> float:
    """What forces z (K, M) and prices w >= 0 (M,) of any pairs prove, whoever found them: `a^2 / (W l + F^2)`.

    a = sum z'u(Q), W = sum w d^2, l the largest eigenvalue of sum z z' / w, F = sum_i |f_i| with f what the forces are at the
    points (docs/theory/biased.md, section 6).
    """
    used = (prices > 0) & np.isfinite(forces).all(axis=0)
    pairs, forces, prices = pairs.chosen(np.flatnonzero(used)), forces[:, used], prices[used]
    pull = float((forces * pairs.moves(targets) * pairs.budgets).sum())
    if not pull > 0:
        return 0.0
    at_points = np.zeros((len(forces), targets.shape[1] + 1))
    for row, force in zip(at_points, forces, strict=True):
        row += np.bincount(pairs.left, force, len(row)) - np.bincount(pairs.right, force, len(row))
    drag = float(np.linalg.norm(at_points[:, :-1], axis=0).sum()) ** 2
    largest = float(np.linalg.eigvalsh((forces / prices) @ forces.T)[-1])
    cost = float((prices * pairs.budgets**2).sum()) * largest + drag
    return float(pull**2 / cost * (1 - (forces.size + 64) * 2.0**-50))


def _solve(targets: Floats, pairs: PairsOfPoints) -> tuple[Floats, Floats, Floats, Floats] | None:
    """P, S, forces and prices for these pairs alone. Unknowns: `P - Q` row by row, the upper triangle of S column by column,
    and the largest bias."""
    (k, n), m = targets.shape, len(pairs.budgets)
    order, last = k + 1, k * n + k * (k + 1) // 2
    place = np.array([[j * (j + 1) // 2 + i if i <= j else 0 for j in range(order)] for i in range(order)])
    size = order * (order + 1) // 2
    above, right = np.nonzero(np.triu(np.ones((k, k))))
    scale, limit, row = np.where(above == right, 1.0, np.sqrt(2.0)), np.arange(m)[:, None] * size, np.arange(k)
    entries = [(limit + place[above, right], k * n + place[above, right], -scale)]
    column = limit + place[row, k]
    for end, sign in ((pairs.left, -1.0), (pairs.right, 1.0)):
        real = np.flatnonzero(end < n)
        entries.append((column[real], row * n + end[real, None], sign * np.sqrt(2.0) / pairs.budgets[real, None]))
    side = np.zeros((m, size))
    side[:, place[row, k]], side[:, place[k, k]] = np.sqrt(2.0) * pairs.moves(targets).T, 1.0
    limits = ConicBlock(sparse_entries(entries, m * size, last + 1), side.ravel(), [("semidefinite", order)] * m)
    each = np.arange(n)[:, None] * order
    near = [(each, last, -1.0), (each + 1 + row, row * n + np.arange(n)[:, None], -1.0)]
    off = ConicBlock(sparse_entries(near, n * order, last + 1), np.zeros(n * order), [("second_order", order)] * n)
    linear, curvature = np.zeros(last + 1), np.zeros(last + 1)
    linear[k * n + place[row, row]] = 1.0
    curvature[: k * n], curvature[last] = 2 * SPREAD / n, 2.0
    answer = solve_conic(curvature, linear, [limits, off])
    if answer is None:
        return None
    x, (z, _) = answer
    covariance = np.zeros((k, k))
    covariance[above, right] = covariance[right, above] = x[k * n + place[above, right]]
    multipliers = z.reshape(m, size)
    # The limit was divided by d on both sides of u: the corner stands for 1, not for d^2.
    forces, prices = (
        -multipliers[:, place[row, k]].T / np.sqrt(2.0) / pairs.budgets,
        multipliers[:, place[k, k]] / pairs.budgets**2,
    )
    return targets + x[: k * n].reshape(k, n), covariance, forces, prices
