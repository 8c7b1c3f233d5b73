"""Independent Laplace noise with a scale for each query, as a program in CVXPY (docs/guides/programs.md).

`w_k = 1 / c_k`, c the scales, v the weights of the queries, and h_k the unit of the differences of query k. Where no unit is
found h is 0, and variances and absolute values are `2 w^-2` and `w^-1`. Both are convex, because log(1 - e^-x) is concave:
`Var = 2 h^2 exp(-w h - 2 log(1 - exp(-w h)))`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.designing.evenness import in_units
from designer.designing.laplace import OBJECTIVES, best_weights, mechanism
from designer.designing.laplace_joint import frozen_fit, joint_goal, joint_objective, loss_with_bias
from designer.designing.measured import measurable
from designer.designing.repair import rounding_of
from designer.mechanism.additive import AdditiveMechanism
from designer.programs.biased_program import BiasedProgram
from designer.programs.bounds import Slopes
from designer.programs.scales_program import ScalesProgram
from designer.programs.search import question_of
from designer.relations.problem import Problem
from solvers.programs.noise_costs import NoiseCost
from solvers.programs.row_losses import RowsLoss
from solvers.programs.scales import dual_bound

# Rates, a step, that a row could have alone. Below NARROW a step makes no difference to floats, below SERIES three terms of the
# loss are all of it; beyond LARGEST_RATE the step is taken as smaller than it is: solvers lose exp(-1000).
NARROW, SERIES, LARGEST_RATE = 1e-7, 1e-2, 500.0


class LaplaceProgram(ScalesProgram):
    """The scales of Laplace noise. Variable w, (K,): reciprocal scales; ratios of scales are linear, `w[j] <= r * w[i]`.

    scales, standard_errors, variances, mean_absolutes: convex expressions, (K,). A query that no protected change moves is
    published exactly: its w means nothing, its variance is 0.

    problem: of linear queries.
    """

    title = "laplace"
    source = "DX Theorem 1 in w = 1 / c; docs/theory/scales.md"
    formula = """
        minimise    sum_k v_k Var_k     Var_k = h_k^2 / (2 sinh^2(w_k h_k / 2))     (squared;  max_k v_k Var_k  max)
                    sum_k v_k h_k / sinh(w_k h_k)                                   (absolute)
        subject to  sum_k |u_k| w_k <= b            for every protected pair (u, b)
    """
    on_grid = True

    def __init__(self, problem: Problem) -> None:
        question = question_of(problem, self.title, self.notion)
        super().__init__(question, measurable(question), question.workload.queries)
        self.objective_words = OBJECTIVES[question.loss]
        self.steps = in_units(question.workload.dense(), question.relation).steps[self.heard]

    @property
    def row_costs(self) -> Floats:
        """v of the queries with noise; the 2 of the squared loss apart."""
        return np.asarray(self.question.costs[self.heard])

    @cached_property
    def _stated(self) -> Floats:
        """The steps, (s,), as the expressions have them; 0 for the real line."""
        rates = self.steps * self.alone
        return np.where(rates < NARROW, 0.0, self.steps * np.minimum(1.0, LARGEST_RATE / np.maximum(rates, NARROW)))

    def _of_steps(self, power: int, root: bool, most: Floats | None = None) -> Any:
        """`(h / p)^p / sinh^p(w h / p)` for every query, (K,), or its p-th root; `w^-p` where h is 0.

        most: (s,), how large w is where the expression matters; as large as a row could have alone, unless given.
        """
        h, places = self._stated / power, np.flatnonzero(self.heard)
        rates = h * (self.alone if most is None else most)
        coarse, close = rates > SERIES, (h > 0) & (rates <= SERIES)
        exponent = 1 if root or power == 1 else 2
        whole = np.zeros(len(self.heard))
        whole[places[~coarse]] = 1.0
        found = cp.multiply(whole, self.scales if exponent == 1 else self.squares)
        if close.any():
            spread, x = np.eye(len(self.heard))[:, places[close]], self.w[places[close]]
            found = found + spread @ _rest_of_series(x, h[close], exponent)
        if coarse.any():
            spread, x = np.eye(len(self.heard))[:, places[coarse]], cp.multiply(h[coarse], self.w[places[coarse]])
            found = found + spread @ cp.multiply(h[coarse] ** exponent, _inverse_sinh(x, exponent, (h * self._unit)[coarse]))
        return found

    @cached_property
    def variances(self) -> Any:
        """`h^2 / (2 sinh^2(w h / 2))`, (K,); `2 w^-2` on the real line."""
        return 2 * self._of_steps(2, root=False)

    @cached_property
    def standard_errors(self) -> Any:
        """`h / (sqrt(2) sinh(w h / 2))`, (K,); `sqrt(2) / w` on the real line."""
        return np.sqrt(2) * self._of_steps(2, root=True)

    @cached_property
    def mean_absolutes(self) -> Any:
        """`h / sinh(w h)`, (K,); `1 / w` on the real line."""
        return self._of_steps(1, root=False)

    @cached_property
    def loss(self) -> Any:
        """That of the problem; the largest squared error by what steps are beside noise of equal costs, which it ends in."""
        if self.question.loss != "max":
            return super().loss
        return cp.max(cp.multiply(self.question.costs, 2 * self._of_steps(2, root=False, most=self._unit)))

    def least_loss(self, slopes: Slopes, parts: Floats) -> float:
        """Query by query, in closed form.

        parts: (K,), or 1.
        """
        return self.least_separable(slopes, self.power * (self.question.costs * parts)[self.heard], self.steps)

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats) -> float:
        """The dual of the scales; for "max" the program of one unknown (docs/theory/scales.md).

        multipliers: one array, (M,). parts: (K,), or 1.
        """
        if self.question.loss == "max":
            return best_weights(self.moving, self.row_costs, "max", 1e-9, self.steps).lower_bound
        cost = NoiseCost.of(self.row_costs, self.power, self.steps)
        return self.power * dual_bound(self.working.rows, cost, multipliers[0])

    def frozen(self) -> AdditiveMechanism:
        """Laplace noise with these scales, all multiplied by what privacy requires."""
        full = np.full(len(self.heard), np.inf)
        full[self.heard] = self.weights_of_noise()
        return mechanism(self.question, "laplace", full)

    def take(self, mechanism: AdditiveMechanism) -> None:
        """The w of which the expressions make the variances of the noise that is drawn."""
        halves = mechanism.query_variances()[self.heard] / 2
        self._set(NoiseCost.of(np.ones_like(halves), 2, self._stated).weights_at(halves))


def _inverse_sinh(x: Any, power: int, typical: Floats) -> Any:
    """`sinh(x)^-p` of an affine expression (m,) with positive values of about `typical`, (m,); what a solver sees is near 1.

    Squared it is `4 v + 4 v^2` with `v = 1 / (1 - e^(-2 x)) - 1`, which solvers do more accurately than `2 exp(-x - log(1 -
    e^(-2 x)))`, the form of the first power.
    """
    if power == 1:
        size = np.log(2 * typical)
        return cp.multiply(2 / (2 * typical), cp.exp(size - x - cp.log(1 - cp.exp(-2 * x))))
    u = cp.inv_pos(cp.multiply(1 / (2 * typical), 1 - cp.exp(-2 * x)))
    v = cp.pos(u - 2 * typical)
    return cp.multiply(2 / typical, v) + cp.multiply(typical**-2, cp.square(v))


def _rest_of_series(w: Any, h: Floats, power: int) -> Any:
    """`h^p / sinh^p(h w) - w^-p` up to the fourth power of `h w`; h (m,)."""
    if power == 1:
        return -cp.multiply(h**2 / 6, w) + cp.multiply(7 * h**4 / 360, cp.power(w, 3))
    return cp.multiply(h**4 / 15, cp.power(w, 2)) - h**2 / 3


# Program (6) of the dX paper: answers of other queries Q' near Q and their scales c, in CVXPY (docs/guides/programs.md).
#
# n is the public number of records, v the weights, e the largest bias that one record makes, for the loss "max" that of each
# query. `objective="squared"` is the paper's own loss, `n^2 ||Q' - Q||_F^2 + 2 ||c||^2`, which counts the bias of all elements.


class LaplaceJointProgram(BiasedProgram):
    """Variables Q, (K, N), c, (K,), and, for the loss of the problem, e: a number, or (K,) for the loss "max"."""

    title = "laplace_joint"
    source = "DX program (6), c Q' for the paper's Q'; docs/theory/biased.md"
    formula = """
        minimise    n^2 e + 2 sum_k v_k c_k^2         where  sum_k v_k (Q'_ki - Q_ki)^2 <= e  for every element i     (squared)
                    n e + sum_k v_k c_k               where  sum_k v_k |Q'_ki - Q_ki| <= e                            (absolute)
                    max_k (n^2 e_k + 2 v_k c_k^2)     where  v_k (Q'_ki - Q_ki)^2 <= e_k                              (max)
        subject to  sum_k |Q'_ki - Q'_kj| / c_k <= d(i, j)  for every protected pair of elements
    """
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
        if self._power == 1:
            return bias + cp.sum(cp.multiply(self.factors, scales))
        sizes = self.factors * np.where(self.heard, self.alone, 1.0)  # what is squared is about 1
        squares = cp.multiply(2 * sizes**2, cp.square(cp.multiply(self.factors / sizes, scales)))
        return cp.max(bias + squares) if self.question.loss == "max" else bias + cp.sum(squares)

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

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats) -> float | None:
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
