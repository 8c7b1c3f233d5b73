"""What is measured: Kronecker products of integer matrices, one noise for each product, and what a protected change moves.

Lengths factor: a record with values u moves a product of matrices M_i by the Kronecker product of its columns `M_i e_u`, whose
l1 norm, and squared l2 norm, are products of theirs (docs/theory/structured.md, 2). All of them are integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable
from designer.base.checks import assign
from designer.base.errors import DesignFailed, InvalidProblem
from designer.domains.products_workload import AttributeQueries, StructuredWorkload
from designer.limits import LARGEST_MEASURED_ENTRY, MOST_MEASURED_ROWS, MOST_RESIDUALS
from designer.problem.domain import Domain
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import Presence
from solvers.ellipsoids.program import minimise_trace
from solvers.ellipsoids.rows import Differences
from solvers.exact.rational import dyadic_integers
from solvers.programs.budget_shares import minimise_cost

Integers = NDArray[np.int64]
Noise = Literal["gaussian", "laplace"]
Protection = Presence | Hamming | Product


@dataclass(frozen=True, eq=False)
class StrategyMatrix(Immutable):
    """An integer matrix (p, n) over the values of one attribute, and how far its columns are from 0 and from each other."""

    rows: Integers

    def __post_init__(self) -> None:
        rows = np.array(self.rows, dtype=np.int64)
        if rows.ndim != 2 or not 0 < len(rows) <= MOST_MEASURED_ROWS or np.abs(rows).max(initial=0) > LARGEST_MEASURED_ENTRY:
            raise InvalidProblem(
                f"matrices: one has shape {rows.shape}, or an entry beyond {LARGEST_MEASURED_ENTRY}; give up to "
                f"{MOST_MEASURED_ROWS} rows of smaller integers."
            )
        rows.setflags(write=False)
        assign(self, rows=rows)

    def presence(self, noise: Noise) -> int:
        """The largest l1 norm (Laplace) or squared l2 norm (Gaussian) of a column."""
        sizes = np.abs(self.rows) if noise == "laplace" else self.rows**2
        return int(sizes.sum(axis=0).max())

    def change(self, noise: Noise, part: Metric | None = None) -> Fraction:
        """The largest such norm of a difference of two columns, over the (squared) budget of the pair where there is one."""
        from scipy.spatial.distance import cdist

        columns = self.rows.T
        if noise == "laplace":  # sums of integers below 2^53: exact in floats
            sizes = cdist(columns.astype(np.float64), columns.astype(np.float64), "cityblock")
        else:
            products = _products(columns)
            sizes = np.add.outer(products.diagonal(), products.diagonal()) - 2 * products
        return Fraction(int(sizes.max())) if part is None else _largest_ratio(sizes, part, 1 if noise == "laplace" else 2)


def _products(columns: Integers) -> Integers:
    """`C C'`: in floats where every sum is an integer below 2^53, and so exact in whatever order it is added up."""
    if columns.shape[1] * int(np.abs(columns).max(initial=0)) ** 2 < 2**53:
        floats = columns.astype(np.float64)
        return np.asarray((floats @ floats.T).astype(np.int64))
    return np.asarray(columns @ columns.T)


def _largest_ratio(sizes: NDArray[np.generic], part: Metric, power: int) -> Fraction:
    """`max size / budget^power` over pairs: floats that are off by 1e-9 at most tell which pairs may be it."""
    budgets = part.distances()
    finite = np.isfinite(budgets) & ~np.eye(len(budgets), dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(finite & (np.asarray(sizes) > 0), np.asarray(sizes, dtype=np.float64) / budgets**power, 0.0)
    worst, most = Fraction(0), float(ratios.max(initial=0.0))
    if not math.isfinite(most):
        raise InvalidProblem(
            "protection: a pair of values has budget 0, and the strategy tells them apart; give the pair a positive budget."
        )
    for left, right in np.argwhere(np.triu(np.maximum(ratios, ratios.T)) >= most * (1 - 1e-9 - 4 * part.budget_error)):
        exact = part.exact_budget(int(left), int(right))
        if exact is not None and left != right:
            worst = max(worst, Fraction(int(np.asarray(sizes)[left, right])) / exact**power)
    return worst


@dataclass(frozen=True, eq=False)
class MeasuredProduct(Immutable):
    """One measured product: which matrix of each attribute (by axis; the others are summed over), and the `strength` of its
    noise: discrete Gaussian of variance 1 / strength, or discrete Laplace of this rate, in every coordinate."""

    parts: Mapping[int, int]
    strength: float


@dataclass(frozen=True, eq=False)
class KindOfChange:
    """One kind of protected change: what it is called, its budget, and the axis that changes, None where a record appears."""

    words: str
    budget: float
    axis: int | None
    part: Metric | None = None


def kinds_of_changes(protection: Protection, domain: Domain, used: Sequence[int]) -> list[KindOfChange]:
    """The changes that imply all others: a record appears, or its value of one attribute that is asked about changes."""
    if isinstance(protection, Presence):
        return [KindOfChange("a record appears", protection.epsilon, None)]
    words = [f"one record changes in {name!r} alone" for name in domain.attributes]
    if isinstance(protection, Hamming):
        return [
            KindOfChange(words[axis], protection.budgets[axis], axis) for axis in used if np.isfinite(protection.budgets[axis])
        ]
    return [KindOfChange(words[axis], 1.0, axis, protection.parts[axis]) for axis in used]


def share_spent(
    change: KindOfChange, noise: Noise, matrices: Mapping[int, Sequence[StrategyMatrix]], blocks: Sequence[MeasuredProduct]
) -> Fraction:
    """What a change spends of its (squared) budget, exactly: the sum over blocks of strength times the largest length."""
    lengths = {axis: [matrix.presence(noise) for matrix in listed] for axis, listed in matrices.items()}
    moved: list[Fraction] = []
    if change.axis is not None:
        moved = [matrix.change(noise, change.part) for matrix in matrices.get(change.axis, ())]
    integers, exponent = dyadic_integers(np.array([[block.strength for block in blocks]]))
    sums: dict[Fraction, int] = {}
    for block, strength in zip(blocks, integers[0], strict=True):
        if change.axis is None:
            factor, others = Fraction(1), block.parts
        elif change.axis in block.parts:
            factor, others = moved[block.parts[change.axis]], {a: m for a, m in block.parts.items() if a != change.axis}
        else:
            continue
        sums[factor] = sums.get(factor, 0) + strength * math.prod(lengths[axis][place] for axis, place in others.items())
    total = sum((factor * amount for factor, amount in sums.items()), Fraction(0)) * Fraction(2) ** exponent
    return total / Fraction(change.budget) ** (1 if noise == "laplace" else 2)


def loads_of(
    changes: Sequence[KindOfChange],
    noise: Noise,
    matrices: Mapping[int, Sequence[StrategyMatrix]],
    parts: Sequence[Mapping[int, int]],
) -> Floats:
    """What products at strength 1 spend of the (squared) budget of each change, (changes, products), in floats.

    parts: of each product, which matrix of each attribute, by axis.
    """
    lengths = {axis: [float(matrix.presence(noise)) for matrix in listed] for axis, listed in matrices.items()}
    found = np.zeros((len(changes), len(parts)))
    for k, change in enumerate(changes):
        own, power = change.axis, 1 if noise == "laplace" else 2
        moved = [] if own is None else [float(matrix.change(noise, change.part)) for matrix in matrices.get(own, ())]
        for j, part in enumerate(parts):
            if own is None or own in part:
                others = math.prod(lengths[axis][place] for axis, place in part.items() if axis != own)
                found[k, j] = (1.0 if own is None else moved[part[own]]) * others / change.budget**power
    return found


# Exact Kronecker products of integer matrices with a table of counts, in machine words wherever that can be proven enough.
#
# 64-bit arithmetic is exact modulo 2^64, whatever overflows; floats of a proven error say by which multiple of 2^64 a number
# is off. Python's integers, a hundred times slower, are left for tables whose floats would be off by more than that.


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


# How answers are put together from measured products, factor by factor, and what noise they then have.
#
# docs/theory/structured.md, section 3.


EXACT = 1e-9


def left_inverse(matrix: StrategyMatrix, queries: AttributeQueries) -> Floats:
    """R (n, p) with `Q R M = Q`; `InvalidProblem` where the rows of M do not determine the queries."""
    inverse = _pseudo_inverse(matrix)
    gram, missing = queries.gram, inverse @ matrix.rows - np.eye(queries.size)
    if np.einsum("ij,ij->j", missing, gram @ missing).max() > EXACT**2 * np.trace(gram):
        raise InvalidProblem(
            f"matrices: the rows measured do not determine the {queries.kind!r} queries of an attribute; add rows, such as "
            "those of the identity."
        )
    return inverse


@lru_cache(maxsize=512)
def _pseudo_inverse(matrix: StrategyMatrix) -> Floats:
    return np.asarray(np.linalg.pinv(matrix.rows.astype(np.float64), rcond=1e-12))


@lru_cache(maxsize=512)
def split_inverse(matrix: StrategyMatrix) -> tuple[Floats, Floats]:
    """R (n, n - 1) and z (n,) with `x = R M x + z (1'x)` for every x: the residual M, and what stands for it elsewhere."""
    rows = np.vstack([matrix.rows.astype(np.float64), np.ones(matrix.rows.shape[1])])
    if rows.shape[0] != rows.shape[1] or np.linalg.matrix_rank(rows) < len(rows):
        raise InvalidProblem("matrices: a residual has n - 1 rows, independent of each other and of the total.")
    inverse = np.linalg.inv(rows)
    return inverse[:, :-1], inverse[:, -1]


def sides(
    term: Mapping[int, AttributeQueries],
    block: MeasuredProduct,
    matrices: Mapping[int, Sequence[StrategyMatrix]],
    residual: bool,
) -> dict[int, tuple[AttributeQueries, Floats]]:
    """For each axis of the term or the block its queries and the matrix (n, p) that they are applied to."""
    found = {}
    for axis in sorted({*term, *block.parts}):
        matrix = matrices[axis][block.parts.get(axis, 0)]
        queries = term.get(axis) or AttributeQueries("total", matrix.rows.shape[1])
        if not residual:
            if axis not in block.parts:
                raise InvalidProblem(
                    "blocks: one serves a term about an attribute that it does not measure; measure it, or let another block "
                    "serve the term."
                )
            found[axis] = queries, left_inverse(matrix, queries)
        else:
            own, rest = split_inverse(matrix)
            found[axis] = queries, own if axis in block.parts else rest[:, None]
    return found


def summed_square(side: tuple[AttributeQueries, Floats]) -> float:
    """`||Q R||^2` (Frobenius), by the Gram matrix; side: the queries Q, and R (n, p)."""
    queries, inverse = side
    return float(np.vdot(inverse, queries.gram @ inverse))


# Residuals of structured workloads: what an attribute adds to the others' totals, for queries of any kind.
#
# Around a reference z (n,), `1'z = 1`, the histogram of an attribute is `x = z (1'x) + R M x`; products of M over the
# attributes of a set A, summed over the others, are its residual, and are measured with a strength of their own. Tables over
# a set B are put together from the residuals within B: variances are linear in 1 / s, and what a change spends is linear in
# s, so the best strengths are a convex program, that of marginals (docs/theory/structured.md, 4).


FREE = 2.0**20  # strength of what no protected change moves: noise that is never seen


def uniform_residual(gram: Floats) -> Floats:
    """Rows (n - 1, n) that sum to 0, of least `tr(gram (B'B)^+)` with columns of length at most 1: the best residual around the
    mean."""
    basis = _contrasts(len(gram))
    if _alike(gram, basis):
        return np.asarray(basis.T)
    return _least_residual(gram, basis, basis)


def protected_residual(gram: Floats, part: Metric | None, longest: float = math.inf) -> Floats | None:
    """Rows (n - 1, n) that sum to 0, of least `tr(gram (B'B)^+)` with differences of columns within the budgets of a metric on
    the values, one budget for all without one, and columns of at most the `longest` length: where other attributes change, it
    is the length that counts. None where values without a finite budget between them leave a direction free, or one is 0."""
    squares = np.ones((len(gram),) * 2) if part is None else part.distances() ** 2
    np.fill_diagonal(squares, np.inf)
    if not squares.min(initial=np.inf) > 0 or not _connected(np.isfinite(squares)):
        return None
    basis = _contrasts(len(gram))
    apart = squares[~np.eye(len(gram), dtype=bool)]
    if apart.size and np.isfinite(apart).all() and np.ptp(apart) == 0 and _alike(gram, basis):
        changed = math.sqrt(squares.min() / 2)  # the contrasts of two values are sqrt(2) apart, and sqrt(1 - 1 / n) long
        return np.asarray(basis.T * min(changed, longest / math.sqrt(1 - 1 / len(gram))))
    inverses = np.pad((1 / squares + 1 / squares.T) / 2, (0, 1), constant_values=longest**-2.0)
    np.fill_diagonal(inverses, 0.0)
    return _least_residual(gram, basis, Differences.of(np.vstack([basis, np.zeros(len(basis) - 1)]), inverses))


def _contrasts(n: int) -> Floats:
    """Orthonormal columns (n, n - 1) that sum to 0."""
    return np.asarray(np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, : n - 1]]))[0][:, 1:])


def _least_residual(gram: Floats, basis: Floats, covered: Floats | Differences) -> Floats:
    """The residual in coordinates of contrasts whose ellipsoid holds what is covered at the least cost."""
    n = len(gram)
    fuller = basis.T @ gram @ basis + 1e-9 * np.trace(gram) / n * np.eye(n - 1)
    covariance = minimise_trace(covered, fuller, tolerance=1e-5).point.covariance
    return np.asarray(np.linalg.cholesky(np.linalg.inv(covariance)).T @ basis.T)


def _alike(gram: Floats, basis: Floats) -> bool:
    """Whether values are asked about alike (identity, tables): no program is needed then, because what is best is a multiple of
    the contrasts, the only ellipsoids that every permutation of the values leaves as they are."""
    turned = basis.T @ gram @ basis
    return np.allclose(turned, np.eye(len(turned)) * np.trace(turned) / len(turned), atol=1e-12 * np.trace(gram))


def _connected(joined: NDArray[np.bool_]) -> bool:
    """Whether all values are reached from the first one."""
    reached = np.zeros(len(joined), dtype=bool)
    reached[:1] = True
    while not np.array_equal(wider := reached | joined[reached].any(axis=0), reached):
        reached = wider
    return bool(reached.all())


def residual_blocks(
    workload: StructuredWorkload, protection: Protection, matrices: Mapping[int, StrategyMatrix]
) -> list[MeasuredProduct]:
    """A block for every part of every term's attributes, with the best strengths."""
    costs = _costs(workload, matrices)
    parts = list(costs)
    listed = {axis: (matrix,) for axis, matrix in matrices.items()}
    changes = kinds_of_changes(protection, workload.domain, workload.used)
    loads = loads_of(changes, "gaussian", listed, [dict.fromkeys(part, 0) for part in parts])
    moved = np.flatnonzero(loads.any(axis=0))
    strengths = np.full(len(parts), FREE)
    if not any(costs[parts[k]] > 0 for k in moved.tolist()):
        raise DesignFailed("structured: no protected change moves an answer; give an attribute that is asked about a budget.")
    # In units of what a record moves, so that the integers of the matrices do not spread the numbers.
    units = np.array([math.prod(matrices[axis].presence("gaussian") for axis in part) for part in parts], dtype=np.float64)[
        moved
    ]
    cost = np.array([costs[part] for part in parts])[moved] * units
    found = minimise_cost(loads[:, moved] / units, np.maximum(cost, 1e-14 * cost.max())[None, :], tolerance=1e-8)
    strengths[moved] = found.point / units
    return [MeasuredProduct(dict.fromkeys(part, 0), float(s)) for part, s in zip(parts, strengths, strict=True)]


def _costs(workload: StructuredWorkload, matrices: Mapping[int, StrategyMatrix]) -> dict[tuple[int, ...], float]:
    """What each residual adds to the total of weighted variances at strength 1."""
    known: dict[tuple[int, int], tuple[float, float]] = {}
    costs: dict[tuple[int, ...], float] = {}
    for term, weight in zip(workload.terms, workload.weights, strict=True):
        for axis, queries in term.items():
            if (axis, id(queries)) not in known:
                own, rest = split_inverse(matrices[axis])
                known[axis, id(queries)] = float(np.vdot(own, queries.gram @ own)), float(rest @ queries.gram @ rest)
        for size in range(len(term) + 1):
            for part in combinations(term, size):
                factors = (known[axis, id(q)][0 if axis in part else 1] for axis, q in term.items())
                costs[part] = costs.get(part, 0.0) + float(weight) * math.prod(factors)
        if len(costs) > MOST_RESIDUALS:
            raise DesignFailed(f"structured: more than {MOST_RESIDUALS} residuals; ask for terms of fewer attributes.")
    return costs
