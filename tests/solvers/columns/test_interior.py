"""Prices by an interior point method beside the whole program, and column generation that starts from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from solvers.columns import generation, interior
from solvers.columns.cone import near_edges, poles
from solvers.columns.generation import Program, column_generation
from solvers.columns.interior import TooLarge
from solvers.columns.whole_program import full_program
from solvers.status import Status
from solvers.work import within

Array = NDArray[np.float64]
SEEDS = range(6)


def places(seed: int, count: int = 9) -> tuple[Array, Array]:
    """Budgets of points of the plane, near and far, and costs at most 3 with negative ones among them."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 3, (count, 2))
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2)) * float(rng.uniform(0.3, 2))
    loss = b if seed % 2 else rng.uniform(-1, 3, (count, int(rng.integers(2, 12))))
    return b, np.asarray(rng.dirichlet(np.full(count, 0.7))[:, None] * loss)


@pytest.mark.parametrize("seed", SEEDS)
def test_interior_prices_add_up_to_the_optimum_and_its_table_is_within_the_cone(seed: int) -> None:
    b, costs = places(seed)
    found = interior.interior_prices(b, costs, near_edges(b), 1e-6)
    least = full_program(b, costs)[1]
    scale = float(np.abs(costs).max())
    assert found.rows.sum() == pytest.approx(least, abs=1e-4 * scale)
    assert (found.columns * costs).sum() == pytest.approx(least, abs=1e-4 * scale)
    assert found.columns.sum(axis=1) == pytest.approx(np.ones(len(b)), abs=1e-5)
    with np.errstate(over="ignore"):
        assert (found.columns[:, None] <= np.exp(b)[:, :, None] * found.columns[None] * (1 + 1e-12)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_column_generation_from_interior_prices_ends_at_the_whole_program(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "SOME", 3)
    b, costs = places(seed)
    found = column_generation(b, costs, poles(b), gap=1e-6)
    least = full_program(b, costs)[1]
    scale = float(np.abs(costs).max())
    assert found.value == pytest.approx(least, abs=2e-6 * max(scale, abs(least)))
    assert found.lower_bound <= least + 1e-9 * scale and found.status is Status.OPTIMAL


def test_far_elements_are_left_to_the_nearest_and_bounds_stay_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups of places 40 apart, reports in either."""
    monkeypatch.setattr(generation, "SOME", 3)
    x = np.concatenate([np.arange(5.0), 40 + np.arange(4.0) ** 1.1])[:, None]
    b = np.abs(x - x.T)
    costs = np.random.default_rng(1).dirichlet(np.ones(9))[:, None] * b
    assert max(len(kept) for kept, _ in interior.plan(b, costs, near_edges(b)).near) < 9
    found = column_generation(b, costs, poles(b), gap=1e-5)
    least = full_program(b, costs)[1]
    assert found.lower_bound <= least * (1 + 1e-9) and found.value == pytest.approx(least, rel=2e-5)


def test_prices_that_columns_gain_at_are_lowered_until_none_does(monkeypatch: pytest.MonkeyPatch) -> None:
    b, costs = places(1)
    program = Program.of(b, costs)
    search = generation._Search(program, poles(b), near_edges(b))
    search.reach = np.inf
    master = generation._Master(program, search.group)
    high = 3 * interior.interior_prices(b, costs, near_edges(b), 1e-3).rows
    rows = search._lowered(master, high, 1e-2)
    prices = generation.Prices(rows, (), search._every_flow())
    assert (rows <= high).all() and master.columns
    before = generation.Prices(high, (), prices.flows)
    assert program.bound(before) < program.bound(prices) <= full_program(b, costs)[1]


def test_what_takes_more_work_than_is_left_is_not_begun() -> None:
    b, costs = places(3)
    with within(1e-3), pytest.raises(TooLarge, match="units of work"):
        interior.interior_prices(b, costs, near_edges(b), 1e-3)
    planned = interior.plan(b, costs, near_edges(b))
    assert 1e-3 < planned.units < 10 and planned.takes < 1e6
