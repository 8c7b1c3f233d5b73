"""What a design costs is said, or refused, before the work is begun."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, metrics
from designer.base.progress import showing_progress
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.family import WorseThanIncumbent, with_incumbent
from designer.designing.laplace import best_weights
from designer.designing.measured import once
from solvers.work import is_over, spend, within


def places(elements: int, queries: int) -> Problem:
    at = np.random.default_rng(0).random((elements, 2))
    return Problem(Workload.random(queries, elements, seed=1), metrics.euclidean(at))


def test_the_greedy_split_refuses_before_it_writes_pairs_out() -> None:
    with (
        patch.object(SensitivitySet, "all_pairs", side_effect=AssertionError("pairs were written out")),
        pytest.raises(DesignFailed, match=r"199,990,000 pairs with 4 answers each .* 6\.4 GB .* use laplace"),
    ):
        design(places(20_000, 4), "strategy_3")


def test_the_greedy_split_says_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with patch("designer.designing.laplace.SPLIT", 1e-3), showing_progress():
        made = design(places(60, 3), "strategy_3")
    assert "strategy_3: 1,770 pairs with 3 answers each are written out and split, up to 21 s" in capsys.readouterr().err
    assert made.loss >= design(places(60, 3), "laplace").loss


@pytest.mark.parametrize(("family", "searches"), [("strategy_1", 4), ("strategy_2", 1), ("uniform_budget", 2)])
def test_baselines_say_how_many_searches_they_make(family: str, searches: int, capsys: pytest.CaptureFixture[str]) -> None:
    expected = design(places(60, 3), family).loss
    with patch("designer.problem.budget_bounds.SCANNED", 0), showing_progress():
        assert design(places(60, 3), family).loss == pytest.approx(expected, rel=1e-12)
    assert f"{family}: {searches} searches among 1.8e+03 pairs" in capsys.readouterr().err


def test_a_hull_says_how_it_grows_and_how_long_its_proof_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with patch("designer.designing.k_norm.proof_of", lambda simplices, dimension: 1e12), showing_progress():
        made = design(places(60, 3), "k_norm")
    told = capsys.readouterr().err
    assert "simplices are proven in exact integers, about" in told
    assert "at least 0 lie outside" in told
    assert made.privacy.holds


def test_a_hull_that_grows_from_searches_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with patch("designer.designing.k_norm.MOST_HULL_PAIRS", 100), showing_progress():
        design(places(60, 3), "k_norm")
    told = [line.split(" > ")[-1] for line in capsys.readouterr().err.splitlines() if "> round " in line]
    assert told[0].startswith("round 1 of at most 60") and "a search took" in told[0]
    assert "up to 0 outside" in told[-1] or "e-" in told[-1]


def test_strategies_of_records_that_appear_reach_further_than_others(capsys: pytest.CaptureFixture[str]) -> None:
    sums, changing = Workload.prefix(16), metrics.uniform(16, 1.0)
    expected = design(Problem(sums, metrics.add_remove(16, 1.0)), "strategy_laplace").loss
    with patch("designer.designing.strategy_laplace.MOST_STRATEGY_ELEMENTS", 10):
        assert design(Problem(sums, metrics.add_remove(16, 1.0)), "strategy_laplace").loss == expected
        with pytest.raises(DesignFailed, match="16 elements, more than 10"):
            design(Problem(sums, changing), "strategy_laplace")
    with (
        patch("designer.designing.strategy_laplace.MOST_STRATEGY_UNIT_ELEMENTS", 10),
        pytest.raises(DesignFailed, match="than 10"),
    ):
        design(Problem(sums, metrics.add_remove(16, 1.0)), "strategy_laplace")
    with patch("designer.designing.strategy_laplace._work", lambda sizes: 33.0), showing_progress():
        design(Problem(sums, metrics.add_remove(16, 1.0)), "strategy_laplace")
    assert "a strategy for 16 elements, about 33 s" in capsys.readouterr().err


def test_a_hull_that_is_too_large_names_families_that_serve_and_their_cost() -> None:
    draw = np.random.default_rng(0)
    problem = Problem(Workload(draw.random((5, 40))), metrics.euclidean(draw.random((40, 2))))
    with pytest.raises(DesignFailed, match=r"use ellipsoid, box or laplace, or bundles \(.*about 1 s\)"):
        design(problem, "k_norm", max_simplices=10)
    for family in ("ellipsoid", "bundles", "box", "laplace"):
        assert design(problem, family).privacy.holds


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (Workload.prefix(12).matrix, '"prefix"'),
        (np.eye(12), '"identity"'),
        (np.array([[1.0 * (i <= k <= j) for k in range(12)] for i in range(12) for j in range(i, 12)]), '"ranges"'),
        (np.array([[1.0 * (i <= k < i + 3) for k in range(12)] for i in range(10)]), r'\("widths", 3\)'),
    ],
)
def test_queries_that_are_known_by_a_rule_are_named_where_a_search_is_too_large(rows: np.ndarray, rule: str) -> None:
    asked = Problem(Workload(rows), metrics.add_remove(12, 1.0))
    with patch("designer.designing.strategy_laplace.MOST_STRATEGY_UNIT_ELEMENTS", 10):
        with pytest.raises(DesignFailed, match=f"by the rule {rule}: .*StructuredProblem.*otherwise use ellipsoid"):
            design(asked, "strategy_laplace")
        with pytest.raises(DesignFailed, match="more than 10; use ellipsoid"):
            design(Problem(Workload(rows + np.eye(*rows.shape, 1)), asked.relation), "strategy_laplace")


def test_refusals_of_the_gaussian_strategy_speak_of_it() -> None:
    sums = Problem(Workload.prefix(513), metrics.uniform(513, 1.0), notion="zcdp")
    with pytest.raises(DesignFailed, match=r'^strategy_gaussian: 513 .*"zcdp"\)\) needs .*use diagonal_gaussian or gaussian'):
        design(sums, "strategy_gaussian")
    still = Problem(Workload(np.ones((1, 4))), metrics.uniform(4, 1.0), notion="zcdp")
    with pytest.raises(DesignFailed, match=r"^strategy_gaussian: no protected change .*use gaussian"):
        design(still, "strategy_gaussian")


def test_what_families_share_is_found_once_and_its_work_counts_each_time() -> None:
    problem, found = Problem(Workload.prefix(3), metrics.uniform(3, 1.0)), []

    def make() -> int:
        spend(2.0)
        found.append(is_over())
        return len(found)

    with within(1.0) as cut:
        assert once(problem, "key", make) == 1 and cut.cut  # what was cut off is not kept
    for _ in range(2):
        with within() as counted:
            assert once(problem, "key", make) == 2
        assert counted.spent == 2.0
    assert once(problem, "another", make) == 3 and found == [True, False, False]
    weighed = Problem(Workload.prefix(3), metrics.uniform(3, 1.0))
    with patch("designer.designing.laplace.best_weights", side_effect=best_weights) as searched:
        design(weighed, "laplace"), design(weighed, "strategy_geometric", search=False)
    assert searched.call_count == 1


def test_stairs_that_lose_more_than_is_reached_are_given_up_before_budgets_are_exact() -> None:
    problem = Problem(
        Workload([np.random.default_rng(0).random(30)]), metrics.euclidean(np.random.default_rng(1).random((30, 2)))
    )
    reached = design(problem, "staircase").loss
    with patch("designer.designing.staircase.protected_differences", side_effect=AssertionError("budgets were made exact")):
        with with_incumbent(problem, 0.9 * reached), pytest.raises(WorseThanIncumbent, match="not certified: its noise loses"):
            design(problem, "staircase")
        with with_incumbent(problem, 1.1 * reached), pytest.raises(AssertionError, match="made exact"):
            design(problem, "staircase")


@pytest.mark.nightly
@pytest.mark.parametrize(("cells", "most"), [(6, 42.0), (8, 70.8765), (10, 101.5899), (12, 134.6872)])
def test_few_running_totals_lose_no_more_than_two_searches_of_all_starts_did(cells: int, most: float) -> None:
    problem = Problem(Workload.prefix(cells), metrics.add_remove(cells, 1.0))
    with within() as counted:
        made = design(problem, "strategy_laplace")
    assert made.loss <= most * (1 + 1e-9) and counted.spent < 0.75
