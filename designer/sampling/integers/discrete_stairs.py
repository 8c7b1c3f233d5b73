"""The staircase law of Geng and Viswanath on the integers: exact draws and closed moments.

`P(z)` is proportional to `exp(-unit k(z))`, k = 0 for |z| <= top and `ceil((|z| - top) / width)` elsewhere: see
docs/theory/staircase.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Immutable
from designer.base.errors import InvalidProblem
from designer.sampling.finite_law import FiniteLaw
from designer.sampling.lattices.peaked_sampler import uniform_below
from solvers.exact.balls import exp_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

LARGEST = 2**50  # of width and top
LEAST_UNIT, LARGEST_UNIT = Fraction(1, 2**16), Fraction(2**10)
TABLED = 64  # levels that one word chooses among; what lies beyond is drawn again from its start


@dataclass(frozen=True)
class DiscreteStairs(Immutable):
    """See the module. unit: rational, from 2^-16 to 2^10. width: positive; top: from 0; up to 2^50."""

    unit: Fraction
    width: int
    top: int

    def __post_init__(self) -> None:
        if not LEAST_UNIT <= self.unit <= LARGEST_UNIT:
            raise InvalidProblem(f"noise.unit: {float(self.unit)} is not from 2^-16 to 2^10; choose other budgets.")
        if not (1 <= self.width <= LARGEST and 0 <= self.top <= LARGEST):
            raise InvalidProblem(f"noise: width {self.width} and top {self.top} must be at most 2^50, the width at least 1.")

    @cached_property
    def _choice(self) -> FiniteLaw:
        """The top, one of `TABLED` levels below it, or what lies below them."""

        def weights() -> list[arb]:
            fall = exp_ball(-self.unit)
            steps = [2 * self.width * fall**k for k in range(1, TABLED + 1)]
            return [fall**0 * (2 * self.top + 1), *steps, steps[-1] * fall / (1 - fall)]

        return FiniteLaw(weights)

    @cached_property
    def _deeper(self) -> FiniteLaw:
        """One of `TABLED` levels, or what lies below them."""

        def weights() -> list[arb]:
            fall = exp_ball(-self.unit)
            return [*(fall**k for k in range(TABLED)), fall**TABLED / (1 - fall)]

        return FiniteLaw(weights)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent integers, (size, 1)."""
        level = self._choice.draw(size, entropy)
        waiting = np.flatnonzero(level == TABLED + 1)
        while len(waiting):
            more = self._deeper.draw(len(waiting), entropy)
            level[waiting] += more
            waiting = waiting[more == TABLED]
        places = uniform_below(np.where(level == 0, 2 * self.top + 1, 2 * self.width), entropy)
        below = self.top + (level - 1) * self.width + 1 + places // 2
        return np.where(level == 0, places - self.top, np.where(places % 2 == 0, below, -below))[:, None]

    def moments(self) -> tuple[float, float]:
        """`E |z|` and `E z^2`, to the rounding of floats."""
        sums = stair_sums(float(self.unit), float(self.width), np.array([float(self.top)]))
        return float(sums[1][0] / sums[0][0]), float(sums[2][0] / sums[0][0])

    def margin(self, beyond: float) -> int:
        """The least m with `P(|z| > m) <= beyond`, but for a step that the rounding of floats may add.

        >>> DiscreteStairs(Fraction(1), 1, 0).margin(0.05)
        3
        """
        x, w, t = math.exp(-float(self.unit)), self.width, self.top
        gone = -math.expm1(-float(self.unit))
        allowed = beyond * (2 * t + 1 + 2 * w * x / gone) / 2 * (1 - 1e-12)  # the mass that may lie above m
        if allowed >= w * x / gone:
            return max(0, math.ceil(t - (allowed - w * x / gone)))
        # Beyond top + k width + j, j < width: `(width - j) x^(k + 1) + width x^(k + 2) / gone`.
        k = max(0, math.floor(math.log(allowed * gone / (w * x)) / -float(self.unit)) - 1)
        while w * x ** (k + 2) / gone > allowed:
            k += 1
        j = w - (allowed - w * x ** (k + 2) / gone) / x ** (k + 1)
        return t + k * w + min(w, max(0, math.ceil(j)))


def stair_sums(unit: float, width: float, tops: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Sums of `|z|^j exp(-unit k(z))`, j = 0, 1, 2, for each of the tops, (T,)."""
    x, gone, t, w = math.exp(-unit), -math.expm1(-unit), tops, width
    # Sums over k >= 1 of (k - 1)^j x^k.
    once, first, second = x / gone, x**2 / gone**2, x**2 * (1 + x) / gone**3
    mass = 2 * t + 1 + 2 * w * once
    absolute = t * (t + 1) + 2 * (w * t + w * (w + 1) / 2) * once + 2 * w**2 * first
    inner = w * t**2 + t * w * (w + 1) + w * (w + 1) * (2 * w + 1) / 6
    squares = t * (t + 1) * (2 * t + 1) / 3 + 2 * inner * once + 2 * (2 * w**2 * t + w**2 * (w + 1)) * first + 2 * w**3 * second
    return mass, absolute, squares
