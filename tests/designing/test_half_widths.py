"""What 95 % half-widths cannot be below (docs/theory/least_noise.md, 12), beside linear programs and certified designs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from designer import Problem, Workload, compare, design, invariants, metrics
from designer.designing.least_noise import least_half_widths
from designer.problem.relation import Relation


def most_mass(points: int, budget: float) -> float:
    """The most that so many neighbouring points can have of a law on 401 whole numbers whose neighbours are within a factor
    exp(budget): by a linear program. The law may leave the ends, so the value is at least that of laws on all whole numbers."""
    size, factor = 401, math.exp(-budget)
    first = (size - points) // 2
    window = np.zeros(size)
    window[first : first + points] = -1.0
    keep = np.eye(size - 1, size) * factor - np.eye(size - 1, size, 1)
    turned = np.eye(size - 1, size, 1) * factor - np.eye(size - 1, size)
    rows = np.vstack([keep, turned])
    found = linprog(window, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=np.ones((1, size)), b_eq=[1.0], method="highs")
    assert found.status == 0
    return -float(found.fun)


@pytest.mark.parametrize("budget", [0.2, 0.5, 1.0, 1.7, 3.0, 4.5])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95])
def test_the_least_half_width_of_a_count_is_that_of_the_program(budget: float, confidence: float) -> None:
    points = next(n for n in range(1, 200) if most_mass(n, budget) >= confidence)
    found = least_half_widths(Problem(Workload([[1.0]]), metrics.add_remove(1, budget)), confidence)
    assert found is not None
    assert math.isclose(found[0], (points - 1) / 2, rel_tol=1e-5, abs_tol=1e-12)


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
@pytest.mark.parametrize(
    "relation",
    [metrics.uniform(3, 0.3), metrics.uniform(3, 4.0), metrics.add_remove(3, 0.7), metrics.line([0, 1, 3], 1, 0.5)],
    ids=["uniform", "large", "presence", "line"],
)
@pytest.mark.parametrize(
    "rows", [np.eye(3), np.tri(3), np.array([[0.3, 1.7, 2.2], [1.0, 0.0, 0.5]])], ids=["counts", "prefix", "real"]
)
def test_no_certified_design_has_less(rows: np.ndarray, relation: Relation, notion: str) -> None:
    problem = Problem(Workload(rows), relation, notion=notion)
    least = least_half_widths(problem)
    assert least is not None and (least >= 0).all()
    for name, made in compare(problem, effort="quick").designs.items():
        assert (made.mechanism.margins() >= least).all(), name


def test_whole_number_noise_in_separate_counts_attains_it() -> None:
    problem = Problem(Workload.identity(3), metrics.add_remove(3, 0.7))
    least = least_half_widths(problem)
    assert least is not None
    assert np.allclose(design(problem, "strategy_geometric").mechanism.margins(), least, rtol=2e-6)


def test_gaussian_noise_is_within_a_factor_of_it_at_small_budgets() -> None:
    """1.96 standard errors against half of 2.64: the share is the same at every small budget."""
    problem = Problem(Workload([[1.0]]), metrics.add_remove(1, 1e-3), notion="zcdp")
    least = least_half_widths(problem)
    assert least is not None
    assert 1.48 < float(design(problem, "gaussian").mechanism.margins()[0] / least[0]) < 1.49


def test_nothing_is_said_where_nothing_is_proven() -> None:
    rows = Workload.identity(4)
    assert least_half_widths(Problem(rows, metrics.uniform(4, 1.0), notion="approximate", delta=1e-6)) is None
    margins = invariants.margins((2, 2))
    assert least_half_widths(Problem(rows, margins.protect(1.0, per_distance="l1"))) is None
    assert least_half_widths(Problem(rows, margins.protect(1.0), records=1)) is None  # no table has two records to swap
    assert least_half_widths(Problem(rows, margins.protect(1.0))) is not None


def test_an_answer_that_nothing_moves_needs_no_noise() -> None:
    least = least_half_widths(Problem(Workload([[1.0, 1.0], [1.0, 0.0]]), metrics.uniform(2, 1.0)))
    assert least is not None and least[0] == 0 and least[1] > 0
