"""Independent exact discrete Laplace noise, one rational rate per coordinate, without tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import cycle
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, distinct, for_each
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.sampling.finite_law import FiniteLaw
from designer.sampling.integer_samplers import (
    KEEP_BITS,
    LOG_ERROR,
    LOW_BITS,
    SIGN_BITS,
    SMALLEST_RATE,
    LazyUniform,
    discrete_laplace,
    geometric,
    high_digit,
    laplace_in_floats,
    low_digits,
)
from solvers.exact.balls import exp_ball, float_above_real, precision, rational_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy


FEW = 24  # numbers that are drawn without arrays, whose 40 passes cost as much
BLOCK = 2**15  # coordinates at a time, so that the intermediate arrays stay in the cache


@dataclass(frozen=True)
class DiscreteLaplace:
    """K independent integers, `P(Z_k = z) = (1 - a_k) / (1 + a_k) * a_k^|z|` with `a_k = exp(-rate_k)`.

    Every number is what `discrete_laplace` (`integer_samplers.py`, where the proof is) makes of two words. Floats say so where
    they leave no doubt; the rest (one in 8,000) is decided in ball arithmetic with further random bits.

    Rates are exact rationals of at least 2^-55 (ValueError below: 64-bit integers would overflow); there is no upper limit.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = DiscreteLaplace([Fraction(1, 2), Fraction(1, 2**40)])
    >>> noise.draw(4, SeededEntropy(1)).shape
    (4, 2)
    >>> noise.variance().round(3).tolist()[0]
    7.835
    """

    rates: Sequence[Fraction]
    _shift: NDArray[np.uint64] = field(init=False, repr=False, compare=False)
    _per_unit: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _sign_split: NDArray[np.uint64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rates = tuple(for_each(Fraction, self.rates))
        if not rates:
            raise InvalidProblem("rates: empty; give one rate per coordinate.")
        for rate in distinct(rates):
            if rate < SMALLEST_RATE:
                raise InvalidProblem(
                    f"rates[{rates.index(rate)}]: {float(rate)!r} is below 2^-55, 64-bit noise would overflow; use a coarser "
                    "grid.",
                    value=rate,
                )
        shifts = for_each(low_digits, rates)
        # A rate above 2^900 is not a float, but then the high digit is 0 whenever the smaller rate 2^900 makes it 0.
        high_rates = for_each(lambda rate: float(min(rate * 2 ** low_digits(rate), Fraction(2**900))), rates)
        halves = 2**SIGN_BITS / (1.0 + np.exp(-self._floats(rates)))
        assign(
            self,
            rates=rates,
            _shift=_frozen(np.array(shifts, dtype=np.uint64)),
            _per_unit=_frozen(1.0 / np.array(high_rates)),
            _sign_split=_frozen(np.rint(halves).astype(np.uint64)),
        )

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent vectors, shape (size, K). OverflowError with probability below e^-256 per coordinate."""
        noise = np.empty((size, len(self.rates)), dtype=np.int64)
        if noise.size <= FEW:
            noise.ravel()[:] = self._few(entropy.random_words(2 * noise.size).tolist(), entropy)
            return noise
        rows = max(1, BLOCK // len(self.rates))
        for start in range(0, size, rows):
            self._fill(noise[start : start + rows], entropy)
        return noise

    def draw_geometric(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` vectors of independent counts, `P(G_k = g) = (1 - a_k) a_k^g`, shape (size,
        K): one word each where rates exceed 2^-20."""
        if self._shift.any():
            drawn = self.draw(size, entropy)
            return drawn ^ (drawn >> 63)  # Z is G or -1 - G, independently of G
        counts = np.empty((size, len(self.rates)), dtype=np.int64)
        rows = max(1, BLOCK // len(self.rates))
        for start in range(0, size, rows):
            block = counts[start : start + rows]
            words = entropy.random_words(block.size).reshape(block.shape)
            block[:], doubtful = high_digit(words, self._per_unit)
            for row, k in np.argwhere(doubtful):
                block[row, k] = geometric(LazyUniform(int(words[row, k]), 64, entropy), self.rates[k])
        return counts

    def variance(self) -> NDArray[np.float64]:
        """`E Z_k^2 = 2 a / (1 - a)^2 = 1 / (2 sinh^2(rate / 2))`, shape (K,): no difference of close numbers at small rates."""
        with np.errstate(over="ignore"):
            return np.asarray(0.5 / np.sinh(self._floats(self.rates) / 2) ** 2)

    def mean_absolute(self) -> NDArray[np.float64]:
        """`E |Z_k| = 2 a / (1 - a^2) = 1 / sinh(rate)`, shape (K,)."""
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / np.sinh(self._floats(self.rates)))

    @staticmethod
    def _floats(rates: Sequence[Fraction]) -> NDArray[np.float64]:
        return np.array(for_each(lambda rate: float(min(rate, Fraction(2**900))), rates))

    def _fill(self, block: NDArray[np.int64], entropy: Entropy) -> None:
        first, second = entropy.random_words(2 * block.size).reshape(2, *block.shape)
        block[:], doubtful = laplace_in_floats(first, second, self._shift, self._per_unit, self._sign_split)
        for row, k in np.argwhere(doubtful):
            block[row, k] = self._decide(k, int(first[row, k]), int(second[row, k]), entropy)

    def _few(self, words: list[int], entropy: Entropy) -> list[int]:
        """What `_fill` makes of the same words, comparison by comparison, without arrays; row by row."""
        laws = zip(
            range(len(self.rates)), self._per_unit.tolist(), self._sign_split.tolist(), self._shift.tolist(), strict=True
        )
        half = len(words) // 2
        return [
            self._decide(k, head, last, entropy) if (found := _beyond_doubt(head, last, *law)) is None else found
            for (k, *law), head, last in zip(cycle(laws), words[:half], words[half:], strict=False)
        ]

    def _decide(self, k: int, first: int, second: int, entropy: Entropy) -> int:
        return discrete_laplace(self.rates[k], int(self._shift[k]), first, second, entropy)


def lone_exponential(word: int) -> tuple[float, float]:
    """`exponential` of one word, without arrays: its value and its error, infinite for the word 0."""
    if not word:
        return 0.0, math.inf
    rounded = float(word)
    value = -math.log(rounded * 2.0**-64)
    return value, 1.0 / rounded + (LOG_ERROR * value + 2.0**-52)


def _beyond_doubt(first: int, second: int, per_unit: float, split: int, shift: int) -> int | None:
    """The draw of a coordinate, None where floats leave it open."""
    keep = (second >> LOW_BITS) & (2**KEEP_BITS - 1)
    sign = second >> (LOW_BITS + KEEP_BITS)
    value, error = lone_exponential(first)
    quotient = value * per_unit
    error = error * per_unit + quotient * 2.0**-50
    if keep == 2**KEEP_BITS - 1 or sign in (split - 1, split):
        return None
    floor = math.floor(quotient)
    fraction = quotient - floor
    if fraction > 1 - error or (fraction < error and floor > 0):
        return None
    magnitude = (floor << shift) | (second & ((1 << shift) - 1))
    return -1 - magnitude if sign >= split else magnitude


def _frozen(array: NDArray[np.generic]) -> NDArray[np.generic]:
    array.setflags(write=False)
    return array


# The ratio of two theta functions, `rho(Z - c) / rho(Z)`: how much mass a discrete Gaussian has around c, compared with an
# integer.
#
# Derivation: docs/theory/lattice.md, section 5.


WIDE = Fraction(1, 6)  # the variance from which the dual series is used: its ratio is exp(-2 pi^2 / 6) = 0.037 there
TERMS = 10  # in floats: 0.037^100 is nothing, and so is exp(-9.5^2 * 3)


@dataclass(frozen=True)
class ThetaRatio:
    """`r(c) = sum_z exp(-(z - c)^2 / (2 v)) / sum_z exp(-z^2 / (2 v))`, z over the integers, v = `variance`; r <= 1 = r(0).

    For v >= 1/6 by the dual series `1 + 2 sum_k q^(k^2) cos(2 pi k c)`, `q = exp(-2 pi^2 v)` (Poisson summation; the common
    factor cancels), below by the series as it stands.

    >>> exponent, error = ThetaRatio(Fraction(1, 4)).exponent(np.array([0.0, 0.5]), np.zeros(2))
    >>> exponent.round(3).tolist()
    [0.0, 0.029]
    """

    variance: Fraction
    _weights: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        k = np.arange(1, TERMS + 1)
        weights = 2.0 * np.exp(-2.0 * np.pi**2 * float(min(self.variance, Fraction(2**60))) * k.astype(np.float64) ** 2)
        weights.setflags(write=False)
        assign(self, _weights=weights[weights > 2.0**-70])

    def exponent(self, centre: Floats, error: Floats) -> tuple[Floats, Floats]:
        """`-log r(c)` for centres known to `error`, and its error.

        centre, error: (n,). Returns (n,) and errors (n,).
        """
        if self.variance < WIDE:
            return self._direct(centre, error)
        if not len(self._weights):
            return np.zeros_like(centre), np.full_like(centre, 2.0**-68)
        angles = 2.0 * np.pi * (centre - np.rint(centre))
        sums = sum(w * np.cos(k * angles) for k, w in enumerate(self._weights, start=1))
        # The derivative of the sum in c is at most 2 pi sum k w_k, 2.5 at v = 1/6; the sum stays above 0.9.
        slope = 2.0 * np.pi * float(self._weights @ np.arange(1, len(self._weights) + 1))
        return np.log1p(self._weights.sum()) - np.log1p(sums), 2.0 * slope * error + 2.0**-46

    def _direct(self, centre: Floats, error: Floats) -> tuple[Floats, Floats]:
        """The series itself, with the largest term `exp(-x^2 / (2 v))`, x the distance to the nearest integer, taken out."""
        precision, near = float(1 / (2 * self.variance)), np.abs(centre - np.rint(centre))
        steps = np.arange(-TERMS, TERMS + 1)
        rest = sum(np.exp(-precision * z * (z - 2.0 * near)) for z in steps if z)
        whole = sum(math.exp(-precision * z * z) for z in steps.tolist() if z)
        exponent = near**2 * precision + math.log1p(whole) - np.log1p(rest)
        # The derivative of log r is the mean of (z - c) / v, below 1 / v.
        return exponent, 2.0 * precision * (error + 2.0**-50) + (exponent + 1.0) * 2.0**-45

    def ball(self, centre: Fraction) -> arb:
        """r(c) at the working precision."""
        series = self._dual_ball if self.variance >= WIDE else self._direct_ball
        return series(centre) / series(Fraction(0))

    def _dual_ball(self, centre: Fraction) -> arb:
        from flint import arb

        rate = 2 * arb.pi() ** 2 * rational_ball(self.variance)
        count = math.isqrt(int(precision() / float(min(self.variance, Fraction(2**40))) / 20)) + 2
        terms = ((-rate * k**2).exp() * (2 * k * rational_ball(centre)).cos_pi() for k in range(1, count))
        # The tail is below twice its first term: successive ratios are below 1/2.
        tail: arb = arb(0, 4 * (-rate * count**2).exp())
        return 1 + 2 * sum(terms, arb(0)) + tail

    def _direct_ball(self, centre: Fraction) -> arb:
        from flint import arb

        rate = rational_ball(1 / (2 * self.variance))
        offset = centre - round(centre)
        count = math.isqrt(int(precision() * float(self.variance) * 2)) + 3
        terms = ((-rate * rational_ball(z - offset) ** 2).exp() for z in range(-count, count + 1))
        tail: arb = arb(0, 4 * (-rate * rational_ball(Fraction(2 * count + 1, 2)) ** 2).exp())
        return sum(terms, arb(0)) + tail


# Independent discrete Laplace numbers, given that their sum is 0, without rejection.


@dataclass(frozen=True)
class ZeroSum:
    """Integers `z_1 + ... + z_n = 0` with `P(z)` proportional to `exp(-rate |z|_1)`, any n >= 1; O(n) a draw.

    z = g - h with g, h counts of equal totals, weight `x^(g_1 + ... + g_n)`, `x = exp(-2 rate)`. Such pairs are the margins of
    a matrix of counts along a staircase from corner (1, 1) to (n, n), unique once every turn from right to down carries at
    least one. So: the number k of turns has mass `C(n-1, k)^2 x^k`, their rows and columns are uniform k-subsets, and the 2n -
    1 counts on the staircase are independent geometric numbers. Derivation: docs/theory/lattice.md, section 3.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> ZeroSum(5, Fraction(1, 4)).draw(3, SeededEntropy(1)).sum(axis=1).tolist()
    [0, 0, 0]
    """

    count: int
    rate: Fraction
    _turns: FiniteLaw = field(init=False, repr=False, compare=False)
    _geometric: DiscreteLaplace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rate = Fraction(self.rate)
        if self.count < 1:
            raise InvalidProblem(f"count: {self.count} cells; give at least one.")
        if rate < Fraction(1, 2**40):
            raise InvalidProblem(
                f"rate: {float(rate)!r} is below 2^-40, sums of 64-bit noise would overflow; use a larger rate.", value=rate
            )
        assign(self, rate=rate, _turns=FiniteLaw(self._weights), _geometric=DiscreteLaplace([2 * rate]))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent vectors, (size, n). OverflowError with probability below e^-256."""
        noise = np.zeros((size, self.count), dtype=np.int64)
        rows = max(1, 2 * BLOCK // self.count)
        for start in range(0, size if self.count > 1 else 0, rows):
            block = noise[start : start + rows]
            block[:] = self._block(len(block), entropy)
        return noise

    def _weights(self) -> list[arb]:
        ratio = rational_ball(-2 * self.rate).exp()
        return [comb(self.count - 1, k) ** 2 * ratio**k for k in range(self.count)]

    def _block(self, rows: int, entropy: Entropy) -> NDArray[np.int64]:
        n, turns = self.count, self._turns.draw(rows, entropy)
        below, right = (_subsets(turns, n - 1, entropy) for _ in range(2))
        walked = np.zeros((rows, 2 * n), dtype=np.int64)
        drawn = self._geometric.draw_geometric(rows * (2 * n - 1), entropy).reshape(rows, -1)
        if drawn.max(initial=0) > 2**62 // (2 * n):
            raise OverflowError("a count left the 64-bit integers (probability below e^-256): draw again.")
        np.cumsum(drawn, axis=1, out=walked[:, 1:])
        noise = np.diff(np.take_along_axis(walked, _row_starts(below, right), axis=1), axis=1)
        noise -= np.diff(np.take_along_axis(walked, _column_starts(below, right), axis=1), axis=1)
        noise[:, :-1] += below
        noise[:, 1:] -= right
        return noise


def chance_of_move(cells: int, length: Fraction) -> float:
    """The probability, rounded up, that `e_1 - e_2` more changes `exp(-length |z|_1 / 2)`, z of `ZeroSum`: by the length
    either way. With `a = exp(-length)` and n cells `(1 + a) H_(n-2)(a) / H_(n-1)(a)`, `H_k(a) = sum_j C(k, j)^2 a^j`."""

    def chance() -> arb:
        ratio = exp_ball(-length)
        return (1 + ratio) * _squares(cells - 2, ratio) / _squares(cells - 1, ratio)

    return float_above_real(chance)


def _squares(k: int, ratio: arb) -> arb:
    """`sum_j C(k, j)^2 ratio^j`."""
    total = term = rational_ball(Fraction(1))
    for j in range(k):
        term = term * ratio * (k - j) ** 2 / (j + 1) ** 2
        total += term
    return total


def _subsets(sizes: NDArray[np.int64], places: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Uniform subsets of `places` places, one of each size, as masks: the places of the smallest of as many random half words.

    Where the smallest are not determined because two of them agree (2^-32), they are drawn again.
    """
    rows, half = np.arange(len(sizes)), (len(sizes) * places + 1) // 2
    words = entropy.random_words(half).view(np.uint32)[: len(sizes) * places].reshape(-1, places)
    ordered = np.sort(words, axis=1)
    last, following = ordered[rows, np.maximum(sizes - 1, 0)], ordered[rows, np.minimum(sizes, places - 1)]
    masks = (words <= last[:, None]) & (sizes > 0)[:, None]
    tied = (last == following) & (sizes > 0) & (sizes < places)
    if tied.any():
        masks[tied] = _subsets(sizes[tied], places, entropy)
    return np.asarray(masks)


def _row_starts(below: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where on the staircase each row begins, and its end, (rows,
    n + 1): row i is entered in the column of the last turn above it."""
    rows, places = below.shape
    passed = np.zeros((rows, places + 1), dtype=np.int64)
    np.cumsum(below, axis=1, out=passed[:, 1:])
    columns = _listed(right, passed - 1, first=1, default=0)
    return _with_end(columns + np.arange(places + 1), 2 * places + 1)


def _column_starts(below: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where each column begins: column j > 1 is entered in the row of the first turn at or right of it, or in the last row."""
    rows, places = right.shape
    passed = np.zeros((rows, places), dtype=np.int64)
    np.cumsum(right[:, :-1], axis=1, out=passed[:, 1:])
    entered = _listed(below, passed, first=0, default=places)
    starts = np.zeros((rows, places + 1), dtype=np.int64)
    starts[:, 1:] = entered + np.arange(1, places + 1)
    return _with_end(starts, 2 * places + 1)


def _listed(masks: NDArray[np.bool_], index: NDArray[np.int64], first: int, default: int) -> NDArray[np.int64]:
    """The `index`-th marked place of each row, counted from `first`; `default` where there is no such."""
    marked = np.append(np.nonzero(masks)[1] + first, 0)
    count = masks.sum(axis=1)
    ends = np.cumsum(count)
    exists = (index >= 0) & (index < count[:, None])
    flat = np.where(exists, index + (ends - count)[:, None], len(marked) - 1)
    return np.where(exists, marked[flat], default)


def _with_end(starts: NDArray[np.int64], end: int) -> NDArray[np.int64]:
    return np.hstack([starts, np.full((len(starts), 1), end)])
