"""The pairs that a limit rests on: differences in measured coordinates and in the answers, with budgets rounded up.

A bound from some of the pairs is a bound for all: fewer promises can only cost less.

Some of the infinitely many changes under a budget for every unit of distance: those of few records, for a limit.

A limit for some of the promises is a limit for all (docs/theory/least_noise.md, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.norms import weighted_l1
from designer.certified.sensitivity import Pairs, SensitivitySet
from designer.families.measured import Coordinates
from designer.problem.relation import Indices, Relation
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.metrics.midrange import unclipped
from designer.relations.problem import Problem

# Records that change at once: margins of three-way tables, or of one group in two, need no more.
MOST_RECORDS = 4
MOST_CHANGES = 500_000


def changes_of_few_records(relation: InvariantDistance) -> InvariantChanges | None:
    """The changes of as few records as reach every direction that the statistics leave open, all with the budget of one unit of
    distance; None where they are many."""
    for adjacency in range(1, MOST_RECORDS + 1):
        near = InvariantChanges(relation.invariant, adjacency, relation.epsilon)
        try:
            changes = near.changes
        except DesignFailed:
            return None
        if changes.size > MOST_CHANGES:
            return None
        if len(changes) and near.spans_kernel:
            return near
    return None


def lengths_of(changes: InvariantChanges, distance: str) -> Floats:
    """The length of every change, rounded up, (M,)."""
    sizes = np.abs(changes.changes).astype(np.float64)
    lengths = sizes.sum(axis=1) if distance == "l1" else np.sqrt((sizes**2).sum(axis=1))
    return np.asarray(lengths * (1 + 2.0**-50))


# Differences beyond this many numbers are not written out for a bound that only informs.
WRITTEN_OUT = 20_000_000
FEW = 500_000  # numbers in the worst partners of all points, which stand for the rest
CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class ProtectedPairs:
    """m pairs with u != 0. measured: (m, s), their differences in the heard coordinates. budgets: (m,), never below those that
    are promised. points: (P, K), the answers at the points `left` and `right` (m,). slack: (K,), how far a difference of
    points may be from that of the exact answers, beyond one rounding of its own. complete: whether these are all pairs."""

    measured: Floats
    budgets: Floats
    left: Indices
    right: Indices
    points: Floats
    slack: Floats
    complete: bool

    @classmethod
    def of(cls, problem: Problem, coordinates: Coordinates) -> ProtectedPairs | None:
        """All protected pairs, or, of more than `WRITTEN_OUT` numbers, each point's worst partner; None where these are more
        than `FEW` numbers, or where float budgets may be far below those that are promised."""
        moving = coordinates.sensitivity(problem)
        total = problem.relation.pair_count()
        complete = total * (moving.dimension + 3) <= WRITTEN_OUT
        if (not complete and moving.points.size > FEW) or not unclipped(problem.relation):
            return None
        found = moving.all_pairs() if complete else _worst_partners(moving)
        answers = problem.workload.dense()
        points = SensitivitySet.of(answers, problem.relation).points
        above = found.budgets * (1 + problem.relation.budget_error + 2.0**-50)
        slack = _slack(problem.relation, answers)
        return cls(found.differences, above, found.left, found.right, points, slack, complete)

    def differences(self, chosen: Indices | slice) -> Floats:
        """Differences of the answers, (m, K) for m that are chosen (m,)."""
        return np.asarray(self.points[self.left[chosen]] - self.points[self.right[chosen]])

    def chunks(self) -> Iterator[slice]:
        """Slices of the pairs whose differences have about `CHUNK` numbers."""
        step = max(1, CHUNK // self.points.shape[1])
        return (slice(start, start + step) for start in range(0, len(self.budgets), step))

    @cached_property
    def move_one_answer_each(self) -> bool:
        """Whether every pair moves one answer only, and all that move the same one move it equally far: then independent
        noise, of its own unit and least budget in each answer, keeps the promise."""
        if not self.complete or self.slack.any():
            return False
        unit = np.zeros(self.points.shape[1])
        for chunk in self.chunks():
            sizes = np.abs(self.differences(chunk))
            unit = np.maximum(unit, sizes.max(axis=0, initial=0.0))
            if (np.count_nonzero(sizes, axis=1) != 1).any() or ((sizes != 0) & (sizes != unit)).any():
                return False
        return True


def _worst_partners(moving: SensitivitySet) -> Pairs:
    """The worst partner of each point, in units in which all coordinates vary alike."""
    spread = np.ptp(moving.points, axis=0)
    return moving.worst(weighted_l1(1 / spread), limit=len(moving.points))[1]


def _slack(relation: Relation, answers: Floats) -> Floats:
    """Zero where points are columns, or sums of them without rounding; otherwise what adding up one change may lose."""
    if relation.exact_on(answers.T) or not isinstance(relation, ChangeRelation):
        return np.zeros(len(answers))
    longest = float(np.abs(relation.changes).sum(axis=1).max(initial=0))
    return np.asarray((longest + 2) * 2.0**-51 * longest * np.abs(answers).max(axis=1, initial=0.0))
