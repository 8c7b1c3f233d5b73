"""Independent exact discrete Gaussians on the integers, one rational variance per coordinate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, distinct, for_each
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.limits import LARGEST_CENTRED_VARIANCE, LARGEST_GAUSSIAN_VARIANCE
from designer.sampling.integer_laplace import lone_exponential
from designer.sampling.integer_samplers import (
    CIRCLE_ERROR,
    COIN_BITS,
    EXP_ERROR,
    PLACE_BITS,
    GaussianPlan,
    LazyUniform,
    accepted,
    block_bits,
    gaussian_in_floats,
    log_eta,
    nearest,
    normal_pair,
)

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy


FEW = 48  # numbers that are drawn without arrays, whose 50 passes cost as much
TRIES = 4  # of each of them with words that are read at once; of those that are kept, the others are dropped unseen
BATCH = 2**14
ORDINARY = 2**26  # numerators and denominators whose laws are tabled together: sigma < 2^13, 1 + eta of at most 2^26 parts
# Variances below which mean absolute values are summed, and those of which nothing but 0 is left.
SUMMED, NARROWEST = 1e4, 1e-4
WIDE = 2  # deviations beyond which sums over all integers are the integrals
# A coordinate as `gaussian_in_floats` sees it: the numbers of its plan.
COLUMNS = [
    *((name, np.float64) for name in ("spread", "precision", "bound")),
    *((name, np.int64) for name in ("shift", "half")),
    ("mask", np.uint64),
]


@dataclass(frozen=True)
class DiscreteGaussian:
    """K independent integers, `P(Z_k = z)` proportional to `exp(-z^2 / (2 variance_k))`.

    Every number is what `GaussianPlan` (`integer_samplers.py`, where the proof is) makes of its words: a rounded normal number
    that is kept with a chance which makes the law exact. Floats say so where they leave no doubt.

    `variances` are positive rationals up to 2^110 (ValueError above: 64-bit integers would overflow).

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = DiscreteGaussian([Fraction(1, 3), Fraction(2**80)])
    >>> noise.draw(5, SeededEntropy(1)).shape
    (5, 2)
    """

    variances: Sequence[Fraction]
    _columns: NDArray[np.void] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        variances = tuple(for_each(Fraction, self.variances))
        if not variances:
            raise InvalidProblem("variances: empty; give one per coordinate.")
        for variance in distinct(variances):
            if not 0 < variance.numerator <= LARGEST_GAUSSIAN_VARIANCE * variance.denominator:
                k = variances.index(variance)
                raise InvalidProblem(f"variances[{k}]: {variance} is not in (0, 2^110]; use a coarser grid.", value=variance)
        columns = _columns_of(variances)
        columns.setflags(write=False)
        assign(self, variances=variances, _columns=columns)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent vectors, shape (size, K)."""
        noise = np.empty(size * len(self.variances), dtype=np.int64)
        if noise.size <= FEW:
            noise[:] = self._few(noise.size, entropy)
            return noise.reshape(size, len(self.variances))
        for start in range(0, noise.size, BATCH):
            waiting = np.arange(start, min(start + BATCH, noise.size))
            while waiting.size:
                values, kept = self._propose(waiting % len(self.variances), entropy)
                noise[waiting[kept]] = values[kept]
                waiting = waiting[~kept]
        return noise.reshape(size, len(self.variances))

    def variance(self) -> Floats:
        """The variances of these discrete laws, shape (K,); equal to `variances` in all digits where those are above 4."""
        wide = for_each(_wide_variance, self.variances)
        narrow = [variance for variance, known in zip(self.variances, wide, strict=True) if known is None]
        moments = {
            variance: _narrow_variance(variance) for variance in dict.fromkeys(narrow)
        }  # many coordinates may share one law
        rest = iter(narrow)
        return np.array([moments[next(rest)] if known is None else known for known in wide])

    def mean_absolute(self) -> Floats:
        """The mean absolute values of these laws, shape (K,), to a few units of roundoff.

        With s the parameter and `Z = sum exp(-z^2 / (2 s))` it is `2 sum over z > 0 of z exp(-z^2 / (2 s)) / Z`; where s is
        large, by Euler and Maclaurin, `2 (s - 1/12 - 1/(240 s)) / (2 pi s)^(1/2)`.
        """
        parameters: Floats = np.array(for_each(float, self.variances))
        large = np.maximum(parameters, SUMMED)
        found: Floats = 2 * (large - 1 / 12 - 1 / (240 * large)) / np.sqrt(2 * np.pi * large)
        for s in np.unique(parameters[parameters < SUMMED]).tolist():
            z = np.arange(1.0, 12 + 10 * math.sqrt(s))
            mass = np.exp(-(z**2) / (2 * max(s, NARROWEST)))
            found[parameters == s] = 2 * (z * mass).sum() / (1 + 2 * mass.sum())
        return found

    def _few(self, count: int, entropy: Entropy) -> list[int]:
        """So many numbers, row by row, without arrays: each is the first kept try of its coordinate, from the first normal of a
        pair of its own, by the comparisons of `gaussian_in_floats`."""
        laws, found = self._columns.tolist(), [0] * count
        waiting = list(range(count))
        while waiting:
            words, refused = entropy.random_words(3 * TRIES * len(waiting)).tolist(), list[int]()
            for first, place in enumerate(waiting):
                k = place % len(laws)
                for start in range(3 * TRIES * first, 3 * TRIES * (first + 1), 3):
                    radius, angle, last = words[start : start + 3]
                    tried = _beyond_doubt(radius, angle, last, *laws[k])
                    if tried is None:
                        polar = LazyUniform(radius, 64, entropy), LazyUniform(angle, 64, entropy)
                        tried = GaussianPlan.of(self.variances[k]).decide(polar, 0, last, entropy)
                    found[place], kept = tried
                    if kept:
                        break
                else:
                    refused.append(place)
            waiting = refused
        return found

    def _propose(self, k: NDArray[np.intp], entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        pairs = (k.size + 1) // 2
        words = entropy.random_words(2 * pairs + k.size)
        radius, angle, last = words[:pairs], words[pairs : 2 * pairs], words[2 * pairs :]
        cosine, sine, error = normal_pair(radius, angle)
        normal, error = np.concatenate([cosine, sine])[: k.size], np.concatenate([error, error])[: k.size]
        law = self._columns[k] if len(self._columns) > 1 else self._columns
        z, kept, open_ = gaussian_in_floats(normal, error, last, law)
        shared: dict[int, tuple[LazyUniform, LazyUniform]] = {}  # cosine and sine of a pair must see the same further bits
        for i in np.flatnonzero(open_):
            pair = int(i) % pairs
            polar = shared.setdefault(pair, (LazyUniform(radius[pair], 64, entropy), LazyUniform(angle[pair], 64, entropy)))
            z[i], kept[i] = GaussianPlan.of(self.variances[k[i]]).decide(polar, int(i >= pairs), int(last[i]), entropy)
        return z, kept


def _beyond_doubt(
    radius: int, angle: int, last: int, spread: float, precision: float, bound: float, shift: int, half: int, mask: int
) -> tuple[int, bool] | None:
    """z and whether it is kept, what `gaussian_in_floats` says of the first normal of a pair of words, without arrays; None
    where floats leave either open. Of the law the numbers of COLUMNS."""
    value, off = lone_exponential(radius)
    length = math.sqrt(2.0 * value)
    if not length or off == math.inf:
        return None
    normal = length * math.cos(angle * (2.0 * math.pi * 2.0**-64))
    error = 2.0 * off / length + CIRCLE_ERROR * length
    place = normal * spread + 0.5
    block = math.floor(place)
    fraction, unsure = place - block, error * spread + (abs(place) + 1.0) * 2.0**-50
    if not unsure < fraction < 1.0 - unsure:
        return None
    z = (block << shift) + (last & mask) - half
    energy = float(z) * float(z) * precision
    exponent = energy + bound - 0.5 * (normal * normal)
    off = error * (abs(normal) + error) + energy * 2.0**-50 + EXP_ERROR
    if not off < 1.0:
        return None
    coin, chance = last >> PLACE_BITS, math.exp(-max(exponent, 0.0))
    if (coin + 1) * 2.0**-COIN_BITS < chance * (1.0 - 2.0 * off):
        return z, True
    return (z, False) if coin * 2.0**-COIN_BITS > chance * (1.0 + 2.0 * off) else None


def _columns_of(variances: Sequence[Fraction]) -> NDArray[np.void]:
    """The numbers of every law, (K,) of COLUMNS: of many at once where they are of ordinary size."""
    if len(variances) > 1 and len(distinct(variances)) == 1:
        return np.repeat(_columns_of(variances[:1]), len(variances))
    ordinary = [variance.numerator < ORDINARY and variance.denominator < ORDINARY for variance in variances]
    columns = np.empty(len(variances), dtype=COLUMNS)
    for k in np.flatnonzero(~np.array(ordinary)).tolist():
        columns[k] = plan_floats(variances[k])
    places = np.flatnonzero(ordinary)
    columns[places] = _ordinary_floats([variances[k] for k in places.tolist()])
    return columns


def _ordinary_floats(variances: Sequence[Fraction]) -> NDArray[np.void]:
    """`plan_floats` of variances p / q with p and q below ORDINARY, to the last bit: blocks are single integers, and every
    quotient is one of two integers below 2^53, so that a division of floats rounds it correctly."""
    p = np.array([variance.numerator for variance in variances], dtype=np.float64)
    q = np.array([variance.denominator for variance in variances], dtype=np.float64)
    logs = np.array([log_eta(variance, 0) for variance in variances], dtype=np.int64)
    low, high = np.exp2(np.maximum(-logs, 0)), np.exp2(np.maximum(logs, 0))
    columns = np.zeros(len(variances), dtype=COLUMNS)
    columns["spread"] = np.sqrt(p * (low + high) / (q * low))
    columns["precision"] = q / (2 * p)
    columns["bound"] = np.ldexp(q / p, -3 - logs)
    return columns


def plan_floats(variance: Fraction) -> tuple[float | int, ...]:
    """A row of COLUMNS, each number of `GaussianPlan.of(variance)` correctly rounded, in integers: 150,000 laws of their own
    in a second. A precision above 2^900 makes every z != 0 doubtful, whatever is put in its place."""
    p, q = variance.numerator, variance.denominator
    shift = block_bits(variance)
    eta = log_eta(variance, shift)
    precision = q / (2 * p) if q.bit_length() - p.bit_length() < 900 else float(min(1 / (2 * variance), Fraction(2**900)))
    low, high = 1 << max(-eta, 0), 1 << max(eta, 0)
    spread = math.sqrt(p * (low + high) / (q * low << 2 * shift))
    power = 2 * (shift if shift else -1) - 1 - eta  # the bound is 2^power / v
    bound = (q << power) / p if power >= 0 else q / (p << -power)
    return spread, precision, bound, shift, (1 << shift) // 2, (1 << shift) - 1


def _energy(variance: Fraction, z: int) -> float:
    """`z^2 / (2 variance)`, as a float."""
    return float(min(z * z / (2 * variance), Fraction(2**900)))


def _wide_variance(variance: Fraction) -> float | None:
    """That of a law beyond WIDE deviations, which is its parameter in all digits; None for all others.

    By Poisson summation the ratios of its sums to the integrals are within 40 sigma^2 exp(-2 pi^2 sigma^2) < 2^-105 of 1.
    """
    sigma = math.sqrt(variance.numerator / variance.denominator)
    return None if sigma <= WIDE else sigma**2


def _narrow_variance(variance: Fraction) -> float:
    """That of all others, summed."""
    reach = math.ceil(13 * math.sqrt(variance)) + 2
    weights = {z: math.exp(-_energy(variance, z)) for z in range(-reach, reach + 1)}
    return math.fsum(z * z * w for z, w in weights.items()) / math.fsum(weights.values())


# Exact discrete Gaussians of one variance around many centres, each known as a float with an error and, when asked, exactly.


LEAST_VARIANCE = Fraction(
    1, 2**40
)  # below it the slack of the float bound rejects nearly every proposal, and noise is 0 but for exp(-2^39)


@dataclass(frozen=True)
class CentredGaussian:
    """Integers with `P(z)` proportional to `exp(-(z - c)^2 / (2 variance))`, c another number in every draw.

    The method is that of `DiscreteGaussian` (docs/theory/sampling.md, section 2) without blocks; the constant of the rejection
    step is a float function of the float centre, which is as good as any other that is large enough.
    """

    variance: Fraction
    inflation: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not LEAST_VARIANCE <= self.variance <= LARGEST_CENTRED_VARIANCE:
            raise InvalidProblem(
                f"variance: {float(self.variance)!r} of a coefficient is not in [2^-40, 2^80]; rescale.", value=self.variance
            )
        assign(self, inflation=1 + Fraction(2) ** log_eta(self.variance, 0))

    def draw(self, centres: Floats, errors: Floats, exact: Callable[[int], Fraction], entropy: Entropy) -> Floats:
        """One integer per centre, as floats; `exact(i)` is the i-th centre, within `errors[i]` of `centres[i]`.

        centres, errors: (n,). Returns (n,). docs/theory/lattice.md, section 5.
        """
        base = np.rint(centres)
        offsets, errors = centres - base, errors + np.abs(centres) * 2.0**-52
        bounds = self._bounds(offsets, errors)
        drawn, waiting = np.empty_like(centres), np.arange(len(centres))
        while waiting.size:

            def offset(i: int, rows: NDArray[np.intp] = waiting) -> Fraction:
                return exact(int(rows[i])) - int(base[rows[i]])

            values, kept = self._propose(offsets[waiting], errors[waiting], bounds[waiting], offset, entropy)
            drawn[waiting[kept]] = values[kept] + base[waiting[kept]]
            waiting = waiting[~kept]
        return drawn

    def _bounds(self, offsets: Floats, errors: Floats) -> Floats:
        """M of `GaussianPlan` for each centre: the chance of the coin is at most 1."""
        wide, precision = float(self.inflation), float(min(1 / (2 * self.variance), Fraction(2**900)))
        size = np.abs(offsets) + errors
        top = np.maximum(0.5 / (wide - 1.0), size)
        # (top + 1/2)^2 / wide - top^2 without the difference of large squares.
        excess = (top + 0.25 - top**2 * (wide - 1.0)) / wide
        return (excess + size**2 + (excess + 1.0) * 2.0**-40) * precision

    def _propose(
        self, offsets: Floats, errors: Floats, bounds: Floats, exact: Callable[[int], Fraction], entropy: Entropy
    ) -> tuple[Floats, NDArray[np.bool_]]:
        rows, pairs = len(offsets), (len(offsets) + 1) // 2
        radius, angle, last = np.split(entropy.random_words(2 * pairs + rows), [pairs, 2 * pairs])
        cosine, sine, off = normal_pair(radius, angle)
        normal, off = np.concatenate([cosine, sine])[:rows], np.concatenate([off, off])[:rows]
        spread = float(self.variance * self.inflation) ** 0.5
        z, doubtful = nearest(normal * spread + offsets + 0.5, off * spread + errors)
        kept, open_ = accepted(
            last >> np.uint64(PLACE_BITS), COIN_BITS, *self._exponent(z, offsets, errors, normal, off, bounds)
        )
        values, shared = z.astype(np.float64), dict[int, tuple[LazyUniform, LazyUniform]]()
        for i in np.flatnonzero(doubtful | open_):
            pair = int(i) % pairs  # cosine and sine of a pair must see the same further bits
            polar = shared.setdefault(
                pair, (LazyUniform(int(radius[pair]), 64, entropy), LazyUniform(int(angle[pair]), 64, entropy))
            )
            plan = GaussianPlan(self.variance, exact(int(i)), 0, self.inflation, Fraction(float(bounds[i])))
            values[i], kept[i] = plan.decide(polar, int(i >= pairs), int(last[i]), entropy)
        return values, kept

    def _exponent(
        self, z: NDArray[np.int64], offsets: Floats, errors: Floats, normal: Floats, off: Floats, bounds: Floats
    ) -> tuple[Floats, Floats]:
        """`((z - c)^2 - c^2) / (2 v) + bound - normal^2 / 2` and its error."""
        floats, precision = z.astype(np.float64), float(min(1 / (2 * self.variance), Fraction(2**900)))
        with np.errstate(over="ignore", invalid="ignore"):
            energy = floats * (floats - 2.0 * offsets) * precision
            error = off * (np.abs(normal) + off) + np.abs(floats) * precision * (2.0 * errors + 2.0**-50)
            return energy + bounds - 0.5 * normal**2, error + (np.abs(energy) + bounds) * 2.0**-50
