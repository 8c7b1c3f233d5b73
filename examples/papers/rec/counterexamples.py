"""Counter-examples to statements of REC, in exact numbers: each gives (what the paper states, what is so)."""

from __future__ import annotations

import math
from fractions import Fraction


def one_sided() -> tuple[Fraction, Fraction]:
    """A sum with Gaussian noise of variance 1; record -1 is replaced by 1, and both are
    sensitive: 2 rho, and the loss."""
    variance, record, other = Fraction(1), -1, 1
    rho = Fraction(record**2) / (2 * variance)  # P(r) = r^2 / (2 v), the same for both
    return 2 * rho, Fraction((other - record) ** 2) / (2 * variance)


def noise_beside_signal() -> tuple[int, Fraction]:
    """The variance of the noise over the squared expectation of a sum of 1,000 values of
    tail 3/2, Delta = 100, rho = 1: the paper says that noise exceeds the expectation, so
    a ratio of at least 1."""
    records, tail, delta, rho = 1000, Fraction(3, 2), 100, 1
    expectation = records * tail / (tail - 1)
    return 1, Fraction(delta**2, 2 * rho) / expectation**2


def mean_squared_error() -> tuple[int, Fraction]:
    """The mean squared error over the squared expectation there, clipping at Delta
    included."""
    records, tail, delta, rho = 1000, Fraction(3, 2), 100, 1
    root = math.isqrt(delta)  # of 100, exactly 10
    mean, square = (tail - Fraction(1, root)) / (tail - 1), (2 * root - tail) / (2 - tail)
    expectation = records * tail / (tail - 1)
    error = (records * mean - expectation) ** 2 + records * (square - mean**2) + Fraction(delta**2, 2 * rho)
    return 1, error / expectation**2


def least_variance() -> tuple[Fraction, Fraction]:
    """The Gaussian mechanism's variance times rho^2 / Delta, which a bound of the order
    Delta / rho^2 keeps above a constant: its value at Delta = rho = 1, and at Delta = 1,
    rho = 1/1000."""

    def relative(delta: int, rho: Fraction) -> Fraction:
        return delta**2 / (2 * rho) * rho**2 / delta

    return relative(1, Fraction(1)), relative(1, Fraction(1, 1000))


def found_groups() -> tuple[float, float]:
    """The probability of naming a group in which one record of three rows is alone, when
    8 and more of rows plus Gaussian noise of variance 4 are named: allowed without a
    delta, because the group is never named without the record; and as it is."""
    rows, threshold, deviation = 3, 8, 2
    return 0.0, round(0.5 * math.erfc((threshold - rows) / deviation / math.sqrt(2)), 4)
