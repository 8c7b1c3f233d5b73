"""What budgets mean: every change that is told has at least the budget that the relation gives it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from designer import metrics
from designer.accounts.composition.terms import largest_budget, protected_by
from designer.problem.domain import Domain
from designer.publish.contributor import NOT_PROTECTED, NOT_PROVEN
from designer.publish.meanings import NO_LIMIT, Risk, meanings_of
from designer.publish.page import contributor_of
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import Presence
from tests.oracles.metric_kinds import SPECIMENS
from tests.oracles.spec_specimens import specimens

WITHOUT_PLANS = [name for name in specimens() if name != "table plan"]


@pytest.mark.parametrize("name", list(SPECIMENS))
def test_the_largest_change_that_is_told_is_the_largest_that_there_is(name: str) -> None:
    relation = SPECIMENS[name]
    told = meanings_of(relation, [f"e{k}" for k in range(relation.size)])
    finite = [meant.budget for meant in told if meant.budget is not None]
    largest = largest_budget(relation)
    assert largest <= max(finite) <= largest * (1 + Fraction(1, 10**6))
    if isinstance(relation, Metric):
        unprotected = any(relation.exact_budget(i, j) is None for i, j in combinations(range(relation.size), 2))
        assert unprotected == any(meant.budget is None for meant in told)


def test_within_a_distance_no_pair_has_more_than_its_budget() -> None:
    places = np.random.default_rng(4).uniform([-10, -20], [10, 20], (30, 2))
    relation = metrics.great_circle(places, 0.05)
    told = {meant.change: meant.budget for meant in meanings_of(relation)}
    assert told["one record moves by at most 1 km"] == Fraction(0.05)
    for change, budget in told.items():
        assert budget is not None
        if "km" in change:
            reach = Fraction(change.split()[-2].replace(",", ""))
            pairs = [relation.exact_budget(i, j) for i, j in combinations(range(30), 2)]
            near = [pair for pair in pairs if pair <= reach * Fraction(0.05)]
            assert budget == reach * Fraction(0.05) and max(near, default=Fraction(0)) <= budget
    assert max(relation.exact_budget(i, j) for i, j in combinations(range(30), 2)) <= max(told.values())  # type: ignore[type-var]


def test_attributes_are_told_one_by_one_and_all_together() -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3, "place": 2})
    told = [(meant.change, meant.budget) for meant in meanings_of(metrics.hamming(domain, [0.5, 1.0, math.inf]))]
    assert told == [
        ("one record has another value of sex", Fraction(1, 2)),
        ("one record has another value of age", Fraction(1)),
        ("one record has another value of place", None),
        ("one record has other values of all 2 protected attributes", Fraction(3, 2)),
    ]
    assert [meant.budget for meant in meanings_of(Presence(epsilon=0.25))] == [Fraction(1, 4)]


def test_scaled_budgets_are_those_of_the_part_times_the_factor() -> None:
    whole, half = metrics.uniform(3, 1.0), 0.5 * metrics.uniform(3, 1.0)
    assert [meant.budget for meant in meanings_of(half)] == [meant.budget / 2 for meant in meanings_of(whole)]  # type: ignore[operator]


@pytest.mark.parametrize("name", WITHOUT_PLANS)
def test_the_worst_row_of_the_table_is_no_better_than_what_the_accountant_says(name: str) -> None:
    made = specimens()[name]
    contributor = contributor_of(made)
    worst, rows = contributor.worst(made), contributor.rows(made)
    protected = protected_by(made)
    costs = [cost for _, cost in rows if cost is not None]
    if worst.cost is None:
        assert "Markov chain" in worst.reason and not costs
        return
    if getattr(protected, "kind", "") == "invariant_distance":
        return  # of a budget for each unit of distance the accountant speaks of one unit, and the page of whole records
    assert worst.risk is not None and costs
    assert max(Risk.of(cost).exponent for cost in costs) >= worst.risk.exponent
    assert max(Risk.of(cost).guess for cost in costs) >= worst.risk.guess * (1 - 1e-12)


@pytest.mark.parametrize("name", list(specimens()))
def test_every_cell_of_the_budgets_says_something(name: str) -> None:
    made = specimens()[name]
    sheets = [piece for piece in contributor_of(made).budgets(made) if hasattr(piece, "columns")]
    assert sheets
    for sheet in sheets:
        assert all(len(row) == len(sheet.columns) for row in sheet.rows)
        assert all(cell in (NOT_PROTECTED, NOT_PROVEN, NO_LIMIT, "none") or cell.strip() for row in sheet.rows for cell in row)


def test_a_plan_tells_what_records_of_several_sizes_lose_and_larger_ones_lose_more() -> None:
    made = specimens()["table plan"]
    costs = [cost.rho for _, cost in contributor_of(made).rows(made) if cost is not None]
    assert len(costs) >= 3 and costs == sorted(costs)
    small = made.loss({"emp": 50, "pay": 5000, "state": "DE", "county": 1, "naics": "11", "id": 1})  # type: ignore[attr-defined]
    assert small <= costs[0]
