"""The option `backend` of the families that have a hull: the same mechanism, and a note of who proposed it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, invariants, load, metrics, read_problem
from designer.designing.printouts import design_summary, page

SHAPES = {"k_norm": {}, "lattice_laplace": {"shape": "hull"}}


def table(shape: tuple[int, int], adjacency: int = 2) -> Problem:
    return Problem(Workload.identity(shape[0] * shape[1]), invariants.margins(shape).protect(1.0, adjacency))


def cities() -> Problem:
    rng = np.random.default_rng(3)
    return Problem(Workload(rng.integers(0, 3, (3, 9))), metrics.euclidean(rng.integers(0, 6, (9, 2)) + rng.random((9, 2))))


PROBLEMS = {
    "2 x 2": table((2, 2)), "2 x 4": table((2, 4)), "3 x 3": table((3, 3), 3), "3 x 4": table((3, 4)), "cities": cities(),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "family"),
    [*((name, "k_norm") for name in PROBLEMS), *((name, "lattice_laplace") for name in PROBLEMS if "x" in name)],
)
def test_the_mechanism_is_the_same_whoever_proposed(name: str, family: str) -> None:
    pytest.importorskip("cdd")
    plain, other = (design(PROBLEMS[name], family, backend=b, **SHAPES[family]).mechanism for b in ("qhull", "cdd"))
    assert other.privacy.holds and other.fingerprint == plain.fingerprint and other.privacy == plain.privacy


@pytest.mark.parametrize("family", SHAPES)
def test_the_design_says_who_proposed_and_a_reader_needs_no_cdd(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cdd")
    monkeypatch.setitem(sys.modules, "cdd.gmp", None)  # doubles, whatever was built
    made = design(table((3, 3)), family, backend="cdd", **SHAPES[family])
    words = "proposed by cdd in doubles, proven in exact integers (the same proof whoever proposes)"
    assert words in made.mechanism.provenance["hull"] and words in design_summary("title", made)
    path = made.mechanism.save(tmp_path / "spec.json")
    for module in ("cdd", "cdd.gmp"):
        monkeypatch.setitem(sys.modules, module, None)
    loaded = load(path)
    assert loaded.fingerprint == made.mechanism.fingerprint and words in page(loaded)


def test_a_problem_file_names_the_backend(tmp_path: Path) -> None:
    pytest.importorskip("cdd")
    path = tmp_path / "problem.toml"
    path.write_text(
        '[domain]\na = 2\nb = 3\n[workload]\nbuilder = "identity"\n[invariant]\nmargins = [["a"], ["b"]]\nadjacency = 2\n'
        '[relation]\nepsilon = 1.0\n[design]\nfamily = "k_norm"\nbackend = "cdd"\n'
    )
    file = read_problem(path)
    assert "proposed by cdd in" in design(file.problem, file.family, **file.options).mechanism.provenance["hull"]


@pytest.mark.parametrize("family", SHAPES)
def test_what_is_unknown_not_installed_or_out_of_place_is_refused(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidProblem, match=r"options.backend: 'lrs' is unknown; use one of \['qhull', 'cdd'\]"):
        design(table((2, 2)), family, backend="lrs", **SHAPES[family])
    for module in ("cdd", "cdd.gmp"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DesignFailed, match=rf"{family}: options.backend: .*pycddlib-standalone.*'qhull'"):
        design(table((2, 2)), family, backend="cdd", **SHAPES[family])
    assert design(table((2, 2)), family, backend="qhull", **SHAPES[family]).privacy.holds


def test_a_backend_without_a_hull_is_refused() -> None:
    with pytest.raises(InvalidProblem, match=r"options.backend: .*shape = 'hull'"):
        design(table((2, 2)), "lattice_laplace", backend="qhull")


@pytest.mark.parametrize("family", SHAPES)
def test_a_hull_that_would_keep_cdd_busy_for_minutes_is_refused_with_a_way_on(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limit at 400; the 68,000 simplices of 4 x 4 tables are above the true one."""
    pytest.importorskip("cdd")
    monkeypatch.setattr("designer.designing.k_norm.CDD_SIMPLICES", 400)
    with pytest.raises(DesignFailed, match=r"= 400; .*use backend = 'qhull' \(larger hulls\), .*ellipsoid"):
        design(table((3, 4)), family, backend="cdd", **SHAPES[family])
    assert design(table((3, 4)), family, backend="qhull", **SHAPES[family]).privacy.holds


def gauge(vertices: np.ndarray, z: np.ndarray) -> float:
    """min |w|_1 with V' w = z."""
    both = np.vstack([vertices, -vertices]).T
    return float(linprog(np.ones(both.shape[1]), A_eq=both, b_eq=z, method="highs").fun)


def shrunk(rows: list[list[Any]]) -> list[frozenset[int]]:
    """The true facets of other points: the first and its antipode at half their distance."""
    import cdd

    half = [[float(x) / (2 if i in (0, len(rows) // 2) else 1) for x in row] for i, row in enumerate(rows)]
    matrix = cdd.matrix_from_array([[1.0, *row] for row in half], rep_type=cdd.RepType.GENERATOR)
    return list(cdd.copy_incidence(cdd.polyhedron_from_matrix(matrix)))


def test_a_backend_that_lies_costs_no_privacy(monkeypatch: pytest.MonkeyPatch) -> None:
    """All differences by brute force, their gauges by linear programs: none is above its budget, and one is at it."""
    pytest.importorskip("cdd")
    liar = ModuleType("cdd.gmp")
    liar.__dict__.update(
        RepType=SimpleNamespace(GENERATOR=0),
        matrix_from_array=lambda rows, rep_type: [row[1:] for row in rows],
        polyhedron_from_matrix=lambda rows: rows,
        copy_incidence=shrunk,
    )
    monkeypatch.setitem(sys.modules, "cdd.gmp", liar)
    problem = cities()
    made = design(problem, "k_norm", backend="cdd")
    assert "wrapping" in made.mechanism.provenance["hull"] or "left a hole" in made.mechanism.provenance["hull"]
    norm = made.mechanism.norm
    corners = norm.scale * norm.differences / norm.budgets[:, None]
    points, distances = problem.workload.dense().T, problem.relation.distances()
    ratios = [gauge(corners, points[i] - points[j]) / distances[i, j] for i in range(9) for j in range(i)]
    assert made.privacy.holds and 1 - 1e-9 < max(ratios) <= 1 + 1e-9
