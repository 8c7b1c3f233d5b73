"""Columns of the cone by their peaks, and whole numbers that a table of such columns needs to keep its ratios.

A column v is the largest of `v_p exp(-b(x, p))` over its peaks p: of all elements, those that no other makes as large.
Derivations in docs/theory/columns.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns.cone import Array, Indices
from solvers.work import spend

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
