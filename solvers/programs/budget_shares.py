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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solvers.ellipsoids.barrier import APART, SHRINK, conjugate_gradients, longest_step
from solvers.solution import Solution
from solvers.status import Status

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
