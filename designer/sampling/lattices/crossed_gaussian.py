"""Exact discrete Gaussians with fixed sums over classes: partitions, and tables of any number of axes with fixed margins.

The lattice needs no basis that is computed: halving the cells, and halving the halves, gives coordinates that are any integers,
with centres and variances in closed form (docs/theory/lattice.md, section 9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Immutable
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.integers.discrete_gaussian import DiscreteGaussian
from designer.sampling.lattices.halved_gaussian import Draw, HalvedGaussian
from designer.sampling.lattices.klein_steps import Integers

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

Cells = NDArray[np.intp]


@dataclass(frozen=True)
class CrossedGaussian(HalvedGaussian):
    """Tables with `P(z)` proportional to `exp(-|z|_2^2 / (2 variance))` and all one-way margins 0.

    levels: classes of each axis; (1,) for a fixed total alone. repeats: cells in each combination of classes. Cells come in the
    order of a table of shape (*levels, repeats). A margin over the first axes is drawn, then split over the next axis: rows are
    halved, and the halves' sums over the columns drawn by halving the columns.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = CrossedGaussian((3, 4), 1, Fraction(9)).draw(2, SeededEntropy(1)).reshape(2, 3, 4)
    >>> bool(noise.sum(axis=1).any() or noise.sum(axis=2).any())
    False
    """

    levels: tuple[int, ...]
    repeats: int
    variance: Fraction

    def __post_init__(self) -> None:
        assign(self, variance=Fraction(self.variance))
        if not self.levels or min(*self.levels, self.repeats) < 1:
            raise InvalidProblem(f"levels: {self.levels} with {self.repeats} cells each; give positive numbers.")
        self.require_drawn()

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.levels) * self.repeats

    def tables(self, rows: int, draw: Draw) -> Integers:
        """Margins over one axis more at a time, then the cells within each combination of classes."""
        sums, cells = np.zeros((rows, self.levels[0]), dtype=np.int64), self.size // self.levels[0]
        for level in self.levels[1:]:
            cells //= level
            sums = split_rows(sums, level, self.variance * cells, draw).reshape(rows, -1)
        if self.repeats == 1:
            return sums
        free = np.zeros((*sums.shape, self.repeats), dtype=np.int64)
        return spread(sums, free, 1, self.variance, draw).reshape(rows, -1)


def split_rows(sums: Integers, columns: int, variance: Fraction, draw: Draw) -> Integers:
    """Tables with rows that sum to `sums` (n, r) and columns that sum to 0, (n, r, columns), cells of this variance.

    Rows are halved: what the upper half of s rows puts into column j, whose total is D_j, has mean `D_j s1 / s` and variance
    `s1 s2 / s` cells, and its sum over the columns is known.
    """
    rows = sums.shape[1]
    nodes, halves = np.zeros((len(sums), 1, columns), dtype=np.int64), [rows]
    starts = np.zeros(1, dtype=np.intp)
    running = np.concatenate([np.zeros((len(sums), 1), dtype=np.int64), np.cumsum(sums, axis=1)], axis=1)
    while max(halves) > 1:
        upper = np.array(halves) // 2
        drawn = np.zeros_like(nodes)
        for size in {s for s in halves if s > 1}:
            here, half = np.flatnonzero(np.array(halves) == size), size // 2
            totals = running[:, starts[here] + half] - running[:, starts[here]]
            between = variance * Fraction(half * (size - half), size)
            drawn[:, here] = spread(totals, nodes[:, here] * half, size, between, draw)
        nodes, halves, starts = _halved(nodes, drawn, halves, upper, starts)
    return nodes


def _halved(
    nodes: Integers, drawn: Integers, halves: list[int], upper: NDArray[np.intp], starts: Cells
) -> tuple[Integers, list[int], Cells]:
    """Every node of more than one row becomes its two halves, in order."""
    parts = [(k, first) for k, size in enumerate(halves) for first in ((True, False) if size > 1 else (False,))]
    values = [drawn[:, k] if first else nodes[:, k] - drawn[:, k] for k, first in parts]
    sizes = [int(upper[k]) if first else halves[k] - int(upper[k]) for k, first in parts]
    begins = [int(starts[k]) + (0 if first else int(upper[k])) for k, first in parts]
    return np.stack(values, axis=1), sizes, np.array(begins)


def spread(totals: Integers, priors: Integers, below: int, variance: Fraction, draw: Draw) -> Integers:
    """Integers that sum to `totals` (n, k), around means `priors / below` (n, k, c) and of this variance before that is known.

    The columns are halved: of C columns with sum T, prior sum G, the first C1 have mean `G1 + (T - G) C1 / C` and variance
    `C1 C2 / C`.
    """
    columns = priors.shape[2]
    running = np.zeros((*priors.shape[:2], columns + 1), dtype=np.int64)
    np.cumsum(priors, axis=2, out=running[:, :, 1:])
    ends = np.array([0, columns])
    sums = totals[:, :, None]
    while len(ends) <= columns:
        sizes, half = np.diff(ends), np.diff(ends) // 2
        first, whole = running[:, :, ends[:-1] + half] - running[:, :, ends[:-1]], np.diff(running[:, :, ends], axis=2)
        drawn = np.zeros_like(sums)
        for size in {int(s) for s in sizes if s > 1}:
            here, part = sizes == size, size // 2
            centres = size * first[:, :, here] + part * (sums[:, :, here] * below - whole[:, :, here])
            level = variance * Fraction(part * (size - part), size)
            drawn[:, :, here] = draw(level, centres.reshape(len(totals), -1), below * size).reshape(centres.shape)
        sums = np.stack([drawn, sums - drawn], axis=3).reshape(*sums.shape[:2], -1)
        ends = np.stack([ends[:-1], ends[:-1] + half], axis=1).ravel()
        kept = np.append(np.diff(np.append(ends, columns)) > 0, True)
        sums, ends = sums[:, :, kept[:-1]], np.append(ends, columns)[kept]
    return sums


@dataclass(frozen=True, eq=False)
class PartitionGaussian(Immutable):
    """`P(z)` proportional to `exp(-|z|_2^2 / (2 variance))` on integers whose sum over each block is 0; other cells are free.

    blocks: disjoint arrays of the `size` cells. The blocks are independent; so are free cells.
    """

    blocks: tuple[Cells, ...]
    size: int
    variance: Fraction

    def __post_init__(self) -> None:
        _ = self._laws

    @property
    def acceptance(self) -> float:
        """Of the block that accepts the fewest proposals."""
        return min((law.acceptance for law in self._laws.values()), default=1.0)

    @cached_property
    def _laws(self) -> dict[int, CrossedGaussian]:
        sizes = {len(block) for block in self.blocks if len(block) > 1}
        return {size: CrossedGaussian((1,), size, self.variance) for size in sorted(sizes)}

    @cached_property
    def _free(self) -> Cells:
        return np.setdiff1d(np.arange(self.size), np.concatenate([np.zeros(0, dtype=np.intp), *self.blocks]))

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """`size` independent vectors, (size, cells)."""
        noise = np.zeros((size, self.size), dtype=np.int64)
        for length, law in self._laws.items():
            alike = np.array([block for block in self.blocks if len(block) == length])
            noise[:, alike] = law.draw(size * len(alike), entropy).reshape(size, *alike.shape)
        if len(self._free):
            free = DiscreteGaussian([Fraction(self.variance)]).draw(size * len(self._free), entropy)
            noise[:, self._free] = free.reshape(size, -1)
        return noise


@dataclass(frozen=True, eq=False)
class CellsInOrder:
    """Tables whose cells stand at other places: cell i of a draw belongs at `order[i]`."""

    law: HalvedGaussian
    order: Cells

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """`size` independent vectors, (size, cells)."""
        noise = np.empty((size, len(self.order)), dtype=np.int64)
        noise[:, self.order] = self.law.draw(size, entropy)
        return noise
