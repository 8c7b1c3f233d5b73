"""Elements that budgets of 0 bind together are one element: whatever a mechanism measures must be equal on them, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.by_length import ByLength, too_many
from designer.certified.norms import weighted_l1
from designer.certified.sensitivity import Pairs, SensitivitySet
from designer.problem.nearness import Nearness
from designer.problem.relation import Block, Indices, Relation, graph_components
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.problem import Problem
from solvers.programs.changes import Changes, Steepest


@dataclass(frozen=True, eq=False)
class Classes:
    """first: (C,) one element of each class; label: (N,) the class of each element, -1 where it is at distance 0 from absence.

    Rows over the classes, (p, C), become rows over the elements by `spread`, 0 for those that count as absent.
    """

    problem: Problem
    first: Indices
    label: Indices

    def __len__(self) -> int:
        return len(self.first)

    def spread(self, rows: Floats) -> Floats:
        """Equal columns for the elements of a class, (p, C) -> (p, N)."""
        return np.where(self.label >= 0, rows[:, self.label], 0.0)

    @cached_property
    def workload(self) -> Floats:
        """The queries on the classes, (K, C); they are equal within classes, or every family refuses them."""
        return self.problem.workload.dense()[:, self.first]

    def changes(self, limit: int) -> Changes:
        """The protected changes of the classes with their positive budgets: at most `limit` differences of records, or all that
        an invariant leaves, which have few entries each (10 x 10 tables with three records moving have 88,425)."""
        from scipy.sparse import csr_array

        relation = self.problem.relation
        rows: NDArray[Any]
        if isinstance(relation, ByLength) and not relation.listed:
            raise DesignFailed(too_many(relation))
        if isinstance(relation, ChangeRelation):
            rows, budgets = relation.changes, relation.budgets
        else:
            pairs = SensitivitySet.of(self.spread(np.eye(len(self))), relation).all_pairs(limit)
            rows, budgets = (pairs.differences, pairs.budgets) if len(self) == relation.size else _distinct(pairs)
        if not (budgets > 0).all():
            raise DesignFailed(
                "relation: a change of several records has budget 0, which this family cannot build in; use laplace or "
                "ellipsoid."
            )
        return Changes(csr_array(rows).T, budgets)


def _distinct(pairs: Pairs) -> tuple[Floats, Floats]:
    """Each difference once, whatever its sign, with its least budget, in order of appearance."""
    signs = np.sign(pairs.differences[np.arange(len(pairs)), (pairs.differences != 0).argmax(axis=1)])
    rows = pairs.differences * signs[:, None]
    _, first, label = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    least = np.full(len(first), np.inf)
    np.minimum.at(least, label.ravel(), pairs.budgets)
    order = np.argsort(first)
    return rows[first[order]], least[order]


def classes(problem: Problem) -> Classes:
    """The classes of the elements; all elements apart where no budget is 0, and where several records change at once."""
    relation, everything = problem.relation, np.arange(problem.relation.size)
    if not relation.single_records:
        return Classes(problem, everything, everything)
    near = relation.searched
    listed = relation.blocks() if near is None or not near.many else _closest(relation, near)
    bound = (Block(b.left, b.right, np.where(b.budgets == 0, 0.0, np.inf)) for b in listed)
    label = graph_components(bound, len(relation.points(np.empty((relation.size, 0)))))
    here, absent = label[: relation.size], label[relation.size :]
    kept, first = np.unique(here, return_index=True)
    order = np.sort(first[~np.isin(kept, absent)])
    class_of = np.full(len(label), -1)
    class_of[here[order]] = np.arange(len(order))
    return Classes(problem, order, class_of[here])


def _closest(relation: Relation, near: Nearness) -> Iterator[Block]:
    """Blocks among whose pairs are all of budget 0."""
    for left, right in near.within(0.0):
        yield Block(left, right, relation.along(left, right))
    yield from relation.beside()


@dataclass(frozen=True, eq=False)
class ScannedChanges:
    """The protected changes between classes of single records, never written out: every scan looks at all pairs, in blocks, and
    brings back the steepest (a `ChangeSet` of the solvers)."""

    universe: Classes

    @property
    def size(self) -> int:
        """C, the number of classes."""
        return len(self.universe)

    def steepest(self, rows: Floats, limit: int) -> Steepest:
        """The largest `||rows (e_i - e_j)||_1 / d(i, j)` of all pairs, and the worst partners of up to `limit` points, rows
        (p, C)."""
        relation, classes_of = self.universe.problem.relation, np.append(self.universe.label, -1)
        everything = SensitivitySet.of(self.universe.spread(rows), relation)
        worst, pairs = everything.worst(weighted_l1(np.ones(len(rows))), limit)
        left, right = classes_of[pairs.left], classes_of[pairs.right]
        keys = pairs.left * len(everything.points) + pairs.right
        # The origin is no class: it stands second.
        return Steepest(worst, Changes.pairs(self.size, np.maximum(left, right), np.minimum(left, right), pairs.budgets), keys)
