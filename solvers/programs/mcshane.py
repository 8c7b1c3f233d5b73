"""Nearest Lipschitz functions in the supremum norm, in closed form, and the one-dimensional programs that remain.

Notation: `d` a metric on N points, `c >= 0`. A function p is feasible for c when `|p_i - p_j| <= c d_ij`. With an origin at
distances `a_i`, where p must vanish, also `|p_i| <= c a_i`. Derivations in docs/theory/biased.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.solution import Solution
from solvers.status import Status

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LipschitzFit:
    """A function `values` (N,) and a `constant` c for which it is feasible."""

    values: Array
    constant: float

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=float)
        if values.ndim != 1 or not np.isfinite(values).all() or not 0.0 <= self.constant < math.inf:
            raise ValueError(f"values must be a finite vector and constant ({self.constant}) finite and not negative.")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)


@dataclass(frozen=True, eq=False)
class Distances:
    """Shortest-path closure of `distance` (N, N), infinite where unrelated, and of distances `to_origin` (N,) or None.

    What pairwise limits imply along paths is part of the constraint, so the closure is taken here (0.5 s at N = 741).

    >>> Distances([[0, 1, 9], [1, 0, 2], [9, 2, 0]]).distance[0].tolist()
    [0.0, 1.0, 3.0]
    """

    distance: Array
    to_origin: Array | None = None

    def __init__(self, distance: ArrayLike, to_origin: ArrayLike | None = None) -> None:
        from scipy.sparse.csgraph import shortest_path

        d = np.array(distance, dtype=float)
        n = len(d)
        full = np.full((n + 1, n + 1), np.inf)
        full[:n, :n] = d
        if to_origin is not None:
            full[n, :n] = full[:n, n] = to_origin
        np.fill_diagonal(full, 0.0)
        if not np.array_equal(full, full.T) or (full + np.eye(n + 1) <= 0.0).any():
            raise ValueError("distance must be symmetric and positive off its diagonal: merge points at distance 0 first.")
        closed = shortest_path(full, method="FW", directed=False)
        closed.setflags(write=False)
        object.__setattr__(self, "distance", closed[:n, :n])
        object.__setattr__(self, "to_origin", None if to_origin is None else closed[n, :n])

    def constant(self, values: Array) -> float:
        """The least c for which `values` is feasible, `inf` when none is."""
        i, j = np.triu_indices(len(self.distance), 1)
        least = float((np.abs(values[i] - values[j]) / self.distance[i, j]).max(initial=0.0))
        return least if self.to_origin is None else max(least, float((np.abs(values) / self.to_origin).max(initial=0.0)))

    def extension(self, target: ArrayLike, c: float) -> tuple[Array, float]:
        """`(p, e)`: feasible for c with the least `e = max_i |p_i - q_i|`; McShane's `p_i = min_j (q_j + e + c d_ij)`."""
        q = np.asarray(target, dtype=float)
        # c * inf is nan at c = 0, where unrelated points are still unrelated.
        reach = np.where(np.isfinite(self.distance), c, 1.0) * self.distance
        # The least Lipschitz function from below: q - lowest is max_j (q_i - q_j - c d_ij),
        # so no envelope over all pairs is needed.
        lowest = (q + reach).min(axis=1)
        e = float((q - lowest).max()) / 2.0
        if self.to_origin is not None:
            finite = np.isfinite(self.to_origin)
            e = max(e, float((np.abs(q[finite]) - c * self.to_origin[finite]).max(initial=0.0)))
        p = lowest + e
        if self.to_origin is not None:
            p[finite] = np.minimum(p[finite], c * self.to_origin[finite])
        return p, e


@dataclass(frozen=True, eq=False)
class Envelope:
    """A convex, piecewise-linear, decreasing function of `c >= 0`: `values` at `breaks` (from 0), constant after the last."""

    breaks: Array
    values: Array

    def __call__(self, c: float) -> float:
        return float(np.interp(c, self.breaks, self.values))


def defect(targets: ArrayLike, metric: Distances) -> Envelope:
    """`E(c)`, the least `max_i |p_i - q_i|` over feasible p, the worst over the rows q of `targets` (K, N) or (N,).

    `E(c) = max over q of max_ij (|q_i - q_j| - c d_ij)_+ / 2`, and `(|q_i| - c a_i)_+` with an origin: an envelope of lines.
    """
    rows = np.atleast_2d(np.asarray(targets, dtype=float))
    n = rows.shape[1]
    if metric.distance.shape != (n, n):
        raise ValueError(f"targets have {n} columns and the metric {len(metric.distance)} points: they must agree.")
    i, j = np.triu_indices(n, 1)
    height = np.zeros(i.size)
    for q in rows:  # one row at a time: K x N^2 / 2 differences would not fit for many rows
        np.maximum(height, np.abs(q[i] - q[j]), out=height)
    height, slope = height / 2.0, metric.distance[i, j] / 2.0
    if metric.to_origin is not None:
        height = np.concatenate([height, np.abs(rows).max(axis=0)])
        slope = np.concatenate([slope, metric.to_origin])
    return _upper_envelope(height, slope)


def _upper_envelope(height: Array, slope: Array) -> Envelope:
    """`max(0, max_m height_m - slope_m c)` on c >= 0: concave hull of the points (slope, height) from (0, 0) on."""
    kept = np.isfinite(slope) & (height > 0.0)
    order = np.lexsort((-height[kept], slope[kept]))
    s, h = slope[kept][order], height[kept][order]
    top = np.maximum.accumulate(h)
    # A steeper line that starts no higher is never above: only records of the height count. 274,170 pairs leave some hundreds.
    record = np.concatenate([[True], h[1:] > top[:-1]])[: h.size]
    hull = [(0.0, 0.0)]
    for x, y in zip(s[record].tolist(), h[record].tolist(), strict=True):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    corner = np.array(hull[::-1])
    if len(corner) == 1:
        return Envelope(np.zeros(1), np.zeros(1))
    breaks = (corner[:-1, 1] - corner[1:, 1]) / (corner[:-1, 0] - corner[1:, 0])
    values = corner[1:, 1] - breaks * corner[1:, 0]
    return Envelope(np.concatenate([[0.0], breaks]), np.concatenate([[corner[0, 1]], values]))


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def least_concave_sum(envelope: Envelope, bias: float, noise: float, power: float = 1.0 / 3.0) -> Solution[float]:
    """The c that minimises `bias E(c) + noise c^power`, 0 < power <= 1, over c >= 0: the best break, exactly.

    Between breaks E is linear and `c^power` concave, so the sum is concave there and its minimum lies at an end; after the last
    break E is constant and the sum increases. The minimum over finitely many numbers is its own lower bound.

    >>> least_concave_sum(Envelope(np.array([0.0, 8.0]), np.array([1.0, 0.0])), bias=10.0, noise=1.0).point
    8.0
    """
    if not (bias >= 0.0 and noise >= 0.0 and 0.0 < power <= 1.0):
        raise ValueError(f"bias {bias} and noise {noise} must not be negative, power {power} in (0, 1].")
    return least_at_breaks(envelope, bias, lambda c: noise * c**power)


def least_at_breaks(envelope: Envelope, bias: float, price: Callable[[float], float]) -> Solution[float]:
    """The c that minimises `bias E(c) + price(c)` over c >= 0,
    for any concave price that does not decrease: the best break, exactly."""
    sums = bias * envelope.values + np.array([price(c) for c in envelope.breaks.tolist()])
    k = int(np.argmin(sums))
    return Solution(
        Status.OPTIMAL, float(envelope.breaks[k]), float(sums[k]), float(sums[k]), sums.size, "breaks of the envelope"
    )


def least_square_sum(envelope: Envelope, bias: float, noise: float) -> Solution[float]:
    """The c that minimises `(bias E(c))^2 + noise c^2`: a parabola on each piece `E = h - s c`, its vertex in closed form."""
    left, right = envelope.breaks[:-1], envelope.breaks[1:]
    slope = (envelope.values[:-1] - envelope.values[1:]) / (right - left)
    height = envelope.values[:-1] + slope * left
    vertex = bias**2 * slope * height / (bias**2 * slope**2 + noise)
    candidates = np.concatenate([envelope.breaks, np.clip(vertex, left, right)])
    sums = (bias * np.interp(candidates, envelope.breaks, envelope.values)) ** 2 + noise * candidates**2
    k = int(np.argmin(sums))
    return Solution(Status.OPTIMAL, float(candidates[k]), float(sums[k]), float(sums[k]), sums.size, "vertices of parabolas")
