"""Atoms: elements that no query tells apart are one element, and what binds two atoms is the least budget between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.by_length import ByLength, too_many
from designer.problem.relation import Indices
from designer.relations.problem import Problem
from solvers.programs.changes import Changes

SCANNED = 10**8  # pairs of elements that are looked at for the least budgets between atoms: three to six seconds
WRITTEN = 5 * 10**7  # numbers of changes of several records that are written out


@dataclass(frozen=True, eq=False)
class Atoms:
    """first: (C,) one element of each atom, in their order. label: (N,) the atom of each element."""

    problem: Problem
    first: Indices
    label: Indices

    @classmethod
    def of(cls, problem: Problem) -> Atoms:
        """Elements with equal columns of the workload; `DesignFailed` where there are too many changes to be written out."""
        relation = problem.relation
        if isinstance(relation, ByLength) and not relation.listed:
            raise DesignFailed(too_many(relation))
        _, first, label = np.unique(problem.workload.dense(), axis=1, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(problem, first[order], rank[np.ravel(label)])

    def __len__(self) -> int:
        return len(self.first)

    def spread(self, rows: Floats) -> Floats:
        """Rows over the atoms, (p, C), as rows over the elements, (p, N)."""
        return np.asarray(rows[:, self.label])

    @cached_property
    def workload(self) -> Floats:
        """The queries on the atoms, (K, C)."""
        return np.asarray(self.problem.workload.dense()[:, self.first])

    @cached_property
    def changes(self) -> Changes:
        """The protected changes of the counts of the atoms, each once, with its least budget; `DesignFailed` where there are
        too many to look at, and where a budget of 0 binds elements that the queries tell apart."""
        relation = self.problem.relation
        if (pairs := relation.pair_count()) > SCANNED:
            raise DesignFailed(f"strategy_geometric: {pairs:,} pairs of elements, more than {SCANNED:,}; use laplace.")
        if not relation.single_records and pairs * len(self) > WRITTEN:
            raise DesignFailed(
                f"strategy_geometric: {pairs:,} changes of {len(self)} counts, more than {WRITTEN:,} numbers; use laplace."
            )
        return self._of_single() if relation.single_records else self._of_several()

    def _of_several(self) -> Changes:
        """Of changes of several records, written out."""
        from scipy.sparse import csr_array

        relation = self.problem.relation
        images = relation.points(self.spread(np.eye(len(self))).T)
        rows, budgets = [], []
        for block in relation.blocks():
            left, right = (block.left, block.right) if block.paired else map(np.ravel, np.meshgrid(block.left, block.right))
            known = block.budgets if block.paired else block.budgets.T.ravel()
            finite = np.isfinite(known)
            rows.append(images[left[finite]] - images[right[finite]])
            budgets.append(known[finite])
        moved, least = _least(np.concatenate(rows), np.concatenate(budgets))
        _refuse_bound(least)
        return Changes(csr_array(moved).T, least)

    def _of_single(self) -> Changes:
        """Of single records: every pair of atoms, and of an atom and absence, which stands last."""
        relation, size = self.problem.relation, len(self)
        label = np.append(self.label, size)
        least = np.full((size + 1, size + 1), np.inf)
        for block in relation.blocks():
            left, right = label[block.left], label[block.right]
            if block.paired:
                np.minimum.at(least, (left, right), block.budgets)
            else:
                by_column = np.full((len(left), size + 1), np.inf)
                np.minimum.at(by_column.T, right, block.budgets.T)
                np.minimum.at(least, left, by_column)
        least = np.minimum(least, least.T)
        left, right = np.nonzero(np.isfinite(least) & np.tri(size + 1, k=-1, dtype=bool))
        _refuse_bound(least[left, right])
        present, absent = np.where(left == size, right, left), np.where(left == size, -1, right)
        return Changes.pairs(size, present, absent, least[left, right])


def _refuse_bound(budgets: Floats) -> None:
    if not (budgets > 0).all():
        raise DesignFailed(
            "strategy_geometric: a budget of 0 binds a change that the queries tell; give it a budget above 0, or use laplace."
        )


def _least(rows: Floats, budgets: Floats) -> tuple[Floats, Floats]:
    """Each change once, whatever its sign, with its least budget, without those that move nothing."""
    moving = np.abs(rows).max(axis=1, initial=0.0) > 0
    rows, budgets = rows[moving], budgets[moving]
    if not len(rows):
        return rows, budgets
    signed = rows * np.sign(rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)])[:, None]
    kinds, place = np.unique(signed, axis=0, return_inverse=True)
    least = np.full(len(kinds), np.inf)
    np.minimum.at(least, np.ravel(place), budgets)
    return kinds, least
