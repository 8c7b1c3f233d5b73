"""The float route of exponentials and normals against ball arithmetic: errors are bounds, numpy keeps to what is assumed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from designer.sampling import integer_samplers
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_samplers import LazyUniform, resolve
from tests.oracles.scripted import Scripted

EXTREME = np.array([0, 1, 2, 2**20, 2**52 + 1, 2**63, 2**64 - 2**12, 2**64 - 2, 2**64 - 1], dtype=np.uint64)


def words(count: int, seed: int) -> NDArray[np.uint64]:
    return np.concatenate(
        [EXTREME, SeededEntropy(seed).random_words(count) >> np.arange(count, dtype=np.uint64) % np.uint64(50)]
    )


def uniform(word: int, seed: int) -> LazyUniform:
    """The same word with 128 further bits: one of the numbers that the word may stand for."""
    refined = LazyUniform(int(word), 64, SeededEntropy(seed))
    refined.refine()
    refined.refine()
    return refined


def test_exponentials_stay_within_their_error() -> None:
    drawn = words(4000, seed=1)
    value, error = integer_samplers.exponential(drawn)
    with ctx.workprec(300):
        for i, word in enumerate(drawn):
            assert error[i] == np.inf or abs(integer_samplers.exponential_ball(uniform(word, i)) - arb(value[i])) < arb(
                error[i]
            )


def test_normals_stay_within_their_error() -> None:
    radius, angle = words(3000, seed=2), words(3000, seed=3)[::-1]
    cosine, sine, error = integer_samplers.normal_pair(radius, angle)
    with ctx.workprec(300):
        for i in range(len(radius)):
            if np.isfinite(error[i]):
                balls = integer_samplers.normal_pair_balls(uniform(radius[i], i), uniform(angle[i], i))
                assert abs(balls[0] - arb(cosine[i])) < arb(error[i])
                assert abs(balls[1] - arb(sine[i])) < arb(error[i])


def test_numpy_is_eight_times_better_than_assumed() -> None:
    u = (SeededEntropy(4).random_words(5000) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    logs, cosines, sines = np.log(u), np.cos(2 * np.pi * u), np.sin(2 * np.pi * u)
    with ctx.workprec(200):
        for i, x in enumerate(u):
            turn = arb(2 * np.pi * x)
            assert abs(arb(logs[i]) / arb(x).log() - 1) < 2.0**-51
            assert abs(arb(cosines[i]) - turn.cos()) < 2.0**-51
            assert abs(arb(sines[i]) - turn.sin()) < 2.0**-51


def test_python_is_eight_times_better_than_assumed() -> None:
    u = ((SeededEntropy(4).random_words(5000) >> np.uint64(11)).astype(np.float64) * 2.0**-53).tolist()
    with ctx.workprec(200):
        for x in u:
            turn = 2 * math.pi * x
            assert abs(arb(math.log(x)) / arb(x).log() - 1) < 2.0**-51
            assert abs(arb(math.exp(-50 * x)) / arb(-50 * x).exp() - 1) < 2.0**-51
            assert abs(arb(math.cos(turn)) - arb(turn).cos()) < 2.0**-51


@pytest.mark.parametrize("bits", [1, 5, 64])
def test_below_has_exactly_the_probability_of_its_bound(bits: int) -> None:
    class Ones:
        private = False

        def random_words(self, count: int) -> NDArray[np.uint64]:
            return np.full(count, 2**64 - 1, dtype=np.uint64)

    # 1/3 = 0.010101... in binary: the head that agrees with it is undecided, then ones put the number above.
    head = int((1 << bits) // 3)
    third = lambda: arb(1) / 3  # noqa: E731
    assert not LazyUniform(head, bits, Ones()).below(third)
    assert LazyUniform(head - 1, bits, Ones()).below(third) if head else True
    assert not LazyUniform(head + 1, bits, Ones()).below(third)


def test_resolve_refines_all_uniforms_alike() -> None:
    pair = [LazyUniform(1, 1, SeededEntropy(5)), LazyUniform(3, 2, SeededEntropy(6))]
    known = [(u.head, u.bits) for u in pair]
    assert resolve(pair, lambda: "enough" if pair[1].bits > 100 else None) == "enough"
    for u, (head, bits) in zip(pair, known, strict=True):
        assert u.bits == bits + 128
        assert u.head >> 128 == head


def test_a_whole_number_that_the_rounding_of_a_place_may_pass_is_left_open() -> None:
    """Without any other error: floats that are 2^-50 of their size, or a step of theirs, beside a whole number."""
    whole = np.array([0.0, 3.0, -7.0, 2.0**20, -(2.0**40)])
    for beside in (whole, np.nextafter(whole, np.inf), np.nextafter(whole, -np.inf), whole + (np.abs(whole) + 1) * 2.0**-51):
        assert integer_samplers.nearest(beside, np.zeros(5))[1].all()
    floors, unsettled = integer_samplers.nearest(whole + 0.25, np.zeros(5))
    assert floors.tolist() == whole.tolist() and not unsettled.any()


@pytest.mark.parametrize("error", [0.0, 1e-3, 0.2, 0.999, 1.0, 7.0])
def test_a_coin_is_decided_only_where_every_exponent_within_the_error_decides_it(error: float) -> None:
    """Coins of 12 bits around both ends of the chances that the error leaves possible."""
    for exponent in (0.0, 0.01, 1.0, 3.0):
        least, most = math.exp(-(exponent + error)), math.exp(-max(exponent - error, 0.0))
        bits = np.arange(2**12, dtype=np.uint64)
        kept, unsettled = integer_samplers.accepted(bits, 12, np.full(bits.size, exponent), np.full(bits.size, error))
        assert ((bits + 1) / 2**12)[kept].max(initial=0.0) <= least
        assert (bits / 2**12)[~(kept | unsettled)].min(initial=1.0) >= most * (1 - 1e-12)
        assert error or np.count_nonzero(unsettled) <= 2


def test_whole_numbers_are_the_leading_bits_of_words_and_those_beyond_the_bound_are_drawn_anew() -> None:
    """Below 5, by three bits: 5 and 7 are refused, and words for what is still missing follow."""
    words = [number << 61 | 12345 for number in (5, 4, 7, 0, 6, 5, 2)]
    assert integer_samplers.uniform_below(5, 3, Scripted(*words[:3], *words[3:5], *words[5:6], *words[6:])) == [4, 0, 2]
