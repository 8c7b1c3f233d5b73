"""Lattice noise whose longest change is known in closed form: the certificate of the whole list, without the list."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer import NotPrivate, Problem, Workload, design, invariants
from designer.certificate.norms import Norm
from designer.lattice.mechanism import LatticeMechanism, changes_on_cells
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.invariants.invariant import Invariant

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
    made = design(Problem(Workload.identity(size**2), relation), "lattice_laplace")
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
            made = design(problem, "lattice_laplace").mechanism
        with monkeypatch.context() as patched:
            patched.setattr("designer.relations.invariants.one_budget.FEW", 10**6)
            other = design(problem, "lattice_laplace").mechanism
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
