"""From any cost and any vectors to the ellipsoid program with unit cost and vectors that span: a change of coordinates and its
inverse.

Why nothing is lost: docs/theory/ellipsoid.md, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.ellipsoids.rows import Array, Rows


@dataclass(frozen=True)
class Roots:
    """`C = root root'` and `coroot = root^(+')`, each (s, q) or, for a diagonal, (s,)."""

    root: Array
    coroot: Array


def cost_roots(cost: Array | None, dimension: int) -> Roots:
    """The symmetric roots of a cost matrix, of a diagonal (s,), or of the identity (None).

    Raises:
        ValueError: wrong shape, not symmetric, or a negative direction beyond rounding.
    """
    if cost is None:
        return Roots(np.ones(dimension), np.ones(dimension))
    if cost.shape not in ((dimension,), (dimension, dimension)):
        raise ValueError(
            f"cost has shape {cost.shape}: pass ({dimension},) or ({dimension}, {dimension}) for rows of length {dimension}"
        )
    values, vectors = (cost, np.eye(dimension)) if cost.ndim == 1 else np.linalg.eigh(_symmetric(cost))
    floor = 0.0 if cost.ndim == 1 else dimension * np.finfo(float).eps * np.abs(values).max()
    if values.min() < -floor:
        raise ValueError(f"cost has the negative direction {values.min():.3g}: pass a positive semidefinite matrix such as Q'Q")
    if cost.ndim == 1 and values.min() > 0.0:
        return Roots(np.sqrt(values), 1.0 / np.sqrt(values))
    kept = values > floor
    sizes = np.sqrt(values[kept])
    return Roots(vectors[:, kept] * sizes, vectors[:, kept] / sizes)


def query_roots(queries: Array) -> Roots:
    """The roots of `C = Q'Q` from singular values of Q (K, s): squaring would lose half the digits of a short direction."""
    _, sizes, vectors = np.linalg.svd(queries, full_matrices=False)
    kept = sizes > max(queries.shape) * np.finfo(float).eps * sizes.max(initial=0.0)
    return Roots(vectors[kept].T * sizes[kept], vectors[kept].T / sizes[kept])


@dataclass(frozen=True)
class Reduction:
    """Coordinates `t = forward' r` in which the cost is the identity and the vectors span.

    A precision or covariance found there goes back by `forward W forward'` and `backward Sigma backward'`; forward and
    backward are (s, q). Costs go back times `unit^2`: `t` is of order one.
    `outside` (s, s - q at most) spans the directions that cost something and that no vector reaches.
    """

    forward: Array
    backward: Array
    outside: Array
    unit: float

    @classmethod
    def of(cls, rows: Rows, roots: Roots) -> Reduction:
        """The reduction for a nonempty family of nonzero vectors."""
        vectors = rows.spanning().vectors
        size = np.abs(vectors).max()
        reached = apply(vectors / size, roots.root)
        inside, outside = split_space(reached)
        unit = float(size * np.abs(reached).max())
        root, coroot = (expand(matrix) for matrix in (roots.root, roots.coroot))
        return cls(root @ inside / unit, coroot @ inside * unit, root @ outside / unit, unit)

    @property
    def queries(self) -> Array:
        """The map of queries, `q` to `backward' q / unit`."""
        return self.backward / self.unit

    def precision(self, canonical: Array) -> Array:
        """W in the caller's coordinates."""
        return np.asarray(self.forward @ canonical @ self.forward.T)

    def covariance(self, canonical: Array) -> Array:
        """Sigma in the caller's coordinates."""
        return np.asarray(self.backward @ canonical @ self.backward.T)


def split_space(vectors: Array) -> tuple[Array, Array]:
    """Orthonormal bases of the span of the rows and of its complement.

    The rank is decided after every column is scaled to length one, so that a coordinate in small units is not taken for
    rounding.
    """
    lengths = np.linalg.norm(vectors, axis=0)
    lengths[lengths == 0.0] = 1.0
    _, values, right = np.linalg.svd(np.linalg.qr(vectors / lengths, mode="r"), full_matrices=False)
    rank = int((values > max(vectors.shape) * np.finfo(float).eps * values[0]).sum())
    if rank == vectors.shape[1]:
        return np.eye(rank), np.zeros((rank, 0))
    basis = np.linalg.qr(lengths[:, None] * right[:rank].T, mode="complete")[0]
    return basis[:, :rank], basis[:, rank:]


def apply(vectors: Array, matrix: Array) -> Array:
    """`vectors matrix`, where a vector stands for a diagonal matrix."""
    return np.asarray(vectors * matrix if matrix.ndim == 1 else vectors @ matrix)


def expand(matrix: Array) -> Array:
    """The matrix itself, or the diagonal matrix that a vector stands for."""
    return np.diag(matrix) if matrix.ndim == 1 else matrix


def _symmetric(cost: Array) -> Array:
    if np.abs(cost - cost.T).max() > 1e-9 * np.abs(cost).max():
        raise ValueError("cost is not symmetric: pass (cost + cost.T) / 2 if that is what is meant")
    return np.asarray((cost + cost.T) / 2.0)
