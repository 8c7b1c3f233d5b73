"""The largest, or the sum, of polytope gauges of disjoint coordinates, for exact sampling on the integer grid.

Derivation: docs/theory/bundles.md, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling import continuous, integer_samplers
from designer.sampling.bodies.nearest_plane import ROUND_UP, NearestPlane
from designer.sampling.bodies.polytope_grid import PolytopeGrid
from designer.sampling.bodies.round_and_reject import NormLaw

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.integer_samplers import LazyUniform


@dataclass(frozen=True)
class BundleGrid:
    """`max_B g_B(z_B)` or `sum_B g_B(z_B)` on Z^s, g_B the gauges `parts`, on the coordinates `places[B]`.
    The places share out all s.

    A draw of part B is y_B = sum t_i v_i on one of its cones, of gauge `n_B = sum t_i`, t_i standard exponentials. Under "sum"
    the parts are independent. Under "max", `y_B r / (n_B + t_0)` with one more exponential t_0 for each B and one r from
    Gamma(s + 1) for all: `y_B / (n_B + t_0)` is uniform on the ball of g_B.

    >>> from fractions import Fraction
    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.bodies.round_and_reject import RoundAndReject
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
