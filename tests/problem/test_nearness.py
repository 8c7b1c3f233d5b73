"""What is known of budgets between groups of elements, against all pairs one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from designer import metrics
from designer.problem import budget_bounds as nearness
from designer.problem.budget_bounds import Nearness, of_parts

PLACES = np.random.default_rng(5).integers(-9, 9, (60, 2)).astype(float)  # some are equal


def budget(a: int, b: int, rate: float = 0.5) -> float:
    return rate * math.dist(PLACES[a], PLACES[b])


def known() -> Nearness:
    found = metrics.euclidean(PLACES, per_unit=0.5).nearness
    assert found is not None
    return found


def along(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.array([budget(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)])


def test_the_least_and_the_largest_budget_are_those_of_all_pairs() -> None:
    all_pairs = [budget(a, b) for a, b in itertools.combinations(range(len(PLACES)), 2)]
    assert known().closest(along, positive=False) == min(all_pairs) == 0
    assert known().closest(along, positive=True) == pytest.approx(min(x for x in all_pairs if x > 0), rel=1e-12)
    assert known().farthest(along) == pytest.approx(max(all_pairs), rel=1e-12)


@pytest.mark.parametrize("most", [0.0, 0.5, 2.0, 100.0])
def test_no_pair_within_a_budget_is_left_out(most: float) -> None:
    found = {frozenset(pair) for a, b in known().within(most) for pair in zip(a.tolist(), b.tolist(), strict=True)}
    assert {frozenset(p) for p in itertools.combinations(range(len(PLACES)), 2) if budget(*p) <= most} <= found


def test_elements_that_repeat_are_at_budget_0_from_themselves_alone() -> None:
    chosen = np.array([3, 7, 3, 11, 7, 20])
    again = known().repeated(chosen)
    for a, b in itertools.product(range(len(chosen)), repeat=2):
        x, y = again.features[a], again.features[b]
        found = float(again.rule(np.abs(x - y), x, y))
        assert found == pytest.approx(budget(int(chosen[a]), int(chosen[b])), rel=1e-12, abs=0)
        assert (found == 0) == (budget(int(chosen[a]), int(chosen[b])) == 0)


@pytest.mark.parametrize(("appears", "least"), [(0.6, 0.6), (9.0, 0.5 * math.sqrt(2))])
def test_the_least_budget_is_among_pairs_that_are_searched_and_those_beside_them(
    appears: float, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elements that appear stand beside those that change: the least of either is found, as by all pairs one by one."""
    relation = metrics.appear_or_change(metrics.euclidean(np.eye(12), per_unit=0.5), appears)
    one_by_one = [relation.least_budget(positive=positive) for positive in (False, True)]
    monkeypatch.setattr(nearness, "SCANNED", 10)
    assert relation.searched is not None and relation.searched.many
    searched = [relation.least_budget(positive=positive) for positive in (False, True)]
    assert searched == pytest.approx(one_by_one, rel=1e-12) and one_by_one == pytest.approx([least, least], rel=1e-12)


def test_budgets_of_several_are_searched_where_each_is_and_their_features_are_few() -> None:
    def total(parts: list[np.ndarray]) -> np.ndarray:
        return np.sum(parts, axis=0)

    both = of_parts([known(), known()], total)
    assert both is not None and both.features.shape == (60, 4)
    assert both.closest(lambda a, b: 2 * along(a, b), positive=True) == pytest.approx(
        2 * known().closest(along, positive=True), rel=1e-12
    )
    assert of_parts([known(), None], total) is None
    assert of_parts([known()] * 32, total) is not None  # 64 features
    assert of_parts([known()] * 33, total) is None
