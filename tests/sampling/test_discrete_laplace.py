"""The exact discrete Laplace sampler against its law, against wrong samplers, and at its undecided branches."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from designer.sampling import integer_laplace as discrete_laplace
from designer.sampling import integer_samplers
from designer.sampling.entropy import SeededEntropy, SystemEntropy
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.sampling.integer_samplers import LazyUniform
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value, p_value_of_integers
from tests.oracles.scripted import Scripted

RATES = [
    Fraction(1, 20),
    Fraction(1, 2),
    Fraction(2),
    Fraction(1, 2**20),
    Fraction(3, 2**21),
    Fraction(1, 2**40),
    Fraction(1, 2**54),
]
COARSE = RATES[:3]
DRAWS = 4_000_000


@pytest.fixture(params=[0, discrete_laplace.FEW], ids=["by arrays", "one by one"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few numbers are drawn by arrays, as many are, and one by one."""
    monkeypatch.setattr(discrete_laplace, "FEW", request.param)


def exact_cdf(rate: Fraction, z: int) -> float:
    """P(Z <= z), the geometric series summed."""
    a = math.exp(-rate)
    return 1 - math.exp(-rate * (z + 1)) / (1 + a) if z >= 0 else math.exp(-rate * -z) / (1 + a)


def edges(rate: Fraction) -> list[int]:
    """Integers near the quantiles 1/24, ..., 23/24 of the absolute value, both signs, none twice."""
    positive = {int(-math.log1p(-i / 24) / rate) for i in range(24)}
    return sorted({-1 - e for e in positive} | positive)


def fit(draws: NDArray[np.int64], rate: Fraction) -> float:
    return p_value_of_integers(draws, lambda z: exact_cdf(rate, z), edges(rate))


@lru_cache(maxsize=len(RATES))  # a few tests look at the same four million draws
def column(rate: Fraction, seed: int) -> NDArray[np.int64]:
    return DiscreteLaplace([rate]).draw(DRAWS, SeededEntropy(seed))[:, 0]


@pytest.mark.parametrize("rate", RATES)
def test_draws_follow_the_exact_law(rate: Fraction) -> None:
    assert fit(column(rate, seed=1), rate) > FAILURE_PROBABILITY


def test_coordinates_with_rates_of_their_own() -> None:
    draws = DiscreteLaplace(RATES).draw(400_000, SeededEntropy(2))
    assert all(fit(draws[:, k], rate) > FAILURE_PROBABILITY for k, rate in enumerate(RATES))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("factor", [Fraction(99, 100), Fraction(101, 100)])
def test_a_scale_wrong_by_one_percent_is_rejected(rate: Fraction, factor: Fraction) -> None:
    assert fit(column(rate * factor, seed=1), rate) < FAILURE_PROBABILITY


@pytest.mark.parametrize("rate", COARSE)
def test_a_shift_by_one_step_is_rejected(rate: Fraction) -> None:
    assert fit(column(rate, seed=1) + 1, rate) < FAILURE_PROBABILITY


@pytest.mark.parametrize("rate", RATES)
def test_a_one_sided_error_is_rejected(rate: Fraction) -> None:
    right, wrong = column(rate, seed=1), column(rate * 101 / 100, seed=1)
    assert fit(np.where(right > 0, wrong, right), rate) < FAILURE_PROBABILITY


@pytest.mark.parametrize("rate", COARSE)
def test_zero_counted_under_both_signs_is_rejected(rate: Fraction) -> None:
    draws = column(rate, seed=1)
    geometric, coin = np.where(draws >= 0, draws, ~draws), SeededEntropy(9).random_words(DRAWS) >= np.uint64(2**63)
    assert fit(np.where(coin, geometric, -geometric), rate) < FAILURE_PROBABILITY


def test_digits_sign_and_neighbours_are_independent() -> None:
    rate = Fraction(1, 2**40)
    draws = DiscreteLaplace([rate, rate]).draw(1_000_000, SeededEntropy(3))
    magnitude = np.where(draws >= 0, draws, ~draws)
    size = np.searchsorted([int(-math.log1p(-i / 8) / rate) for i in range(1, 8)], magnitude, side="right")
    low, sign = magnitude & 7, (draws < 0).astype(np.int64)
    label = (size[:, 0] * 8 + low[:, 0]) * 2 + sign[:, 0]
    beside, after = size[:, 1] * 2 + sign[:, 1], np.roll(size[:, 0] * 2 + sign[:, 0], 1)
    for other in (beside, after):
        counts = np.bincount(label * 16 + other, minlength=128 * 16)
        # Eight equally likely sizes, eight low digits and two signs are uniform up to 2^-37.
        assert p_value(counts, np.full(2048, 1 / 2048)) > FAILURE_PROBABILITY


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 2**40)])
def test_ball_arithmetic_decides_as_the_filter_does(rate: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = DiscreteLaplace([rate])
    filtered = noise.draw(20_000, SeededEntropy(4))[:, 0]
    monkeypatch.setattr(integer_samplers, "LOG_ERROR", 1e9)  # nothing is beyond doubt now
    exact = noise.draw(20_000, SeededEntropy(4))[:, 0]
    assert np.array_equal(filtered, exact)
    assert fit(exact, rate) > FAILURE_PROBABILITY


class First:
    """Words given in advance, then those of a seed; how many were asked for."""

    private = False

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.words, self.asked, self.further = words, 0, SeededEntropy(11)

    def random_words(self, count: int) -> NDArray[np.uint64]:
        taken, self.words = self.words[:count], self.words[count:]
        self.asked += count
        return np.concatenate([taken, self.further.random_words(count - len(taken))])


def suspects(noise: DiscreteLaplace, k: int) -> NDArray[np.uint64]:
    """Pairs of words of coordinate k, (n, 2), on both sides of all that leaves a draw in doubt: ends of a count, low digits
    that may be refused, cells of the sign around its threshold, and the ends of the words themselves."""
    shift, split = int(noise._shift[k]), int(noise._sign_split[k])
    rate, keeps, ones = noise.rates[k] * 2**shift, integer_samplers.LOW_BITS, 2**integer_samplers.KEEP_BITS - 1
    ends = [int(math.exp(-float(min(rate * g, 44))) * 2**64) for g in (1, 2, 17)]
    heads = [0, 1, 2, 2**63, 2**64 - 1, *(min(max(e + d, 0), 2**64 - 1) for e in ends for d in (-1, 0, 1))]
    signs = [0, 2**15 - 1, *(min(max(split + d, 0), 2**15 - 1) for d in (-2, -1, 0, 1))]
    lasts = [(s << 49) | (keep << keeps) | low for s in signs for keep in (0, ones - 1, ones) for low in (0, 2**35 - 1)]
    return np.array(list(product(heads, lasts)), dtype=np.uint64)


@pytest.mark.parametrize("width", [1, 3, 24])
def test_few_numbers_are_drawn_one_by_one_as_arrays_draw_them(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers from the same words, and as many further words: random ones, and those beside every doubt."""
    rates = [*RATES, Fraction(7, 3), Fraction(1000), Fraction(10) ** 400]
    chance, decided = np.random.default_rng(12), set[bool]()
    for turn in range(len(rates)):
        noise = DiscreteLaplace([rates[(turn + k) % len(rates)] for k in range(width)])
        pairs = [
            np.concatenate([chance.permutation(suspects(noise, k)), chance.integers(0, 2**64, (200, 2), dtype=np.uint64)])
            for k in range(width)
        ]
        for row in range(0, min(map(len, pairs)), 1 + width):
            words = np.array([own[row] for own in pairs]).T.ravel()
            found = []
            for few in (0, discrete_laplace.FEW):
                with monkeypatch.context() as patched:
                    patched.setattr(discrete_laplace, "FEW", few)
                    if few:
                        patched.setattr(DiscreteLaplace, "_fill", None)
                    else:
                        patched.setattr(DiscreteLaplace, "_few", None)
                    entropy = First(words)
                    found.append((noise.draw(1, entropy).tolist(), entropy.asked))
            assert found[0] == found[1]
            decided.add(found[0][1] > 2 * width)
    assert decided == {True, False}


def test_vectors_that_are_few_are_drawn_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = DiscreteLaplace(RATES[:4])
    few = noise.draw(6, SeededEntropy(13))
    monkeypatch.setattr(discrete_laplace, "FEW", 0)
    assert np.array_equal(few, noise.draw(6, SeededEntropy(13)))


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_uniforms_of_few_bits_are_refined_without_bias(bits: int) -> None:
    entropy, size, rate = SeededEntropy(5), 20_000, Fraction(1, 2)
    heads = entropy.random_words(size) >> np.uint64(64 - bits)
    draws = np.array([integer_samplers.geometric(LazyUniform(int(head), bits, entropy), rate) for head in heads])
    cells = list(range(12))
    assert p_value_of_integers(draws, lambda g: 1 - math.exp(-rate * (g + 1)), cells) > FAILURE_PROBABILITY


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("g", [1, 5, 20])
def test_a_word_on_a_threshold_is_refined_to_either_side(g: int) -> None:
    noise = DiscreteLaplace([Fraction(1, 2)])
    on_threshold, positive = int(math.exp(-g / 2) * 2**53), 0
    # The exact integer part of 2^64 exp(-g / 2): the float gives 53 bits, 40 more digits come from ball arithmetic.
    from flint import arb, ctx, fmpq

    with ctx.workprec(200):
        threshold = int((arb(fmpq(-g, 2)).exp() * 2**64).floor().unique_fmpz())
    assert threshold >> 11 == pytest.approx(on_threshold, abs=2)
    assert noise.draw(1, Scripted(threshold, positive, 0))[0, 0] == g
    assert noise.draw(1, Scripted(threshold, positive, 2**64 - 1))[0, 0] == g - 1
    assert noise.draw(1, Scripted(threshold + 1, positive))[0, 0] == g - 1
    assert noise.draw(1, Scripted(threshold - 1, positive))[0, 0] == g


@pytest.mark.usefixtures("either_way")
def test_a_sign_on_its_threshold_is_refined_to_either_side() -> None:
    rate = Fraction(1, 2)
    noise = DiscreteLaplace([rate])
    cell = int(2**15 / (1 + math.exp(-0.5)))
    u = int(math.exp(-1.7) * 2**64)  # g = floor(1.7 / 0.5) = 3
    assert noise.draw(1, Scripted(u, cell << 49, 0))[0, 0] == 3
    assert noise.draw(1, Scripted(u, cell << 49, 2**64 - 1))[0, 0] == -4
    assert noise.draw(1, Scripted(u, (cell - 1) << 49))[0, 0] == 3
    assert noise.draw(1, Scripted(u, (cell + 1) << 49))[0, 0] == -4


@pytest.mark.usefixtures("either_way")
def test_low_digits_are_refused_and_drawn_again() -> None:
    rate = Fraction(1, 2**40)
    noise = DiscreteLaplace([rate])
    u = int(math.exp(-1.0000001) * 2**64)
    low, ones = 2**20 - 1, (2**14 - 1) << 35
    high = int(noise.draw(1, Scripted(u, 0))[0, 0]) >> 20
    assert high == 2**20
    assert noise.draw(1, Scripted(u, ones | low, 0))[0, 0] == (high << 20) + low  # the uniform's next bits are zeros: kept
    assert noise.draw(1, Scripted(u, ones | low, 2**64 - 1, 5))[0, 0] == (high << 20) + 5
    assert noise.draw(1, Scripted(u, ones))[0, 0] == high << 20  # low = 0 is kept without a question


@pytest.mark.usefixtures("either_way")
def test_an_all_zero_word_reaches_into_the_tail() -> None:
    noise = DiscreteLaplace([Fraction(1, 2)])
    assert noise.draw(1, Scripted(0, 0, 2**63))[0, 0] == math.floor(2 * 65 * math.log(2))


@pytest.mark.parametrize("rate", [Fraction(1000), Fraction(10**300), Fraction(10) ** 400])
def test_steep_rates_are_practically_zero(rate: Fraction) -> None:
    noise = DiscreteLaplace([rate])
    assert not noise.draw(100_000, SeededEntropy(6)).any()
    assert noise.variance()[0] == pytest.approx(0)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), Fraction(1, 2**56), Fraction(1, 10**300)])
def test_rates_that_overflow_are_refused_by_name(rate: Fraction) -> None:
    with pytest.raises(ValueError, match=r"rates\[1\].*below 2\^-55.*coarser grid"):
        DiscreteLaplace([Fraction(1), rate])


def test_no_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="rates: empty"):
        DiscreteLaplace([])


@pytest.mark.usefixtures("either_way")
def test_a_draw_beyond_64_bits_is_an_error_and_not_a_wrong_number() -> None:
    # The first word and five more are zeros: U is close to 2^-385, so g is close to 267 / rate = 2^63.06.
    with pytest.raises(OverflowError, match="64-bit"):
        DiscreteLaplace([Fraction(1, 2**55)]).draw(1, Scripted(0, 0, 0, 0, 0, 0, 0, 2**63))


@pytest.mark.parametrize("rate", COARSE)
def test_closed_forms_equal_the_sums_over_the_masses(rate: Fraction) -> None:
    noise, support = DiscreteLaplace([rate]), range(-2000, 2001)
    masses = [math.tanh(rate / 2) * math.exp(-rate * abs(z)) for z in support]
    assert math.fsum(masses) == pytest.approx(1, rel=1e-13)
    assert math.fsum(p * z * z for p, z in zip(masses, support, strict=True)) == pytest.approx(noise.variance()[0], rel=1e-12)
    assert math.fsum(p * abs(z) for p, z in zip(masses, support, strict=True)) == pytest.approx(
        noise.mean_absolute()[0], rel=1e-12
    )


def test_moments_are_stable_at_tiny_rates() -> None:
    noise = DiscreteLaplace([Fraction(1, 2**40)])
    assert noise.variance()[0] == pytest.approx(2.0**81, rel=1e-12)
    assert noise.mean_absolute()[0] == pytest.approx(2.0**40, rel=1e-12)


def test_low_digit_counts_put_the_high_rate_into_its_interval() -> None:
    for rate in [*RATES, Fraction(1, 2**20 + 1), Fraction(2**20 + 1, 2**41)]:
        shift = integer_samplers.low_digits(rate)
        assert (shift == 0) == (rate > Fraction(1, 2**21))
        assert shift == 0 or Fraction(1, 2**21) < rate * 2**shift <= Fraction(1, 2**20)
        assert shift <= integer_samplers.LOW_BITS


def test_equal_seeds_repeat_and_the_stream_moves_on() -> None:
    noise, entropy = DiscreteLaplace(RATES), SeededEntropy(8)
    first, second = noise.draw(50, entropy), noise.draw(50, entropy)
    assert np.array_equal(first, noise.draw(50, SeededEntropy(8)))
    assert not np.array_equal(first, second)
    assert (SystemEntropy().private, SeededEntropy(8).private) == (True, False)


def test_four_forks_draw_four_different_outputs() -> None:
    noise, entropy = DiscreteLaplace([Fraction(1, 2**40)] * 4), SystemEntropy()
    noise.draw(1, entropy)
    outputs = [_in_a_fork(lambda: noise.draw(1, entropy).tobytes()) for _ in range(4)]
    assert all(len(output) == 32 for output in outputs)
    assert len(set(outputs)) == 4


def _in_a_fork(work) -> bytes:  # type: ignore[no-untyped-def]
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, work())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        output = pipe.read()
    os.waitpid(child, 0)
    return output


def test_nothing_is_left_out_between_edges() -> None:
    for rate in RATES:
        assert all(low < high for low, high in pairwise(edges(rate)))


@pytest.mark.usefixtures("either_way")
def test_signs_whose_bits_end_beside_the_threshold_are_decided_by_further_ones() -> None:
    """A sign of 15 bits is negative from 2^15 / (1 + a) on, a = exp(-rate): the cell in which that lies is left open, whether
    the threshold was rounded up or down. A uniform of 15/16 is a magnitude of 0, which leaves -1 to a negative sign."""
    bits, rounded = integer_samplers.SIGN_BITS, set()
    for rate in (Fraction(k, 7) for k in range(1, 12)):
        threshold = 2**bits / (1 + math.exp(-rate))
        cell = int(threshold)
        rounded.add(round(threshold) == cell)
        noise = DiscreteLaplace([rate])

        def drawn(cell: int, *further: int, noise: DiscreteLaplace = noise) -> int:
            sign = cell << (integer_samplers.LOW_BITS + integer_samplers.KEEP_BITS)
            return int(noise.draw(1, Scripted(15 << 60, sign, *further))[0, 0])

        assert (drawn(cell, 0), drawn(cell, 2**64 - 1)) == (0, -1)
        assert (drawn(cell - 3), drawn(cell + 3)) == (0, -1)
    assert rounded == {True, False}


@pytest.mark.parametrize("digits", [30, 40, 50])
def test_the_sign_of_noise_with_low_digits_has_the_chance_of_the_whole_number(digits: int) -> None:
    """`1 / (1 + a)` lies `rate / 4` above 1/2, which further bits of the sign tell from the chance of the high digit."""
    rate, split = Fraction(1, 2**digits), 2**integer_samplers.SIGN_BITS // 2
    second = split << integer_samplers.LOW_BITS + integer_samplers.KEEP_BITS
    end = 2 ** (integer_samplers.SIGN_BITS + 64 - 2) // 2**digits
    for further, positive in ((end - 2, True), (end + 1, False)):
        drawn = integer_samplers.discrete_laplace(
            rate, integer_samplers.low_digits(rate), 2**63, second, Scripted(further, 2**63)
        )
        assert (drawn >= 0) == positive
