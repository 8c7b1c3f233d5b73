"""How far noise reaches: against laws that are summed term by term, and order statistics against the exact binomial law."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.domains.products_release import laplace_margins
from designer.sampling.entropy import Entropy
from designer.sampling.integer_margins import sum_of_gaussians_margin
from designer.sampling.integer_tails import DiscreteStairs
from designer.sampling.margins import (
    FAILURE,
    Draws,
    NoiseFacts,
    NoiseReach,
    Simulated,
    confidence_of,
    least,
    margins_of_all,
    margins_of_each,
    safe_rank,
)
from designer.tables.intervals import student_margin

LEVELS = (0.5, 0.9, 0.95, 0.99)


def gaussian(variance: float) -> Floats:
    """The law of a discrete Gaussian on -r .. r, r beyond everything that matters."""
    z = np.arange(-200, 201)
    masses = np.exp(-(z**2) / (2 * variance))
    return masses / masses.sum()


def laplace(rate: float) -> Floats:
    """The law of discrete Laplace noise on -200 .. 200."""
    masses = np.exp(-rate * np.abs(np.arange(-200, 201)))
    return masses / masses.sum()


def beyond(laws: list[Floats], coefficients: list[int], margin: float) -> float:
    """`P(|sum c_j z_j| > margin)` for whole c_j, by convolution."""
    found = np.ones(1)
    for law, c in zip(laws, coefficients, strict=True):
        spread = np.zeros(c * (len(law) - 1) + 1)
        spread[::c] = law
        found = np.convolve(found, spread)
    sums = np.arange(len(found)) - len(found) // 2
    return float(found[np.abs(sums) > margin].sum())


@pytest.mark.parametrize("variances", [(1.0, 1.0), (0.3, 2.0, 5.0), (30.0, 40.0)])
@pytest.mark.parametrize("level", LEVELS)
def test_sums_of_gaussians_are_within_their_margin(variances: tuple[float, ...], level: float) -> None:
    coefficients = [1, 3, 2][: len(variances)]
    unit = sum_of_gaussians_margin(min(variances), len(variances), 1 - level)
    size = math.sqrt(sum(c * c * v for c, v in zip(coefficients, variances, strict=True)))
    assert beyond([gaussian(v) for v in variances], coefficients, unit * size) <= (1 - level) * (1 + 1e-9)
    assert unit <= math.sqrt(2 * math.log(2 / (1 - level))) * (1 + 1e-8)


@pytest.mark.parametrize("level", LEVELS)
def test_sums_of_laplace_noise_are_within_their_margin(level: float) -> None:
    rates, coefficients = [0.3, 0.3, 1.0], [1, 2, 3]
    squares, largest = np.array([[1.0 + 4.0], [9.0]]), np.array([[2.0], [3.0]])
    margin = laplace_margins(squares, largest, np.array([0.3, 1.0]), 1 - level)[0]
    assert beyond([laplace(r) for r in rates], coefficients, margin) <= 1 - level
    alone = laplace_margins(np.array([[4.0]]), np.array([[2.0]]), np.array([0.3]), 1 - level)[0]
    assert beyond([laplace(0.3)], [2], alone) <= 1 - level < beyond([laplace(0.3)], [2], alone - 2 - 1e-6)


@pytest.mark.parametrize("law", [(Fraction(1), 1, 0), (Fraction(1, 3), 4, 7), (Fraction(3), 5, 2), (Fraction(1, 2), 3, 0)])
@pytest.mark.parametrize("level", LEVELS)
def test_stairs_have_the_least_margin(law: tuple[Fraction, int, int], level: float) -> None:
    unit, width, top = law
    z = np.arange(-2000, 2001)
    masses = np.exp(-float(unit) * np.ceil(np.maximum(np.abs(z) - top, 0) / width))
    masses /= masses.sum()
    margin = DiscreteStairs(*law).margin(1 - level)
    assert masses[np.abs(z) > margin].sum() <= 1 - level
    assert margin == 0 or masses[np.abs(z) > margin - 1].sum() > 1 - level


@pytest.mark.parametrize("level", LEVELS)
def test_student_noise_is_within_its_margin(level: float) -> None:
    scale, power = 300.0, 2
    z = np.arange(-(10**6), 10**6 + 1, dtype=np.float64)
    masses = (scale**2 + z**2) ** -power
    far = 2 * (10.0**6) ** (1 - 2 * power) / (2 * power - 1)  # beyond the table, from above
    margin = student_margin(scale, power, 1.0, 1 - level)
    share = (masses[np.abs(z) > margin].sum() + far) / masses.sum()
    assert share <= 1 - level and share >= (1 - level) * 0.95


@pytest.mark.parametrize(("draws", "level"), [(1000, 0.95), (200, 0.5), (3000, 0.99)])
def test_ranks_are_the_least_that_the_exact_binomial_law_allows(draws: int, level: float) -> None:
    failure, p = 1e-9, Fraction(level)
    rank = safe_rank(draws, level, failure)
    assert rank is not None

    def at_least(i: int) -> Fraction:
        return sum((math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(i, draws + 1)), Fraction(0))

    assert at_least(rank) <= Fraction(failure) < at_least(rank - 1)
    assert safe_rank(20, level, failure) is None or level == 0.5


class Ties:
    """Noise that is -1, 0 or 1 in two answers that are the same, as its first draws have it."""

    def __call__(self, size: int, entropy: Entropy) -> Floats:
        one = entropy.random_words(size) % np.uint64(3)
        return np.stack([one.astype(np.float64) - 1, one.astype(np.float64) - 1], axis=1)


def test_order_statistics_count_ties_and_repeat() -> None:
    each, again = (margins_of_each(Draws(Ties(), 5, 2), 5000, 0.6) for _ in range(2))
    assert each is not None and again is not None and each.margins.tolist() == again.margins.tolist()
    assert each.margins == pytest.approx([1.0, 1.0], abs=1e-8)
    low = margins_of_each(Draws(Ties(), 5, 2), 5000, 0.25)
    assert low is not None and low.margins.tolist() == [0.0, 0.0]
    joint = margins_of_all(Draws(Ties(), 5, 2), 5000, 0.6, np.array([2.0, 2.0]))
    assert joint is not None and joint.margins == pytest.approx([1.0, 1.0], abs=1e-8)


class Apart:
    """Noise of which every draw has a size of its own: 1, 2, .. in one answer and the same backwards in the other."""

    def __call__(self, size: int, entropy: Entropy) -> Floats:
        own = np.arange(1.0, size + 1)
        return np.stack([own, -own[::-1]], axis=1)


def test_margins_of_draws_are_the_order_statistics_of_the_safe_ranks() -> None:
    """Each answer has a half of what may fail; all at once have the whole, for the larger of both sizes."""
    size, level, p = 2000, 0.9, Fraction(9, 10)
    tails = np.cumsum([float(math.comb(size, k) * p**k * (1 - p) ** (size - k)) for k in range(size, 1700, -1)])
    ranks = {failure: size + 1 - int((tails <= failure).sum()) for failure in (FAILURE, FAILURE / 2)}
    assert ranks[FAILURE] < ranks[FAILURE / 2]
    each = margins_of_each(Draws(Apart(), 5, 2), size, level)
    assert each is not None and each.margins == pytest.approx([ranks[FAILURE / 2]] * 2, rel=1e-8)
    joint = margins_of_all(Draws(Apart(), 5, 2), size, level, np.ones(2))
    larger = np.sort(np.maximum(np.arange(1, size + 1), np.arange(size, 0, -1)))
    assert joint is not None and joint.margins == pytest.approx([larger[ranks[FAILURE] - 1]] * 2, rel=1e-8)


def test_noise_where_none_is_to_be_has_no_joint_margin() -> None:
    assert margins_of_all(Draws(Ties(), 5, 2), 5000, 0.6, np.array([0.0, 2.0])) is None
    assert margins_of_all(Draws(Ties(), 5, 2), 5000, 0.25, np.array([0.0, 2.0])) is not None


def test_what_cannot_be_drawn_often_enough_falls_back_or_is_refused() -> None:
    def reach(proven: Floats | None) -> NoiseReach:
        facts = NoiseFacts("a bound", False, math.inf)
        return NoiseReach(lambda level: proven, Ties(), np.zeros(2, dtype=bool), facts, 0, "ties")

    margins, law = reach(np.array([7.0, 8.0])).margins(0.95, True)
    assert margins.tolist() == [7.0, 8.0] and law == "a bound, Bonferroni over 2 answers"
    for joint in (False, True):
        with pytest.raises(InvalidProblem, match="no bound of the noise of ties is proven"):
            reach(None).margins(0.95, joint)


def test_misses_of_all_answers_are_divided_among_those_with_noise_or_multiplied_over_coordinates() -> None:
    asked: list[float] = []

    def proven(level: float) -> Floats:
        asked.append(1 - level)
        return np.array([1.0, 2.0, 0.0])

    silent = np.array([False, False, True])
    for facts, joint in ((NoiseFacts("a bound", False, math.inf), True), (NoiseFacts("a law", True, math.inf, 3), True)):
        NoiseReach(proven, Ties(), silent, facts, 0, "ties").margins(0.9, joint)
    NoiseReach(proven, Ties(), silent, NoiseFacts("a law", True, math.inf), 0, "ties").margins(0.9, False)
    assert asked[0] == pytest.approx(0.05) and (1 - asked[1]) ** 3 == pytest.approx(0.9) and asked[2] == pytest.approx(0.1)


def test_many_narrow_gaussians_are_bounded_by_their_smoothed_densities() -> None:
    """The least bound over the smoothings that are tried, from densities of lattice Gaussians over a period."""
    least, coordinates, share = 2.0, 20, 0.05
    normal, found = NormalDist(), [math.sqrt(2 * math.log(2 / share))]
    z = np.arange(-60, 61)
    weights = np.exp(-(z**2) / (2 * least))
    for smoothing in (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0):
        w = smoothing / least
        y = np.linspace(0, 1 + w, 201)[:, None]
        smoothed = (weights / weights.sum() * np.exp(-((y - z) ** 2) / (2 * w * least))).sum(axis=1) / math.sqrt(w)
        wider = np.exp(-(y[:, 0] ** 2) / (2 * (1 + w) * least)) / math.sqrt(1 + w)
        most = float((smoothed / wider).max())
        for far in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
            rest = share * normal.cdf(far) / most**coordinates
            found.append(far * math.sqrt(w) - math.sqrt(1 + w) * normal.inv_cdf(rest / 2) if rest > 1e-300 else math.inf)
    margin = sum_of_gaussians_margin(least, coordinates, share)
    assert min(found) * (1 - 1e-6) <= margin <= min(found) * 1.001 < found[0]


def test_a_share_survives_its_subtraction_from_one() -> None:
    for share in (0.3, 1e-6, 7e-13, 3e-16):
        assert 0 < 1 - confidence_of(share) <= share


def test_of_two_margins_the_smaller_is_told_answer_by_answer() -> None:
    found = Simulated(np.array([1.0, 5.0, 2.0]), 1000)
    told, words = least(np.array([3.0, 4.0, 2.0]), found, "a bound")
    assert told.tolist() == [1.0, 4.0, 2.0] and words == f"a bound, or {found.words}, whichever is less"
