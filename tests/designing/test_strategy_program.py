"""The program of a strategy's scales: convex for a fixed reconstruction, in turn with the best one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, metrics, programs
from designer.programs.strategy_program import StrategyProgram


def ranges(loss: Any = "squared", n: int = 4) -> Problem:
    return Problem(Workload.all_ranges(n), metrics.add_remove(n, [1.0] * n), loss=loss)


def haar() -> np.ndarray:
    return np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]], dtype=float)


def test_the_identity_as_a_strategy_is_the_laplace_program_of_the_elements() -> None:
    """Every count with a scale of its own: `sum_k v_k sum_i Q_ki^2 2 c_i^2`, 6 of the ranges of 4 elements hold the second."""
    program = programs.strategy(ranges(), np.eye(4))
    made = program.design()
    assert made.privacy.holds and made.mechanism.family == "strategy_laplace"
    assert made.loss == pytest.approx(2 * (4 + 6 + 6 + 4), rel=1e-6)


def test_a_square_strategy_is_convex_as_a_whole_and_reaches_the_optimum_of_its_scales() -> None:
    """With as many rows as elements there is one reconstruction; a search over the scales finds nothing better."""
    from scipy.optimize import minimize

    problem, rows = ranges(), haar()
    answers = problem.workload.dense() @ np.linalg.inv(rows)

    def loss(logs: np.ndarray) -> float:
        w = np.exp(logs)
        w = w / (np.abs(rows) * w[:, None]).sum(axis=0).max()
        return float(2 * (answers**2 @ w**-2).sum())

    best = min(minimize(loss, start, method="Nelder-Mead", options={"fatol": 1e-12}).fun for start in (np.zeros(4), np.ones(4)))
    made = programs.strategy(problem, rows).design()
    assert made.loss == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("loss", ["squared", "max", "absolute"])
def test_turns_never_raise_the_loss_and_end_no_worse_than_the_family(loss: Any) -> None:
    """From the rows of the family, whose scales and reconstruction are where the alternation begins."""
    problem = ranges(loss, 3)
    ours = design(problem, "strategy_laplace", iterations=4, keep=1)
    program = programs.strategy(problem, iterations=4, keep=1)
    made = program.design()
    assert made.privacy.holds and made.loss <= ours.loss * (1 + 1e-6)
    assert (made.optimality is not None) == (loss == "squared")
    if made.optimality is not None:
        assert made.optimality.lower_bound <= ours.loss


def test_the_values_after_a_design_are_the_variances_of_the_frozen_noise() -> None:
    program = programs.strategy(ranges(), np.vstack([np.eye(4), np.ones((1, 4))]))
    made = program.design()
    assert program.variances.value == pytest.approx(made.mechanism.query_variances(), rel=1e-6)
    assert program.standard_errors.value == pytest.approx(np.sqrt(made.mechanism.query_variances()), rel=1e-6)
    assert np.all(program.variances.value >= made.mechanism.query_variances() * (1 - 1e-12))


@pytest.mark.nightly
def test_caps_hold_through_the_turns_and_at_the_frozen_noise() -> None:
    problem, rows = ranges(), np.vstack([np.eye(4), np.ones((1, 4))])
    free = programs.strategy(problem, rows).design().mechanism.query_variances()
    place = problem.workload.queries.index("e0..e3")
    program = programs.strategy(problem, rows).variance_at_most("e0..e3", 0.6 * free[place], name="the total")
    made = program.design()
    assert made.mechanism.query_variances()[place] <= 0.6 * free[place] and made.privacy.holds
    assert made.mechanism.provenance["constraints"][0].startswith("the total: variances['e0..e3'] <= ")
    with pytest.raises(
        DesignFailed,
        match=r"'the total' .* cannot hold .*, with the reconstruction that was found. Relax 'the total' to at most 2\.0",
    ):
        programs.strategy(problem, rows).variance_at_most("e0..e3", 1.9, name="the total").design()


def test_rows_have_scales_to_constrain() -> None:
    rows = np.vstack([np.eye(4), np.ones((1, 4))])
    program = programs.strategy(ranges(), rows).equal_scales(["row0", "row1", "row2", "row3"])
    program.design()
    assert program.w.value[:4] == pytest.approx([program.w.value[0]] * 4, rel=1e-6)


def test_what_is_no_strategy_for_the_problem_is_refused() -> None:
    with pytest.raises(InvalidProblem, match=r"strategy: shape \(3, 3\) over 4 elements"):
        programs.strategy(ranges(), np.eye(3))
    with pytest.raises(DesignFailed, match="does not determine the workload"):
        programs.strategy(ranges(), np.ones((1, 4)))
    relation = metrics.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(InvalidProblem, match="equal where a budget of 0"):
        StrategyProgram(Problem(Workload([[1, 1, 0], [0, 0, 1]]), relation), np.eye(3))
    with pytest.raises(DesignFailed, match="600 elements, more than 512"):
        programs.strategy(Problem(Workload(np.eye(600)[:2]), metrics.uniform(600, 1.0)))
