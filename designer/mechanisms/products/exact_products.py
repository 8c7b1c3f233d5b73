"""Exact Kronecker products of integer matrices with a table of counts, in machine words wherever that can be proven enough.

64-bit arithmetic is exact modulo 2^64, whatever overflows; floats of a proven error say by which multiple of 2^64 a number is
off. Python's integers, a hundred times slower, are left for tables whose floats would be off by more than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD, SAFE = 2.0**64, 2.0**62  # noise is added to numbers below SAFE in machine words


def exact_product(table: NDArray[np.int64], matrices: Sequence[NDArray[np.int64]]) -> NDArray[Any]:
    """`(M_1 x ... x M_d) x` for x of shape (n_1, ..., n_d) and M_k (p_k, n_k), an array (p_1, ..., p_d): 64-bit integers, or
    Python's where a result is at or beyond 2^62.

    >>> exact_product(np.array([3, 4]), [np.array([[2**62, 0], [1, 1]])]).tolist()
    [13835058055282163712, 7]
    """
    wrapped = _along(table, matrices)
    floats = table.astype(np.float64)
    largest = float(np.abs(floats).sum()) * math.prod(float(np.abs(rows).max()) for rows in matrices)
    if largest < SAFE:
        return wrapped
    # A dot product of n terms is off by at most n + 1 roundings of the sum of absolute values (Higham, 2002, 3.1).
    error = largest * 2.0**-51 * (2 + sum(rows.shape[1] + 2 for rows in matrices))
    if error >= SAFE / 4:
        return np.asarray(_along(table.astype(object), [rows.astype(object) for rows in matrices]))
    near = _along(floats, [rows.astype(np.float64) for rows in matrices])
    if float(np.abs(near).max(initial=0.0)) + error < SAFE:
        return wrapped
    turns = np.rint((near - wrapped) / WORD).astype(np.int64)
    return np.asarray(wrapped.astype(object) + turns.astype(object) * 2**64)


def _along(table: NDArray[Any], matrices: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Each matrix applied along its axis, in the arithmetic of the table."""
    for axis, rows in enumerate(matrices):
        turned = np.moveaxis(table, axis, 0)
        product = rows @ turned.reshape(len(turned), -1)
        table = np.moveaxis(product.reshape(-1, *turned.shape[1:]), 0, axis)
    return table
