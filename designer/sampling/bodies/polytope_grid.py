"""The gauge of a polytope, for exact sampling on the integer grid: a simplex by volume, exponentials along its vertices.

Derivation: docs/theory/sampling.md, sections 3 and 4.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling import continuous, integer_samplers
from designer.sampling.bodies.nearest_plane import ROUND_UP, NearestPlane
from designer.sampling.bodies.round_and_reject import NormLaw
from designer.sampling.bodies.star_triangulation import Rationals, certified_determinants
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.integer_samplers import LazyUniform

ENTRIES_AT_ONCE = 2**21  # products of draws and facets that are in memory together


@dataclass(frozen=True)
class PolytopeGrid:
    """The gauge `||z|| = max_f a_f . z` of a polytope `{x : a_f . x <= 1}` on Z^s, given with a star triangulation.

    `vertices` (n, s) and `facets` (f, s), the normals a_f, are exact rationals; `simplices` (J, s) are rows of indices into
    `vertices`, each spanning with the origin one simplex of the triangulation, with all its vertices on one facet.
    On the cone of a simplex the gauge is linear and 1 at each v_i, so `y = sum t_i v_i` with t_i iid exponential has density
    `exp(-||y||)` there, and the cones have masses proportional to the volumes. That the simplices are solid, lie on facets and
    cover all directions exactly once is proven in the constructor.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.bodies.round_and_reject import RoundAndReject
    >>> corners = [[Fraction(8 * i), Fraction(8 * j)] for i, j in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    >>> normals = [[Fraction(i, 8), Fraction(j, 8)] for i in (-1, 1) for j in (-1, 1)]
    >>> cross = PolytopeGrid(corners, [[0, 1], [1, 2], [2, 3], [3, 0]], normals)  # gauge |z|_1 / 8
    >>> RoundAndReject(cross).draw(3, SeededEntropy(1)).shape
    (3, 2)
    """

    vertices: Rationals
    simplices: Sequence[Sequence[int]]
    facets: Rationals
    falloff: NormLaw = NormLaw.EXPONENTIAL
    share = 1.0
    spread: Floats = field(init=False, repr=False, compare=False)
    log_volume: float = field(init=False, repr=False, compare=False)
    _corners: Floats = field(init=False, repr=False, compare=False)
    _normals: Floats = field(init=False, repr=False, compare=False)
    _cumulative: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _thresholds: NDArray[np.uint64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vertices, facets = _rationals("vertices", self.vertices), _rationals("facets", self.facets)
        s = len(vertices[0])
        simplices = tuple(tuple(int(index) for index in simplex) for simplex in self.simplices)
        if any(len(row) != s for row in (*vertices, *facets, *simplices)) or not simplices:
            raise InvalidProblem(f"simplices: rows of vertices, facets and simplices must all have length {s}.")
        corners, normals = (np.array([[float(x) for x in row] for row in rows]) for rows in (vertices, facets))
        numbers, unit = certified_determinants(vertices, simplices, facets)
        cumulative = tuple(accumulate(map(abs, numbers)))
        # The words below the j-th threshold belong to simplices up to j beyond doubt, those equal to it need further bits.
        thresholds = np.array([(value << 64) // cumulative[-1] for value in cumulative[:-1]], dtype=np.uint64)
        spread = np.abs(corners).max(axis=0) * ROUND_UP  # Hölder: the parts have l1 norm ||y||
        log_volume = math.log(cumulative[-1] * unit) - math.lgamma(s + 1)
        assign(
            self,
            vertices=vertices,
            facets=facets,
            simplices=simplices,
            spread=spread,
            log_volume=log_volume,
            _corners=corners[np.array(simplices)],
            _normals=normals,
            _cumulative=cumulative,
            _thresholds=thresholds,
        )

    @property
    def dimension(self) -> int:
        """s."""
        return len(self.vertices[0])

    @property
    def word_count(self) -> int:
        """One word for the simplex, s for the exponentials, and for a Gaussian radius those of s normals."""
        return 1 + self.dimension + (continuous.normal_words(self.dimension) if self.falloff is NormLaw.GAUSSIAN else 0)

    def largest(self, widths: Floats, plane: NearestPlane | None = None) -> float:
        """`max_f sum_i |a_fi| widths_i`: a linear function is largest at a corner of the box.

        widths: (s,).
        """
        heights = np.abs(self._normals) @ widths if plane is None else plane.corner(self._normals, widths)
        return float(heights.max()) * ROUND_UP

    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
        """`y = sum t_i v_i` on a simplex chosen by volume; its gauge is `sum t_i`.

        words: (n, word_count). Draws (n, s), norms (n,), errors (n,).
        """
        s = self.dimension
        index = np.searchsorted(self._thresholds, words[:, 0], side="left")
        open_ = index != np.searchsorted(self._thresholds, words[:, 0], side="right")
        parts, norm, error = continuous.exponential_vectors(words[:, 1 : s + 1])
        if self.falloff is NormLaw.GAUSSIAN:
            _, radius, radius_error = continuous.normal_vectors(words[:, s + 1 :], s)
            parts, error = continuous.along(radius, radius_error, parts, norm, error)
            norm = radius
        y = np.einsum("ni,nij->nj", parts, self._corners[index])
        return y, norm, np.where(open_, np.inf, error + (s + 4) * 2.0**-52 * norm)

    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb] | None:
        """The same draw in ball arithmetic, None while the simplex is open."""
        from flint import arb

        s, index = self.dimension, self._simplex(uniforms[0])
        if index is None:
            return None
        parts = [integer_samplers.exponential_ball(uniform) for uniform in uniforms[1 : s + 1]]
        total = sum(parts, arb(0))
        if self.falloff is NormLaw.GAUSSIAN:
            normals = continuous.normal_vector_balls(uniforms[s + 1 :], s)
            radius = sum((x**2 for x in normals), arb(0)).sqrt()
            parts, total = [part * radius / total for part in parts], radius
        corners = [self.vertices[corner] for corner in self.simplices[index]]
        y = [sum((t * rational_ball(v[i]) for t, v in zip(parts, corners, strict=True)), arb(0)) for i in range(s)]
        return y, total

    def _simplex(self, uniform: LazyUniform) -> int | None:
        """The simplex whose share of the volume, laid end to end on (0, 1), contains all that the uniform may be."""
        low, high = (Fraction((uniform.head + end) * self._cumulative[-1], 1 << uniform.bits) for end in (0, 1))
        first, last = bisect_right(self._cumulative, low), bisect_left(self._cumulative, high)
        return first if first == last else None

    def norm(self, z: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """`max_f a_f . z` and its error, over the facets in portions.

        z: (n, s). Norms (n,), errors (n,).
        """
        floats, largest = z.astype(np.float64), np.full(len(z), -np.inf)
        portion = max(1, ENTRIES_AT_ONCE // max(1, len(z)))
        for start in range(0, len(self._normals), portion):
            largest = np.maximum(largest, (floats @ self._normals[start : start + portion].T).max(axis=1))
        return largest, np.abs(floats) @ np.abs(self._normals).max(axis=0) * ((self.dimension + 4) * 2.0**-52)

    def norm_ball(self, z: Sequence[int]) -> arb:
        """The gauge, an exact rational: floats leave out the facets that cannot be the largest."""
        floats = np.array([z], dtype=np.float64)
        largest, error = self.norm(np.array([z], dtype=np.int64))
        near = np.flatnonzero((floats @ self._normals.T)[0] >= largest[0] - 2 * error[0]).tolist()
        return rational_ball(max(sum((a * x for a, x in zip(self.facets[f], z, strict=True)), Fraction(0)) for f in near))


def _rationals(name: str, rows: Rationals) -> tuple[tuple[Fraction, ...], ...]:
    exact = tuple(tuple(Fraction(entry) for entry in row) for row in rows)
    if not exact or not exact[0]:
        raise InvalidProblem(f"{name}: empty; give one row of rationals per element.")
    return exact
