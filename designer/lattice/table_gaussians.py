"""Exact l1 noise with a fixed total: independent discrete Laplace numbers, given that their sum is 0, without rejection."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Immutable
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.lattice.gaussian import KleinSteps, Level
from designer.limits import LARGEST_GAUSSIAN_SPREAD, MOST_GAUSSIAN_CELLS
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_laplace import DiscreteLaplace, ZeroSum

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy


FREE = -1  # the label of cells without a part
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class PartitionLaplace:
    """`P(z)` proportional to `exp(-rate |z|_1)` on integers whose sum over each part is 0;
    `labels` names the part of every cell, `FREE` those without one.

    The parts are independent, one `ZeroSum` each, and so are free cells.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = PartitionLaplace((0, 0, 1, 1, 1), Fraction(1, 3)).draw(2, SeededEntropy(1))
    >>> noise[:, :2].sum(axis=1).tolist(), noise[:, 2:].sum(axis=1).tolist()
    ([0, 0], [0, 0])
    """

    labels: Sequence[int]
    rate: Fraction
    _parts: tuple[tuple[NDArray[np.intp], ZeroSum], ...] = field(init=False, repr=False, compare=False)
    _free: NDArray[np.intp] = field(init=False, repr=False, compare=False)
    _single: DiscreteLaplace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels)
        if labels.ndim != 1 or not len(labels):
            raise InvalidProblem(f"labels: shape {labels.shape}; give one label per cell.")
        cells = [np.flatnonzero(labels == label) for label in np.unique(labels) if label != FREE]
        laws = {size: ZeroSum(size, self.rate) for size in {len(part) for part in cells}}
        assign(
            self,
            labels=tuple(labels.tolist()),
            _parts=tuple((part, laws[len(part)]) for part in cells),
            _free=np.flatnonzero(labels == FREE),
        )
        assign(self, _single=DiscreteLaplace([Fraction(self.rate)]))

    @property
    def acceptance(self) -> float:
        """1: nothing is rejected."""
        return 1.0

    def draw(self, size: int, entropy: Entropy) -> Counts:
        """`size` independent vectors, (size, d)."""
        noise = np.empty((size, len(self.labels)), dtype=np.int64)
        for part, law in self._parts:
            noise[:, part] = law.draw(size, entropy)
        if len(self._free):
            noise[:, self._free] = self._single.draw(size * len(self._free), entropy).reshape(size, -1)
        return noise


# Exact integer noise on tables with fixed margins, row by row: each row on its sum, then the columns balanced.
#
# No hull and no acceptance: every draw is kept, whatever the size (docs/theory/lattice.md, section 10).


Integers = NDArray[np.int64]
BATCH = 2**18  # cells at a time


@dataclass(frozen=True, eq=False)
class BalancedRows:
    """Tables of shape (*levels, repeats) with all one-way margins 0: `z = y - w`.

    y: the slices of the table along `axis`, its rows, are independent with `P(y) ~ exp(-rate |y|_1)` on sum 0. w: for every
    other axis an integer table with the margin that y has there, every other margin 0, and entries that are the mean of the
    margin over its cells, rounded up or down, each with that mean; it depends on the margins of y alone. So the release `x + z`
    is computed from `x + y` and the published margins of x. order: where the cells stand, cell i of the table at `order[i]`.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = BalancedRows((3, 4), 1, Fraction(1, 4), 0, np.arange(12)).draw(5, SeededEntropy(1)).reshape(5, 3, 4)
    >>> bool(noise.sum(axis=1).any() or noise.sum(axis=2).any())
    False
    """

    levels: tuple[int, ...]
    repeats: int
    rate: Fraction
    axis: int
    order: NDArray[np.intp]
    _rows: ZeroSum = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.levels) < 2 or min(*self.levels, self.repeats) < 1 or not 0 <= self.axis < len(self.levels):
            raise InvalidProblem(f"axis: {self.axis} of a table with levels {self.levels}; give one of two axes or more.")
        assign(self, _rows=ZeroSum(self.size // self.levels[self.axis], self.rate))

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.levels) * self.repeats

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """`size` independent tables, (size, cells). OverflowError with probability below e^-256."""
        noise = np.empty((size, self.size), dtype=np.int64)
        rows = max(1, BATCH // self.size)
        for start in range(0, size, rows):
            block = noise[start : start + rows]
            block[:, self.order] = self._tables(len(block), entropy)
        return noise

    def _tables(self, rows: int, entropy: Entropy) -> Integers:
        shape = (*self.levels, self.repeats)
        first, rest = shape[self.axis], [n for i, n in enumerate(shape) if i != self.axis]
        table = np.moveaxis(self._rows.draw(rows * first, entropy).reshape(rows, first, *rest), 1, 1 + self.axis)
        for axis, level in enumerate(self.levels):
            if axis != self.axis:
                turned = np.moveaxis(table, 1 + axis, -1)
                sums = turned.sum(axis=tuple(range(1, table.ndim - 1)))
                shares = balanced(sums, self.size // level, entropy).reshape(turned.shape)
                table = np.moveaxis(turned - shares, -1, 1 + axis)
        return np.ascontiguousarray(table).reshape(rows, -1)


def balanced(sums: Integers, places: int, entropy: Entropy) -> Integers:
    """Integer tables whose columns sum to `sums` (n, c), which sum to 0, and whose rows to 0, each entry the mean of its column
    rounded up or down: (n, places, c).

    What is left of a column beyond whole shares goes to places one after the other, the next column going on where it ended;
    so all places get equally many. Places and columns are in random order: every entry has the mean of its column, and the law
    does not change when places or columns are exchanged.
    """
    whole, left = sums // places, sums % places
    order, turn = random_orders(len(sums), sums.shape[1], entropy), random_orders(len(sums), places, entropy)
    ends = np.cumsum(np.take_along_axis(left, order, axis=1), axis=1)
    starts = np.empty_like(ends)
    np.put_along_axis(starts, order, ends - np.take_along_axis(left, order, axis=1), axis=1)
    return np.asarray(whole[:, None, :] + ((turn[:, :, None] - starts[:, None, :]) % places < left[:, None, :]))


def random_orders(count: int, length: int, entropy: Entropy) -> Integers:
    """Uniform permutations of `length` places, (count, length): ranks of random words, drawn again where two agree."""
    words = entropy.random_words(count * length).reshape(count, length)
    order = np.argsort(words, axis=1, kind="stable").astype(np.int64)
    ordered = np.take_along_axis(words, order, axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if tied.any():
        order[tied] = random_orders(int(tied.sum()), length, entropy)
    return order


# Exact discrete Gaussians on tables whose coordinates are drawn half by half: what all of them share.
#
# Why the law is exact: docs/theory/lattice.md, sections 5 and 9.


LEAST_ACCEPTANCE = 2e-5
Draw = Callable[[Fraction, Integers, int], Integers]


class HalvedGaussian(Immutable):
    """`P(z)` proportional to `exp(-|z|_2^2 / (2 variance))` on a lattice of tables, by coordinates that `tables` draws.

    Each coordinate is any integer whatever the earlier ones are, and has a mean and a variance given these.
    """

    variance: Fraction

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of cells."""

    @abstractmethod
    def tables(self, rows: int, draw: Draw) -> Integers:
        """`rows` tables, (rows, cells); `draw(variance, numerators, denominator)` gives coordinates around these centres."""

    def require_drawn(self) -> None:
        """`InvalidProblem` for variances out of range, and where hardly a proposal would be accepted."""
        if self.size > MOST_GAUSSIAN_CELLS:
            raise InvalidProblem(f"levels: {self.size} cells are more than {MOST_GAUSSIAN_CELLS}; merge elements.")
        if not 0 < self.variance * self.size**3 <= LARGEST_GAUSSIAN_SPREAD:
            raise InvalidProblem(
                f"variance: {float(self.variance):.3g} on {self.size} cells is not positive, or leaves 64 bits; rescale."
            )
        if self.acceptance < LEAST_ACCEPTANCE:
            raise InvalidProblem(
                f"variance: {float(self.variance):.3g} on {self.size} cells is too narrow, fewer than one proposal in 50,000 "
                "may be accepted; use smaller budgets."
            )
        _ = self._laws

    @cached_property
    def acceptance(self) -> float:
        """At least this part of the proposals is accepted: `rho(Lambda) / prod rho_v(Z)`, rho(Lambda) at least 1 and at least
        `prod sqrt(2 pi v)` (Poisson summation)."""
        wide = sum(count * math.log(2 * math.pi * float(v)) / 2 for v, count in self.variances.items())
        return math.exp(max(wide, 0.0) - sum(count * _log_mass(float(v)) for v, count in self.variances.items()))

    @cached_property
    def variances(self) -> dict[Fraction, int]:
        """How many coordinates there are of each variance: counted by a walk without draws."""
        found: dict[Fraction, int] = {}

        def count(variance: Fraction, numerators: Integers, denominator: int) -> Integers:
            found[variance] = found.get(variance, 0) + numerators.shape[1]
            return numerators

        self.tables(1, count)
        return found

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """`size` independent tables, (size, cells)."""
        drawn = np.zeros((size, self.size), dtype=np.int64)
        rows = max(1, BATCH // self.size)
        for start in range(0, size, rows):
            waiting = np.arange(start, min(start + rows, size))
            while waiting.size:
                steps = KleinSteps(len(waiting), entropy)
                values = self.tables(len(waiting), lambda v, n, d, steps=steps: steps.draw(self._laws[v], n, d))  # type: ignore[misc]
                kept = steps.kept()
                drawn[waiting[kept]] = values[kept]
                waiting = waiting[~kept]
        return drawn

    @cached_property
    def _laws(self) -> dict[Fraction, Level]:
        return {variance: Level(variance) for variance in self.variances}


def _log_mass(variance: float) -> float:
    """`log rho_v(Z)`, by the series that converges fast."""
    if variance > 0.16:
        dual = 2 * sum(math.exp(-2 * math.pi**2 * variance * k * k) for k in range(1, 12))
        return math.log1p(dual) + math.log(2 * math.pi * variance) / 2
    return math.log1p(2 * sum(math.exp(-k * k / (2 * variance)) for k in range(1, 12)))


# Exact discrete Gaussians with fixed sums over classes: partitions, and tables of any number of axes with fixed margins.
#
# The lattice needs no basis that is computed: halving the cells, and halving the halves, gives coordinates that are any
# integers, with centres and variances in closed form (docs/theory/lattice.md, section 9).


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


# Exact discrete Gaussians on tables whose sums along every line are 0: tensor products of zero-sum lattices.


@dataclass(frozen=True)
class LineGaussian(HalvedGaussian):
    """Tables of shape `levels` with `P(z)` proportional to `exp(-|z|_2^2 / (2 variance))` and sums 0 along every line.

    The slices along the first axis are halved: the upper ones add up to a table of one axis less, of the same kind, around a
    mean that is known (docs/theory/lattice.md, section 9).

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = LineGaussian((2, 3, 4), Fraction(9)).draw(2, SeededEntropy(1)).reshape(2, 2, 3, 4)
    >>> any(noise.sum(axis=axis).any() for axis in (1, 2, 3))
    False
    """

    levels: tuple[int, ...]
    variance: Fraction

    def __post_init__(self) -> None:
        assign(self, variance=Fraction(self.variance))
        if not self.levels or min(self.levels) < 2:
            raise InvalidProblem(f"levels: {self.levels}; give axes of at least two levels.")
        self.require_drawn()

    @property
    def size(self) -> int:
        return math.prod(self.levels)

    def tables(self, rows: int, draw: Draw) -> Integers:
        means = np.zeros((rows, 1, *self.levels), dtype=np.int64)
        return without_lines(means, 1, self.variance, draw).reshape(rows, -1)


def without_lines(priors: Integers, below: int, variance: Fraction, draw: Draw) -> Integers:
    """Integer tables with sums 0 along every line, around means `priors / below` (n, k, n_1, ..., n_d), cells of this variance.

    Slices with sum D and prior sum G: the first s1 of s have the mean `G1 + (D - G) s1 / s` and the variance `s1 s2 / s`.
    """
    if priors.ndim == 3:
        return spread(np.zeros(priors.shape[:2], dtype=np.int64), priors, below, variance, draw)
    running = np.concatenate([np.zeros_like(priors[:, :, :1]), np.cumsum(priors, axis=2)], axis=2)
    nodes = [(0, priors.shape[2], np.zeros_like(priors[:, :, 0]))]
    while max(size for _, size, _ in nodes) > 1:
        upper: dict[int, Integers] = {}
        for size in {size for _, size, _ in nodes if size > 1}:
            here, half = [(start, held) for start, length, held in nodes if length == size], size // 2
            means = [
                size * (running[:, :, start + half] - running[:, :, start])
                + half * (below * held - (running[:, :, start + size] - running[:, :, start]))
                for start, held in here
            ]
            level = variance * Fraction(half * (size - half), size)
            drawn = without_lines(np.concatenate(means, axis=1), below * size, level, draw)
            upper |= {start: part for (start, _), part in zip(here, np.split(drawn, len(here), axis=1), strict=True)}
        nodes = [part for node in nodes for part in _two_halves(*node, upper)]
    return np.stack([held for _, _, held in nodes], axis=2)


def _two_halves(start: int, size: int, held: Integers, upper: dict[int, Integers]) -> list[tuple[int, int, Integers]]:
    """The halves of some slices, of which the upper one is drawn; single slices stay."""
    if size == 1:
        return [(start, size, held)]
    half = size // 2
    return [(start, half, upper[start]), (start + half, size - half, held - upper[start])]
