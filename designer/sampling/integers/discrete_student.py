"""Exact heavy-tailed noise on the integers: the discrete Student law, with rational weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.integer_samplers import LazyUniform, resolve
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LARGEST_SCALE = 2**32
LARGEST_POWER = 64
KEEP_BITS = 63  # of the word that accepts; the last bit is the sign
BATCH = 2**14
WIDE = 6  # from here on sums over the integers are the integrals, within exp(-2 pi WIDE) < 2^-54


@dataclass(frozen=True)
class DiscreteStudent:
    """Independent integers, `P(Z = k)` proportional to `(scale^2 + k^2)^-power`: a Student
    law with `2 power - 1` degrees of freedom.

    A magnitude K with `P(K >= k) = scale / (scale + k)` is the floor of `scale (1 / U - 1)`, U uniform; it is accepted with
    probability proportional to the rational `(scale^2 + K^2)^-power / P(K)`, whose largest value over the integers is found
    exactly. Floats only sort out what is beyond doubt. Acceptance is 0.54 for power 2, 0.45 for 3, 0.2 for 16.
    Derivation: docs/theory/records.md, 6.

    `scale` is a rational from 2^-20 to 2^32, `power` an integer from 2 to 64, so that the variance is finite.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = DiscreteStudent(Fraction(1000), 2)
    >>> noise.draw(3, SeededEntropy(1)).shape, noise.variance()
    ((3,), 1000000.0)
    """

    scale: Fraction
    power: int
    mode: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not Fraction(1, 2**20) <= self.scale <= LARGEST_SCALE:
            raise InvalidProblem(f"scale: {float(self.scale)!r} is not from 2^-20 to 2^32; use another grid.", value=self.scale)
        if isinstance(self.power, bool) or not isinstance(self.power, int) or not 2 <= self.power <= LARGEST_POWER:
            raise InvalidProblem(f"power: {self.power!r} is not a whole number from 2 to {LARGEST_POWER}.", value=self.power)
        assign(self, scale=Fraction(self.scale))
        assign(self, mode=self._mode())

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """`size` independent integers. OverflowError with probability below 2^-90 each, whatever the data are."""
        noise = np.empty(size, dtype=np.int64)
        for start in range(0, size, BATCH):
            waiting = np.arange(start, min(start + BATCH, size))
            while waiting.size:
                values, kept = self._propose(waiting.size, entropy)
                noise[waiting[kept]] = values[kept]
                waiting = waiting[~kept]
        return noise

    def pmf(self, k: int) -> float:
        """`P(Z = k)`, as a float."""
        scaled = 1 + (k / self.scale) ** 2
        return float(scaled) ** -self.power / (self._mass(self.power) * float(self.scale))

    def variance(self) -> float:
        """`E Z^2`, as a float: `scale^2 / (2 power - 3)` but for narrow laws."""
        if self.scale >= WIDE:
            return float(self.scale**2 / (2 * self.power - 3))
        # k^2 (s^2 + k^2)^-m = (s^2 + k^2)^(1 - m) - s^2 (s^2 + k^2)^-m.
        return float(self.scale) ** 2 * (self._mass(self.power - 1) / self._mass(self.power) - 1)

    def _mass(self, power: int) -> float:
        """`sum_k (1 + k^2 / s^2)^-power / s`: its integral up to `exp(-2 pi s)` by Poisson summation,
        a sum and an integral for narrow laws."""
        s = float(self.scale)
        if self.scale >= WIDE:
            return math.sqrt(math.pi) * math.exp(math.lgamma(power - 0.5) - math.lgamma(power))
        if power == 1:
            return math.pi / math.tanh(math.pi * s)  # also what the sum of a narrow law would come to, but slowly
        k = np.arange(1, 2**14)
        tail = (2**14 - 0.5) ** (1 - 2 * power) * s ** (2 * power) / (2 * power - 1)
        return (1 + 2 * (float(((1 + (k / s) ** 2) ** -float(power)).sum()) + tail)) / s

    def _mode(self) -> int:
        """The magnitude with the largest weight over proposal.

        Their logarithmic derivative times `s^2 + k^2` is a convex function less `2 power k`, positive at 0, with a negative
        slope in the end: it changes sign once, so the ratio rises and then falls,
        and bisection finds its top among the integers.
        """
        low, high = 0, math.ceil(self.scale) + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._ratio(middle + 1) > self._ratio(middle) else (low, middle)
        return low

    def _ratio(self, k: int) -> Fraction:
        """`(s + k) (s + k + 1) (s^2 + k^2)^-power`, the weight over the proposal's probability up to a factor."""
        s = self.scale
        return (s + k) * (s + k + 1) / (s * s + k * k) ** self.power

    def _propose(self, size: int, entropy: Entropy) -> tuple[Integers, NDArray[np.bool_]]:
        words = entropy.random_words(2 * size)
        place, last = words[:size], words[size:]
        k, doubtful = self._magnitudes(place)
        chance, error = self._chance(k)
        keep = (last >> np.uint64(1)).astype(np.float64) * 2.0**-KEEP_BITS
        kept = keep < chance
        doubtful |= np.abs(keep - chance) <= error
        values = k.astype(np.int64)
        for i in np.flatnonzero(doubtful).tolist():
            values[i], kept[i] = self._decide(int(place[i]), int(last[i]), entropy)
        negative = (last & np.uint64(1)).astype(bool)
        return np.where(negative, -values, values), kept & ~(negative & (values == 0))

    def _magnitudes(self, words: NDArray[np.uint64]) -> tuple[Floats, NDArray[np.bool_]]:
        """`floor(s (1 / U - 1))`, and where the bits known of U, or the float, leave it open."""
        s = float(self.scale)
        u = (words.astype(np.float64) + 0.5) * 2.0**-64
        y = s / u - s
        # The word rounds U by 2^-53, its half unit leaves 2^-65; s and the quotient are rounded.
        error = s / u * (2.0**-50 + 2.0**-63 / u)
        doubtful = (np.floor(y - error) != np.floor(y + error)) | (y + error > 2.0**50) | (u < 2.0**-40)
        return np.where(doubtful, 0.0, np.floor(y)), doubtful

    def _chance(self, k: Floats) -> tuple[Floats, Floats]:
        """The probability of acceptance, and a bound of its error: 2^-53 for each of about `2 power + 10` operations, twice."""
        s, top = float(self.scale), float(self.mode)
        x, x_top = k / s, top / s
        ratio = ((1 + x_top**2) / (1 + x**2)) ** self.power
        chance = (1 + x) * (1 + x + 1 / s) / ((1 + x_top) * (1 + x_top + 1 / s)) * ratio
        return chance, (chance + 2.0**-50) * (8 * self.power + 40) * 2.0**-53

    def _decide(self, place: int, last: int, entropy: Entropy) -> tuple[int, bool]:
        """The magnitude and its acceptance, in ball arithmetic, with as many further bits as it takes."""
        uniform = LazyUniform(place, 64, entropy)

        def magnitude() -> int | None:
            floor = (rational_ball(self.scale) * (1 / uniform.ball() - 1)).floor().unique_fmpz()
            return None if floor is None else int(floor)

        k = resolve([uniform], magnitude)
        chance = self._ratio(k) / self._ratio(self.mode)
        # A chance of 1 is not a comparison: no number of bits tells a uniform number from 1.
        kept = chance == 1 or LazyUniform(last >> 1, KEEP_BITS, entropy).below(lambda: rational_ball(chance))
        if kept and k >= 2**63:
            raise OverflowError(
                "a noise term left the 64-bit integers (probability below 2^-90, whatever the data): draw again."
            )
        return (k if kept else 0), kept
