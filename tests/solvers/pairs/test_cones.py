"""How much a norm is at most over a ball of directions, against closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from solvers.pairs.cones import WIDEST, steepest

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_length_of_a_map_over_each_ball(dimension: int, seed: int) -> None:
    """Straight length of images: the largest column over l1, the corners over the cube, the largest singular value."""
    matrix = np.random.default_rng(seed).normal(size=(3, dimension))

    def lengths(rows: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(rows @ matrix.T, axis=1))

    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=dimension)))
    assert steepest(lengths, dimension, "l1") == pytest.approx(np.linalg.norm(matrix, axis=0).max(), rel=1e-12)
    assert steepest(lengths, dimension, "linf") == pytest.approx(lengths(corners).max(), rel=1e-12)
    largest, found = float(np.linalg.norm(matrix, 2)), steepest(lengths, dimension, "l2")
    assert found is not None and largest * (1 - 1e-12) <= found <= largest * 1.001
    assert all(steepest(lengths, wide + 1, order) is None for order, wide in WIDEST.items())  # type: ignore[arg-type]
