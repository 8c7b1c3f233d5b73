"""What multipliers from anywhere prove about `min tr(L' X^-1 L)` over `r_m' X r_m <= 1`: they need not be near the optimum.

Derivations in docs/theory/ellipsoid.md, sections 1 and 2, with `C = L L'`.
"""

from __future__ import annotations

import numpy as np

from solvers.ellipsoids.rows import Array


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
