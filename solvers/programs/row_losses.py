"""What several rows P with Laplace scales c lose where Q is asked: the bias over n records, and the noise.

With `R = P - Q`, columns `R_i`, all of them convex in (R, c) and nowhere decreasing in c; what each stands for:
docs/theory/biased.md, section 1. Each loss knows its value, a bound where every row has all budgets to itself, its Lagrangian
bound, and the cones that hold it in a program. Unknowns of those are `delta = n R` in units of the present scales (K N), a
price r_k of each row's noise (K), and what the cones need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.programs.lipschitz import SQUARED, SQUARED_MAXIMUM, ProgramLoss, pulls
from solvers.programs.loads import Cone, ConicBlock, sparse_entries

Array = NDArray[np.float64]

# Multiples of the multipliers that are tried for a bound.
MULTIPLES = np.geomspace(0.25, 4.0, 33)


@dataclass(frozen=True, eq=False)
class Epigraph:
    """A loss as a program: `1/2 x' diag(curvature) x + linear x`, x = (delta, r, further unknowns) in the cones of `block`."""

    curvature: Array
    linear: Array
    block: ConicBlock


class RowsLoss(ABC):
    """A loss of rows and scales: `power` of both."""

    power: int

    def middle(self, rows: Array) -> Array:
        """What rows (K, N) are left at when they stand still: (K, 1) or (K, N), which no change moves."""
        return np.asarray(rows.min(axis=1, keepdims=True) + rows.max(axis=1, keepdims=True)) / 2.0

    @abstractmethod
    def value(self, off: Array, scales: Array, count: float) -> float:
        """The loss of `off = P - Q` (K, N) and scales c (K,) at n = `count`."""

    @abstractmethod
    def shared(self, targets: Array, forces: Array, cost: float, scales: Array, uses: Array, count: float) -> float:
        """The Lagrangian bound from any multipliers l >= 0 and signs: `forces_k = sum_m l_m s_km d_m` (K, N),
        `cost = sum_m l_m b_m`. Scales (K,) and `uses`, how much of the cost each row takes (K,), guide what is free."""

    @abstractmethod
    def epigraph(self, shares: Array, elements: int) -> Epigraph:
        """The loss over its least unit, `max(c)` to the power, for present scales `c = max(c) shares`, (K,)."""


class RowByRow(RowsLoss):
    """A loss that is `combined` from the losses `single` of each row."""

    single: ProgramLoss

    @abstractmethod
    def combined(self, values: Array) -> float:
        """The loss, or a bound, from those of the rows (K,)."""


class Entangled(RowsLoss):
    """A loss whose bias adds over the rows at one element."""

    @abstractmethod
    def alone(self, targets: Array, forces: Array, reach: Array, count: float) -> float:
        """A bound of the loss where each row has all budgets to itself, from any multipliers: `forces_k = sum_m l_km d_m`
        (K, N), signs included, and `reach_k = sum_m |l_km| b_m` (K,); the best multiple is taken."""


@dataclass(frozen=True)
class TotalSquares(RowByRow):
    """`n^2 ||R||_F^2 + 2 ||c||^2`: DX program (6)."""

    power = 2
    single = SQUARED

    def value(self, off: Array, scales: Array, count: float) -> float:
        return float(count**2 * np.square(off).sum() + 2.0 * np.square(scales).sum())

    def combined(self, values: Array) -> float:
        return float(values.sum())

    def shared(self, targets: Array, forces: Array, cost: float, scales: Array, uses: Array, count: float) -> float:
        drags = np.square(forces).sum(axis=1) / (4.0 * count**2)
        return best_multiple(np.ones(len(targets)), gains_of(targets, forces), drags, cost)

    def epigraph(self, shares: Array, elements: int) -> Epigraph:
        from scipy.sparse import csc_array

        size = shares.size * (elements + 1)
        curvature = np.concatenate([np.repeat(2.0 * shares**2, elements), np.zeros(shares.size)])
        linear = np.concatenate([np.zeros(size - shares.size), 2.0 * shares**2])
        return Epigraph(curvature, linear, ConicBlock(csc_array((0, size)), np.zeros(0), ()))


@dataclass(frozen=True)
class WorstSquares(Entangled):
    """`n^2 max_i ||R_i||_2^2 + 2 ||c||^2`: exactly the largest expected squared error over all `x >= 0` with sum n."""

    power = 2

    def value(self, off: Array, scales: Array, count: float) -> float:
        return float(count**2 * np.square(off).sum(axis=0).max(initial=0.0) + 2.0 * np.square(scales).sum())

    def alone(self, targets: Array, forces: Array, reach: Array, count: float) -> float:
        """`max over t of t f.q - t^2 ((sum_i ||f_i||)^2 / (4 n^2) + ||reach||^2 / 8)`."""
        gain, dual = float(pulls(targets, forces).sum()), float(np.linalg.norm(forces, axis=0).sum())
        return gain**2 / (dual**2 / count**2 + float(np.square(reach).sum()) / 2.0) if gain > 0.0 else 0.0

    def shared(self, targets: Array, forces: Array, cost: float, scales: Array, uses: Array, count: float) -> float:
        # max_i is at least the mean with any weights; these are the best where all 1 / c_k are attained.
        heavy = np.linalg.norm(forces / scales[:, None], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(forces == 0.0, 0.0, np.square(forces) / (heavy / heavy.sum()))
        drags = parts.sum(axis=1) / (4.0 * count**2)
        return best_multiple(np.ones(len(targets)), gains_of(targets, forces), drags, cost)

    def epigraph(self, shares: Array, elements: int) -> Epigraph:
        """`s >= ||(share_k delta_ki)_k||` for every i, and s^2."""
        k, n = shares.size, elements
        row = np.arange(n)[:, None] * (k + 1) + 1 + np.arange(k)
        column = np.arange(k) * n + np.arange(n)[:, None]
        entries = [(row, column, -np.broadcast_to(shares, (n, k))), (np.arange(n) * (k + 1), k * n + k, -1.0)]
        curvature, linear = np.zeros(k * n + k + 1), np.zeros(k * n + k + 1)
        curvature[-1], linear[k * n : k * n + k] = 2.0, 2.0 * shares**2
        matrix = sparse_entries(entries, n * (k + 1), linear.size)
        cones: list[Cone] = [("second_order", k + 1)] * n
        return Epigraph(curvature, linear, ConicBlock(matrix, np.zeros(n * (k + 1)), cones))


@dataclass(frozen=True)
class WorstAbsolutes(Entangled):
    """`n max_i ||R_i||_1 + sum c`: at least the largest expected absolute error over all `x >= 0` with sum n, at most 1.47
    of it."""

    power = 1

    def value(self, off: Array, scales: Array, count: float) -> float:
        return float(count * np.abs(off).sum(axis=0).max(initial=0.0) + scales.sum())

    def alone(self, targets: Array, forces: Array, reach: Array, count: float) -> float:
        gain = float(pulls(targets, forces).sum())
        return gain / max(np.abs(forces).max(axis=0).sum() / count, float(reach.max())) if gain > 0.0 else 0.0

    def shared(self, targets: Array, forces: Array, cost: float, scales: Array, uses: Array, count: float) -> float:
        """As long as `t <= tau_k = n / (D c_k)`, `D = sum_i max_k |f_ki| / c_k`, no bias gains from the forces t f; what is
        left, `inf over c of c + a min(1/c, tau)`, is `min(a tau, 2 sqrt(a))`."""
        gains, drag = gains_of(targets, forces), float(np.abs(forces / scales[:, None]).max(axis=0).sum())
        if drag == 0.0:
            return 0.0
        times = MULTIPLES[:, None] * gains
        ends = gains * count / (drag * scales)  # t a tau, the same for every multiple t
        return float(max(0.0, (np.minimum(ends, 2.0 * np.sqrt(times)).sum(axis=1) - MULTIPLES * cost).max()))

    def epigraph(self, shares: Array, elements: int) -> Epigraph:
        """`u_ki >= |share_k delta_ki|`, `s >= sum_k u_ki` for every i, and s."""
        k, n = shares.size, elements
        inner, first = np.arange(k * n), k * n + k
        wide, total = np.repeat(shares, n), 2 * k * n
        entries = [
            *[(inner + part * k * n, inner, sign * wide) for part, sign in ((0, 1.0), (1, -1.0))],
            *[(inner + part * k * n, first + inner, -1.0) for part in (0, 1)],
            (total + inner % n, first + inner, 1.0),
            (total + np.arange(n), first + k * n, -1.0),
        ]
        linear = np.zeros(first + k * n + 1)
        linear[-1], linear[k * n : first] = 1.0, shares
        size = total + n
        matrix = sparse_entries(entries, size, linear.size)
        return Epigraph(np.zeros(linear.size), linear, ConicBlock(matrix, np.zeros(size), [("nonnegative", size)]))


@dataclass(frozen=True)
class WorstOfQueries(RowByRow):
    """`max_k (n^2 max_i R_ki^2 + 2 c_k^2)`: exactly the largest squared error of a row, sum n."""

    power = 2
    single = SQUARED_MAXIMUM

    def value(self, off: Array, scales: Array, count: float) -> float:
        return float((count**2 * np.square(off).max(axis=1, initial=0.0) + 2.0 * np.square(scales)).max())

    def combined(self, values: Array) -> float:
        """Without the limits that rows share, the largest is that of the worst row."""
        return float(values.max())

    def shared(self, targets: Array, forces: Array, cost: float, scales: Array, uses: Array, count: float) -> float:
        # max_k is at least the mean with any weights; these make the present scales stationary.
        weights = np.maximum(uses / scales**2, 1e-12 * float((uses / scales**2).max()))
        weights = weights / weights.sum()
        drags = np.square(np.abs(forces).sum(axis=1)) / (4.0 * count**2 * weights)
        return best_multiple(weights, gains_of(targets, forces), drags, cost)

    def epigraph(self, shares: Array, elements: int) -> Epigraph:
        """`y_k >= |share_k delta_ki|`, `s - 2 share_k^2 r_k = a_k >= y_k^2`, as `a + 1 >= ||(a - 1, 2 y)||`, and s."""
        k, n = shares.size, elements
        inner, first, each = np.arange(k * n), k * n + k, np.arange(k)
        wide, total = np.repeat(shares, n), 2 * k * n
        entries = [
            *[(inner + part * k * n, inner, sign * wide) for part, sign in ((0, 1.0), (1, -1.0))],
            *[(inner + part * k * n, first + inner // n, -1.0) for part in (0, 1)],
            *[(total + 3 * each + part, k * n + each, 2.0 * shares**2) for part in (0, 1)],
            *[(total + 3 * each + part, first + k, -1.0) for part in (0, 1)],
            (total + 3 * each + 2, first + each, -2.0),
        ]
        linear = np.zeros(first + k + 1)
        linear[-1] = 1.0
        side = np.concatenate([np.zeros(total), np.tile([1.0, -1.0, 0.0], k)])
        matrix = sparse_entries(entries, side.size, linear.size)
        cones: list[Cone] = [("nonnegative", total), *([("second_order", 3)] * k)]  # type: ignore[list-item]
        return Epigraph(np.zeros(linear.size), linear, ConicBlock(matrix, side, cones))


def gains_of(targets: Array, forces: Array) -> Array:
    """`f_k'q_k` of each row, rounded down, 0 where it is negative."""
    return np.asarray(np.maximum(pulls(targets, forces), 0.0))


def best_multiple(weights: Array, gains: Array, drags: Array, cost: float) -> float:
    """The best over multiples t of `sum_k least_of_row(weight_k, t gain_k, t^2 drag_k) - t cost`."""
    values = least_of_row(weights, MULTIPLES[:, None] * gains, np.square(MULTIPLES)[:, None] * drags).sum(axis=1)
    return float(max(0.0, (values - MULTIPLES * cost).max()))


def least_of_row(weight: Array, gain: Array, drag: Array) -> Array:
    """`inf over c > 0 of 2 v c^2 + max over 0 <= t <= 1/c of (t a - t^2 e)`, v, a, e broadcast; a, e >= 0, v > 0.

    For `c >= 2 e / a` the maximum is at t = 1/c and stationary points solve `g(c) = 4 v c^4 - a c + 2 e = 0`, g convex: the
    function has its minimum at the greater root, if there is one, to which Newton's steps descend from `(a / 4 v)^(1/3)`.
    Below, the infimum is `a^2 / (4 e)`. docs/theory/biased.md, section 4.
    """
    v, a, e = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (weight, gain, drag)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        c = np.cbrt(a / (4.0 * v))
        lowest = np.cbrt(a / (16.0 * v))
        for _ in range(60):
            step = (4.0 * v * c**4 - a * c + 2.0 * e) / (16.0 * v * c**3 - a)
            c = np.maximum(c - np.maximum(step, 0.0), lowest)
        inner = 2.0 * v * c**2 + a / c - e / c**2
        inner = np.where(c * a >= 2.0 * e, inner, np.inf)
        best = np.minimum(np.where(np.isnan(inner), np.inf, inner), np.where(e > 0.0, a**2 / (4.0 * e), np.inf))
    return np.asarray(np.where(a > 0.0, best * (1.0 - 1e-12), 0.0))


TOTAL_SQUARES = TotalSquares()
WORST_SQUARES = WorstSquares()
WORST_ABSOLUTES = WorstAbsolutes()
WORST_OF_QUERIES = WorstOfQueries()


# The squared loss where every record counts once in each of several groups of columns: what a record is off by is a sum over
# the groups, and the worst record takes the worst column of each (docs/theory/statistical.md, section 6).


@dataclass(frozen=True, eq=False)
class GroupedSquares(Entangled):
    """`n^2 (sum_g max over i in g of sum over rows k of g of R_ki^2 + sum over other rows k of rho_k^2) + 2 ||c||^2`, where
    `rho_k = max |sum_g R_k,i_g|` over one column of each group.

    starts: (G + 1,), where the groups begin, and the end. owner: (K,), the one group that moves a row, or -1 where several do.
    Exactly the largest squared error where every row has an owner, an upper bound of it elsewhere. Columns of other groups
    count as 0 in rows that have an owner: P is Q there.
    """

    starts: NDArray[np.intp]
    owner: NDArray[np.intp]
    power = 2

    @property
    def _owned(self) -> NDArray[np.bool_]:
        return self.owner >= 0

    def _group(self) -> NDArray[np.intp]:
        """The group of each column."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def _own(self, rows: Array) -> Array:
        """Rows with owners, 0 outside of their groups."""
        return np.where(self.owner[:, None] == self._group(), rows, 0.0)[self._owned]

    def _most(self, rows: Array) -> Array:
        """The largest of each row in each group, (K, G)."""
        return np.asarray(np.maximum.reduceat(rows, self.starts[:-1], axis=1))

    def bias(self, off: Array) -> float:
        """The part that comes from `off = P - Q` (K, N), at one record."""
        squares = np.square(self._own(off)).sum(axis=0)
        own = float(self._most(squares[None]).sum())
        rest = off[~self._owned]
        spread = np.maximum(self._most(rest).sum(axis=1), self._most(-rest).sum(axis=1))
        return own + float(np.square(spread).sum())

    def value(self, off: Array, scales: Array, count: float) -> float:
        return float(count**2 * self.bias(off) + 2.0 * np.square(scales).sum())

    def middle(self, rows: Array) -> Array:
        """The middle of each row in each group."""
        return np.asarray(((self._most(rows) - self._most(-rows)) / 2.0)[:, self._group()])

    def _group_forces(self, forces: Array) -> Array:
        """The largest sum of |forces| of a group, for each row that several groups move: forces of a group add up to 0."""
        return np.asarray(np.add.reduceat(np.abs(forces), self.starts[:-1], axis=1).max(axis=1)[~self._owned])

    def alone(self, targets: Array, forces: Array, reach: Array, count: float) -> float:
        """`max over t of t f.q - t^2 (D^2 / (4 n^2) + ||reach||^2 / 8)`, `D^2 = sum_g (sum over i in g of ||f_i||)^2` for rows
        with owners, and the squares of the largest `||f_kg||_1` for others."""
        gain = float(pulls(targets, forces).sum())
        lengths = np.linalg.norm(self._own(forces), axis=0)[None]
        dual = float(
            np.square(np.add.reduceat(lengths, self.starts[:-1], axis=1)).sum() + np.square(self._group_forces(forces)).sum()
        )
        return gain**2 / (dual / count**2 + float(np.square(reach).sum()) / 2.0) if gain > 0.0 else 0.0

    def shared(self, targets: Array, forces: Array, cost: float, scales: Array, uses: Array, count: float) -> float:
        drags = np.zeros(len(targets))
        drags[~self._owned] = np.square(self._group_forces(forces))
        own = self._own(forces)
        heavy = np.linalg.norm(own / scales[self._owned, None], axis=0)
        totals = np.add.reduceat(heavy, self.starts[:-1])[self._group()]
        with np.errstate(divide="ignore", invalid="ignore"):
            drags[self._owned] = np.where(own == 0.0, 0.0, np.square(own) / (heavy / totals)).sum(axis=1)
        return best_multiple(np.ones(len(targets)), gains_of(targets, forces), drags / (4.0 * count**2), cost)

    def epigraph(self, shares: Array, elements: int) -> Epigraph:
        """`s_g >= ||(share_k delta_ki)_k||` over rows with owners, for every i in g; `t_kg >= share_k delta_ki`,
        `u_kg >= -share_k delta_ki`, `rho_k >= sum_g t_kg`, `rho_k >= sum_g u_kg` for others; `sum s^2 + sum rho^2`."""
        k, n, groups = shares.size, elements, len(self.starts) - 1
        own, rest = np.flatnonzero(self._owned), np.flatnonzero(~self._owned)
        group, first, m, stride = self._group(), k * n + k, len(rest), len(own) + 1
        tops, rhos = first + groups, first + groups + 2 * m * groups  # where t, u and then rho begin
        width, columns = rhos + m, np.arange(n)
        cones = n * stride if len(own) else 0
        entries = []
        if len(own):
            at = columns[:, None] * stride + 1 + np.arange(len(own))
            entries = [(at, own * n + columns[:, None], -shares[own]), (columns * stride, first + group, -1.0)]
        each, side = np.arange(m)[:, None], 2 * m * n
        for part, sign in ((0, 1.0), (1, -1.0)):
            at = cones + part * m * n + each * n + columns
            top = tops + (part * m + each) * groups
            entries.append((at, rest[:, None] * n + columns, sign * shares[rest, None]))
            entries.append((at, top + group, -1.0))
            entries.append((cones + side + part * m + each, top + np.arange(groups), 1.0))
            entries.append((cones + side + part * m + each, rhos + each, -1.0))
        curvature, linear = np.zeros(width), np.zeros(width)
        curvature[first:tops], curvature[rhos:], linear[k * n : first] = 2.0, 2.0, 2.0 * shares**2
        height = cones + side + 2 * m
        kinds: list[Cone] = [("second_order", stride)] * (n if len(own) else 0)
        if m:
            kinds.append(("nonnegative", side + 2 * m))
        return Epigraph(curvature, linear, ConicBlock(sparse_entries(entries, height, width), np.zeros(height), kinds))
