"""The relation that several releases keep together: the changes that all of them protect, at what they cost in all.

docs/theory/composition.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from designer.certified.frozen import Specified
from designer.accounts.together.costs import Cost, TotalCost
from designer.accounts.together.steps import Change, Steps, steps_of
from designer.accounts.together.terms import cost_of_steps, shapes_of_shift
from designer.base.errors import DesignFailed, InvalidProblem
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.statistics import Statistics
from designer.mechanisms.lattice.smoothing import joint_invariant
from designer.relations.metrics.metric import inner_words
from designer.relations.metrics.presence import AddRemove, AppearOrChange
from designer.problem.relation import Block, Relation
from designer.base.arrays import Floats, Immutable
from solvers.exact.rational import float_above, root_above

MOST_PAIRS = 20_000  # of elements, or of changes, whose costs are looked at one by one: a second


@dataclass(frozen=True, eq=False)
class ReleaseTerm(Immutable):
    """One release of several: its mechanism, and its relation on the elements that all share; `named`: which are its own, in
    its own order."""

    mechanism: Specified
    relation: Relation
    named: bool

    @cached_property
    def _cost_of_steps(self) -> Callable[[Steps], Cost]:
        return cache(partial(cost_of_steps, self.mechanism))

    def cost(self, change: Change, *, shaped: bool) -> Cost | None:
        """What a change costs in this release; None where it is not protected. shaped: with the tradeoff functions of the very
        change, where they are known, and not of its budget alone."""
        steps = steps_of(self.relation, change)
        if steps is None:
            return None
        cost = self._cost_of_steps(steps)
        shapes = shapes_of_shift(self.mechanism, change) if shaped and self.named else ()
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
        raise InvalidProblem(f"change: {value!r} is not a whole number; give elements by position, from 0.")
    return int(value)


def budget_of(total: TotalCost, notion: str) -> Fraction:
    """The one number that a notion has for a cost, rounded up: epsilon, or the b with `rho = b^2 / 2`."""
    if notion == "gaussian":
        assert total.rho is not None
        return root_above(2 * total.rho)
    assert total.plain is not None
    return total.plain[0]


@dataclass(frozen=True, eq=False)
class CommonPairs(Relation):
    """One record that changes, or appears where all hide that, with what it costs in all releases, in one notion."""

    terms: ReleaseTerms
    notion: str
    kind = "common_pairs"

    @property
    def size(self) -> int:
        return self.terms.size

    def points(self, columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.concatenate([columns, np.zeros_like(columns[:1])]) if self.terms.appears else columns

    @cached_property
    def _listed(self) -> tuple[tuple[Change, Fraction], ...]:
        if self.terms.pairs > MOST_PAIRS:
            raise DesignFailed(
                f"relation: has {self.terms.pairs} pairs of different notions, more than {MOST_PAIRS} that are listed; ask for "
                "the budget of a pair with exact_budget."
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
        return _together(self.terms.relations, "One record may change")

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "notion": self.notion, "parts": [part.to_spec() for part in self.terms.relations]}


@dataclass(frozen=True, eq=False)
class CommonChanges(ChangeRelation):
    """Changes of at most `adjacency` records that keep all statistics that any of the releases publishes, with what they cost
    in all releases, in one notion; infinite where one of them does not protect the change."""

    terms: ReleaseTerms
    invariant: Statistics
    adjacency: int
    notion: str
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
        return _together(self.terms.relations, f"{self._moved()} are told apart")

    def to_spec(self) -> dict[str, Any]:
        parts = [part.to_spec() for part in self.terms.relations]
        return {"kind": self.kind, "notion": self.notion, "adjacency": self.adjacency, "parts": parts}


def _together(relations: Sequence[Relation], what: str) -> str:
    listed = "; ".join(f"({i + 1}) {inner_words(relation)}" for i, relation in enumerate(relations))
    return f"{what} with what it costs by all of these rules together: {listed}."


def joint_statistics(invariants: Sequence[Statistics], *, replaced: bool) -> Statistics:
    """All statistics that any of the releases publishes, every element that one of them declares impossible, and the number of
    records where one of them makes it public."""
    first, joint = invariants[0], joint_invariant(*invariants)
    public = replaced or joint.records_public
    if all(invariant == first for invariant in invariants) and public == first.records_public:
        return first
    return replace(joint, records_public=public)


def is_listed(relation: ChangeRelation) -> bool:
    """Are the changes few enough to be looked at one by one?"""
    probe = InvariantChanges(relation.invariant, relation.adjacency, 1.0)
    return probe.listed and len(probe.changes) <= MOST_PAIRS // 4
