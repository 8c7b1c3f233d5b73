"""Independent Laplace noise with a scale for each query, as a program in CVXPY (docs/programs.md).

With `w_k = 1 / c_k`, c the scales and v the weights of the queries:

    minimise    sum_k 2 v_k w_k^-2          (squared;  sum_k v_k w_k^-1  absolute;  max_k 2 v_k w_k^-2  max)
    subject to  sum_k |u_k| w_k <= b        for every protected pair (u, b)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import cvxpy as cp
import numpy as np

from designer.additive.mechanism import AdditiveMechanism
from designer.certified.norms import weighted_l1
from designer.certified.refusals import refuse_infinite
from designer.certified.sensitivity import SensitivitySet
from designer.convex.bounds import Slopes
from designer.convex.separation import Separated, WorkingSet
from designer.convex.wording import Named
from designer.designing.families.laplace import OBJECTIVES, mechanism, starting_weights
from designer.designing.measured import measurable
from designer.designing.problem import Problem
from designer.designing.programs.mechanism_program import MechanismProgram
from designer.designing.repair import Bound
from designer.errors import DesignFailed, InvalidProblem
from designer.values.arrays import Floats
from designer.values.checks import positive
from solvers.programs.scales import dual_bound

# Of the weight that a query could have alone: less is no weight, and noise without bound.
VANISHED = 1e-12


class LaplaceProgram(MechanismProgram):
    """The scales of Laplace noise. Variable w, (K,): reciprocal scales; ratios of scales are linear, `w[j] <= r * w[i]`.

    scales, standard_errors, variances: convex expressions, (K,). A query that no protected change moves is published exactly:
    its w means nothing, its variance is 0.
    """

    title = "laplace"
    notion = "pure"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        sensitivity = measurable(problem)
        self.heard = ~sensitivity.silent_coordinates()
        if not self.heard.any():
            raise DesignFailed("laplace: no protected change moves an answer, so there is no noise to choose; use design.")
        self.moving = SensitivitySet(sensitivity.relation, sensitivity.points[:, self.heard])
        self.working = WorkingSet(starting_weights(self.moving))
        self.objective_words = OBJECTIVES[problem.loss]
        self.w = cp.Variable(len(self.heard), name="w", pos=True)

    @property
    def variables(self) -> dict[str, Any]:
        """w, (K,)."""
        return {"w": self.w}

    @property
    def privacy(self) -> tuple[Any, ...]:
        """`sum_k |u_k| w_k / b <= 1` for the pairs of the working set."""
        return (self.working.rows @ self._heard(self.w) <= 1,)

    @cached_property
    def scales(self) -> Any:
        """The scales c = 1 / w, (K,)."""
        return self._noisy(1.0, -1)

    @cached_property
    def variances(self) -> Any:
        """`2 w^-2`, (K,)."""
        return self._noisy(2.0, -2)

    @cached_property
    def standard_errors(self) -> Any:
        """`sqrt(2) / w`, (K,)."""
        return self._noisy(np.sqrt(2), -1)

    @cached_property
    def loss(self) -> Any:
        """The weighted squared error, absolute error or largest squared error of Laplace noise."""
        if self.question.loss == "absolute":
            return cp.sum(cp.multiply(self.question.costs, self.scales))
        weighted = cp.multiply(self.question.costs, self.variances)
        return cp.sum(weighted) if self.question.loss == "squared" else cp.max(weighted)

    @property
    def named(self) -> Named:
        """w, scales, variances and standard errors, by query."""
        queries = self.question.workload.queries
        return {**super().named, "w": (self.w, queries), "scales": (self.scales, queries)}

    def equal_scales(self, queries: Sequence[str | int], name: str | None = None) -> Self:
        """One scale for several queries; the program itself is changed and returned."""
        places = [self._noisy_place(query) for query in queries]
        if len(places) < 2:
            raise InvalidProblem(f"queries: {len(places)} given; name at least two that shall have one scale.")
        return self.subject_to(self.w[places[1:]] == self.w[places[0]], name)

    def scale_ratio_at_most(self, query: str | int, other: str | int, ratio: float, name: str | None = None) -> Self:
        """The scale of `query` is at most `ratio` times that of `other`; the program itself is changed and returned."""
        wide, narrow = self._noisy_place(query), self._noisy_place(other)
        return self.subject_to(self.w[narrow] <= positive(ratio, "ratio") * self.w[wide], name)

    def separate(self) -> Separated:
        """A scan of all pairs at the weights of now."""
        weights = self._weights()
        worst, pairs = self.moving.worst(weighted_l1(weights), limit=max(200, 4 * len(weights)))
        rows = np.abs(pairs.normalised)
        return Separated(worst, self.working.grow(rows, rows @ weights))

    def start(self) -> None:
        """The weights that equal multipliers for all pairs of the working set give, made private for these."""
        self._set(self._unit)

    @cached_property
    def in_units(self) -> Mapping[Any, Any]:
        """`w = x` times weights of the right order, in w itself and in the expressions of it."""
        shares = cp.Variable(len(self._unit), name="x", pos=True)
        spread = np.eye(len(self.heard))[:, self.heard]

        def stands(power: int, factor: float = 1.0) -> Any:
            term = cp.multiply(factor * self._unit**power, cp.power(shares, power) if power < 0 else shares)
            return term if self.heard.all() else spread @ term

        silent = (~self.heard).astype(float)
        return {
            self.w: stands(1) + silent,
            self.scales: stands(-1),
            self.variances: stands(-2, 2.0),
            self.standard_errors: stands(-1, np.sqrt(2)),
        }

    def least_linear(self, slopes: Slopes) -> float | None:
        """Weights lie between 0 and what each query could have alone."""
        return float(np.minimum(slopes["w"][self.heard] * self._alone, 0.0).sum())

    def least_loss(self, slopes: Slopes, parts: Floats | None) -> float:
        """Weight by weight: `V w^-p + a w` is least at `(p V / a)^(1/(p+1))`, or at what the query could have alone."""
        costs, a = self.question.costs[self.heard], slopes["w"][self.heard]
        power, unit = (1, 1.0) if self.question.loss == "absolute" else (2, 2.0)
        costs = unit * (costs if parts is None else costs * parts[self.heard])
        with np.errstate(divide="ignore", over="ignore"):
            best = np.where(a > 0, (power * costs / np.maximum(a, 0.0)) ** (1 / (power + 1)), np.inf)
        weights = np.minimum(best, self._alone)
        kept = costs > 0
        return float((costs[kept] * weights[kept] ** -power).sum() + (a * weights).sum())

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats | None) -> float:
        """The dual of the scales in closed form; for "max" the one worst pair (docs/theory/scales.md)."""
        costs = self.question.costs[self.heard]
        if self.question.loss == "max":
            return float(2 * refuse_infinite(self.moving, weighted_l1(np.sqrt(costs))) ** 2 * (1 - 1e-12))
        power = 2 if self.question.loss == "squared" else 1
        return power * dual_bound(self.working.rows, costs, power, multipliers[0])

    def frozen(self, bound: Bound | None) -> AdditiveMechanism:
        """Laplace noise with these scales, all divided by what privacy requires."""
        weights = self._weights()
        if (vanished := weights <= VANISHED * self._alone).any():
            place = int(np.flatnonzero(self.heard)[np.flatnonzero(vanished)[0]])
            raise DesignFailed(
                f"laplace: the objective leaves query {self.question.workload.queries[place]!r} no weight, that is noise "
                "without bound; let the objective depend on every query, or cap its variance."
            )
        full = np.full(len(self.heard), np.inf)
        full[self.heard] = weights
        return mechanism(self.question, "laplace", full, bound)

    def take(self, mechanism: AdditiveMechanism) -> None:
        """`w = sqrt(2 / variance)`."""
        self._set(np.sqrt(2 / mechanism.query_variances()[self.heard]))

    @cached_property
    def _alone(self) -> Floats:
        return np.asarray(1 / self.working.rows.max(axis=0))

    @cached_property
    def _unit(self) -> Floats:
        power = 1 if self.question.loss == "absolute" else 2
        rows = self.working.rows * self._alone
        shares = (self.question.costs[self.heard] * self._alone**-power / rows.mean(axis=0)) ** (1 / (power + 1))
        return np.asarray(self._alone * shares / (rows @ shares).max())

    def _weights(self) -> Floats:
        return np.maximum(np.asarray(self.w.value, dtype=np.float64)[self.heard], 1e-3 * VANISHED * self._alone)

    def _set(self, weights: Floats) -> None:
        full = np.ones(len(self.heard))
        full[self.heard] = weights
        self.w.save_value(full)

    def _heard(self, expression: Any) -> Any:
        return expression if self.heard.all() else expression[np.flatnonzero(self.heard)]

    def _noisy(self, factor: float, power: int) -> Any:
        return cp.multiply(factor * self.heard, cp.power(self.w, power))

    def _noisy_place(self, query: str | int) -> int:
        if not self.heard[place := self.place(query)]:
            raise InvalidProblem(f"query: {query!r} is moved by no protected change and gets no noise; leave it out.")
        return place
