"""The dual of the ellipsoid program: `F(lambda, omega) = tr (C^(1/2) M C^(1/2))^(1/2)`, its gradient, its Hessian and the
bounds they prove.

`M = sum_m lambda_m r_m r_m'` gathers the constraints, `C = sum_k omega_k q_k q_k'` the costs. F is the fidelity of the two
matrices: jointly concave, and of degree 1/2 in each. For C fixed, every lambda >= 0 proves
`min tr(C Sigma) >= F^2 / sum lambda`; with weights omega >= 0 that may vary,
`min max_k q_k' Sigma q_k >= F^2 / (sum lambda sum omega)` (derivations in docs/theory/ellipsoid.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from solvers.ellipsoids.rows import Array, Rows, VectorRows, reciprocal_roots


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
        `left_out` of F together, are left out, and so are rows that are not written out.
        """
        if not isinstance(self.rows, VectorRows):
            return np.zeros((0, len(self.roots)))
        shares = self.weights * self.ratios
        order = np.argsort(-shares)
        kept = order[: int(np.searchsorted(np.cumsum(shares[order]), (1.0 - left_out) * shares.sum())) + 1]
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
