"""Real numbers as balls: decisions at whatever precision they take, floats and rationals rounded to a stated side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from flint import arb, fmpz_poly


# The working precision of ball arithmetic: FLINT has one for the whole process, so one thread at a time may set it.


_held = RLock()


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Compute with balls of `bits` bits in this block.
    Other threads wait at theirs: they would change the precision in the middle of it."""
    from flint import ctx

    with _held, ctx.workprec(bits):
        yield


def precision() -> int:
    """The working precision in bits."""
    from flint import ctx

    return int(ctx.prec)


Answer = TypeVar("Answer")
Real = Callable[[], "arb"]

FIRST_BITS, LAST_BITS = 128, 4096
# A ball this much finer than a float settles which float is next to the number, but for a chance of 2^-20.
FLOAT_BITS = 73


def decided(question: Callable[[], Answer | None]) -> Answer | None:
    """The answer to a question in ball arithmetic, asked at 128, 256, ... 4096 bits until it is not None."""
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with working_precision(bits):
            if (answer := question()) is not None:
                return answer
        bits *= 2
    return None


def sign(real: Real) -> int:
    """The sign of a real number; 0 where its first 4096 bits do not tell it from zero."""
    return decided(lambda: sign_of(real())) or 0


def sign_of(ball: arb) -> int | None:
    """The sign that every number of a ball has, or None."""
    if ball > 0:
        return 1
    if ball < 0:
        return -1
    return 0 if ball.is_zero() else None


def sharp(real: Real, bits: int = FLOAT_BITS) -> arb:
    """A ball around a real number of relative accuracy 2^-bits, or the finest found for a number that is (next to) zero."""
    precision = max(FIRST_BITS, 2 * bits)
    while True:
        with working_precision(precision):
            ball = real()
        if ball.rel_accuracy_bits() >= bits or precision > LAST_BITS:
            return ball
        precision *= 2


def float_above_real(real: Real) -> float:
    """A float proven to be at least the real number; the next one above it unless the number is within 2^-73 of a float.

    >>> from flint import arb
    >>> float_above_real(lambda: arb(1) / 3) == math.nextafter(1 / 3, 1), float_above_real(lambda: arb(2) ** -2000)
    (True, 5e-324)
    """
    from flint import arb

    ball = sharp(real)
    if not ball.is_finite():
        return math.inf
    value = float(ball)
    while not arb(value) >= ball:
        value = math.nextafter(value, math.inf)
    return value


def float_below_real(real: Real) -> float:
    """A float proven to be at most the real number; see `float_above_real`."""
    return 0.0 - float_above_real(lambda: -real())  # never -0.0


def fraction_below(real: Real, bits: int = 160) -> Fraction:
    """A multiple of 2^-bits proven to be at most the real number, and within 2^(1 - bits) of it.

    >>> from flint import arb
    >>> fraction_below(lambda: arb(1) / 3, bits=4)
    Fraction(5, 16)
    """

    def question() -> int | None:
        scaled = real() * 2**bits
        lower, upper = scaled.lower().floor().unique_fmpz(), scaled.upper().floor().unique_fmpz()
        return None if lower is None or upper is None or int(upper) - int(lower) > 1 else int(lower)

    precision = bits + FIRST_BITS
    while precision < bits + 16 * LAST_BITS:
        with working_precision(precision):
            if (floor := question()) is not None:
                return Fraction(floor, 1 << bits)
        precision *= 2
    raise ArithmeticError("a real number could not be enclosed at any precision tried.")


def fraction_above(real: Real, bits: int = 160) -> Fraction:
    """A multiple of 2^-bits proven to be at least the real number."""
    return -fraction_below(lambda: -real(), bits)


def normal_cdf(x: arb) -> arb:
    """Phi(x), of full relative accuracy in both tails."""
    from flint import arb

    tail: arb = (-x / arb(2).sqrt()).erfc() / 2
    return tail


def normal_quantile(p: arb) -> arb:
    """The inverse of Phi; accurate for small p. A ball that leaves (0, 1) has no finite quantile: the result is not finite."""
    from flint import arb

    quantile: arb = -arb(2).sqrt() * (2 * p).erfcinv()
    return quantile


def exp_ball(exponent: Fraction) -> arb:
    """The exponential of a rational."""
    power: arb = rational_ball(exponent).exp()
    return power


def rational_ball(number: Fraction) -> arb:
    """A ball around a rational number, at the working precision."""
    from flint import arb, fmpq

    ball: arb = arb(fmpq(number.numerator, number.denominator))
    return ball


# Nonnegative masses at whole numbers in fixed point: convolved exactly by FLINT, and rounded to one stated side.
#
# A mass function is a polynomial with integer coefficients in units of 2^-bits. Products of such polynomials are exact; what
# is cut off afterwards goes to the stated side, so a chain of products is a proven bound of what it stands for.


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
