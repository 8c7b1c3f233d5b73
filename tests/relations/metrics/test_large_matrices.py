"""The triangle inequality of large matrices: rows two by two, against every triple."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from designer import InvalidProblem, metrics
from designer.relations.metrics.algebra import detours, require_triangle_inequality, shortest_paths

PAIRWISE = "designer.relations.metrics.algebra.PAIRWISE"


def matrices(seed: int) -> np.ndarray:
    """Distances of places, of parts, or with some entries that are too long."""
    draw = np.random.default_rng(seed)
    places = draw.integers(0, 6, (30, 2)).astype(float) if seed % 2 else draw.random((30, 2))
    d = np.abs(places[:, None] - places).sum(axis=-1) if seed % 3 else np.linalg.norm(places[:, None] - places, axis=-1)
    if seed % 5 == 0:
        part = draw.integers(0, 2, 30)
        d = np.where(part[:, None] == part, d, np.inf)
    for _ in range(seed % 4):
        i, j = draw.integers(0, 30, 2)
        if i != j:
            d[i, j] = d[j, i] = draw.choice([d[i, j] * 1.5 + 1e-3, np.inf, d[i, j] * (1 + 1e-8)])
    return d


@pytest.mark.parametrize("last", [0, 1, 150, 299])
def test_the_one_point_through_which_a_way_is_shorter_is_found_wherever_it_stands(last: int) -> None:
    d = np.full((300, 300), 10.0)
    np.fill_diagonal(d, 0.0)
    ends = [k for k in (0, 1, 150, 299) if k != last][:2]
    for end in ends:
        d[end, last] = d[last, end] = 1.0
    assert last in detours(d, 1e-9)
    with pytest.raises(InvalidProblem, match="breaks the triangle inequality"):
        require_triangle_inequality(d)
    closed, lowered = shortest_paths(d)
    assert closed[ends[0], ends[1]] == pytest.approx(2.0) and lowered[ends[0], ends[1]] and closed.max() == 10.0


@pytest.mark.parametrize("seed", range(24))
def test_rows_two_by_two_find_what_every_triple_finds(seed: int) -> None:
    d = matrices(seed)
    said: list[str] = []
    for least in (0, 10**6):
        with patch(PAIRWISE, least):
            try:
                require_triangle_inequality(d)
                said.append("")
            except InvalidProblem as refusal:
                said.append(str(refusal))
    assert said[0] == said[1]
    with patch(PAIRWISE, 0):
        closed, lowered = shortest_paths(d)
    expected, there = shortest_paths(d)
    assert np.array_equal(closed, expected) and np.array_equal(lowered, there)


def test_a_metric_has_no_detours_to_pass_through() -> None:
    d = np.linalg.norm(np.random.default_rng(0).random((300, 1, 3)) - np.random.default_rng(0).random((300, 3)), axis=-1)
    assert detours(d, 1e-10) == [] and metrics.from_matrix(d).size == 300
