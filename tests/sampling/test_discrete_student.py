"""The exact heavy-tailed sampler against its law, against wrong laws, and where floats leave a draw open."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from designer.sampling.entropy import SeededEntropy, SystemEntropy
from designer.sampling.integer_samplers import LazyUniform
from designer.sampling.integer_tails import DiscreteStudent
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value, p_value_of_integers

NARROW = [(Fraction(1, 3), 2), (Fraction(1), 2), (Fraction(7, 2), 3), (Fraction(5), 9), (Fraction(20), 16)]
WIDE = [(Fraction(2**20), 2), (Fraction(10**7, 3), 3), (Fraction(2**32), 2), (Fraction(2**25), 64)]
DRAWS = 400_000


def law(scale: Fraction, power: int, reach: int) -> NDArray[np.float64]:
    """Masses at -reach .. reach from the definition; the rest of the mass is below the integral of k^(-2 power)."""
    k = np.arange(-300_000, 300_001, dtype=float)
    weights = (1 + (k / float(scale)) ** 2) ** -float(power)
    middle = len(k) // 2
    return np.asarray(weights[middle - reach : middle + reach + 1] / weights.sum())


def fit(draws: NDArray[np.int64], scale: Fraction, power: int) -> float:
    reach = 40
    inside = draws[np.abs(draws) <= reach] + reach
    counts = np.bincount(inside, minlength=2 * reach + 1)
    masses = law(scale, power, reach)
    return p_value(np.append(counts, len(draws) - counts.sum()), np.append(masses, max(0.0, 1 - masses.sum())))


@pytest.mark.parametrize(("scale", "power"), NARROW)
def test_draws_follow_the_law(scale: Fraction, power: int) -> None:
    assert fit(DiscreteStudent(scale, power).draw(DRAWS, SeededEntropy(1)), scale, power) > FAILURE_PROBABILITY


@pytest.mark.parametrize(("scale", "power"), NARROW[1:])
def test_a_law_three_percent_wider_is_noticed(scale: Fraction, power: int) -> None:
    draws = np.concatenate([DiscreteStudent(scale * Fraction(103, 100), power).draw(DRAWS, SeededEntropy(i)) for i in range(4)])
    assert fit(draws, scale, power) < FAILURE_PROBABILITY


@pytest.mark.parametrize(("scale", "power"), WIDE)
def test_wide_draws_are_student_numbers(scale: Fraction, power: int) -> None:
    """For wide laws the integers are the rounded Student law with 2 power - 1 degrees of
    freedom and scale / sqrt(2 power - 1)."""
    draws = DiscreteStudent(scale, power).draw(DRAWS, SeededEntropy(2))
    student = stats.t(2 * power - 1, scale=float(scale) / math.sqrt(2 * power - 1))
    edges = [math.floor(q) for q in student.ppf(np.concatenate([np.arange(1, 50) / 50, [1e-4, 1 - 1e-4]]))]
    assert p_value_of_integers(draws, lambda z: student.cdf(z + 0.5), sorted(edges)) > FAILURE_PROBABILITY


def test_every_route_gives_the_same_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact decisions for all draws, not only the doubtful ones, from the same words."""
    noise = DiscreteStudent(Fraction(7, 2), 2)
    fast = noise.draw(3000, SeededEntropy(3))
    magnitudes = DiscreteStudent._magnitudes

    def all_doubtful(self: DiscreteStudent, words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        k, _ = magnitudes(self, words)
        return np.zeros_like(k), np.ones(len(k), dtype=bool)

    monkeypatch.setattr(DiscreteStudent, "_magnitudes", all_doubtful)
    assert (noise.draw(3000, SeededEntropy(3)) == fast).all()


@pytest.mark.parametrize("scale", [Fraction(7, 2), Fraction(2**32), Fraction(1, 2**20)])
def test_floats_that_are_sure_are_right(scale: Fraction) -> None:
    """Magnitudes from random, extreme and just-on-the-edge words,
    against the rational floor at both ends of what the word leaves open."""
    noise = DiscreteStudent(scale, 2)
    edge = [int(2**64 * scale / (scale + k)) + d for k in range(1, 40) for d in (-2, -1, 0, 1)]
    words = [*SeededEntropy(4).random_words(2000).tolist(), *(w for w in edge if 0 <= w < 2**64), 0, 1, 2**24, 2**64 - 1]
    k, doubtful = noise._magnitudes(np.array(words, dtype=np.uint64))
    assert (~doubtful).sum() > 0
    for word, value, open_ in zip(words, k.tolist(), doubtful.tolist(), strict=True):
        if not open_:
            ends = [math.floor(scale * (Fraction(2**64, u) - 1)) for u in (word + 1, word)]
            assert ends == [value, value] or scale * (Fraction(2**64, word) - 1) == ends[1] == value + 1


@pytest.mark.parametrize(("scale", "power"), NARROW + WIDE)
def test_acceptance_is_a_probability_and_its_error_is_bounded(scale: Fraction, power: int) -> None:
    noise = DiscreteStudent(scale, power)
    places = sorted({0, 1, 2, noise.mode, noise.mode + 1, *(int(scale * f) for f in (0.1, 1, 3, 100))})
    chance, error = noise._chance(np.array(places, dtype=float))
    for k, float_chance, bound in zip(places, chance.tolist(), error.tolist(), strict=True):
        exact = noise._ratio(k) / noise._ratio(noise.mode)
        assert exact <= 1
        assert abs(Fraction(float_chance) - exact) <= Fraction(bound)
    assert noise._ratio(noise.mode) == max(noise._ratio(k) for k in range(max(0, noise.mode - 300), noise.mode + 300))


@pytest.mark.parametrize(("scale", "power"), NARROW)
def test_moments(scale: Fraction, power: int) -> None:
    noise, masses = DiscreteStudent(scale, power), law(scale, power, 100_000)
    assert noise.variance() == pytest.approx(float((masses * np.arange(-100_000, 100_001.0) ** 2).sum()), rel=1e-4)


class Smallest:
    """The words behind a uniform number next to 0."""

    private = False

    def random_words(self, count: int) -> NDArray[np.uint64]:
        return np.full(count, 2**63 + 12345, dtype=np.uint64)


def test_noise_beyond_64_bits_is_an_error_whatever_the_data_are(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = DiscreteStudent(Fraction(2**32), 2)
    assert noise._decide(0, 2, Smallest()) == (0, False)
    monkeypatch.setattr(LazyUniform, "below", lambda self, bound: True)
    with pytest.raises(OverflowError, match="draw again"):
        noise._decide(0, 2, Smallest())


def test_system_entropy() -> None:
    assert DiscreteStudent(Fraction(3), 2).draw(5, SystemEntropy()).shape == (5,)


@pytest.mark.parametrize(("scale", "power"), [(Fraction(0), 2), (Fraction(2**33), 2), (Fraction(1), 1), (Fraction(1), 65)])
def test_refusals(scale: Fraction, power: int) -> None:
    with pytest.raises(ValueError, match=r"scale|power"):
        DiscreteStudent(scale, power)
