"""The whole program of a channel in CVXPY, against the same program by another solver, and with further constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, ReportProblem, design, metrics, programs
from examples.own_report import full_program

GRID = metrics.euclidean([[i, j] for i in range(3) for j in range(2)], 0.9)


@pytest.mark.parametrize("prior", [None, [0.4, 0.2, 0.1, 0.1, 0.1, 0.1]])
def test_the_whole_program_has_the_value_of_another_solver(prior: Any) -> None:
    problem = ReportProblem(GRID, prior=prior, loss="squared")
    program = programs.channel(problem)
    _, value = full_program(problem.budgets, problem.prior[:, None] * problem.losses)
    assert program.cvxpy_problem().solve(solver="CLARABEL") == pytest.approx(value, rel=1e-6)
    made = program.design()
    assert made.privacy.holds and made.loss == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_a_named_solver_is_repaired_and_certified(solver: str) -> None:
    problem = ReportProblem(GRID)
    made, best = design(problem, "channel", solver=solver), design(problem)
    assert made.privacy.holds and best.optimality.lower_bound <= made.error <= best.error * 1.01
    assert made.mechanism.provenance["solver"] == solver and made.optimality is None


def test_the_worst_value_counts_in_the_program_too() -> None:
    problem = ReportProblem(GRID, prior="worst")
    made = programs.channel(problem).design()
    assert made.worst_loss == pytest.approx(design(problem).error, rel=1e-3)


def test_a_cap_and_equal_treatment_hold_of_the_frozen_channel() -> None:
    problem = ReportProblem(GRID, loss="zero_one")
    program = programs.channel(problem)
    far = (problem.distances >= 2).astype(float)
    each = [program.channel[x] @ far[x] for x in range(6)]
    free = program.design()
    row = [float(free.channel[x] @ far[x][[int(name[1:]) for name in free.reports]]) for x in range(6)]
    cap = 0.8 * max(row)
    made = program.subject_to(*(chance <= cap for chance in each)).design()
    kept = [float(made.channel[x] @ far[x][[int(name[1:]) for name in made.reports]]) for x in range(6)]
    assert max(kept) <= cap + 1e-6 and made.loss > free.loss and made.privacy.holds


def test_what_cannot_be_is_refused() -> None:
    problem = ReportProblem(GRID)
    with pytest.raises(InvalidProblem, match="is no ReportProblem"):
        programs.channel(GRID)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="inequalities, more than"):
        programs.channel(ReportProblem(metrics.line(list(range(150)), 1, 1)))
    with pytest.raises(InvalidProblem, match="is no convex constraint"):
        programs.channel(problem).subject_to(True)
    with pytest.raises(InvalidProblem, match="no program states family 'poles'"):
        design(problem, "poles", solver="CLARABEL")
    with pytest.raises(InvalidProblem, match="is not an installed solver"):
        design(problem, solver="NOBODY")
    program = programs.channel(problem)
    with pytest.raises(DesignFailed, match="the status is 'infeasible'"):
        program.subject_to(program.channel[0, 0] >= 0.999, program.channel[1, 0] <= 0.001).design()
    assert np.isfinite(problem.losses).all()


def test_coefficients_that_a_solver_drops_are_in_the_channel_all_the_same() -> None:
    """HiGHS takes e^-25 for 0, so that what it finds tells two values apart for certain."""
    made = programs.channel(ReportProblem(metrics.uniform(3, 25.0), loss="zero_one")).design(solver="HIGHS")
    assert made.privacy.holds and made.channel.min() >= np.exp(-25.0) * 0.99
