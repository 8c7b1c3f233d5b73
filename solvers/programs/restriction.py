"""The convex restriction of the joint limits of several rows at a feasible point, and the bound that its multipliers prove.

`sum_k x_km^2 / (2 t_km) + t_km w_k^2 / 2 <= b_m` with `x = P d` and `w = 1 / c`, in units of the present scales (w = 1 there):
docs/theory/biased.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.programs.changes import Changes, ChangeSet
from solvers.programs.conic import Cone, ConicBlock, solve_conic, sparse_entries
from solvers.programs.row_losses import RowsLoss

Array = NDArray[np.float64]


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

    def worst(self, changes: ChangeSet) -> float:
        """The largest `sum_k |P_k d_m| / (c_k b_m)`: at most 1 where feasible. 0 / 0 counts as 0."""
        still = self.scales == 0.0
        if still.any() and changes.steepest(self.values[still], 1).worst > 0.0:
            return float("inf")
        return changes.steepest(self.values[~still] / self.scales[~still, None], 1).worst


def solve_restriction(
    fit: ScaledFit, targets: Array, changes: Changes, count: float, loss: RowsLoss, floor: float
) -> tuple[ScaledFit, float] | None:
    """The optimum of the restriction at `fit` on these changes, and the Lagrangian bound that its multipliers prove for the
    true program; None when the backend has no answer.

    floor: t is kept above this part of the budget, as terms with x = 0 would need t = 0 and never move again. The present point
    then breaks the restriction by at most half of it for each row, and so does its solution the true limits, or less.
    Unknowns `delta = n (P - Q) / c` (K N), prices r (K) with `r >= w^-power`, what the loss needs, and w (K).
    """
    k, n = targets.shape
    form = loss.epigraph(fit.scales / fit.scales.max(), n)
    width = form.linear.size + k
    moves = changes.along(fit.values / fit.scales[:, None])
    split = np.hypot(moves, floor * changes.budget)
    blocks = [
        _limits(fit.scales, targets, changes, count, split, width),
        _prices(k, n, loss.power, width),
        _widened(form.block, k),
    ]
    answer = solve_conic(np.pad(form.curvature, (0, k)), np.pad(form.linear, (0, k)), blocks)
    if answer is None or not (answer[0][-k:] > 0.0).all():
        return None
    x, multipliers = answer
    values = targets + x[: k * n].reshape(k, n) * (fit.scales / count)[:, None]
    moved = ScaledFit(values, fit.scales / x[-k:])
    # The cone bounds ||v|| <= 1 where the limit is b ||v||^2 <= b: its multiplier is smaller by the factor 2 b.
    load = multipliers[0][:: 2 * k + 1] * fit.scales.max() ** loss.power / (2.0 * changes.budget)
    signs = changes.along(moved.values / moved.scales[:, None]) / split
    return moved, multiplier_bound(targets, changes, count, loss, load, signs, fit)


def multiplier_bound(
    targets: Array, changes: Changes, count: float, loss: RowsLoss, multipliers: Array, signs: Array, fit: ScaledFit
) -> float:
    """Lagrangian bound for multipliers `l >= 0` (M,) and any `signs` (K, M) in [-1, 1], the best over multiples of l.

    fit: any scales, and rows near the optimum, which guide what the loss may choose. docs/theory/biased.md, section 4.
    """
    load = np.maximum(multipliers, 0.0)
    forces = np.asarray((changes.matrix @ (np.clip(signs, -1.0, 1.0) * load).T).T)
    uses = np.abs(changes.along(fit.values / fit.scales[:, None])) @ load
    if not uses.any():
        return 0.0
    return loss.shared(targets, forces, float(load @ changes.budget), fit.scales, uses, count)


def _limits(scales: Array, targets: Array, changes: Changes, count: float, split: Array, width: int) -> ConicBlock:
    """Cones `(1, x_k / sqrt(2 b t_k), sqrt(t_k / (2 b)) w_k)`, one after the other."""
    (k, n), m = targets.shape, changes.count
    stride, picked = 2 * k + 1, changes.matrix.T.tocoo()
    inverse, weight = 1.0 / np.sqrt(2.0 * changes.budget * split), np.sqrt(split / (2.0 * changes.budget))
    query, limit = np.arange(k)[:, None], np.arange(m)[None, :]
    entries = [
        (picked.row * stride + 1 + query, query * n + picked.col, -inverse[:, picked.row] * picked.data / count),
        (limit * stride + 1 + k + query, width - k + query, -weight),
    ]
    side = np.zeros((m, stride))
    side[:, 0], side[:, 1 : k + 1] = 1.0, (changes.along(targets / scales[:, None]) * inverse).T
    cones: list[Cone] = [("second_order", stride)] * m
    return ConicBlock(sparse_entries(entries, m * stride, width), side.ravel(), cones)


def _prices(rows: int, elements: int, power: int, width: int) -> ConicBlock:
    """Cones `(r_k, w_k, 1)`: `r^a w^(1 - a) >= 1` with `a = 1 / (1 + power)`."""
    each = np.arange(rows)
    entries = [(3 * each, rows * elements + each, -1.0), (3 * each + 1, width - rows + each, -1.0)]
    cones: list[Cone] = [("power", 1.0 / (1.0 + power))] * rows
    return ConicBlock(sparse_entries(entries, 3 * rows, width), np.tile([0.0, 0.0, 1.0], rows), cones)


def _widened(block: ConicBlock, further: int) -> ConicBlock:
    """The block over `further` unknowns more, which it does not hold."""
    from scipy.sparse import csc_array, hstack

    return ConicBlock(hstack([block.matrix, csc_array((block.side.size, further))]), block.side, block.cones)
