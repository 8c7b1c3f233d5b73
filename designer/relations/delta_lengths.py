"""A relation whose budgets are the lengths that (b, delta) allows: what a norm is held against under the approximate notion.

No file holds it: a mechanism keeps its own relation and its delta, and makes this one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign, positive, shown
from designer.base.errors import InvalidProblem
from designer.base.progress import track
from designer.limits import MOST_ELEMENTS_WITH_DELTA
from designer.problem.relation import Block, Indices, Relation, SimpleBudgets
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.metrics.metric import Metric, Scaled, scaled
from designer.relations.metrics.presence import AddRemove, AppearOrChange
from designer.relations.row_groups import RowGroups
from designer.tradeoff.delta_rule import ROUNDING, DeltaRule


@dataclass(frozen=True, eq=False)
class AllowedLengths(Relation):
    """Every protected pair of `part`, those that others imply among them, with the length that `allowance` gives its budget."""

    part: Relation
    allowance: DeltaRule
    kind = "allowed"

    def __post_init__(self) -> None:
        several = self.part.simple is None
        if several and isinstance(self.part, (Metric, AppearOrChange)) and self.part.size > MOST_ELEMENTS_WITH_DELTA:
            raise InvalidProblem(
                f"relation: (b, delta) has to hold for every pair of {self.part.size} elements by itself, more than can be "
                f"scanned (at most {MOST_ELEMENTS_WITH_DELTA} elements); merge elements, or use the notion 'pure' or 'zcdp'."
            )
        # An allowance grows no faster than its budget, relatively: docs/theory/approximate.md, 3.
        budgets = _all_budgets(self.part)
        exact = all(map(self.allowance.exact_on, budgets))
        error = ROUNDING if exact else self.allowance.error
        assign(self, budget_error=self.part.budget_error + 2 * error)
        assign(self, single_records=self.part.single_records)

    @property
    def size(self) -> int:
        return self.part.size

    def points(self, columns: NDArray[Any]) -> NDArray[Any]:
        return self.part.points(columns)

    @cached_property
    def simple(self) -> SimpleBudgets | None:
        return None if self.part.simple is None else self.part.simple.mapped(self.allowance.most)

    def blocks(self) -> Iterator[Block]:
        return self.every_pair()

    def every_pair(self) -> Iterator[Block]:
        for block in self.part.every_pair():
            yield Block(block.left, block.right, self.allowance.floats(block.budgets))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        budget = self.part.exact_budget(left, right)
        return None if budget is None else self.allowance.most(budget)

    def is_vacuous(self) -> bool:
        return self.part.is_vacuous()

    def exact_on(self, columns: NDArray[Any]) -> bool:
        return self.part.exact_on(columns)

    def public_rows(self) -> Floats:
        return self.part.public_rows()

    def components(self) -> Indices:
        return self.part.components()

    def largest_budget(self) -> float:
        return float(self.allowance.floats(np.array([self.part.largest_budget()]))[0])

    def protected_unit(self) -> str:
        return self.part.protected_unit()

    def unprotected(self) -> tuple[str, ...]:
        return self.part.unprotected()

    def facts(self) -> dict[str, float | int | None]:
        return self.part.facts()

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        """The pair, with the budget that its length stands for."""
        budget = self.part.exact_budget(left, right)
        words = self.part.pair_words(left, right, elements)
        return words if budget is None else f"{words} (budget {float(budget)!r} with delta {float(self.allowance.delta)!r})"

    def sentence(self) -> str:
        return f"{self.part.sentence()} Budgets b are told as the lengths that (b, delta) allows."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "part": self.part.to_spec(), "delta": float(self.allowance.delta)}


def _all_budgets(part: Relation) -> Iterator[Floats]:
    """Arrays of the budgets of all pairs; of simple ones each once."""
    if part.simple is None:
        yield from (block.budgets for block in track(part.every_pair(), "reading budgets"))
    else:
        yield np.array([float(b) for b in (part.simple.change, *part.simple.appear) if b is not None])


# One factor on all budgets of a relation, whatever its kind: what "the least budget" turns.


def with_budgets_times(factor: float, relation: Relation) -> Relation:
    """The relation with every budget multiplied by a positive factor; in the notion zcdp rho is multiplied by its square.

    The budgets of the result are numbers of their own, each rounded to a float; nothing of the given relation is claimed of it.
    Raises `InvalidProblem` for a relation of the caller's own that is no metric.

    >>> from designer import metrics
    >>> with_budgets_times(2.0, metrics.uniform(3, 0.5)).exact_budget(0, 1)
    Fraction(1, 1)
    """
    times = positive(factor, "factor")
    if times == 1.0:
        return relation
    if isinstance(relation, Metric):
        return _metric(times, relation)
    if isinstance(relation, AddRemove):
        return AddRemove(frozen(relation.epsilons * times))
    if isinstance(relation, AppearOrChange):
        return AppearOrChange(_metric(times, relation.change), frozen(relation.epsilons * times), relation.closure)
    if isinstance(relation, RowGroups):
        return RowGroups(tuple(_metric(times, part) for part in relation.parts), relation.names)
    if isinstance(relation, (InvariantChanges, InvariantDistance, LinkedChanges)):
        return with_changes_of(relation, replace(relation, epsilon=positive(relation.epsilon * times, "epsilon")))
    if isinstance(relation, InvariantMetric):
        return with_changes_of(relation, replace(relation, metric=_metric(times, relation.metric)))
    raise InvalidProblem(f"relation: budgets of the kind {shown(relation.kind)} cannot be multiplied; use a metric.")


def _metric(times: float, metric: Metric) -> Metric:
    """A factor upon a factor is one factor, so that nothing nests deeper for it."""
    if isinstance(metric, Scaled):
        return scaled(metric.factor * times, metric.part)
    return scaled(times, metric)


def with_changes_of(known: Relation, new: Relation) -> Relation:
    """The new relation, which is `known` but for its budgets: the changes that an invariant leaves depend on no budget, and
    what was enumerated is not enumerated again."""
    for name in ("changes", "_exchanges", "_sparse", "_public", "listed_spans", "known", "listed", "parts", "typical"):
        if name in known.__dict__:
            new.__dict__[name] = known.__dict__[name]
    return new
