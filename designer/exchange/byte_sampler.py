"""Exact integer noise from bytes, by whole numbers alone, in so few rules that any language can follow them to the bit.

The samplers of releases made here are faster and take other bits; these are for releases from elsewhere, with the same laws:
Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020), algorithms 1 to 3, each uniform number by
rejection. Proofs and the rules in words: docs/guides/other_languages.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from designer.base.errors import InvalidProblem

Read = Callable[[int], bytes]  # so many fresh bytes, each uniform and independent of all else


@dataclass
class GivenBytes:
    """Bytes that are handed out once, in their order; `InvalidProblem` where more are asked for.

    >>> given = GivenBytes(bytes([7, 1, 2]))
    >>> given(2), given.used
    (b'\\x07\\x01', 2)
    """

    content: bytes
    used: int = field(default=0, init=False)

    def __call__(self, count: int) -> bytes:
        """The next `count` bytes."""
        if self.used + count > len(self.content):
            raise InvalidProblem(f"random: {len(self.content)} bytes are too few; give more.")
        self.used += count
        return self.content[self.used - count : self.used]


def uniform_number(limit: int, read: Read) -> int:
    """A number from 0 to `limit - 1`: the fewest bytes that hold `limit - 1`, the most significant first, without the bits
    above its highest one; drawn again while it is not below `limit`. No bytes where `limit` is 1.

    >>> uniform_number(5, GivenBytes(bytes([0xFF, 0x0C])))
    4
    """
    bits = (limit - 1).bit_length()
    while True:
        number = int.from_bytes(read((bits + 7) // 8), "big") & ((1 << bits) - 1) if bits else 0
        if number < limit:
            return number


def exp_chance(over: int, under: int, read: Read) -> bool:
    """True with probability `exp(-over / under)`, over >= 0, under > 0 (algorithm 1)."""
    while over > under:
        if not _small_chance(1, 1, read):
            return False
        over -= under
    return _small_chance(over, under, read)


def _small_chance(over: int, under: int, read: Read) -> bool:
    """The same for `over <= under`: the first k at which a chance of `over / (k under)` fails is odd."""
    k = 1
    while uniform_number(under * k, read) < over:
        k += 1
    return k % 2 == 1


def laplace_number(s: int, t: int, read: Read) -> int:
    """`P(z)` proportional to `exp(-|z| s / t)` (algorithm 2)."""
    while True:
        low = uniform_number(t, read)
        if not _small_chance(low, t, read):
            continue
        high = 0
        while _small_chance(1, 1, read):
            high += 1
        size = (low + t * high) // s
        negative = uniform_number(2, read) == 1
        if size or not negative:
            return -size if negative else size


def gaussian_number(p: int, q: int, t: int, read: Read) -> int:
    """`P(z)` proportional to `exp(-z^2 q / (2 p))`, from Laplace numbers of scale t, best `floor(sqrt(p / q)) + 1`
    (algorithm 3)."""
    while True:
        z = laplace_number(1, t, read)
        if exp_chance((abs(z) * q * t - p) ** 2, 2 * p * q * t * t, read):
            return z


@dataclass(frozen=True)
class ByteLaplace:
    """Discrete Laplace noise of a rational rate."""

    rate: Fraction

    @property
    def numbers(self) -> tuple[int, int]:
        """s, t of `laplace_number`."""
        return self.rate.numerator, self.rate.denominator

    def draw(self, read: Read) -> int:
        """One number."""
        return laplace_number(*self.numbers, read)


@dataclass(frozen=True)
class ByteGaussian:
    """Discrete Gaussian noise of a rational variance."""

    variance: Fraction

    @property
    def numbers(self) -> tuple[int, int, int]:
        """p, q, t of `gaussian_number`."""
        p, q = self.variance.numerator, self.variance.denominator
        return p, q, math.isqrt(p // q) + 1

    def draw(self, read: Read) -> int:
        """One number."""
        return gaussian_number(*self.numbers, read)
