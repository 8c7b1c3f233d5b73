"""Problems beside those of linear queries: what is asked, what must be hidden, and what counts as good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.problem.histogram import REFUSE, Unlisted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from designer.domains.marginals_workload import MarginalWorkload
    from designer.domains.protection import Protection
    from designer.problem.relation import Relation
    from designer.problem.workload import Workload
    from designer.relations.problem import Problem
    from designer.selection.mechanism import RateConstant
    from designer.selection.scores import Score
    from designer.tables.condition import Condition
    from designer.tables.groups import Groups
    from designer.tables.measure import Measure
    from designer.tables.policies.design import Accuracy, PriorRecords
    from designer.tables.queries import Query
    from designer.tables.unit_splitting import UnitSplitting


@dataclass(frozen=True, eq=False)
class MarginalProblem:
    """Marginal tables of records, and what is protected of a record.

    relation: `metrics.hamming(domain, budgets)`, a budget for each attribute (infinite: unprotected) with the number of records
    public, or `Presence(mu=...)`. loss: "squared" (total) or "max", of variances times the workload's weights. allow_vacuous:
    accept tables that no protected change moves. notion: "zcdp", where a budget b promises b^2 / 2, or "pure", where it is
    epsilon. Raises `InvalidProblem` for parts that are none of these. Source: docs/theory/marginals.md.

    >>> from designer import Domain, MarginalWorkload, Presence, design
    >>> people = Domain.of({"age": 3, "sex": 2})
    >>> design(MarginalProblem(MarginalWorkload.up_to(people, 2), Presence(mu=1.0))).privacy.holds
    True
    """

    workload: MarginalWorkload
    relation: Protection
    loss: Literal["squared", "max"] = "squared"
    allow_vacuous: bool = False
    notion: Literal["zcdp", "pure"] = "zcdp"

    def __post_init__(self) -> None:
        from designer.domains.marginals_plan import OBJECTIVES
        from designer.domains.marginals_workload import MarginalWorkload
        from designer.domains.protection import Presence, Protection

        if not isinstance(self.workload, MarginalWorkload) or not isinstance(self.relation, Protection):
            raise InvalidProblem(
                "problem.workload, problem.relation: give a MarginalWorkload, and `metrics.hamming(domain, budgets)` or "
                "`Presence(mu=...)`; a StructuredProblem takes running totals, and metrics on the values of attributes."
            )
        if not isinstance(self.loss, str) or self.loss not in OBJECTIVES:
            raise InvalidProblem(f'problem.loss: {shown(self.loss)} is unknown; use "squared" or "max".', value=self.loss)
        if self.notion not in ("zcdp", "pure"):
            raise InvalidProblem(
                f"problem.notion: {shown(self.notion)} is not known of marginals; use 'zcdp' or 'pure'.", value=self.notion
            )
        if isinstance(self.relation, Presence):
            self.relation.require_notion(self.notion)

    @property
    def families(self) -> tuple[str, ...]:
        """Noise in residuals, which is Gaussian, and products of whole-number rows."""
        return ("residual", "structured") if self.notion == "zcdp" else ("structured",)

    @property
    def loss_words(self) -> str:
        """What the loss is, in words."""
        return {"squared": "total of weighted variances of all cells", "max": "largest weighted variance of a cell"}[self.loss]


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """A choice among the candidates of a score. The rate is the largest that is private, `min b / (max v - min v)` over all
    protected changes; constant="theorem_3" takes DX Theorem 3's `min b / (2 max |v|)` instead, which is never larger.

    Raises `InvalidProblem` where score and relation speak of different elements. Source: docs/theory/selection.md.

    score: of the candidates. relation: over the elements of the score. constant: "range" or "theorem_3".

    >>> from designer import Workload, design, metrics
    >>> from designer.selection.scores import Linear
    >>> made = design(SelectionProblem(Linear(Workload.identity(3)), metrics.uniform(3, 1.0)))
    >>> round(made.mechanism.rate, 6), made.privacy.holds
    (0.5, True)
    """

    score: Score
    relation: Relation
    constant: RateConstant = "range"
    notion: ClassVar[str] = "pure"
    loss: ClassVar[str] = "shortfall"
    loss_words: ClassVar[str] = "shortfall of the score that is exceeded with probability 5 % at most"
    families: ClassVar[tuple[str, ...]] = ("exponential", "permute_and_flip")

    def __post_init__(self) -> None:
        from designer.selection.mechanism import require_parts

        require_parts(self.score, self.relation)


@dataclass(frozen=True, eq=False)
class SyntheticProblem:
    """Linear queries that a synthetic histogram is to answer, with exactly as many records as there are, a public number.

    Raises `InvalidProblem` as `Problem` does. Source: docs/theory/synthetic.md.

    workload: the queries to answer. relation: over its elements. records: n, the number of records.

    >>> from designer import Workload, design, metrics
    >>> asked = Workload([[0, 1, 3], [2, 0, 2]])
    >>> design(SyntheticProblem(asked, metrics.euclidean([[0.0], [1.0], [2.5]]), records=60), "mwem", rounds=2).privacy.holds
    True
    """

    workload: Workload
    relation: Relation
    records: int
    notion: ClassVar[str] = "pure"
    loss: ClassVar[str] = "largest error"
    loss_words: ClassVar[str] = "error that no answer exceeds with probability 95 %"
    families: ClassVar[tuple[str, ...]] = ("mwem", "small_db")

    def __post_init__(self) -> None:
        _ = self.linear

    @property
    def linear(self) -> Problem:
        """The same queries as a problem of additive noise."""
        from designer.relations.problem import Problem

        return Problem(self.workload, self.relation, records=self.records)


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
