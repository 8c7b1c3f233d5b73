"""Hulls against hand-computed bodies, scipy, linear programs and Monte Carlo; the proof against corrupted and float hulls."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from solvers.exact.points import Points, against_one, distinct_rows, outside, span_coordinates
from solvers.polytopes import hull
from solvers.polytopes.extremes import Push, least_simplices
from solvers.polytopes.facets import Boundary, FacetCandidates, HullFailed, candidate_simplices, proven_boundary
from solvers.polytopes.hull import Polytope, completed, convex_hull, first_simplex, tiled
from solvers.polytopes.norm_order import Box, Containment, CrossPolytope, EllipsoidBall, Hull, containment, squared_sensitivity
from solvers.polytopes.triangulation import covers_once, determinants, grouped_labels, open_ridges, solved
from solvers.solution import Status
from solvers.work import OutOfWork, proving, within
from tests.oracles.basic_moves import basic_moves


def differences(seed: int, kinds: int) -> Points:
    """Column differences of a random matrix over rounded Euclidean distances on a grid (kinds 0: 0/1 entries, 1: -3..3)."""
    rng = np.random.default_rng(seed)
    k, n, kind = (int(rng.integers(*ends)) for ends in ((3, 7), (8, 22), (0, 4)))
    assert kind == kinds
    q = rng.integers(0, 2, (k, n)) if kind != 1 else rng.integers(-3, 4, (k, n))
    x = rng.integers(0, 6, (n, 2)).astype(float)
    pairs = [(i, j) for i in range(n) for j in range(i) if np.any(x[i] != x[j])]
    return Points.of([(q[:, i] - q[:, j]) / np.linalg.norm(x[i] - x[j]) for i, j in pairs])


def total_error(body: Polytope, basis: Points) -> float:
    """(s+1)(s+2) E|U|^2 in the coordinates of the ambient space."""
    s, g = body.dimension, basis.floats
    return float((s + 1) * (s + 2) * np.trace(g.T @ body.second_moment @ g))


def gauge_by_program(vertices: np.ndarray, z: np.ndarray) -> float:
    """min |w|_1 with V' w = z."""
    m = len(vertices)
    both = np.vstack([vertices, -vertices]).T
    return float(linprog(np.ones(2 * m), A_eq=both, b_eq=z, method="highs").fun)


# bodies computed by hand


def test_one_direction_is_tried_in_a_facet_that_has_simplices() -> None:
    """The diamond's two sides: covered once as they are, and not where one of them is there twice."""
    points, sides = Points.of([[1, 0], [0, 1]]), np.array([[0, 1], [1, 2]])
    for numbers in ([0, 1], [1, 2], [4, 2]):
        assert covers_once(points, sides, np.array(numbers))
    assert not covers_once(points, np.array([[0, 1], [0, 1], [1, 2]]), np.array([1, 1, 1]))
    assert covers_once(points, np.array([[0, 1], [0, 1], [1, 2]]), np.array([3, 3, 2])), "tried in the side that is there once"


def test_square() -> None:
    body = convex_hull(Points.of([[1, 1], [1, -1], [1, 0], ["1/3", "2/5"], [-1, -1], [0, 0]]))
    assert len(body.vertices) == 2 and len(body.facets) == 2 and body.volume == 4
    assert list(map(list, body.second_moment_exact)) == [[Fraction(1, 3), 0], [0, Fraction(1, 3)]]


@pytest.mark.parametrize("s", [1, 2, 3, 4, 6])
def test_cross_polytope(s: int) -> None:
    body = convex_hull(Points.of(np.eye(s, dtype=int).tolist()))
    assert body.volume == Fraction(2**s, math.factorial(s)) and body.simplex_count == 2**s
    assert list(map(list, body.second_moment_exact)) == [
        [Fraction(2 * (i == j), (s + 1) * (s + 2)) for j in range(s)] for i in range(s)
    ]


@pytest.mark.parametrize("s", [2, 3, 4, 5])
def test_cube_with_every_lattice_point(s: int) -> None:
    """Edges, faces and the inside of the cube hold redundant points; facets are far from simplicial."""
    body = convex_hull(Points.of(itertools.product((-1, 0, 1), repeat=s)))
    assert len(body.vertices) == 2 ** (s - 1) and len(body.facets) == s and body.volume == 2**s
    assert list(map(list, body.second_moment_exact)) == [[Fraction(int(i == j), 3) for j in range(s)] for i in range(s)]


def test_hexagon() -> None:
    """conv +-{(1,0), (1,1), (0,1)}: x in [0,1] has height 2 - x, hence E x^2 = 5/18, E xy = 5/36; its regular image 5/24 I."""
    body = convex_hull(Points.of([[1, 0], [1, 1], [0, 1]]))
    assert body.volume == 3
    assert list(map(list, body.second_moment_exact)) == [[Fraction(5, 18), Fraction(5, 36)], [Fraction(5, 36), Fraction(5, 18)]]
    regular = np.array([[1.0, -0.5], [0.0, math.sqrt(3) / 2]])
    assert np.allclose(regular @ body.second_moment @ regular.T, 5 / 24 * np.eye(2), rtol=0, atol=1e-15)


def test_tables_3x3() -> None:
    basis, coordinates = span_coordinates(basic_moves(3, 3))
    body = convex_hull(coordinates)
    assert (body.dimension, len(body.vertices), body.simplex_count) == (4, 9, 66)
    assert body.volume == Fraction(66, math.factorial(4))  # every simplex is unimodular here
    sample = np.random.default_rng(3).uniform(-1.0, 1.0, (400_000, 4))
    inside = sample[body.gauge(sample) <= 1.0] @ basis.floats
    losses, s = 30.0 * (inside**2).sum(axis=1), 4
    # Monte Carlo with an independent oracle of membership for 300 of the points; 4.9 standard errors: probability 1e-6
    assert abs(losses.mean() - total_error(body, basis)) < 4.9 * losses.std() / math.sqrt(len(losses)) and s == body.dimension
    for z in sample[:300]:
        assert gauge_by_program(body.vertices.floats, z) == pytest.approx(float(body.gauge(z)), rel=1e-9)


def test_tables_3x4_volume_and_moment_do_not_depend_on_the_triangulation() -> None:
    basis, coordinates = span_coordinates(basic_moves(3, 4))
    body = convex_hull(coordinates)
    v = coordinates.floats
    assert float(body.volume) == pytest.approx(ConvexHull(np.vstack([v, -v])).volume, rel=1e-10)
    permuted = convex_hull(coordinates.take(np.arange(len(coordinates))[::-1]))
    assert permuted.volume == body.volume and permuted.second_moment_exact == body.second_moment_exact
    assert len(basis) == 6


@pytest.mark.heavy
def test_tables_4x4() -> None:
    """9 dimensions, some 68,000 simplices: total squared error 127.6 in the 16 cells; about 6 s."""
    basis, coordinates = span_coordinates(basic_moves(4, 4))
    body = convex_hull(coordinates)
    assert (body.dimension, len(body.vertices), len(body.facets)) == (9, 36, 433)
    assert total_error(body, basis) == pytest.approx(127.64636727016224, rel=1e-12)
    v = coordinates.floats
    assert float(body.volume) == pytest.approx(ConvexHull(np.vstack([v, -v])).volume, rel=1e-9)


# random bodies


@pytest.mark.parametrize("s", [2, 3, 4, 5])
def test_volume_and_facets_against_scipy(s: int) -> None:
    points = np.random.default_rng(s).standard_normal((40, s))
    body, other = convex_hull(Points.of(points)), ConvexHull(np.vstack([points, -points]))
    assert float(body.volume) == pytest.approx(other.volume, rel=1e-12)
    assert 2 * len(body.vertices) == len(other.vertices) and body.simplex_count == len(other.simplices)


def test_second_moment_against_monte_carlo() -> None:
    """Rejection from a box with scipy's facets; 12 entries at 5.2 standard errors: failure probability below 3e-6."""
    points = np.random.default_rng(11).standard_normal((9, 3))
    body, other = convex_hull(Points.of(points)), ConvexHull(np.vstack([points, -points]))
    sides = np.abs(points).max(axis=0)
    sample = np.random.default_rng(12).uniform(-1.0, 1.0, (600_000, 3)) * sides
    kept = sample[np.all(sample @ other.equations[:, :3].T + other.equations[:, 3] <= 0.0, axis=1)]
    products = kept[:, :, None] * kept[:, None, :]
    error = products.std(axis=0) / math.sqrt(len(kept))
    assert np.all(np.abs(products.mean(axis=0) - body.second_moment) < 5.2 * error)


small = st.fractions(min_value=-3, max_value=3, max_denominator=4)


@st.composite
def clouds(draw: st.DrawFn) -> Points:
    s = draw(st.integers(2, 4))
    rows = draw(st.lists(st.lists(small, min_size=s, max_size=s), min_size=s, max_size=10))
    return Points.of([*rows, *np.eye(s, dtype=int).tolist()])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(clouds(), st.lists(small, min_size=8, max_size=8))
def test_hull_properties(points: Points, entries: list[Fraction]) -> None:
    body, s = convex_hull(points), points.dimension
    y, z = entries[:s], entries[4 : 4 + s]
    total = [a + b for a, b in zip(y, z, strict=True)]
    gauge = body.gauge_exact(Points.of([y, z, total, [-3 * x for x in y]]))
    assert gauge[2] <= gauge[0] + gauge[1] and gauge[3] == 3 * gauge[0] and (gauge[0] > 0) == any(y)
    assert body.gauge_exact(body.vertices) == [1] * len(body.vertices) and body.contains(points)
    assert body.dual_gauge_exact(body.facets) == [1] * len(body.facets)
    assert max(body.gauge_exact(points)) == 1
    assert float(gauge[1]) == pytest.approx(gauge_by_program(points.floats, np.array(z, float)), abs=1e-9)
    v = points.floats
    assert float(body.volume) == pytest.approx(ConvexHull(np.vstack([v, -v])).volume, rel=1e-9)
    for i in range(len(body.vertices)):  # a vertex is not in the hull of the others
        others = np.delete(body.vertices.floats, i, axis=0)
        target = body.vertices.floats[i]
        program = linprog(np.ones(2 * len(others)), A_eq=np.vstack([others, -others]).T, b_eq=target, method="highs")
        assert program.status == 2 or program.fun > 1.0 + 1e-9


def test_columns_of_a_7_x_32_matrix_have_the_facets_of_float_cdd() -> None:
    """About a thousand facets, 0.15 s with the triangulation; cdd counts them independently (and is right here)."""
    body = convex_hull(Points.from_integers(np.unique(np.random.default_rng(1).integers(0, 2, (7, 32)), axis=1).T))
    assert (2 * len(body.vertices), 2 * len(body.facets)) == (54, 1060)
    assert len(_float_cdd_facets(body)[0]) == 1060


def test_duality_is_exact() -> None:
    """Facets of the hull of the facets are the vertices: two independent runs must return where they started."""
    body = convex_hull(span_coordinates(basic_moves(3, 3))[1])
    polar = convex_hull(body.facets)
    assert sorted(map(abs_row, polar.facets.fractions())) == sorted(map(abs_row, body.vertices.fractions()))


def abs_row(row: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    lead = next(x for x in row if x)
    return tuple(x if lead > 0 else -x for x in row)


def test_floats_of_the_gauge_agree_with_fractions() -> None:
    body = convex_hull(differences(103, 0))
    z = np.random.default_rng(0).standard_normal((50, body.dimension))
    exact = [float(x) for x in body.gauge_exact(Points.of(z))]
    assert np.allclose(body.gauge(z), exact, rtol=1e-13, atol=0)
    assert np.allclose(body.dual_gauge(z), [float(x) for x in body.dual_gauge_exact(Points.of(z))], rtol=1e-13, atol=0)


# what floating point gets wrong


def _float_cdd_facets(body: Polytope) -> tuple[set[frozenset[int]], np.ndarray]:
    """Incident vertices and normals of the facets that floating-point cdd reports, without any error."""
    cdd = pytest.importorskip("cdd")
    v = body.vertices.floats
    rows = [[1.0, *row] for row in np.vstack([v, -v]).tolist()]
    polyhedron = cdd.polyhedron_from_matrix(cdd.matrix_from_array(rows, rep_type=cdd.RepType.GENERATOR))
    inequalities = np.array(cdd.copy_inequalities(polyhedron).array)
    return {frozenset(f) for f in cdd.copy_incidence(polyhedron)}, -inequalities[:, 1:] / inequalities[:, :1]


@pytest.mark.parametrize(("seed", "kind", "missing", "off"), [(103, 0, 2, 1e-4), (159, 1, 292, 0.1)])
def test_float_cdd_returns_a_wrong_hull_and_the_proof_rejects_it(seed: int, kind: int, missing: int, off: float) -> None:
    """Differences of small integers over rounded distances. cdd in doubles omits facets, so that its body is too large."""
    body = convex_hull(differences(seed, kind))
    found, normals = _float_cdd_facets(body)
    m, positions = len(body.vertices), against_one(body.facets, body.vertices)
    labels = [np.flatnonzero(row) + m * (row[row != 0] < 0) for row in positions]
    known = np.array([frozenset(x.tolist()) in found and frozenset(((x + m) % (2 * m)).tolist()) in found for x in labels])
    assert 2 * len(known) - 2 * known.sum() >= missing
    z = np.random.default_rng(0).standard_normal((2000, body.dimension))
    assert np.max(1.0 - (z @ normals.T).max(axis=1) / body.gauge(z)) > off
    kept = known[body.facet_of]
    partial = Boundary(body.facets, body.simplices[kept], body.facet_of[kept])
    assert tiled(body.vertices, partial) is None
    repaired = completed(body.vertices, Push.generic(m), partial, 10_000)
    again = tiled(body.vertices, proven_boundary(body.vertices, repaired))
    assert again is not None and again.volume == body.volume and set(again.facets.keys()) == set(body.facets.keys())


@pytest.fixture
def body() -> Polytope:
    return convex_hull(Points.of(itertools.product((-1, 1), repeat=3)))


def _corrupt(body: Polytope, simplices: np.ndarray, facet_of: np.ndarray) -> Polytope | None:
    return tiled(body.vertices, Boundary(body.facets, simplices, facet_of))


def test_a_missing_simplex_is_seen(body: Polytope) -> None:
    assert _corrupt(body, body.simplices[1:], body.facet_of[1:]) is None
    assert _corrupt(body, body.simplices[:0], body.facet_of[:0]) is None


def test_a_double_cover_is_seen_although_all_ridges_cancel(body: Polytope) -> None:
    twice, of = np.vstack([body.simplices] * 2), np.concatenate([body.facet_of] * 2)
    minors = determinants(body.vertices, twice)
    assert len(open_ridges(twice, np.sign(minors).astype(np.int64), len(body.vertices))) == 0
    assert _corrupt(body, twice, of) is None


def test_the_other_diagonal_of_one_face_is_seen(body: Polytope) -> None:
    """One triangle of each diagonal of a square face: the ridges do not cancel."""
    rows = np.flatnonzero(body.facet_of == 0)
    corners = sorted({int(x) for x in body.simplices[rows].ravel()})
    shared = set(body.simplices[rows[0]].tolist()) & set(body.simplices[rows[1]].tolist())
    other = [sorted([*(set(corners) - shared), x]) for x in shared]
    swapped = body.simplices.copy()
    swapped[rows[0]] = other[0]
    assert _corrupt(body, swapped, body.facet_of) is None
    swapped[rows[1]] = other[1]
    assert _corrupt(body, swapped, body.facet_of) is not None  # a triangulation again


def test_a_facet_that_cuts_off_a_point_is_dropped() -> None:
    points = Points.of([[1, 0], [0, 1], ["5001/10000", "5001/10000"]])
    wrong = np.array([[0, 1]])  # ignores the third point, which is outside by 2e-4
    assert len(proven_boundary(points, wrong).simplices) == 0
    assert len(convex_hull(points).vertices) == 3


@pytest.mark.parametrize("backend", ["qhull", "cdd"])
def test_backends_agree(backend: str) -> None:
    pytest.importorskip("cdd")
    points = Points.from_integers(
        np.random.default_rng(4).integers(0, 2, (60, 4)) - np.random.default_rng(5).integers(0, 2, (60, 4))
    )
    body, plain = convex_hull(points, backend=backend), convex_hull(points)  # type: ignore[arg-type]
    assert set(body.facets.keys()) == set(plain.facets.keys()) and body.volume == plain.volume


@pytest.mark.parametrize("part", ["all", "half", "none", "wrong"])
def test_what_is_proposed_already_is_no_more_than_a_proposal(part: str) -> None:
    """The hull is the same from simplices of all of it, of half of it, of nothing, and of other points."""
    points = span_coordinates(basic_moves(3, 3))[1]
    plain = convex_hull(points)
    push = Push.generic(len(points))
    found = candidate_simplices(push.applied(points.floats, np.arange(len(points))), "qhull")
    chosen = {
        "all": found.simplices,
        "half": found.simplices[::2],
        "none": found.simplices[:0],
        "wrong": found.simplices[:, ::-1] * 0,
    }
    body = convex_hull(points, proposed=FacetCandidates(chosen[part], found.proposer))
    assert set(body.facets.keys()) == set(plain.facets.keys()) and body.volume == plain.volume


@pytest.mark.parametrize("eps", [1e-15, 1e-12, 1e-8])
def test_nearly_coplanar_points(eps: float) -> None:
    """Doubles cannot tell these facets apart; the wrapped hull is still exact, and its polar returns the vertices."""
    rng = np.random.default_rng(5)
    rows = rng.integers(-1, 2, (24, 3)).astype(float)
    rows = rows[np.any(rows, axis=1)]
    points = Points.of(rows * (1.0 + eps * rng.integers(-3, 4, rows.shape)))
    body = convex_hull(points)
    assert body.contains(points) and body.dual_gauge_exact(body.facets) == [1] * len(body.facets)
    incidence = against_one(body.facets, body.vertices) != 0
    assert (
        incidence.sum(axis=1).min() >= 3 and incidence.sum(axis=0).min() >= 2
    )  # half of the at least 3 facets come as antipodes
    edges = sum(len(x) for x in _polygon_edges(body)) // 2
    assert 2 * len(body.vertices) - edges + 2 * len(body.facets) == 2  # Euler


def _polygon_edges(body: Polytope) -> list[list[frozenset[int]]]:
    """Edges of every facet of a 3-dimensional body: pairs of its vertices that another facet shares."""
    signs = against_one(body.facets, body.vertices)
    signs = np.vstack([signs, -signs])
    m = signs.shape[1]
    sets = [{int(i) + m * int(row[i] < 0) for i in np.flatnonzero(row)} for row in signs]
    return [[frozenset(a & b) for b in sets if a is not b and len(a & b) == 2] for a in sets]


@pytest.mark.parametrize("kept", [0, 1, 20])
def test_wrapping_builds_the_whole_hull_from_nothing(kept: int) -> None:
    points = span_coordinates(basic_moves(3, 3))[1]
    whole = convex_hull(points)
    push = Push.generic(len(points))
    seeds = proven_boundary(points, candidate_simplices(push.applied(points.floats, np.arange(len(points))), "qhull").simplices)
    start = dataclasses.replace(seeds, simplices=seeds.simplices[:kept], facet_of=seeds.facet_of[:kept])
    grown = tiled(points, proven_boundary(points, completed(points, push, start, 1000)))
    assert grown is not None and grown.volume == whole.volume and grown.simplex_count == 66


@pytest.mark.parametrize("points", [basic_moves(3, 3), Points.of(np.eye(4, dtype=int))], ids=["wrapped", "proposed"])
def test_a_proof_ends_with_the_clock_of_a_caller(points: Points) -> None:
    points = span_coordinates(points)[1]
    push = Push.generic(len(points))
    found = candidate_simplices(push.applied(points.floats, np.arange(len(points))), "qhull")
    none = dataclasses.replace(proven_boundary(points, found.simplices), simplices=np.zeros((0, points.dimension), np.int64))
    with within(0.0, seconds=0.0), proving():
        with pytest.raises(OutOfWork):
            proven_boundary(points, found.simplices)
        with pytest.raises(OutOfWork):
            completed(points, push, dataclasses.replace(none, facet_of=np.zeros(0, np.int64)), 1000)
    with within(0.0), proving():
        assert len(proven_boundary(points, found.simplices).simplices) > 0


def _tiles(body: Polytope) -> set[frozenset[tuple[float, ...]]]:
    """Corners of every simplex of both halves."""
    halves = [body.corners(t) for t in range(len(body.simplices))]
    return {frozenset(tuple(row) for row in (sign * half).tolist()) for half in halves for sign in (1.0, -1.0)}


@pytest.mark.parametrize("corners", [7, 8])
def test_faces_that_their_proposal_divides_in_another_way_are_proven_once(
    corners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faces with many corners, proposed by a push of other points: the body is the one that is found without a proposal."""
    points = Points.of([(1, *signs) for signs in itertools.product((-1, 1), repeat=3)][:corners])
    found = candidate_simplices(
        Push(np.arange(len(points))[::-1] + 1, 2.0**-10).applied(points.floats, np.arange(len(points))), "qhull"
    )
    proofs, prove = list[int](), hull._proven_polytope
    monkeypatch.setattr(hull, "_proven_polytope", lambda *given: (proofs.append(1), prove(*given))[1])
    body = convex_hull(points, proposed=found)
    assert len(proofs) == 1
    whole = convex_hull(points)
    assert _tiles(body) == _tiles(whole) and len(_tiles(whole)) == whole.simplex_count > 2 * len(whole.facets)


@pytest.mark.parametrize("s", [2, 3, 4])
def test_the_first_simplex_is_one_of_the_pushed_hull(s: int) -> None:
    """Of cubes, whose facets hold many simplices: its plane has all points below it once they are pushed by a hair."""
    points = Points.of([(1, *signs) for signs in itertools.product((-1, 1), repeat=s - 1)])
    push, m = Push.generic(len(points)), len(points)
    hair = [1 + Fraction(int(t), 2**200) for t in push.ranks]
    pushed = [[h * x for x in row] for h, row in zip(hair, points.fractions(), strict=True)]
    block = Points.of([[x if label < m else -x for x in pushed[label % m]] for label in first_simplex(points, push)])
    above, below = solved(block.numerators, [[int(d)] for d in block.denominators])
    heights = [abs(sum(Fraction(int(a), below) * x for a, x in zip(above[:, 0], row, strict=True))) for row in pushed]
    assert sorted(heights)[-s:] == [1] * s and max(sorted(heights)[:-s], default=0) < 1


# exact pieces


def test_against_one_agrees_with_fractions_at_the_edge() -> None:
    """Products within 1e-40 of one, which doubles cannot place."""
    tiny = Fraction(1, 10**40)
    facets = Points.of([[1, 0], [Fraction(1, 3), 1 - tiny]])
    points = Points.of([[1 - tiny, 5], [1, 1], [1 + tiny, 0], [-1, -1], [-3, 0], [0, 1 + tiny], [0, 1 + 2 * tiny]])
    expected = [
        [_position(sum(x * y for x, y in zip(a, p, strict=True))) for p in points.fractions()] for a in facets.fractions()
    ]
    assert against_one(facets, points).tolist() == expected


def _position(x: Fraction) -> int:
    size = 0 if abs(x) < 1 else 1 if abs(x) == 1 else 2
    return size if x > 0 else -size


def test_many_points_are_reduced_exactly() -> None:
    """40,000 points in 4 dimensions; one lies outside the hull of the rest by 1e-25 and must be found."""
    rng = np.random.default_rng(9)
    points = Points.from_integers(rng.integers(-(2**20), 2**20, (40_000, 4)) // rng.integers(1, 60, (40_000, 1)))
    body = convex_hull(points)
    hull = ConvexHull(np.vstack([points.floats, -points.floats]))
    assert float(body.volume) == pytest.approx(hull.volume, rel=1e-11) and len(outside(body.facets, points)) == 0
    middle = sum((Fraction(1, 4) * np.array(p, object) for p in _corners(body, 0)), np.zeros(4, object))
    beyond = points.join(Points.of([middle * (1 + Fraction(1, 10**25))]))
    assert outside(body.facets, beyond).tolist() == [len(points)]
    grown = convex_hull(beyond)
    assert len(grown.vertices) == len(body.vertices) + 1 and grown.volume > body.volume


def _corners(body: Polytope, t: int) -> list[tuple[Fraction, ...]]:
    vertices, m = body.vertices.fractions(), len(body.vertices)
    return [tuple((1 if i < m else -1) * x for x in vertices[i % m]) for i in body.simplices[t].tolist()]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=6), st.integers(1, 4))
def test_span_coordinates(rows: list[list[int]], width: int) -> None:
    mix = np.random.default_rng(width).integers(-3, 4, (3, width + 2)).astype(object)
    product = np.array(rows, dtype=object) @ mix
    if not product.any():
        return
    points = Points.from_integers(product, [i + 1 for i in range(len(rows))])
    basis, coordinates = span_coordinates(points)
    assert len(basis) == np.linalg.matrix_rank(product.astype(float))
    for p, c in zip(points.fractions(), coordinates.fractions(), strict=True):
        assert tuple(sum(x * b[k] for x, b in zip(c, basis.fractions(), strict=True)) for k in range(width + 2)) == p


def test_distinct_rows_and_determinants() -> None:
    points = Points.of([[2, 4], [-1, -2], [0, 0], ["1/2", 3], [5, 10]])
    assert distinct_rows(points).tolist() == [4, 3]
    rng = np.random.default_rng(2)
    for bound in (3, 10**12):  # 64-bit elimination, then FLINT
        rows = Points.from_integers(rng.integers(-bound, bound + 1, (12, 4)))
        chosen = np.array([rng.choice(12, 4, replace=False) for _ in range(200)])
        for value, block in zip(determinants(rows, chosen), rows.numerators[chosen], strict=True):
            assert value == _leibniz(block.tolist())


def _leibniz(rows: list[list[int]]) -> int:
    if not rows:
        return 1
    return sum((-1) ** j * rows[0][j] * _leibniz([r[:j] + r[j + 1 :] for r in rows[1:]]) for j in range(len(rows)))


def test_scaled_and_weights() -> None:
    body = convex_hull(Points.of([[1, 0, 0], [0, "1/3", 0], [0, 0, "2/7"], ["1/2", "1/5", "1/9"]]))
    grown = body.scaled(Fraction(3, 2))
    assert grown.volume == body.volume * Fraction(27, 8) and grown.gauge_exact(grown.vertices) == [1] * len(grown.vertices)
    volumes = [Fraction(abs(round(1e12 * np.linalg.det(body.corners(t)))), 10**12) for t in range(len(body.simplices))]
    assert np.allclose(
        [float(v / sum(volumes)) for v in volumes], body.weights, rtol=1e-9
    ) and body.weights.sum() == pytest.approx(1)
    assert np.allclose(np.array(body.integer_weights, float) / float(sum(body.integer_weights)), body.weights)


# what is refused


@pytest.mark.parametrize(
    ("rows", "text"),
    [([[0, 0]], "do not span"), ([[1, 1], [2, 2], [-3, -3]], "do not span"), ([[1, 0, 0], [0, 1, 0]], "do not span")],
)
def test_flat_input_is_refused(rows: list[list[int]], text: str) -> None:
    with pytest.raises(HullFailed, match=text):
        convex_hull(Points.of(rows))


@pytest.mark.parametrize("bad", [[[float("nan"), 1.0]], [[float("inf"), 1.0]], [], [[1], [1, 2]], [["1/0", 1]]])
def test_points_refuse(bad: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="rows:"):
        Points.of(bad)


def test_points_refuse_floats_and_bad_denominators() -> None:
    with pytest.raises(ValueError, match="integers are needed"):
        Points.from_integers([[0.5, 1.0]])
    with pytest.raises(ValueError, match="positive"):
        Points.from_integers([[1, 2]], [0])
    with pytest.raises(ValueError, match="shape"):
        Points.from_integers([1, 2])
    with pytest.raises(ValueError, match="rescale"):
        convex_hull(Points.of([[10**200, 0], [0, 1]]))
    with pytest.raises(ValueError, match="zero"):
        span_coordinates(Points.of([[0, 0]]))
    with pytest.raises(ValueError, match="factor"):
        convex_hull(Points.of([[1]])).scaled(Fraction(0))


@pytest.mark.parametrize(("n", "s", "limit"), [(60, 20, 400_000), (400, 9, 20_000), (30, 3, 20)])
def test_too_large_is_said_before_the_work(n: int, s: int, limit: int) -> None:
    points = Points.of(np.random.default_rng(1).standard_normal((n, s)))
    with pytest.raises(HullFailed, match="max_simplices") as failure:
        convex_hull(points, max_simplices=limit)
    assert failure.value.status is Status.TOO_LARGE


def test_least_simplices_is_a_lower_bound_and_exact_in_the_plane_and_in_space() -> None:
    for s, n in ((2, 8), (3, 9), (4, 9), (5, 10)):
        body = convex_hull(Points.of(np.random.default_rng(s).standard_normal((n, s))))
        bound = least_simplices(len(body.vertices), s)
        assert body.simplex_count == bound if s < 4 else body.simplex_count >= bound


@pytest.mark.parametrize("scale", [Fraction(1, 2**200), Fraction(2**200)])
def test_size_does_not_matter(scale: Fraction) -> None:
    points = differences(103, 0)
    assert convex_hull(points.scaled(scale)).volume == convex_hull(points).volume * scale**points.dimension


# the order of norms


def unit(s: int) -> tuple[Fraction, ...]:
    return (Fraction(1),) * s


def identity(s: int) -> Points:
    return Points.of(np.eye(s, dtype=int).tolist())


def test_known_order_of_balls() -> None:
    one, two, most = CrossPolytope(unit(3)), EllipsoidBall(identity(3)), Box(unit(3))
    assert containment(one, two) is Containment.INSIDE and containment(two, most) is Containment.INSIDE
    assert containment(most, one) is Containment.AROUND and containment(two, two) is Containment.EQUAL
    axes = identity(3)  # on the axes all three have sensitivity 1
    assert containment(one, most, axes) is Containment.INSIDE
    corners = Points.of(itertools.product((-1, 1), repeat=3))  # sensitivities 3, sqrt 3, 1
    assert [squared_sensitivity(ball, corners) for ball in (one, two, most)] == [9, 3, 1]
    assert containment(most, two, corners) is Containment.INSIDE and containment(most, one, corners) is Containment.INSIDE
    mixed = Points.of([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    assert containment(one, most, mixed) is Containment.INCOMPARABLE


def test_hull_of_the_vectors_lies_inside_every_other_ball() -> None:
    """The hull is the smallest norm ball that holds its points, with sensitivity one."""
    vectors = span_coordinates(basic_moves(3, 3))[1]
    hull = Hull(convex_hull(vectors))
    assert squared_sensitivity(hull, vectors) == 1
    gram = Points.of([[2 if i == j else 1 for j in range(4)] for i in range(4)])
    for ball in (
        CrossPolytope(unit(4)),
        EllipsoidBall(identity(4)),
        EllipsoidBall(gram),
        Box(unit(4)),
        Box(tuple(map(Fraction, (1, 2, 3, 4)))),
    ):
        assert containment(hull, ball, vectors) is Containment.INSIDE
        assert containment(ball, hull, vectors) is Containment.AROUND


def test_ellipsoids_are_ordered_by_definiteness() -> None:
    round_, flat = EllipsoidBall(identity(2)), EllipsoidBall(Points.of([[4, 0], [0, 1]]))
    tilted = EllipsoidBall(Points.of([["5/2", "3/2"], ["3/2", "5/2"]]))  # eigenvalues 4 and 1
    assert containment(flat, round_) is Containment.INSIDE and containment(tilted, round_) is Containment.INSIDE
    assert containment(flat, tilted) is Containment.INCOMPARABLE
    assert tilted.squared_support(Points.of([[1, 1]])) == [Fraction(1, 2)]
    with pytest.raises(ValueError, match="positive definite"):
        EllipsoidBall(Points.of([[1, 1], [1, 1]]))
    with pytest.raises(ValueError, match="positive definite"):
        EllipsoidBall(Points.of([[1, 2], [2, 1]]))
    with pytest.raises(ValueError, match="symmetric"):
        EllipsoidBall(Points.of([[1, 2], [0, 1]]))
    with pytest.raises(ValueError, match="radii"):
        Box((Fraction(0),))
    with pytest.raises(ValueError, match="14"):
        containment(Box(unit(15)), EllipsoidBall(identity(15)))


def test_boxes_and_cross_polytopes_agree_with_their_hulls() -> None:
    radii = tuple(map(Fraction, ("1/2", "3", "5/7")))
    z = Points.of([[1, 2, 3], ["-1/3", 0, 4], [0, 0, "1/9"]])
    for ball in (Box(radii), CrossPolytope(radii)):
        corners, facets = ball.generators(), ball.normals()
        assert corners is not None and facets is not None
        hull = Hull(convex_hull(corners))
        assert hull.squared_gauge(z) == ball.squared_gauge(z) and hull.squared_support(z) == ball.squared_support(z)
        assert {abs_row(a) for a in facets.fractions()} == {abs_row(a) for a in hull.body.facets.fractions()}
        assert containment(hull, ball) is Containment.EQUAL


def test_labels_that_no_word_holds_together_are_told_apart() -> None:
    order, starts = grouped_labels(np.array([[16, 0, 0, 0], [0, 0, 0, 0], [16, 0, 0, 0]]), 1 << 20)
    assert order.tolist() == [1, 0, 2] and starts.tolist() == [0, 1]
