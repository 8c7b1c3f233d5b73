"""The norm `max(max_i w_i |z_i|, sum_i w_i |z_i| / cap)` of a box with its corners cut, for exact sampling on the integer grid.

Derivation: docs/theory/bundles.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling import integer_samplers
from designer.sampling.bodies.nearest_plane import ROUND_UP, NearestPlane
from designer.sampling.bodies.round_and_reject import NormLaw
from solvers.exact.balls import rational_ball
from solvers.exact.corners_cut import capped_cube

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.integer_samplers import LazyUniform

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
    >>> from designer.sampling.bodies.round_and_reject import RoundAndReject
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
