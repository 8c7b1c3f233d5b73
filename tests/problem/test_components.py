"""Connected components of the graph of finite budgets, against those of another library."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from designer.problem.relation import Block, graph_components


def blocks_of(draws: np.random.Generator, points: int) -> list[Block]:
    """Rectangles and lists in step, most of their budgets infinite."""
    made = []
    for _ in range(draws.integers(0, 5)):
        rows, columns = (draws.integers(0, points, draws.integers(0, 9)) for _ in range(2))
        paired = bool(draws.integers(2))
        columns = np.resize(columns, len(rows)) if paired and len(columns) else rows if paired else columns
        shape = (len(rows),) if paired else (len(rows), len(columns))
        made.append(Block(rows, columns, np.where(draws.random(shape) < 0.2, draws.random(shape), np.inf)))
    return made


def by_definition(blocks: list[Block], points: int) -> list[int]:
    graph = networkx.empty_graph(points)
    for block in blocks:
        graph.add_edges_from(block.pair(flat) for flat, budget in enumerate(block.budgets.ravel()) if np.isfinite(budget))
    parts = sorted(networkx.connected_components(graph), key=min)
    return [next(k for k, part in enumerate(parts) if point in part) for point in range(points)]


@pytest.mark.parametrize("seed", range(60))
def test_components_are_those_of_the_graph_in_the_order_of_their_first_points(seed: int) -> None:
    draws = np.random.default_rng(seed)
    points = int(draws.integers(1, 40))
    blocks = blocks_of(draws, points)
    assert graph_components(iter(blocks), points).tolist() == by_definition(blocks, points)


@pytest.mark.parametrize("order", ["rising", "falling", "shuffled", "star"])
def test_long_paths_and_stars_are_one_component(order: str) -> None:
    size = 20_000
    draws = np.random.default_rng(3)
    points = {"falling": np.arange(size)[::-1], "shuffled": draws.permutation(size)}.get(order, np.arange(size))
    left, right = (np.full(size - 1, size - 1), points[:-1]) if order == "star" else (points[:-1], points[1:])
    assert not graph_components(iter([Block(left, right, np.ones(size - 1))]), size).any()


def test_no_pair_leaves_every_point_alone() -> None:
    assert graph_components(iter([]), 3).tolist() == [0, 1, 2]
