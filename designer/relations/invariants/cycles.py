"""The longest changes of a two-way table in a weighted norm: rectangles, and hexagons where three records may move
(docs/theory/invariants.md, 11.5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from designer.relations.invariants.lengths import Change
from designer.relations.invariants.structure import Classes
from designer.base.arrays import Floats

HEAVIEST = 3  # columns of a pair of rows among which a hexagon finds its own: the two others may take two of them
Scored = tuple[float, Change]


def long_cycles(place: Classes, scores: Floats, records: int, limit: int) -> list[Scored]:
    """The cycles of at most `records` (2 or 3) records with the largest sums of scores: of every pair of rows the best
    rectangle, of every three rows the best hexagon; of these at most `limit`, the best first.

    place: (r, c), the element in each cell. scores: (r, c), at least 0.
    """
    found = list(_rectangles(place, scores))
    if records > 2 and min(place.shape) > 2:
        found += _hexagons(place, scores)
    return sorted(found, key=lambda one: -one[0])[:limit]


def _change(place: Classes, cells: tuple[tuple[int, int], ...]) -> Change:
    """Cells with alternating signs, the first one +1."""
    return tuple(sorted((int(place[cell]), 1 - 2 * (k % 2)) for k, cell in enumerate(cells)))


def _rectangles(place: Classes, scores: Floats) -> Iterator[Scored]:
    for i in range(len(scores) - 1):
        sums = scores[i] + scores[i + 1 :]
        best = np.argsort(-sums, axis=1, kind="stable")[:, :2]
        for j, (a, b) in enumerate(best.tolist(), start=i + 1):
            yield float(sums[j - i - 1, [a, b]].sum()), _change(place, ((i, a), (i, b), (j, b), (j, a)))


def _hexagons(place: Classes, scores: Floats) -> Iterator[Scored]:
    """`(i, a) (j, a) (j, b) (k, b) (k, d) (i, d)`: a column for each pair of three rows, all different."""
    rows = len(scores)
    sums = scores[:, None, :] + scores[None, :, :]
    heavy = np.argsort(-sums, axis=2, kind="stable")[:, :, :HEAVIEST]
    weight = np.take_along_axis(sums, heavy, axis=2)
    picks = np.array(list(itertools.product(range(HEAVIEST), repeat=3)))
    for i, j in itertools.combinations(range(rows - 1), 2):
        k = np.arange(j + 1, rows)
        a, b, d = heavy[i, j][picks[:, 0]], heavy[j, k][:, picks[:, 1]], heavy[k, i][:, picks[:, 2]]
        total = weight[i, j][picks[:, 0]] + weight[j, k][:, picks[:, 1]] + weight[k, i][:, picks[:, 2]]
        total = np.where((a == b) | (a == d) | (b == d), -np.inf, total)
        chosen = total.argmax(axis=1)
        for n, pick in enumerate(chosen.tolist()):
            columns = int(a[pick]), int(b[n, pick]), int(d[n, pick])
            row = int(k[n])
            cells = ((i, columns[0]), (j, columns[0]), (j, columns[1]), (row, columns[1]), (row, columns[2]), (i, columns[2]))
            yield float(total[n, pick]), _change(place, cells)
