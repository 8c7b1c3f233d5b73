"""Hermite and Smith normal forms of integer matrices of any shape, with the unimodular matrices that produce them.

What the forms are for: docs/theory/lattice.md, section 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from solvers.exact.points import Integers

if TYPE_CHECKING:
    from flint import fmpz_mat

REDUCED_AT_ONCE = 256  # rows


def hermite_form(matrix: ArrayLike) -> tuple[Integers, Integers]:
    """`(H, T)` with `H = T A` in row echelon form, positive pivots, entries above a pivot in [0, pivot), and T unimodular.

    >>> hermite_form([[2, 3], [4, 1]])[0].tolist()
    [[2, 3], [0, 5]]
    """
    rows = integer_matrix("matrix", matrix)
    if not rows.size:
        return rows, np.eye(len(rows), dtype=int).astype(object)
    form, transform = as_matrix(rows).hnf(True)
    return entries(form), entries(transform)


def is_combination(vector: Sequence[int], rows: ArrayLike) -> bool:
    """Whether a vector (d,) is a sum of whole multiples of the rows (n, d).

    >>> is_combination([4, 6], [[2, 3], [0, 5]]), is_combination([2, 4], [[2, 3], [0, 5]])
    (True, False)
    """
    given = integer_matrix("rows", rows)
    form = given[:0]
    for start in range(0, len(given), REDUCED_AT_ONCE):
        form = entries(as_matrix(np.concatenate([form, given[start : start + REDUCED_AT_ONCE]])).hnf())
        form = form[[any(row) for row in form]]
    rest = [int(entry) for entry in vector]
    for row in form.tolist():
        pivot = next(k for k, entry in enumerate(row) if entry)
        times = rest[pivot] // row[pivot]
        rest = [a - times * b for a, b in zip(rest, row, strict=True)]
    return not any(rest)


def smith_form(matrix: ArrayLike) -> tuple[int, ...]:
    """The invariant factors `d_1 | d_2 | ... | d_r` of A, r its rank.

    All are 1 exactly when the lattice of the rows contains every integer point of their span.

    >>> smith_form([[2, 0], [0, 3]]), smith_form([[1, 1], [1, 1]])
    ((1, 6), (1,))
    """
    rows = integer_matrix("matrix", matrix)
    if not rows.size:
        return ()
    form = as_matrix(rows).snf()
    factors = (abs(int(form[i, i])) for i in range(min(rows.shape)))
    return tuple(factor for factor in factors if factor)


def smith_transforms(matrix: ArrayLike) -> tuple[Integers, Integers, Integers]:
    """`(U, D, V)` with `U A V = D` diagonal and U, V unimodular; the last d - rank columns of V are a basis of the kernel.

    Row and column Hermite forms in turn end at a diagonal matrix, since each round divides or keeps every pivot; the diagonal
    is that of the Smith form up to the divisibility of its entries, which no use here needs.
    """
    form = integer_matrix("matrix", matrix)
    left, right = (np.eye(n, dtype=int).astype(object) for n in form.shape)
    while True:  # one round at least: it moves the zeros of a diagonal matrix to its end
        form, step = hermite_form(form)
        left = step @ left
        transposed, step = hermite_form(form.T)
        form, right = transposed.T, right @ step.T
        if not _off_diagonal(form):
            return left, form, right


def _off_diagonal(form: Integers) -> bool:
    return any(x and i != j for (i, j), x in np.ndenumerate(form))


def integer_matrix(name: str, values: ArrayLike, width: int | None = None) -> Integers:
    """A new (n, d) object array of Python integers; whole floats are refused like all others,
    since their rounding is unknown."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)  # not floats for 2^63 beside -1
    if array.ndim != 2 or (width is not None and array.shape[1] != width):
        wanted = "rows of equal length" if width is None else f"rows of length {width}"
        raise ValueError(f"{name}: shape {array.shape}; give {wanted}.")
    if array.size and array.dtype.kind not in "iu" and not _whole(array):
        raise ValueError(f"{name}: entries of type {array.dtype} are not all integers; round them before, knowingly.")
    flat = [int(x) for x in array.flat]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(array.shape)


def _whole(array: Integers) -> bool:
    return array.dtype.kind == "O" and all(isinstance(x, (int, np.integer)) and not isinstance(x, bool) for x in array.flat)


def as_matrix(rows: Integers) -> fmpz_mat:
    """The same matrix (m, n) of integers in FLINT."""
    from flint import fmpz_mat

    return fmpz_mat(int(rows.shape[0]), int(rows.shape[1]), rows.ravel().tolist())


def entries(matrix: fmpz_mat) -> Integers:
    """The same matrix as an object array of Python integers."""
    values = np.empty(matrix.nrows() * matrix.ncols(), dtype=object)
    values[:] = [int(x) for x in matrix.entries()]
    return values.reshape(matrix.nrows(), matrix.ncols())
