"""Canonical noise: for a statistic of sensitivity 1, the symmetric noise that spends a tradeoff function f exactly.

F is canonical for f when the tradeoff of N and N + 1 is f, best tests are thresholds, `T(N, N + m) >= f` for |m| <= 1, and F is
symmetric (Awan and Vadhan 2023; SEMI Definition 35). In the paper's convention then `f(F(x + 1)) = F(x)`.
Derivations: docs/theory/tradeoff.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from designer.base.arrays import Floats, Immutable
from designer.base.checks import assign, count
from designer.base.errors import InvalidProblem
from designer.sampling.integer_samplers import LazyUniform, resolve
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Tradeoff
from solvers.exact.balls import exp_ball, normal_cdf, rational_ball, sharp, working_precision

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

HALF = Fraction(1, 2)
# Farther out than this many units in the last place of the grid no search starts: the draw is settled by bisection either way.
FARTHEST = 2.0**62


class CanonicalNoise(Immutable, ABC):
    """A symmetric continuous law on the line; `tradeoff` is what it spends on a shift by 1."""

    tradeoff: Tradeoff

    @abstractmethod
    def _left(self, x: Floats) -> Floats:
        """F(x) for x <= 0, accurate in the tail."""

    @abstractmethod
    def _left_ball(self, x: Fraction) -> arb:
        """F(x) for a rational x <= 0, as a ball."""

    @abstractmethod
    def _left_quantile(self, v: Floats) -> Floats:
        """The x <= 0 with F(x) = v, for v in (0, 1/2]."""

    def cdf(self, x: ArrayLike) -> Floats:
        """F(x), x of any shape (...,); `cdf(-x)` has the digits of the upper tail."""
        given = np.asarray(x, dtype=np.float64)
        left = self._left(-np.abs(given))
        return np.where(given <= 0, left, 1.0 - left)

    def standard_deviation(self) -> float | None:
        """Of the law, where it has one in closed form."""
        return None

    def ball(self, x: Fraction) -> arb:
        """F(x) for a rational x as a ball, at the working precision."""
        return self._left_ball(x) if x <= 0 else 1 - self._left_ball(-x)

    def row(self, first: Fraction, size: int) -> list[arb]:
        """F(first), F(first + 1), ..., `size` of them, as balls."""
        return [self.ball(first + i) for i in range(size)]

    def quantile(self, v: ArrayLike) -> Floats:
        """The x with F(x) = v, for v in (0, 1), any shape."""
        given = np.asarray(v, dtype=np.float64)
        if not ((given > 0) & (given < 1)).all():
            raise InvalidProblem("v: quantiles are at probabilities strictly between 0 and 1; give such a one.")
        return np.where(given <= 0.5, 1.0, -1.0) * self._left_quantile(np.minimum(given, 1.0 - given))

    def draw(self, size: int, exponent: int, entropy: Entropy) -> NDArray[Any]:
        """`floor(N 2^exponent)` for independent exact N: Python integers, shape (size,).
        The law is that of N, rounded down to the grid.

        The bits of a uniform number are drawn until ball arithmetic proves between which two grid points its quantile lies.
        """
        words = entropy.random_words(count(size, "size"))
        return np.array([self._cell(LazyUniform(int(word), 64, entropy), exponent) for word in words], dtype=object)

    def _cell(self, uniform: LazyUniform, exponent: int) -> int:
        step = Fraction(1, 2**exponent)
        likely = min((uniform.head + 0.5) * 2.0**-64, 1 - 2.0**-53)
        guess = int(np.clip(self.quantile(likely) / float(step), -FARTHEST, FARTHEST))

        def below(cell: int) -> bool | None:
            """Is N below the left end of the cell?"""
            return uniform.is_below(self.ball(cell * step))

        return resolve([uniform], lambda: enclosing_cell(below, guess))


def enclosing_cell(below: Callable[[int], bool | None], guess: int) -> int | None:
    """The cell j with `not below(j)` and `below(j + 1)`: steps that double lead away from the guess, bisection back.
    None if open."""
    side, stride = below(guess), 1
    if side is None:
        return None
    low, high = (None, guess) if side else (guess, None)
    while low is None or high is None:
        probe = high - stride if low is None and high is not None else (low or 0) + stride
        if (side := below(probe)) is None:
            return None
        low, high = (low, probe) if side else (probe, high)
        stride *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if (side := below(middle)) is None:
            return None
        low, high = (low, middle) if side else (middle, high)
    return low


@dataclass(frozen=True)
class PiecewiseNoise(CanonicalNoise):
    """SEMI Lemma 36 (Awan and Vadhan 2023, Theorem 3.9), for any symmetric nontrivial tradeoff function.

    With c = beta(c): F is linear from c to 1 - c on [-1/2, 1/2], and `F(x) = f(F(x + 1))` further left. Its quantile moves
    outside numbers in by `f^-1(v) = 1 - beta(v)`.

    tradeoff: symmetric.

    >>> noise = PiecewiseNoise(Gaussian.of(1))
    >>> bool(abs(noise.cdf(-1.3) - noise.tradeoff.paper_convention(noise.cdf(-0.3))) < 1e-15)
    True
    """

    tradeoff: Tradeoff
    _c: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _refuse_unfit(self.tradeoff)
        assign(self, _c=float(sharp(self.tradeoff.fixed_point)))

    def _left(self, x: Floats) -> Floats:
        steps = np.ceil(-x - 0.5)
        # Beyond 2^20 steps any such F is below every float or has reached its end.
        steps = np.minimum(np.maximum(steps, 0.0), 2.0**20)
        inner = np.maximum(x + steps, -0.5)
        value = self._c * (0.5 - inner) + (1.0 - self._c) * (inner + 0.5)
        remaining = steps
        while ((remaining > 0) & (value > 0)).any():
            value = np.where(remaining > 0, self.tradeoff.paper_convention(value), value)
            remaining = remaining - 1
        return np.asarray(value)

    def _left_ball(self, x: Fraction) -> arb:
        steps = max(0, ceil(-x - HALF))
        inner, c = x + steps, self.tradeoff.fixed_point()
        value = c * rational_ball(HALF - inner) + (1 - c) * rational_ball(HALF + inner)
        for _ in range(steps):
            if value.is_zero():
                break
            value = self.tradeoff.ball(1 - value, value)
        return value

    def row(self, first: Fraction, size: int) -> list[arb]:
        # Each value leads to the next one out: 43 s before, 0.8 s after, for limits of an odds ratio with 200 values of x11.
        left = [first + i for i in range(size) if first + i <= 0]
        right = [-first - i for i in range(len(left), size)]
        return [*self._outwards(left[::-1])[::-1], *(1 - value for value in self._outwards(right))]

    def _outwards(self, places: list[Fraction]) -> list[arb]:
        """F at places that fall by 1, all <= 0."""
        values: list[arb] = []
        for x in places:
            inside = not values or x >= -HALF
            values.append(self._left_ball(x) if inside else self.tradeoff.ball(1 - values[-1], values[-1]))
        return values

    def _left_quantile(self, v: Floats) -> Floats:
        value, steps = np.array(v, dtype=np.float64), np.zeros(np.shape(v))
        while (outside := (value < self._c)).any():
            value = np.where(outside, self.tradeoff.power(value), value)
            steps = steps + outside
        return np.asarray((value - self._c) / (1.0 - 2.0 * self._c) - 0.5 - steps)


def _refuse_unfit(tradeoff: Tradeoff) -> None:
    if tradeoff.trivial:
        raise InvalidProblem("tradeoff: is 1 - alpha, no loss at all, which no noise of finite width gives; allow some loss.")
    if not tradeoff.symmetric:
        raise InvalidProblem("tradeoff: is not symmetric; take its `symmetrised()`, which protects both directions.")


@dataclass(frozen=True)
class GaussianNoise(CanonicalNoise):
    """N(0, 1 / mu^2), canonical for G_mu, and smooth where Lemma 36 gives a piecewise law for the same function."""

    tradeoff: Gaussian

    def __post_init__(self) -> None:
        if not isinstance(self.tradeoff, Gaussian):
            raise InvalidProblem(
                "tradeoff: normal noise is canonical for Gaussian tradeoff functions only; use Lemma 36 for others."
            )
        _refuse_unfit(self.tradeoff)

    def standard_deviation(self) -> float:
        return 1 / self.tradeoff.mu

    def _left(self, x: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(x * self.tradeoff.mu))

    def _left_ball(self, x: Fraction) -> arb:
        return normal_cdf(rational_ball(x) * self.tradeoff.mu_ball())

    def _left_quantile(self, v: Floats) -> Floats:
        from scipy.special import ndtri

        return np.asarray(ndtri(v) / self.tradeoff.mu)


@dataclass(frozen=True)
class Tulap(CanonicalNoise):
    """The truncated uniform-Laplace law, the only canonical noise of f_(epsilon, delta) (Awan and Slavkovic 2018;
    Awan and Dong 2022).

    At delta = 0 discrete Laplace noise of rate epsilon plus a uniform number on (-1/2, 1/2), and drawn so. With delta > 0 that
    law, `F_0`, is cut at both ends: `F = max(0, (F_0 - q/2) / (1 - q))` for x <= 0, `q = 2 delta b / (1 - b + 2 delta b)`,
    b = e^-epsilon.

    tradeoff: an `EpsilonDelta`.

    >>> round(float(Tulap(EpsilonDelta(1)).cdf(-0.5)), 12) == round(1 / (1 + np.e), 12)
    True
    """

    tradeoff: EpsilonDelta

    def __post_init__(self) -> None:
        if not isinstance(self.tradeoff, EpsilonDelta):
            raise InvalidProblem("tradeoff: Tulap noise is canonical for EpsilonDelta only; use Lemma 36 for others.")
        _refuse_unfit(self.tradeoff)
        if self.tradeoff.epsilon == 0:
            raise InvalidProblem("epsilon: is 0, where Tulap has no rate; use PiecewiseNoise.")

    def standard_deviation(self) -> float | None:
        """A discrete Laplace number and a uniform one on (-1/2, 1/2): `2 b / (1 - b)^2 + 1/12`; None where it is cut."""
        if self.tradeoff.delta:
            return None
        epsilon = float(self.tradeoff.epsilon)
        return math.sqrt(2 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2 + 1 / 12)

    def _left(self, x: Floats) -> Floats:
        epsilon, q = float(self.tradeoff.epsilon), self._cut()
        nearest = np.round(x)
        b = np.exp(-epsilon)
        full = np.exp(epsilon * nearest) / (1 + b) * (b + (x - nearest + 0.5) * -np.expm1(-epsilon))
        return np.asarray(np.maximum(0.0, (full - q / 2) / (1 - q)))

    def _left_ball(self, x: Fraction) -> arb:
        nearest = -int(-x + HALF)
        b, delta = exp_ball(-self.tradeoff.epsilon), rational_ball(self.tradeoff.delta)
        full: arb = exp_ball(self.tradeoff.epsilon * nearest) / (1 + b) * (b + rational_ball(x - nearest + HALF) * (1 - b))
        if self.tradeoff.delta == 0:
            return full
        q = 2 * delta * b / (1 - b + 2 * delta * b)
        return ((full - q / 2) / (1 - q)).nonnegative_part()

    def _left_quantile(self, v: Floats) -> Floats:
        epsilon, q = float(self.tradeoff.epsilon), self._cut()
        full, b = v * (1 - q) + q / 2, np.exp(-epsilon)
        # F_0 at the left end of the unit step around -k is b^(k + 1) / (1 + b).
        steps = np.ceil(-np.log(full * (1 + b)) / epsilon) - 1
        steps = np.maximum(steps, 0.0)
        within = (full * (1 + b) * np.exp(epsilon * steps) - b) / -np.expm1(-epsilon)
        return np.asarray(np.clip(within, 0.0, 1.0) - 0.5 - steps)

    def _cut(self) -> float:
        b, delta = float(np.exp(-float(self.tradeoff.epsilon))), float(self.tradeoff.delta)
        return 2 * delta * b / (1 - b + 2 * delta * b)

    def draw(self, size: int, exponent: int, entropy: Entropy) -> NDArray[Any]:
        if self.tradeoff.delta or not 1 <= exponent <= 64:
            return super().draw(size, exponent, entropy)
        from designer.sampling.integer_laplace import DiscreteLaplace

        whole = DiscreteLaplace([self.tradeoff.epsilon]).draw(count(size, "size"), entropy)[:, 0].astype(object)
        part = (entropy.random_words(size) >> np.uint64(64 - exponent)).astype(object)
        return np.asarray(whole * 2**exponent + part - 2 ** (exponent - 1))


def canonical_noise(tradeoff: Tradeoff) -> CanonicalNoise:
    """The canonical noise in closed form where there is one (Tulap, normal), Lemma 36 otherwise.

    >>> type(canonical_noise(Gaussian.of(1))).__name__, type(canonical_noise(EpsilonDelta(1).group(2))).__name__
    ('GaussianNoise', 'PiecewiseNoise')
    """
    if isinstance(tradeoff, Gaussian):
        return GaussianNoise(tradeoff)
    if isinstance(tradeoff, EpsilonDelta) and tradeoff.epsilon > 0:
        return Tulap(tradeoff)
    return PiecewiseNoise(tradeoff)


def is_canonical(noise: CanonicalNoise, points: list[Fraction]) -> bool:
    """Are `F(x) = f(F(x + 1))` and `F(-x) = 1 - F(x)` compatible with balls of 128 bits at every point x <= -1/2?

    Right of -1/2 the first says the same by symmetry, except where F(x + 1) has reached 1 and it says nothing.
    """
    with working_precision(128):
        for x in points:
            if x > -HALF:
                raise InvalidProblem(f"points: {x} lies right of -1/2; give points left of it.")
            here, next_one = noise.ball(x), noise.ball(x + 1)
            moved = noise.tradeoff.ball(1 - next_one, next_one)
            if not (here.is_finite() and next_one.is_finite() and moved.is_finite()):
                return False  # a ball of everything overlaps with everything
            if not (moved.overlaps(here) and (noise.ball(-x) + here).overlaps(rational_ball(Fraction(1)))):
                return False
    return True
