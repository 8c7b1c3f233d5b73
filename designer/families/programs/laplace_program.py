"""Independent Laplace noise with a scale for each query, as a program in CVXPY (docs/guides/programs.md).

With `w_k = 1 / c_k`, c the scales, v the weights of the queries, and h_k the unit of the differences of query k:

    minimise    sum_k v_k Var_k     Var_k = h_k^2 / (2 sinh^2(w_k h_k / 2))     (squared;  max_k v_k Var_k  max)
                sum_k v_k h_k / sinh(w_k h_k)                                   (absolute)
    subject to  sum_k |u_k| w_k <= b            for every protected pair (u, b)

Where no unit is found h is 0, and these are `2 w^-2` and `w^-1`. Both are convex, because log(1 - e^-x) is concave:
`Var = 2 h^2 exp(-w h - 2 log(1 - exp(-w h)))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.families.convex.bounds import Slopes
from designer.families.laplace import OBJECTIVES, best_weights, mechanism
from designer.families.measured import measurable
from designer.families.programs.mechanism_program import question_of
from designer.families.programs.scales_program import ScalesProgram
from designer.families.whole import in_units
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem
from solvers.programs.noise_costs import NoiseCost
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

    def _of_steps(self, power: int, root: bool) -> Any:
        """`(h / p)^p / sinh^p(w h / p)` for every query, (K,), or its p-th root; `w^-p` where h is 0."""
        h, places = self._stated / power, np.flatnonzero(self.heard)
        coarse, close = h * self.alone > SERIES, (h > 0) & (h * self.alone <= SERIES)
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

    def least_loss(self, slopes: Slopes, parts: Floats | None) -> float:
        """Query by query, in closed form.

        parts: (K,), or None.
        """
        costs = self.power * self.row_costs
        return self.least_separable(slopes, costs if parts is None else costs * parts[self.heard], self.steps)

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats | None) -> float:
        """The dual of the scales; for "max" the program of one unknown (docs/theory/scales.md).

        multipliers: one array, (M,). parts: (K,), or None.
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
