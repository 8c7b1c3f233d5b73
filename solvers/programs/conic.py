"""Conic programs put together block by block, for Clarabel: `min 1/2 x' diag(curvature) x + linear x` with `side - matrix x` in
the cones of every block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from solvers.limited import conic_program
from solvers.work import spend

Array = NDArray[np.float64]
# Of each cone its kind and its size, of a power cone (always three rows) the power.
STEPS = 30  # of the backend, about, each of which looks at every entry
Cone = tuple[Literal["zero", "nonnegative", "second_order", "power"], float]


@dataclass(frozen=True, eq=False)
class ConicBlock:
    """Rows `matrix` (sparse) with `side` (m,), cone after cone."""

    matrix: Any
    side: Array
    cones: Sequence[Cone]


def sparse_entries(groups: Sequence[tuple[Any, Any, Any]], rows: int, columns: int) -> Any:
    """A sparse matrix from groups of (row, column, value), each broadcast; what falls on one place adds up."""
    from scipy.sparse import coo_array

    full = [np.broadcast_arrays(*group) for group in groups]
    row, column, value = (np.concatenate([group[part].ravel() for group in full]) for part in range(3))
    return coo_array((value.astype(float), (row, column)), shape=(rows, columns))


def solved(found: Any) -> bool:
    """Does Clarabel say that it solved a program, if less sharply than asked? Where it ends otherwise, its point is the last of
    a search, or a direction that is to prove that there is none."""
    import clarabel

    return found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)


def solve_conic(curvature: Array, linear: Array, blocks: Sequence[ConicBlock]) -> tuple[Array, list[Array]] | None:
    """The solution x and the multipliers of every block, or None where the backend does not say that it solved the program."""
    import clarabel
    from scipy.sparse import csc_matrix, diags_array, vstack

    made = {"zero": clarabel.ZeroConeT, "nonnegative": clarabel.NonnegativeConeT, "second_order": clarabel.SecondOrderConeT}
    cones = [
        clarabel.PowerConeT(size) if kind == "power" else made[kind](int(size))
        for block in blocks
        for kind, size in block.cones
        if size
    ]
    matrix, side = csc_matrix(vstack([block.matrix for block in blocks])), np.concatenate([block.side for block in blocks])
    spend(calls=20, pivots=STEPS * (matrix.nnz + side.size))
    found = conic_program(csc_matrix(diags_array(curvature)), linear, matrix, side, cones)
    x, z = np.array(found.x), np.array(found.z)
    if not solved(found):
        return None
    return x, np.split(z, np.cumsum([block.side.size for block in blocks])[:-1])
