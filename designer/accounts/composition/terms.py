"""What frozen objects say to an accountant, by the rule of composition of their kinds; largest budgets of relations."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from designer.certificate.frozen import FrozenMechanism
from designer.files.kinds import mechanism_kind
from designer.mechanism.composition import Composition, Protected, no_rule
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.metrics.attributes import Hamming
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AddRemove, AppearOrChange, Presence
from designer.relations.row_groups import RowGroups
from designer.tradeoff.costs import Cost

LISTED = 2_000  # pairs whose exact budgets are looked at one by one


def rule_of(mechanism: FrozenMechanism) -> Composition[Any]:
    """The rule of composition of the kind of a mechanism; `InvalidProblem` for a class that no spec can hold."""
    kind = mechanism_kind(mechanism)
    if kind is None:
        raise no_rule(mechanism)
    rule: Composition[Any] = kind.part("composition")()
    return rule


def protected_by(mechanism: FrozenMechanism) -> Protected:
    """What changes the mechanism speaks of; `InvalidProblem` for plans of tables, whose losses are functions of the record."""
    return rule_of(mechanism).protected(mechanism)


def cost_of_budget(mechanism: FrozenMechanism, budget: Fraction) -> Cost:
    """What a change of this budget costs; for the test of an odds ratio what any protected change does."""
    return rule_of(mechanism).cost(mechanism, budget)


def largest_budget(protected: Protected) -> Fraction:
    """The largest budget of a protected change, exact where pairs are few, rounded up elsewhere.

    Of a budget for each unit of distance, that of one unit.
    """
    if isinstance(protected, Presence):
        return Fraction(protected.epsilon)
    if isinstance(protected, Hamming):
        sizes = zip(protected.budgets, protected.domain.shape, strict=True)
        return sum((Fraction(b) for b, values in sizes if values > 1 and b != float("inf")), Fraction(0))
    if isinstance(protected, ChangeRelation):
        return protected.largest_exact_budget()
    if isinstance(protected, AddRemove):
        return max((Fraction(e) for e in protected.epsilons.tolist() if e != float("inf")), default=Fraction(0))
    if isinstance(protected, RowGroups):
        return sum(map(largest_budget, protected.parts), Fraction(0))
    if isinstance(protected, (Metric, AppearOrChange)):
        return _largest_of_pairs(protected)
    return Fraction(getattr(protected, "epsilon"))  # noqa: B009  # of InvariantDistance


def _largest_of_pairs(relation: Metric | AppearOrChange) -> Fraction:
    points = relation.size + isinstance(relation, AppearOrChange)
    if points * (points - 1) // 2 > LISTED:
        return Fraction(relation.largest_budget()) * (1 + 2 * Fraction(relation.budget_error))
    pairs = ((i, j) for i, j in product(range(points), repeat=2) if i < j)
    return max((b for i, j in pairs if (b := relation.exact_budget(i, j)) is not None), default=Fraction(0))
