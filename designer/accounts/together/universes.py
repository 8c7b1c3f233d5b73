"""Whether mechanisms speak of the same records: one universe, whose elements are joined by name, or the rows of one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from designer.accounts.together.terms import rule_of
from designer.base.arrays import frozen
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.certified.frozen import Specified
from designer.mechanisms.composition import Protected
from designer.mechanisms.marginals.protection import Presence
from designer.problem.domain import Domain
from designer.problem.histogram import Universe
from designer.problem.relation import Relation
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.statistics import Statistics
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.metrics.algebra import restriction
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AddRemove, AppearOrChange
from designer.relations.row_groups import RowGroups

MOST_CELLS = 10**6  # of a domain whose cells are written out to be joined with elements


@dataclass(frozen=True)
class Speaks:
    """What a mechanism speaks of: its relation, and the elements that it counts.

    domain: of mechanisms over attributes, whose cells are the elements. universe: of all others.
    """

    mechanism: Specified
    protected: Protected
    domain: Domain | None
    universe: Universe | None

    @classmethod
    def of(cls, mechanism: Specified) -> Speaks:
        """What a mechanism, no plan of a table, speaks of."""
        rule = rule_of(mechanism)
        protected, counted = rule.protected(mechanism), rule.counted(mechanism)
        if isinstance(counted, Domain):
            return cls(mechanism, protected, counted, None)
        return cls(mechanism, protected, None, counted)

    @property
    def size(self) -> int:
        """The number of elements."""
        if self.domain is not None:
            return self.domain.size
        assert self.universe is not None
        return len(self.universe.elements)

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the elements are called; None where they have numbers only."""
        if self.domain is not None:
            return self.domain.elements
        assert self.universe is not None
        return None if self.universe.is_numbered else self.universe.elements


def on_one_universe(mechanisms: Sequence[Specified]) -> tuple[tuple[Relation, ...], tuple[str, ...] | None]:
    """The relations of the mechanisms on the elements of the first that names them, and these names (None: by number).

    Elements without names of their own are joined by their position. `InvalidProblem` where the elements differ.
    """
    spoken = [Speaks.of(mechanism) for mechanism in mechanisms]
    domains = {one.domain for one in spoken}
    if len(domains) == 1 and None not in domains:
        return tuple(_relation(one) for one in spoken), None
    sizes = sorted({one.size for one in spoken})
    if len(sizes) > 1:
        raise InvalidProblem(
            f"mechanisms: count {' and '.join(map(str, sizes))} elements, so no change of one is a change of the other; "
            "compose what is about one universe, or add largest costs up with designer.accounts.spent."
        )
    if sizes[0] > MOST_CELLS and None not in {one.domain for one in spoken} ^ {None}:
        raise InvalidProblem(
            f"mechanisms: have different domains of {sizes[0]} cells, too many to be compared by name; give them one domain.",
        )
    first = next((one.names for one in spoken if one.names is not None), None)
    return tuple(_in_order_of(one, first) for one in spoken), first


def _in_order_of(one: Speaks, names: tuple[str, ...] | None) -> Relation:
    relation, own = _relation(one), one.names
    if names is None or own is None or own == names:
        return relation
    if set(own) != set(names):
        odd = next(name for name in own if name not in set(names))
        raise InvalidProblem(
            f"mechanisms: one counts an element {shown(odd)} that another does not know; compose what is about one universe, "
            "or add largest costs up with designer.accounts.spent."
        )
    place = {name: k for k, name in enumerate(own)}
    return reordered(relation, [place[name] for name in names])


def _relation(one: Speaks) -> Relation:
    if not isinstance(one.protected, Presence):
        return one.protected
    if one.size > MOST_CELLS:
        raise InvalidProblem(
            f"mechanisms: one protects the presence of a record of any of {one.size} elements beside relations of single "
            "elements; merge values, or add largest costs up with designer.accounts.spent."
        )
    return AddRemove(frozen(np.full(one.size, one.protected.epsilon)))


def reordered(relation: Relation, places: Sequence[int]) -> Relation:
    """The relation with its element `places[k]` as element k; `InvalidProblem` where it cannot be put in another order."""
    order = list(places)
    if isinstance(relation, Metric):
        return restriction(relation, order)
    if isinstance(relation, AddRemove):
        return AddRemove(frozen(relation.epsilons[order]))
    if isinstance(relation, AppearOrChange):
        return AppearOrChange(restriction(relation.change, order), frozen(relation.epsilons[order]), relation.closure)
    if isinstance(relation, InvariantMetric):
        return replace(relation, metric=restriction(relation.metric, order), invariant=_columns(relation.invariant, order))
    if isinstance(relation, (InvariantChanges, InvariantDistance)):
        return replace(relation, invariant=_columns(relation.invariant, order))
    raise InvalidProblem(
        f"mechanisms: name their elements in different orders, and a relation of kind {relation.kind!r} has a fixed one; build "
        "all of them with the elements in one order."
    )


def _columns(invariant: Statistics, order: list[int]) -> Statistics:
    place = {old: new for new, old in enumerate(order)}
    impossible = tuple(sorted(place[element] for element in invariant.impossible))
    return Statistics(invariant.matrix[:, order], invariant.names, invariant.records_public, invariant.groups, impossible)


def require_one_unit(relations: Sequence[Relation]) -> None:
    """Refuse relations that count a record in different ways: once, once in every group, or once in every table."""
    if any(isinstance(relation, RowGroups) for relation in relations):
        groups = {(r.names, tuple(part.size for part in r.parts)) if isinstance(r, RowGroups) else None for r in relations}
        if len(groups) > 1:
            raise InvalidProblem(
                "mechanisms: one counts a record in each of several groups, another counts it otherwise; compose mechanisms "
                "over the same groups, or add largest costs up with designer.accounts.spent."
            )
    if any(isinstance(relation, LinkedChanges) for relation in relations):
        tables = {str(r.linked.to_spec()) if isinstance(r, LinkedChanges) else None for r in relations}
        if len(tables) > 1:
            raise InvalidProblem(
                "mechanisms: one counts a record in each of several linked tables, another counts it otherwise; compose "
                "mechanisms over the same linked tables, or add largest costs up with designer.accounts.spent."
            )


def invariants_of(relations: Sequence[Relation]) -> list[Statistics]:
    """The statistics that the relations say are published."""
    return [relation.invariant for relation in relations if isinstance(relation, (ChangeRelation, InvariantDistance))]
