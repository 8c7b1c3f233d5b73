"""Which of many points are vertices, round by round, against a hull of all of them; and hulls that are forecast too large. Who
proposes a hull does not matter: Qhull, cdd in doubles, cdd in rationals (a stand-in), none at all, and one that lies.
Pivots do not depend on how a kernel adds up: where columns tie, and last digits differ, the same ones are chosen.
"""

from __future__ import annotations

import itertools
import sys
from contextlib import suppress
from fractions import Fraction
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from solvers.exact.points import Points, span_coordinates
from solvers.exact.rational import exact_rank
from solvers.polytopes import extremes
from solvers.polytopes.extremes import (
    TIES,
    Push,
    corners_among,
    extreme_rows,
    foretold,
    foretold_at_random,
    hull_directions,
    pivots,
    simplices_of_corners,
)
from solvers.polytopes.facets import CDD, EXACT_CDD, QHULL, FacetCandidates, HullFailed, candidate_simplices, require_backend
from solvers.polytopes.hull import Polytope, convex_hull
from solvers.polytopes.triangulation import closes, solved
from solvers.solution import Status
from solvers.work import OutOfWork, within
from tests.oracles.basic_moves import basic_moves


def sphere(count: int, dimension: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    points = np.random.default_rng(dimension).normal(size=(count, dimension))
    return np.asarray(points / np.linalg.norm(points, axis=1)[:, None])


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_rounds_end_with_the_vertices_of_the_hull_of_all_points(dimension: int) -> None:
    outer = sphere(40, dimension)
    points = np.vstack([0.5 * outer, outer, 0.9 * outer[:20]])
    told: list[str] = []
    rows, found = extreme_rows(points, Push.generic(len(points)), 10**6, "qhull", told.append)
    whole = ConvexHull(np.vstack([points, -points]))
    assert set(rows.tolist()) == {row % len(points) for row in whole.vertices.tolist()}
    assert told[-1] == f"{len(rows)} pairs of points span {2 * len(found.simplices):,} simplices, at least 0 lie outside"
    assert len(told) > 1


def test_rounds_end_where_the_twin_of_a_corner_is_hidden_by_the_push_of_others() -> None:
    """A corner that stands out by less than pushes add, several times and with its antipode: each is met once."""
    for seed in range(20):
        rows = np.array([[1.0, 0.0], [0.0, 1.0], *[[0.5001, 0.5001]] * 3, [-0.5001, -0.5001]])
        rows = rows[np.random.default_rng(seed).permutation(len(rows))]
        with within(0.2):
            chosen, _ = extreme_rows(rows, Push.generic(len(rows)), 1000, "qhull")
        assert {tuple(np.abs(row)) for row in rows[chosen]} == {(1.0, 0.0), (0.0, 1.0), (0.5001, 0.5001)}
        assert len(chosen) == 3


def test_rounds_end_where_their_work_is_done() -> None:
    points = sphere(40, 3)
    with within(0.0) as budget, pytest.raises(OutOfWork):
        extreme_rows(points, Push.generic(len(points)), 10**6, "qhull")
    assert budget.cut and budget.spent == 0


def test_a_hull_that_is_forecast_far_above_the_limit_is_refused_while_it_is_small() -> None:
    """The hull of all 300 points has more than the limit; the largest that was built has fewer."""
    points, told = sphere(300, 6), list[str]()
    with pytest.raises(HullFailed, match=r"has about .* or more boundary simplices, above max_simplices = 20,000") as refused:
        extreme_rows(points, Push.generic(len(points)), 20_000, "qhull", told.append)
    assert refused.value.status is Status.TOO_LARGE
    built = [int(line.split("span ")[1].split()[0].replace(",", "")) for line in told]
    assert max(built) < 20_000 < len(ConvexHull(np.vstack([points, -points])).simplices)


def test_a_forecast_goes_on_as_the_last_points_did() -> None:
    assert foretold([(4, 40), (6, 100), (10, 500)], 7) == 500 + 7 * 100
    assert foretold([(6, 100), (10, 90)], 7) == 90


@pytest.mark.parametrize(("count", "dimension"), [(30, 4), (40, 5), (28, 6), (24, 7)])
def test_a_forecast_of_points_that_join_at_random_is_near_the_hull_of_all(
    count: int, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a tenth of the hull on, whose growth is measured to its end."""
    grown = growth_of(sphere(count, dimension), 10**6, monkeypatch)
    pairs, whole = grown[-1]
    assert pairs == count
    for known in range(2, len(grown)):
        before, simplices = grown[known - 1]
        if 10 * simplices > whole:
            told = foretold_at_random(grown[:known], pairs - before, dimension)
            assert 0.4 * whole < told < extremes.SURE * whole


def test_a_hull_of_corners_is_refused_at_a_small_part_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what fits into the limit is built."""
    points = sphere(30, 7)
    pairs, whole = growth_of(points, 10**6, monkeypatch)[-1]
    assert growth_of(points, whole, monkeypatch)[-1] == (pairs, whole)
    limit = whole // 3
    grown = growth_of(points, limit, monkeypatch)
    assert grown[-1][1] < limit / 2


def growth_of(points: np.ndarray[tuple[int, int], np.dtype[np.float64]], limit: int, patched: Any) -> list[tuple[int, int]]:
    """Numbers of pairs of points and of simplices of a hull that grows, up to its end or to its refusal."""
    grown, heard = list[tuple[int, int]](), extremes._Growth.heard

    def hear(growth: Any, pairs: int, simplices: int) -> None:
        grown.append((pairs, simplices))
        heard(growth, pairs, simplices)

    with patched.context() as held, suppress(HullFailed):
        held.setattr(extremes._Growth, "heard", hear)
        simplices_of_corners(points, Push.generic(len(points)), limit)
    return grown


def one_of_each(found: FacetCandidates, count: int) -> set[tuple[int, ...]]:
    """Each simplex by the smaller of its labels and those of its antipode."""
    both = [(sorted(row), sorted((label + count) % (2 * count) for label in row)) for row in found.simplices.tolist()]
    return {tuple(min(pair)) for pair in both}


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_linear_programs_tell_the_corners(dimension: int) -> None:
    """Against Qhull: points outside, inside, and in the middle of an edge or a facet."""
    outer = sphere(30, dimension)
    hull = ConvexHull(np.vstack([outer, -outer]))
    on_it = np.vstack([outer, -outer])[hull.simplices[:5]].mean(axis=1)
    points = np.vstack([on_it, 0.7 * outer[:10], outer])
    told = corners_among(points, np.arange(len(points)))
    assert set(told.tolist()) == {row % len(points) for row in ConvexHull(np.vstack([points, -points])).vertices.tolist()}
    assert len(told) == 30


def test_the_hull_of_numbers_is_the_longest_of_them() -> None:
    rows, normals = hull_directions(np.array([[0.5], [-4.0], [2.0]]), 1)
    assert rows.tolist() == [1] and normals.tolist() == [[0.25]]


@pytest.mark.parametrize("dimension", [3, 6])
def test_corners_that_join_one_after_the_other_have_the_hull_of_all(dimension: int) -> None:
    points = sphere(25, dimension)
    push = Push.generic(len(points))
    grown = simplices_of_corners(points, push, 10**6)
    whole = candidate_simplices(push.applied(points, np.arange(len(points))), "qhull")
    assert one_of_each(grown, len(points)) == one_of_each(whole, len(points))
    assert len(grown.simplices) == len(whole.simplices)


def test_a_hull_that_outgrows_the_work_that_is_left_is_given_up_while_it_is_small() -> None:
    points, told = sphere(150, 6), list[str]()
    with within(0.7) as budget, pytest.raises(OutOfWork, match=r"a hull of about [0-9,]+ simplices takes"):
        extreme_rows(points, Push.generic(len(points)), 10**6, "qhull", told.append)
    assert budget.spent < 0.65
    built = [int(line.split("span ")[1].split()[0].replace(",", "")) for line in told]
    assert max(built) < 0.5 * len(ConvexHull(np.vstack([points, -points])).simplices)
    with within() as budget:
        extreme_rows(points, Push.generic(len(points)), 10**6, "qhull")
    assert budget.spent > 0.7


Rows = list[list[Fraction]]


def tables(r: int, c: int) -> Points:
    """All basic moves of an r x c table, e_ij - e_il - e_kj + e_kl, in coordinates of their span."""
    return span_coordinates(basic_moves(r, c))[1]


def binary(seed: int, rows: int, s: int) -> Points:
    """Differences of rows of 0 and 1: many points on few facets."""
    rng = np.random.default_rng(seed)
    return Points.from_integers(rng.integers(0, 2, (rows, s)) - rng.integers(0, 2, (rows, s)))


def same(left: Polytope, right: Polytope) -> bool:
    """Vertices, facets and volume, exactly."""
    facets, vertices = set(left.facets.keys()) == set(right.facets.keys()), {*left.vertices.keys()} == {*right.vertices.keys()}
    return facets and vertices and left.volume == right.volume


BODIES: dict[str, Points] = {
    **{f"random {s}": Points.of(np.random.default_rng(s).standard_normal((18, s))) for s in (1, 2, 3, 4, 5, 6)},
    **{f"tables {r} x {c}": tables(r, c) for r, c in ((2, 2), (2, 3), (2, 4), (2, 6), (3, 3), (3, 4))},
    **{f"cube {s}": Points.of(itertools.product((-1, 0, 1), repeat=s)) for s in (2, 3, 4)},
    **{f"differences of 0 and 1, {s}": binary(s, 60, s) for s in (3, 4, 5)},
    "7 x 32": Points.from_integers(np.unique(np.random.default_rng(1).integers(0, 2, (7, 32)), axis=1).T),
    "twins and inner points": Points.of([[1, 0], [1, 0], [-1, 0], [0, 1], ["1/3", "1/3"], [0, 0]]),
}


@pytest.mark.parametrize("name", [*BODIES, pytest.param("tables 3 x 5", marks=pytest.mark.heavy)])
def test_cdd_and_qhull_give_the_same_proven_body(name: str) -> None:
    pytest.importorskip("cdd")
    points = tables(3, 5) if name == "tables 3 x 5" else BODIES[name]
    plain, other = convex_hull(points), convex_hull(points, backend="cdd")
    assert plain.proposer == QHULL and "cdd" in other.proposer
    assert same(plain, other)


@pytest.mark.parametrize("name", ["random 4", "tables 3 x 3", "tables 3 x 4", "cube 3"])
def test_cdd_in_doubles_proposes_these_bodies_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cdd")
    monkeypatch.setitem(sys.modules, "cdd.gmp", None)
    assert convex_hull(BODIES[name], backend="cdd").proposer == CDD


@pytest.mark.parametrize("name", BODIES)
def test_exact_cdd_proposes_every_body_whole(name: str) -> None:
    """Where it was built with libcdd and GMP (see CONTRIBUTING): nothing is lost in rationals, so Qhull is never asked."""
    pytest.importorskip("cdd.gmp", reason="pycddlib without GMP: exact cdd is not built here")
    body = convex_hull(BODIES[name], backend="cdd")
    assert body.proposer == EXACT_CDD and same(body, convex_hull(BODIES[name]))


def test_cdd_that_leaves_a_hole_is_replaced_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubles lose facets of this body (see test_hull.py); the gap shows in the ridges before anything is proven."""
    pytest.importorskip("cdd")
    monkeypatch.setitem(sys.modules, "cdd.gmp", None)
    assert convex_hull(BODIES["7 x 32"], backend="cdd").proposer == f"{QHULL}, because cdd left a hole"


@pytest.mark.parametrize("backend", ["qhull", "cdd"])
@pytest.mark.parametrize("rows", [[[0, 0]], [[1, 1], [2, 2], [-3, -3]], [[1, 0, 0], [0, 1, 0]]])
def test_flat_sets_are_refused_whoever_proposes(backend: Any, rows: list[list[int]]) -> None:
    with pytest.raises(HullFailed, match="do not span"):
        convex_hull(Points.of(rows), backend=backend)


def test_a_boundary_closes_when_every_ridge_has_two_sides() -> None:
    body = convex_hull(BODIES["tables 3 x 3"])
    m = len(body.vertices)
    whole = np.vstack([body.simplices, (body.simplices + m) % (2 * m)])
    assert closes(whole) and not closes(whole[1:]) and not closes(whole[:0]) and not closes(np.vstack([whole, whole[:1]]))


# stand-ins for what is not installed here, or does not tell the truth


def facets_by_search(rows: Rows) -> list[set[int]]:
    """The incident points of every facet, exactly: all s points whose plane has no point beyond."""
    s, found = len(rows[0]), []
    for chosen in itertools.combinations(range(len(rows)), s):
        block = Points.of([rows[i] for i in chosen])
        try:
            column, below = solved(block.numerators, [[int(d)] for d in block.denominators])
        except ZeroDivisionError:
            continue
        normal = [Fraction(int(x), below) for x in column[:, 0]]
        heights = [sum(a * x for a, x in zip(normal, row, strict=True)) for row in rows]
        if max(heights) == 1 and (on := {i for i, height in enumerate(heights) if height == 1}) not in found:
            found.append(on)
    return found


def stand_in(answer: Any) -> ModuleType:
    """A module with the calls of pycddlib, whose facets are `answer(rows)`, rows without their leading 1."""
    module = ModuleType("cdd.gmp")
    module.__dict__.update(
        RepType=SimpleNamespace(GENERATOR=0),
        matrix_from_array=lambda rows, rep_type: [row[1:] for row in rows],
        polyhedron_from_matrix=lambda rows: rows,
        copy_incidence=answer,
    )
    return module


def test_rational_cdd_is_preferred_and_gets_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(rows: Rows) -> list[set[int]]:
        assert all(isinstance(entry, Fraction) for row in rows for entry in row)
        return facets_by_search(rows)

    monkeypatch.setitem(sys.modules, "cdd.gmp", stand_in(answer))
    body = convex_hull(BODIES["cube 3"], backend="cdd")
    assert body.proposer == EXACT_CDD and same(body, convex_hull(BODIES["cube 3"]))


def with_a_vertex_drawn_in(rows: Rows) -> list[set[int]]:
    """The facets of another body: the first point, and its antipode, at half their distance."""
    pulled = (0, len(rows) // 2)
    return facets_by_search([[x / 2 if i in pulled else x for x in row] for i, row in enumerate(rows)])


LIES = {
    "a vertex is drawn in": with_a_vertex_drawn_in,
    "nothing is said": lambda rows: [],
    "a facet is left out": lambda rows: facets_by_search(rows)[1:],
    "facets cut through the body": lambda rows: [set(c) for c in itertools.combinations(range(len(rows)), 3)],
    "it stops": lambda rows: (_ for _ in ()).throw(RuntimeError("numerical inconsistency")),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_backend_that_lies_is_caught_by_the_proof(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = Points.of(np.random.default_rng(5).integers(-4, 5, (6, 3)).tolist())
    truth = convex_hull(points)
    monkeypatch.setitem(sys.modules, "cdd.gmp", stand_in(LIES[lie]))
    body = convex_hull(points, backend="cdd")
    assert same(body, truth) and body.proposer != EXACT_CDD


def test_a_lie_that_closes_is_completed_by_wrapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """A boundary without holes, of a body in which one vertex lies half as far out: its planes cut points off."""
    points = Points.of(np.random.default_rng(5).integers(-4, 5, (6, 3)).tolist())
    monkeypatch.setitem(sys.modules, "cdd.gmp", stand_in(with_a_vertex_drawn_in))
    body = convex_hull(points, backend="cdd")
    assert body.proposer == f"{EXACT_CDD}, completed by exact wrapping" and same(body, convex_hull(points))


def test_what_is_not_installed_or_not_known_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cdd", "cdd.gmp"):
        monkeypatch.setitem(sys.modules, name, None)
    assert require_backend("qhull") == "qhull"
    with pytest.raises(HullFailed, match=r"pycddlib-standalone.*'qhull'"):
        require_backend("cdd")
    with pytest.raises(HullFailed, match=r"pycddlib-standalone"):
        convex_hull(BODIES["cube 2"], backend="cdd")
    with pytest.raises(HullFailed, match=r"'lrs' is unknown.*qhull.*cdd"):
        require_backend("lrs")


Array = NDArray[np.float64]


def marginals() -> Array:
    """Differences (24, 36) of cells in all tables of at most two of three attributes: 17 columns are independent."""
    cells = list(itertools.product(range(4), range(2), range(3)))
    kept = [axes for k in range(3) for axes in itertools.combinations(range(3), k)]
    columns = []
    for axes in kept:
        for value in itertools.product(*(range((4, 2, 3)[axis]) for axis in axes)):
            columns.append([all(cell[axis] == v for axis, v in zip(axes, value, strict=True)) for cell in cells])
    table = np.array(columns, dtype=np.float64).T
    return np.asarray(table - table[0])


@pytest.mark.parametrize(
    "table", [marginals(), np.eye(30) - np.eye(30, k=1), 1.0 - np.eye(12)], ids=["marginals", "steps", "rest"]
)
def test_ties_are_not_decided_by_last_digits(table: Array) -> None:
    rank = exact_rank(table)
    first = pivots(table)[0][:rank]
    assert exact_rank(table[:, first]) == rank
    for seed in range(20):
        noise = 1 + 1e-13 * np.random.default_rng(seed).uniform(-1, 1, table.shape)
        assert pivots(table * noise)[0][:rank].tolist() == first.tolist()


def test_each_column_is_farthest_from_the_span_of_those_before_up_to_the_factors() -> None:
    table = np.random.default_rng(5).normal(size=(9, 14))
    order, distances = pivots(table)
    for k in range(len(order)):
        basis = np.linalg.qr(table[:, order[:k]])[0]
        rest = np.linalg.norm(table - basis @ (basis.T @ table), axis=0)
        assert rest[order[k]] >= (1 - TIES) * rest.max()
        assert (1 - TIES) * rest[order[k]] * (1 - 1e-12) <= distances[k] <= rest[order[k]] * (1 + 1e-12)
