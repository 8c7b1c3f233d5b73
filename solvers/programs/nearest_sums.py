"""Nonnegative x with `A x = t` whose sums `S x` are nearest to given numbers, in units of their standard errors:

    min sum_k ((S x - a)_k / s_k)^2

for numbers of any size, and of very different sizes together. Interior-point methods lose what is smaller than 1e-8 of the
largest number, so each round is a program for what the last one left, in units of that, and what comes out is checked against
the conditions of a minimum (Karush, Kuhn and Tucker) in place of the word of a solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.limited import linear_program
from solvers.programs.loads import ConicBlock, solve_conic

Array = NDArray[np.float64]

SPLIT = 2.0**26  # whole numbers up to 2^79 are sums of two parts whose sums floats hold exactly
ROUNDS = 40
FAR = 1e3  # units: how far a step may lead, and what a multiplier that holds a cell at 0 is cut to
TINY = 1e-4  # units: what is below it is at 0
DENSE = 1_000_000  # entries of exact rows whose span is found
SAME = 1e-7  # standard errors: what the conditions of a minimum may be missed by
EPS = 2.0**-52  # what floats round by, twice
PARTS = 720_720  # of one: what the entries of a proof that no totals exist are rounded to; whole for thirds, fifths, sevenths
KEPT = 1e-9  # of a total and of the numbers that are added up to it


@dataclass(frozen=True, eq=False)
class NearestSums:
    """x, (N,), and the slope of the sum of squares there, (N,): 0 where x is above 0, at least 0 elsewhere, but for rounding.

    off: about how many standard errors of a sum rounding hides: what slopes besides 0 ask of the least sharp sum of a cell.
    """

    cells: Array
    slopes: Array
    off: float


def left_over(rows: Any, cells: Array, values: Array) -> Array:
    """`values - rows cells`, (m,), without the rounding of large numbers that cancel; entries of rows are small and whole.

    >>> from scipy.sparse import csr_array
    >>> left_over(csr_array([[1, 1, 1]]), np.array([1e16, 1.0, -1e16]), np.array([0.0])).tolist()
    [-1.0]
    """
    large = np.rint(cells / SPLIT) * SPLIT
    return np.asarray((values - rows @ large) - rows @ (cells - large), dtype=np.float64)


def fitted_sums(sums: Any, near: Array, errors: Array, exact: Any, totals: Array) -> NearestSums | None:
    """The nearest x, or None where none was found that meets the conditions of a minimum: then there may be none at all.

    sums S (K, N), exact A (p, N): sparse. near (K,), errors (K,) positive, totals (p,).

    >>> from scipy.sparse import csr_array
    >>> one, none = csr_array([[1, 0], [0, 1], [1, 1]]), csr_array((0, 2))
    >>> near, errors = np.array([1e15, -3.0, 1e15 + 3.0]), np.ones(3)
    >>> fitted_sums(one, near, errors, none, np.zeros(0)).cells.tolist()
    [1000000000000001.5, 0.0]
    """
    from scipy.sparse import csr_array, diags_array

    sums, exact = csr_array(sums), csr_array(exact)
    told = told_by(exact, sums)
    sums, near, errors = sums[~told], near[~told], errors[~told]
    scale = _cell_units(sums, errors)
    program = _LeastSquares(
        csr_array(diags_array(1 / errors) @ sums @ diags_array(scale)),
        *_scaled_rows(csr_array(exact @ diags_array(scale))),
        lambda cells: left_over(sums, cells, near) / errors,
    )
    cells, multipliers = np.zeros(sums.shape[1]), np.zeros(len(totals))
    magnitudes = abs(program.sums)
    best, least, at_last, wider, polished = None, np.inf, np.inf, 1.0, False
    for _ in range(ROUNDS):
        cells = np.where((cells <= SAME * scale) & (program.slope(cells, multipliers) >= SAME), 0.0, cells)
        slope = program.slope(cells, multipliers)
        left = program.heights * left_over(exact, cells, totals)
        rounding = magnitudes.T @ (magnitudes @ (EPS * cells / scale))
        raw, missed = _missed(cells / scale, slope, 0 * rounding), _missed(cells / scale, slope, rounding)
        if kept(exact, cells, totals):
            shared = magnitudes.T @ (magnitudes @ (EPS * _largest_together(exact, cells) / scale))
            shared += EPS * (abs(program.exact).T @ abs(multipliers))
            last = _missed(cells / scale, slope, rounding + shared)
            # What meets the conditions but for rounding is better than what misses them by less than that rounding.
            if (last > SAME, missed) < (at_last > SAME, least) or missed <= SAME / 10:
                best, least, at_last = NearestSums(cells, slope / scale, np.inf), missed, last
        if least <= SAME / 10 and (polished or raw <= SAME / 10):
            break
        unit = wider * max(raw, float(np.abs(left).max(initial=0.0)))
        small = cells / scale <= TINY * unit
        steep = max(unit, float(np.abs(slope[~small]).max(initial=0.0)), float(-slope.min(initial=0.0)))
        free = ~small | (slope <= FAR * steep)
        cells = np.where(free, cells, 0.0)
        left = program.heights * left_over(exact, cells, totals)
        for row in np.flatnonzero((left > 0) & ~(abs(program.exact[:, free]).sum(axis=1) > 0)):
            # A total that is small beside the others, all of whose cells were put to 0: the multiplier that lets the best rise.
            entries = program.exact[[row]].toarray().ravel()
            if (there := entries > 0).any():
                rise = (slope[there] / entries[there]).min()
                multipliers[row] -= rise
                slope = slope - entries * rise
                free = free | (there & (slope <= FAR * steep))
        found = program.step(cells / scale, slope, left, unit, steep, free)
        far = found is None or max(float(np.abs(part).max(initial=0.0)) for part in found) > FAR**2
        if found is None or far or (not left.any() and program.climbed(found[0], slope, unit)):
            wider *= FAR  # the solver lost its way, and has more room in coarser units
            continue
        wide = float(np.abs(found[0]).max(initial=0.0)) > FAR / 2
        wider = wider * FAR if wide else max(1.0, wider / FAR)
        # Slopes that are no more than rounding say nothing of how far small numbers beside large ones are from their best:
        # that says the program, once more, for what is left.
        polished = least <= SAME / 10 and not wide
        cells = np.maximum(cells + scale * unit * found[0], 0.0)
        multipliers = multipliers + steep * found[1]
    if best is None or at_last > SAME:
        return None
    blunt = _cell_units(sums, errors, np.maximum, 0.0)
    off = np.abs(np.minimum(best.cells / scale, best.slopes * scale)) * blunt / scale
    return replace(best, off=float(off.max(initial=0.0)))


def told_by(exact: Any, sums: Any) -> NDArray[np.bool_]:
    """Which sums, (K,), the exact totals tell: whatever x is, they are the same. Their small errors beside large numbers would
    hide what the others say. Where A is large, only sums that are a row of it."""
    if not exact.shape[0]:
        return np.zeros(sums.shape[0], dtype=bool)
    if exact.shape[0] * exact.shape[1] > DENSE:
        rows = {_entries(exact, k) for k in range(exact.shape[0])}
        return np.array([_entries(sums, k) in rows for k in range(sums.shape[0])], dtype=bool)
    _, sizes, span = np.linalg.svd(exact.toarray(), full_matrices=False)
    span = span[sizes > 1e-9 * sizes.max(initial=1.0)]
    beside = np.asarray(sums.toarray() - (sums @ span.T) @ span)
    return np.asarray(np.abs(beside).max(axis=1, initial=0.0) <= 1e-9 * (1 + abs(sums).max(axis=1).toarray().ravel()))


def _entries(rows: Any, k: int) -> tuple[tuple[int, float], ...]:
    there = slice(rows.indptr[k], rows.indptr[k + 1])
    return tuple(sorted(zip(rows.indices[there].tolist(), rows.data[there].tolist(), strict=True)))


def kept(exact: Any, cells: Array, totals: Array) -> bool:
    """Is `A x = t`, as floats tell it, row by row?"""
    size = 1 + abs(exact) @ np.abs(cells) + np.abs(totals)
    return bool((np.abs(left_over(exact, cells, totals)) <= KEPT * size).all())


def _missed(cells: Array, slope: Array, rounding: Array) -> float:
    """By how much cells and slopes, in units, miss that both are at least 0 and one of them is 0, but for rounding."""
    real = np.sign(slope) * np.maximum(np.abs(slope) - 2 * rounding, 0.0)
    return float(np.abs(np.minimum(cells, real)).max(initial=0.0))


def _largest_together(exact: Any, cells: Array) -> Array:
    """For each cell, (N,), the largest of those that it shares a row of A with, whose spacing it has to make up for."""
    largest = (exact != 0).multiply(cells).max(axis=1).toarray().ravel() if exact.shape[0] else np.zeros(0)
    shared = (exact != 0).T.multiply(largest).max(axis=1).toarray().ravel() if len(largest) else np.zeros(len(cells))
    return np.asarray(shared, dtype=np.float64)


def none_at_all(exact: Any, totals: Array) -> bool:
    """Has no `x >= 0` the totals `A x = t`, as a y with `A'y <= 0` and `t'y > 0` proves (Farkas)? A linear program (HiGHS), of
    least distance from the totals, proposes it; it is rounded to whole multiples of 1 / PARTS and checked in whole numbers.
    Entries of A are small and whole. False where nothing is proven.

    >>> from scipy.sparse import csr_array
    >>> rows = csr_array([[1, 1, 0], [0, 1, 1], [1, 2, 1]])
    >>> none_at_all(rows, np.array([1.0, 2.0, 3.0])), none_at_all(rows, np.array([1.0, 2.0, 4.0]))
    (False, True)
    """
    from scipy.sparse import csr_array, eye_array, hstack

    rows, exact = len(totals), csr_array(exact)
    if not rows:
        return False
    unit = max(1.0, float(np.abs(totals).max()))
    found = linear_program(
        np.concatenate([np.zeros(exact.shape[1]), np.ones(2 * rows)]),
        A_eq=hstack([exact, eye_array(rows), -eye_array(rows)]).tocsr(),
        b_eq=totals / unit,
        bounds=(0, None),
    )
    if found.status != 0:
        return False
    steep = np.rint(PARTS * found.eqlin.marginals)
    if (exact.data != np.rint(exact.data)).any() or (exact.T @ steep).max(initial=0.0) > 0:
        return False
    return sum((Fraction(t) * int(y) for t, y in zip(totals.tolist(), steep.tolist(), strict=True)), Fraction(0)) > 0


def _cell_units(sums: Any, errors: Array, of_two: np.ufunc = np.minimum, most: float = np.inf) -> Array:
    """For each cell the least standard error of the sums that it enters (or the largest, with 0 for `most`); the largest of all
    where it enters none."""
    units = np.full(sums.shape[1], most)
    of_two.at(units, sums.indices, np.repeat(errors, np.diff(sums.indptr)))
    return np.where((units > 0) & np.isfinite(units), units, errors.max(initial=1.0))


def _scaled_rows(rows: Any) -> tuple[Any, Array]:
    """Rows whose largest entry is 1, and what they were multiplied by."""
    from scipy.sparse import csr_array, diags_array

    largest = np.asarray(abs(rows).max(axis=1).todense()).ravel() if rows.shape[0] else np.zeros(0)
    heights = 1 / np.where(largest > 0, largest, 1.0)
    return csr_array(diags_array(heights) @ rows) if len(heights) else rows, heights


@dataclass(frozen=True, eq=False)
class _LeastSquares:
    """S and A in units of standard errors, the factors of the rows of A, and what x leaves of the answers, in those units."""

    sums: Any
    exact: Any
    heights: Array
    off: Callable[[Array], Array]

    def slope(self, cells: Array, multipliers: Array) -> Array:
        """The gradient at x, (N,), of the sum of squares and of the multiples of A."""
        return np.asarray(self.exact.T @ multipliers - 2 * (self.sums.T @ self.off(cells)), dtype=np.float64)

    def climbed(self, step: Array, slope: Array, unit: float) -> bool:
        """Does a step go up by more than a unit, which that of length 0 does not?"""
        return bool(unit * ((self.sums @ step) ** 2).sum() + slope @ step > unit)

    def step(
        self, cells: Array, slope: Array, left: Array, unit: float, steep: float, free: NDArray[np.bool_]
    ) -> tuple[Array, Array] | None:
        """The v of least `unit |S v|^2 / steep + slope v / steep`, `A v = left / unit` and `v >= -cells / unit`, 0 where it is
        not free, and the multipliers of A. Bounds that are far away are left at `FAR`."""
        from scipy.sparse import csr_array, eye_array, hstack

        kinds, size = self.sums.shape[0], int(free.sum())
        rows = abs(self.exact[:, free]).sum(axis=1) > 0
        exact, held = self.exact[rows][:, free], int(rows.sum())
        blocks = [
            ConicBlock(hstack([exact, csr_array((held, kinds))]), left[rows] / unit, [("zero", held)]),
            ConicBlock(hstack([self.sums[:, free], -eye_array(kinds)]), np.zeros(kinds), [("zero", kinds)]),
            ConicBlock(
                hstack([-eye_array(size), csr_array((size, kinds))]),
                np.minimum(cells[free] / unit, FAR),
                [("nonnegative", size)],
            ),
        ]
        curvature = np.concatenate([np.zeros(size), np.full(kinds, 2.0 * unit / steep)])
        found = solve_conic(curvature, np.concatenate([slope[free] / steep, np.zeros(kinds)]), blocks)
        if found is None:
            return None
        step, moved = np.zeros(len(cells)), np.zeros(len(left))
        step[free], moved[rows] = found[0][:size], found[1][0]
        return step, moved


# Multiplicative weights: move a distribution over N points towards measured values of linear functions of it.
#
# Weights are kept as logarithms, so no sequence of measurements overflows or loses a point for ever.


def distribution(logs: Array) -> Array:
    """The distribution with these log-weights, (N,).

    >>> distribution(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def updated(logs: Array, row: Array, value: float, rate: float) -> Array:
    """Log-weights, the largest 0, after one step `w_i *= exp(rate * row_i * (value - row . p))`, p the distribution before it.

    With `rate = 4 / R^2`, R the range of the row, the relative entropy to any distribution b falls by at least
    `2 / R^2 * ((row . (p - b))^2 - (value - row . b)^2)`, by Hoeffding's lemma (docs/theory/synthetic.md, 4).

    >>> updated(np.zeros(2), np.array([0.0, 1.0]), 0.75, 4.0).tolist()
    [-1.0, 0.0]
    """
    moved = logs + rate * (value - float(row @ distribution(logs))) * row
    return np.asarray(moved - moved.max())


def replayed(logs: Array, rows: Sequence[Array], values: Sequence[float], rate: float, passes: int) -> Array:
    """Log-weights after `passes` rounds through all measurements in turn."""
    for _ in range(passes):
        for row, value in zip(rows, values, strict=True):
            logs = updated(logs, row, value, rate)
    return logs


# Whole counts over a product of attributes whose tables are near given ones.
#
# `min sum_B w_B ||M_B h - t_B||^2` over `h >= 0` (`solvers.programs.nearest_sums`; of more than `MOST` counts by accelerated
# projected gradients), then whole numbers whose running totals are those of the real solution up to one, then single records
# moved, added or taken away while the sum of squares falls. What comes out are tables of one array of counts: they are
# nonnegative, whole, and agree wherever they share attributes. That no other array is nearer is not claimed
# (docs/theory/marginals.md, 6).


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
