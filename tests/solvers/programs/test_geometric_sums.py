"""Mean absolute values of sums of geometric variables: against their law, and against exponentials on fine steps."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.programs.tails import geometric_margin, mean_absolute, mean_absolute_of_geometrics


def by_convolution(coefficients: list[int], rates: list[float]) -> float:
    """`E |sum c_j z_j|` from the law itself, one place at a time."""
    law = {0: 1.0}
    for c, rate in zip(coefficients, rates, strict=True):
        far = int(45 / rate) + 1
        mass = np.exp(-rate * np.abs(np.arange(-far, far + 1)))
        sums: dict[int, float] = {}
        for y, share in law.items():
            for z, one in zip(range(-far, far + 1), (share * mass / mass.sum()).tolist(), strict=True):
                sums[y + c * z] = sums.get(y + c * z, 0.0) + one
        law = {y: share for y, share in sums.items() if share > 1e-18}
    return sum(abs(y) * share for y, share in law.items())


@pytest.mark.parametrize(
    ("coefficients", "rates"),
    [([1], [0.5]), ([3], [4.0]), ([1, 1], [0.7, 2.0]), ([5, -2], [1.0, 0.8]), ([2, 3, -7], [1.5, 2.5, 3.0])],
)
def test_sums_of_geometric_variables_have_the_mean_absolute_value_of_their_law(
    coefficients: list[int], rates: list[float]
) -> None:
    (found,) = mean_absolute_of_geometrics(np.array([coefficients]) * 0.3, np.array(rates))
    assert found == pytest.approx(0.3 * by_convolution(coefficients, rates), rel=1e-6)


def test_on_fine_steps_geometric_sums_are_those_of_exponentials() -> None:
    weights, rates = np.array([[1.0, -2.0, 0.5]]), np.array([1e-3, 2e-3, 3e-3])
    scaled = weights / rates
    assert mean_absolute_of_geometrics(weights, rates) == pytest.approx(mean_absolute(np.hstack([scaled, -scaled])), rel=1e-5)


def test_a_sum_of_nothing_is_nothing() -> None:
    assert mean_absolute_of_geometrics(np.zeros((2, 3)), np.ones(3)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(12))
def test_margins_are_between_the_exact_quantile_and_little_above_it(seed: int) -> None:
    """Whole factors, whose sums are convolved: the tail at the margin is within what is allowed, and above it 0.03 standard
    deviations, or one atom, further in."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    factors, rates = rng.integers(1, 6, size).astype(float), rng.uniform(0.05, 1.5, size)
    times, beyond = rng.integers(1, 4, size).astype(float), (0.05, 0.001)[seed % 2]
    law = np.ones(1)
    for factor, rate, count in zip(factors.astype(int).tolist(), rates.tolist(), times.astype(int).tolist(), strict=True):
        reach = int(40 / rate)
        one = np.zeros(2 * reach * factor + 1)
        one[::factor] = np.exp(-rate * np.abs(np.arange(-reach, reach + 1))) * np.tanh(rate / 2)
        for _ in range(count):
            law = np.convolve(law, one)
    sizes = np.abs(np.arange(len(law)) - len(law) // 2)
    margin, deviation = geometric_margin(factors, rates, times, beyond), np.sqrt(law @ sizes.astype(float) ** 2)
    assert law[sizes > margin].sum() <= beyond * (1 + 1e-9)
    assert law[sizes >= np.floor(margin - 0.03 * deviation)].sum() >= beyond * (1 - 0.01)


def test_margins_of_probabilities_below_what_floats_add_up_to_are_those_of_moments() -> None:
    margins = [geometric_margin(np.ones(3), np.full(3, 0.5), np.ones(3), beyond) for beyond in (1e-9, 1e-13, 1e-20)]
    assert all(np.isfinite(margins)) and margins == sorted(margins)
