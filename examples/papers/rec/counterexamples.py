"""Counter-examples to statements of REC, in exact numbers: each gives (what the paper states, what is so)."""

from __future__ import annotations

import math
from fractions import Fraction


def one_sided() -> tuple[Fraction, Fraction]:
    """A sum with Gaussian noise of variance 1; record -1 is replaced by 1, and both are
    sensitive: 2 rho, and the loss."""
    variance, record, other = Fraction(1), -1, 1
    rho = Fraction(record**2) / (2 * variance)  # P(r) = r^2 / (2 v), the same for both
    return 2 * rho, Fraction((other - record) ** 2) / (2 * variance)


def noise_beside_signal() -> tuple[int, Fraction]:
    """The variance of the noise over the squared expectation of a sum of 1,000 values of
    tail 3/2, Delta = 100, rho = 1: the paper says that noise exceeds the expectation, so
    a ratio of at least 1."""
    records, tail, delta, rho = 1000, Fraction(3, 2), 100, 1
    expectation = records * tail / (tail - 1)
    return 1, Fraction(delta**2, 2 * rho) / expectation**2


def mean_squared_error() -> tuple[int, Fraction]:
    """The mean squared error over the squared expectation there, clipping at Delta
    included."""
    records, tail, delta, rho = 1000, Fraction(3, 2), 100, 1
    root = math.isqrt(delta)  # of 100, exactly 10
    mean, square = (tail - Fraction(1, root)) / (tail - 1), (2 * root - tail) / (2 - tail)
    expectation = records * tail / (tail - 1)
    error = (records * mean - expectation) ** 2 + records * (square - mean**2) + Fraction(delta**2, 2 * rho)
    return 1, error / expectation**2


def least_variance() -> tuple[Fraction, Fraction]:
    """The Gaussian mechanism's variance times rho^2 / Delta, which a bound of the order
    Delta / rho^2 keeps above a constant: its value at Delta = rho = 1, and at Delta = 1,
    rho = 1/1000."""

    def relative(delta: int, rho: Fraction) -> Fraction:
        return delta**2 / (2 * rho) * rho**2 / delta

    return relative(1, Fraction(1)), relative(1, Fraction(1, 1000))


def found_groups() -> tuple[float, float]:
    """The probability of naming a group in which one record of three rows is alone, when
    8 and more of rows plus Gaussian noise of variance 4 are named: allowed without a
    delta, because the group is never named without the record; and as it is."""
    rows, threshold, deviation = 3, 8, 2
    return 0.0, round(0.5 * math.erfc((threshold - rows) / deviation / math.sqrt(2)), 4)


def rows_of_nothing() -> tuple[int, int]:
    """A record without employees or pay, thresholds 50 and 5,000,000: COUNT before splitting, and COUNT_DISTINCT of the ids
    of its m rows, m the smallest integer with m T(a) >= r(a) for all a."""
    record, thresholds = {"emp": 0, "pay": 0}, {"emp": 50, "pay": 5_000_000}
    m = max(math.ceil(Fraction(record[a], thresholds[a])) for a in thresholds)
    return 1, len({"id of the record" for _ in range(m)})


def two_equal_records() -> tuple[int, float]:
    """The loss of two records of P = 1 each, in units of P: by Lemma 4.4 and the global result of zCDP, and the infimum over k
    of k / (k - 1) + k^2 / (k - 1), as Lemma 4.5 prints it. It is at k = 1 + root(2), 3 + 2 root(2)."""
    k = 1 + math.sqrt(2)
    grid = min(k / (k - 1) + k**2 / (k - 1) for k in (1 + step / 1000 for step in range(1, 10_000)))
    found = k / (k - 1) + k**2 / (k - 1)
    assert abs(found - (3 + 2 * math.sqrt(2))) < 1e-12 and abs(found - grid) < 1e-5
    return 4, round(found, 4)


def adaptive_pair() -> tuple[float, float]:
    """M1 answers a fair coin; M2 answers the data's bit with probability 3/4 where the coin is 0, its opposite where it is 1.
    The Renyi divergence of order 2 between the bits 0 and 1: the sum of those of M1 and of M2's answer, which the proof of
    Lemma 4.2 sets equal to that of the pair, and that of the pair."""

    def chance(data: int, coin: int, answer: int) -> Fraction:
        return Fraction(1, 2) * (Fraction(3, 4) if answer == data ^ coin else Fraction(1, 4))

    def divergence(one: list[Fraction], other: list[Fraction]) -> float:
        return math.log(sum(p * p / q for p, q in zip(one, other, strict=True)))

    bits = (0, 1)
    pairs = [[chance(data, coin, answer) for coin in bits for answer in bits] for data in bits]
    coins = [[sum(chance(data, coin, answer) for answer in bits) for coin in bits] for data in bits]
    answers = [[sum(chance(data, coin, answer) for coin in bits) for answer in bits] for data in bits]
    return divergence(*coins) + divergence(*answers), round(divergence(*pairs), 4)


def least_favourable_order() -> tuple[int, Fraction]:
    """Records that lose 1 and then 4: J times the sum of losses, and the infimum of `k / (k - 1) P_1 + k P_2`, at k = 3/2,
    where its derivative `P_2 - P_1 / (k - 1)^2` is 0. The Gaussian sum of records 1 and 2, variance 1/2, attains it."""
    first, second, k = Fraction(1), Fraction(4), Fraction(3, 2)
    assert second == first / (k - 1) ** 2
    bound = k / (k - 1) * first + k * second
    assert bound == Fraction((1 + 2) ** 2) / (2 * Fraction(1, 2))
    return 2 * int(first + second), bound
