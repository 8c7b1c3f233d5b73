"""Tails of sums of independent discrete Laplace noise,
bounded from above: what answers put together from noisy measurements carry.

`Y = sum_j c_j z_j`, `P(z_j = z)` proportional to `exp(-rate_j |z|)`. Two bounds, the smaller of which counts:

- Chernoff: `P(|Y| > t) <= 2 exp(-theta t) prod_j E exp(theta c_j z_j)` for every theta,
  the generating functions in closed form.
- Convolution: every term is rounded up to a multiple of h, so that the sum does not fall, and the laws on multiples of h are
  convolved on a circle of circumference 2 L. What leaves (-L, L) is bounded by Chernoff;
  an allowance covers the rounding of the transforms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.base.arrays import Floats

POINTS = 2**15  # of the circle
TIMES = 8  # L is this many times the reach that is asked for
FOURIER = 16 * 2.0**-52  # relative error of a transform, generously: log2(POINTS) units of roundoff
MOST_TERMS = 400  # of one sum: rounding up adds half a step for each
MOST_TRANSFORMS = 6000  # 3 s; sums beyond have the Chernoff bound alone
THETAS = np.concatenate([np.linspace(0.02, 0.98, 49), 1 - np.geomspace(0.01, 1e-6, 15)])


@dataclass(frozen=True, eq=False)
class LaplaceSum:
    """coefficients c (m,), not 0; rates (m,), positive; `reach`: tails are convolved up to there;
    `convolved`: whether they are at all."""

    coefficients: Floats
    rates: Floats
    reach: float
    convolved: bool = True

    @cached_property
    def _chernoff(self) -> tuple[Floats, Floats]:
        """theta and the logarithm of the generating function of Y at it."""
        scales = np.abs(self.coefficients) / self.rates
        theta = THETAS / scales.max()
        u = theta[:, None] * scales
        growth = 2 * np.log(-np.expm1(-self.rates)) - np.log(-np.expm1(-self.rates * (1 - u)))
        return theta, (growth - np.log(-np.expm1(-self.rates * (1 + u)))).sum(axis=1)

    def chernoff(self, t: float) -> float:
        """`P(|Y| > t) <=` this."""
        theta, logs = self._chernoff
        return float(min(1.0, 2 * np.exp((logs - theta * t).min())))

    def chernoff_quantile(self, delta: float) -> float:
        """A t with `P(|Y| > t) <= delta`."""
        theta, logs = self._chernoff
        return float(((np.log(2 / delta) + logs) / theta).min())

    @cached_property
    def _tail(self) -> Floats:
        """`P(Y >= n h)`, bounded, for n = 0, 1, ... up to the reach."""
        length = TIMES * self.reach
        step = 2 * length / POINTS
        transform = np.ones(POINTS // 2 + 1, dtype=complex)
        for c, rate in zip(np.abs(self.coefficients), self.rates, strict=True):
            transform *= np.fft.rfft(_rounded_up(c, rate, step))
        mass = np.fft.irfft(transform, POINTS)
        terms = len(self.rates) + 2
        # Out by wrapping, or by a single term (Levy: P(max_j c_j z_j > L) <= P(|Y| > L)); and the rounding of the transforms.
        beyond = 2 * self.chernoff(length - terms * step) + FOURIER * terms * float(np.abs(transform).mean()) * POINTS
        tail = np.cumsum(np.maximum(mass[: POINTS // 2], 0.0)[::-1])[::-1] + beyond
        return np.asarray(tail[: POINTS // (2 * TIMES) + 1])

    def beyond(self, t: float) -> float:
        """`P(|Y| > t) <=` this."""
        bound = self.chernoff(t)
        if not self.convolved or t < 0:
            return bound
        # The rounded sum is at least Y, so Y > t needs it above t: at the next multiple of h,
        # or one earlier for the rounding of t / h.
        n = int(t / (2 * TIMES * self.reach / POINTS))
        return min(bound, 2 * float(self._tail[min(n, len(self._tail) - 1)]))


def _rounded_up(c: float, rate: float, step: float) -> Floats:
    """The law of `c z` rounded up to multiples of `step`, on the circle: index n >= 0 for `n step`,
    from the end for negative ones.

    `P(c z <= x)` for x = n step; what lies above the last or below the first multiple is put there,
    and is counted as having left.
    """
    n = np.arange(-POINTS // 2, POINTS // 2)
    # 1e-12: a term on a multiple may count for the next one, never for the one before.
    reached = np.floor(n * step / c * (1 - 1e-12 * np.sign(n)) - 1e-300)
    size = np.exp(-rate * np.where(reached >= 0, reached + 1, -reached)) / (1 + np.exp(-rate))
    below = np.where(reached >= 0, 1 - size, size)
    mass = np.diff(below, prepend=0.0)
    mass[-1] += 1 - below[-1]
    return np.fft.ifftshift(mass)


def largest_quantile(coefficients: Floats, rates: Floats, delta: float) -> float:
    """A t such that all K sums, the rows of `coefficients` (K, m), stay within t together with probability 1 - delta,
    by a union bound.

    rates: (m,). Equal rows share their law.
    """
    rows = np.unique(np.abs(coefficients), axis=0, return_counts=True)
    kinds = [(row[row > 0], rates[row > 0], int(many)) for row, many in zip(*rows, strict=True) if (row > 0).any()]
    if not kinds:
        return 0.0
    share = delta / sum(many for *_, many in kinds)
    reach = max(LaplaceSum(c, r, 1.0).chernoff_quantile(share) for c, r, _ in kinds)
    sums: list[tuple[LaplaceSum, int]] = []
    transforms = 0
    for c, r, many in sorted(kinds, key=lambda kind: -LaplaceSum(kind[0], kind[1], 1.0).chernoff_quantile(share)):
        worth = len(c) <= MOST_TERMS and transforms + len(c) <= MOST_TRANSFORMS
        transforms += len(c) if worth else 0
        sums.append((LaplaceSum(c, r, reach, worth), many))
    low, high = 0.0, reach
    for _ in range(40):
        middle = (low + high) / 2
        total = sum(many * one.beyond(middle) for one, many in sums)
        low, high = (low, middle) if total <= delta else (middle, high)
    return high * (1 + 1e-9)
