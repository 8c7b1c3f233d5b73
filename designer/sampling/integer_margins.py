"""How far integer noise reaches with a given probability: exact quantiles of the discrete laws, rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

# A tail within this of the allowed one (relative) is one step longer: floats computed it.
DOUBT = 1e-12
# From this variance on the masses of cells and of their centres agree so well that no law is summed.
SUMMED = 1e6
_NORMAL = NormalDist()


def bisected(holds: Callable[[float], bool], low: float, high: float, halvings: int = 60) -> float:
    """The upper end of what is left of an interval from whose upper end on something holds; it holds there, too."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def laplace_margin(rate: float, beyond: float) -> int:
    """The least m with `P(|z| > m) = 2 a^(m + 1) / (1 + a) <= beyond`, `a = exp(-rate)`, z discrete Laplace.

    >>> laplace_margin(1.0, 0.05), laplace_margin(50.0, 0.05)
    (3, 0)
    """
    log_tail = math.log(2) - math.log1p(math.exp(-rate))
    return max(0, math.ceil((log_tail - math.log(beyond) + DOUBT) / rate * (1 + DOUBT)) - 1)


@lru_cache(4096)
def gaussian_margin(variance: float, beyond: float) -> float:
    """A t with `P(|z| > t) <= beyond`, `P(z)` proportional to `exp(-z^2 / (2 variance))`, z whole: the least whole one up to
    a variance of a million, from there on one that is larger by at most a step.

    From there on by cells: `P(|z| >= t + 1/2) <= e^(1 / (8 variance)) P(|y| >= t)` with y normal (`joint_noise` in
    `designer.mechanism.bounds`).

    >>> gaussian_margin(1.0, 0.05), gaussian_margin(1e-3, 0.05)
    (2.0, 0.0)
    """
    if variance >= SUMMED:
        return math.sqrt(variance) * _normal_quantile(beyond * math.exp(-1 / (8 * variance))) + 0.5
    reach = math.ceil(math.sqrt(variance) * math.sqrt(2 * math.log(4 / beyond))) + 2
    masses = np.exp(-(np.arange(1, 3 * reach, dtype=np.float64) ** 2) / (2 * variance))
    tails = 2 * np.cumsum(masses[::-1])[::-1] / (1 + 2 * masses.sum())  # P(|z| > m) for m = 0, 1, ...
    return float(np.argmax(np.append(tails * (1 + DOUBT), 0.0) <= beyond))


def sum_of_gaussians_margin(least: float, coordinates: int, beyond: float) -> float:
    """k with `P(|sum c_j z_j| > k sqrt(sum c_j^2 v_j)) <= beyond` for all c, z_j independent discrete Gaussians of parameters
    v_j, of which there are so many, none below `least`: by normal noise that smooths them, or by moments.

    With independent normal e_j of variances `w v_j`, the density of `z_j + e_j` is at most `1 + d` times that of a normal of
    variance `(1 + w) v_j`, `d = 2 sum_i exp(-2 pi^2 i^2 v_j w / (1 + w))`; and `P(Y > t) P(E >= -s) <= P(Y + E > t - s)`
    (docs/theory/intervals.md, 5).
    """
    best = math.sqrt(2 * math.log(2 / beyond))
    if least <= 0:
        return best
    for smoothing in (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0):
        w = smoothing / least
        rough = 2 * math.exp(-2 * math.pi**2 * least * w / (1 + w)) * 1.001  # from the second term on, less than a thousandth
        for far in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
            share = beyond * _NORMAL.cdf(far) * math.exp(-coordinates * math.log1p(rough))
            best = min(best, far * math.sqrt(w) + math.sqrt(1 + w) * _normal_quantile(share) if share > 1e-300 else best)
    return best * (1 + 1e-9)


def sums_are_nearly_normal(least: float, coordinates: int) -> bool:
    """Whether that bound is within 5 % of the normal quantile, at 95 %."""
    return sum_of_gaussians_margin(least, coordinates, 0.05) <= 1.05 * _normal_quantile(0.05)


def _normal_quantile(beyond: float) -> float:
    """t with `P(|y| > t) = beyond`, y standard normal."""
    return -_NORMAL.inv_cdf(beyond / 2)
