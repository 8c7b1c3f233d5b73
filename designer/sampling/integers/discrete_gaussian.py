"""Independent exact discrete Gaussians on the integers: any rational variance, any rational centre."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.repeated import distinct, for_each
from designer.sampling.continuous import Floats, accepted, nearest, normal_pair, normal_pair_balls
from designer.sampling.lazy_uniform import LazyUniform, resolve
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

# The last word of a coordinate: 35 bits of the place within a block, 29 bits that accept it.
LOW_BITS, KEEP_BITS = 35, 29
BLOCKS_PER_SIGMA = 20  # log2; where sigma >= 2^20, blocks of 2^m integers keep it between 2^20 and 2^21 blocks
LARGEST_VARIANCE = 4 ** (BLOCKS_PER_SIGMA + LOW_BITS)  # sigma = 2^55: beyond 2^63 lies a mass below exp(-2^14)
BATCH = 2**14
TRIES = 64  # proposals at once for a few numbers, each of which takes its first accepted one: a pass costs as much as these
ORDINARY = 2**26  # numerators and denominators whose laws are tabled together: sigma < 2^13, 1 + eta of at most 2^26 parts
# Variances below which mean absolute values are summed, and those of which nothing but 0 is left.
SUMMED, NARROWEST = 1e4, 1e-4
WIDE = 2  # deviations beyond which sums over all integers are the integrals
# A coordinate as the float route sees it: the numbers of its Plan.
COLUMNS = [
    *((name, np.float64) for name in ("spread", "offset", "precision", "twice_centre", "bound")),
    *((name, np.int64) for name in ("shift", "half", "base")),
    ("mask", np.uint64),
]


@dataclass(frozen=True)
class DiscreteGaussian:
    """K independent integers, `P(Z_k = z)` proportional to `exp(-(z - centre_k)^2 / (2 variance_k))`.

    A normal number of slightly larger variance is rounded to a block of 2^m integers (m = 0 unless sigma >= 2^21), the place
    within the block is uniform, and the result is accepted so that the law is exact. Floats only sort out what is beyond doubt.
    Acceptance tends to 1 for wide Gaussians and stays above 0.2 for narrow ones. Derivation: docs/theory/sampling.md, 2.

    `variances` are positive rationals up to 2^110 (ValueError above: 64-bit integers would overflow), `centres` rationals
    within +- 2^61, 0 by default.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = DiscreteGaussian([Fraction(1, 3), Fraction(2**80)])
    >>> noise.draw(5, SeededEntropy(1)).shape
    (5, 2)
    >>> round(noise.pmf(0, 0), 4)
    0.6891
    """

    variances: Sequence[Fraction]
    centres: Sequence[Fraction] | None = None
    _columns: NDArray[np.void] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        variances = tuple(for_each(Fraction, self.variances))
        centres = (Fraction(0),) * len(variances) if self.centres is None else tuple(for_each(Fraction, self.centres))
        if not variances or len(centres) != len(variances):
            raise InvalidProblem(f"centres: {len(centres)} for {len(variances)} variances; give one of each per coordinate.")
        for variance in distinct(variances):
            if not 0 < variance.numerator <= LARGEST_VARIANCE * variance.denominator:
                k = variances.index(variance)
                raise InvalidProblem(f"variances[{k}]: {variance} is not in (0, 2^110]; use a coarser grid.", value=variance)
        for centre in distinct(centres):
            if centre and abs(centre) > 2**61:
                k = centres.index(centre)
                raise InvalidProblem(f"centres[{k}]: {centre} is beyond 2^61; subtract an integer first.", value=centre)
        columns = _columns_of(variances, centres)
        columns.setflags(write=False)
        assign(self, variances=variances, centres=centres, _columns=columns)

    def plan(self, k: int) -> Plan:
        """How coordinate k is drawn, exactly: made where floats leave a draw open, because there may be very many laws."""
        assert self.centres is not None
        return Plan.of(self.variances[k], self.centres[k])

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent vectors, shape (size, K)."""
        noise = np.empty(size * len(self.variances), dtype=np.int64)
        tries = max(1, TRIES // max(1, noise.size))
        for start in range(0, noise.size, BATCH):
            waiting = np.arange(start, min(start + BATCH, noise.size))
            while waiting.size:
                values, kept = self._propose(np.tile(waiting % len(self.variances), tries), entropy)
                values, kept = values.reshape(tries, -1), kept.reshape(tries, -1)
                done = kept.any(axis=0)
                noise[waiting[done]] = values[kept.argmax(axis=0), np.arange(waiting.size)][done]
                waiting = waiting[~done]
        return noise.reshape(size, len(self.variances))

    def pmf(self, k: int, z: int) -> float:
        """`P(Z_k = z)`, as a float."""
        plan = self.plan(k)
        return float(np.exp(-plan.energy(z - plan.base)) / _mass(plan)[0])

    def variance(self) -> Floats:
        """The variances of these discrete laws, shape (K,); equal to `variances` in all digits where those are above 2."""
        assert self.centres is not None
        if len(distinct(self.variances)) == len(distinct(self.centres)) == 1:
            alone = (self.variances[0], self.centres[0])
            one = _wide_variance(*alone)
            return np.full(len(self.variances), _moments(alone) if one is None else one)
        laws = zip(self.variances, self.centres, strict=True)
        wide = [_wide_variance(*law) for law in laws]
        narrow = [law for law, known in zip(zip(self.variances, self.centres, strict=True), wide, strict=True) if known is None]
        moments = {law: _moments(law) for law in dict.fromkeys(narrow)}  # many coordinates may share one law
        rest = iter(narrow)
        return np.array([moments[next(rest)] if known is None else known for known in wide])

    def mean_absolute(self) -> Floats:
        """The mean absolute values of these laws where they have no centres, shape (K,), to a few units of roundoff.

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

    def _propose(self, k: NDArray[np.intp], entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        pairs = (k.size + 1) // 2
        words = entropy.random_words(2 * pairs + k.size)
        radius, angle, last = words[:pairs], words[pairs : 2 * pairs], words[2 * pairs :]
        cosine, sine, error = normal_pair(radius, angle)
        normal, error = np.concatenate([cosine, sine])[: k.size], np.concatenate([error, error])[: k.size]
        column = self._columns[k] if len(self._columns) > 1 else self._columns
        block, doubtful = nearest(normal * column["spread"] + column["offset"], error * column["spread"])
        z = (block << column["shift"]) + (last & column["mask"]).view(np.int64) - column["half"]
        kept, open_ = accepted(last >> np.uint64(LOW_BITS), KEEP_BITS, *exponent(z, normal, error, column))
        shared: dict[int, tuple[LazyUniform, LazyUniform]] = {}  # cosine and sine of a pair must see the same further bits
        for i in np.flatnonzero(doubtful | open_):
            pair = int(i) % pairs
            polar = shared.setdefault(pair, (LazyUniform(radius[pair], 64, entropy), LazyUniform(angle[pair], 64, entropy)))
            z[i], kept[i] = self.plan(int(k[i])).decide(polar, int(i >= pairs), int(last[i]), entropy)
        return z + column["base"], kept


def _columns_of(variances: Sequence[Fraction], centres: Sequence[Fraction]) -> NDArray[np.void]:
    """The numbers of every law, (K,) of COLUMNS: of many at once where they are centred and of ordinary size."""
    alone = len(variances) > 1 and len(distinct(variances)) == len(distinct(centres)) == 1
    if alone:
        return np.repeat(_columns_of(variances[:1], centres[:1]), len(variances))
    ordinary = [not c and v.numerator < ORDINARY and v.denominator < ORDINARY for v, c in zip(variances, centres, strict=True)]
    columns = np.empty(len(variances), dtype=COLUMNS)
    for k in np.flatnonzero(~np.array(ordinary)).tolist():
        variance, centre = variances[k], centres[k]
        columns[k] = Plan.of(variance, centre).floats() if centre else centred_floats(variance)
    places = np.flatnonzero(ordinary)
    columns[places] = _ordinary_floats([variances[k] for k in places.tolist()])
    return columns


def _ordinary_floats(variances: Sequence[Fraction]) -> NDArray[np.void]:
    """`centred_floats` of variances p / q with p and q below ORDINARY, to the last bit: blocks are single integers, and every
    quotient is one of two integers below 2^53, so that a division of floats rounds it correctly."""
    logs = [_blocks(variance)[1] for variance in variances]
    p = np.array([variance.numerator for variance in variances], dtype=np.float64)
    q = np.array([variance.denominator for variance in variances], dtype=np.float64)
    log_eta = np.array(logs, dtype=np.int64)
    low, high = np.exp2(np.maximum(-log_eta, 0)), np.exp2(np.maximum(log_eta, 0))
    columns = np.zeros(len(variances), dtype=COLUMNS)
    columns["spread"] = np.sqrt(p * (low + high) / (q * low))
    columns["offset"], columns["precision"] = 0.5, q / (2 * p)
    columns["bound"] = np.ldexp(q / p, -3 - log_eta)
    return columns


def inflation_for(variance: Fraction, reach: Fraction) -> Fraction:
    """1 + eta, of which any is right; near the best is reach / sigma where that is small, its square where it is large."""
    log_ratio = math.log2(reach) - (math.log2(variance.numerator) - math.log2(variance.denominator)) / 2
    return 1 + Fraction(2) ** round(log_ratio if log_ratio < 0 else 2 * log_ratio)


def centred_floats(variance: Fraction) -> tuple[float | int, ...]:
    """`Plan.of(variance, 0).floats()`, number by number, in integers: 150,000 laws of their own in a second.

    With 1 + eta the inflation and the reach a power of two, the largest log-ratio is `reach^2 / (2 v eta)`: the precision times
    a power of two.
    """
    p, q = variance.numerator, variance.denominator
    shift, log_eta = _blocks(variance)
    precision = q / (2 * p) if q.bit_length() - p.bit_length() < 900 else float(min(1 / (2 * variance), Fraction(2**900)))
    low, high = 1 << max(-log_eta, 0), 1 << max(log_eta, 0)
    spread = math.sqrt(p * (low + high) / (q * low << 2 * shift))
    bound = _exact_bound(p, q, shift, log_eta)
    return spread, 0.5, precision, 0.0, bound, shift, (1 << shift) // 2, 0, (1 << shift) - 1


def _exact_bound(p: int, q: int, shift: int, log_eta: int) -> float:
    """`reach^2 / (2 v eta)` for v = p / q, correctly rounded; the reach is 2^shift, or 1/2 for blocks of one."""
    power = 2 * (shift if shift else -1) - 1 - log_eta
    return (q << power) / p if power >= 0 else q / (p << -power)


def _blocks(variance: Fraction) -> tuple[int, int]:
    """log2 of the block size that accepts most, and of eta for centre 0."""
    log_sigma = (math.log2(variance.numerator) - math.log2(variance.denominator)) / 2
    shift = min(LOW_BITS, max(0, math.floor(log_sigma) - BLOCKS_PER_SIGMA))
    log_ratio = (shift if shift else -1.0) - log_sigma
    return shift, round(log_ratio if log_ratio < 0 else 2 * log_ratio)


@dataclass(frozen=True)
class Plan:
    """One coordinate: z = base + an integer, with centre in [-1/2, 1/2] for the integer, drawn in blocks of 2^shift."""

    variance: Fraction
    centre: Fraction
    base: int
    shift: int
    inflation: Fraction  # 1 + eta
    bound: Fraction  # the largest log-ratio of the proposal to exp(-energy)

    @classmethod
    def of(cls, variance: Fraction, centre: Fraction) -> Plan:
        """The block size that accepts most, and the largest log-ratio that its proposal can have;
        docs/theory/sampling.md, section 2."""
        base = round(centre)
        centre -= base
        log_sigma = (math.log2(variance.numerator) - math.log2(variance.denominator)) / 2
        shift = min(LOW_BITS, max(0, math.floor(log_sigma) - BLOCKS_PER_SIGMA))
        reach = Fraction(2**shift if shift else Fraction(1, 2))  # |z - centre - y| stays below it
        eta = inflation_for(variance, reach) - 1
        # (x + reach)^2 / (2 (1 + eta)) - x^2 / 2 is concave in x >= |centre| with its top at reach / eta.
        top = max(reach / eta, abs(centre))
        bound = ((top + reach) ** 2 / (1 + eta) - top**2 + centre**2) / (2 * variance)
        return cls(variance, centre, base, shift, 1 + eta, bound)

    def floats(self) -> tuple[float | int, ...]:
        """A row of COLUMNS."""
        block = 1 << self.shift
        spread = math.sqrt(self.variance * self.inflation / block**2)
        # A precision above 2^900 makes every z != 0 doubtful, whatever is put in its place.
        precision = float(min(1 / (2 * self.variance), Fraction(2**900)))
        offset = float(self.centre / block + Fraction(1, 2))
        low = (self.shift, block // 2, self.base, block - 1)
        return spread, offset, precision, float(2 * self.centre), float(self.bound), *low

    def energy(self, z: int) -> float:
        """`((z - centre)^2 - centre^2) / (2 variance)` as a float: no cancellation of large numbers for narrow Gaussians."""
        return float(min(z * (z - 2 * self.centre) / (2 * self.variance), Fraction(2**900)))

    def decide(self, polar: tuple[LazyUniform, LazyUniform], which: int, last: int, entropy: Entropy) -> tuple[int, bool]:
        """The integer and its acceptance, in ball arithmetic."""

        def block() -> int | None:
            spread = rational_ball(self.variance * self.inflation).sqrt()
            y = normal_pair_balls(*polar)[which] * spread + rational_ball(self.centre)
            floor = (y / (1 << self.shift) + rational_ball(Fraction(1, 2))).floor().unique_fmpz()
            return None if floor is None else int(floor)

        low = last & ((1 << self.shift) - 1)
        z = (resolve(polar, block) << self.shift) + low - ((1 << self.shift) >> 1)
        exponent = self.bound + z * (z - 2 * self.centre) / (2 * self.variance)
        keep = LazyUniform(last >> LOW_BITS, KEEP_BITS, entropy)

        def kept() -> bool | None:
            return keep.is_below((normal_pair_balls(*polar)[which] ** 2 / 2 - rational_ball(exponent)).exp())

        return z, resolve([*polar, keep], kept)


def exponent(z: NDArray[np.int64], normal: Floats, error: Floats, column: NDArray[np.void]) -> tuple[Floats, Floats]:
    """`energy(z) + bound - normal^2 / 2`, whose exp(-.) is the chance of acceptance, and its error.

    z, normal, error, column: (n,), column the tabled numbers of the law of each draw. Returns (n,) and errors (n,).
    """
    floats = z.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        energy = floats * (floats - column["twice_centre"]) * column["precision"]
        # 2 centre is rounded by 2^-53, the products by 2^-51 relative.
        error = error * (np.abs(normal) + error) + (np.abs(floats) * column["precision"] + energy) * 2.0**-50
        return energy + column["bound"] - 0.5 * normal**2, error


def _wide_variance(variance: Fraction, centre: Fraction) -> float | None:
    """That of a centred law beyond WIDE deviations, which is its parameter in all digits; None for all others."""
    sigma = math.sqrt(variance.numerator / variance.denominator)
    return None if centre or sigma <= WIDE else sigma**2


def _moments(law: tuple[Fraction, Fraction]) -> float:
    """The variance of one law, by its sums."""
    _, first, second = _mass(Plan.of(*law))
    return second - first**2


def _mass(plan: Plan) -> tuple[float, float, float]:
    """Sum, mean and second moment about the base of `exp(-energy)`, as floats.

    Beyond sigma = 2 the sums are the integrals: by Poisson summation their ratios are within 40 sigma^2 exp(-2 pi^2 sigma^2)
    < 2^-105 of 1.
    """
    sigma = math.sqrt(plan.variance)
    if sigma > WIDE:
        centre = float(plan.centre)
        return sigma * math.sqrt(2 * math.pi) * math.exp(centre**2 / (2 * sigma**2)), centre, sigma**2 + centre**2
    places = range(-math.ceil(13 * sigma) - 2, math.ceil(13 * sigma) + 3)
    weights = [math.exp(-plan.energy(z)) for z in places]
    total = math.fsum(weights)
    first = math.fsum(z * w for z, w in zip(places, weights, strict=True)) / total
    return total, first, math.fsum(z * z * w for z, w in zip(places, weights, strict=True)) / total
