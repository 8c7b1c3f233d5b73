"""The loss of privacy of a promise as masses on the rungs of a ladder, proven to be above it or below it.

The loss of an outcome is `log(Q / P)`, the alternative over the null. A promise is known by
`delta(s) = sup over alpha of 1 - beta(alpha) - s alpha`, convex and falling from delta(0) = 1. A function that is linear
between the rungs `s = e^(h j)` is that of masses on them: its slope changes by `q_j / s_j` at rung j. Chords are above a convex
function and so are a promise that is implied; chords of values lowered by what a chord may be too high are below it.
Products rise with their factors, so masses above (below) every factor convolve to masses above (below) the product.
Derivation: docs/theory/tradeoff.md, section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING

from designer.tradeoff.conversions import zcdp_delta_ball
from designer.tradeoff.functions import LaplaceTradeoff, Tradeoff
from solvers.exact.balls import Masses, exp_ball, rational_ball, working_precision

if TYPE_CHECKING:
    from flint import arb

ZERO = Fraction(0)
Points = Sequence["arb"]
Gaps = Callable[[Sequence["arb"]], list["arb"]]
GUARD = 96  # bits of the working precision beyond those of the masses
NEARLY = Fraction(1, 10**9)  # parts of a step by which an atom may miss a rung above it
FARTHEST = Fraction(1 << 14)  # a loss above counts as certain: e^16384 to 1


@dataclass(frozen=True)
class Curve:
    """delta of a promise at many slopes, and what bounds its losses.

    gaps: from slopes to delta there, as balls. certain: the mass of the alternative where the null has none; unseen:
    that of the null where the alternative has none. largest: no finite loss is further from 0; None where there is no such
    number. symmetric: is the promise the same in both directions? convex: whether the gaps are those of one promise;
    otherwise each is only above that of the promise. ends: the masses of the null at the least and at the largest loss.
    """

    gaps: Gaps
    certain: Callable[[], arb]
    unseen: Callable[[], arb]
    largest: Fraction | None
    symmetric: bool = True
    convex: bool = True
    ends: Callable[[], tuple[arb, arb]] | None = None


def curve_of(tradeoff: Tradeoff) -> Curve:
    """The curve of a tradeoff function in its own direction."""

    def gaps(slopes: Points) -> list[arb]:
        return [tradeoff.delta_ball(s) for s in slopes]

    ends = tradeoff.ends if isinstance(tradeoff, LaplaceTradeoff) else None
    largest, symmetric = tradeoff.largest_loss(), tradeoff.symmetric
    return Curve(gaps, tradeoff.certain_ball, tradeoff.unseen_ball, largest, symmetric, ends=ends)


def zcdp_curve(rho: Fraction) -> Curve:
    """What every rho-zCDP mechanism keeps below, by `zcdp_delta_ball`: not the curve of one promise, and not convex."""

    def gap(slope: arb) -> arb:
        # delta falls in epsilon, so an epsilon rounded down has one that is large enough.
        return zcdp_delta_ball(rho, max(ZERO, _lower(slope.log())), rounds=25)

    def gaps(slopes: Points) -> list[arb]:
        return [gap(s) if s > 1 else 1 - s + s * gap(1 / s) for s in slopes]

    def nothing() -> arb:
        return rational_ball(ZERO)

    return Curve(gaps, nothing, nothing, None, convex=False)


@dataclass(frozen=True)
class Laddered:
    """Masses on rungs `e^(step j)`, and `slack`: what their delta may be on the wrong side, at most."""

    masses: Masses
    slack: Fraction = ZERO


@dataclass(frozen=True)
class Rungs:
    """delta of a curve on the rungs `e^(step j)`, j from `-far` to `far`, at a precision for masses of so many bits."""

    slopes: Points
    heights: Points
    bits: int
    precision: int
    last: Fraction

    @classmethod
    def of(cls, curve: Curve, step: Fraction, bits: int) -> Rungs:
        """All losses, or all but tails of about 2^-bits at either end."""
        far = max(1, ceil(farthest(curve, bits) / step))
        # Differences over a short step lose bits, and so does the reverse of a curve.
        precision = bits + GUARD + _lost_bits(step) + (0 if curve.symmetric else ceil(2 * step * far))
        with working_precision(precision):
            slopes = [exp_ball(step * j) for j in range(-far, far + 1)]
            right = curve.gaps(slopes[far:])
            left = _reversed(slopes[far:], right)[:0:-1] if curve.symmetric else curve.gaps(slopes[:far])
        return cls(slopes, left + right, bits, precision, step * far)


def _reversed(slopes: Points, heights: Points) -> list[arb]:
    """With null and alternative exchanged: `delta'(1 / s) = 1 - 1 / s + delta(s) / s`."""
    return [1 - 1 / s + height / s for s, height in zip(slopes, heights, strict=True)]


def laddered(curve: Curve, rungs: Rungs, *, above: bool, backwards: bool) -> Laddered:
    """Masses whose delta is proven to be at least (above) or, but for the slack, at most that of the curve, at every slope."""
    with working_precision(rungs.precision):
        slopes, heights = rungs.slopes, rungs.heights
        if backwards:
            heights = _reversed(slopes, heights)[::-1]
        first = -(len(slopes) // 2)
        if above and curve.convex:
            return _rounded(first, _bends(slopes, heights), heights[-1], rungs.bits, above=True)
        if above:
            return _on_hull(first, slopes, heights, ZERO, rungs.bits, above=True)
        ends = curve.ends() if curve.ends and rungs.last == curve.largest else (rational_ball(ZERO), rational_ball(ZERO))
        lowered, slack = _lowered(slopes, heights, (curve.unseen if backwards else curve.certain)(), ends)
        return _on_hull(first, slopes, lowered, slack, rungs.bits, above=False)


def _lost_bits(step: Fraction) -> int:
    return max(0, step.denominator.bit_length() - step.numerator.bit_length())


def laddered_atoms(tradeoff: Tradeoff, step: Fraction, bits: int, *, above: bool, backwards: bool) -> Laddered:
    """The same for a piecewise linear function, which is a pair of laws of few atoms (p, q), each on its own.

    Above, an atom between two rungs is divided among them so that both p and q are kept. Below, q goes to the rung
    below it, or to one that it misses by so little that this counts as slack.
    """
    with working_precision(bits + GUARD + _lost_bits(step)):
        kinks = tradeoff.kinks()
        assert kinks is not None
        certain = rational_ball(ZERO)
        atoms = [(certain, 1 - kinks[0][1]), *((b[0] - a[0], a[1] - b[1]) for a, b in pairwise(kinks))]
        placed: dict[int, arb] = {}
        slack = ZERO
        for p, q in ((q, p) if backwards else (p, q) for p, q in atoms):
            if not (p > 0 and q > 0) or (place := _rung(p, q, step)) is None:
                certain += q if above or p.is_zero() else 0
                continue
            shares, over = _divided(p, q, step, place) if above else _pushed_down(p, q, step, place)
            slack += over
            for rung, mass in shares:
                placed[rung] = placed.get(rung, 0) + mass
        first = min(placed, default=0)
        spread = [placed.get(j, rational_ball(ZERO)) for j in range(first, max(placed, default=0) + 1)]
        return _rounded(first, spread, certain, bits, slack, above=above)


def _rung(p: arb, q: arb, step: Fraction) -> arb | None:
    """The place of an atom between rungs, `log(q / p) / step`; None beyond what is told apart."""
    loss = (q / p).log()
    return loss / rational_ball(step) if abs(loss) < rational_ball(FARTHEST) else None


def _divided(p: arb, q: arb, step: Fraction, place: arb) -> tuple[list[tuple[int, arb]], Fraction]:
    low = floor(_lower(place))
    near, far = exp_ball(-step * low), exp_ball(-step * (low + 1))
    upper = (q * near - p) / (near - far)
    return [(low, q - upper), (low + 1, upper)], ZERO


def _pushed_down(p: arb, q: arb, step: Fraction, place: arb) -> tuple[list[tuple[int, arb]], Fraction]:
    low = floor(_lower(place) + NEARLY)
    # At s = q / p, where the atom has no delta left, that of its mass on a higher rung is the most it is too high.
    return [(low, q)], _upper(q - q * q / p * exp_ball(-step * low))


def _on_hull(first: int, slopes: Points, heights: Points, slack: Fraction, bits: int, *, above: bool) -> Laddered:
    """Masses of the lower convex hull of points. Above they need no proof that it is one: the promise is below every chord
    of values above it."""
    kept = _hull(slopes, heights)
    spread = [rational_ball(ZERO)] * len(slopes)
    for k, bend in zip(kept, _bends([slopes[k] for k in kept], [heights[k] for k in kept]), strict=True):
        spread[k] = bend
    over = slack if above else slack + _overshoot(slopes, heights, kept)
    return _rounded(first, spread, heights[-1], bits, over, above=above)


def farthest(curve: Curve, bits: int) -> Fraction:
    """The largest loss that matters: beyond it, delta is about 2^-bits more than its least, in both directions."""
    if curve.largest is not None:
        return min(curve.largest, FARTHEST)
    with working_precision(bits + GUARD + 64):
        return max(_reach(curve, bits, backwards) for backwards in ((False,) if curve.symmetric else (False, True)))


def _reach(curve: Curve, bits: int, backwards: bool) -> Fraction:
    """Of one direction, in steps of a sixteenth of a power of two."""
    rest = (curve.unseen if backwards else curve.certain)() + rational_ball(Fraction(1, 1 << bits))

    def enough(power: Fraction) -> bool:
        if backwards:
            slope = exp_ball(-power)
            return bool(_reversed([slope], curve.gaps([slope]))[0] < rest)
        return bool(curve.gaps([exp_ball(power)])[0] < rest)

    power = Fraction(1, 1 << 20)
    while not enough(power) and power < FARTHEST:
        power *= 2
    return next(power * k / 16 for k in range(8, 17) if k == 16 or enough(power * k / 16))


def _bends(slopes: Points, heights: Points) -> list[arb]:
    """`q_j = s_j (slope after - slope before)` of the line through (0, 1) and these points, constant afterwards."""
    chords = _chords(slopes, heights)
    result = []
    for k, s in enumerate(slopes):
        before = s * chords[k - 1] if k else heights[0] - 1
        after = s * chords[k] if k < len(chords) else 0
        result.append(after - before)
    return result


def _chords(slopes: Points, heights: Points) -> list[arb]:
    return [(heights[k + 1] - heights[k]) / (slopes[k + 1] - slopes[k]) for k in range(len(slopes) - 1)]


def _lowered(slopes: Points, heights: Points, certain: arb, ends: tuple[arb, arb]) -> tuple[list[arb], Fraction]:
    """Values from 0 whose chords are, but for the slack that is returned, below the curve:
    each is lower by what a chord beside it may be too high.

    In a cell the curve is above the chords of both neighbours, continued. Their difference from the chord of the cell is
    `a (s - left)` and `b (right - s)`, the smaller of the two at most `a b / (a + b)` times the length of the cell. At the ends
    its tangents serve, which masses there, on the rungs, make less steep at the left one and steeper at the right one.
    """
    chords = [ends[0] - 1, *_chords(slopes, heights), -ends[1]]
    positive = rational_ball(Fraction(1, 1 << 8192))
    turns = [(chords[k + 1] - chords[k]).upper().max(positive) for k in range(len(chords) - 1)]
    excess = [turns[k] * turns[k + 1] / (turns[k] + turns[k + 1]) * (slopes[k + 1] - slopes[k]) for k in range(len(slopes) - 1)]
    inner = [heights[k] - excess[k - 1].max(excess[k]) for k in range(1, len(slopes) - 1)]
    outer = (1 - slopes[0]).min(heights[0] - excess[0]), (heights[-1] - excess[-1]).min(certain)
    lowered = [value.lower() for value in (outer[0], *inner, outer[1])]
    least = lowered[-1]
    for value in lowered:
        least = least.min(value)
    raised = (-least).nonnegative_part()
    return [value + raised for value in lowered[:-1]] + [least + raised], _upper(raised)


def _hull(slopes: Points, heights: Points) -> list[int]:
    """Which points are corners of the lower convex hull with (0, 1), as far as midpoints tell; the last one is always kept."""
    points = [(rational_ball(ZERO), rational_ball(Fraction(1)))]
    points += [(s.mid(), v.mid()) for s, v in zip(slopes, heights, strict=True)]
    chain: list[int] = []
    for place, point in enumerate(points):
        while len(chain) > 1 and _not_below(points[chain[-2]], points[chain[-1]], point):
            chain.pop()
        chain.append(place)
    return [k - 1 for k in chain if k]


def _not_below(left: tuple[arb, arb], middle: tuple[arb, arb], right: tuple[arb, arb]) -> bool:
    cross = (middle[1] - left[1]) * (right[0] - left[0]) - (right[1] - left[1]) * (middle[0] - left[0])
    return bool(cross.mid() >= 0)


def _overshoot(slopes: Points, heights: Points, kept: Sequence[int]) -> Fraction:
    """At most how far the chords of the kept points are above points that were left out."""
    worst = rational_ball(ZERO)
    ends = [(rational_ball(ZERO), rational_ball(Fraction(1)), -1)]
    ends += [(slopes[k], heights[k], k) for k in kept]
    for (s, v, i), (t, w, k) in pairwise(ends):
        chord = (w - v) / (t - s)
        for j in range(i + 1, k):
            worst = worst.max(v + chord * (slopes[j] - s) - heights[j])
    return _upper(worst)


def _lower(ball: arb) -> Fraction:
    end = ball.lower().fmpq()
    return Fraction(int(end.p), int(end.q))


def _upper(ball: arb) -> Fraction:
    """The upper end of a ball; 0 where it is negative."""
    return max(ZERO, -_lower(-ball))


def _rounded(first: int, bends: Points, certain: arb, bits: int, slack: Fraction = ZERO, *, above: bool) -> Laddered:
    """Bends in units of 2^-bits, to the side. A bend that may be negative counts as none: on the lower side that is slack."""
    one = 1 << bits
    units = [_units(bend * one, up=above) for bend in bends]
    if not above:
        slack += sum((_upper(-bend) for bend in bends if not bend >= 0), ZERO)
    return Laddered(Masses.of(first, units, _units(certain * one, up=above), bits, upward=above), slack)


def _units(scaled: arb, *, up: bool) -> int:
    """Not finite: what is not known at this precision, and at most everything."""
    whole = scaled.upper().ceil().unique_fmpz() if up else scaled.lower().floor().unique_fmpz()
    assert whole is not None, "the ends of a ball are exact"
    return max(0, int(whole))
