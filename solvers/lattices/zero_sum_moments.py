"""Moments of two-sided geometric numbers whose sum is 0, by their characteristic function on a circle of points.

With `p(z) ~ a^|z|`, `phi(t) = (1 - a)^2 / (1 - 2 a cos t + a^2)`, the chance that n of them sum to 0 is the mean of `phi^n`
over the circle. The mean over G points adds the chances of the sums that are multiples of G, which is all its error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FINEST = 2.0**-10  # the rate below which the continuous law is near enough: squares are off by 1e-6, relatively


@dataclass(frozen=True)
class ZeroSumMoments:
    """One of `count` integers with `P(z) ~ exp(-rate |z|_1)` on sum 0; floats, right to about 1e-9.

    >>> round(ZeroSumMoments(2, 1.0).variance, 6) == round(0.5 / math.sinh(1) ** 2, 6)
    True
    """

    count: int
    rate: float

    @property
    def variance(self) -> float:
        """`E z_1^2`."""
        scale = max(self._rate / self.rate, 1.0)
        return scale**2 * float((-self._curvature * self._others).mean() / self._chance)

    def rounding(self, rows: int) -> float:
        """`E f (1 - f)`, f the fractional part of `C / rows`, C the sum of `rows` independent such numbers."""
        remainders = np.arange(rows) / rows
        waves = np.fft.rfft(remainders * (1 - remainders)).real / rows
        total = float(waves[0])
        for k in range(1, len(waves)):
            mass = self._wave(k / rows) ** rows
            if abs(mass) < 1e-15:  # it falls in k
                break
            total += float(waves[k]) * mass * (1 if 2 * k == rows else 2)
        return total

    @property
    def _rate(self) -> float:
        return max(self.rate, FINEST)

    @cached_property
    def _circle(self) -> Floats:
        width = 16 * math.sqrt(self.count * 2) / self._rate + 64 / self._rate + 64
        points = 2 ** math.ceil(math.log2(width))
        return np.asarray(2 * np.pi * np.arange(points) / points)

    def _phi(self, angles: Floats) -> Floats:
        a = math.exp(-self._rate)
        return np.asarray((1 - a) ** 2 / (1 - 2 * a * np.cos(angles) + a * a))

    @cached_property
    def _others(self) -> Floats:
        return np.asarray(self._phi(self._circle) ** (self.count - 1))

    @cached_property
    def _chance(self) -> float:
        return float((self._phi(self._circle) * self._others).mean())

    @property
    def _curvature(self) -> Floats:
        """The second derivative of phi."""
        a, t = math.exp(-self._rate), self._circle
        below = 1 - 2 * a * np.cos(t) + a * a
        return np.asarray(-((1 - a) ** 2) * (2 * a * np.cos(t) / below**2 - 8 * (a * np.sin(t)) ** 2 / below**3))

    def _wave(self, part: float) -> float:
        """`E cos(2 pi part z_1)`."""
        return float((self._phi(self._circle + 2 * np.pi * part) * self._others).mean() / self._chance)
