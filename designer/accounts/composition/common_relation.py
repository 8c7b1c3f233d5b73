"""The relation that several releases keep together: the changes that all of them protect, at what they cost in all.

docs/theory/composition.md, section 4.

What a change of the histogram costs under a relation: the budgets of the protected changes that it is made of.

docs/theory/composition.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from designer.accounts.composition.terms import rule_of
from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.frozen import FrozenMechanism
from designer.limits import MOST_COMPOSED_CELLS, MOST_COMPOSED_PAIRS
from designer.mechanism.composition import Protected
from designer.problem.domain import Domain
from designer.problem.histogram import Universe
from designer.problem.relation import Block, Relation
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.invariant import joint
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.statistics import Statistics
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.metrics.algebra import restriction
from designer.relations.metrics.metric import Metric, inner_words
from designer.relations.metrics.presence import AddRemove, AppearOrChange, Presence
from designer.relations.row_groups import RowGroups
from designer.tradeoff.costs import Cost, TotalCost
from solvers.exact.rational import float_above, root_above

Change = tuple[tuple[int, int], ...]  # (element, how many records more), elements rising, no zeros
Steps = tuple[Fraction, ...]
Pair = Callable[[int, int], Fraction | None]
TRIED = 6  # records moved at once for which every way is tried; the best way of more is found in floats


def steps_of(relation: Relation, change: Change) -> Steps | None:
    """The budgets of protected changes that lead from one end of the change to the other, of least sum; None where there is no
    such way. The best of more than six moved records is found in floats: then another way may cost less."""
    if not change:
        return ()
    if isinstance(relation, (ChangeRelation, InvariantDistance)):
        return _within_invariant(relation, change)
    if isinstance(relation, RowGroups):
        return _by_group(relation, change)
    gone, come = units_of(change, -1), units_of(change, 1)
    if isinstance(relation, Metric):
        return cheapest_moves(relation.exact_budget, gone, come) if len(gone) == len(come) else None
    outside = relation.size
    if isinstance(relation, AddRemove):
        budgets = [relation.exact_budget(element, outside) for element in (*gone, *come)]
        known = tuple(budget for budget in budgets if budget is not None)
        return known if len(known) == len(budgets) else None
    if isinstance(relation, AppearOrChange):
        return cheapest_moves(_with_outside(relation), [*gone, *[outside] * len(come)], [*come, *[outside] * len(gone)])
    raise InvalidProblem(
        f"mechanisms: the relation {relation.kind!r} has no rule of composition; use a relation of the package."
    )


def units_of(change: Change, sign: int) -> list[int]:
    """The elements that lose (sign -1) or gain (1) records, one entry for each record."""
    return [element for element, amount in change for _ in range(max(0, sign * amount))]


def _with_outside(relation: AppearOrChange) -> Pair:
    return lambda i, j: Fraction(0) if i == j else relation.exact_budget(i, j)


def cheapest_moves(budget: Pair, gone: Sequence[int], come: Sequence[int]) -> Steps | None:
    """The budgets of moving records from `gone` to `come` one by one, of least sum; None where some move is unprotected."""
    table = [[budget(i, j) for j in come] for i in gone]
    orders = permutations(range(len(come))) if len(come) <= TRIED else [_float_order(table)]
    ways = ([table[i][j] for i, j in enumerate(order)] for order in orders)
    finite = [tuple(b for b in way if b is not None) for way in ways if None not in way]
    best = min(finite, key=lambda way: sum(way, Fraction(0)), default=None)
    return None if best is None else tuple(b for b in best if b)


def _float_order(table: list[list[Fraction | None]]) -> tuple[int, ...]:
    from scipy.optimize import linear_sum_assignment

    floats = np.array([[1e150 if b is None else min(float(b), 1e140) for b in row] for row in table])
    return tuple(linear_sum_assignment(floats)[1].tolist())


def _within_invariant(relation: ChangeRelation | InvariantDistance, change: Change) -> Steps | None:
    if isinstance(relation, LinkedChanges):
        raise InvalidProblem(
            "change: which changes of linked tables a few records can make is not decided, only how long they are; ask for the "
            "numbers of the worst one, without a change."
        )
    if not keeps_statistics(relation.invariant, change):
        return None
    if isinstance(relation, InvariantDistance):
        return (Fraction(relation.epsilon) * size_of_change(change, relation.distance),)
    if size_of_change(change, "l1") > relation.adjacency * (2 if relation.invariant.records_public else 1):
        return None
    if isinstance(relation, InvariantMetric):
        moves = steps_of(relation.metric, change)  # none of them need keep the statistics, so the change is one step
        return None if moves is None else (sum(moves, Fraction(0)),)
    return (relation.largest_exact_budget(),)


def keeps_statistics(invariant: Statistics, change: Change) -> bool:
    """Does the change leave all statistics as they are?"""
    places, amounts = [element for element, _ in change], np.array([amount for _, amount in change], dtype=object)
    return not (invariant.constraints[:, places].astype(object) @ amounts).any()


def size_of_change(change: Change, distance: str) -> Fraction:
    """The l1 or l2 norm of the change, rounded up."""
    if distance == "l1":
        return Fraction(sum(abs(amount) for _, amount in change))
    return root_above(Fraction(sum(amount * amount for _, amount in change)))


def _by_group(relation: RowGroups, change: Change) -> Steps | None:
    """The steps of all groups: a record that changes in several is as many steps, whose budgets add."""
    bounds = relation.starts.tolist()
    found: list[Fraction] = []
    for part, start, end in zip(relation.parts, bounds, bounds[1:], strict=False):
        own = steps_of(part, tuple((element - start, amount) for element, amount in change if start <= element < end))
        if own is None:
            return None
        found += own
    return tuple(found)


@dataclass(frozen=True, eq=False)
class ReleaseTerm(Immutable):
    """One release of several: its mechanism, and its relation on the elements that all share; `named`: which are its own, in
    its own order."""

    mechanism: FrozenMechanism
    relation: Relation
    named: bool

    @cached_property
    def _cost_of_steps(self) -> Callable[[Steps], Cost]:
        return cache(partial(rule_of(self.mechanism).cost_of_steps, self.mechanism))

    def cost(self, change: Change, *, shaped: bool) -> Cost | None:
        """What a change costs in this release; None where it is not protected. shaped: with the tradeoff functions of the very
        change, where they are known, and not of its budget alone."""
        steps = steps_of(self.relation, change)
        if steps is None:
            return None
        cost = self._cost_of_steps(steps)
        shapes = rule_of(self.mechanism).shapes(self.mechanism, change) if shaped and self.named else ()
        return replace(cost, shapes=shapes) if shapes else cost


@dataclass(frozen=True, eq=False)
class ReleaseTerms(Immutable):
    """Several releases over one universe of `size` elements."""

    listed: tuple[ReleaseTerm, ...]
    size: int

    def cost(self, change: Change, *, shaped: bool = False) -> TotalCost | None:
        """What a change costs in all; None where one of them does not protect it. shaped: see `ReleaseTerm.cost`."""
        costs = [term.cost(change, shaped=shaped) for term in self.listed]
        known = tuple(cost for cost in costs if cost is not None)
        return TotalCost(known) if len(known) == len(costs) else None

    @property
    def relations(self) -> list[Relation]:
        """Their relations."""
        return [term.relation for term in self.listed]

    @property
    def appears(self) -> bool:
        """Do all of them hide whether a record is there?"""
        return all(isinstance(relation, (AddRemove, AppearOrChange)) for relation in self.relations)

    @property
    def pairs(self) -> int:
        """How many pairs of elements, and of an element and no record, there are."""
        if self.only_appears:
            return self.size
        points = self.size + self.appears
        return points * (points - 1) // 2

    @property
    def only_appears(self) -> bool:
        """Do all of them speak of records that appear, and of nothing else?"""
        return all(isinstance(relation, AddRemove) for relation in self.relations)

    def changes_of_one_record(self) -> Iterator[Change]:
        """One of each pair of changes of one record: it changes, or it appears. Where no relation speaks of a record that
        changes, that is two changes."""
        if not self.only_appears:
            yield from (((i, -1), (j, 1)) for i, j in combinations(range(self.size), 2))
        if self.appears:
            yield from (((i, 1),) for i in range(self.size))


def as_change(change: object, size: int) -> Change:
    """A change as its elements with the records that they gain: from a tuple (i, j) of elements, `size` for no record; from
    an array of `size` whole numbers; or from a mapping from elements to whole numbers."""
    if isinstance(change, Mapping):
        found = {_whole(key): _whole(value) for key, value in change.items()}
    elif isinstance(change, tuple) and len(change) == 2:
        found = {}
        for element, amount in zip(change, (-1, 1), strict=True):
            found[_whole(element)] = found.get(_whole(element), 0) + amount
        found.pop(size, None)
    else:
        row = np.asarray(change)
        if row.shape != (size,) or row.dtype.kind not in "iu":
            raise InvalidProblem(
                f"change: has shape {row.shape} and type {row.dtype}; give a tuple (i, j) of elements, {size} standing for no "
                f"record, a mapping from elements to whole numbers, or an array of {size} of them."
            )
        found = {int(k): int(row[k]) for k in np.flatnonzero(row)}
    if any(not 0 <= element < size for element in found):
        raise InvalidProblem(f"change: names an element beyond the last of {size}; count from 0.")
    return tuple(sorted((element, amount) for element, amount in found.items() if amount))


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidProblem(f"change: {value!r} is not a whole number; give elements by position, from 0.", value=value)
    return int(value)


def budget_of(total: TotalCost, notion: str | None) -> Fraction:
    """The one number that a notion has for a cost, rounded up: epsilon, or the b with `rho = b^2 / 2`."""
    if notion == "zcdp":
        assert total.rho is not None
        return root_above(2 * total.rho)
    assert total.plain is not None
    return total.plain[0]


@dataclass(frozen=True, eq=False)
class CommonPairs(Relation):
    """One record that changes, or appears where all hide that, with what it costs in all releases, in one notion."""

    terms: ReleaseTerms
    notion: str | None
    kind = "common_pairs"

    @property
    def size(self) -> int:
        return self.terms.size

    def points(self, columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.concatenate([columns, np.zeros_like(columns[:1])]) if self.terms.appears else columns

    @cached_property
    def _listed(self) -> tuple[tuple[Change, Fraction], ...]:
        if self.terms.pairs > MOST_COMPOSED_PAIRS:
            raise DesignFailed(
                f"relation: has {self.terms.pairs} pairs of different notions, more than {MOST_COMPOSED_PAIRS} that are "
                "listed; ask for the budget of a pair with exact_budget."
            )
        every = ((change, self.terms.cost(change)) for change in self.terms.changes_of_one_record())
        return tuple((change, budget_of(cost, self.notion)) for change, cost in every if cost is not None)

    def blocks(self) -> Iterator[Block]:
        ends = [(change[0][0], change[1][0] if len(change) > 1 else self.size) for change, _ in self._listed]
        left, right = (np.array([end[k] for end in ends], dtype=np.intp) for k in (0, 1))
        yield Block(left, right, np.array([float_above(budget) for _, budget in self._listed]))

    def every_pair(self) -> Iterator[Block]:
        return self.blocks()

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        total = self.terms.cost(as_change((left, right), self.size))
        return None if total is None else budget_of(total, self.notion)

    def sentence(self) -> str:
        return _all_rules(self.terms.relations, "Any one record may change")

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "notion": self.notion, "parts": [part.to_spec() for part in self.terms.relations]}


@dataclass(frozen=True, eq=False)
class CommonChanges(ChangeRelation):
    """Changes of at most `adjacency` records that keep all statistics that any of the releases publishes, with what they cost
    in all releases, in one notion; infinite where one of them does not protect the change."""

    terms: ReleaseTerms
    invariant: Statistics
    adjacency: int
    notion: str | None
    kind = "common_changes"

    @cached_property
    def costs(self) -> tuple[TotalCost | None, ...]:
        """What each of the `changes` costs."""
        return tuple(self.terms.cost(as_change(change, self.size)) for change in self.changes)

    @cached_property
    def budgets(self) -> Floats:
        found = (self.exact_budget(m, len(self.changes)) for m in range(len(self.changes)))
        return np.array([np.inf if budget is None else float_above(budget) for budget in found])

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        if left == right:
            return Fraction(0)
        total = self.costs[min(left, right)]
        return None if total is None else budget_of(total, self.notion)

    def largest_exact_budget(self) -> Fraction:
        return max((budget_of(cost, self.notion) for cost in self.costs if cost is not None), default=Fraction(0))

    def largest_budget(self) -> float:
        return float_above(self.largest_exact_budget())

    def is_vacuous(self) -> bool:
        return not any(cost is not None for cost in self.costs)

    def sentence(self) -> str:
        return _all_rules(self.terms.relations, f"{self._moved()} are told apart")

    def to_spec(self) -> dict[str, Any]:
        parts = [part.to_spec() for part in self.terms.relations]
        return {"kind": self.kind, "notion": self.notion, "adjacency": self.adjacency, "parts": parts}


def _all_rules(relations: Sequence[Relation], what: str) -> str:
    listed = "; ".join(f"({i + 1}) {inner_words(relation)}" for i, relation in enumerate(relations))
    return f"{what} with what it costs by all of these rules together: {listed}."


def joint_statistics(invariants: Sequence[Statistics], *, replaced: bool) -> Statistics:
    """All statistics that any of the releases publishes, every element that one of them declares impossible, and the number of
    records where one of them makes it public."""
    first, shared = invariants[0], joint(*invariants)
    public = replaced or shared.records_public
    if all(invariant == first for invariant in invariants) and public == first.records_public:
        return first
    return replace(shared, records_public=public)


def is_listed(relation: ChangeRelation) -> bool:
    """Are the changes few enough to be looked at one by one?"""
    probe = InvariantChanges(relation.invariant, relation.adjacency, 1.0)
    return probe.listed and len(probe.changes) <= MOST_COMPOSED_PAIRS // 4


# Whether mechanisms speak of the same records: one universe, whose elements are joined by name, or the rows of one table.


@dataclass(frozen=True)
class Speaks:
    """What a mechanism speaks of: its relation, and the elements that it counts.

    domain: of mechanisms over attributes, whose cells are the elements. universe: of all others.
    """

    mechanism: FrozenMechanism
    protected: Protected
    domain: Domain | None
    universe: Universe | None

    @classmethod
    def of(cls, mechanism: FrozenMechanism) -> Speaks:
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


def on_one_universe(mechanisms: Sequence[FrozenMechanism]) -> tuple[tuple[Relation, ...], tuple[str, ...] | None]:
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
    if sizes[0] > MOST_COMPOSED_CELLS and None not in {one.domain for one in spoken} ^ {None}:
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
    if one.size > MOST_COMPOSED_CELLS:
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
