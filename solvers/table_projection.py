"""Projections onto `{x : A x = t}`, in least squares (docs/theory/invariants.md, section 8).

Statistics repeat each other (the rows and the columns of a table have one total), so A has fewer independent rows than rows.
How many is counted exactly, because a cut-off on singular values takes rounding for a constraint from 34 x 34 tables on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.exact.rational import exact_rank
from solvers.programs.nearest_sums import kept, left_over

Array = NDArray[np.float64]
TIMES = 3  # that a projection is applied to what rounding left of the sums


def projected(rows: Array, sums: Array, y: Array) -> Array | None:
    """The point of `{A x = t}` nearest to y; None when that is empty.

    >>> projected(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([2.0, 4.0]), np.array([2.0, 1.0])).round(12).tolist()
    [1.5, 0.5]
    """
    basis, lift = row_space(rows)
    flat = y
    for _ in range(TIMES):
        flat = flat + basis.T @ (lift @ left_over(rows, flat, sums))
    return flat if kept(rows, flat, sums) else None


def row_space(rows: Array) -> tuple[Array, Array]:
    """Q (r, N), an orthonormal basis of the row space of A, and L (r, p) with `A^+ = Q'L`; r is the exact rank."""
    lengths = np.linalg.norm(rows, axis=1)
    lengths[lengths == 0] = 1.0
    # Orthogonal columns first: singular values of the small triangle take a hundredth of the time of those of a long matrix.
    columns, triangle = np.linalg.qr((rows / lengths[:, None]).T)
    right, values, left = np.linalg.svd(triangle, full_matrices=False)
    rank = _rank(rows)
    return (columns @ right[:, :rank]).T, left[:rank] / values[:rank, None] / lengths


def _rank(rows: Array) -> int:
    """Exactly; small whole numbers by their Gram matrix, which floats hold exactly and which has the same rank."""
    exact = (rows == np.rint(rows)).all() and float((rows**2).sum(axis=1).max(initial=0.0)) < 2.0**53
    return exact_rank(rows @ rows.T if exact and rows.shape[0] < rows.shape[1] else rows)
