"""From points to the facets of conv{+-p}: floating-point candidates, exact normals, and what is missing.

Every candidate is a simplex of the boundary. The points are first pushed outwards by unequal small factors, after which
the hull has simplicial facets only, and these triangulate the facets of the unpushed body without a flat simplex. Pushing
multiplies a determinant by a positive factor (docs/theory/hull.md, "Candidates"). Nothing said in floating point is believed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.exact.points import Points, against_one
from solvers.polytopes.triangulation import Labels, closes, corners, opposite, signed, solved
from solvers.solution import Status
from solvers.work import go_on

Backend = Literal["qhull", "cdd"]
BACKENDS: tuple[Backend, ...] = ("qhull", "cdd")
JOINING = 8  # points join a growing hull in parts of an eighth of it: an array of all simplices is made each time
QHULL, CDD, EXACT_CDD = "Qhull", "cdd in doubles", "cdd in rationals (GMP)"


class HullFailed(ValueError):
    """No proven hull; `status` says which way it went wrong, the message what to do."""

    def __init__(self, message: str, status: Status = Status.FAILED) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, eq=False)
class Boundary:
    """Proven facets `a.z <= 1` (one of each pair) and the candidate simplices that lie in them; `facet_of` is (T,)."""

    facets: Points
    simplices: Labels
    facet_of: Labels


class FacetCandidates(NamedTuple):
    """Simplices that may be those of a boundary, labels (T, s), one of each antipodal pair; unproven. proposer: who says so.
    pushed: of how many points the push was drawn by which faces with more than s vertices are divided; 0 where it is not known.
    """

    simplices: Labels
    proposer: str
    pushed: int = 0

    def renumbered(self, rank: NDArray[np.intp]) -> FacetCandidates:
        """The same simplices where vertex i has become `rank[i]`; rank: (m,)."""
        rows, signs = signed(self.simplices, len(rank))
        return self._replace(simplices=np.where(signs > 0, rank[rows], rank[rows] + len(rank)))

    def in_order(self, count: int) -> FacetCandidates:
        """The same simplices in an order that is theirs, whoever proposed them, of `count` vertices: the first of each has a
        positive sign."""
        rows, signs = signed(self.simplices, count)
        order = np.argsort(rows, axis=1)
        rows, signs = np.take_along_axis(rows, order, axis=1), np.take_along_axis(signs, order, axis=1)
        labels = np.where(signs * signs[:, :1] > 0, rows, rows + count)
        return self._replace(simplices=labels[np.lexsort(labels.T[::-1])])


def candidate_simplices(vertices: NDArray[np.float64], backend: Backend) -> FacetCandidates:
    """Facets of conv{+-vertices}, vertices (m, s), in floating point (cdd: in rationals, where it can)."""
    both = np.vstack([vertices, -vertices]) / np.abs(vertices).max()
    return _one_of_each(both, *(_by_cdd(both) if backend == "cdd" else (_by_qhull(both), QHULL)))


def grown_simplices(
    vertices: NDArray[np.float64], order: NDArray[np.intp], heard: Callable[[int, int], None]
) -> FacetCandidates:
    """`candidate_simplices` by Qhull, of points that join in this order (m,), a few at a time: so who listens may end it. The
    first s of them span.

    heard: is told of pairs of points and of simplices, time after time, and ends what takes too long by raising.
    """
    from scipy.spatial import ConvexHull, QhullError

    m, s = vertices.shape
    ordered = vertices[order] / np.abs(vertices).max()
    now = min(m, s + 1)
    try:
        hull = ConvexHull(np.vstack([ordered[:now], -ordered[:now]]), incremental=True)
        label = [*order[:now], *(order[:now] + m)]
        while True:
            heard(now, len(hull.simplices))
            if now == m:
                break
            few = slice(now, min(m, now + 1 + now // JOINING))
            hull.add_points(np.vstack([ordered[few], -ordered[few]]))
            label += [*order[few], *(order[few] + m)]
            now = few.stop
        found = np.asarray(label, np.int64)[hull.simplices]
        hull.close()
    except QhullError as error:
        raise _stopped(error) from error
    return _one_of_each(np.vstack([vertices, -vertices]) / np.abs(vertices).max(), found, QHULL)


def _one_of_each(both: NDArray[np.float64], found: Labels, proposer: str) -> FacetCandidates:
    """One of each antipodal pair of simplices: those on one side."""
    direction = np.random.default_rng(1).standard_normal(both.shape[1])
    return FacetCandidates(np.asarray(found[_normals(both[found]) @ direction > 0.0]), proposer)


def require_backend(backend: str) -> Backend:
    """The backend of that name, if it is known and installed; `HullFailed` says what to install otherwise."""
    for known in BACKENDS:
        if backend == known:
            _ = _cdd() if known == "cdd" else None
            return known
    raise HullFailed(f"{backend!r} is unknown; use one of {list(BACKENDS)}")


def _cdd() -> tuple[Any, bool]:
    """The module of cdd, and whether it computes in rationals: `cdd.gmp`, where cddlib was built with GMP, `cdd` elsewhere."""
    for name in ("cdd.gmp", "cdd"):
        with suppress(ImportError):
            return import_module(name), name == "cdd.gmp"
    raise HullFailed(
        "'cdd' needs pycddlib, which is not installed; install pycddlib-standalone (doubles), or pycddlib where libcdd and GMP "
        "are (rationals), or use 'qhull'"
    )


def _by_qhull(both: NDArray[np.float64]) -> Labels:
    from scipy.spatial import ConvexHull, QhullError

    if both.shape[1] == 1:  # Qhull starts at the plane
        return np.array([[np.argmax(both[:, 0])], [np.argmin(both[:, 0])]])
    try:
        return np.asarray(ConvexHull(both).simplices, np.int64)
    except QhullError as error:
        raise _stopped(error) from error


def _stopped(error: Exception) -> HullFailed:
    return HullFailed(f"Qhull stopped: {str(error).splitlines()[0]}; rescale the points or work in their span")


def _by_cdd(both: NDArray[np.float64]) -> tuple[Labels, str]:
    """Double description, and who said what comes out; exact in rationals, because doubles are such.

    In doubles it may stop with a numerical inconsistency, or leave facets out. Then Qhull's candidates take its place: the
    proof does not depend on who proposed.
    """
    cdd, exact = _cdd()
    s = both.shape[1]
    generators = [[1, *(map(Fraction, row) if exact else row)] for row in both.tolist()]
    with suppress(RuntimeError):
        matrix = cdd.matrix_from_array(generators, rep_type=cdd.RepType.GENERATOR)
        facets = cdd.copy_incidence(cdd.polyhedron_from_matrix(matrix))
        found = np.array([sorted(f) for f in facets if len(f) == s], np.int64).reshape(-1, s)
        if closes(found):
            return found, EXACT_CDD if exact else CDD
    return _by_qhull(both), f"{QHULL}, because cdd left a hole"


def exact_normals(points: Points, simplices: Labels) -> Points:
    """The rational a with `a.v = 1` on the corners of each simplex, (T, s); the zero row where the corners are dependent."""
    above = np.zeros((len(simplices), points.dimension), object)
    below = np.ones(len(simplices), object)
    rows, _ = signed(simplices, len(points))
    for t, (block, right) in enumerate(zip(corners(points, simplices), points.denominators[rows], strict=True)):
        go_on()
        with suppress(ZeroDivisionError):
            column, below[t] = solved(block, right[:, None].tolist())
            above[t] = column[:, 0]
    return Points.from_integers(above, below)


def _normals(blocks: NDArray[np.float64]) -> NDArray[np.float64]:
    """`a.v = 1` on the rows v of every block (T, s, s), in floating point; zero where a block is singular."""
    size = np.abs(blocks).max(initial=1e-300)  # against underflow of the determinants
    scaled, normals = blocks / size, np.zeros(blocks.shape[:2])
    ones = np.ones((len(blocks), blocks.shape[1], 1))
    try:
        normals = np.linalg.solve(scaled, ones)[..., 0]
    except np.linalg.LinAlgError:
        regular = np.linalg.det(scaled) != 0.0
        normals[regular] = np.linalg.solve(scaled[regular], ones[regular])[..., 0]
    return np.asarray(normals / size)


def float_normals(vertices: NDArray[np.float64], simplices: Labels) -> tuple[NDArray[np.float64], Labels]:
    """Distinct normals of the simplices to 9 digits, (F, s), and which of them each simplex has: a guess of the facets."""
    normals = _normals(np.vstack([vertices, -vertices])[simplices])
    rounded = np.round(normals / np.abs(normals).max(initial=1e-300), 9) + 0.0
    order = np.lexsort(rounded.T[::-1])  # several times as fast as numpy.unique of whole rows
    starts = np.append(True, (rounded[order][1:] != rounded[order][:-1]).any(axis=1))[: len(order)]
    label = np.zeros(len(order), np.int64)
    label[order] = np.cumsum(starts) - 1
    return normals[order[starts]], label


def proven_boundary(points: Points, simplices: Labels) -> Boundary:
    """The candidates that lie in true facets: exact normal a, `a.v = 1` on the corners, `|a.p| <= 1` for every point."""
    _, label = float_normals(points.floats, simplices)
    leaders = np.unique(label, return_index=True)[1]
    normals = exact_normals(points, simplices[leaders])
    rows, signs = signed(simplices, len(points))
    fits = (against_one(normals, points)[label[:, None], rows] == signs).all(axis=1)
    strays = np.flatnonzero(~fits)  # grouped with a simplex of another facet: solved one by one
    label[strays] = len(normals) + np.arange(len(strays))
    normals = normals.join(exact_normals(points, simplices[strays])) if len(strays) else normals
    positions = against_one(normals, points)
    valid = ~np.any(np.abs(positions) == 2, axis=1) & np.any(positions != 0, axis=1)
    kept = valid[label]
    return _merged(normals, simplices[kept], label[kept], len(points))


def _merged(normals: Points, simplices: Labels, label: Labels, m: int) -> Boundary:
    """Equal facets under one number, and of `a, -a` the one whose first nonzero entry is positive."""
    number: dict[tuple[int, ...], int] = {}
    rows: list[int] = []
    facet_of, flip = np.zeros(len(normals), np.int64), np.zeros(len(normals), bool)
    used = np.unique(label)
    for row, (below, *above) in zip(used.tolist(), normals.take(used).keys(), strict=True):
        flip[row] = next(x for x in above if x) < 0
        key = (below, *(-x if flip[row] else x for x in above))
        facet_of[row] = number.setdefault(key, len(number))
        rows += [row] if facet_of[row] == len(rows) else []
    turned = normals.take(rows)
    signs = np.where(flip[rows], -1, 1).astype(object)
    facets = Points(turned.numerators * signs[:, None], turned.denominators)
    return Boundary(facets, np.where(flip[label][:, None], opposite(simplices, m), simplices), facet_of[label])
