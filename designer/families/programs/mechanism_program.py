"""Programs for noise around the answers of a problem's queries: what they share."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certified.guarantee import Optimality, bounded
from designer.families.convex.called import Solver
from designer.families.convex.program import Program
from designer.families.convex.solving import DEFAULT, Solved
from designer.families.convex.wording import Named
from designer.families.made import Design
from designer.families.repair import Bound, claimed
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem


def question_of(problem: object, title: str, notion: str) -> Problem:
    """The problem, if it is one and asks for the notion of the program."""
    if not isinstance(problem, Problem):
        raise InvalidProblem(
            f"problem: {shown(problem)} is not a Problem; build one with Problem(workload, relation).", value=problem
        )
    if problem.notion != notion:
        approximate = "no program states it: use design(problem), or ask for 'pure' or 'zcdp'"
        remedy = approximate if problem.notion == "approximate" else "choose another program"
        raise DesignFailed(f"program: {title!r} is {notion}, the problem asks for {problem.notion!r}; {remedy}.", value=title)
    return problem


def place_in(given: object, names: Sequence[str], field: str) -> int:
    """The place of what is given by its name, or by its place."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and 0 <= given < len(names):
        return int(given)
    raise InvalidProblem(f"{field}: {shown(given)} is unknown; use one of {shown(list(names))}, or its place.", value=given)


class MechanismProgram(Program):
    """A program whose answer is an additive mechanism for `question`, a problem of the same notion."""

    notion: ClassVar[Literal["pure", "zcdp"]]
    objective_words: str
    loss_is_exact: ClassVar[bool] = True  # whether `loss` is that of the problem, and not a stand-in for it
    on_grid: ClassVar[bool] = False  # whether it is that of noise on a coarse grid, as in `Bound`

    def __init__(self, question: Problem) -> None:
        super().__init__()
        self.question = question

    @abstractmethod
    def frozen(self) -> AdditiveMechanism:
        """The certified mechanism of the variables' values, repaired as every design is."""

    @abstractmethod
    def take(self, mechanism: AdditiveMechanism) -> None:
        """Give the variables the values that a frozen mechanism really has, from its exact variances."""

    @property
    def named(self) -> Named:
        """The variables, and the variances and standard errors of the queries by name."""
        queries = self.question.workload.queries
        errors = {"variances": self.variances, "standard_errors": self.standard_errors}
        return {**super().named, **{name: (part, queries) for name, part in errors.items() if part is not None}}

    def variance_at_most(self, query: str | int, value: float, name: str | None = None) -> Self:
        """Cap the variance of one answer; the program itself is changed and returned."""
        if self.variances is None:
            raise InvalidProblem(
                f"program: {self.title!r} has no convex expression for variances; constrain its variables.", value=self.title
            )
        return self.subject_to(
            self.variances[place_in(query, self.question.workload.queries, "query")] <= positive(value, "value"), name
        )

    def design(self, solver: Solver = DEFAULT, **options: Any) -> Design[AdditiveMechanism]:
        """Solve, repair and certify; the user's constraints are checked at the noise that is frozen.

        `DesignFailed` where they contradict each other, or where one does not hold at the frozen noise.
        """
        start = time.perf_counter()
        mechanism, solved = self.frozen_within(solver, options, self.frozen, self.take)
        seconds = time.perf_counter() - start
        made = Design(self.question, mechanism, seconds)
        claim = self._claim(mechanism, solved) if self._objective is None else self._own_claim(solved)
        return Design(self.question, mechanism.annotated(self._provenance(made, solved, options), claim), seconds)

    def _claim(self, mechanism: AdditiveMechanism, solved: Solved) -> Optimality | None:
        """The loss at the frozen noise, with what the multipliers prove; None where they prove nothing."""
        if solved.lower_bound is None or not self.loss_is_exact:
            return None
        words = self.objective_words if self.is_standard else f"{self.objective_words}, under constraints of the user's own"
        bound = Bound(words, max(0.0, solved.lower_bound), f"{solved.solver}: {solved.bound_from}", self.on_grid)
        return claimed(self.question, mechanism, bound).optimality

    def _own_claim(self, solved: Solved) -> Optimality | None:
        """The user's objective at the frozen noise, with what the multipliers prove; None where a bound is no loss."""
        value = float(self.objective.value)
        if solved.lower_bound is None or solved.lower_bound < 0 or not np.isfinite(value):
            return None
        words = f"{self.text(self.objective)}, the user's own objective"
        return bounded(words, value, solved.lower_bound, f"{solved.solver}: {solved.bound_from}", 1e-9 * value)

    def _provenance(self, made: Design[AdditiveMechanism], solved: Solved, options: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **self.history_of(solved),
            "loss": self.question.loss,
            "options": {
                name: value if isinstance(value, (bool, int, float, str)) else repr(value) for name, value in options.items()
            },
            "repaired_loss": made.loss,
            "pairs": solved.pairs,
        }
