"""Which of very many points can be vertices of conv{+-p}: a hull grown from its extremes, in floating point."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from solvers.exact.points import PAIRS
from solvers.limited import linear_program
from solvers.polytopes.facets import Backend, FacetCandidates, HullFailed, candidate_simplices, float_normals, grown_simplices
from solvers.polytopes.triangulation import proof_of
from solvers.solution import Status
from solvers.work import ENTRIES, OutOfWork, go_on, is_over, spend, units_left

# Independent columns by pivoted QR, the same ones whatever the last digits of the linear algebra are.
#
# Columns of tables, ranges and other counts are often equally far from the span of those that were chosen. Which one LAPACK
# takes then depends on how its kernel for the processor adds up. Each column is therefore scaled by a factor of its own,
# between 1 - 2^-7 and 1, and the shorter list of ties that is left is decided by these factors and not by rounding.
#
# Factors fall by the multiples of the golden ratio modulo 1: of n of them no two are nearer than 2^-7 / (2.3 n), far above
# the 1e-8 to which LAPACK knows the lengths that it compares. Factors that fall with the position would serve as well, but
# leave out the last category of each table, whose answer is then a sum of many: measured on six workloads of marginals,
# independent Gaussian noise has 0 to 37 % more loss then than with the pivots of one kernel, and 7 % less to 17 % more with
# these factors.


TIES = 2.0**-7
GOLDEN = (math.sqrt(5) - 1) / 2


def pivots(columns: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return columns in the order in which each is farthest, up to `TIES`, from the span of those before it.

    columns: (m, n). Returns positions (k,) and these distances (k,), up to `TIES` of each, k the smaller of m and n.

    >>> pivots(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.5]]))[0].tolist()
    [1, 0]
    """
    from scipy.linalg import qr

    factors = 1 - TIES * (np.arange(columns.shape[1]) * GOLDEN % 1)
    triangle, order = qr(columns * factors, mode="r", pivoting=True)
    distances = np.abs(np.diagonal(triangle))
    return np.asarray(order[: len(distances)], dtype=np.intp), distances


# cdd in doubles takes corners for one that lie as near to each other as a small push leaves those of tables.
PUSHES: dict[Backend, float] = {"qhull": 2.0**-10, "cdd": 2.0**-4}
STEP = 8.0  # a round may grow the hull so many times: small hulls settle most points before they meet many facets
CERTAIN = 1.5  # a forecast of so many times the budget is refused, where a hull has left the steep beginning of its growth
LARGE, SETTLED = 3000, 400  # simplices from which a round is slower than the linear programs of so many points
SURE = 2.0  # the same of points that join at random, a forecast of which was at most 1.9 times the hull in 285 that were grown
WITHIN = 1e-9  # of its length, a point outside of the others is none of the corners: the exact check would bring it back
CLEAR = 1e-9  # a point this far inside the growing hull is given up; the exact check of all points would bring it back


@dataclass(frozen=True)
class Push:
    """Outward factors `1 + size t_p / 2^40` for m points, t_p = `ranks[p]` (m,) random integers below 2^40."""

    ranks: NDArray[np.int64]
    size: float

    @classmethod
    def generic(cls, count: int, backend: Backend = "qhull") -> Push:
        """Random ranks; any draw is right, the seed only makes runs repeatable. The size is what the backend can tell apart."""
        return cls(np.random.default_rng(7).integers(1, 2**40, count), PUSHES[backend])

    def applied(self, vertices: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The chosen rows (n,) of `vertices` (m, s), pushed: (n, s)."""
        return np.asarray(vertices[rows] * (1.0 + self.size * 2.0**-40 * self.ranks[rows])[:, None])


def least_simplices(pairs: int, dimension: int) -> int:
    """Simplices that a boundary triangulation with m = `pairs` antipodal pairs of vertices has at least:
    `2^s + 2 (m - s)(s - 1)`.

    Stanley's lower bound (1987, for centrally symmetric simplicial polytopes) holds for the pushed body.

    >>> least_simplices(3, 3), least_simplices(5, 2)
    (8, 10)
    """
    return int(2**dimension + 2 * (pairs - dimension) * (dimension - 1))


def require_within(simplices: int, budget: int, pairs: int, dimension: int) -> None:
    """Refuses a triangulation above the budget, in the words the user needs."""
    if simplices > budget:
        raise HullFailed(
            f"the hull of {pairs} pairs of points in {dimension} dimensions has about {simplices:,} or more boundary"
            f" simplices, above max_simplices = {budget:,}; raise the limit",
            Status.TOO_LARGE,
        )


def extreme_rows(
    vertices: NDArray[np.float64],
    push: Push,
    max_simplices: int,
    backend: Backend,
    tell: Callable[[str], None] | None = None,
) -> tuple[NDArray[np.intp], FacetCandidates]:
    """Rows whose hull holds all rows to within 1e-11, found by adding the points farthest beyond each facet;
    and its candidates.

    A hull of m points has of order m^(s/2) simplices; a round adds as many points as that rule lets reach `STEP` times as many
    and at most twice the budget. What the points that are known to be missing bring is forecast before they are added. Once the
    hull is `LARGE` and few points may be missing, linear programs say which: these join one after the other.
    vertices: (m, s) floats. tell: hears about every round. Returns positions (n,) and the simplices that are proposed for their
    hull. `OutOfWork` when the work is done, or is forecast to be done before the hull is. docs/theory/hull.md, "Candidates".
    """
    m, s = vertices.shape
    require_within(least_simplices(s, s), max_simplices, s, s)
    alive = without_twins(vertices, np.arange(m))  # the twin of a corner that its push has hidden would join for ever
    chosen = alive[_independent_rows(vertices[alive])]
    grown: list[tuple[int, int]] = []
    settled = False
    while True:
        go_on()
        require_within(least_simplices(len(chosen), s), max_simplices, len(chosen), s)
        if settled:
            found = simplices_of_corners(vertices[chosen], Push(push.ranks[chosen], push.size), max_simplices, tell)
        else:
            found = candidate_simplices(push.applied(vertices, chosen), backend)
            spend(calls=10, entries=work_of(2 * len(found.simplices), s))
        require_within(2 * len(found.simplices), max_simplices, len(chosen), s)
        grown.append((len(chosen), 2 * len(found.simplices)))
        alive = alive[~np.isin(alive, chosen)]
        spend(entries=float(len(found.simplices)) * len(alive))
        normals, _ = float_normals(vertices[chosen], found.simplices)
        gauges, farthest = _scan(normals, vertices[alive])
        beyond = np.unique(farthest[farthest >= 0])
        if tell is not None:
            tell(f"{grown[-1][0]:,} pairs of points span {grown[-1][1]:,} simplices, at least {len(beyond):,} lie outside")
        if len(beyond) == 0:
            return chosen, found
        _refuse_forecast(grown, len(beyond), max_simplices, s)
        settled = backend == "qhull" and grown[-1][1] > LARGE and len(chosen) + len(alive) <= SETTLED and not settled
        if settled:
            chosen = corners_among(vertices, np.append(chosen, alive))
            continue
        times = min(STEP, max_simplices / len(found.simplices))
        room = max(1, int(len(chosen) * (times ** (2.0 / s) - 1.0)))
        chosen = np.append(chosen, alive[beyond[np.argsort(-gauges[beyond])[:room]]])
        alive = alive[gauges > 1.0 - CLEAR]


def simplices_of_corners(
    corners: NDArray[np.float64], push: Push, max_simplices: int, tell: Callable[[str], None] | None = None
) -> FacetCandidates:
    """What Qhull proposes for points (n, s) that are all corners of their hull, no two of them antipodes: they join one after
    the other, so that a hull that is forecast too large is refused, or `OutOfWork` is raised, while it is small."""
    pushed = push.applied(corners, np.arange(len(corners)))
    first = _independent_rows(pushed)
    others = np.argsort(push.ranks, kind="stable")  # at random: the hull then grows as evenly as it can
    growth = _Growth(len(corners), corners.shape[1], max_simplices, tell)
    return grown_simplices(pushed, np.append(first, others[~np.isin(others, first)]), growth.heard)


@dataclass
class _Growth:
    """A hull of `pairs` pairs of points that join one after the other, ended where it is forecast to be above the budget, or
    above what the work that is left is enough for."""

    pairs: int
    dimension: int
    budget: int
    tell: Callable[[str], None] | None
    grown: list[tuple[int, int]] = field(default_factory=list)

    def heard(self, pairs: int, simplices: int) -> None:
        """Counts what has joined, and looks ahead."""
        before = self.grown[-1][1] if self.grown else 0
        self.grown.append((pairs, simplices))
        spend(calls=10, entries=work_of(max(simplices - before, 0), self.dimension))
        require_within(simplices, self.budget, pairs, self.dimension)
        missing = self.pairs - pairs
        if len(self.grown) > 1 and 10 * simplices > self.budget:
            forecast = foretold_at_random(self.grown, missing, self.dimension)
            if forecast > SURE * self.budget:
                require_within(round(forecast), self.budget, self.pairs, self.dimension)
        go_on()
        if len(self.grown) > 2 and missing and simplices > LARGE:
            forecast = foretold(self.grown, missing)
            units = (work_of(forecast - simplices, self.dimension) + proof_of(forecast / 2, self.dimension)) / ENTRIES
            if self.tell is not None:
                told = f"{pairs} of {self.pairs} pairs of points span {simplices:,} simplices"
                self.tell(f"{told}, all of them about {forecast:,.0f}")
            if units > units_left() or is_over(units):
                raise OutOfWork(f"stopped: a hull of about {forecast:,.0f} simplices takes {units:.2g} units of work more")


def work_of(simplices: float, dimension: int) -> float:
    """Numbers that Qhull looks at for so many simplices: 6 microseconds each in 6 dimensions, 50 in 11."""
    return 3.5 * simplices * math.sqrt(dimension) ** 7


def corners_among(vertices: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the rows (n,) of `vertices` (m, s), no two of which are equal up to sign, that are no combination of the others
    and their antipodes with coefficients whose sizes sum to at most 1: a linear program each, of one to three milliseconds.

    >>> corners_among(np.array([[1.0, 0.0], [0.0, 1.0], [0.4, 0.5], [0.6, 0.7]]), np.arange(4)).tolist()
    [0, 1, 3]
    """
    kept = list(rows.tolist())
    for row in rows.tolist():
        others = vertices[[other for other in kept if other != row]].T
        spend(calls=60, entries=30.0 * others.size)
        found = linear_program(
            np.ones(2 * others.shape[1]), A_eq=np.hstack([others, -others]), b_eq=vertices[row], method="highs-ds"
        )
        if found.status == 0 and found.fun is not None and found.fun <= 1 + WITHIN:
            kept.remove(row)
    return np.array(kept, dtype=np.intp)


def foretold(grown: list[tuple[int, int]], missing: int) -> float:
    """About how many simplices a hull has once `missing` further pairs of points, all of them vertices, have joined: as many
    for each as the last ones brought.

    grown: numbers of pairs of points and of simplices, round by round.

    >>> foretold([(10, 1_000), (20, 9_000)], 5)
    13000.0
    """
    (before, few), (now, many) = grown[-2:]
    return many + missing * max(0, many - few) / max(1, now - before)


def foretold_at_random(grown: list[tuple[int, int]], missing: int, dimension: int) -> float:
    """The same where points join at random: the geometric mean of `foretold`, which is too few, as each further point brings
    more, and of the power of the number of points that the last ones followed, at most half of the dimensions, which is mostly
    too many, as that power slackens.

    grown: numbers of pairs of points and of simplices, round by round.

    >>> foretold_at_random([(10, 1_000), (20, 4_000)], 20, 8)
    12649.110640673518
    """
    (before, few), (now, many) = grown[-2:]
    power = min(dimension / 2, math.log(max(many, 1) / max(few, 1)) / math.log(now / before))
    return math.sqrt(foretold(grown, missing) * many * ((now + missing) / now) ** power)


def _refuse_forecast(grown: list[tuple[int, int]], missing: int, budget: int, dimension: int) -> None:
    """Refuses what is forecast far above the budget, once the hull has a tenth of it."""
    if len(grown) > 1 and 10 * grown[-1][1] > budget and (forecast := foretold(grown, missing)) > CERTAIN * budget:
        require_within(round(forecast), budget, grown[-1][0] + missing, dimension)


def hull_directions(vertices: NDArray[np.float64], max_simplices: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Rows that are vertices of conv{+-p}, and the normals a of its facets, `max |a.z| <= 1` in it; in floating point.

    vertices: (m, s) floats, s at least 1. Returns positions (n,) and normals (f, s). `HullFailed` above `max_simplices`.
    """
    from scipy.spatial import ConvexHull, QhullError

    m, s = vertices.shape
    if s == 1:
        longest = np.array([np.abs(vertices[:, 0]).argmax()], dtype=np.intp)
        return longest, 1 / np.abs(vertices[longest])
    require_within(least_simplices(s, s), max_simplices, s, s)
    try:
        hull = ConvexHull(np.vstack([vertices, -vertices]))
    except QhullError:
        raise HullFailed("the points do not span their space, or nearly so: rescale the axes") from None
    require_within(len(hull.simplices), max_simplices, len(hull.vertices) // 2, s)
    normals = hull.equations[:, :-1] / -hull.equations[:, -1:]
    lead = np.take_along_axis(normals, np.abs(normals).argmax(axis=1)[:, None], axis=1)
    distinct = np.unique(np.round(normals * np.sign(lead), 12), axis=0)  # opposite facets, and simplices of one facet
    return np.unique(hull.vertices % m), distinct


def _independent_rows(vertices: NDArray[np.float64]) -> NDArray[np.intp]:
    """s rows that span, each the farthest from the span of those before it."""
    order, distances = pivots(vertices.T)
    if len(vertices) < vertices.shape[1] or distances[-1] <= 1e-12 * distances[0]:
        raise HullFailed("the points do not span their space, or nearly so: pass their span_coordinates, or rescale the axes")
    return order


def on_an_ellipsoid(vertices: NDArray[np.float64]) -> bool:
    """Whether all rows lie, to 1e-9, on the ellipsoid of their own second moments: then each of them is a vertex of conv{+-p},
    as by symmetry the differences of a table are, and no hull needs to be built to find them.

    >>> on_an_ellipsoid(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])), on_an_ellipsoid(np.array([[1.0, 0.0], [1.0, 1.0]]))
    (True, True)
    >>> on_an_ellipsoid(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    False
    """
    left, sizes, _ = np.linalg.svd(vertices, full_matrices=False)
    if len(vertices) < vertices.shape[1] or sizes[-1] <= 1e-9 * sizes[0]:
        return False
    lengths = (left**2).sum(axis=1)
    return bool(np.ptp(lengths) <= 1e-9 * lengths.max())


def without_twins(vertices: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """One of each group of `rows` (M,) of `vertices` (V, s) that are equal up to sign; blocked products may round equal rows
    differently."""
    lead = vertices[rows, np.argmax(vertices[rows] != 0.0, axis=1)]
    _, first = np.unique(vertices[rows] * np.sign(lead)[:, None] + 0.0, axis=0, return_index=True)
    return rows[np.sort(first)]


def _scan(normals: NDArray[np.float64], points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Gauge of every point, and for every facet the point farthest beyond it (-1 where there is none)."""
    gauges = np.zeros(len(points))
    best, farthest = np.full(len(normals), 1.0 + 1e-11), np.full(len(normals), -1)
    step = max(1, PAIRS // len(normals))
    for start in range(0, len(points), step):
        products = np.abs(points[start : start + step] @ normals.T)
        gauges[start : start + step] = products.max(axis=1)
        row = products.argmax(axis=0)
        value = products[row, np.arange(len(normals))]
        farthest = np.where(value > best, start + row, farthest)
        best = np.maximum(best, value)
    return gauges, farthest
