"""Exact gift wrapping: completes a boundary where floating point left holes.

The hull is that of the points `p (1 + h t_p)`, h infinitesimal and positive, t_p generic integers. It is simplicial, and
comparisons are made to first order in h: a tie in the exact data is broken by the integers t, so that the result triangulates
the true facets (derivation in docs/theory).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.exact.points import Integers, Points, against_one
from solvers.exact.span import row_echelon
from solvers.polytopes.extremes import Push, require_within
from solvers.polytopes.facets import Boundary, HullFailed
from solvers.polytopes.triangulation import Labels, corners, signed, solved

Simplex = tuple[int, ...]


class _Frame:
    """Exact products of all points with the normal a of a hyperplane, its first-order change a1, and a direction r of turning.

    `table` (s, 3) has the columns a, a1, r as integers over the positive `common`.
    """

    def __init__(self, points: Points, push: Push, table: Integers, common: int) -> None:
        self.points, self.push, self.common = points, push, common
        self.products: Integers = points.numerators @ table  # over denominators[i] * common

    @classmethod
    def on(cls, points: Points, push: Push, simplex: Simplex, pivot: int) -> _Frame:
        """On the corners v_i of a simplex: `a.v_i = 1`, `a1.v_i = -t_i`, `r.v_i = [i == pivot]`."""
        labels = np.array([simplex])
        rows = signed(labels[0], len(points))[0]
        ranks, below = push.ranks[rows].tolist(), points.denominators[rows].tolist()
        right = [[d, -t * d, d * (i == pivot)] for i, (t, d) in enumerate(zip(ranks, below, strict=True))]
        return cls(points, push, *solved(corners(points, labels)[0], right))

    def of(self, row: int, sign: int) -> tuple[Fraction, Fraction, Fraction]:
        """`(a.p, a1.p, r.p)` of the point with that row and sign."""
        below = int(self.points.denominators[row]) * self.common
        first, second, third = self.products[row]
        return Fraction(sign * first, below), Fraction(sign * second, below), Fraction(sign * third, below)

    def touched(self) -> tuple[int, Fraction, Fraction]:
        """The first point that the turning hyperplane `a - x r` meets, and x to first order.

        It has the smallest `x = (1 - a.p) / (-r.p)` among those with `r.p < 0`, ties by the term in h. Only points within what
        a rounded x leaves open are compared in fractions.
        """
        found: list[tuple[Fraction, Fraction, int]] = []
        for row in self._nearest().tolist():
            sign = -1 if self.products[row, 2] > 0 else 1
            on, change, turn = self.of(row, sign)
            t, slack = int(self.push.ranks[row]), 1 - on
            found.append((slack / -turn, (-change - t * on - t * slack) / -turn, row if sign > 0 else row + len(self.points)))
        best = min(found, default=None)
        if best is None or sum(x[:2] == best[:2] for x in found) > 1:
            raise HullFailed("gift wrapping met a tie: the points do not span their space, or the random ranks were unlucky")
        return best[2], best[0], best[1]

    def _nearest(self) -> NDArray[np.intp]:
        """The rows whose x, the quotient of two integers rounded once, is the smallest up to that rounding."""
        rows: NDArray[np.intp] = np.flatnonzero(self.products[:, 2])
        signs = np.where(self.products[rows, 2] > 0, -1, 1)
        slack = self.points.denominators[rows] * self.common - signs * self.products[rows, 0]
        try:
            x: NDArray[np.float64] = (slack / -(signs * self.products[rows, 2])).astype(np.float64)
        except OverflowError:  # beyond the floats
            return rows
        least = float(x.min(initial=np.inf))
        near: NDArray[np.intp] = rows[x <= least + abs(least) * 2.0**-50]
        return near


def neighbour_over(points: Points, push: Push, simplex: Simplex, pivot: int) -> Simplex:
    """The simplex on the other side of the ridge opposite corner number `pivot`: the hyperplane is turned about the ridge."""
    label = _Frame.on(points, push, simplex, pivot).touched()[0]
    return tuple(sorted({*simplex} - {simplex[pivot]} | {label}))


def first_simplex(points: Points, push: Push) -> Simplex:
    """Any simplex of the pushed hull: a hyperplane on one extreme point is turned s - 1 times about the points it holds."""
    s, m = points.dimension, len(points)
    direction = np.random.default_rng(2).integers(1, 2**30, s).astype(object)
    heights = [Fraction(int(x), int(d)) for x, d in zip(points.numerators @ direction, points.denominators, strict=True)]
    top = max(range(m), key=lambda row: (abs(heights[row]), push.ranks[row]))
    a = [int(x) / abs(heights[top]) for x in direction]
    change = [-int(push.ranks[top]) * x for x in a]
    labels = [top if heights[top] > 0 else top + m]
    while len(labels) < s:
        turn = _orthogonal(points.numerators[signed(np.array(labels), m)[0]])
        columns = Points.of([a + change + turn])
        table = columns.numerators.reshape(3, s).T
        label, x, x1 = _Frame(points, push, table, int(columns.denominators[0])).touched()
        a = [u - x * r for u, r in zip(a, turn, strict=True)]
        change = [u - x1 * r for u, r in zip(change, turn, strict=True)]
        labels.append(label)
    return tuple(sorted(labels))


def _orthogonal(rows: Integers) -> list[Fraction]:
    """A nonzero vector orthogonal to fewer than s rows: one free variable of their echelon form is set to one."""
    echelon = row_echelon(rows).fractions()
    pivots = [next(j for j, x in enumerate(row) if x) for row in echelon]
    free = next(j for j in range(rows.shape[1]) if j not in pivots)
    vector = [Fraction(int(j == free)) for j in range(rows.shape[1])]
    for j, row in zip(pivots, echelon, strict=True):
        vector[j] = -row[free]
    return vector


def belongs(points: Points, push: Push, simplex: Simplex, positions: NDArray[np.int8]) -> bool:
    """Is a simplex of a true facet also one of the pushed hull? Other points of the facet must stay below it to first order.

    positions: (m,), from `against_one`: 1 on the facet, -1 on its mirror image, 0 between them.
    docs/theory/hull.md, "Completion".
    """
    rows, signs = signed(np.array(simplex), len(points))
    side = int(positions[rows[0]]) * int(signs[0])
    others = set(np.flatnonzero(positions).tolist()) - set(rows.tolist())
    if not others:
        return True
    frame = _Frame.on(points, push, simplex, 0)
    return all(-frame.of(row, side * int(positions[row]))[1] - int(push.ranks[row]) > 0 for row in others)


def completed(points: Points, push: Push, start: Boundary, max_simplices: int) -> Labels:
    """All boundary simplices of the pushed hull, one of each pair, grown over open ridges from the true ones in `start`."""
    positions = against_one(start.facets, points)
    rows = zip(start.simplices.tolist(), start.facet_of.tolist(), strict=True)
    seeds = [tuple(sorted(labels)) for labels, f in rows if belongs(points, push, tuple(labels), positions[f])]
    m = len(points)
    accepted: set[Simplex] = set()
    ridges: dict[Simplex, tuple[Simplex, int]] = {}
    for simplex in seeds or [first_simplex(points, push)]:
        _accept(simplex, m, accepted, ridges)
    while ridges:
        simplex, pivot = next(iter(ridges.values()))
        _accept(neighbour_over(points, push, simplex, pivot), m, accepted, ridges)
        require_within(len(accepted), max_simplices, m, points.dimension)
    return np.array(sorted(simplex for simplex in accepted if simplex < _antipode(simplex, m)), np.int64)


def _accept(simplex: Simplex, m: int, accepted: set[Simplex], ridges: dict[Simplex, tuple[Simplex, int]]) -> None:
    """Adds a simplex and its antipode; a ridge seen twice is closed."""
    for one in (simplex, _antipode(simplex, m)):
        if one in accepted:
            continue
        accepted.add(one)
        for j in range(len(one)):
            ridge = one[:j] + one[j + 1 :]
            if ridges.pop(ridge, None) is None:
                ridges[ridge] = (one, j)


def _antipode(simplex: Simplex, m: int) -> Simplex:
    return tuple(sorted((x + m) % (2 * m) for x in simplex))
