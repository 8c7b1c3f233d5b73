"""The smallest ellipsoid that covers a set of vectors, smallest by trace: `min tr(C Sigma)` subject to
`r_m' Sigma^-1 r_m <= 1` for all m.

Convex in `W = Sigma^-1`: `tr(C W^-1)` is convex and the constraints are linear. Sigma is the covariance of least total
variance in whose norm no vector is longer than 1. The dual is closed, `max F(lambda)^2 / sum lambda` (see `ellipsoid_dual`),
and any lambda gives a Sigma as well, by `Sigma C Sigma = sum lambda_m r_m r_m'`: every iterate carries its own certified gap.
Derivations in docs/theory/ellipsoid.md.

Directions that no vector reaches get no variance; directions that cost nothing are not measured (Sigma lives in the range of
C).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from solvers.ellipsoids.dual import DEPENDENT, DIRECT_ROWS, DualPoint, follow, follow_path, is_direct
from solvers.ellipsoids.rows import Array, Differences, Rows, VectorRows
from solvers.polytopes.extremes import pivots
from solvers.rounding import largest_first
from solvers.solution import Solution, Status
from solvers.work import is_over, spend

# Cutting planes for the ellipsoid program in reduced coordinates: solve on a working set, scan the rest, add what sticks out.
#
# The bound that a working set leaves proven: docs/theory/ellipsoid.md, section 2.


# A working set can hold every row that binds, q (q + 1) / 2 at most in general position, up to this dimension.
WORKING_DIMENSION = 50
ROUNDS = 100
# Relative sizes that tell apart, among equal weights, rows of one length and directions that rows reach.
EVEN = 1e-9


@dataclass(frozen=True)
class DualSolution:
    """The point to use, the largest ratio `worst` of any row known there, and the point that proves the best bound."""

    point: DualPoint
    worst: float
    prover: DualPoint
    iterations: int
    method: str

    @property
    def value(self) -> float:
        """The cost once the covariance is multiplied by `worst`."""
        return self.point.cost * self.worst

    @property
    def bound(self) -> float:
        """What no covering ellipsoid can beat."""
        return self.prover.bound


Scan = Callable[[DualSolution], tuple[float, VectorRows]]


def cover(rows: Rows, queries: VectorRows, scan: Scan | None, tolerance: float, max_iterations: int) -> DualSolution:
    """Solve for all rows at once, or on a working set when `scan` sees more or when the rows are many and short."""
    if rows.count <= DIRECT_ROWS or scan is not None:
        rows = rows.select(slice(None))
    if scan is not None:
        return cut(rows, queries, scan, tolerance, max_iterations)
    if isinstance(rows, VectorRows) and (even := _even(rows, queries, tolerance)) is not None:
        return even
    if rows.count <= 30 * rows.dimension or rows.dimension > WORKING_DIMENSION:
        return _follow(rows, queries, tolerance, max_iterations)
    return cut(first_rows(rows), queries, lambda found: outstanding(rows, found), tolerance, max_iterations)


def _even(rows: VectorRows, queries: VectorRows, tolerance: float) -> DualSolution | None:
    """Equal weights on all rows, or on those that are then the longest, where that is the optimum: rows that are the images of
    one under symmetries, as the changes of a table with published margins are."""
    weights, costs = np.ones(rows.count), np.ones(queries.count)
    for step in (1, 2):
        try:
            point = DualPoint.at(rows, queries, weights, costs)
        except np.linalg.LinAlgError:
            return None
        if not point.roots.min() > EVEN * point.roots.max():
            return None
        if point.value - point.bound <= tolerance * point.value:
            return DualSolution(point, float(point.ratios.max()), point, step, "equal weights")
        weights = (point.ratios >= (1 - EVEN) * point.ratios.max()).astype(np.float64)
    return None


def cut(rows: Rows, queries: VectorRows, scan: Scan, tolerance: float, max_iterations: int) -> DualSolution:
    """Rounds of solving and scanning. Every bound is a bound for the whole set, because fewer rows can only cost less.

    Early rounds are solved as roughly as the last scan was violated: their optimum is thrown away.
    """
    best, prover, violation, steps = None, None, 0.1, 0
    for _ in range(ROUNDS):
        found = _follow(rows, queries, max(tolerance / 2.0, min(1e-2, violation / 10.0)), max_iterations)
        worst, more = scan(found)
        steps, violation = steps + found.iterations, worst - 1.0
        prover = found.prover if prover is None or found.bound >= prover.bound else prover
        method = f"{found.method}, cutting planes, {rows.count} rows at the end"
        candidate = DualSolution(found.point, found.worst * max(worst, 1.0), prover, steps, method)
        best = candidate if best is None or candidate.value <= best.value else best
        solved = best.value - prover.bound <= tolerance * best.value
        if solved or is_over() or (not more.count and found.value - found.bound <= tolerance * found.value):
            break
        # Rows at half their length do not bind and hardly ever come back; without them the Newton systems stay small.
        # A cost that all but ignores a direction may leave no such row along it: then all rows stay, because they must span.
        kept = np.concatenate([rows.select(np.flatnonzero(found.point.ratios > 0.5 * found.worst)).vectors, more.vectors])
        everything = rows.select(slice(None)).vectors
        spans = np.linalg.matrix_rank(kept) == rows.dimension
        rows = VectorRows(kept if spans else np.concatenate([everything, more.vectors]))
    assert best is not None and prover is not None
    return replace(best, prover=prover, iterations=steps)


def outstanding(rows: Rows, found: DualSolution) -> tuple[float, VectorRows]:
    """The largest ratio over explicit or paired rows, and the rows that exceed 1 most, by more than rounding."""
    spend(entries=float(rows.count) * rows.dimension)
    ratios = rows.ratios(found.point.precision) / found.worst
    many = min(rows.count - 1, max(50, 8 * rows.dimension))
    largest = largest_first(ratios, many)
    return float(ratios.max()), rows.select(largest[ratios[largest] > 1.0 + EVEN])


def first_rows(rows: Rows) -> VectorRows:
    """Rows that span, by pivoted QR, and those of largest leverage `r' (sum r r')^-1 r`, which no change of basis alters."""
    inverse = np.asarray(np.linalg.pinv(rows.moment(np.ones(rows.count)), hermitian=True), dtype=np.float64)
    many = min(rows.count, 6 * rows.dimension)
    longest = rows.select(largest_first(rows.ratios(inverse), many))
    spanning = rows.spanning().vectors
    return VectorRows(np.concatenate([spanning[pivots(spanning.T)[0]], longest.vectors]))


def _follow(rows: Rows, queries: VectorRows, tolerance: float, max_iterations: int) -> DualSolution:
    point, prover, steps = follow_path(rows, queries, tolerance, max_iterations)
    method = "interior point, " + ("Cholesky" if is_direct(rows, queries) else "conjugate gradients")
    return DualSolution(point, float(point.ratios.max()), prover, steps, method)


# From any cost and any vectors to the ellipsoid program with unit cost and vectors that span: a change of coordinates and its
# inverse.
#
# Why nothing is lost: docs/theory/ellipsoid.md, section 5.


@dataclass(frozen=True)
class Roots:
    """`C = root root'` and `coroot = root^(+')`, each (s, q) or, for a diagonal, (s,)."""

    root: Array
    coroot: Array


def cost_roots(cost: Array | None, dimension: int) -> Roots:
    """The symmetric roots of a cost matrix, of a diagonal (s,), or of the identity (None).

    Raises:
        ValueError: wrong shape, not symmetric, or a negative direction beyond rounding.
    """
    if cost is None:
        return Roots(np.ones(dimension), np.ones(dimension))
    if cost.shape not in ((dimension,), (dimension, dimension)):
        raise ValueError(
            f"cost has shape {cost.shape}: pass ({dimension},) or ({dimension}, {dimension}) for rows of length {dimension}"
        )
    values, vectors = (cost, np.eye(dimension)) if cost.ndim == 1 else np.linalg.eigh(_symmetric(cost))
    floor = 0.0 if cost.ndim == 1 else dimension * np.finfo(float).eps * np.abs(values).max()
    if values.min() < -floor:
        raise ValueError(f"cost has the negative direction {values.min():.3g}: pass a positive semidefinite matrix such as Q'Q")
    if cost.ndim == 1 and values.min() > 0.0:
        return Roots(np.sqrt(values), 1.0 / np.sqrt(values))
    kept = values > floor
    sizes = np.sqrt(values[kept])
    return Roots(vectors[:, kept] * sizes, vectors[:, kept] / sizes)


def query_roots(queries: Array) -> Roots:
    """The roots of `C = Q'Q` from singular values of Q (K, s): squaring would lose half the digits of a short direction."""
    _, sizes, vectors = np.linalg.svd(queries, full_matrices=False)
    kept = sizes > max(queries.shape) * np.finfo(float).eps * sizes.max(initial=0.0)
    return Roots(vectors[kept].T * sizes[kept], vectors[kept].T / sizes[kept])


@dataclass(frozen=True)
class Reduction:
    """Coordinates `t = forward' r` in which the cost is the identity and the vectors span.

    A precision or covariance found there goes back by `forward W forward'` and `backward Sigma backward'`; forward and
    backward are (s, q). Costs go back times `unit^2`: `t` is of order one.
    `outside` (s, s - q at most) spans the directions that cost something and that no vector reaches.
    """

    forward: Array
    backward: Array
    outside: Array
    unit: float

    @classmethod
    def of(cls, rows: Rows, roots: Roots) -> Reduction:
        """The reduction for a nonempty family of nonzero vectors."""
        vectors = rows.spanning().vectors
        size = np.abs(vectors).max()
        reached = apply(vectors / size, roots.root)
        inside, outside = split_space(reached)
        unit = float(size * np.abs(reached).max())
        root, coroot = (expand(matrix) for matrix in (roots.root, roots.coroot))
        return cls(root @ inside / unit, coroot @ inside * unit, root @ outside / unit, unit)

    @property
    def queries(self) -> Array:
        """The map of queries, `q` to `backward' q / unit`."""
        return self.backward / self.unit

    def precision(self, canonical: Array) -> Array:
        """W in the caller's coordinates."""
        return np.asarray(self.forward @ canonical @ self.forward.T)

    def covariance(self, canonical: Array) -> Array:
        """Sigma in the caller's coordinates."""
        return np.asarray(self.backward @ canonical @ self.backward.T)


def split_space(vectors: Array) -> tuple[Array, Array]:
    """Orthonormal bases of the span of the rows and of its complement.

    The rank is decided after every column is scaled to length one, so that a coordinate in small units is not taken for
    rounding.
    """
    lengths = np.linalg.norm(vectors, axis=0)
    lengths[lengths == 0.0] = 1.0
    _, values, right = np.linalg.svd(np.linalg.qr(vectors / lengths, mode="r"), full_matrices=False)
    rank = int((values > max(vectors.shape) * np.finfo(float).eps * values[0]).sum())
    if rank == vectors.shape[1]:
        return np.eye(rank), np.zeros((rank, 0))
    basis = np.linalg.qr(lengths[:, None] * right[:rank].T, mode="complete")[0]
    return basis[:, :rank], basis[:, rank:]


def apply(vectors: Array, matrix: Array) -> Array:
    """`vectors matrix`, where a vector stands for a diagonal matrix."""
    return np.asarray(vectors * matrix if matrix.ndim == 1 else vectors @ matrix)


def expand(matrix: Array) -> Array:
    """The matrix itself, or the diagonal matrix that a vector stands for."""
    return np.diag(matrix) if matrix.ndim == 1 else matrix


def _symmetric(cost: Array) -> Array:
    if np.abs(cost - cost.T).max() > 1e-9 * np.abs(cost).max():
        raise ValueError("cost is not symmetric: pass (cost + cost.T) / 2 if that is what is meant")
    return np.asarray((cost + cost.T) / 2.0)


__all__ = ["Differences", "Ellipsoid", "Separation", "minimise_maximum", "minimise_trace"]

Separation = Callable[[Array], tuple[float, Array]]

# Off the span of the rows, the precision shown to `separate` is this many times the inverse square of their size: enough to
# notice a vector that leaves the span by 1e-4, and little enough that cancellation disturbs the others by 1e-8 only.
OUTSIDE = 1e8


@dataclass(frozen=True)
class Ellipsoid:
    """`{z : z' precision z <= 1}` and the covariance it belongs to.

    covariance: Sigma, (s, s), zero off the span of the vectors (and off the range of the cost).
    precision: W, (s, s), with `Sigma W Sigma = Sigma`; `r' W r = r' Sigma^+ r` for every covered vector r.
    query_weights: omega, summing to one, with which `minimise_maximum` proved its bound; empty after `minimise_trace`.
    directions: (p, s), vectors a that prove the bound: `sum a a'` is the cost up to a factor, and `sum_a max_r (a' r)^2` the
    bound up to the same factor (`DualPoint.directions`); empty where there is nothing to cover.
    """

    covariance: Array
    precision: Array
    query_weights: Array
    directions: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        for array in (self.covariance, self.precision, self.query_weights, self.directions):
            array.setflags(write=False)


def minimise_trace(
    rows: ArrayLike | Differences,
    cost: ArrayLike | None = None,
    *,
    separate: Separation | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> Solution[Ellipsoid]:
    """`min tr(cost Sigma)` subject to `r' Sigma^-1 r <= 1` for every row r.

    rows: (m, s), or `Differences` of points, which are never written out. Zero rows bind nothing and are dropped.
    cost: positive semidefinite (s, s), or its diagonal (s,), or None for the identity.
    separate(W) returns `(worst, more)`: the largest `r' W r` over an implicit set that includes `rows`, and some vectors of it
    that exceed 1 (an empty array ends the search). `rows` must span that set; W is made huge off their span, so that a set
    which leaves it is noticed.
    tolerance: the certified relative gap at which to stop. The covariance covers every row up to rounding, in any case; when
    `max_iterations` Newton steps (for each working set) end above the tolerance, the status is STALLED and the gap is what it
    is.

    Raises:
        ValueError: an entry is not finite, shapes disagree, the cost has a negative direction, or `separate` leaves the span
        of `rows`.

    >>> solution = minimise_trace([[3.0, 0.0], [0.0, 1.0]])
    >>> solution.point.covariance.round(4)
    array([[9., 0.],
           [0., 1.]])
    >>> round(solution.value, 4), solution.gap < 1e-6
    (10.0, True)
    """
    family = as_rows(rows)
    given = None if cost is None else as_finite("cost", cost)
    roots = cost_roots(given, family.dimension)
    none = VectorRows(np.zeros((0, family.dimension)))

    def value(covariance: Array) -> float:
        diagonal = np.ones(family.dimension) if given is None else given
        return float(np.diagonal(covariance) @ diagonal if diagonal.ndim == 1 else np.vdot(covariance, diagonal))

    if separate is None and isinstance(family, VectorRows) and family.count == family.dimension:
        found = _independent(family.vectors, given, value, tolerance)
        if found is not None:
            return found
    return _solve(family, roots, none, value, separate, tolerance, max_iterations)


def _independent(
    rows: Array, cost: Array | None, value: Callable[[Array], float], tolerance: float
) -> Solution[Ellipsoid] | None:
    """The solution by Newton's method where the rows are a well-conditioned basis, to a quarter of the tolerance; else None."""
    lengths = np.sqrt(np.square(rows).sum(axis=1))
    try:
        inverse = np.linalg.inv(rows / lengths[:, None]) / lengths
    except np.linalg.LinAlgError:
        return None
    if not np.linalg.norm(inverse * lengths) * np.sqrt(len(rows)) * DEPENDENT < 1.0:
        return None
    weighted = rows if cost is None else rows * cost if cost.ndim == 1 else rows @ cost
    reached = follow(weighted @ rows.T, tolerance / 4)
    if reached is None:
        return None
    point, bound, steps = reached
    covariance = rows.T @ point.covariance @ rows
    precision: Array = np.linalg.inv(covariance).astype(np.float64, copy=False)
    worst = float(VectorRows(rows).ratios(precision).max())
    total = value(covariance * worst)
    if not total - bound <= tolerance * total:
        return None
    directions = (inverse @ point.precision() * np.sqrt(point.multipliers)).T
    made = Ellipsoid(covariance * worst, precision / worst, np.zeros(0), directions)
    return Solution(Status.OPTIMAL, made, total, min(bound, total), steps, "Newton's method on independent rows")


def minimise_maximum(
    rows: ArrayLike | Differences,
    queries: ArrayLike | None = None,
    *,
    separate: Separation | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> Solution[Ellipsoid]:
    """`min max_k q_k' Sigma q_k` subject to `r' Sigma^-1 r <= 1` for every row r.

    queries: (K, s); or weights v (s,), for the largest `v_k Sigma_kk`; or None for the largest `Sigma_kk`. The rest as in
    `minimise_trace`. The bound is `F(lambda, omega)^2 / (sum lambda sum omega)`, valid for every weights omega >= 0 of the
    queries.

    Raises:
        ValueError: as in `minimise_trace`.

    >>> round(minimise_maximum([[3.0, 0.0], [0.0, 1.0]]).value, 4)
    9.0
    """
    family = as_rows(rows)
    given = as_finite("queries", np.ones(family.dimension) if queries is None else queries)
    if given.ndim == 1 and np.any(given < 0.0):
        raise ValueError(
            f"queries has the weight {given.min():.3g}, must be nonnegative: pass weights v >= 0, or a matrix (K, s)"
        )
    matrix = np.diag(np.sqrt(given)) if given.ndim == 1 else given
    if matrix.shape[1:] != (family.dimension,):
        raise ValueError(
            f"queries have shape {given.shape}: pass (K, {family.dimension}), or ({family.dimension},) weights >= 0"
        )

    def value(covariance: Array) -> float:
        return float(VectorRows(matrix).ratios(covariance).max())

    return _solve(family, query_roots(matrix), VectorRows(matrix), value, separate, tolerance, max_iterations)


def as_finite(name: str, values: ArrayLike) -> Array:
    """A float copy of `values`, of any shape (M, s) or (M,); `name` is what an error calls it.

    Raises:
        ValueError: an entry is not finite.
    """
    array = np.array(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} has an entry that is not finite: drop what has no budget before calling the solver")
    return array


def as_rows(rows: ArrayLike | Differences) -> Rows:
    """The nonzero rows of a matrix (M, s), checked; differences of points are taken as they are.

    Raises:
        ValueError: not a matrix, or an entry is not finite.
    """
    if isinstance(rows, Differences):
        as_finite("points", rows.points)
        return rows
    array = as_finite("rows", rows)
    if array.ndim != 2:
        raise ValueError(f"rows have shape {array.shape}: pass one vector a row, (m, s)")
    return VectorRows(array[np.any(array != 0.0, axis=1)])


def _solve(
    family: Rows,
    roots: Roots,
    queries: VectorRows,
    value: Callable[[Array], float],
    separate: Separation | None,
    tolerance: float,
    max_iterations: int,
) -> Solution[Ellipsoid]:
    """Reduce, cover, and go back; the value and the worst ratio are taken again from the caller's own numbers."""
    if not np.any(apply(family.spanning().vectors, roots.root)):
        zero = np.zeros((family.dimension, family.dimension))
        even = np.full(len(queries.vectors), 1 / max(1, len(queries.vectors)))
        return Solution(Status.OPTIMAL, Ellipsoid(zero, zero.copy(), even), 0.0, 0.0, 0, "nothing to cover")
    reduction = Reduction.of(family, roots)
    scan = None if separate is None else _Outside(reduction, separate)
    found = cover(
        family.transformed(reduction.forward), queries.transformed(reduction.queries), scan, tolerance, max_iterations
    )
    precision = reduction.precision(found.point.precision)
    worst = max(found.worst, float(family.ratios(precision).max()))
    covariance = reduction.covariance(found.point.covariance) * worst
    cost = value(covariance)
    bound = found.bound * reduction.unit**2
    status = Status.OPTIMAL if cost - bound <= tolerance * cost else Status.STALLED
    omega = found.prover.query_weights
    directions = found.prover.directions() @ reduction.forward.T
    point = Ellipsoid(covariance, precision / worst, omega / max(omega.sum(), 1e-300), directions)
    return Solution(status, point, cost, min(bound, cost), found.iterations, found.method)


@dataclass(frozen=True)
class _Outside:
    """The caller's scan, in reduced coordinates."""

    reduction: Reduction
    separate: Separation

    def __call__(self, found: DualSolution) -> tuple[float, VectorRows]:
        outside = self.reduction.outside
        precision = self.reduction.precision(found.point.precision / found.worst) + OUTSIDE * (outside @ outside.T)
        worst, more = self.separate(precision)
        vectors = as_finite("rows returned by separate", more).reshape(-1, len(precision))
        if vectors.size and np.abs(vectors @ outside).max(initial=0.0) > 1e-9:
            raise ValueError(
                "separate returned a vector outside the span of the initial rows: start from rows that span the whole set"
            )
        return worst, VectorRows(vectors @ self.reduction.forward)
