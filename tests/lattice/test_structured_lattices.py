"""Integer noise by the structure of the statistics: the lattice of a basis, at sizes that none reaches, with proven bounds.
Lattice noise whose longest change is known in closed form: the certificate of the whole list, without the list.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer import NotPrivate, Problem, Workload, design, invariants, load, metrics
from designer.base.errors import DesignFailed
from designer.certificate.norms import Norm
from designer.lattice.mechanism import LatticeMechanism, changes_on_cells
from designer.lattice.table_gaussians import CellsInOrder, PartitionGaussian, PartitionLaplace
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.invariants.invariant import Invariant
from solvers.lattices.kernel import integer_kernel

KINDS = {
    "partition": invariants.partition([0, 1, 0, 2, 1, 0]),
    "nested": invariants.linear([[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]], records_public=False),
    "table": invariants.margins((3, 4)),
    "repeated": invariants.margins((2, 3, 2), [(0,), (1,)]),
    "three axes": invariants.margins((2, 3, 2)),
    "lines": invariants.margins((2, 3, 3), [(0, 1), (1, 2), (0, 2)]),
}


@pytest.mark.parametrize("name", KINDS)
def test_projections_and_what_is_seen_are_those_of_a_basis(name: str) -> None:
    structure = KINDS[name].layout
    basis = integer_kernel(KINDS[name].constraints).basis.astype(float)
    projection = np.linalg.pinv(basis) @ basis
    rng = np.random.default_rng(0)
    kept = rng.integers(-2, 3, (3, len(KINDS[name].constraints))) @ KINDS[name].constraints
    rows = np.concatenate([rng.integers(-3, 4, (6, KINDS[name].size)), kept]).astype(float)
    assert structure.projected(rows) == pytest.approx(rows @ projection, abs=1e-12)
    assert (structure.seen(rows) == (rows @ basis.T != 0).any(axis=1)).all()
    assert not structure.seen(rows[6:]).any() and structure.seen(np.eye(KINDS[name].size)).any()
    assert structure.freedom == len(basis)


def counties(size: int = 3_143, states: int = 51) -> list[int]:
    return np.sort(np.random.default_rng(0).integers(0, states, size)).tolist()


@pytest.mark.parametrize(
    ("family", "options", "kind"),
    [("lattice_gaussian", {}, PartitionGaussian), ("lattice_laplace", {"shape": "l1"}, PartitionLaplace)],
)
def test_3143_counties_within_their_states(family, options, kind, tmp_path) -> None:
    """Two records, designed, certified, drawn, saved and loaded; squares of 40 draws are near those of free cells."""
    states = counties()
    relation = invariants.partition(states).protect(1.0, 2)
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    problem = Problem(Workload(np.eye(3, len(states))), relation, notion)  # type: ignore[arg-type]
    mechanism = design(problem, family, **options).mechanism
    assert 1 - 1e-9 < mechanism.privacy.worst_ratio <= 1
    assert isinstance(mechanism.sampler, kind)
    noise = mechanism.draw(40, seed=1)
    assert not (noise @ relation.invariant.constraints.T).any()
    free = 8.0 if notion == "zcdp" else 1 / (2 * math.sinh(1 / 8) ** 2)
    assert (noise**2.0).mean() == pytest.approx(free * 3092 / 3143, rel=0.03)
    assert (mechanism.standard_errors() ** 2 == pytest.approx(free, rel=0.05)) and mechanism.margins().max() < 30
    again = load(mechanism.save(tmp_path / "counties.json"), LatticeMechanism)
    table = np.array(again.release(np.full(3143, 100)).table)
    assert np.bincount(states, weights=table).tolist() == (100 * np.bincount(states)).tolist()


def test_sums_of_all_levels_are_kept() -> None:
    """Counties in states in a nation, some states published with one part of them, and what no statistic counts is free."""
    rows = np.zeros((4, 12), dtype=np.int64)
    rows[0], rows[1, :8], rows[2, :5], rows[3, 5:7] = 1, 1, 1, 1
    invariant = invariants.linear(rows)
    assert invariant.structure.kind == "nested" and invariant.freedom == 12 - 4
    made = design(Problem(Workload.identity(12), invariant.protect(1.0, 2), "zcdp"), "lattice_gaussian").mechanism
    noise = made.draw(2000, seed=2)
    assert not (noise @ rows.T).any() and not noise[:, 7].any() and (noise != 0).any(axis=0).sum() == 11


def test_a_budget_for_each_level_of_a_hierarchy() -> None:
    """Counties in states in a nation whose total is public: moves within a state have another budget than moves between."""
    states = np.repeat([0, 1, 2], 3)
    apart = np.where(states[:, None] == states, 0.5, 2.0) * (1 - np.eye(9))
    relation = metrics.from_matrix(apart) & invariants.total(9).at(2)
    problem = Problem(Workload(np.vstack([np.eye(9), states == 0, states == 1])), relation, "zcdp")
    made = design(problem, "lattice_gaussian", shape="ellipsoid").mechanism
    assert 1 - 1e-9 < made.privacy.worst_ratio <= 1
    for i, j in itertools.combinations(range(9), 2):
        assert made.privacy_loss(np.eye(9)[i] - np.eye(9)[j]) <= apart[i, j] * (1 + 1e-9)
    noise = made.draw(4000, seed=3)
    assert not noise.sum(axis=1).any()
    sums = np.array([noise[:, states == s].sum(axis=1) for s in range(3)]).T
    assert sums.var(axis=0).max() < 0.7 * noise.var(axis=0).min()  # states are told apart at four times the budget


@pytest.mark.parametrize("family", ["lattice_gaussian", "lattice_rows"])
def test_tables_of_50_by_50(family: str) -> None:
    relation = invariants.margins((50, 50)).protect(1.0, 2)
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    made = design(Problem(Workload(np.eye(1, 2500)), relation, notion), family).mechanism  # type: ignore[arg-type]
    assert 1 - 1e-9 < made.privacy.worst_ratio <= 1
    noise = made.draw(20, seed=1)
    assert not (noise @ relation.invariant.constraints.T).any()
    expected = 4.0 if family == "lattice_gaussian" else 74_578 / 49**2
    assert (noise**2.0).sum() / (20 * 49**2) == pytest.approx(expected, rel=0.05)
    if family == "lattice_gaussian":
        assert isinstance(made.sampler, CellsInOrder)


def test_a_cube_with_all_two_way_margins() -> None:
    """2,197 places in 12 x 12 x 12 dimensions, where a reduced basis takes hours."""
    relation = invariants.margins((13, 13, 13), [(0, 1), (1, 2), (0, 2)]).protect(0.5, per_distance="l2")
    made = design(Problem(Workload(np.eye(1, 2197)), relation, "zcdp"), "lattice_gaussian").mechanism
    noise = made.draw(20, seed=1)
    assert made.dimension == 12**3 and not (noise @ relation.invariant.constraints.T).any()
    assert (noise**2.0).sum() / (20 * 12**3) == pytest.approx(4.0, rel=0.05)
    assert made.standard_errors()[0] ** 2 == pytest.approx(4 * (12 / 13) ** 3) and not made.exact


def test_l1_noise_on_large_tables_is_sent_to_rows() -> None:
    relation = invariants.margins((25, 25)).protect(0.5, per_distance="l1")
    with pytest.raises(DesignFailed, match="lattice_rows"):
        design(Problem(Workload(np.eye(1, 625)), relation), "lattice_laplace", shape="l1")


@pytest.mark.parametrize("epsilon", [0.4, 1.5])
@pytest.mark.parametrize("rows", [[[1, 2, 3]], [[1, 1, 1]], [[1, 1, 0, 0], [0, 1, 1, 1]]])
def test_bounds_of_l1_noise_hold_for_laws_written_out(rows: list[list[int]], epsilon: float) -> None:
    """Variances and tails of lattices of rank 2, skew ones too, cell by cell and for odd queries."""
    invariant = invariants.linear(rows, records_public=False)
    size = invariant.size
    workload = Workload(np.vstack([np.eye(size), np.arange(size) - 1.5]))
    relation = invariant.protect(epsilon, per_distance="l1")
    made = LatticeMechanism("custom", workload, relation, Norm(np.full(size, epsilon), "l1"))
    basis = integer_kernel(np.array(rows)).basis.astype(np.int64)
    points = np.array(list(itertools.product(range(-60, 61), repeat=len(basis)))) @ basis
    mass = np.exp(-epsilon * np.abs(points).sum(axis=1))
    mass /= mass.sum()
    answers = points @ workload.dense().T
    assert (mass @ answers**2.0 <= made.standard_errors() ** 2).all()
    for confidence in (0.5, 0.95, 0.999):
        assert (mass @ (np.abs(answers) > made.margins(confidence)) <= 1 - confidence).all()


INVARIANTS: dict[str, Any] = {
    "2 x 2": invariants.margins((2, 2)),
    "3 x 3": invariants.margins((3, 3)),
    "3 x 5": invariants.margins((3, 5)),
    "4 x 4": invariants.margins((4, 4)),
    "2 x 2 x 3": invariants.margins((2, 2, 3)),
    "total": invariants.total(5),
}


ROUNDED = Fraction(1, 2**44)  # of the longest cycle of a table whose cells have different weights


def written_out(relation: Any, norm: Norm) -> tuple[Fraction, int]:
    """The largest norm over the list of changes, in rationals; the number of changes."""
    changes = relation.changes
    exact = [norm.exact([Fraction(int(n)) for n in change]) for change in changes]
    return max(length for length in exact if length is not None), len(changes)


@pytest.mark.parametrize("order", ["l1", "l2"])
@pytest.mark.parametrize("adjacency", [1, 2, 3, 4])
@pytest.mark.parametrize("name", INVARIANTS)
def test_the_largest_norm_is_that_of_the_list(name: str, adjacency: int, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("designer.relations.invariants.one_budget.FEW", 0)
    relation = INVARIANTS[name].protect(epsilon=1.0, adjacency=adjacency)
    if relation.is_vacuous():
        assert not len(relation.changes)
        return
    for weights in (np.full(relation.size, 0.375), np.linspace(0.25, 2.0, relation.size)):
        norm, known = Norm(weights, order), relation.needs_no_list(weights, order)
        longest, _ = written_out(relation, norm)
        found = relation.without_list.longest(weights, order)
        assert found.reached <= longest * (1 + ROUNDED) and longest <= found.bound
        assert known == (found.reached == found.bound)
        used = changes_on_cells(relation, None, norm).longest(norm)
        assert (used is not None) == known and (not known or longest <= used.bound <= longest * (1 + ROUNDED))
    assert relation.needs_no_list(np.ones(relation.size), order) or adjacency == 4


@pytest.mark.parametrize(("size", "adjacency"), [(10, 3), (12, 3), (14, 2), (16, 3)])
def test_tables_are_designed_certified_and_released_from_without_a_list(
    size: int, adjacency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    relation = invariants.margins((size, size)).protect(epsilon=1.0, adjacency=adjacency)
    listed: list[int] = []
    monkeypatch.setattr(ChangeRelation, "changes", property(lambda own: listed.append(1)))
    made = design(Problem(Workload.identity(size**2), relation), "lattice_laplace", shape="l2")
    assert made.mechanism.verify().holds and made.privacy.holds and str(made.mechanism.guarantee)
    assert made.privacy.worst_ratio == pytest.approx(1, abs=1e-9)
    table = np.asarray(made.mechanism.release([3] * size**2).table).reshape(size, size)
    assert (table.sum(axis=0) == 3 * size).all() and (table.sum(axis=1) == 3 * size).all()
    assert not listed


def test_the_design_is_that_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for sizes, adjacency in (((3, 3), 3), ((4, 5), 3), ((6, 6), 2)):
        cells = int(np.prod(sizes))
        problem = Problem(Workload.identity(cells), invariants.margins(sizes).protect(epsilon=0.7, adjacency=adjacency))
        with monkeypatch.context() as patched:
            patched.setattr("designer.relations.invariants.one_budget.FEW", 0)
            made = design(problem, "lattice_laplace", shape="l2").mechanism
        with monkeypatch.context() as patched:
            patched.setattr("designer.relations.invariants.one_budget.FEW", 10**6)
            other = design(problem, "lattice_laplace", shape="l2").mechanism
        assert other.privacy.pairs == len(problem.relation.changes) and made.privacy.pairs == 0  # type: ignore[attr-defined]
        assert made.norm.map == pytest.approx(other.norm.map, rel=1e-12)
        assert float(made.privacy.worst_ratio) == pytest.approx(float(other.privacy.worst_ratio), abs=1e-12)


def test_a_norm_that_is_too_heavy_for_one_kind_of_change_is_refused() -> None:
    """A hexagon is `root 6` long, a rectangle 2: noise that hides rectangles alone is not enough for three records."""
    made: Invariant = invariants.margins((10, 10))
    asked = Workload.identity(100)
    norm = Norm(np.full(100, 0.5), "l2")
    LatticeMechanism("lattice_laplace", asked, made.protect(epsilon=1.0, adjacency=2), norm)
    with pytest.raises(NotPrivate, match=r"1\.22"):
        LatticeMechanism("lattice_laplace", asked, made.protect(epsilon=1.0, adjacency=3), norm)
