"""Certificates: exact Renyi divergences of the noise that is in fact drawn, at most order times policy,
at many orders and records."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from designer.base.errors import InvalidProblem
from designer.tables.policies.policies import AsZcdp, GaussianSums, Splitting
from designer.tables.policies.renyi import gaussian_divergence, sharp_rho, student_divergence
from designer.tables.policies.slow_policies import StudentNoise
from solvers.exact.balls import rational_ball

ORDERS = [Fraction(101, 100), Fraction(3, 2), 2, Fraction(7, 3), 5, 32, 500]


def by_definition(log_p: np.ndarray, shift: int, order: float) -> float:
    """The divergence of masses on -n .. n from their shift, in floats."""
    log_p = log_p - logsumexp(log_p)
    p, q = log_p[max(shift, 0) :], log_p[: len(log_p) - shift]
    return float(logsumexp(order * p + (1 - order) * q) / (order - 1))


def test_bounds_of_the_least_rho_hold_for_a_divergence_that_jumps_between_two_orders() -> None:
    """D = 0 below order 2 and 5 from there on has `sup D_a / a = 5 / 2`, which no order looked at has."""
    below, above = sharp_rho(lambda order: rational_ball(Fraction(5 * (order >= 2))), rational_ball(Fraction(5)))
    assert below < 2.5 <= above <= 2.5 * 1.11


@pytest.mark.parametrize("variance", [Fraction(1, 4), 1, Fraction(17, 3), 40])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("order", [1.25, 2.0, 3.7])
def test_gaussian_divergence_by_definition(variance: Fraction, shift: int, order: float) -> None:
    k = np.arange(-300.0, 301.0)
    expected = by_definition(-(k**2) / (2 * float(variance)), shift, order)
    assert float(gaussian_divergence(variance, shift, order)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("scale", "power", "shift", "order"), [(3, 2, 4, 2.0), (1.5, 3, 1, 6.5), (6, 4, 20, 1.2)])
def test_student_divergence_by_definition(scale: float, power: int, shift: int, order: float) -> None:
    k = np.arange(-400_000.0, 400_001.0)
    ball = student_divergence(scale, power, shift, order)
    expected = by_definition(-power * np.log(scale**2 + k**2), shift, order)
    assert float(ball.lower()) - 1e-11 <= expected <= float(ball.upper()) + 1e-11
    assert float(ball.rad()) < 1e-5


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("record", [{"a": 1, "b": 0}, {"a": 3, "b": 1}, {"a": 40, "b": 7}, {"a": 0, "b": 100}], ids=str)
def test_gaussian_sums_keep_their_policy(order: Fraction, record: dict[str, int]) -> None:
    """Two sums and a count, variances below and above one step: divergences add, and stay below order times policy."""
    variances, count = {"a": Fraction(9, 2), "b": Fraction(1, 3)}, Fraction(2)
    policy = GaussianSums(variances, (count,))
    parts = [(variances["a"], record["a"]), (variances["b"], record["b"]), (count, 1)]
    total = sum(gaussian_divergence(variance, shift, order) for variance, shift in parts)
    bound = order * policy.exact(record)
    assert total.lower() <= rational_ball(Fraction(bound)).upper()
    assert float(total) <= float(bound) * (1 + 1e-30)
    # And the splitting policy of the same sums, T^2 / (2 v) = rho, is above.
    rho = 4
    thresholds = {"a": 6, "b": Fraction(8, 5)}  # 36 / 9 = 4, and (64 / 25) / (2 / 3) = 3.84 at most
    split = Splitting(2 * rho, thresholds)
    sums = sum(gaussian_divergence(variance, shift, order) for variance, shift in parts[:2])
    assert float(sums) <= float(order * split.exact(record)) * (1 + 1e-30)


@pytest.mark.parametrize("shift", [1, 3, 10])
@pytest.mark.parametrize("order", [Fraction(11, 10), 2, 8, 100])
def test_student_sums_keep_their_policies(shift: int, order: Fraction) -> None:
    """Below the pure policy, and below order times its zCDP form."""
    scale, power = 3, 2
    epsilon = 2 * power * math.asinh(shift / (2 * scale))
    lost = float(student_divergence(scale, power, shift, order).upper())
    policy = AsZcdp(StudentNoise(scale, power).policy("a"))
    assert lost <= epsilon
    assert lost <= float(order * policy.exact({"a": shift}))


def test_least_rho_of_student_noise_is_enclosed() -> None:
    """The zCDP policy is safe; what noise of this kind loses in truth is about half of it."""
    scale, power, shift = 2, 2, 2
    largest = rational_ball(Fraction(shift, 2 * scale)).asinh() * 2 * power
    below, above = sharp_rho(lambda a: student_divergence(scale, power, shift, a, reach=400), largest)
    promised = float(AsZcdp(StudentNoise(scale, power).policy("a")).exact({"a": shift}))
    assert below <= above <= 1.1 * below
    assert 0.4 * promised < below < above < 0.8 * promised


def test_least_rho_of_gaussian_noise_is_its_policy() -> None:
    below, above = sharp_rho(lambda a: gaussian_divergence(9, 3, a), rational_ball(Fraction(10**9)))
    assert below == pytest.approx(0.5, rel=1e-12) and above > 0.5


def test_refusals() -> None:
    with pytest.raises(InvalidProblem, match="order"):
        gaussian_divergence(1, 1, 1)
    with pytest.raises(InvalidProblem, match="reach"):
        student_divergence(1, 2, 10, 2, reach=10)
