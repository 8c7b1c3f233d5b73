"""Program (6) of the dX paper: answers of other queries Q' near Q and their scales c together, in CVXPY (docs/programs.md).

With n public records, weights v, and e the largest bias that one record makes:

    minimise    n^2 e + 2 sum_k v_k c_k^2     where  sum_k v_k (Q'_ki - Q_ki)^2 <= e  for every element i     (squared)
                n e + sum_k v_k c_k           where  sum_k v_k |Q'_ki - Q_ki| <= e                            (absolute)
                n^2 e + max_k 2 v_k c_k^2     where  v_k (Q'_ki - Q_ki)^2 <= e                                (max)
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

from designer.additive.mechanism import AdditiveMechanism
from designer.designing.families.laplace_joint import LOSSES, frozen_fit, joint_goal, joint_objective, loss_with_bias
from designer.designing.problem import Problem
from designer.designing.programs.biased_program import BiasedProgram
from designer.designing.programs.mechanism_program import question_of
from designer.designing.repair import rounding_of
from designer.values.arrays import Floats
from solvers.programs.biconvex import multiplier_bound, rows_alone, uniform_bound
from solvers.programs.changes import Changes
from solvers.programs.lipschitz import MAXIMUM, SQUARED_MAXIMUM, fit_jointly


class LaplaceJointProgram(BiasedProgram):
    """Variables Q, (K, N), c, (K,), and, for the loss of the problem, the number e."""

    title = "laplace_joint"
    notion = "pure"

    def __init__(self, problem: Problem, objective: str = "loss", delta: float = 0.05) -> None:
        """objective, delta: as for the family `laplace_joint`, but that "loss" may be of any number of queries."""
        question_of(problem, self.title, self.notion)
        self.own = objective == "loss"
        one_query = (
            Problem(problem.workload, problem.relation, loss="squared", records=problem.records) if self.own else problem
        )
        goal = joint_goal(one_query, objective, delta)
        words, self.form = LOSSES[problem.loss] if self.own else (goal.words, goal.program)
        self.objective_words = words
        super().__init__(problem, float(problem.records or 0), np.ones(problem.workload.shape, dtype=bool))
        self.e = cp.Variable(nonneg=True, name="e")
        self._bias = cp.Variable(nonneg=True)

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
            return (self.records * self._size_of_bias) ** self._power * self._bias + self._noise(scaled[self.c])
        return self._objective_of(self.records * (scaled[self.Q] - self.query)[:, self.universe.first], scaled[self.c])

    @property
    def _size_of_bias(self) -> float:
        """About the largest weighted bias of an element."""
        return float((self._factor * self.lengths).max() / self.records)

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
        off = cp.multiply(self._factor[:, None] / size, self.off)
        bound = self.e / size**self._power
        if self._power == 1 and len(self.query) == 1:  # linear, so that multipliers prove a bound where nothing is biased
            return off[0] <= bound, -off[0] <= bound
        parts = cp.abs(off) if self._power == 1 else cp.square(off)
        return ((cp.max(parts, axis=0) if self.question.loss == "max" else cp.sum(parts, axis=0)) <= bound,)

    @cached_property
    def loss(self) -> Any:
        """The loss of the problem, or the objective of the paper that was asked for."""
        if self.own:
            return self.records**self._power * self.e + self._noise(self.c)
        return self._objective_of(self.records * self.off, self.c)

    def _noise(self, scales: Any) -> Any:
        """What noise of these scales costs the problem."""
        weighted = cp.multiply(self._factor, scales)
        if self._power == 1:
            return cp.sum(weighted)
        return 2 * (cp.max(cp.square(weighted)) if self.question.loss == "max" else cp.sum_squares(weighted))

    def _objective_of(self, bias: Any, scales: Any) -> Any:
        """The objective that was asked for, at the bias of n records (K, C) and scales (K,)."""
        bias, noise = cp.multiply(self._root[:, None], bias), cp.multiply(self._root, scales)
        size = cp.norm(cp.vec(bias, order="F"), self.form.order)
        if self.form.power == 1:
            return size + self.form.weight * cp.sum(noise)
        return (cp.sum_squares(bias) if self.form.order == 2 else cp.square(size)) + self.form.weight * cp.sum_squares(noise)

    def reach(self, loss: float) -> tuple[Floats, Floats]:
        part = loss if self.form.power == 1 else math.sqrt(loss)
        factor = self._factor
        widest = loss / self.form.weight if self.form.power == 1 else math.sqrt(loss / self.form.weight)
        return part / (self.records * factor), widest / factor

    def least_linear(self, slopes: Mapping[str, Floats]) -> float | None:
        others = super().least_linear(slopes)
        if others is None or not self.own:
            return others
        most = 2 * float(self.loss.value) / self.records**self._power
        return others + min(0.0, float(slopes["e"])) * most

    @property
    def _factor(self) -> Floats:
        """Of rows and scales, so that all queries weigh the same."""
        return self.question.costs if self.own and self.question.loss == "absolute" else self._root

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats | None) -> float | None:
        """One query: the dual in closed form, from multipliers (1, M) of both limits (docs/theory/biased.md, section 2)."""
        if len(self.query) > 1:
            return None
        above, below = (part[0] / (self.anchor[0] * self.active.budgets) for part in multipliers)
        loads, force = above + below, self.on_classes(self.active.columns @ (above - below))
        return self.form.bound(self._targets[0], force, float(loads @ self.active.budgets), self.records)

    def descent_bound(self, multipliers: Floats, signs: Floats) -> float:
        """Lagrangians in closed form, from multipliers (M,) and signs (K, M).

        The largest bias of an element is at least the mean over elements, and over queries.
        """
        changes = Changes(self.on_classes(self.active.columns), self.active.budgets)
        bounds = [uniform_bound(targets, changes, count, multipliers, signs, self._power) for targets, count in self._sharp()]
        if self.question.loss == "squared":
            count = self.records / math.sqrt(len(self.universe)) if self.own else self.records
            bounds.append(multiplier_bound(self._targets, changes, count, multipliers, signs))
        return max(bounds)

    def rows_alone(self) -> float:
        changes = Changes(self.on_classes(self.active.columns), self.active.budgets)
        if not self.own:
            return rows_alone(self._targets, changes, self.records)
        form = MAXIMUM if self._power == 1 else SQUARED_MAXIMUM
        if self.question.loss == "max":
            return max(fit_jointly(q, changes, self.records, form).lower_bound for q in self._targets)
        ((targets, count),) = self._sharp()
        sharp = sum(fit_jointly(q, changes, count, form).lower_bound for q in targets)
        mean = rows_alone(targets, changes, self.records / math.sqrt(len(self.universe))) if self._power == 2 else 0.0
        return max(sharp, mean)

    @property
    def _targets(self) -> Floats:
        return np.asarray(self.universe.workload * self._factor[:, None])

    def _sharp(self) -> list[tuple[Floats, float]]:
        """Rows and a number of records for which the sum over queries of their largest biases bounds the loss."""
        queries = len(self.query)
        if not self.own:
            return []
        if self.question.loss == "max":
            return [(self._targets / math.sqrt(queries), self.records)]
        return [(self._targets, self.records / queries ** (1 / self._power))]

    def set_values(self, rows: Floats, noise: Floats) -> None:
        super().set_values(rows, noise)
        self.e.save_value(np.array(self._bias_of(rows)))

    def _bias_of(self, rows: Floats) -> float:
        """e at these rows."""
        bias = self.question.bias_of(rows)
        return bias / self.records**self._power

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
