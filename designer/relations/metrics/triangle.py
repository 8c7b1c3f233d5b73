"""The triangle inequality of a matrix of budgets: checked, repaired by shortest paths, and used to drop implied pairs.

Why a closure promises no more: docs/theory/metrics.md, section 1.
"""

from __future__ import annotations

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.errors import InvalidProblem
from designer.base.progress import track
from designer.problem.relation import Indices

# Distances computed in floating point miss the inequality by a few units in the last place;
# every pair is certified by itself anyway.
ROUNDING = 1e-9

# Above this many points the O(N^3) search for implied pairs costs more than it saves: 3 s at N = 741.
IMPLIED_LIMIT = 400


# Rows that are compared at once, of a matrix whose rows are looked at two by two from this many points on.
ROWS, PAIRWISE = 64, 256
HIDDEN = 1e-13  # a detour that is shorter by less is one of rounding; a thousand of them are still below `ROUNDING`


def detours(d: Floats, beyond: float) -> list[int]:
    """The points, in order, through which some way may be shorter than the direct one by more than a part `beyond` of a leg.

    `d(i, j) > d(i, k) + d(k, j)` for some j is `max_j |d(i, j) - d(k, j)| > d(i, k)`, here or with i and k exchanged: one
    comparison of two rows for all j, in compiled code, half of all pairs of rows.
    d: (N, N), symmetric.
    """
    if len(d) < PAIRWISE:
        return list(range(len(d)))
    from scipy.spatial.distance import cdist

    finite = np.isfinite(d)
    far = 4 * float(d[finite].max(initial=1.0))
    rows, found = np.where(finite, d, far), np.zeros(len(d), dtype=bool)
    for start in track(range(0, len(d), ROWS), "checking the triangle inequality"):
        here = slice(start, start + ROWS)
        farthest = cdist(rows[here], rows[start:], "chebyshev")
        i, k = np.nonzero((farthest > d[here, start:] * (1 + beyond)) & finite[here, start:])
        found[start + i] = found[start + k] = True
    return np.flatnonzero(found).tolist()


def require_triangle_inequality(d: Floats) -> None:
    """Raise `InvalidProblem` with the worst detour through some k when `d(i, j) > d(i, k) + d(k, j)`."""
    for k in detours(d, ROUNDING / 2):
        detour = d[:, k, None] + d[None, k]
        broken = d > detour * (1 + ROUNDING)
        if broken.any():
            i, j = (int(v) for v in np.argwhere(broken)[0])
            raise InvalidProblem(
                f"metric.matrix: breaks the triangle inequality: d({i}, {j}) = {d[i, j]} is more than d({i}, {k}) + d({k}, "
                f"{j}) = {detour[i, j]}. A change {i} -> {k} -> {j} already costs less, so what is guaranteed is the "
                "shortest-path closure: pass closure=True to accept it."
            )


def shortest_paths(d: Floats) -> tuple[Floats, np.ndarray[tuple[int, int], np.dtype[np.bool_]]]:
    """The shortest-path closure, and which entries it lowered.

    A lowered entry is a sum of at most N given budgets in floating point. It is rounded up by the error of such a sum, so it is
    never below the exact sum along the path: it claims no more than the given budgets imply.
    d: (N, N), symmetric, nonnegative, infinite where nothing is promised. Returns the closure (N, N) and a mask (N, N).
    """
    # Not scipy's csgraph, which reads a budget of 0 as "no edge". A shortest path of fewest steps a, k, b, ... has
    # d(a, b) > d(a, k) + d(k, b) for any three in a row: only points on such detours are passed through.
    closed = d.copy()
    with np.errstate(over="ignore"):
        for k in track(detours(d, HIDDEN), "shortest paths"):
            np.minimum(closed, closed[:, k, None] + closed[None, k], out=closed)
    lowered = closed < d * (1 - ROUNDING)
    closed = np.where(lowered, closed * (1 + 2.0**-50 * len(d)), d)
    np.fill_diagonal(closed, 0.0)
    return np.maximum(closed, closed.T), lowered


def implied_pairs(d: Floats) -> Indices | None:
    """The pairs i < j with finite budget that no third point implies, as rows; None (keep all) above `IMPLIED_LIMIT` points.

    (i, j) is implied when `d(i, k) + d(k, j) <= d(i, j)` holds exactly for some k with both parts positive: a norm that keeps
    the two shorter promises keeps the third. Both parts are shorter, so the argument ends. In floats: fl is monotone, hence
    fl(a + b) < d proves a + b < d, and at fl(a + b) = d the exact rounding error (Knuth's TwoSum) decides.

    >>> implied_pairs(np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])).tolist()
    [[0, 1], [1, 2]]
    """
    if len(d) > IMPLIED_LIMIT:
        return None
    implied = np.zeros(d.shape, dtype=bool)
    for k in range(len(d)):
        a = np.where(d[:, k] > 0, d[:, k], np.inf)
        first, second = np.broadcast_arrays(a[:, None], a[None])
        total = first + second
        with np.errstate(invalid="ignore"):
            back = total - first
            error = (first - (total - back)) + (second - back)
        implied |= (total < d) | ((total == d) & (error <= 0) & np.isfinite(total))
    return frozen(np.argwhere(np.triu(~implied & np.isfinite(d), 1)))
