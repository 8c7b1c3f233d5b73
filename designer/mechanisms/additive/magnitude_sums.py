"""Tails of `S = sum_j w_j |z_j|`, z_j independent discrete Laplace noise: the l1 error of independent noise.

`P(z_j = z)` proportional to `exp(-rate_j |z|)`, weights w_j >= 0. Bounded from above in two ways, the smaller of which counts:

- Chernoff: `P(S >= t) <= exp(-theta t) prod_j E exp(theta w_j |z_j|)` for every theta, the generating functions in closed form.
- Convolution: every term is rounded up to a multiple of h, so that the sum does not fall, and the laws on multiples of h are
  convolved on a circle; what leaves it is bounded by Chernoff, the rounding of the transforms by an allowance. h is the finest
  weight times a power of two: where the circle is long enough for that weight itself, and the others are whole multiples of it
  (grid steps are), nothing is rounded and the law is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.base.arrays import Floats

POINTS = 2**16  # of the circle
SHARE = 1e-6  # of delta may leave the circle
FOURIER = 16 * 2.0**-52  # relative error of a transform, generously: log2(POINTS) units of roundoff
MOST_TERMS = 2000  # sums of more have the Chernoff bound alone
THETAS = np.concatenate([np.linspace(0.02, 0.98, 49), 1 - np.geomspace(0.01, 1e-6, 15)])


@dataclass(frozen=True, eq=False)
class MagnitudeSum:
    """weights w (m,), positive; rates (m,), positive."""

    weights: Floats
    rates: Floats

    @cached_property
    def _chernoff(self) -> tuple[Floats, Floats]:
        """theta and the logarithm of the generating function of S at it:
        `E exp(theta w |z|) = (1 - a) / (1 + a) (1 + a e) / (1 - a e)`, `a = exp(-rate)`, `e = exp(theta w)`."""
        longest = (self.weights / self.rates).max()
        theta = THETAS / longest
        lifted = self.rates - theta[:, None] * self.weights  # of a e; positive
        logs = np.log1p(np.exp(-lifted)) - np.log(-np.expm1(-lifted)) + np.log(np.tanh(self.rates / 2))
        return theta, logs.sum(axis=1)

    def chernoff(self, t: float) -> float:
        """`P(S >= t) <=` this."""
        theta, logs = self._chernoff
        return float(min(1.0, np.exp((logs - theta * t).min())))

    def chernoff_quantile(self, delta: float) -> float:
        """A t with `P(S >= t) <= delta`."""
        theta, logs = self._chernoff
        return float(max(0.0, ((np.log(1 / delta) + logs) / theta).min()))

    def quantile(self, delta: float) -> float:
        """A t with `P(S > t) <= delta`; the least one, where nothing had to be rounded, up to the allowance."""
        least = self.chernoff_quantile(delta)
        if len(self.weights) > MOST_TERMS:
            return least
        step = self._step(delta)
        reached = np.flatnonzero(self._above(step) <= delta)
        return min(least, float(reached[0]) * step) if reached.size else least

    def beyond(self, t: float) -> float:
        """`P(S >= t) <=` this, t > 0."""
        most = self.chernoff(t)
        if len(self.weights) > MOST_TERMS:
            return most
        step = self._step(most)
        # The last multiple that is below t, or one earlier for the rounding of the quotient.
        below = int(np.ceil(t / step * (1 - 1e-12))) - 1
        return min(most, float(self._above(step)[below])) if below < POINTS else most

    def _step(self, delta: float) -> float:
        """The unit h of a circle that is left with a small part of probability delta."""
        finest = float(self.weights.min())
        length = self.chernoff_quantile(SHARE * delta)
        return finest * float(2.0 ** np.ceil(max(0.0, np.log2(length / finest / (POINTS - 2)))))

    def _above(self, step: float) -> Floats:
        """`P(S > n step)`, bounded, for n = 0, 1, ... on the circle."""
        transform = np.ones(POINTS // 2 + 1, dtype=complex)
        for weight, rate in zip(self.weights, self.rates, strict=True):
            transform *= np.fft.rfft(_magnitudes_rounded_up(weight / step, rate))
        mass = np.maximum(np.fft.irfft(transform, POINTS), 0.0)
        terms = len(self.rates) + 2
        beyond = self.chernoff((POINTS - terms) * step) + FOURIER * terms * float(np.abs(transform).mean()) * POINTS
        return np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0) + beyond


def _magnitudes_rounded_up(weight: float, rate: float) -> Floats:
    """The law of `weight |z|` rounded up to whole numbers, below POINTS; what lies above is put at the end.

    `P(weight |z| <= n) = 1 - 2 a^(m + 1) / (1 + a)`, m the last multiple up to n, `a = exp(-rate)`.
    """
    # 1e-12: a term on a whole number may count for the next one, never for the one before.
    last = np.floor(np.arange(POINTS) / weight * (1 - 1e-12)) if weight % 1 else np.arange(POINTS) // weight
    below = 1 - 2 * np.exp(-rate * (last + 1)) / (1 + np.exp(-rate))
    mass = np.diff(below, prepend=0.0)
    mass[-1] += 1 - below[-1]
    return np.asarray(mass)
