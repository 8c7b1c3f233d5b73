"""Whole counts over a product of attributes whose tables are near given ones.

`min sum_B w_B ||M_B h - t_B||^2` over `h >= 0` (`solvers.programs.nearest_sums`; of more than `MOST` counts by accelerated
projected gradients), then whole numbers whose running totals are those of the real solution up to one, then single records
moved, added or taken away while the sum of squares falls. What
comes out are tables of one array of counts: they are nonnegative, whole, and agree wherever they share attributes. That no
other array is nearer is not claimed (docs/theory/marginals.md, 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.programs.nearest_sums import fitted_sums

Array = NDArray[np.float64]
MOST = 20_000  # counts, whose program takes seconds
STEPS, MOVES = 4000, 2000
MISSED = 0.01  # standard errors


@dataclass(frozen=True, eq=False)
class AskedTable:
    """A table over rising `axes` of the counts, to be met with a weight; values (n_1, ..., n_r)."""

    axes: tuple[int, ...]
    values: Array
    weight: float


def fitted_counts(shape: tuple[int, ...], asked: Sequence[AskedTable], records: int | None = None) -> NDArray[np.int64]:
    """The counts, (n_1, ..., n_d) of `shape`; no table makes them 0.

    records: their total where it is known; then records are moved, and none is added or taken away. `RuntimeError` where the
    real minimum was not found.

    >>> asked = [AskedTable((0,), np.array([3.2, -0.4]), 1.0), AskedTable((1,), np.array([1.1, 1.9]), 1.0)]
    >>> int(fitted_counts((2, 2), asked).sum())
    3
    """
    if math.prod(shape) <= MOST:
        real = _nearest(shape, asked, records)
    else:
        real = _descended(shape, asked)
        if records is not None:
            real = real * (records / real.sum()) if real.sum() > 0 else np.full(shape, records / real.size)
    return _moved(_rounded(real.ravel(), records).reshape(shape), asked, known=records is not None)


def _rounded(real: Array, records: int | None) -> NDArray[np.int64]:
    """Whole counts, (N,), whose running totals are those of real ones up to one, and which add up to the records."""
    below = np.floor(real).astype(np.int64)
    totals = np.floor(np.cumsum(real - below) + 0.5).astype(np.int64)
    if records is not None:  # which sums of floats may miss
        rest = records - int(below.sum())
        totals = np.clip(totals, 0, max(rest, 0))
        totals[-1] = max(rest, 0)
        below[np.argmax(below)] += min(rest, 0)
    return np.asarray(below + np.diff(totals, prepend=0))


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


def _nearest(shape: tuple[int, ...], asked: Sequence[AskedTable], records: int | None) -> Array:
    """The real minimum, which has the number of records where it is known."""
    from scipy.sparse import csr_array, vstack

    cells = math.prod(shape)
    places = np.indices(shape).reshape(len(shape), cells)
    parts = [csr_array((0, cells))]
    for table in asked:
        own = tuple(shape[k] for k in table.axes)
        row = np.ravel_multi_index(tuple(places[list(table.axes)]), own) if own else np.zeros(cells, dtype=np.intp)
        parts.append(csr_array((np.ones(cells), (row, np.arange(cells))), shape=(table.values.size, cells)))
    near = np.concatenate([np.zeros(0), *(table.values.ravel() for table in asked)])
    errors = np.concatenate([np.zeros(0), *(np.full(table.values.size, table.weight**-0.5) for table in asked)])
    known = np.zeros(0) if records is None else np.array([float(records)])
    found = fitted_sums(vstack(parts), near, errors, csr_array(np.ones((len(known), cells))), known)
    if found is None:
        raise RuntimeError("the nearest real tables were not found")
    point: Array = found.cells.reshape(shape)
    return point


def _descended(shape: tuple[int, ...], asked: Sequence[AskedTable]) -> Array:
    """The real minimum by accelerated projected gradients that begin anew where they would climb, until the conditions of a
    minimum are missed by `MISSED` standard errors at most."""
    cells, error = float(np.prod(shape)), max((table.weight for table in asked), default=1.0) ** -0.5
    steepness = sum(table.weight * cells / table.values.size for table in asked)
    records = np.mean([table.values.sum() for table in asked]) if asked else 0.0
    place = ahead = np.full(shape, max(float(records), 0.0) / cells)
    momentum = 1.0
    for _ in range(STEPS if asked else 1):
        slope = _slope(ahead, asked) if asked else ahead
        if np.abs(np.minimum(ahead / error, slope * error)).max() <= MISSED:
            return np.asarray(np.maximum(ahead, 0.0))
        moved = np.maximum(ahead - slope / steepness, 0.0)
        if np.vdot(ahead - moved, moved - place) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - place)
        place, momentum = moved, following
    raise RuntimeError("the nearest real tables were not found")


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
