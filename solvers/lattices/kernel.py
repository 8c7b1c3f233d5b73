"""Integer lattices: the integer kernel of a matrix, a reduced basis, exact Gram-Schmidt, nearest plane and cosets; and the
inverse of what is no kernel.

Derivations: docs/theory/lattice.md, sections 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.exact.points import ExactIntegers, as_matrix, entries, hermite_form, integer_matrix

if TYPE_CHECKING:
    from flint import fmpq_mat


@dataclass(frozen=True, eq=False)
class Lattice:
    """All integer combinations of the rows of `basis`, (m, d) linearly independent integers; m = 0 is the origin alone.

    `integer_kernel` and `Lattice.generated_by` reduce the basis (LLL), so that its vectors are short and nearly orthogonal; the
    constructor takes any basis as it is. Everything is exact; floats carry `float_` in their names or are said to be floats.

    basis: (m, d), integers.

    >>> plane = integer_kernel([[1, 1, 1]])
    >>> plane.dimension, plane.ambient, plane.squared_determinant
    (2, 3, 3)
    >>> plane.contains([[1, 1, -2], [1, 0, 0]]).tolist()
    [True, False]
    """

    basis: ExactIntegers

    def __post_init__(self) -> None:
        basis = integer_matrix("basis", self.basis)
        basis.setflags(write=False)
        object.__setattr__(self, "basis", basis)
        if len(basis) and self.minors[-1] == 0:
            raise ValueError("basis: rows are linearly dependent; use Lattice.generated_by for generators.")

    @classmethod
    def generated_by(cls, vectors: ArrayLike) -> Lattice:
        """The lattice of all integer combinations of any integer vectors, (n, d), dependent or not; its basis is reduced.

        >>> Lattice.generated_by([[2, 0], [0, 3], [1, 0], [0, 0]]).basis.tolist()
        [[1, 0], [0, 3]]
        """
        echelon = hermite_form(integer_matrix("vectors", vectors))[0]
        return cls(_reduced(echelon[[any(row) for row in echelon]]))

    @property
    def dimension(self) -> int:
        """m, the rank."""
        return len(self.basis)

    @property
    def ambient(self) -> int:
        """d, the length of the vectors."""
        return int(self.basis.shape[1])

    @cached_property
    def gram(self) -> ExactIntegers:
        """Inner products of the basis vectors, (m, m)."""
        return _frozen(self.basis @ self.basis.T if self.dimension else np.zeros((0, 0), dtype=object))

    @cached_property
    def minors(self) -> tuple[int, ...]:
        """`(1, D_1, ..., D_m)`, the leading principal minors of the Gram matrix; `|b*_i|^2 = D_(i+1) / D_i`."""
        return (1, *(int(self._eliminated[i, i]) for i in range(self.dimension)))

    @property
    def squared_determinant(self) -> int:
        """The square of the covolume."""
        return self.minors[-1]

    @cached_property
    def shear(self) -> tuple[tuple[Fraction, ...], ...]:
        """Gram-Schmidt coefficients `mu[i][j]`, `b_i = b*_i + sum over j < i of mu[i][j] b*_j`, exactly; lower triangular."""
        u, below = self._eliminated, self.minors
        return tuple(tuple(Fraction(int(u[j, i]), below[j + 1]) for j in range(i)) for i in range(self.dimension))

    @cached_property
    def squared_lengths(self) -> tuple[Fraction, ...]:
        """`|b*_i|^2`, the squared Gram-Schmidt lengths, exactly."""
        return tuple(Fraction(after, before) for before, after in pairwise(self.minors))

    @cached_property
    def float_lengths(self) -> NDArray[np.float64]:
        """`|b*_i|`, each right to 2^-52 relative: the square is rounded once, its root once."""
        return _frozen(np.sqrt(np.array([float(square) for square in self.squared_lengths])))

    @cached_property
    def float_shear(self) -> NDArray[np.float64]:
        """`shear` with ones on the diagonal, (m, m), every entry the nearest float."""
        rows = np.eye(self.dimension)
        for i, row in enumerate(self.shear):
            rows[i, :i] = [float(mu) for mu in row]
        return _frozen(rows)

    def reduced_for(self, factor: NDArray[np.float64]) -> Lattice:
        """The same lattice with a basis that is reduced in the norm `|F v|_2`, F (K, d)
        of floats (which only guide the choice)."""
        if not self.dimension:
            return self
        images = self.basis.astype(np.float64) @ factor.T
        scaled = images * (2.0**20 / np.abs(np.linalg.qr(images.T)[1].diagonal()).min())
        _, transform = as_matrix(integer_matrix("images", [[round(x) for x in row] for row in scaled.tolist()])).lll(True)
        return Lattice(entries(transform) @ self.basis)

    def rational_coordinates(self, points: Iterable[Sequence[Fraction]]) -> list[list[Fraction]]:
        """Rationals c with `p = c @ basis` for rational points p of the span; ValueError for a point beside it."""
        rows = [list(point) for point in points]
        below = [math.lcm(*(Fraction(x).denominator for x in row)) for row in rows]
        scaled = [[int(x * d) for x in row] for row, d in zip(rows, below, strict=True)]
        products = as_matrix(self.gram).solve(as_matrix(self.basis @ integer_matrix("points", scaled, self.ambient).T))
        numbers, common = products.numer_denom()  # type: ignore[attr-defined]
        found = entries(numbers).T
        if (found @ self.basis != np.array(scaled, dtype=object) * int(common)).any():
            raise ValueError("points: one does not lie in the span of the lattice.")
        return [[Fraction(int(x), int(common) * d) for x in row] for row, d in zip(found, below, strict=True)]

    def coordinates(self, points: ArrayLike) -> ExactIntegers:
        """Integers c, (n, m), of the lattice points `c @ basis` that nearest plane (Babai) assigns to integer points (n, d).

        A lattice point is assigned to itself. What is left, `points - c @ basis`,
        lies in the cell `|<x, b*_i>| <= |b*_i|^2 / 2`.
        """
        rest = integer_matrix("points", points, self.ambient).copy()
        chosen = np.zeros((len(rest), self.dimension), dtype=object)
        orthogonal = self._eliminated[:, self.dimension :]  # D_i b*_i, integer
        for i in reversed(range(self.dimension)):
            above, below = rest @ orthogonal[i], self.minors[i + 1]
            chosen[:, i] = (2 * above + below) // (2 * below)
            rest -= np.multiply.outer(chosen[:, i], self.basis[i])
        return chosen

    def nearest_plane(self, points: ArrayLike) -> ExactIntegers:
        """The lattice points of `coordinates`, (n, d)."""
        return np.asarray(self.coordinates(points) @ self.basis)

    def representative(self, points: ArrayLike) -> ExactIntegers:
        """The one member of the coset `point + lattice` in the nearest-plane cell: equal for equal cosets, (n, d)."""
        rows = integer_matrix("points", points, self.ambient)
        return np.asarray(rows - self.nearest_plane(rows))

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Which of the integer points (n, d) belong to the lattice."""
        return np.asarray((self.representative(points) == 0).all(axis=1), dtype=np.bool_)

    @cached_property
    def _eliminated(self) -> ExactIntegers:
        """Fraction-free elimination of [Gram | basis], (m, m + d): row i is `(D_(i+1) mu[j][i] for j, then D_i b*_i)`."""
        if not self.dimension:
            return np.zeros((0, self.ambient), dtype=object)
        _, _, _, upper = as_matrix(np.hstack([self.gram, self.basis])).fflu()
        return _frozen(entries(upper))


def gram_schmidt(gram: ExactIntegers) -> tuple[tuple[Fraction, ...], tuple[tuple[Fraction, ...], ...]]:
    """Squared lengths and coefficients `mu[i][j]`, j < i, of a basis with this integer Gram matrix (m, m), exactly.

    >>> gram_schmidt(integer_matrix("gram", [[2, 1], [1, 2]]))
    ((Fraction(2, 1), Fraction(3, 2)), ((), (Fraction(1, 2),)))
    """
    u = entries(as_matrix(gram).fflu()[3])
    minors = [1, *(int(u[i, i]) for i in range(len(u)))]
    lengths = tuple(Fraction(after, before) for before, after in pairwise(minors))
    return lengths, tuple(tuple(Fraction(int(u[j, i]), minors[j + 1]) for j in range(i)) for i in range(len(u)))


def integer_kernel(matrix: ArrayLike) -> Lattice:
    """Find the lattice `{v integer : A v = 0}` of any integer matrix A (k, d), with a reduced basis.

    Rows may repeat, vanish or depend on each other, k may exceed d, entries may have any size. A rational basis N of the
    kernel, made integer, spans a sublattice of finite index. With the column Hermite form `N = H' S` the rows of S, part of a
    unimodular matrix, span all of it.

    matrix: (k, d), integers.

    >>> integer_kernel([[2, 4], [3, 6]]).basis.tolist() in ([[2, -1]], [[-2, 1]])
    True
    """
    rows = integer_matrix("matrix", matrix)
    if not rows.shape[1]:
        raise ValueError("matrix: has no columns; give at least one.")
    if not len(rows):
        return Lattice(np.eye(rows.shape[1], dtype=int).astype(object))
    null, rank = as_matrix(rows).nullspace()
    if not rank:
        return Lattice(np.zeros((0, rows.shape[1]), dtype=object))
    vectors = entries(null).T[:rank]
    return Lattice(_reduced(saturated(vectors // np.gcd.reduce(vectors, axis=1)[:, None])))


def saturated(vectors: ExactIntegers) -> ExactIntegers:
    """A basis of all integer points in the span of linearly independent integer vectors (m, d)."""
    m = len(vectors)
    form = hermite_form(vectors.T)[0][:m].T
    if all(form[i, i] == 1 for i in range(m)) and not np.tril(form, -1).any():
        return vectors
    solution: fmpq_mat = as_matrix(form).solve(as_matrix(vectors))  # type: ignore[assignment]
    solved, below = solution.numer_denom()
    return np.asarray(entries(solved) // int(below))


def _reduced(vectors: ExactIntegers) -> ExactIntegers:
    return entries(as_matrix(vectors).lll()) if len(vectors) else vectors


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def pseudo_inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Moore-Penrose inverse, (n, m), of a matrix (m, n): singular values up to max(m, n) 2^-52 of the largest are none.

    That much is rounding of rows that depend on each other; numpy's own default keeps it where it is above 1e-15.
    """
    rounding = max(matrix.shape) * 2.0**-52
    return np.asarray(np.linalg.pinv(matrix, rcond=rounding), dtype=np.float64)
