"""Program (6) of the dX paper: answers of other queries Q' near Q and their scales c, in CVXPY (docs/guides/programs.md).

With n public records, weights v, and e the largest bias that one record makes, for the loss "max" that of each query:

    minimise    n^2 e + 2 sum_k v_k c_k^2         where  sum_k v_k (Q'_ki - Q_ki)^2 <= e  for every element i     (squared)
                n e + sum_k v_k c_k               where  sum_k v_k |Q'_ki - Q_ki| <= e                            (absolute)
                max_k (n^2 e_k + 2 v_k c_k^2)     where  v_k (Q'_ki - Q_ki)^2 <= e_k                              (max)
    subject to  sum_k |Q'_ki - Q'_kj| / c_k <= d(i, j)  for every protected pair of elements

`objective="squared"` is the paper's own loss, `n^2 ||Q' - Q||_F^2 + 2 ||c||^2`, which counts the bias of every element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.families.laplace_joint import frozen_fit, joint_goal, joint_objective, loss_with_bias
from designer.families.programs.biased_program import BiasedProgram
from designer.families.programs.mechanism_program import question_of
from designer.families.repair import rounding_of
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem
from solvers.programs.row_losses import RowsLoss


class LaplaceJointProgram(BiasedProgram):
    """Variables Q, (K, N), c, (K,), and, for the loss of the problem, e: a number, or (K,) for the loss "max"."""

    title = "laplace_joint"
    notion = "pure"

    def __init__(self, problem: Problem, objective: str = "loss", delta: float = 0.05) -> None:
        """objective, delta: as for the family `laplace_joint`."""
        question_of(problem, self.title, self.notion)
        self.goal = joint_goal(problem, objective, delta)
        self.own, self.form, self.objective_words = self.goal.own, self.goal.program, self.goal.words
        super().__init__(problem, float(problem.records or 0), np.ones(problem.workload.shape, dtype=bool))
        apart = (len(self.query),) if problem.loss == "max" else ()
        self.e = cp.Variable(apart, nonneg=True, name="e")
        self._bias = cp.Variable(apart, nonneg=True)

    @property
    def is_convex(self) -> bool:
        return int(self.heard.sum()) == 1

    @property
    def variables(self) -> dict[str, Any]:
        return {**super().variables, "e": self.e} if self.own else super().variables

    @property
    def in_units(self) -> Mapping[Any, Any]:
        units = super().in_units
        return {**units, self.e: self._size_of_bias**self._power * self._bias}

    def loss_in_units(self, scaled: Mapping[Any, Any]) -> Any:
        if self.own:
            return self._loss_of((self.records * self._size_of_bias) ** self._power * self._bias, scaled[self.c])
        return self._objective_of(self.records * (scaled[self.Q] - self.query)[:, self.universe.first], scaled[self.c])

    @property
    def _size_of_bias(self) -> float:
        """About the largest weighted bias of an element."""
        return float((self.factors * self.lengths).max() / self.records)

    @property
    def _power(self) -> int:
        return 1 if self.question.loss == "absolute" else 2

    @property
    def _root(self) -> Floats:
        return np.sqrt(self.question.costs)

    @property
    def definitions(self) -> tuple[Any, ...]:
        """e is at least the bias of every element."""
        if not self.own:
            return ()
        size = self._size_of_bias
        off = cp.multiply(self.factors[:, None] / size, self.off)
        bound = self.e / size**self._power
        if self._power == 1 and len(self.query) == 1:  # linear, so that multipliers prove a bound where nothing is biased
            return off[0] <= bound, -off[0] <= bound
        parts = cp.abs(off) if self._power == 1 else cp.square(off)
        return (cp.max(parts, axis=1) <= bound if self.question.loss == "max" else cp.sum(parts, axis=0) <= bound,)

    @cached_property
    def loss(self) -> Any:
        """The loss of the problem, or the objective of the paper that was asked for."""
        if self.own:
            return self._loss_of(self.records**self._power * self.e, self.c)
        return self._objective_of(self.records * self.off, self.c)

    def _loss_of(self, bias: Any, scales: Any) -> Any:
        """The loss of the problem at a bias of n records, e times n or n^2, and scales (K,)."""
        weighted = cp.multiply(self.factors, scales)
        if self._power == 1:
            return bias + cp.sum(weighted)
        return cp.max(bias + 2 * cp.square(weighted)) if self.question.loss == "max" else bias + 2 * cp.sum_squares(weighted)

    def _objective_of(self, bias: Any, scales: Any) -> Any:
        """The objective that was asked for, at the bias of n records (K, C) and scales (K,)."""
        bias, noise = cp.multiply(self._root[:, None], bias), cp.multiply(self._root, scales)
        size = cp.norm(cp.vec(bias, order="F"), self.form.order)
        if self.form.power == 1:
            return size + self.form.weight * cp.sum(noise)
        return (cp.sum_squares(bias) if self.form.order == 2 else cp.square(size)) + self.form.weight * cp.sum_squares(noise)

    def reach(self, loss: float) -> tuple[Floats, Floats]:
        part = loss if self.form.power == 1 else math.sqrt(loss)
        factor = self.factors
        widest = loss / self.form.weight if self.form.power == 1 else math.sqrt(loss / self.form.weight)
        return part / (self.records * factor), widest / factor

    def least_linear(self, slopes: Mapping[str, Floats]) -> float | None:
        others = super().least_linear(slopes)
        if others is None or not self.own:
            return others
        most = 2 * float(self.loss.value) / self.records**self._power
        return others + float(np.minimum(slopes["e"], 0.0).sum()) * most

    @property
    def factors(self) -> Floats:
        return self.goal.factors(self.question)

    @property
    def rows_loss(self) -> RowsLoss:
        return self.goal.rows

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats | None) -> float | None:
        """One query: the dual in closed form, from multipliers (1, M) of both limits (docs/theory/biased.md, section 2)."""
        if len(self.query) > 1:
            return None
        above, below = (part[0] / (self.anchor[0] * self.active.budgets) for part in multipliers)
        loads, force = above + below, self.on_classes(self.active.columns @ (above - below))
        return self.form.bound(self.targets[0], force, float(loads @ self.active.budgets), self.records)

    def set_values(self, rows: Floats, noise: Floats) -> None:
        super().set_values(rows, noise)
        self.e.save_value(self._bias_of(rows))

    def _bias_of(self, rows: Floats) -> Floats:
        """e at these rows."""
        parts = (self.factors[:, None] * np.abs(rows - self.query)) ** self._power
        return np.asarray(parts.max(axis=1) if self.question.loss == "max" else parts.sum(axis=0).max())

    def frozen(self) -> AdditiveMechanism:
        """As `design(problem, "laplace_joint")` freezes rows and scales, from this program's answer."""
        return frozen_fit(self.question, *self.repaired(), self.records)

    def achieved(self, mechanism: AdditiveMechanism) -> tuple[float, float]:
        question, own = self.question, self.own
        value = loss_with_bias(question, mechanism) if own else joint_objective(self.universe, mechanism, self.form)
        floats = value * (self.query.size + 16) * 2.0**-50
        return value, floats + (rounding_of(question, mechanism) if own else 0.0)

    def take(self, mechanism: AdditiveMechanism) -> None:
        self.set_values(mechanism.effective, np.sqrt(mechanism.query_variances() / 2))
