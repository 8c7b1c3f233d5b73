"""Tables of directions: never below the gauge that they stand for, and little above it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from solvers.dual_tree import CELLS, FEWEST, DirectionTable, gauges


def facets(seed: int, wide: int, count: int = 200) -> np.ndarray:
    """Of a long and a flat body, in coordinates of very different sizes."""
    draw = np.random.default_rng(seed)
    stretched = draw.normal(size=(count, wide)) @ (np.eye(wide) + 5 * np.ones((wide, wide)))
    return stretched * 10.0 ** draw.integers(-6, 7, wide)


def vectors(seed: int, rows: np.ndarray) -> np.ndarray:
    """Vectors of all sizes, the corners and edges of the grid of directions among them."""
    draw = np.random.default_rng(seed + 100)
    wide = rows.shape[1]
    whole = draw.integers(-4, 5, (500, wide)) / 4.0
    found = np.vstack([draw.normal(size=(2000, wide)), whole, np.eye(wide), np.zeros((1, wide))])
    return found / np.abs(rows).max(axis=0) * 10.0 ** draw.integers(-9, 10, (len(found), 1))


@pytest.mark.parametrize("wide", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_table_is_never_below_the_gauge_and_little_above_it(wide: int, seed: int) -> None:
    rows = facets(seed, wide)
    table = DirectionTable.of(rows)
    assert table is not None
    asked = vectors(seed, rows)
    above, exact = table.above(list(asked.T)), gauges(asked, rows)
    assert (above >= exact * (1 - 1e-15)).all()
    scale = np.abs(asked * np.abs(rows).max(axis=0)).max(axis=1)  # the gauge of a cube around, that bounds it by s times this
    assert (above - exact <= {2: 1e-3, 3: 0.02, 4: 0.1, 5: 0.25}[wide] * scale).all()


def test_bounds_hold_for_the_gauge_in_rationals() -> None:
    rows = facets(3, 3, 40)
    table = DirectionTable.of(rows)
    assert table is not None
    asked = vectors(3, rows)[::50]
    for vector, above in zip(asked, table.above(list(asked.T)).tolist(), strict=True):
        products = (abs(sum(Fraction(a) * Fraction(u) for a, u in zip(row, vector, strict=True))) for row in rows)
        assert Fraction(above) >= max(products)


def test_a_bound_in_the_last_cell_before_an_edge_is_of_that_cell() -> None:
    """A gauge that starts to grow in the cell before it: what the nodes of that one foretell is too little."""
    rows = np.vstack([[[1.0, 0.0], [3 / CELLS[2], 1.0]], np.full((FEWEST, 2), 0.01)])
    table = DirectionTable.of(rows)
    assert table is not None
    asked = np.array([[1.0, 1.0], [1.0, 1 - 1 / CELLS[2]], [-1.0, 1 / CELLS[2] - 1]])
    assert (table.above(list(asked.T)) >= gauges(asked, rows)).all()


def test_a_table_keeps_the_shape_of_what_is_asked() -> None:
    rows = facets(4, 3)
    table = DirectionTable.of(rows)
    assert table is not None
    block = np.random.default_rng(5).normal(size=(3, 2, 4, 5))
    expected = table.above(list(block.reshape(3, -1))).reshape(2, 4, 5)
    assert np.array_equal(table.above(list(block)), expected)


@pytest.mark.parametrize("rows", [facets(0, 3, 8), facets(0, 6), facets(0, 3) * [1, 0, 1], np.ones((50, 1))])
def test_where_a_table_would_not_pay_there_is_none(rows: np.ndarray) -> None:
    assert DirectionTable.of(rows) is None
