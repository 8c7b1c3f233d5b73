"""Several functions and their scales jointly: `min loss(P - Q, c)` s.t. `sum_k |P_k d_m| / c_k <= b_m`.

Not convex for more than one row. With `w = 1 / c` each term obeys `|x| w <= x^2 / (2 t) + t w^2 / 2` for every t > 0, with
equality at `t = |x| / w`: fixing t leaves a program that is convex in (P, w), contains the current point and implies the true
limits. Solving it moves P and c together. The two plain halves (P at fixed c, c at fixed P) would not move at all from P = Q:
Q is the best P for its own scales and they are the best for it. Derivations in docs/theory/biased.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.programs.changes import Changes, ChangeSet, Steepest, WorkingSet
from solvers.programs.lipschitz import fit_jointly
from solvers.programs.loads import Cone, ConicBlock, solve_conic, sparse_entries
from solvers.programs.row_losses import TOTAL_SQUARES, Entangled, RowByRow, RowsLoss, WorstOfQueries
from solvers.programs.scales import minimise_scales
from solvers.solution import Solution, Status
from solvers.work import is_over

# Several rows, each with all of every budget to itself: a relaxation of their joint limits that is convex in (P, c).
#
# `min loss(P - Q, c)` s.t. `|P_k d_m| <= c_k b_m` for every row k and change m: a bound of what rows lose that share the
# budgets, and rows to start from (docs/theory/biased.md, section 4).


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


# The convex restriction of the joint limits of several rows at a feasible point, and the bound that its multipliers prove.
#
# `sum_k x_km^2 / (2 t_km) + t_km w_k^2 / 2 <= b_m` with `x = P d` and `w = 1 / c`, in units of the present scales (w = 1
# there): docs/theory/biased.md, section 4.


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
        _row_limits(fit.scales, targets, changes, count, split, width),
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


def _row_limits(scales: Array, targets: Array, changes: Changes, count: float, split: Array, width: int) -> ConicBlock:
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


Array = NDArray[np.float64]

# Parts of the budgets that terms without movement may take, stage after stage: the first let still terms move.
FLOORS = (1e-1, 1e-2, 1e-3, 1e-5)
# Rounds of the first stage from each of the best starts, of which the best goes on.
TRIAL_ROUNDS, TRIALS = 4, 2
# Rows that hardly move are this part of their targets: a start from which they can grow.
NEARLY_STILL = 0.02
# Limits that use less than this part of their budget are forgotten before the next round.
SLACK = 0.3
# Limits broken by less than this part of the floor are repaired by scaling, not by another solve.
BROKEN = 0.1


def fit_rows_jointly(
    targets: ArrayLike,
    changes: ChangeSet,
    count: float,
    loss: RowsLoss = TOTAL_SQUARES,
    tolerance: float = 1e-4,
    rounds: int = 30,
) -> Solution[ScaledFit]:
    """Descend from the best of some starts; stop when a round gains less than `tolerance / 10` of the loss.

    targets: (K, N). changes: written out, or a set that is scanned for its steepest members. A round counts only if the
    recomputed loss of a feasible point fell. The lower bound is the better of that of rows alone and the Lagrangian one.
    """
    q = np.atleast_2d(np.asarray(targets, dtype=float))
    moving = np.array([changes.steepest(row[None], 1).worst > 0.0 for row in q])
    if not moving.any():
        return Solution(Status.OPTIMAL, ScaledFit(q, np.zeros(len(q))), 0.0, 0.0, 0, "no row moves")
    descent = _Descent(q[moving], changes, count, loss, tolerance)
    descent.begin()
    for floor in FLOORS:
        descent.stage(floor, rounds)
    descent.stilled()
    status = Status.OPTIMAL if descent.done else Status.STALLED
    values, scales = q.copy(), np.zeros(len(q))
    values[moving], scales[moving] = descent.best.values, descent.best.scales
    bound = min(descent.bound, descent.value)
    return Solution(status, ScaledFit(values, scales), descent.value, bound, descent.rounds, descent.method)


def best_scales(rows: Array, changes: ChangeSet, loss: RowsLoss) -> Array:
    """The scales (K,) of least loss for rows (K, N), 0 where nothing moves: `minimise_scales` on a working set, or equal scales
    where the largest counts."""
    alone = [changes.steepest(row[None], 1) for row in rows]
    needed = np.array([one.worst for one in alone])
    moving, scales = needed > 0.0, np.zeros(len(rows))
    if isinstance(loss, WorstOfQueries):
        scales[moving] = changes.steepest(rows, 1).worst
    elif moving.any():
        scales[moving] = _cheapest(rows[moving], needed[moving], [one for one in alone if one.worst > 0.0], changes, loss.power)
    return scales


def _cheapest(rows: Array, needed: Array, alone: list[Steepest], changes: ChangeSet, power: int) -> Array:
    """Scales of least `sum c^power`, from what each row needs alone and the pairs that say so."""

    def ratios(found: Steepest) -> Array:
        return np.asarray(np.abs(found.changes.along(rows)).T / found.changes.budget[:, None])

    def separate(weights: Array) -> tuple[float, Array]:
        found = changes.steepest(rows * weights[:, None], max(200, 4 * len(rows)))
        return found.worst, ratios(found)

    known = [changes.steepest(rows / needed[:, None], rows.size), *alone]
    first = np.concatenate([ratios(found) for found in known])
    return np.asarray(1.0 / minimise_scales(first, np.ones(len(rows)), power, separate, tolerance=1e-6).point)


class _Descent:
    """A feasible point, its loss, a bound, and the changes that were steep so far."""

    best: ScaledFit
    value: float
    known: WorkingSet
    still: list[Array]

    def __init__(self, targets: Array, changes: ChangeSet, count: float, loss: RowsLoss, tolerance: float) -> None:
        self.targets, self.changes, self.count, self.loss, self.tolerance = targets, changes, count, loss, tolerance
        self.bound, self.rounds = 0.0, 0

    @property
    def done(self) -> bool:
        """Whether the bound is near enough."""
        return self.value - self.bound <= self.tolerance * self.value

    @property
    def method(self) -> str:
        """How the point was found, in words."""
        return f"convex restrictions on {self.known.keys.size} limits, Clarabel"

    def begin(self) -> None:
        """The best of some starts, after a few rounds from each."""
        tried: list[ScaledFit] = []
        for start in self._starts():
            if tried and is_over():
                break
            self._go_to(start)
            self.stage(FLOORS[0], TRIAL_ROUNDS)
            tried.append(self.best)
        self._go_to(min(tried, key=self.value_of))

    def _go_to(self, fit: ScaledFit) -> None:
        self.best, self.value = fit, self.value_of(fit)
        self.known = WorkingSet.of(self.changes.steepest(fit.values / fit.scales[:, None], self.targets.shape[1]))

    def _starts(self) -> list[ScaledFit]:
        """Points of small loss, each row taken from the targets, rows that hardly move, and rows alone.

        Rows alone at fewer records stand for the part of the budgets that each will get; at n itself they give a bound. Where
        bias adds up in the first power it is best to answer some rows and leave others still: there single rows are exchanged.
        """
        alone, self.bound = fit_rows_alone(self.targets, self.changes, self.count, self.loss)
        self.still = [self._still(alone, 0.0), self._still(self.targets, 0.0)]
        fewer = np.geomspace(1.0, 1.0 / len(self.targets), 3)[1 : 3 if len(self.targets) > 1 else 1]
        choices = [self.targets, alone, self._still(self.targets, NEARLY_STILL)]
        choices += [fit_rows_alone(self.targets, self.changes, self.count * share, self.loss)[0] for share in fewer]
        least = 1e-6 * self._needed(self.targets)
        choices = [np.where((self._needed(rows) > least)[:, None], rows, choices[2]) for rows in choices]
        whole = sorted((self.with_scales(rows) for rows in choices), key=self.value_of)[:TRIALS]
        return [self._exchanged(fit, choices) for fit in whole] if self.loss.power == 1 else whole

    def _still(self, rows: Array, part: float) -> Array:
        """The rows shrunk to this part of theirs, around their middle,
        or around 0 where a constant would be told from the origin."""
        middle = self.loss.middle(rows)
        if self.changes.steepest(np.broadcast_to(middle, rows.shape), 1).worst > 0.0:
            middle = np.zeros_like(middle)
        return np.asarray(middle + part * (rows - middle))

    def stilled(self) -> None:
        """Leave rows still, without noise, where that loses less: the descent only comes near."""
        for rows in self.still:
            fits = [self.with_scales(rows)]
            for k in range(len(rows)):
                values = self.best.values.copy()
                values[k] = rows[k]
                fits.append(self.with_scales(values))
            self.best = min(self.best, *fits, key=self.value_of)
        self.value = self.value_of(self.best)

    def _needed(self, rows: Array) -> Array:
        """The scale that each row needs alone, (K,)."""
        return np.array([self.changes.steepest(row[None], 1).worst for row in rows])

    def _exchanged(self, fit: ScaledFit, choices: list[Array]) -> ScaledFit:
        """Row after row the best of the choices, twice around."""
        for k in list(range(len(self.targets))) * 2:
            for rows in choices:
                values = fit.values.copy()
                values[k] = rows[k]
                fit = min(fit, self.with_scales(values), key=self.value_of)
        return fit

    def value_of(self, fit: ScaledFit) -> float:
        """The loss of a point."""
        return self.loss.value(fit.values - self.targets, fit.scales, self.count)

    def with_scales(self, rows: Array) -> ScaledFit:
        """The rows with the best scales for them."""
        return self._feasible(rows, best_scales(rows, self.changes, self.loss))

    def _feasible(self, rows: Array, scales: Array) -> ScaledFit:
        """The same proportions of scales, multiplied until the worst ratio is at most 1."""
        heard = scales > 0.0
        if not heard.any():
            return ScaledFit(rows, scales)
        worst = self.changes.steepest(rows[heard] / scales[heard, None], 1).worst
        return ScaledFit(rows, scales * worst * (1.0 + 2.0**-50))

    def stage(self, floor: float, rounds: int) -> None:
        """Rounds until one gains too little for its floor, or its work is done."""
        enough = max(0.1 * self.tolerance, 1e-2 * floor)
        for _ in range(rounds):
            if self.done or is_over() or self._step(floor) <= enough * self.value:
                break

    def _step(self, floor: float) -> float:
        """Solve the convex restriction at the present point; returns by how much the loss fell, 0 where it did not."""
        self.rounds += 1
        solved = self._restricted(floor)
        if solved is None:
            return 0.0
        moved, bound = solved
        self.bound = max(self.bound, bound)
        better = min(self._feasible(moved.values, moved.scales), self.with_scales(moved.values), key=self.value_of)
        gain = self.value - self.value_of(better) if better.scales.all() else 0.0
        if gain > 0.0:
            self.best, self.value = better, self.value - gain
        return max(gain, 0.0)

    def _restricted(self, floor: float) -> tuple[ScaledFit, float] | None:
        """The restriction on the known changes, which grow by those that its solution breaks: its point, and a bound."""
        now, most = self.best.values / self.best.scales[:, None], 1.0 + BROKEN * floor
        self.known.keep(self.known.changes.lengths(now) > SLACK)
        for _ in range(10):
            found = solve_restriction(self.best, self.targets, self.known.changes, self.count, self.loss, floor)
            if found is None:
                return None
            moved, bound = found
            then = moved.values / moved.scales[:, None]
            steep = self.changes.steepest(then, self.targets.shape[1])
            if steep.worst <= most or not self.known.add(steep, steep.changes.lengths(then) > most):
                break
        return moved, bound
