"""Walks on `Z^s`: what it costs to get somewhere by steps of given costs, tabulated exactly on boxes.

Why a table on a box is exact although walks may leave it: docs/theory/staircase.md, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.work import spend

Points = NDArray[np.int64]
FAR = 2**61
MOST_SHELLS = 4000  # of a table, margin included: walks of so many steps settle in a second
PASSES = 0.5  # over a table, in effect, that lower it by a step: tables of 2,000 to 3,000,000 places take 0.6 to 1.5 s a unit
MULTIPLES = (32, 16, 8, 4, 2, 1)  # of a step that the first sweep takes at once


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps u of `Z^s` with whole costs: vectors (M, s), with each u also -u, none 0; costs (M,), positive.

    >>> walk = Steps.of([[1, 0], [0, 1], [1, 1]], [2, 2, 9])
    >>> walk.vectors.tolist(), walk.costs.tolist()
    ([[-1, 0], [0, -1], [0, 1], [1, 0]], [2, 2, 2, 2])
    """

    vectors: Points
    costs: Points

    @classmethod
    def of(cls, vectors: ArrayLike, costs: ArrayLike) -> Steps:
        """The steps, (n, s), and their opposites, each at its least cost, (n,), without those that two others replace."""
        given = np.asarray(vectors, dtype=np.int64)
        paid = np.asarray(costs, dtype=np.int64)
        least: dict[tuple[int, ...], int] = {}
        for sign in (1, -1):
            for row, cost in zip((sign * given).tolist(), paid.tolist(), strict=True):
                least[tuple(row)] = min(cost, least.get(tuple(row), FAR))
        least.pop((0,) * given.shape[1], None)
        kept = sorted(step for step in least if not _replaced(step, least))
        return cls(
            np.array(kept, dtype=np.int64).reshape(-1, given.shape[1]), np.array([least[step] for step in kept], dtype=np.int64)
        )

    def divided(self, parts: int) -> Steps:
        """The same steps, their costs in units that are `parts` times finer."""
        return Steps(self.vectors, self.costs * parts)

    @property
    def dimension(self) -> int:
        """s."""
        return int(self.vectors.shape[1])

    def rate(self, widths: tuple[int, ...]) -> Fraction:
        """The least cost per length, the length being `max_i |u_i| / widths_i`: a walk to z costs at least that many
        lengths of z."""
        lengths = [max(Fraction(abs(x), r) for x, r in zip(row, widths, strict=True)) for row in self.vectors.tolist()]
        return min(Fraction(cost) / length for cost, length in zip(self.costs.tolist(), lengths, strict=True))

    def reach(self, widths: tuple[int, ...]) -> Fraction:
        """The longest step."""
        return max(Fraction(abs(x), r) for row in self.vectors.tolist() for x, r in zip(row, widths, strict=True))

    def natural_widths(self) -> tuple[int, ...]:
        """Whole widths in proportion to how far a unit of cost leads along each axis."""
        far = (np.abs(self.vectors) / self.costs[:, None]).max(axis=0)
        return tuple(max(1, round(float(x / far.min()))) for x in far)


def _replaced(step: tuple[int, ...], least: dict[tuple[int, ...], int]) -> bool:
    """Whether two other steps together lead there for no more."""
    for other, cost in least.items():
        rest = least.get(tuple(a - b for a, b in zip(step, other, strict=True)))
        if rest is not None and cost + rest <= least[step]:
            return True
    return False


@dataclass(frozen=True)
class Shells:
    """The points z of the coset `halves / 2 + Z^s` by shells `k = max_i ceil(|z_i| / widths_i)`; points are written doubled.

    >>> Shells((1, 2), (0, 1)).shape(1), Shells((1,), (1,)).points(1).tolist()
    ((3, 4), [[-1], [1]])
    """

    widths: tuple[int, ...]
    halves: tuple[int, ...]

    def shape(self, k: int) -> tuple[int, ...]:
        """How many places each axis has up to shell k."""
        return tuple(2 * r * k + 1 - half for r, half in zip(self.widths, self.halves, strict=True))

    def volume(self, k: int) -> int:
        """How many points there are up to shell k."""
        return math.prod(self.shape(k)) if k >= 0 else 0

    def slope(self, k: int) -> int:
        """The derivative of the volume at k: no shell up to k has more points, and log slope is concave."""
        sides = self.shape(k)
        return sum(2 * r * math.prod(sides[:i] + sides[i + 1 :]) for i, r in enumerate(self.widths))

    @property
    def slack(self) -> Fraction:
        """How much the length of a point may be below its shell."""
        return 1 - min(Fraction(2 - half, 2 * r) for r, half in zip(self.widths, self.halves, strict=True))

    def corner(self, k: int) -> Points:
        """The first point up to shell k, doubled."""
        return np.array([half - 2 * r * k for r, half in zip(self.widths, self.halves, strict=True)], dtype=np.int64)

    def points(self, k: int) -> Points:
        """All points up to shell k, doubled, in the order of a flat table; (n, s)."""
        axes = [first + 2 * np.arange(side) for first, side in zip(self.corner(k).tolist(), self.shape(k), strict=True)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def flat(self, points: Points, k: int) -> NDArray[np.int64]:
        """The places of doubled points in a flat table up to shell k; -1 outside. (n, s) -> (n,)."""
        places = (points - self.corner(k)) // 2
        inside = ((places >= 0) & (places < np.array(self.shape(k)))).all(axis=1)
        strides = np.array([math.prod(self.shape(k)[i + 1 :]) for i in range(len(self.widths))], dtype=np.int64)
        return np.where(inside, places @ strides, -1)

    def numbers(self, points: Points) -> NDArray[np.int64]:
        """The shells of doubled points, (n, s) -> (n,)."""
        widths = 2 * np.array(self.widths, dtype=np.int64)
        return np.asarray((-(-np.abs(points) // widths)).max(axis=1))

    def length(self, point: list[int]) -> Fraction:
        """`max_i |z_i| / widths_i` of a doubled point."""
        return max(Fraction(abs(x), 2 * r) for x, r in zip(point, self.widths, strict=True))


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks by steps on a coset of `Z^s`, with boxes of shells in which their costs are tabulated."""

    steps: Steps
    shells: Shells

    @cached_property
    def rate(self) -> Fraction:
        """What a length of `shells` costs at least."""
        return self.steps.rate(self.shells.widths)

    @cached_property
    def margin(self) -> int:
        """How many shells beyond a box the walks within it can need (Steinitz)."""
        return math.ceil(self.steps.dimension * self.steps.reach(self.shells.widths))

    def places(self, k: int) -> int:
        """How many places a table up to shell k takes while it is made; `FAR` beyond `MOST_SHELLS`."""
        wide = k + self.margin
        return self.shells.volume(wide) if wide <= MOST_SHELLS else FAR

    def heights(self, k: int, sources: Points, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """`min_a values_a + cost of the cheapest walk from a to z`, for all z up to shell k, as a table of `shape(k)`.

        sources: (A, s), doubled, all up to shell k. values: (A,).
        """
        wide = k + self.margin
        table = np.full(self.shells.volume(wide), FAR, dtype=np.int64)
        np.minimum.at(table, self.shells.flat(sources, wide), values)
        settled = _settled(table.reshape(self.shells.shape(wide)), self.steps)
        beyond = [r * self.margin for r in self.shells.widths]
        return settled[tuple(slice(b, side - b) for b, side in zip(beyond, settled.shape, strict=True))].copy()


def _settled(table: NDArray[np.int64], steps: Steps) -> NDArray[np.int64]:
    """The table when no step lowers any place any more. Multiples of steps come first: together they lead nearly everywhere."""
    _lower(table, moves(steps, table.shape, MULTIPLES))
    single = moves(steps, table.shape)
    while True:
        before = table.copy()
        _lower(table, single)
        if np.array_equal(table, before):
            return table


def _lower(table: NDArray[np.int64], ways: list[tuple[Window, Window, int]]) -> None:
    spend(entries=PASSES * table.size * len(ways))
    for source, target, cost in ways:
        np.minimum(table[target], table[source] + cost, out=table[target])


Window = tuple[slice, ...]


def moves(steps: Steps, shape: tuple[int, ...], multiples: Sequence[int] = (1,)) -> list[tuple[Window, Window, int]]:
    """The places of a table from which each step, so many at once, stays within it; where it leads; and what it costs."""
    found = []
    for times, (vector, cost) in product(multiples, zip(steps.vectors, steps.costs.tolist(), strict=True)):
        far = [times * v for v in vector.tolist()]
        if all(abs(v) < n for v, n in zip(far, shape, strict=True)):
            source = tuple(slice(max(0, -v), n - max(0, v)) for v, n in zip(far, shape, strict=True))
            target = tuple(slice(max(0, v), n - max(0, -v)) for v, n in zip(far, shape, strict=True))
            found.append((source, target, times * cost))
    return found
