"""Exact l1 noise with a fixed total: independent discrete Laplace numbers, given that their sum is 0, without rejection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.finite_law import FiniteLaw
from designer.sampling.integers.discrete_laplace import DiscreteLaplace
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

BLOCK = 2**16  # entries of the answer at a time
SMALLEST_RATE = Fraction(1, 2**40)
FREE = -1  # the label of cells without a part
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ZeroSum:
    """Integers `z_1 + ... + z_n = 0` with `P(z)` proportional to `exp(-rate |z|_1)`, any n >= 1; O(n) a draw.

    z = g - h with g, h counts of equal totals, weight `x^(g_1 + ... + g_n)`, `x = exp(-2 rate)`. Such pairs are the margins of
    a matrix of counts along a staircase from corner (1, 1) to (n, n), unique once every turn from right to down carries at
    least one. So: the number k of turns has mass `C(n-1, k)^2 x^k`, their rows and columns are uniform k-subsets, and the 2n -
    1 counts on the staircase are independent geometric numbers. Derivation: docs/theory/lattice.md, section 3.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> ZeroSum(5, Fraction(1, 4)).draw(3, SeededEntropy(1)).sum(axis=1).tolist()
    [0, 0, 0]
    """

    count: int
    rate: Fraction
    _turns: FiniteLaw = field(init=False, repr=False, compare=False)
    _geometric: DiscreteLaplace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rate = Fraction(self.rate)
        if self.count < 1:
            raise InvalidProblem(f"count: {self.count} cells; give at least one.")
        if rate < SMALLEST_RATE:
            raise InvalidProblem(
                f"rate: {float(rate)!r} is below 2^-40, sums of 64-bit noise would overflow; use a larger rate.", value=rate
            )
        assign(self, rate=rate, _turns=FiniteLaw(self._weights), _geometric=DiscreteLaplace([2 * rate]))

    def draw(self, size: int, entropy: Entropy) -> Counts:
        """`size` independent vectors, (size, n). OverflowError with probability below e^-256."""
        noise = np.zeros((size, self.count), dtype=np.int64)
        rows = max(1, BLOCK // self.count)
        for start in range(0, size if self.count > 1 else 0, rows):
            block = noise[start : start + rows]
            block[:] = self._block(len(block), entropy)
        return noise

    def _weights(self) -> list[arb]:
        ratio = rational_ball(-2 * self.rate).exp()
        return [comb(self.count - 1, k) ** 2 * ratio**k for k in range(self.count)]

    def _block(self, rows: int, entropy: Entropy) -> Counts:
        n, turns = self.count, self._turns.draw(rows, entropy)
        below, right = (_subsets(turns, n - 1, entropy) for _ in range(2))
        walked = np.zeros((rows, 2 * n), dtype=np.int64)
        drawn = self._geometric.draw_geometric(rows * (2 * n - 1), entropy).reshape(rows, -1)
        if drawn.max(initial=0) > 2**62 // (2 * n):
            raise OverflowError("a count left the 64-bit integers (probability below e^-256): draw again.")
        np.cumsum(drawn, axis=1, out=walked[:, 1:])
        noise = np.diff(np.take_along_axis(walked, _row_starts(below, right), axis=1), axis=1)
        noise -= np.diff(np.take_along_axis(walked, _column_starts(below, right), axis=1), axis=1)
        noise[:, :-1] += below
        noise[:, 1:] -= right
        return noise


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


def _subsets(sizes: Counts, places: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Uniform subsets of `places` places, one of each size, as masks: the places of the smallest of as many random half words.

    Where the smallest are not determined because two of them agree (2^-32), they are drawn again.
    """
    rows, half = np.arange(len(sizes)), (len(sizes) * places + 1) // 2
    words = entropy.random_words(half).view(np.uint32)[: len(sizes) * places].reshape(-1, places)
    ordered = np.sort(words, axis=1)
    last, following = ordered[rows, np.maximum(sizes - 1, 0)], ordered[rows, np.minimum(sizes, places - 1)]
    masks = (words <= last[:, None]) & (sizes > 0)[:, None]
    tied = (last == following) & (sizes > 0) & (sizes < places)
    if tied.any():
        masks[tied] = _subsets(sizes[tied], places, entropy)
    return np.asarray(masks)


def _row_starts(below: NDArray[np.bool_], right: NDArray[np.bool_]) -> Counts:
    """Where on the staircase each row begins, and its end, (rows,
    n + 1): row i is entered in the column of the last turn above it."""
    rows, places = below.shape
    passed = np.zeros((rows, places + 1), dtype=np.int64)
    np.cumsum(below, axis=1, out=passed[:, 1:])
    columns = _listed(right, passed - 1, first=1, default=0)
    return _with_end(columns + np.arange(places + 1), 2 * places + 1)


def _column_starts(below: NDArray[np.bool_], right: NDArray[np.bool_]) -> Counts:
    """Where each column begins: column j > 1 is entered in the row of the first turn at or right of it, or in the last row."""
    rows, places = right.shape
    passed = np.zeros((rows, places), dtype=np.int64)
    np.cumsum(right[:, :-1], axis=1, out=passed[:, 1:])
    entered = _listed(below, passed, first=0, default=places)
    starts = np.zeros((rows, places + 1), dtype=np.int64)
    starts[:, 1:] = entered + np.arange(1, places + 1)
    return _with_end(starts, 2 * places + 1)


def _listed(masks: NDArray[np.bool_], index: Counts, first: int, default: int) -> Counts:
    """The `index`-th marked place of each row, counted from `first`; `default` where there is no such."""
    marked = np.append(np.nonzero(masks)[1] + first, 0)
    count = masks.sum(axis=1)
    ends = np.cumsum(count)
    exists = (index >= 0) & (index < count[:, None])
    flat = np.where(exists, index + (ends - count)[:, None], len(marked) - 1)
    return np.where(exists, marked[flat], default)


def _with_end(starts: Counts, end: int) -> Counts:
    return np.hstack([starts, np.full((len(starts), 1), end)])
