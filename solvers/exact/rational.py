"""Exact arithmetic on rationals: roots with a known direction, ranks, and floats rounded to a stated side.

Where each side is needed: docs/theory/foundations.md, section 2.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isqrt, nextafter
from sys import float_info

import numpy as np
from numpy.typing import NDArray

max_float = float_info.max


def root_below(square: Fraction) -> Fraction:
    """A rational r with `sqrt(square) (1 - 2^-80) <= r <= sqrt(square)`, exact for squares of short rationals.

    >>> root_below(Fraction(25, 4))
    Fraction(5, 2)
    """
    if square == 0:
        return Fraction(0)
    shift = 84 + max(0, (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + 1)
    return Fraction(isqrt((square.numerator << 2 * shift) // square.denominator), 1 << shift)


def root_above(square: Fraction) -> Fraction:
    """A rational r with `sqrt(square) <= r <= sqrt(square) (1 + 2^-79)`, exact for squares of short rationals.

    >>> root_above(Fraction(2)) ** 2 > 2 and root_above(Fraction(25, 4)) == Fraction(5, 2)
    True
    """
    low = root_below(square)
    return low if low * low == square else low * (1 + Fraction(1, 1 << 79))


def float_below(value: Fraction) -> float:
    """The largest float at most `value`; beyond the floats, minus infinity or the largest of them."""
    try:
        nearest = float(value)
    except OverflowError:
        return max_float if value > 0 else -inf
    return nearest if Fraction(nearest) <= value else nextafter(nearest, -inf)


def float_above(value: Fraction) -> float:
    """The smallest float at least `value`."""
    return 0.0 - float_below(-value)  # never -0.0


def last_float_above(value: Fraction) -> float:
    """The smallest float at least `value`; the last of them for what is beyond.

    >>> last_float_above(Fraction(10**400)) == max_float, last_float_above(Fraction(1, 3)) == nextafter(1 / 3, 1)
    (True, True)
    """
    return min(float_above(value), max_float)


def exact_rank(matrix: NDArray[np.float64]) -> int:
    """Rank over the rationals of a matrix of float64 numbers.

    >>> exact_rank(np.array([[0.1, 0.2], [0.2, 0.4]])), exact_rank(np.array([[0.1, 0.3], [0.2, 0.6000000000000001]]))
    (1, 2)
    """
    return integer_rank(dyadic_integers(matrix)[0])


def integer_rank(rows: list[list[int]]) -> int:
    """Rank over the rationals of a matrix of integers, given as rows."""
    from flint import fmpz_mat

    return int(fmpz_mat(rows).rank()) if rows and rows[0] else 0


def dyadic_integers(matrix: NDArray[np.float64]) -> tuple[list[list[int]], int]:
    """Integers n and an exponent e with `matrix = n 2^e` exactly; matrix (m, n), finite, n as m lists."""
    mantissas, exponents = np.frexp(matrix)
    low = int(exponents[matrix != 0].min(initial=53)) - 53
    rows = [
        [int(m * 2.0**53) << max(0, int(e) - 53 - low) for m, e in zip(ms, es, strict=True)]
        for ms, es in zip(mantissas, exponents, strict=True)
    ]
    return rows, low
