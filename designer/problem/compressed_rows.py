"""Rows that are described and not written out: intervals of ones, and compressed rows.

An identity, running totals, ranges, totals, consecutive groups and stacks of these are rows of ones from one element to
another: two whole numbers a row. Other rows are compressed: an entry takes two numbers, and a zero none.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.limits import MOST_EXPANDED_ENTRIES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WRITTEN_OUT = 2**14  # entries up to which rows are kept as they were given
DENSE_KEPT = 2**20  # entries up to which a dense matrix stays one, however many of them are 0
SPARSE = 8  # above that, compressed rows are kept where one entry of so many at most is not 0
BLOCK = 2**22  # entries that are written out at a time


@dataclass(frozen=True, eq=False)
class IntervalRows(Immutable):
    """Rows of ones: row k is 1 from element `starts[k]` on and before `ends[k]`, and 0 elsewhere.

    starts, ends: (K,), whole numbers, `0 <= starts <= ends <= size`; a row is empty, and its start 0, where they are equal.

    >>> IntervalRows([0, 1], [2, 3], 3).toarray().tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    size: int

    def __post_init__(self) -> None:
        starts, ends = (_whole(getattr(self, name), f"workload.{name}") for name in ("starts", "ends"))
        if starts.shape != ends.shape or not len(starts) or not self.size:
            raise InvalidProblem(
                f"workload.ranges: {len(starts)} starts and {len(ends)} ends over {self.size} elements; give one of each for "
                "every query, at least one, and at least one element."
            )
        if (starts < 0).any() or (starts > ends).any() or (ends > self.size).any():
            raise InvalidProblem(
                f"workload.ranges: a range must lie within the {self.size} elements, and not end before it starts; starts "
                "count from 0, and the element at `ends` is the first one behind the range."
            )
        assign(self, starts=frozen(np.where(starts == ends, 0, starts)), ends=frozen(np.where(starts == ends, 0, ends)))

    @property
    def shape(self) -> tuple[int, int]:
        """(K, N)."""
        return len(self.starts), self.size

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many elements each row adds up, (K,)."""
        return self.ends - self.starts

    def __matmul__(self, vector: Any) -> NDArray[Any]:
        """The sums over the intervals of a vector, (N,), of whole numbers or of floats. Returns (K,)."""
        sums = np.concatenate([np.zeros(1, dtype=np.asarray(vector).dtype), np.cumsum(vector)])
        return np.asarray(sums[self.ends] - sums[self.starts])

    def __getitem__(self, rows: Any) -> IntervalRows:
        """Some of the rows, by a slice, places or booleans."""
        return IntervalRows(self.starts[rows], self.ends[rows], self.size)

    def toarray(self) -> Floats:
        """The rows written out, (K, N)."""
        place = np.arange(self.size)
        return ((place >= self.starts[:, None]) & (place < self.ends[:, None])).astype(np.float64)

    def tocsr(self) -> csr_array:
        """The same as compressed rows: as many entries as all lengths together."""
        from scipy.sparse import csr_array

        lengths = self.lengths
        ends = np.cumsum(lengths)
        columns = np.arange(int(ends[-1])) + np.repeat(self.starts - (ends - lengths), lengths)
        return csr_array((np.ones(len(columns)), columns, np.concatenate([[0], ends])), shape=self.shape)


Matrix = Any  # a dense array, compressed rows or intervals


def _whole(given: Any, field: str) -> NDArray[np.int64]:
    found = np.asarray(given)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InvalidProblem(f"{field}: must be a list of whole numbers, one for each query; it has type {found.dtype}.")
    return found.astype(np.int64)


def settled(matrix: Matrix) -> Matrix:
    """The one form in which rows of these entries are kept, however they were given.

    Up to `WRITTEN_OUT` entries as they were given. Above, as intervals where all rows are such; and above `DENSE_KEPT` as
    compressed rows where few entries are not 0, and written out where many are.
    """
    entries = matrix.shape[0] * matrix.shape[1]
    if isinstance(matrix, IntervalRows):
        return matrix if entries > WRITTEN_OUT else frozen(matrix.toarray())
    if entries <= WRITTEN_OUT:
        return matrix
    found = intervals_in(matrix)
    if found is not None or entries <= DENSE_KEPT:
        return matrix if found is None else found
    count = np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else matrix.count_nonzero()
    if SPARSE * count > entries:
        return matrix if isinstance(matrix, np.ndarray) else frozen(matrix.toarray())
    if isinstance(matrix, np.ndarray):
        from scipy.sparse import csr_array

        matrix = csr_array(matrix)
    return matrix


def intervals_in(matrix: Any) -> IntervalRows | None:
    """The rows as intervals of ones; None where some row is none."""
    if isinstance(matrix, np.ndarray):
        if not ((matrix == 0) | (matrix == 1)).all():
            return None
        starts = matrix.argmax(axis=1)
        lengths = np.count_nonzero(matrix, axis=1)
        ends = matrix.shape[1] - matrix[:, ::-1].argmax(axis=1)
    else:
        if not (matrix.data == 1).all():
            return None
        lengths = np.diff(matrix.indptr)
        if not len(matrix.indices):
            starts = ends = np.zeros(len(lengths), dtype=np.int64)
        else:
            at = np.minimum(matrix.indptr[:-1], len(matrix.indices) - 1)
            starts, ends = matrix.indices[at].astype(np.int64), matrix.indices[matrix.indptr[1:] - 1].astype(np.int64) + 1
    empty = lengths == 0
    starts, ends = np.where(empty, 0, starts), np.where(empty, 0, ends)
    return IntervalRows(starts, ends, matrix.shape[1]) if (ends - starts == lengths).all() else None


def compressed(matrix: Matrix) -> csr_array:
    """Rows as compressed rows, whatever form they have."""
    from scipy.sparse import csr_array

    if isinstance(matrix, np.ndarray):
        return csr_array(matrix)
    return matrix.tocsr() if isinstance(matrix, IntervalRows) else matrix


def distinct_columns(matrix: Matrix) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of each kind of columns the first place, (C,) in order, and the kind of every column, (N,); of long intervals equal
    columns beside each other are taken for a kind."""
    if isinstance(matrix, IntervalRows) and matrix.lengths.sum() > BLOCK:
        ends = np.unique(np.concatenate([[0], matrix.starts, matrix.ends]))
        first = ends[ends < matrix.size]
        return first, np.searchsorted(first, np.arange(matrix.size), side="right") - 1
    if isinstance(matrix, np.ndarray):
        first, label = np.unique(matrix, axis=1, return_index=True, return_inverse=True)[1:]
    else:
        columns = compressed(matrix).tocsc()
        columns.sum_duplicates()
        columns.eliminate_zeros()
        keys, starts = dict[tuple[bytes, bytes], int](), columns.indptr.tolist()
        held = [(columns.indices[a:b].tobytes(), columns.data[a:b].tobytes()) for a, b in itertools.pairwise(starts)]
        first, label = np.unique([keys.setdefault(key, len(keys)) for key in held], return_index=True, return_inverse=True)[1:]
    order = np.argsort(first)
    return first[order], np.argsort(order)[np.ravel(label)]


def entries_of(matrix: Matrix) -> NDArray[Any]:
    """All entries that may be other than 0, (n,)."""
    if isinstance(matrix, IntervalRows):
        return np.ones(1) if matrix.lengths.any() else np.zeros(1)
    return matrix.ravel() if isinstance(matrix, np.ndarray) else matrix.data


def same(one: Matrix, other: Matrix) -> bool:
    """Whether two matrices have the same entries, in whatever forms they are kept."""
    if one.shape != other.shape:
        return False
    if isinstance(one, IntervalRows) and isinstance(other, IntervalRows):
        return np.array_equal(one.starts, other.starts) and np.array_equal(one.ends, other.ends)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    step = max(1, BLOCK // one.shape[1])
    return all(
        np.array_equal(written_out(one[at : at + step]), written_out(other[at : at + step]))
        for at in range(0, one.shape[0], step)
    )


def written_out(matrix: Matrix) -> Floats:
    """The rows as a dense array; `InvalidProblem`, before anything is written, above `MOST_EXPANDED_ENTRIES` entries."""
    if isinstance(matrix, np.ndarray):
        return matrix
    queries, elements = matrix.shape
    if queries * elements > MOST_EXPANDED_ENTRIES:
        raise InvalidProblem(
            f"workload.matrix: {queries:,} queries over {elements:,} elements would be written out to "
            f"{queries * elements * 8e-9:.3g} GB; the families laplace, diagonal_gaussian and gaussian take them as they are "
            "described, under one budget for all changes (metrics.uniform, metrics.add_remove): use these, or merge elements."
        )
    return np.asarray(matrix.toarray(), dtype=np.float64)


def rows_of(matrix: Matrix, places: Any) -> NDArray[Any]:
    """Some of the rows, written out, (n, N); places: (n,)."""
    if not len(places):
        return np.zeros((0, matrix.shape[1]))
    return matrix[places] if isinstance(matrix, np.ndarray) else np.asarray(matrix[np.asarray(places)].toarray())


def counted(rows: Matrix) -> NDArray[np.int64]:
    """How many entries of each row may be other than 0, (K,)."""
    if isinstance(rows, IntervalRows):
        return rows.lengths
    return np.asarray(np.count_nonzero(rows, axis=1) if isinstance(rows, np.ndarray) else np.diff(rows.indptr))


def row_places(rows: csr_array) -> NDArray[np.intp]:
    """The row of every entry of compressed rows, (n,)."""
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))


def largest_entries(rows: Matrix) -> Floats:
    """The largest size of an entry of each row, (K,)."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.abs(rows).max(axis=1))
    if isinstance(rows, IntervalRows):
        return np.asarray(rows.lengths > 0, dtype=np.float64)
    found = np.zeros(rows.shape[0])
    np.maximum.at(found, row_places(rows), np.abs(rows.data))
    return found


def extremes(rows: Matrix) -> tuple[NDArray[Any], NDArray[Any]]:
    """The least and the largest entry of each row that is described, zeros among them, (K,) each."""
    lengths = counted(rows)
    if isinstance(rows, IntervalRows):
        return (lengths == rows.size).astype(np.int64), (lengths > 0).astype(np.int64)
    least, most = np.zeros(len(lengths), dtype=rows.dtype), np.zeros(len(lengths), dtype=rows.dtype)
    full = lengths == rows.shape[1]
    least[full] = most[full] = rows.data[rows.indptr[:-1][full]]
    places = row_places(rows)
    np.minimum.at(least, places, rows.data)
    np.maximum.at(most, places, rows.data)
    return least, most


def row_sums(rows: Matrix) -> Floats:
    """The sum of the sizes of the entries of each row that is described, (K,)."""
    if isinstance(rows, IntervalRows):
        return rows.lengths.astype(np.float64)
    return np.asarray(np.bincount(row_places(rows), np.abs(rows.data).astype(np.float64), rows.shape[0]), dtype=np.float64)


def with_entries(rows: csr_array, entries: NDArray[Any]) -> csr_array:
    """Compressed rows with other entries, (n,), at the same places."""
    from scipy.sparse import csr_array

    return csr_array((entries, rows.indices, rows.indptr), shape=rows.shape)


def difference(one: Matrix, other: Matrix) -> Matrix:
    """`|P - Q|` of two matrices: dense, or compressed rows where neither is written out."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.abs(written_out(one) - written_out(other))
    if isinstance(one, IntervalRows) or isinstance(other, IntervalRows):
        if not (isinstance(one, IntervalRows) and isinstance(other, IntervalRows) and same(one, other)):
            return np.abs(written_out(one) - written_out(other))
        from scipy.sparse import csr_array

        return csr_array(one.shape)
    return abs(one - other)
