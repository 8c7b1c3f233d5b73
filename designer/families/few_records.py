"""Some of the infinitely many changes under a budget for every unit of distance: those of few records, for a limit.

A limit for some of the promises is a limit for all (docs/theory/least_noise.md, section 3).
"""

from __future__ import annotations

import numpy as np

from designer.base.errors import DesignFailed
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.invariants.one_budget import InvariantChanges
from designer.base.arrays import Floats

# Records that change at once: margins of three-way tables, or of one group in two, need no more.
MOST_RECORDS = 4
WRITTEN_OUT = 500_000


def changes_of_few_records(relation: InvariantDistance) -> InvariantChanges | None:
    """The changes of as few records as reach every direction that the statistics leave open, all with the budget of one unit of
    distance; None where they are many."""
    for adjacency in range(1, MOST_RECORDS + 1):
        near = InvariantChanges(relation.invariant, adjacency, relation.epsilon)
        try:
            changes = near.changes
        except DesignFailed:
            return None
        if changes.size > WRITTEN_OUT:
            return None
        if len(changes) and near.spans_kernel:
            return near
    return None


def lengths_of(changes: InvariantChanges, distance: str) -> Floats:
    """The length of every change, rounded up, (M,)."""
    sizes = np.abs(changes.changes).astype(np.float64)
    lengths = sizes.sum(axis=1) if distance == "l1" else np.sqrt((sizes**2).sum(axis=1))
    return np.asarray(lengths * (1 + 2.0**-50))
