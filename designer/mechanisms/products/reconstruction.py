"""How answers are put together from measured products, factor by factor, and what noise they then have.

docs/theory/structured.md, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.mechanisms.products.blocks import MeasuredProduct, StrategyMatrix
from designer.problem.attribute_queries import AttributeQueries

EXACT = 1e-9


def left_inverse(matrix: StrategyMatrix, queries: AttributeQueries) -> Floats:
    """R (n, p) with `Q R M = Q`; `InvalidProblem` where the rows of M do not determine the queries."""
    inverse = _pseudo_inverse(matrix)
    gram, missing = queries.gram, inverse @ matrix.rows - np.eye(queries.size)
    if np.einsum("ij,ij->j", missing, gram @ missing).max() > EXACT**2 * np.trace(gram):
        raise InvalidProblem(
            f"matrices: the rows measured do not determine the {queries.kind!r} queries of an attribute; add rows, such as "
            "those of the identity."
        )
    return inverse


@lru_cache(maxsize=512)
def _pseudo_inverse(matrix: StrategyMatrix) -> Floats:
    return np.asarray(np.linalg.pinv(matrix.rows.astype(np.float64), rcond=1e-12))


@lru_cache(maxsize=512)
def split_inverse(matrix: StrategyMatrix) -> tuple[Floats, Floats]:
    """R (n, n - 1) and z (n,) with `x = R M x + z (1'x)` for every x: the residual M, and what stands for it elsewhere."""
    rows = np.vstack([matrix.rows.astype(np.float64), np.ones(matrix.rows.shape[1])])
    if rows.shape[0] != rows.shape[1] or np.linalg.matrix_rank(rows) < len(rows):
        raise InvalidProblem("matrices: a residual has n - 1 rows, independent of each other and of the total.")
    inverse = np.linalg.inv(rows)
    return inverse[:, :-1], inverse[:, -1]


def sides(
    term: Mapping[int, AttributeQueries],
    block: MeasuredProduct,
    matrices: Mapping[int, Sequence[StrategyMatrix]],
    residual: bool,
) -> dict[int, tuple[AttributeQueries, Floats]]:
    """For each axis of the term or the block its queries and the matrix (n, p) that they are applied to."""
    found = {}
    for axis in sorted({*term, *block.parts}):
        matrix = matrices[axis][block.parts.get(axis, 0)]
        queries = term.get(axis) or AttributeQueries("total", matrix.rows.shape[1])
        if not residual:
            if axis not in block.parts:
                raise InvalidProblem(
                    "blocks: one serves a term about an attribute that it does not measure; measure it, or let another block "
                    "serve the term."
                )
            found[axis] = queries, left_inverse(matrix, queries)
        else:
            own, rest = split_inverse(matrix)
            found[axis] = queries, own if axis in block.parts else rest[:, None]
    return found


def summed_square(side: tuple[AttributeQueries, Floats]) -> float:
    """`||Q R||^2` (Frobenius), by the Gram matrix; side: the queries Q, and R (n, p)."""
    queries, inverse = side
    return float(np.vdot(inverse, queries.gram @ inverse))
