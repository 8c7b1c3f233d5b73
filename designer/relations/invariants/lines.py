"""Tables of which the sums along every line are published: all margins that leave out one axis each.

As with `Structure` nothing is believed: the axes are read off the rows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.relations.invariants.structure import Classes, sum_zero_squares


@dataclass(frozen=True, eq=False)
class LineTable:
    """place: the element in each cell of a table of d >= 3 axes with at least two levels each."""

    place: Classes

    @property
    def alike(self) -> bool:
        """See `Structure`: permutations of the levels of each axis leave no part of the span alone."""
        return True

    @property
    def steepness(self) -> Floats:
        """See `Structure`: products over all axes."""
        return reduce(np.multiply.outer, map(sum_zero_squares, self.place.shape)).ravel()

    @property
    def freedom(self) -> int:
        """The rank of the lattice of changes: one for each cell beyond the first level of every axis."""
        return int(np.prod([n - 1 for n in self.place.shape]))

    def projected(self, rows: Floats) -> Floats:
        """The orthogonal projections of rows, (K, N), onto the span of the changes."""
        table = np.asarray(rows, dtype=np.float64)[:, self.place]
        for axis in range(1, table.ndim):
            table = table - table.mean(axis=axis, keepdims=True)
        rest = np.empty((len(rows), self.place.size))
        rest[:, self.place.ravel()] = table.reshape(len(rows), -1)
        return rest

    def seen(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows, (K, N), some change moves: (K,). By differences of entries, so that equal entries leave no rounding."""
        table = rows[:, self.place]
        for axis in range(1, table.ndim):
            table = np.diff(table, axis=axis)
        return np.asarray(table.reshape(len(rows), -1).any(axis=1))


def line_table(rows: Classes) -> LineTable | None:
    """The table whose lines have these rows, (p, N), as sums, in any order of the elements; None for other statistics."""
    lines = partitions_of(rows)
    if lines is None or len(lines) < 3:
        return None
    coordinates = [_across([line for h, line in enumerate(lines) if h != g]) for g in range(len(lines))]
    levels = tuple(int(row.max()) + 1 for row in coordinates)
    if min(levels) < 2 or np.prod(levels) != rows.shape[1]:
        return None
    place = np.full(levels, -1, dtype=np.intp)
    place[tuple(coordinates)] = np.arange(rows.shape[1])
    if (place < 0).any() or not all(_are_lines(line, coordinates, axis) for axis, line in enumerate(lines)):
        return None
    return LineTable(place)


def partitions_of(rows: Classes) -> list[Classes] | None:
    """The classes of consecutive rows that count every element once each, the number of all left out; None where some rows do
    not come so."""
    found: list[Classes] = []
    seen = np.zeros(rows.shape[1], dtype=np.int64)
    classes, made = np.zeros(rows.shape[1], dtype=np.intp), 0
    for row in rows[~(rows == 1).all(axis=1)]:
        if not ((row == 0) | (row == 1)).all() or (seen + row > 1).any():
            return None
        seen, classes, made = seen + row, np.where(row == 1, made, classes), made + 1
        if seen.all():
            found.append(classes)
            seen, classes, made = np.zeros_like(seen), np.zeros_like(classes), 0
    return None if made else found


def _across(lines: list[Classes]) -> Classes:
    """The coordinate that no step along these lines changes: their connected components, numbered."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(lines[0])
    starts = list(itertools.accumulate((int(line.max()) + 1 for line in lines), initial=size))
    left = np.tile(np.arange(size), len(lines))
    right = np.concatenate([line + start for line, start in zip(lines, starts, strict=False)])
    graph = coo_array((np.ones(len(left)), (left, right)), shape=(starts[-1], starts[-1]))
    return np.asarray(connected_components(graph, directed=False)[1][:size], dtype=np.intp)


def _are_lines(line: Classes, coordinates: list[Classes], axis: int) -> bool:
    """Whether two elements are in one class just where all their coordinates but that of the axis agree."""
    others = np.unique(np.array([row for k, row in enumerate(coordinates) if k != axis]), axis=1, return_inverse=True)[1]
    return bool(len(np.unique(np.array([line, others.ravel()]), axis=1).T) == line.max() + 1 == others.max() + 1)
