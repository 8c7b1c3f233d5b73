"""The scales solver against an independent modelling layer, a grid search, and its own dual. Where a descent ends is measured,
whatever the solver says of it. The search for the least factor, on ratios in steps: such as margins of whole-number noise.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from numpy.typing import NDArray

import solvers.programs.scales as scales
from solvers.programs.loads import least_factor, minimised
from solvers.programs.noise_costs import NoiseCost
from solvers.programs.scales import dual_bound, minimise_scales
from solvers.solution import Status


def by_cvxpy(rows: np.ndarray, costs: np.ndarray, power: int) -> float:
    weights = cp.Variable(len(costs))
    objective = cp.sum(cp.multiply(costs, cp.power(weights, -power)))
    return float(cp.Problem(cp.Minimize(objective), [rows @ weights <= 1]).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (40, 5), (300, 12)])
def test_agrees_with_cvxpy(shape: tuple[int, int], power: int) -> None:
    generator = np.random.default_rng(shape[0])
    rows, costs = generator.random(shape), generator.random(shape[1]) + 0.1
    found = minimise_scales(rows, costs, power)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(by_cvxpy(rows, costs, power), rel=1e-6)
    assert found.gap <= 1e-9
    assert (rows @ found.point).max() <= 1 + 1e-12


def test_agrees_with_grid_search_in_two_dimensions() -> None:
    rows, costs = np.array([[1.0, 0.2], [0.3, 1.0], [0.8, 0.7]]), np.array([1.0, 2.0])
    first, second = np.meshgrid(np.linspace(0.01, 1.2, 1200), np.linspace(0.01, 1.2, 1200))
    weights = np.stack([first.ravel(), second.ravel()], axis=1)
    feasible = (weights @ rows.T <= 1).all(axis=1)
    best = (costs * weights[feasible] ** -2.0).sum(axis=1).min()
    assert minimise_scales(rows, costs, 2).value == pytest.approx(best, rel=5e-3)
    assert minimise_scales(rows, costs, 2).value <= best


def test_one_row_has_a_closed_form() -> None:
    # One constraint r w <= 1, cost sum w^-2: w_k is proportional to r_k^(-1/3), value (sum r_k^(2/3))^3.
    row = np.array([[0.5, 2.0, 8.0]])
    assert minimise_scales(row, np.ones(3), 2).value == pytest.approx((row ** (2 / 3)).sum() ** 3, rel=1e-9)


@pytest.mark.parametrize("power", [1, 2])
def test_any_multipliers_prove_a_lower_bound(power: int) -> None:
    generator = np.random.default_rng(7)
    rows, costs = generator.random((30, 4)), np.ones(4)
    optimum = minimise_scales(rows, costs, power).value
    for _ in range(200):
        assert dual_bound(rows, NoiseCost.of(costs, power), generator.exponential(size=30) ** 4) <= optimum


def test_working_set_meets_the_whole_set() -> None:
    generator = np.random.default_rng(3)
    rows = generator.random((5000, 8))
    start = rows[rows.argmax(axis=0)]

    def separate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        values = rows @ weights
        return float(values.max()), rows[np.argsort(-values)[:20]]

    partial, whole = minimise_scales(start, np.ones(8), 2, separate), minimise_scales(rows, np.ones(8), 2)
    assert partial.status is Status.OPTIMAL and partial.iterations > 1
    assert partial.value == pytest.approx(whole.value, rel=1e-8)
    assert (rows @ partial.point).max() <= 1 + 1e-12


def test_rounds_end_where_a_round_brings_nothing_new() -> None:
    """What separates is as exact as a search: of rows that miss the tolerance for ever, no second is asked for."""
    rows, asked = np.array([[1.0, 0.5], [0.25, 1.0]]), list[float]()

    def separate(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        asked.append(float((rows @ weights).max()))
        return asked[-1] * (1 + 1e-6), rows

    found = minimise_scales(rows, np.ones(2), 2, separate)
    assert asked == [pytest.approx(1, abs=1e-9)]
    assert found.status is Status.STALLED and found.iterations == 2
    assert 1e-9 < found.gap < 1e-5


def test_badly_scaled_problems_keep_their_certificate() -> None:
    generator = np.random.default_rng(1)
    rows = generator.random((200, 15)) * 10.0 ** generator.uniform(-4, 4, (1, 15)) * 10.0 ** generator.uniform(-4, 4, (200, 1))
    rows[generator.random(rows.shape) < 0.3] = 0.0
    costs = 10.0 ** generator.uniform(-4, 4, 15)
    assert minimise_scales(rows, costs, 2).gap <= 1e-9


def test_a_point_worse_than_the_optimum_shows_a_gap() -> None:
    rows, costs = np.array([[1.0, 1.0]]), np.ones(2)
    found = minimise_scales(rows, costs, 2)
    assert NoiseCost.of(costs, 2).value(np.array([0.25, 0.75])) > found.lower_bound * 1.5


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("small", [1e-6, 2.0**-31, 1e-12])
def test_rows_of_any_size_do_not_leave_the_newton_matrix_singular(small: float, power: int) -> None:
    """Two queries that only a row of size `small` moves, beside three that a row of size 1 moves.

    The row of size 1 alone has the closed form w = 1/3 and the cost 3 * 3^p, a lower bound; with 1 / (4 small) for the other
    two both rows are kept, which costs 2 (4 small)^p more.
    """
    rows = np.array([[0.0, small, small, small, small], [1.0, 1.0, 1.0, 0.0, 0.0]])
    found = minimise_scales(rows, np.ones(5), power)
    assert found.status is Status.OPTIMAL and (rows @ found.point).max() <= 1 + 1e-12
    assert 3 * 3**power <= found.value * (1 + 1e-12) <= 3 * 3**power + 2 * (4 * small) ** power + 1e-9


def test_random_rows_of_twelve_orders_are_solved_to_their_certificate() -> None:
    generator = np.random.default_rng(3)
    for _ in range(150):
        shape = generator.integers(1, 7, 2)
        rows = generator.integers(0, 3, shape) * 10.0 ** generator.uniform(-6, 6, (shape[0], 1))
        rows = np.concatenate([rows, np.full((1, shape[1]), 10.0 ** generator.uniform(-6, 6))])
        for power in (1, 2):
            assert minimise_scales(rows, np.ones(shape[1]), power).gap <= 1e-9


def test_rows_that_are_mostly_zero_have_their_closed_forms() -> None:
    """Weights in disjoint pairs, `w + w' <= 1`, cost `(sqrt(v) + sqrt(v'))^2` each; on a ring of equal costs all are 1/2."""
    eye, costs = np.eye(80), np.exp(np.random.default_rng(3).normal(0, 3, 80))
    found = minimise_scales(eye[:40] + eye[40:], costs, 1)
    expected = float(((np.sqrt(costs[:40]) + np.sqrt(costs[40:])) ** 2).sum())
    assert found.lower_bound <= expected * (1 + 1e-12) and expected * (1 - 1e-12) <= found.value <= expected * (1 + 1e-8)
    ring = minimise_scales(eye + np.roll(eye, 1, axis=1), np.ones(80), 2)
    assert ring.value == pytest.approx(320, rel=1e-9) and ring.point == pytest.approx(np.full(80, 0.5), rel=1e-4)


@pytest.mark.parametrize("power", [1, 2])
def test_many_weights_under_few_rows_are_solved_for_by_row(power: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No linear system has more unknowns than rows, and the optimum is that of the weights' own system."""
    generator = np.random.default_rng(power)
    rows, costs = generator.integers(0, 2, (20, 300)).astype(float), 10.0 ** generator.uniform(-3, 3, 300)
    rows[0] += 1e-3
    solve, sizes = np.linalg.solve, []

    def counted(matrix: np.ndarray, given: np.ndarray) -> np.ndarray:
        sizes.append(len(matrix))
        return np.asarray(solve(matrix, given))

    with monkeypatch.context() as patched:
        patched.setattr(np.linalg, "solve", counted)
        found = minimise_scales(rows, costs, power)
    assert sizes.count(20) > 20 > 3 * sizes.count(300) and found.status is Status.OPTIMAL
    with monkeypatch.context() as patched:
        patched.setattr(scales, "_through_few_rows", lambda *_: None)
        whole = minimise_scales(rows, costs, power)
    assert found.value == pytest.approx(whole.value, rel=1e-9) and found.point == pytest.approx(whole.point, rel=1e-3)


def test_what_rounding_spoils_is_solved_for_whole() -> None:
    """Ratios of 40 orders leave nothing of a solution by row: none is handed out."""
    generator = np.random.default_rng(2)
    rows, ratio, curvature = (
        generator.random((9, 70)),
        10.0 ** generator.uniform(0, 40, 9),
        10.0 ** generator.uniform(-20, 20, 70),
    )
    pull = generator.random(70)
    assert scales._through_few_rows(rows, ratio, curvature, pull) is None
    easy = scales._through_few_rows(rows, np.ones(9), np.ones(70), pull)
    assert easy == pytest.approx(np.linalg.solve(rows.T @ rows + np.eye(70), pull), rel=1e-9)


def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
    return float(((x - 2) ** 2).sum()), 2 * (x - 2)


def test_a_descent_ends_where_the_slope_is_none() -> None:
    assert minimised(bowl, np.zeros(3), 100)[0] == pytest.approx([2.0] * 3)


@pytest.mark.parametrize("end", [[np.nan, 1.0], [np.inf, 1.0], [9.0, 9.0], [-5.0, 2.0]])
def test_an_end_that_is_worse_than_the_start_gives_way_to_it(end: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    told = SimpleNamespace(x=np.array(end), nit=3, status=0, success=True, fun=-1.0)
    monkeypatch.setattr("scipy.optimize.minimize", lambda *_, **__: told)
    assert minimised(bowl, np.array([1.0, 1.0]), 100) == (pytest.approx([1.0, 1.0]), 3)


def test_numbers_below_0_are_0_where_none_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    told = SimpleNamespace(x=np.array([2.0, -1e-9]), nit=3, status=2, success=False)
    monkeypatch.setattr("scipy.optimize.minimize", lambda *_, **__: told)
    assert minimised(bowl, np.zeros(2), 100, nonnegative=True)[0].tolist() == [2.0, 0.0]


@pytest.mark.parametrize("wanted", [10.0, 9.999999999, 7.0, 1.0, 1000.0])
@pytest.mark.parametrize("start", [1e-3, 1.0, 50.0])
def test_ratios_that_fall_in_steps_are_bracketed_where_they_first_come_down_to_1(wanted: float, start: float) -> None:
    """`ceil(3 / f) <= wanted` exactly from `3 / floor(wanted)` on."""
    found = least_factor(lambda factor: math.ceil(3 / factor) / wanted, 1e-4, start)
    assert found is not None and found.missed < 3 / math.floor(wanted) <= found.met <= found.missed * (1 + 1e-4)
    assert len(found.evaluations) < 60
