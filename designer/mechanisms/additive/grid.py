"""The grid on which answers live: coordinate k is an integer multiple of `2^exponent_k`.

Floating-point noise betrays the data through the low bits of its outputs (Mironov 2012). On a grid that was fixed before the
data were seen, and that contains every protected difference,
neighbours reach exactly the same outputs (docs/theory/foundations.md, 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import count
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.schema import list_of, noted, whole

# Steps of 2^-40 noise scales: rounding a query moves the answer over n records by at most n 2^-41 scales.
FINENESS = 40
# Where noise is so wide that these steps would swallow the entries themselves, steps keep 2^-30 of the largest entry, as long
# as the noise still fits 64-bit integers in every sampler: no finer than 2^-48 scales.
ENTRY_FINENESS, FINEST = 30, 48
# Largest multiple of the step among the entries of the matrix; sums with noise then stay exact in float64 and int64.
LARGEST = 2**52


@dataclass(frozen=True)
class Grid:
    """Steps `2^exponents[k]`, one for each measured coordinate."""

    exponents: tuple[int, ...]
    schema = noted("Exponents e: measured answer k is a multiple of 2^e_k.", list_of(whole(least=-1999, most=1999)))

    def __post_init__(self) -> None:
        assign(self, exponents=tuple(count(e, "grid.exponents", least=-2000) for e in self.exponents))

    @classmethod
    def for_scales(cls, matrix: Floats, scales: Floats, *, whole: bool = False) -> Grid:
        """Steps of about `2^-FINENESS` noise scales, coarser only where the entries of `matrix` would exceed `LARGEST` steps,
        finer only where noise is more than 1,000 times wider than the entries.

        A coordinate without noise (scale 0) gets the coarsest grid that holds its entries exactly, if they fit.
        whole: every coordinate gets that grid, unless the one of its scale is coarser: whole numbers for whole numbers.
        matrix: (R, N). scales: (R,), in the units of the answers.
        """
        exponents = [_exponent(row, float(scale)) for row, scale in zip(matrix, scales, strict=True)]
        if whole:
            exponents = [max(fine, coarsest_exponent(row)) for fine, row in zip(exponents, matrix, strict=True)]
        return cls(tuple(exponents))

    @property
    def steps(self) -> Floats:
        """The steps as floats, exact powers of two."""
        return np.ldexp(1.0, np.array(self.exponents, dtype=np.int64))

    def step(self, k: int) -> Fraction:
        """One step as a rational number."""
        return Fraction(2) ** self.exponents[k]

    def integers(self, matrix: Floats) -> NDArray[np.int64]:
        """Each row of `matrix` rounded to multiples of its step.

        matrix: (R, N). Returns (R, N). `InvalidProblem` beyond 2^52 steps.
        """
        with np.errstate(over="ignore"):
            multiples = np.rint(np.ldexp(matrix, -np.array(self.exponents, dtype=np.int64)[:, None]))
        if (np.abs(multiples) > LARGEST).any():
            k = int(np.argwhere(np.abs(multiples) > LARGEST)[0][0])
            raise InvalidProblem(
                f"grid.exponents[{k}]: {self.exponents[k]} makes entries beyond 2^52 steps; use a larger exponent."
            )
        integers = np.asarray(multiples, dtype=np.int64)
        with np.errstate(over="ignore"):
            if not np.isfinite(self.values(integers)).all():
                raise InvalidProblem("grid.exponents: entries round to numbers beyond the floats; use a smaller exponent.")
        return integers

    def values(self, integers: NDArray[np.int64]) -> Floats:
        """The multiples as floats; exact below 2^53 steps. Coordinates run along the first axis.

        integers: (R, ...). Returns the same shape, in the units of the answers.
        """
        return np.ldexp(
            integers.astype(np.float64), np.array(self.exponents, dtype=np.int64).reshape(-1, *[1] * (integers.ndim - 1))
        )


def coarsest_exponent(row: Floats) -> int:
    """The largest e such that every entry is a multiple of 2^e.

    row: (N,); 0 where all entries are 0.

    >>> coarsest_exponent(np.array([6.0, 4.0])), coarsest_exponent(np.array([0.75]))
    (1, -2)
    """
    mantissas, exponents = np.frexp(row[row != 0])
    if not len(mantissas):
        return 0
    integers = (mantissas * 2.0**53).astype(np.int64)
    trailing = np.log2((integers & -integers).astype(np.float64))
    return int((exponents - 53 + trailing).min())


def _exponent(row: Floats, scale: float) -> int:
    largest = float(np.abs(row).max())
    least = int(np.frexp(largest)[1]) - 52 if largest else -1022
    if scale == 0.0:
        return max(least, min(0, coarsest_exponent(row)))
    width = int(np.frexp(scale)[1]) - 1
    for_entries = int(np.frexp(largest)[1]) - 1 - ENTRY_FINENESS if largest else width
    return max(least, min(width - FINENESS, max(for_entries, width - FINEST)))
