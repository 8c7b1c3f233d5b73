"""Tradeoff functions: how well any test can tell two output distributions apart.

One convention inside: `beta(alpha)`, the least type II error of tests whose type I error is at most alpha. It is convex, falls
from beta(0) <= 1 to beta(1) = 0 and lies below 1 - alpha, which means no loss of privacy. A larger function is a stronger
promise. Papers on group privacy and canonical noise write `f(x) = beta(1 - x)`, x the probability of not rejecting a true null.
Both are methods here, `type_two` and `paper_convention`, and no argument switches one into the other.
Derivations: docs/theory/tradeoff.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from designer.base.arrays import Floats, Immutable
from designer.base.checks import Declared, checked, count, rational, rational_from, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import RATIONAL, Named, of_kind, spec_of, whole
from designer.limits import LARGEST_GROUP, LARGEST_PURE_GROUP
from designer.tradeoff.breakpoints import Kinks, discrete_laplace_kinks, largest_gap, sorted_balls
from solvers.exact.balls import exp_ball, float_above_real, normal_cdf, normal_quantile, rational_ball

if TYPE_CHECKING:
    from flint import arb


LARGE = 1 << 20  # an epsilon beyond which normal noise has no delta between the least float and 1 unless mu is above 1000


class Tradeoff(Declared, Immutable, ABC):
    """A tradeoff function. `type_two` is exact up to float rounding; `ball` encloses it at the working precision."""

    kind: ClassVar[str]
    schema: ClassVar[Named]  # of `to_spec()`

    @abstractmethod
    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        """beta(alpha) with `complement = 1 - alpha` given beside it, so that neither end of [0, 1] loses digits."""

    @abstractmethod
    def power(self, alpha: ArrayLike) -> Floats:
        """`1 - beta(alpha)`, the power of the best test, with all its digits for alpha near 0.
        For a symmetric f it is f^-1 in the paper's convention.

        alpha: (...,) in [0, 1]; the result has its shape. docs/theory/tradeoff.md, section 1.
        """

    @abstractmethod
    def ball(self, alpha: arb, complement: arb) -> arb:
        """beta(alpha) as a ball, `complement = 1 - alpha` given beside it."""

    @abstractmethod
    def delta_ball(self, slope: arb) -> arb:
        """`sup over alpha of 1 - beta(alpha) - slope alpha` as a ball: delta at epsilon = log(slope), in this direction."""

    def to_spec(self) -> dict[str, Any]:
        """Plain data, `kind` first; `from_spec` inverts it."""
        return spec_of(self, self.schema)

    @abstractmethod
    def sentence(self) -> str:
        """The function in a few words."""

    @property
    def symmetric(self) -> bool:
        """Is beta its own inverse, as it must be to protect both directions of a change?"""
        return True

    @property
    @abstractmethod
    def trivial(self) -> bool:
        """Is it 1 - alpha, so that nothing at all may be learnt?"""

    def kinks(self) -> Kinks | None:
        """(alpha, beta) of the corners from alpha = 0 to 1 where the function is piecewise linear, None where it is not."""
        return None

    @property
    def piecewise(self) -> bool:
        """Is it piecewise linear?"""
        return False

    def largest_loss(self) -> Fraction | None:
        """A number that no finite `|log(Q / P)|` of the two distributions exceeds; None where there is none."""
        return None

    def loss_unit(self) -> Fraction | None:
        """A number of which the losses are whole multiples, or the largest is; None where there is none."""
        return None

    def certain_ball(self) -> arb:
        """The mass of the alternative where the null has none: `1 - beta(0)`."""
        one = rational_ball(Fraction(1))
        return 1 - self.ball(one * 0, one)

    def unseen_ball(self) -> arb:
        """The mass of the null where the alternative has none; the same as `certain_ball` for symmetric functions."""
        return self.certain_ball()

    def type_two(self, alpha: ArrayLike) -> Floats:
        """beta(alpha): least type II error at type I error alpha, of any shape (...,)."""
        given = np.asarray(alpha, dtype=np.float64)
        return self._floats(given, 1.0 - given)

    def paper_convention(self, x: ArrayLike) -> Floats:
        """`f(x) = beta(1 - x)`, accurate for x near 0: nondecreasing, at most x; group privacy is f o f o ...

        x: (...,) in [0, 1]. docs/theory/tradeoff.md, section 1.
        """
        given = np.asarray(x, dtype=np.float64)
        return self._floats(1.0 - given, given)

    def delta_at(self, epsilon: object) -> float:
        """The least delta such that this promise implies (epsilon, delta), rounded up (Dong, Roth and Su 2022, Prop. 6)."""
        power = rational(epsilon, "epsilon")
        return min(1.0, float_above_real(lambda: self.delta_ball(exp_ball(power))))

    def fixed_point(self) -> arb:
        """The c with beta(c) = c (Lemma 36: f(1 - c) = c), as a ball."""
        raise NotImplementedError

    def group(self, size: int) -> Tradeoff:
        """What is promised to groups of `size`: `f o ... o f` in the paper's convention (Dong, Roth and Su 2022,
        Theorem 2.14)."""
        return self if count(size, "size") == 1 else Group(self, size)


@dataclass(frozen=True)
class EpsilonDelta(Tradeoff):
    """`beta(alpha) = max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha))`: (epsilon, delta)-privacy.

    epsilon >= 0 and delta in [0, 1] are kept as exact rationals.

    >>> EpsilonDelta(0, 0).type_two([0.0, 0.25]).tolist()
    [1.0, 0.75]
    >>> bool(EpsilonDelta(1, 0).paper_convention(0.5) == EpsilonDelta(1, 0).type_two(0.5))
    True
    """

    kind = "epsilon_delta"
    schema = of_kind("tradeoff", kind, {"epsilon": RATIONAL, "delta": RATIONAL})

    epsilon: Fraction = field(metadata=checked(rational_from, 0))
    delta: Fraction = field(default=Fraction(0), metadata=checked(rational_from, 0, 1))

    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        epsilon, delta = min(float(self.epsilon), 700.0), float(self.delta)
        steep = (1.0 - delta) - np.exp(epsilon) * alpha
        return np.asarray(np.maximum(0.0, np.maximum(steep, np.exp(-epsilon) * (complement - delta))))

    def power(self, alpha: ArrayLike) -> Floats:
        given = np.asarray(alpha, dtype=np.float64)
        epsilon, delta = min(float(self.epsilon), 700.0), float(self.delta)
        flat = 1.0 - np.exp(-epsilon) * (1.0 - delta - given)
        return np.asarray(np.minimum(1.0, np.minimum(delta + np.exp(epsilon) * given, flat)))

    def ball(self, alpha: arb, complement: arb) -> arb:
        delta, slope = rational_ball(self.delta), exp_ball(self.epsilon)
        best: arb = (1 - delta - slope * alpha).max((complement - delta) / slope)
        return best.nonnegative_part()

    def fixed_point(self) -> arb:
        c: arb = rational_ball(1 - self.delta) / (1 + exp_ball(self.epsilon))
        return c

    def kinks(self) -> Kinks:
        c, most, one, zero = self.fixed_point(), rational_ball(1 - self.delta), *map(rational_ball, (Fraction(1), Fraction(0)))
        last = () if self.delta == 0 else ((one, zero),)
        return ((zero, most), (c, c), (most, zero), *last)

    def delta_ball(self, slope: arb) -> arb:
        return largest_gap(self.kinks(), slope)

    piecewise = True

    def largest_loss(self) -> Fraction:
        return self.epsilon

    def loss_unit(self) -> Fraction:
        return self.epsilon

    @property
    def trivial(self) -> bool:
        return self.epsilon == 0 and self.delta == 0

    def sentence(self) -> str:
        return f"f_(epsilon, delta) with epsilon = {float(self.epsilon)!r}, delta = {float(self.delta)!r}"


@dataclass(frozen=True)
class Gaussian(Tradeoff):
    """`G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu)`, N(0, 1) against N(mu, 1).
    Kept: the exact rational mu^2, which compositions add.

    mu_squared: mu^2, at least 0.

    >>> Gaussian.of(1.0).group(3) == Gaussian.of(3)
    True
    """

    kind = "gaussian"
    schema = of_kind("tradeoff", kind, {"mu_squared": RATIONAL})

    mu_squared: Fraction = field(metadata=checked(rational_from, 0))

    @classmethod
    def of(cls, mu: object) -> Gaussian:
        """G_mu."""
        return cls(rational_from(mu, "mu", 0) ** 2)

    @property
    def mu(self) -> float:
        """mu, rounded to the nearest float."""
        return float(np.sqrt(float(self.mu_squared)))

    def mu_ball(self) -> arb:
        """mu as a ball."""
        root: arb = rational_ball(self.mu_squared).sqrt()
        return root

    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        from scipy.special import ndtr, ndtri

        # The smaller of the two numbers has the digits.
        quantile = np.where(complement <= 0.5, ndtri(complement), -ndtri(alpha))
        return np.asarray(ndtr(quantile - self.mu))

    def power(self, alpha: ArrayLike) -> Floats:
        from scipy.special import ndtr, ndtri

        return np.asarray(ndtr(ndtri(np.asarray(alpha, dtype=np.float64)) + self.mu))

    def ball(self, alpha: arb, complement: arb) -> arb:
        from flint import arb

        if alpha.is_zero() or complement.is_zero():
            return arb(1) if alpha.is_zero() else arb(0)
        quantile = normal_quantile(complement) if complement < 0.5 else -normal_quantile(alpha)
        value = normal_cdf(quantile - self.mu_ball())
        return value if value.is_finite() else arb(0.5, 0.5)

    def fixed_point(self) -> arb:
        return normal_cdf(-self.mu_ball() / 2)

    def delta_ball(self, slope: arb) -> arb:
        """Balle and Wang 2018, Theorem 8: `Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`, which holds for every real eps."""
        from flint import arb

        if self.trivial:
            return (1 - slope).nonnegative_part()
        mu, epsilon = self.mu_ball(), slope.log()
        gap: arb = normal_cdf(mu / 2 - epsilon / mu) - slope * normal_cdf(-mu / 2 - epsilon / mu)
        return gap if gap.is_finite() else arb(0.5, 0.5)

    def delta_at(self, epsilon: object) -> float:
        power = rational(epsilon, "epsilon")
        if self.trivial or power <= LARGE:
            return super().delta_at(power)
        # There delta is below every float, or mu is so large that `Phi(mu / 2 - epsilon / mu)` is hardly more than it.
        deviations = float_above_real(lambda: self.mu_ball() / 2 - rational_ball(power) / self.mu_ball())
        return float_above_real(lambda: normal_cdf(rational_ball(Fraction(min(64.0, max(-64.0, deviations))))))

    @property
    def trivial(self) -> bool:
        return self.mu_squared == 0

    def group(self, size: int) -> Gaussian:
        return Gaussian(self.mu_squared * count(size, "size") ** 2)

    def sentence(self) -> str:
        return f"G_mu with mu = {self.mu!r}"


@dataclass(frozen=True)
class Group(Tradeoff):
    """`f o ... o f`, `size` times in the paper's convention, of a symmetric f: the promise to groups, never below its bounds.

    Of pure epsilon it is also that of discrete Laplace noise for a change of `size` steps of its grid, epsilon for each.

    For f_epsilon it has a middle part of slope 1 that f_(size epsilon) lacks, so it is the stronger promise.

    >>> pure = EpsilonDelta(1)
    >>> bool(pure.group(2).type_two(0.2) > EpsilonDelta(2).type_two(0.2))
    True
    """

    kind = "group"
    schema = of_kind(
        "tradeoff",
        kind,
        {"base": EpsilonDelta.schema, "size": whole(least=2, most=LARGEST_PURE_GROUP)},
        "What is promised to groups of `size` records: at most 100 where delta is positive.",
    )

    base: Tradeoff
    size: int = field(metadata=checked(count, least=2))

    def __post_init__(self) -> None:
        super().__post_init__()
        most = LARGEST_GROUP if isinstance(self.base, EpsilonDelta) and self.base.delta else LARGEST_PURE_GROUP
        if not isinstance(self.base, EpsilonDelta) or self.size > most:
            raise InvalidProblem(
                f"base: {shown(self.base)} in groups of {self.size}; groups of at most {most} are built of "
                "EpsilonDelta here, other tradeoff functions have a `group` method of their own.",
                value=self.base,
            )

    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        value = self.base._floats(alpha, complement)
        for _ in range(self.size - 1):
            value = self.base.paper_convention(value)
        return value

    def power(self, alpha: ArrayLike) -> Floats:
        value = np.asarray(alpha, dtype=np.float64)
        for _ in range(self.size):
            value = self.base.power(value)
        return value

    def ball(self, alpha: arb, complement: arb) -> arb:
        value = self.base.ball(alpha, complement)
        for _ in range(self.size - 1):
            value = self.base.ball(1 - value, value)
        return value

    def fixed_point(self) -> arb:
        """F(-size/2) for any canonical noise F of the base: F(size x) is canonical for the group."""
        value = self.base.fixed_point() if self.size % 2 else rational_ball(Fraction(1, 2))
        for _ in range(self.size // 2):
            value = self.base.ball(1 - value, value)
        return value

    def kinks(self) -> Kinks:
        """Where f o g bends: where g does, and where g meets a bend of f; `g^-1(v) = 1 - g(1 - v)` because g is symmetric."""
        corners = base = self.base.kinks()
        assert isinstance(self.base, EpsilonDelta) and base is not None and corners is not None
        if not self.base.delta:
            return discrete_laplace_kinks(self.base.epsilon, self.size)
        inner: Tradeoff = self.base
        for size in range(2, self.size + 1):
            whole = Group(self.base, size)
            # In the usual convention: g(1 - alpha) = v has alpha = beta_g(v), and bends of f are at x = 1 - alpha.
            met = [inner.ball(1 - alpha, alpha) for alpha, _ in base]
            alphas = sorted_balls([*(alpha for alpha, _ in corners), *met])
            corners = tuple((alpha, whole.ball(alpha, 1 - alpha)) for alpha in alphas)
            inner = whole
        return corners

    def delta_ball(self, slope: arb) -> arb:
        return largest_gap(self.kinks(), slope)

    piecewise = True

    def largest_loss(self) -> Fraction | None:
        most = self.base.largest_loss()
        return None if most is None else most * self.size

    def loss_unit(self) -> Fraction | None:
        return self.base.loss_unit()

    @property
    def trivial(self) -> bool:
        return self.base.trivial

    def group(self, size: int) -> Tradeoff:
        return self.base.group(self.size * count(size, "size"))

    def sentence(self) -> str:
        return f"{self.size} times composed {self.base.sentence()}"


# The tradeoff function of Laplace noise, which promises more than its epsilon alone, and that of discrete Laplace noise.
#
# Derivation: docs/theory/tradeoff.md, section 9.


@dataclass(frozen=True)
class LaplaceTradeoff(Tradeoff):
    """Laplace noise against the same moved by `epsilon` scales (Dong, Roth and Su 2022, section 2):
    `1 - e^epsilon alpha` up to `alpha = e^-epsilon / 2`, then `e^-epsilon / (4 alpha)`, from 1/2 on `e^-epsilon (1 - alpha)`.

    At least `EpsilonDelta(epsilon)` everywhere: a Laplace mechanism keeps more than the pure promise made of it.

    >>> round(LaplaceTradeoff(1).delta_at("1/2"), 4), round(EpsilonDelta(1).delta_at("1/2"), 4)
    (0.2212, 0.2876)
    """

    kind = "laplace"
    schema = of_kind("tradeoff", kind, {"epsilon": RATIONAL}, "Of Laplace noise, moved by `epsilon` scales.")

    epsilon: Fraction = field(metadata=checked(rational_from, 0))

    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        epsilon = min(float(self.epsilon), 700.0)
        ratio = np.exp(-epsilon)
        between = ratio / (4 * np.maximum(alpha, ratio / 2))
        lower = np.where(alpha < ratio / 2, 1.0 - np.exp(epsilon) * alpha, between)
        return np.asarray(np.where(alpha > 0.5, ratio * complement, lower))

    def power(self, alpha: ArrayLike) -> Floats:
        given = np.asarray(alpha, dtype=np.float64)
        epsilon = min(float(self.epsilon), 700.0)
        ratio = np.exp(-epsilon)
        between = 1.0 - ratio / (4 * np.maximum(given, ratio / 2))
        lower = np.where(given < ratio / 2, np.exp(epsilon) * given, between)
        return np.asarray(np.where(given > 0.5, 1.0 - ratio * (1.0 - given), lower))

    def ball(self, alpha: arb, complement: arb) -> arb:
        low = exp_ball(-self.epsilon) / 2
        left, right = 1 - alpha / (2 * low), 2 * low * complement
        if alpha < low:
            return left
        if alpha > 0.5:
            return right
        between = low / (2 * alpha)
        if alpha >= low and alpha <= 0.5:
            return between
        near: arb = left.union(between) if alpha < 0.5 else between.union(right)
        return near if alpha < 0.5 or alpha > low else near.union(left)

    def fixed_point(self) -> arb:
        c: arb = exp_ball(-self.epsilon / 2) / 2
        return c

    def delta_ball(self, slope: arb) -> arb:
        """`1 - sqrt(slope e^-epsilon)`, at least `1 - slope` and 0."""
        gap: arb = (1 - (slope * exp_ball(-self.epsilon)).sqrt()).max(1 - slope)
        return gap.nonnegative_part()

    def ends(self) -> tuple[arb, arb]:
        """The masses of the null where the loss is -epsilon and where it is epsilon: what lies beyond the other centre."""
        half = exp_ball(Fraction(0)) / 2
        return half, half * exp_ball(-self.epsilon)

    def largest_loss(self) -> Fraction:
        return self.epsilon

    def loss_unit(self) -> Fraction:
        return self.epsilon

    @property
    def trivial(self) -> bool:
        return self.epsilon == 0

    def group(self, size: int) -> LaplaceTradeoff:
        """Exactly that of `size` times the distance: noise of log-concave density composes so."""
        return LaplaceTradeoff(self.epsilon * count(size, "size"))

    def sentence(self) -> str:
        return f"the tradeoff function of Laplace noise with epsilon = {float(self.epsilon)!r}"


def discrete_laplace(epsilon: object, steps: int) -> Tradeoff:
    """Compare discrete Laplace noise with the same moved by `steps` of its grid, epsilon in all. It is between
    `EpsilonDelta(epsilon)` (one step) and `LaplaceTradeoff(epsilon)` (more and more steps), and exact up to 4096 of them.

    Beyond, steps are taken together: their largest divisor up to 4096 gives a function that is below the exact one.

    Parameters
    ----------
    epsilon : of the whole move, above 0.
    steps : of the grid, at least 1.

    >>> discrete_laplace(1, 1) == EpsilonDelta(1), round(discrete_laplace(1, 64).delta_at("1/2"), 4)
    (True, 0.2212)
    """
    whole, moved = rational_from(epsilon, "epsilon", 0), count(steps, "steps")
    parts = next(k for k in range(min(moved, LARGEST_PURE_GROUP), 0, -1) if moved % k == 0)
    return EpsilonDelta(whole / parts).group(parts)
