"""For promises that do not chain a relation lists every pair: each once, with its exact budget up to the stated error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from designer import InvalidProblem, Problem, Workload, invariants, metrics
from designer.problem.relation import Block, Relation, finite_pairs
from designer.relations.metrics.metric import Metric
from designer.relations.row_groups import RowGroups
from tests.oracles.metric_kinds import SPECIMENS, every_metric, with_origin


def listed(blocks: Iterator[Block]) -> dict[tuple[int, int], float]:
    """The least budget of every pair, the lower number first; pairs without a budget are left out."""
    found: dict[tuple[int, int], float] = {}
    for block in blocks:
        left, right = finite_pairs(block)
        budgets = block.budgets[np.isfinite(block.budgets)]
        for i, j, budget in zip(left.tolist(), right.tolist(), budgets.tolist(), strict=True):
            pair = (min(i, j), max(i, j))
            found[pair] = min(budget, found.get(pair, math.inf))
    return found


def assert_complete(relation: Relation) -> None:
    """All pairs of points with a finite exact budget, and no others; clipped budgets count as less."""
    points = len(relation.points(np.empty((relation.size, 0))))
    found = listed(relation.every_pair())
    exact = {pair: relation.exact_budget(*pair) for pair in itertools.combinations(range(points), 2)}
    assert set(found) == {pair for pair, budget in exact.items() if budget is not None}
    for pair, budget in found.items():
        proven = exact[pair]
        assert proven is not None
        assert budget <= float(proven) * (1 + 2 * relation.budget_error + 1e-15)
        assert budget >= float(proven) * (1 - 2 * relation.budget_error - 1e-15) or not 1e-200 < proven < 1e200


@pytest.mark.parametrize("name", SPECIMENS)
def test_every_kind_lists_every_pair(name: str) -> None:
    assert_complete(SPECIMENS[name])


@settings(max_examples=60, deadline=None)
@given(every_metric())
def test_every_metric_lists_every_pair(metric: Metric) -> None:
    assert_complete(metric)


@settings(max_examples=40, deadline=None)
@given(with_origin())
def test_so_does_every_metric_with_an_origin(relation: Relation) -> None:
    assert_complete(relation)


def test_a_change_that_is_longer_than_the_way_through_the_origin_is_listed_at_that_way() -> None:
    apart = metrics.from_matrix([[0, math.inf], [math.inf, 0]])
    assert listed(metrics.appear_or_change(apart, [1.0, 2.0], closure=True).every_pair())[0, 1] == 3.0
    far = metrics.appear_or_change(metrics.uniform(2, 9.0), [1.0, 2.0], closure=True)
    assert listed(far.every_pair()) == {(0, 1): 3.0, (0, 2): 1.0, (1, 2): 2.0}


def test_records_that_appear_and_changes_of_several_records_list_all_that_they_protect() -> None:
    assert listed(metrics.add_remove(2, [1.0, math.inf]).every_pair()) == {(0, 2): 1.0}
    tables = invariants.margins((2, 2)).protect(0.5, 2)
    assert listed(tables.every_pair()) == listed(tables.blocks()) == {(0, 1): 0.5}


class Fixed(Metric):
    """A rule of one's own, of which only the rectangle is known."""

    kind = "fixed"
    size = 3  # type: ignore[assignment]

    def rectangle(self, rows: slice, columns: slice) -> np.ndarray[Any, Any]:
        return np.array([[0, 1.0, 2.5], [1.0, 0, 2.0], [2.5, 2.0, 0]])[rows, columns]

    def exact_budget(self, left: int, right: int) -> Fraction:
        return Fraction(float(self.rectangle(slice(0, 3), slice(0, 3))[left, right]))

    def sentence(self) -> str:
        return "Mine."

    def to_spec(self) -> dict[str, Any]:
        return {}


class Unlisted(Fixed):
    """A relation that does not say which pairs its blocks leave out."""

    every_pair = Relation.every_pair


def test_metrics_of_ones_own_list_their_rectangle_and_other_relations_have_to_say() -> None:
    assert_complete(dataclass(frozen=True, eq=False)(Fixed)())
    with pytest.raises(InvalidProblem, match="give it a method every_pair"):
        Problem(Workload.identity(3), dataclass(frozen=True, eq=False)(Unlisted)(), notion="approximate", delta=0.1)


def test_relations_that_cannot_list_every_pair_say_what_to_do() -> None:
    groups = RowGroups((metrics.uniform(2, 0.5), metrics.uniform(3, 0.5)), ("sex", "age"))
    with pytest.raises(InvalidProblem, match=r"metrics\.product"):
        groups.every_pair()
    with pytest.raises(InvalidProblem, match="state an adjacency"):
        invariants.total(3).protect(0.5, per_distance="l1").every_pair()
