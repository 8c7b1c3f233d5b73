"""Work that is estimated, or not needed, before it is done: whether anything is protected, ranks,
bases and lists of changes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import solvers.lattices.enumeration
import solvers.lattices.kernel
from designer import DesignFailed, Problem, Workload, design, invariants, metrics
from designer.relations.invariants import Invariant
from designer.relations.metrics.graphs import Graph
from solvers.lattices.kernel import integer_kernel
from tests.oracles.metric_kinds import SPECIMENS


def not_wanted(*_: Any, **__: Any) -> None:
    pytest.fail("the long computation was started")


def test_whether_anything_is_protected_needs_no_basis_and_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers.lattices.kernel, "integer_kernel", not_wanted)
    monkeypatch.setattr(solvers.lattices.enumeration, "short_vectors", not_wanted)
    monkeypatch.setattr(Graph, "needed", property(not_wanted))
    counties = invariants.total(3143)
    assert not counties.protect(1.0, per_distance="l1").is_vacuous()
    assert not counties.protect(1.0).is_vacuous()
    assert not metrics.graph([(i, i + 1) for i in range(9_999)]).is_vacuous()
    assert metrics.graph([], nodes=3).is_vacuous()


@pytest.mark.parametrize("name", SPECIMENS)
def test_vacuous_relations_are_those_without_any_finite_budget(name: str) -> None:
    relation = SPECIMENS[name]
    points = relation.size + (name == "appear_or_change")
    finite = [relation.exact_budget(i, j) is not None for i, j in itertools.combinations(range(points), 2)]
    assert relation.is_vacuous() is not any(finite)


@pytest.mark.parametrize("records_public", [True, False])
def test_vacuous_invariants_are_those_that_leave_no_change(records_public: bool) -> None:
    """Small statistics at random: all integer changes within the radius, one by one."""
    generator, found = np.random.default_rng(5), set()
    for _ in range(60):
        invariant = invariants.linear(generator.integers(-1, 2, (2, 4)).tolist(), records_public=records_public)
        adjacency = int(generator.integers(1, 3))
        radius = 2 * adjacency if records_public else adjacency
        near = (v for v in itertools.product(range(-radius, radius + 1), repeat=4) if 0 < sum(map(abs, v)) <= radius)
        vacuous = not any(not (invariant.constraints @ v).any() for v in near)
        assert invariant.protect(1.0, adjacency).is_vacuous() is vacuous
        assert invariant.freedom == integer_kernel(invariant.constraints).dimension
        assert invariant.protect(1.0, per_distance="l1").is_vacuous() is (invariant.freedom == 0)
        found.add(vacuous)
    assert found == {True, False}


def test_an_l1_distance_over_a_thousand_cells_is_designed_without_a_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers.lattices.kernel, "integer_kernel", not_wanted)
    problem = Problem(Workload.identity(1000), invariants.total(1000).protect(1.0, per_distance="l1"))
    made = design(problem, "lattice_laplace", shape="l1").mechanism
    assert made.dimension == 999 and made.draw(1, seed=1).sum() == 0


def test_bases_and_lists_beyond_reach_are_refused_before_they_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers.lattices.kernel, "integer_kernel", not_wanted)
    monkeypatch.setattr(solvers.lattices.enumeration, "short_vectors", not_wanted)
    counties: Invariant = invariants.total(3143)
    problem = Problem(Workload([np.ones(3143)]), counties.protect(1.0, per_distance="l1"))
    with pytest.raises(DesignFailed, match=r"rank 3142.*shape l1"):
        design(problem, "lattice_laplace", shape="l2")
    with pytest.raises(DesignFailed, match="more than 31816 changes of 1 records of 3143 elements"):
        _ = counties.protect(1.0).changes
