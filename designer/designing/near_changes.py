"""Some of the infinitely many changes under a budget for every unit of distance: those of few records, for a limit.

A limit for some of the promises is a limit for all (docs/theory/least_noise.md, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.errors import DesignFailed
from designer.invariants.changes import ChangeRelation, InvariantDistance
from designer.invariants.statistics import Statistics
from designer.values.arrays import Floats, frozen

# Records that change at once: margins of three-way tables, or of one group in two, need no more.
MOST_RECORDS = 4
WRITTEN_OUT = 500_000


@dataclass(frozen=True, eq=False)
class NearChanges(ChangeRelation):
    """The changes of at most `adjacency` records, each with the budget of its distance."""

    invariant: Statistics
    adjacency: int
    everything: InvariantDistance
    kind = "near_changes"
    budget_error = 2.0**-50

    @cached_property
    def budgets(self) -> Floats:
        """epsilon times the length of each change, (M,)."""
        sizes = np.abs(self.changes)
        lengths = sizes.sum(axis=1) if self.everything.distance == "l1" else np.sqrt((sizes**2).sum(axis=1))
        return frozen(self.everything.epsilon * lengths)

    def exact_budget(self, left: int, right: int) -> Fraction:
        return self.everything.budget_of(self.changes[min(left, right)].tolist())

    def largest_exact_budget(self) -> Fraction:
        return max(map(self.everything.budget_of, self.changes.tolist()), default=Fraction(0))

    def sentence(self) -> str:
        return f"Of all changes those of at most {self.adjacency} records: {self.everything.sentence()}"

    def to_spec(self) -> dict[str, Any]:
        return self.everything.to_spec()


def near_changes(relation: InvariantDistance) -> NearChanges | None:
    """The changes of as few records as reach every direction that the statistics leave open; None where they are many."""
    for adjacency in range(1, MOST_RECORDS + 1):
        near = NearChanges(relation.invariant, adjacency, relation)
        try:
            changes = near.changes
        except DesignFailed:
            return None
        if changes.size > WRITTEN_OUT:
            return None
        if len(changes) and near.spans_kernel:
            return near
    return None
