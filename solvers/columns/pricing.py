"""What a column may gain at given prices, report by report, with a bound that needs no solver.

Of prices y (N,) and a report z the *margin* is `w = C_z - y`. Every column of the cone costs at least `w v >= -d q v`, where q
(N,) > 0 sums to 1; the least d is a linear program over the cone, whose multipliers f >= 0 of pairs prove it: see `proven`.
Derivations in docs/theory/columns.md, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.columns.cone import STEEPEST, Array, Edges, Indices
from solvers.columns.linear import least
from solvers.work import spend

Mask = NDArray[np.bool_]
SURE = 1e-13  # of all that is added, far above the rounding of the floats
MISSED = 1e-7  # a column that the cone lifts by more says which edges are missing
MOST_MISSED = 32  # of these pairs
NONE: Indices = np.zeros((0, 2), dtype=np.intp)
FAINT = 1e-12  # of the largest entry: what is less is nothing


@dataclass(frozen=True, eq=False)
class Flow:
    """Multipliers `amounts` (F,) >= 0 of `v_from <= exp(b) v_to`: what they add up to at each element bounds every column."""

    from_: Indices
    to: Indices
    amounts: Array

    def moved(self, elements: Indices) -> Flow:
        """The flow between the images of its elements."""
        return Flow(elements[self.from_], elements[self.to], self.amounts)

    def net(self, budgets: Array) -> tuple[Array, Array]:
        """What the flow adds to a margin at each element, (N,), and the sum of the sizes of what was added."""
        n = len(budgets)
        taken = self.amounts * np.exp(budgets[self.from_, self.to])
        out: Array = np.bincount(self.from_, self.amounts, n).astype(float)
        into: Array = np.bincount(self.to, taken, n).astype(float)
        return out - into, out + into


def no_flow() -> Flow:
    """No multiplier: the bound is that of the margin itself."""
    return Flow(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0))


def proven(margin: Array, norm: Array, flow: Flow, budgets: Array, usable: Mask) -> float:
    """A d with `margin v >= -d norm v` for every v of the cone that is 0 beside the usable elements, which no flow leaves.

    Whatever the flow: `w v >= (w + net) v` as f >= 0 and `v_from <= exp(b) v_to`, and v >= 0. Rounding is added.
    """
    net, size = flow.net(budgets)
    return float(((-margin - net + SURE * (np.abs(margin) + size)) / norm)[usable].max())


def exactly_proven(
    margin: list[Fraction], norm: list[Fraction], flow: list[tuple[int, int, Fraction]], ratios: dict[tuple[int, int], Fraction]
) -> Fraction:
    """The same in rationals. ratios: of each pair of the flow a rational at least `exp(b)`.

    >>> half = Fraction(1, 2)
    >>> exactly_proven([-half, half], [half, half], [(0, 1, Fraction(1, 4))], {(0, 1): Fraction(2)})
    Fraction(1, 2)
    """
    reduced = list(margin)
    for i, j, amount in flow:
        if amount < 0:
            raise ValueError(f"flow from {i} to {j} is {amount}: multipliers are at least 0.")
        reduced[i] += amount
        reduced[j] -= amount * ratios[i, j]
    return max(-own / part for own, part in zip(reduced, norm, strict=True))


@dataclass(frozen=True, eq=False)
class Priced:
    """The column (N,) that gains most on the edges, its gain `-w v / q v` when lifted into the cone, a bound with its flow, and
    pairs of elements (E, 2) that lifted it."""

    column: Array
    gain: float
    bound: float
    flow: Flow
    missing: Indices


def priced(margin: Array, norm: Array, edges: Edges, budgets: Array, usable: Mask, reach: float = np.inf) -> Priced:
    """The least `margin v` of all v >= 0 with `norm v = 1` that keep the edges and are 0 beside the usable elements.

    The edges may be fewer than the cone asks. Elements with a margin of at least 0 that lie further than `reach` from all
    others are asked to be at least what the nearest of the rest makes them, and so left out. Both make the bound larger, never
    wrong; the column is lifted. NoSolution where HiGHS finds no optimum.
    """
    negative = usable & (margin < 0)
    if not negative.any():
        return Priced(np.zeros(len(margin)), -np.inf, proven(margin, norm, no_flow(), budgets, usable), no_flow(), NONE)
    near = budgets[:, negative].min(axis=1)
    kept = usable & (near <= reach)
    place, names = np.cumsum(kept) - 1, np.flatnonzero(kept)
    chosen = kept[edges.left] & kept[edges.right]
    left, right, b = place[edges.left[chosen]], place[edges.right[chosen]], edges.budgets[chosen]
    i, j, half = np.concatenate([left, right]), np.concatenate([right, left]), np.exp(np.concatenate([b, b]) / 2)
    far = np.flatnonzero(usable & ~kept & (near <= STEEPEST))
    held = names[budgets[np.ix_(far, names)].argmin(axis=1)] if len(far) else far
    asked = margin[far] * np.exp(-budgets[far, held])
    spend(entries=float(len(far)) * len(names))
    cost = margin[kept] + np.bincount(place[held], asked, len(names))
    scale, weight = float(np.abs(cost).max()) or 1.0, norm[kept] / norm[kept].mean()
    found = least(cost / scale, _rows(i, j, half, len(names)), np.zeros(len(i)), weight[None], np.ones(1))
    amounts = -found.of_limits / half * scale
    some = amounts > 0
    flow = Flow(
        np.concatenate([names[i[some]], held]),
        np.concatenate([names[j[some]], far]),
        np.concatenate([amounts[some], asked * (1 - SURE)]),
    )
    point = np.zeros(len(margin))
    point[kept] = np.where(found.point > FAINT * found.point.max(), found.point / found.point.max(), 0.0)
    column, missing = _lifted(budgets, point, margin, kept)
    gain = float(-margin[usable] @ column[usable]) / float(norm @ column)
    return Priced(column, gain, proven(margin, norm, flow, budgets, usable), flow, missing)


def _rows(i: Indices, j: Indices, half: Array, n: int) -> Any:
    """`v_i exp(-b / 2) - v_j exp(b / 2)`, sparse."""
    from scipy.sparse import coo_array

    index = np.arange(len(i))
    values, places = np.concatenate([1 / half, -half]), np.concatenate([i, j])
    return coo_array((values, (np.concatenate([index, index]), places)), (len(i), n)).tocsr()


def _lifted(budgets: Array, point: Array, margin: Array, kept: Mask) -> tuple[Array, Indices]:
    """The least column of the cone above a point, and the pairs of those that were kept that lift it at the largest costs."""
    over = np.flatnonzero(point)
    spend(calls=5, entries=4.0 * len(point) * len(over))
    ways = np.exp(-budgets[:, over]) * point[over]
    first = ways.argmax(axis=1)
    column, highest = ways[np.arange(len(point)), first], over[first]
    moved = np.flatnonzero((column > point * (1 + MISSED) + FAINT) & kept & (margin > 0))
    dearest = np.argsort(-margin[moved] * (column - point)[moved], kind="stable")[:MOST_MISSED]
    return column, np.stack([moved[dearest], highest[moved[dearest]]], axis=1)
