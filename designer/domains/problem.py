"""The problem of marginal tables: what is asked, what is protected of a record, and what counts as good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.domains.marginals_plan import OBJECTIVES
from designer.domains.marginals_workload import MarginalWorkload
from designer.domains.mechanism import Protection
from designer.relations.metrics.presence import Presence


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
