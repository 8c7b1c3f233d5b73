"""The exact discrete Gaussian sampler against its law, against wrong samplers, and at its undecided branches. The staircase of
whole numbers against its law, also below the levels that one word chooses among.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from designer.limits import LARGEST_GAUSSIAN_VARIANCE
from designer.sampling import integer_gaussian as discrete_gaussian
from designer.sampling import integer_samplers
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_gaussian import COLUMNS, DiscreteGaussian, plan_floats
from designer.sampling.integer_samplers import GaussianPlan, LazyUniform
from designer.sampling.integer_tails import TABLED, DiscreteStairs
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value_of_integers
from tests.oracles.scripted import Replayed, Scripted

THIRD = Fraction(1, 3)


LAWS = [
    THIRD,
    Fraction(1, 4),
    Fraction(4),
    Fraction(1000),
    Fraction(2**41),
    Fraction(3**26),
    Fraction(2**80) + THIRD,
    Fraction(2**109),
]


DRAWS = 1_500_000


def exact_cdf(variance: Fraction) -> dict[int, float]:
    """P(Z <= z): the series summed; for wide ones the normal law at 39 edges (they differ by about 1 / (24 sigma^2))."""
    sigma = math.sqrt(variance)
    if sigma < 1000:
        reach = range(-math.ceil(14 * sigma) - 2, math.ceil(14 * sigma) + 3)
        masses = np.array([math.exp(-(z**2) / (2 * variance)) for z in reach])
        return dict(zip(reach, np.cumsum(masses) / masses.sum(), strict=True))
    edges = [round(Fraction(sigma * stats.norm.ppf(i / 40))) for i in range(1, 40)]
    return {e: float(stats.norm.cdf((e + 0.5) / sigma)) for e in edges}


def fit(draws: NDArray[np.int64], variance: Fraction) -> float:
    cdf = exact_cdf(variance)
    wanted = [i / 40 for i in range(1, 40)] + [1e-4, 1e-3, 0.999, 0.9999]
    places, values = list(cdf), np.array(list(cdf.values()))
    edges = sorted({places[min(int(np.searchsorted(values, w)), len(places) - 1)] for w in wanted})
    return p_value_of_integers(draws, cdf.__getitem__, edges)


def column(variance: Fraction, size: int = DRAWS) -> NDArray[np.int64]:
    return DiscreteGaussian([variance]).draw(size, SeededEntropy(1))[:, 0]


@pytest.mark.parametrize("variance", LAWS)
def test_draws_follow_the_exact_law_and_wrong_ones_do_not(variance: Fraction) -> None:
    draws = column(variance)
    assert fit(draws, variance) > FAILURE_PROBABILITY
    assert fit(column(variance * Fraction(51, 50)), variance) < FAILURE_PROBABILITY  # a scale wrong by 1 %
    if variance <= 1000:
        assert fit(draws + 1, variance) < FAILURE_PROBABILITY


def test_coordinates_with_laws_of_their_own() -> None:
    draws = DiscreteGaussian(LAWS).draw(150_001, SeededEntropy(2))
    assert all(fit(draws[:, k], law) > FAILURE_PROBABILITY for k, law in enumerate(LAWS))
    scaled = (draws - draws.mean(0)) / draws.std(0)
    correlation = scaled.T @ scaled / len(draws) - np.eye(len(LAWS))
    assert abs(correlation).max() * math.sqrt(len(draws)) < stats.norm.isf(FAILURE_PROBABILITY / 56)


def test_numbers_drawn_one_by_one_follow_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """As small draws have it: without arrays, refused tries drawn again among those that are left."""
    laws = [*LAWS[:4], Fraction(1)]
    noise = DiscreteGaussian(laws)
    monkeypatch.setattr(discrete_gaussian, "FEW", 5 * 6_000)
    monkeypatch.setattr(DiscreteGaussian, "_propose", None)
    draws = noise.draw(6_000, SeededEntropy(6))
    assert all(fit(draws[:, k], law) > FAILURE_PROBABILITY for k, law in enumerate(laws))
    scaled = (draws - draws.mean(0)) / draws.std(0)
    correlation = scaled.T @ scaled / len(draws) - np.eye(len(laws))
    assert abs(correlation).max() * math.sqrt(len(draws)) < stats.norm.isf(FAILURE_PROBABILITY / 20)


def test_vectors_drawn_one_at_a_time_follow_the_law() -> None:
    noise, entropy = DiscreteGaussian([Fraction(1), Fraction(1, 3)]), SeededEntropy(7)
    draws = np.concatenate([noise.draw(1, entropy) for _ in range(20_000)])
    assert all(fit(draws[:, k], variance) > FAILURE_PROBABILITY for k, variance in enumerate(noise.variances))


def test_cosine_and_sine_of_a_pair_are_independent() -> None:
    draws = DiscreteGaussian([Fraction(1, 2)]).draw(2**20, SeededEntropy(3))[:, 0]
    # In the first round of each batch coordinate i and i + half a batch share their words.
    first, second = draws.reshape(-1, 2, discrete_gaussian.BATCH // 2).transpose(1, 0, 2).reshape(2, -1)
    table = np.zeros((5, 5))
    np.add.at(table, (np.clip(first, -2, 2) + 2, np.clip(second, -2, 2) + 2), 1)
    assert stats.chi2_contingency(table).pvalue > FAILURE_PROBABILITY


@pytest.mark.parametrize("variance", [THIRD, Fraction(1, 4), Fraction(1000), Fraction(2**80) + THIRD])
def test_ball_arithmetic_decides_as_the_filter_does(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    size = discrete_gaussian.BATCH // 4
    noise = DiscreteGaussian([variance])
    words = SeededEntropy(4).random_words(3 * size)
    filtered = noise._propose(np.zeros(size, dtype=np.intp), Replayed(words))
    monkeypatch.setattr(integer_samplers, "CIRCLE_ERROR", 1e9)  # nothing is beyond doubt now
    exact = noise._propose(np.zeros(size, dtype=np.intp), Replayed(words))
    assert np.array_equal(filtered[1], exact[1])
    assert np.array_equal(filtered[0][filtered[1]], exact[0][exact[1]])


def suspects(variance: Fraction, normal: float, reach: int) -> list[int]:
    """Last words beside all that decides about the number next to `normal` deviations: coins next to the chance that keeps it,
    and next to 0 and 1, with the least and the largest place within its block."""
    plan = GaussianPlan.of(variance)
    coins = {0, 1, 2**29 - 2, 2**29 - 1}
    for low in (0, (1 << plan.shift) - 1):
        y = normal * math.sqrt(variance * plan.inflation)
        z = (math.floor(y / (1 << plan.shift) + 0.5) << plan.shift) + low - ((1 << plan.shift) >> 1)
        chance = math.exp(min(0.0, normal**2 / 2 - float(plan.bound) - z * z / (2 * float(variance))))
        coins |= {min(max(round(chance * 2**29) + d, 0), 2**29 - 1) for d in range(-reach, reach + 1)}
    return [(coin << 35) | low for coin in coins for low in (0, (1 << plan.shift) - 1)]


@pytest.mark.parametrize("variance", [Fraction(1, 100), THIRD, Fraction(5), Fraction(2**50), Fraction(2**109)])
def test_what_floats_decide_is_what_the_plan_makes_of_the_same_words(variance: Fraction) -> None:
    """Random words, the ends of words, ties between two blocks, and coins next to their chance; with further bits of all kinds.
    What floats leave open is no error, but most is not open."""
    chance, settled, settled_alone, asked = random.Random(15), 0, 0, 0
    law = np.array([plan_floats(variance)], dtype=COLUMNS)
    plan = GaussianPlan.of(variance)
    for turn in range(120):
        radius = chance.choice([0, 1, 2**63, 2**64 - 1]) if turn < 20 else chance.randrange(2**64)
        angle = chance.choice([0, 2**62, 2**63 - 1, 2**63, 2**64 - 1]) if turn < 20 else chance.randrange(2**64)
        cosine, _, error = integer_samplers.normal_pair(*(np.array([word], dtype=np.uint64) for word in (radius, angle)))
        lasts = suspects(variance, float(cosine[0]), 1) if math.isfinite(error[0]) else []
        for last in [*lasts, chance.randrange(2**64)]:
            words = np.array([last], dtype=np.uint64)
            z, kept, open_ = integer_samplers.gaussian_in_floats(cosine, error, words, law)
            asked += 1
            if not open_[0]:
                settled += 1
                entropy = SeededEntropy(turn)
                polar = LazyUniform(radius, 64, entropy), LazyUniform(angle, 64, entropy)
                assert plan.decide(polar, 0, last, entropy) == (z[0], kept[0])
            if (alone := discrete_gaussian._beyond_doubt(radius, angle, last, *law[0].tolist())) is not None:
                settled_alone += 1
                assert alone == plan.decide(_polar(radius, angle, turn), 0, last, SeededEntropy(turn))
    assert settled > asked / 2 and settled_alone > asked / 2


def _polar(radius: int, angle: int, seed: int) -> tuple[LazyUniform, LazyUniform]:
    entropy = SeededEntropy(seed)
    return LazyUniform(radius, 64, entropy), LazyUniform(angle, 64, entropy)


@pytest.mark.parametrize("variance", [Fraction(1000), Fraction(2**50)])
def test_a_block_that_a_lone_word_leaves_open_is_decided_in_balls(variance: Fraction) -> None:
    """Angles on which the normal number stands at the border of two blocks, as near as words come to it: whatever floats say
    beyond doubt is what balls say."""
    plan, chance, near, open_ = GaussianPlan.of(variance), random.Random(3), 0, 0
    row = plan_floats(variance)
    for _ in range(40):
        radius = chance.randrange(2**60, 2**63)
        length = math.sqrt(-2 * math.log(radius * 2.0**-64))
        border = math.floor(length * 0.6 * row[0]) + 0.5
        middle = round(math.acos(border / row[0] / length) / (2 * math.pi) * 2**64)
        last = chance.randrange(2**24) << 11 & row[5]  # the coin is 0, which any chance keeps
        for beside in (-(2**18), -1, 0, 1, 2**18):
            found = discrete_gaussian._beyond_doubt(radius, middle + beside, last, *row)
            open_ += found is None
            near += found is not None
            assert found in (None, plan.decide(_polar(radius, middle + beside, 5), 0, last, SeededEntropy(5)))
    assert near and open_


@pytest.mark.parametrize("variance", [THIRD, Fraction(2**80) + THIRD])
def test_numbers_that_are_decided_in_balls_one_by_one_are_those_of_their_words(
    variance: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise, words = DiscreteGaussian([variance]), SeededEntropy(9).random_words(3 * discrete_gaussian.TRIES * 40)
    found = []
    for error in (integer_samplers.CIRCLE_ERROR, 1e9):  # 1e9: nothing is beyond doubt now
        monkeypatch.setattr(discrete_gaussian, "CIRCLE_ERROR", error)
        found.append(noise._few(40, Replayed(words)))
    assert found[0] == found[1]


def test_the_law_survives_when_all_is_decided_in_ball_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_samplers, "CIRCLE_ERROR", 1e9)
    assert fit(column(THIRD, size=10_000), THIRD) > FAILURE_PROBABILITY


@pytest.mark.parametrize("variance", LAWS[:4])
def test_the_variance_equals_the_series(variance: Fraction) -> None:
    noise, cdf = DiscreteGaussian([variance]), exact_cdf(variance)
    masses = dict(zip(cdf, np.diff([0.0, *cdf.values()]), strict=True))
    mean = math.fsum(p * z for z, p in masses.items())
    assert noise.variance()[0] == pytest.approx(math.fsum(p * (z - mean) ** 2 for z, p in masses.items()), rel=1e-11)


def test_wide_variances_are_those_of_the_normal_law() -> None:
    noise = DiscreteGaussian([Fraction(2**80)])
    assert noise.variance()[0] == pytest.approx(2.0**80, rel=1e-12)
    sharp = DiscreteGaussian([Fraction(65_535), Fraction(65_537)])
    assert sharp.variance()[1] / sharp.variance()[0] == pytest.approx(65_537 / 65_535, rel=1e-12)  # series beside integral


@pytest.mark.parametrize("variance", [Fraction(1, 10**300), Fraction(1, 10**400)])
def test_vanishing_variances_leave_zero(variance: Fraction) -> None:
    noise = DiscreteGaussian([variance] * 3)
    assert not noise.draw(100, SeededEntropy(6)).any()
    assert not noise.variance().any()


@pytest.mark.parametrize(
    ("variances", "message"),
    [
        ([Fraction(0)], r"variances\[0\]: 0 is not in \(0, 2\^110\]"),
        ([Fraction(1), Fraction(-1)], r"variances\[1\]: -1"),
        ([Fraction(2**111)], "coarser grid"),
        ([], "variances: empty"),
    ],
)
def test_bad_parameters_are_refused(variances: list[Fraction], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DiscreteGaussian(variances)


def floats_of(plan: GaussianPlan) -> tuple[float | int, ...]:
    """A row of COLUMNS from the fractions of a plan, each rounded once."""
    block = 1 << plan.shift
    precision = float(min(1 / (2 * plan.variance), Fraction(2**900)))
    spread = math.sqrt(plan.variance * plan.inflation / block**2)
    return spread, precision, float(plan.bound), plan.shift, block // 2, block - 1


def test_the_floats_of_laws_are_those_of_their_plans() -> None:
    """Digit by digit, from the narrowest to the widest, at powers of two and at rationals of all sizes."""
    generator = np.random.default_rng(5)
    parts = [int(generator.integers(1, 2**62)) << int(shift) for shift in generator.integers(0, 60, 2000)]
    given = [Fraction(p, q) for p, q in zip(parts[::2], parts[1::2], strict=True)]
    given += [Fraction(2) ** k for k in range(-1000, 111, 3)] + [Fraction(1, 3) * Fraction(4) ** k for k in range(-40, 50)]
    for variance in given:
        if variance <= LARGEST_GAUSSIAN_VARIANCE:
            assert plan_floats(variance) == floats_of(GaussianPlan.of(variance))


def test_laws_that_are_tabled_together_have_the_numbers_of_each_to_the_last_bit() -> None:
    """Numerators and denominators of 1 to 27 bits, so that both routes are taken."""
    random = np.random.default_rng(4)
    sizes = 2 ** random.integers(1, 28, (2, 4000))
    variances = [Fraction(int(p), int(q)) for p, q in (1 + random.integers(0, sizes)).T]
    columns = DiscreteGaussian(variances)._columns
    assert [tuple(row) for row in columns.tolist()] == [plan_floats(variance) for variance in variances]


@pytest.mark.parametrize("variance", [Fraction(1, 50), THIRD, Fraction(7), Fraction(2**41), Fraction(2**80)])
def test_the_bound_of_a_plan_is_the_largest_exponent_of_its_coin(variance: Fraction) -> None:
    """Every try is kept with a chance of at most 1, and the bound is reached: y on the far end of the block of each z."""
    plan, largest = GaussianPlan.of(variance), Fraction(-1)
    w = Fraction(2**plan.shift if plan.shift else Fraction(1, 2))
    top = w / (plan.inflation - 1)
    for z in {0, 1, 2, math.floor(top), math.ceil(top), math.floor(top) + 1, 2 * math.ceil(top)}:
        largest = max(largest, ((z + w) ** 2 / plan.inflation - z * z) / (2 * variance))
    assert plan.bound - plan.bound / 4 <= largest <= plan.bound or largest <= plan.bound < 1


def test_a_plan_around_a_centre_has_the_law_around_it() -> None:
    """In ball arithmetic, as coefficients of lattice vectors are decided: one coin's worth of words a try."""
    variance, centre, entropy = THIRD, Fraction(2, 5), SeededEntropy(16)
    eta = Fraction(2) ** integer_samplers.log_eta(variance, 0)
    top = max(Fraction(1, 2) / eta, centre)
    bound = ((top + Fraction(1, 2)) ** 2 / (1 + eta) - top**2 + centre**2) / (2 * variance)
    plan, found = GaussianPlan(variance, centre, 0, 1 + eta, bound), list[int]()
    for radius, angle, last in entropy.random_words(3 * 12_000).reshape(-1, 3).tolist():
        z, kept = plan.decide((LazyUniform(radius, 64, entropy), LazyUniform(angle, 64, entropy)), 0, last, entropy)
        found += [z] * kept
    masses = np.array([math.exp(-((z - float(centre)) ** 2) / (2 * float(variance))) for z in range(-8, 9)])
    cdf = dict(zip(range(-8, 9), np.cumsum(masses) / masses.sum(), strict=True))
    draws = np.array(found)
    assert p_value_of_integers(draws, cdf.__getitem__, [-1, 0, 1]) > FAILURE_PROBABILITY
    assert p_value_of_integers(1 - draws, cdf.__getitem__, [-1, 0, 1]) < FAILURE_PROBABILITY


def test_two_numbers_of_one_normal_pair_see_the_same_further_bits() -> None:
    """U of the radius begins with 64 bits 0, so that floats know neither number, and at an angle of 1/8 both are equal: their
    law has no such draws where each of them refines the pair by bits of its own."""
    words = Scripted(0, 2**61, 0, 0, *(2 ** (63 - 8 * place) for place in range(8)))
    (cosine, sine), _ = DiscreteGaussian([Fraction(2**80)])._propose(np.zeros(2, dtype=np.intp), words)
    assert cosine > 6 * 2**40
    assert sine == pytest.approx(cosine, rel=2.0**-18)


@pytest.mark.parametrize("wrong, right", [(1.0, True), (1.1, False)])
def test_draws_of_very_many_levels_follow_the_law_and_those_of_another_do_not(wrong: float, right: bool) -> None:
    unit, width, top = Fraction(1, 100), 3, 2
    drawn = DiscreteStairs(unit, width, top).draw(40_000, SeededEntropy(3))[:, 0]
    z = np.arange(-20_000, 20_001)
    masses = np.exp(-wrong * float(unit) * np.ceil(np.maximum(np.abs(z) - top, 0) / width))
    below = np.cumsum(masses / masses.sum())
    edges = np.searchsorted(below, np.arange(1, 40) / 40).tolist()
    assert (np.abs(drawn) > top + 2 * TABLED * width).mean() > 0.25, (
        "a draw in four lies below twice as many levels as one word chooses among"
    )
    found = p_value_of_integers(drawn, lambda at: float(below[at + 20_000]), [edge - 20_000 for edge in edges])
    assert (found > FAILURE_PROBABILITY) == right


@pytest.mark.parametrize("width, top", [(1, 0), (2, 1)])
def test_the_top_of_narrow_stairs_is_drawn_as_often_as_the_law_says(width: int, top: int) -> None:
    drawn = DiscreteStairs(Fraction(1), width, top).draw(20_000, SeededEntropy(5))[:, 0]
    z = np.arange(-80, 81)
    masses = np.exp(-np.ceil(np.maximum(np.abs(z) - top, 0) / width))
    below = np.cumsum(masses / masses.sum())
    assert p_value_of_integers(drawn, lambda at: float(below[at + 80]), list(range(-4, 4))) > FAILURE_PROBABILITY
