"""Noise in a box, and in a box with its corners cut, as programs in CVXPY (docs/guides/programs.md).

With w the reciprocal sides, s coordinates, q_k the rows of the reconstruction and v the weights of the queries:

    minimise    sum_k v_k Var_k,  Var_k = (s + 1)(s + 2) m(cap) sum_i q_ki^2 w_i^-2     (squared;  max_k v_k Var_k  max;
                sum_k v_k Var_k^1/2                                                     absolute, in the place of it)
    subject to  |u_i| w_i <= b                    for every coordinate of every protected pair (u, b)
                sum_i |u_i| w_i <= cap b          for every protected pair, where corners are cut

m(cap) is the mean of u_1^2 over the unit cube with its corners cut, 1/3 for the whole cube. Box: convex. Corners cut: convex
for a cap that is given; the best cap is found by trying, because m(cap) and w multiply.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import positive
from designer.certified.capped_norm import CappedNorm
from designer.certified.norms import Norm, weighted_l1
from designer.certified.refusals import refuse_infinite
from designer.families.convex.bounds import Slopes
from designer.families.convex.separation import Separated
from designer.families.measured import moving_coordinates
from designer.families.programs.mechanism_program import question_of
from designer.families.programs.scales_program import ScalesProgram
from designer.families.repair import freeze, on_heard
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem
from solvers.exact.corners_cut import capped_cube

WORDS = {
    "squared": "sum_k v_k Var_k, the weighted squared error of continuous noise",
    "absolute": "sum_k v_k Var_k^1/2, the weighted standard errors, in the place of the absolute error",
    "max": "max_k v_k Var_k, the largest weighted squared error of continuous noise",
}


class BoxProgram(ScalesProgram):
    """The sides of a box. Variable w, (s,): one over half of each side; variances and standard errors are convex, (K,).

    problem: of linear queries.
    """

    title = "box"

    def __init__(self, problem: Problem) -> None:
        question = question_of(problem, self.title, self.notion)
        self.coordinates = moving_coordinates(question)
        moving = self.coordinates.sensitivity(question)
        if self.coordinates.heard.any():
            refuse_infinite(moving, weighted_l1(np.ones(moving.dimension)))
        plain = self.coordinates.measured is None
        names = question.workload.queries if plain else [f"coordinate {i + 1}" for i in range(len(self.coordinates.heard))]
        super().__init__(question, moving, [name for name, h in zip(names, self.coordinates.heard, strict=True) if h])
        self.objective_words = WORDS[question.loss]

    @property
    def loss_is_exact(self) -> bool:  # type: ignore[override]  # by the loss of the problem
        """Whether `loss` is that of the problem: standard errors stand in for absolute ones."""
        return self.question.loss != "absolute"

    @property
    def cap(self) -> float:
        """How many sides the ball allows together: all."""
        return float(self.moving.dimension)

    @property
    def inflation(self) -> float:
        """`(s + 1)(s + 2) m(cap)`: the variance of a coordinate over its squared side."""
        s = self.moving.dimension
        return (s + 1) * (s + 2) * float(capped_cube(s, Fraction(self.cap)).square)

    @property
    def power(self) -> int:
        return 2

    @cached_property
    def queries(self) -> Floats:
        """The rows q of the reconstruction, (K, s)."""
        return np.asarray(self.coordinates.answers(self.question))

    @property
    def row_costs(self) -> Floats:
        costs = np.asarray(self.inflation * (self.question.costs @ self.queries**2))
        return np.asarray(np.maximum(costs, 1e-9 * costs.max()))

    @cached_property
    def _unit(self) -> Floats:
        """The sides of the smallest box, made larger until all pairs of the working set keep the cap, (s,)."""
        return np.asarray(self.alone * min(1.0, self.cap / float((self.working.rows @ self.alone).max())))

    @property
    def privacy(self) -> tuple[Any, ...]:
        """`|u_i| w_i / b <= 1` for each coordinate of the pairs of the working set."""
        rows = self.working.rows
        return (cp.multiply(rows, np.ones((len(rows), 1)) @ cp.reshape(self.w, (1, self.w.size), order="C")) <= 1,)

    @cached_property
    def variances(self) -> Any:
        """`(s + 1)(s + 2) m(cap) sum_i q_ki^2 w_i^-2`, (K,)."""
        return cp.multiply(self.inflation, self.queries**2 @ self.squares)

    @cached_property
    def standard_errors(self) -> Any:
        """The roots of the variances: the lengths of `(q_ki / w_i)_i`, (K,)."""
        lengths = [cp.norm(cp.multiply(np.abs(q), self.scales), 2) for q in self.queries]
        return np.sqrt(self.inflation) * cp.hstack(lengths)

    def least_loss(self, slopes: Slopes, parts: Floats | None) -> float | None:
        """Coordinate by coordinate, in closed form; None for the absolute loss.

        parts: (K,), or None.
        """
        if self.question.loss == "absolute":
            return None
        costs = self.question.costs if parts is None else self.question.costs * parts
        return self.least_separable(slopes, np.asarray(self.inflation * (costs @ self.queries**2)))

    def separate(self) -> Separated:
        """A scan of all pairs in the maximum norm."""
        weights = self._weights()
        worst, pairs = self.moving.worst(Norm(weights, "linf"), limit=max(200, 4 * len(weights)))
        rows = np.abs(pairs.normalised)
        ratios, known = (some * weights for some in (rows, self.working.rows))
        return Separated(worst, self.working.grow(rows, ratios.max(axis=1), float(known.max())))

    def shape(self, weights: Floats) -> Norm:
        """The norm of these reciprocal sides, (s,)."""
        return Norm(weights, "linf")

    def frozen(self) -> AdditiveMechanism:
        """Noise in this box, as large as privacy requires."""
        weights = on_heard(self.weights_of_noise(), self.coordinates, np.inf)
        scales = 1 / weights
        return freeze(self.question, self.title, self.coordinates, scales, lambda _: self.shape(weights), "exponential")

    def take(self, mechanism: AdditiveMechanism) -> None:
        """The w whose variances are at least those of the noise that is drawn, in proportion to the frozen sides."""
        norm = mechanism.norm
        weights = norm.weights if isinstance(norm, CappedNorm) else norm.map
        self._set(np.asarray(weights[~norm.silent]))
        noisy = self.variances.value > 0
        ratios = mechanism.query_variances()[noisy] / self.variances.value[noisy]
        self._set(self._weights() / np.sqrt(ratios.max(initial=0.0) or 1.0))

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats | None) -> float | None:
        """The loss of the smallest box, in closed form: no side can shrink. None for the absolute loss.

        multipliers: one array, (M, s). parts: (K,), or None.
        """
        if self.question.loss == "absolute":
            return None
        variances = self.inflation * (self.queries**2 @ self.moving.worst_coordinates() ** 2)
        costs = self.question.costs * variances
        return float(costs.max() if self.question.loss == "max" else costs.sum()) * (1 - 1e-11)


class CappedProgram(BoxProgram):
    """The sides of a box with its corners cut, for a cap that is given: the part of the design that is convex.

    cap: how many sides the ball allows together, positive; by default that of `design(problem, "capped_l1")`.
    """

    title = "capped_l1"

    def __init__(self, problem: Problem, cap: float | None = None) -> None:
        self._cap = self._found(problem) if cap is None else positive(cap, "cap")
        super().__init__(problem)
        self.objective_words = f"{WORDS[self.question.loss]}, of boxes whose corners leave {self._cap:.6g} sides"

    @staticmethod
    def _found(problem: Problem) -> float:
        from designer.families.capped_l1 import design_capped_l1

        norm = design_capped_l1(question_of(problem, CappedProgram.title, CappedProgram.notion)).norm
        assert isinstance(norm, CappedNorm)
        return norm.cap

    @property
    def cap(self) -> float:
        """How many sides the ball allows together."""
        return self._cap

    @property
    def privacy(self) -> tuple[Any, ...]:
        """Those of the box, and `sum_i |u_i| w_i / (cap b) <= 1` for the pairs of the working set."""
        if self.cap >= self.moving.dimension:  # which follows from the sides
            return super().privacy
        return (*super().privacy, (self.working.rows / self.cap) @ self.w <= 1)

    def separate(self) -> Separated:
        """A scan of all pairs in the norm itself."""
        weights = self._weights()
        norm = self.shape(weights)
        worst, pairs = self.moving.worst(norm, limit=max(200, 4 * len(weights)))
        rows = np.abs(pairs.normalised)
        ratios, known = (norm(some) for some in (rows, self.working.rows))
        return Separated(worst, self.working.grow(rows, ratios, float(known.max())))

    def shape(self, weights: Floats) -> Norm:
        """The norm of these reciprocal sides, (s,), with its corners cut."""
        return CappedNorm(weights, self.cap)

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats | None) -> float | None:
        """None: what the multipliers prove is the bound.

        multipliers: two arrays, (M, s) and (M,). parts: (K,), or None.
        """
        return None
