"""One delta for all changes, (b, delta)-privacy: how long a change of budget b may be in the norm of the noise.

An allowance turns budgets into lengths, rounded down, so that a mechanism keeps (b, delta) for a change when the norm of its
difference is at most the length allowed. Such promises do not chain: (b, delta) from i to j and from j to k says less than
(2 b, delta) from i to k, so every pair is held against its own length. Proofs: docs/theory/approximate.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import probability, shown
from designer.base.errors import InvalidProblem
from designer.base.progress import track
from designer.tradeoff.conversions import gdp_delta, gdp_epsilon, largest_mu, pure_delta
from solvers.exact.balls import exp_ball, float_above_real, float_below_real, rational_ball

if TYPE_CHECKING:
    from flint import arb

LEAST_DELTA = 1e-100
LARGEST_TOLD = 2.0**16  # a budget above counts as this one: e^65536 to 1 and beyond are all the same to a reader
DISTINCT = 512  # budgets that are converted one by one; more are interpolated
NODES = 512  # of the interpolation, in every octave of budgets
SAMPLED = 4096
ROUNDING = 2.0**-46  # of a length that is converted by itself: to a float below, or by numpy's logarithms


def checked_delta(delta: object, field: str) -> float:
    """A delta that a promise may have: a float from 1e-100 to 1, exclusively."""
    value = probability(delta, field)
    if value < LEAST_DELTA:
        raise InvalidProblem(
            f'{field}: {shown(value)} is below {LEAST_DELTA}; use the notion "pure", which has no delta.', value=value
        )
    return value


@dataclass(frozen=True)
class DeltaRule(ABC):
    """The length that a change of budget b may have under (b, delta). `floats` is within `error`, relatively, of `most`, and
    within `ROUNDING` where it is `exact_on` the budgets."""

    delta: Fraction
    error: ClassVar[float]

    def exact_on(self, budgets: Floats) -> bool:
        """Whether these budgets, of any shape (...,), are converted one by one."""
        return True

    @abstractmethod
    def most(self, budget: Fraction) -> Fraction:
        """The largest length at budget b >= 0, rounded down to a float."""

    @abstractmethod
    def floats(self, budgets: Floats) -> Floats:
        """The lengths of many budgets, of any shape (...,); infinite where the budget is."""

    @abstractmethod
    def spent_delta(self, length: object, budget: object) -> float:
        """The delta that a change of this length spends at budget b, rounded up."""

    @abstractmethod
    def spent_budget(self, length: float) -> float:
        """The least b >= 0 at which a change of this length spends at most delta, rounded up."""


@dataclass(frozen=True)
class GaussianAllowance(DeltaRule):
    """Normal noise: a change of length m in units of its deviation is m-GDP, and (b, delta) exactly if
    `Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) <= delta` (Balle and Wang 2018, Theorem 8)."""

    # Linear interpolation of a concave function: docs/theory/approximate.md, 3.
    error = (2.0 ** (1 / NODES) - 1) ** 2 / 4 * 1.01

    def most(self, budget: Fraction) -> Fraction:
        return Fraction(largest_mu(min(budget, Fraction(LARGEST_TOLD)), self.delta))

    def exact_on(self, budgets: Floats) -> bool:
        return _few(np.minimum(budgets, LARGEST_TOLD).ravel()) is not None

    def floats(self, budgets: Floats) -> Floats:
        told = np.minimum(budgets, LARGEST_TOLD).ravel()
        values = _few(told)
        if values is None:
            lengths = self._interpolated(told)
        else:
            known = np.array([float(self.most(Fraction(float(value)))) for value in values])
            lengths = known[np.searchsorted(values, told)]
        return np.where(np.isfinite(budgets), lengths.reshape(budgets.shape), inf)

    def _interpolated(self, budgets: Floats) -> Floats:
        """Between the nodes `2^(k / NODES)`, k whole. budgets: (n,), finite."""
        result = np.full(len(budgets), float(self.most(Fraction(0))))
        positive = budgets > 0
        place = np.log2(budgets[positive]) * NODES
        below = np.floor(place).astype(np.int64)
        first = int(below.min(initial=0))
        nodes = np.unique(below)
        left, right = self._at(np.union1d(nodes, nodes + 1), first)
        at = below - first
        width = left[at + 1] - left[at]
        share = np.clip((budgets[positive] - left[at]) / width, 0.0, 1.0)
        result[positive] = right[at] + share * (right[at + 1] - right[at])
        return result

    def _at(self, nodes: NDArray[np.int64], first: int) -> tuple[Floats, Floats]:
        """Budgets and lengths of the nodes, at their numbers less `first`."""
        budgets, lengths = (np.zeros(int(nodes.max(initial=first)) - first + 1) for _ in range(2))
        for k in track(nodes.tolist(), "converting budgets"):
            budgets[k - first] = 2.0 ** (k / NODES)
            lengths[k - first] = self.most(Fraction(budgets[k - first]))
        return budgets, lengths

    def spent_delta(self, length: object, budget: object) -> float:
        return gdp_delta(length, budget)

    def spent_budget(self, length: float) -> float:
        return gdp_epsilon(length, self.delta)


@dataclass(frozen=True)
class PureAllowance(DeltaRule):
    """Noise that is pure: a change of length m has ratios within e^m, so it is (b, delta) for `delta = (e^m - e^b)_+ / (1 +
    e^m)`, and for no smaller one where it is randomised response. The length is `log((e^b + delta) / (1 - delta))`."""

    error = ROUNDING

    def most(self, budget: Fraction) -> Fraction:
        return Fraction(float_below_real(lambda: self._length(budget)))

    def _length(self, budget: Fraction) -> arb:
        delta = rational_ball(self.delta)
        length: arb = rational_ball(budget) + ((1 + delta * exp_ball(-min(budget, Fraction(LARGEST_TOLD)))) / (1 - delta)).log()
        return length

    def floats(self, budgets: Floats) -> Floats:
        delta = float(self.delta)
        return np.asarray(budgets + np.log1p(delta * np.exp(-budgets)) - np.log1p(-delta))

    def spent_delta(self, length: object, budget: object) -> float:
        return pure_delta(length, budget)

    def spent_budget(self, length: float) -> float:
        """`log(e^m - delta (1 + e^m))`."""
        delta, m = self.delta, Fraction(length)
        if pure_delta(length, 0) <= delta:
            return 0.0
        return float_above_real(lambda: rational_ball(m) + (1 - rational_ball(delta) * (1 + exp_ball(-m))).log())


def _few(budgets: Floats) -> Floats | None:
    """The distinct ones of some budgets, (n,) in rising order; None where they are more than `DISTINCT`."""
    if not budgets.size or budgets.min() == budgets.max():
        return budgets[:1]
    if len(np.unique(budgets[:: max(1, budgets.size // SAMPLED)])) > DISTINCT:
        return None
    values = np.unique(budgets)
    return values if len(values) <= DISTINCT else None
