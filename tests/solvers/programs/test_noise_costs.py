"""Costs of noise on a grid: against sums over its law, differences, a conic solver, and a search over all weights."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from solvers.programs.noise_costs import GaussianCost, NoiseCost, gaussian_moments
from solvers.programs.scales import dual_bound, minimise_scales
from solvers.solution import Status

WEIGHTS = np.array([0.7, 1.3, 2.0, 4.0, 30.0])
STEPS = np.array([0.0, 1.0, 1e-6, 5.0, 2.0])
COSTS = np.array([1.0, 2.0, 3.0, 1.0, 0.5])


@pytest.mark.parametrize(("power", "moment"), [(1, lambda z: np.abs(z)), (2, lambda z: z**2 / 2)])
@pytest.mark.parametrize(("weight", "step"), [(1.3, 1.0), (0.2, 0.5), (7.0, 2.0)])
def test_the_cost_is_the_moment_of_the_law(power: int, moment: object, weight: float, step: float) -> None:
    places = step * np.arange(-4000, 4001)
    mass = np.exp(-weight * np.abs(places))
    expected = float((moment(places) * mass).sum() / mass.sum())  # type: ignore[operator]
    assert NoiseCost.of(np.ones(1), power, np.array([step])).value(np.array([weight])) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("noise", "power"), [(NoiseCost, 1), (NoiseCost, 2), (GaussianCost, 1)])
def test_slopes_and_curvatures_are_those_of_the_cost(noise: type[NoiseCost], power: int) -> None:
    cost = noise.of(COSTS, power, STEPS)
    e = 1e-5 * WEIGHTS
    low, here, high = (cost.values(w) for w in (WEIGHTS - e, WEIGHTS, WEIGHTS + e))
    assert cost.pull(WEIGHTS) == pytest.approx((low - high) / (2e-5), rel=1e-6)
    assert cost.slopes(WEIGHTS)[1] == pytest.approx((low - 2 * here + high) / 1e-10, rel=1e-3)
    assert cost.least(cost.pull(WEIGHTS) / WEIGHTS) == pytest.approx(WEIGHTS, rel=1e-12)


def in_cvxpy(rows: np.ndarray, costs: np.ndarray, power: int, steps: np.ndarray) -> float:
    """The same program in disciplined form: `log(1 - exp(-x))` is concave."""
    w = cp.Variable(len(costs))
    terms = []
    for k, h in enumerate(steps.tolist()):
        if h == 0:
            terms.append(cp.power(w[k], -power))
        elif power == 2:
            terms.append(h**2 * cp.exp(-h * w[k] - 2 * cp.log(1 - cp.exp(-h * w[k]))))
        else:
            terms.append(2 * h * cp.exp(-h * w[k] - cp.log(1 - cp.exp(-2 * h * w[k]))))
    return float(cp.Problem(cp.Minimize(costs @ cp.hstack(terms)), [rows @ w <= 1]).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_on_grids_is_that_of_a_conic_solver(seed: int) -> None:
    generator = np.random.default_rng(seed)
    shape, power = (int(generator.integers(1, 40)), int(generator.integers(1, 6))), 1 + seed % 2
    rows = generator.random(shape) / 10 ** generator.uniform(-1, 1.2)
    costs = generator.random(shape[1]) + 0.1
    steps = np.where(generator.random(shape[1]) < 0.2, 0.0, 2.0 ** generator.integers(-2, 2, shape[1]))
    found = minimise_scales(rows, costs, power, steps=steps)
    assert found.status is Status.OPTIMAL and found.gap <= 1e-9
    assert found.value == pytest.approx(in_cvxpy(rows, costs, power, steps), rel=2e-6)
    assert (rows @ found.point).max() <= 1 + 1e-12


@pytest.mark.parametrize("budget", [1.0, 2.0, 4.0, 8.0, 60.0])
def test_one_count_costs_what_the_two_sided_geometric_law_does(budget: float) -> None:
    found = minimise_scales(np.array([[1 / budget]]), np.ones(1), 2, steps=np.ones(1))
    assert 2 * found.value == pytest.approx(1 / (2 * np.sinh(budget / 2) ** 2), rel=1e-9)


def test_a_search_over_all_weights_finds_nothing_better_on_a_grid() -> None:
    rows, costs, steps = np.array([[0.5, 0.1], [0.15, 0.4], [0.4, 0.3]]), np.array([1.0, 2.0]), np.array([1.0, 2.0])
    first, second = np.meshgrid(np.linspace(0.01, 2.4, 1200), np.linspace(0.01, 2.6, 1200))
    cost = NoiseCost.of(costs, 2, steps)
    feasible = (rows[:, 0, None, None] * first + rows[:, 1, None, None] * second <= 1).all(axis=0)
    x, y = 0.5 * first * steps[0], 0.5 * second * steps[1]
    values = costs[0] * steps[0] ** 2 / (4 * np.sinh(x) ** 2) + costs[1] * steps[1] ** 2 / (4 * np.sinh(y) ** 2)
    best = float(values[feasible].min())
    found = minimise_scales(rows, costs, 2, steps=steps)
    assert found.value <= best and best == pytest.approx(found.value, rel=5e-3)
    assert found.value == pytest.approx(cost.value(found.point))


@pytest.mark.parametrize("power", [1, 2])
def test_any_multipliers_prove_a_bound_on_a_grid(power: int) -> None:
    generator = np.random.default_rng(7)
    rows, steps = generator.random((30, 4)) / 3, np.array([1.0, 2.0, 0.25, 0.0])
    cost = NoiseCost.of(np.ones(4), power, steps)
    optimum = minimise_scales(rows, np.ones(4), power, steps=steps).value
    bounds = [dual_bound(rows, cost, generator.exponential(size=30) ** 4) for _ in range(200)]
    assert max(bounds) <= optimum and max(bounds) > 0.3 * optimum


@pytest.mark.parametrize("rate", [1e-6, 0.02, 0.7, 3.1, 3.2, 9.0, 400.0])
def test_moments_of_gaussian_noise_are_sums_over_its_law(rate: float) -> None:
    places = np.arange(-1000, 1001) if rate > 1e-3 else np.arange(-20_000, 20_001)
    mass = np.exp(-rate * places**2.0)
    mass /= mass.sum()
    one, two, three = (float((mass * places ** (2.0 * k)).sum()) for k in (1, 2, 3))
    found = [float(part[0]) for part in gaussian_moments(np.array([rate]))]
    assert found == pytest.approx([one, two - one**2, three - 3 * one * two + 2 * one**3], rel=1e-9)


def test_gaussian_costs_fall_are_convex_and_fall_no_faster_than_stated() -> None:
    rates = np.geomspace(1e-8, 690, 20_000)
    value, drop, bend = gaussian_moments(rates)
    assert (value > 0).all() and (drop > 0).all() and (bend > 0).all()
    assert (rates * drop <= (1 + rates) * value * (1 + 1e-12)).all() and (value <= 1 / (2 * rates)).all()


def test_inverses_and_units_of_gaussian_costs() -> None:
    cost = GaussianCost.of(COSTS, 1, STEPS)
    for value in (1e-200, 1e-9, 0.3, 1e6):
        assert cost.values(cost.weights_at(value)) == pytest.approx(np.full(5, value), rel=3e-13)
    unit = np.array([0.5, 3.0, 1.0, 2.0, 0.1])
    inner = cost.in_units(unit)
    assert inner.values(WEIGHTS) * (cost.costs / unit).max() == pytest.approx(cost.values(unit * WEIGHTS), rel=1e-12)


@pytest.mark.parametrize("budget", [0.3, 1.0, 2.0, 5.0, 8.0])
def test_the_optimum_of_gaussian_noise_on_a_grid_is_that_of_a_search(budget: float) -> None:
    """Two counts of unit 1 and 2, moved together or one at a time: all feasible weights of a line, then all others."""
    rows, costs, steps = np.array([[1.0, 4.0], [2.0, 0.0]]) / budget**2, np.array([1.0, 3.0]), np.array([1.0, 2.0])
    found = minimise_scales(rows, costs, 1, steps=steps, noise=GaussianCost)
    first = np.linspace(1e-4, 0.5, 20_001)[:-1] * budget**2
    second = (budget**2 - first) / 4

    def variance(parameter: np.ndarray) -> np.ndarray:
        z = np.arange(1.0, 100.0)[:, None] ** 2
        mass = 2 * np.exp(-z * parameter / 2)
        return np.asarray((z * mass).sum(axis=0) / (1 + mass.sum(axis=0)))

    best = float((variance(first) + 12 * variance(4 * second)).min())
    assert found.gap <= 1e-8 and (rows @ found.point).max() <= 1 + 1e-12
    assert found.lower_bound <= best * (1 + 1e-9) and found.value == pytest.approx(best, rel=1e-6)
    bounds = GaussianCost.of(costs, 1, steps)
    for multipliers in np.random.default_rng(3).exponential(size=(100, 2)) ** 3:
        assert dual_bound(rows, bounds, multipliers) <= best * (1 + 1e-9)
