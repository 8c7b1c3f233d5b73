"""`programs.hull`: the ball both ways, which differences are extreme, and two hulls that agree."""

from __future__ import annotations

import itertools
import math
import sys

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from designer import DesignFailed, Problem, Workload, design, invariants, metrics, programs
from designer.programs import hull_program
from solvers.exact.points import Points
from solvers.polytopes.hull import Polytope, convex_hull

HULLS = 200
KINDS = (
    "whole numbers", "points on faces", "cross-polytope", "cube", "a needle", "units far apart", "a line", "moves of a table",
)  # fmt: skip


def points(seed: int) -> np.ndarray:
    """Points (m, s) of one of the kinds in turn, whole numbers or nearly flat."""
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    s = 2 + seed // len(KINDS) % 4
    some = rng.integers(-4, 5, (s + 3 + seed % 5, s)) + np.vstack([5 * np.eye(s, dtype=int), np.zeros((3 + seed % 5, s), int)])
    if kind == "points on faces":
        return np.vstack([some, (some[:-1] + some[1:]) / 2, some[:2]])
    if kind == "cross-polytope":
        return np.vstack([np.eye(s), np.eye(s)[0] / 2])
    if kind == "cube":
        return np.array([corner for corner in itertools.product((-1, 1), repeat=s) if corner[0] == 1] + [(1,) * s])
    if kind == "a needle":
        return np.vstack([np.eye(s) * 2.0**-12, np.ones((1, s)), rng.integers(1, 3, (2, s))])
    if kind == "units far apart":
        return np.asarray(some * 10.0 ** rng.integers(-6, 7, s))
    if kind == "a line":
        return rng.integers(1, 9, (4, 1)).astype(float)
    if kind == "moves of a table":
        table = Problem(Workload.identity(4 + 2 * (seed % 2)), invariants.margins((2, 2 + seed % 2)).protect(1.0, 2))
        return programs.hull(table).vertices
    return np.asarray(some, dtype=float)


def measured(body: Polytope) -> tuple[object, ...]:
    return set(body.vertices.fractions()), set(body.facets.fractions()), body.volume, body.second_moment_exact


def float_measures(rows: np.ndarray) -> tuple[float, np.ndarray]:
    """Volume and second moment of conv{+-rows} by scipy's simplices: `(sum v v' + (sum v)(sum v)') / (s+1)(s+2)` of each."""
    s = rows.shape[1]
    if s == 1:
        longest = np.abs(rows).max()
        return 2 * longest, np.array([[longest**2 / 3]])
    both = np.vstack([rows, -rows])
    total, moment = 0.0, np.zeros((s, s))
    for simplex in ConvexHull(both).simplices:
        v = both[simplex]
        volume = abs(np.linalg.det(v)) / math.factorial(s)
        total, moment = total + volume, moment + volume * (v.T @ v + np.outer(v.sum(axis=0), v.sum(axis=0)))
    return total, moment / total / ((s + 1) * (s + 2))


def sorted_rows(normals: np.ndarray) -> np.ndarray:
    """One of each pair of normals, in order, (F, s)."""
    lead = np.take_along_axis(normals, (np.abs(normals) > 1e-9 * np.abs(normals).max()).argmax(axis=1)[:, None], axis=1)
    kept = np.unique(np.round(normals * np.sign(lead) / np.abs(normals).max(), 8), axis=0)
    return np.asarray(kept * np.abs(normals).max())


def cdd_normals(vertices: np.ndarray) -> np.ndarray:
    """The facets that cdd reports of conv{+-vertices}."""
    cdd = pytest.importorskip("cdd")
    rows = [[1.0, *row] for row in np.vstack([vertices, -vertices])]
    polyhedron = cdd.polyhedron_from_matrix(cdd.matrix_from_array(rows, rep_type=cdd.RepType.GENERATOR))
    found = np.array(cdd.copy_inequalities(polyhedron).array)
    return sorted_rows(-found[:, 1:] / found[:, :1])


@pytest.mark.parametrize("seed", range(HULLS))
def test_two_hulls_agree_on_facets_volume_and_second_moment(seed: int) -> None:
    pytest.importorskip("cdd")
    rows = points(seed)
    plain, other = (convex_hull(Points.of(rows.tolist()), backend=b) for b in ("qhull", "cdd"))  # type: ignore[arg-type]
    assert measured(plain) == measured(other)
    if not other.proposer.startswith("cdd"):  # in doubles it leaves a hole in 21 of these, pushed apart: then as they are
        assert cdd_normals(plain.vertices.floats) == pytest.approx(sorted_rows(plain.facets.floats), rel=1e-6, abs=1e-9)
    units = np.abs(rows).max(axis=0)
    volume, moment = float_measures(rows / units)
    assert float(plain.volume) == pytest.approx(volume * units.prod(), rel=1e-6)
    assert plain.second_moment / np.outer(units, units) == pytest.approx(moment, rel=1e-6, abs=1e-9)


def random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 9, (6, 2)) + rng.random((6, 2))
    return Problem(Workload(rng.integers(0, 4, (2 + seed % 2, 6))), metrics.euclidean(places))


@pytest.mark.parametrize("seed", range(6))
def test_the_ball_is_the_same_both_ways_and_that_of_the_design(seed: int) -> None:
    problem = random_problem(seed)
    program = programs.hull(problem)
    z, goal = cp.Variable(program.facets.shape[1]), np.random.default_rng(seed).normal(size=program.facets.shape[1])
    reached = [
        cp.Problem(cp.Maximize(goal @ z), way(z)).solve(solver="HIGHS") for way in (program.by_vertices, program.by_facets)
    ]
    assert reached == pytest.approx([np.abs(program.vertices @ goal).max()] * 2, rel=1e-7)
    other, apart = cp.Variable(len(goal)), [*program.by_vertices(z), z == 0]
    both = cp.Problem(cp.Maximize(goal @ other), [*apart, *program.by_vertices(other)]).solve(solver="HIGHS")
    assert both == pytest.approx(reached[0], rel=1e-7)  # two vectors in the ball have shares of their own
    radius = cp.Variable()
    gauges = [
        cp.Problem(cp.Minimize(radius), way(goal, radius)).solve(solver="HIGHS")
        for way in (program.by_vertices, program.by_facets)
    ]
    norm = design(problem, "k_norm").mechanism.norm  # type: ignore[attr-defined]
    assert gauges == pytest.approx([float(norm(goal))] * 2, rel=1e-5)  # the frozen ball is smaller by rounding


@pytest.mark.parametrize("seed", range(6))
def test_the_extreme_differences_are_those_that_no_others_combine_to(seed: int) -> None:
    """Each pair of elements beside all others, by a linear program."""
    problem = random_problem(seed)
    program, answers, budgets = programs.hull(problem), problem.workload.dense().T, problem.relation.distances()
    pairs = list(itertools.combinations(range(6), 2))
    rows = np.array([(answers[i] - answers[j]) / budgets[i, j] for i, j in pairs])
    found = set()
    for row, pair in enumerate(pairs):
        others = np.delete(rows, row, axis=0)
        solved = linprog(np.ones(2 * len(others)), A_eq=np.hstack([others.T, -others.T]), b_eq=rows[row], method="highs")
        if solved.status == 2 or solved.fun > 1 + 1e-9:
            found.add(pair)
    assert {tuple(sorted(pair)) for pair in program.extreme.tolist()} == found
    for (i, j), vertex in zip(program.extreme, program.vertices, strict=True):
        assert (answers[i] - answers[j]) / budgets[i, j] == pytest.approx(vertex)


def test_cdd_is_asked_of_small_hulls_alone_and_nothing_is_missing_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cdd")
    program = programs.hull(random_problem(1))
    assert program.agreement.startswith("facets, volume and second moment are those of cdd in ")
    monkeypatch.setattr(hull_program, "TWICE", 2)
    assert "simplices, more than 2" in programs.hull(random_problem(1)).agreement
    monkeypatch.undo()
    for module in ("cdd", "cdd.gmp"):
        monkeypatch.setitem(sys.modules, module, None)
    without = programs.hull(random_problem(1))
    assert "not installed" in without.agreement and measured(without.body) == measured(program.body)


def test_hulls_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cdd")
    program = programs.hull(random_problem(1))
    larger = convex_hull(program.body.vertices.join(Points.of([[9.0] * program.body.dimension])), backend="cdd")
    monkeypatch.setattr(hull_program, "convex_hull", lambda *_, **__: larger)
    with pytest.raises(DesignFailed, match="hull: that of Qhull is not that of cdd"):
        _ = program.agreement


def test_what_has_no_ball_is_refused() -> None:
    with pytest.raises(DesignFailed, match="hull: no protected change moves an answer"):
        programs.hull(Problem(Workload([[1, 1, 1]]), metrics.uniform(3, 1.0)))
