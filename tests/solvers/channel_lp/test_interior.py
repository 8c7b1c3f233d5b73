"""Prices by an interior point method beside the whole program, and column generation that starts from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from examples.own_report import full_program
from solvers.channel_lp import generation, interior
from solvers.channel_lp.cone import near_edges, poles
from solvers.channel_lp.generation import ChannelLP, column_generation
from solvers.channel_lp.interior import TooLarge
from solvers.solution import Status
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
    found = interior.interior_prices(b, costs, 1e-6)
    least = full_program(b, costs)[1]
    scale = float(np.abs(costs).max())
    assert found.rows.sum() == pytest.approx(least, abs=1e-5 * scale)
    assert (found.columns * costs).sum() == pytest.approx(least, abs=1e-5 * scale)
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


def test_what_takes_more_work_than_is_left_is_not_begun() -> None:
    b, costs = places(3)
    with within(1e-3), pytest.raises(TooLarge, match="units of work"):
        interior.interior_prices(b, costs, 1e-3)
    planned = interior.plan(b, costs, near_edges(b))
    assert 1e-3 < planned.units < 10 and planned.takes < 1e6


def towns(seed: int, groups: int, each: int) -> tuple[Array, Array]:
    """Budgets and costs of places in groups, within 1 of each other, groups up to 12 apart; a skewed prior."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.uniform(0, 12, (groups, 2)), each, axis=0) + rng.uniform(0, 0.7, (groups * each, 2))
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    return b, np.asarray(rng.dirichlet(np.full(len(x), 0.5))[:, None] * b)


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_prove_what_the_interior_table_costs_without_any_program(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the master program nor pricing is asked where the interior point method ends within the gap."""
    b, costs = towns(seed, 6, 4)
    least = full_program(b, costs)[1]
    monkeypatch.setattr(generation, "SOME", 3)
    for name in ("least", "priced"):
        monkeypatch.setattr(generation, name, lambda *given: pytest.fail("a linear program was asked"))
    found = column_generation(b, costs, poles(b), gap=2e-2)
    assert found.status is Status.OPTIMAL and found.value - found.lower_bound <= 2e-2 * found.value
    assert found.lower_bound <= least * (1 + 1e-9) and least <= found.value * (1 + 1e-9)
    table = found.point.table(len(b))
    assert table.sum(axis=1) == pytest.approx(np.ones(len(b)), abs=1e-9)
    with np.errstate(over="ignore"):
        assert (table[:, None] <= np.exp(b)[:, :, None] * table[None] * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(4))
def test_flows_of_the_interior_point_leave_no_column_anything_to_gain(seed: int) -> None:
    b, costs = towns(seed, 5, 3)
    found = interior.interior_prices(b, costs, 1e-2)
    program = ChannelLP.of(b, costs)
    bound = program.bound(generation.Prices(found.rows, (), found.flows))
    assert bound >= found.rows.sum() - 1e-9
    assert bound <= full_program(b, costs)[1] <= bound * (1 + 1.5e-2)


def test_far_elements_that_cost_less_than_their_price_are_looked_at() -> None:
    b, costs = towns(0, 5, 3)
    edges, rows = near_edges(b), np.zeros(len(b))
    rows[7] = 2 * costs[7].max()
    before, after = interior.plan(b, costs, edges), interior.plan(b, costs, edges, rows)
    assert any(7 not in names for names, _ in before.near) and all(7 in names for names, _ in after.near)


def test_an_interior_point_that_was_cut_short_still_has_a_true_bound_and_table(monkeypatch: pytest.MonkeyPatch) -> None:
    b, costs = towns(1, 5, 3)
    least = full_program(b, costs)[1]
    monkeypatch.setattr(generation, "SOME", 3)
    monkeypatch.setattr(interior, "STEPS", 3)
    monkeypatch.setattr(interior, "LEARNT", 2)
    found = column_generation(b, costs, poles(b), gap=1e-3, rounds=4)
    assert found.lower_bound <= least * (1 + 1e-9) and least <= found.value * (1 + 1e-9)


def test_flows_for_slightly_smaller_budgets_prove_nearly_the_same_bound_at_lowered_prices() -> None:
    b, costs = towns(2, 5, 3)
    costs[0] *= 1000  # an element that costs most wherever it is far
    found = interior.interior_prices(b, costs, 1e-2)
    prices, larger = generation.Prices(found.rows, (), found.flows), ChannelLP.of(b * (1 + 4e-7), costs)
    lowered = larger.lowered(prices)
    assert (lowered.rows <= prices.rows).all()
    assert larger.bound(lowered) > larger.bound(prices)
    assert larger.bound(lowered) == pytest.approx(ChannelLP.of(b, costs).bound(prices), rel=1e-5)
    assert larger.bound(lowered) <= full_program(larger.budgets, costs)[1]
