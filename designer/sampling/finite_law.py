"""Exact draws from a finite law whose weights are known as balls of any radius; the law of least noise under (epsilon, delta).

Why the law is exact: docs/theory/sampling.md, section 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.limits import MOST_TRUNCATED
from designer.sampling.integer_samplers import LazyUniform, resolve
from solvers.exact.balls import decided, exp_ball, rational_ball, working_precision

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

PRECISION = 192
LAST_WORD = 2**64 - 1


@dataclass(frozen=True, eq=False)
class Cells:
    """For thresholds C_k in [0, 1]: words w below `first_k` are below C_k, words above `last_k` are above,
    the few between are open."""

    first: NDArray[np.uint64]
    last: NDArray[np.uint64]

    @classmethod
    def around(cls, thresholds: Callable[[], Sequence[arb]]) -> Cells:
        """A word w stands for a number in [w, w + 1] / 2^64."""
        with working_precision(PRECISION):
            scaled = [threshold * 2**64 for threshold in thresholds()]
            ends = [(_floor(ball.lower()), _floor(ball.upper())) for ball in scaled]
        first, last = np.array(ends, dtype=np.uint64).reshape(-1, 2).T
        return cls(frozen(first), frozen(last))


def _floor(end: arb) -> int:
    """The floor of an exact number, cut to the words."""
    floor = end.floor().unique_fmpz()
    assert floor is not None, "the end of a ball is exact"
    return min(max(0, int(floor)), LAST_WORD)


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Integers k = 0 .. n - 1 with probability proportional to `weights()[k]`,
    nonnegative reals recomputed at every working precision.

    One word decides, by its place among the cumulative shares times 2^64; where it lies next to one of them, further bits do.

    >>> from flint import arb
    >>> from designer.sampling.entropy import SeededEntropy
    >>> FiniteLaw(lambda: [arb(1), arb(-1).exp()]).draw(4, SeededEntropy(1)).shape
    (4,)
    """

    weights: Callable[[], Sequence[arb]]
    _cells: Cells = field(init=False, repr=False)

    def __post_init__(self) -> None:
        cells = Cells.around(self._shares)
        # Shares rise, their enclosures need not: widened until they do, so that a binary search may be trusted.
        first, last = np.minimum.accumulate(cells.first[::-1])[::-1], np.maximum.accumulate(cells.last)
        assign(self, _cells=Cells(frozen(first), frozen(last)))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent integers."""
        return self.chosen(entropy.random_words(size), entropy)

    def chosen(self, words: NDArray[np.uint64], entropy: Entropy) -> NDArray[np.int64]:
        """The integers that some words, (n,), stand for, (n,); entropy is asked for further bits where one leaves it open."""
        # A word below the integer part of a share is below the share, whatever its further bits; a word above it is above.
        drawn = np.searchsorted(self._cells.last, words, side="left")
        for i in np.flatnonzero(drawn != np.searchsorted(self._cells.first, words, side="right")):
            drawn[i] = self._decide(LazyUniform(int(words[i]), 64, entropy))
        return drawn.astype(np.int64)

    def _shares(self) -> list[arb]:
        """Cumulative shares of all but the last."""
        cumulative = list(accumulate(self.weights()))
        return [weight / cumulative[-1] for weight in cumulative[:-1]]

    def _decide(self, uniform: LazyUniform) -> int:
        def answer() -> int | None:
            shares = self._shares()
            over = [uniform.is_below(share) for share in shares]
            return None if None in over else over.count(False)

        return resolve([uniform], answer)


@dataclass(frozen=True, eq=False)
class TruncatedGeometric:
    """Integers z, with -z as likely, of the tails `T_1 = a (1 - delta) / (1 + a)`, `T_(k+1) = max(0, a (T_k - delta))`,
    `T_k = P(z >= k)`, `a = exp(-rate)`.

    Of all integer laws that a shift by 1 changes by (rate, delta), this one has the least tails, all at once
    (docs/theory/staircase.md, 8). `P(z) = a P(z - 1)` from 0 up to the largest value, `reach`, which has what is left.

    >>> TruncatedGeometric(Fraction(1), Fraction(1, 20)).masses.round(6).tolist()
    [0.489011, 0.179897, 0.06618, 0.009417]
    """

    rate: Fraction
    delta: Fraction
    reach: int = field(init=False)
    masses: Floats = field(init=False, repr=False)  # of 0, 1, ..., reach
    _law: FiniteLaw = field(init=False, repr=False)

    def __post_init__(self) -> None:
        reach = decided(self._reach)
        if reach is None or reach > MOST_TRUNCATED:
            raise InvalidProblem(
                f"noise: of rate {float(self.rate):.3g} and delta {float(self.delta):.3g} reaches "
                f"{reach or 'too far'}, more than the {MOST_TRUNCATED} values that are tabulated; raise either, or use laplace."
            )
        assign(self, reach=reach)
        with working_precision(PRECISION):
            masses = frozen(np.array([float(mass) for mass in self._masses()]))
        assign(self, masses=masses, _law=FiniteLaw(lambda: [*(half := self._masses())[:0:-1], *half]))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent integers."""
        return self._law.draw(size, entropy) - self.reach

    def _parts(self) -> tuple[arb, arb, arb]:
        """a, T_1, and c with `T_k = a^(k - 1) (T_1 + c) - c` as far as that is above 0."""
        ratio = exp_ball(-self.rate)
        delta = rational_ball(self.delta)
        return ratio, ratio * (1 - delta) / (1 + ratio), ratio * delta / (1 - ratio)

    def _reach(self) -> int | None:
        _, first, left = self._parts()
        found = ((1 + first / left).log() / rational_ball(self.rate)).ceil().unique_fmpz()
        return None if found is None else int(found)

    def _masses(self) -> list[arb]:
        ratio, first, left = self._parts()
        powers = list(accumulate([ratio] * (self.reach - 1), lambda power, a: power * a, initial=ratio**0))
        return [*((1 - 2 * first) * power for power in powers), powers[-1] * (first + left) - left]
