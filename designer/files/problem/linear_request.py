"""What a problem file for linear queries asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from designer.base.errors import InvalidProblem
from designer.certified.frozen import Specified, to_spec
from designer.designing.best import design
from designer.designing.printouts import design_in_brief, design_summary, structured_summary
from designer.designing.structured_problem import StructuredDesign, StructuredProblem
from designer.files.problem.listing import Listing
from designer.files.problem.request import Choices, Outcome, Request
from designer.problem.histogram import Keys
from designer.problem.targets import Targets
from designer.relations.problem import Problem


def listing_of(keys: Sequence[Keys | None]) -> Listing:
    """Of the columns that name elements; refused where none do."""
    known = [own for own in keys if own is not None]
    if not known:
        raise InvalidProblem(
            "check: nothing says which columns of records name the elements; name them in [elements] names or [domain]."
        )
    return Listing.of_keys(*known)


@dataclass(frozen=True, kw_only=True)
class ProblemFile(Request):
    """A parsed problem file for linear queries: the problem, the family asked for, its options, and the accuracy asked for."""

    kind: ClassVar[str] = "linear_queries"
    choices: ClassVar[tuple[str, ...]] = ("family", "solver", "solver_options", "effort", "seconds")
    problem: Problem | StructuredProblem
    family: str
    options: dict[str, Any]
    targets: Targets | None = None

    @property
    def matrix_problem(self) -> Problem:
        """The problem with its queries as a matrix, which not every structured workload can be."""
        return self.problem.written_out() if isinstance(self.problem, StructuredProblem) else self.problem

    @property
    def compared(self) -> Problem:
        return self.matrix_problem

    def designed(self, choices: Choices) -> Any:
        """The design, by the family and the options of the file, or those that the caller chose in their place."""
        # Options of a solver in the file belong to that solver.
        family, options = choices.of_file(self.family, self.options)
        if choices.solver is not None:
            options = {**options, "solver": choices.solver, "solver_options": {}}
        if choices.solver_options:
            options["solver_options"] = {**options.get("solver_options", {}), **choices.solver_options}
        options |= choices.limits
        return design(self.problem, family, targets=self.targets, **options)

    def make(self, choices: Choices) -> Specified:
        made: Specified = self.designed(choices).mechanism
        return made

    def made(self, choices: Choices | None = None) -> Outcome:
        found = self.designed(choices or Choices())
        described = replace(found, mechanism=found.mechanism.described(self.about))
        data = to_spec(described.mechanism)
        if isinstance(described, StructuredDesign):
            return Outcome(described.mechanism, (structured_summary(self.title, described),), data)
        full, brief = design_summary(self.title, described), design_in_brief(self.title, described)
        return Outcome(described.mechanism, (full,), data, (brief,))

    @property
    def named_answers(self) -> tuple[str, ...] | None:
        return self.problem.workload.queries if isinstance(self.problem, Problem) else None

    def listing(self) -> Listing:
        if isinstance(self.problem, StructuredProblem):
            return Listing.of_domain(self.problem.workload.domain, self.problem.workload.used)
        return listing_of(self.problem.relation.counted_tables or (self.problem.workload.keys,))

    def description(self) -> Mapping[str, object]:
        queries, elements = self.problem.workload.shape
        return {
            "queries": queries,
            "elements": elements,
            "relation": self.problem.relation.sentence(),
            "notion": self.problem.notion,
            **({} if self.problem.delta is None else {"delta": self.problem.delta}),
            "family": self.family,
        }
