"""Problems whose queries are Kronecker products over attributes: stated, and designed, without ever being written out."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.designing.auto import ROOM, is_own
from designer.designing.design_result import Design, DesignOfKind
from designer.mechanism.interface import Mechanism
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.presence import BUDGET_OF, Presence, add_remove
from designer.relations.problem import Problem

if TYPE_CHECKING:  # they bring solvers, which nobody needs who states a problem of another kind
    from designer.domains.products_noise import Protection
    from designer.domains.products_workload import StructuredWorkload

FAMILY = "structured"
SMALL_ENTRIES, SMALL_CELLS = 2**18, 512  # of workloads that "auto" writes out for every other family
RECOGNISED = 2**22  # entries of queries that are looked at for a rule


@dataclass(frozen=True, eq=False)
class StructuredProblem:
    """A structured workload, whose weights are those of its terms, what must be hidden, and a notion of privacy. The loss is
    the total of squared errors.

    relation: `Presence(epsilon=...)` (a record appears or disappears), `metrics.hamming(domain, budgets)`, or
    `metrics.product(domain, ...)`, a metric for each attribute. notion: "pure" or "zcdp".

    >>> from designer import Domain, design
    >>> from designer import Presence
    >>> from designer import StructuredWorkload
    >>> people = Domain.of({"age": 64, "pay": 64, "rent": 64})
    >>> sums = StructuredWorkload.of(people, [dict.fromkeys(people.attributes, "prefix")])
    >>> design(StructuredProblem(sums, Presence(mu=1.0), "zcdp")).problem.workload.count
    262144
    """

    workload: StructuredWorkload
    relation: Protection
    notion: Literal["pure", "zcdp"] = "pure"
    loss: ClassVar[str] = "squared"
    loss_words: ClassVar[str] = "expected total squared error"
    delta: ClassVar[None] = None  # of the notion "approximate", which there is none of

    def __post_init__(self) -> None:
        from designer.domains.products_workload import StructuredWorkload

        if not isinstance(self.workload, StructuredWorkload):
            raise InvalidProblem(
                f"problem.workload: {type(self.workload).__name__} is no StructuredWorkload; for a matrix use Problem.",
                value=type(self.workload).__name__,
            )
        if not isinstance(self.relation, (Presence, Hamming, Product)):
            raise InvalidProblem(
                f"problem.relation: {type(self.relation).__name__} is not known of structured workloads; give "
                "`Presence(epsilon=...)`, `metrics.hamming(domain, budgets)` or `metrics.product(domain, ...)`.",
                value=type(self.relation).__name__,
            )
        if not isinstance(self.relation, Presence) and self.relation.domain != self.workload.domain:
            raise InvalidProblem("problem.relation: speaks of another domain than the workload; build both from one Domain.")
        if self.notion not in ("pure", "zcdp"):
            raise InvalidProblem(
                f"problem.notion: {shown(self.notion)} is not known of structured workloads; use 'pure' or 'zcdp'.",
                value=self.notion,
            )
        if isinstance(self.relation, Presence):
            self.relation.require_notion(self.notion)

    def written_out(self) -> Problem:
        """The same with a matrix over the whole domain, for every family; `InvalidProblem` where that is too large."""
        own, whole = self.relation, self.workload.written_out()  # which refuses what is too large, before weights are repeated
        weights = np.repeat(self.workload.weights, self.workload.counts)
        return Problem(
            whole,
            add_remove(self.workload.domain.size, own.epsilon) if isinstance(own, Presence) else own,
            self.notion,
            weights=None if (weights == 1).all() else weights,
        )

    @property
    def is_small(self) -> bool:
        """May the families for matrices be tried beside?"""
        cells = self.workload.domain.size
        return cells <= SMALL_CELLS and cells * self.workload.count <= SMALL_ENTRIES


@dataclass(frozen=True)
class StructuredDesign(DesignOfKind):
    """A structured mechanism with what is known about it; the loss is the total of weighted variances of all answers."""


def design_of_structure(
    problem: StructuredProblem,
    /,
    family: str = "auto",
    *,
    targets: object = None,
    solver: str = "auto",
    solver_options: object = None,
    effort: str = "normal",
    seconds: float | None = None,
    **options: Any,
) -> StructuredDesign | Design[Mechanism]:
    """The design of a structured problem: by the family "structured", by another one with the queries written out, or ("auto")
    the best of both where the domain is small and the structured design is not proven to be within 0.1 % of
    all additive noise (pure), or of all independent Gaussian noise on whole numbers.
    """
    from designer.designing.dispatch import design
    from designer.domains.products_plan import design_structured

    refused = {"targets": targets is not None, "solver": not is_own(solver)}
    if unknown := sorted({*options, *(name for name, given in refused.items() if given)}):
        raise InvalidProblem(
            f"options: {shown(unknown)} unknown to structured problems; give them with `problem.written_out()`, where the "
            "domain is small.",
            value=unknown,
        )
    if family not in ("auto", FAMILY):
        return design(problem.written_out(), family, effort=effort, seconds=seconds)
    start = time.perf_counter()
    mechanism = design_structured(problem.workload, problem.relation, "laplace" if problem.notion == "pure" else "gaussian")
    tried = {FAMILY: f"loss {mechanism.error():.6g}"}
    room = mechanism.optimality is None or mechanism.optimality.gap > ROOM
    if family == "auto" and room and problem.is_small:
        try:
            other = design(problem.written_out(), effort=effort, seconds=seconds)
        except DesignFailed as failure:
            tried["auto"] = f"no mechanism: {failure}"
        else:
            tried |= other.mechanism.provenance.get("tried", {})
            if other.loss < mechanism.error():
                provenance = {**other.mechanism.provenance, "tried": tried}
                return Design(other.problem, other.mechanism.annotated(provenance), time.perf_counter() - start)
    spent = time.perf_counter() - start
    made = mechanism.annotated({**mechanism.provenance, "tried": tried})
    return StructuredDesign(problem, made, spent, made.error())


def stated_by_rule(problem: Problem) -> str:
    """The way on for linear queries that are known by a rule, which needs no search over all elements; "" for others."""
    from designer.domains.products_workload import recognised

    entries = math.prod(problem.workload.shape)
    known = recognised(problem.workload.dense()) if entries <= RECOGNISED else None
    if known is None:
        return ""
    size, notion = problem.relation.size, problem.notion
    budget = BUDGET_OF.get(notion, "epsilon")
    asked = f'("widths", {known.width})' if known.kind == "widths" else f'"{known.kind}"'
    return (
        f"the queries are those of one attribute by the rule {asked}: design(StructuredProblem(StructuredWorkload."
        f'of(Domain.of({{"value": {size}}}), [{{"value": {asked}}}]), Presence({budget}=..), "{notion}")) '
        "needs no such search, and takes metrics as well; otherwise "
    )
