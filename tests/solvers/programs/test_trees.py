"""Trees of counts against dense least squares, numeric derivatives, every choice of measured nodes, and worked-out values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from solvers.programs import trees
from solvers.programs.trees import (
    NodeCounts,
    NodeSums,
    begun,
    descended,
    evenly_shared,
    line,
    searched,
    shared,
    starts,
    with_equal_leaves_merged,
)
from solvers.trees import Posterior, Tree, leaf_weights, precision
from solvers.work import within

GROUPS = Tree(np.array([-1, 0, 0, 0] + [1] * 2 + [2] * 5 + [3] * 40))
BY_DEPTH = np.array([0.1, 0.2, 0.7])[GROUPS.depth]


def random_tree(seed: int, nodes: int) -> Tree:
    """No node has one child alone, whose leaf and itself would be the same count."""
    rng = np.random.default_rng(seed)
    parent = [-1]
    while len(parent) < nodes:
        leaf = int(rng.choice([v for v in range(len(parent)) if v not in parent]))
        parent += [leaf] * int(rng.integers(2, 6))
    order = np.argsort(parent, kind="stable")
    place = np.argsort(order)
    return Tree(np.array([-1 if parent[v] < 0 else place[parent[v]] for v in order]))


def everything(tree: Tree) -> np.ndarray:
    return tree.indicators(np.arange(len(tree.parent)))


@pytest.mark.parametrize("seed", range(6))
def test_least_squares_and_derivatives_are_those_of_dense_algebra(seed: int) -> None:
    tree, rng = random_tree(seed, 20), np.random.default_rng(seed)
    rates = rng.uniform(0.1, 1.5, len(tree.parent)) * (~tree.inner | (rng.random(len(tree.parent)) < 0.6))
    rows, queries = everything(tree), rng.integers(-2, 3, (4, len(tree.leaves))).astype(float)
    within = np.linalg.inv(rows.T @ (precision(rates)[:, None] * rows))
    held = Posterior.of(tree, rates)
    assert np.allclose(held.covariances(queries), queries @ within @ rows.T, atol=1e-10)
    assert np.allclose(held.reconstruction(queries) @ rows, queries, atol=1e-10)
    costs = rng.uniform(0, 3, len(rows))
    sums = rng.integers(-2, 3, (4, len(rows))) * (rng.random((4, len(rows))) < 0.4)
    asked = NodeSums(tree, csr_array(sums.astype(float)), costs[:4]).loss(rates)
    assert asked[0] == pytest.approx(costs[:4] @ np.diagonal(sums @ rows @ within @ (sums @ rows).T), rel=1e-10)
    assert np.allclose(asked[1], costs[:4] @ (sums @ rows @ within @ rows.T) ** 2, rtol=1e-8, atol=1e-12)
    assert np.allclose(leaf_weights(tree, sums.astype(float)), sums @ rows)
    for asked in (NodeCounts(tree, costs), NodeSums(tree, csr_array(np.eye(len(rows))), costs)):
        value, slopes = asked.loss(rates)
        assert value == pytest.approx(costs @ np.diagonal(rows @ within @ rows.T), rel=1e-10)
        assert np.allclose(slopes, costs @ (rows @ within @ rows.T) ** 2, rtol=1e-8, atol=1e-12)


def test_equal_leaves_that_are_merged_lose_the_same_at_the_same_rates() -> None:
    rng = np.random.default_rng(2)
    for seed in range(20):
        tree = random_tree(seed, 30)
        costs = rng.integers(0, 3, len(tree.parent)).astype(float)
        merged, place = with_equal_leaves_merged(tree, costs)
        own = np.zeros(len(merged.parent))
        own[place] = costs
        rates = rng.uniform(0.1, 1.5, len(own)) * (~merged.inner | (rng.random(len(own)) < 0.6))
        few, all_ = NodeCounts(merged, own).loss(rates), NodeCounts(tree, costs).loss(rates[place])
        assert few[0] == pytest.approx(all_[0], rel=1e-10) and np.allclose(few[1][place], all_[1], rtol=1e-8)
        shares = shared(merged, own, 1.0)[place]
        assert np.allclose(shares, shared(tree, costs, 1.0), rtol=1e-10)
        assert np.array_equal(merged.leaf_counts[place][tree.inner], tree.leaf_counts[tree.inner])


def test_rates_that_are_even_are_the_best_of_their_kind() -> None:
    """Against a search over all rates of a line of 27 leaves, whose running totals are asked."""
    tree = line(27, 3)
    sums = csr_array(np.tril(np.ones((27, 27))) @ np.eye(len(tree.parent))[tree.leaves])
    asked = NodeSums(tree, sums, np.ones(27), even=True)
    start = evenly_shared(tree, np.ones(len(tree.parent)), tree.depth > 0, 1.0)
    value, rates = descended(asked, start, 1.0, 100)
    assert rates[0] == 0 and all(np.ptp(rates[nodes]) == 0 for nodes in tree.levels)
    assert sum(rates[nodes[0]] for nodes in tree.levels) == pytest.approx(1)
    grid = [(a, b, 1 - a - b) for a in np.linspace(0, 0.99, 100) for b in np.linspace(0, 0.99, 100) if a + b < 0.995]
    best = min(asked.loss(np.array([0.0, *three])[tree.depth])[0] for three in grid)
    assert best * 0.995 < value <= best * (1 + 1e-9)


def test_a_worked_tree_has_the_values_that_were_worked_out() -> None:
    """A root above groups of 2, 5 and 40 cells, all asked."""
    asked = NodeCounts(GROUPS, np.ones(51))
    value, slopes = asked.loss(BY_DEPTH)
    assert value == pytest.approx(276.717624, abs=5e-7)
    assert slopes[:4] == pytest.approx([3114.874296, 93.830754, 335.017613, 1929.267333], abs=5e-7)
    variances = np.diagonal(Posterior.of(GROUPS, BY_DEPTH).covariances(everything(GROUPS)))
    assert variances[[0, 1, 2, 3, 4, 6, 11]] == pytest.approx(
        [45.342428, 6.595259, 13.299306, 32.281370, 3.608300, 3.667149, 3.841173], abs=5e-7
    )
    step = shared(GROUPS, slopes * np.sinh(BY_DEPTH) * BY_DEPTH**3 / 2, 1.0)
    assert step[:4] == pytest.approx([0.082175, 0.159605, 0.185179, 0.191843], abs=5e-7)
    assert asked.loss(step)[0] == pytest.approx(269.288703, abs=5e-7)


@pytest.mark.parametrize(
    ("budget", "least"), [(0.1, 23313.906679), (0.5, 922.294226), (1, 222.808975), (2, 48.790007), (4, 5.359539)]
)
def test_the_worked_tree_has_its_optimum_at_every_budget(budget: float, least: float) -> None:
    assert searched(NodeCounts(GROUPS, np.ones(51)), budget)[0] == pytest.approx(least, rel=2e-8)


def test_a_root_that_matters_more_is_measured() -> None:
    loss, rates = searched(NodeCounts(GROUPS, np.where(GROUPS.depth == 0, 100.0, 1.0)), 1.0)
    assert loss == pytest.approx(1206.106271, rel=1e-8) and rates[0] > 0


@pytest.mark.parametrize(
    ("fans", "least"),
    [((10, 100), 3789.2266), ((10, 10, 12), 7375.6812), ((20, 25, 10), 28299.1103), ((2,) * 9, 8977.0405)],
)
def test_regular_trees_have_the_errors_that_were_worked_out(fans: tuple[int, ...], least: float) -> None:
    parent, last = [-1], [0]
    for fan in fans:
        first = len(parent)
        parent += [v for v in last for _ in range(fan)]
        last = list(range(first, len(parent)))
    loss, rates = searched(NodeCounts(Tree(np.array(parent)), np.ones(len(parent))), 1.0)
    assert loss == pytest.approx(least, rel=1e-7)
    assert rates.min() >= 0


@pytest.mark.parametrize("seed", [17, *range(17)])
def test_no_choice_of_measured_nodes_has_less(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set of inner nodes of small trees, followed to its end, against the search of large ones."""
    monkeypatch.setattr(trees, "EXHAUSTIVE", 0)
    tree, rng = random_tree(seed, 18), np.random.default_rng(seed)
    asked, budget = NodeCounts(tree, rng.choice([0.0, 1.0, 5.0], len(tree.parent))), float(rng.choice([0.3, 1.0, 3.0]))
    inner, found = np.flatnonzero(tree.inner), []
    for chosen in itertools.product((False, True), repeat=len(inner)):
        on = np.zeros(len(tree.parent), dtype=bool)
        on[inner] = chosen
        found.append(descended(asked, begun(tree, on, budget), budget, 300)[0])
    assert searched(asked, budget)[0] <= min(found) * (1 + 1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_rates_along_every_path_add_up_to_the_budget(seed: int) -> None:
    tree, rng = random_tree(seed, 40), np.random.default_rng(seed)
    rates = shared(tree, rng.uniform(0, 2, len(tree.parent)) * (rng.random(len(tree.parent)) < 0.7), 1.5)
    assert rates @ everything(tree) == pytest.approx(1.5)
    assert (rates[tree.leaves] > 0).all()


def test_a_descent_never_rises_and_leaves_unmeasured_nodes_so() -> None:
    asked = NodeCounts(GROUPS, np.ones(51))
    for on in starts(GROUPS):
        rates = begun(GROUPS, on, 1.0)
        before = asked.loss(rates)[0]
        after, ended = descended(asked, rates, 1.0, 20)
        assert after <= before and (ended[~on & GROUPS.inner] == 0).all()


@pytest.mark.parametrize(("size", "fan"), [(1, 2), (2, 2), (9, 3), (10, 3), (17, 16), (5, 5)])
def test_a_line_holds_every_leaf_once_on_every_level(size: int, fan: int) -> None:
    tree = line(size, fan)
    assert len(tree.leaves) == size and tree.leaf_counts[0] == size
    for nodes in tree.levels:
        assert (tree.indicators(nodes).sum(axis=0) == 1).all()
        assert (np.diff(tree.indicators(nodes).argmax(axis=1)) > 0).all()
    assert np.bincount(tree.parent[1:]).max() <= fan


def test_rates_are_no_worse_where_the_work_is_over() -> None:
    """Equal rates of all levels of a line: the rates that a descent would begin with lose more, and it is not begun."""
    tree = trees.line(1000, 10)
    asked, on = trees.NodeCounts(tree, np.where(tree.depth == 1, 1.0, 0.0)), tree.depth > 0
    rates = trees.evenly_shared(tree, on / np.bincount(tree.depth)[tree.depth], on, 1.0)
    before, _ = asked.loss(rates)
    begun = trees.shared(tree, rates**3, 1.0)
    with within(1e-9):
        loss, found = trees.without_faint(asked, (before, rates), 1.0)
    assert loss == asked.loss(found)[0] <= before < asked.loss(begun)[0]
