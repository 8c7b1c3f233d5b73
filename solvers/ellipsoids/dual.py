"""The dual of the ellipsoid program: `F(lambda, omega) = tr (C^(1/2) M C^(1/2))^(1/2)`, its gradient, its Hessian and the
bounds they prove.

`M = sum_m lambda_m r_m r_m'` gathers the constraints, `C = sum_k omega_k q_k q_k'` the costs. F is the fidelity of the two
matrices: jointly concave, and of degree 1/2 in each. For C fixed, every lambda >= 0 proves
`min tr(C Sigma) >= F^2 / sum lambda`; with weights omega >= 0 that may vary,
`min max_k q_k' Sigma q_k >= F^2 / (sum lambda sum omega)` (derivations in docs/theory/ellipsoid.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from solvers.ellipsoids.rows import Array, Rows, VectorRows, reciprocal_roots
from solvers.work import is_over, spend


@dataclass(frozen=True)
class DualPoint:
    """F and its derivatives at weights `lambda` (and `omega`), in the basis that makes everything diagonal.

    `basis` (q, q) satisfies `C = basis basis'` and `basis' M basis = diag(roots^2)`; `dual_basis = basis^-T`. `rows` and
    `queries` are turned.
    """

    weights: Array
    query_weights: Array
    roots: Array
    basis: Array
    dual_basis: Array
    rows: Rows
    queries: VectorRows

    @classmethod
    def at(cls, rows: Rows, queries: VectorRows, weights: Array, query_weights: Array) -> DualPoint:
        """The point at given weights; without queries (shape (0, q)) the cost matrix is the identity.

        Raises:
            numpy.linalg.LinAlgError: the weights leave C singular, or a decomposition fails.
        """
        if not queries.count:
            roots, basis = rows.roots(weights)
            return cls(weights, query_weights, roots, basis, basis, rows.transformed(basis), queries)
        factor: Array = np.linalg.cholesky(queries.moment(query_weights)).astype(np.float64, copy=False)
        turned = rows.transformed(factor)
        roots, rotation = turned.roots(weights)
        dual_basis: Array = np.linalg.solve(factor.T, rotation).astype(np.float64, copy=False)
        basis, turned = factor @ rotation, turned.transformed(rotation)
        return cls(weights, query_weights, roots, basis, dual_basis, turned, queries.transformed(dual_basis))

    @property
    def precision(self) -> Array:
        """`W = Sigma^-1 = basis diag(1 / roots) basis'`."""
        return np.asarray((self.basis / self.roots) @ self.basis.T)

    @property
    def covariance(self) -> Array:
        """`Sigma = basis^-T diag(roots) basis^-1`, the positive solution of `Sigma C Sigma = M`."""
        return np.asarray((self.dual_basis * self.roots) @ self.dual_basis.T)

    @property
    def fidelity(self) -> float:
        """F, which is also `tr(C Sigma)` at this point."""
        return float(self.roots.sum())

    @cached_property
    def ratios(self) -> Array:
        """`r_m' W r_m`, the gradient of 2 F in lambda."""
        return self.rows.ratios(1.0 / self.roots)

    @cached_property
    def variances(self) -> Array:
        """`q_k' Sigma q_k`, the gradient of 2 F in omega."""
        return self.queries.ratios(self.roots)

    @property
    def variables(self) -> Array:
        """lambda and omega, one after the other."""
        return np.concatenate([self.weights, self.query_weights])

    @cached_property
    def slope(self) -> Array:
        """The gradient of `2 log F` in the variables; its mean, weighted by lambda / sum lambda (or omega / sum omega), is
        that sum's reciprocal.
        """
        return np.concatenate([self.ratios, self.variances]) / self.fidelity

    @property
    def cost(self) -> float:
        """`tr(C Sigma)`, or the largest variance of a query."""
        return float(self.variances.max()) if self.queries.count else self.fidelity

    @property
    def value(self) -> float:
        """The cost of Sigma once it is scaled up until every ratio is at most 1."""
        return self.cost * float(self.ratios.max())

    @cached_property
    def bound(self) -> float:
        """`F^2 / (sum lambda sum omega)` with F rounded down.

        With u = 2^-53, a symmetric eigensolver (or a matrix product) of order q moves the eigenvalues x^2 of
        `C^(1/2) M C^(1/2)` by a small multiple of `q u max x^2`, and singular values move x by a small multiple of
        `q u max x`. Four times that is taken off before F is
        summed: an allowance for rounding, not interval arithmetic.
        """
        allowance = 2.0 * len(self.roots) * np.finfo(float).eps * self.roots.max()
        if self.rows.rooted_by_singular_values:
            rounded = np.maximum(self.roots - allowance, 0.0).sum()
        else:
            rounded = np.sqrt(np.maximum(self.roots**2 - allowance * self.roots.max(), 0.0)).sum()
        total = self.query_weights.sum() if self.queries.count else 1.0
        return float(rounded**2 / (self.weights.sum() * total))

    def directions(self, left_out: float = 1e-9) -> Array:
        """Vectors `a_m = lambda_m^(1/2) W r_m`, (p, q): their squares add up to `sum a_m a_m' = W M W = C`, and
        `sum_m (a_m' r_m)^2 / sum lambda` is the bound where all rows are of ratio 1. Rows that contribute least, up to a part
        `left_out` of F together, are left out, and so are rows that are not written out; the order is that of the rows.
        """
        if not isinstance(self.rows, VectorRows):
            return np.zeros((0, len(self.roots)))
        shares = self.weights * self.ratios
        order = np.argsort(-shares)
        kept = np.sort(order[: int(np.searchsorted(np.cumsum(shares[order]), (1.0 - left_out) * shares.sum())) + 1])
        return np.asarray((np.sqrt(self.weights[kept])[:, None] * self.rows.vectors[kept] / self.roots) @ self.basis.T)

    def curvature(self, direction: Array) -> Array:
        """Minus the Hessian of `2 log F`, times a direction; positive semidefinite.

        A change dM, dC enters as `Y = B' dM B - diag(x) B^-1 dC B^-T diag(x)`, B the basis, and the second derivative of 2 F is
        `-sum_kl Y_kl^2 / (x_k x_l (x_k + x_l))`. The logarithm adds `slope slope' / 2`.
        """
        count = self.rows.count
        change = self.rows.moment(direction[:count])
        if self.queries.count:
            change -= self._weighted_queries.moment(direction[count:])
        change *= reciprocal_roots(self.roots)
        parts = [self.rows.ratios(change)]
        if self.queries.count:
            parts.append(-self._weighted_queries.ratios(change))
        return np.asarray(np.concatenate(parts) / self.fidelity + (0.5 * (self.slope @ direction)) * self.slope)

    def curvature_diagonal(self) -> Array:
        """The diagonal of `curvature`, to a few per cent for implicit rows."""
        parts = [family.curvature_diagonal(self.roots) for family in (self.rows, self._weighted_queries)]
        return np.concatenate(parts) / self.fidelity + 0.5 * self.slope**2

    def curvature_factor(self) -> Array:
        """Z with `curvature = Z Z'`, for explicit rows: shape (m + K, q (q + 1) / 2 + 1)."""
        assert isinstance(self.rows, VectorRows)
        upper, lower = np.triu_indices(len(self.roots))
        scale = np.sqrt(reciprocal_roots(self.roots)[upper, lower] * np.where(upper == lower, 1.0, 2.0) / self.fidelity)
        signed = [(1.0, self.rows.vectors), (-1.0, self._weighted_queries.vectors)]
        products = np.concatenate([sign * vectors[:, upper] * vectors[:, lower] for sign, vectors in signed])
        return np.concatenate([products * scale, self.slope[:, None] / np.sqrt(2.0)], axis=1)

    @cached_property
    def _weighted_queries(self) -> VectorRows:
        return VectorRows(self.queries.vectors * self.roots)


# A primal-dual interior point for `max 2 log F(lambda, omega) - sum lambda - sum omega` over nonnegative weights, F as in
# `ellipsoid_dual`.
#
# Concave, and the logarithm frees it of scale: at the optimum the weights sum to one and `slope <= 1` with equality where a
# weight is positive. With slacks `z = 1 - slope` the barrier path is `weight z = mu`; Newton on it reads `(curvature + diag(z
# / weight)) d = slope - 1 + mu / weight`. The duality gap along the path is `mu` times the number of weights, so a fixed
# shrinking of mu gains a digit a step whatever the size. Second derivatives of F: docs/theory/ellipsoid.md, section 4.


SHRINK = 0.1
APART = 0.03
DIRECT_ROWS = 1500
DIRECT_ENTRIES = 4_000_000


def centre_start(rows: Rows, queries: VectorRows) -> DualPoint:
    """Equal weights, scaled so that every slope is at most 0.9: strictly feasible for both programs, because slopes are of
    degree -1.
    """
    point = DualPoint.at(rows, queries, np.ones(rows.count), np.ones(queries.count))
    largest, query_largest = point.slope[: rows.count].max(), point.slope[rows.count :].max(initial=0.0)
    return DualPoint.at(rows, queries, point.weights * largest / 0.9, point.query_weights * query_largest / 0.9)


def follow_path(rows: Rows, queries: VectorRows, tolerance: float, max_iterations: int) -> tuple[DualPoint, DualPoint, int]:
    """The iterate of smallest value, the iterate of largest bound, and the number of Newton steps; when the work is done,
    those so far."""
    point = centre_start(rows, queries)
    slack = 1.0 - point.slope
    best, prover, step = point, point, 0
    for step in range(1, max_iterations + 1):
        if best.value - prover.bound <= tolerance * best.value or is_over():
            return best, prover, step - 1
        try:
            point, slack = newton_step(point, slack, rows, queries)
        except np.linalg.LinAlgError:
            break
        if not (np.isfinite(point.value) and np.all(point.roots > 0.0)):
            break
        best = min(best, point, key=lambda candidate: candidate.value)
        prover = max(prover, point, key=lambda candidate: candidate.bound)
    return best, prover, step


def newton_step(point: DualPoint, slack: Array, rows: Rows, queries: VectorRows) -> tuple[DualPoint, Array]:
    """One step towards a barrier weight of `SHRINK` times the present one, 95 % of the way to the boundary at most."""
    weights, order = point.variables, rows.count + queries.count
    spend(calls=15, flops=order * float(rows.dimension) ** 2 * 10)
    # Where weights of rows and queries vanish together (one query alone decides the maximum) slopes turn faster than Newton's
    # model: unless mu waits for the slacks to agree, it falls to 1e-21 at a gap of 0.02. Of 3000 random programs 5 stalled
    # before, none after. With a fixed cost none did, and waiting would cost a third more steps.
    patience = APART if queries.count else np.inf
    apart = disagreement(point, slack)
    target = (SHRINK if apart < patience else 1.0) * float(weights @ slack) / weights.size
    diagonal = slack / weights
    push = point.slope - 1.0 + target / weights
    solve = solve_directly if is_direct(rows, queries) else solve_by_conjugate_gradients
    move = solve(point, diagonal, push)
    slack_move = target / weights - slack - diagonal * move
    length, slack_length = longest_step(weights, move), longest_step(slack, slack_move)
    for shortened in (1.0, 0.5, 0.25):
        moved, moved_slack = weights + shortened * length * move, slack + shortened * slack_length * slack_move
        reached = DualPoint.at(rows, queries, moved[: rows.count], moved[rows.count :])
        if disagreement(reached, moved_slack) < max(2.0 * apart, 5.0 * patience):
            break
    return reached, moved_slack


def disagreement(point: DualPoint, slack: Array) -> float:
    """How far slacks and slopes are apart."""
    return float(np.abs(point.slope - 1.0 + slack).max())


def is_direct(rows: Rows, queries: VectorRows) -> bool:
    """Whether the Newton matrix of order m + K and its factor with q^2 / 2 columns are small enough to be written out."""
    order = rows.count + queries.count
    return isinstance(rows, VectorRows) and order <= DIRECT_ROWS and order * rows.dimension**2 <= 2 * DIRECT_ENTRIES


def longest_step(values: Array, move: Array) -> float:
    """The largest step of at most 1 that keeps 5 % of every value."""
    return min(1.0, 0.95 / max(float((-move / values).max()), 1e-300))


def solve_directly(point: DualPoint, diagonal: Array, push: Array) -> Array:
    """Cholesky of the full Newton matrix, scaled to unit diagonal because active and idle weights differ by many magnitudes."""
    from scipy.linalg import cho_factor, cho_solve

    factor = point.curvature_factor()
    scale = 1.0 / np.sqrt(diagonal + np.einsum("mp,mp->m", factor, factor))
    factor *= scale[:, None]
    spend(flops=2.0 * factor.size * len(factor) + len(factor) ** 3 / 3)
    matrix = factor @ factor.T
    matrix[np.diag_indices(len(matrix))] += diagonal * scale**2
    return np.asarray(scale * cho_solve(cho_factor(matrix, overwrite_a=True), scale * push))


def solve_by_conjugate_gradients(
    point: DualPoint, diagonal: Array, push: Array, accuracy: float = 0.05, max_products: int = 60
) -> Array:
    """Conjugate gradients, preconditioned by the diagonal; the path needs directions, not digits.

    Measured: 2 to 4 products a step where every row binds, 3 to 30 over all 523,776 differences at N = 1024.
    """
    inverse = 1.0 / (diagonal + point.curvature_diagonal())
    work = float(push.size) * point.rows.dimension
    return conjugate_gradients(lambda v: point.curvature(v) + diagonal * v, inverse, push, accuracy, max_products, work)


def conjugate_gradients(
    product: Callable[[Array], Array], inverse: Array, push: Array, accuracy: float, max_products: int, work: float = 0.0
) -> Array:
    """Solve `product(x) = push` until the preconditioned residual has shrunk by `accuracy`; work: numbers that a product looks
    at."""
    solution, residual = np.zeros_like(push), push.copy()
    direction = inverse * residual
    size = start = float(residual @ direction)
    for _ in range(max_products):
        if size <= accuracy**2 * start:
            break
        spend(calls=1, entries=2.0 * work)
        image = product(direction)
        step = size / float(direction @ image)
        solution += step * direction
        residual -= step * image
        improved = inverse * residual
        size, previous = float(residual @ improved), size
        direction = improved + (size / previous) * direction
    return solution


# The dual bound of the ellipsoid program, proven in floating point: every rounding is counted, and taken off.
#
# Let S be a covariance with `(h' z)^2 <= h' S h` for some vectors z and all h. For directions `h_m = E g_m` (rows g of G) and
# any vectors z_m of that kind,
#
# tr S  >=  sum_m h_m' S h_m / |sum_m h_m h_m'|  >=  sum_m (h_m' z_m)^2 / (|E|^2 |G|^2),
#
# with spectral norms on the right. Whatever E and G are, this holds for them as the floats that they are; the ones that a
# solver proposes are good, and only the sizes on the right side have to be evaluated (docs/theory/least_noise.md, section 3).


UNIT = 2.0**-52  # twice the unit roundoff: what first-order terms of rounding leave out is far below the rest
LEAST = 1e-280  # below, numbers lose digits that no relative error counts


def proven_trace(vectors: Array, errors: Array, frame: Array, directions: Array) -> float:
    """A number proven to be at most `tr S` for every S >= 0 such that `(h' z_m)^2 <= h' S h` for all h and m.

    vectors: (p, K), each within `errors` (p,), in Euclidean length, of the z_m that is meant. frame: E, (K, s). directions: G,
    (p, s). A sum of n products is off by at most n / 2 `UNIT` times the sum of their sizes, in whatever order it is added.

    >>> proven_trace(np.array([[3.0, 0.0], [0.0, 1.0]]), np.zeros(2), np.eye(2), np.eye(2)) > 10 * (1 - 1e-12)
    True
    """
    count, order = directions.shape
    lengths = np.linalg.norm(vectors, axis=1) + errors
    reach = np.abs(np.einsum("ms,ms->m", directions, vectors @ frame))
    sizes = np.linalg.norm(frame) * np.linalg.norm(directions, axis=1) * (1 + (len(frame) + order + 8) * UNIT)
    lost = sizes * (errors + (len(frame) + order + 8) * UNIT * lengths)
    total = float((np.maximum(reach - lost, 0.0) ** 2).sum())
    if not total > LEAST:
        return 0.0
    spread = _largest_square(frame) * _largest_square(directions)
    return float(total * (1 - (count + 8) * UNIT) / (spread * (1 + 8 * UNIT)))


def _largest_square(matrix: Array) -> float:
    """At least the largest eigenvalue of `matrix' matrix`: no eigenvalue exceeds the largest sum of sizes in a row.

    Rounding moves an entry by at most the product of two columns' lengths.
    """
    lengths = np.linalg.norm(matrix, axis=0)
    off = (len(matrix) + 8) * UNIT * lengths * lengths.sum()
    rows = np.abs(matrix.T @ matrix).sum(axis=1)
    return float((rows * (1 + (len(rows) + 8) * UNIT) + off).max(initial=0.0))


# What multipliers from anywhere prove about `min tr(L' X^-1 L)` over `r_m' X r_m <= 1`: they need not be near the optimum.
#
# Derivations in docs/theory/ellipsoid.md, sections 1 and 2, with `C = L L'`.


def trace_bound(rows: Array, root: Array, multipliers: Array) -> float:
    """`F^2 / sum lambda`, F the nuclear norm of `diag(lambda)^(1/2) R L`: no feasible X has a smaller `tr(L' X^-1 L)`.

    rows R: (M, s). root L: (s, k). multipliers lambda: (M,), nonnegative; 0 where they vanish.

    >>> trace_bound(np.diag([3.0, 1.0]), np.eye(2), np.array([9.0, 1.0])).__round__(9)
    10.0
    """
    total = float(multipliers.sum())
    if total <= 0.0:
        return 0.0
    values = np.linalg.svd(np.sqrt(multipliers)[:, None] * (rows @ root), compute_uv=False)
    allowance = 4.0 * max(rows.shape[1], len(root)) * np.finfo(float).eps * float(values.max(initial=0.0))
    return float(np.maximum(values - allowance, 0.0).sum() ** 2 / total)


def least_trace(slope: Array, root: Array, frame: Array) -> float:
    """What `tr(L' X^-1 L) + <G, X>` never falls below, X positive definite with `f' X f <= 1` for the rows f of `frame`.

    slope G: (s, s), symmetric. root L: (s, k), which may have no columns. frame S: (s, s), invertible. In the coordinates of
    the frame, `S X S'`, the trace of X is at most s, so what is negative in G costs at most s times its least eigenvalue; the
    rest has the minimum `2 tr (L' G L)^(1/2)`.
    """
    inverse = np.linalg.inv(frame)
    values, vectors = np.linalg.eigh(inverse.T @ ((slope + slope.T) / 2) @ inverse)
    positive = (vectors * np.sqrt(np.maximum(values, 0.0))).T @ frame @ root
    roots = np.linalg.svd(positive, compute_uv=False) if root.size else np.zeros(1)
    allowance = 4.0 * len(slope) * np.finfo(float).eps
    lost = len(slope) * min(0.0, float(values[0]) - allowance * float(np.abs(values).max()))
    return float(2.0 * np.maximum(roots - allowance * roots.max(), 0.0).sum() + lost)


# The ellipsoid program for as many independent rows as dimensions: Newton's method in the logarithms of the multipliers.
#
# With R the matrix of the rows, `V = R W R'` and `A = R C R'` the program is `min tr(A V^-1)` under `V_ii <= 1`. For
# multipliers lambda, `D = diag(lambda)^(1/2)` and `S = (D A D)^(1/2)` the dual has the value `F^2 / sum lambda`, `F = tr S`,
# and proposes `V = D^-1 S D^-1`, whose diagonal is `S_ii / lambda_i`. Both `lambda_i <- S_ii^2 / lambda_i` and Newton's
# method go on from there, one decomposition a step. Divided by the roots of its own diagonal, V is feasible and its cost off
# by the square of what the multipliers are off (docs/theory/ellipsoid.md, section 9).


# Rows, or costs, more nearly dependent than this are left to the general program.
DEPENDENT = 1e-6
STEPS = 25
# Ratios within this factor of each other are near enough for Newton's method.
NEAR = 0.5


@dataclass(frozen=True, eq=False)
class AxisPoint:
    """Multipliers, and what one decomposition tells: `D A D = E diag(x^2) E'`.

    matrix A: (n, n). logs: (n,), logarithms of the multipliers, whose ratios have mean 1. roots x: (n,). vectors E: (n, n).
    """

    matrix: Array
    logs: Array
    roots: Array
    vectors: Array

    @classmethod
    def at(cls, matrix: Array, logs: Array) -> AxisPoint:
        """The point at these multipliers times the factor that is best for them."""
        sides = np.exp(logs / 2)
        squares, vectors = np.linalg.eigh(matrix * np.outer(sides, sides))
        roots = np.sqrt(np.maximum(squares, 0.0))
        factor = roots.sum() / np.exp(logs).sum()
        return cls(matrix, logs + 2 * np.log(factor), roots * factor, vectors)

    @cached_property
    def multipliers(self) -> Array:
        """lambda, (n,)."""
        return np.exp(self.logs)

    @cached_property
    def diagonal(self) -> Array:
        """`S_ii`, (n,)."""
        return np.asarray(np.square(self.vectors) @ self.roots)

    @cached_property
    def apart(self) -> float:
        """The largest logarithm of a ratio `S_ii / lambda_i`."""
        return float(np.abs(np.log(self.diagonal) - self.logs).max())

    @cached_property
    def bound(self) -> float:
        """`F^2 / sum lambda`, with the allowance for rounding of `DualPoint.bound`."""
        largest = self.roots.max()
        allowance = 2.0 * len(self.roots) * np.finfo(float).eps * largest**2
        return float(np.sqrt(np.maximum(self.roots**2 - allowance, 0.0)).sum() ** 2 / self.multipliers.sum())

    @cached_property
    def covariance(self) -> Array:
        """The inverse of V, after V was given a diagonal of ones, (n, n)."""
        sides = np.sqrt(self.diagonal)
        return np.asarray((self.vectors / self.roots) @ self.vectors.T * np.outer(sides, sides))

    @cached_property
    def value(self) -> float:
        """The cost of that covariance."""
        return float(np.vdot(self.matrix, self.covariance))

    def precision(self) -> Array:
        """V as the multipliers propose it, (n, n)."""
        sides = np.exp(-self.logs / 2)
        return np.asarray((self.vectors * self.roots) @ self.vectors.T * np.outer(sides, sides))

    def fixed_point(self) -> AxisPoint:
        """The next point by `lambda <- S_ii^2 / lambda`."""
        return AxisPoint.at(self.matrix, 2 * np.log(self.diagonal) - self.logs)

    def newton(self) -> AxisPoint:
        """The next point by Newton's method, whose matrix is `sum_kl E_ik E_il E_jk E_jl x_k x_l / (x_k + x_l)`."""
        kernel = np.multiply.outer(self.roots, self.roots) / np.add.outer(self.roots, self.roots)

        def curvature(move: Array) -> Array:
            turned = (self.vectors.T * move) @ self.vectors * kernel
            return np.asarray(np.einsum("ik,ik->i", self.vectors @ turned, self.vectors))

        push = self.diagonal - self.multipliers
        move = conjugate_gradients(curvature, 2.0 / self.diagonal, push, 0.03, 30)
        return AxisPoint.at(self.matrix, self.logs + np.clip(move, -1.0, 1.0))


def follow(matrix: Array, tolerance: float) -> tuple[AxisPoint, float, int] | None:
    """The best point for `min tr(A V^-1)` under `V_ii <= 1`, the bound, and the number of steps; None where the program is too
    flat, or does not reach the tolerance soon because rows do not bind.

    matrix A: (n, n), symmetric.
    """
    if not (np.diagonal(matrix) > 0).all():
        return None
    point = AxisPoint.at(matrix, -0.5 * np.log(np.diagonal(matrix)))
    bound = 0.0
    for step in range(1, STEPS + 1):
        if not point.roots[0] > DEPENDENT * point.roots[-1] or not np.isfinite(point.apart):
            return None
        bound = max(bound, point.bound)
        if point.apart < NEAR and point.value - bound <= tolerance * point.value:
            return point, bound, step
        point = point.newton() if point.apart < NEAR else point.fixed_point()
    return None
