"""How much a norm is at most over a ball of directions, against closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from solvers.dual_tree import WIDEST, steepest

pytestmark = pytest.mark.quick


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
