"""Several rows, each with all of every budget to itself: a relaxation of their joint limits that is convex in (P, c).

`min loss(P - Q, c)` s.t. `|P_k d_m| <= c_k b_m` for every row k and change m: a bound of what rows lose that share the budgets,
and rows to start from (docs/theory/biased.md, section 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.programs.changes import Changes, ChangeSet, Steepest, WorkingSet
from solvers.programs.conic import ConicBlock, solve_conic, sparse_entries
from solvers.programs.lipschitz import fit_jointly
from solvers.programs.row_losses import Entangled, RowByRow, RowsLoss

Array = NDArray[np.float64]


def fit_rows_alone(
    targets: Array, changes: ChangeSet, count: float, loss: RowsLoss, tolerance: float = 1e-4, rounds: int = 60
) -> tuple[Array, float]:
    """The rows (K, N) of the relaxation, nearly optimal, and a certified bound of its least loss.

    targets: (K, N), rows that move.
    """
    if isinstance(loss, RowByRow):
        found = [fit_jointly(q, changes, count, loss.single) for q in targets]
        return np.array([one.point.values for one in found]), loss.combined(np.array([one.lower_bound for one in found]))
    assert isinstance(loss, Entangled)
    return _entangled(targets, changes, count, loss, tolerance, rounds)


def _entangled(
    targets: Array, changes: ChangeSet, count: float, loss: Entangled, tolerance: float, rounds: int
) -> tuple[Array, float]:
    """Cutting planes for all rows at once, a working set for each."""
    found = [changes.steepest(q[None], 2 * q.size) for q in targets]
    known = [WorkingSet.of(one) for one in found]
    scales = np.array([one.worst for one in found])
    rows, bound = targets, 0.0
    value = loss.value(rows - targets, scales, count)
    for _ in range(rounds):
        proposal = _proposal(targets, scales, known, count, loss)
        if proposal is None:
            break
        moved, forces, reach = proposal
        bound = max(bound, loss.alone(targets, forces, reach, count))
        found = [changes.steepest(p[None], 2 * p.size) for p in moved]
        needed = np.array([one.worst for one in found])
        better = loss.value(moved - targets, needed, count)
        if better < value:
            rows, value, scales = moved, better, np.maximum(needed, 1e-9 * needed.max())
        if value - bound <= tolerance * value or not _grown(known, found):
            break
    return rows, bound


def _grown(known: list[WorkingSet], found: list[Steepest]) -> bool:
    """Whether any working set took something in; each is offered what was found for its row."""
    taken = [old.add(new) for old, new in zip(known, found, strict=True)]
    return any(taken)


def _proposal(
    targets: Array, scales: Array, known: list[WorkingSet], count: float, loss: Entangled
) -> tuple[Array, Array, Array] | None:
    """Rows, and `forces`, `reach` of the multipliers, of the program on the known changes.

    Unknowns: `delta = n (P - Q) / c`, `x = c' / c` for present scales c, and those of the loss, whose price is here x^power.
    """
    k, n = targets.shape
    form, prices = loss.epigraph(scales / scales.max(), n), slice(k * n, k * n + k)
    curvature, linear = form.curvature.copy(), form.linear.copy()
    if loss.power == 2:
        curvature[prices], linear[prices] = 2.0 * linear[prices], 0.0
    limits = [
        _limits(one.changes, q / c, row, k, count, linear.size)
        for row, (one, q, c) in enumerate(zip(known, targets, scales, strict=True))
    ]
    answer = solve_conic(curvature, linear, [*limits, form.block])
    if answer is None:
        return None
    x, multipliers = answer
    forces, reach = np.zeros((k, n)), np.zeros(k)
    for row, (one, z) in enumerate(zip(known, multipliers[:-1], strict=True)):
        upper, lower = np.split(z, 2)
        load = (upper - lower) / (one.changes.budget * scales[row])
        forces[row], reach[row] = one.changes.matrix @ load, np.abs(load) @ one.changes.budget
    return targets + x[: k * n].reshape(k, n) * (scales / count)[:, None], forces, reach


def _limits(changes: Changes, target: Array, row: int, rows: int, count: float, width: int) -> ConicBlock:
    """`|d_m' (target + delta_row / n)| / b_m <= x_row`, above, then below."""
    picked, size = changes.matrix.tocoo(), changes.count
    slopes, moves = picked.data / changes.budget[picked.col] / count, changes.along(target)[0] / changes.budget
    entries = [
        *[(picked.col + part * size, row * target.size + picked.row, sign * slopes) for part, sign in ((0, 1.0), (1, -1.0))],
        (np.arange(2 * size), rows * target.size + row, -1.0),
    ]
    return ConicBlock(sparse_entries(entries, 2 * size, width), np.concatenate([-moves, moves]), [("nonnegative", 2 * size)])
