"""Channels for estimates of linear queries: closed forms, simulation, what a table costs, refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    DesignFailed,
    InvalidProblem,
    ReportProblem,
    Targets,
    Workload,
    compare,
    design,
    least_budget,
    load,
    metrics,
    programs,
)


def grid(side: int, budget: float) -> Any:
    return metrics.euclidean([[i, j] for i in range(side) for j in range(side)], budget)


@pytest.mark.parametrize("size, budget", [(2, 1.0), (3, 0.5), (4, 1.5)])
@pytest.mark.parametrize("family", ["channel", "randomised_response"])
def test_counts_under_one_budget_have_the_error_of_randomised_response(size: int, budget: float, family: str) -> None:
    """Reports are right with p, any other one with q: each count is off by q (1 - q) / (p - q)^2, and for whose value it is by
    p (1 - p) / (p - q)^2. With N = 2 nothing is better."""
    made = design(ReportProblem(metrics.uniform(size, budget), loss=Workload.identity(size)), family)
    q = 1 / (math.exp(budget) + size - 1)
    p = q * math.exp(budget)
    known = (p * (1 - p) + (size - 1) * q * (1 - q)) / (p - q) ** 2
    assert made.loss <= known * (1 + 1e-6) and made.privacy.holds
    if family == "randomised_response" or size == 2:
        assert made.loss == pytest.approx(known, rel=1e-6)


@pytest.mark.nightly
@pytest.mark.parametrize("prior", [None, [0.4, 0.25, 0.15, 0.1, 0.05, 0.05]])
def test_the_loss_is_what_estimates_of_many_reports_are_off_by(prior: Any) -> None:
    """The trace of the exact covariance at people as the prior has them, and by simulation."""
    asked = Workload([[1, 1, 1, 0, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 1, 2]])
    places = metrics.euclidean([[i, j] for i in range(2) for j in range(3)], 1.0)
    problem = ReportProblem(places, prior=prior, loss=asked)
    made = design(problem)
    assert made.loss < design(problem, "exponential").loss / 2 and made.optimality.lower_bound <= made.loss
    people = np.rint(2000 * problem.prior).astype(int)
    assert np.trace(made.mechanism.covariance(problem.prior, asked)) == pytest.approx(made.loss, rel=1e-9)
    exact, drawn = np.asarray(asked.dense()) @ people, made.mechanism.simulate(400, seed=3, data=people).counts
    off = [
        made.mechanism.estimate(dict(zip(made.mechanism.reports, map(int, row), strict=True)), asked).answers - exact
        for row in drawn
    ]
    squares = (np.array(off) ** 2).sum(axis=1) / people.sum()
    assert squares.mean() == pytest.approx(made.loss, abs=5 * squares.std() / math.sqrt(len(squares)))
    assert np.abs(np.mean(off, axis=0)).max() <= 5 * np.array(off).std(axis=0).max() / math.sqrt(len(off))


def test_a_prior_is_used_by_the_estimate() -> None:
    """Weights that are the best for this prior have a smaller error there than those for even spreads."""
    table = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.3, 0.3, 0.4]]
    prior = np.array([0.9, 0.05, 0.05])
    from designer.local.collector import estimation_losses

    matrix = np.eye(3)[:2]
    wide = np.hstack([np.array(table) / 2, np.array([[0.25, 0.125, 0.125], [0.1, 0.2, 0.2], [0.15, 0.2, 0.15]])])
    own = (prior[:, None] * wide * estimation_losses(wide, prior, matrix)).sum()
    even = (prior[:, None] * wide * estimation_losses(wide, np.full(3, 1 / 3), matrix)).sum()
    assert own < even * (1 - 1e-6)


def test_a_spec_keeps_what_the_estimates_cost(tmp_path: Path) -> None:
    made = design(ReportProblem(grid(2, 1.0), loss=Workload.identity(4))).mechanism
    again: Any = load(made.save(tmp_path / "s.json"))
    assert again == made and again.loss == made.loss and again.privacy.holds


def test_families_of_single_reports_say_so_and_a_trusted_holder_stands_beside() -> None:
    found = compare(ReportProblem(metrics.uniform(3, 1.0), loss=Workload.identity(3)))
    reasons = {row["family"]: row["note"] for row in found.rows}
    assert "not single reports" in reasons["poles"] and "not single reports" in reasons["geometric"]
    assert "with a trusted holder" in reasons["channel"] and "however many people" in found.to_text()
    with pytest.raises(DesignFailed, match="not single reports"):
        design(found.problem, "exponential", remap=True)
    with pytest.raises(InvalidProblem, match="not convex in the table"):
        programs.channel(found.problem)


@pytest.mark.nightly
def test_the_least_budget_of_estimates_is_that_of_the_formula() -> None:
    """Two values: `2 e^b / (e^b - 1)^2` for each person, and nothing is better."""
    found = least_budget(ReportProblem(metrics.uniform(2, 1.0), loss=Workload.identity(2)), Targets(loss=0.5))
    least = math.log(3 + math.sqrt(8))  # e^b + e^-b - 2 = 4
    assert found.factor == pytest.approx(least, rel=2e-4) and found.lower_bound <= least * (1 + 1e-9)


@pytest.mark.parametrize(
    "named, words",
    [
        ({"reports": ["e0"]}, "reports: a channel for estimates has reports of its own"),
        ({"prior": "worst"}, "prior: a channel for estimates"),
        ({"loss": Workload([[0.0, 0.0, 0.0]])}, "every query of the workload is 0"),
        ({"loss": Workload.identity(4)}, "queries: have 4 columns for 3 values"),
        ({"loss": "seven"}, "a matrix, a function, or a Workload"),
    ],
)
def test_what_estimates_cannot_be_asked_with(named: Any, words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        ReportProblem(metrics.uniform(3, 1.0), **{"loss": Workload.identity(3), **named})


def test_too_many_values_are_refused_at_once_and_auto_takes_what_serves() -> None:
    problem = ReportProblem(metrics.line(range(201), 1, 1.0), loss=Workload([np.ones(201), np.arange(201.0)]))
    with pytest.raises(DesignFailed, match="201 values; channels for estimates are searched for at most 200"):
        design(problem, "channel")
    assert design(problem).mechanism == design(problem, "exponential").mechanism
