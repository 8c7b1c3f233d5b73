"""Programs for noise around the answers of a problem's queries: what they share."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np

from designer.additive.mechanism import AdditiveMechanism
from designer.certified.optimality import bounded
from designer.convex.program import Program
from designer.convex.solving import DEFAULT, Solved
from designer.convex.wording import Named
from designer.designing.made import Design
from designer.designing.problem import Problem
from designer.designing.repair import Bound
from designer.errors import DesignFailed, InvalidProblem
from designer.values.checks import positive, shown
from designer.version import VERSION


class MechanismProgram(Program):
    """A program whose answer is an additive mechanism for `question`, a problem of the same notion."""

    notion: ClassVar[Literal["pure", "gaussian"]]
    objective_words: str

    def __init__(self, question: Problem) -> None:
        super().__init__()
        if not isinstance(question, Problem):
            raise InvalidProblem(f"problem: {shown(question)} is not a Problem; build one with Problem(workload, relation).")
        if question.notion != self.notion:
            raise DesignFailed(
                f"program: {self.title!r} is {self.notion}, the problem asks for {question.notion!r}; choose another program."
            )
        self.question = question

    @abstractmethod
    def frozen(self, bound: Bound | None) -> AdditiveMechanism:
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

    def place(self, query: str | int) -> int:
        """The place of a query that is given by its name, or by its place."""
        queries = self.question.workload.queries
        if query in queries:
            return queries.index(str(query))
        if isinstance(query, (int, np.integer)) and not isinstance(query, bool) and 0 <= query < len(queries):
            return int(query)
        raise InvalidProblem(f"query: {shown(query)} is no query of the workload; use one of {shown(list(queries))}.")

    def variance_at_most(self, query: str | int, value: float, name: str | None = None) -> Self:
        """Cap the variance of one answer; the program itself is changed and returned."""
        if self.variances is None:
            raise InvalidProblem(f"program: {self.title!r} has no convex expression for variances; constrain its variables.")
        return self.subject_to(self.variances[self.place(query)] <= positive(value, "value"), name)

    def design(self, solver: str = DEFAULT, **options: Any) -> Design[AdditiveMechanism]:
        """Solve, repair and certify; the user's constraints are checked at the noise that is frozen.

        `DesignFailed` where they contradict each other, or where one does not hold at the frozen noise.
        """
        start = time.perf_counter()
        mechanism, solved = self.frozen_within(solver, options, self._built, self.take)
        seconds = time.perf_counter() - start
        made = Design(self.question, mechanism, seconds)
        claim = mechanism.optimality if self._objective is None else self._own_claim(solved)
        return Design(self.question, mechanism.annotated(self._provenance(made, solved, options), claim), seconds)

    def _built(self, solved: Solved) -> AdditiveMechanism:
        if solved.lower_bound is None or self._objective is not None:
            return self.frozen(None)
        words = self.objective_words if self.is_standard else f"{self.objective_words}, under constraints of the user's own"
        return self.frozen(Bound(words, max(0.0, solved.lower_bound), f"{solved.solver}: {solved.bound_from}"))

    def _own_claim(self, solved: Solved) -> Any:
        """The user's objective at the frozen noise, with what the multipliers prove; None where a bound is no loss."""
        value = float(self.objective.value)
        if solved.lower_bound is None or solved.lower_bound < 0 or not np.isfinite(value):
            return None
        words = f"{self.text(self.objective)}, the user's own objective"
        return bounded(words, value, solved.lower_bound, f"{solved.solver}: {solved.bound_from}", 1e-9 * value)

    def _provenance(self, made: Design[AdditiveMechanism], solved: Solved, options: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "software": f"dp-designer {VERSION}",
            "program": self.title,
            "loss": self.question.loss,
            "objective": "the loss" if self._objective is None else self.text(self._objective),
            "constraints": list(self.constraints),
            "solver": solved.solver,
            "options": {
                name: value if isinstance(value, (bool, int, float, str)) else repr(value) for name, value in options.items()
            },
            "status": solved.status,
            "raw_violation": solved.raw_violation,
            "own_violation": solved.own_violation,
            "repaired_loss": made.loss,
            "rounds": solved.rounds,
            "pairs": solved.pairs,
            "seconds": round(made.seconds, 3),
        }
