"""Laws on a coset of `Z^s` that fall off from a few peaks by the cost of walks: tables, tails and expectations.

`p(z)` is proportional to `exp(-unit h(z))`, h(z) the least of `h(a) + cost of the cheapest walk from a to z` over the peaks a.
Tails: docs/theory/staircase.md, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.lattices.steps import Points, Walks

MOST_PLACES = 3_000_000  # of a table: 24 MB, and a second or two for a dozen steps
FINE_TAIL = 1e-12
AT_ONCE = 200_000  # points whose losses are in memory together


class LawTooWide(ValueError):
    """A table of the law would take more than `MOST_PLACES`; the message says how many."""


@dataclass(frozen=True)
class Expectation:
    """Expected values `low <= E f_j <= high` of several functions, each (J,); between them lies what the far tail adds."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PeakedLaw:
    """See the module. unit: of the heights, rational. peaks: (A, s), doubled; levels: (A,), their heights in units. known: a
    table that was made before, as its shell and the heights up to it. table: `_tabulated`, the last one kept."""

    walks: Walks
    unit: Fraction
    peaks: Points
    levels: NDArray[np.int64]
    known: tuple[int, NDArray[np.int64]] | None = field(default=None, repr=False)
    table: Callable[[int], NDArray[np.int64]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", lru_cache(maxsize=1)(self._tabulated))

    @cached_property
    def lead(self) -> Fraction:
        """c with `h(z) >= rate length(z) - c` for all z."""
        lengths = map(self.walks.shells.length, self.peaks.tolist())
        return max(
            self.walks.rate * length - level for length, level in zip(lengths, map(int, self.levels.tolist()), strict=True)
        )

    @property
    def first_shell(self) -> int:
        """The shell that holds all peaks."""
        return max(1, int(self.walks.shells.numbers(self.peaks).max()))

    def height_beyond(self, k: int) -> Fraction:
        """No point in shell k, or beyond, is lower."""
        return self.walks.rate * (k - self.walks.shells.slack) - self.lead

    def log_shrink(self, k: int, power: int = 0) -> float:
        """log of a bound of the ratio of `slope(j) j^power exp(-unit height_beyond(j))` from one shell j > k to the next."""
        slope = self.walks.shells.slope
        grows = math.log(slope(k + 2) / slope(k + 1)) + power * math.log((k + 2) / (k + 1))
        return grows - float(self.unit * self.walks.rate)

    def tail(self, k: int, power: int = 0) -> float:
        """An upper bound of `sum over shells j > k of j^power exp(-unit h)`, next to the mass `exp(-unit h)` itself."""
        shrink = self.log_shrink(k, power)
        if shrink >= -1e-9:
            return math.inf
        first = math.log(self.walks.shells.slope(k + 1)) + power * math.log(k + 1)
        log = first - float(self.unit * self.height_beyond(k + 1)) - math.log(-math.expm1(shrink))
        return math.exp(log) * (1 + 1e-9) if log < 700 else math.inf

    def _tabulated(self, k: int) -> NDArray[np.int64]:
        """The heights up to shell k, flat; `LawTooWide` where that takes too many places."""
        if self.known is not None and self.known[0] == k:
            return self.known[1]
        if (places := self.walks.places(k)) > MOST_PLACES:
            raise LawTooWide(f"a table of {places:.3g} points, more than {MOST_PLACES}")
        return self.walks.heights(k, self.peaks, self.levels).ravel()

    def enough(self, tail: float, power: int = 0) -> int:
        """The least shell beyond which the tail is at most `tail` of the peaks' mass, or the widest that can be tabulated."""
        mass = float(np.exp(-float(self.unit) * self.levels).sum())
        k = self.first_shell
        while self.tail(k, power) > tail * mass and self.walks.places(k + 1) <= MOST_PLACES:
            k += 1
        return k

    def expectation(self, parts: Callable[[Points], NDArray[Any]], growth: NDArray[np.float64], power: int) -> Expectation:
        """`E f_j` for functions f of doubled points, (n, s) -> (n, J), with `|f_j(z)| <= growth_j k^power` in shell k."""
        k = self.enough(FINE_TAIL, power)
        sums, mass = self.sums(k, parts, len(growth))
        rounding = 1e-13 * sums
        return Expectation((sums - rounding) / (mass + self.tail(k)), (sums + rounding + growth * self.tail(k, power)) / mass)

    def margins(self, led: NDArray[np.float64], beyond: float) -> NDArray[np.float64]:
        """Numbers t, (J,), with `P(|l . n| > t) <= beyond` for rows l, (J, s), of doubled points n: the least ones, but for
        what the table leaves of the tail, all of which is counted. Infinite where that is more than `beyond`."""
        k = self.enough(FINE_TAIL * beyond)
        masses, points = np.exp(-float(self.unit) * self.table(k)), self.walks.shells.points(k)
        total, tail = float(masses.sum()), self.tail(k)
        return np.array([_margin(np.abs(points @ row), masses, beyond * total * (1 - 1e-9) - tail) for row in led])

    def sums(self, k: int, parts: Callable[[Points], NDArray[Any]], functions: int) -> tuple[NDArray[np.float64], float]:
        """`sum f_j exp(-unit h)`, (J,), and the mass, up to shell k."""
        masses, points = np.exp(-float(self.unit) * self.table(k)), self.walks.shells.points(k)
        sums = np.zeros(functions)
        for start in range(0, len(points), AT_ONCE):
            sums += masses[start : start + AT_ONCE] @ parts(points[start : start + AT_ONCE])
        return sums, float(masses.sum())


def _margin(sizes: NDArray[np.float64], masses: NDArray[np.float64], allowed: float) -> float:
    """The least size above which the masses add up to at most `allowed`; sizes that differ by rounding are one."""
    if allowed <= 0:
        return math.inf
    order = np.argsort(-sizes)
    above = np.cumsum(masses[order])
    place = min(int(np.searchsorted(above, allowed, side="right")), len(order) - 1)
    return float(sizes[order[place]]) * (1 + 1e-12)
