"""Rounded normal noise against its exact law, one coordinate and two, against laws 1 % off, and in its ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from designer import InvalidProblem
from designer.sampling import integer_tails as rounded_normal
from designer.sampling.body_grids import EllipsoidGrid
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_tails import RoundedNormal, RoundedVector, rounded_absolutes, rounded_variances
from designer.sampling.round_and_reject import NormLaw
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value, p_value_of_integers
from tests.oracles.scripted import Scripted

DRAWS = 1_000_000
DEVIATIONS = [Fraction(1, 5), Fraction(2, 3), Fraction(7, 2), Fraction(1000, 3), Fraction(2**30) / 3]
SKEW = [[Fraction(1, 3), Fraction(1, 5)], [Fraction(0), Fraction(2, 7)]]


def edges_of(deviation: float) -> list[int]:
    wanted = [round(deviation * float(stats.norm.ppf(q))) for q in (1e-4, 1e-3, *np.arange(1, 40) / 40, 0.999, 0.9999)]
    return sorted(set(wanted))


def fit(draws: NDArray[np.int64], deviation: float) -> float:
    return p_value_of_integers(draws, lambda z: float(stats.norm.cdf((z + 0.5) / deviation)), edges_of(deviation))


@cache
def columns() -> NDArray[np.int64]:
    return RoundedNormal(DEVIATIONS).draw(DRAWS, SeededEntropy(3))


@pytest.mark.parametrize("k", range(1, len(DEVIATIONS)))
def test_draws_follow_the_exact_law_and_one_that_is_a_hundredth_off_is_seen(k: int) -> None:
    draws, deviation = columns()[:, k], float(DEVIATIONS[k])
    assert fit(draws, deviation) > FAILURE_PROBABILITY
    for wrong in (0.99, 1.01):
        assert fit(draws, deviation * wrong) < FAILURE_PROBABILITY


def test_noise_narrower_than_a_step_is_mostly_zero() -> None:
    """P(z != 0) = 2 Phi(-5/2) = 1.24 %: within five deviations of a binomial, 6e-7."""
    chance = 2 * float(stats.norm.cdf(-2.5))
    found = np.count_nonzero(columns()[:, 0])
    assert abs(found - DRAWS * chance) < 5 * math.sqrt(DRAWS * chance)


def test_coordinates_are_independent() -> None:
    """Correlations of a million draws: within six deviations of 1/1000, 2e-9 each."""
    found = np.corrcoef(columns().T) - np.eye(len(DEVIATIONS))
    assert np.abs(found).max() < 6 / math.sqrt(DRAWS)


@cache
def skew_law() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The law of two correlated coordinates on a box of integers, by integrating the conditional normal over every cell."""
    inverse = np.linalg.inv(np.array(SKEW, dtype=float))
    covariance = inverse @ inverse.T
    first, second = np.sqrt(np.diag(covariance))
    slope, rest = covariance[0, 1] / first**2, math.sqrt(second**2 - covariance[0, 1] ** 2 / first**2)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    z = np.arange(-40, 41)
    x = z[:, None] + nodes / 2
    density = stats.norm.pdf(x / first) / first * weights / 2
    ends = (z[None, None, :] + 0.5 - slope * x[:, :, None]) / rest
    cells = stats.norm.cdf(ends) - stats.norm.cdf(ends - 1 / rest)
    return z, np.einsum("in,inj->ij", density, cells)


def test_two_correlated_coordinates_follow_their_enumerated_law() -> None:
    z, law = skew_law()
    assert law.sum() == pytest.approx(1, abs=1e-9)
    for scale, follows in ((Fraction(1), True), (Fraction(99, 100), False), (Fraction(101, 100), False)):
        shape = EllipsoidGrid([[entry * scale for entry in row] for row in SKEW], NormLaw.GAUSSIAN)
        draws = RoundedVector(shape).draw(2 * DRAWS, SeededEntropy(4))
        assert np.abs(draws).max() <= z[-1]
        counts = np.bincount(((draws + z[-1]) @ [len(z), 1]), minlength=len(z) ** 2)
        assert (p_value(counts, law.ravel()) > FAILURE_PROBABILITY) == follows


def test_moments_are_those_of_the_enumerated_law() -> None:
    for s in (0.05, 0.3, 1.0, 1.9999, 2.0, 3.0, 99.9, 100.0, 140.0):
        z = np.arange(-round(12 * s) - 3, round(12 * s) + 4)
        law = stats.norm.cdf((z + 0.5) / s) - stats.norm.cdf((z - 0.5) / s)
        assert rounded_variances(np.array([s]))[0] == pytest.approx((law * z**2).sum(), rel=1e-11)
        assert rounded_absolutes(np.array([s]))[0] == pytest.approx((law * np.abs(z)).sum(), rel=3e-11)
    made = RoundedNormal(DEVIATIONS)
    assert made.variance().tolist() == rounded_variances(np.array([float(s) for s in DEVIATIONS])).tolist()
    assert made.mean_absolute()[2] == pytest.approx(np.abs(columns()[:, 2]).mean(), rel=0.005)


def test_fine_grids_are_decided_in_balls_and_agree_with_floats_where_those_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw resolved by further bits in place of floats: the same integers wherever the floats had decided."""
    exact, seen = [Fraction(2**20) / 3, Fraction(2**50) / 7], []
    resolved = rounded_normal._resolved
    monkeypatch.setattr(rounded_normal, "_resolved", lambda *given: seen.append(1) or resolved(*given))
    by_floats = RoundedNormal(exact).draw(400, SeededEntropy(5))
    assert 400 <= len(seen) < 410  # at steps of 2^-47 deviations 64 bits never suffice, at 2^-18 nearly always
    monkeypatch.setattr(
        rounded_normal.integer_samplers,
        "nearest",
        lambda place, _: (np.zeros_like(place, dtype=np.int64), np.ones_like(place, bool)),
    )
    by_balls = RoundedNormal(exact).draw(400, SeededEntropy(5))
    assert (by_balls[:, 0] == by_floats[:, 0]).all()
    assert np.abs(by_balls[:, 1] - by_floats[:, 1]).max() <= 1  # the same 64 bits, and others behind them


def test_vectors_on_a_fine_grid_have_the_length_of_normal_ones() -> None:
    """Steps of 2^-36 deviations: `|F z|^2` of 200,000 draws against chi-square with two degrees of freedom, by Kolmogorov and
    Smirnov; a hundredth more or less is seen."""
    factor = [[entry / 2**36 for entry in row] for row in SKEW]
    drawn = RoundedVector(EllipsoidGrid(factor, NormLaw.GAUSSIAN)).draw(DRAWS // 5, SeededEntropy(6))
    lengths = ((drawn.astype(float) @ np.array(factor, dtype=float).T) ** 2).sum(axis=1)
    for scale, follows in ((1.0, True), (0.98, False), (1.02, False)):
        assert (stats.kstest(lengths * scale, stats.chi2(2).cdf).pvalue > FAILURE_PROBABILITY) == follows


def test_vectors_decided_in_balls_are_those_that_floats_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = EllipsoidGrid([[entry / 2**12 for entry in row] for row in SKEW], NormLaw.GAUSSIAN)
    by_floats = RoundedVector(shape).draw(200, SeededEntropy(7))
    monkeypatch.setattr(
        rounded_normal.integer_samplers,
        "nearest",
        lambda place, _: (np.zeros_like(place, dtype=np.int64), np.ones_like(place, bool)),
    )
    assert (RoundedVector(shape).draw(200, SeededEntropy(7)) == by_floats).all()


def test_what_cannot_be_drawn_is_refused() -> None:
    for deviations in ([], [Fraction(0)], [Fraction(2**56)], [Fraction(-1)]):
        with pytest.raises(InvalidProblem, match="deviations"):
            RoundedNormal(deviations)
    for rows in ([[Fraction(1)]], [[Fraction(1, 2**56)]]):
        with pytest.raises(InvalidProblem, match="deviations from"):
            RoundedVector(EllipsoidGrid(rows, NormLaw.GAUSSIAN))
    assert RoundedNormal([Fraction(1)]).draw(0, SeededEntropy(1)).shape == (0, 1)


@pytest.mark.parametrize("beyond", [2**55, 2**63])
def test_two_normals_of_one_pair_are_refined_by_the_same_bits(beyond: int) -> None:
    """U of the radius begins with 64 bits 0, so that its next 64 decide the length of both coordinates; an angle of 1/6."""
    angle, further = divmod(2**128 // 6, 2**64)
    shape = EllipsoidGrid([[Fraction(1, 2**40), Fraction(0)], [Fraction(0), Fraction(1, 2**40)]], NormLaw.GAUSSIAN)
    (drawn,) = RoundedVector(shape).draw(1, Scripted(0, angle, beyond, further)).tolist()
    length = 2**40 * math.sqrt(-2 * math.log(beyond / 2**128))
    assert drawn == pytest.approx([length / 2, length * math.sqrt(3) / 2], rel=1e-12)
