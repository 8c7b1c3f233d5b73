"""Problems of tables of records: queries of a plan, and consistent answers over a hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from designer.problem.histogram import REFUSE, Unlisted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from designer.tables.condition import Condition
    from designer.tables.groups import Groups
    from designer.tables.measure import Measure
    from designer.tables.policies.design import Accuracy, PriorRecords
    from designer.tables.queries import Query
    from designer.tables.unit_splitting import UnitSplitting


@dataclass(frozen=True, eq=False)
class HierarchyProblem:
    """Sums and counts over the levels of a hierarchy, how accurate their consistent answers must be, and whose losses count.

    levels: named, from `hierarchy` or `nested_codes`, coarse to fine. measures: what is summed. accuracies: by the column of a
    measure, or `COUNT`; deviations (n,) in the order of the groups of `tree(levels)`. prior: public records whose losses count.
    where: conditions of all queries. beside: further queries of the plan, whose noise is stated. splitting: a coarser policy,
    too. shared: (n,), groups with the same number share one precision; by default those of a level. unlisted: what happens to
    records of no group. Raises `InvalidProblem` when it is designed, for targets of what is no measure. Source:
    docs/theory/record_design.md.
    """

    levels: Mapping[str, Groups]
    measures: Sequence[Measure]
    accuracies: Sequence[Accuracy]
    prior: PriorRecords
    where: Sequence[Condition] = ()
    beside: Sequence[Query] = ()
    splitting: UnitSplitting | None = None
    shared: NDArray[Any] | None = None
    unlisted: Unlisted = REFUSE
    notion: ClassVar[str] = "zcdp"
    loss: ClassVar[str] = "functional"
    loss_words: ClassVar[str] = "loss of the records that count"
    families: ClassVar[tuple[str, ...]] = ("records",)


@dataclass(frozen=True, eq=False)
class PlanProblem:
    """Queries of a table, each with its noise, or with the targets that `design` and `least_budget` are given.

    splitting: a coarser policy, too. unlisted: what happens to records of no group. Raises `InvalidProblem` when it is
    designed, as `TablePlan` does. Source: docs/theory/tables.md.

    >>> from designer import Targets, design
    >>> from designer.tables import Count, Groups
    >>> plan = design(PlanProblem([Count("firms", Groups(), variance=1)]), targets=Targets(standard_error={"firms": 10}))
    >>> plan.mechanism.queries[0].variance, plan.mechanism.loss({})
    (Fraction(100, 1), Fraction(1, 200))
    """

    queries: Sequence[Query]
    splitting: UnitSplitting | None = None
    unlisted: Unlisted = REFUSE
    notion: ClassVar[str] = "zcdp"
    loss: ClassVar[str] = "largest budget"
    loss_words: ClassVar[str] = "budget that a query costs the smallest record that counts"
    families: ClassVar[tuple[str, ...]] = ("plan",)
