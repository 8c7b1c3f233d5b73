"""Several functions and their scales jointly: `min n^2 ||P - Q||_F^2 + 2 ||c||^2` s.t. `sum_k |P_k d_m| / c_k <= b_m`.

Not convex for more than one row. With `w = 1 / c` each term obeys `|x| w <= x^2 / (2 t) + t w^2 / 2` for every t > 0, with
equality at `t = |x| / w`: fixing t leaves a program that is convex in (P, w), contains the current point and implies the true
limits. Solving it moves P and c together. The two plain halves (P at fixed c, c at fixed P) would not move at all from P = Q:
Q is the best P for its own scales and they are the best for it. Derivations in docs/theory/biased.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.programs.changes import Changes
from solvers.programs.lipschitz import SQUARED, fit_jointly
from solvers.solution import Solution
from solvers.status import Status

Array = NDArray[np.float64]

# Terms with x = 0 would need t = 0; t is kept above this share of the budget and the excess (half of it) repaired by scaling.
FLOOR = 1e-5


@dataclass(frozen=True, eq=False)
class ScaledFit:
    """Rows `values` P (K, N) and `scales` c (K,), each 0 only where the row does not move."""

    values: Array
    scales: Array

    def __post_init__(self) -> None:
        values, scales = np.array(self.values, dtype=float), np.array(self.scales, dtype=float)
        if values.ndim != 2 or scales.shape != values.shape[:1] or not (scales >= 0.0).all() or not np.isfinite(scales).all():
            raise ValueError(f"values {values.shape} and scales {scales.shape}: give one finite scale >= 0 for each row.")
        for array, name in ((values, "values"), (scales, "scales")):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def loss(self, targets: Array, count: float) -> float:
        """`n^2 ||P - Q||_F^2 + 2 ||c||^2`."""
        return float(count**2 * np.square(self.values - targets).sum() + 2.0 * np.square(self.scales).sum())

    def largest_squared_error(self, targets: Array, count: float) -> float:
        """`n^2 max_i ||P_i - Q_i||_2^2 + 2 ||c||^2` (columns i): the largest expected squared error of `P x + noise` over
        `x >= 0` with sum n = `count`, exactly (attained at a vertex). At most `loss`, which bounds the maximum by the sum.
        """
        bias = float(np.square(self.values - targets).sum(axis=0).max(initial=0.0))
        return float(count**2 * bias + 2.0 * np.square(self.scales).sum())

    def worst(self, changes: Changes) -> float:
        """The largest `sum_k |P_k d_m| / (c_k b_m)`: at most 1 where feasible. 0 / 0 counts as 0."""
        moves, scales = np.abs(changes.along(self.values)), self.scales[:, None]
        if (moves[self.scales == 0.0] > 0.0).any():
            return float("inf")
        # Divided after the difference is taken: P / c first would lose the small moves of a row with a small scale.
        shares = np.divide(moves, scales, out=np.zeros_like(moves), where=scales > 0.0)
        return float((shares.sum(axis=0) / changes.budget).max(initial=0.0))


def fit_rows_jointly(
    targets: ArrayLike,
    changes: Changes,
    count: float,
    best_scales: Callable[[Array], Array],
    tolerance: float = 1e-4,
    rounds: int = 30,
) -> Solution[ScaledFit]:
    """Descend from `P = Q` with the scales `best_scales(Q)`; stop when a round gains less than `tolerance / 10` of the loss.

    `best_scales(P)` returns scales (K,) for rows that all move, as good as it can; it is asked again after every round, and
    whatever it returns is multiplied until it is feasible. A round counts only if the recomputed loss of a feasible point
    fell. The lower bound is the better of `rows_alone` and `multiplier_bound`.
    """
    q = np.atleast_2d(np.asarray(targets, dtype=float))
    moving = np.abs(changes.along(q)).max(axis=1, initial=0.0) > 0.0
    if not moving.any():
        return Solution(Status.OPTIMAL, ScaledFit(q, np.zeros(len(q))), 0.0, 0.0, 0, "no row moves")
    rows = q[moving]
    best = _repaired(rows, best_scales(rows), changes)
    value, bound, k = best.loss(rows, count), rows_alone(rows, changes, count), 0
    while k < rounds:
        k += 1
        proposal = _round(best, rows, changes, count)
        if proposal is None:
            break
        moved, multipliers, signs = proposal
        bound = max(bound, multiplier_bound(rows, changes, count, multipliers, signs))
        tried = [_repaired(moved.values, moved.scales, changes)]
        if changes.along(moved.values).any(axis=1).all():
            tried.append(_repaired(moved.values, best_scales(moved.values), changes))
        better = min(tried, key=lambda fit: fit.loss(rows, count))
        gain = value - better.loss(rows, count)
        if gain > 0.0:
            best, value = better, value - gain
        if gain <= 0.1 * tolerance * value or value - bound <= tolerance * value:
            break
    status = Status.OPTIMAL if value - bound <= tolerance * value else Status.STALLED
    values, scales = q.copy(), np.zeros(len(q))
    values[moving], scales[moving] = best.values, best.scales
    return Solution(status, ScaledFit(values, scales), value, min(bound, value), k, "convex restrictions, Clarabel")


def _repaired(values: Array, scales: ArrayLike, changes: Changes) -> ScaledFit:
    """The same proportions of scales, multiplied by the worst ratio until the recomputed one is at most 1."""
    c = np.asarray(scales, dtype=float)
    c = c * ScaledFit(values, c).worst(changes)
    while ScaledFit(values, c).worst(changes) > 1.0:
        c = c * (1.0 + 2.0**-52)
    return ScaledFit(values, c)


def rows_alone(targets: Array, changes: Changes, count: float) -> float:
    """Sum over rows of the certified bound of `fit_jointly` with all of every budget: a relaxation of every limit."""
    return sum(fit_jointly(q, changes, count, SQUARED).lower_bound for q in targets)


def multiplier_bound(targets: Array, changes: Changes, count: float, multipliers: Array, signs: Array) -> float:
    """Lagrangian bound for multipliers `l >= 0` (M,) and any `signs` (K, M) in [-1, 1], the best over multiples of l.

    The Lagrangian separates into rows. With `f = sum_m l_m s_m d_m`, `a = f.q`, `e = ||f||^2 / (4 n^2)` and any t in [0, 1/c],
    `min over p of n^2 ||p - q||^2 + sum_m l_m |d_m.p| / c >= t a - t^2 e`; what is left is one-dimensional in c.
    """
    load = np.maximum(multipliers, 0.0)
    force = np.asarray((changes.matrix @ (np.clip(signs, -1.0, 1.0) * load).T).T)
    gain, drag = np.maximum((force * targets).sum(axis=1), 0.0), np.square(force).sum(axis=1) / (4.0 * count**2)
    cost = float(load @ changes.budget)
    factors = np.geomspace(0.25, 4.0, 33)
    values = [sum(map(_least_of_row, t * gain, t**2 * drag)) - t * cost for t in factors]
    return float(max(0.0, *values))


def uniform_bound(targets: Array, changes: Changes, count: float, multipliers: Array, signs: Array, power: int) -> float:
    """The same for the loss `sum_k (n max_i |P_ki - Q_ki|)^power + weight c_k^power`, weight 2 for power 2 and 1 for power 1.

    The dual of the supremum norm replaces that of the Euclidean one: `e = ||f||_1^2 / (4 n^2)`; for power 1, t is at most
    `n / ||f||_1` and `inf over c of c + min(1/c, n / ||f||_1) a` is at one of both ends (docs/theory/biased.md, section 4).
    """
    load = np.maximum(multipliers, 0.0)
    force = np.asarray((changes.matrix @ (np.clip(signs, -1.0, 1.0) * load).T).T)
    gain, size = np.maximum((force * targets).sum(axis=1), 0.0), np.abs(force).sum(axis=1)
    cost, best = float(load @ changes.budget), 0.0
    for t in np.geomspace(0.25, 4.0, 33):
        if power == 2:
            rows = map(_least_of_row, t * gain, t**2 * size**2 / (4.0 * count**2))
        else:
            reach = np.divide(count, size, out=np.zeros_like(size), where=size > 0.0)
            rows = map(_least_absolute, t * gain, reach / t)
        best = max(best, sum(rows) - t * cost)
    return float(best)


def _least_absolute(a: float, most: float) -> float:
    """`inf over c > 0 of c + a min(1 / c, most)`: at c = 0, or where `c = sqrt(a)` if `1 / c` is at most `most` there."""
    return min(a * most, 2.0 * math.sqrt(a)) if a * most**2 >= 1.0 else a * most


def _least_of_row(a: float, e: float) -> float:
    """`inf over c > 0 of 2 c^2 + max over 0 <= t <= 1/c of (t a - t^2 e)`.

    For c >= 2 e / a the maximum is at t = 1/c and stationary points solve `4 c^4 - a c + 2 e = 0`; below, it is `a^2 / (4 e)`.
    """
    if a <= 0.0:
        return 0.0
    corner = 2.0 * e / a
    roots = np.roots([4.0, 0.0, 0.0, -a, 2.0 * e])
    real = roots.real[np.abs(roots.imag) <= 1e-6 * np.abs(roots)]
    inner = [2.0 * c**2 + a / c - e / c**2 for c in [corner, *real] if c > 0.0 and c >= corner]
    return float(min([*inner, a**2 / (4.0 * e)] if e > 0.0 else inner))


def _round(fit: ScaledFit, targets: Array, changes: Changes, count: float) -> tuple[ScaledFit, Array, Array] | None:
    """Solve the convex restriction at `fit`: `(new point, multipliers (M,), signs (K, M))`; limits are generated."""
    scaled = changes.along(fit.values / fit.scales[:, None])
    ratios = np.abs(scaled).sum(axis=0) / changes.budget
    # N limits at a time: with N = 50, K = 7 a solve takes 0.01 s, with all 1225 limits at once 10 s, and few of them bind.
    size = targets.shape[1]
    active = np.argsort(-ratios)[:size]
    split = np.hypot(scaled, FLOOR * changes.budget)
    for _ in range(10):
        solved = _Restriction(fit.scales, targets, changes, count, active, split[:, active]).solve()
        if solved is None:
            return None
        moved, load = solved
        new = np.abs(changes.along(moved.values / moved.scales[:, None])).sum(axis=0)
        violated = np.setdiff1d(np.flatnonzero(new > changes.budget * (1.0 + 1e-6)), active)
        if violated.size == 0:
            break
        active = np.concatenate([active, violated[np.argsort(-(new / changes.budget)[violated])][:size]])
    multipliers = np.zeros(changes.count)
    multipliers[active] = load
    return moved, multipliers, changes.along(moved.values / moved.scales[:, None]) / split


@dataclass(frozen=True)
class _Restriction:
    """`sum_k x_km^2 / (2 t_km) + t_km w_k^2 / 2 <= b_m` on the `active` limits, in units of the current scales (w = 1 there).

    Variables `delta = n (P - Q) / c` (K N), w (K) and r (K) with `r >= w^-2`, a power cone; the loss is
    `max(c)^2 sum_k share_k (||delta_k||^2 + 2 r_k)` with `share_k = (c_k / max c)^2`.
    """

    scales: Array
    targets: Array
    changes: Changes
    count: float
    active: NDArray[np.intp]
    split: Array

    def solve(self) -> tuple[ScaledFit, Array] | None:
        """The optimum and the multipliers of the active limits, or None when the backend has no answer."""
        import clarabel
        from scipy.sparse import csc_matrix, diags_array, vstack

        k, n = self.targets.shape
        share = (self.scales / self.scales.max()) ** 2
        curvature = np.concatenate([np.repeat(2.0 * share, n), np.zeros(2 * k)])
        linear = np.concatenate([np.zeros(k * n + k), 2.0 * share])
        limits, limit_side = self._limits()
        powers, power_side = self._powers()
        cones = [clarabel.SecondOrderConeT(2 * k + 1)] * self.active.size + [clarabel.PowerConeT(1.0 / 3.0)] * k
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        matrix, side = csc_matrix(vstack([limits, powers])), np.concatenate([limit_side, power_side])
        found = clarabel.DefaultSolver(csc_matrix(diags_array(curvature)), linear, matrix, side, cones, settings).solve()
        x, z = np.array(found.x), np.array(found.z)
        w = x[k * n : k * n + k]
        if not (np.isfinite(x).all() and np.isfinite(z).all() and (w > 0.0).all()):
            return None
        values = self.targets + x[: k * n].reshape(k, n) * (self.scales / self.count)[:, None]
        # The cone bounds ||v|| <= 1 where the limit is b ||v||^2 <= b: its multiplier is smaller by the factor 2 b.
        load = z[: self.active.size * (2 * k + 1) : 2 * k + 1] * self.scales.max() ** 2 / (2.0 * self._budget)
        return ScaledFit(values, self.scales / w), load

    @property
    def _budget(self) -> Array:
        return np.asarray(self.changes.budget[self.active])

    def _limits(self) -> tuple[Any, Array]:
        """Cones `(1, x_k / sqrt(2 b t_k), sqrt(t_k / (2 b)) w_k)`, one after the other; `A y + slack = side`."""
        from scipy.sparse import coo_array

        k, n = self.targets.shape
        stride, m = 2 * k + 1, self.active.size
        picked = self.changes.matrix[:, self.active].T.tocoo()
        moves = self.changes.along(self.targets / self.scales[:, None], self.active)
        inverse, weight = 1.0 / np.sqrt(2.0 * self._budget * self.split), np.sqrt(self.split / (2.0 * self._budget))
        query, limit = np.arange(k)[:, None], np.arange(m)[None, :]
        row = np.concatenate([(picked.row * stride + 1 + query).ravel(), (limit * stride + 1 + k + query).ravel()])
        column = np.concatenate([(query * n + picked.col).ravel(), (k * n + query + 0 * limit).ravel()])
        value = np.concatenate([(-inverse[:, picked.row] * picked.data / self.count).ravel(), -weight.ravel()])
        side = np.zeros((m, stride))
        side[:, 0], side[:, 1 : k + 1] = 1.0, (moves * inverse).T
        return coo_array((value, (row, column)), shape=(m * stride, k * n + 2 * k)), side.ravel()

    def _powers(self) -> tuple[Any, Array]:
        """Cones `(r_k, w_k, 1)`: `r^(1/3) w^(2/3) >= 1`."""
        from scipy.sparse import coo_array

        k, n = self.targets.shape
        step = 3 * np.arange(k)
        row, column = np.concatenate([step, step + 1]), k * n + np.concatenate([k + np.arange(k), np.arange(k)])
        return coo_array((-np.ones(2 * k), (row, column)), shape=(3 * k, k * n + 2 * k)), np.tile([0.0, 0.0, 1.0], k)
