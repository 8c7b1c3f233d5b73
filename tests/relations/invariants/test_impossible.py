"""Structural zeros: the changes that avoid them, how many records must change with one, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from designer import Problem, Workload, design, invariants, load
from designer.base.errors import DesignFailed, InvalidProblem
from designer.relations.invariants.adjacency import semi_adjacency
from designer.relations.invariants.invariant import Invariant
from designer.relations.invariants.statistics import Statistics, longest_detour, proven_adjacency

EMPTY_CORNER = invariants.margins((3, 3)).without([5])


def tables(invariant: Invariant, records: int) -> dict[tuple[int, ...], list[np.ndarray]]:
    """All tables with so many records on the possible elements, by their statistics."""
    possible = [i for i in range(invariant.size) if i not in invariant.impossible]
    found: dict[tuple[int, ...], list[np.ndarray]] = {}
    for held in itertools.combinations_with_replacement(possible, records):
        table = np.bincount(held, minlength=invariant.size)
        found.setdefault(tuple((invariant.matrix @ table).tolist()), []).append(table)
    return found


def needed(alike: list[np.ndarray]) -> int:
    """SEMI Definition 13, worst X and best Y, record by record: one goes from e to f, and the others as few as can."""
    worst, all_tables = 0, np.array(alike)
    for x in alike:
        for e in np.flatnonzero(x):
            rest = x.copy()
            rest[e] -= 1
            for f in np.flatnonzero(all_tables.any(axis=0)):
                if f != e:
                    there = all_tables[all_tables[:, f] > 0].copy()
                    there[:, f] -= 1
                    worst = max(worst, 1 + int(np.abs(there - rest).sum(axis=1).min()) // 2)
    return worst


@pytest.mark.parametrize(
    ("invariant", "records"),
    [
        (invariants.total(4).without([1]), 3),
        (invariants.partition([0, 0, 1, 1, 2]).without([0]), 3),
        (invariants.margins((2, 3)).without([1]), 4),
        (EMPTY_CORNER, 4),
        (invariants.margins((3, 3)).without([0, 4, 8]), 4),
        (invariants.margins((3, 3)).without([1, 2, 5]), 4),
        (invariants.margins((3, 3)).without([0, 1]), 4),
        (invariants.margins((2, 2, 2), [(0, 1), (2,)]).without([0, 3]), 3),
        (invariants.margins((2, 2, 2), [(0,), (2,)]).without([0, 2]), 3),
        (invariants.margins((3, 1)).without([1]), 3),
    ],
)
def test_no_record_needs_more_others_than_is_proven(invariant: Invariant, records: int) -> None:
    """Against every table of so many records, for all values of the statistics."""
    bound = invariant.semi_adjacency_bound
    truth = max(needed(alike) for n in range(1, records + 1) for alike in tables(invariant, n).values())
    assert truth <= bound


def test_one_impossible_cell_breaks_the_bound_of_the_paper_and_attains_the_proven_one() -> None:
    """Cell (1, 2) of 3 x 3: three records of a six-cycle change with a fourth, where Theorem 16 has 3."""
    assert max(needed(alike) for alike in tables(EMPTY_CORNER, 4).values()) == 4
    assert EMPTY_CORNER.semi_adjacency_bound == 4
    assert invariants.margins((3, 3)).semi_adjacency_bound == 3


def test_the_detour_is_the_longest_staircase_of_impossible_cells() -> None:
    """Against all choices of rows and columns; counting may only say more."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        shape = rng.integers(2, 5, 2)
        zeros = rng.random(shape) < rng.random()
        least = 1
        for s in range(2, min(shape)):
            chosen = itertools.product(itertools.permutations(range(shape[0]), s), itertools.permutations(range(shape[1]), s))
            if any(
                not any(zeros[r[i], c[i]] for i in range(s))
                and all(zeros[r[i], c[j]] for i in range(s) for j in range(i + 1, s))
                for r, c in chosen
            ):
                least = s
        assert least <= longest_detour(zeros) <= max(1, min(shape) - 1)
    assert longest_detour(np.triu(np.ones((5, 5), dtype=bool), 1)) == 4
    assert longest_detour(np.zeros((4, 4), dtype=bool)) == 1


def test_changes_are_those_that_avoid_the_impossible() -> None:
    relation = EMPTY_CORNER.protect(1.0, 3)
    every = {tuple(v) for v in invariants.margins((3, 3)).protect(1.0, 3).changes.tolist()}
    every |= {tuple(-c for c in v) for v in every}
    ours = {tuple(v) for v in relation.changes.tolist()}
    assert ours | {tuple(-c for c in v) for v in ours} == {v for v in every if v[5] == 0}


def test_enumerated_adjacency_knows_impossible_elements() -> None:
    totals = EMPTY_CORNER.answers([1, 0, 1, 1, 0, 0, 0, 1, 0])
    alike = tables(EMPTY_CORNER, 4)[tuple(totals.tolist())]
    assert semi_adjacency(EMPTY_CORNER, totals).value == needed(alike)
    assert semi_adjacency(EMPTY_CORNER, totals, "bound").value == 4


@pytest.mark.parametrize(
    ("family", "notion", "options"),
    [
        ("lattice_laplace", "pure", {"shape": "l1"}),
        ("lattice_laplace", "pure", {"shape": "l2"}),
        ("lattice_gaussian", "zcdp", {}),
        ("laplace", "pure", {}),
        ("gaussian", "zcdp", {}),
    ],
)
def test_noise_keeps_away_and_specs_come_back(family, notion, options, tmp_path) -> None:
    problem = Problem(Workload.identity(9), EMPTY_CORNER.protect(1.0), notion)
    mechanism = design(problem, family, **options).mechanism
    noise = np.asarray(mechanism.simulate(50, seed=1))
    assert not noise[:, 5].any() and noise[:, 4].any()
    again = load(mechanism.save(tmp_path / "spec.json"))
    assert again.fingerprint == mechanism.fingerprint
    assert again.release([1, 2, 3, 4, 5, 0, 7, 8, 9]).answers[5] == pytest.approx(0, abs=1e-9)
    assert any("declared impossible" in sentence for sentence in again.guarantee.unprotected)
    with pytest.raises(InvalidProblem, match="declared impossible") as told:
        again.release([1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert "6" not in str(told.value) and told.value.__context__ is None


def test_specs_without_impossible_elements_are_as_they_were() -> None:
    assert "impossible" not in invariants.margins((3, 3)).to_spec()
    spec = EMPTY_CORNER.to_spec()
    assert spec["impossible"] == [5] and Statistics.from_spec(spec).constraints.tolist() == EMPTY_CORNER.constraints.tolist()


@pytest.mark.parametrize(
    "invariant",
    [
        invariants.margins((2, 2, 2)).without([0]),
        invariants.margins((2, 2, 2), [(0, 1), (1, 2)]).without([0]),
        invariants.linear([[1, 1, 0, 0], [0, 1, 1, 0]]).without([3]),
    ],
)
def test_nothing_is_said_where_nothing_is_proven(invariant: Invariant) -> None:
    assert proven_adjacency(invariant) is None
    with pytest.raises(InvalidProblem, match="state how many records"):
        invariant.protect(1.0)
    assert invariant.protect(1.0, 2).adjacency == 2


@pytest.mark.parametrize("elements", [[9], [-1], [1, 1], list(range(9)), "12", [0.5], [True], 3])
def test_bad_positions_are_refused(elements) -> None:
    with pytest.raises(InvalidProblem, match="impossible"):
        invariants.margins((3, 3)).without(elements)


def test_rows_cannot_be_balanced_around_impossible_cells() -> None:
    with pytest.raises(DesignFailed, match="serves margins"):
        design(Problem(Workload.identity(9), EMPTY_CORNER.protect(1.0)), "lattice_rows")
