"""What several releases promise together: the product of their promises, bounded from both sides.

Every factor is put on a ladder of losses, above it and below it, and the masses are convolved in integers (`losses.py`,
`tails.py`). The ladder is made finer until the two bounds agree, so that the distance to the exact product is known. Normal
factors are joined exactly, and so are budgets of zCDP. Derivation: docs/theory/tradeoff.md, section 8.

The tails of convolved losses: delta at any epsilon and epsilon at any delta of a product, from one side.

For masses q_k on rungs `e^(l_k)` and b beyond all, `delta(eps) = b + sum over l_k > eps of q_k (1 - e^(eps - l_k))`, linear in
`e^eps` between rungs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import accumulate
from math import floor, inf
from operator import mul
from typing import TYPE_CHECKING, Literal

from designer.base.checks import count, rational_from, shown
from designer.base.errors import InvalidProblem
from designer.base.progress import track
from designer.tradeoff.conversions import gaussian_epsilon, rho_of_laplace, rho_of_pure, zcdp_delta, zcdp_epsilon
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Group, LaplaceTradeoff, Tradeoff
from designer.tradeoff.loss_distribution import (
    FARTHEST,
    Curve,
    Laddered,
    Rungs,
    curve_of,
    farthest,
    laddered,
    laddered_atoms,
    zcdp_curve,
)
from designer.tradeoff.piecewise import PiecewiseLinear, below_tangents, ladder
from designer.tradeoff.response_mixture import ResponseMixture
from solvers.exact.balls import Masses, exp_ball, float_above_real, float_below_real, rational_ball, working_precision

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


if TYPE_CHECKING:
    from flint import arb

CLOSE = 2.0**-11  # bounds that differ by less, relatively, are close enough
FINER = 4  # so many rungs for one, where they are not; two where that will do
LEVELS = 12
FIRST_RUNGS = 64  # to one side, of the factor with the largest losses, where the losses have no common unit
MOST_RUNGS = 1 << 18  # of a product
MOST_COARSE = 1 << 21  # of a product on the coarsest ladder: 1.7 million pure promises, 0.5 s; beyond, zCDP tells enough
BITS = (128, 384, 1152)  # of the masses: the last ones resolve the least float
ZERO = Fraction(0)


@dataclass(frozen=True)
class Account:
    """The product of promises: what is promised by their releases together, one chosen after the other (adaptively) or not.

    factors: tradeoff functions, each with how many releases have it. rho: a budget of zCDP beside them.
    Functions that are not symmetric have the same side of every change, such as the absence of a record, as their null. Both
    directions are covered by every answer.

    >>> from designer.tradeoff.functions import EpsilonDelta
    >>> thirty = Account.of([(EpsilonDelta(1), 30)])
    >>> thirty.delta_at(30), thirty.epsilon_at(0), round(thirty.epsilon_at(1e-6), 3)
    (0.0, 30.0, 29.988)
    >>> Account.of([Gaussian.of(3), Gaussian.of(4)]).delta_at(2) == Gaussian.of(5).delta_at(2)
    True
    """

    factors: tuple[tuple[Tradeoff, int], ...]
    rho: Fraction = ZERO

    @classmethod
    def of(cls, promises: Iterable[Tradeoff | tuple[Tradeoff, int]], rho: object = 0) -> Account:
        """promises: tradeoff functions, or pairs of one and how often it was promised. rho: a budget of zCDP, at least 0."""
        if isinstance(promises, Tradeoff) or not isinstance(promises, Iterable):
            raise InvalidProblem(f"promises: {shown(promises)} is not a list; give one of tradeoff functions.", value=promises)
        times: Counter[Tradeoff] = Counter()
        for place, given in enumerate(promises):
            promise, repeated = given if isinstance(given, tuple) and len(given) == 2 else (given, 1)
            if not isinstance(promise, Tradeoff):
                raise InvalidProblem(
                    f"promises[{place}]: {shown(promise)} is not a tradeoff function of designer.tradeoff.", value=promise
                )
            times[promise] += count(repeated, f"promises[{place}]")
        return cls(_joined(times), rational_from(rho, "rho", 0))

    def __add__(self, other: Account) -> Account:
        """Both accounts together."""
        return Account.of([*self.factors, *other.factors], self.rho + other.rho)

    def delta_at(self, epsilon: object) -> float:
        """A delta proven to be enough at epsilon >= 0; `delta_below` says how far it may be from the least one."""
        power = rational_from(epsilon, "epsilon", 0)
        if not self.factors:
            return zcdp_delta(self.rho, power)
        if self._exact is not None:
            return self._exact.delta_at(power)
        if power >= self._farthest:
            return float_above_real(self._certain)
        by_zcdp = zcdp_delta(self._as_zcdp, power) if self._by_zcdp and self._as_zcdp is not None else 1.0
        return min(self._added_delta(power), by_zcdp, self._enclosed("delta", power)[1])

    def delta_below(self, epsilon: object) -> float:
        """A delta below which these promises do not prove (epsilon, delta). Where a budget of zCDP is among them it is that of
        normal noise, which spends the whole of it."""
        power, exact = rational_from(epsilon, "epsilon", 0), self._exact
        if self.rho:
            return self._normal.delta_below(power)
        if power >= self._farthest:
            return float_below_real(self._certain)
        if exact is not None:
            return float_below_real(lambda: exact.delta_ball(exp_ball(min(power, FARTHEST))))
        return self._enclosed("delta", power, proven=True)[0]

    def epsilon_at(self, delta: object) -> float:
        """An epsilon >= 0 proven to be enough at delta in [0, 1]; infinite where none is."""
        most = rational_from(delta, "delta", 0, 1)
        if most == 1 or not self.factors:
            return zcdp_epsilon(self.rho, most)
        if isinstance(self._exact, Gaussian):
            return gaussian_epsilon(self._exact, most)
        if float_below_real(self._certain) > most:
            return math.inf
        added = self._added_epsilon(most)
        by_zcdp = zcdp_epsilon(self._as_zcdp, most) if self._by_zcdp and self._as_zcdp is not None else math.inf
        return min(added, by_zcdp, self._enclosed("epsilon", most)[1]) if most else added

    def epsilon_below(self, delta: object) -> float:
        """An epsilon below which these promises do not prove (epsilon, delta); of zCDP as in `delta_below`."""
        least = max(rational_from(delta, "delta", 0, 1), Fraction(5e-324))
        if self.rho:
            return self._normal.epsilon_below(least)
        if least == 1 or not self.factors:
            return 0.0
        return math.inf if float_below_real(self._certain) > least else self._enclosed("epsilon", least, proven=True)[0]

    def tradeoff_below(self, steps: int = 40, tail: float = 1e-9) -> PiecewiseLinear:
        """A piecewise linear tradeoff function proven to be at most that of the product, by its tangents at `steps` equal steps
        of epsilon up to where delta is within `tail` of the least it ever gets."""
        limit, never = 1 / 16, self.delta_at(min(self._farthest, FARTHEST))
        while limit < 64 and self.delta_at(limit) > never + tail:
            limit *= 2**0.25
        # The ladder rounds slopes up, so the delta of a rung is enough at its slope.
        top = Fraction(limit)
        gaps = {slope: Fraction(self.delta_at(top * i / steps)) for i, slope in enumerate(ladder(top, steps))}
        return below_tangents(gaps.__getitem__, gaps, True, 160)

    @property
    def _exact(self) -> Tradeoff | None:
        """The product itself where it is one tradeoff function that covers both directions."""
        single = len(self.factors) == 1 and self.factors[0][1] == 1 and not self.rho
        return self.factors[0][0] if single and self.factors[0][0].symmetric else None

    @cached_property
    def _farthest(self) -> Fraction | float:
        """What no finite loss of the product exceeds: plain addition."""
        if self.rho:
            return math.inf
        losses = [(f.largest_loss(), times) for f, times in self.factors]
        return sum((most * times if most is not None else math.inf for most, times in losses), ZERO)

    @cached_property
    def _pure(self) -> tuple[Fraction, Gaussian | None] | None:
        """The sum of the largest finite losses, and normal noise beside it; None where other losses have no largest one."""
        normal = next((f for f, _ in self.factors if isinstance(f, Gaussian)), None)
        most = [(f.largest_loss(), times) for f, times in self.factors if f != normal]
        known = all(loss is not None for loss, _ in most)
        return (sum((loss * times for loss, times in most if loss is not None), ZERO), normal) if known else None

    @cached_property
    def _by_zcdp(self) -> bool:
        """Whether what zCDP promises is asked for too: where it is among the budgets, or there are too many for a ladder."""
        return bool(self.rho) or not self._on_ladder

    @cached_property
    def _on_ladder(self) -> bool:
        """Whether the losses of the product are added up on a ladder: none is so far that it counts as certain, and the
        coarsest ladder has no more rungs than are computed."""
        within = max(span for span, _ in self._spans) < FARTHEST
        return within and _rungs(self._spans, self._first_step()) <= MOST_COARSE

    def _added_delta(self, epsilon: Fraction) -> float:
        """By plain addition of what is bounded to normal noise and zCDP."""
        if self._pure is None or (rest := epsilon - self._pure[0]) < 0:
            return 1.0
        normal, certain = self._pure[1], float_above_real(self._certain)
        if self.rho:
            spent = zcdp_delta(self.rho + (normal.mu_squared / 2 if normal else 0), rest)
        else:
            spent = normal.delta_at(rest) if normal else 0.0
        return min(1.0, math.nextafter(certain + spent, 1.0)) if spent and certain else certain + spent

    def _added_epsilon(self, delta: Fraction) -> float:
        if self._pure is None or (rest := delta - Fraction(float_above_real(self._certain))) < 0:
            return math.inf
        bounded, normal = self._pure
        most = float_above_real(lambda: rational_ball(bounded))
        if self.rho:
            spent = zcdp_epsilon(self.rho + (normal.mu_squared / 2 if normal else 0), rest)
        else:
            spent = gaussian_epsilon(normal, rest) if normal else 0.0
        return math.nextafter(most + spent, math.inf) if spent and most else most + spent

    def _certain(self) -> arb:
        """The mass of certain losses, in the worse direction."""
        kept = [rational_ball(Fraction(1))] * 2
        for factor, times in self.factors:
            kept = [kept[0] * (1 - factor.certain_ball()) ** times, kept[1] * (1 - factor.unseen_ball()) ** times]
        return 1 - kept[0].min(kept[1])

    @cached_property
    def _as_zcdp(self) -> Fraction | None:
        """The budget of zCDP of everything together; None where a factor has none."""
        budgets = [(zcdp_of(f), times) for f, times in self.factors]
        known = all(budget is not None for budget, _ in budgets)
        return self.rho + sum(b * times for b, times in budgets if b is not None) if known else None

    @property
    def _normal(self) -> Account:
        """The same, with normal noise in the place of zCDP."""
        return Account.of([*self.factors, Gaussian(2 * self.rho)])

    @cached_property
    def _sides(self) -> dict[bool, tuple[tuple[Part, int], ...]]:
        """The factors of a bound from below (False) and from above (True): zCDP is a factor of its own, or normal noise."""
        return {False: self._normal.factors, True: (*self.factors, *([(self.rho, 1)] if self.rho else []))}

    def _enclosed(self, what: Literal["delta", "epsilon"], at: Fraction, *, proven: bool = False) -> tuple[float, float]:
        """Bounds from below and above, on finer and finer ladders, until they are close or, unless that is to be proven, the
        upper one stands still: its error falls with the square of the step, where that of the lower one may not."""
        low, high, bits, finer = 0.0, math.inf, BITS[0], 1
        if not self._on_ladder:
            return low, high
        step = self._first_step()
        for _ in track(range(LEVELS), "refining the ladder of losses"):
            step, before = step / finer, high
            while True:
                low = max(low, *(getattr(tails, what)(at) for tails in self._tails(step, bits, above=False)))
                high = min(high, max(getattr(tails, what)(at) for tails in self._tails(step, bits, above=True)))
                wanted = next((b for b in BITS if (high if what == "delta" else at) > 2.0 ** (64 - b)), BITS[-1])
                if wanted <= bits:
                    break
                bits = wanted
            # So far from its limit, and half as far again, is what falls with the square.
            still = not proven and 2 * (before - high) <= (finer**2 - 1) * CLOSE * high < math.inf
            finer = 2 if high - low <= FINER * CLOSE * high < math.inf else FINER
            if still or low >= high - CLOSE * high or finer * self._cost(step, bits) > MOST_RUNGS:
                break
        return low, high

    def _tails(self, step: Fraction, bits: int, *, above: bool) -> list[Tails]:
        """The bound in both directions; in one where they are the same."""
        parts = self._sides[above]
        both = (False, True) if any(isinstance(p, Tradeoff) and not p.symmetric for p, _ in parts) else (False,)
        return [_tails(parts, step, bits, above, backwards) for backwards in both]

    def _cost(self, step: Fraction, bits: int) -> float:
        """The rungs of the product, or sixteen times those of a factor, whose every rung is computed."""
        widest = max(float(span / step) for span, _ in self._spans)
        longest = max(tails.masses.units.length() for tails in self._tails(step, bits, above=True))
        return max(32 * widest, float(longest))

    @cached_property
    def _spans(self) -> list[tuple[Fraction, int]]:
        return [(_span(part), times) for part, times in self._sides[True]]

    def _first_step(self) -> Fraction:
        """The step of a coarse ladder: a common unit of the losses, as near as there is one."""
        units = [unit for unit in (f.loss_unit() for f, _ in self.factors) if unit]
        widest = max(span for span, _ in self._spans)
        step = _common(units) if units else None
        unfit = step is None or step > widest or _rungs(self._spans, step) > MOST_RUNGS
        return widest / FIRST_RUNGS if step is None or unfit else step


Part = Tradeoff | Fraction  # a tradeoff function, or a budget of zCDP


def _joined(times: Mapping[Tradeoff, int]) -> tuple[tuple[Tradeoff, int], ...]:
    """Without what promises that nothing is learnt, and with one normal factor: `mu^2` adds."""
    normal = sum((f.mu_squared * n for f, n in times.items() if isinstance(f, Gaussian)), ZERO)
    others = [(f, n) for f, n in times.items() if not isinstance(f, Gaussian) and not f.trivial]
    return (*others, *([(Gaussian(normal), 1)] if normal else []))


def zcdp_of(factor: Tradeoff) -> Fraction | None:
    """A budget of zCDP that a tradeoff function implies: it is normal, that of Laplace noise, or pure. None where it is none.

    A pure promise to groups of k has the function of discrete Laplace noise moved by k steps (docs/theory/tradeoff.md, 9).
    """
    if isinstance(factor, Gaussian):
        return factor.mu_squared / 2
    if isinstance(factor, ResponseMixture):
        return factor.rho
    if isinstance(factor, LaplaceTradeoff):
        return rho_of_laplace(factor.epsilon)
    if isinstance(factor, Group) and isinstance(factor.base, EpsilonDelta) and not factor.base.delta:
        return rho_of_laplace(factor.base.epsilon * factor.size, factor.base.epsilon)
    most, certain = factor.largest_loss(), float_above_real(lambda: factor.certain_ball() + factor.unseen_ball())
    return rho_of_pure(most) if most is not None and certain == 0 else None


def _rungs(spans: Sequence[tuple[Fraction, int]], step: Fraction) -> float:
    """No fewer rungs than a product has before its tails are below 2^-100 (Hoeffding)."""
    sure = float(sum(span * times for span, times in spans))
    likely = 12.5 * math.sqrt(sum(float(span) ** 2 * times for span, times in spans))
    return 2 * min(sure, likely) / float(step)


def _common(units: Sequence[Fraction]) -> Fraction | None:
    """The largest number of which all are nearly whole multiples, where it is at least a thousandth of the first."""
    ratios = [(unit / units[0]).limit_denominator(1000) for unit in units]
    if any(abs(ratio * units[0] - unit) > unit / 10**9 for ratio, unit in zip(ratios, units, strict=True)):
        return None
    whole = math.lcm(*(ratio.denominator for ratio in ratios))
    return units[0] * math.gcd(*(int(ratio * whole) for ratio in ratios)) / whole


@lru_cache(maxsize=64)
def _curve(part: Part) -> Curve:
    return curve_of(part) if isinstance(part, Tradeoff) else zcdp_curve(part)


@lru_cache(maxsize=256)
def _span(part: Part) -> Fraction:
    """About the largest loss that matters."""
    return farthest(_curve(part), BITS[0])


@lru_cache(maxsize=16)
def _rungs_of(part: Part, step: Fraction, bits: int) -> Rungs:
    return Rungs.of(_curve(part), step, bits)


@lru_cache(maxsize=128)
def _laddered(part: Part, step: Fraction, bits: int, above: bool, backwards: bool) -> Laddered:
    if isinstance(part, Tradeoff) and part.piecewise:
        return laddered_atoms(part, step, bits, above=above, backwards=backwards)
    return laddered(_curve(part), _rungs_of(part, step, bits), above=above, backwards=backwards)


@lru_cache(maxsize=32)
def _tails(parts: tuple[tuple[Part, int], ...], step: Fraction, bits: int, above: bool, backwards: bool) -> Tails:
    return Tails.of([(_laddered(part, step, bits, above, backwards), times) for part, times in parts], step)
