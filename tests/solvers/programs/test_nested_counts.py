"""The ellipsoid program of nested counts in passes over a tree: against dense roots, the dense program, and known values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from solvers.ellipsoids.program import minimise_trace
from solvers.programs.nested_counts import root_diagonal, tree_bound
from solvers.programs.trees import with_equal_leaves_merged
from solvers.trees import Tree
from tests.solvers.programs.test_trees import GROUPS, random_tree

AT_ONE = math.cosh(1.0) - 1


def regular(*children: int) -> Tree:
    """Every node of one depth has equally many children."""
    counts = np.cumprod((1, *children))
    starts = np.concatenate([[0], np.cumsum(counts)])
    parts = [np.repeat(starts[depth] + np.arange(counts[depth]), many) for depth, many in enumerate(children)]
    return Tree(np.concatenate([[-1], *parts]))


def cost(tree: Tree, weights: np.ndarray) -> np.ndarray:
    rows = tree.indicators(np.arange(len(tree.parent)))
    return np.asarray(rows.T * weights @ rows)


@pytest.mark.parametrize("seed", range(6))
def test_the_diagonal_of_the_root_and_the_optimum_are_those_of_dense_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, 20)
    weights = rng.integers(0, 4, len(tree.parent)) + np.where(tree.inner, 0.0, 0.1) * (seed < 4)
    weights[0] = 1.0
    shares = rng.random(len(tree.leaves)) + 0.01
    sides = np.sqrt(shares)
    values, vectors = np.linalg.eigh(sides[:, None] * cost(tree, weights) * sides)
    dense = vectors**2 @ np.sqrt(np.maximum(values, 0.0))
    assert root_diagonal(tree, weights, shares) == pytest.approx(dense, rel=1e-6)

    best = minimise_trace(np.eye(len(tree.leaves)), cost(tree, weights), tolerance=1e-9)
    found = tree_bound(tree, weights, 1e-4)
    assert found.value <= best.value <= found.reached * (1 + 1e-6)
    assert found.value == pytest.approx(best.value, rel=1e-4)


@pytest.mark.parametrize(
    ("tree", "least"),
    [
        (regular(10, 100), 2283.59),
        (regular(10, 10, 12), 3757.28),
        (regular(20, 25, 10), 15_423.1),
        (regular(10, 20, 80), 37_336.9),
        (regular(*[2] * 9), 4004.0),
    ],
    ids=["groups", "12 x 10 x 10", "20 x 25 x 10", "10 x 20 x 80", "binary"],
)
def test_large_trees_have_the_bound_that_was_worked_out(tree: Tree, least: float) -> None:
    found = tree_bound(tree, np.ones(len(tree.parent)), 1e-6)
    assert found.value / AT_ONE == pytest.approx(least, rel=7e-6), "as printed"
    assert found.rounds == 1, "symmetric trees have equal multipliers"


def test_equal_leaves_may_be_merged_and_no_bound_is_above_what_is_reached() -> None:
    weights = np.arange(len(GROUPS.parent)) % 2 + 1.0
    merged, place = with_equal_leaves_merged(GROUPS, weights)
    own = np.zeros(len(merged.parent))
    own[place] = weights
    few, many = tree_bound(merged, own, 1e-6), tree_bound(GROUPS, weights, 1e-6)
    assert few.value == pytest.approx(many.value, rel=1e-9) and len(merged.parent) < len(GROUPS.parent)
    assert few.value <= few.reached and few.reached - few.value <= 2e-6 * few.reached
