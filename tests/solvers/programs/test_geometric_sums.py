"""Mean absolute values of sums of geometric variables: against their law, and against exponentials on fine steps."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.programs.tails import mean_absolute, mean_absolute_of_geometrics


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
