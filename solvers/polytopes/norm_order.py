"""Which of two norm balls lies inside the other once both hold the same vectors as tightly as possible (Awan and Slavkovic).

A norm enters through its unit ball B. Its sensitivity to a set V is `Delta = max {||v|| : v in V}`: the smallest multiple of B
that holds V is `Delta B`. If `Delta_1 B_1` lies inside `Delta_2 B_2` the first norm is the better one for V. Squares of norms
are rational for every ball here, hence all comparisons are exact.
Derivation: docs/theory/hull.md, "Order of norm balls".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np

from solvers.exact.points import ExactIntegers, Points
from solvers.limits import MOST_CUBE_DIMENSIONS
from solvers.polytopes.hull import Polytope


class Containment(Enum):
    """How the first ball lies to the second."""

    EQUAL = "the same ball"
    INSIDE = "the first lies inside the second"
    AROUND = "the first holds the second"
    INCOMPARABLE = "neither holds the other"


class Ball(Protocol):
    """The unit ball of a norm, as far as exact comparison needs it."""

    def squared_gauge(self, z: Points) -> list[Fraction]:
        """`||z||^2` of every row."""

    def squared_support(self, a: Points) -> list[Fraction]:
        """`max {(a.z)^2 : ||z|| <= 1}` of every row."""

    def generators(self) -> Points | None:
        """Points with the ball as symmetric hull, or None where there is no short finite list."""

    def normals(self) -> Points | None:
        """Vectors a with the ball `{z : |a.z| <= 1 for all a}`, or None."""


@dataclass(frozen=True)
class Hull:
    """A polytope seen as a ball.

    body: symmetric, around the origin.
    """

    body: Polytope

    def squared_gauge(self, z: Points) -> list[Fraction]:
        """`max over facets (a.z)^2`."""
        return [x * x for x in self.body.gauge_exact(z)]

    def squared_support(self, a: Points) -> list[Fraction]:
        """`max over vertices (a.v)^2`."""
        return [x * x for x in self.body.dual_gauge_exact(a)]

    def generators(self) -> Points | None:
        """The vertices."""
        return self.body.vertices

    def normals(self) -> Points | None:
        """The facets."""
        return self.body.facets


@dataclass(frozen=True)
class CrossPolytope:
    """`{z : sum |z_k| / radii_k <= 1}`, the ball of the weighted l1 norm; radii (s,) positive."""

    radii: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _require_positive(self.radii)

    def squared_gauge(self, z: Points) -> list[Fraction]:
        """`(sum |z_k| / radii_k)^2`."""
        return [sum((abs(x) / r for x, r in _pairs(row, self.radii)), Fraction()) ** 2 for row in z.fractions()]

    def squared_support(self, a: Points) -> list[Fraction]:
        """`max (radii_k a_k)^2`."""
        return [max(abs(x) * r for x, r in _pairs(row, self.radii)) ** 2 for row in a.fractions()]

    def generators(self) -> Points | None:
        """`radii_k e_k`."""
        return _diagonal(self.radii)

    def normals(self) -> Points | None:
        """The sign vectors over the radii."""
        return _signs([1 / r for r in self.radii])


@dataclass(frozen=True)
class Box:
    """`{z : |z_k| <= radii_k}`, the ball of the weighted l-infinity norm; radii (s,) positive."""

    radii: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _require_positive(self.radii)

    def squared_gauge(self, z: Points) -> list[Fraction]:
        """`max (z_k / radii_k)^2`."""
        return [max(abs(x) / r for x, r in _pairs(row, self.radii)) ** 2 for row in z.fractions()]

    def squared_support(self, a: Points) -> list[Fraction]:
        """`(sum radii_k |a_k|)^2`."""
        return [sum((abs(x) * r for x, r in _pairs(row, self.radii)), Fraction()) ** 2 for row in a.fractions()]

    def generators(self) -> Points | None:
        """The corners."""
        return _signs(list(self.radii))

    def normals(self) -> Points | None:
        """`e_k / radii_k`."""
        return _diagonal(tuple(1 / r for r in self.radii))


@dataclass(frozen=True, eq=False)
class EllipsoidBall:
    """`{z : z' W z <= 1}`, `shape` W symmetric positive definite, given as its s exact rows."""

    shape: Points

    def __post_init__(self) -> None:
        rows, s = self.shape.fractions(), self.shape.dimension
        if len(rows) != s or any(rows[i][j] != rows[j][i] for i in range(s) for j in range(i)):
            raise ValueError("shape: not a symmetric matrix; give W = (W + W') / 2")
        if not _semidefinite(self._integers[0]) or self._determinant == 0:
            raise ValueError("shape: not positive definite; work in the span of the vectors")

    @cached_property
    def _integers(self) -> tuple[ExactIntegers, int]:
        common = int(np.lcm.reduce(self.shape.denominators))
        return self.shape.numerators * (common // self.shape.denominators)[:, None], common

    @cached_property
    def _determinant(self) -> int:
        from flint import fmpz_mat

        return int(fmpz_mat(self._integers[0].tolist()).det())

    def squared_gauge(self, z: Points) -> list[Fraction]:
        """`z' W z`."""
        return _quadratic(self._integers[0], self._integers[1], z)

    def squared_support(self, a: Points) -> list[Fraction]:
        """`a' W^-1 a`."""
        from solvers.polytopes.triangulation import solved

        matrix, common = self._integers
        inverse, below = solved(matrix, np.eye(len(matrix), dtype=int).tolist())
        return _quadratic(inverse * common, below, a)

    def generators(self) -> Points | None:
        """None: it has infinitely many extreme points."""
        return None

    def normals(self) -> Points | None:
        """None."""
        return None


def squared_sensitivity(ball: Ball, vectors: Points) -> Fraction:
    """`Delta^2 = max over rows ||v||^2`, exact; (M, s) vectors."""
    return max(ball.squared_gauge(vectors))


def containment(first: Ball, second: Ball, vectors: Points | None = None) -> Containment:
    """Find the order of `Delta_1 B_1` and `Delta_2 B_2`, Delta the sensitivity to the rows of `vectors`. Raises ValueError
    where a box is compared with an ellipsoid in more than 14 dimensions (a convex form over a cube: NP-hard).

    Parameters
    ----------
    first : the ball B_1.
    second : the ball B_2, in the same coordinates.
    vectors : (M, s), changes of the data; without them Delta is 1.

    >>> one = (Fraction(1), Fraction(1))
    >>> containment(CrossPolytope(one), Box(one)).name, containment(CrossPolytope(one), Box(one), Points.of([[1, 1]])).name
    ('INSIDE', 'AROUND')
    """
    scales = [squared_sensitivity(ball, vectors) if vectors is not None else Fraction(1) for ball in (first, second)]
    if min(scales) == 0:
        raise ValueError("vectors: all are zero, so that no ball needs any size; drop them")
    inside, around = _inside(first, second, *scales), _inside(second, first, *reversed(scales))
    if inside and around:
        return Containment.EQUAL
    return Containment.INSIDE if inside else Containment.AROUND if around else Containment.INCOMPARABLE


def _inside(first: Ball, second: Ball, grown: Fraction, room: Fraction) -> bool:
    """Is `sqrt(grown) B_1` inside `sqrt(room) B_2`? By the vertices of the one, the facets of the other, or definiteness."""
    if (corners := first.generators()) is not None:
        return max(second.squared_gauge(corners)) * grown <= room
    if (facets := second.normals()) is not None:
        return max(first.squared_support(facets)) * grown <= room
    if not (isinstance(first, EllipsoidBall) and isinstance(second, EllipsoidBall)):
        raise ValueError(
            f"{type(first).__name__} in {type(second).__name__}: too many corners to list above {MOST_CUBE_DIMENSIONS} "
            "dimensions"
        )
    (a, over_a), (b, over_b) = first._integers, second._integers
    factor = room / grown * Fraction(over_b, over_a)
    return _semidefinite(a * factor.numerator - b * factor.denominator)


def _semidefinite(matrix: ExactIntegers) -> bool:
    """Is a symmetric integer matrix positive semidefinite?

    All roots of det(x - M) are real, so none is negative if and only if the coefficients alternate in sign (Descartes).
    """
    from flint import fmpz_mat

    coefficients = fmpz_mat(matrix.tolist()).charpoly().coeffs()
    return all(c * (-1) ** (len(matrix) - k) >= 0 for k, c in enumerate(coefficients))


def _quadratic(matrix: ExactIntegers, below: int, z: Points) -> list[Fraction]:
    values = ((z.numerators @ matrix) * z.numerators).sum(axis=1)
    return [Fraction(int(v), int(d) ** 2 * below) for v, d in zip(values, z.denominators, strict=True)]


def _pairs(row: tuple[Fraction, ...], radii: tuple[Fraction, ...]) -> list[tuple[Fraction, Fraction]]:
    return list(zip(row, radii, strict=True))


def _diagonal(values: tuple[Fraction, ...]) -> Points:
    return Points.of([[x if j == k else 0 for j in range(len(values))] for k, x in enumerate(values)])


def _signs(values: list[Fraction]) -> Points | None:
    """`(+-values)`, one of each antipodal pair."""
    if len(values) > MOST_CUBE_DIMENSIONS:
        return None
    return Points.of(
        [[x * e for x, e in zip(values, (1, *tail), strict=True)] for tail in product((1, -1), repeat=len(values) - 1)]
    )


def _require_positive(radii: tuple[Fraction, ...]) -> None:
    if not radii or min(radii) <= 0:
        raise ValueError(f"radii: {radii} are not all positive; give one positive radius a coordinate")
