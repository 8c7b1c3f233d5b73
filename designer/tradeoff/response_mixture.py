"""The promise of one change whose loss takes few sizes: a mixture of randomised responses, in exact rationals.

A symmetric promise tells no more than a draw of a size, shown openly, and then a randomised response of that epsilon (Kairouz,
Oh and Viswanath 2015). Larger sizes tell more, so a law of sizes that is moved up is a bound (docs/theory/tradeoff.md, 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from designer.base.arrays import Floats
from designer.base.checks import assign, checked, rational_from, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import RATIONAL, list_of, of_kind
from designer.limits import MOST_LOSSES
from designer.tradeoff.breakpoints import Kinks, largest_gap
from designer.tradeoff.conversions import rho_of_pure
from designer.tradeoff.functions import EpsilonDelta, Tradeoff
from solvers.exact.balls import exp_ball, float_below_real, rational_ball, working_precision
from solvers.exact.rational import float_above

if TYPE_CHECKING:
    from flint import arb

FINE = 1 << 44  # probabilities are rounded up to multiples of 1 / FINE
CLOSE = Fraction(1, 1 << 34)  # of the zCDP: what it may be above the least, relatively
MOST_TRIED = 2000  # orders of Renyi divergences that are computed for it
ORDERS = tuple(Fraction(1, 1 << 40) * Fraction(3, 2) ** k for k in range(98))  # less 1, before they are made finer


@dataclass(frozen=True)
class ResponseMixture(Tradeoff):
    """A loss of size `j unit` with probability `weights[j]`: which size is shown, and the loss has either sign, by randomised
    response.

    unit: above 0. weights: exact rationals that add up to 1, of the sizes 0, unit, 2 unit, ...; the last one above 0.
    Refused (`InvalidProblem`): anything else, and more than `designer.limits.MOST_LOSSES` sizes.

    >>> bool(ResponseMixture(1, (0, 1)).delta_at("1/2") == EpsilonDelta(1).delta_at("1/2"))
    True
    """

    kind = "response_mixture"
    schema = of_kind(
        "tradeoff",
        kind,
        {"unit": RATIONAL, "weights": list_of(RATIONAL, least=2)},
        "A loss of size j unit with probability weights[j], of either sign by randomised response.",
    )

    unit: Fraction = field(metadata=checked(rational_from, 0))
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.weights, (list, tuple)) or not 2 <= len(self.weights) <= MOST_LOSSES:
            raise InvalidProblem(
                f"weights: {shown(self.weights)} is no list of 2 to {MOST_LOSSES} probabilities; give one for each size."
            )
        weights = tuple(rational_from(weight, f"weights[{j}]", 0, 1) for j, weight in enumerate(self.weights))
        if sum(weights) != 1 or not weights[-1] or not self.unit:
            raise InvalidProblem("weights: must add up to 1, end above 0, and have a unit above 0.")
        assign(self, weights=weights)

    @classmethod
    def above(cls, unit: Fraction, reached: Sequence[float]) -> Tradeoff:
        """The bound for a loss of size `j unit` or more, j = 1, 2, ..., with at most the probability `reached[j - 1]`."""
        parts = [-int(-Fraction(min(1.0, chance)) * FINE // 1) for chance in reached]
        rising = list(accumulate(reversed(parts), max))[::-1]
        ends = [FINE, *rising, 0]
        return cls(unit, tuple(Fraction(ends[j] - ends[j + 1], FINE) for j in range(len(ends) - 1)))

    def kinks(self) -> Kinks:
        """(alpha, beta) of the corners: the atoms by falling loss."""
        parts = [(j, rational_ball(weight)) for j, weight in enumerate(self.weights) if weight]
        atoms: list[tuple[arb, arb]] = []  # of the null and of the alternative
        for j, weight in reversed(parts):
            rare = weight / (1 + exp_ball(self.unit * j))
            atoms.append((rare, weight - rare) if j else (weight, weight))
        atoms += [(q, p) for p, q in reversed(atoms) if not (p - q).is_zero()]
        one, zero = rational_ball(Fraction(1)), rational_ball(Fraction(0))
        alphas = list(accumulate((p for p, _ in atoms[:-1]), initial=zero))
        betas = list(accumulate((-q for _, q in atoms[:-1]), initial=one))
        return tuple(zip([*alphas, one], [*betas, zero], strict=True))

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        with working_precision(128):
            corners = self.kinks()
        return np.array([float(a) for a, _ in corners]), np.array([float(b) for _, b in corners])

    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        # Symmetric: beta is its own inverse, so the table read backwards has the digits near alpha = 1.
        alphas, betas = self._table
        return np.where(alpha < 0.5, np.interp(alpha, alphas, betas), np.interp(complement, 1 - alphas[::-1], betas[::-1]))

    def power(self, alpha: ArrayLike) -> Floats:
        return 1.0 - self.type_two(alpha)

    def ball(self, alpha: arb, complement: arb) -> arb:
        value = rational_ball(Fraction(0))
        corners = self.kinks()
        for (left, high), (right, low) in pairwise(corners):
            value = value.max(high + (low - high) * (alpha - left) / (right - left))
        return value

    def delta_ball(self, slope: arb) -> arb:
        return largest_gap(self.kinks(), slope)

    def fixed_point(self) -> arb:
        """Where beta is symmetric, its tangent of slope -1 touches at beta(c) = c."""
        return (1 - self.delta_ball(rational_ball(Fraction(1)))) / 2

    piecewise = True

    def largest_loss(self) -> Fraction:
        return self.unit * (len(self.weights) - 1)

    def loss_unit(self) -> Fraction:
        return self.unit

    @property
    def trivial(self) -> bool:
        return False

    def group(self, size: int) -> Tradeoff:
        """Only what its largest loss promises to groups: laws of sizes do not tell how changes follow each other."""
        return self if size == 1 else EpsilonDelta(self.largest_loss()).group(size)

    def sentence(self) -> str:
        return f"losses of {len(self.weights)} sizes up to {float_above(self.largest_loss())!r}"

    @cached_property
    def rho(self) -> Fraction:
        """Its zCDP, the largest `K(t) / (t (1 + t))` over t > 0, `K(t) = log E e^(t loss)`, rounded up.
        Source: docs/theory/tradeoff.md, 12.

        K is convex, so between two orders it is below the chord, and the chord less `rho t (1 + t)` is concave: its largest
        value is known. Up to the first order `K(t) <= t E loss + t^2 largest^2 / 2`; beyond the last, `K(t) <= t largest`.
        """
        most = self.largest_loss()
        known: dict[Fraction, arb] = {}
        with working_precision(128):
            least = max(float_below_real(self._mean_loss), *(self._ratio_below(t, known) for t in ORDERS))
            rho = Fraction(least) * (1 + CLOSE)
            first, last = ORDERS[0], next((t for t in ORDERS if most <= rho * (1 + t)), None)
            start = self._mean_loss() + rational_ball(first * most**2 / 2) <= rational_ball(rho * (1 + first))
            if last is None or not start or not self._mean_loss() <= rational_ball(rho):
                return rho_of_pure(most)
            waiting = [(a, b) for a, b in pairwise(ORDERS) if a < last]
            while waiting and len(known) < MOST_TRIED:
                a, b = waiting.pop()
                if self._below(a, b, rho, known):
                    continue
                middle = (a + b) / 2
                rho = max(rho, Fraction(self._ratio_below(middle, known)) * (1 + CLOSE))
                waiting += [(a, middle), (middle, b)]
        return rho_of_pure(most) if waiting else min(Fraction(float_above(rho)), rho_of_pure(most))

    def _mean_loss(self) -> arb:
        """`E loss`, the relative entropy: `sum weights j unit tanh(j unit / 2)`."""
        return sum(
            (
                rational_ball(w * self.unit * j) * rational_ball(self.unit * j / 2).tanh()
                for j, w in enumerate(self.weights)
                if w
            ),
            rational_ball(Fraction(0)),
        )

    def _cumulant(self, t: Fraction, known: dict[Fraction, arb]) -> arb:
        """K(t)."""
        if t not in known:
            total = rational_ball(Fraction(0))
            for j, weight in enumerate(self.weights):
                if weight:
                    loss = self.unit * j
                    total += rational_ball(weight) * (exp_ball(loss * (1 + t)) + exp_ball(-loss * t)) / (1 + exp_ball(loss))
            known[t] = total.log()
        return known[t]

    def _ratio_below(self, t: Fraction, known: dict[Fraction, arb]) -> float:
        return float_below_real(lambda: self._cumulant(t, known) / rational_ball(t * (1 + t)))

    def _below(self, a: Fraction, b: Fraction, rho: Fraction, known: dict[Fraction, arb]) -> bool:
        """Is the chord of K from a to b at most `rho t (1 + t)` between them, all along?"""
        left, right = self._cumulant(a, known), self._cumulant(b, known)
        slope = (right - left) / rational_ball(b - a)
        # left + slope (t - a) - rho t - rho t^2 is largest at t = (slope - rho) / (2 rho), if that is between a and b.
        top = (slope / rational_ball(rho) - 1) / 2
        ends = left <= rational_ball(rho * a * (1 + a)) and right <= rational_ball(rho * b * (1 + b))
        if not ends or top < rational_ball(a) or top > rational_ball(b):
            return bool(ends)
        return bool(left + slope * (top - rational_ball(a)) <= rational_ball(rho) * top * (1 + top))
