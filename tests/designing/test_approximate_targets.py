"""Accuracy under (b, delta): margins of rounded normal noise, bounds of its sums, and budgets that are no multiples."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, norm

from designer import Problem, Targets, Workload, design, least_budget, metrics
from designer.mechanism.accuracy import accuracy_of
from designer.tradeoff.conversions import largest_mu

DRAWS = 20_000


def analytic(budget: float) -> float:
    """mu of (b, 1e-6)."""
    return largest_mu(Fraction(budget), Fraction(1e-6))


def problem(budget: float = 1.0) -> Problem:
    return Problem(Workload([[1.0, 1, 0], [0, 1, 1], [2, 0, 1]]), metrics.uniform(3, budget), notion="approximate", delta=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "diagonal_gaussian", "laplace", "ellipsoid"])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_margins_hold_and_are_met_by_draws(family: str, confidence: float) -> None:
    """A true margin fails both sides of the binomial test with probability at most 1e-6 in each of 24 cases."""
    made = design(problem(), family).mechanism
    drawn, margins = np.abs(np.asarray(made.simulate(DRAWS, seed=3))), made.margins(confidence)
    low, high = binom.ppf([1e-6, 1 - 1e-6], DRAWS, confidence)
    assert ((drawn <= margins).sum(axis=0) >= low).all()
    assert ((drawn <= margins - made.grid.steps.max()).sum(axis=0) <= high).all()  # a step less is too little


def test_the_margin_of_one_count_is_that_of_the_normal_law() -> None:
    made = design(
        Problem(Workload([[1.0]]), metrics.add_remove(1, 1.0), notion="approximate", delta=1e-6), "gaussian"
    ).mechanism
    deviation = 1 / analytic(1.0)
    assert made.margins(0.95)[0] == pytest.approx(norm.isf(0.025) * deviation, rel=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "diagonal_gaussian"])
@pytest.mark.parametrize("beta", [0.3, 0.05])
def test_bounds_of_the_total_error_hold(family: str, beta: float) -> None:
    """For three records, of which rounding moves nothing here; a bound that fails more often is seen at 1e-6."""
    made = design(problem(), family).mechanism
    bound = accuracy_of(made, 3, beta=beta, norm="l1").alpha
    totals = np.abs(np.asarray(made.simulate(DRAWS, seed=5))).sum(axis=1)
    assert (totals > bound).sum() <= binom.ppf(1 - 1e-6, DRAWS, beta)
    assert bound <= 3.5 * np.quantile(totals, 1 - beta)


def test_the_least_budget_is_searched_by_designing_anew() -> None:
    """Under (b, delta) errors are not inversely proportional to the budgets: the closed form, and no homogeneous bound."""
    one = Problem(Workload([[1.0]]), metrics.add_remove(1, 1.0), notion="approximate", delta=1e-6)
    found = least_budget(one, Targets(standard_error=2.0), family="gaussian")
    assert 1 / analytic(found.factor) <= 2.0 * (1 + 1e-9)
    assert 1 / analytic(found.missed_at) > 2.0
    assert found.lower_bound is None and found.missed_at >= found.factor * (1 - 1.01 * found.step)
    assert not math.isclose(found.factor, 1 / (2.0 * analytic(1.0)), rel_tol=0.05)


def test_a_miss_names_the_factor() -> None:
    with pytest.raises(ValueError, match=r"With gaussian all budgets times [\d.]+ meet them"):
        design(problem(), "gaussian", targets=Targets(standard_error=1.0))
    met = design(problem(), "gaussian", targets=Targets(standard_error=50.0))
    assert (met.mechanism.standard_errors() <= 50.0).all()
