"""Real numbers as balls: decisions at whatever precision they take, floats and rationals rounded to a stated side."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from solvers.exact.bits import working_precision

if TYPE_CHECKING:
    from flint import arb

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
