"""Intervals as both ends of numbers: around each answer, shrunk to whole numbers where the truth is one."""

from __future__ import annotations

import numpy as np
import pytest

from designer.base.answer_table import symmetric_limits


def test_an_interval_shrinks_to_whole_numbers_only_where_the_truth_is_one() -> None:
    answers, margins = np.array([10.4, 10.4, 7.0, -3.6]), np.array([1.5, 1.5, 0.0, 2.0])
    found = symmetric_limits(answers, margins, np.array([True, False, True, True]), "a law")
    assert found.lower == pytest.approx([9.0, 8.9, 7.0, -5.0], rel=1e-12)
    assert found.upper == pytest.approx([11.0, 11.9, 7.0, -2.0], rel=1e-12)
    assert found.lower[1] < 10.4 - 1.5 and found.upper[1] > 10.4 + 1.5
    assert (found.lower[2], found.upper[2], found.law) == (7.0, 7.0, "a law")


def test_an_interval_that_holds_no_whole_number_stays() -> None:
    found = symmetric_limits(np.array([0.5, 2.0**60 + 2**9]), np.array([0.25, 0.25]), np.array([True, True]), "a law")
    assert found.lower[0] == pytest.approx(0.25) and found.upper[0] == pytest.approx(0.75)
    assert (found.lower <= found.upper).all()


def test_an_end_of_nothing_is_written_without_a_sign() -> None:
    found = symmetric_limits(np.array([3.0, -3.0]), np.array([3.0, 3.0]), np.array([True, True]), "a law")
    assert [f"{end:g}" for end in (*found.lower, *found.upper)] == ["0", "-6", "6", "0"]
