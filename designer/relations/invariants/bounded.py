"""Bounds for the changes of statistics of no known kind, where a list would be too long: by counting classes, or by a linear
program for each cell whose dual proves the bound in whole numbers (docs/theory/invariants.md, 11.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.base.progress import track
from designer.relations.invariants.known import Booleans, KnownChanges
from designer.relations.invariants.lengths import Lengths, longest_of, squares_of_two
from designer.relations.invariants.lines import partitions_of
from designer.relations.invariants.statistics import Integers, Statistics
from solvers.exact.rational import integer_rank
from solvers.lattices.colliding import MULTISETS, multiset_count
from solvers.lattices.enumeration import short_vectors
from solvers.limited import linear_program
from solvers.work import spend

PROGRAMS = 1_500  # cells, a linear program each: some minutes
FINE = 2**30  # multipliers are rounded to multiples of 1 / FINE, and then proven as they are
SMALL = 1_000_000  # multisets among which a change is looked for


@dataclass(frozen=True, eq=False)
class Bounded(KnownChanges):
    """Changes of any statistics, (p, N), whose lengths are bounded, and of which one was found."""

    constraints: Integers
    lengths: Lengths

    def unmoved(self, rows: Floats) -> Booleans:
        """Rows, (R, N), that are combinations of the constraints; others count as moved."""
        return in_row_space(self.constraints, rows)

    def count_at_least(self) -> int:
        return len(self.lengths.changes[:1])


def in_row_space(constraints: Integers, rows: Floats) -> Booleans:
    """Which rows, (R, N), of whole numbers are combinations of the constraints, (p, N), by exact ranks; False for others."""
    listed = {row.tobytes() for row in constraints}
    whole = (rows == np.rint(rows)).all(axis=1) & (np.abs(rows) < 2**31).all(axis=1)
    found = whole & np.array(
        [row.tobytes() in listed for row in np.where(whole[:, None], rows, 0.0).astype(np.int64)], dtype=bool
    )
    kept = constraints.astype(np.float64)
    shares = np.linalg.lstsq(kept.T, rows.T, rcond=None)[0]
    off = np.abs(rows.T - kept.T @ shares).max(axis=0)
    near = whole & ~found & (off <= 1e-9 * np.abs(rows).max(axis=1))
    if near.any():
        both = np.vstack([constraints, rows[near].astype(np.int64)]).tolist()
        found |= near & (integer_rank(both) == integer_rank(constraints.tolist()))
    return np.asarray(found)


def require_boundable(statistics: Statistics, adjacency: int) -> None:
    """`DesignFailed` with what it would cost, where the programs would take too long."""
    if partitions_of(statistics.sums) is None and statistics.size > PROGRAMS:
        listed = multiset_count(statistics.size, 2 * adjacency, True)
        raise DesignFailed(
            f"relation: the statistics are of no kind whose changes are known in closed form (totals, classes, nested sums, "
            f"margins of disjoint features, sums along lines); a list would compare {listed:.2g} multisets of {adjacency} "
            f"records (up to {MULTISETS:.0g} are), and bounds take a linear program for each of the {statistics.size} elements "
            f"(up to {PROGRAMS}); lower the adjacency, merge elements, or protect every distance (per_distance)."
        )


def bounded_changes(statistics: Statistics, adjacency: int) -> Bounded:
    """The changes of at most `adjacency` replaced records, bounded; `DesignFailed` where none is found."""
    constraints = statistics.constraints
    classes = partitions_of(statistics.sums)
    changes = _found(constraints, adjacency)
    if classes is not None and len(np.unique(np.array(classes), axis=1).T) == statistics.size:
        largest = adjacency * (len(classes) - 1) // len(classes)
        bounds = (2 * adjacency, squares_of_two(adjacency, largest), largest)
        return Bounded(constraints, longest_of(bounds, changes, f"changes under {len(classes)} crossed partitions"))
    largest = min(adjacency, _largest_entry(constraints, adjacency))
    bounds = (2 * adjacency, min(2 * adjacency**2, 2 * adjacency * largest), largest)
    return Bounded(constraints, longest_of(bounds, changes, "changes, by a dual of a linear program for each cell"))


def _found(constraints: Integers, adjacency: int) -> list[dict[int, int]]:
    """Multiples of the changes of as few records as have any."""
    size = constraints.shape[1]
    for records in range(1, adjacency + 1):
        if multiset_count(size, 2 * records, True) > SMALL:
            break
        vectors = short_vectors(constraints, 2 * records, limit=SMALL).vectors
        if len(vectors):
            times = adjacency // records
            longest = vectors[[int(np.argmax(np.abs(vectors).sum(axis=1))), int(np.argmax((vectors**2).sum(axis=1)))]]
            return [{int(i): times * int(v[i]) for i in np.flatnonzero(v)} for v in longest]
    raise DesignFailed(
        f"relation: no change of few records that keeps the statistics was found among {size} elements, so nothing may be left "
        "to protect; lower the number of statistics, or merge elements."
    )


def _largest_entry(constraints: Integers, adjacency: int) -> int:
    """A bound for every entry of every change: `|v_i| = |(e_i - A'y) v| <= 2a max |e_i - A'y|` for any y, rounded down.

    The y of a linear program is rounded to whole multiples of 1 / FINE; what is then evaluated are whole numbers.
    """
    columns, counts = np.unique(constraints, axis=1, return_counts=True)
    if (counts > 1).any():
        return adjacency
    largest = 0
    for cell in track(range(columns.shape[1]), "bounding cells"):
        rest = _rest(columns, cell)
        largest = max(largest, 2 * adjacency * rest // FINE)
    return largest


def _rest(columns: Integers, cell: int) -> int:
    """FINE times `max |e_i - A'y|`, exactly, for the y that a solver proposes."""
    proposed = np.rint(FINE * _multipliers(columns, cell)).tolist()
    rest = [0] * columns.shape[1]
    for y, row in zip(proposed, columns.tolist(), strict=True):
        if y:
            rest = [r - int(y) * a for r, a in zip(rest, row, strict=True)]
    rest[cell] += FINE
    return max(map(abs, rest))


def _multipliers(columns: Integers, cell: int) -> Floats:
    """The y of least `max |e_i - A'y|`, as a solver sees it; 0 where it fails."""
    rows, size = columns.shape
    matrix, one = columns.T.astype(np.float64), np.ones((size, 1))
    target = np.zeros(size)
    target[cell] = 1.0
    bounded = np.vstack([np.hstack([-matrix, -one]), np.hstack([matrix, -one])])
    cost = np.append(np.zeros(rows), 1.0)
    limits = [(None, None)] * rows + [(0, None)]
    spend(calls=60, entries=30.0 * bounded.size)
    found = linear_program(cost, A_ub=bounded, b_ub=np.concatenate([-target, target]), bounds=limits)
    return np.asarray(found.x[:rows]) if found.status == 0 and found.x is not None else np.zeros(rows)
