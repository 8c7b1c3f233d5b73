"""Exact integer noise on tables with fixed margins, row by row: each row on its sum, then the columns balanced.

No hull and no acceptance: every draw is kept, whatever the size (docs/theory/lattice.md, section 10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.lattices.zero_sum import ZeroSum

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

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
