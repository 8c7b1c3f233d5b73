"""Independent exact discrete Laplace noise, one rational rate per coordinate, without tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.repeated import distinct, for_each
from designer.sampling import continuous
from designer.sampling.lazy_uniform import LazyUniform, resolve
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

# The second word of a coordinate, from its low end: 35 bits of the low digits, 14 bits that accept them, 15 bits of the sign.
LOW_BITS, KEEP_BITS, SIGN_BITS = 35, 14, 15
HIGH_RATE = Fraction(1, 2**20)  # the high digit has a rate in (2^-21, 2^-20] wherever there are low digits
SMALLEST_RATE = HIGH_RATE / 2**LOW_BITS  # 2^-55: beyond 2^63 lies a mass of e^-256
FEW = 24  # numbers that are drawn without arrays, whose 40 passes cost as much
BLOCK = 2**15  # coordinates at a time, so that the intermediate arrays stay in the cache


@dataclass(frozen=True)
class DiscreteLaplace:
    """K independent integers, `P(Z_k = z) = (1 - a_k) / (1 + a_k) * a_k^|z|` with `a_k = exp(-rate_k)`.

    The law of `draw` is exactly this one, given ideal random bits and a `np.log` that is right to 2^-48. Floats only sort out
    the draws that are beyond doubt; the rest (one in 8,000) is decided by ball arithmetic with further random bits.
    Derivation: docs/theory/sampling.md, section 1.

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
        shifts = for_each(_low_digits, rates)
        # A rate above 2^900 is not a float, but then the high digit is 0 whenever the smaller rate 2^900 makes it 0.
        high_rates = for_each(lambda rate: float(min(rate * 2 ** _low_digits(rate), Fraction(2**900))), rates)
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
            noise[:] = np.array(self._few(entropy.random_words(2 * noise.size), entropy)).reshape(noise.shape)
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
            block[:], doubtful = self._high_digit(words)
            for row, k in np.argwhere(doubtful):
                block[row, k] = _geometric(LazyUniform(int(words[row, k]), 64, entropy), self.rates[k])
        return counts

    def pmf(self, k: int, z: int) -> float:
        """`P(Z_k = z)`, as a float."""
        rate = self._floats(self.rates)[k]
        return float(np.tanh(rate / 2) * np.exp(-rate * abs(z)))

    def tail(self, k: int, m: int) -> float:
        """`P(|Z_k| > m) = 2 a^(m + 1) / (1 + a)` for an integer m >= 0, as a float."""
        rate = self._floats(self.rates)[k]
        return float(2.0 * np.exp(-rate * (m + 1)) / (1.0 + np.exp(-rate)))

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
        high, doubtful = self._high_digit(first)
        keep = (second >> np.uint64(LOW_BITS)) & np.uint64(2**KEEP_BITS - 1)
        sign = second >> np.uint64(LOW_BITS + KEEP_BITS)
        # Low digits are kept with probability at least exp(-2^-20) > 1 - 2^-14: beyond doubt unless all 14 bits are ones.
        doubtful |= keep == np.uint64(2**KEEP_BITS - 1)
        # The split is 2^15 / (1 + a) rounded, so only the two cells beside it may lie on either side of the exact number.
        doubtful |= (sign + np.uint64(1) == self._sign_split) | (sign == self._sign_split)
        magnitude = (high << self._shift.view(np.int64)) | (second & self._low_mask()).view(np.int64)
        # -1 - g for a negative sign, g otherwise: in two's complement an exclusive or with -1 or 0.
        np.bitwise_xor(magnitude, -(sign >= self._sign_split).astype(np.int64), out=block)
        for row, k in np.argwhere(doubtful):
            block[row, k] = self._decide(k, int(first[row, k]), int(second[row, k]), entropy)

    def _few(self, words: NDArray[np.uint64], entropy: Entropy) -> list[int]:
        """What `_fill` makes of the same words, comparison by comparison, without arrays; row by row."""
        first, second = words.reshape(2, -1)
        laws = zip(
            range(len(self.rates)), self._per_unit.tolist(), self._sign_split.tolist(), self._shift.tolist(), strict=True
        )
        of_each = (array.tolist() for array in (first, second, *continuous.exponential(first)))
        return [
            self._decide(k, head, last, entropy) if (found := _beyond_doubt(last, value, error, *law)) is None else found
            for (k, *law), head, last, value, error in zip(cycle(laws), *of_each, strict=False)
        ]

    def _low_mask(self) -> NDArray[np.uint64]:
        one = np.uint64(1)
        return np.asarray((one << self._shift) - one)

    def _high_digit(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """floor(-log(U) / rate of the high digit), and where the bits known of U leave that open."""
        exponential, error = continuous.exponential(words)
        quotient = exponential * self._per_unit
        floor = np.floor(quotient)
        fraction = quotient - floor
        error = error * self._per_unit + quotient * 2.0**-50  # three roundings of 2^-53 each
        doubtful = (fraction > 1 - error) | ((fraction < error) & (floor > 0)) | (error >= 0.5)
        return np.where(doubtful, 0.0, floor).astype(np.int64), doubtful

    def _decide(self, k: int, first: int, second: int, entropy: Entropy) -> int:
        """The draw that the two words stand for, in ball arithmetic, with as many further bits as it takes."""
        rate, shift = self.rates[k], int(self._shift[k])
        high = _geometric(LazyUniform(first, 64, entropy), rate * 2**shift)
        low = _low_part(rate, shift, second, entropy)
        sign = LazyUniform(second >> (LOW_BITS + KEEP_BITS), SIGN_BITS, entropy)
        magnitude = (high << shift) + low
        if magnitude >= 2**63:
            raise OverflowError("a noise coordinate left the 64-bit integers (probability below e^-256): draw again.")
        return magnitude if sign.below(lambda: 1 / (1 + _power(rate, 1))) else -1 - magnitude


def _beyond_doubt(second: int, value: float, error: float, per_unit: float, split: int, shift: int) -> int | None:
    """The draw of a coordinate, None where floats leave it open. value, error: `continuous.exponential` of its first word."""
    keep = (second >> LOW_BITS) & (2**KEEP_BITS - 1)
    sign = second >> (LOW_BITS + KEEP_BITS)
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


def _low_digits(rate: Fraction) -> int:
    """The number m of low binary digits, so that `rate 2^m` lies in (2^-21, 2^-20], or 0 for a larger rate."""
    if rate > HIGH_RATE:
        return 0
    ratio = HIGH_RATE / rate
    return (ratio.numerator // ratio.denominator).bit_length() - 1


def _power(rate: Fraction, exponent: int) -> arb:
    """`exp(-rate * exponent)` as a ball."""
    power: arb = rational_ball(-rate * exponent).exp()
    return power


def _geometric(uniform: LazyUniform, rate: Fraction) -> int:
    """floor(-log(U) / rate): at least g exactly when U <= exp(-rate g)."""

    def answer() -> int | None:
        quotient = continuous.exponential_ball(uniform) / rational_ball(rate)
        floor = quotient.floor().unique_fmpz()
        return None if floor is None else int(floor)

    return resolve([uniform], answer)


def _low_part(rate: Fraction, shift: int, word: int, entropy: Entropy) -> int:
    """An integer below 2^shift with mass proportional to exp(-rate low): uniform, kept with probability exp(-rate low)."""
    low = word & ((1 << shift) - 1)
    keep = LazyUniform((word >> LOW_BITS) & (2**KEEP_BITS - 1), KEEP_BITS, entropy)
    # exp(0) = 1 is not a comparison: no number of bits tells a uniform number from 1.
    if low == 0 or keep.below(lambda: _power(rate, low)):
        return low
    return _low_part(rate, shift, int(entropy.random_words(1)[0]), entropy)
