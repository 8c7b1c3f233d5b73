"""Numbers that agree: what is told without noise stays, what is told with little noise moves little."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from designer import DesignFailed
from designer.base.answer_table import AnswerTable
from designer.certificate.agreement import AgreeingTables, Moved, agreed

SUMS = np.array([[1, 0], [0, 1], [1, 1]])


def test_answers_without_noise_stay_as_they_were_told() -> None:
    """The total is exact; its parts are nearest to what was released among all pairs that have it."""
    answers = np.array([1.4, 3.7, 7.0])
    found, words = agreed(SUMS, answers, np.array([1.0, 1.0, 0.0]), [], True)
    pairs = [(k, 7 - k) for k in range(8)]
    nearest = min(pairs, key=lambda pair: (pair[0] - 1.4) ** 2 + (pair[1] - 3.7) ** 2)
    assert found.tolist() == [*nearest, 7.0] and "have the published margins" in words


@pytest.mark.parametrize("deviations", [(0.3, 3.0, 1.0), (3.0, 0.3, 1.0)])
def test_squares_are_weighted_by_the_variances_of_the_noise(deviations: tuple[float, ...]) -> None:
    answers, spread = np.array([6.0, 6.0, 4.0]), np.array(deviations)
    found, _ = agreed(SUMS, answers, spread, [], True)
    every = np.array(list(product(range(12), repeat=2))) @ SUMS.T
    squares = (((every - answers) / spread) ** 2).sum(axis=1)
    assert found.tolist() == every[squares.argmin()].tolist()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("size", [3_000_000, 5_000_000, 3_568_481_000, 40_229_519_848, 10**13])
def test_large_numbers_stay_where_they_were_released(size: int, whole: bool) -> None:
    answers = np.array([size + 3.0, size - 7.0, 2 * size + 5.0])
    found, words = agreed(SUMS, answers, np.full(3, 10.0), [], whole)
    assert (np.abs(found - answers) <= 10).all() and found[0] + found[1] == found[2] and "no nearer ones exist" in words


@pytest.mark.parametrize(
    ("made", "errors", "said"),
    [
        ([1.0, 8.0], [2.0, 4.0], "Every number is within 1.5 standard errors of its released answer."),
        ([7.0, 2.0], [0.1, 4.0], "more than its own noise explains (farthest: a: 7 for 4)"),
        ([4.5, 2.0], [0.0, 4.0], "An answer that no noise enters was moved (a: 4.5 for 4)"),
        ([4.0, 1.0], None, "No standard errors are known; the farthest number from its released answer is b: 1 for 2."),
    ],
)
def test_how_far_numbers_were_moved_is_said(made: list[float], errors: list[float] | None, said: str) -> None:
    spread = None if errors is None else np.array(errors)
    assert said in Moved.of(np.array([4.0, 2.0]), np.array(made), spread, ["a", "b"]).sentence()


def test_numbers_that_no_table_has_are_refused_whoever_made_them() -> None:
    table = AnswerTable("t", ("query",), (("a",), ("b",)), np.array([1.0, 2.0]), np.ones(2))
    for wrong in ([-1.0, 2.0], [np.nan, 2.0], [1.0]):
        with pytest.raises(DesignFailed, match="below 0, or none"):
            AgreeingTables((np.array(wrong),), ("",), "Words.", False).compared([table])
    made = AgreeingTables((np.array([4.0, 2.0]),), ("",), "Words.", False).compared([table])
    assert made.farthest == 3 and made.words.startswith("Words. Every number is within 3 standard errors")
