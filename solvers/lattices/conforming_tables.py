"""Nonnegative integer vectors h with `A h = t`: all of them, which entries can be positive,
and the fewest moves between two of them.

Why moves of records are all that counts: docs/theory/invariants.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.exact.points import is_combination
from solvers.limited import integer_program
from solvers.limits import LARGEST_TOTAL
from solvers.programs.nearest_sums import none_at_all

Integers = NDArray[np.int64]
GONE_THROUGH = 100_000  # vectors, a second


@dataclass(frozen=True, eq=False)
class Fibre:
    """The vectors `{h >= 0 integer : A h = t}` for an integer matrix A (p, N) and totals t (p,)."""

    matrix: Integers
    totals: Integers

    def __init__(self, matrix: ArrayLike, totals: ArrayLike) -> None:
        rows, sums = np.array(matrix, dtype=np.int64), np.array(totals, dtype=np.int64)
        if rows.ndim != 2 or sums.shape != rows.shape[:1]:
            raise ValueError(f"totals have shape {sums.shape}, matrix {rows.shape}: give one total for each row of matrix.")
        for array in (rows, sums):
            array.setflags(write=False)
        object.__setattr__(self, "matrix", rows)
        object.__setattr__(self, "totals", sums)

    @property
    def size(self) -> int:
        """N, the length of the vectors."""
        return int(self.matrix.shape[1])

    def vectors(self, limit: int) -> Integers | None:
        """All of them, (M, N), or None when there are more than `limit`. Needs A >= 0 without zero columns.

        >>> Fibre([[1, 1, 0], [0, 1, 1]], [1, 1]).vectors(10).tolist()
        [[0, 1, 0], [1, 0, 1]]
        """
        if (self.matrix < 0).any() or not self.matrix.any(axis=0).all():
            raise ValueError("matrix must be nonnegative without zero columns, or there may be infinitely many vectors.")
        found = list(islice(self._listed(), limit + 1))
        return None if len(found) > limit else np.array(found, dtype=np.int64).reshape(len(found), self.size)

    def _listed(self) -> Iterator[tuple[int, ...]]:
        columns = [[(k, int(c)) for k, c in enumerate(column) if c] for column in self.matrix.T]
        # Entry j is the last that can serve the rows `closing[j]`: by then they must be served.
        last = {k: j for j, column in enumerate(columns) for k, _ in column}
        closing = [[k for k, j in last.items() if j == position] for position in range(self.size)]
        if any(total for k, total in enumerate(self.totals.tolist()) if k not in last):
            return iter(())
        return _served(columns, closing, self.totals.tolist(), [0] * self.size, 0)

    def with_positive(self, entry: int) -> Integers | None:
        """Some h with that entry at least 1, (N,); None where there is none, which is proven.

        By a list of all vectors where they are few; otherwise as in `is_proven_empty`, or by a solver, whose vector is checked.
        `RuntimeError` where neither has an answer.
        """
        one = np.eye(self.size, dtype=np.int64)[entry]
        rest = Fibre(self.matrix, self.totals - self.matrix @ one)
        if rest._few:
            first = next(rest._listed(), None)
            return None if first is None else np.array(first, dtype=np.int64) + one
        totals = rest.totals.astype(float)
        if (np.abs(totals) >= LARGEST_TOTAL).any():
            raise RuntimeError(f"integer program: totals of {LARGEST_TOTAL:.0f} and more are no exact floats.")
        if rest.is_proven_empty():
            return None
        found = integer_minimum(
            np.zeros(self.size), self.matrix, totals, totals, np.zeros(self.size), np.full(self.size, np.inf)
        )
        if found is None:
            raise RuntimeError(f"integer program: none was found with entry {entry} positive, and nothing proves that none is.")
        return np.asarray(found + one, dtype=np.int64)

    def is_proven_empty(self) -> bool:
        """Whether there is provably no such vector: by a list of all where they are few; by multipliers (Farkas), so that no
        real one has the totals; or since no whole one has them, whatever its signs. False where nothing is proven.

        >>> [Fibre(rows, [3]).is_proven_empty() for rows in ([[2, 2]], [[2, 2, -2]], [[-1, -2]], [[1, -2]])]
        [True, True, True, False]
        """
        from scipy.sparse import csr_array

        if self._few:
            return next(self._listed(), None) is None
        if not is_combination(self.totals.tolist(), self.matrix.T):
            return True
        exact = bool((np.abs(self.totals) < LARGEST_TOTAL).all())
        return exact and none_at_all(csr_array(self.matrix), self.totals.astype(float))

    @property
    def _few(self) -> bool:
        """Whether all vectors within the largest entries that totals allow are gone through in a second."""
        if (self.matrix < 0).any() or not self.matrix.any(axis=0).all():
            return False
        columns, totals = self.matrix.T.tolist(), self.totals.tolist()
        highest = [min(t // c for t, c in zip(totals, column, strict=True) if c) for column in columns]
        return bool(math.prod(max(0, most) + 1 for most in highest) <= GONE_THROUGH)

    def fewest_moves(self, out: int, into: int) -> int | None:
        """The least number of units that must move when one moves from entry `out` to `into`
        and `A h = t` holds before and after.

        From the best vector before; None when it is impossible, which is proven. An integer program: with
        `h' = h + e_into - e_out + w`, minimise the sum of the positive part of w. Its vectors are checked in whole numbers, so
        no fewer are told than move between two of them. It is possible whenever some h has `out` positive and some h' has
        `into`; `RuntimeError` where a solver says that it is not.
        """
        n, zero = self.size, np.zeros((len(self.matrix), self.size))
        shift = self.matrix[:, out] - self.matrix[:, into]
        eye = np.eye(n)
        # Variables h, w+, w-.
        equal = np.block([[self.matrix, zero, zero], [zero, self.matrix, -self.matrix]])
        solved = integer_minimum(
            np.concatenate([np.zeros(n), np.ones(n), np.zeros(n)]),
            np.vstack([equal, np.block([eye, eye, -eye])]),
            np.concatenate([self.totals, shift, eye[out]]),
            np.concatenate([self.totals, shift, np.full(n, np.inf)]),
            np.concatenate([eye[out], np.zeros(2 * n)]),
            np.full(3 * n, np.inf),
        )
        if solved is not None:
            return 1 + int(solved[n : 2 * n].sum())
        if self.with_positive(out) is not None and self.with_positive(into) is not None:
            raise RuntimeError(f"integer program: no units move from entry {out} to {into}, though there are two such vectors.")
        return None


def most_moves(vectors: Integers, stop: int | None = None) -> int:
    """The largest, over vectors h and entries x != y with `h_x >= 1`, of the least number of units that must move from h to
    another of the given vectors, (M, N), one of them from x to y; 0 where none can. The search ends once `stop` is reached.

    To h' move the positive parts of `d = h' - h`; the one from x to y spares one where `d_y >= 1`,
    and costs one more where `d_x >= 0`.

    >>> most_moves(np.array([[2, 0, 0, 1], [1, 1, 1, 0]]))
    3
    """
    held = np.asarray(vectors, dtype=np.int64)
    apart = np.zeros((len(held), len(held)), dtype=np.int64)
    for column in held.T:
        apart += np.maximum(column[None, :] - column[:, None], 0)
    largest = 0
    for x, before in enumerate(held.T):
        out = np.flatnonzero(before > 0)
        moves = 1 + apart[out] + (before[None, :] >= before[out, None])
        for after in (column for y, column in enumerate(held.T) if y != x and column.any() and len(out)):
            into = np.flatnonzero(after > 0)
            least = (moves[:, into] - (after[into] > after[out, None])).min(axis=1)
            largest = max(largest, int(least.max()))
        if largest == stop:
            break
    return largest


def _served(
    columns: list[list[tuple[int, int]]], closing: list[list[int]], rest: list[int], chosen: list[int], position: int
) -> Iterator[tuple[int, ...]]:
    """Ways to serve what is left of the totals with the entries from `position` on."""
    if position == len(columns):
        yield tuple(chosen)
        return
    column = columns[position]
    for value in range(min(rest[k] // c for k, c in column) + 1):
        left = list(rest)
        for k, c in column:
            left[k] -= value * c
        if not any(left[k] for k in closing[position]):
            chosen[position] = value
            yield from _served(columns, closing, left, chosen, position + 1)


def integer_minimum(
    cost: ArrayLike, rows: ArrayLike, least: ArrayLike, most: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> Integers | None:
    """Integer x of least `cost x` with `least <= rows x <= most` and `lower <= x <= upper` (HiGHS); None when there is none.

    The solution is rounded and checked in integers; `RuntimeError` when the program stops without an answer.
    cost: (d,). rows: (k, d). least, most: (k,). lower, upper: (d,).
    """
    from scipy.optimize import Bounds, LinearConstraint

    prices = np.asarray(cost, dtype=float)
    found = integer_program(
        prices,
        integrality=np.ones(len(prices), dtype=np.int64),
        bounds=Bounds(lower, upper),
        constraints=LinearConstraint(
            np.asarray(rows, dtype=float), np.asarray(least, dtype=float), np.asarray(most, dtype=float)
        ),
    )
    if found.status == 2:
        return None
    if found.x is None or found.status != 0:
        raise RuntimeError(f"integer program: {found.message}")
    x = np.rint(found.x)
    sums = np.asarray(rows, dtype=float) @ x
    if (sums < least).any() or (sums > most).any() or (x < lower).any() or (x > upper).any():
        raise RuntimeError("integer program: its solution does not keep the constraints when it is rounded to integers.")
    return np.asarray(x, dtype=np.int64)
