"""The cone `C = {v >= 0 : v_x <= exp(b(x, x')) v_x'}` of a table of budgets b: log v is 1-Lipschitz where v is not 0.

b (N, N): symmetric, 0 on the diagonal and positive elsewhere, perhaps infinite, with the triangle inequality. Where budgets are
infinite, nothing is asked: C is a product of the cones of the *components*, within which all budgets are finite.
Derivations in docs/theory/columns.md, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.work import spend

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
NEAR = 64  # of the nearest, among which those pairs are looked for that no other pairs imply
IMPLIED = 1 + 1e-12  # the sum of two budgets is the third, but for rounding
STEEPEST = 25.0  # what exp(-25) of an entry asks of another one, a program in floats cannot tell from nothing


def checked_budgets(budgets: ArrayLike) -> Array:
    """The table as floats, (N, N). ValueError for what is not symmetric, or not positive off a diagonal of zeros; that the
    triangle inequality holds is up to the caller."""
    b = np.asarray(budgets, dtype=float)
    if b.ndim != 2 or b.shape[0] != b.shape[1] or not len(b) or np.isnan(b).any() or not (b == b.T).all():
        raise ValueError(f"budgets of shape {b.shape}: give a symmetric table of at least one row, without NaN.")
    if np.diagonal(b).any() or not (b[~np.eye(len(b), dtype=bool)] > 0).all():
        raise ValueError(
            "budgets: give zeros on the diagonal and positive numbers, or inf, elsewhere; merge what may not differ."
        )
    return b


def components(budgets: Array) -> Indices:
    """The component of each element, (N,), numbered by their first elements."""
    first = np.isfinite(budgets).argmax(axis=1)
    return np.unique(first, return_inverse=True)[1].astype(np.intp)


def poles(budgets_to_poles: ArrayLike) -> Array:
    """The columns `exp(-b(x, pole))`, (N, P), in the cone wherever the triangle inequality holds with the poles, too.

    >>> poles([[0.0, np.inf]]).tolist()
    [[1.0, 0.0]]
    """
    return np.asarray(np.exp(-np.asarray(budgets_to_poles, dtype=float)))


def envelope(budgets: Array, columns: Array) -> Array:
    """The least columns of the cone that are nowhere below `columns` (N, C): `max over x' of v_x' exp(-b(x, x'))`.

    >>> envelope(np.array([[0.0, np.log(2)], [np.log(2), 0.0]]), np.array([[8.0, 2.0], [2.0, 3.0]])).round(12).tolist()
    [[8.0, 2.0], [4.0, 3.0]]
    """
    factors = np.exp(-budgets)
    spend(calls=columns.shape[1], entries=float(budgets.size) * columns.shape[1])
    return np.stack([(factors * column).max(axis=1) for column in columns.T], axis=1) if columns.size else columns.copy()


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs `left < right` (E,) with their budgets: what a program asks of the cone. Both directions of each are meant."""

    left: Indices
    right: Indices
    budgets: Array

    def __len__(self) -> int:
        return len(self.left)

    def joined(self, table: Array, left: Indices, right: Indices) -> Edges:
        """These and further pairs of a table of budgets, each once, in order; without those that ask next to nothing."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        keys = np.unique(np.concatenate([self.left * len(table) + self.right, low * len(table) + high]))
        i, j = np.divmod(keys, len(table))
        asks = table[i, j] <= STEEPEST
        return Edges(i[asks], j[asks], table[i, j][asks])


def no_edges() -> Edges:
    """None yet."""
    return Edges(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0))


def near_edges(budgets: Array, near: int = NEAR, stretch: float = 1.0) -> Edges:
    """Pairs of near elements that no two shorter pairs imply, of a total length up to `stretch` as much.

    With all elements near and stretch 1, these imply all pairs.
    """
    n = len(budgets)
    found: list[tuple[Indices, Indices]] = []
    spend(calls=3.0 * n, entries=float(n) * (n + min(near, n) ** 2))
    for x in range(n):
        around = np.argsort(budgets[x], kind="stable")[1 : near + 1]
        around = around[budgets[x, around] <= STEEPEST]
        own, between = budgets[x, around], budgets[np.ix_(around, around)]
        way = own[:, None] + between
        shorter = (own[:, None] < own) & (between < own)
        implied = (shorter & (way <= stretch * IMPLIED * own)).any(axis=0) if len(own) else np.zeros(0, dtype=bool)
        found.append((np.full(int((~implied).sum()), x), around[~implied]))
    left, right = (np.concatenate(part) for part in zip(*found, strict=True))
    return no_edges().joined(budgets, left, right)


def spanner(budgets: Array, stretch: float) -> Edges:
    """The greedy spanner (Althöfer and others 1993): pairs by length, each kept where the way by those before is longer than
    `stretch` as much. O(N^2) for each pair that is kept."""
    n = len(budgets)
    i, j = np.triu_indices(n, 1)
    order = np.argsort(budgets[i, j], kind="stable")
    i, j = i[order], j[order]
    kept: list[int] = []
    ways = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    for k, (x, y) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        own = budgets[x, y]
        if not np.isfinite(own):
            break
        if ways[x, y] <= stretch * IMPLIED * own:
            continue
        kept.append(k)
        there, back = ways[:, x][:, None] + own + ways[y], ways[:, y][:, None] + own + ways[x]
        ways = np.minimum(ways, np.minimum(there, back))
    spend(calls=float(len(i)), entries=4.0 * n * n * len(kept))
    return Edges(i[kept].astype(np.intp), j[kept].astype(np.intp), budgets[i[kept], j[kept]])
