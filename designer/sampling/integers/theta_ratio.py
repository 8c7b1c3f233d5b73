"""The ratio of two theta functions, `rho(Z - c) / rho(Z)`: how much mass a discrete Gaussian has around c,
compared with an integer.

Derivation: docs/theory/lattice.md, section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from designer.base.arrays import Floats
from designer.base.declared import assign
from solvers.exact.balls import rational_ball
from solvers.exact.bits import precision

if TYPE_CHECKING:
    from flint import arb

WIDE = Fraction(1, 6)  # the variance from which the dual series is used: its ratio is exp(-2 pi^2 / 6) = 0.037 there
TERMS = 10  # in floats: 0.037^100 is nothing, and so is exp(-9.5^2 * 3)


@dataclass(frozen=True)
class ThetaRatio:
    """`r(c) = sum_z exp(-(z - c)^2 / (2 v)) / sum_z exp(-z^2 / (2 v))`, z over the integers, v = `variance`; r <= 1 = r(0).

    For v >= 1/6 by the dual series `1 + 2 sum_k q^(k^2) cos(2 pi k c)`, `q = exp(-2 pi^2 v)` (Poisson summation; the common
    factor cancels), below by the series as it stands.

    >>> exponent, error = ThetaRatio(Fraction(1, 4)).exponent(np.array([0.0, 0.5]), np.zeros(2))
    >>> exponent.round(3).tolist()
    [0.0, 0.029]
    """

    variance: Fraction
    _weights: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        k = np.arange(1, TERMS + 1)
        weights = 2.0 * np.exp(-2.0 * np.pi**2 * float(min(self.variance, Fraction(2**60))) * k.astype(np.float64) ** 2)
        weights.setflags(write=False)
        assign(self, _weights=weights[weights > 2.0**-70])

    def exponent(self, centre: Floats, error: Floats) -> tuple[Floats, Floats]:
        """`-log r(c)` for centres known to `error`, and its error.

        centre, error: (n,). Returns (n,) and errors (n,).
        """
        if self.variance < WIDE:
            return self._direct(centre, error)
        if not len(self._weights):
            return np.zeros_like(centre), np.full_like(centre, 2.0**-68)
        angles = 2.0 * np.pi * (centre - np.rint(centre))
        sums = sum(w * np.cos(k * angles) for k, w in enumerate(self._weights, start=1))
        # The derivative of the sum in c is at most 2 pi sum k w_k, 2.5 at v = 1/6; the sum stays above 0.9.
        slope = 2.0 * np.pi * float(self._weights @ np.arange(1, len(self._weights) + 1))
        return np.log1p(self._weights.sum()) - np.log1p(sums), 2.0 * slope * error + 2.0**-46

    def _direct(self, centre: Floats, error: Floats) -> tuple[Floats, Floats]:
        """The series itself, with the largest term `exp(-x^2 / (2 v))`, x the distance to the nearest integer, taken out."""
        precision, near = float(1 / (2 * self.variance)), np.abs(centre - np.rint(centre))
        steps = np.arange(-TERMS, TERMS + 1)
        rest = sum(np.exp(-precision * z * (z - 2.0 * near)) for z in steps if z)
        whole = sum(math.exp(-precision * z * z) for z in steps.tolist() if z)
        exponent = near**2 * precision + math.log1p(whole) - np.log1p(rest)
        # The derivative of log r is the mean of (z - c) / v, below 1 / v.
        return exponent, 2.0 * precision * (error + 2.0**-50) + (exponent + 1.0) * 2.0**-45

    def ball(self, centre: Fraction) -> arb:
        """r(c) at the working precision."""
        series = self._dual_ball if self.variance >= WIDE else self._direct_ball
        return series(centre) / series(Fraction(0))

    def _dual_ball(self, centre: Fraction) -> arb:
        from flint import arb

        rate = 2 * arb.pi() ** 2 * rational_ball(self.variance)
        count = math.isqrt(int(precision() / float(min(self.variance, Fraction(2**40))) / 20)) + 2
        terms = ((-rate * k**2).exp() * (2 * k * rational_ball(centre)).cos_pi() for k in range(1, count))
        # The tail is below twice its first term: successive ratios are below 1/2.
        tail: arb = arb(0, 4 * (-rate * count**2).exp())
        return 1 + 2 * sum(terms, arb(0)) + tail

    def _direct_ball(self, centre: Fraction) -> arb:
        from flint import arb

        rate = rational_ball(1 / (2 * self.variance))
        offset = centre - round(centre)
        count = math.isqrt(int(precision() * float(self.variance) * 2)) + 3
        terms = ((-rate * rational_ball(z - offset) ** 2).exp() for z in range(-count, count + 1))
        tail: arb = arb(0, 4 * (-rate * rational_ball(Fraction(2 * count + 1, 2)) ** 2).exp())
        return sum(terms, arb(0)) + tail
