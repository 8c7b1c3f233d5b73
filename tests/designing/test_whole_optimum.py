"""The default against a linear program of its own (`benchmarks/whole_optimum.py`), and what was committed of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.whole_optimum import NEAR, differences, drawn, least, least_in_box, measured
from designer import Problem, Workload, design, invariants, metrics

ROWS = Path(__file__).parents[2] / "benchmarks" / "whole_optimum.jsonl"


@pytest.mark.parametrize("budget", [0.5, 2.0, 8.0])
def test_the_program_of_one_count_is_geometric_noise(budget: float) -> None:
    value, _, _ = least(np.array([[1.0], [-1.0]]), budget)
    assert value == pytest.approx(1 / (2 * math.sinh(budget / 2) ** 2), rel=1e-4)


def test_wider_boxes_have_no_smaller_value_and_none_is_above_the_best_noise() -> None:
    moves = differences(np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), "change")
    values = [least_in_box(moves, 1.5, reach)[0] for reach in (3, 5, 8, 12)]
    assert all(one <= other * (1 + 1e-6) for one, other in pairwise(values))
    best = design(Problem(Workload([[0.0, 1, 1], [0, 0, 1]]), metrics.uniform(3, 1.5))).loss
    assert values[-1] <= best * (1 + 1e-6) and values[0] < 0.9 * best


def test_protected_differences_are_written_down_rightly() -> None:
    rows = np.array([[0.0, 2.0, 3.0]])
    assert differences(rows, "appear").ravel().tolist() == [-3, -2, 2, 3]
    assert differences(rows, "change").ravel().tolist() == [-3, -2, -1, 1, 2, 3]


@pytest.mark.parametrize("number", [0, 2, 7, 8, 11, 13])
def test_the_default_is_as_good_as_the_program(number: int) -> None:
    row = measured(number)
    assert 1 - 1e-6 <= row["loss"] / row["least"] <= NEAR


def test_a_hundred_problems_are_measured_and_none_is_above_the_program() -> None:
    rows = {row["number"]: row for row in map(json.loads, ROWS.read_text().splitlines())}
    assert sorted(rows) == list(range(100))
    ratios = [row["loss"] / row["least"] for row in rows.values()]
    assert min(ratios) > 1 - 1e-4 and max(ratios) <= NEAR
    for number, row in rows.items():
        queries, kind, budget = drawn(number)
        assert (row["queries"], row["kind"], row["budget"]) == (queries.astype(int).tolist(), kind, budget)


def test_whole_numbers_that_are_no_sums_of_protected_differences_are_taken_where_they_lose_less() -> None:
    queries, _, budget = drawn(59)
    problem = Problem(Workload(queries), metrics.add_remove(queries.shape[1], budget))
    made = design(problem)
    assert made.loss < 0.997 * design(problem, "staircase", offset="whole").loss
    assert made.loss == pytest.approx(measured(59)["least"], rel=1e-4)
    answers = made.mechanism.simulate(200, seed=1)
    assert (answers == np.rint(answers)).all()


def test_one_number_is_best_beside_its_lattice_unless_a_published_statistic_asks_for_whole_answers() -> None:
    """Five steps of one number at epsilon 4: 1.7536 in whole answers, 1.5416 in halves and less."""
    fifths = Problem(Workload([[1.0, 2, 3, 4, 5, 0]]), metrics.uniform(6, 4.0))
    losses = {offset: design(fifths, "staircase", offset=offset).loss for offset in ("best", "fitting", "whole")}
    assert losses["best"] < 0.9 * losses["fitting"] == pytest.approx(0.9 * losses["whole"])
    assert design(fifths, "staircase").loss == design(fifths, effort="quick").loss == losses["best"]
    published = replace(fifths, relation=invariants.total(6).protect(4.0, 1))
    assert design(published, "staircase").mechanism == design(published, "staircase", offset="fitting").mechanism
    assert design(published, "staircase").mechanism.simulate(50, seed=1) % 1 == pytest.approx(0)
