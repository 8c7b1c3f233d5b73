"""Piecewise linear tradeoff functions in exact rationals: discrete distributions, composition, and bounds of everything else.

A piecewise linear beta is the tradeoff of two discrete distributions, one atom a segment. The null gives an atom the length of
the segment along alpha, the alternative its fall along beta; what beta(0) lacks to 1 is an atom of the alternative alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from designer.base.arrays import Floats
from designer.base.checks import assign, count, rational_from, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import RATIONAL, list_of, of_kind
from designer.tradeoff.breakpoints import Kinks, largest_gap
from designer.tradeoff.functions import Tradeoff
from solvers.exact.balls import exp_ball, fraction_above, rational_ball

if TYPE_CHECKING:
    from flint import arb

Point = tuple[Fraction, Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class PiecewiseLinear(Tradeoff):
    """beta through the points (alphas[i], betas[i]), exact rationals, alphas from 0 to 1.

    Points within a straight part are dropped, so that equal functions are equal objects. Refused (`InvalidProblem`): what is
    not convex, not falling, above 1 - alpha, or not 0 at alpha = 1.

    >>> f = PiecewiseLinear(("0", "1/4", "1"), ("1", "1/4", "0"))
    >>> f.exact(Fraction(1, 8)), f.symmetric
    (Fraction(5, 8), True)
    """

    kind = "piecewise_linear"
    schema = of_kind(
        "tradeoff",
        kind,
        {"alphas": list_of(RATIONAL, least=2, distinct=True), "betas": list_of(RATIONAL, least=2)},
        "Corners (alphas[i], betas[i]), alphas from 0 to 1.",
    )

    alphas: tuple[Fraction, ...]
    betas: tuple[Fraction, ...]
    _table: tuple[Floats, Floats] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("alphas", "betas"):
            if not isinstance(getattr(self, name), (list, tuple, np.ndarray)):
                raise InvalidProblem(f"{name}: {shown(getattr(self, name))} is not a list of numbers from 0 to 1.")
        alphas = [rational_from(a, f"alphas[{i}]", 0, 1) for i, a in enumerate(self.alphas)]
        betas = [rational_from(b, f"betas[{i}]", 0, 1) for i, b in enumerate(self.betas)]
        if len(alphas) != len(betas) or len(alphas) < 2:
            raise InvalidProblem(f"betas: {len(betas)} for {len(alphas)} alphas; give as many of each, at least two.")
        if alphas[0] != 0 or alphas[-1] != 1 or any(b <= a for a, b in pairwise(alphas)):
            raise InvalidProblem("alphas: must rise strictly from 0 to 1.")
        if betas[-1] != 0 or any(b > 1 - a for a, b in zip(alphas, betas, strict=True)):
            raise InvalidProblem("betas: must be at most 1 - alpha everywhere, and 0 at alpha = 1.")
        points = list(zip(alphas, betas, strict=True))
        hull = lower_hull(points)
        if any(_height(hull, alpha) != beta for alpha, beta in points):
            raise InvalidProblem("betas: are not convex in the alphas; take the lower convex hull of the points.")
        assign(self, alphas=tuple(alpha for alpha, _ in hull), betas=tuple(beta for _, beta in hull))
        assign(self, _table=(np.array(self.alphas, dtype=float), np.array(self.betas, dtype=float)))

    @property
    def points(self) -> list[Point]:
        """The corners (alpha, beta)."""
        return list(zip(self.alphas, self.betas, strict=True))

    def exact(self, alpha: Fraction) -> Fraction:
        """beta(alpha) for a rational alpha."""
        return _height(self.points, alpha)

    def segments(self) -> list[Point]:
        """(length along alpha, fall along beta) of each straight part, steepest first;
        the missing 1 - beta(0) is not among them."""
        ends = pairwise(self.points)
        return [(right[0] - left[0], left[1] - right[1]) for left, right in ends]

    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        # A small complement has the digits that alpha lost: the table is read from its own end there.
        alphas, betas = self._table
        near_one = np.array([float(1 - a) for a in reversed(self.alphas)])
        return np.where(alpha < 0.5, np.interp(alpha, alphas, betas), np.interp(complement, near_one, betas[::-1]))

    def power(self, alpha: ArrayLike) -> Floats:
        return np.interp(np.asarray(alpha, dtype=np.float64), self._table[0], [float(1 - beta) for beta in self.betas])

    def ball(self, alpha: arb, complement: arb) -> arb:
        start = max(0, min(bisect_right(self._table[0], float(alpha)), len(self.alphas) - 1) - 1)
        lines = [self._line(i, alpha, complement) for i in range(max(0, start - 1), min(start + 2, len(self.alphas) - 1))]
        value = lines[0]
        # beta is the largest of its lines, and near alpha the largest of those next to it.
        for line in lines[1:]:
            value = value.max(line)
        return value

    def _line(self, i: int, alpha: arb, complement: arb) -> arb:
        (left, high), (right, low) = self.points[i : i + 2]
        slope = (high - low) / (right - left)
        if left < Fraction(1, 2):
            from_left: arb = rational_ball(high + slope * left) - rational_ball(slope) * alpha
            return from_left
        from_right: arb = rational_ball(low - slope * (1 - right)) + rational_ball(slope) * complement
        return from_right

    def kinks(self) -> Kinks:
        return tuple((rational_ball(alpha), rational_ball(beta)) for alpha, beta in self.points)

    def delta_ball(self, slope: arb) -> arb:
        return largest_gap(self.kinks(), slope)

    piecewise = True

    def largest_loss(self) -> Fraction:
        """Rounded up to 2^-60."""
        ratios = [q / p for p, q in self.segments() if q]
        steepest = max(max(ratios, default=ONE), 1 / min(ratios, default=ONE))
        return fraction_above(lambda: rational_ball(steepest).log(), bits=60)

    def loss_unit(self) -> Fraction:
        return self.largest_loss()

    def unseen_ball(self) -> arb:
        return rational_ball(1 - next(alpha for alpha, beta in self.points if beta == 0))

    def exact_delta(self, slope: Fraction) -> Fraction:
        """`max over alpha of 1 - beta(alpha) - slope alpha`, exactly: delta at epsilon = log(slope)."""
        # The gap rises while a segment falls faster than the slope: the last such segment ends at the maximum.
        segments = self._steepest_first
        ends = bisect_left(segments, True, key=lambda segment: segment[1] <= slope * segment[0])
        return 1 - self.betas[ends] - slope * self.alphas[ends]

    @cached_property
    def _steepest_first(self) -> list[Point]:
        return self.segments()

    def exact_fixed_point(self) -> Fraction:
        """The c with beta(c) = c."""
        for (left, high), (right, low) in pairwise(self.points):
            if low <= right:
                slope = (high - low) / (right - left)
                return (high + slope * left) / (1 + slope) if high > left else left
        raise AssertionError("beta(1) = 0 < 1")

    def fixed_point(self) -> arb:
        return rational_ball(self.exact_fixed_point())

    @cached_property
    def symmetric(self) -> bool:
        return self == self.inverse()

    @property
    def trivial(self) -> bool:
        return self.betas[0] == 1 and len(self.betas) == 2

    def inverse(self) -> PiecewiseLinear:
        """The tradeoff of the two distributions in the other order: beta reflected in the diagonal."""
        reflected = [(beta, alpha) for alpha, beta in reversed(self.points)]
        first, last = [] if reflected[0][0] == 0 else [(ZERO, ONE)], [] if reflected[-1][0] == 1 else [(ONE, ZERO)]
        return _through(lower_hull(_lowest([*first, *reflected, *last])))

    def symmetrised(self) -> PiecewiseLinear:
        """The largest symmetric function below beta: what is promised when either distribution may be the null.

        The lower convex hull of beta and its inverse (Dong, Roth and Su 2022, Proposition 4).
        """
        return _through(lower_hull(_lowest(sorted([*self.points, *self.inverse().points]))))

    def group(self, size: int) -> PiecewiseLinear:
        result = self
        for _ in range(count(size, "size") - 1):
            result = _through(lower_hull([(alpha, self.exact(1 - result.exact(alpha))) for alpha in self._bends(result)]))
        return result

    def _bends(self, inner: PiecewiseLinear) -> list[Fraction]:
        """Where `f(g(x))` bends, as alphas: where g does, and where 1 - beta_g(alpha) is a bend of f."""
        ends = inner.inverse()
        met = [ends.exact(1 - alpha) for alpha in self.alphas if 1 - alpha <= inner.betas[0]]
        return sorted({*inner.alphas, *met})

    def __matmul__(self, other: PiecewiseLinear) -> PiecewiseLinear:
        """The tensor product f (x) g: both outputs are seen. Exact, by the product of the two pairs of distributions."""
        if not isinstance(other, PiecewiseLinear):
            return NotImplemented
        pairs = ((p * r, q * s) for p, q in self.atoms() for r, s in other.atoms())
        return _of_atoms(pairs)

    def atoms(self) -> list[Point]:
        """(null, alternative) masses of the pair of distributions that the function stands for."""
        return [*self.segments(), (ZERO, 1 - self.betas[0])]

    def sentence(self) -> str:
        return f"a piecewise linear tradeoff function with {len(self.alphas)} corners"


def _through(points: Sequence[Point]) -> PiecewiseLinear:
    return PiecewiseLinear(tuple(alpha for alpha, _ in points), tuple(beta for _, beta in points))


def _lowest(points: Iterable[Point]) -> list[Point]:
    """One point for each alpha, the lowest."""
    lowest: dict[Fraction, Fraction] = {}
    for alpha, beta in points:
        lowest[alpha] = min(beta, lowest.get(alpha, beta))
    return sorted(lowest.items())


def lower_hull(points: Sequence[Point]) -> list[Point]:
    """Corners of the lower convex hull of points with rising alpha (Andrew's monotone chain)."""
    hull: list[Point] = []
    for point in points:
        while len(hull) > 1 and _above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _above(left: Point, middle: Point, right: Point) -> bool:
    """Is the middle point on or above the segment between the others?"""
    return (middle[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (middle[0] - left[0])


def _height(points: Sequence[Point], alpha: Fraction) -> Fraction:
    """The height at alpha of the line through points, by bisection."""
    at = max(1, min(bisect_right(points, alpha, key=lambda p: p[0]), len(points) - 1))
    (left, high), (right, low) = points[at - 1], points[at]
    return high + (low - high) * (alpha - left) / (right - left)


def from_distributions(null: Sequence[object], alternative: Sequence[object]) -> PiecewiseLinear:
    """T(P, Q) of two distributions on the same finite set, exact (Neyman and Pearson).

    Weights are nonnegative rationals (floats at their exact value) with a positive sum, and are normalised exactly. The best
    tests reject by falling ratio Q/P, so beta runs through the cumulative sums in that order.
    See `symmetrised` for both directions.

    >>> from_distributions([3, 1], [1, 3]).points
    [(Fraction(0, 1), Fraction(1, 1)), (Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 1), Fraction(0, 1))]
    """
    p, q = _weights(null, "null"), _weights(alternative, "alternative")
    if len(p) != len(q):
        raise InvalidProblem(f"alternative: has {len(q)} weights and null {len(p)}; give both on the same set.")
    return _of_atoms(zip(p, q, strict=True))


def _weights(given: Sequence[object], name: str) -> list[Fraction]:
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise InvalidProblem(f"{name}: {shown(given)} is not a list of weights, one for each outcome.", value=given)
    weights = [rational_from(w, f"{name}[{i}]", 0) for i, w in enumerate(given)]
    if not sum(weights):
        raise InvalidProblem(f"{name}: has no positive weight; give at least one.")
    total = sum(weights)
    return [w / total for w in weights]


def _of_atoms(atoms: Iterable[Point]) -> PiecewiseLinear:
    """T(P, Q) from atoms (p, q); atoms of equal ratio are merged."""
    merged: dict[Fraction | None, list[Fraction]] = defaultdict(lambda: [ZERO, ZERO])
    for p, q in atoms:
        if p or q:
            mass = merged[q / p if p else None]
            mass[0] += p
            mass[1] += q
    certain = merged.pop(None, [ZERO, ZERO])
    points = [(ZERO, 1 - certain[1])]
    for _, (p, q) in sorted(merged.items(), reverse=True):
        points.append((points[-1][0] + p, points[-1][1] - q))
    return _through(points)


def from_lines(lines: Iterable[tuple[Fraction, Fraction]]) -> PiecewiseLinear:
    """`max(0, max over (slope, height) of height - slope alpha)` on [0, 1], for slopes >= 0 and heights at most min(1, slope).

    A line of height at most min(1, slope) is never above 1 - alpha where that matters: it is what (log slope,
    1 - height) privacy proves.
    """
    envelope: list[tuple[Fraction, Fraction]] = []
    lowest_first = sorted(dict(sorted([*lines, (ZERO, ZERO)])).items())
    for line in lowest_first:  # rising slope: the envelope from alpha = 1 towards alpha = 0
        while envelope and (line[1] >= envelope[-1][1] + line[0] - envelope[-1][0] or _hidden(envelope, line)):
            envelope.pop()
        if not envelope or line[1] > envelope[-1][1]:
            envelope.append(line)
    alphas = [ONE, *(_crossing(a, b) for a, b in pairwise(envelope)), ZERO]
    owners = [envelope[0], *envelope]
    points = {alpha: height - slope * alpha for alpha, (slope, height) in zip(alphas, owners, strict=True)}
    return _through(sorted(points.items()))


def _crossing(low: tuple[Fraction, Fraction], steep: tuple[Fraction, Fraction]) -> Fraction:
    return (steep[1] - low[1]) / (steep[0] - low[0])


def _hidden(envelope: list[tuple[Fraction, Fraction]], line: tuple[Fraction, Fraction]) -> bool:
    """Does a new, steeper line reach above the last line of the envelope before that one comes up?"""
    return len(envelope) > 1 and _crossing(envelope[-1], line) >= _crossing(envelope[-2], envelope[-1])


def ladder(limit: object, steps: int) -> list[Fraction]:
    """Slopes `exp(limit i / steps)`, i = 0 .. steps, as short rationals at least 1: where bounds touch the function.

    >>> [round(float(slope), 9) for slope in ladder(1, 1)]
    [1.0, 2.718281828]
    """
    top = rational_from(limit, "limit", 0) / count(steps, "steps")
    return [_power_above(top * i) for i in range(steps + 1)]


def _power_above(exponent: Fraction) -> Fraction:
    return fraction_above(lambda: exp_ball(exponent), bits=40)


def below_tangents(
    gap: Callable[[Fraction], Fraction], slopes: Iterable[Fraction], symmetric: bool, bits: int
) -> PiecewiseLinear:
    """The envelope of the lines `1 - gap(slope) - slope alpha`, and of their mirror images where those hold too."""
    lines: list[tuple[Fraction, Fraction]] = []
    for slope in slopes:
        height = min(ONE, slope, 1 - gap(slope))
        lines.append((slope, height))
        if symmetric and slope:
            lines.append((1 / slope, height / slope))
    return rounded_below(from_lines((slope, height) for slope, height in lines if height > 0), bits)


def rounded_below(function: PiecewiseLinear, bits: int) -> PiecewiseLinear:
    """The function with both coordinates of its corners rounded down to multiples of 2^-bits: nowhere above the given one.

    A chord of moved corners is a chord of the old ones, each of its points moved to the left and down, and beta falls. Symmetry
    is kept. Without it the denominators of a product of two bounds have thousands of digits.
    """
    scale = 1 << bits
    corners = [(Fraction(int(alpha * scale), scale), Fraction(int(beta * scale), scale)) for alpha, beta in function.points]
    return _through(lower_hull(_lowest(corners)))
