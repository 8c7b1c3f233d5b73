"""The ellipsoid program for as many independent rows as dimensions: Newton's method in the logarithms of the multipliers.

With R the matrix of the rows, `V = R W R'` and `A = R C R'` the program is `min tr(A V^-1)` under `V_ii <= 1`. For multipliers
lambda, `D = diag(lambda)^(1/2)` and `S = (D A D)^(1/2)` the dual has the value `F^2 / sum lambda`, `F = tr S`, and proposes
`V = D^-1 S D^-1`, whose diagonal is `S_ii / lambda_i`. Both `lambda_i <- S_ii^2 / lambda_i` and Newton's method go on from
there, one decomposition a step. Divided by the roots of its own diagonal, V is feasible and its cost off by the square of what
the multipliers are off (docs/theory/ellipsoid.md, section 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from solvers.ellipsoids.barrier import conjugate_gradients
from solvers.ellipsoids.rows import Array

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
