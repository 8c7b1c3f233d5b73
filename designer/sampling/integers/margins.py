"""How far integer noise reaches with a given probability: exact quantiles of the discrete laws, rounded to the safe side."""

from __future__ import annotations

import math

import numpy as np

# A tail within this of the allowed one (relative) is one step longer: floats computed it.
DOUBT = 1e-12
# From this variance on the masses of cells and of their centres agree so well that no law is summed.
SUMMED = 1e6


def laplace_margin(rate: float, beyond: float) -> int:
    """The least m with `P(|z| > m) = 2 a^(m + 1) / (1 + a) <= beyond`, `a = exp(-rate)`, z discrete Laplace.

    >>> laplace_margin(1.0, 0.05), laplace_margin(50.0, 0.05)
    (3, 0)
    """
    log_tail = math.log(2) - math.log1p(math.exp(-rate))
    return max(0, math.ceil((log_tail - math.log(beyond) + DOUBT) / rate * (1 + DOUBT)) - 1)


def gaussian_margin(variance: float, beyond: float) -> float:
    """A t with `P(|z| > t) <= beyond`, `P(z)` proportional to `exp(-z^2 / (2 variance))`, z whole: the least whole one up to
    a variance of a million, from there on one that is larger by at most a step.

    From there on by cells: `P(|z| >= t + 1/2) <= e^(1 / (8 variance)) P(|y| >= t)` with y normal (`joint_noise` in
    `designer.additive.bounds`).

    >>> gaussian_margin(1.0, 0.05), gaussian_margin(1e-3, 0.05)
    (2.0, 0.0)
    """
    if variance >= SUMMED:
        return math.sqrt(variance) * _normal_quantile(beyond * math.exp(-1 / (8 * variance))) + 0.5
    reach = math.ceil(math.sqrt(variance) * math.sqrt(2 * math.log(4 / beyond))) + 2
    masses = np.exp(-(np.arange(1, 3 * reach, dtype=np.float64) ** 2) / (2 * variance))
    tails = 2 * np.cumsum(masses[::-1])[::-1] / (1 + 2 * masses.sum())  # P(|z| > m) for m = 0, 1, ...
    return float(np.argmax(np.append(tails * (1 + DOUBT), 0.0) <= beyond))


def _normal_quantile(beyond: float) -> float:
    """t with `P(|y| > t) = beyond`, y standard normal."""
    from statistics import NormalDist

    return -NormalDist().inv_cdf(beyond / 2)
