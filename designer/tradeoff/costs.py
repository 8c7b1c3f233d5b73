"""What one change costs in one release, and what it costs in several: the least epsilon, the least delta that is proven.

docs/theory/composition.md, sections 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from designer.base.arrays import Immutable
from designer.base.checks import assign, rational_from, shown
from designer.base.errors import InvalidProblem
from designer.tradeoff.account import Account, zcdp_of
from designer.tradeoff.conversions import (
    gaussian_epsilon,
    rho_of_bounded_range,
    rho_of_laplace,
    rho_of_pure,
    zcdp_delta,
    zcdp_epsilon,
)
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Group, LaplaceTradeoff, Tradeoff
from designer.tradeoff.piecewise import PiecewiseLinear
from solvers.exact.balls import exp_ball, float_above_real, float_below_real, rational_ball
from solvers.exact.rational import float_above

NOTHING = Fraction(0)
MOST_IN_SHAPE = 20  # changes in a group whose tradeoff function is computed; for more, its bound by the sum of the budgets
SHARES = tuple(Fraction(1, 2**k) for k in range(1, 9))  # of a chance, given to delta
SMALL_CHANCE = Fraction(1, 1 << 64)  # beside a product, chances to tell all are added up to this
HALF_PI = Fraction(15708, 10000)  # rounded up
LARGEST_EPSILON = Fraction(2) ** 500  # beyond what conversions take


@dataclass(frozen=True)
class Cost(Immutable):
    """What one change costs in one release: everything that is stated here is promised.

    epsilon: with `delta`, (epsilon, delta)-privacy; pure where delta is 0. rho: zCDP. mu_squared: mu-GDP. Where there is no
    epsilon, `delta` belongs to rho: delta-approximate rho-zCDP (Bun and Steinke 2016, Definition 8.1). shapes:
    tradeoff functions whose product says more than these numbers; none where they say all.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction = NOTHING
    mu_squared: Fraction | None = None
    shapes: tuple[Tradeoff, ...] = ()

    @classmethod
    def pure(cls, epsilon: Fraction) -> Cost:
        """epsilon, which is `epsilon tanh(epsilon / 2)`-zCDP. Of what is more than pure, `replace` states a smaller rho."""
        return cls(epsilon=epsilon, rho=rho_of_pure(epsilon), mu_squared=None if epsilon else NOTHING)

    @classmethod
    def of_bounded_range(cls, epsilon: Fraction) -> Cost:
        """epsilon, as an exponential mechanism keeps it: with a smaller rho."""
        return replace(cls.pure(epsilon), rho=rho_of_bounded_range(epsilon))

    @classmethod
    def concentrated(cls, rho: Fraction, delta: Fraction = NOTHING) -> Cost:
        """rho-zCDP, but for events of probability delta."""
        return cls(rho=rho, delta=delta)

    @classmethod
    def normal(cls, mu_squared: Fraction) -> Cost:
        """mu-GDP, which is mu^2 / 2-zCDP."""
        return cls(rho=mu_squared / 2, mu_squared=mu_squared)

    @property
    def is_pure(self) -> bool:
        """Is its epsilon that of a pure promise?"""
        return self.epsilon is not None and not self.delta

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The epsilon of its pure promise; None where it has none."""
        if self.is_pure:
            return self.epsilon
        shape = self.shapes[0] if len(self.shapes) == 1 else None
        base, size = (shape.base, shape.size) if isinstance(shape, Group) else (shape, 1)
        return base.epsilon * size if isinstance(base, EpsilonDelta) and not base.delta else None

    def as_pure(self) -> Cost:
        """Its pure promise alone, where it has one: all else follows from that."""
        epsilon = self.pure_epsilon
        return self if self.is_pure or epsilon is None else Cost.pure(epsilon)

    @property
    def functions(self) -> tuple[Tradeoff, ...] | None:
        """Tradeoff functions whose product is promised; None where zCDP is all that is known."""
        if self.shapes or self.mu_squared:
            return self.shapes or (Gaussian(self.mu_squared),)  # type: ignore[arg-type]  # one of them is there
        return None if self.epsilon is None else (EpsilonDelta(self.epsilon, self.delta),)

    @property
    def strict_rho(self) -> Fraction | None:
        """rho without any delta; None where there is none."""
        return None if self.epsilon is None and self.delta else self.rho

    def of_group(self, size: Fraction | int) -> Cost:
        """What `size` such changes, one after the other, cost: budgets add, so that rho and mu^2 grow with the square.

        (epsilon, delta) becomes `(k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))`. `InvalidProblem` where rho has a
        delta of its own, which has no rule here. Derivation: docs/theory/composition.md, section 3.
        """
        if size == 1:
            return self
        if self.epsilon is None and self.delta:
            raise InvalidProblem(
                f"mechanisms: one promises zCDP but for events of probability {float(self.delta)!r}, and that says nothing of "
                f"{size} changes together; compose it with what protects the presence of one record."
            )
        if self.is_pure and self.epsilon is not None:
            made = replace(Cost.pure(self.epsilon * size), rho=self._rho_of_group(size))
            return made.with_shapes(self._shapes_of_group(size))
        rho = None if self.rho is None else self.rho * size**2
        mu_squared = None if self.mu_squared is None else self.mu_squared * size**2
        epsilon = None if self.epsilon is None else self.epsilon * size
        delta, shapes = _delta_of_group(self, size), self._shapes_of_group(size)
        return replace(self, epsilon=epsilon, rho=rho, delta=delta, mu_squared=mu_squared, shapes=shapes)

    def with_pure(self, epsilon: Fraction) -> Cost:
        """With independent noise of a pure epsilon besides, which is sqrt(pi / 2) epsilon-GDP: `erf(x) >= tanh(2 x / sqrt(pi))`
        for x >= 0, because the ratio of the derivatives rises from 1 and then falls to 0.
        """
        more = Cost.pure(epsilon)
        mu_squared = None if self.mu_squared is None else self.mu_squared + HALF_PI * epsilon**2
        return Cost(
            None if self.epsilon is None else self.epsilon + epsilon,
            None if self.rho is None or more.rho is None else self.rho + more.rho,
            self.delta,
            mu_squared,
            (*self.shapes, EpsilonDelta(epsilon)) if self.shapes else (),
        )

    def of_length(self, times: Fraction | int) -> Cost:
        """What a change costs that is `times` as long in the norm of the noise.

        There need be no changes on its way, as `of_group` has them: of a pure promise the budget is all that is known, and
        (epsilon, delta) says nothing.
        """
        if times == 1:
            return self
        if self.is_pure and self.epsilon is not None:
            return Cost.pure(self.epsilon * times)
        if self.delta or self.epsilon is not None or self.rho is None:
            raise InvalidProblem(
                "mechanisms: one promises (epsilon, delta) for each unit of a distance, which does not add up; use a pure "
                "promise or zCDP for it."
            )
        return Cost.concentrated(self.rho * times**2)

    def with_shapes(self, shapes: tuple[Tradeoff, ...]) -> Cost:
        """The same of a change whose tradeoff functions are known, and with them its zCDP."""
        known = [zcdp_of(shape) for shape in shapes]
        rho = sum((rho for rho in known if rho is not None), NOTHING)
        least = self.rho if not shapes or None in known else rho if self.rho is None else min(rho, self.rho)
        return replace(self, rho=least, shapes=shapes)

    def _rho_of_group(self, size: Fraction | int) -> Fraction:
        """What a pure promise is in zCDP for groups: by the function of the group (docs/theory/tradeoff.md, 9), or as zCDP."""
        assert self.epsilon is not None
        whole, length = int(size) == size, self.epsilon * size
        known = rho_of_laplace(length, self.epsilon) if whole else rho_of_pure(length)
        return known if self.rho is None else min(known, self.rho * size**2)

    def _shapes_of_group(self, size: Fraction | int) -> tuple[Tradeoff, ...]:
        """The functions of the group, each by itself: of a pure promise they say more than the sum of the budgets."""
        pure = (EpsilonDelta(self.epsilon),) if self.is_pure and self.epsilon else ()
        if int(size) != size or size > MOST_IN_SHAPE:
            return ()
        return tuple(function.group(int(size)) for function in self.shapes or pure)


def cost_of_tradeoff(function: Tradeoff) -> Cost:
    """What a tradeoff function promises in numbers, rounded up."""
    if isinstance(function, Gaussian):
        return Cost.normal(function.mu_squared)
    epsilon, delta = _slope_and_gap(function)
    shapes = () if isinstance(function, EpsilonDelta) else (function,)
    if delta:
        return Cost(epsilon=epsilon, delta=delta, shapes=shapes)
    return replace(Cost.pure(epsilon), rho=zcdp_of(function) or rho_of_pure(epsilon), shapes=shapes)


def _slope_and_gap(function: Tradeoff) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of a function with finitely many slopes: the steepest, and the delta that is left there."""
    if isinstance(function, EpsilonDelta):
        return function.epsilon, function.delta
    if isinstance(function, LaplaceTradeoff):
        return function.epsilon, NOTHING
    if isinstance(function, Group) and isinstance(function.base, EpsilonDelta):
        epsilon = function.base.epsilon * function.size
        return epsilon, Fraction(function.delta_at(epsilon)) if function.base.delta else NOTHING
    if not isinstance(function, PiecewiseLinear):
        return _largest_loss(function)
    both = (function, function.inverse())
    steepest = max((fall / length for one in both for length, fall in one.segments() if fall), default=Fraction(1))
    epsilon = Fraction(float_above_real(lambda: rational_ball(max(steepest, Fraction(1))).log()))
    return epsilon, max(1 - one.betas[0] for one in both)


def _largest_loss(function: Tradeoff) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of any function whose finite losses are bounded: the largest, and what is certain to be told."""
    most = function.largest_loss()
    if most is None:
        raise InvalidProblem(
            f"tradeoff: {function.sentence()} has no largest loss, and no zCDP, so it has no rule of composition; compose its "
            "releases by hand."
        )
    return most, Fraction(float_above_real(lambda: function.certain_ball().max(function.unseen_ball())))


def _delta_of_group(cost: Cost, size: Fraction | int) -> Fraction:
    """`delta (e^(k epsilon) - 1) / (e^epsilon - 1)`, at most 1, rounded up."""
    epsilon, delta = cost.epsilon, cost.delta
    if epsilon is None or not delta:
        return delta
    if epsilon == 0:
        return min(Fraction(1), delta * math.ceil(size))
    if epsilon * size > 1000:
        return Fraction(1)
    grown = float_above_real(lambda: rational_ball(delta) * (exp_ball(epsilon * size) - 1) / (exp_ball(epsilon) - 1))
    return min(Fraction(1), Fraction(grown))


@dataclass(frozen=True)
class TotalCost(Immutable):
    """What one change costs in several releases, each chosen after the last.

    Every number is an upper bound, the least of what several ways of adding up prove: plain addition of (epsilon, delta), zCDP,
    Gaussian differential privacy, mixtures in which some releases are added plainly, and the product of all tradeoff functions
    (`designer.tradeoff.account`).

    costs: of releases. times: how many releases have each; none, one of each.
    """

    costs: tuple[Cost, ...]
    times: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        assign(self, times=self.times or (1,) * len(self.costs))
        if len(self.times) != len(self.costs) or not all(type(times) is int and times > 0 for times in self.times):
            raise InvalidProblem(
                f"times: {shown(self.times)} are no {len(self.costs)} whole numbers from 1 on; give one for each cost."
            )

    @property
    def releases(self) -> int:
        """How many there are."""
        return sum(self.times)

    def with_one_more(self, cost: Cost) -> TotalCost:
        """With a further release."""
        return TotalCost((*self.costs, cost), (*self.times, 1))

    def of_group(self, size: Fraction | int) -> TotalCost:
        """Of so many changes, as `Cost.of_group` has it."""
        return replace(self, costs=tuple(cost.of_group(size) for cost in self.costs))

    def _sum(self, number: Callable[[Cost], Fraction | None]) -> Fraction | None:
        """Of all releases; None where one of them has none."""
        found = NOTHING
        for cost, times in zip(self.costs, self.times, strict=True):
            if (value := number(cost)) is None:
                return None
            found += times * value
        return found

    @property
    def epsilon(self) -> Fraction | None:
        """Pure: the sum; None where one of them has no pure promise."""
        return self._sum(lambda cost: cost.pure_epsilon)

    @property
    def rho(self) -> Fraction | None:
        """zCDP without any delta: the sum; None where one of them has none."""
        return self._sum(lambda cost: cost.strict_rho)

    @property
    def approximate_rho(self) -> tuple[Fraction, Fraction] | None:
        """(rho, delta) of delta-approximate rho-zCDP; None where one of them has no rho. delta is 0 where `rho` is given."""
        total = self._sum(lambda cost: cost.rho)
        return None if total is None else (total, min(Fraction(1), self._set_aside))

    @property
    def mu_squared(self) -> Fraction | None:
        """Gaussian differential privacy: the sum of mu^2; None where one of them has none."""
        return self._sum(lambda cost: cost.mu_squared)

    @property
    def tradeoff(self) -> Tradeoff | None:
        """A function proven to be at most the product of the promised ones; None where one release has none."""
        listed, rho = self._functions
        known = [(function, times) for function, times in listed if not function.trivial]
        if rho is not None:
            return None
        return _product(known) if known else EpsilonDelta(NOTHING)

    @property
    def plain(self) -> tuple[Fraction, Fraction] | None:
        """(epsilon, delta), added plainly; None where one of them has no epsilon."""
        total, delta = self._sum(lambda cost: cost.epsilon), self._sum(lambda cost: cost.delta)
        return None if total is None or delta is None else (total, min(Fraction(1), delta))

    def epsilon_at(self, delta: object, *, precise: bool = True) -> float | None:
        """The least epsilon proven at delta, rounded up; None where no epsilon has so small a delta.

        delta: from 0 to 1, a float, a Fraction or a text. precise: with the product of all promises, which takes up to some
        seconds where there are many different ones; the other ways take a moment.
        """
        allowed = rational_from(delta, "delta", 0, 1)
        if allowed == 1:
            return 0.0
        found = [float_above(epsilon) for way in self._ways() if (epsilon := way.epsilon_at(allowed)) is not None]
        if precise and allowed >= self._set_aside + self._told:
            found.append(self._account.epsilon_at(allowed - self._set_aside - self._told))
        return least if (least := min(found, default=math.inf)) < math.inf else None

    def delta_at(self, epsilon: object, *, precise: bool = True) -> float:
        """The least delta proven at epsilon >= 0, rounded up; 1 where nothing is promised. precise: as in `epsilon_at`."""
        allowed = rational_from(epsilon, "epsilon", 0)
        least = min((way.delta_at(allowed) for way in self._ways()), default=Fraction(1))
        if precise and least > 0:
            least = min(least, Fraction(self._account.delta_at(allowed)) + self._set_aside + self._told)
        return float_above(least) + 0.0  # no -0.0

    def loss_at(self, chance: object) -> float | None:
        """A number that the privacy loss exceeds, up or down, with at most this chance, rounded up; None where none is proven.

        The loss is the log of the ratio of the probabilities that the release has before and after the change. chance: above 0,
        below 1. epsilon at delta = chance is no such number: the loss may exceed it far more often than with probability delta.
        Derivation: docs/theory/composition.md, section 7.
        """
        allowed = rational_from(chance, "chance", 0, 1)
        if self.epsilon is not None:
            return float_above(self.epsilon)
        if not 0 < allowed < 1 or (once := self._loss_above(allowed)) is None:
            return None
        less = float_below_real(lambda: rational_ball(allowed) / (1 + exp_ball(-Fraction(once))))
        return self._loss_above(Fraction(less)) if less > 0 else None

    def _loss_above(self, chance: Fraction) -> float | None:
        """The same for a loss that is larger, and not for its opposite."""
        found = []
        for share in SHARES:
            if (epsilon := self.epsilon_at(chance * share, precise=False)) is not None:
                more = Fraction(float_above_real(lambda share=share: -(1 - rational_ball(share)).log()))  # type: ignore[misc]
                found.append(float_above(Fraction(epsilon) + more))
        if (rho := self.rho) is not None and rho < LARGEST_EPSILON:
            tail = lambda: rational_ball(rho) + 2 * (rational_ball(rho) * -rational_ball(chance).log()).sqrt()  # noqa: E731
            found.append(float_above_real(tail))
        return min(found, default=None)

    @cached_property
    def _account(self) -> Account:
        """The product of what is promised, each release by its tradeoff function where it has one and by its rho where not, but
        for the chances to tell all."""
        functions, rho = self._functions
        return Account.of([pair for pair in functions if not _chance(pair[0])], rho or NOTHING)

    @property
    def _functions(self) -> tuple[list[tuple[Tradeoff, int]], Fraction | None]:
        """The tradeoff functions, each with its number of releases, and the rho of those that have none; None where all do."""
        functions: list[tuple[Tradeoff, int]] = []
        rho = None
        for cost, times in zip(self.costs, self.times, strict=True):
            if cost.functions is None:
                rho = (rho or NOTHING) + times * (cost.rho or NOTHING)
            else:
                functions += [(function, times) for function in cost.functions]
        return functions, rho

    @property
    def _set_aside(self) -> Fraction:
        """The deltas that go with a rho."""
        return self._sum(_loose) or NOTHING

    @property
    def _told(self) -> Fraction:
        """The chances to tell all that are factors by themselves: with T they are no more than their sum beside T."""
        return sum((_chance(function) * times for function, times in self._functions[0]), NOTHING)

    def _ways(self) -> Iterator[_Way]:
        """The ways of adding up: each release plainly, or by its rho or mu where it has one."""
        for adds, delta_of, epsilon_of in _KINDS:
            may = [adds(cost) is not None for cost in self.costs]
            must = [cost.epsilon is None for cost in self.costs]
            if any(needed and not able for needed, able in zip(must, may, strict=True)):
                continue
            for together in {tuple(must), tuple(may)}:
                yield _Way.of(self, together, adds, delta_of, epsilon_of)


def _product(functions: list[tuple[Tradeoff, int]]) -> Tradeoff:
    """Exact of a single one and of normal ones, a piecewise linear bound otherwise."""
    if len(functions) == 1 and functions[0][1] == 1:
        return functions[0][0]
    if all(isinstance(function, Gaussian) for function, _ in functions):
        return Gaussian(sum((times * f.mu_squared for f, times in functions if isinstance(f, Gaussian)), NOTHING))
    return Account.of(functions).tradeoff_below()


def _chance(function: Tradeoff) -> Fraction:
    """The chance to tell all of a function that says nothing else, where it is small enough to be added up."""
    alone = isinstance(function, EpsilonDelta) and not function.epsilon and function.delta <= SMALL_CHANCE
    return function.delta if alone else NOTHING  # type: ignore[attr-defined]  # one of them is there


def _loose(cost: Cost) -> Fraction:
    """The delta that goes with the rho of a cost."""
    return cost.delta if cost.epsilon is None else NOTHING


def _gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> float:
    return Gaussian(mu_squared).delta_at(epsilon)


def _gaussian_epsilon(mu_squared: Fraction, delta: Fraction) -> float:
    return gaussian_epsilon(Gaussian(mu_squared), delta)


_Adds = Callable[[Cost], Fraction | None]
_Curve = Callable[[Fraction, Fraction], float]
_KINDS: tuple[tuple[_Adds, _Curve, _Curve], ...] = (
    (lambda cost: cost.rho, zcdp_delta, zcdp_epsilon),
    (lambda cost: cost.mu_squared, _gaussian_delta, _gaussian_epsilon),
)


@dataclass(frozen=True)
class _Way:
    """One way of adding up: `plain` (epsilon, delta) of some, and a `total` of rho or mu^2 of the others."""

    plain: tuple[Fraction, Fraction]
    total: Fraction
    delta_of: _Curve
    epsilon_of: _Curve

    @classmethod
    def of(cls, total: TotalCost, together: Sequence[bool], adds: _Adds, delta_of: _Curve, epsilon_of: _Curve) -> _Way:
        epsilon = delta = added = NOTHING
        for cost, times, joined in zip(total.costs, total.times, together, strict=True):
            if joined:
                added += times * (adds(cost) or NOTHING)
                delta += times * _loose(cost)
            else:
                epsilon += times * (cost.epsilon or NOTHING)
                delta += times * cost.delta
        return cls((epsilon, delta), added, delta_of, epsilon_of)

    def delta_at(self, epsilon: Fraction) -> Fraction:
        own, delta = self.plain
        if own > epsilon:
            return Fraction(1)
        more = Fraction(self.delta_of(self.total, epsilon - own)) if self.total else NOTHING
        return min(Fraction(1), delta + more)

    def epsilon_at(self, delta: Fraction) -> Fraction | None:
        own, spent = self.plain
        if not self.total:
            return own if spent <= delta else None
        if spent >= delta or self.total > LARGEST_EPSILON:
            return None
        return own + Fraction(self.epsilon_of(self.total, delta - spent))
