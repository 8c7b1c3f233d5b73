"""The cube with its corners cut, `{u in [0, 1]^s : sum u <= cap}`: volume and moments as exact rationals.

The volume is the distribution function of Irwin and Hall: that of a sum of s uniform numbers, at the cap. Derivation:
docs/theory/bundles.md, section 5.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


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
