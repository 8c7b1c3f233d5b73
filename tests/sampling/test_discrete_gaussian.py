"""The exact discrete Gaussian sampler against its law, against wrong samplers, and at its undecided branches."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from designer.sampling import continuous
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integers import discrete_gaussian
from designer.sampling.integers.discrete_gaussian import LARGEST_VARIANCE, DiscreteGaussian, Plan, centred_floats
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value_of_integers

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
LAWS = [
    (Fraction(1, 3), Fraction(0)),
    (Fraction(1, 3), Fraction(1, 3)),
    (Fraction(1, 4), HALF),
    (Fraction(4), Fraction(-7, 3)),
    (Fraction(1000), Fraction(10**9 + 1, 3)),
    (Fraction(2**41), HALF),
    (Fraction(3**26), Fraction(0)),
    (Fraction(2**80) + THIRD, Fraction(0)),
    (Fraction(2**109), Fraction(0)),
]
DRAWS = 1_500_000


def exact_cdf(variance: Fraction, centre: Fraction) -> dict[int, float]:
    """P(Z <= z): the series summed; for wide ones the normal law at 39 edges (they differ by about 1 / (24 sigma^2))."""
    sigma = math.sqrt(variance)
    if sigma < 1000:
        reach = range(math.floor(centre - 14 * sigma) - 2, math.ceil(centre + 14 * sigma) + 3)
        nearest = min((z - centre) ** 2 for z in reach)
        masses = np.array([math.exp(-((z - centre) ** 2 - nearest) / (2 * variance)) for z in reach])
        return dict(zip(reach, np.cumsum(masses) / masses.sum(), strict=True))
    edges = [round(centre + Fraction(sigma * stats.norm.ppf(i / 40))) for i in range(1, 40)]
    return {e: float(stats.norm.cdf(float(e + HALF - centre) / sigma)) for e in edges}


def fit(draws: NDArray[np.int64], variance: Fraction, centre: Fraction) -> float:
    cdf = exact_cdf(variance, centre)
    wanted = [i / 40 for i in range(1, 40)] + [1e-4, 1e-3, 0.999, 0.9999]
    places, values = list(cdf), np.array(list(cdf.values()))
    edges = sorted({places[min(int(np.searchsorted(values, w)), len(places) - 1)] for w in wanted})
    return p_value_of_integers(draws, cdf.__getitem__, edges)


def column(variance: Fraction, centre: Fraction, size: int = DRAWS) -> NDArray[np.int64]:
    return DiscreteGaussian([variance], [centre]).draw(size, SeededEntropy(1))[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("variance", "centre"), LAWS)
def test_draws_follow_the_exact_law_and_wrong_ones_do_not(variance: Fraction, centre: Fraction) -> None:
    draws = column(variance, centre)
    assert fit(draws, variance, centre) > FAILURE_PROBABILITY
    assert fit(column(variance * Fraction(51, 50), centre), variance, centre) < FAILURE_PROBABILITY  # a scale wrong by 1 %
    if variance <= 1000:
        assert fit(draws + 1, variance, centre) < FAILURE_PROBABILITY


@pytest.mark.slow
def test_coordinates_with_laws_of_their_own() -> None:
    draws = DiscreteGaussian([v for v, _ in LAWS], [c for _, c in LAWS]).draw(150_001, SeededEntropy(2))
    assert all(fit(draws[:, k], *law) > FAILURE_PROBABILITY for k, law in enumerate(LAWS))
    scaled = (draws - draws.mean(0)) / draws.std(0)
    correlation = scaled.T @ scaled / len(draws) - np.eye(len(LAWS))
    assert abs(correlation).max() * math.sqrt(len(draws)) < stats.norm.isf(FAILURE_PROBABILITY / 72)


def test_the_first_accepted_of_several_proposals_follows_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """As small draws have it: several proposals for every coordinate at once, those of a pair among them."""
    laws = [*LAWS[:4], (Fraction(1), Fraction(0))]
    noise = DiscreteGaussian([v for v, _ in laws], [c for _, c in laws])
    monkeypatch.setattr(discrete_gaussian, "TRIES", 5 * 5 * 6_000)
    draws = noise.draw(6_000, SeededEntropy(6))
    assert all(fit(draws[:, k], *law) > FAILURE_PROBABILITY for k, law in enumerate(laws))
    scaled = (draws - draws.mean(0)) / draws.std(0)
    correlation = scaled.T @ scaled / len(draws) - np.eye(len(laws))
    assert abs(correlation).max() * math.sqrt(len(draws)) < stats.norm.isf(FAILURE_PROBABILITY / 20)


@pytest.mark.slow
def test_vectors_drawn_one_at_a_time_follow_the_law() -> None:
    noise, entropy = DiscreteGaussian([Fraction(1), Fraction(1, 3)]), SeededEntropy(7)
    draws = np.concatenate([noise.draw(1, entropy) for _ in range(20_000)])
    assert all(fit(draws[:, k], variance, Fraction(0)) > FAILURE_PROBABILITY for k, variance in enumerate(noise.variances))


def test_cosine_and_sine_of_a_pair_are_independent() -> None:
    draws = DiscreteGaussian([Fraction(1, 2)]).draw(2**20, SeededEntropy(3))[:, 0]
    # In the first round of each batch coordinate i and i + half a batch share their words.
    first, second = draws.reshape(-1, 2, discrete_gaussian.BATCH // 2).transpose(1, 0, 2).reshape(2, -1)
    table = np.zeros((5, 5))
    np.add.at(table, (np.clip(first, -2, 2) + 2, np.clip(second, -2, 2) + 2), 1)
    assert stats.chi2_contingency(table).pvalue > FAILURE_PROBABILITY


@pytest.mark.parametrize(("variance", "centre"), [LAWS[0], LAWS[1], LAWS[2], LAWS[7]])
def test_ball_arithmetic_decides_as_the_filter_does(
    variance: Fraction, centre: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = discrete_gaussian.BATCH // 4
    noise = DiscreteGaussian([variance], [centre])
    words = SeededEntropy(4).random_words(3 * size)
    filtered = noise._propose(np.zeros(size, dtype=np.intp), _Replay(words))
    monkeypatch.setattr(continuous, "CIRCLE_ERROR", 1e9)  # nothing is beyond doubt now
    exact = noise._propose(np.zeros(size, dtype=np.intp), _Replay(words))
    assert np.array_equal(filtered[1], exact[1])
    assert np.array_equal(filtered[0][filtered[1]], exact[0][exact[1]])


class _Replay:
    """The given words first, then a seeded stream for the further bits."""

    private = False

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.first, self.later = words, SeededEntropy(5)

    def random_words(self, count: int) -> NDArray[np.uint64]:
        if self.first.size == count:
            taken, self.first = self.first, self.first[:0]
            return taken
        return self.later.random_words(count)


@pytest.mark.slow
def test_the_law_survives_when_all_is_decided_in_ball_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuous, "CIRCLE_ERROR", 1e9)
    assert fit(column(THIRD, THIRD, size=10_000), THIRD, THIRD) > FAILURE_PROBABILITY


@pytest.mark.parametrize(("variance", "centre"), LAWS[:4])
def test_pmf_and_variance_equal_the_series(variance: Fraction, centre: Fraction) -> None:
    noise, cdf = DiscreteGaussian([variance], [centre]), exact_cdf(variance, centre)
    masses = dict(zip(cdf, np.diff([0.0, *cdf.values()]), strict=True))
    assert all(noise.pmf(0, z) == pytest.approx(p, abs=1e-14) for z, p in masses.items())
    mean = math.fsum(p * z for z, p in masses.items())
    assert noise.variance()[0] == pytest.approx(math.fsum(p * (z - mean) ** 2 for z, p in masses.items()), rel=1e-11)


def test_wide_pmf_is_the_normal_density() -> None:
    variance = Fraction(2**80)
    noise = DiscreteGaussian([variance], [THIRD])
    for z in (0, 2**40, -(2**41)):
        assert noise.pmf(0, z) == pytest.approx(stats.norm.pdf(z, loc=1 / 3, scale=2.0**40), rel=1e-12)
    assert noise.variance()[0] == pytest.approx(2.0**80, rel=1e-12)
    sharp = DiscreteGaussian([Fraction(65_535), Fraction(65_537)])
    assert sharp.variance()[1] / sharp.variance()[0] == pytest.approx(65_537 / 65_535, rel=1e-12)  # series beside integral


@pytest.mark.parametrize("variance", [Fraction(1, 10**300), Fraction(1, 10**400)])
def test_vanishing_variances_leave_the_nearest_integers(variance: Fraction) -> None:
    noise = DiscreteGaussian([variance] * 3, [Fraction(0), Fraction(7, 3), Fraction(5, 2)])
    draws = noise.draw(100, SeededEntropy(6))
    assert not draws[:, 0].any()
    assert set(draws[:, 1]) == {2}
    assert set(draws[:, 2]) == {2, 3}
    assert (noise.pmf(0, 0), noise.pmf(0, 1), noise.pmf(2, 3)) == (1.0, 0.0, 0.5)


@pytest.mark.parametrize(
    ("variances", "centres", "message"),
    [
        ([Fraction(0)], None, r"variances\[0\]: 0 is not in \(0, 2\^110\]"),
        ([Fraction(1), Fraction(-1)], None, r"variances\[1\]: -1"),
        ([Fraction(2**111)], None, "coarser grid"),
        ([Fraction(1)], [Fraction(2**62)], r"centres\[0\].*beyond 2\^61"),
        ([Fraction(1)], [Fraction(1)] * 2, "centres: 2 for 1 variances"),
        ([], None, "0 variances"),
    ],
)
def test_bad_parameters_are_refused(variances: list[Fraction], centres: list[Fraction] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DiscreteGaussian(variances, centres)


def test_the_floats_of_centred_laws_are_those_of_their_plans() -> None:
    """Digit by digit, from the narrowest to the widest, at powers of two and at rationals of all sizes."""
    generator = np.random.default_rng(5)
    parts = [int(generator.integers(1, 2**62)) << int(shift) for shift in generator.integers(0, 60, 2000)]
    given = [Fraction(p, q) for p, q in zip(parts[::2], parts[1::2], strict=True)]
    given += [Fraction(2) ** k for k in range(-1000, 111, 3)] + [Fraction(1, 3) * Fraction(4) ** k for k in range(-40, 50)]
    for variance in given:
        if variance <= LARGEST_VARIANCE:
            assert centred_floats(variance) == Plan.of(variance, Fraction(0)).floats()


def test_laws_that_are_tabled_together_have_the_numbers_of_each_to_the_last_bit() -> None:
    """Numerators and denominators of 1 to 27 bits, so that both routes are taken, with and without centres."""
    random = np.random.default_rng(4)
    sizes = 2 ** random.integers(1, 28, (2, 4000))
    variances = [Fraction(int(p), int(q)) for p, q in (1 + random.integers(0, sizes)).T]
    columns = DiscreteGaussian(variances)._columns
    assert [tuple(row) for row in columns.tolist()] == [centred_floats(variance) for variance in variances]
    centres = [Fraction(int(k % 3), 7) for k in range(300)]
    columns = DiscreteGaussian(variances[:300], centres)._columns
    assert [tuple(row) for row in columns.tolist()] == [
        Plan.of(variance, centre).floats() for variance, centre in zip(variances, centres, strict=False)
    ]
