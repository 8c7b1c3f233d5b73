"""Walks down a tree against itself meet every pair of leaves that no bound has settled, however the work is cut into pieces.
How much a norm is at most over a ball of directions, against closed forms.
"""

from __future__ import annotations

import itertools
from unittest.mock import patch

import numpy as np
import pytest

from solvers.dual_tree import WIDEST, Boxes, PairWalk, grown, opened, steepest

pytestmark = pytest.mark.quick


def everything(level: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.ones(len(a), dtype=bool)


def walked(walk: PairWalk) -> list[tuple[int, int]]:
    return sorted((int(x), int(y)) for a, b in walk for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("piece", [1, 3, 8, 1 << 15])
@pytest.mark.parametrize("depth", [4, 0, 1])
def test_every_pair_of_leaves_is_met_once(depth: int, piece: int) -> None:
    with patch("solvers.dual_tree.PIECE", piece):
        met = walked(PairWalk(depth, everything))
    assert met == [(x, y) for x in range(1 << depth) for y in range(x, 1 << depth)]


@pytest.mark.parametrize("piece", [2, 1 << 15])
def test_pairs_below_what_is_not_opened_are_left_out_and_no_others(piece: int) -> None:
    """Groups are opened where their boxes are near: every pair of near leaves is met, by brute force."""
    values = np.random.default_rng(1).random((200, 2))
    tree = grown(values, leaf=4)
    boxes = Boxes.of(tree, values)
    with patch("solvers.dual_tree.PIECE", piece):
        met = walked(PairWalk(tree.depth, lambda level, a, b: (boxes.gaps(level, a, b) <= 0.1).all(axis=0)))
    gap = np.array(
        [[np.abs(values[x][:, None] - values[y][None]).min(axis=(0, 1)).max() for y in tree.leaves] for x in tree.leaves]
    )
    near = {(x, y) for x in range(len(tree.leaves)) for y in range(x, len(tree.leaves)) if gap[x, y] <= 0.1}
    assert near <= set(met) and len(met) < len(tree.leaves) ** 2 / 4


@pytest.mark.parametrize("points", [1, 5, 33])
def test_pairs_between_leaves_are_all_pairs_of_different_points(points: int) -> None:
    tree = grown(np.random.default_rng(points).random((points, 2)), leaf=4)
    left, right = np.triu_indices(len(tree.leaves))
    a, b = tree.pairs_of(left, right)
    assert (a < b).all()
    assert set(zip(a.tolist(), b.tolist(), strict=True)) == {(x, y) for y in range(points) for x in range(y)}


def test_children_of_a_pair_are_its_pairs_of_children() -> None:
    a, b = opened(np.array([0, 2]), np.array([1, 2]))
    assert sorted(zip(a.tolist(), b.tolist(), strict=True)) == [(0, 2), (0, 3), (1, 2), (1, 3), (4, 4), (4, 5), (5, 5)]


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_length_of_a_map_over_each_ball(dimension: int, seed: int) -> None:
    """Straight length of images: the largest column over l1, the corners over the cube, the largest singular value."""
    matrix = np.random.default_rng(seed).normal(size=(3, dimension))

    def lengths(rows: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(rows @ matrix.T, axis=1))

    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=dimension)))
    largest = {"l1": np.linalg.norm(matrix, axis=0).max(), "l2": np.linalg.norm(matrix, 2), "linf": lengths(corners).max()}
    for order, truth in largest.items():
        found = steepest(lengths, dimension, order)  # type: ignore[arg-type]
        assert found is not None and truth * (1 - 1e-12) <= found[0] <= truth * (1 + 1e-9)
        ball = np.linalg.norm(found[1], ord={"l1": 1, "l2": 2, "linf": np.inf}[order])
        assert ball <= 1 + 1e-12 and lengths(found[1][None])[0] >= truth * (1 - 1e-9)
    assert all(steepest(lengths, wide + 1, order) is None for order, wide in WIDEST.items())  # type: ignore[arg-type]
