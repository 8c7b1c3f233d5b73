"""Every kind of problem that `design`, `compare` and `least_budget` take, and where each of them is done for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, Literal, Protocol

from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.lazy_imports import at_address, at_addresses
from solvers.work import one_thread

Verb = Literal["design", "compare", "least_budget"]
OWN = "designer.designing.of_kinds"


class ProblemOfKind(Protocol):
    """What problems of kinds other than linear queries say."""

    @property
    def notion(self) -> str: ...
    @property
    def loss_words(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class ProblemKind:
    """A kind of problem: its class, and the functions that design it, compare its families, and find its least budget, as
    addresses `module:name`, which are imported when they are first asked for. suggestion: the function that says how this kind
    states linear queries that are too many for a search, in words that end before "use"; "" where it does not. program: that
    states it in CVXPY, made from the problem alone, or None."""

    problem: str
    design: str
    compare: str
    least_budget: str
    suggestion: str | None = None
    program: str | None = None

    @property
    def stated(self) -> Any:
        """The class of the program of this kind in CVXPY; `DesignFailed` where none states it whole."""
        if self.program is None:
            name = self.problem.partition(":")[2]
            raise DesignFailed(f"program: no program states a {name} as a whole; see designer.programs for its parts.")
        return at_address(self.program)

    def part(self, verb: Verb) -> Callable[..., Any]:
        """The function of one of the three verbs, with its linear algebra on one thread."""
        return _named(getattr(self, verb))


LINEAR = ProblemKind(
    problem="designer.relations.problem:Problem",
    design="designer.designing.dispatch:design_linear",
    compare="designer.designing.comparison:compare_linear",
    least_budget="designer.designing.least:least_linear",
)
STRUCTURED = ProblemKind(
    problem="designer.domains.structured_problem:StructuredProblem",
    design="designer.domains.structured_problem:design_of_structure",
    compare="designer.domains.design:compare_structured",
    least_budget="designer.domains.design:least_structured",
    suggestion="designer.domains.structured_problem:stated_by_rule",
)
REPORT = ProblemKind(
    problem="designer.local.problem:ReportProblem",
    design="designer.local.reports:design_report",
    compare="designer.local.reports:compare_reports",
    least_budget="designer.local.design:least_report",
    program="designer.programs:channel",
)
LISTED = (
    LINEAR,
    STRUCTURED,
    ProblemKind(
        problem="designer.domains.problem:MarginalProblem",
        design="designer.domains.design:design_marginal",
        compare=f"{OWN}:compare_own",
        least_budget="designer.domains.design:least_marginal",
        program="designer.programs:marginals",
    ),
    ProblemKind(
        problem="designer.selection.problem:SelectionProblem",
        design="designer.selection.design:design_selection",
        compare=f"{OWN}:compare_own",
        least_budget=f"{OWN}:no_least",
    ),
    ProblemKind(
        problem="designer.synthetic.problem:SyntheticProblem",
        design="designer.synthetic.design:design_synthetic",
        compare=f"{OWN}:compare_own",
        least_budget=f"{OWN}:no_least",
    ),
    REPORT,
    ProblemKind(
        problem="designer.tables.problem:HierarchyProblem",
        design="designer.tables.problem_design:design_hierarchy",
        compare=f"{OWN}:compare_own",
        least_budget=f"{OWN}:no_least",
    ),
    ProblemKind(
        problem="designer.tables.problem:PlanProblem",
        design="designer.tables.problem_design:design_plan",
        compare=f"{OWN}:compare_own",
        least_budget="designer.tables.problem_design:least_plan_of",
    ),
)
KINDS = {kind.problem: kind for kind in LISTED}
NAMES = tuple(kind.problem.partition(":")[2] for kind in LISTED)


@cache
def _named(address: str) -> Callable[..., Any]:
    found: Callable[..., Any] = at_address(address)

    @wraps(found)
    def alone(*given: Any, **named: Any) -> Any:
        with one_thread():
            return found(*given, **named)

    return alone


def suggestions(problem: object) -> str:
    """How other kinds state linear queries that are too many for a search; "" where none does."""
    return "".join(own(problem) for own in at_addresses(kind.suggestion for kind in LISTED if kind.suggestion))


def problem_kind(problem: object) -> ProblemKind:
    """The kind of a problem, by its class or one that this derives from; `InvalidProblem` for what is none."""
    for cls in type(problem).__mro__:
        if found := KINDS.get(f"{cls.__module__}:{cls.__qualname__}"):
            return found
    raise InvalidProblem(f"problem: {shown(problem)} is none; give one of {', '.join(NAMES)}.", value=problem)
