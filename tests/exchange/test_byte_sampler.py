"""Noise from bytes by whole numbers alone: exact laws, to the byte what the page says."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from designer import InvalidProblem
from designer.exchange.device import (
    ByteGaussian,
    ByteLaplace,
    GivenBytes,
    exp_chance,
    gaussian_number,
    laplace_number,
    uniform_number,
)
from tests.oracles.goodness_of_fit import p_value
from tests.oracles.small_laws import integers

FAILURE_PROBABILITY = 1e-6  # of each chi-square test; seeds are fixed
DRAWS = 6_000
PLACES = range(-12, 13)


def test_uniform_numbers_take_the_fewest_bytes_and_are_uniform() -> None:
    """Every byte, one by one: each number below the limit has as many of them, and the rest is drawn again."""
    for limit in (2, 3, 5, 127, 128, 129, 255, 256):
        counted: Counter[int] = Counter()
        for first in range(256):
            given = GivenBytes(bytes([first, 0]))
            number = uniform_number(limit, given)
            counted[number] += given.used == 1
        assert len({counted[k] for k in range(limit)}) == 1 and counted[0] >= 1
    nothing = GivenBytes(b"")
    assert uniform_number(1, nothing) == 0 and nothing.used == 0
    two = GivenBytes(bytes([0xFE, 0x01, 0xFF, 0xFF]))
    assert uniform_number(300, two) == 1 and two.used == 2  # 0xFE01 without its seven upper bits is 1
    with pytest.raises(InvalidProblem, match="too few"):
        uniform_number(2**64, GivenBytes(b"1234567"))


@pytest.mark.parametrize(("over", "under"), [(0, 3), (1, 4), (1, 1), (7, 3)])
def test_a_chance_is_the_exponential_function(over: int, under: int) -> None:
    read = random.Random(over * 10 + under).randbytes
    counted = Counter(exp_chance(over, under, read) for _ in range(DRAWS))
    chance = math.exp(-over / under)
    observed = np.array([counted[True], counted[False]])
    assert (counted[False] == 0) if chance == 1 else p_value(observed, np.array([chance, 1 - chance])) > FAILURE_PROBABILITY


def observed(draw: object, seed: int) -> np.ndarray:
    read = random.Random(seed).randbytes
    counted = Counter(min(max(draw(read), -12), 12) for _ in range(DRAWS))  # type: ignore[operator]
    return np.array([counted[z] for z in PLACES])


def folded(energy: Callable[[int], float]) -> np.ndarray:
    """Probabilities of `PLACES` in proportion to exp(-energy), what lies beyond counted in the ends."""
    law = integers(energy)
    inner = np.array([law.get(z, 0.0) for z in PLACES])
    inner[[0, -1]] += (1 - inner.sum()) / 2
    return inner


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(5, 2), Fraction(2**53 - 1, 2**54)], ids=str)
def test_laplace_numbers_have_their_law(rate: Fraction) -> None:
    counted = observed(ByteLaplace(rate).draw, 7)
    assert p_value(counted, folded(lambda z: float(rate) * abs(z))) > FAILURE_PROBABILITY
    assert p_value(counted, folded(lambda z: 1.2 * float(rate) * abs(z))) < FAILURE_PROBABILITY  # a rate a fifth off is seen


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(4), Fraction(37, 5)], ids=str)
def test_gaussian_numbers_have_their_law(variance: Fraction) -> None:
    counted = observed(ByteGaussian(variance).draw, 11)
    assert p_value(counted, folded(lambda z: z * z / (2 * float(variance)))) > FAILURE_PROBABILITY
    assert p_value(counted, folded(lambda z: z * z / (2.4 * float(variance)))) < FAILURE_PROBABILITY


def test_a_wide_law_is_as_wide_as_it_says() -> None:
    """Steps of 2^-40 scales: variances of 1,000 draws, within 6 standard errors (fourth moments of the two laws)."""
    for law, variance, excess in (
        (ByteLaplace(Fraction(1, 2**40)), 2.0 * 4.0**40, 5.0),
        (ByteGaussian(Fraction(4**40)), 4.0**40, 2.0),
    ):
        read = random.Random(5).randbytes
        draws = np.array([law.draw(read) for _ in range(1_000)], dtype=np.float64)
        assert abs((draws**2).mean() / variance - 1) < 6 * math.sqrt(excess / 1_000)


def test_bytes_are_read_in_the_order_of_the_page() -> None:
    """Two walks through the algorithm, byte by byte."""
    # s/t = 1/2: low = 0 of one bit; exp(0) is a chance of 0/2, refused by the byte 1 (number 1 of 0..1): k = 1, odd, true;
    # then exp(-1): 1/1 holds without a byte, 1/2 is refused by byte 1: k = 2, false, so high = 0; size 0, sign 0.
    given = GivenBytes(bytes([0, 1, 1, 0]))
    assert laplace_number(1, 2, given) == 0 and given.used == 4
    # low = 1: 1/2 refused by byte 1; high: exp(-1) true by 1/2 (byte 0) and not 1/3 (byte 2), then false (byte 1); size 3,
    # sign 1.
    given = GivenBytes(bytes([1, 1, 0, 2, 1, 1]))
    assert laplace_number(1, 2, given) == -3 and given.used == 6


def test_a_gaussian_number_is_a_laplace_number_that_is_kept() -> None:
    for seed in range(20):
        content = random.Random(seed).randbytes(2_000)
        one, other = GivenBytes(content), GivenBytes(content)
        found = gaussian_number(1, 1, 2, one)
        while True:
            z = laplace_number(1, 2, other)
            if exp_chance((abs(z) * 2 - 1) ** 2, 8, other):
                break
        assert (found, one.used) == (z, other.used)
