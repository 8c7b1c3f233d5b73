"""Programs of biased Laplace designs: rows Q' near the queries Q and noise scales c, chosen together for n public records.

    minimise  bias(Q') + noise(c)   subject to   sum_k |Q'_ki - Q'_kj| / c_k <= d(i, j)   for all protected pairs (i, j)

(DX Theorem 1, with Q' for the paper's c Q'). **Where a change moves one row only** (one query; averages of which every group of
attributes decides one) the limit is `|Q'_ki - Q'_kj| <= c_k d(i, j)`, convex in (Q', c), and the optimum is global. **Otherwise
the program is not convex.** Then convex restrictions are solved one after the other: for any t > 0

    |x| / c <= x^2 / (2 t) + t / (2 c^2),   with equality at t = |x| c,

so fixing t at the last point leaves a program that is convex in (Q', c), whose points keep every budget, the last point among
them. No solve makes the objective worse; where it stops, the first-order conditions hold (docs/theory/biased.md, section 4).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.certificate import refuse_infinite
from designer.certificate.guarantee import Optimality
from designer.certificate.norms import weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.implicit_rows import classes
from designer.designing.laplace import best_weights
from designer.designing.laplace_joint import joint_changes
from designer.designing.measured import measurable
from designer.mechanism.additive import AdditiveMechanism
from designer.programs.constraints import NOTICED, Named, Separated
from designer.programs.rounds import Rounds, ScaledProblem, Solved, SolverAnswer
from designer.programs.search import ActivePairs, Descent, MechanismProgram, question_of
from designer.relations.problem import Problem
from solvers.programs.biconvex import FLOORS, ScaledFit, fit_rows_alone, multiplier_bound
from solvers.programs.changes import Changes
from solvers.programs.row_losses import RowsLoss

# A row that varies by less than this part of its query is a constant: a solver's zero.
STILL = 1e-7
# Rows that hardly move are this part of their queries: a start from which they can grow.
NEARLY_STILL = 0.02
# Units are those of the last answer; a solve whose answer is smaller by this factor is repeated in units of its own.
SHRUNK = 3.0


SHARED = "while every pair keeps its budget, divided among the queries as where the search starts (other shares may do)"


class BiasedProgram(MechanismProgram):
    """Variables "Q", (K, N), the answered rows, and "c", (K,), the Laplace scales of their noise.

    records: n. free: (K, N), which entries may differ from the query's. gain: c times this is the
    noise scale of a row of sums.
    """

    def __init__(self, question: Problem, records: float, free: np.ndarray[Any, np.dtype[np.bool_]], gain: float = 1.0) -> None:
        super().__init__(question_of(question, self.title, self.notion))
        self.records, self.gain = records, gain
        sensitivity = measurable(question)
        if refuse_infinite(sensitivity, weighted_l1(np.ones(sensitivity.dimension))) == 0:
            raise DesignFailed(
                f"{self.title}: no protected change moves an answer, so nothing is to be gained by bias; use laplace."
            )
        self.universe = classes(question)
        self.query = question.workload.dense()
        self.free = free[:, self.universe.first]
        self.alone = sensitivity.worst_coordinates()
        self.heard = self.alone > 0
        self.lengths, self.anchor = self.alone.copy(), self.alone.copy()
        self.Q = cp.Variable(self.query.shape, name="Q")
        self.c = cp.Variable(len(self.query), nonneg=True, name="c")
        self._rows = cp.Variable((len(self.query), len(self.universe)))
        self._sizes = cp.Variable(len(self.query), nonneg=True)
        self.active = ActivePairs(question.relation)
        self.splits: Floats | None = None
        if not self.is_convex:
            self.promise = (SHARED, self.promise[1])
        self._stand_ins: dict[Any, Any] | None = None
        self.base, self.still = self.query, ~self.heard
        self.shares = np.ones(len(self.query))
        self.best_bound = 0.0

    @property
    @abstractmethod
    def is_convex(self) -> bool:
        """Whether every change moves one row only, so that the program is convex as it stands."""

    @abstractmethod
    def reach(self, loss: float) -> tuple[Floats, Floats]:
        """How far entries may be from the queries', (K,), and how large c may be, (K,), where the loss is at most this."""

    @property
    @abstractmethod
    def rows_loss(self) -> RowsLoss:
        """What, of rows and noise scales times `factors`, is never above the loss times `gain` to its power."""

    @property
    @abstractmethod
    def factors(self) -> Floats:
        """(K,), by which the loss weighs rows and scales."""

    @property
    def targets(self) -> Floats:
        """The queries on the classes of elements, weighed, (K, C)."""
        return np.asarray(self.universe.workload * self.factors[:, None])

    @property
    def variables(self) -> dict[str, Any]:
        return {"Q": self.Q, "c": self.c}

    @property
    def named(self) -> Named:
        queries, elements = self.question.workload.queries, self.question.workload.elements
        return {**super().named, "Q": (self.Q, (queries, elements)), "c": (self.c, queries)}

    @cached_property
    def variances(self) -> Any:
        """`2 c^2`, (K,)."""
        return 2 * cp.square(self.c)

    @cached_property
    def standard_errors(self) -> Any:
        """`sqrt(2) c`, (K,)."""
        return np.sqrt(2) * self.c

    @property
    def off(self) -> Any:
        """`Q' - Q` over the classes of elements, (K, C): elements at distance 0 count once."""
        first = self.universe.first
        return self.Q[:, first] - self.query[:, first]

    @property
    def privacy(self) -> tuple[Any, ...]:
        """The limits of the active pairs, in parts of their budgets."""
        heard, budgets = np.flatnonzero(~self.still), self.active.budgets
        units = 1 / np.outer(self.anchor[heard], budgets)
        if not len(heard):
            return ()
        moves = cp.multiply(units, self.Q[heard] @ self.active.columns)
        sizes = cp.multiply(self.gain / self.anchor[heard], self.c[heard])
        if self.splits is None:
            shares = cp.reshape(cp.multiply(self.shares[heard], sizes), (len(heard), 1), order="F") @ np.ones((1, len(budgets)))
            return moves <= shares, -moves <= shares
        t = self._splits_of_active()
        return (cp.sum(cp.multiply(1 / (2 * t), cp.square(moves)), axis=0) + (t / 2).T @ cp.power(sizes, -2) <= 1,)

    @property
    def pairs(self) -> int:
        return len(self.active)

    @property
    def in_units(self) -> Mapping[Any, Any]:
        """Entries in units of what n records make of them, scales in units of the last ones."""
        if self._stand_ins is None:
            units = np.where(self.free, self.lengths[:, None] / self.records, 0.0)
            loud = cp.multiply(np.where(self.still[:, None], 0.0, units), self._rows)
            still = cp.multiply(np.where(self.still[:, None], units, 0.0), self._rows)
            rows = self.base[:, self.universe.first] + (loud + still @ self._leaders if self.still.any() else loud)
            sizes = cp.multiply(self.anchor / self.gain, self._sizes)
            self._stand_ins = {self.Q: rows if self._spread is None else rows @ self._spread, self.c: sizes}
            self._stand_ins[self.loss] = self.loss_in_units(self._stand_ins)
        return self._stand_ins

    @cached_property
    def _spread(self) -> Any:
        """(C, N), what makes columns of elements from those of classes; None where these are the same."""
        from scipy.sparse import csc_array

        apart = len(self.universe) == self.question.relation.size
        return None if apart else csc_array(self.universe.spread(np.eye(len(self.universe))))

    def on_classes(self, columns: Any) -> Any:
        """Sums over the elements of every class, (N, ...) to (C, ...)."""
        return columns if self._spread is None else self._spread @ columns

    @cached_property
    def _leaders(self) -> Floats:
        """(C, C): every class takes the entry of the first class of its component, and 0 where records may be absent."""
        label = self.question.relation.components()
        here, absent = label[self.universe.first], label[self.question.relation.size :]
        first = np.unique(here, return_index=True, return_inverse=True)
        leaders = np.zeros((len(here), len(here)))
        leaders[first[1][first[2].ravel()], np.arange(len(here))] = ~np.isin(here, absent)
        return leaders

    @abstractmethod
    def loss_in_units(self, scaled: Mapping[Any, Any]) -> Any:
        """The loss by variables of size 1: what is squared is scaled before."""

    def start(self) -> None:
        """P = Q, and scales that are large enough for it."""
        self.splits, self.shares, self.best_bound = None, self._first_shares(), 0.0
        self.base, self.still, self._stand_ins = self.query, ~self.heard, None
        self.lengths = self.anchor = np.where(self.heard, self.alone / self.shares, 0.0)
        self.set_values(self.query, self.anchor)
        if not len(self.active):
            self._scan(self.query, self.anchor, 0.0)

    def _first_shares(self) -> Floats:
        """Of every budget, the part of each row: all of it where a change moves one row only, else what is best if each row has
        a pair of its own (`sum v (alone / share)^2` least)."""
        if self.is_convex:
            return np.ones(len(self.query))
        needs = np.cbrt(self.question.costs * self.alone**2)
        return np.asarray(np.where(self.heard, needs / needs.sum(), 1.0))

    def set_values(self, rows: Floats, noise: Floats) -> None:
        """Give the variables these values: rows (K, N), noise scales of sums (K,)."""
        self.Q.save_value(rows)
        self.c.save_value(noise / self.gain)

    def point(self) -> tuple[Floats, Floats]:
        """Rows (K, N) and noise scales (K,) of the present values; rows that hardly vary are constants without noise."""
        rows, noise = np.array(self.Q.value), self.gain * np.maximum(np.array(self.c.value), 0.0)
        variation = SensitivitySet.of(rows, self.question.relation).span()
        still = np.abs(variation).max(axis=0, initial=0.0) <= STILL * np.ptp(self.query, axis=1)
        return rows, np.where(still | ~self.heard, 0.0, noise)

    def separate(self) -> Separated:
        return self._scan(*self.point(), 1 + NOTICED)

    def _scan(self, rows: Floats, noise: Floats, noticed: float) -> Separated:
        """The worst ratio of all pairs; those above `noticed` join."""
        loud = noise > 0
        if not loud.any():
            return Separated(0.0, 0)
        return self.active.separate(rows[loud], weighted_l1(1 / noise[loud]), noticed)

    def repaired(self) -> tuple[Floats, Floats]:
        """The present point with its scales multiplied until every pair is within its budget, in floats."""
        rows, noise = self.point()
        loud = noise > 0
        if not loud.any():
            return rows, noise
        worst, _ = SensitivitySet.of(rows[loud], self.question.relation).worst(weighted_l1(1 / noise[loud]))
        return rows, noise * worst

    def rescale(self) -> bool:
        """Take the units of the present values; says whether they shrank enough to solve again."""
        rows, noise = self.repaired()
        lengths = np.maximum(self.records * np.abs(rows - self.query).max(axis=1) + noise, 1e-9 * self.alone)
        shrunk = bool((self.anchor[self.heard] > SHRUNK * lengths[self.heard]).any())
        if shrunk:
            self.lengths = self.anchor = lengths
            self._stand_ins = None
        return shrunk

    def stilled(self, rows: Floats, noise: Floats) -> Iterator[tuple[Floats, Floats]]:
        """For every row with noise the point where it is a constant without noise and the others have its budgets.

        rows: (K, N), noise: (K,).
        """
        for k in np.flatnonzero(noise > 0):
            still = np.arange(len(noise)) == k
            self.set_values(np.where(still[:, None], self._middle(rows[k]), rows), np.where(still, 0.0, noise))
            yield self.repaired()

    def _middle(self, row: Floats) -> Floats:
        """The row, (N,), made constant on every component, in its middle there; 0 where records may be absent."""
        label = self.question.relation.components()
        here, absent = label[: len(row)], label[len(row) :]
        ends = np.full((2, int(label.max()) + 1), -np.inf)
        np.maximum.at(ends[0], here, row)
        np.maximum.at(ends[1], here, -row)
        return np.where(np.isin(here, absent), 0.0, ((ends[0] - ends[1]) / 2)[here])

    def restrict(self, rows: Floats, noise: Floats) -> None:
        """State the convex restriction at these rows (K, N) with scales (K,); rows without noise stay constants."""
        self.still, self._stand_ins = noise == 0, None
        self.base = np.where(self.still[:, None], self._constant(rows), self.query)
        self.anchor, self.splits = noise, rows
        self.lengths = np.full(len(noise), float((self.records * np.abs(rows - self.query).max(axis=1) + noise).max()))

    def _constant(self, rows: Floats) -> Floats:
        """Rows that hardly vary, made constant on every component, for all elements."""
        return self.universe.spread(rows[:, self.universe.first] @ self._leaders)

    def _splits_of_active(self) -> Floats:
        """t for the active pairs, (rows with noise, M): the parts of the budgets that the anchor spends, none 0."""
        assert self.splits is not None
        return np.hypot(self._parts(self.splits, self.anchor), FLOORS[-1])

    def _parts(self, rows: Floats, noise: Floats) -> Floats:
        """`Q'_k d_m / (c_k b_m)` of the rows with noise and the active pairs."""
        loud = ~self.still
        return np.asarray((rows[loud] @ self.active.columns) / np.outer(noise[loud], self.active.budgets))

    def unbiased(self) -> tuple[Floats, Floats]:
        """Q itself with the scales of least squares for it."""
        noise, heard = np.zeros(len(self.query)), self.heard
        moving = SensitivitySet.of(self.query[heard], self.question.relation)
        noise[heard] = 1 / best_weights(moving, self.question.costs[heard], "squared", 1e-6).point
        return self.query, noise

    def starts(self) -> Iterator[tuple[Floats, Floats]]:
        """Q itself with scales for it, and rows that hardly move; where bias adds up in the first power
        also every row with noise by itself, while the others are constants."""
        (rows, noise), heard = self.unbiased(), self.heard
        yield rows, noise
        middles = np.stack([self._middle(row) for row in rows])
        yield np.where(heard[:, None], middles + NEARLY_STILL * (rows - middles), rows), NEARLY_STILL * noise
        for k in np.flatnonzero(heard & (self.rows_loss.power == 1)):
            one = (np.arange(len(rows)) == k) | ~heard
            yield np.where(one[:, None], rows, middles), np.where(one, self.alone, 0.0)

    def state_all(self) -> None:
        self.active.add_all()

    def cvxpy_problem(self) -> ScaledProblem:
        """The whole program, every pair written out, in units of its answer, for which it is solved first. Where it is not
        convex: the convex restriction at the answer, in which `|x| / c` gives way to `x^2 / (2 t) + t / (2 c^2)`; rows without
        noise stay constant."""
        self.solve()
        return super().cvxpy_problem()

    def learn(self, answer: SolverAnswer) -> None:
        """Keep the best bound that the multipliers of a restriction prove."""
        rows, noise = self.point()
        if not answer.multipliers:
            return
        signs = np.zeros((len(noise), len(self.active)))
        signs[~self.still] = self._parts(rows, np.maximum(noise, 1e-9 * self.alone)) / self._splits_of_active()
        bound = self._descent_bound(answer.multipliers[0] / self.active.budgets, np.clip(signs, -1.0, 1.0), rows, noise)
        self.best_bound = max(self.best_bound, bound)

    def _descent_bound(self, multipliers: Floats, signs: Floats, rows: Floats, noise: Floats) -> float:
        """What multipliers (M,) of the active pairs, with signs (K, M), prove; rows (K, N) and noise (K,) guide the bound."""
        heard, units = self.heard, self.gain**self.rows_loss.power
        factors, changes = self.factors[heard, None], Changes(self.on_classes(self.active.columns), self.active.budgets)
        scales = np.where(noise > 0, noise, self.alone)[heard] * factors[:, 0]
        guide = ScaledFit(rows[heard][:, self.universe.first] * factors, scales)
        targets, loads = self.targets[heard], units * multipliers
        return multiplier_bound(targets, changes, self.records, self.rows_loss, loads, signs[heard], guide) / units

    def _bound_of_rows_alone(self) -> float:
        """What is proven by giving every row all of every budget."""
        _, bound = fit_rows_alone(self.targets[self.heard], joint_changes(self.universe), self.records, self.rows_loss)
        return bound / self.gain**self.rows_loss.power

    def least_linear(self, slopes: Mapping[str, Floats]) -> float | None:
        """Over points whose loss is at most twice the present one, slopes of Q (K, N) and c (K,): no other can be the best."""
        if self._objective is not None or not self.is_convex:
            return None
        apart, widest = self.reach(2 * float(self.loss.value))
        rows = float((slopes["Q"] * self.query).sum() - (np.abs(slopes["Q"]).sum(axis=1) * apart).sum())
        return rows + float((np.minimum(slopes["c"], 0.0) * widest).sum())

    def proven(self, answer: SolverAnswer) -> tuple[float | None, str]:
        if self.is_convex:
            return super().proven(answer)
        if self._objective is not None:
            return None, "none: the program is not convex, and the objective not its own"
        return max(self.best_bound, self._bound_of_rows_alone()), "multipliers of the restrictions, Lagrangian in closed form"

    @abstractmethod
    def achieved(self, mechanism: AdditiveMechanism) -> tuple[float, float]:
        """The loss at a frozen mechanism, and how far rounding may have brought it below a bound."""

    def _claim(self, mechanism: AdditiveMechanism, solved: Solved) -> Optimality | None:
        value, rounding = self.achieved(mechanism)
        return self.claim_of(self.objective_words, value, solved, rounding)

    def _rounds(self, solver: str, options: Mapping[str, Any]) -> Rounds:
        return Descent(self, solver, options)
