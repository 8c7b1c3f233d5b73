"""Budgets of hundreds of nats, at which noise is almost always 0: designed, or refused by number, without a warning."""

from __future__ import annotations

import warnings

import pytest

from designer import DesignFailed, Problem, Workload, design, metrics

TWO = Workload([[1, 0, 1], [0, 1, 1]])


@pytest.mark.parametrize("budget", [290.0, 700.0, 1e6])
def test_a_large_budget_gives_no_warning(budget: float) -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        made = design(Problem(TWO, metrics.add_remove(3, budget)))
    assert [str(warning.message) for warning in given] == []
    assert made.privacy.holds
    assert made.loss < 1e-100


def test_a_staircase_names_the_budget_that_is_too_large() -> None:
    with pytest.raises(DesignFailed, match=r"budgets reach 700 nats, more than 300"):
        design(Problem(TWO, metrics.add_remove(3, 700.0)), "staircase")
