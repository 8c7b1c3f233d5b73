"""Whole counts over a product of attributes whose tables are near given ones.

`min sum_B w_B ||M_B h - t_B||^2` over `h >= 0` by accelerated projected gradients, then whole numbers whose running totals are
those of the real solution up to one, then single records moved, added or taken away while the sum of squares falls. What
comes out are tables of one array of counts: they are nonnegative, whole, and agree wherever they share attributes. That no
other array is nearer is not claimed (docs/theory/marginals.md, 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
STEPS, MOVES = 400, 2000


@dataclass(frozen=True, eq=False)
class AskedTable:
    """A table over rising `axes` of the counts, to be met with a weight; values (n_1, ..., n_r)."""

    axes: tuple[int, ...]
    values: Array
    weight: float


def fitted_counts(shape: tuple[int, ...], asked: Sequence[AskedTable], records: int | None = None) -> NDArray[np.int64]:
    """The counts, (n_1, ..., n_d) of `shape`; no table makes them 0.

    records: their total where it is known; then records are moved, and none is added or taken away.

    >>> fitted_counts((2, 2), [AskedTable((0,), np.array([3.2, -0.4]), 1.0), AskedTable((1,), np.array([1.1, 1.9]), 1.0)]).sum()
    np.int64(3)
    """
    real = _real(shape, asked).ravel()
    if records is not None:
        real = real * (records / real.sum()) if real.sum() > 0 else np.full(real.size, records / real.size)
    totals = np.floor(np.cumsum(real) + 0.5).astype(np.int64)
    if records is not None:  # which sums of floats may miss beyond 2^40 or so
        totals = np.minimum(totals, records)
        totals[-1] = records
    return _moved(np.diff(totals, prepend=0).reshape(shape), asked, known=records is not None)


def table_of(counts: NDArray[Any], axes: tuple[int, ...]) -> NDArray[Any]:
    """The sums of counts (n_1, ..., n_d) along all other axes."""
    return np.asarray(counts.sum(axis=tuple(k for k in range(counts.ndim) if k not in axes)))


def _slope(counts: NDArray[Any], asked: Sequence[AskedTable]) -> Array:
    """Half the gradient of the sum of squares, (n_1, ..., n_d)."""
    total = np.zeros(counts.shape)
    for table in asked:
        off = table.weight * (table_of(counts, table.axes) - table.values)
        total += np.expand_dims(off, tuple(k for k in range(counts.ndim) if k not in table.axes))
    return total


def _real(shape: tuple[int, ...], asked: Sequence[AskedTable]) -> Array:
    cells = float(np.prod(shape))
    steepness = sum(table.weight * cells / table.values.size for table in asked)
    records = np.mean([table.values.sum() for table in asked]) if asked else 0.0
    place = ahead = np.full(shape, max(float(records), 0.0) / cells)
    momentum = 1.0
    for _ in range(STEPS if asked else 0):
        moved = np.maximum(ahead - _slope(ahead, asked) / steepness, 0.0)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - place)
        place, momentum = moved, following
    return place


def _moved(counts: NDArray[np.int64], asked: Sequence[AskedTable], *, known: bool) -> NDArray[np.int64]:
    """Records one by one from where the slope is largest to where it is least, or, where their number is not known, to and from
    nowhere, while that helps."""
    each, slope = sum(table.weight for table in asked), _slope(counts, asked)
    for _ in range(MOVES):
        low = np.unravel_index(np.argmin(slope), slope.shape)
        high = np.unravel_index(np.argmax(np.where(counts > 0, slope, -np.inf)), slope.shape)
        apart = sum(table.weight for table in asked if any(low[axis] != high[axis] for axis in table.axes))
        gains = [2 * slope[low] + each, np.inf, np.inf]
        if counts[high] > 0:
            gains[1:] = [each - 2 * slope[high], 2 * (slope[low] - slope[high]) + 2 * apart]
        if known:
            gains[:2] = [np.inf, np.inf]
        best = int(np.argmin(gains))
        if not gains[best] < -1e-9 * each:
            break
        for cell, change in ((low, best != 1), (high, -(best != 0))):
            counts[cell] += change
            for table in asked:
                slope[tuple(cell[k] if k in table.axes else slice(None) for k in range(counts.ndim))] += change * table.weight
    return counts
