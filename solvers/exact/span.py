"""The linear span of exact points and their coordinates in it.

Why a hull is built in its own span: docs/theory/hull.md.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from solvers.exact.points import Integers, Points

ROWS = 2000  # reduced together


def span_coordinates(points: Points) -> tuple[Points, Points]:
    """`(basis, coordinates)` with `points = coordinates @ basis` exactly; basis (rank, s), coordinates (M, rank).

    The basis is the reduced row echelon form: it is the identity on its pivot columns, hence the coordinates of a point are its
    own entries in those columns, with no growth of numerators or denominators.

    >>> basis, coordinates = span_coordinates(Points.of([[1, -1, 0], [0, 1, -1], [1, 0, -1]]))
    >>> basis.numerators.tolist(), coordinates.numerators.tolist()
    ([[1, 0, -1], [0, 1, -1]], [[1, -1], [0, 1], [1, 0]])
    """
    basis = row_echelon(points.numerators)
    if len(basis) == 0:
        raise ValueError("points: every row is zero, so that there is no span; drop the zero rows")
    pivots = [next(j for j, x in enumerate(row) if x) for row in basis.numerators]
    return basis, Points.from_integers(points.numerators[:, pivots], points.denominators)


def row_echelon(rows: Integers) -> Points:
    """Reduced row echelon form over the rationals of an integer matrix (m, n): (rank, n), zero rows dropped.

    `ROWS` rows are reduced at a time, exactly.
    """
    from flint import fmpz_mat

    reduced: list[list[int]] = []
    below: list[int] = []
    width = rows.shape[1]
    queue = iter(rows.tolist())
    while (block := list(islice(queue, ROWS))) and len(reduced) < width:
        stacked = reduced + block
        form, common, rank = fmpz_mat(len(stacked), width, [x for row in stacked for x in row]).rref()
        reduced = [[int(form[i, j]) for j in range(width)] for i in range(rank)]
        below = [int(common)] * rank
    if not reduced:
        return Points(np.zeros((0, width), object), np.zeros(0, object))
    signs = [1 if d > 0 else -1 for d in below]
    return Points.from_integers([[s * x for x in row] for s, row in zip(signs, reduced, strict=True)], [abs(d) for d in below])
