"""One function and its Lipschitz constant, jointly: `min (n ||p - q||)^power + weight c^power` s.t. `|d_m' p| <= c b_m`.

Convex because numerator and constant enter linearly: `p` is what is answered, `c` the scale of its noise. The limits are
generated as they are violated, the value is that of a feasible pair (c is scaled up after the fact), and the lower bound is
recomputed from the multipliers by weak duality, whatever the backend says. Derivations in docs/theory/biased.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.limited import conic_program
from solvers.programs.changes import Changes, ChangeSet, Keys, Steepest
from solvers.programs.loads import STEPS, solved
from solvers.solution import Solution, Status
from solvers.work import spend

# Nearest Lipschitz functions in the supremum norm, in closed form, and the one-dimensional programs that remain.
#
# Notation: `d` a metric on N points, `c >= 0`. A function p is feasible for c when `|p_i - p_j| <= c d_ij`. With an origin at
# distances `a_i`, where p must vanish, also `|p_i| <= c a_i`. Derivations in docs/theory/biased.md.


@dataclass(frozen=True, eq=False)
class LipschitzFit:
    """A function `values` (N,) and a `constant` c for which it is feasible."""

    values: Array
    constant: float

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=float)
        if values.ndim != 1 or not np.isfinite(values).all() or not 0.0 <= self.constant < math.inf:
            raise ValueError(f"values must be a finite vector and constant ({self.constant}) finite and not negative.")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)


@dataclass(frozen=True, eq=False)
class Distances:
    """Shortest-path closure of `distance` (N, N), infinite where unrelated, and of distances `to_origin` (N,) or None.

    What pairwise limits imply along paths is part of the constraint, so the closure is taken here (0.5 s at N = 741).

    >>> Distances([[0, 1, 9], [1, 0, 2], [9, 2, 0]]).distance[0].tolist()
    [0.0, 1.0, 3.0]
    """

    distance: Array
    to_origin: Array | None = None

    def __init__(self, distance: ArrayLike, to_origin: ArrayLike | None = None) -> None:
        from scipy.sparse.csgraph import shortest_path

        d = np.array(distance, dtype=float)
        n = len(d)
        full = np.full((n + 1, n + 1), np.inf)
        full[:n, :n] = d
        if to_origin is not None:
            full[n, :n] = full[:n, n] = to_origin
        np.fill_diagonal(full, 0.0)
        if not np.array_equal(full, full.T) or (full + np.eye(n + 1) <= 0.0).any():
            raise ValueError("distance must be symmetric and positive off its diagonal: merge points at distance 0 first.")
        closed = shortest_path(full, method="FW", directed=False)
        closed.setflags(write=False)
        object.__setattr__(self, "distance", closed[:n, :n])
        object.__setattr__(self, "to_origin", None if to_origin is None else closed[n, :n])

    def constant(self, values: Array) -> float:
        """The least c for which `values` is feasible, `inf` when none is."""
        i, j = np.triu_indices(len(self.distance), 1)
        least = float((np.abs(values[i] - values[j]) / self.distance[i, j]).max(initial=0.0))
        return least if self.to_origin is None else max(least, float((np.abs(values) / self.to_origin).max(initial=0.0)))

    def extension(self, target: ArrayLike, c: float) -> tuple[Array, float]:
        """`(p, e)`: feasible for c with the least `e = max_i |p_i - q_i|`; McShane's `p_i = min_j (q_j + e + c d_ij)`."""
        q = np.asarray(target, dtype=float)
        # c * inf is nan at c = 0, where unrelated points are still unrelated.
        reach = np.where(np.isfinite(self.distance), c, 1.0) * self.distance
        # The least Lipschitz function from below: q - lowest is max_j (q_i - q_j - c d_ij),
        # so no envelope over all pairs is needed.
        lowest = (q + reach).min(axis=1)
        e = float((q - lowest).max()) / 2.0
        if self.to_origin is not None:
            finite = np.isfinite(self.to_origin)
            e = max(e, float((np.abs(q[finite]) - c * self.to_origin[finite]).max(initial=0.0)))
        p = lowest + e
        if self.to_origin is not None:
            p[finite] = np.minimum(p[finite], c * self.to_origin[finite])
        return p, e


@dataclass(frozen=True, eq=False)
class Envelope:
    """A convex, piecewise-linear, decreasing function of `c >= 0`: `values` at `breaks` (from 0), constant after the last."""

    breaks: Array
    values: Array

    def __call__(self, c: float) -> float:
        return float(np.interp(c, self.breaks, self.values))


def defect(targets: ArrayLike, metric: Distances) -> Envelope:
    """`E(c)`, the least `max_i |p_i - q_i|` over feasible p, the worst over the rows q of `targets` (K, N) or (N,).

    `E(c) = max over q of max_ij (|q_i - q_j| - c d_ij)_+ / 2`, and `(|q_i| - c a_i)_+` with an origin: an envelope of lines.
    """
    rows = np.atleast_2d(np.asarray(targets, dtype=float))
    n = rows.shape[1]
    if metric.distance.shape != (n, n):
        raise ValueError(f"targets have {n} columns and the metric {len(metric.distance)} points: they must agree.")
    i, j = np.triu_indices(n, 1)
    height = np.zeros(i.size)
    for q in rows:  # one row at a time: K x N^2 / 2 differences would not fit for many rows
        np.maximum(height, np.abs(q[i] - q[j]), out=height)
    height, slope = height / 2.0, metric.distance[i, j] / 2.0
    if metric.to_origin is not None:
        height = np.concatenate([height, np.abs(rows).max(axis=0)])
        slope = np.concatenate([slope, metric.to_origin])
    return _upper_envelope(height, slope)


def _upper_envelope(height: Array, slope: Array) -> Envelope:
    """`max(0, max_m height_m - slope_m c)` on c >= 0: concave hull of the points (slope, height) from (0, 0) on."""
    kept = np.isfinite(slope) & (height > 0.0)
    order = np.lexsort((-height[kept], slope[kept]))
    s, h = slope[kept][order], height[kept][order]
    top = np.maximum.accumulate(h)
    # A steeper line that starts no higher is never above: only records of the height count. 274,170 pairs leave some hundreds.
    record = np.concatenate([[True], h[1:] > top[:-1]])[: h.size]
    hull = [(0.0, 0.0)]
    for x, y in zip(s[record].tolist(), h[record].tolist(), strict=True):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    corner = np.array(hull[::-1])
    if len(corner) == 1:
        return Envelope(np.zeros(1), np.zeros(1))
    breaks = (corner[:-1, 1] - corner[1:, 1]) / (corner[:-1, 0] - corner[1:, 0])
    values = corner[1:, 1] - breaks * corner[1:, 0]
    return Envelope(np.concatenate([[0.0], breaks]), np.concatenate([[corner[0, 1]], values]))


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def least_concave_sum(envelope: Envelope, bias: float, noise: float, power: float = 1.0 / 3.0) -> Solution[float]:
    """The c that minimises `bias E(c) + noise c^power`, 0 < power <= 1, over c >= 0: the best break, exactly.

    Between breaks E is linear and `c^power` concave, so the sum is concave there and its minimum lies at an end; after the last
    break E is constant and the sum increases. The minimum over finitely many numbers is its own lower bound.

    >>> least_concave_sum(Envelope(np.array([0.0, 8.0]), np.array([1.0, 0.0])), bias=10.0, noise=1.0).point
    8.0
    """
    if not (bias >= 0.0 and noise >= 0.0 and 0.0 < power <= 1.0):
        raise ValueError(f"bias {bias} and noise {noise} must not be negative, power {power} in (0, 1].")
    return least_at_breaks(envelope, bias, lambda c: noise * c**power)


def least_at_breaks(envelope: Envelope, bias: float, price: Callable[[float], float]) -> Solution[float]:
    """The c that minimises `bias E(c) + price(c)` over c >= 0,
    for any concave price that does not decrease: the best break, exactly."""
    sums = bias * envelope.values + np.array([price(c) for c in envelope.breaks.tolist()])
    k = int(np.argmin(sums))
    return Solution(
        Status.OPTIMAL, float(envelope.breaks[k]), float(sums[k]), float(sums[k]), sums.size, "breaks of the envelope"
    )


def least_square_sum(envelope: Envelope, bias: float, noise: float) -> Solution[float]:
    """The c that minimises `(bias E(c))^2 + noise c^2`: a parabola on each piece `E = h - s c`, its vertex in closed form."""
    left, right = envelope.breaks[:-1], envelope.breaks[1:]
    slope = (envelope.values[:-1] - envelope.values[1:]) / (right - left)
    height = envelope.values[:-1] + slope * left
    vertex = bias**2 * slope * height / (bias**2 * slope**2 + noise)
    candidates = np.concatenate([envelope.breaks, np.clip(vertex, left, right)])
    sums = (bias * np.interp(candidates, envelope.breaks, envelope.values)) ** 2 + noise * candidates**2
    k = int(np.argmin(sums))
    return Solution(Status.OPTIMAL, float(candidates[k]), float(sums[k]), float(sums[k]), sums.size, "vertices of parabolas")


Array = NDArray[np.float64]


@dataclass(frozen=True)
class ProgramLoss:
    """`(n ||p - q||_order)^power + weight c^power`: order 1, 2 or inf, power 1 or 2."""

    order: float
    power: int
    weight: float

    def __post_init__(self) -> None:
        if self.order not in (1.0, 2.0, math.inf) or self.power not in (1, 2) or not 0.0 < self.weight < math.inf:
            raise ValueError(f"{self}: order must be 1, 2 or inf, power 1 or 2, weight positive and finite.")

    def value(self, bias: Array, constant: float, count: float) -> float:
        """The loss of `bias = p - q` and `constant = c` at n = `count`."""
        size = float(np.linalg.norm(bias, self.order)) if bias.size else 0.0
        return float((count * size) ** self.power + self.weight * constant**self.power)

    def bound(self, target: Array, force: Array, reach: float, count: float) -> float:
        """A lower bound from any multipliers l: `force = sum l_m d_m` (signs included), `reach = sum |l_m| b_m`.

        power 1: `t force.q` with the largest t that keeps `t ||force||_* <= n` and `t reach <= weight`;
        power 2: `max over t of t force.q - t^2 (||force||_*^2 / (4 n^2) + reach^2 / (4 weight))`.
        """
        gain = float(pulls(target, force))
        dual = float(np.linalg.norm(force, {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[self.order]))
        if gain <= 0.0:
            return 0.0
        if self.power == 2:
            return gain**2 / (dual**2 / count**2 + reach**2 / self.weight)
        return gain / max(dual / count, reach / self.weight)


def pulls(targets: Array, forces: Array) -> Array:
    """`f'q` along the last axis, less what its rounding may be: forces add up to 0 where targets may be far from it.

    targets, forces: (..., N).
    """
    products = forces * targets
    return np.asarray(products.sum(axis=-1) - (products.shape[-1] + 16) * 2.0**-52 * np.abs(products).sum(axis=-1))


SQUARED = ProgramLoss(2.0, 2, 2.0)
SQUARED_MAXIMUM = ProgramLoss(math.inf, 2, 2.0)
ABSOLUTE = ProgramLoss(1.0, 1, 1.0)
EUCLIDEAN = ProgramLoss(2.0, 1, 1.0)
MAXIMUM = ProgramLoss(math.inf, 1, 1.0)


def fit_uniformly(target: ArrayLike, metric: Distances, count: float, loss: ProgramLoss) -> Solution[LipschitzFit]:
    """The exact optimum for order inf: c is a break of the defect or a vertex between breaks, p is McShane's extension.

    target: (N,). docs/theory/biased.md, section 3.
    """
    if not math.isinf(loss.order):
        raise ValueError(f"{loss}: closed forms exist for order inf only; use `fit_jointly`.")
    q, n = np.asarray(target, dtype=float), _checked_count(count)
    best = _least_sum(defect(q, metric), n, loss)
    p, _ = metric.extension(q, best.point)
    fit = LipschitzFit(p, max(best.point, metric.constant(p)))
    value = loss.value(p - q, fit.constant, n)
    return Solution(Status.OPTIMAL, fit, value, min(best.lower_bound, value), best.iterations, f"McShane, {best.method}")


def _least_sum(envelope: Envelope, count: float, loss: ProgramLoss) -> Solution[float]:
    if loss.power == 1:
        return least_concave_sum(envelope, count, loss.weight, power=1.0)
    return least_square_sum(envelope, count, loss.weight)


def fit_jointly(
    target: ArrayLike, changes: ChangeSet, count: float, loss: ProgramLoss = SQUARED, tolerance: float = 1e-6, rounds: int = 100
) -> Solution[LipschitzFit]:
    """The optimal (p, c) for `target` q (N,) and n = `count`, within the relative certified gap `tolerance`.

    changes: written out, or a set that is scanned for its steepest members. docs/theory/biased.md, section 2.

    >>> fit = fit_jointly([0.0, 1.0], Changes.of_metric([[0, 1], [1, 0]]), count=1.0)
    >>> round(fit.value, 6), fit.point.values.round(6).tolist(), round(fit.point.constant, 6)
    (0.4, [0.4, 0.6], 0.2)
    """
    q, n = np.asarray(target, dtype=float), _checked_count(count)
    if q.shape != (changes.size,):
        raise ValueError(f"target has shape {q.shape}, the changes need ({changes.size},).")
    found = changes.steepest(q[None], 2 * q.size)
    best = LipschitzFit(q, found.worst)
    value, bound, k = loss.value(np.zeros(q.size), best.constant, n), 0.0, 0
    if value == 0.0:
        return Solution(Status.OPTIMAL, best, 0.0, 0.0, 0, "already constant")
    cuts = _Cuts.first(q, found)
    for _ in range(rounds):
        k += 1
        # Units in which the best loss so far is about 1: the optimal c may be a thousandth of the first one.
        unit = (value / loss.weight) ** (1.0 / loss.power)
        proposal = _CutProgram(q, n, loss, unit).solve(cuts)
        if proposal is None:
            break
        p, c, multipliers = proposal
        found = changes.steepest(p[None], 2 * q.size)
        bound = max(bound, _dual(q, cuts, multipliers, n, loss))
        if (repaired := loss.value(p - q, found.worst, n)) < value:
            best, value = LipschitzFit(p, found.worst), repaired
        rescaled = unit > 1.5 * (value / loss.weight) ** (1.0 / loss.power)
        if value - bound <= tolerance * value or not (cuts.extend(p, c, found) or rescaled):
            break
    status = Status.OPTIMAL if value - bound <= tolerance * value else Status.STALLED
    return Solution(status, best, value, min(bound, value), k, f"{cuts.sign.size} cutting planes, Clarabel")


def _checked_count(count: float) -> float:
    if not 0.0 < count < math.inf:
        raise ValueError(f"count is {count}: it must be positive and finite.")
    return float(count)


def _dual(q: Array, cuts: _Cuts, multipliers: Array, count: float, loss: ProgramLoss) -> float:
    signed = np.maximum(multipliers, 0.0) * cuts.sign
    force = np.asarray(cuts.changes.matrix @ signed)
    return loss.bound(q, force, float(np.abs(signed) @ cuts.changes.budget), count)


@dataclass
class _Cuts:
    """The limits in force: `sign_m d_m' p <= c b_m` for the changes m. Grows."""

    changes: Changes
    keys: Keys
    sign: Array

    @classmethod
    def first(cls, q: Array, found: Steepest) -> _Cuts:
        moved = found.changes.along(q)[0]
        return cls(found.changes, found.keys, np.where(moved >= 0.0, 1.0, -1.0))

    def extend(self, p: Array, c: float, found: Steepest) -> bool:
        """Add the worst violations of (p, c) that were found; False when every one of them is in force already."""
        moved = found.changes.along(p)[0]
        excess, signs = np.abs(moved) / found.changes.budget - c, np.sign(moved)
        known = np.isin(2 * found.keys + (signs > 0), 2 * self.keys + (self.sign > 0))
        fresh = np.flatnonzero((excess > 1e-12 * max(c, 1e-300)) & ~known)
        self.changes = self.changes.joined(found.changes.chosen(fresh))
        self.keys = np.concatenate([self.keys, found.keys[fresh]])
        self.sign = np.concatenate([self.sign, signs[fresh]])
        return bool(fresh.size)


@dataclass(frozen=True)
class _CutProgram:
    """The conic program on the cuts, in multiples of `unit` (interior-point tolerances are relative to the data).

    With `c = unit x` and `p - q = unit delta / n` the loss is `unit^power (||delta||^power + weight x^power)`.
    """

    target: Array
    count: float
    loss: ProgramLoss
    unit: float

    def solve(self, cuts: _Cuts) -> tuple[Array, float, Array] | None:
        """`(p, c, multipliers)`, or None where the backend does not say that it solved the program."""
        import clarabel

        n, m = self.target.size, cuts.sign.size
        quadratic, linear, rows, right, cones = self._shape(clarabel)
        cut, offset = self._limits(cuts, quadratic.shape[0])
        from scipy.sparse import csc_matrix, csr_array, vstack

        # c >= 0: few cuts have one sign alone, and let c fall without end.
        floor = csr_array(([-1.0], ([0], [n])), shape=(1, quadratic.shape[0]))
        matrix, vector = csc_matrix(vstack([cut, floor, rows])), np.concatenate([offset, [0.0], right])
        cones = [clarabel.NonnegativeConeT(m + 1), *cones]
        spend(calls=20, pivots=STEPS * (matrix.nnz + vector.size))
        found = conic_program(quadratic, linear, matrix, vector, cones, 1e-10)
        x, z = np.array(found.x), np.array(found.z)
        if not solved(found):
            return None
        return self.target + x[:n] * self.unit / self.count, float(x[n]) * self.unit, z[:m] / cuts.changes.budget

    def _limits(self, cuts: _Cuts, width: int) -> tuple[Any, Array]:
        """`sign d'(q / unit + delta / n) / b <= x`: divided by the budgets, so that rows are alike."""
        from scipy.sparse import csc_matrix, diags_array, hstack

        budget, picked = cuts.changes.budget, cuts.changes.matrix
        rows = diags_array(cuts.sign / budget / self.count) @ picked.T
        column = csc_matrix(-np.ones((cuts.sign.size, 1)))
        rest = csc_matrix((cuts.sign.size, width - self.target.size - 1))
        offset = -cuts.sign * np.asarray(picked.T @ self.target) / budget / self.unit
        return hstack([rows, column, rest]), offset

    def _shape(self, clarabel: Any) -> tuple[Any, Array, Any, Array, list[Any]]:
        """Objective and norm cones over `(delta (N), x, s, t (N, order 1 only))` with `s >= ||delta||`.

        The square of the Euclidean norm needs delta and x alone."""
        from scipy.sparse import block_array, csc_matrix, diags_array, eye_array

        n, order = self.target.size, self.loss.order
        width = 2 * n + 2 if order == 1.0 else n + 2
        cost = np.zeros(width)
        cost[n], cost[n + 1] = self.loss.weight, 1.0
        squares = 2.0 * cost if self.loss.power == 2 else np.zeros(width)
        linear = cost if self.loss.power == 1 else np.zeros(width)
        one, eye, gap = np.ones((n, 1)), eye_array(n), np.zeros((n, 1))
        if order == 2.0 and self.loss.power == 2:
            # `||delta||^2` as it stands: the square of a bound on the norm leaves the solver without progress near the optimum.
            squares = np.append(np.full(n, 2.0), 2.0 * self.loss.weight)
            return csc_matrix(diags_array(squares)), np.zeros(n + 1), csc_matrix((0, n + 1)), np.zeros(0), []
        if order == 2.0:
            blocks: list[list[Any]] = [[None, gap[:1], -one[:1]], [-eye, gap, gap]]
            rows = block_array(blocks)
            return csc_matrix(diags_array(squares)), linear, rows, np.zeros(n + 1), [clarabel.SecondOrderConeT(n + 1)]
        if order == math.inf:
            blocks = [[eye, gap, -one], [-eye, gap, -one]]
        else:
            blocks = [[eye, gap, gap, -eye], [-eye, gap, gap, -eye], [None, gap[:1], -one[:1], one.T]]
        rows = block_array(blocks)
        size = int(rows.shape[0])
        return csc_matrix(diags_array(squares)), linear, rows, np.zeros(size), [clarabel.NonnegativeConeT(size)]
