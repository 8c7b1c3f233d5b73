"""What a change spends, asked for as a user knows it: a change of the histogram, or a difference of answers."""

from __future__ import annotations

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, invariants, metrics
from tests.oracles.shallow import shallow

PLANE = metrics.euclidean(np.random.default_rng(1).random((5, 2)))
RANGES = np.array(
    [[1.0, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [0, 0, 0, 0, 1], [1, 0, 2, 0, 1], [1, 2, 1, 0, 0]]
)
FAMILIES = ("laplace", "k_norm", "ellipsoid", "box", "strategy_laplace")


def moves(size: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """All changes of one record, and which."""
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    return np.array([np.eye(size)[i] - np.eye(size)[j] for i, j in pairs]), pairs


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("queries", [2, 5, 7])
def test_every_record_that_moves_spends_at_most_its_budget_and_one_pair_all_of_it(family: str, queries: int) -> None:
    made = design(Problem(Workload(RANGES[:queries]), PLANE), family, **shallow(family)).mechanism
    changes, pairs = moves(5)
    spent = made.privacy_loss(changes)
    ratios = spent / [PLANE.distances()[i, j] for i, j in pairs]
    assert ratios.max() == pytest.approx(float(made.privacy.worst_ratio), rel=1e-9)
    assert made.privacy_loss(changes[0]).shape == () and made.privacy_loss(changes[0]) == spent[0]
    assert made.privacy_loss(-3 * changes) == pytest.approx(3 * spent) and made.privacy_loss(np.zeros(5)) == 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("queries", [2, 5, 7])
def test_a_difference_of_answers_spends_what_the_change_behind_it_does(family: str, queries: int) -> None:
    made = design(Problem(Workload(RANGES[:queries]), PLANE), family, **shallow(family)).mechanism
    changes, _ = moves(5)
    answers = changes @ RANGES[:queries].T
    assert made.privacy_loss(answers=answers) == pytest.approx(made.privacy_loss(changes), rel=1e-6)
    assert made.privacy_loss(answers=answers[0]) == pytest.approx(made.privacy_loss(changes[0]), rel=1e-6)


def test_answers_that_no_change_gives_or_that_leave_the_measurement_open_are_refused() -> None:
    made = design(Problem(Workload(np.vstack([RANGES[:2], RANGES[:1] + RANGES[1:2]])), PLANE), "k_norm").mechanism
    with pytest.raises(InvalidProblem, match="answers: no protected change"):
        made.privacy_loss(answers=[1.0, 1.0, 7.0])
    biased = design(Problem(Workload(RANGES[:2]), PLANE), "strategy_laplace", iterations=3, keep=1).mechanism
    tree = design(Problem(Workload(np.ones((1, 5))), metrics.add_remove(5, 1.0)), "laplace").mechanism
    assert float(tree.privacy_loss(answers=[1.0])) == pytest.approx(1.0) == float(tree.privacy_loss(np.eye(5)[2]))
    assert biased.privacy_loss(answers=[0.0, 0.0]) == 0


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "give a change of the histogram, or answers="),
        ({"change": np.zeros(5), "answers": np.zeros(2)}, "give a change of the histogram, or answers="),
        ({"change": np.zeros(2)}, r"change: .*5"),
        ({"change": [0, 0, np.nan, 0, 0]}, "change"),
        ({"change": "zero"}, "change"),
        ({"answers": np.zeros(5)}, r"answers: .*2"),
        ({"answers": np.zeros((1, 1, 2))}, "answers"),
    ],
)
def test_other_shapes_are_refused_with_the_one_needed(given: dict[str, object], text: str) -> None:
    made = design(Problem(Workload(RANGES[:2]), PLANE), "ellipsoid").mechanism
    with pytest.raises(InvalidProblem, match=text):
        made.privacy_loss(**given)


def test_tables_under_an_invariant_take_both_as_well() -> None:
    relation = invariants.margins((2, 3)).protect(0.5)
    matrix = np.array([[1.0, 0, 0, 0, 0, 0], [0, 1, 0, 2, 0, 1], [1, 1, 0, 0, 0, 0]])
    made = design(Problem(Workload(matrix), relation), "lattice_laplace").mechanism
    spent = made.privacy_loss(relation.changes)
    assert spent.max() == pytest.approx(0.5, rel=1e-9)
    assert made.privacy_loss(answers=relation.changes @ matrix.T) == pytest.approx(spent)
    with pytest.raises(InvalidProblem, match=r"change: .*6"):
        made.privacy_loss([1.0, -1.0])
    alone = design(Problem(Workload(matrix[2:]), relation), "lattice_laplace").mechanism
    with pytest.raises(InvalidProblem, match=r"answers: .*several changes"):
        alone.privacy_loss(answers=[1.0])
