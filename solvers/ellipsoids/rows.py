"""Families of vectors `r_m` of which the ellipsoid program needs three maps only: weights to moments, forms to ratios, and a
change of basis.

What the three maps are for: docs/theory/ellipsoid.md, sections 2 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


def reciprocal_roots(roots: Array) -> Array:
    """The matrix `1 / (x_k x_l (x_k + x_l))`: minus the second derivative of `2 tr T^(1/2)` in the eigenbasis of `T`,
    `x = T^(1/2)`.
    """
    return np.asarray(1.0 / (np.multiply.outer(roots, roots) * np.add.outer(roots, roots)))


@dataclass(frozen=True)
class VectorRows:
    """Vectors as the rows of one matrix, shape (m, s)."""

    vectors: Array

    @property
    def count(self) -> int:
        """m, the number of vectors."""
        return int(self.vectors.shape[0])

    @property
    def dimension(self) -> int:
        """s, the length of each."""
        return int(self.vectors.shape[1])

    def select(self, indices: Indices | slice) -> VectorRows:
        """Some of the vectors."""
        return VectorRows(self.vectors[indices])

    def spanning(self) -> VectorRows:
        """A subfamily with the same span: here the family itself."""
        return self

    def transformed(self, basis: Array) -> VectorRows:
        """The family `basis' r_m`, for a basis of shape (s, q)."""
        return VectorRows(self.vectors @ basis)

    def moment(self, weights: Array) -> Array:
        """`sum_m weights_m r_m r_m'`, shape (s, s)."""
        return np.asarray(self.vectors.T @ (weights[:, None] * self.vectors))

    def ratios(self, form: Array) -> Array:
        """`r_m' form r_m` for every m; a vector stands for a diagonal form."""
        image = self.vectors * form if form.ndim == 1 else self.vectors @ form
        return np.asarray(np.einsum("ms,ms->m", image, self.vectors))

    def curvature_diagonal(self, roots: Array) -> Array:
        """`sum_kl r_mk^2 r_ml^2 / (x_k x_l (x_k + x_l))`, the diagonal of the dual's Hessian when the rows are in the
        eigenbasis.
        """
        squares = self.vectors**2
        return np.asarray(np.einsum("mk,mk->m", squares @ reciprocal_roots(roots), squares))

    @property
    def rooted_by_singular_values(self) -> bool:
        """Whether `roots` takes singular values (small families) or eigenvalues of the moment."""
        return self.count * self.dimension**2 <= 5e7

    def roots(self, weights: Array) -> tuple[Array, Array]:
        """`x, E` with `moment(weights) = E diag(x^2) E'`, for rows that span (so m >= s).

        Small families go through singular values, which keep directions 1e-12 as short as the longest; squaring first would
        keep 1e-7.
        """
        if not self.rooted_by_singular_values:
            return _square_roots(self.moment(weights))
        triangle = np.linalg.qr(np.sqrt(weights)[:, None] * self.vectors, mode="r")
        _, values, basis = np.linalg.svd(triangle)
        return values, np.ascontiguousarray(basis.T)


@dataclass(frozen=True)
class Differences:
    """All vectors `(p_i - p_j) / b_ij`, i < j, of N points, never written out: N = 1024 has 523,776 of them.

    `points` has shape (N, s) and `inverse_squares[i, j] = 1 / b_ij^2`, symmetric, shape (N, N) or one number for all pairs;
    zero (an infinite budget) leaves the pair out. Ratios come from the Gram matrix, `(W_ii + W_jj - 2 W_ij) / b_ij^2`, moments
    from a graph
    Laplacian: `sum_ij l_ij (p_i - p_j)(p_i - p_j)' = P' Laplacian(l) P`.

    >>> Differences.of(np.eye(3)).ratios(np.eye(3))
    array([2., 2., 2.])
    """

    points: Array
    inverse_squares: Array = field(repr=False)
    pairs: Indices = field(repr=False)

    @classmethod
    def of(cls, points: ArrayLike, inverse_squares: ArrayLike = 1.0) -> Differences:
        """Check the budgets and list the pairs that bind.

        Raises:
            ValueError: `inverse_squares` is not a symmetric, finite, nonnegative (N, N) matrix.
        """
        points = np.asarray(points, dtype=np.float64)
        full = np.asarray(np.broadcast_to(np.asarray(inverse_squares, dtype=np.float64), (len(points), len(points))))
        if not (np.all(np.isfinite(full)) and np.all(full >= 0.0) and np.array_equal(full, full.T)):
            raise ValueError(
                "inverse_squares must be symmetric, finite and nonnegative: pass 1 / b_ij^2, and 0 for a pair without budget"
            )
        pairs = np.flatnonzero(np.triu(full, 1))
        return cls(points, full.ravel()[pairs], pairs)

    @property
    def count(self) -> int:
        """The number of pairs that bind."""
        return int(self.pairs.size)

    @property
    def dimension(self) -> int:
        """s, the length of each difference."""
        return int(self.points.shape[1])

    def select(self, indices: Indices | slice) -> VectorRows:
        """Some of the differences, written out."""
        first, second = np.divmod(self.pairs[indices], len(self.points))
        return VectorRows(np.sqrt(self.inverse_squares[indices])[:, None] * (self.points[first] - self.points[second]))

    def spanning(self) -> VectorRows:
        """The differences along a spanning forest of the pairs: they span the whole family, N of them at most."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import minimum_spanning_tree

        size = len(self.points)
        ends = tuple(end.astype(np.intc) for end in np.divmod(self.pairs, size))  # all that older versions of scipy take
        tree = minimum_spanning_tree(coo_array((np.arange(1.0, self.count + 1.0), ends), shape=(size, size)).tocsr())
        return self.select(tree.data.astype(np.intp) - 1)

    def transformed(self, basis: Array) -> Differences:
        """The differences of the points `basis' p_i`."""
        return Differences(self.points @ basis, self.inverse_squares, self.pairs)

    def moment(self, weights: Array) -> Array:
        """`sum_m weights_m r_m r_m' = P' Laplacian P`, two matrix products whatever the number of pairs."""
        size = len(self.points)
        laplacian = np.zeros((size, size))
        laplacian.ravel()[self.pairs] = -weights * self.inverse_squares
        laplacian += laplacian.T
        laplacian[np.diag_indices(size)] = -laplacian.sum(axis=1)
        return np.asarray(self.points.T @ (laplacian @ self.points))

    def ratios(self, form: Array) -> Array:
        """`(p_i - p_j)' form (p_i - p_j) / b_ij^2` for every pair; a vector stands for a diagonal form."""
        image = self.points * form if form.ndim == 1 else self.points @ form
        gram = image @ self.points.T
        diagonal = np.diagonal(gram)
        return np.asarray((np.add.outer(diagonal, diagonal) - 2.0 * gram).ravel()[self.pairs] * self.inverse_squares)

    def curvature_diagonal(self, roots: Array) -> Array:
        """`sum_kl r_k^2 r_l^2 / (x_k x_l (x_k + x_l))` to a few per cent: it only preconditions.

        `1 / (x_k + x_l)` is the integral of `exp(-t x_k) exp(-t x_l)` over t > 0, so each node of the trapezoid rule in
        `log t` costs one diagonal form, where the sum itself costs N^2 q^2.
        """
        step = 1.5
        nodes = np.exp(np.arange(np.log(0.01 / roots.max()), np.log(6.0 / roots.min()), step))
        return np.asarray(sum(step * t * self.ratios(np.exp(-t * roots) / roots) ** 2 for t in nodes))

    @property
    def rooted_by_singular_values(self) -> bool:
        """Never: the differences are not written out."""
        return False

    def roots(self, weights: Array) -> tuple[Array, Array]:
        """`x, E` with `moment(weights) = E diag(x^2) E'`."""
        return _square_roots(self.moment(weights))


Rows = VectorRows | Differences


def _square_roots(moment: Array) -> tuple[Array, Array]:
    values, basis = np.linalg.eigh(moment)
    return np.sqrt(np.maximum(values, 0.0)), basis
