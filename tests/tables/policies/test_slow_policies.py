"""Slowly growing policies: the steps a record moves a sum, the supremum of the loss, the estimates, the growth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from designer.sampling.entropy import SeededEntropy
from designer.tables.policies.policies import AsZcdp, GaussianSums
from designer.tables.policies.slow_policies import StudentNoise, TransformedNoise

LOG = TransformedNoise("log", 1000, "0.05")
ROOT = TransformedNoise("root", 100, 3)
STUDENT = StudentNoise.of_deviation(1000)
amounts = st.fractions(0, 10**9, max_denominator=1000)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([LOG, ROOT]), st.fractions(-(10**6), 10**9, max_denominator=1000), amounts)
def test_no_record_moves_a_transformed_sum_further_than_the_policy_says(
    noise: TransformedNoise, total: Fraction, size: Fraction
) -> None:
    """Sums below 0 count as 0, so records of either sign are covered."""
    moved = noise.place(total + size) - noise.place(total)
    assert 0 <= moved <= noise.moves(size)
    # From an empty sum it is moved that far, but for rounding.
    assert noise.place(size) >= noise.moves(size) - 2


@settings(max_examples=80, deadline=None)
@given(st.integers(-(10**12), 10**12), st.integers(1, 10**12), st.integers(1, 5))
def test_student_policy_bounds_the_likelihood_ratio(z: int, shift: int, power: int) -> None:
    """`((s^2 + (z + r)^2) / (s^2 + z^2))^m` in rationals against the exact policy of r."""
    noise = StudentNoise(2**20 * 10**3, power + 1)
    s = noise.scale / noise.step
    ratio = Fraction(s**2 + (z + shift) ** 2) / (s**2 + z**2)
    assert (power + 1) * math.log(ratio) <= noise.policy("a").of_moves(shift) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("shift", [1, 7, 40, 1000])
def test_student_policy_is_the_supremum(shift: int) -> None:
    noise = StudentNoise(40, 3)
    s = float(noise.scale)
    z = np.linspace(-3 * (shift + s), 3 * (shift + s), 2_000_001)
    loss = 3 * np.log((s**2 + (z + shift) ** 2) / (s**2 + z**2))
    assert float(noise.policy("a").exact({"a": shift})) == pytest.approx(loss.max(), rel=1e-8)


@pytest.mark.parametrize("total", [0, 50, 10**4, 10**7])
@pytest.mark.parametrize("noise", [LOG, ROOT], ids=lambda n: n.shape)
def test_estimates_of_transformed_sums_are_unbiased_with_the_stated_deviation(noise: TransformedNoise, total: int) -> None:
    """Mean and variance of the estimate by integration over the Gaussian; the grid is 2^-20 of its deviation."""
    place, sd = noise.place(Fraction(total)), float(noise.deviation)

    def moment(power: int) -> float:
        def term(x: float) -> float:
            return float(stats.norm.pdf(x) * (noise.estimate(place + round(x * sd / noise.step)) - total) ** power)

        return float(integrate.quad(term, -9, 9, limit=200)[0])

    deviation = noise.standard_deviation(total)
    assert abs(moment(1)) < 1e-5 * deviation
    assert math.sqrt(moment(2)) == pytest.approx(deviation, rel=1e-5)


def test_drawn_releases() -> None:
    """200 draws each: means within 5 standard errors (failure probability 10^-6),
    deviations of the light-tailed ones within 25 %."""
    entropy = SeededEntropy(11)
    for noise, total in ((LOG, 5000), (ROOT, 5000), (STUDENT, 5000)):
        drawn = np.array([noise.estimate(noise.noisy(Fraction(total), entropy)) for _ in range(200)])
        deviation = noise.standard_deviation(total)
        assert abs(drawn.mean() - total) < 5 * deviation / math.sqrt(200)
        if noise is not STUDENT:
            assert drawn.std() == pytest.approx(deviation, rel=0.25)


def test_student_deviation_and_steps() -> None:
    for power in (2, 3, 10):
        noise = StudentNoise.of_deviation(1000, power)
        assert noise.standard_deviation() == pytest.approx(1000, rel=1e-12)
        assert 2**20 <= noise.scale / noise.step < 2**21
        assert noise.moves(noise.step * 3) == 3 and noise.moves(noise.step * 3 + noise.step / 9) == 4


def test_growth_is_a_logarithm_squared_a_line_and_a_logarithm() -> None:
    """From 10^9 to 10^12, a thousandfold record: (log)^2, linear for the root, log for the pure policy;
    Gaussian noise: a millionfold."""
    sizes = [{"a": 10**9}, {"a": 10**12}]
    log, root, student = ([float(n.policy("a").exact(r)) for r in sizes] for n in (LOG, ROOT, STUDENT))
    assert log[1] / log[0] == pytest.approx((math.log(10**9) / math.log(10**6)) ** 2, rel=1e-3)
    assert root[1] / root[0] == pytest.approx(1000, rel=1e-2)
    assert student[1] - student[0] == pytest.approx(4 * math.log(1000), rel=1e-3)
    gauss = GaussianSums.of_deviations({"a": 1000})
    assert gauss.exact(sizes[1]) == 10**6 * gauss.exact(sizes[0])


def test_equal_error_student_wins_for_large_records_and_gauss_for_small() -> None:
    gauss, student = GaussianSums.of_deviations({"a": 1000}), AsZcdp(STUDENT.policy("a"))
    for size, better in ((100, gauss), (1000, gauss), (10_000, student), (10**7, student)):
        losses = {policy.kind: policy.exact({"a": size}) for policy in (gauss, student)}
        assert min(losses, key=losses.__getitem__) == better.kind


def test_the_stated_deviation_of_a_root_is_that_of_a_squared_gaussian() -> None:
    """`Var (m + s N)^2` by three nodes of Gauss and Hermite, which are exact for polynomials of degree 5."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    weights = weights / weights.sum()
    for total in (0.0, 50.0, 1e4):
        squares = (math.sqrt(total + 100) + 3 * nodes) ** 2
        variance = weights @ squares**2 - (weights @ squares) ** 2
        assert ROOT.standard_deviation(total) == pytest.approx(math.sqrt(variance), rel=1e-9)


@pytest.mark.parametrize("steps", [1, 5, 2**19, 3 * 2**21 + 1])
def test_a_record_that_moves_a_sum_by_whole_steps_pays_for_one_more(steps: int) -> None:
    """`sqrt(r + 100) - 10 = k step` has the rational solution r; two roundings of 2^-159 may part such a sum from a tie."""
    size = (10 + steps * ROOT.step) ** 2 - 100
    assert ROOT.moves(size) == steps + 1
    assert ROOT.moves(size - Fraction(1, 2**60)) == steps
