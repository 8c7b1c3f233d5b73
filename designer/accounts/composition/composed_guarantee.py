"""Several releases as one frozen statement: what they promise together for every change, and in the worst case.

docs/theory/composition.md.

Which of many costs are the worst, and what bounds them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from designer.accounts.composition.common_relation import (
    CommonChanges,
    CommonPairs,
    ReleaseTerm,
    ReleaseTerms,
    as_change,
    budget_of,
    invariants_of,
    is_listed,
    joint_statistics,
    on_one_universe,
    require_one_unit,
)
from designer.accounts.composition.cost_record import expense_of, spent
from designer.accounts.composition.terms import cost_of_budget, rule_of
from designer.base.arrays import Immutable, frozen
from designer.base.checks import count, shown
from designer.base.errors import InvalidProblem, NoAttribute
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.guarantee import APPROXIMATE, NOTIONS, POST_PROCESSING, Guarantee, budget_range
from designer.limits import MOST_COMPOSED_PAIRS
from designer.mechanism.interface import DELTAS_ADD
from designer.problem.relation import Relation
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.statistics import Statistics, proven_adjacency
from designer.relations.joint_promises import composition, joint_fingerprint
from designer.relations.metrics.presence import AddRemove
from designer.relations.problem import Notion
from designer.relations.row_groups import RowGroups
from designer.tradeoff.costs import Cost, TotalCost
from designer.tradeoff.functions import EpsilonDelta, Tradeoff
from solvers.exact.rational import float_above

# The statement for several releases together, complete enough to be read without the program.


WORDS = {"pure": NOTIONS["exponential"], "zcdp": NOTIONS["gaussian"]}


def statement_of(
    mechanisms: Sequence[FrozenMechanism],
    relation: Relation,
    notion: str | None,
    delta: Fraction | None,
    notes: tuple[str, ...],
) -> Guarantee:
    """The statement: the joint relation and notion, and of everything else what the parts say, each sentence once."""
    statements = [mechanism.guarantee for mechanism in mechanisms]
    told = joined(statements)
    return replace(
        told,
        unit=relation.protected_unit(),
        relation=relation.sentence(),
        unprotected=tuple(dict.fromkeys((*told.unprotected, *relation.unprotected(), *notes))),
        notion=WORDS.get(notion or "") or APPROXIMATE.format(delta=_below_one(delta)),
        parameters=_parameters(relation, statements, delta),
        post_processing=POST_PROCESSING if notion in WORDS else DELTAS_ADD,
    )


def joined(statements: Sequence[Guarantee]) -> Guarantee:
    """The first statement, with what the others say of mechanisms, sampling, numbers, time and what is unprotected."""
    every: Callable[[Iterable[str]], str] = lambda lines: " ".join(dict.fromkeys(lines))  # noqa: E731
    return replace(
        statements[0],
        unprotected=tuple(dict.fromkeys(line for statement in statements for line in statement.unprotected)),
        mechanism="Together: " + " ".join(f"({m + 1}) {statement.mechanism}" for m, statement in enumerate(statements)),
        sampling=every(statement.sampling for statement in statements),
        floating_point=every(statement.floating_point for statement in statements),
        timing=every(statement.timing for statement in statements),
        fingerprint=joint_fingerprint("composition", [statement.fingerprint for statement in statements]),
    )


def _below_one(delta: Fraction | None) -> float:
    together = float_above(delta or Fraction(0))
    if together >= 1:
        raise InvalidProblem(f"mechanisms: their deltas add up to {together!r}, which promises nothing; compose fewer.")
    return together


def _parameters(relation: Relation, statements: Sequence[Guarantee], delta: Fraction | None) -> dict[str, float | int | None]:
    ratios = [statement.parameters.get("worst_ratio") for statement in statements]
    known = [ratio for ratio in ratios if ratio is not None]
    # Each release spends at most its own worst part of its budgets, so all spend at most the worst of these of the whole;
    # lengths under a delta do not add up as budgets do, so their ratios say nothing of the sum.
    worst = max(known) if len(known) == len(ratios) and delta is None else None
    more = {} if delta is None else {"delta": _below_one(delta)}
    if isinstance(relation, InvariantDistance):
        return {"worst_ratio": worst, **relation.facts()}
    if isinstance(relation, ChangeRelation):
        return {"largest_finite_budget": relation.largest_budget(), "worst_ratio": worst, **more, **relation.facts()}
    least, most = budget_range(relation)
    return {"smallest_budget": least, "largest_finite_budget": most, "worst_ratio": worst, **relation.facts(), **more}


def undominated(costs: Iterable[TotalCost | None]) -> tuple[TotalCost, ...]:
    """Those of some costs that no other one exceeds, or equals, in every release; None, of unprotected changes, is left out."""
    distinct = list(dict.fromkeys(cost for cost in costs if cost is not None))
    kept: list[TotalCost] = []
    for cost in sorted(distinct, key=_size, reverse=True):
        if not any(_exceeds(other, cost) for other in kept):
            kept.append(cost)
    return tuple(kept)


def bound_of(costs: Sequence[TotalCost]) -> TotalCost:
    """What bounds all of some costs: of each release the largest numbers."""
    releases = zip(*(total.costs for total in costs), strict=True)
    return TotalCost(tuple(reduce(_join, listed) for listed in releases))


def _join(one: Cost, other: Cost) -> Cost:
    """The larger of two costs; where they cannot be compared, their largest numbers, which are all that is left."""
    if _at_least(one, other):
        return one
    if _at_least(other, one):
        return other
    epsilon, rho, mu_squared = (
        None if a is None or b is None else max(a, b)
        for a, b in ((one.epsilon, other.epsilon), (one.rho, other.rho), (one.mu_squared, other.mu_squared))
    )
    return Cost(epsilon, rho, max(one.delta, other.delta), mu_squared)


def _size(total: TotalCost) -> Fraction:
    return sum((cost.epsilon if cost.epsilon is not None else cost.rho or Fraction(0) for cost in total.costs), Fraction(0))


def _exceeds(one: TotalCost, other: TotalCost) -> bool:
    return all(_at_least(a, b) for a, b in zip(one.costs, other.costs, strict=True))


def _at_least(one: Cost, other: Cost) -> bool:
    """Does the first promise no more than the second, in any notion? Of shapes that differ only pure ones are compared."""
    if one.shapes and one.shapes != other.shapes:
        told = _pure_shape(one), _pure_shape(other)
        if told[0] is None or told[1] is None or told[0] < told[1]:
            return False
    pairs = ((one.epsilon, other.epsilon), (one.rho, other.rho), (one.mu_squared, other.mu_squared))
    return one.delta >= other.delta and all(a is None or (b is not None and a >= b) for a, b in pairs)


def _pure_shape(cost: Cost) -> Fraction | None:
    """The epsilon of a cost whose one shape is that of a pure promise."""
    shape = cost.shapes[0] if len(cost.shapes) == 1 else None
    return shape.epsilon if isinstance(shape, EpsilonDelta) and not shape.delta else None


SHAPED = 100  # changes of which the very shift of the noise is looked at
PRECISE = 12  # changes of which each has its own product of promises
NOTHING_LEFT = (
    "mechanisms: no change is protected by all of them, so together they hide nothing: what is unprotected in one, or moves "
    "what one of them publishes exactly, is told by the whole. Design them for relations that have changes in common."
)


class Composed(Immutable, ABC):
    """What several frozen mechanisms promise together about the same records. Each may be chosen after the last; relations and
    published statistics are fixed before the first.

    mechanisms: those given, in order. notion: "pure", "zcdp" or "approximate"; None where no single number says it; `epsilon`
    and `delta` answer in every notion. guarantee: the statement to publish.
    """

    mechanisms: tuple[FrozenMechanism, ...]

    @property
    @abstractmethod
    def worst(self) -> tuple[TotalCost, ...]:
        """The costs of changes that no other change exceeds in every release; one bound for all where they are too many."""

    @abstractmethod
    def cost(self, change: object) -> TotalCost | None:
        """What one change costs in all releases; None where it is not protected."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The statement of what is promised."""

    @property
    def fingerprint(self) -> str:
        """That of the mechanisms, in their order."""
        return self.guarantee.fingerprint

    @cached_property
    def notion(self) -> Notion | None:
        """In which the promise of every change is a single number; None where there is none."""
        return notion_of(self.worst)

    def epsilon(self, delta: object = 0, *, change: object = None, records: int = 1) -> float | None:
        """The least epsilon proven such that every protected change, or `change` alone, is (epsilon, delta)-private, rounded
        up; None where none is. delta: from 0 to 1. records: of a group, so many such changes one after the other.
        """
        asked = self._asked(change, records)
        found = [total.epsilon_at(delta, precise=len(asked) <= PRECISE) for total in asked]
        known = [epsilon for epsilon in found if epsilon is not None]
        most = max(known) if len(known) == len(found) else None
        if len(found) <= PRECISE or most == 0:
            return most
        joint = bound_of(asked).epsilon_at(delta)
        return most if joint is None else joint if most is None else min(most, joint)

    def delta(self, epsilon: object, *, change: object = None, records: int = 1) -> float:
        """The least delta proven at epsilon >= 0 for every protected change, or for `change` alone, rounded up; records as in
        `epsilon`."""
        asked = self._asked(change, records)
        most = max(total.delta_at(epsilon, precise=len(asked) <= PRECISE) for total in asked)
        return most if len(asked) <= PRECISE or not most else min(most, bound_of(asked).delta_at(epsilon))

    @property
    def rho(self) -> Fraction | None:
        """zCDP of every protected change; None where one of the releases has none, or one with a delta."""
        found = [total.rho for total in self.worst]
        known = [rho for rho in found if rho is not None]
        return max(known) if len(known) == len(found) else None

    def tradeoff(self, *, change: object = None, records: int = 1) -> Tradeoff | None:
        """A tradeoff function that every protected change has, or `change` alone; None where some release has none. records as
        in `epsilon`: groups of each mechanism come first, which says more than groups of the whole (SEMI Proposition 21)."""
        return bound_of(self._asked(change, records)).tradeoff

    def _asked(self, change: object, records: int) -> tuple[TotalCost, ...]:
        size = count(records, "records")
        if change is None:
            found: Sequence[TotalCost] = self.worst
        elif (total := self.cost(change)) is not None:
            found = (total,)
        else:
            raise InvalidProblem(
                f"change: {shown(change)} is not protected by all of the mechanisms, so nothing bounds it; ask about a change "
                "that all of them protect.",
                value=change,
            )
        return tuple(total.of_group(size) for total in found)


def notion_of(costs: Iterable[TotalCost]) -> Notion | None:
    """The notion in which all of some costs have a single number; None where there is none."""
    listed = list(costs)
    if all(all(cost.is_pure for cost in total.costs) for total in listed):
        return "pure"
    if all(cost.plain is not None for cost in listed):
        return "approximate"
    return "zcdp" if all(cost.rho is not None for cost in listed) else None


@dataclass(frozen=True, eq=False)
class ComposedElements(Composed):
    """Releases about the counts of one universe, or the cells of one domain.

    elements: the names of the elements, in the order by which changes name them; None where they have numbers only.
    """

    mechanisms: tuple[FrozenMechanism, ...]
    terms: ReleaseTerms
    elements: tuple[str, ...] | None

    @classmethod
    def of(cls, mechanisms: Sequence[FrozenMechanism]) -> ComposedElements:
        """The statement for mechanisms that are no plans of tables; `InvalidProblem` where they speak of different things."""
        for mechanism in mechanisms:
            rule_of(mechanism).require_proven(mechanism)
        relations, elements = on_one_universe(mechanisms)
        require_one_unit(relations)
        listed = tuple(
            ReleaseTerm(mechanism, relation, relation is getattr(mechanism, "relation", None))
            for mechanism, relation in zip(mechanisms, relations, strict=True)
        )
        made = cls(tuple(mechanisms), ReleaseTerms(listed, relations[0].size), elements)
        made._require_something()
        return made

    def cost(self, change: object) -> TotalCost | None:
        """What a change of the histogram costs: a tuple (i, j) of elements, N standing for no record; an array of N whole
        numbers; or a mapping from elements to whole numbers, such as {3: -1, 5: 1}."""
        return self.terms.cost(as_change(change, self.terms.size), shaped=True)

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        """The budget of one record that changes from element `left` to `right`, N standing for no record, in the `notion`,
        rounded up; None where it is infinite."""
        total = self.cost((left, right))
        return None if total is None else budget_of(total, self._one_number())

    def budget(self, left: int, right: int) -> float:
        """The same as a float; infinite where the change is not protected."""
        exact = self.exact_budget(left, right)
        return float("inf") if exact is None else float_above(exact)

    def _one_number(self) -> str:
        if self.notion is None:
            raise InvalidProblem(
                "mechanisms: one promises zCDP and another (epsilon, delta), so no single number is a budget; ask for "
                "epsilon(delta) or delta(epsilon)."
            )
        return self.notion

    @cached_property
    def invariant(self) -> Statistics | None:
        """All statistics that any of the mechanisms publishes beside noise; None where there are none."""
        invariants = invariants_of(self.terms.relations)
        return joint_statistics(invariants, replaced=self._replaced) if invariants else None

    @property
    def _replaced(self) -> bool:
        relations = self.terms.relations
        return (
            any(not isinstance(relation, (ChangeRelation, InvariantDistance)) for relation in relations)
            and not self.terms.appears
        )

    @cached_property
    def adjacency(self) -> int | None:
        """How many records change together: the least that a mechanism speaks of; None where there is no invariant, and where
        all budgets grow with the distance."""
        if self.invariant is None or self._all(InvariantDistance):
            return None
        kept = [relation for relation in self.terms.relations if isinstance(relation, ChangeRelation)]
        lengths = [r.adjacency * (2 if r.invariant.records_public else 1) for r in kept]
        public = self.invariant.records_public
        if not lengths:
            return self._adjacency_of_the_whole
        return min(lengths) // 2 if public else min(lengths)

    @property
    def _adjacency_of_the_whole(self) -> int:
        assert self.invariant is not None
        if (bound := proven_adjacency(self.invariant)) is not None:
            return bound
        raise InvalidProblem(
            "mechanisms: one has a budget for every unit of distance, beside relations of single records, and no bound is "
            "known of how many records change together; state an adjacency in the place of per_distance."
        )

    def _all(self, kind: type[Relation]) -> bool:
        return all(isinstance(relation, kind) for relation in self.terms.relations)

    @cached_property
    def worst(self) -> tuple[TotalCost, ...]:
        if self._all(InvariantDistance):
            raise NoAttribute(
                "mechanisms: their budgets grow with the distance without end, so no change is the worst; ask for the one that "
                "you mean (change=...)."
            )
        if self.invariant is None and self.terms.pairs <= MOST_COMPOSED_PAIRS and not self._all(RowGroups):
            few = self.terms.pairs <= SHAPED
            return undominated(self.terms.cost(change, shaped=few) for change in self.terms.changes_of_one_record())
        if isinstance(self._common, CommonChanges) and is_listed(self._common):
            return undominated(self._common.costs)
        return (spent([expense_of(mechanism) for mechanism in self.mechanisms]).total,)

    @cached_property
    def _common(self) -> CommonChanges | None:
        """The changes that all mechanisms protect, to be listed; None where they need no list."""
        if self.invariant is None or self.adjacency is None or self._all(InvariantChanges) or self._all(LinkedChanges):
            return None
        return CommonChanges(self.terms, self.invariant, self.adjacency, None)

    @cached_property
    def relation(self) -> Relation:
        """What is protected by all, with the budgets of the whole in its `notion`: of the closed list of relations where one of
        its kinds says it, rounded up; and a list of changes with their costs otherwise."""
        if self._all(InvariantDistance):
            return self._distance()
        notion = self._one_number()
        if self._all(LinkedChanges) or self._all(InvariantChanges):
            return self._one_budget(budget_of(self.worst[0], notion))
        if self.invariant is not None:
            assert self.adjacency is not None
            return CommonChanges(self.terms, self.invariant, self.adjacency, notion)
        return self._of_one_record(notion)

    def _distance(self) -> InvariantDistance:
        """epsilons add, or their squares where one is Gaussian: pure epsilon r is `(epsilon r)^2 / 2`-zCDP."""
        listed = [relation for relation in self.terms.relations if isinstance(relation, InvariantDistance)]
        budgets = tuple(Fraction(relation.epsilon) for relation in listed)
        total = TotalCost(tuple(Cost.pure(b) if self._pure else Cost.concentrated(b**2 / 2) for b in budgets))
        assert self.invariant is not None
        epsilon = float_above(budget_of(total, "pure" if self._pure else "zcdp"))
        return InvariantDistance(self.invariant, epsilon, "l2" if all(r.distance == "l2" for r in listed) else "l1")

    @property
    def _pure(self) -> bool:
        return all(getattr(mechanism, "falloff", "exponential") == "exponential" for mechanism in self.mechanisms)

    def _one_budget(self, budget: Fraction) -> Relation:
        first = self.terms.relations[0]
        assert self.invariant is not None and self.adjacency is not None
        if isinstance(first, LinkedChanges):
            return LinkedChanges(first.linked, self.adjacency, float_above(budget))
        return InvariantChanges(self.invariant, self.adjacency, float_above(budget))

    def _of_one_record(self, notion: str) -> Relation:
        relations = self.terms.relations
        if self.terms.only_appears and self.terms.size <= MOST_COMPOSED_PAIRS:
            budgets = [self.budget(element, self.terms.size) for element in range(self.terms.size)]
            return AddRemove(frozen(np.array(budgets)))
        alike = all(cost_notion == notion for cost_notion in self._own_notions)
        if not alike and self._all(RowGroups):
            raise InvalidProblem(
                "mechanisms: count a record in several groups, under different notions; their budgets have no common rule that "
                "could be written down, so ask for the cost of a change."
            )
        if not alike:
            return CommonPairs(self.terms, notion)
        if isinstance(first := relations[0], RowGroups):
            groups = [relation.parts for relation in relations if isinstance(relation, RowGroups)]
            parts = [composition(list(listed), notion) for listed in zip(*groups, strict=True)]
            return RowGroups(tuple(parts), first.names)  # type: ignore[arg-type]  # of metrics it is a metric
        return composition(relations, notion)

    @cached_property
    def _own_notions(self) -> tuple[Notion | None, ...]:
        """That of each mechanism by itself."""
        return tuple(notion_of([TotalCost((cost_of_budget(mechanism, Fraction(1)),))]) for mechanism in self.mechanisms)

    def _require_something(self) -> None:
        if self._all(InvariantDistance) or self._all(LinkedChanges):
            assert self.invariant is not None
            left = self.invariant.freedom > 0
        elif self.invariant is not None:
            left = self._left_by_invariant()
        elif self.terms.pairs <= MOST_COMPOSED_PAIRS and not self._all(RowGroups):
            left = bool(self.worst)
        else:
            left = not self.relation.is_vacuous()
        if not left:
            raise InvalidProblem(NOTHING_LEFT)

    def _left_by_invariant(self) -> bool:
        assert self.invariant is not None and self.adjacency is not None
        if self.adjacency < 1:
            return False
        if self._common is None:
            return not InvariantChanges(self.invariant, self.adjacency, 1.0).is_vacuous()
        return not is_listed(self._common) or not self._common.is_vacuous()

    @cached_property
    def guarantee(self) -> Guarantee:
        return statement_of(self.mechanisms, self.relation, self._stated_notion, self._plain_delta, self._notes())

    @property
    def _stated_notion(self) -> Notion | None:
        if self._all(InvariantDistance):
            return "pure" if self._pure else "zcdp"
        return self.notion

    @property
    def _plain_delta(self) -> Fraction | None:
        if self._stated_notion != "approximate":
            return None
        return max(total.plain[1] for total in self.worst if total.plain is not None)

    def _notes(self) -> tuple[str, ...]:
        """What a reader of the parts may not expect: the joint statistics may ask for more records at once."""
        if self.invariant is None or self.adjacency is None or len(set(map(_key, invariants_of(self.terms.relations)))) == 1:
            return ()
        needed = proven_adjacency(self.invariant)
        if needed is not None and needed <= self.adjacency:
            return ()
        return (
            f"All statistics together may leave a record to become another only where more than {self.adjacency} records "
            "change, of which nothing is claimed.",
        )


def _key(invariant: Statistics) -> str:
    return str(invariant.to_spec())
