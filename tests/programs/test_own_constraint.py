"""Constraints of the user's own: their kind, their violation relative to their size, their text."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from designer import metrics
from designer.certificate.norms import weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.programs.bounds import LinearTerm, lagrangian_bound
from designer.programs.constraints import OwnConstraint, Separated, WorkingPairs, in_words, size_of


def variable(*values: float) -> Any:
    made = cp.Variable(len(values), name="w")
    made.value = np.array(values)
    return made


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_violations_do_not_depend_on_units(factor: float) -> None:
    w = variable(3.0, 1.0)
    assert OwnConstraint(factor * w <= 2 * factor, "").violation() == pytest.approx(0.5)  # 3 against 2
    assert OwnConstraint(factor * w[0] == factor * w[1], "").violation() == pytest.approx(2 / 4)  # of terms 3 and 1
    assert OwnConstraint(factor * w >= factor, "").violation() == 0
    assert OwnConstraint(factor * cp.diag(w) >> 0, "").violation() == 0
    assert OwnConstraint(-factor * cp.diag(w) >> 0, "").violation() == pytest.approx(1.0)


def test_a_margin_tightens_inequalities_by_that_part_of_their_size() -> None:
    w = variable(3.0, 1.0)
    stated = OwnConstraint(w <= 2, "")
    tightened = stated.for_solver(stated.weights(), margin=0.25)
    cp.Problem(cp.Maximize(cp.sum(w)), [tightened]).solve(solver="CLARABEL")
    assert w.value == pytest.approx([1.5, 1.5], rel=1e-6)


@pytest.mark.parametrize(
    ("state", "slack"),
    [
        (lambda w: w <= np.array([2.0, 5.0]), [0.5, 0.0]),
        (lambda w: w[0] == 2.0, 0.5),
        (lambda w: cp.diag(w) - 4 * np.eye(2) >> 0, 3 / 7),  # 3 of terms 3 and 4
    ],
)
def test_constraints_give_way_by_the_least_slack(state: Any, slack: Any) -> None:
    w = variable(3.0, 1.0)
    stated = OwnConstraint(state(w), "")
    relaxed, by = stated.relaxed(stated.weights())
    cp.Problem(cp.Minimize(cp.sum(by)), [*relaxed, w == np.array([3.0, 1.0])]).solve(solver="CLARABEL")
    assert by.value == pytest.approx(np.array(slack), abs=1e-6)
    assert stated.slack(stated.weights()) == pytest.approx(np.array(slack), abs=1e-12)


def test_the_size_of_terms_adds_what_cancels() -> None:
    w = variable(3.0, -1.0)
    assert size_of(2 * w[0] + w[1] - 4) == pytest.approx(11.0)
    assert size_of(cp.square(w)) == pytest.approx([9.0, 1.0])
    assert np.isnan(size_of(cp.Variable(2))).all()


def test_texts_name_the_parts_of_a_program_and_the_places() -> None:
    w = variable(1.0, 2.0, 3.0)
    variances = 2 * cp.power(w, -2)
    named = {"w": (w, ["a", "b", "c"]), "variances": (variances, ["a", "b", "c"])}
    assert in_words(variances[1] <= 4, named) == "variances['b'] <= 4.0"
    assert in_words(w[[0, 2]] == w[1], named) == "w['a', 'c'] == w['b']"
    assert in_words(cp.max(variances) <= w[0], {"w": (w, ())}).endswith("<= w[0]")


def test_a_working_set_takes_what_is_noticeably_worse_than_what_it_has() -> None:
    working = WorkingPairs(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]))
    assert len(working) == 1  # neither zero rows nor repetitions
    moving = SensitivitySet.of(np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 1.0]]), metrics.uniform(3, 1.0))  # (2, 0), (1, 1), (1, -1)

    def separate(first: float, second: float, budget: float = 1.0) -> Separated:
        return working.separate(moving, weighted_l1(np.array([first, second])), budget=budget)

    assert separate(0.1, 0.9 + 1e-12).added == 0  # 1 + 1e-12, as good as 1
    assert separate(0.75, 0.1) == Separated(1.5, 1)  # (2, 0)
    assert separate(0.75, 0.1) == Separated(1.5, 0)
    assert separate(0.6, 0.5) == Separated(1.2, 0)  # 1.1 is less than what the solver left of a known pair
    assert separate(0.1, 0.6, budget=0.5).added == 1  # (1, 1) and (1, -1) are one row
    assert len(working) == 3


def test_any_multipliers_bound_a_convex_program_from_below_and_the_best_ones_reach_it() -> None:
    """`min x^2 + y^2` with `x + y >= 2` is 2 at (1, 1), with multiplier 2; x and y lie in [0, 3]."""
    w = variable(1.0, 1.0)

    def least(slopes: Any) -> float:
        return float(np.minimum(3 * slopes["w"], 0.0).sum())

    def bound(multiplier: float) -> float | None:
        return lagrangian_bound(
            [LinearTerm(cp.sum_squares(w), np.ones(())), LinearTerm(2 - cp.sum(w), np.array(multiplier))], {"w": w}, least
        )

    assert bound(2.0) == pytest.approx(2.0, abs=1e-9)
    for multiplier in (0.0, 1.0, 1.9, 2.1, 4.0):
        value = bound(multiplier)
        assert value is not None and value < 2.0
    foreign = cp.Variable(value=1.0)
    assert lagrangian_bound([LinearTerm(cp.square(w[0]) + foreign, np.ones(()))], {"w": w}, least) is None
