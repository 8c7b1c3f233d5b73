"""One chi-square test for all samplers of integers, with a declared failure probability."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FAILURE_PROBABILITY = (
    1e-6  # of each single test under a correct sampler; seeds are fixed, so a test that passed once passes for ever
)


def p_value(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Pearson's chi-square p-value; cells with an expected count below 10 are pooled into one."""
    expected = counts.sum() * probabilities
    small = expected < 10
    if small.any():
        counts = np.append(counts[~small], counts[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    # A pooled cell too small for the chi-square law is compared by itself, with Poisson's tail (Bonferroni over the two tests).
    if expected[-1] < 10:
        rare = float(stats.poisson.sf(counts[-1] - 1, max(expected[-1], 1e-300)))
        return min(1.0, 2 * min(rare, _pearson(counts[:-1], expected[:-1])))
    return _pearson(counts, expected)


def _pearson(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    if len(expected) == 1:
        return 1.0
    return float(stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(expected) - 1))


def p_value_of_integers(draws: NDArray[np.int64], cdf: Callable[[int], float], edges: list[int]) -> float:
    """Chi-square p-value of integer draws in the cells (-inf, e_0], (e_0, e_1], ..., (e_last, inf) against an exact cdf."""
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1)
    return p_value(counts, np.diff([0.0, *map(cdf, edges), 1.0]))
