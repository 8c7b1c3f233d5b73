"""Nonnegative masses at whole numbers in fixed point: convolved exactly by FLINT, and rounded to one stated side.

A mass function is a polynomial with integer coefficients in units of 2^-bits. Products of such polynomials are exact; what is
cut off afterwards goes to the stated side, so a chain of products is a proven bound of what it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import fmpz_poly

TAIL = 24  # tails below 2^(TAIL - bits) are folded away


@dataclass(frozen=True)
class Masses:
    """`units[k]` 2^-bits at the place `first + k`, and `beyond` 2^-bits at infinity.

    upward: every mass is rounded up and tails move to higher places; else down, and tails are dropped. So sums
    `sum m(k) g(k)` of a nonnegative g that rises with the place err to that side.

    >>> coin = Masses.of(-1, [1 << 63, 0, 1 << 63], 0, 64, upward=True)
    >>> [int(c) >> 60 for c in coin.power(3).units.coeffs()], coin.power(3).first
    ([2, 0, 6, 0, 6, 0, 2], -3)
    """

    first: int
    units: fmpz_poly
    beyond: int
    bits: int
    upward: bool

    @classmethod
    def of(cls, first: int, units: Sequence[int], beyond: int, bits: int, *, upward: bool) -> Masses:
        """Masses of whole numbers of units."""
        from flint import fmpz_poly

        return cls(first, fmpz_poly(list(units)), beyond, bits, upward).trimmed()

    def __mul__(self, other: Masses) -> Masses:
        """The law of the sum of two independent places."""
        both = int(self.units(1)) * other.beyond + self.beyond * (int(other.units(1)) + other.beyond)
        product = Masses(
            self.first + other.first,
            -(-(self.units * other.units) // self._one) if self.upward else (self.units * other.units) // self._one,
            -(-both // self._one) if self.upward else both // self._one,
            self.bits,
            self.upward,
        )
        return product.trimmed()

    @property
    def _one(self) -> int:
        return 1 << self.bits

    def power(self, times: int) -> Masses:
        """The law of the sum of `times` independent places, by repeated squaring."""
        square, result = self, None
        while times:
            if times % 2:
                result = square if result is None else result * square
            times //= 2
            square = square * square if times else square
        assert result is not None, "a power of at least one"
        return result

    def trimmed(self) -> Masses:
        """Without tails too small to matter: upward, the higher one goes to infinity and the lower one to the lowest place
        that is kept; downward, both are dropped."""
        coefficients = [int(c) for c in self.units.coeffs()]
        low, bottom = _short(coefficients)
        high, top = _short(coefficients[::-1])
        kept = coefficients[low : len(coefficients) - high] or [0]
        if self.upward:
            kept[0] += bottom
        return self._with(self.first + low, kept, self.beyond + (top if self.upward else 0))

    def _with(self, first: int, coefficients: list[int], beyond: int) -> Masses:
        from flint import fmpz_poly

        return Masses(first, fmpz_poly(coefficients), beyond, self.bits, self.upward)


def _short(coefficients: list[int]) -> tuple[int, int]:
    """How many of the first coefficients add up to at most 2^TAIL, and their sum; one is always left."""
    total = 0
    for count, after in enumerate(accumulate(coefficients[:-1])):
        if after > 1 << TAIL:
            return count, total
        total = after
    return max(0, len(coefficients) - 1), total
