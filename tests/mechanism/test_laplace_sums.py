"""Tails of sums of discrete Laplace noise: above the exact law, which convolution of integers or draws tell,
and not far above."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.mechanism.bounds import LaplaceSum, largest_quantile


def exact_quantile(coefficients: list[int], rates: list[float], delta: float) -> int:
    """The least t with `P(|Y| > t) <= delta` for whole coefficients, by convolution of the laws written out to 1e-16."""
    law, middle = np.ones(1), 0
    for c, rate in zip(coefficients, rates, strict=True):
        reach = int(np.ceil(40 / rate))
        one = np.zeros(2 * reach * c + 1)
        one[::c] = np.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
        law, middle = np.convolve(law, one), middle + reach * c
    size = np.abs(np.arange(len(law)) - middle)
    beyond = np.bincount(size, law)[::-1].cumsum()[::-1]
    return int(np.flatnonzero(np.append(beyond[1:], 0.0) <= delta)[0])


SUMS = {
    "one": ([1], [0.02]),
    "equal": ([1, 1, 1, 1, 1], [0.05] * 5),
    "unequal": ([7, 3, 1], [0.1, 0.05, 0.03]),
    "many": ([2, 1, 3, 1, 2, 1, 3, 1, 1, 2, 4, 1], [0.1] * 12),
    "coarse": ([3, 1, 2], [1.5, 2.0, 1.0]),
}


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-6])
@pytest.mark.parametrize("name", SUMS)
def test_the_bound_holds_and_is_close(name: str, delta: float) -> None:
    c, rates = SUMS[name]
    found = largest_quantile(np.array([c], dtype=float), np.array(rates), delta)
    exact = exact_quantile(c, rates, delta)
    assert exact <= np.floor(found * (1 + 1e-12)) + 1e-9
    assert found <= 1.05 * exact + 1


@pytest.mark.parametrize("t", [0.0, 3.0, 17.5, 60.0])
@pytest.mark.parametrize("name", SUMS)
def test_every_tail_is_bounded_by_both_ways(name: str, t: float) -> None:
    c, rates = SUMS[name]
    law = LaplaceSum(np.array(c, dtype=float), np.array(rates), 80.0)
    for delta in (0.9, 0.3, 0.1, 1e-2, 1e-4):
        q = exact_quantile(c, rates, delta)
        if q > 0:  # P(|Y| > q - 1) > delta
            assert law.beyond(q - 1) > delta and law.chernoff(q - 1) > delta
    assert law.beyond(t) <= law.chernoff(t) <= 1


def test_strategies_are_bounded_near_the_quantile_of_their_noise() -> None:
    """20,000 draws: beyond a true 1 - delta quantile lie more than 1.3 (0.05) or 2 (1e-3)
    times delta of them with probability below 1e-4."""
    ranges = np.array([[float(a <= i <= b) for i in range(8)] for a in range(8) for b in range(a, 8)])
    problem = Problem(Workload(ranges), metrics.uniform(8, 1.0))
    made = design(problem, "strategy_laplace", iterations=3, keep=1).mechanism
    worst = np.abs(np.asarray(made.simulate(20_000, seed=5))).max(axis=1)
    for delta, slack in ((0.05, 1.3), (1e-3, 2.0)):
        bound = made.error_bounds(100, delta).high_probability
        assert (worst > bound).mean() <= slack * delta
        assert bound <= 1.25 * np.quantile(worst, 1 - delta)


@pytest.mark.parametrize("scales", [[1.0, 1.0, 1.0], [100.0, 1.0, 1.0, 5.0], [0.75, 0.375, 1.5]])
def test_independent_noise_has_its_exact_quantile(scales: list[float]) -> None:
    relation = metrics.uniform(len(scales), 1.0)
    made = design(Problem(Workload(np.diag(scales)), relation), "laplace").mechanism
    units = np.array(scales)  # of the one entry of each query
    for delta in (0.5, 0.05, 1e-6):
        t = made.error_bounds(1, delta).high_probability
        within = [_within(x, made.scales, units) for x in (t, 0.999 * t)]
        assert within[0] >= 1 - delta - 1e-9 * delta and within[1] < 1 - delta


def _within(t: float, scales: np.ndarray, steps: np.ndarray) -> float:
    """The chance that no coordinate of two-sided geometric noise exceeds t, summed over the law."""
    chances = []
    for scale, step in zip(scales, steps, strict=True):
        places = step * np.arange(-int(60 * scale / step) - 2, int(60 * scale / step) + 3)
        mass = np.exp(-np.abs(places) / scale)
        chances.append(mass[np.abs(places) <= t].sum() / mass.sum())
    return float(np.prod(chances))


def test_rows_without_noise_and_beyond_the_transforms_are_bounded_too() -> None:
    assert largest_quantile(np.zeros((2, 3)), np.ones(3), 0.1) == 0.0
    rows = np.random.default_rng(0).integers(1, 3, (1, 500)).astype(float)
    found = largest_quantile(rows, np.full(500, 0.5), 1e-3)
    assert 3.2 * np.sqrt(8 * (rows**2).sum()) * 0.98 < found < 1.3 * 3.3 * np.sqrt(8 * (rows**2).sum())
