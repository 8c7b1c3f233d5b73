"""The tails of convolved losses: delta at any epsilon and epsilon at any delta of a product, from one side.

For masses q_k on rungs `e^(l_k)` and b beyond all, `delta(eps) = b + sum over l_k > eps of q_k (1 - e^(eps - l_k))`, linear in
`e^eps` between rungs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate
from math import floor, inf
from operator import mul
from typing import TYPE_CHECKING

from designer.promises.losses import Laddered
from solvers.exact.balls import exp_ball, float_above_real, float_below_real, rational_ball
from solvers.exact.bits import working_precision
from solvers.exact.masses import Masses

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class Tails:
    """Masses on rungs `e^(step j)`, whose delta bounds that of a promise from one side, up to `slack` on the wrong one."""

    masses: Masses
    step: Fraction
    slack: Fraction

    @classmethod
    def of(cls, factors: Iterable[tuple[Laddered, int]], step: Fraction) -> Tails:
        """The product of factors, each so many times. Slacks add up: a factor that is off by c at every slope moves the delta
        of the product, a mean over the others, by at most c."""
        given = list(factors)
        powers = sorted((part.masses.power(times) for part, times in given), key=lambda m: m.units.length())
        return cls(reduce(mul, powers), step, sum((part.slack * times for part, times in given), Fraction(0)))

    @property
    def _bits(self) -> int:
        return self.masses.bits + 64

    @cached_property
    def _rest(self) -> list[int]:
        """Units at a rung, above it and beyond; those beyond last."""
        units = [int(c) for c in self.masses.units.coeffs()]
        return list(accumulate([self.masses.beyond, *units[::-1]]))[::-1]

    @cached_property
    def _weights(self) -> list[arb]:
        """Units at a rung and above it, each as the null has it: times `e^(step (rung - its own))`."""
        with working_precision(self._bits):
            ratio, zero = exp_ball(-self.step), rational_ball(Fraction(0))
            falling = [rational_ball(Fraction(int(c))) for c in self.masses.units.coeffs()[::-1]]
            return [*list(accumulate(falling, lambda above, own: own + ratio * above))[::-1], zero]

    def delta(self, epsilon: Fraction) -> float:
        """delta at epsilon, rounded to the side of the masses."""
        rung = min(max(0, floor(epsilon / self.step) + 1 - self.masses.first), len(self._weights) - 1)
        with working_precision(self._bits):
            spent = self._rest[rung] - exp_ball(epsilon - self._loss(rung)) * self._weights[rung]
            share = spent / (1 << self.masses.bits)
            if not self.masses.upward:
                share -= rational_ball(self.slack)
        return min(1.0, max(0.0, self._rounded(share)))

    def epsilon(self, delta: Fraction) -> float:
        """The least epsilon >= 0 with at most this delta, rounded to the side of the masses; infinite where there is none."""
        with working_precision(self._bits):
            limit = delta if self.masses.upward else delta + self.slack
            target = rational_ball(limit * (1 << self.masses.bits))
            rung = bisect_left(range(len(self._weights)), True, key=lambda k: self._fits(k, target))
            if rung >= len(self._weights) - 1:
                return 0.0 if rung == 0 else inf
            # Between rungs delta is a line in e^epsilon.
            share = (self._rest[rung] - target) / self._weights[rung]
            return max(0.0, self._rounded(rational_ball(self._loss(rung)) + share.log())) if share > 0 else 0.0

    def _fits(self, rung: int, target: arb) -> bool:
        """Is delta at a rung at most the target: proven on the upper side, not refuted on the lower one?"""
        spent = self._rest[rung] - self._weights[rung]
        return bool(spent <= target) if self.masses.upward else not spent > target

    def _loss(self, rung: int) -> Fraction:
        return self.step * (self.masses.first + rung)

    def _rounded(self, value: arb) -> float:
        # The end of a ball is a number, which a float is next to; a wide ball is not.
        return float_above_real(value.upper) if self.masses.upward else float_below_real(value.lower)
