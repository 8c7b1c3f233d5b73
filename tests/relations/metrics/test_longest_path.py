"""The largest budget of graphs and policies, and the pairs that a policy joins, against a look at all pairs."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings

from designer import Problem, Workload, design, load, metrics
from designer.relations.metrics.graphs import csr_edges, longest_path
from designer.relations.metrics.metric import Metric
from tests.oracles.metric_kinds import graphs


def random_edges(seed: int, nodes: int, edges: int) -> list[tuple[int, int, float]]:
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, nodes, (edges, 2))
    return [
        (int(i), int(j), float(w)) for (i, j), w in zip(ends, draw.choice([0.1, 0.3, 1.0, 2.5], edges), strict=True) if i != j
    ]


def largest_of_all_pairs(relation: Metric) -> float:
    budgets = relation.distances()
    return float(budgets[np.isfinite(budgets)].max())


@pytest.mark.parametrize("seed", range(12))
def test_the_longest_path_is_that_of_all_pairs_in_any_graph(seed: int) -> None:
    nodes = 60
    relation = metrics.graph(random_edges(seed, nodes, (20, 50, 90, 300)[seed % 4]), per_edge=0.7, nodes=nodes)
    assert relation.largest_budget() == pytest.approx(largest_of_all_pairs(relation), rel=1e-11)
    assert "upper bound" not in relation.sentence()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(graphs())
def test_small_graphs_with_ties_and_parts(relation: Metric) -> None:
    assert relation.largest_budget() == pytest.approx(largest_of_all_pairs(relation), rel=1e-11)


def test_a_large_ring_gets_a_bound_that_says_so_and_survives_a_spec(tmp_path) -> None:  # type: ignore[no-untyped-def]
    ring = [(i, (i + 1) % 501) for i in range(501)]
    with patch("designer.relations.metrics.graphs.REACHED", 501 * 40):
        relation = metrics.graph(ring, per_edge=0.5)
        assert 125.0 <= relation.largest_budget() <= 1.1 * 125.0
        assert relation.sentence().endswith(" The largest finite budget is an upper bound.")
        made = design(Problem(Workload(np.random.default_rng(0).random((1, 501))), relation), "laplace").mechanism
        path = tmp_path / "ring.json"
        made.save(path)
        assert load(path) == made
    assert metrics.graph(ring, per_edge=0.5).largest_budget() == 125.0


def test_paths_start_from_few_nodes_of_a_tree_and_of_a_grid() -> None:
    side = 40
    at = np.arange(side * side).reshape(side, side)
    left = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    right = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    lengths = np.random.default_rng(0).uniform(1, 2, len(left))
    matrix, label = csr_edges(left, right, lengths, side * side), np.zeros(side * side, dtype=np.intp)
    with patch("designer.relations.metrics.graphs.REACHED", side * side * 60):
        found = longest_path(matrix, label)
    assert found.stated == found.least


@pytest.mark.parametrize("kind", [metrics.euclidean, metrics.manhattan, metrics.chebyshev, metrics.great_circle])
def test_the_pairs_that_a_policy_joins_are_found_by_search(kind) -> None:  # type: ignore[no-untyped-def]
    places = np.random.default_rng(3).integers(0, 30, (400, 2)) * 0.5
    for threshold in (0.5, 1.0, 1.5):
        ground = kind(places)
        budgets = ground.distances()
        threshold = float(np.sort(budgets[0])[20]) if kind is metrics.great_circle else threshold
        expected = metrics.blowfish(ground, threshold, 0.5).joined
        with patch("designer.problem.budget_bounds.SCANNED", 0):
            found = metrics.blowfish(kind(places), threshold, 0.5).joined
        assert np.array_equal(found, expected)
