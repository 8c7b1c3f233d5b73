"""Pairs of leaves that bounds on whole nodes do not settle: a walk down a tree against itself.

A bound on a pair of nodes holds for every pair of points in them, so a pair of nodes whose bound is low enough is never opened.
How many are opened depends on the points, and is foretold from a sample before the walk goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

# Balanced trees of points: every node holds a box, every leaf the same number of points.


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


PIECE = 1 << 15  # pairs of nodes that are bounded at once
SAMPLE = 64  # of so many parts of the work, the first foretells the rest
Opens = Callable[[int, Indices, Indices], np.ndarray[tuple[int], np.dtype[np.bool_]]]


class Foretold(Exception):
    """A walk is given up for the work that it would be."""

    def __init__(self, work: float) -> None:
        super().__init__(work)
        self.work = work


@dataclass
class PairWalk:
    """The walk: `opens(level, a, b)` says which pairs of nodes of a level must be opened.

    It is asked when a pair is reached, and may have become stricter since. foretell(leaf pairs, asked, whole) is called with
    estimates of how many pairs of leaves will be yielded and of how many pairs `opens` will be asked: while the sample is
    walked, with what is known to be exceeded, and once with the whole of it. It may raise.
    """

    depth: int
    opens: Opens
    foretell: Callable[[float, float, bool], None] | None = None
    yielded: int = field(default=0, init=False)
    asked: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[tuple[Indices, Indices]]:
        level, a, b = 0, np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
        while level < self.depth and len(a) < PIECE:
            keep = self.opens(level, a, b)
            a, b = opened(a[keep], b[keep])
            level += 1
        # In random order, so that the first part is a sample of all.
        order = np.random.default_rng(0).permutation(len(a))
        for part, piece in enumerate(np.array_split(order, SAMPLE)):
            for found in self._below(level, a[piece], b[piece]):
                self._foretell(part, False)
                yield found
            self._foretell(part, True)

    def _foretell(self, part: int, whole: bool) -> None:
        if part == 0 and self.foretell is not None:
            self.foretell(self.yielded * float(SAMPLE), self.asked * float(SAMPLE), whole)

    def _below(self, level: int, a: Indices, b: Indices) -> Iterator[tuple[Indices, Indices]]:
        waiting = [(level, a, b)]
        while waiting:
            level, a, b = waiting.pop()
            self.asked += len(a)
            keep = self.opens(level, a, b)
            a, b = a[keep], b[keep]
            if not len(a):
                continue
            if level == self.depth:
                self.yielded += len(a)
                yield a, b
                continue
            a, b = opened(a, b)
            waiting += [(level + 1, a[i : i + PIECE], b[i : i + PIECE]) for i in range(0, len(a), PIECE)]


def opened(a: Indices, b: Indices) -> tuple[Indices, Indices]:
    """The pairs of children, each once: four of two different nodes, three of a node and itself.

    >>> [part.tolist() for part in opened(np.array([1, 0]), np.array([1, 1]))]
    [[2, 2, 3, 0, 0, 1, 1], [2, 3, 3, 2, 3, 2, 3]]
    """
    left = (2 * a[:, None] + np.array([0, 0, 1, 1])).ravel()
    right = (2 * b[:, None] + np.array([0, 1, 0, 1])).ravel()
    once = left <= right
    return left[once], right[once]


# How much a convex, symmetric function of directions is at most: the norm of a linear map, for any norm that is evaluated.
#
# Of the l1 and the maximum norm of the direction the ball has few corners. Straight length has none; there the sphere is cut
# into cones, finer where the function is large (docs/theory/million.md, section 4).


Lengths = Callable[[Floats], Floats]

CLOSE = 1e-10  # relative, how near the bound over the sphere comes to an attained length
ROOM = 1 << 18  # corners of cones that are looked at together
WIDEST: dict[str, int] = {"l1": 64, "l2": 5, "linf": 12}  # dimensions in which the corners, or cones, are few enough


def steepest(lengths: Lengths, dimension: int, order: Literal["l1", "l2", "linf"]) -> tuple[float, Floats] | None:
    """At least `max N(v)` over |v|_order <= 1, for a norm or seminorm N, rounding of its values apart, and the v of largest N
    that was met, (dimension,); None above `WIDEST`.

    lengths: N of the rows (n, dimension), as (n,).

    >>> steepest(lambda v: np.abs(v).sum(axis=1), 2, "linf")[0], round(steepest(lambda v: np.abs(v).sum(axis=1), 2, "l2")[0], 3)
    (2.0, 1.414)
    """
    if dimension > WIDEST[order]:
        return None
    if order == "l2" and dimension > 1:
        return _on_sphere(lengths, dimension)
    ways = np.eye(dimension) if order == "l1" or dimension == 1 else _corners(dimension)
    values = lengths(ways)
    return float(values.max()), ways[values.argmax()]


def _corners(dimension: int) -> Floats:
    """The corners (1, +-1, ..., +-1) of a cube; the others are their opposites."""
    return np.array([(1.0, *signs) for signs in product((-1.0, 1.0), repeat=dimension - 1)])


def _on_sphere(lengths: Lengths, dimension: int) -> tuple[float, Floats]:
    """Cones over squares of the sides of the cube, halved until the bound of each is near the best corner, or they are many."""
    offsets, half, best, settled, way = _corners(dimension)[:, 1:], 1.0, 0.0, 0.0, np.eye(dimension)[0]
    sides, middles = np.arange(dimension), np.zeros((dimension, dimension - 1))
    while len(middles):
        corners = middles[:, None] + half * offsets
        ends, centres = _lifted(np.repeat(sides, len(offsets)), corners.reshape(-1, dimension - 1)), _lifted(sides, middles)
        every = lengths(ends)
        values = every.reshape(len(middles), -1).max(axis=1)
        cosines = (ends.reshape(*corners.shape[:2], dimension) @ centres[:, :, None])[:, :, 0].min(axis=1)
        bounds = values / cosines
        if values.max() > best:
            best, way = float(values.max()), ends[every.argmax()]
        wide = bounds > best * (1 + CLOSE)
        many = wide.sum() * len(offsets) ** 2 > ROOM
        settled = max(settled, float(bounds[~wide | many].max(initial=0.0)))
        half /= 2
        middles = (middles[wide & ~many][:, None] + half * offsets).reshape(-1, dimension - 1)
        sides = np.repeat(sides[wide & ~many], len(offsets))
    return settled, way


def _lifted(sides: NDArray[np.intp], at: Floats) -> Floats:
    """Unit vectors through points of sides of the cube: coordinate `sides` is 1, the others are `at`."""
    full = np.zeros((len(at), at.shape[1] + 1))
    rows = np.arange(len(at))[:, None]
    others = np.arange(at.shape[1]) + (np.arange(at.shape[1]) >= sides[:, None])
    full[rows, others] = at
    full[rows[:, 0], sides] = 1.0
    return np.asarray(full / np.linalg.norm(full, axis=1, keepdims=True))


# Gauges of many facets from above, at the price of a few numbers each: read from a table of directions.
#
# A gauge is convex and grows with its argument, so between the nodes of a grid of directions it lies below the mean of the
# nodes around, with the weights that make the direction of them. For a vector u whose largest coordinate is the k-th, `u /
# u_k` lies on face k of a cube, where the mean is multilinear: its weights are a law with that mean, and Jensen is the proof.


CELLS = {2: 4096, 3: 128, 4: 24, 5: 10}  # along each axis of a face: tables of about 10,000 to 70,000 directions
FEWEST = 32  # facets; fewer are looked at as quickly
AT_ONCE = 1 << 18  # numbers that are held at once: two megabytes, which stay in cache
LEAST = 1e-150  # gauges of axes between this and its inverse have products that are floats
RELATIVE, ABSOLUTE = 2.0**-40, 2.0**-44  # roundings of a mean; of a place in the grid, where the gauge of an axis is 1


@dataclass(frozen=True, eq=False)
class DirectionTable:
    """Upper bounds of the gauge `max_f |a_f . u|` over s coordinates.

    units: (s,), the gauge of each axis. values: those of the nodes of all faces, one after the other. cells: of each axis.
    """

    units: Floats
    values: Floats
    cells: int

    @classmethod
    def of(cls, facets: Floats) -> DirectionTable | None:
        """The table of facets (F, s); None where it would not pay.

        >>> table = DirectionTable.of(np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0, 3, 40)]))
        >>> float(np.round(table.above([np.array([3.0]), np.array([4.0])])[0], 2))
        5.0
        """
        count, wide = facets.shape
        units = np.abs(facets).max(axis=0, initial=0.0)
        if wide not in CELLS or count < FEWEST or not ((units > LEAST) & (units < 1 / LEAST)).all():
            return None
        marks = np.linspace(-1.0, 1.0, CELLS[wide] + 1)
        across = np.stack(np.meshgrid(*[marks] * (wide - 1), indexing="ij"), axis=-1).reshape(-1, wide - 1)
        nodes = [np.roll(np.insert(across, 0, 1.0, axis=1), k, axis=1) for k in range(wide)]
        values = gauges(np.concatenate(nodes), facets / units)
        return cls(units, values * (1 + RELATIVE) + ABSOLUTE, CELLS[wide])

    def above(self, coordinates: Sequence[Floats]) -> Floats:
        """Numbers (...,) that no gauge of the vectors is above; s arrays (...,), all finite."""
        scaled = np.stack([part * unit for part, unit in zip(coordinates, self.units, strict=True)])
        wide, shape = len(scaled), scaled.shape[1:]
        flat = scaled.reshape(wide, -1)
        axis = np.abs(flat).argmax(axis=0)
        signed = np.take_along_axis(flat, axis[None], axis=0)[0]
        shares = self._shares(flat, axis, np.where(signed == 0, 1.0, signed))
        return np.asarray(np.abs(signed) * self._means(axis, shares)).reshape(shape)

    def _shares(self, flat: Floats, axis: Indices, signed: Floats) -> Floats:
        """Where the vectors pierce their faces, in cells, (s - 1, n): the coordinates after the largest, in turn."""
        wide = len(flat)
        turned = (axis + np.arange(1, wide)[:, None]) % wide
        places = np.take_along_axis(flat, turned, axis=0) / signed
        return np.asarray((places + 1) * (self.cells / 2))

    def _means(self, axis: Indices, shares: Floats) -> Floats:
        """The multilinear mean of the nodes around each place, (n,)."""
        low = np.minimum(shares.astype(np.intp), self.cells - 1)
        part = shares - low
        strides = (self.cells + 1) ** np.arange(len(shares) - 1, -1, -1)
        first = axis * (self.cells + 1) ** len(shares) + strides @ low
        total = np.zeros(len(first))
        for corner in product((0, 1), repeat=len(shares)):
            weight = np.prod([p if up else 1 - p for p, up in zip(part, corner, strict=True)], axis=0)
            total += weight * self.values[first + int(strides @ corner)]
        return total


def gauges(rows: Floats, facets: Floats) -> Floats:
    """The largest product of each row (n, s) with the facets (F, s), in size, whose (n, F) products are never held together.

    >>> gauges(np.array([[3.0, -4.0]]), np.eye(2)).tolist()
    [4.0]
    """
    step = max(1, AT_ONCE // len(facets))
    parts = [np.abs(rows[i : i + step] @ facets.T).max(axis=1) for i in range(0, len(rows), step)]
    return np.concatenate([*parts, np.zeros(0)])
