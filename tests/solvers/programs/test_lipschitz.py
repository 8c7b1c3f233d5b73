"""Lipschitz fits against closed forms, dense grids, linear programs and a convex modelling layer with every limit at once."""

from __future__ import annotations

import itertools
import math

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.limited import CONIC
from solvers.programs.changes import Changes
from solvers.programs.lipschitz import (
    ABSOLUTE,
    EUCLIDEAN,
    MAXIMUM,
    SQUARED,
    SQUARED_MAXIMUM,
    Distances,
    Envelope,
    LipschitzFit,
    ProgramLoss,
    defect,
    fit_jointly,
    fit_uniformly,
    least_concave_sum,
    least_square_sum,
)
from solvers.solution import Status

HIGH_PROBABILITY = ProgramLoss(math.inf, 1, math.log(3 / 0.05))
LOSSES = {
    "squared": SQUARED,
    "squared maximum": SQUARED_MAXIMUM,
    "absolute": ABSOLUTE,
    "euclidean": EUCLIDEAN,
    "maximum": MAXIMUM,
    "high probability": HIGH_PROBABILITY,
}


def instance(seed: int, n: int, budget: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    return rng.random(n), budget * np.sqrt(np.square(points[:, None] - points[None]).sum(-1))


def by_modelling_layer(q: np.ndarray, changes: Changes, count: float, loss: ProgramLoss) -> float:
    """All limits at once; values of order one, so that the layer's own tolerance (about 1e-8) is relative enough."""
    import cvxpy as cp

    p, c = cp.Variable(q.size), cp.Variable(nonneg=True)
    size = cp.norm(p - q, "inf" if math.isinf(loss.order) else int(loss.order))
    raised = cp.square if loss.power == 2 else cp.pos
    objective = raised(count * size) + loss.weight * raised(c)
    problem = cp.Problem(cp.Minimize(objective), [cp.abs(changes.matrix.T @ p) <= c * changes.budget])
    return float(problem.solve(solver=cp.CLARABEL))


# One function and its constant ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("count", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("kind", ["metric", "components", "origin", "vectors"])
def test_joint_fit_is_the_optimum(name: str, count: float, kind: str) -> None:
    q, d = instance(7, 9)
    if kind == "components":
        d = np.where(np.arange(9)[:, None] // 5 == np.arange(9) // 5, d, np.inf)
    changes = Changes.of_metric(d)
    if kind == "origin":
        changes = Changes.units(0.4 + q)
    if kind == "vectors":
        changes = Changes(np.random.default_rng(8).integers(-1, 2, (9, 20)), np.full(20, 0.7))
    found = fit_jointly(q, changes, count, LOSSES[name])
    oracle = by_modelling_layer(q, changes, count, LOSSES[name])
    p, c = found.point.values, found.point.constant
    assert found.status is Status.OPTIMAL
    assert found.gap <= 1e-6
    assert changes.worst(p) <= c
    assert found.value == pytest.approx(LOSSES[name].value(p - q, c, count), rel=1e-12)
    assert found.value == pytest.approx(oracle, rel=2e-6)
    assert found.lower_bound <= oracle * (1 + 1e-7)


@pytest.mark.parametrize("name", ["squared maximum", "maximum", "high probability"])
@pytest.mark.parametrize("count", [1.0, 25.0, 1e4])
def test_two_ways_to_the_uniform_optimum(name: str, count: float) -> None:
    """Closed form (McShane and the envelope) against cutting planes."""
    q, d = instance(11, 60, budget=0.1)
    exact = fit_uniformly(q, Distances(d), count, LOSSES[name])
    generated = fit_jointly(q, Changes.of_metric(d), count, LOSSES[name])
    assert exact.gap <= 1e-12
    assert generated.lower_bound * (1 - 1e-12) <= exact.value <= generated.value * (1 + 1e-12)
    assert generated.gap <= 1e-6


@pytest.mark.parametrize("seed", range(2, 32, 3))
def test_ill_scaled_data(seed: int) -> None:
    """Targets from 1e-3 to 1e5, budgets from 1e-5 to 1e4 (some infinite), counts from 1e-2 to 1e7."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(3, 40)), 10 ** rng.uniform(-2, 7)
    q, d = instance(seed, n)
    d = d ** rng.choice([0.2, 1.0, 3.0]) * 10 ** rng.uniform(-5, 4)
    changes = Changes.of_metric(np.where(d <= np.quantile(d, 0.6), d, np.inf))
    q *= 10 ** rng.uniform(-3, 5)
    for name, loss in LOSSES.items():
        found = fit_jointly(q, changes, count, loss)
        assert found.gap <= 1e-6, name
        assert changes.worst(found.point.values) <= found.point.constant


def test_two_points_in_closed_form() -> None:
    """q = (0, 1), distance b: with p = (x, 1 - x), c = (1 - 2x)/b the squared loss is 2 n^2 x^2 + 2 (1 - 2x)^2 / b^2."""
    for n, b in itertools.product((0.5, 1.0, 30.0), (0.1, 1.0, 5.0)):
        x = 4 / (2 * n**2 * b**2 + 8)
        found = fit_jointly([0.0, 1.0], Changes.pairs(2, [0], [1], [b]), n)
        assert found.value == pytest.approx(2 * n**2 * x**2 + 2 * (1 - 2 * x) ** 2 / b**2, rel=1e-8)
        assert found.point.values == pytest.approx([x, 1 - x], abs=1e-5)


def test_grid_search_on_three_points() -> None:
    q, d, n = np.array([0.0, 0.3, 1.0]), np.array([[0, 1, 1.5], [1, 0, 0.6], [1.5, 0.6, 0]]), 1.3
    changes = Changes.of_metric(d)
    grid = np.linspace(0.0, 1.0, 81)
    p = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    c = (np.abs(p @ changes.matrix.toarray()) / changes.budget).max(axis=1)
    for name, order in (("squared", 2), ("absolute", 1), ("maximum", np.inf)):
        loss = LOSSES[name]
        size = n * np.linalg.norm(p - q, order, axis=1)
        best = float((size**loss.power + loss.weight * c**loss.power).min())
        found = fit_jointly(q, changes, n, loss)
        assert found.lower_bound <= best
        assert found.value * (1 - 1e-6) <= best <= found.value + 0.05


def test_large_count_leaves_the_function_alone() -> None:
    q, d = instance(13, 20)
    found = fit_jointly(q, Changes.of_metric(d), 1e7)
    assert found.point.constant == pytest.approx(Changes.of_metric(d).worst(q), rel=1e-6)
    assert found.point.values == pytest.approx(q, abs=1e-6)


def test_constant_target_costs_nothing() -> None:
    found = fit_jointly(np.full(4, 3.0), Changes.of_metric(1.0 - np.eye(4)), 5.0)
    assert (found.value, found.point.constant, found.status) == (0.0, 0.0, Status.OPTIMAL)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_weak_duality_for_arbitrary_multipliers(seed: int) -> None:
    """Any multipliers give a number below the loss of any feasible pair."""
    rng = np.random.default_rng(seed)
    q, d = instance(seed, 5)
    changes, p = Changes.of_metric(d), rng.random(5)
    multipliers = rng.normal(size=changes.count) * (rng.random(changes.count) < 0.4)
    force = np.asarray(changes.matrix @ multipliers)
    reach, count = float(np.abs(multipliers) @ changes.budget), float(rng.choice([0.2, 1.0, 9.0]))
    for loss in LOSSES.values():
        assert loss.bound(q, force, reach, count) <= loss.value(p - q, changes.worst(p), count) * (1 + 1e-12)


def test_stops_with_a_stated_gap_when_rounds_run_out() -> None:
    q, d = instance(17, 40, budget=0.05)
    found = fit_jointly(q, Changes.of_metric(d), 1.0, MAXIMUM, rounds=1)
    complete = fit_jointly(q, Changes.of_metric(d), 1.0, MAXIMUM)
    assert found.status is Status.STALLED
    assert found.lower_bound <= complete.value <= found.value


# Supremum norm, closed forms -----------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.booleans(), st.floats(0.0, 3.0))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_extension_is_feasible_and_attains_the_defect(seed: int, origin: bool, c: float) -> None:
    """p is feasible, and no other function comes closer: a linear program says so."""
    from scipy.optimize import linprog

    q, d = instance(seed, 6)
    d[0, 3:] = d[3:, 0] = np.inf
    to_origin = np.where(np.arange(6) < 4, 0.3 + q, np.inf) if origin else None
    metric = Distances(d, to_origin)
    p, e = metric.extension(q, c)
    assert np.abs(p - q).max() == pytest.approx(e, abs=1e-12)
    assert metric.constant(p) <= c * (1 + 1e-9) + 1e-9
    i, j = (np.concatenate(pair) for pair in zip(np.triu_indices(6, 1), np.tril_indices(6, -1), strict=True))
    keep = np.isfinite(d[i, j])
    difference = (np.eye(6)[i] - np.eye(6)[j])[keep]
    limits, right = [difference], [c * d[i, j][keep]]
    if to_origin is not None:
        limits, right = [*limits, np.eye(6)[:4], -np.eye(6)[:4]], [*right, c * to_origin[:4], c * to_origin[:4]]
    near = np.block([[np.eye(6), -np.ones((6, 1))], [-np.eye(6), -np.ones((6, 1))]])
    rows = np.vstack([np.pad(np.vstack(limits), ((0, 0), (0, 1))), near])
    sharp = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # the default is 1e-7
    sides = np.concatenate([*right, q, -q])
    found = linprog(np.r_[np.zeros(6), 1.0], A_ub=rows, b_ub=sides, bounds=(None, None), options=sharp)
    assert e == pytest.approx(found.fun, abs=1e-8)


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_envelope_is_the_maximum_of_the_lines(seed: int, origin: bool) -> None:
    rng = np.random.default_rng(seed)
    _, d = instance(seed, 6)
    queries, to_origin = rng.integers(0, 3, (3, 6)).astype(float), 0.2 + rng.random(6)
    metric = Distances(d, to_origin if origin else None)
    envelope = defect(queries, metric)
    for c in [0.0, *rng.exponential(2.0, 20), *envelope.breaks]:
        values = [(abs(q[i] - q[j]) - c * metric.distance[i, j]) / 2 for q in queries for i in range(6) for j in range(6)]
        if metric.to_origin is not None:
            values += [abs(q[i]) - c * metric.to_origin[i] for q in queries for i in range(6)]
        assert envelope(c) == pytest.approx(max(values), abs=1e-9)


@given(st.integers(0, 10_000), st.floats(0.05, 50.0), st.floats(0.05, 50.0))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_one_dimensional_programs_against_a_dense_grid(seed: int, bias: float, noise: float) -> None:
    q, d = instance(seed, 8)
    envelope = defect(np.vstack([q, q[::-1] ** 2]), Distances(d))
    grid = np.concatenate([np.linspace(0.0, 1.1 * envelope.breaks[-1], 20_001), envelope.breaks])
    values = np.interp(grid, envelope.breaks, envelope.values)
    for found, dense in (
        (least_concave_sum(envelope, bias, noise), bias * values + noise * np.cbrt(grid)),
        (least_concave_sum(envelope, bias, noise, power=1.0), bias * values + noise * grid),
    ):
        assert found.value == pytest.approx(dense.min(), rel=1e-12)
    found = least_square_sum(envelope, bias, noise)
    dense = (bias * values) ** 2 + noise * grid**2
    assert found.value <= dense.min() * (1 + 1e-12)
    assert found.value >= dense.min() * (1 - 1e-3) - 1e-9


def test_single_break_by_hand() -> None:
    """E(c) = (1 - c)_+ / 2 for q = (0, 1) at distance 1; 10 E + c^(1/3) is least at c = 1, 0.1 E + c^(1/3) at c = 0."""
    envelope = defect([0.0, 1.0], Distances([[0.0, 1.0], [1.0, 0.0]]))
    assert (envelope.breaks.tolist(), envelope.values.tolist()) == ([0.0, 1.0], [0.5, 0.0])
    assert (least_concave_sum(envelope, 10.0, 1.0).point, least_concave_sum(envelope, 10.0, 1.0).value) == (1.0, 1.0)
    assert (least_concave_sum(envelope, 0.1, 1.0).point, least_concave_sum(envelope, 0.1, 1.0).value) == (0.0, 0.05)


def test_nothing_to_fit() -> None:
    envelope = defect(np.ones(3), Distances(1.0 - np.eye(3)))
    assert (envelope.breaks.tolist(), envelope.values.tolist()) == ([0.0], [0.0])
    assert least_square_sum(envelope, 1.0, 1.0).value == 0.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Distances([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
        (lambda: Distances([[0.0, 0.0], [0.0, 0.0]]), "merge points"),
        (lambda: Distances([[0.0, 1.0], [1.0, 0.0]], [1.0, 0.0]), "merge points"),
        (lambda: LipschitzFit(np.ones(2), -1.0), "not negative"),
        (lambda: LipschitzFit(np.array([np.nan]), 1.0), "finite vector"),
        (lambda: ProgramLoss(3.0, 1, 1.0), "order must be"),
        (lambda: ProgramLoss(1.0, 1, 0.0), "weight positive"),
        (lambda: defect(np.ones(3), Distances([[0.0, 1.0], [1.0, 0.0]])), "must agree"),
        (lambda: least_concave_sum(Envelope(np.zeros(1), np.zeros(1)), 1.0, 1.0, power=2.0), "power"),
        (lambda: fit_jointly([1.0], Changes.of_metric(1.0 - np.eye(2)), 1.0), "target has shape"),
        (lambda: fit_jointly([1.0, 2.0], Changes.of_metric(1.0 - np.eye(2)), 0.0), "count"),
        (lambda: fit_uniformly([1.0, 2.0], Distances(1.0 - np.eye(2)), 1.0, SQUARED), "order inf"),
    ],
)
def test_every_validator(build, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        build()


def heard(monkeypatch: pytest.MonkeyPatch, most: int = CONIC) -> list[str]:
    """How each program ended, of `most` iterations."""
    ends: list[str] = []
    solver = clarabel.DefaultSolver

    class Heard:
        def __init__(self, *parts: object) -> None:
            self.solver = solver(*parts)

        def solve(self) -> object:
            found = self.solver.solve()
            ends.append(str(found.status))
            return found

    monkeypatch.setattr(clarabel, "DefaultSolver", Heard)
    monkeypatch.setattr("solvers.limited.CONIC", most)
    return ends


@pytest.mark.parametrize("seed", [7, 8, 9])
@pytest.mark.parametrize("count", [0.5, 3.0])
def test_a_squared_program_on_cuts_is_solved_as_sharply_as_asked(
    monkeypatch: pytest.MonkeyPatch, count: float, seed: int
) -> None:
    """A quadratic program, without a cone for the norm that is squared: of that the solver's version decides what is found."""
    q, budgets = instance(seed, 9)
    changes = Changes(np.random.default_rng(seed + 1).integers(-1, 2, (9, 20)), np.full(20, 0.7))
    ends = heard(monkeypatch)
    for asked in (changes, Changes.of_metric(budgets), Changes.units(0.4 + q)):
        assert fit_jointly(q, asked, count, SQUARED).gap <= 1e-7
    assert ends and set(ends) == {"Solved"}


@pytest.mark.parametrize("loss", [MAXIMUM, HIGH_PROBABILITY])
def test_no_program_on_cuts_is_without_an_end(monkeypatch: pytest.MonkeyPatch, loss: ProgramLoss) -> None:
    """Cuts of one sign alone bound the constant from above and never from below; that it is at least 0 does."""
    q, budgets = instance(11, 60, budget=0.1)
    ends = heard(monkeypatch)
    fit_jointly(q, Changes.of_metric(budgets), 1.0, loss)
    assert ends and set(ends) <= {"Solved", "AlmostSolved"}


def test_a_solver_that_does_not_end_leaves_a_point_and_a_bound_that_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    q, budgets = instance(3, 20)
    changes = Changes.of_metric(budgets)
    right = fit_jointly(q, changes, 3.0, SQUARED)
    ends = heard(monkeypatch, 2)
    found = fit_jointly(q, changes, 3.0, SQUARED)
    assert "MaxIterations" in ends and found.status is Status.STALLED
    assert found.lower_bound <= right.lower_bound * (1 + 1e-9) and found.value >= right.value * (1 - 1e-9)
    assert found.value == SQUARED.value(found.point.values - q, found.point.constant, 3.0)
