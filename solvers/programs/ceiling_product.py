"""Sizes T > 0 of least `max_k or sum_k w_k (h + (c + sum_a q_a T_a^2) max(1, max_a ceil(r_ka / T_a))^2)`,
solved to a proven gap.

The product grows with T in its first factor and falls in the second, so on a box `low <= T <= high` it is at least the first
factor at `low` times the second at `high`: a lower bound that is exact on a point. With `max(1, x)` in place of
`max(1, ceil(x))` the program is geometric: the logarithm of its value is convex in `log T`, and a tangent bounds it from below,
which is what tells apart the many fine sizes of nearly equal value. Boxes are split at their geometric middle along the widest
side, the least bound first, until no box promises more than the tolerance (branch and bound; docs/theory/record_design.md, 4).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.solution import Solution, relative_gap
from solvers.status import Status

Floats = NDArray[np.float64]


def ceiling(ratios: Floats) -> Floats:
    """`max(1, ceil(x))`, entry by entry, any shape (...,)."""
    return np.maximum(1.0, np.ceil(ratios))


def relaxed(ratios: Floats) -> Floats:
    """`max(1, x)`, which makes the program geometric."""
    return np.maximum(1.0, ratios)


@dataclass(frozen=True, eq=False)
class CeilingProduct:
    """The data. points r: (K, d), nonnegative. weights w: (K,), positive;
    `largest` takes the maximum over k instead of the sum.

    squares q: (d,), positive. constant c >= 0, offset h >= 0. steps: `ceiling` or `relaxed`.
    """

    points: Floats
    weights: Floats
    squares: Floats
    constant: float = 0.0
    offset: float = 0.0
    largest: bool = False
    steps: Callable[[Floats], Floats] = ceiling

    def value(self, sizes: Floats) -> Floats:
        """(B,) values at sizes T (B, d)."""
        return self.between(sizes, sizes)

    def between(self, low: Floats, high: Floats) -> Floats:
        """(B,) values with the first factor at low and the second at high, both (B,
        d): lower bounds on the boxes between them."""
        second = self.steps((self.points[None] / high[:, None]).max(axis=2)) ** 2
        terms = self.weights * (self.offset + self.first(low) * second)
        return np.asarray(terms.max(axis=1) if self.largest else terms.sum(axis=1))

    def first(self, sizes: Floats) -> Floats:
        """(B, 1), the first factor."""
        return np.asarray(self.constant + sizes**2 @ self.squares)[:, None]

    def bound(self, low: Floats, high: Floats) -> Floats:
        """(B,) lower bounds on boxes. Measured, gap 0.01,
        costs without constant: 1,400 boxes where `between` alone needs over 20,000."""
        return np.maximum(self.between(low, high), self.tangent(low, high) * (1 - 1e-12))

    def tangent(self, low: Floats, high: Floats) -> Floats:
        """(B,) least values on the boxes of the tangent, in logarithms, to the geometric program at their middles."""
        middle = np.sqrt(low * high)
        ratios = self.points[None] / middle[:, None]
        top, argmax = ratios.max(axis=2), ratios.argmax(axis=2)
        squared = self.weights * np.maximum(1.0, top) ** 2
        terms = self.weights * self.offset + squared * self.first(middle)
        if self.largest:
            chosen = np.arange(terms.shape[1]) == terms.argmax(axis=1)[:, None]
            squared, terms = squared * chosen, terms * chosen
        value = terms.sum(axis=1)
        falling = np.where(top > 1.0, 2 * squared * self.first(middle), 0.0)
        falls = [(falling * (argmax == a)).sum(axis=1) for a in range(middle.shape[1])]
        slope = 2 * self.squares * middle**2 * squared.sum(axis=1)[:, None] - np.stack(falls, axis=1)
        return np.asarray(value * np.exp(-(np.abs(slope) * np.log(high / low)).sum(axis=1) / (2 * value)))


def least_product(
    product: CeilingProduct, low: Floats, high: Floats, *, tolerance: float = 0.01, max_boxes: int = 20_000
) -> Solution[Floats]:
    """The sizes (d,) of least value in the box `low <= T <= high`, both (d,) and positive.

    Measured, 100 points within a factor 1000, gap 0.01: d = 1 in 0.01 s, d = 2 in 0.2 s, d = 3 in 0.7 s (8,000 boxes).
    """
    low, high = np.asarray(low, dtype=np.float64)[None], np.asarray(high, dtype=np.float64)[None]
    best = descend_by_coordinates(product, np.sqrt(low * high)[0], low[0], high[0])
    value = float(product.value(best[None])[0])
    heap = [(float(product.bound(low, high)[0]), 0, low[0], high[0])]
    boxes = 1
    while heap and relative_gap(value, heap[0][0]) > tolerance and boxes < max_boxes:
        taken = [heapq.heappop(heap) for _ in range(min(64, len(heap)))]
        lows, highs = _halves(np.array([box[2] for box in taken]), np.array([box[3] for box in taken]))
        # The upper corner of a box attains the second factor of its bound.
        corner = product.value(highs)
        if corner.min() < value:
            best = descend_by_coordinates(product, highs[corner.argmin()], low[0], high[0])
            value = float(product.value(best[None])[0])
        for bound, a, b in zip(product.bound(lows, highs), lows, highs, strict=True):
            boxes += 1
            if bound < value:
                heapq.heappush(heap, (float(bound), boxes, a, b))
    bound = min(heap[0][0], value) if heap else value
    status = Status.OPTIMAL if relative_gap(value, bound) <= tolerance else Status.STALLED
    return Solution(status, best, value, bound, boxes, "branch and bound")


def _halves(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Both halves of every box, along its widest side in logarithms."""
    rows, side = np.arange(len(low)), (high / low).argmax(axis=1)
    middle = np.sqrt(low[rows, side] * high[rows, side])
    left, right = high.copy(), low.copy()
    left[rows, side] = right[rows, side] = middle
    return np.concatenate([low, right]), np.concatenate([left, high])


def descend_by_coordinates(product: CeilingProduct, start: Floats, low: Floats, high: Floats) -> Floats:
    """Coordinate descent over the sizes where a step ends, `r_ka / j`: between two of them the value grows with `T_a`.

    start, low, high: (d,), positive, low <= start <= high. Returns sizes (d,).
    """
    best = start.copy()
    value = float(product.value(best[None])[0])
    for _ in range(20):
        before = value
        for a in range(len(best)):
            candidates = _ends(product.points[:, a], low[a], high[a])
            tried = np.repeat(best[None], len(candidates), axis=0)
            tried[:, a] = candidates
            values = product.value(tried)
            if len(values) and values.min() < value:
                best, value = tried[values.argmin()], float(values.min())
        if value >= before:
            break
    return best


def _ends(values: Floats, low: float, high: float) -> Floats:
    """The sizes `r / j` between low and high, thinned to at most 400."""
    positive = np.unique(values[values > 0])
    counts = np.unique(np.geomspace(1, max(1.0, positive.max(initial=1.0) / low), 40).astype(np.int64))
    ends = np.unique((positive[:, None] / counts).ravel())
    ends = np.append(ends[(ends >= low) & (ends <= high)], low)
    return ends[np.unique(np.linspace(0, len(ends) - 1, 400).astype(np.int64))]
