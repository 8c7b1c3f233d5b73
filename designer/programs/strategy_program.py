"""Laplace noise in the rows of a strategy A, from which answers are put together, in CVXPY (docs/guides/programs.md).

With w the reciprocal scales of the rows and G a reconstruction, `Q = G A` on all protected changes, it is convex in w for a
fixed G, and G has a closed form for fixed w: the weighted least squares, which give every query its least variance at once. It
is NOT convex in w and G together, nor in the rows: `solve` alternates between the two, the loss never rises, every cap on a
variance that holds goes on holding, and what it ends in need not be the best. Where constraints are called contradictory,
another reconstruction may keep them: the message says so. No bound is claimed but the singular value bound of
docs/theory/strategies.md, which holds for every strategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats, real_array
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.strategy_laplace import frozen_strategy, searched, universe_of
from designer.mechanism.additive import AdditiveMechanism, measured_matrix
from designer.programs.conflicts import NEGLIGIBLE, least_violation
from designer.programs.rounds import Solved, SolverAnswer
from designer.programs.scales_program import ScalesProgram
from designer.programs.search import question_of
from designer.relations.problem import Problem
from solvers.programs.strategy import Strategy, fit_to_budgets
from solvers.programs.strategy_search import reweigh, singular_value_bound

# The alternation ends when the objective falls by less than this part of it, or after so many solves.
GAIN, TURNS = 1e-7, 20
# While the user's constraints do not hold yet no row is given up: its weight counts as this part of the largest at least.
QUIETEST = 1e-3


class StrategyProgram(ScalesProgram):
    """The scales of the rows of a strategy, for a reconstruction that `solve` improves in turn. Variable w, (p,).

    strategy: the rows A, (p, N), over the elements; those that the family `strategy_laplace` finds where none are given.
    variances, standard_errors: convex in w, (K,), for the reconstruction of now, parameters of CVXPY. The absolute loss of sums
    of Laplace variables has no closed form. `sum_k v_k` times the standard error, which is above it, stands in for it.
    """

    title = "strategy"
    source = "the matrix mechanism with Laplace noise; docs/theory/strategies.md"
    formula = """
        minimise    sum_k v_k sum_i 2 G_ki^2 w_i^-2     (squared;  max_k v_k sum_i 2 G_ki^2 w_i^-2  max)
        subject to  sum_i |(A d)_i| w_i <= b            for every protected change d of budget b
    """
    promise = (
        "while every pair keeps its budget, with the reconstruction that was found",
        "with the reconstruction that was found, even without privacy",
    )

    def __init__(self, problem: Problem, strategy: object = None, iterations: int = 100, keep: int = 2) -> None:
        """iterations, keep: of the search for a strategy, see the family; they mean nothing where one is given."""
        question = question_of(problem, self.title, self.notion)
        self.universe, self.changes = universe_of(question)
        if strategy is None:
            rows = searched(question, self.universe, self.changes, iterations, keep).point.matrix
        else:
            rows = self._given(real_array(strategy, "strategy", 2), question)
        self.rows = rows
        sensitivity = SensitivitySet.of(self.universe.spread(rows), question.relation)
        self.objective_words = "sum_k v_k Var_k, the weighted squared error"
        self._squared = cp.Parameter((question.workload.shape[0], len(rows)), nonneg=True, name="G^2")
        self._lengths = cp.Parameter(self._squared.shape[0], nonneg=True, name="length of G")
        self._shares = cp.Parameter(self._squared.shape, nonneg=True, name="|G| over its length")
        self.question = question
        self._reconstruct(np.ones(len(rows)) if strategy is None else self._first_weights())
        super().__init__(question, sensitivity, [f"row{i}" for i in range(len(rows))])

    @classmethod
    def at(cls, problem: Problem, mechanism: Any) -> Self:
        """With the frozen rows as the strategy."""
        program = cls(problem, measured_matrix(mechanism)[~mechanism.norm.silent])
        program._set(mechanism.norm.map[~mechanism.norm.silent][program.heard])
        program.take(mechanism)
        return program

    def _given(self, matrix: Floats, question: Problem) -> Floats:
        rows = matrix[:, self.universe.first] if matrix.shape[1] == question.relation.size else None
        if rows is None or not np.array_equal(self.universe.spread(rows), matrix):
            raise InvalidProblem(
                f"strategy: shape {matrix.shape} over {question.relation.size} elements; give a column for each element, equal "
                "where a budget of 0 lets no answer tell two elements apart."
            )
        return np.asarray(rows)

    def _first_weights(self) -> Floats:
        """Weights of the rows from which a reconstruction begins, by the descent of `solvers.programs.strategy_search`."""
        weighted = self.universe.workload * np.sqrt(self.question.costs)[:, None]
        start = fit_to_budgets(self.rows, self.changes, "given")
        try:
            found = reweigh(weighted.T @ weighted, self.changes, start).point.matrix
        except ValueError:  # the rows leave directions open that no query asks for: the descent needs all of them
            found = start.matrix
        sizes = np.linalg.norm(self.rows, axis=1)
        return np.asarray(np.linalg.norm(found, axis=1) / np.where(sizes > 0, sizes, 1.0))

    @property
    def row_costs(self) -> Floats:
        """`sum_k v_k G_ki^2` of the rows with noise; the 2 of the squared loss apart."""
        costs = (self.question.costs[:, None] * self._squared.value).sum(axis=0)
        return np.asarray(np.maximum(costs, 1e-12 * costs.max())[self.heard])

    @property
    def power(self) -> int:
        """The loss is about squares, the absolute one too."""
        return 2

    @cached_property
    def variances(self) -> Any:
        """`sum_i 2 G_ki^2 w_i^-2`, (K,)."""
        return 2 * (self._squared @ self.squares)

    @cached_property
    def standard_errors(self) -> Any:
        """`(sum_i 2 G_ki^2 w_i^-2)^1/2`, (K,)."""
        return cp.multiply(np.sqrt(2) * self._lengths, cp.norm(self._shares @ cp.diag(self.scales), 2, axis=1))

    def _solved(self, solver: str, options: Mapping[str, Any], margins: Sequence[float]) -> Solved:
        """Scales and reconstruction in turn, until the objective falls no more."""
        self._make_feasible()
        best, rounds, seconds = np.inf, 0, 0.0
        for turn in range(TURNS):
            announce(f"strategy: scales for reconstruction {turn + 1}")
            solved = super()._solved(solver, options, margins)
            rounds, seconds = rounds + solved.rounds, seconds + solved.seconds
            self._reconstruct(self.w.value)
            reached = float(self.objective.value)
            if reached > (1 - GAIN) * best:
                break
            best = reached
        return replace(solved, rounds=rounds, seconds=seconds, value=reached)

    def _make_feasible(self) -> None:
        """Where the user's constraints cannot hold for the reconstruction of now: turns that lessen what they must give way,
        and where these end too early once more from equal weights."""
        if self._own and not self._nearer():
            self._reconstruct(np.ones(len(self.rows)))
            self._nearer()

    def _nearer(self) -> bool:
        """Turns until the constraints hold, or come no nearer to it; whether they hold."""
        least = np.inf
        for _ in range(TURNS):
            violation = least_violation(self, self._own)
            if violation < NEGLIGIBLE or not violation < 0.999 * least:
                return violation < NEGLIGIBLE
            least = violation
            self._reconstruct(np.maximum(self.w.value, QUIETEST * self.w.value.max()))
        return False

    def _reconstruct(self, weights: Floats) -> None:
        """The G of least variance for every query under such noise; `DesignFailed` where the rows tell too little."""
        try:
            unit = self._weighted(weights).reconstruction(self.universe.workload, self.changes)
        except ValueError as failed:
            raise DesignFailed(f"strategy: {failed}") from None
        rows = np.abs(unit * weights)
        lengths = np.linalg.norm(rows, axis=1)
        self._squared.value, self._lengths.value = np.square(rows), lengths
        self._shares.value = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
        for known in ("_unit", "_units", "in_units"):  # weights of the right order depend on what a row costs
            self.__dict__.pop(known, None)

    def _weighted(self, weights: Floats) -> Strategy:
        return Strategy(self.rows * weights[:, None], "weighted rows")

    def proven(self, answer: SolverAnswer) -> tuple[float | None, str]:
        """The singular value bound, for the squared loss; it does not depend on the rows, and is loose."""
        if self.question.loss != "squared" or self._objective is not None:
            return None, "none: the program is convex only for a fixed reconstruction"
        weighted = self.universe.workload * np.sqrt(self.question.costs)[:, None]
        return singular_value_bound(weighted.T @ weighted, self.changes), "singular values of the queries, for every strategy"

    def frozen(self) -> AdditiveMechanism:
        """Laplace noise in these rows, all scales multiplied by what privacy requires."""
        full = np.zeros(len(self.heard))
        full[self.heard] = self.weights_of_noise()
        return frozen_strategy(self.question, self.universe, self.changes, self._weighted(full), None)

    def take(self, mechanism: AdditiveMechanism) -> None:
        """The weights of the frozen rows, for the largest of the variances over those of the program."""
        self._reconstruct(self.w.value)
        actual, stated = mechanism.query_variances(), self.variances.value
        noisy = stated > 0
        self._set(self._weights() / np.sqrt((actual[noisy] / stated[noisy]).max()))
