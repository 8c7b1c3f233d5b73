"""The cone `C = {v >= 0 : v_x <= exp(b(x, x')) v_x'}` of a table of budgets b: log v is 1-Lipschitz where v is not 0.

b (N, N): symmetric, 0 on the diagonal and positive elsewhere, perhaps infinite, with the triangle inequality. Where budgets are
infinite, nothing is asked: C is a product of the cones of the *components*, within which all budgets are finite.
Derivations in docs/theory/columns.md, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.limited import Method, linear_program
from solvers.work import one_thread, spend

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
NEAR = 64  # of the nearest, among which those pairs are looked for that no other pairs imply
IMPLIED = 1 + 1e-12  # the sum of two budgets is the third, but for rounding
STEEPEST = 25.0  # what exp(-25) of an entry asks of another one, a program in floats cannot tell from nothing


def checked_budgets(budgets: ArrayLike) -> Array:
    """The table as floats, (N, N). ValueError for what is not symmetric, or not positive off a diagonal of zeros; that the
    triangle inequality holds is up to the caller."""
    b = np.asarray(budgets, dtype=float)
    if b.ndim != 2 or b.shape[0] != b.shape[1] or not len(b) or np.isnan(b).any() or not (b == b.T).all():
        raise ValueError(f"budgets of shape {b.shape}: give a symmetric table of at least one row, without NaN.")
    if np.diagonal(b).any() or not (b[~np.eye(len(b), dtype=bool)] > 0).all():
        raise ValueError(
            "budgets: give zeros on the diagonal and positive numbers, or inf, elsewhere; merge what may not differ."
        )
    return b


def components(budgets: Array) -> Indices:
    """The component of each element, (N,), numbered by their first elements."""
    first = np.isfinite(budgets).argmax(axis=1)
    return np.unique(first, return_inverse=True)[1].astype(np.intp)


def poles(budgets_to_poles: ArrayLike) -> Array:
    """The columns `exp(-b(x, pole))`, (N, P), in the cone wherever the triangle inequality holds with the poles, too.

    >>> poles([[0.0, np.inf]]).tolist()
    [[1.0, 0.0]]
    """
    return np.asarray(np.exp(-np.asarray(budgets_to_poles, dtype=float)))


def envelope(budgets: Array, columns: Array) -> Array:
    """The least columns of the cone that are nowhere below `columns` (N, C): `max over x' of v_x' exp(-b(x, x'))`.

    >>> envelope(np.array([[0.0, np.log(2)], [np.log(2), 0.0]]), np.array([[8.0, 2.0], [2.0, 3.0]])).round(12).tolist()
    [[8.0, 2.0], [4.0, 3.0]]
    """
    factors = np.exp(-budgets)
    spend(calls=columns.shape[1], entries=float(budgets.size) * columns.shape[1])
    return np.stack([(factors * column).max(axis=1) for column in columns.T], axis=1) if columns.size else columns.copy()


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs `left < right` (E,) with their budgets: what a program asks of the cone. Both directions of each are meant."""

    left: Indices
    right: Indices
    budgets: Array

    def __len__(self) -> int:
        return len(self.left)

    def joined(self, table: Array, left: Indices, right: Indices) -> Edges:
        """These and further pairs of a table of budgets, each once, in order; without those that ask next to nothing."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        keys = np.unique(np.concatenate([self.left * len(table) + self.right, low * len(table) + high]))
        i, j = np.divmod(keys, len(table))
        asks = table[i, j] <= STEEPEST
        return Edges(i[asks], j[asks], table[i, j][asks])


def no_edges() -> Edges:
    """None yet."""
    return Edges(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0))


def near_edges(budgets: Array, near: int = NEAR, stretch: float = 1.0) -> Edges:
    """Pairs of near elements that no two shorter pairs imply, of a total length up to `stretch` as much.

    With all elements near and stretch 1, these imply all pairs.
    """
    n = len(budgets)
    found: list[tuple[Indices, Indices]] = []
    spend(calls=3.0 * n, entries=float(n) * (n + min(near, n) ** 2))
    for x in range(n):
        around = np.argsort(budgets[x], kind="stable")[1 : near + 1]
        around = around[budgets[x, around] <= STEEPEST]
        own, between = budgets[x, around], budgets[np.ix_(around, around)]
        way = own[:, None] + between
        shorter = (own[:, None] < own) & (between < own)
        implied = (shorter & (way <= stretch * IMPLIED * own)).any(axis=0) if len(own) else np.zeros(0, dtype=bool)
        found.append((np.full(int((~implied).sum()), x), around[~implied]))
    left, right = (np.concatenate(part) for part in zip(*found, strict=True))
    return no_edges().joined(budgets, left, right)


def spanner(budgets: Array, stretch: float) -> Edges:
    """The greedy spanner (Althöfer and others 1993): pairs by length, each kept where the way by those before is longer than
    `stretch` as much. O(N^2) for each pair that is kept."""
    n = len(budgets)
    i, j = np.triu_indices(n, 1)
    order = np.argsort(budgets[i, j], kind="stable")
    i, j = i[order], j[order]
    kept: list[int] = []
    ways = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    for k, (x, y) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        own = budgets[x, y]
        if not np.isfinite(own):
            break
        if ways[x, y] <= stretch * IMPLIED * own:
            continue
        kept.append(k)
        there, back = ways[:, x][:, None] + own + ways[y], ways[:, y][:, None] + own + ways[x]
        ways = np.minimum(ways, np.minimum(there, back))
    spend(calls=float(len(i)), entries=4.0 * n * n * len(kept))
    return Edges(i[kept].astype(np.intp), j[kept].astype(np.intp), budgets[i[kept], j[kept]])


# Permutations of elements and reports that keep budgets and costs: a program is asked once for each of their orbits.
#
# Averages of tables over a group of symmetries keep the budgets and the cost, so that an optimal table, and optimal prices,
# are alike on orbits. Derivations in docs/theory/columns.md, section 3.


MOST = 16  # symmetries: with more, none are used
TOLD_BY = 4  # elements, by whose budgets all others are told apart: where that takes more, none are looked for
DIGITS = 11  # of numbers that are one


@dataclass(frozen=True, eq=False)
class Symmetries:
    """A group of G symmetries, the identity first: `b[g_x, g_x'] = b[x, x']` and `C[g_x, h_z] = C[x, z]` for each pair of rows.

    elements: (G, N). reports: (G, M).
    """

    elements: Indices
    reports: Indices

    def __len__(self) -> int:
        return len(self.elements)

    def averages(self) -> Array:
        """The averages over orbits of elements, (orbits, N)."""
        orbit = np.unique(self.elements.min(axis=0), return_inverse=True)[1]
        member = np.arange(orbit.max() + 1)[:, None] == orbit
        return np.asarray(member / member.sum(axis=1, keepdims=True))

    def ways(self) -> tuple[Indices, Indices]:
        """Of each report (M,) one that stands for it, and the symmetry that leads from there."""
        count = self.reports.shape[1]
        source, by = np.full(count, -1, dtype=np.intp), np.zeros(count, dtype=np.intp)
        for z in range(count):
            if source[z] < 0:
                for k, image in enumerate(self.reports[:, z].tolist()):
                    if source[image] < 0:
                        source[image], by[image] = z, k
        return source, by


def none_of(elements: int, reports: int) -> Symmetries:
    """The identity alone."""
    return Symmetries(np.arange(elements, dtype=np.intp)[None], np.arange(reports, dtype=np.intp)[None])


def symmetries(budgets: Array, costs: Array) -> Symmetries:
    """The symmetries of budgets (N, N) and costs (N, M), where they are a few; the identity alone where they are many.

    >>> x = np.arange(3.0)
    >>> symmetries(np.abs(x[:, None] - x), (x[:, None] - x) ** 2).elements.tolist()
    [[0, 1, 2], [2, 1, 0]]
    """
    n, m = costs.shape
    numbers = _numbered(np.hstack([budgets, costs]))
    b, c = numbers[:, :n], numbers[:, n:]
    spend(calls=10, entries=60.0 * numbers.size)
    kinds = _kinds(np.hstack([np.sort(b, axis=1), np.sort(c, axis=1)]))
    base = _base(b, kinds)
    found: list[tuple[Indices, Indices]] = []
    for images in _images(b, kinds, base):
        moved = _extended(b, kinds, base, images)
        if moved is None or not (b[np.ix_(moved, moved)] == b).all():
            continue
        reports = _matched(c, moved)
        if reports is not None:
            found.append((moved, reports))
        if len(found) > MOST:
            return none_of(n, m)
    found.sort(key=lambda pair: pair[0].tolist())
    return Symmetries(*(np.array(part) for part in zip(*found, strict=True))) if found else none_of(n, m)


def _numbered(table: Array) -> Indices:
    """Each number of a table by a whole number, alike where the numbers are alike but for rounding."""
    finite = np.where(np.isfinite(table), table, 0.0)
    unit = float(np.abs(finite).max()) * 10.0**-DIGITS or 1.0
    values = np.where(np.isfinite(table), np.round(finite / unit), -1.0 - 2 * 10.0**DIGITS)
    return np.unique(values, return_inverse=True)[1].reshape(table.shape).astype(np.intp)


def _kinds(rows: NDArray[np.intp]) -> Indices:
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.intp)


def _base(b: Indices, kinds: Indices) -> list[int]:
    """Elements whose budgets to each element tell all of a kind apart; too many where these are."""
    base: list[int] = []
    told = kinds
    while len(base) <= TOLD_BY and len(np.unique(told)) < len(b):
        sizes = np.bincount(kinds)[kinds].astype(float)
        parts = [len(np.unique(told * (b.max() + 1) + b[x])) for x in range(len(b))]
        chosen = min(range(len(b)), key=lambda x: (sizes[x] if not base else 0.0, -parts[x], x))
        base.append(chosen)
        told = _kinds(np.stack([told, b[chosen]], axis=1))
    return base or [0]


def _images(b: Indices, kinds: Indices, base: list[int]) -> Iterator[list[int]]:
    """Where the base may go: to elements of the same kinds, at the same budgets."""
    if len(base) > TOLD_BY:
        return
    waiting: list[list[int]] = [[]]
    while waiting:
        images = waiting.pop()
        if len(images) == len(base):
            yield images
            continue
        own = base[len(images)]
        fits = kinds == kinds[own]
        for other, image in zip(base, images, strict=False):
            fits &= b[:, image] == b[own, other]
        waiting += [[*images, x] for x in np.flatnonzero(fits)[::-1].tolist()]


def _extended(b: Indices, kinds: Indices, base: list[int], images: list[int]) -> Indices | None:
    """The one permutation that takes the base there, if any."""
    there, here = (np.column_stack([kinds, b[:, part]]) for part in (images, base))
    order, back = np.lexsort(there.T), np.lexsort(here.T)
    if not (there[order] == here[back]).all():
        return None
    moved = np.empty(len(b), dtype=np.intp)
    moved[back] = order
    return moved


def _matched(c: Indices, moved: Indices) -> Indices | None:
    """The permutation of reports with `c[moved x, h z] = c[x, z]`, if there is one; alike reports in their order."""
    there, here = c[moved], c
    order, back = np.lexsort(there), np.lexsort(here)
    if not (there[:, order] == here[:, back]).all():
        return None
    reports = np.empty(c.shape[1], dtype=np.intp)
    reports[back] = order
    return reports


# Linear programs `min cost x, upper x <= limits, equal x = sides, x >= 0`, by HiGHS, with counted work.


EXACTNESS = 1e-10  # of rows and reduced costs, the sharpest that HiGHS takes
STEPS = 30  # of the simplex method, about, for each row a fraction of which are looked at


class NoOptimum(Exception):
    """The backend says that it found no optimum; the message is its own."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A solution `point`, and what one more unit of each limit or side changes the value by: `of_limits <= 0`, `of_sides`."""

    point: Array
    of_limits: Array
    of_sides: Array


def least(
    cost: Array, upper: Any, limits: Array, equal: Any, sides: Array, methods: tuple[Method, ...] = ("highs-ds", "highs-ipm")
) -> Optimum:
    """The optimum by the first of the methods that finds one; upper may be None, with no limits. `NoOptimum` otherwise."""
    entries = float(getattr(equal, "nnz", equal.size)) + float(0 if upper is None else getattr(upper, "nnz", upper.size))
    found: Any = None
    for method in methods:
        spend(calls=100, pivots=STEPS * entries)
        with one_thread():
            found = linear_program(
                cost,
                A_ub=upper,
                b_ub=None if upper is None else limits,
                A_eq=equal,
                b_eq=sides,
                bounds=(0, None),
                method=method,
                exactness=EXACTNESS,
            )
        if found.status == 0:
            of_limits = np.zeros(0) if upper is None else np.minimum(found.ineqlin.marginals, 0.0)
            return Optimum(np.maximum(found.x, 0.0), of_limits, np.asarray(found.eqlin.marginals))
    raise NoOptimum(f"the linear program of {len(cost)} unknowns found no optimum: {found.message}")


# What a column may gain at given prices, report by report, with a bound that needs no solver.
#
# Of prices y (N,) and a report z the *margin* is `w = C_z - y`. Every column of the cone costs at least `w v >= -d q v`,
# where q (N,) > 0 sums to 1; the least d is a linear program over the cone, whose multipliers f >= 0 of pairs prove it: see
# `proven`. Derivations in docs/theory/columns.md, section 2.


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
    wrong; the column is lifted. `NoOptimum` where HiGHS finds no optimum.
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
