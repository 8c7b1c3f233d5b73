"""What a change of the histogram costs under a relation: the budgets of the protected changes that it is made of.

docs/theory/composition.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from designer.base.errors import InvalidProblem
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.statistics import Statistics
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AddRemove, AppearOrChange
from designer.problem.relation import Relation
from designer.relations.row_groups import RowGroups
from solvers.exact.rational import root_above

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
        return steps_of(relation.metric, change)
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
