"""Who proposes a hull does not matter: Qhull, cdd in doubles, cdd in rationals (a stand-in), none at all, and one that lies."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from solvers.exact.points import Points, span_coordinates
from solvers.polytopes.facets import CDD, EXACT_CDD, QHULL, HullFailed, require_backend
from solvers.polytopes.hull import Polytope, convex_hull
from solvers.polytopes.triangulation import closes, solved

Rows = list[list[Fraction]]


def tables(r: int, c: int) -> Points:
    """All basic moves of an r x c table, e_ij - e_il - e_kj + e_kl, in coordinates of their span."""
    rows = []
    for (i, k), (j, m) in itertools.product(itertools.combinations(range(r), 2), itertools.combinations(range(c), 2)):
        table = np.zeros((r, c), int)
        table[i, j] = table[k, m] = 1
        table[i, m] = table[k, j] = -1
        rows.append(table.ravel())
    return span_coordinates(Points.from_integers(np.array(rows)))[1]


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
