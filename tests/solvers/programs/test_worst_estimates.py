"""Estimates of least worst-case error: values worked out elsewhere, programs over all estimates, and sums written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from solvers.programs.worst_estimates import bayes, ends_kept, least_worst_sizes, least_worst_squares, moments, risks
from solvers.solution import Status


@pytest.mark.parametrize(("n", "a"), [(5, 0.4), (1, 0.9), (40, 0.99), (7, 1e-9)])
def test_sums_and_errors_are_those_written_out(n: int, a: float) -> None:
    rng = np.random.default_rng(n)
    prior, shifts, x = rng.random(n + 1), rng.normal(size=n + 1), np.arange(n + 1)
    chances = a ** np.abs(x[:, None] - x) * ends_kept(a, n)
    assert chances.sum(axis=1) == pytest.approx(np.ones(n + 1), rel=1e-13)
    for power, found in enumerate(moments(prior, a)):
        written = (a ** np.abs(x[:, None] - x) * (x[:, None] - x) ** power) @ prior
        assert found == pytest.approx(written, rel=1e-12, abs=1e-14)
    assert risks(shifts, ends_kept(a, n), a) == pytest.approx((chances * (x + shifts - x[:, None]) ** 2).sum(axis=1), rel=1e-12)
    best, least = bayes(prior, ends_kept(a, n), a)
    joint = prior[:, None] * chances
    means = x @ joint / joint.sum(axis=0)
    assert x + best == pytest.approx(means, rel=1e-11, abs=1e-12)
    assert least == pytest.approx((joint * (means - x[:, None]) ** 2).sum(), rel=1e-9)


# Records, rate, least worst-case squared error to the digits that are written, some rounded up.
VALUES = """
4 1 0.882793, 1 1 0.196612, 2 1 0.518581, 3 1 0.726040, 6 1 1.111647, 10 1 1.384188, 16 1 1.581009, 40 1 1.777888,
100 1 1.829314, 1000 1 1.841215, 1 0.1 0.249376, 2 0.1 0.990515, 4 0.1 3.86009, 6 0.1 8.34586, 10 0.1 20.7200,
16 0.1 42.3559, 20 0.1 55.648827, 40 0.1 95.1598, 100 0.1 149.395, 1000 0.1 198.4366, 1 0.5 0.235004, 2 0.5 0.818171,
4 0.5 2.186809, 6 0.5 3.083892, 10 0.5 4.267980, 16 0.5 5.379994, 40 0.5 7.002010, 100 0.5 7.644512, 1000 0.5 7.833027,
1 2 0.104994, 2 2 0.176202, 3 2 0.221620, 4 2 0.254283, 6 2 0.293571, 10 2 0.328347, 16 2 0.346319, 40 2 0.359070,
100 2 0.361530, 1000 2 0.362026
"""


@pytest.mark.parametrize("case", " ".join(VALUES.split()).split(", "))
def test_the_least_worst_squares_are_those_of_the_table(case: str) -> None:
    n, rate, value = case.split()
    found = least_worst_squares(float(rate), int(n))
    assert found.status is Status.OPTIMAL and found.gap <= 1e-8 and found.lower_bound <= found.value * (1 + 1e-12)
    assert found.value == pytest.approx(float(value), abs=10.0 ** -len(value.partition(".")[2]))


def test_the_table_and_the_prior_are_the_known_ones() -> None:
    four, six, three = least_worst_squares(1.0, 4).point, least_worst_squares(1.0, 6).point, least_worst_squares(2.0, 3).point
    assert four.table == pytest.approx([0.252206, 1.095242, 2, 4 - 1.095242, 4 - 0.252206], abs=1e-6)
    assert four.prior == pytest.approx([0.360226, 0, 0.279549, 0, 0.360226], abs=1e-6)
    assert six.table[:4] == pytest.approx([0.314174, 1.282448, 2.200113, 3], abs=1e-6)
    assert six.prior[:4] == pytest.approx([0.244268, 0, 0.173881, 0.163703], abs=1e-6)
    assert three.table[:2] == pytest.approx([0.206132, 1.052931], abs=1e-6)
    assert three.prior[:2] == pytest.approx([0.206618, 0.293382], abs=1e-6)


@pytest.mark.parametrize(("n", "rate"), [(3, 0.7), (5, 0.2), (8, 1.5)])
def test_no_table_that_another_method_finds_is_better(n: int, rate: float) -> None:
    x, a = np.arange(n + 1), math.exp(-rate)
    chances = a ** np.abs(x[:, None] - x) * ends_kept(a, n)

    def errors(table: np.ndarray) -> np.ndarray:
        return np.asarray((chances * (table - x[:, None]) ** 2).sum(axis=1))

    within: Any = {"type": "ineq", "fun": lambda v: v[-1] - errors(v[:-1])}
    start = np.append(x, 10.0)
    found = minimize(lambda v: float(v[-1]), start, constraints=within, method="SLSQP", options={"ftol": 1e-13, "maxiter": 500})
    assert found.fun == pytest.approx(least_worst_squares(rate, n).value, rel=1e-6)


@pytest.mark.parametrize(
    ("n", "value"), [(1, 0.268941), (2, 0.459728), (4, 0.637582), (8, 0.774292), (16, 0.838477), (60, 0.850917)]
)
def test_the_least_worst_sizes_are_those_of_the_table(n: int, value: float) -> None:
    found = least_worst_sizes(1.0, n)
    assert found.value == pytest.approx(value, abs=1.1e-6) and found.gap <= 1e-6


@pytest.mark.parametrize(("n", "rate"), [(5, 1e-9), (10_000, 0.01), (3, 300.0), (1000, 1e-3)])
def test_extreme_rates_have_a_table_and_a_bound(n: int, rate: float) -> None:
    found = least_worst_squares(rate, n)
    assert found.gap <= 1e-7 and (np.diff(found.point.table) > -1e-9).all()
