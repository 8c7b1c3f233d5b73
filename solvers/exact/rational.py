"""Exact arithmetic on rationals: roots with a known direction, ranks, and floats rounded to a stated side.

Where each side is needed: docs/theory/foundations.md, section 2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from math import inf, isqrt, nextafter
from sys import float_info
from typing import NamedTuple

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


# The cube with its corners cut, `{u in [0, 1]^s : sum u <= cap}`: volume and moments as exact rationals.
#
# The volume is the distribution function of Irwin and Hall: that of a sum of s uniform numbers, at the cap. Derivation:
# docs/theory/bundles.md, section 5.


class CappedCube(NamedTuple):
    """volume: `P(sum u <= cap)`. mean, square: `E u_1` and `E u_1^2` of u uniform on the body."""

    volume: Fraction
    mean: Fraction
    square: Fraction


@lru_cache(256)
def capped_cube(dimension: int, cap: Fraction) -> CappedCube:
    """Volume and moments of the body in `dimension` s >= 1 for a cap > 0; above s the cap does not bind.

    >>> capped_cube(2, Fraction(1))  # a triangle
    CappedCube(volume=Fraction(1, 2), mean=Fraction(1, 3), square=Fraction(1, 6))
    """
    cap = min(cap, Fraction(dimension))
    volume, first, second = (_integral(dimension, cap, power) for power in range(3))
    return CappedCube(volume, first / volume, second / volume)


def _integral(s: int, cap: Fraction, power: int) -> Fraction:
    """The integral of `u_1^power` over the body.

    `F(x) = sum_j (-1)^j C(s-1, j) (x - j)_+^(s-1) / (s-1)!` is the volume in the other coordinates, x = cap - u_1. Over u_1
    from 0 the power p of u_1 times one term gives `p! (cap - j)_+^(s+p) / (s+p)!`; from 1, with u_1 = 1 + x, it gives
    `sum_i C(p, i) i! (cap - 1 - j)_+^(s+i) / (s+i)!`.
    """
    above = math.factorial(power) * _alternating(s, cap, s + power)
    beyond = (math.perm(power, i) * _alternating(s, cap - 1, s + i) for i in range(power + 1))
    return above - sum(beyond, Fraction(0))


def _alternating(s: int, x: Fraction, m: int) -> Fraction:
    """`sum_j (-1)^j C(s-1, j) (x - j)_+^m / m!`, in integers."""
    n, d = x.numerator, x.denominator
    whole = sum((-1) ** j * math.comb(s - 1, j) * (n - j * d) ** m for j in range(s) if n > j * d)
    return Fraction(whole, d**m * math.factorial(m))
