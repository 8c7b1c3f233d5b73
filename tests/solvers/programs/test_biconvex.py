"""Joint fits of several rows against the exact single-row program, grids, random perturbations and weak duality."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.programs import biconvex
from solvers.programs.biconvex import ScaledFit, fit_rows_jointly, multiplier_bound, rows_alone, uniform_bound
from solvers.programs.changes import Changes
from solvers.programs.lipschitz import fit_jointly
from solvers.status import Status


def plane(seed: int, n: int) -> Changes:
    points = np.random.default_rng(seed).random((n, 2))
    d = np.sqrt(np.square(points[:, None] - points[None]).sum(-1))
    return Changes.of_metric(d / np.median(d))


def scales_by_modelling_layer(changes: Changes) -> Callable[[np.ndarray], np.ndarray]:
    """`min sum c_k^2` with P fixed, convex in 1/c: the half that the caller supplies."""

    def best(values: np.ndarray) -> np.ndarray:
        import cvxpy as cp

        start = np.array([changes.worst(p) for p in values]) * len(values)
        load = np.abs(changes.along(values / start[:, None])).T / changes.budget[:, None]
        w = cp.Variable(len(values), pos=True)
        cost = cp.sum(cp.multiply(np.square(start / start.max()), cp.power(w, -2)))
        cp.Problem(cp.Minimize(cost), [load @ w <= 1]).solve(solver=cp.CLARABEL)
        return np.asarray(start / w.value)

    return best


def equal_shares(changes: Changes) -> Callable[[np.ndarray], np.ndarray]:
    """A poor but feasible answer: every row gets 1/K of each budget."""
    return lambda values: np.array([changes.worst(p) for p in values]) * len(values)


def check(found: biconvex.Solution[ScaledFit], q: np.ndarray, changes: Changes, count: float) -> None:
    p, c = found.point.values, found.point.scales
    moves = np.abs(p @ changes.matrix.toarray())
    assert (moves[c == 0] == 0).all()
    assert ((moves[c > 0] / c[c > 0, None]).sum(axis=0) <= changes.budget * (1 + 1e-14)).all()
    assert found.value == pytest.approx(count**2 * np.square(p - q).sum() + 2 * np.square(c).sum(), rel=1e-12)
    assert found.lower_bound <= found.value


@pytest.mark.parametrize("count", [1.0, 10.0, 300.0])
def test_one_row_reaches_the_exact_optimum(count: float) -> None:
    changes, q = plane(1, 12), np.random.default_rng(1).random((1, 12))
    exact = fit_jointly(q[0], changes, count)
    found = fit_rows_jointly(q, changes, count, equal_shares(changes), tolerance=1e-5, rounds=60)
    check(found, q, changes, count)
    assert exact.lower_bound <= found.value <= exact.value * (1 + 1e-3)


@pytest.mark.parametrize("kind", ["real", "binary"])
@pytest.mark.parametrize("count", [3.0, 30.0, 1000.0])
def test_several_rows(kind: str, count: float) -> None:
    rng = np.random.default_rng(2)
    changes = plane(2, 10)
    q = rng.random((3, 10)) if kind == "real" else rng.integers(0, 2, (3, 10)).astype(float)
    best = scales_by_modelling_layer(changes)
    found = fit_rows_jointly(q, changes, count, best)
    check(found, q, changes, count)
    start = ScaledFit(q, best(q)).loss(q, count)
    assert found.value <= start * (1 + 1e-6)
    assert found.gap <= 0.15
    if count == 3.0:
        assert found.value < 0.5 * start
    if count == 1000.0:
        assert found.gap <= 1e-3
    # A local optimum: no random move of P with the best scales for it gains more than the tolerance.
    for size in np.geomspace(1e-4, 0.1, 12):
        moved = found.point.values + size * rng.normal(size=q.shape) * np.abs(found.point.values - q).max()
        fit = ScaledFit(moved, best(moved))
        assert ScaledFit(moved, fit.scales * fit.worst(changes)).loss(q, count) >= found.value * (1 - 1e-3)


@pytest.mark.parametrize("count", [0.3, 2.0, 20.0])
def test_two_points_two_rows_against_a_grid(count: float) -> None:
    """Row k moved inwards to a difference x_k: n^2 sum (D_k - x_k)^2 / 2 + 2 (sum x_k^(2/3))^3 / b^2, where c_k ~ x_k^(1/3)."""
    spread, b = np.array([1.0, 0.4]), 0.8
    x = np.stack(np.meshgrid(np.linspace(0, 1.0, 801), np.linspace(0, 0.4, 801), indexing="ij"), axis=-1)
    loss = count**2 * np.square(spread - x).sum(axis=-1) / 2 + 2 * np.cbrt(np.square(x)).sum(axis=-1) ** 3 / b**2
    changes, q = Changes.pairs(2, [0], [1], [b]), np.array([[0.0, 1.0], [0.7, 0.3]])

    def best_scales(values: np.ndarray) -> np.ndarray:
        moves = np.abs(values[:, 0] - values[:, 1])
        return np.asarray(np.cbrt(moves) * np.cbrt(moves**2).sum() / b)

    found = fit_rows_jointly(q, changes, count, best_scales, tolerance=1e-6, rounds=100)
    check(found, q, changes, count)
    assert found.lower_bound <= loss.min() * (1 + 1e-12)
    assert loss.min() * (1 - 1e-3) - 1e-4 <= found.value
    if count != 2.0:
        assert found.value <= loss.min() * (1 + 1e-2)


def test_the_start_is_stuck_for_plain_alternation_but_not_here() -> None:
    """At P = Q the best P for the scales is Q (no bias), the best scales for Q are the start's: yet a better pair exists."""
    changes, q = plane(3, 8), np.random.default_rng(3).random((2, 8))
    best = scales_by_modelling_layer(changes)
    start = ScaledFit(q, best(q))
    assert start.worst(changes) <= 1 + 1e-6
    assert fit_rows_jointly(q, changes, 5.0, best).value < 0.9 * start.loss(q, 5.0)


def test_poor_scales_are_improved_upon() -> None:
    changes, q = plane(4, 9), np.random.default_rng(4).random((3, 9))
    good = fit_rows_jointly(q, changes, 30.0, scales_by_modelling_layer(changes))
    poor = fit_rows_jointly(q, changes, 30.0, equal_shares(changes))
    check(poor, q, changes, 30.0)
    assert poor.value <= good.value * 1.02


def test_rows_that_do_not_move_cost_nothing() -> None:
    changes = plane(5, 6)
    q = np.vstack([np.full(6, 2.0), np.random.default_rng(5).random(6)])
    found = fit_rows_jointly(q, changes, 4.0, equal_shares(changes))
    check(found, q, changes, 4.0)
    assert found.point.scales[0] == 0.0
    assert np.array_equal(found.point.values[0], q[0])
    still = fit_rows_jointly(q[:1], changes, 4.0, equal_shares(changes))
    assert (still.value, still.status) == (0.0, Status.OPTIMAL)


def test_largest_squared_error_over_all_vectors_of_three_records() -> None:
    rng = np.random.default_rng(6)
    q, p, c = rng.random((2, 4)), rng.random((2, 4)), rng.random(2)
    histograms = [np.bincount(records, minlength=4) for records in itertools.product(range(4), repeat=3)]
    brute = max(float(np.square((p - q) @ x).sum() + 2 * np.square(c).sum()) for x in histograms)
    fit = ScaledFit(p, c)
    assert fit.largest_squared_error(q, 3.0) == pytest.approx(brute, rel=1e-12)
    assert fit.largest_squared_error(q, 3.0) <= fit.loss(q, 3.0)


@pytest.mark.parametrize("power", [1, 2])
def test_the_uniform_bound_is_below_every_feasible_point(power: int) -> None:
    """Any multipliers and signs, against random rows with scales that just keep the limits, by the definition of the loss."""
    rng, n = np.random.default_rng(7), 4.0
    changes, q, weight = plane(7, 6), rng.random((2, 6)), float(power)
    least = np.inf
    for _ in range(4000):
        rows = q + rng.normal(scale=rng.choice([0.0, 0.05, 0.3]), size=q.shape)
        rows = rows.mean(axis=1, keepdims=True) + rng.random() * (rows - rows.mean(axis=1, keepdims=True))
        scales = np.exp(rng.normal(size=2))
        scales *= ScaledFit(rows, scales).worst(changes)
        least = min(least, float(((n * np.abs(rows - q).max(axis=1)) ** power + weight * scales**power).sum()))
    best = 0.0
    for _ in range(300):
        loads = rng.exponential(size=changes.count) ** 3 * np.exp(rng.normal(scale=2))
        signs = np.sign(changes.along(q)) * rng.random((2, changes.count)) ** 0.3
        best = max(best, uniform_bound(q, changes, n, loads, signs, power))
    assert 0 < best <= least


@pytest.mark.parametrize("power", [1, 2])
def test_the_uniform_bound_of_two_points_is_reached(power: int) -> None:
    """One row over two points at distance b: the program in closed form, at its own multiplier."""
    changes, q, n, b = Changes.pairs(2, [0], [1], [2.0]), np.array([[0.0, 1.0]]), 3.0, 2.0
    moved = np.linspace(0, 1, 100_001)  # p = (m, 1 - m) moves by 1 - 2 m
    least = ((n * moved) ** power + power * (np.abs(1 - 2 * moved) / b) ** power)[moved <= 0.5].min()
    bounds = [uniform_bound(q, changes, n, np.array([load]), np.array([[-1.0]]), power) for load in np.geomspace(1e-3, 10, 400)]
    assert max(bounds) <= least * (1 + 1e-9) and max(bounds) >= 0.98 * least


def test_worst_is_infinite_where_an_unscaled_row_moves() -> None:
    changes = plane(5, 6)
    assert ScaledFit(np.eye(6)[:2], np.array([0.0, 1.0])).worst(changes) == np.inf


@pytest.mark.slow
@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_bounds_hold_for_any_multipliers_and_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    changes, k, count = plane(seed, 5), 3, float(rng.choice([0.3, 2.0, 30.0]))
    q, p = rng.random((2, k, 5))
    scales = rng.random(k) + 0.05
    feasible = ScaledFit(p, scales * ScaledFit(p, scales).worst(changes))
    multipliers = rng.exponential(1.0, changes.count) * (rng.random(changes.count) < 0.5) * 10 ** rng.uniform(-2, 2)
    signs = np.where(rng.random((k, changes.count)) < 0.8, np.sign(changes.along(q)), rng.uniform(-2, 2, (k, changes.count)))
    assert multiplier_bound(q, changes, count, multipliers, signs) <= feasible.loss(q, count) * (1 + 1e-12)
    assert rows_alone(q, changes, count) <= feasible.loss(q, count)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_one_dimensional_infimum(a: float, e: float) -> None:
    c = np.geomspace(1e-9, 1e4, 60_001)
    t = np.minimum(1.0 / c, a / (2.0 * e))
    dense = float((2.0 * c**2 + t * a - t**2 * e).min())
    assert biconvex._least_of_row(a, e) <= dense * (1 + 1e-12)
    assert biconvex._least_of_row(a, e) == pytest.approx(dense, rel=1e-5)


@pytest.mark.parametrize("scales", [[1.0], [1.0, -1.0], [1.0, np.inf]])
def test_validator(scales: list[float]) -> None:
    with pytest.raises(ValueError, match="one finite scale"):
        ScaledFit(np.ones((2, 3)), np.array(scales))
