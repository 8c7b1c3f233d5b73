"""Numbers as people read them: few digits, thousands apart, powers of ten as powers."""

from __future__ import annotations

import math
from typing import Any

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "\u2212"


def for_people(value: float, digits: int = 3) -> str:
    """A number with so many digits that count, thousands apart, beyond a million and below a ten-thousandth by powers of ten.

    >>> [for_people(x) for x in (1234567.0, 12345.6, -0.5, 0.00001234, 3.0)] == [
    ...     "1.23×10⁶", "12,300", "\u22120.5", "1.23×10⁻⁵", "3"]
    True
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    mantissa, power = f"{abs(value):.{digits - 1}e}".split("e")
    sign = MINUS if value < 0 else ""
    if value == 0:
        return "0"
    if not -4 <= int(power) < 6:
        return f"{sign}{_trimmed(mantissa)}×10{str(int(power)).translate(_RAISED)}"
    rounded = float(f"{mantissa}e{power}")
    return sign + _trimmed(f"{rounded:,.{max(0, digits - 1 - int(power))}f}")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


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
