"""Symmetries of budgets and costs beside all permutations, tried one by one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from solvers.channel_lp.cone import MOST, Array, poles, symmetries
from solvers.channel_lp.generation import column_generation
from solvers.channel_lp.whole import full_program


def matched(b: Array, c: Array) -> set[tuple[int, ...]]:
    """All permutations of elements that keep budgets, and costs for some permutation of reports."""
    wanted = sorted(map(tuple, c.T.tolist()))
    return {
        g
        for g in permutations(range(len(b)))
        if (b[np.ix_(g, g)] == b).all() and sorted(map(tuple, c[list(g)].T.tolist())) == wanted
    }


@pytest.mark.parametrize("seed", range(60))
def test_all_symmetries_are_found_where_they_are_few(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    x = rng.integers(0, 3, (9, 2))
    x = np.unique(x, axis=0)[:n]
    b = np.abs(x[:, None] - x).sum(axis=2).astype(float)
    c = b**2 if seed % 3 else np.round(rng.uniform(0, 2, (len(x), 3)))
    found = symmetries(b, c)
    wanted = matched(b, c)
    assert len(wanted) > MOST or {tuple(g) for g in found.elements.tolist()} == wanted
    for g, h in zip(found.elements, found.reports, strict=True):
        assert (b[np.ix_(g, g)] == b).all() and (c[np.ix_(g, h)] == c).all() and sorted(h.tolist()) == list(range(c.shape[1]))
    source, by = found.ways()
    assert all(found.reports[k, s] == z for z, (s, k) in enumerate(zip(source.tolist(), by.tolist(), strict=True)))
    averages = found.averages()
    assert np.allclose(averages.sum(axis=1), 1) and all(np.allclose(averages[:, g], averages) for g in found.elements)


@pytest.mark.parametrize("loss", ("distance", "squared"))
@pytest.mark.parametrize("budget", (0.5, 1.0, 2.0))
def test_a_symmetric_problem_has_the_value_of_the_whole_program_and_a_bound_for_every_report(loss: str, budget: float) -> None:
    x = np.array([(i, j) for i in range(4) for j in range(4)], dtype=float)
    d = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    b, costs = budget * d, d ** (1 if loss == "distance" else 2) / 16
    assert len(symmetries(b, costs)) == 8
    found = column_generation(b, costs, poles(b), gap=1e-6)
    assert found.value == pytest.approx(full_program(b, costs)[1], rel=1e-6) and found.gap <= 1e-6
    table = found.point.table(16)
    assert np.allclose(table.sum(axis=1), 1, atol=1e-12)
    for g in symmetries(b, costs).elements:
        assert np.allclose(table[np.ix_(g, g)], table, atol=1e-12)


def test_elements_that_may_all_be_exchanged_are_left_as_they_are() -> None:
    b = 1 - np.eye(8)
    assert len(symmetries(b, b)) == 1
