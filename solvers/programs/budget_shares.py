"""Shares s of several budgets: minimise `max_k (V / s)_k` subject to `G s <= 1`, s >= 0, for sparse nonnegative V and G.

Convex, because 1/s is. Few rows of G and very many unknowns are the case in mind, so the program is solved through its dual.
For multipliers lambda of the budgets and omega of the costs, `a = G' lambda`, `b = V' omega`,
the Lagrangian is least at `s = sqrt(b / a)`, and

    optimum >= F^2 / (sum lambda sum omega),   F = sum_A sqrt(a_A b_A),      for all lambda, omega >= 0:

any multipliers prove a bound, whoever found them, and propose the point `sqrt(b / a)`, divided by its largest load. With one
row of V (a weighted sum) there is nothing to choose in omega; with one row of G besides, the bound is attained at once:
`s ~ sqrt(v / g)`. F is jointly concave, so `2 log F - sum lambda - sum omega` is maximised
by a primal-dual interior point (docs/theory/marginals.md, 3).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solvers.ellipsoids.dual import APART, SHRINK, conjugate_gradients, longest_step
from solvers.programs.noise_costs import NoiseCost
from solvers.solution import Solution, Status, relative_gap

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Floats = NDArray[np.float64]
Matrix: TypeAlias = "csr_array | Floats"

DIRECT_ORDER = 300  # multipliers whose Newton matrix is written out
# Entries of loads and costs that are kept as plain arrays: below, what scipy's sparse arrays do beside sums takes longer.
PLAIN_ENTRIES = 100_000
WARM_ROUNDS = 30
# The warm start may take weights to 1e-90 of the largest, from where single Newton steps went astray (10 of 96 maximum programs
# of up to 20,000 unknowns). With this floor, and steps down to a hundredth, none did,
# and weighted sums take 25 steps instead of 44.
FLOOR = 1e-2


@dataclass(frozen=True, eq=False)
class ShareData:
    """The two programs' data: loads G (m, n) and costs V (K, n), nonnegative, no zero column; plain arrays where small."""

    loads: Matrix
    costs: Matrix

    @classmethod
    def of(cls, loads: Matrix, costs: Matrix) -> ShareData:
        """Both in the form that suits their size."""
        from scipy.sparse import csr_array

        given = (loads, costs)
        if sum(matrix.shape[0] * matrix.shape[1] for matrix in given) <= PLAIN_ENTRIES:
            return cls(*(np.asarray(m if isinstance(m, np.ndarray) else m.toarray(), dtype=np.float64) for m in given))
        return cls(*(csr_array(matrix).astype(np.float64) for matrix in given))

    @property
    def order(self) -> int:
        """Number of multipliers; those of a single cost row do not count, because they are fixed."""
        return int(self.loads.shape[0] + (self.costs.shape[0] if self.costs.shape[0] > 1 else 0))

    def at(self, weights: Floats) -> _Point:
        """Everything about multipliers `weights`, (order,)."""
        rows = self.loads.shape[0]
        chosen = weights[rows:] if self.costs.shape[0] > 1 else np.ones(1)
        return _Point(self, weights, self.loads.T @ weights[:rows], self.costs.T @ chosen, float(chosen.sum()))


class _Point:
    """Multipliers, the shares that they propose, the value of those and the bound that the multipliers prove."""

    def __init__(self, shares: ShareData, weights: Floats, a: Floats, b: Floats, chosen: float) -> None:
        self.data, self.weights, self.a, self.b = shares, weights, a, b
        self.roots = np.sqrt(a * b)
        self.total = float(self.roots.sum())
        proposed = np.sqrt(b / a)
        load = shares.loads @ proposed
        cost = shares.costs @ (1 / proposed)
        self.shares: Floats = proposed / load.max()
        self.value = float(load.max() * cost.max())
        budget = float(weights[: len(load)].sum())
        # Lowered for the rounding of the sums: n nonnegative terms added pairwise keep far more than 40 bits.
        self.bound = self.total**2 / (budget * chosen) * (1 - 1e-12)
        # The gradient of 2 log F; at the optimum at most 1, and 1 where a multiplier is positive.
        self.slope = np.concatenate([load, cost][: 1 + (len(weights) > len(load))]) / self.total

    def spread(self, move: Floats) -> Floats:
        """`da / a - db / b` for a change of the multipliers."""
        rows = self.data.loads.shape[0]
        change = self.data.loads.T @ move[:rows] / self.a
        return np.asarray(change if len(move) == rows else change - self.data.costs.T @ move[rows:] / self.b)

    def gather(self, values: Floats) -> Floats:
        """The transpose of `spread`."""
        first = self.data.loads @ (values / self.a)
        if self.data.costs.shape[0] == 1:
            return np.asarray(first)
        return np.concatenate([first, -(self.data.costs @ (values / self.b))])

    def curvature(self, move: Floats) -> Floats:
        """Minus the second derivative of 2 log F, times a change: `slope slope' / 2 + C' diag(roots) C / (2 F)`,
        C = `spread`."""
        bent = self.gather(self.roots * self.spread(move)) / self.total
        return np.asarray(0.5 * (self.slope * float(self.slope @ move) + bent))

    def curvature_diagonal(self) -> Floats:
        """Its diagonal."""
        bent = _squares(self.data.loads) @ (self.roots / self.a**2)
        if self.data.costs.shape[0] > 1:
            bent = np.concatenate([bent, _squares(self.data.costs) @ (self.roots / self.b**2)])
        return np.asarray(0.5 * (self.slope**2 + bent / self.total))

    def curvature_matrix(self) -> Floats:
        """The same as a matrix."""
        if isinstance(self.data.loads, np.ndarray):
            plain = self.data.loads / self.a
            if self.data.costs.shape[0] > 1:
                plain = np.concatenate([plain, -self.data.costs / self.b])
            bent = (plain * self.roots) @ plain.T
        else:
            bent = self._sparse_bend()
        return np.asarray(0.5 * (np.outer(self.slope, self.slope) + bent / self.total))

    def _sparse_bend(self) -> Floats:
        from scipy.sparse import diags_array, vstack

        parts: list[Any] = [self.data.loads @ diags_array(1 / self.a)]
        if self.data.costs.shape[0] > 1:
            parts.append(-(self.data.costs @ diags_array(1 / self.b)))
        factor = vstack(parts).tocsr()
        return np.asarray((factor @ diags_array(self.roots) @ factor.T).toarray())


def _squares(matrix: Matrix) -> Matrix:
    return matrix**2 if isinstance(matrix, np.ndarray) else matrix.power(2)


def minimise_cost(loads: Matrix, costs: Matrix, *, tolerance: float = 1e-9, max_iterations: int = 100) -> Solution[Floats]:
    """The shares s (n,) of least largest cost `max_k (V / s)_k` among `G s <= 1`; one row of V gives a plain weighted sum.

    loads G: (m, n), costs V: (K, n), arrays or scipy-sparse, nonnegative, no zero column, no zero row in V. Value and lower
    bound are recomputed from the multipliers alone. Measured, n = 166,750, m = 100: 0.7 s for K = 1, 2.1 s for K = n.
    """
    data = ShareData.of(loads, costs)
    if data.order == 1:  # one budget and one sum: any multiplier is the best
        only = data.at(np.ones(1))
        return Solution(Status.OPTIMAL, only.shares, only.value, min(only.bound, only.value), 0, "closed form")
    best, prover, steps = _follow_path(data, tolerance, max_iterations)
    closed = best.value - prover.bound <= tolerance * best.value
    status = Status.OPTIMAL if closed else Status.STALLED
    bound = min(prover.bound, best.value)
    return Solution(status, best.shares, best.value, bound, steps, f"interior point over {data.order} multipliers")


def _follow_path(data: ShareData, tolerance: float, max_iterations: int) -> tuple[_Point, _Point, int]:
    """The iterate of least value, the iterate of largest bound, and the number of Newton steps."""
    point = _warm_start(data)
    slack = 1.0 - point.slope
    best = prover = point
    step = 0
    for step in range(1, max_iterations + 1):
        if best.value - prover.bound <= tolerance * best.value:
            return best, prover, step - 1
        try:
            point, slack = _newton_step(point, slack)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(point.value):
            break
        best = min(best, point, key=lambda candidate: candidate.value)
        prover = max(prover, point, key=lambda candidate: candidate.bound)
    return best, prover, step


def _warm_start(data: ShareData) -> _Point:
    """Multiplicative updates, which move weight to what is overloaded, then a multiple with all slopes at most 0.9.

    Slopes have degree -1 in the multipliers of one kind; scaling both kinds by their own largest slope makes both feasible.
    """
    rows = data.loads.shape[0]
    point = data.at(np.ones(data.order))
    for _ in range(WARM_ROUNDS):
        point = data.at(point.weights * np.maximum(point.slope / point.slope.max(), 1e-3))
    weights = point.weights.copy()
    for part in (slice(0, rows), slice(rows, None)):
        weights[part] = np.maximum(weights[part], FLOOR * weights[part].max(initial=0.0))
    point = data.at(weights)
    for part in (slice(0, rows), slice(rows, None)):
        weights[part] *= point.slope[part].max(initial=0.0) / 0.9
    return data.at(weights)


def _newton_step(point: _Point, slack: Floats) -> tuple[_Point, Floats]:
    """One step along the barrier path `weight * slack = mu`, mu shrunk once slopes and slacks agree."""
    weights = point.weights
    apart = _disagreement(point, slack)
    target = (SHRINK if apart < APART else 1.0) * float(weights @ slack) / weights.size
    diagonal = slack / weights
    push = point.slope - 1.0 + target / weights
    move = _solve(point, diagonal, push)
    slack_move = target / weights - slack - diagonal * move
    length, slack_length = longest_step(weights, move), longest_step(slack, slack_move)
    for shortened in (1.0, 0.5, 0.25, 0.1, 0.03, 0.01):
        reached = point.data.at(weights + shortened * length * move)
        moved_slack = slack + shortened * slack_length * slack_move
        if _disagreement(reached, moved_slack) < max(2.0 * apart, 5.0 * APART):
            break
    return reached, moved_slack


def _disagreement(point: _Point, slack: Floats) -> float:
    """How far slacks and slopes are apart."""
    return float(np.abs(point.slope - 1.0 + slack).max())


def _solve(point: _Point, diagonal: Floats, push: Floats) -> Floats:
    """The Newton direction: Cholesky of the matrix scaled to unit diagonal,
    or conjugate gradients where it is too large to write out."""
    if point.data.order > DIRECT_ORDER:
        inverse = 1.0 / (diagonal + point.curvature_diagonal())
        return conjugate_gradients(lambda v: point.curvature(v) + diagonal * v, inverse, push, 0.01, 200)
    from scipy.linalg import cho_factor, cho_solve

    matrix = point.curvature_matrix() + np.diag(diagonal)
    scale = 1 / np.sqrt(matrix.diagonal())
    return np.asarray(scale * cho_solve(cho_factor(matrix * np.outer(scale, scale)), scale * push))


# Weights of least cost under a budget for every column: `min sum_k v_k f_k(x_k)`, `sum_k a_ki x_k <= b_i` for every i.
#
# f_k is convex and falls, the entries a are at least 0, and there may be millions of columns: the matrix is asked for
# products alone. Multipliers y of the columns are multiplied, again and again, by a power of the load of their column, and
# every x is the best answer to them. Whatever y is, `sum_k min_x (v_k f_k(x) + (A y)_k x) - sum_i b_i y_i` is a lower bound
# (weak duality).


Product = Callable[[Floats], Floats]
ROUNDS = 400
NEAR = 1e-4  # of the cost: a gap that is small enough
FADED = 1e-200


def least_loss(cost: NoiseCost, loads: Product, pulls: Product, budgets: Floats) -> tuple[Floats, float]:
    """Weights x, (K,), positive, with `loads(x) <= budgets` up to rounding, and a lower bound of the cost of all such weights.

    cost: `sum_k v_k f_k`. loads: `x -> A' x`, (N,). pulls: `y -> A y`, (K,). budgets: (N,), positive, infinite where there is
    none. Every row of A has an entry above 0 in a column with a budget.
    """
    bounded = np.isfinite(budgets)
    limits = np.where(bounded, budgets, 1.0)
    y = np.where(bounded, 1.0, 0.0)
    best, value, lower = np.ones(len(cost.costs)), np.inf, 0.0
    for _ in range(ROUNDS):
        slopes = np.maximum(pulls(y), FADED)
        x = cost.least(slopes)
        used = np.where(bounded, loads(x) / limits, 0.0)
        most = float(used.max())
        found = cost.value(x / most)
        if found < value:
            best, value = x / most, found
        lower = max(lower, float(cost.value(x) + slopes @ x - limits @ y))
        if lower >= value * (1 - NEAR):
            break
        y = np.maximum(y * used ** ((cost.power + 1) / 2), FADED * bounded)
    return best, lower


# Sizes T > 0 of least `max_k or sum_k w_k (h + (c + sum_a q_a T_a^2) max(1, max_a ceil(r_ka / T_a))^2)`, solved to a proven
# gap.
#
# The product grows with T in its first factor and falls in the second, so on a box `low <= T <= high` it is at least the
# first factor at `low` times the second at `high`: a lower bound that is exact on a point. With `max(1, x)` in place of
# `max(1, ceil(x))` the program is geometric: the logarithm of its value is convex in `log T`, and a tangent bounds it from
# below, which is what tells apart the many fine sizes of nearly equal value. Boxes are split at their geometric middle along
# the widest side, the least bound first, until no box promises more than the tolerance (branch and bound;
# docs/theory/record_design.md, 4).


def ceiling(ratios: Floats) -> Floats:
    """`max(1, ceil(x))`, entry by entry, any shape (...,)."""
    return np.maximum(1.0, np.ceil(ratios))


def relaxed(ratios: Floats) -> Floats:
    """`max(1, x)`, which makes the program geometric."""
    return np.maximum(1.0, ratios)


@dataclass(frozen=True, eq=False)
class CeilingProduct:
    """The data. points r: (K, d), nonnegative. weights w: (K,), positive;
    `largest` takes the maximum over k instead of the sum.

    squares q: (d,), positive. constant c >= 0, offset h >= 0. steps: `ceiling` or `relaxed`.
    """

    points: Floats
    weights: Floats
    squares: Floats
    constant: float = 0.0
    offset: float = 0.0
    largest: bool = False
    steps: Callable[[Floats], Floats] = ceiling

    def value(self, sizes: Floats) -> Floats:
        """(B,) values at sizes T (B, d)."""
        return self.between(sizes, sizes)

    def between(self, low: Floats, high: Floats) -> Floats:
        """(B,) values with the first factor at low and the second at high, both (B,
        d): lower bounds on the boxes between them."""
        second = self.steps((self.points[None] / high[:, None]).max(axis=2)) ** 2
        terms = self.weights * (self.offset + self.first(low) * second)
        return np.asarray(terms.max(axis=1) if self.largest else terms.sum(axis=1))

    def first(self, sizes: Floats) -> Floats:
        """(B, 1), the first factor."""
        return np.asarray(self.constant + sizes**2 @ self.squares)[:, None]

    def bound(self, low: Floats, high: Floats) -> Floats:
        """(B,) lower bounds on boxes. Measured, gap 0.01,
        costs without constant: 1,400 boxes where `between` alone needs over 20,000."""
        return np.maximum(self.between(low, high), self.tangent(low, high) * (1 - 1e-12))

    def tangent(self, low: Floats, high: Floats) -> Floats:
        """(B,) least values on the boxes of the tangent, in logarithms, to the geometric program at their middles."""
        middle = np.sqrt(low * high)
        ratios = self.points[None] / middle[:, None]
        top, argmax = ratios.max(axis=2), ratios.argmax(axis=2)
        squared = self.weights * np.maximum(1.0, top) ** 2
        terms = self.weights * self.offset + squared * self.first(middle)
        if self.largest:
            chosen = np.arange(terms.shape[1]) == terms.argmax(axis=1)[:, None]
            squared, terms = squared * chosen, terms * chosen
        value = terms.sum(axis=1)
        falling = np.where(top > 1.0, 2 * squared * self.first(middle), 0.0)
        falls = [(falling * (argmax == a)).sum(axis=1) for a in range(middle.shape[1])]
        slope = 2 * self.squares * middle**2 * squared.sum(axis=1)[:, None] - np.stack(falls, axis=1)
        return np.asarray(value * np.exp(-(np.abs(slope) * np.log(high / low)).sum(axis=1) / (2 * value)))


def least_product(
    product: CeilingProduct, low: Floats, high: Floats, *, tolerance: float = 0.01, max_boxes: int = 20_000
) -> Solution[Floats]:
    """The sizes (d,) of least value in the box `low <= T <= high`, both (d,) and positive.

    Measured, 100 points within a factor 1000, gap 0.01: d = 1 in 0.01 s, d = 2 in 0.2 s, d = 3 in 0.7 s (8,000 boxes).
    """
    low, high = np.asarray(low, dtype=np.float64)[None], np.asarray(high, dtype=np.float64)[None]
    best = descend_by_coordinates(product, np.sqrt(low * high)[0], low[0], high[0])
    value = float(product.value(best[None])[0])
    heap = [(float(product.bound(low, high)[0]), 0, low[0], high[0])]
    boxes = 1
    while heap and relative_gap(value, heap[0][0]) > tolerance and boxes < max_boxes:
        taken = [heapq.heappop(heap) for _ in range(min(64, len(heap)))]
        lows, highs = _halves(np.array([box[2] for box in taken]), np.array([box[3] for box in taken]))
        # The upper corner of a box attains the second factor of its bound.
        corner = product.value(highs)
        if corner.min() < value:
            best = descend_by_coordinates(product, highs[corner.argmin()], low[0], high[0])
            value = float(product.value(best[None])[0])
        for bound, a, b in zip(product.bound(lows, highs), lows, highs, strict=True):
            boxes += 1
            if bound < value:
                heapq.heappush(heap, (float(bound), boxes, a, b))
    bound = min(heap[0][0], value) if heap else value
    status = Status.OPTIMAL if relative_gap(value, bound) <= tolerance else Status.STALLED
    return Solution(status, best, value, bound, boxes, "branch and bound")


def _halves(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Both halves of every box, along its widest side in logarithms."""
    rows, side = np.arange(len(low)), (high / low).argmax(axis=1)
    middle = np.sqrt(low[rows, side] * high[rows, side])
    left, right = high.copy(), low.copy()
    left[rows, side] = right[rows, side] = middle
    return np.concatenate([low, right]), np.concatenate([left, high])


def descend_by_coordinates(product: CeilingProduct, start: Floats, low: Floats, high: Floats) -> Floats:
    """Coordinate descent over the sizes where a step ends, `r_ka / j`: between two of them the value grows with `T_a`.

    start, low, high: (d,), positive, low <= start <= high. Returns sizes (d,).
    """
    best = start.copy()
    value = float(product.value(best[None])[0])
    for _ in range(20):
        before = value
        for a in range(len(best)):
            candidates = _ends(product.points[:, a], low[a], high[a])
            tried = np.repeat(best[None], len(candidates), axis=0)
            tried[:, a] = candidates
            values = product.value(tried)
            if len(values) and values.min() < value:
                best, value = tried[values.argmin()], float(values.min())
        if value >= before:
            break
    return best


def _ends(values: Floats, low: float, high: float) -> Floats:
    """The sizes `r / j` between low and high, thinned to at most 400."""
    positive = np.unique(values[values > 0])
    counts = np.unique(np.geomspace(1, max(1.0, positive.max(initial=1.0) / low), 40).astype(np.int64))
    ends = np.unique((positive[:, None] / counts).ravel())
    ends = np.append(ends[(ends >= low) & (ends <= high)], low)
    return ends[np.unique(np.linspace(0, len(ends) - 1, 400).astype(np.int64))]
