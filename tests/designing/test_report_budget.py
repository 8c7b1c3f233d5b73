"""The smallest budgets at which an own report is as good as asked: closed forms, the whole program, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, ReportProblem, Targets, design, least_budget, metrics
from examples.own_report import full_program


@pytest.mark.parametrize("size, wrong", [(2, 0.1), (5, 0.3), (8, 0.05)])
def test_the_least_budget_of_randomised_response_is_that_of_its_formula(size: int, wrong: float) -> None:
    """Wrong with `(N - 1) / (e^b + N - 1)`, and no channel is better."""
    problem = ReportProblem(metrics.uniform(size, 1.0), loss="zero_one")
    least = math.log((size - 1) * (1 - wrong) / wrong)
    for family in ("auto", "randomised_response"):
        found = least_budget(problem, Targets(loss=wrong), family, step=1e-5)
        assert found.missed_at < least * (1 + 2e-4) and found.factor >= least * (1 - 1e-9)
        assert (
            found.factor <= found.missed_at * (1 + 1e-5)
            and found.reached <= wrong < design(_at(problem, found.missed_at), family).loss
        )
        assert found.problem.metric.exact_budget(0, 1) == pytest.approx(found.factor) and found.mechanism.privacy.holds
    assert least * (1 - 1e-3) < least_budget(problem, Targets(loss=wrong)).lower_bound <= least


def _at(problem: ReportProblem, factor: float) -> ReportProblem:
    return problem.with_budgets_times(factor)


@pytest.mark.parametrize("loss", ["distance", "squared", "worst"])
def test_the_least_factor_of_places_is_that_of_whole_programs(loss: str) -> None:
    places = [[0.0, 0.0], [1.0, 0.2], [0.4, 1.5], [2.0, 1.0]]
    prior = "worst" if loss == "worst" else [0.4, 0.3, 0.2, 0.1]
    problem = ReportProblem(metrics.euclidean(places, 0.7), prior=prior, loss="distance" if loss == "worst" else loss)
    asked = 0.5 * design(problem).loss
    found = least_budget(problem, Targets(loss=asked), "channel", gap=1e-7, step=1e-5)
    assert found.lower_bound <= found.factor and found.mechanism.losses == pytest.approx(problem.losses)
    if loss == "worst":
        assert found.reached == found.mechanism.worst_loss <= asked
        return
    low, high = 0.1, 100.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        _, value = full_program(problem.budgets * middle, problem.prior[:, None] * problem.losses)
        low, high = (low, middle) if value <= asked else (middle, high)
    assert found.factor == pytest.approx(high, rel=1e-4) and found.lower_bound == pytest.approx(high, rel=1e-3)


@pytest.mark.parametrize(
    "metric, reports, loss",
    [
        (metrics.line([0.0, 1.0, 3.0], 1, 0.8), None, "distance"),
        (metrics.great_circle([[0.0, 0.0], [0.5, 0.5], [0.0, 1.0]], 0.02), None, "squared"),
        (metrics.euclidean([[0.0, 0.0], [1.0, 0.0]], 1.0), [[0.5, 0.0], [0.0, 0.0]], "distance"),
        (metrics.uniform(3, 0.9), ["e0", "e2"], "zero_one"),
        (metrics.from_matrix([[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]), None, "distance"),
        (metrics.uniform(2, 0.9), None, [[0.0, 1.0, 0.4], [1.0, 0.0, 0.4]]),
    ],
)
def test_budgets_are_multiplied_and_losses_are_not(metric: Any, reports: Any, loss: Any) -> None:
    problem = ReportProblem(metric, reports, prior="worst", loss=loss)
    doubled = problem.with_budgets_times(2.0)
    assert doubled.budgets == pytest.approx(2 * problem.budgets) and doubled.losses == pytest.approx(problem.losses, abs=1e-12)
    assert doubled.report_names == problem.report_names and doubled.worst and doubled.elements == problem.elements


def test_a_design_meets_its_target_or_says_what_is_proven() -> None:
    problem = ReportProblem(metrics.uniform(4, 1.0), loss="zero_one")
    wrong = 3 / (math.e + 3)
    assert design(problem, targets=Targets(loss=wrong * 1.001)).loss <= wrong * 1.001
    with pytest.raises(DesignFailed, match=r"no private channel has less than 0\.52\d+.*least_budget"):
        design(problem, targets=Targets(loss=0.5))
    with pytest.raises(DesignFailed, match="reached at these budgets; ask"):
        design(problem, "poles", targets=Targets(loss=0.5))


@pytest.mark.parametrize(
    "targets, refused, words",
    [
        (Targets(standard_error=1.0), InvalidProblem, r"standard_error: a report has no standard error; give Targets\(loss"),
        (Targets(loss=0.9), DesignFailed, "met without any budget, by the report 'e0'"),
        (Targets(loss=0.75), DesignFailed, "met without any budget"),
        (0.5, InvalidProblem, "targets: 0.5 are none"),
    ],
)
def test_targets_that_are_none_of_a_report(targets: Any, refused: Any, words: str) -> None:
    problem = ReportProblem(metrics.uniform(4, 1.0), loss="zero_one")
    for ask in (least_budget, lambda one, aim: design(one, targets=aim)):
        if ask is not least_budget and refused is DesignFailed:
            continue
        with pytest.raises(refused, match=words):
            ask(problem, targets)


def test_no_finite_budgets_reach_what_the_value_itself_does_not() -> None:
    problem = ReportProblem(metrics.euclidean([[0.0], [1.0], [2.0]], 1.0), [[0.5], [1.5]])
    assert problem.losses.min(axis=1) == pytest.approx(np.full(3, 0.5))
    with pytest.raises(DesignFailed, match="no finite budgets: who tells the value itself has 0"):
        least_budget(problem, Targets(loss=0.5))


def test_a_loss_is_no_target_of_queries() -> None:
    from designer import Problem, Workload

    for ask in (least_budget, lambda one, aim: design(one, targets=aim)):
        with pytest.raises(InvalidProblem, match=r"targets\.loss: is for an own report; give at least one of standard_error"):
            ask(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), Targets(loss=1.0))
    with pytest.raises(InvalidProblem, match=r"targets\.loss: is for an own report, which has no answers for targets\.margin"):
        Targets(loss=1.0, margin=2.0)
    with pytest.raises(InvalidProblem, match=r"targets\.loss"):
        Targets(loss=-1.0)
    assert Targets(loss=2).to_dict() == {"loss": 2.0}


@pytest.mark.parametrize("step", [0.0, 2.0, 1e-12, math.nan])
def test_a_step_is_a_small_number(step: float) -> None:
    with pytest.raises(InvalidProblem, match="step"):
        least_budget(ReportProblem(metrics.uniform(2, 1.0), loss="zero_one"), Targets(loss=0.1), step=step)
