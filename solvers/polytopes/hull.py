"""Symmetric polytopes B = conv{+-p_m} from exact points: vertices, facets, star triangulation, gauge, volume, second moment.

Derivations are in docs/theory/hull.md. Floating point proposes, integers decide.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.exact.points import (
    ExactIntegers,
    Points,
    against_one,
    distinct_rows,
    float_error,
    outside,
    row_echelon,
    unit_exponents,
)
from solvers.polytopes.extremes import LARGE, Push, extreme_rows, require_within, simplices_of_corners
from solvers.polytopes.facets import (
    Backend,
    Boundary,
    FacetCandidates,
    HullFailed,
    candidate_simplices,
    float_normals,
    proven_boundary,
)
from solvers.polytopes.triangulation import (
    Labels,
    corners,
    covers_once,
    determinants,
    integer_volumes,
    open_ridges,
    pair_weights,
    second_moment,
    signed,
    solved,
)
from solvers.work import go_on

# Exact gift wrapping: completes a boundary where floating point left holes.
#
# The hull is that of the points `p (1 + h t_p)`, h infinitesimal and positive, t_p generic integers. It is simplicial, and
# comparisons are made to first order in h: a tie in the exact data is broken by the integers t, so that the result
# triangulates the true facets (derivation in docs/theory).


Simplex = tuple[int, ...]


class _TurningHyperplane:
    """Exact products of all points with the normal a of a hyperplane, its first-order change a1, and a direction r of turning.

    `table` (s, 3) has the columns a, a1, r as integers over the positive `common`.
    """

    def __init__(self, points: Points, push: Push, table: ExactIntegers, common: int) -> None:
        self.points, self.push, self.common = points, push, common
        self.products: ExactIntegers = points.numerators @ table  # over denominators[i] * common

    @classmethod
    def on(cls, points: Points, push: Push, simplex: Simplex, pivot: int) -> _TurningHyperplane:
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
    label = _TurningHyperplane.on(points, push, simplex, pivot).touched()[0]
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
        label, x, x1 = _TurningHyperplane(points, push, table, int(columns.denominators[0])).touched()
        a = [u - x * r for u, r in zip(a, turn, strict=True)]
        change = [u - x1 * r for u, r in zip(change, turn, strict=True)]
        labels.append(label)
    return tuple(sorted(labels))


def _orthogonal(rows: ExactIntegers) -> list[Fraction]:
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
    frame = _TurningHyperplane.on(points, push, simplex, 0)
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
        go_on()
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


SMALLER_PUSHES = (2.0**-10, 2.0**-20, 2.0**-30, 0.0)  # nearly degenerate points need a smaller one, generic ones none


@dataclass(frozen=True, eq=False)
class Polytope:
    """A full-dimensional symmetric polytope B in R^s, proven: `B = conv{+-vertices} = {z : |a.z| <= 1 for all facets a}`.

    vertices: one of each pair, (m, s). facets: one of each pair, (F, s). simplices: (T, s) labels, one of each pair; simplex t
    is conv(0, corners), label i < m stands for vertex i, label m + i for its antipode. facet_of: (T,) the facet that holds it.
    minors: the T determinants of the integer numerators of the corners. proposer: who said what was then proven.
    `convex_hull` makes one.

    >>> square = convex_hull(Points.of([[1, 0], [0, 1]]))
    >>> square.volume, square.gauge([0.5, -1.0]).item(), square.second_moment.tolist()
    (Fraction(2, 1), 1.5, [[0.16666666666666666, 0.0], [0.0, 0.16666666666666666]])
    """

    vertices: Points
    facets: Points
    simplices: Labels
    facet_of: Labels
    minors: tuple[int, ...]
    proposer: str = ""

    def __post_init__(self) -> None:
        for array in (self.simplices, self.facet_of):
            array.setflags(write=False)

    @property
    def dimension(self) -> int:
        """s."""
        return self.vertices.dimension

    @property
    def simplex_count(self) -> int:
        """Simplices of the whole star triangulation, both halves."""
        return 2 * len(self.simplices)

    def gauge(self, z: ArrayLike) -> NDArray[np.float64]:
        """`min {r >= 0 : z in r B} = max_a |a.z|` in floating point: z of shape (..., s), gauges (...,)."""
        rows = np.asarray(z, dtype=float)
        flat, normals = rows.reshape(-1, self.dimension), self.facets.floats.T
        step = max(1, 2_000_000 // normals.shape[1])
        parts = [np.abs(flat[i : i + step] @ normals).max(axis=1) for i in range(0, len(flat), step)]
        return np.concatenate([*parts, np.zeros(0)]).reshape(rows.shape[:-1])

    def gauge_exact(self, z: Points) -> list[Fraction]:
        """The gauge of every row, as fractions."""
        return largest_products(self.facets, z)

    def dual_gauge(self, a: ArrayLike) -> NDArray[np.float64]:
        """Support function `max {a.z : z in B} = max_v |a.v|` in floating point: a of shape (..., s), values (...,)."""
        return np.asarray(np.abs(np.asarray(a, dtype=float) @ self.vertices.floats.T).max(axis=-1))

    def dual_gauge_exact(self, a: Points) -> list[Fraction]:
        """The support function of every row, as fractions."""
        return largest_products(self.vertices, a)

    def contains(self, z: Points) -> bool:
        """Do all rows lie in B? Decided exactly."""
        return len(outside(self.facets, z)) == 0

    @cached_property
    def _volumes(self) -> tuple[tuple[int, ...], int]:
        numbers, below = integer_volumes(self.vertices, self.simplices, list(self.minors))
        return tuple(numbers), below

    @property
    def integer_weights(self) -> list[int]:
        """Integers exactly proportional to the volumes of `simplices`."""
        return list(self._volumes[0])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Volume of each of `simplices` divided by their sum, (T,), each correctly rounded."""
        numbers = self.integer_weights
        total = sum(numbers)
        return _frozen(np.array([n / total for n in numbers]))

    @cached_property
    def volume(self) -> Fraction:
        """`vol B = 2 sum |det| / s!`, exact."""
        numbers, below = self._volumes
        return Fraction(2 * sum(numbers), below * math.factorial(self.dimension))

    @cached_property
    def second_moment_exact(self) -> tuple[tuple[Fraction, ...], ...]:
        """`E[U U']` for U uniform on B, (s, s) fractions."""
        numbers = self.integer_weights
        pairs = pair_weights(self.simplices, numbers, len(self.vertices))
        return tuple(map(tuple, second_moment(self.vertices, pairs, sum(numbers))))

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        """`E[U U']` for U uniform on B, (s, s); (s+1)(s+2) times it is `E[z z']` under a density `exp(-gauge)`."""
        return _frozen(np.array([[float(x) for x in row] for row in self.second_moment_exact]))

    def corners(self, t: int) -> NDArray[np.float64]:
        """Corners of simplex t besides the origin, (s, s) floats."""
        rows, signs = signed(self.simplices[t], len(self.vertices))
        return np.asarray(self.vertices.floats[rows] * signs[:, None])

    def scaled(self, factor: Fraction) -> Polytope:
        """`factor * B`, factor > 0."""
        if factor <= 0:
            raise ValueError(f"factor: {factor} is not positive")
        grown = self.vertices.scaled(factor)
        minors = tuple(determinants(grown, self.simplices))
        return replace(self, vertices=grown, facets=self.facets.scaled(1 / factor), minors=minors)

    def stretched(self, exponents: NDArray[np.int64]) -> Polytope:
        """The image with coordinate j times `2^exponents[j]`; exponents (s,)."""
        corners = self.vertices.stretched(exponents)
        minors = tuple(determinants(corners, self.simplices))
        return replace(self, vertices=corners, facets=self.facets.stretched(-exponents), minors=minors)


def largest_products(normals: Points, z: Points) -> list[Fraction]:
    """`max_a |a.z|` for every row z, exactly: doubles leave few candidates, integers choose among them."""
    products, error = np.abs(z.floats @ normals.floats.T), float_error(z, normals)
    near = products + error >= (products - error).max(axis=1, keepdims=True)
    return [max(abs(_product(normals, f, z, i)) for f in np.flatnonzero(row).tolist()) for i, row in enumerate(near)]


def _product(normals: Points, f: int, z: Points, i: int) -> Fraction:
    above = sum(int(x) * int(y) for x, y in zip(normals.numerators[f], z.numerators[i], strict=True))
    return Fraction(above, int(normals.denominators[f]) * int(z.denominators[i]))


def convex_hull(
    points: Points, max_simplices: int = 400_000, backend: Backend = "qhull", proposed: FacetCandidates | None = None
) -> Polytope:
    """Find conv{+-p} of points, with proof; redundant points are removed. Raises `HullFailed` (a ValueError) with `status`
    TOO_LARGE where the star triangulation exceeds `max_simplices`. It is FAILED where the points do not span, no attempt
    could be proven, or the backend is not installed. Theorem: derivation in docs/theory/hull.md, "What is proven".
    Coordinates of very different sizes are brought to alike ones first, and back, exactly.

    Parameters
    ----------
    points : (M, s), which span R^s.
    max_simplices : the most simplices of the star triangulation.
    backend : who proposes.
    proposed : what it has proposed already, for all of these points.
    """
    units = unit_exponents(np.abs(points.floats).max(axis=0))
    if units.any():
        return _hull(points.stretched(-units), max_simplices, backend, proposed).stretched(units)
    return _hull(points, max_simplices, backend, proposed)


def _hull(points: Points, max_simplices: int, backend: Backend, proposed: FacetCandidates | None) -> Polytope:
    """The hull of points whose coordinates have about the same size."""
    push = Push.generic(len(points), backend)
    if proposed is not None:
        chosen, found = np.arange(len(points)), proposed
        known = proposed.pushed == len(points)
    else:
        known = True
        chosen, found = extreme_rows(points.floats, push, max_simplices, backend)
    divided = known
    while True:
        if not divided and len(float_normals(points.floats[chosen], found.simplices)[0]) < len(found.simplices):
            pushed = Push(push.ranks[chosen], push.size)
            found, divided = _corner_simplices(points.take(chosen), pushed, max_simplices, backend), True
        if 2 * len(found.simplices) > LARGE:  # such hulls are grown in more ways than one, and the body is one
            order = np.argsort(chosen)
            chosen, found = chosen[order], found.renumbered(np.argsort(order)).in_order(len(chosen))
        some, pushed = points.take(chosen), Push(push.ranks[chosen], push.size)
        polytope = _proven_polytope(some, pushed, found, max_simplices, backend)
        needless = redundant_rows(polytope.facets, some)
        missed = outside(polytope.facets, points)
        if len(needless) == len(missed) == 0:
            if divided or len(polytope.facets) == len(polytope.simplices):
                return polytope
            # Faces are divided by the push of these points, as whoever reads them from a file divides them.
            found, divided = _corner_simplices(some, pushed, max_simplices, backend), True
            continue
        chosen = np.union1d(np.delete(chosen, needless), missed)
        chosen = chosen[distinct_rows(points.take(chosen))]
        found, divided = candidate_simplices(push.applied(points.floats, chosen), backend), known


def _corner_simplices(points: Points, push: Push, max_simplices: int, backend: Backend) -> FacetCandidates:
    """What is proposed for points that are all corners."""
    if backend == "qhull":
        return simplices_of_corners(points.floats, push, max_simplices)
    return candidate_simplices(push.applied(points.floats, np.arange(len(points))), backend)


def redundant_rows(facets: Points, points: Points) -> NDArray[np.intp]:
    """Points that are not vertices: another one lies on all of their facets (a vertex is alone on those that meet in it)."""
    incidence = against_one(facets, points).astype(float)
    common = np.abs(incidence.T @ incidence)
    alone = np.diag(common).copy()
    np.fill_diagonal(common, -1.0)
    return np.flatnonzero(np.any(common == alone[:, None], axis=1))


def _proven_polytope(points: Points, push: Push, found: FacetCandidates, max_simplices: int, backend: Backend) -> Polytope:
    """`found` if it can be proven, then smaller pushes; what the best of them leaves open is wrapped exactly."""
    everything = np.arange(len(points))
    best, proposer = Boundary(points.take([]), np.zeros((0, points.dimension), np.int64), np.zeros(0, np.int64)), ""
    for size in (push.size, *(smaller for smaller in SMALLER_PUSHES if smaller < push.size)):
        if size != push.size:
            with suppress(HullFailed):  # then the former candidates are tried once more, to no harm
                found = candidate_simplices(Push(push.ranks, size).applied(points.floats, everything), backend)
        require_within(2 * len(found.simplices), max_simplices, len(points), points.dimension)
        boundary = proven_boundary(points, found.simplices)
        if (polytope := tiled(points, boundary)) is not None:
            return replace(polytope, proposer=found.proposer)
        if not proposer or len(boundary.simplices) > len(best.simplices):
            best, proposer = boundary, found.proposer
    wrapped = proven_boundary(points, completed(points, push, best, max_simplices))
    if (polytope := tiled(points, wrapped)) is None:
        raise HullFailed("the wrapped boundary does not close: please report the points")
    return replace(polytope, proposer=f"{proposer}, completed by exact wrapping")


def tiled(points: Points, boundary: Boundary) -> Polytope | None:
    """The polytope, if the simplices tile its whole boundary: oriented ridges cancel and one direction is covered exactly once.

    With `|a.p| <= 1` proven for all points and facets, this is the proof that no facet is missing and no two simplices overlap
    (derivation in docs/theory/hull.md).
    """
    if len(boundary.simplices) == 0:
        return None
    minors = determinants(points, boundary.simplices)
    orientation = np.array([(n > 0) - (n < 0) for n in minors])
    if not orientation.all() or len(open_ridges(boundary.simplices, orientation, len(points))):
        return None
    if not covers_once(points, boundary.simplices, boundary.facet_of):
        return None
    return Polytope(points, boundary.facets, boundary.simplices, boundary.facet_of, tuple(minors))


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """A copy that no flag makes writable; array: (...,), not empty."""
    return np.frombuffer(array.tobytes()).reshape(array.shape)
