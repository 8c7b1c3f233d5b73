"""What is refused by size is refused before the work that the size forbids, and names families that do not refuse it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, invariants, metrics
from designer.designing import FAMILIES, measured
from designer.designing.group_privacy import weights_for_records
from designer.problem.workload import Workload as Rows
from designer.relations.metrics.metric import Metric

SHAPED = ("k_norm", "capped_l1", "bundles", "staircase")
DRAW = np.random.default_rng(0)
PROBLEMS = {
    "margins": Problem(Workload.identity(34**2), invariants.margins((34, 34)).protect(1.0)),
    "many queries": Problem(Workload.identity(130), metrics.add_remove(130, 1.0)),
    "few queries": Problem(Workload(DRAW.integers(0, 2, (5, 1_030)).astype(float)), metrics.add_remove(1_030, 1.0)),
}


@pytest.mark.parametrize(
    ("asked", "family"),
    [
        *(("margins", family) for family in (*SHAPED, "box", "ellipsoid", "strategy_laplace", "l2_ball", "group_l2_ball")),
        *(("many queries", family) for family in SHAPED),
        ("few queries", "strategy_laplace"),
    ],
)
def test_the_families_that_a_refusal_by_size_names_serve_the_problem(asked: str, family: str) -> None:
    problem = PROBLEMS[asked]
    with pytest.raises(DesignFailed, match="use ") as refused:
        design(problem, family)
    named = re.findall(r"\w+", str(refused.value).partition("use ")[2])
    served = [other.name for other in FAMILIES if other.name in named and other.notion == problem.notion]
    assert "laplace" in served
    for other in served:
        assert design(problem, other).privacy.holds


@pytest.mark.parametrize("family", SHAPED)
def test_dimensions_are_counted_before_coordinates_are_found(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A basis in rationals takes far longer than its length."""
    monkeypatch.setattr(measured, "_remainder", lambda *_: pytest.fail("coordinates are found"))
    with pytest.raises(DesignFailed, match="129 dimensions"):
        design(Problem(Workload.identity(130), metrics.euclidean(DRAW.random((130, 2)))), family)


@pytest.mark.parametrize("family", ["box", "k_norm", "capped_l1", "staircase", "bundles", "l2_ball"])
def test_queries_are_not_written_out_for_changes_that_are_not_listed(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rows, "dense", lambda _: pytest.fail("queries are written out"))
    with pytest.raises(DesignFailed, match=r"dimensions, more than|too many changes to be written out"):
        design(PROBLEMS["margins"], family)


@pytest.mark.parametrize(("order", "moved"), [("l1", 2.0), ("l2", 2.0**0.5), ("linf", 1.0)])
def test_group_baselines_of_all_counts_look_at_one_pair(order: str, moved: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record that changes moves two counts by one each."""
    sizes: list[int] = []
    every_pair = Metric.every_pair
    monkeypatch.setattr(Metric, "every_pair", lambda self: sizes.append(self.size) or every_pair(self))
    weights = weights_for_records(PROBLEMS["margins"], metrics.uniform(34**2, 0.25), order)  # type: ignore[arg-type]
    assert set(sizes) <= {2} and weights == pytest.approx(np.full(34**2, 0.25 / moved), rel=1e-12)
    weights = weights_for_records(Problem(Workload.prefix(3), metrics.uniform(3, 0.25)), metrics.uniform(3, 0.25), "l1")
    assert weights == pytest.approx(np.array([0.125, 0.125, np.inf]))  # from the first element to the last two sums change


@pytest.mark.parametrize("family", ["group_laplace", "group_box"])
def test_group_baselines_of_large_tables_list_no_changes(family: str) -> None:
    """16 x 16 cells, two records at once: each is protected by half of the budget, and noise is that of any smaller table."""
    made = design(Problem(Workload.identity(256), invariants.margins((16, 16)).protect(1.0, adjacency=2)), family).mechanism
    assert made.relation.by_length and made.verify().holds
    assert made.norm.map == pytest.approx(np.full(256, 0.25 if family == "group_laplace" else 0.5), rel=1e-6)
