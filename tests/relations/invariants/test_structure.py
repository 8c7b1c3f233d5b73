"""The structure that is read off statistics, against the integer kernel of their rows."""

from __future__ import annotations

import numpy as np
import pytest

from designer import invariants
from designer.relations.invariants.statistics import FREE, Structure, structure_of
from solvers.lattices.kernel import integer_kernel


def _sums(structure: Structure) -> np.ndarray:
    """The statistics that a structure stands for: a row for each class."""
    return np.array([row == c for row in structure.classes for c in np.unique(row[row != FREE])], dtype=np.int64)


def _same_kernel(rows: np.ndarray, structure: Structure) -> bool:
    ours, theirs = integer_kernel(_sums(structure)), integer_kernel(rows)
    both = ours.dimension == theirs.dimension == structure.freedom
    return both and ours.contains(theirs.basis).all() and theirs.contains(ours.basis).all()


def test_random_nested_statistics_amount_to_classes_with_the_same_kernel() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        size = int(rng.integers(2, 9))
        rows, parts = [], [np.arange(size)]
        while parts:
            part = parts.pop()
            if rng.random() < 0.6:
                rows.append(np.isin(np.arange(size), part) * int(rng.integers(1, 3)))
            if len(part) > 1:
                cut = int(rng.integers(1, len(part)))
                parts += [part[:cut], part[cut:]] if rng.random() < 0.7 else [part[:cut]]
        if rows:
            rows += [np.ones(size, dtype=np.int64)] * int(rng.integers(0, 2))
            mixed = np.array(rows)[rng.permutation(len(rows))][:, rng.permutation(size)]
            found = structure_of(mixed)
            assert found is not None and found.kind in ("partition", "nested")
            assert _same_kernel(mixed, found)


@pytest.mark.parametrize(
    ("invariant", "kind", "levels", "repeats"),
    [
        (invariants.total(5), "partition", (1,), 5),
        (invariants.partition(list("aabbcc")), "partition", (3,), 2),
        (invariants.margins((3, 4)), "margins", (3, 4), 1),
        (invariants.margins((2, 3, 2), [(0, 1), (2,)]), "margins", (6, 2), 1),
        (invariants.margins((2, 3, 2), [(1,), (2,)]), "margins", (3, 2), 2),
        (invariants.margins((2, 3, 2), [(0, 1), (0,), (2,)]), "margins", (6, 2), 1),
        (invariants.margins((1, 4)), "partition", (4,), 1),
        (invariants.margins((2, 2, 3)), "margins", (2, 2, 3), 1),
    ],
)
def test_known_invariants_have_their_structure(invariant, kind, levels, repeats) -> None:
    found = invariant.structure
    assert (found.kind, found.levels, found.repeats) == (kind, levels, repeats)
    assert _same_kernel(invariant.constraints, found)


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 1, 0], [0, 1, 1]],
        [[1, 2, 1]],
        [[1, -1, 0]],
        [[0, 0, 0]],
        invariants.margins((2, 2, 2), [(0, 1), (1, 2)]).matrix.tolist(),
        np.delete(invariants.margins((3, 3)).constraints, 4, axis=1).tolist(),
    ],
)
def test_other_statistics_have_none(rows) -> None:
    assert structure_of(np.array(rows)) is None


def test_an_element_that_may_not_change_is_a_class_by_itself() -> None:
    rows = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 1, 0, 0, 0]])
    found = structure_of(rows)
    assert found.classes.tolist() == [[0, 2, 0, 1, 1]]
    assert [block.tolist() for block in found.blocks()] == [[0, 2], [3, 4], [1]]
    assert found.free.tolist() == []


@pytest.mark.parametrize(
    "invariant",
    [
        invariants.margins((2, 3)),
        invariants.margins((2, 3, 2)),
        invariants.margins((2, 3, 2), [(0,), (1,)]),
        invariants.margins((3, 4), [(0,)]),
        invariants.total(4),
    ],
)
def test_projections_onto_the_changes_are_those_of_least_squares(invariant):
    """Against the projection along the rows of the statistics, by a solver of least squares."""
    rows = np.random.default_rng(1).normal(size=(5, invariant.size))
    along = invariant.constraints.astype(float).T
    left = rows.T - along @ np.linalg.lstsq(along, rows.T, rcond=None)[0]
    assert np.allclose(invariant.structure.projected(rows), left.T, atol=1e-12)
