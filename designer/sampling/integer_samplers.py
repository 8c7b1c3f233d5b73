"""Whole numbers drawn exactly: uniform below n, coins of chance exp(-x), geometric, discrete Laplace, discrete Gaussian.

*Claim.* Given independent fair bits, each function below has the law that its docstring states as an equation, and ends with
probability 1. Rates and variances are fractions, so nothing is rounded before it is drawn. The proof stands beside each.

*How.* A draw is a function f of independent real numbers U_1, U_2, ..., uniform on (0, 1); its law is that of f. A random word
is the first 64 bits of one of them. (a) Floats evaluate f for many words at once, with a bound on their error. Where the bound
leaves one value of f possible for all numbers that begin with these bits, that is the value of f. (b) Where it does not,
`resolve` evaluates f in ball arithmetic on further bits of the same numbers. Both give f of the same numbers, so that which
draws take the second way does not change the law. It changes the time, by bits that are independent of the data.

*What is believed.* The bits of `entropy.py`; that a ball of FLINT contains its number; and that log, exp, cos and sin of
numpy and of Python are right to the three errors named in part 3, which a test measures eight times better.

*Parts.* 1 real numbers bit by bit; 2 whole numbers below a bound; 3 floats with an error; 4 discrete Laplace; 5 discrete
Gaussian. Both ways are here. The classes `DiscreteLaplace` and `DiscreteGaussian` (`integers/`) cut words into batches, try
again what is not kept, and hold the float parameters of their laws; each has a twin of its `..._in_floats` for a few
numbers, without arrays. Tests compare them with parts 4 and 5 word by word, at random words and at those beside every doubt.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from solvers.exact.balls import exp_ball, rational_ball, working_precision

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy


Answer = TypeVar("Answer")
Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
WORD, GUARD_BITS = 64, 64

# ---------------------------------------------------------------------------------------------- 1. real numbers, bit by bit


class LazyUniform:
    """A number U uniform on (0, 1), of which the first `bits` bits are known: U is in `[head, head + 1] / 2^bits`.

    Invariant: given every answer so far, U is uniform on that interval. It holds at the start: `head` is `bits` fair bits. An
    answer of `resolve` is the same for the whole interval, so it tells nothing further. `refine` halves the interval 64 times
    by fair bits that are independent of all before.
    """

    def __init__(self, head: int, bits: int, entropy: Entropy) -> None:
        self.head, self.bits, self._entropy = int(head), bits, entropy

    def refine(self) -> None:
        """Draw 64 further bits."""
        self.head = (self.head << WORD) | int(self._entropy.random_words(1)[0])
        self.bits += WORD

    def ball(self) -> arb:
        """A ball that contains every value still possible, exact at a precision of at least `bits + 1`."""
        from flint import arb

        ball: arb = arb(2 * self.head + 1, 1) / 2 ** (self.bits + 1)
        return ball

    def below(self, bound: Callable[[], arb]) -> bool:
        """A coin: `P(True) = p`, with `bound()` a ball around p, made anew at every precision; p is clipped to [0, 1].

        Proof: the answer is that of `U < p`, and U is uniform. Ends: after b bits it is open for at most two intervals of
        length 2^-b, those next to p, and for as many as the ball is wide: a chance that goes to 0.
        """
        return resolve([self], lambda: self.is_below(bound()))

    def is_below(self, limit: arb) -> bool | None:
        """Is U below `limit`? None while the bits known and the radius of `limit` leave it open."""
        number = self.ball()
        if number < limit:
            return True
        return False if number > limit else None


def resolve(uniforms: Sequence[LazyUniform], answer: Callable[[], Answer | None]) -> Answer:
    """f(U_1, ..., U_k), asked with ever more bits until `answer` knows it.

    Proof: `answer` computes in balls that contain every value still possible, at a precision beyond the bits known. It returns
    a value only if f has that value on all of them, so also at U. Ends: every round divides the measure of the open cells by
    about 2^64, so with probability 1 wherever the points at which f jumps are a null set, as those of all f here are.
    """
    while True:
        with working_precision(max(uniform.bits for uniform in uniforms) + GUARD_BITS):
            decided = answer()
        if decided is not None:
            return decided
        for uniform in uniforms:
            uniform.refine()


def bernoulli_exp(uniform: LazyUniform, exponent: Fraction) -> bool:
    """A coin: `P(True) = exp(-exponent)`, for an exponent of at least 0: see `LazyUniform.below`. exp(0) = 1 asks no bits."""
    return exponent == 0 or uniform.below(lambda: exp_ball(-exponent))


# ------------------------------------------------------------------------------------------ 2. whole numbers below a bound


def uniform_below(total: int, size: int, entropy: Entropy) -> list[int]:
    """`size` independent whole numbers, `P(n) = 1 / total` for n = 0 .. total - 1.

    Proof: b = `(total - 1).bit_length()` fair bits are uniform on 2^b numbers, total of which are kept; each of these is as
    likely as any other, and what was drawn before is dropped. Ends: 2^b < 2 total, so a try is kept with a chance above 1/2.
    A try takes the leading bits of its words, the first word first.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> all(0 <= number < 10**30 for number in uniform_below(10**30, 5, SeededEntropy(1)))
    True
    """
    bits = (total - 1).bit_length()
    words = max(1, -(-bits // WORD))
    found: list[int] = []
    while len(found) < size:
        drawn = entropy.random_words((size - len(found)) * words).reshape(-1, words).tolist()
        for row in drawn:
            number = 0
            for word in row:
                number = number << WORD | word
            number >>= words * WORD - bits
            if number < total:
                found.append(number)
    return found


def draw_from_table(weights: Sequence[int], size: int, entropy: Entropy) -> NDArray[np.intp]:
    """`size` independent indices, `P(k) = weights[k] / sum(weights)`: whole numbers, none below 0, their sum above 0.

    Proof: of the numbers below the sum, `weights[k]` lie at or above the sum of the weights before k and below that up to k.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> draw_from_table([0, 3, 0], 2, SeededEntropy(1)).tolist()
    [1, 1]
    """
    ends = list(accumulate(weights))
    return np.array([bisect_right(ends, number) for number in uniform_below(ends[-1], size, entropy)], dtype=np.intp)


# --------------------------------------------------------------------------------------------------- 3. floats with an error

# Assumed of numpy, and measured by a test: log and exp to 2^-48 relative (32 ulp), cos and sin to 2^-48. Documented are 4 ulp.
LOG_ERROR = 2.0**-48
EXP_ERROR = 2.0**-44  # with the roundings of an argument below 50
CIRCLE_ERROR = 2.0**-46  # with three roundings of an angle up to 2 pi (2^-48.7), and its bits not drawn


def exponential(words: Words) -> tuple[Floats, Floats]:
    """`-log U` and its error: `1/w` for the bits not drawn, 2^-52 for w as a float, and the error of the logarithm.

    words: (...,), the leading 64 bits of each U. Values (...,), errors (...,).
    """
    floats = words.astype(np.float64)
    value = -np.log(np.maximum(floats, 1.0) * 2.0**-64)
    with np.errstate(divide="ignore"):
        return value, 1.0 / floats + (LOG_ERROR * value + 2.0**-52)


def exponential_ball(uniform: LazyUniform) -> arb:
    """`-log U`."""
    return -uniform.ball().log()


def normal_pair(radius: Words, angle: Words) -> tuple[Floats, Floats, Floats]:
    """Two independent standard normals `R cos(2 pi V)`, `R sin(2 pi V)` with `R = sqrt(-2 log U)`, and their common error.

    Proof: the density of two normals is that of R^2 / 2, exponential, times that of an even angle (Box and Muller). The root is
    off by `|R^2 - R'^2| / (R + R')`, at most twice the error of the exponential over R. Words (...,); three arrays (...,).
    """
    energy, error = exponential(radius)
    length, turn = np.sqrt(2.0 * energy), angle.astype(np.float64) * (2.0 * np.pi * 2.0**-64)
    with np.errstate(divide="ignore"):
        return length * np.cos(turn), length * np.sin(turn), 2.0 * error / length + CIRCLE_ERROR * length


def normal_pair_balls(radius: LazyUniform, angle: LazyUniform) -> tuple[arb, arb]:
    """The two normals of `normal_pair`."""
    length = (-2 * radius.ball().log()).nonnegative_part().sqrt()
    turn = 2 * angle.ball()
    return length * turn.cos_pi(), length * turn.sin_pi()


def nearest(place: Floats, error: Floats) -> tuple[Integers, Mask]:
    """The floor of `place`, and where `error` and the roundings of `place` itself (2^-50) leave it open.

    place, error: (...,). Floors (...,), 0 where open, and a mask (...,).
    """
    floor = np.floor(place)
    fraction, error = place - floor, error + (np.abs(place) + 1.0) * 2.0**-50
    open_ = ~((fraction > error) & (fraction < 1.0 - error))
    return np.where(open_, 0.0, floor).astype(np.int64), open_


def accepted(bits: Words, count: int, exponent: Floats, error: Floats) -> tuple[Mask, Mask]:
    """Which coins of chance `exp(-exponent)` fall on True by the first `count` bits of their uniform, and which are open.

    The true exponent is at least 0 and within `error` of the given one; for errors below 1 `exp(+-error)` is in `1 +- 2 error`.
    bits, exponent, error: (n,). Two masks (n,).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        error = error + EXP_ERROR
        chance = np.exp(-np.maximum(exponent, 0.0))
        below = (bits + np.uint64(1)).astype(np.float64) * 2.0**-count < chance * (1.0 - 2.0 * error)
        above = bits.astype(np.float64) * 2.0**-count > chance * (1.0 + 2.0 * error)
    sound = error < 1.0
    return below & sound, ~((below | above) & sound)


# ------------------------------------------------------------------------------------ 4. geometric numbers, discrete Laplace

# The second word of a coordinate, from its low end: 35 bits of the low digits, 14 bits that accept them, 15 bits of the sign.
LOW_BITS, KEEP_BITS, SIGN_BITS = 35, 14, 15
HIGH_RATE = Fraction(1, 2**20)  # the high digit has a rate in (2^-21, 2^-20] wherever there are low digits
SMALLEST_RATE = HIGH_RATE / 2**LOW_BITS  # 2^-55: beyond 2^63 lies a mass of e^-256


def geometric(uniform: LazyUniform, rate: Fraction) -> int:
    """`P(G = g) = (1 - a) a^g` for g = 0, 1, ..., a = exp(-rate).

    Proof: `G = floor(-log(U) / rate)` is at least g exactly where `U <= exp(-rate g) = a^g`. It jumps at countably many U.
    """

    def answer() -> int | None:
        floor = (exponential_ball(uniform) / rational_ball(rate)).floor().unique_fmpz()
        return None if floor is None else int(floor)

    return resolve([uniform], answer)


def low_digits(rate: Fraction) -> int:
    """The number m of low binary digits, so that `rate 2^m` lies in (2^-21, 2^-20], or 0 for a larger rate."""
    if rate > HIGH_RATE:
        return 0
    ratio = HIGH_RATE / rate
    return (ratio.numerator // ratio.denominator).bit_length() - 1


def low_part(rate: Fraction, shift: int, word: int, entropy: Entropy) -> int:
    """`P(L = l)` proportional to `exp(-rate l)` on 0 .. 2^shift - 1.

    Proof: l is uniform, kept with chance exp(-rate l), by bits of the word that l does not use; else all is drawn anew. Ends:
    `rate 2^shift <= 2^-20`, so that a try is kept with a chance of at least exp(-2^-20) > 1 - 2^-14.
    """
    low = word & ((1 << shift) - 1)
    keep = LazyUniform((word >> LOW_BITS) & (2**KEEP_BITS - 1), KEEP_BITS, entropy)
    if bernoulli_exp(keep, rate * low):
        return low
    return low_part(rate, shift, int(entropy.random_words(1)[0]), entropy)


def discrete_laplace(rate: Fraction, shift: int, first: int, second: int, entropy: Entropy) -> int:
    """`P(Z = z) = (1 - a) / (1 + a) a^|z|`, a = exp(-rate), from two words; shift: `low_digits(rate)`.

    Proof. *Digits*: for `G = 2^m H + L`, `0 <= L < 2^m`, the geometric `P(G) = (1 - a) a^G` is a product of a function of H and
    one of L: they are independent, H geometric of rate `2^m rate`, L as `low_part`. *Sign*: Z is G with probability
    `1 / (1 + a)`, else -1 - G. So z >= 0 has mass `(1 - a) a^z / (1 + a)`, and z = -1 - g has
    `a / (1 + a) (1 - a) a^g = (1 - a) / (1 + a) a^|z|`; no zero is counted twice. U is the first word; low digits, their coin
    and the sign are disjoint bits of the second. OverflowError beyond 64 bits: `P(|Z| >= 2^63) <= exp(-256)`.
    """
    high = geometric(LazyUniform(first, WORD, entropy), rate * 2**shift)
    low = low_part(rate, shift, second, entropy)
    sign = LazyUniform(second >> (LOW_BITS + KEEP_BITS), SIGN_BITS, entropy)
    magnitude = (high << shift) + low
    if magnitude >= 2**63:
        raise OverflowError("a noise coordinate left the 64-bit integers (probability below e^-256): draw again.")
    return magnitude if sign.below(lambda: 1 / (1 + exp_ball(-rate))) else -1 - magnitude


def high_digit(words: Words, per_unit: Floats) -> tuple[Integers, Mask]:
    """`geometric` of uniforms that begin with these words, (n, K), and where that is open; per_unit: 1 / rate, (K,)."""
    value, error = exponential(words)
    quotient = value * per_unit
    floor = np.floor(quotient)
    fraction = quotient - floor
    error = error * per_unit + quotient * 2.0**-50  # three roundings of 2^-53 each
    doubtful = (fraction > 1 - error) | ((fraction < error) & (floor > 0)) | (error >= 0.5)
    return np.where(doubtful, 0.0, floor).astype(np.int64), doubtful


def laplace_in_floats(first: Words, second: Words, shift: Words, per_unit: Floats, split: Words) -> tuple[Integers, Mask]:
    """What `discrete_laplace` makes of the same words, and where that is open.

    Low digits are kept unless all bits of their coin are ones, as its chance is above 1 - 2^-14. `split` is the whole number
    nearest to `2^15 / (1 + a)`, so that signs in all but the two cells beside it are below both, or above both.
    Words (n, K); shift: `low_digits`; per_unit: one over the rate of the high digit, (K,).
    """
    high, doubtful = high_digit(first, per_unit)
    keep = (second >> np.uint64(LOW_BITS)) & np.uint64(2**KEEP_BITS - 1)
    sign = second >> np.uint64(LOW_BITS + KEEP_BITS)
    doubtful |= keep == np.uint64(2**KEEP_BITS - 1)
    doubtful |= (sign + np.uint64(1) == split) | (sign == split)
    low = second & ((np.uint64(1) << shift) - np.uint64(1))
    magnitude = (high << shift.view(np.int64)) | low.view(np.int64)
    # -1 - g for a negative sign, g otherwise: in two's complement an exclusive or with -1 or 0.
    return np.bitwise_xor(magnitude, -(sign >= split).astype(np.int64), out=magnitude), doubtful


# ------------------------------------------------------------------------------------------------------ 5. discrete Gaussian

# The last word of a coordinate: 35 bits of the place within a block, 29 bits of the coin that keeps it.
PLACE_BITS, COIN_BITS = 35, 29
BLOCKS_PER_SIGMA = 20  # log2; where sigma >= 2^20, blocks of 2^m integers keep it between 2^20 and 2^21 blocks


def _log_sigma(variance: Fraction) -> float:
    return (math.log2(variance.numerator) - math.log2(variance.denominator)) / 2


def block_bits(variance: Fraction) -> int:
    """m, of which any is right."""
    return min(PLACE_BITS, max(0, math.floor(_log_sigma(variance)) - BLOCKS_PER_SIGMA))


def log_eta(variance: Fraction, shift: int) -> int:
    """log2 of eta, of which any is right. With `t = w / sigma`, see `GaussianPlan`, eta is about t where t < 1, and t^2
    elsewhere: a try is kept with a chance of about exp(-t), and above 0.2 for the narrowest."""
    log_ratio = (shift if shift else -1.0) - _log_sigma(variance)
    return round(log_ratio if log_ratio < 0 else 2 * log_ratio)


@dataclass(frozen=True)
class GaussianPlan:
    """`P(z)` proportional to `exp(-(z - c)^2 / (2 v))` on the integers, v and c rational: what a try is, and when it is kept.

    *Try*: `y = sqrt(v (1 + eta)) N`, N standard normal; its block is `h = floor((y + c) / 2^m + 1/2)`, and
    `z = 2^m h - 2^(m - 1) + l`, l uniform on 0 .. 2^m - 1; for m = 0, `z = floor(y + c + 1/2)`. *Coin*: z is kept with chance
    `exp(N^2 / 2 - x)`, `x = M + ((z - c)^2 - c^2) / (2 v)`; otherwise all is drawn anew, by words that are independent.

    Proof. The density of N is proportional to `exp(-N^2 / 2)`. So at each y of its block, an interval of length 2^m, z is drawn
    and kept with a density proportional to `2^-m exp(-x)`: together to `exp(-(z - c)^2 / (2 v))`, whatever m, eta and M are,
    as long as no chance is above 1. *M*: `|z - c - y| <= w`, w = 2^m, or 1/2 for m = 0. With `d = |z - c|` the exponent without
    M is at most `((d + w)^2 / (1 + eta) - d^2 + c^2) / (2 v)`, concave in d with its top at `d = w / eta`; for c = 0 it is
    `w^2 / (2 v eta)` there, which is M. Ends: each try is kept with the same positive chance, whatever was dropped before.
    """

    variance: Fraction
    centre: Fraction
    shift: int  # m
    inflation: Fraction  # 1 + eta
    bound: Fraction  # M

    @classmethod
    def of(cls, variance: Fraction) -> GaussianPlan:
        """The plan for c = 0."""
        shift = block_bits(variance)
        reach, eta = Fraction(2**shift if shift else Fraction(1, 2)), Fraction(2) ** log_eta(variance, shift)
        return cls(variance, Fraction(0), shift, 1 + eta, reach**2 / (2 * variance * eta))

    def decide(self, polar: tuple[LazyUniform, LazyUniform], which: int, last: int, entropy: Entropy) -> tuple[int, bool]:
        """z and whether it is kept. N is the first or second normal of the pair that `polar` stands for; l is the low bits of
        the word `last`, and its high bits begin the uniform of the coin: independent of l, and of N."""

        def block() -> int | None:
            spread = rational_ball(self.variance * self.inflation).sqrt()
            y = normal_pair_balls(*polar)[which] * spread + rational_ball(self.centre)
            floor = (y / (1 << self.shift) + rational_ball(Fraction(1, 2))).floor().unique_fmpz()
            return None if floor is None else int(floor)

        low = last & ((1 << self.shift) - 1)
        z = (resolve(polar, block) << self.shift) + low - ((1 << self.shift) >> 1)
        exponent = self.bound + z * (z - 2 * self.centre) / (2 * self.variance)
        keep = LazyUniform(last >> PLACE_BITS, COIN_BITS, entropy)

        def kept() -> bool | None:
            return keep.is_below((normal_pair_balls(*polar)[which] ** 2 / 2 - rational_ball(exponent)).exp())

        return z, resolve([*polar, keep], kept)


def gaussian_in_floats(normal: Floats, error: Floats, last: Words, law: NDArray[np.void]) -> tuple[Integers, Mask, Mask]:
    """z, whether it is kept, and where either is open: what `GaussianPlan.decide` says of the same words, for c = 0.

    normal, error: of `normal_pair`, (n,). law: spread `sqrt(v (1 + eta)) / 2^m`, precision `1 / (2 v)`, bound M, shift m, half
    and mask of a block, (n,) or (1,). `normal^2 / 2` is off by `error (|normal| + error)`; the energy by 2^-50 of it.
    """
    block, doubtful = nearest(normal * law["spread"] + 0.5, error * law["spread"])
    z = (block << law["shift"]) + (last & law["mask"]).view(np.int64) - law["half"]
    with np.errstate(over="ignore", invalid="ignore"):
        energy = z.astype(np.float64) ** 2 * law["precision"]
        exponent, off = energy + law["bound"] - 0.5 * normal**2, error * (np.abs(normal) + error) + energy * 2.0**-50
    kept, open_ = accepted(last >> np.uint64(PLACE_BITS), COIN_BITS, exponent, off)
    return z, kept, doubtful | open_


# Vectors of exponential and normal numbers as functions of uniform words: in float64 with an error bound, and in balls.
#
# A word w stands for a number U uniform on `[w, w + 1] / 2^64`. The float functions return `(value, error)` such that the
# true value, for every U in that interval, is within `error`; the ball functions return balls around the same true values.
# Single numbers: `integer_samplers.py`.


def exponential_vectors(words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
    """Rows of s exponentials, their sums (Gamma(s)), and the errors of rows and sums in the l1 norm; words (n, s)."""
    values, errors = exponential(words)
    total = values.sum(axis=1)
    return values, total, errors.sum(axis=1) + words.shape[1] * 2.0**-52 * total


def normal_vectors(words: NDArray[np.uint64], dimension: int) -> tuple[Floats, Floats, Floats]:
    """Rows of s normals, their l2 norms, and the errors of rows and norms in l2; words (n, 2 ceil(s / 2)).

    Rows (n, s); norms and errors (n,). `dimension` is s.
    """
    half = words.shape[1] // 2
    cosine, sine, error = normal_pair(words[:, :half], words[:, half:])
    values = np.concatenate([cosine, sine], axis=1)[:, :dimension]
    length = np.sqrt((values**2).sum(axis=1))
    return values, length, np.sqrt(2.0 * (error**2).sum(axis=1)) + (dimension + 4) * 2.0**-52 * length


def normal_words(dimension: int) -> int:
    """How many words `normal_vectors` takes for one vector."""
    return 2 * ((dimension + 1) // 2)


def normal_vector_balls(uniforms: Sequence[LazyUniform], dimension: int) -> list[arb]:
    """One row of `normal_vectors`."""
    half = len(uniforms) // 2
    pairs = [normal_pair_balls(radius, angle) for radius, angle in zip(uniforms[:half], uniforms[half:], strict=True)]
    return [*(pair[0] for pair in pairs), *(pair[1] for pair in pairs)][:dimension]


def along(radius: Floats, radius_error: Floats, vector: Floats, length: Floats, vector_error: Floats) -> tuple[Floats, Floats]:
    """`radius * vector / length`, row by row, and its error in the norm in which `length` is the norm of `vector`.

    In any norm `|a / |a| - b / |b||` is at most `2 |a - b| / |b|`; a radius right to a quarter makes that `2.5 radius` times.
    radius, radius_error, length, vector_error: (n,). vector: (n, s). Returns (n, s) and errors (n,), infinite where the radius
    is not known to a quarter.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = radius_error + 3.0 * radius * vector_error / length + radius * 2.0**-50
        return vector * (radius / length)[:, None], np.where(4.0 * radius_error < radius, error, np.inf)
