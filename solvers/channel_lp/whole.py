"""Tables of whole numbers over one denominator that keep every ratio exactly, near a table of floats.

Ratios r (N, N) are floats, each a rational number; infinite where nothing is asked. Whole numbers n
(N, M) keep them when `n_xz <= r(x, x') n_x'z` for all x, x', z. Derivations in docs/theory/columns.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.channel_lp.cone import Array, Indices
from solvers.limits import MOST_NUMERATOR_BITS
from solvers.work import spend

Whole = NDArray[np.int64]
BITS = 48  # of the denominator: steps of 3.6e-15, which doubles, and numbers of JavaScript, hold exactly
SURE = 2.0**-50  # far above what a product of two floats is off by: what is so much smaller need not be asked exactly
AGAIN = 60  # times that the slack may double: beyond, there is none


class NoSlack(Exception):
    """The denominator is too coarse for these ratios; the message says so."""


@dataclass(frozen=True, eq=False)
class WholeTable:
    """`K = numerators / 2^bits`, numerators (N, M) of at least 0, rows that sum to `2^bits`; slack: units that every entry was
    given so that rounding breaks no ratio."""

    numerators: Whole
    bits: int
    slack: int

    def floats(self) -> Array:
        """K, exactly."""
        return np.asarray(np.ldexp(self.numerators.astype(float), -self.bits))


def whole_table(table: ArrayLike, ratios: ArrayLike, allowed: ArrayLike | None = None, bits: int = BITS) -> WholeTable:
    """Whole numbers near `table` (N, M) that keep all ratios exactly and rows that sum to `2^bits`, 0 where not allowed.

    table: floats of at least 0 that keep the ratios, and sum to 1 in rows, but for rounding. allowed: (N, M), alike in all rows
    that finite ratios join. No entry moves by more than the slack and what its row was off. NoSlack where the denominator is
    too coarse; ValueError for what does not fit.

    >>> made = whole_table([[0.7, 0.3], [0.3, 0.7]], [[1.0, 2.3333], [2.3333, 1.0]], bits=20)
    >>> made.numerators.tolist(), made.slack
    ([[733999, 314577], [314577, 733999]], 10)
    """
    k, r = np.asarray(table, dtype=float), np.asarray(ratios, dtype=float)
    may = np.ones(k.shape, dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
    _check(k, r, may, bits)
    one, count = 1 << bits, may.sum(axis=1)
    slack = 1
    for _ in range(AGAIN):
        left = one - count * slack
        if (2 * left < one).any():
            break
        raised = _rounded(np.where(may, k, 0.0), left, may) + np.where(may, slack, 0)
        wanted = max(_wanting(raised, r, slack), int(-raised.min()))
        if wanted <= 0 and not broken_ratios(raised, r):
            return WholeTable(raised, bits, slack)
        slack = max(slack + wanted, slack + 1 + slack // 8)
    least = float(r[r > 1].min(initial=np.inf))
    raise NoSlack(f"2^{bits} is too coarse for ratios down to {least:.9g}, or the table does not keep them: give more bits.")


def _check(k: Array, r: Array, may: NDArray[np.bool_], bits: int) -> None:
    n = len(k)
    if k.ndim != 2 or not np.isfinite(k).all() or not (k >= 0).all():
        raise ValueError(f"table of shape {k.shape}: give finite numbers of at least 0, (N, M).")
    if r.shape != (n, n) or not (r[~np.eye(n, dtype=bool)] > 1).all():
        raise ValueError(f"ratios of shape {r.shape}: give numbers above 1, or inf, off the diagonal, ({n}, {n}).")
    if may.shape != k.shape or not may.any(axis=1).all():
        raise ValueError(
            f"allowed of shape {may.shape}: give one entry for each of the table, {k.shape}, and one report to each row."
        )
    if not 1 <= bits <= MOST_NUMERATOR_BITS:
        raise ValueError(f"bits is {bits}: a whole number from 1 to {MOST_NUMERATOR_BITS}.")
    joined = np.isfinite(r)
    first = joined.argmax(axis=1)
    if not (may == may[first]).all():
        raise ValueError("allowed: what finite ratios join may give the same reports.")


def _rounded(k: Array, sums: Whole, may: NDArray[np.bool_]) -> Whole:
    """Whole numbers near `k sum`, with these sums in rows: what a row is off is spread evenly over what it may give, and units
    that remain go to the largest fractions, the first of equals."""
    exact = k * sums[:, None]
    floor = np.floor(exact)
    whole = floor.astype(np.int64)
    count = may.sum(axis=1)
    each, rest = np.divmod(sums - whole.sum(axis=1), count)
    whole += np.where(may, each[:, None], 0)
    order = np.argsort(np.where(may, floor - exact, 2.0), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(k.shape[1])[None], axis=1)
    return np.asarray(whole + (rank < rest[:, None]))


def _wanting(numbers: Whole, ratios: Array, slack: int) -> int:
    """How many more units for every entry make all ratios hold, with room for rounding; at most 0 where they do."""
    entries, most = numbers.astype(float), -np.inf
    spend(calls=len(entries), entries=4.0 * len(entries) * entries.size)
    for x, row in enumerate(entries):
        others = np.flatnonzero(np.isfinite(ratios[x]) & (np.arange(len(entries)) != x))
        if len(others):
            r = ratios[x, others][:, None]
            with np.errstate(over="ignore"):  # a product beyond floats is beyond every entry
                most = max(most, float(((row * (1 + SURE) - r * entries[others]) / (r - 1)).max()))
    return 0 if most <= 0 else int(np.ceil(most)) + 1


def broken_ratios(numbers: Whole, ratios: ArrayLike) -> int:
    """How many of all `n_xz <= r(x, x') n_x'z` do not hold, exactly; numbers (N, M) from 0 to 2^53, ratios (N, N) of floats.

    Products of floats settle all that they can; what is next to equal is compared in whole numbers.

    >>> broken_ratios(np.array([[3, 1], [1, 3]]), [[1.0, 3.0], [3.0, 1.0]])
    0
    >>> broken_ratios(np.array([[3, 1], [1, 3]]), [[1.0, 3.0 - 2**-51], [3.0, 1.0]])
    1
    """
    r, entries = np.asarray(ratios, dtype=float), numbers.astype(float)
    if numbers.size and (numbers.min() < 0 or numbers.max() > 1 << MOST_NUMERATOR_BITS):
        raise ValueError(f"numbers: whole numbers from 0 to 2^{MOST_NUMERATOR_BITS}, which floats hold exactly.")
    broken = 0
    spend(calls=len(entries), entries=3.0 * len(entries) * entries.size)
    for x, row in enumerate(entries):
        others = np.flatnonzero(np.isfinite(r[x]) & (np.arange(len(entries)) != x))
        with np.errstate(over="ignore"):  # as above
            limits = r[x, others][:, None] * entries[others]
        broken += int((row > limits * (1 + SURE)).sum())
        near, z = np.nonzero((row > limits * (1 - SURE)) & (row <= limits * (1 + SURE)))
        broken += _exactly(numbers, r, x, others[near], z)
    return broken


def _exactly(numbers: Whole, ratios: Array, x: int, others: Indices, reports: Indices) -> int:
    broken = 0
    for y, z in zip(others.tolist(), reports.tolist(), strict=True):
        above, below = float(ratios[x, y]).as_integer_ratio()
        broken += int(numbers[x, z]) * below > int(numbers[y, z]) * above
    return broken


# Columns of the cone by their peaks, and whole numbers that a table of such columns needs to keep its ratios.
#
# A column v is the largest of `v_p exp(-b(x, p))` over its peaks p: of all elements, those that no other makes as large.
# Derivations in docs/theory/columns.md, section 4.


SAME = 1e-7  # of an entry: what other peaks come as near to is no peak
FIRM = 1.01  # of the room that whole numbers take
TRIES = 8


@dataclass(frozen=True)
class PeakTable:
    """columns: of each its report, and its peaks: elements and whole heights. units: what each entry has beside. rest: the
    report that is given what rows are short of `2^bits`."""

    columns: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    units: int
    rest: int
    bits: int


def peaks_of(factors: Array, column: Array, faint: float) -> Indices:
    """The elements, highest first, whose peaks make up a column (N,) of the cone, but for what is below `faint`.

    factors: (N, N), `exp(-b)`.

    >>> factors = np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))))
    >>> peaks_of(factors, np.maximum(factors[0], factors[2]), 1e-9).tolist()
    [0, 2]
    """
    found: list[int] = []
    made = np.zeros_like(column)
    while True:
        missing = np.where((column > made * (1 + SAME)) & (column > faint), column, 0.0)
        place = int(missing.argmax())
        spend(entries=4.0 * len(column))
        if not missing[place]:
            return np.array(found, dtype=np.intp)
        found.append(place)
        made = np.maximum(made, column[place] * factors[place])


def peak_table(budgets: Array, columns: Array, reports: Indices, rest: int, bits: int) -> PeakTable:
    """Columns (N, C) of the cone, whose rows sum to about 1, by peaks of whole heights; `rest` is given what is left.

    What rows are short of `2^bits` has to keep every ratio, too: it is made as large as its differences ask for, next to
    nothing where bits are many. ValueError where that would take more than half.
    """
    factors, total = np.exp(-budgets), 1 << bits
    least = float(budgets[~np.eye(len(budgets), dtype=bool)].min())
    faint = 0.5**bits
    found = [peaks_of(factors, column, faint) for column in columns.T]
    used = [c for c, places in enumerate(found) if len(places)]
    units = int(-1 / np.expm1(-least)) + 2  # floor(A) + u <= e^b (floor(A') + u) for u >= 1 / (1 - e^-b)
    room = units * (len(used) + 1)
    for _ in range(TRIES):
        heights = [np.floor(columns[found[c], c] * (total - room)) for c in used]
        sums = np.zeros(len(budgets))
        for c, tall in zip(used, heights, strict=True):
            sums += np.floor((tall[:, None] * factors[found[c]]).max(axis=0)) + units
        short = total - sums
        wanted = float(np.ptp(short)) / np.expm1(least) * FIRM + 2 * units
        if short.min() >= wanted:
            listed = tuple(
                (int(reports[c]), tuple(zip(found[c].tolist(), tall.astype(np.int64).tolist(), strict=True)))
                for c, tall in zip(used, heights, strict=True)
            )
            return PeakTable(listed, units, rest, bits)
        room += int(FIRM * (wanted - short.min())) + units
        if 2 * room > total:
            break
    raise ValueError(f"2^{bits} is too coarse for budgets down to {least:.9g}: give more bits.")
