"""Independent Laplace noise with a scale for each query, as a program in CVXPY (docs/programs.md).

With `w_k = 1 / c_k`, c the scales and v the weights of the queries:

    minimise    sum_k 2 v_k w_k^-2          (squared;  sum_k v_k w_k^-1  absolute;  max_k 2 v_k w_k^-2  max)
    subject to  sum_k |u_k| w_k <= b        for every protected pair (u, b)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.additive.mechanism import AdditiveMechanism
from designer.certified.norms import weighted_l1
from designer.certified.refusals import refuse_infinite
from designer.convex.bounds import Slopes
from designer.designing.families.laplace import OBJECTIVES, mechanism
from designer.designing.measured import measurable
from designer.designing.problem import Problem
from designer.designing.programs.mechanism_program import question_of
from designer.designing.programs.scales_program import ScalesProgram
from designer.values.arrays import Floats
from solvers.programs.scales import dual_bound


class LaplaceProgram(ScalesProgram):
    """The scales of Laplace noise. Variable w, (K,): reciprocal scales; ratios of scales are linear, `w[j] <= r * w[i]`.

    scales, standard_errors, variances: convex expressions, (K,). A query that no protected change moves is published exactly:
    its w means nothing, its variance is 0.
    """

    title = "laplace"

    def __init__(self, problem: Problem) -> None:
        question = question_of(problem, self.title, self.notion)
        super().__init__(question, measurable(question), question.workload.queries)
        self.objective_words = OBJECTIVES[question.loss]

    @property
    def row_costs(self) -> Floats:
        """v of the queries with noise; the 2 of the squared loss apart."""
        return np.asarray(self.question.costs[self.heard])

    @cached_property
    def variances(self) -> Any:
        """`2 w^-2`, (K,)."""
        return 2 * self.squares

    @cached_property
    def standard_errors(self) -> Any:
        """`sqrt(2) / w`, (K,)."""
        return np.sqrt(2) * self.scales

    @cached_property
    def loss(self) -> Any:
        """The weighted squared error, absolute error or largest squared error of Laplace noise."""
        if self.question.loss == "absolute":
            return cp.sum(cp.multiply(self.question.costs, self.scales))
        weighted = cp.multiply(self.question.costs, self.variances)
        return cp.sum(weighted) if self.question.loss == "squared" else cp.max(weighted)

    def least_loss(self, slopes: Slopes, parts: Floats | None) -> float:
        """Query by query, in closed form.

        parts: (K,), or None.
        """
        costs = self.power * self.row_costs
        return self.least_separable(slopes, costs if parts is None else costs * parts[self.heard])

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats | None) -> float:
        """The dual of the scales in closed form; for "max" the one worst pair (docs/theory/scales.md).

        multipliers: one array, (M,). parts: (K,), or None.
        """
        if self.question.loss == "max":
            return float(2 * refuse_infinite(self.moving, weighted_l1(np.sqrt(self.row_costs))) ** 2 * (1 - 1e-12))
        return self.power * dual_bound(self.working.rows, self.row_costs, self.power, multipliers[0])

    def frozen(self) -> AdditiveMechanism:
        """Laplace noise with these scales, all multiplied by what privacy requires."""
        full = np.full(len(self.heard), np.inf)
        full[self.heard] = self.weights_of_noise()
        return mechanism(self.question, "laplace", full)

    def take(self, mechanism: AdditiveMechanism) -> None:
        """`w = sqrt(2 / variance)`."""
        self._set(np.sqrt(2 / mechanism.query_variances()[self.heard]))
