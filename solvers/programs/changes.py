"""A finite family of changes `d_m` of an unknown vector, each with a length budget `b_m`.

The three programs that share it ask for matrices `B` (strategies), functions `p` (Lipschitz fits) or both with
`||B d_m||_1 <= b_m` for every m. Most changes are differences `e_i - e_j` of unit vectors, so the matrix is kept sparse.
What changes and budgets stand for: docs/theory/strategies.md, section 1, and biased.md. Families too large to be written out
are `ChangeSet`s: they are asked for their steepest members only, which a `WorkingSet` collects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.rounding import product

Array = NDArray[np.float64]

Keys = NDArray[np.int64]

# Columns handled at once: with 512 rows 16 MB, where all pairs of N = 256 at once would take 134 MB.
CHUNK = 4096
WRITTEN_OUT = 100_000  # numbers of a matrix that is small
FULL_ENTRIES = 10_000


class ChangeSet(Protocol):
    """Changes that need not be written out: what a program asks of them while it grows its working set."""

    @property
    def size(self) -> int:
        """N, the dimension of the unknown."""

    def steepest(self, rows: Array, limit: int) -> Steepest:
        """The largest `sum_j |rows_j d_m| / b_m` over all changes, and up to `limit` changes of the largest, rows (p, N)."""


@dataclass(frozen=True, eq=False)
class Steepest:
    """The answer of a scan: the largest length `worst` of all, and some of the steepest `changes` with `keys` (m,) that name
    them."""

    worst: float
    changes: Changes
    keys: Keys


@dataclass(frozen=True, eq=False)
class Changes:
    """Columns `d_m` of `matrix` (N x M, sparse or dense) and `budget` (M,) > 0; infinite budgets bind nothing and are dropped.

    >>> Changes.of_metric([[0, 1, 9], [1, 0, 2], [9, 2, 0]]).worst([[0.0, 1.0, 3.0]])
    1.0
    """

    matrix: Any
    budget: Array

    def __post_init__(self) -> None:
        from scipy.sparse import csc_array

        budget = np.array(self.budget, dtype=float)
        matrix = csc_array(self.matrix, dtype=float, copy=True)
        if budget.ndim != 1 or matrix.shape[1] != budget.size:
            raise ValueError(
                f"budget has shape {budget.shape}, matrix {matrix.shape}: give one budget for each column of matrix."
            )
        if not (budget > 0).all():
            raise ValueError(f"budget has a value {budget.min()}: budgets must be positive (infinite ones are dropped).")
        if not np.isfinite(matrix.data).all():
            raise ValueError("matrix has entries that are not finite: remove those changes.")
        kept = np.isfinite(budget)
        if not kept.all():
            matrix, budget = matrix[:, kept], budget[kept]
        for array in (budget, matrix.data, matrix.indices, matrix.indptr):
            array.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "budget", budget)

    def among(self, chosen: NDArray[np.intp]) -> Changes:
        """The changes that move none but the chosen coordinates (n,), over these.

        >>> Changes.of_metric([[0, 1, 9], [1, 0, 2], [9, 2, 0]]).among(np.array([1, 2])).matrix.toarray().tolist()
        [[1.0], [-1.0]]
        """
        part = self.matrix[chosen]
        kept = np.diff(part.indptr) == np.diff(self.matrix.indptr)
        return Changes(part[:, kept], self.budget[kept])

    @classmethod
    def pairs(cls, size: int, left: ArrayLike, right: ArrayLike, budget: ArrayLike) -> Changes:
        """`e_left - e_right` in R^size; `right = -1` stands for the origin, so that the change is `e_left` itself.

        left, right, budget: (M,). ValueError where positions are not below `size` or do not differ.
        """
        from scipy.sparse import coo_array

        i, j = np.asarray(left, dtype=np.intp), np.asarray(right, dtype=np.intp)
        if i.shape != j.shape or i.ndim != 1:
            raise ValueError(f"left and right have shapes {i.shape} and {j.shape}: give two lists of equal length.")
        if i.size and (min(i.min(), j.min() + 1) < 0 or max(i.max(), j.max()) >= size or (i == j).any()):
            raise ValueError(f"left and right must be different positions below size = {size}, right may be -1 for the origin.")
        column, to_point = np.arange(i.size), j >= 0
        values = np.concatenate([np.ones(i.size), -np.ones(int(to_point.sum()))])
        rows, columns = np.concatenate([i, j[to_point]]), np.concatenate([column, column[to_point]])
        return cls(coo_array((values, (rows, columns)), shape=(size, i.size)), np.asarray(budget, dtype=float))

    @classmethod
    def of_metric(cls, distance: ArrayLike) -> Changes:
        """Every pair `i < j` of the symmetric matrix `distance` (N x N), infinite entries dropped.

        distance: (N, N). ValueError where it is not symmetric.
        """
        d = np.asarray(distance, dtype=float)
        if d.ndim != 2 or d.shape[0] != d.shape[1] or not np.array_equal(d, d.T):
            raise ValueError(f"distance has shape {d.shape}: give a symmetric square matrix.")
        i, j = np.triu_indices(len(d), 1)
        return cls.pairs(len(d), i, j, d[i, j])

    @classmethod
    def units(cls, budget: ArrayLike) -> Changes:
        """The unit vectors `e_i`, one budget each: (N,)."""
        b = np.asarray(budget, dtype=float)
        return cls.pairs(b.size, np.arange(b.size), np.full(b.size, -1), b)

    @property
    def size(self) -> int:
        """N, the dimension of the unknown."""
        return int(self.matrix.shape[0])

    @property
    def count(self) -> int:
        """M, the number of changes with a finite budget."""
        return int(self.budget.size)

    @cached_property
    def typical_budget(self) -> float:
        """The median of the budgets."""
        return float(np.median(self.budget))

    @cached_property
    def written_out(self) -> Array | None:
        """The matrix (N, M) with its zeros, where it is small: products with it take a tenth of the time then, most of which
        sparse arrays spend on looking after themselves. None for larger ones."""
        if self.size * self.count > WRITTEN_OUT:
            return None
        dense: Array = self.matrix.toarray()
        dense.setflags(write=False)
        return dense

    def steadily_along(self, rows: Array, index: slice | NDArray[np.intp] = slice(None)) -> Array:
        """As `along`, added up in one order on every processor."""
        full = self._full
        return np.asarray((self.matrix[:, index].T @ rows.T).T) if full is None else product(rows, full[:, index])

    def steadily_back(self, pull: Array, index: NDArray[np.intp]) -> Array:
        """As `back`, added up in one order on every processor."""
        full = self._full
        return np.asarray((self.matrix[:, index] @ pull.T).T) if full is None else product(pull, full[:, index].T)

    @cached_property
    def _full(self) -> Array | None:
        """The matrix with its zeros, where products in one order are faster with them."""
        entries = self.size * self.count
        return self.written_out if entries <= FULL_ENTRIES or 4 * self.matrix.nnz > entries else None

    def along(self, rows: ArrayLike, index: slice | NDArray[np.intp] = slice(None)) -> Array:
        """`rows @ D[:, index]` of shape (p, m) for `rows` (p, N)."""
        matrix = self.matrix if self.written_out is None else self.written_out
        return np.asarray(np.atleast_2d(np.asarray(rows, dtype=float)) @ matrix[:, index])

    def back(self, pull: Array, index: NDArray[np.intp]) -> Array:
        """`pull @ D[:, index]'` of shape (p, N) for `pull` (p, m): what `along` multiplies, the other way."""
        if self.written_out is not None:
            return np.asarray(pull @ self.written_out[:, index].T)
        return np.asarray((self.matrix[:, index] @ pull.T).T)

    def lengths(self, rows: ArrayLike, rounding: float = 0.0) -> Array:
        """`sum_j |rows_j d_m| / b_m` for every m, shape (M,); `rounding` replaces |x| by `sqrt(x^2 + rounding^2)`."""
        parts = []
        for start in range(0, self.count, CHUNK):
            moved = self.along(rows, slice(start, start + CHUNK))
            parts.append((np.hypot(moved, rounding) if rounding else np.abs(moved)).sum(axis=0))
        return np.concatenate([*parts, np.zeros(0)]) / self.budget

    def worst(self, rows: ArrayLike) -> float:
        """The largest of `lengths(rows)`, rows (p, N); 0 when there are no changes. `rows / worst` is feasible."""
        return float(self.lengths(rows).max(initial=0.0))

    def steepest(self, rows: ArrayLike, limit: int) -> Steepest:
        """The `limit` changes of greatest length, in falling order, rows (p, N); their keys are column numbers."""
        lengths = self.lengths(rows)
        chosen = np.argsort(-lengths, kind="stable")[:limit]
        chosen = chosen[lengths[chosen] > 0.0]
        return Steepest(float(lengths.max(initial=0.0)), self.chosen(chosen), chosen.astype(np.int64))

    def chosen(self, index: NDArray[np.intp]) -> Changes:
        """The changes of these numbers, in this order, index (m,)."""
        return Changes(self.matrix[:, index], self.budget[index])

    def joined(self, others: Changes) -> Changes:
        """These changes, then the others."""
        from scipy.sparse import hstack

        return Changes(hstack([self.matrix, others.matrix], format="csc"), np.concatenate([self.budget, others.budget]))

    def unit_budgets(self) -> Array | None:
        """What each `e_i` may cost, (N,), infinite where nothing binds; None unless all changes are along unit vectors."""
        if self.count == 0 or not (np.diff(self.matrix.indptr) == 1).all() or not self.matrix.data.all():
            return None
        least = np.full(self.size, np.inf)
        np.minimum.at(least, self.matrix.indices, self.budget / np.abs(self.matrix.data))
        return least

    def span(self) -> Array:
        """Orthonormal basis (N, r) of the span of all changes: what no budget reaches needs no noise."""
        return self._span

    @cached_property
    def _span(self) -> Array:
        if (alone := self.unit_budgets()) is not None:
            found = np.eye(self.size)[:, np.isfinite(alone)]
        else:
            scaled = self.matrix * (1.0 / np.sqrt(np.maximum(self.matrix.power(2).sum(axis=0), 1e-300)))
            values, vectors = np.linalg.eigh((scaled @ scaled.T).toarray())
            # Integer changes of N <= 1000 points have eigenvalues of at least about 1/N^2 (a path graph) or exactly 0.
            kept = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
            found = np.eye(self.size) if kept.all() else vectors[:, kept]
        found = np.ascontiguousarray(found)
        found.setflags(write=False)
        return found


@dataclass
class WorkingSet:
    """The changes that a program knows so far, each once; it grows by what scans find."""

    changes: Changes
    keys: Keys

    @classmethod
    def of(cls, found: Steepest) -> WorkingSet:
        """The changes that a first scan found."""
        return cls(found.changes, found.keys)

    def add(self, found: Steepest, longer: NDArray[np.bool_] | None = None) -> bool:
        """Take in what is not known yet, of it only where `longer` (m,) is true; False when nothing was new."""
        new = ~np.isin(found.keys, self.keys)
        new &= True if longer is None else longer
        if not new.any():
            return False
        self.changes = self.changes.joined(found.changes.chosen(np.flatnonzero(new)))
        self.keys = np.concatenate([self.keys, found.keys[new]])
        return True

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget the changes that are not `kept`, (m,)."""
        self.changes, self.keys = self.changes.chosen(np.flatnonzero(kept)), self.keys[kept]
