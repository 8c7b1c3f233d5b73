"""Exact heavy-tailed noise on the integers: the discrete Student law, with rational weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Immutable
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.limits import LARGEST_NORMAL_DEVIATION, LARGEST_STAIR, LARGEST_STAIR_UNIT, LARGEST_TAIL_POWER, LARGEST_TAIL_SCALE
from designer.sampling import integer_samplers
from designer.sampling.finite_law import FiniteLaw
from designer.sampling.integer_samplers import LazyUniform, resolve
from designer.sampling.peaked_sampler import uniform_below
from designer.sampling.round_and_reject import nearest_balls
from solvers.exact.balls import exp_ball, rational_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
KEEP_BITS = 63  # of the word that accepts; the last bit is the sign
BATCH = 2**14
WIDE = 6  # from here on sums over the integers are the integrals, within exp(-2 pi WIDE) < 2^-54


@dataclass(frozen=True)
class DiscreteStudent:
    """Independent integers, `P(Z = k)` proportional to `(scale^2 + k^2)^-power`: a Student
    law with `2 power - 1` degrees of freedom.

    A magnitude K with `P(K >= k) = scale / (scale + k)` is the floor of `scale (1 / U - 1)`, U uniform; it is accepted with
    probability proportional to the rational `(scale^2 + K^2)^-power / P(K)`, whose largest value over the integers is found
    exactly. Floats only sort out what is beyond doubt. Acceptance is 0.54 for power 2, 0.45 for 3, 0.2 for 16.
    Derivation: docs/theory/records.md, 6.

    `scale` is a rational from 2^-20 to 2^32, `power` an integer from 2 to 64, so that the variance is finite.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = DiscreteStudent(Fraction(1000), 2)
    >>> noise.draw(3, SeededEntropy(1)).shape, noise.variance()
    ((3,), 1000000.0)
    """

    scale: Fraction
    power: int
    mode: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not Fraction(1, 2**20) <= self.scale <= LARGEST_TAIL_SCALE:
            raise InvalidProblem(f"scale: {float(self.scale)!r} is not from 2^-20 to 2^32; use another grid.", value=self.scale)
        if isinstance(self.power, bool) or not isinstance(self.power, int) or not 2 <= self.power <= LARGEST_TAIL_POWER:
            raise InvalidProblem(
                f"power: {self.power!r} is not a whole number from 2 to {LARGEST_TAIL_POWER}.", value=self.power
            )
        assign(self, scale=Fraction(self.scale))
        assign(self, mode=self._mode())

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """`size` independent integers. OverflowError with probability below 2^-90 each, whatever the data are."""
        noise = np.empty(size, dtype=np.int64)
        for start in range(0, size, BATCH):
            waiting = np.arange(start, min(start + BATCH, size))
            while waiting.size:
                values, kept = self._propose(waiting.size, entropy)
                noise[waiting[kept]] = values[kept]
                waiting = waiting[~kept]
        return noise

    def variance(self) -> float:
        """`E Z^2`, as a float: `scale^2 / (2 power - 3)` but for narrow laws."""
        if self.scale >= WIDE:
            return float(self.scale**2 / (2 * self.power - 3))
        # k^2 (s^2 + k^2)^-m = (s^2 + k^2)^(1 - m) - s^2 (s^2 + k^2)^-m.
        return float(self.scale) ** 2 * (self._mass(self.power - 1) / self._mass(self.power) - 1)

    def _mass(self, power: int) -> float:
        """`sum_k (1 + k^2 / s^2)^-power / s`: its integral up to `exp(-2 pi s)` by Poisson summation,
        a sum and an integral for narrow laws."""
        s = float(self.scale)
        if self.scale >= WIDE:
            return math.sqrt(math.pi) * math.exp(math.lgamma(power - 0.5) - math.lgamma(power))
        if power == 1:
            return math.pi / math.tanh(math.pi * s)  # also what the sum of a narrow law would come to, but slowly
        k = np.arange(1, 2**14)
        tail = (2**14 - 0.5) ** (1 - 2 * power) * s ** (2 * power) / (2 * power - 1)
        return (1 + 2 * (float(((1 + (k / s) ** 2) ** -float(power)).sum()) + tail)) / s

    def _mode(self) -> int:
        """The magnitude with the largest weight over proposal.

        Their logarithmic derivative times `s^2 + k^2` is a convex function less `2 power k`, positive at 0, with a negative
        slope in the end: it changes sign once, so the ratio rises and then falls,
        and bisection finds its top among the integers.
        """
        low, high = 0, math.ceil(self.scale) + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._ratio(middle + 1) > self._ratio(middle) else (low, middle)
        return low

    def _ratio(self, k: int) -> Fraction:
        """`(s + k) (s + k + 1) (s^2 + k^2)^-power`, the weight over the proposal's probability up to a factor."""
        s = self.scale
        return (s + k) * (s + k + 1) / (s * s + k * k) ** self.power

    def _propose(self, size: int, entropy: Entropy) -> tuple[Integers, NDArray[np.bool_]]:
        words = entropy.random_words(2 * size)
        place, last = words[:size], words[size:]
        k, doubtful = self._magnitudes(place)
        chance, error = self._chance(k)
        keep = (last >> np.uint64(1)).astype(np.float64) * 2.0**-KEEP_BITS
        kept = keep < chance
        doubtful |= np.abs(keep - chance) <= error
        values = k.astype(np.int64)
        for i in np.flatnonzero(doubtful).tolist():
            values[i], kept[i] = self._decide(int(place[i]), int(last[i]), entropy)
        negative = (last & np.uint64(1)).astype(bool)
        return np.where(negative, -values, values), kept & ~(negative & (values == 0))

    def _magnitudes(self, words: NDArray[np.uint64]) -> tuple[Floats, NDArray[np.bool_]]:
        """`floor(s (1 / U - 1))`, and where the bits known of U, or the float, leave it open."""
        s = float(self.scale)
        u = (words.astype(np.float64) + 0.5) * 2.0**-64
        y = s / u - s
        # The word rounds U by 2^-53, its half unit leaves 2^-65; s and the quotient are rounded.
        error = s / u * (2.0**-50 + 2.0**-63 / u)
        doubtful = (np.floor(y - error) != np.floor(y + error)) | (y + error > 2.0**50) | (u < 2.0**-40)
        return np.where(doubtful, 0.0, np.floor(y)), doubtful

    def _chance(self, k: Floats) -> tuple[Floats, Floats]:
        """The probability of acceptance, and a bound of its error: 2^-53 for each of about `2 power + 10` operations, twice."""
        s, top = float(self.scale), float(self.mode)
        x, x_top = k / s, top / s
        ratio = ((1 + x_top**2) / (1 + x**2)) ** self.power
        chance = (1 + x) * (1 + x + 1 / s) / ((1 + x_top) * (1 + x_top + 1 / s)) * ratio
        return chance, (chance + 2.0**-50) * (8 * self.power + 40) * 2.0**-53

    def _decide(self, place: int, last: int, entropy: Entropy) -> tuple[int, bool]:
        """The magnitude and its acceptance, in ball arithmetic, with as many further bits as it takes."""
        uniform = LazyUniform(place, 64, entropy)

        def magnitude() -> int | None:
            floor = (rational_ball(self.scale) * (1 / uniform.ball() - 1)).floor().unique_fmpz()
            return None if floor is None else int(floor)

        k = resolve([uniform], magnitude)
        chance = self._ratio(k) / self._ratio(self.mode)
        # A chance of 1 is not a comparison: no number of bits tells a uniform number from 1.
        kept = chance == 1 or LazyUniform(last >> 1, KEEP_BITS, entropy).below(lambda: rational_ball(chance))
        if kept and k >= 2**63:
            raise OverflowError(
                "a noise term left the 64-bit integers (probability below 2^-90, whatever the data): draw again."
            )
        return (k if kept else 0), kept


# The staircase law of Geng and Viswanath on the integers: exact draws and closed moments.
#
# `P(z)` is proportional to `exp(-unit k(z))`, k = 0 for |z| <= top and `ceil((|z| - top) / width)` elsewhere: see
# docs/theory/staircase.md, section 6.


LEAST_UNIT = Fraction(1, 2**16)
TABLED = 64  # levels that one word chooses among; what lies beyond is drawn again from its start


@dataclass(frozen=True)
class DiscreteStairs(Immutable):
    """See the module. unit: rational, from 2^-16 to 2^10. width: positive; top: from 0; up to 2^50."""

    unit: Fraction
    width: int
    top: int

    def __post_init__(self) -> None:
        if not LEAST_UNIT <= self.unit <= LARGEST_STAIR_UNIT:
            raise InvalidProblem(f"noise.unit: {float(self.unit)} is not from 2^-16 to 2^10; choose other budgets.")
        if not (1 <= self.width <= LARGEST_STAIR and 0 <= self.top <= LARGEST_STAIR):
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


# Normal noise rounded to the integers, exactly: what a Gaussian mechanism releases when its answers are rounded to a grid.
#
# Nothing is rejected. A draw is a function of uniform words; floats with an error bound tell most of its roundings, and
# further bits in ball arithmetic the rest. Derivation: docs/theory/sampling.md, section 5.


LEAST_DEVIATION = Fraction(1, 2**500)
NORMAL_BATCH = 2**16
WIDE_NORMAL, WIDER_NORMAL = 2.0, 100.0  # deviations in steps beyond which a moment is known by its expansion to 2^-52 and 2^-36
STEPS = 40  # deviations beyond which a normal variable has no probability in floats


@dataclass(frozen=True)
class RoundedNormal:
    """Independent `floor(s_i N_i + 1/2)`, N_i standard normal: rational deviations s_i in steps.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> RoundedNormal([Fraction(1, 3), Fraction(2**40)]).draw(3, SeededEntropy(1)).shape
    (3, 2)
    """

    deviations: Sequence[Fraction]
    _floats: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        exact = tuple(Fraction(deviation) for deviation in self.deviations)
        if not exact or not all(LEAST_DEVIATION <= deviation <= LARGEST_NORMAL_DEVIATION for deviation in exact):
            raise InvalidProblem("deviations: one is beyond 2^55 steps, or nearer to 0 than 2^-500; use another grid.")
        assign(self, deviations=exact, _floats=np.array([float(deviation) for deviation in exact]))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` draws, (size, s)."""
        s = len(self.deviations)
        rows = max(1, NORMAL_BATCH // s)
        parts = [self._batch(min(rows, size - start), entropy) for start in range(0, size, rows)]
        return np.concatenate(parts) if parts else np.zeros((0, s), dtype=np.int64)

    def _batch(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        words = entropy.random_words(2 * size * len(self.deviations)).reshape(2, size, -1)
        normal, _, error = integer_samplers.normal_pair(words[0], words[1])
        place = normal * self._floats
        rounded, unsettled = integer_samplers.nearest(
            place + 0.5, (error + np.abs(normal) * 2.0**-50) * self._floats + 2.0**-52
        )
        for row, k in np.argwhere(unsettled).tolist():
            uniforms = [LazyUniform(int(word), 64, entropy) for word in words[:, row, k]]
            rounded[row, k] = _resolved(uniforms, self.deviations[k])
        return rounded

    def variance(self) -> Floats:
        """Of each coordinate, in squared steps: `s^2 + 1/12` and less than 2^-52 of it, or the sum over all integers."""
        return rounded_variances(self._floats)

    def mean_absolute(self) -> Floats:
        """E|z| of each coordinate, in steps, to 2^-36."""
        return rounded_absolutes(self._floats)


def _resolved(uniforms: list[LazyUniform], deviation: Fraction) -> int:
    """The rounding of the normal number that two uniforms stand for, with as many of their bits as it takes."""

    def rounding() -> int | None:
        place = integer_samplers.normal_pair_balls(*uniforms)[0] * rational_ball(deviation) + rational_ball(Fraction(1, 2))
        floor = place.floor().unique_fmpz()
        return None if floor is None else int(floor)

    return resolve(uniforms, rounding)


def rounded_variances(deviations: Floats) -> Floats:
    """Variances of normal variables with these deviations, rounded to whole numbers: (s,) in steps, (s,) in squared steps."""
    return np.array([_variance(float(s)) for s in deviations])


def rounded_absolutes(deviations: Floats) -> Floats:
    """Their expected absolute values, (s,), to 2^-36."""
    return np.array([_mean_absolute(float(s)) for s in deviations])


def _tails(s: float) -> tuple[Floats, Floats]:
    """`P(z >= m)` for m = 1, 2, ... up to `STEPS` deviations, and those m."""
    from scipy.special import ndtr

    m = np.arange(1, max(2, math.ceil(STEPS * s) + 2), dtype=np.float64)
    return np.asarray(ndtr((0.5 - m) / s)), m


def _variance(s: float) -> float:
    """`E z^2 = 2 sum_m (2 m - 1) P(z >= m)`; from `WIDE` on the Fourier series of the rounding leaves `s^2 + 1/12`."""
    if s >= WIDE_NORMAL:
        return s * s + 1 / 12
    tails, m = _tails(s)
    return float(2 * (tails * (2 * m - 1)).sum())


def _mean_absolute(s: float) -> float:
    """`E|z| = 2 sum_m P(z >= m)`; from `WIDER` on `root(2 / pi) (s - 1 / (24 s))` (Euler and Maclaurin)."""
    if s >= WIDER_NORMAL:
        return math.sqrt(2 / math.pi) * (s - 1 / (24 * s))
    return float(2 * _tails(s)[0].sum())


class NormalShape(Protocol):
    """A multivariate normal law as a function of `word_count` uniforms, see `EllipsoidGrid` with a Gaussian fall-off."""

    @property
    def dimension(self) -> int: ...
    @property
    def word_count(self) -> int: ...
    @property
    def spread(self) -> Floats: ...
    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]: ...
    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb] | None: ...


@dataclass(frozen=True)
class RoundedVector:
    """`floor(y + 1/2)`, coordinate by coordinate, of a multivariate normal y."""

    shape: NormalShape

    def __post_init__(self) -> None:
        widths = self.shape.spread
        if not WIDE_NORMAL <= float(widths.min()) <= float(widths.max()) <= LARGEST_NORMAL_DEVIATION:
            raise InvalidProblem(
                f"shape: deviations from {widths.min():.3g} to {widths.max():.3g} steps; use a grid on which they are "
                f"{WIDE_NORMAL:g} to 2^55, or independent noise."
            )

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` draws, (size, s)."""
        rows = max(1, NORMAL_BATCH // self.shape.word_count)
        parts = [self._batch(min(rows, size - start), entropy) for start in range(0, size, rows)]
        return np.concatenate(parts) if parts else np.zeros((0, self.shape.dimension), dtype=np.int64)

    def _batch(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        words = entropy.random_words(size * self.shape.word_count).reshape(size, -1)
        place, norm, error = self.shape.propose(words)
        wide = (error + norm * 2.0**-50)[:, None] * self.shape.spread + 2.0**-52
        rounded, unsettled = integer_samplers.nearest(place + 0.5, wide)
        for row in np.flatnonzero(unsettled.any(axis=1)).tolist():
            rounded[row] = self._resolved([LazyUniform(int(word), 64, entropy) for word in words[row]])
        return rounded

    def _resolved(self, uniforms: list[LazyUniform]) -> list[int]:
        def rounding() -> list[int] | None:
            proposed = self.shape.propose_balls(uniforms)
            return None if proposed is None else nearest_balls(proposed[0])

        return resolve(uniforms, rounding)
