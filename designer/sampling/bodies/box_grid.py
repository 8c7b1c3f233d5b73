"""The norm `max_i w_i |z_i|` of a box, for exact sampling on the integer grid."""

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
from designer.sampling import continuous, integer_samplers
from designer.sampling.bodies.nearest_plane import ROUND_UP, NearestPlane
from designer.sampling.bodies.round_and_reject import NormLaw
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.integer_samplers import LazyUniform


@dataclass(frozen=True)
class BoxGrid:
    """`||z|| = max_i w_i |z_i|` on Z^s, weights w positive rationals: the l-infinity mechanism (SEMI Algorithm 6) on a grid.

    Draws: `y_i = r v_i / w_i`, r from Gamma(s + 1) and v uniform on [-1, 1]^s, has density proportional to `exp(-||y||)`, and
    `||y|| = r max |v_i|`.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.bodies.round_and_reject import RoundAndReject
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
