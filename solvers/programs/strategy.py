"""Linear strategies: which rows `B x` to measure with unit Laplace noise, and what the answers `Q x` then cost.

One measurement `B x + L`, L iid Laplace of scale 1, serves any number of answers: with Z an orthonormal basis of the span
of the changes, `G = Q Z (B Z)^+` turns it into `Q x + G L`. No budget limits the part of x outside the span; it is
answered exactly. Feasible means `||B d_m||_1 <= b_m` for every change; the total squared error is `2 ||G||_F^2`
(a unit Laplace variable has variance 2). Derivation in docs/theory/strategies.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.polytopes.pivot_columns import pivots
from solvers.programs.changes import Changes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Strategy:
    """Rows `matrix` (p, N), each measured with Laplace noise of scale 1: scales are part of the rows (`B = diag(1/c) A`).

    >>> Strategy(np.eye(2), "identity").error(np.eye(2), Changes.units([1.0, 1.0]))
    4.0
    """

    matrix: Array
    name: str

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=float)
        if matrix.ndim != 2 or not np.isfinite(matrix).all():
            raise ValueError(f"matrix has shape {matrix.shape} or entries that are not finite: give a finite p x N array.")
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    def reconstruction(self, workload: ArrayLike, changes: Changes) -> Array:
        """`G = Q Z (B Z)^+` of shape (K, p): the noise of `Q x` is `G L`, and `G B d_m = Q d_m` for every change.

        Raises ValueError when some answer moves where no measured row moves.
        """
        span = changes.span()
        measured, wanted = self.matrix @ span, np.atleast_2d(np.asarray(workload, dtype=float)) @ span
        inverse = np.linalg.pinv(measured, rcond=1e-11)
        missing = np.abs(wanted @ (inverse @ measured) - wanted).max(axis=1, initial=0.0)
        size = np.abs(np.atleast_2d(np.asarray(workload, dtype=float))).max(axis=1, initial=0.0)
        if (missing > np.maximum(1e-6 * np.abs(wanted).max(axis=1, initial=0.0), 1e-12 * size)).any():
            raise ValueError(
                f"strategy {self.name!r} does not determine the workload (residual {missing.max():.2g}): add rows."
            )
        return np.asarray(wanted @ inverse)

    def error(self, workload: ArrayLike, changes: Changes) -> float:
        """Total squared error `2 ||G||_F^2` of the answers.

        workload Q: (K, N). docs/theory/strategies.md, section 1.
        """
        return float(2.0 * np.square(self.reconstruction(workload, changes)).sum())


def fit_to_budgets(matrix: ArrayLike, changes: Changes, name: str) -> Strategy:
    """The strategy `matrix / t`, t the least number that makes it feasible, rounded up until the recomputed ratio is <= 1.

    matrix: (p, N).
    """
    rows = np.array(matrix, dtype=float)
    scale = changes.worst(rows)
    if scale == 0.0:
        return Strategy(rows, name)
    while changes.worst(rows / scale) > 1.0:
        scale *= 1.0 + 2.0**-52
    return Strategy(rows / scale, name)


def gram_error(gram: ArrayLike, matrix: ArrayLike, span: Array) -> float:
    """`2 tr(Z'WZ (Z'B'BZ)^-1)` for `gram = W = Q'Q` (N, N), which never forms Q. `inf` when B Z lacks full column rank."""
    measured = np.asarray(matrix, dtype=float) @ span
    values, vectors = np.linalg.eigh(measured.T @ measured)
    if values.size == 0:
        return 0.0
    if values[0] <= 1e-13 * values[-1]:
        return float("inf")
    basis = span @ vectors
    return float(2.0 * (np.einsum("ij,ij->j", basis, np.asarray(gram) @ basis) / values).sum())


def with_total(n: int) -> Array:
    """Every element and their total: (n + 1, n)."""
    return np.vstack([np.eye(n), np.ones((1, n))])


def prefix(n: int) -> Array:
    """Running totals, lower triangular (n, n)."""
    return np.tri(n)


def hierarchical(n: int, branching: int = 2) -> Array:
    """Totals over the nodes of a tree above `n` ordered elements; a node splits into `branching` parts as equal as possible.

    >>> hierarchical(3).astype(int).tolist()
    [[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    if branching < 2:
        raise ValueError(f"branching is {branching}: a node must split into at least 2 parts.")
    rows = [_indicator(n, a, b) for a, b in _nodes(0, n, branching)]
    return np.array(rows)


def wavelet(n: int) -> Array:
    """Haar wavelet on a balanced binary tree, square for any n: the total, and left half minus right half at each inner node.

    >>> wavelet(3).astype(int).tolist()
    [[1, 1, 1], [1, 1, -1], [1, -1, 0]]
    """
    rows = [np.ones(n)]
    for a, b in _nodes(0, n, 2):
        if b - a > 1:
            (left, right) = _parts(a, b, 2)
            rows.append(_indicator(n, *left) - _indicator(n, *right))
    return np.array(rows)


def _parts(a: int, b: int, branching: int) -> list[tuple[int, int]]:
    cuts = [a - ((a - b) * k) // branching for k in range(branching + 1)]
    return [(lo, hi) for lo, hi in pairwise(cuts) if hi > lo]


def _nodes(a: int, b: int, branching: int) -> Iterator[tuple[int, int]]:
    yield a, b
    if b - a > 1:
        for lo, hi in _parts(a, b, branching):
            yield from _nodes(lo, hi, branching)


def _indicator(n: int, a: int, b: int) -> Array:
    row = np.zeros(n)
    row[a:b] = 1.0
    return row


def independent_rows(workload: ArrayLike) -> NDArray[np.intp]:
    """Positions of a maximal set of independent rows of Q, by pivoted QR: rows that the others determine worst are kept.

    workload Q: (K, N). Returns positions (rank,) in rising order.

    >>> independent_rows([[1, 0], [2, 0], [0, 3]]).tolist()
    [1, 2]
    """
    order, distances = pivots(np.atleast_2d(np.asarray(workload, dtype=float)).T)
    return np.sort(order[distances > 1e-11 * distances.max(initial=0.0)])


def spectral(gram: ArrayLike) -> Array:
    """Eigenvectors of W = Q'Q times eigenvalue^(1/4), weights that would suit Euclidean lengths: a starting point.

    gram W: (N, N). Returns (rank, N).
    """
    values, vectors = np.linalg.eigh(np.asarray(gram, dtype=float))
    kept = values > 1e-11 * values.max(initial=0.0)
    return np.asarray((vectors[:, kept] * values[kept] ** 0.25).T)


def fixed_strategies(n: int, ordered: bool = True) -> dict[str, Array]:
    """Named strategies that do not look at the workload; `ordered` says whether intervals of elements mean something."""
    named = {"identity": np.eye(n), "identity and total": with_total(n)}
    if ordered:
        named |= {"prefix": prefix(n), "wavelet": wavelet(n)}
        named |= {f"tree of {k}": hierarchical(n, k) for k in (2, 4, 8, 16) if k < n}
    return named


def best_fixed(gram: ArrayLike, changes: Changes, candidates: dict[str, Array]) -> Strategy:
    """The candidate of least error once scaled to the budgets, by `gram_error`; candidates that lack rank are passed over.

    gram W: (N, N). candidates: matrices (p, N) by name. ValueError where none has full rank on the span of the changes.
    """
    span = changes.span()
    fitted = [fit_to_budgets(matrix, changes, name) for name, matrix in candidates.items()]
    errors = [gram_error(gram, strategy.matrix, span) for strategy in fitted]
    if not fitted or not np.isfinite(min(errors)):
        raise ValueError("no candidate strategy has full rank on the span of the changes: add the identity.")
    return fitted[int(np.argmin(errors))]


def all_ranges_gram(n: int) -> Array:
    """`Q'Q` of all n(n+1)/2 intervals: entry (i, j), i <= j, counts the intervals that contain both, `(i + 1)(n - j)`."""
    i = np.arange(n, dtype=float)
    return np.asarray((np.minimum.outer(i, i) + 1.0) * (n - np.maximum.outer(i, i)))
