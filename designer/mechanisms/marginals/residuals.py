"""The residual (ANOVA) basis of marginal tables in integer coordinates, applied axis by axis.

Along an axis of n values the contrasts are `y_k = x_0 + ... + x_{k-1} - k x_k`, k = 1 .. n - 1 (Helmert): integers for integer
counts, orthogonal to each other and to the total, of squared norms k (k + 1). The residual of a table is all products of
contrasts, so dividing coordinate (k_1, ..., k_r) by the root of `prod k (k + 1)` gives
orthonormal coordinates (docs/theory/marginals.md, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen


def residual(table: NDArray[Any]) -> NDArray[Any]:
    """Integer contrasts along every axis: shape (n_1, ..., n_r) to (n_1 - 1, ..., n_r - 1), exact in the table's own integers.

    >>> residual(np.array([[5, 1], [2, 4]]))
    array([[6]])
    """
    for axis in range(table.ndim):
        before = np.cumsum(table, axis=axis, dtype=table.dtype)
        k = np.arange(1, table.shape[axis]).reshape([-1 if a == axis else 1 for a in range(table.ndim)])
        later, earlier = _cut(table.ndim, axis, slice(1, None)), _cut(table.ndim, axis, slice(0, -1))
        table = before[earlier] - k * table[later]
    return table


def _cut(ndim: int, axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if a == axis else slice(None) for a in range(ndim))


def squared_norms(shape: Sequence[int]) -> NDArray[np.int64]:
    """`prod k (k + 1)` for every coordinate of the residual of a table of this shape."""
    norms = np.ones((), dtype=np.int64)
    for n in shape:
        k = np.arange(1, n, dtype=np.int64)
        norms = np.multiply.outer(norms, k * (k + 1))
    return norms


@lru_cache(maxsize=256)
def synthesis(n: int) -> Floats:
    """T (n, n) with `x = T (total, y_1, ..., y_{n-1})`: columns 1/n and the contrasts over their squared norms.

    >>> synthesis(2)
    array([[ 0.5,  0.5],
           [ 0.5, -0.5]])
    """
    k = np.arange(1, n)
    contrasts = np.triu(np.ones((n, n - 1))) - np.vstack([np.zeros(n - 1), np.diag(k)])
    return frozen(np.column_stack([np.full(n, 1 / n), contrasts / (k * (k + 1))]))


@lru_cache(maxsize=256)
def squared_synthesis(n: int) -> Floats:
    """The squares of the entries of T, which add up variances of independent coordinates."""
    return frozen(synthesis(n) ** 2)


def assemble(
    subset: Sequence[int],
    shape: Sequence[int],
    part: Callable[[tuple[int, ...]], NDArray[Any]],
    matrix: Callable[[int], Floats] = synthesis,
) -> Floats:
    """The table over `subset`, `shape` its sizes, from `part(A)`, an array for the residual of every A within it.

    The parts fill one array, the total or a mean along an axis at index 0 and contrasts behind it; then `matrix(n)` is applied
    along each axis. With `squared_synthesis` and variances the result is the variance of every cell.
    part(A): (n_1 - 1, ..., n_r - 1). matrix(n): (n, n). Returns (n_1, ..., n_r), the sizes of the subset.
    """
    table = np.zeros(tuple(shape))
    for inside in product((False, True), repeat=len(subset)):
        if all(n > 1 for n, chosen in zip(shape, inside, strict=True) if chosen):
            place = tuple(slice(1, None) if chosen else 0 for chosen in inside)
            table[place] = part(tuple(a for a, chosen in zip(subset, inside, strict=True) if chosen))
    for axis, n in enumerate(shape):
        table = np.moveaxis(np.tensordot(matrix(n), table, axes=(1, axis)), 0, axis)
    return np.array(table, order="C")
