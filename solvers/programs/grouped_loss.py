"""The squared loss where every record counts once in each of several groups of columns: what a record is off by is a sum over
the groups, and the worst record takes the worst column of each (docs/theory/statistical.md, section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.programs.conic import Cone, ConicBlock, sparse_entries
from solvers.programs.lipschitz import pulls
from solvers.programs.row_losses import Entangled, Epigraph, best_multiple, gains_of

Array = NDArray[np.float64]


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
