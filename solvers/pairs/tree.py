"""Balanced trees of points: every node holds a box, every leaf the same number of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
LEAF = 8  # points of a leaf, at most; half of that at least, where there are so many


@dataclass(frozen=True, eq=False)
class PointTree:
    """A binary tree over N points in which node n of level l holds the nodes 2n and 2n + 1 of level l + 1.

    leaves: (2^depth, m), indices of the points of each leaf; a few points stand there twice, so that all leaves are full.
    """

    leaves: Indices

    @cached_property
    def depth(self) -> int:
        """The level of the leaves; the root is level 0."""
        return len(self.leaves).bit_length() - 1

    def pairs_of(self, a: Indices, b: Indices) -> tuple[Indices, Indices]:
        """All pairs of different points between leaves, in step; lower numbers first."""
        shape = (len(a), self.leaves.shape[1], self.leaves.shape[1])
        left, right = np.broadcast_to(self.leaves[a][:, :, None], shape), np.broadcast_to(self.leaves[b][:, None], shape)
        different = left != right
        left, right = left[different], right[different]
        return np.minimum(left, right), np.maximum(left, right)

    def lowest(self, values: Floats) -> list[Floats]:
        """The least value of each column in every node: for each level from the root an array (2^level, f).

        values: (N, f).
        """
        return self._gathered(values, np.minimum)

    def highest(self, values: Floats) -> list[Floats]:
        """The largest value of each column in every node, as `lowest`.

        values: (N, f).
        """
        return self._gathered(values, np.maximum)

    def _gathered(self, values: Floats, of_two: np.ufunc) -> list[Floats]:
        levels = [np.asarray(of_two.reduce(values[self.leaves], axis=1))]
        for _ in range(self.depth):
            levels.append(of_two(levels[-1][::2], levels[-1][1::2]))
        return levels[::-1]


def grown(coordinates: Floats, leaf: int = LEAF) -> PointTree:
    """The tree that halves every node across its widest coordinate.

    coordinates: (N, f), in units in which a spread of one coordinate means as much as that of another. O(N log N).

    >>> grown(np.array([[0.0], [9.0], [1.0], [8.0]]), leaf=2).leaves.tolist()
    [[0, 2], [1, 3]]
    """
    points = len(coordinates)
    depth = max(0, (-(-points // leaf) - 1).bit_length())
    width = -(-points // 2**depth)
    order = (np.arange(width << depth) * points // (width << depth))[None]  # those that are there twice lie all over
    for _ in range(depth):
        held = coordinates[order]
        widest = np.ptp(held, axis=1).argmax(axis=1) if coordinates.shape[1] else np.zeros(len(order), dtype=np.intp)
        along = np.take_along_axis(held, widest[:, None, None], axis=2)[..., 0] if coordinates.shape[1] else order * 0.0
        half = order.shape[1] // 2
        order = np.take_along_axis(order, np.argpartition(along, half, axis=1), axis=1).reshape(-1, half)
    return PointTree(np.sort(order, axis=1))


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of some numbers of the points in every node: for each level from the root arrays (f, 2^level).

    lows: (f, n) arrays, n = 2^level. highs: (f, n) arrays.
    """

    lows: list[Floats]
    highs: list[Floats]

    @classmethod
    def of(cls, tree: PointTree, values: Floats) -> Boxes:
        """values: (N, f)."""
        lows, highs = (
            [np.ascontiguousarray(level.T) for level in levels] for levels in (tree.lowest(values), tree.highest(values))
        )
        return cls(lows, highs)

    def low(self, level: int, nodes: Indices) -> Floats:
        """The low corners of some nodes, (f, n)."""
        return self.lows[level][:, nodes]

    def high(self, level: int, nodes: Indices) -> Floats:
        """Their high corners, (f, n)."""
        return self.highs[level][:, nodes]

    def gaps(self, level: int, a: Indices, b: Indices) -> Floats:
        """The least difference of each number between two nodes, (f, n)."""
        lows, highs = self.lows[level], self.highs[level]
        return np.asarray(np.maximum(np.maximum(lows[:, a] - highs[:, b], lows[:, b] - highs[:, a]), 0.0))

    def spans(self, level: int, a: Indices, b: Indices) -> Floats:
        """The largest difference of each number between two nodes, (f, n)."""
        lows, highs = self.lows[level], self.highs[level]
        return np.asarray(np.maximum(highs[:, a] - lows[:, b], highs[:, b] - lows[:, a]))

    def coincide(self, level: int, a: Indices, b: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether all points of two nodes have the same numbers, (n,)."""
        return np.asarray((self.spans(level, a, b) == 0).all(axis=0))
