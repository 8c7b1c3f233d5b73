"""One factor on all budgets of a relation, whatever its kind: what "the least budget" turns."""

from __future__ import annotations

from dataclasses import replace

from designer.base.arrays import frozen
from designer.base.checks import positive, shown
from designer.base.errors import InvalidProblem
from designer.problem.relation import Relation
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.metrics.metric import Metric, Scaled, scaled
from designer.relations.metrics.presence import AddRemove, AppearOrChange
from designer.relations.row_groups import RowGroups


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
