"""Several functions and their scales jointly: `min loss(P - Q, c)` s.t. `sum_k |P_k d_m| / c_k <= b_m`.

Not convex for more than one row. With `w = 1 / c` each term obeys `|x| w <= x^2 / (2 t) + t w^2 / 2` for every t > 0, with
equality at `t = |x| / w`: fixing t leaves a program that is convex in (P, w), contains the current point and implies the true
limits. Solving it moves P and c together. The two plain halves (P at fixed c, c at fixed P) would not move at all from P = Q:
Q is the best P for its own scales and they are the best for it. Derivations in docs/theory/biased.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.programs.changes import ChangeSet, Steepest, WorkingSet
from solvers.programs.restriction import ScaledFit, solve_restriction
from solvers.programs.row_losses import TOTAL_SQUARES, RowsLoss, WorstOfQueries
from solvers.programs.rows_alone import fit_rows_alone
from solvers.programs.scales import minimise_scales
from solvers.solution import Solution
from solvers.status import Status
from solvers.work import is_over

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
