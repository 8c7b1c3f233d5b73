"""One function and its Lipschitz constant, jointly: `min (n ||p - q||)^power + weight c^power` s.t. `|d_m' p| <= c b_m`.

Convex because numerator and constant enter linearly: `p` is what is answered, `c` the scale of its noise. The limits are
generated as they are violated, the value is that of a feasible pair (c is scaled up after the fact), and the lower bound is
recomputed from the multipliers by weak duality, whatever the backend says. Derivations in docs/theory/biased.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.limited import conic_program
from solvers.programs.changes import Changes, ChangeSet, Keys, Steepest
from solvers.programs.conic import STEPS, solved
from solvers.programs.mcshane import Distances, Envelope, LipschitzFit, defect, least_concave_sum, least_square_sum
from solvers.solution import Solution
from solvers.status import Status
from solvers.work import spend

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
        proposal = _Program(q, n, loss, unit).solve(cuts)
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
class _Program:
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
