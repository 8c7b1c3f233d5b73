"""Numbers for people: few digits, thousands separated, and rounded to the side on which what is said stays true.

Losses, errors and what privacy costs are never shown below what they are, bounds from below and efficiencies never above.
Figures that files compare are written with all their digits, elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

DIGITS = 4
# Of two floats that different machines compute from the same numbers, relative: that far off, a round number is itself.
SAME = Decimal("1e-9")
PLAIN = range(-4, 12)  # decimal exponents that are written out


def at_most(value: float, digits: int = DIGITS) -> str:
    """A number with so many digits, rounded up: for losses, errors, budgets.

    >>> at_most(15.6707), at_most(1402739.9), at_most(16.000000000001), at_most(2.5e-7), at_most(math.inf)
    ('15.68', '1,403,000', '16', '2.5e-7', 'infinite')
    """
    return _written(value, digits, ROUND_CEILING)


def at_least(value: float, digits: int = DIGITS) -> str:
    """A number with so many digits, rounded down: for bounds from below, efficiencies, gains.

    >>> at_least(1.2348), at_least(1402739.9), at_least(0.0), at_least(0.99999999999)
    ('1.234', '1,402,000', '0', '1')
    """
    return _written(value, digits, ROUND_FLOOR)


def closest(value: float | Fraction, digits: int = DIGITS) -> str:
    """A number with so many digits, which claims nothing.

    >>> closest(5.642151), closest(-1234567.0, 7), closest(1e15)
    ('5.642', '-1,234,567', '1e+15')
    """
    return _written(value, digits, ROUND_HALF_EVEN)


def share_at_least(value: float) -> str:
    """A share of 1 in percent with a digit behind the point, rounded down.

    >>> share_at_least(0.24613), share_at_least(1.0), share_at_least(0.00001)
    ('24.6 %', '100 %', '0.001 %')
    """
    return f"{at_least(100 * value, 3)} %"


def share_at_most(value: float) -> str:
    """A share of 1 in percent with two digits, rounded up; what is far below a thousandth of a percent is not told apart.

    >>> share_at_most(0.0123), share_at_most(3e-12), share_at_most(0.0)
    ('1.3 %', '< 0.0001 %', '0 %')
    """
    return "< 0.0001 %" if 0 < value < 1e-6 else f"{at_most(100 * value, 2)} %"


def rounded(value: float | Fraction, digits: int, direction: str) -> Decimal:
    """A finite number with so many digits, strictly on the side that is asked for (a rounding of `decimal`); no trailing zeros.

    >>> rounded(16.000000000001, 4, ROUND_CEILING), rounded(Fraction(2, 3), 3, ROUND_FLOOR), rounded(-0.0, 3, ROUND_FLOOR)
    (Decimal('16.01'), Decimal('0.666'), Decimal('0'))
    """
    exact, context = Fraction(value), Context(prec=digits, rounding=direction)
    short = context.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(context)
    return short if short else Decimal(0)


def number_text(number: Decimal, plain: range, power: Callable[[int], str]) -> str:
    """A number in full, thousands separated, where its decimal exponent is in `plain`; elsewhere from 1 to 10 and with `power`
    of the exponent.

    >>> number_text(Decimal("12.5"), PLAIN, "e{:+d}".format), number_text(Decimal("1.25E+20"), PLAIN, "e{:+d}".format)
    ('12.5', '1.25e+20')
    """
    exponent = number.adjusted()
    if not number or exponent in plain:
        return f"{number:,f}"
    return f"{number.scaleb(-exponent):f}{power(exponent)}"


def settled(value: float | Fraction, digits: int, direction: str = ROUND_CEILING) -> Decimal:
    """The same, but for digits in which machines differ: a number that is so near to a round one is that one.

    >>> settled(16.000000000001, 4), settled(16.0001, 4)
    (Decimal('16'), Decimal('16.01'))
    """
    close = rounded(value, digits, ROUND_HALF_EVEN)
    near = abs(Fraction(close) - Fraction(value)) <= Fraction(SAME) * abs(Fraction(value))
    return close if near else rounded(value, digits, direction)


def _written(value: float | Fraction, digits: int, direction: str) -> str:
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    return number_text(settled(value, digits, direction), PLAIN, "e{:+d}".format)
