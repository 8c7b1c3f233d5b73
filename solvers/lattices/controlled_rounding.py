"""Rounding of a table to whole numbers that keeps its sums and has no bias, where the sums form two nested families.

A cell is an arc from the smallest set of one family that holds it to the smallest of the other; a set is an arc to the set
above it, and both families end in one vertex. Values balance at each vertex, so arcs that are no whole numbers close to cycles.
Along a cycle all values move, up or down, to the nearest place where one of them is whole, with the probabilities that leave
the mean: each value ends at one of its two neighbours. Source: Cox 1987, Journal of the American Statistical Association 82
(controlled rounding); Gandhi, Khuller, Parthasarathy and Srinivasan 2006, Journal of the ACM 53 (dependent rounding).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def crossing_families(sets: NDArray[np.bool_]) -> NDArray[np.bool_] | tuple[int, int]:
    """Split sets into two nested families: of each whether it is in the second, (K,); or two that no split keeps apart.

    sets: (K, N), which cells each holds. Two sets cross where they share cells and neither is within the other.
    """
    shared = sets.astype(np.float64) @ sets.T
    sizes = shared.diagonal()
    crossing = (shared > 0) & (shared < np.minimum(sizes[:, None], sizes))
    side = np.zeros(len(sets), dtype=np.intp)
    for start in np.flatnonzero(crossing.any(axis=1)).tolist():
        if side[start]:
            continue
        side[start], reached = 1, [start]
        for one in reached:
            others = np.flatnonzero(crossing[one])
            if (same := others[side[others] == side[one]]).size:
                return one, int(same[0])
            new = others[side[others] == 0]
            side[new] = 3 - side[one]
            reached += new.tolist()
    return np.asarray(side == 2)


def rounded_cells(
    cells: Sequence[int], unit: int, sets: NDArray[np.bool_], second: NDArray[np.bool_], below: Callable[[int, int], bool]
) -> list[int]:
    """Round cells (N,), multiples of `1 / unit`, to whole numbers whose sums over all sets are those of the cells rounded down
    or up, and all of them on average what they were.

    sets: (K, N), each with a cell. second: (K,), in which of two nested families each is; see `crossing_families`. below: true
    with the probability of one number over another.
    """
    ends = _arcs(sets, second)
    values = [*cells, *(sum(cells[n] for n in np.flatnonzero(own).tolist()) for own in sets)]
    open_arcs: list[dict[int, None]] = [{} for _ in range(len(sets) + 1)]
    for arc, (tail, head) in enumerate(ends):
        if values[arc] % unit and tail != head:
            open_arcs[tail][arc] = open_arcs[head][arc] = None
    for start in range(len(open_arcs)):
        path, arcs = [start], list[int]()  # vertices, and the arcs between them
        while open_arcs[path[-1]]:
            arc = next(one for one in open_arcs[path[-1]] if not arcs or one != arcs[-1])
            arcs.append(arc)
            path.append(sum(ends[arc]) - path[-1])
            if path[-1] not in path[:-1]:
                continue
            first = path.index(path[-1])
            signs = [1 if ends[one] == way else -1 for one, way in zip(arcs[first:], pairwise(path[first:]), strict=True)]
            _move(values, unit, arcs[first:], signs, below)
            for one in arcs[first:]:
                if values[one] % unit == 0:
                    for end in ends[one]:
                        open_arcs[end].pop(one, None)
            del path[first + 1 :], arcs[first:]
    return [value // unit for value in values[: len(cells)]]


def _move(values: list[int], unit: int, cycle: list[int], signs: list[int], below: Callable[[int, int], bool]) -> None:
    """Move the values along a cycle until one is whole, up or down with the probabilities that leave their means."""
    up = min((-sign * values[arc]) % unit for arc, sign in zip(cycle, signs, strict=True))
    down = min((sign * values[arc]) % unit for arc, sign in zip(cycle, signs, strict=True))
    by = up if below(down, up + down) else -down
    for arc, sign in zip(cycle, signs, strict=True):
        values[arc] += sign * by


def _arcs(sets: NDArray[np.bool_], second: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Tail and head of each cell and set, (N + K,): vertex k is set k, vertex K the end of both families. The first family
    flows from the end to the cells, the second from the cells to the end."""
    count, sizes = len(sets), sets.sum(axis=1)
    order = np.lexsort((np.arange(count), sizes))
    rank = np.empty(count, dtype=np.intp)
    rank[order] = np.arange(count)
    smallest = []  # for each family the first of its sets, by size, that holds each cell
    for family in (~second, second):
        own = [k for k in order.tolist() if family[k]]
        held = np.vstack([sets[own], np.ones((1, sets.shape[1]), dtype=bool)])
        smallest.append(np.array([*own, count], dtype=np.intp)[held.argmax(axis=0)])
    ends = [*zip(smallest[0].tolist(), smallest[1].tolist(), strict=True)]
    shared = sets.astype(np.float64) @ sets.T
    for k in range(count):
        above = (shared[k] == sizes[k]) & (second == second[k]) & (rank > rank[k])
        up = int(order[rank[above].min()]) if above.any() else count
        ends.append((k, up) if second[k] else (up, k))
    return ends
