"""Budgets that hide nothing of most pairs beside one that does: what is printed says so."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.printouts import cautions, page, summary


def mixed(large: float, small: float = 0.1) -> object:
    budgets = np.full((6, 6), large)
    np.fill_diagonal(budgets, 0)
    budgets[0, 1] = budgets[1, 0] = small
    return design(Problem(Workload.identity(6), metrics.from_matrix(budgets)), "laplace").mechanism


@pytest.mark.parametrize("large", [25.0, 1e6, 1e18])
def test_large_budgets_beside_a_small_one_are_counted_and_bare_answers_named(large: float) -> None:
    made = mixed(large)
    lines = cautions(made)  # type: ignore[arg-type]
    assert any("WEAK in part: 14 of 15 pairs" in line and "smallest 0.1" in line for line in lines)
    (bare,) = [line for line in lines if line.startswith("NEARLY EXACT")]
    deviations = np.sqrt(made.query_variances())  # type: ignore[attr-defined]
    assert [f"q{k}" in bare for k in range(6)] == [s < 0.5 for s in deviations] and 4 <= sum(deviations < 0.5) < 6
    assert "no protected change moves it" not in summary(made)  # type: ignore[arg-type]
    assert "WEAK in part" in page(made)  # type: ignore[arg-type]


def test_budgets_that_protect_are_not_called_weak() -> None:
    assert not any("WEAK" in line or "NEARLY" in line for line in cautions(mixed(2.0)))  # type: ignore[arg-type]
    weak = design(Problem(Workload.identity(3), metrics.uniform(3, 40.0)), "laplace").mechanism
    assert [line.split(":")[0] for line in cautions(weak)] == ["WEAK", "NEARLY EXACT"]


def test_a_published_answer_is_still_told_as_such() -> None:
    made = design(Problem(Workload([[1, 1, 0], [1, 0, 0]]), metrics.partition(["x", "x", "y"], 1.0)), "laplace").mechanism
    assert "q0 published exactly: no protected change moves it" in summary(made)
