"""Exact gift wrapping: completes a boundary where floating point left holes.

The hull is that of the points `p (1 + h t_p)`, h infinitesimal and positive, t_p generic integers. It is simplicial, and
comparisons are made to first order in h: a tie in the exact data is broken by the integers t, so that the result triangulates
the true facets (derivation in docs/theory).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.facets import Boundary, HullFailed
from solvers.points import Integers, Points, against_one
from solvers.triangulation import Labels, corners, signed, solved
from solvers.working_set import Push, require_within

Simplex = tuple[int, ...]


class _Frame:
    """One simplex of the pushed hull: exact products of all points with its normal, the first-order change of it, and a turn.

    For corners v_i: `a.v_i = 1`, `a1.v_i = -t_i`, `r.v_i = [i == pivot]`.
    """

    def __init__(self, points: Points, push: Push, simplex: Simplex, pivot: int) -> None:
        labels = np.array([simplex])
        rows = signed(labels[0], len(points))[0]
        ranks, below = push.ranks[rows].tolist(), points.denominators[rows].tolist()
        right = [[d, -t * d, d * (i == pivot)] for i, (t, d) in enumerate(zip(ranks, below, strict=True))]
        table, self.common = solved(corners(points, labels)[0], right)
        self.products: Integers = points.numerators @ table  # over denominators[i] * common

    def of(self, points: Points, row: int, sign: int) -> tuple[Fraction, Fraction, Fraction]:
        """`(a.p, a1.p, r.p)` of the point with that row and sign."""
        below = int(points.denominators[row]) * self.common
        first, second, third = self.products[row]
        return Fraction(sign * first, below), Fraction(sign * second, below), Fraction(sign * third, below)


def neighbour_over(points: Points, push: Push, simplex: Simplex, pivot: int) -> Simplex:
    """The simplex on the other side of the ridge opposite corner number `pivot`.

    Turning the hyperplane about the ridge, `a - x r`, the first point to touch it has the smallest `x = (1 - a.p) / (-r.p)`
    among those with `r.p < 0`, ties by the first-order term in h.
    """
    frame, m = _Frame(points, push, simplex, pivot), len(points)
    best: tuple[Fraction, Fraction] | None = None
    label, unique = -1, True
    for row in range(m):
        turn = int(frame.products[row, 2])
        if turn == 0:
            continue
        sign = -1 if turn > 0 else 1
        on, change, turned = frame.of(points, row, sign)
        t, slack = int(push.ranks[row]), 1 - on
        value = (slack / -turned, (-change - t * on - t * slack) / -turned)
        if best is None or value <= best:
            unique = value != best
            best, label = value, row if sign > 0 else row + m
    if best is None or not unique:
        raise HullFailed("gift wrapping met a tie: the points do not span their space, or the random ranks were unlucky")
    return tuple(sorted({*simplex} - {simplex[pivot]} | {label}))


def belongs(points: Points, push: Push, simplex: Simplex, positions: NDArray[np.int8]) -> bool:
    """Is a simplex of a true facet also one of the pushed hull? Other points of the facet must stay below it to first order."""
    rows, signs = signed(np.array(simplex), len(points))
    side = int(positions[rows[0]]) * int(signs[0])
    others = set(np.flatnonzero(positions).tolist()) - set(rows.tolist())
    if not others:
        return True
    frame = _Frame(points, push, simplex, 0)
    return all(-frame.of(points, row, side * int(positions[row]))[1] - int(push.ranks[row]) > 0 for row in others)


def completed(points: Points, push: Push, start: Boundary, max_simplices: int) -> Labels:
    """All boundary simplices of the pushed hull, one of each pair, grown over open ridges from the true ones in `start`."""
    positions = against_one(start.facets, points)
    rows = zip(start.simplices.tolist(), start.facet_of.tolist(), strict=True)
    seeds = [tuple(sorted(labels)) for labels, f in rows if belongs(points, push, tuple(labels), positions[f])]
    if not seeds:
        raise HullFailed("no facet could be proven to start from: rescale the points or round them to fewer digits")
    m = len(points)
    accepted: set[Simplex] = set()
    ridges: dict[Simplex, tuple[Simplex, int]] = {}
    for simplex in seeds:
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
