"""Exact noise on a lattice with the fall-off of an l2, ellipsoid or polytope norm: round to nearest plane, reject a little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.sampling.bodies.ellipsoid_grid import EllipsoidGrid
from designer.sampling.bodies.nearest_plane import NearestPlane
from designer.sampling.bodies.polytope_grid import PolytopeGrid
from designer.sampling.bodies.round_and_reject import RoundAndReject
from designer.sampling.bodies.star_triangulation import Rationals
from solvers.exact.points import Points
from solvers.lattices.kernel import Lattice

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

RationalLike = Fraction | int | float


@dataclass(frozen=True, eq=False)
class LatticeShape:
    """A norm on a lattice, in coordinates of its basis, with the nearest plane that suits it;
    ValueError for the origin alone."""

    lattice: Lattice
    shape: EllipsoidGrid | PolytopeGrid
    plane: NearestPlane

    @classmethod
    def euclidean(cls, lattice: Lattice, rate: RationalLike) -> LatticeShape:
        """`||z|| = rate |z|_2`."""
        if not rate > 0:
            raise InvalidProblem(f"rate: {rate} is not positive; give a number above 0.", value=rate)
        _refuse_origin(lattice)
        columns, exact = lattice.basis.T.tolist(), Fraction(rate)
        scaled = {x: exact * x for x in {x for column in columns for x in column}}  # of many entries few differ
        factor = [[scaled[x] for x in column] for column in columns]
        return cls(lattice, EllipsoidGrid(factor), NearestPlane(lattice.float_shear.T))

    @classmethod
    def ellipsoid(cls, lattice: Lattice, factor: Sequence[Sequence[RationalLike]]) -> LatticeShape:
        """`||z|| = |F z|_2`, F (K, d) of rationals, injective on the span. The basis is reduced anew, for this norm."""
        _refuse_origin(lattice)
        floats = np.array([[float(x) for x in row] for row in factor])
        lattice = lattice.reduced_for(floats)
        exact = [[Fraction(x) for x in row] for row in factor]
        in_basis = [
            [sum((x * int(b) for x, b in zip(row, vector, strict=True)), Fraction(0)) for vector in lattice.basis]
            for row in exact
        ]
        return cls(lattice, EllipsoidGrid(in_basis), _plane(floats @ lattice.basis.T.astype(np.float64)))

    @classmethod
    def polytope(
        cls, lattice: Lattice, vertices: Rationals, simplices: Sequence[Sequence[int]], facets: Rationals
    ) -> LatticeShape:
        """The gauge `max a_f . z` of a polytope in the span, with its star triangulation (see `PolytopeGrid`)
        in coordinates of R^d."""
        _refuse_origin(lattice)
        rows = Points.of(facets)
        normals = Points.from_integers(rows.numerators @ lattice.basis.T.astype(object), rows.denominators)
        shape = PolytopeGrid(lattice.rational_coordinates(vertices), simplices, normals.fractions())
        return cls(lattice, shape, NearestPlane(lattice.float_shear.T))


@dataclass(frozen=True, eq=False)
class LatticeNorm:
    """Lattice vectors z, (size, d), with `P(z)` exactly proportional to `exp(-||z||)`,
    by `rounded` coordinates in the lattice's basis.

    Build it with `euclidean`, `ellipsoid` or `polytope`, or `of` a shape. ValueError where the lattice is the origin alone, and
    where fewer than one draw in 10^4 would be accepted. THEORY: docs/theory/lattice.md, section 2.

    >>> from solvers.lattices.kernel import integer_kernel
    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = LatticeNorm.euclidean(integer_kernel([[1, 1, 1]]), Fraction(1, 4))
    >>> noise.draw(4, SeededEntropy(1)).sum(axis=1).tolist()
    [0, 0, 0, 0]
    """

    lattice: Lattice
    rounded: RoundAndReject

    @classmethod
    def of(cls, shape: LatticeShape) -> LatticeNorm:
        """The sampler of a shape."""
        return cls(shape.lattice, RoundAndReject(shape.shape, shape.plane))

    @classmethod
    def euclidean(cls, lattice: Lattice, rate: RationalLike) -> LatticeNorm:
        """`||z|| = rate |z|_2`."""
        return cls.of(LatticeShape.euclidean(lattice, rate))

    @classmethod
    def ellipsoid(cls, lattice: Lattice, factor: Sequence[Sequence[RationalLike]]) -> LatticeNorm:
        """`||z|| = |F z|_2`: see `LatticeShape.ellipsoid`."""
        return cls.of(LatticeShape.ellipsoid(lattice, factor))

    @classmethod
    def polytope(
        cls, lattice: Lattice, vertices: Rationals, simplices: Sequence[Sequence[int]], facets: Rationals
    ) -> LatticeNorm:
        """The gauge of a polytope: see `LatticeShape.polytope`."""
        return cls.of(LatticeShape.polytope(lattice, vertices, simplices, facets))

    @property
    def acceptance(self) -> float:
        """At least about this part of the draws is accepted."""
        return self.rounded.expected_acceptance

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent lattice vectors, (size, d)."""
        return combined(self.rounded.draw(size, entropy), self.lattice)


def combined(coordinates: NDArray[np.int64], lattice: Lattice) -> NDArray[np.int64]:
    """`coordinates @ basis`, exactly: in float64 where no partial sum reaches 2^53, else in 64-bit or unbounded integers.

    A product of float matrices takes 1/10 of the time of one of integer matrices (81 x 100).
    coordinates: (n, m). basis: m rows of integers (m, d). Returns (n, d).
    """
    largest = int(np.abs(coordinates).max(initial=0)) * int(np.abs(lattice.basis).sum(axis=0).max(initial=0))
    if largest < 2**53:
        return (coordinates.astype(np.float64) @ lattice.basis.astype(np.float64)).astype(np.int64)
    vectors = coordinates.astype(object) @ lattice.basis
    if max((abs(x) for x in vectors.flat), default=0) >= 2**63:
        raise OverflowError("a noise coordinate left the 64-bit integers: the rate is too small for this lattice.")
    return np.asarray(vectors.astype(np.int64))


def _plane(image: NDArray[np.float64]) -> NearestPlane:
    """Nearest plane for basis vectors with these images, in the columns, in a Euclidean space."""
    upper = np.linalg.qr(image)[1]
    shear = np.triu(upper / upper.diagonal()[:, None])
    np.fill_diagonal(shear, 1.0)
    return NearestPlane(shear)


def _refuse_origin(lattice: Lattice) -> None:
    if not lattice.dimension:
        raise InvalidProblem("lattice: only the origin belongs to it, nothing is free to vary; release the data as they are.")
