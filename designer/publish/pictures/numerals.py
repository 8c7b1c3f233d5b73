"""Numbers as people read them: few digits, thousands apart, powers of ten as powers."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from designer.base.display import number_text, rounded, settled

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "\u2212"
PLAIN = range(-4, 6)  # decimal exponents that are written out


def for_people(value: float, digits: int = 3) -> str:
    """A number with so many digits that count, thousands apart, beyond a million and below a ten-thousandth by powers of ten.

    >>> [for_people(x) for x in (1234567.0, 12345.6, -0.5, 0.00001234, 3.0)] == [
    ...     "1.23×10⁶", "12,300", "\u22120.5", "1.23×10⁻⁵", "3"]
    True
    """
    if not math.isfinite(value):
        return _beyond(value)
    number = rounded(abs(float(value)), digits, ROUND_HALF_EVEN)
    return (MINUS if value < 0 else "") + _text(number)


def no_less(value: float, digits: int = 3) -> str:
    """A size, rounded up, as pages and tables write it: for losses and errors.

    >>> no_less(1310.96), no_less(4.000000000000001)
    ('1,320', '4')
    """
    return _text(settled(float(value), digits)) if math.isfinite(value) else _beyond(value)


def _text(number: Decimal) -> str:
    return number_text(number, PLAIN, lambda exponent: f"×10{str(exponent).translate(_RAISED)}")


def _beyond(value: float) -> str:
    return "unknown" if math.isnan(value) else "∞" if value > 0 else f"{MINUS}∞"


def ticks_for_people(axis: Any) -> None:
    """Let an axis of matplotlib write its numbers so. A logarithmic one that spans less than a power of ten or two also writes
    the numbers between the powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, place: for_people(value, 10)))
    if axis.get_scale() == "log":
        low, high = sorted(axis.get_view_interval())
        decades = math.log10(high / low) if low > 0 else 9.0
        if decades < 2.2:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades > 0.6 else tuple(range(1, 10))))
        axis.set_minor_formatter(NullFormatter())
