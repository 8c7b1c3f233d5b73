"""The norm `max_i w_i |z_i|` of a box, for exact sampling on the integer grid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.sampling import integer_samplers
from designer.sampling import integer_samplers as continuous
from designer.sampling.body_grids import PolytopeGrid
from designer.sampling.round_and_reject import ROUND_UP, NearestPlane, NormLaw
from solvers.exact.balls import rational_ball
from solvers.exact.rational import capped_cube

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.integer_samplers import LazyUniform


@dataclass(frozen=True)
class BoxGrid:
    """`||z|| = max_i w_i |z_i|` on Z^s, weights w positive rationals: the l-infinity mechanism (SEMI Algorithm 6) on a grid.

    Draws: `y_i = r v_i / w_i`, r from Gamma(s + 1) and v uniform on [-1, 1]^s, has density proportional to `exp(-||y||)`, and
    `||y|| = r max |v_i|`.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.round_and_reject import RoundAndReject
    >>> RoundAndReject(BoxGrid([Fraction(1, 9), Fraction(1, 5)])).draw(3, SeededEntropy(1)).shape
    (3, 2)
    """

    weights: Sequence[Fraction]
    spread: Floats = field(init=False, repr=False, compare=False)
    _floats: Floats = field(init=False, repr=False, compare=False)
    falloff = NormLaw.EXPONENTIAL
    share = 1.0

    def __post_init__(self) -> None:
        weights = tuple(Fraction(weight) for weight in self.weights)
        if not weights or min(weights) <= 0:
            raise InvalidProblem("weights: give at least one, all positive.")
        floats = np.array([float(weight) for weight in weights])
        assign(self, _floats=floats, spread=ROUND_UP / floats)
        assign(self, weights=weights)

    @property
    def dimension(self) -> int:
        """s."""
        return len(self.weights)

    @property
    def word_count(self) -> int:
        """s + 1 words for the Gamma radius and s for the place in the cube."""
        return 2 * self.dimension + 1

    @property
    def log_volume(self) -> float:
        """`log(2^s / prod w)`."""
        return self.dimension * math.log(2) - float(np.log(self._floats).sum())

    def largest(self, widths: Floats, plane: NearestPlane | None = None) -> float:
        """`max_i w_i widths_i`, or through a plane the largest entry at a corner.

        widths: (s,).
        """
        if plane is not None:
            widths = plane.corner(np.eye(self.dimension), widths)
        return float((self._floats * widths).max()) * ROUND_UP

    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
        """`y = r v / w`; v is known to 2^-52, and errors of r and v add up in the norm.

        words: (n, word_count). Draws (n, s), norms (n,), errors (n,).
        """
        s = self.dimension
        _, radius, radius_error = continuous.exponential_vectors(words[:, : s + 1])
        place = words[:, s + 1 :].astype(np.float64) * 2.0**-63 - 1.0
        error = radius_error + radius * 2.0**-49
        return radius[:, None] * place / self._floats, radius * np.abs(place).max(axis=1), error

    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb]:
        """The same draw in ball arithmetic."""
        from flint import arb

        s = self.dimension
        radius = sum((integer_samplers.exponential_ball(u) for u in uniforms[: s + 1]), arb(0))
        places = [2 * u.ball() - 1 for u in uniforms[s + 1 :]]
        norm = abs(places[0])
        for place in places[1:]:
            norm = norm.max(abs(place))
        return [radius * v / rational_ball(w) for v, w in zip(places, self.weights, strict=True)], radius * norm

    def norm(self, z: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """`max_i w_i |z_i|` and its error.

        z: (n, s). Norms (n,), errors (n,).
        """
        length = np.abs(z * self._floats).max(axis=1)
        return length, length * 2.0**-50

    def norm_ball(self, z: Sequence[int]) -> arb:
        """The norm, an exact rational."""
        return rational_ball(max(weight * abs(x) for weight, x in zip(self.weights, z, strict=True)))


# The norm `max(max_i w_i |z_i|, sum_i w_i |z_i| / cap)` of a box with its corners cut, for exact sampling on the integer
# grid.
#
# Derivation: docs/theory/bundles.md, section 5.


# Shares of the l1 norm in the norm that is drawn from; the one that wastes least is taken. Much smaller ones would leave more
# draws to ball arithmetic: coordinates are drawn in units of cap / tilt.
TILTS = sorted({Fraction(j, 32) for j in range(1, 32)} | {abs(e - Fraction(1, 2**j)) for j in (6, 7) for e in (0, 1)})


@dataclass(frozen=True)
class CappedGrid:
    """`||z|| = max(m, l / cap)` on Z^s, `m = max_i w_i |z_i|`, `l = sum_i w_i |z_i|`, weights and cap positive rationals.

    Draws are those of a norm nowhere above it, `(1 - t) m + t l / cap`, t the tilt; `share` of them are accepted. In units of
    cap / t for each coordinate, with `a = (1 - t) cap / t`: a bound R is `sum_(i=0..s) E_i / (a + i)`, E_i standard
    exponentials, and each coordinate a standard exponential modulo R, with either sign.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.round_and_reject import RoundAndReject
    >>> RoundAndReject(CappedGrid([Fraction(1, 9)] * 3, Fraction(2))).draw(3, SeededEntropy(1)).shape
    (3, 3)
    """

    weights: Sequence[Fraction]
    cap: Fraction
    tilt: Fraction = field(init=False, repr=False, compare=False)
    share: float = field(init=False, repr=False, compare=False)
    spread: Floats = field(init=False, repr=False, compare=False)
    _floats: Floats = field(init=False, repr=False, compare=False)
    falloff = NormLaw.EXPONENTIAL

    def __post_init__(self) -> None:
        weights, cap = tuple(Fraction(weight) for weight in self.weights), Fraction(self.cap)
        if not weights or min(*weights, cap) <= 0:
            raise InvalidProblem("weights, cap: give at least one weight, and all positive.")
        floats = np.array([float(weight) for weight in weights])
        assign(self, weights=weights, cap=cap)
        share, tilt = max((self._share(tilt), tilt) for tilt in TILTS)
        spread = ROUND_UP / (floats * float(1 - tilt + tilt / cap))
        # Never 1: the norm drawn from is another one, even where floats see no difference of the volumes.
        assign(self, tilt=tilt, share=min(share, math.nextafter(1.0, 0.0)))
        assign(self, _floats=floats, spread=spread)

    @property
    def dimension(self) -> int:
        """s."""
        return len(self.weights)

    @property
    def word_count(self) -> int:
        """s + 1 words for the bound, s for the coordinates, and one bit for each sign."""
        return 2 * self.dimension + 1 + -(-self.dimension // 64)

    @property
    def log_volume(self) -> float:
        """`log(2^s F / prod w)`, F that of Irwin and Hall."""
        return self._log_corner + self.dimension * math.log(2) - float(np.log(self._floats).sum())

    @property
    def _log_corner(self) -> float:
        """The log of the volume of the ball's part with positive coordinates, weights 1."""
        volume = capped_cube(self.dimension, self.cap).volume
        return math.log(volume.numerator) - math.log(volume.denominator)

    def _share(self, tilt: Fraction) -> float:
        """The volume of the ball over that of the ball drawn from, whose positive part has `a B(a, s + 1) (cap / t)^s / s!`."""
        s, a = self.dimension, float((1 - tilt) * self.cap / tilt)
        return math.exp(self._log_corner + math.lgamma(a + s + 1) - math.lgamma(a + 1) - s * math.log(self.cap / tilt))

    def largest(self, widths: Floats, plane: NearestPlane | None = None) -> float:
        """The norm of the corner of the box, or through a plane that of the largest entries, a bound.

        widths: (s,).
        """
        if plane is not None:
            widths = plane.corner(np.eye(self.dimension), widths)
        return float(self.norm(widths[None, :])[0][0]) * ROUND_UP

    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
        """Draws (n, s), their norms in the norm drawn from (n,), errors (n,).

        A coordinate `e - q R`, q whole, is off by the error of e and q times that of R; where that leaves q open the error is
        infinite. words: (n, word_count).
        """
        s, a = self.dimension, float((1 - self.tilt) * self.cap / self.tilt)
        values, errors = integer_samplers.exponential(words[:, : 2 * s + 1])
        rates = a + np.arange(s + 1)
        bound, roundings = _folded(values[:, : s + 1] / rates)
        bound_error = (errors[:, : s + 1] / rates).sum(axis=1, keepdims=True) + bound * ((roundings + 8) * 2.0**-52)
        turns = np.floor(values[:, s + 1 :] / bound)
        place = values[:, s + 1 :] - turns * bound
        error = errors[:, s + 1 :] + turns * bound_error + values[:, s + 1 :] * 2.0**-50
        known = ((place > error) & (bound - bound_error - place > error)).all(axis=1)
        norm = a * place.max(axis=1) + place.sum(axis=1)
        norm_error = a * error.max(axis=1) + error.sum(axis=1) + norm * ((s + 16) * 2.0**-52)
        unit = float(self.cap / self.tilt) / self._floats
        return np.where(self._negative(words), -place, place) * unit, norm, np.where(known, norm_error, np.inf)

    def _negative(self, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """The signs, (n, s): bit i % 64 of word i // 64 behind the others."""
        places = np.arange(self.dimension)
        bits = words[:, 2 * self.dimension + 1 + places // 64] >> (places % 64).astype(np.uint64)
        return np.asarray((bits & np.uint64(1)).astype(bool))

    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb] | None:
        """The same draw in ball arithmetic, None while a coordinate's turns are open."""
        from flint import arb

        s, a = self.dimension, (1 - self.tilt) * self.cap / self.tilt
        values = [integer_samplers.exponential_ball(uniform) for uniform in uniforms[: 2 * s + 1]]
        bound = sum((e / rational_ball(a + i) for i, e in enumerate(values[: s + 1])), arb(0))
        floors = [(e / bound).floor().unique_fmpz() for e in values[s + 1 :]]
        turns = [turn for turn in floors if turn is not None]
        if len(turns) < s:
            return None
        places = [e - bound * turn for e, turn in zip(values[s + 1 :], turns, strict=True)]
        largest = places[0]
        for place in places[1:]:
            largest = largest.max(place)
        first = np.array([[uniform.head >> (uniform.bits - 64) for uniform in uniforms]], dtype=np.uint64)
        signed = zip(places, self._negative(first)[0].tolist(), self.weights, strict=True)
        drawn = [(-x if minus else x) * rational_ball(self.cap / (self.tilt * w)) for x, minus, w in signed]
        return drawn, rational_ball(a) * largest + sum(places, arb(0))

    def norm(self, z: NDArray[np.int64] | Floats) -> tuple[Floats, Floats]:
        """The norm and its error.

        z: (n, s). Norms (n,), errors (n,).
        """
        sizes = np.abs(z * self._floats)
        length = np.maximum(sizes.max(axis=1), sizes.sum(axis=1) / float(self.cap))
        return length, length * ((self.dimension + 16) * 2.0**-52)

    def norm_ball(self, z: Sequence[int]) -> arb:
        """The norm, an exact rational."""
        sizes = [weight * abs(x) for weight, x in zip(self.weights, z, strict=True)]
        return rational_ball(max(max(sizes), sum(sizes, Fraction(0)) / self.cap))


def _folded(values: Floats) -> tuple[Floats, int]:
    """Sums of the rows of nonnegative values, (n, 1), half added to half: how many roundings each term goes through at most.

    values: (n, m), m >= 1.
    """
    roundings = 0
    while (width := values.shape[1]) > 1:
        half = width // 2
        values = np.hstack([values[:, :half] + values[:, half : 2 * half], values[:, 2 * half :]])
        roundings += 1
    return values, roundings


# The largest, or the sum, of polytope gauges of disjoint coordinates, for exact sampling on the integer grid.
#
# Derivation: docs/theory/bundles.md, section 3.


@dataclass(frozen=True)
class BundleGrid:
    """`max_B g_B(z_B)` or `sum_B g_B(z_B)` on Z^s, g_B the gauges `parts`, on the coordinates `places[B]`.
    The places share out all s.

    A draw of part B is y_B = sum t_i v_i on one of its cones, of gauge `n_B = sum t_i`, t_i standard exponentials. Under "sum"
    the parts are independent. Under "max", `y_B r / (n_B + t_0)` with one more exponential t_0 for each B and one r from
    Gamma(s + 1) for all: `y_B / (n_B + t_0)` is uniform on the ball of g_B.

    >>> from fractions import Fraction
    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.round_and_reject import RoundAndReject
    >>> nine = Fraction(9)
    >>> line = PolytopeGrid([[nine], [-nine]], [[0], [1]], [[1 / nine], [-1 / nine]])
    >>> RoundAndReject(BundleGrid((line, line), ((0,), (1,)), "max")).draw(3, SeededEntropy(1)).shape
    (3, 2)
    """

    parts: Sequence[PolytopeGrid]
    places: Sequence[Sequence[int]]
    combine: Literal["sum", "max"]
    spread: Floats = field(init=False, repr=False, compare=False)
    _normals: tuple[Floats, ...] = field(init=False, repr=False, compare=False)
    falloff = NormLaw.EXPONENTIAL
    share = 1.0

    def __post_init__(self) -> None:
        if [part.dimension for part in self.parts] != [len(bundle) for bundle in self.places]:
            raise InvalidProblem("places: as many are needed for each part as it has dimensions.")
        if sorted(k for bundle in self.places for k in bundle) != list(range(self.dimension)):
            raise InvalidProblem(f"places: must share out the numbers 0 to {self.dimension - 1}, each once.")
        spread = np.zeros(self.dimension)
        normals = []
        for part, bundle in zip(self.parts, self.places, strict=True):
            spread[list(bundle)] = part.spread
            rows = np.zeros((len(part.facets), self.dimension))
            rows[:, list(bundle)] = [[float(x) for x in facet] for facet in part.facets]
            normals.append(rows)
        assign(self, spread=spread, _normals=tuple(normals))
        for array in (spread, *normals):
            array.setflags(write=False)

    @property
    def dimension(self) -> int:
        """s."""
        return sum(part.dimension for part in self.parts)

    @property
    def word_count(self) -> int:
        """Those of the parts; under "max" one more for each part, and s + 1 for the radius."""
        own = sum(part.word_count for part in self.parts)
        return own if self.combine == "sum" else own + len(self.parts) + self.dimension + 1

    @property
    def log_volume(self) -> float:
        """Max: the product of the volumes. Sum: `prod (s_B! vol_B) / s!`, from the integral of `exp(-sum g_B)`."""
        volumes = sum(part.log_volume for part in self.parts)
        if self.combine == "max":
            return volumes
        return volumes + sum(math.lgamma(part.dimension + 1) for part in self.parts) - math.lgamma(self.dimension + 1)

    def largest(self, widths: Floats, plane: NearestPlane | None = None) -> float:
        """The largest of each gauge over the box (or through a plane), put together; the largest sum is at most that.

        widths: (s,).
        """
        heights = [np.abs(rows) @ widths if plane is None else plane.corner(rows, widths) for rows in self._normals]
        return float(self._together(np.array([[own.max() for own in heights]]))[0]) * ROUND_UP

    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
        """Draws (n, s), norms (n,), errors (n,).

        words: (n, word_count).
        """
        common = words[:, : self._common]
        y, norms, errors = np.zeros((len(words), self.dimension)), [], []
        radius, radius_error = continuous.exponential_vectors(common[:, len(self.parts) :])[1:]
        for b, (part, bundle, used) in enumerate(self._slices()):
            drawn, norm, error = part.propose(words[:, used])
            if self.combine == "max":
                more, more_error = integer_samplers.exponential(common[:, b])
                total = norm + more
                # (y_B, t_0) has length n_B + t_0 in the sum of the gauge and |t_0|.
                total_error = error + more_error + total * 2.0**-52
                drawn, error = continuous.along(radius, radius_error, drawn, total, total_error)
                norm = norm * (radius / total)
            y[:, list(bundle)] = drawn
            norms.append(norm)
            errors.append(error)
        norm, error = (self._together(np.stack(values, axis=1)) for values in (norms, errors))
        return y, norm, error + norm * ((len(self.parts) + 4) * 2.0**-52)

    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb] | None:
        """The same draw in ball arithmetic, None while a simplex is open."""
        from flint import arb

        common = [integer_samplers.exponential_ball(uniform) for uniform in uniforms[: self._common]]
        radius = sum(common[len(self.parts) :], arb(0))
        y, norms = [arb(0)] * self.dimension, []
        for b, (part, bundle, used) in enumerate(self._slices()):
            if (drawn := part.propose_balls(uniforms[used])) is None:
                return None
            factor = radius / (drawn[1] + common[b]) if self.combine == "max" else arb(1)
            for k, value in zip(bundle, drawn[0], strict=True):
                y[k] = value * factor
            norms.append(drawn[1] * factor)
        return y, self._together_balls(norms)

    def norm(self, z: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Norms (n,) and errors (n,) of z (n, s)."""
        own = [part.norm(z[:, list(bundle)]) for part, bundle in zip(self.parts, self.places, strict=True)]
        norm, error = (self._together(np.stack(values, axis=1)) for values in zip(*own, strict=True))
        return norm, error + norm * (len(self.parts) * 2.0**-52)

    def norm_ball(self, z: Sequence[int]) -> arb:
        """The norm, an exact rational."""
        own = [part.norm_ball([z[k] for k in bundle]) for part, bundle in zip(self.parts, self.places, strict=True)]
        return self._together_balls(own)

    @property
    def _common(self) -> int:
        """Words in front: an exponential for each part and those of the radius."""
        return 0 if self.combine == "sum" else len(self.parts) + self.dimension + 1

    def _slices(self) -> Iterator[tuple[PolytopeGrid, Sequence[int], slice]]:
        """Each part with its places and its words."""
        start = self._common
        for part, bundle in zip(self.parts, self.places, strict=True):
            yield part, bundle, slice(start, start := start + part.word_count)

    def _together(self, values: Floats) -> Floats:
        """One number of those of the parts, (n, B): (n,)."""
        return np.asarray(values.max(axis=1) if self.combine == "max" else values.sum(axis=1))

    def _together_balls(self, values: Sequence[arb]) -> arb:
        return reduce(lambda a, b: a.max(b) if self.combine == "max" else a + b, values)
