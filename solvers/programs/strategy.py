"""Linear strategies: which rows `B x` to measure with unit Laplace noise, and what the answers `Q x` then cost.

One measurement `B x + L`, L iid Laplace of scale 1, serves any number of answers: with Z an orthonormal basis of the span
of the changes, `G = Q Z (B Z)^+` turns it into `Q x + G L`. No budget limits the part of x outside the span; it is
answered exactly. Feasible means `||B d_m||_1 <= b_m` for every change; the total squared error is `2 ||G||_F^2`
(a unit Laplace variable has variance 2). Derivation in docs/theory/strategies.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.polytopes.extremes import GOLDEN, pivots
from solvers.programs.changes import Changes
from solvers.programs.loads import minimised
from solvers.rounding import rounded_alike
from solvers.work import spend

Array = NDArray[np.float64]
APART, SHORT = 2.0**-10, 20  # of the spectral start


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

    Where eigenvalues are equal, any rotation would do, and another one on each processor: W is changed by a thousandth of
    itself, so that they differ, and the rows are rounded.
    gram W: (N, N). Returns (rank, N).
    """
    w = np.asarray(gram, dtype=float)
    apart = 1 + APART * (np.arange(len(w)) * GOLDEN % 1)
    values, vectors = np.linalg.eigh(w * apart * apart[:, None])
    kept = values > 1e-11 * values.max(initial=0.0)
    rows = rounded_alike((vectors[:, kept] * values[kept] ** 0.25).T, 1, SHORT)
    leading = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return np.asarray(rows * np.sign(leading))


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


# Strategies `B = [I; T] diag(s)` whose columns have the lengths of the budgets by construction: p-identity strategies.
#
# For changes that are unit vectors, `s_i = b_i / (1 + sum_k T_ki)` with `T >= 0` gives `||B e_i||_1 = b_i` identically, and
# the error `2 tr(W (B'B)^-1)` is a smooth function of T without further constraints (McKenna and others, VLDB 2018, section
# 5). With `V = diag(1/s) W diag(1/s)`, `R = (I + T T')^-1 T` and `U = R V`, all that value and gradient need is
#
# (I + T'T)^-1 = I - T'R,   diag of its product with V:  V_ii - sum_k T_ki U_ki,   T (I + T'T)^-1 V (I + T'T)^-1 = U - U T' R,
#
# one product of a (k, N) with the (N, N) matrix: docs/theory/strategies.md, section 4.


# Random starts run a race over this many steps; the one that is ahead goes on.
RACE = 40
AHEAD = 1
# Pairs of steps that the descent remembers: 5 end at the errors of 20, in two thirds of the time.
MEMORY = 5


def p_identity_error(theta: Array, gram: Any, budget: Array, *, whole: bool = False) -> tuple[float, Array]:
    """The error `2 tr(W (B'B)^-1)` and its gradient in T; whole: that of geometric noise of rate s_i in the elements.

    theta T: (k, N). gram W: (N, N), an array or an `AppliedGram`. budget b: (N,). Returns a number and (k, N).
    """
    spend(calls=2, flops=12.0 * len(theta) * max(gram.size, theta.size), entries=10.0 * theta.size)
    root = wide = (1.0 + theta.sum(axis=0)) / budget
    rows, part, pull = theta, 1.0, 1.0
    if whole:
        root = 0.5 / np.sinh(0.5 / wide)
        part, pull = root / wide, np.sinh(1 / wide) * root**2 / wide
        rows = theta * part
    core = np.linalg.solve(np.eye(len(theta)) + rows @ rows.T, rows)
    product = ((core * root) @ gram) * root
    diagonal = gram.diagonal() * root**2 - np.einsum("ki,ki->i", rows, product)
    inner = product - (product @ rows.T) @ core
    slope = pull * diagonal + (1.0 - pull) * np.einsum("ki,ki->i", rows, inner)
    return float(2.0 * diagonal.sum()), 4.0 * (slope / wide / budget - part * inner)


def p_identity_matrix(theta: Array, budget: Array) -> Array:
    """`B = [I; T] diag(s)`, (N + k, N), columns of length `budget` in the l1 norm, up to rounding."""
    return np.asarray(np.vstack([np.eye(budget.size), theta]) * (budget / (1.0 + theta.sum(axis=0))))


def nested_start(rows: int, size: int, random: np.random.Generator) -> Array:
    """T (rows, size) about the intervals of a binary tree from the top down, for queries along an ordered attribute: from there
    running totals and intervals end lower than from random starts, and sooner."""
    level = 2 ** np.floor(np.log2(np.arange(1, rows + 1))).astype(int)
    place = np.arange(1, rows + 1) - level
    inside = np.arange(size) * level[:, None] // size == place[:, None]
    return np.asarray(0.5 * inside + 0.1 * random.random((rows, size)))


def overlapping_start(rows: int, size: int, random: np.random.Generator) -> Array:
    """T (rows, size) about two halves and as many narrow intervals as there are rows left, each falling off to the middles of
    its neighbours: where the best strategies for running totals and all ranges end."""
    halves, place = min(2, rows), np.arange(size) + 0.5
    centres = [(np.arange(count) + 0.5) * size / count for count in (halves, rows - halves) if count]
    widths = np.repeat([size / len(group) for group in centres], [len(group) for group in centres])
    inside = np.maximum(0.0, 1 - np.abs(place - np.concatenate(centres)[:, None]) / widths[:, None])
    return np.asarray(0.8 * inside + 0.02 * random.random((rows, size)))


def best_p_identity(
    gram: Array, budget: Array, rows: int, restarts: int, seed: int, iterations: int, *, ordered: bool = False
) -> tuple[Array, int]:
    """The best T (rows, N) found, and the steps that it took: L-BFGS-B from random starts (`seed`), all for `RACE` steps, those
    ahead to the end. T = 0, which is the diagonal strategy, is kept when it is better.

    gram W: (N, N). budget: (N,). ordered: neighbours are asked about alike, so that `nested_start` is among the starts, and a
    random one of a third of the size.
    """

    random = np.random.default_rng(seed)
    starts = [random.random((rows, budget.size)) for _ in range(restarts)]
    if ordered:
        starts += [nested_start(rows, budget.size, random), random.random((rows, budget.size)) / 3]
    return _followed(gram, budget, starts, iterations)


def _followed(gram: Any, budget: Array, starts: list[Array], iterations: int, *, whole: bool = False) -> tuple[Array, int]:
    """The best T to which these starts lead, (k, N) for any k, and the steps: all for `RACE` steps, those ahead to the end."""

    def descended(start: Array, steps: int) -> tuple[Array, int]:
        def objective(flat: Array) -> tuple[float, Array]:
            value, slope = p_identity_error(flat.reshape(start.shape), gram, budget, whole=whole)
            return value, slope.ravel()

        end, taken = minimised(objective, start.ravel(), steps, nonnegative=True, memory=MEMORY)
        return end.reshape(start.shape), taken

    def value(theta: Array) -> float:
        return p_identity_error(theta, gram, budget, whole=whole)[0]

    count = 0
    if len(starts) > AHEAD:
        raced = [descended(start, min(RACE, iterations)) for start in starts]
        count = sum(steps for _, steps in raced)
        starts = sorted((place for place, _ in raced), key=value)[:AHEAD]
    found = [descended(start, iterations) for start in starts]
    places = [np.zeros_like(starts[0])] + [place for place, _ in found]
    return min(places, key=value), count + sum(steps for _, steps in found)


def large_p_identity(gram: Any, budget: Array, queries: Any, iterations: int) -> Array:
    """The T (k, N) of least error found with geometric noise in the elements, k at most 64. The search begins with the total,
    the queries that count most, a few intervals of a binary tree, and intervals that overlap.

    gram W: an array or an `AppliedGram`. budget: (N,). queries Q: compressed rows (K, N).
    """
    size, random, sizes = budget.size, np.random.default_rng(0), abs(queries)
    k = max(1, min(64, round(size / 16)))
    broad = sizes[np.argsort(-sizes.sum(axis=1), kind="stable")[:k]].toarray()
    starts = [np.full((1, size), 0.1), 0.1 * broad / np.maximum(broad.sum(axis=0), broad.max(initial=1.0))]
    starts += [nested_start(max(1, k // 4), size, random), overlapping_start(k, size, random)]
    return _followed(gram, budget, starts, iterations, whole=True)[0]


def divided(theta: Array, budget: Array) -> tuple[Array, Array]:
    """The rates s (N,) of the elements, and the rows `T diag(s)` (p, N), rounded down to 21 bits, without those that tell
    nothing: they add up to the budget (N,) but for one rounding."""
    rows = theta * (budget / (1.0 + theta.sum(axis=0)))
    rows = rows[rows.max(axis=1) > 1e-7 * budget.max()]
    units = np.exp2(np.floor(np.log2(rows.max(axis=1))) - 20)[:, None]
    rows = np.floor(rows / units) * units
    return budget - rows.sum(axis=0), rows


def least_squares(queries: Array, rates: Array, rows: Array) -> Array:
    """What makes answers to queries (K, N) of elements with geometric noise of these rates (N,) and rows (p, N) with Laplace
    noise of scale 1: (K, N + p). What is inverted is (p, p)."""
    root = np.sqrt(2.0) * np.sinh(rates / 2)
    shape, scaled = rows / (np.sqrt(2.0) * root), queries / root
    core = np.linalg.solve(np.eye(len(rows)) + shape @ shape.T, shape)
    kept = scaled - (scaled @ shape.T) @ core
    return np.hstack([kept * root, kept @ shape.T / np.sqrt(2.0)])


@dataclass(frozen=True, eq=False)
class AppliedGram:
    """`W = Q' diag(v) Q`, (N, N), that is only applied: `rows @ W`, and its diagonal.

    times: what it makes of rows (k, N). size: entries that it looks at for a row.
    """

    times: Callable[[Array], Array]
    own: Array
    size: int
    __array_ufunc__ = None  # so that NumPy leaves products to `__rmatmul__`

    def __rmatmul__(self, rows: Array) -> Array:
        return self.times(rows)

    def diagonal(self) -> Array:
        """The diagonal, (N,)."""
        return self.own

    @classmethod
    def of(cls, queries: Any, costs: Array) -> AppliedGram:
        """Of compressed rows (K, N) with costs v (K,), by sparse products."""
        back = (queries.T * costs).tocsr()
        return cls(lambda rows: (back @ (queries @ rows.T)).T, costs @ queries.power(2), 2 * queries.nnz)

    @classmethod
    def of_intervals(cls, starts: NDArray[np.intp], ends: NDArray[np.intp], size: int, costs: Array) -> AppliedGram:
        """Of rows of ones from `starts` on and before `ends`, (K,), with costs v (K,): differences of running sums."""
        from scipy.sparse import csr_array

        places, each = np.concatenate([ends, starts]), np.arange(len(starts))
        signs = np.repeat([1.0, -1.0], len(starts))
        sides = csr_array((signs, (np.concatenate([each, each]), places)), shape=(len(starts), size + 1))
        joined = ((sides.T * costs) @ sides).tocsr()

        def times(rows: Array) -> Array:
            sums = np.zeros((size + 1, len(rows)))
            np.cumsum(rows.T, axis=0, out=sums[1:])
            return np.asarray(np.cumsum((joined @ sums)[:0:-1], axis=0)[::-1].T)

        within = np.bincount(starts, costs, size + 1) - np.bincount(ends, costs, size + 1)
        return cls(times, np.cumsum(within)[:-1], joined.nnz + 2 * size)
