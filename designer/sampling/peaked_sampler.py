"""Exact draws from a law that falls off from peaks: a table of levels for what is likely, rejection for what lies outside.

Why the law is exact: docs/theory/staircase.md, section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Immutable, frozen
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.sampling.finite_law import FiniteLaw
from designer.sampling.integer_samplers import LazyUniform
from solvers.exact.balls import exp_ball, rational_ball
from solvers.lattices.peaked_law import PeakedLaw
from solvers.limits import MOST_TABLE_PLACES

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

OUTSIDE = 0.25  # of the mass of the peaks: what the envelope outside the table may weigh
SMALL, RARE = 30_000, 1e-6  # tables up to so many places leave no more than this outside
GROWTH = 1.3  # of the table of heights, each time a draw lies outside


def uniform_below(bounds: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """Independent integers, uniform on `0 .. bounds_i - 1`; bounds (n,), positive."""
    sizes = bounds.astype(np.uint64)
    uneven = (np.uint64(0) - sizes) % sizes  # 2^64 modulo the bound: as many words are too many
    drawn = entropy.random_words(len(bounds)).copy()
    while (again := np.flatnonzero(drawn < uneven)).size:
        drawn[again] = entropy.random_words(len(again))
    return (drawn % sizes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PeakedSampler(Immutable):
    """Doubled points of a coset of `Z^s` with `P(z)` exactly proportional to `exp(-unit h(z))`, the lowest height being 0.

    `InvalidProblem` where the table would be too large.
    """

    law: PeakedLaw
    shells: int = field(init=False)

    def __post_init__(self) -> None:
        shells = self.law.enough(OUTSIDE)
        mass = float(np.exp(-float(self.law.unit) * self.law.levels).sum())
        if self.law.walks.places(shells) > MOST_TABLE_PLACES or not self.law.tail(shells) <= 8 * mass:
            raise InvalidProblem(
                f"noise: is so wide that its table would have more than {MOST_TABLE_PLACES} points; raise the budgets, or use "
                "laplace or k_norm."
            )
        while self.law.tail(shells) > RARE * mass and self.law.walks.places(shells + 1) <= SMALL:
            shells += 1
        assign(self, shells=shells)

    @cached_property
    def _heights(self) -> NDArray[np.int64]:
        """The heights up to the last shell, flat."""
        return self.law.table(self.shells)

    @cached_property
    def _levels(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Places in the order of their heights; and of each height its value, where it starts and how many places have it."""
        order = np.argsort(self._heights, kind="stable")
        values, starts, counts = np.unique(self._heights[order], return_index=True, return_counts=True)
        return order, values, starts, counts

    @cached_property
    def _choice(self) -> FiniteLaw:
        """Which level, or the outside."""
        _, values, _, counts = self._levels

        def weights() -> list[arb]:
            inside = [exp_ball(-self.law.unit * value) * n for value, n in zip(values.tolist(), counts.tolist(), strict=True)]
            return [*inside, self._envelope() / (1 - self._ratio())]

        return FiniteLaw(weights)

    def _envelope(self) -> arb:
        """What the first shell outside weighs in the envelope."""
        first = self.shells + 1
        return exp_ball(-self.law.unit * self.law.height_beyond(first)) * self.law.walks.shells.slope(first)

    @cached_property
    def _growth(self) -> Fraction:
        """A bound of how the slopes grow from shell to shell outside."""
        slope = self.law.walks.shells.slope
        return Fraction(slope(self.shells + 2), slope(self.shells + 1))

    def _ratio(self) -> arb:
        """What a shell weighs in the envelope, relative to the one before."""
        return exp_ball(-self.law.unit * self.law.walks.rate) * rational_ball(self._growth)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent points, doubled, (size, s)."""
        drawn = np.empty((size, self.law.walks.steps.dimension), dtype=np.int64)
        waiting = np.arange(size)
        while len(waiting):
            level = self._choice.draw(len(waiting), entropy)
            inside = level < len(self._levels[1])
            drawn[waiting[inside]] = self._inside(level[inside], entropy)
            rejected = []
            for place in waiting[~inside].tolist():
                point = self._outside(entropy)
                if point is None:
                    rejected.append(place)
                else:
                    drawn[place] = point
            waiting = np.array(rejected, dtype=np.intp)
        return drawn

    def _inside(self, level: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """A uniform point of each level."""
        order, _, starts, counts = self._levels
        places = order[starts[level] + uniform_below(counts[level], entropy)]
        shells, shape = self.law.walks.shells, self.law.walks.shells.shape(self.shells)
        return np.asarray(np.stack(np.unravel_index(places, shape), axis=1) * 2 + shells.corner(self.shells))

    def _outside(self, entropy: Entropy) -> NDArray[np.int64] | None:
        """A point outside the table with its probability in the envelope, if its own lets it pass."""
        further = 0
        while _uniform(entropy).below(self._ratio):
            further += 1
        shells, k = self.law.walks.shells, self.shells + 1 + further
        sides = np.array(shells.shape(k), dtype=np.int64)
        while True:
            point = 2 * uniform_below(sides, entropy) + shells.corner(k)
            if int(shells.numbers(point[None])[0]) == k:
                break
        above = self._height(point, k) - self.law.height_beyond(k)
        crowd = Fraction(shells.volume(k) - shells.volume(k - 1), shells.slope(self.shells + 1)) / self._growth**further
        passed = _uniform(entropy).below(lambda: exp_ball(-self.law.unit * above) * rational_ball(crowd))
        return point if passed else None

    def _height(self, point: NDArray[np.int64], k: int) -> int:
        """The height of a point of shell k, from a table that grows when it must."""
        reached, table = self.__dict__.get("_far", (0, self._heights))
        if k > reached:
            reached = max(k, math.ceil(GROWTH * self.shells))
            table = frozen(self.law.walks.heights(reached, self.law.peaks, self.law.levels).ravel())
            self.__dict__["_far"] = (reached, table)
        return int(table[self.law.walks.shells.flat(point[None], reached)[0]])


def _uniform(entropy: Entropy) -> LazyUniform:
    return LazyUniform(int(entropy.random_words(1)[0]), 64, entropy)
