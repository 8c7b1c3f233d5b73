"""Joint fits of several rows against the exact single-row program, grids, random perturbations and weak duality."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.programs.biconvex import ScaledFit, best_scales, fit_rows_alone, fit_rows_jointly, multiplier_bound
from solvers.programs.changes import Changes, Steepest, WorkingSet
from solvers.programs.lipschitz import MAXIMUM, SQUARED, SQUARED_MAXIMUM, fit_jointly
from solvers.programs.row_losses import TOTAL_SQUARES, WORST_ABSOLUTES, WORST_OF_QUERIES, WORST_SQUARES, RowsLoss, least_of_row
from solvers.solution import Solution, Status

LOSSES = {"total": TOTAL_SQUARES, "squares": WORST_SQUARES, "absolutes": WORST_ABSOLUTES, "queries": WORST_OF_QUERIES}
ONE_ROW = {"total": SQUARED, "squares": SQUARED_MAXIMUM, "absolutes": MAXIMUM, "queries": SQUARED_MAXIMUM}


def plane(seed: int, n: int) -> Changes:
    points = np.random.default_rng(seed).random((n, 2))
    d = np.sqrt(np.square(points[:, None] - points[None]).sum(-1))
    return Changes.of_metric(d / np.median(d))


def by_definition(name: str, off: np.ndarray, c: np.ndarray, n: float) -> float:
    """The losses, written out element by element."""
    elements, rows = range(off.shape[1]), range(len(off))
    if name == "total":
        return sum(n**2 * off[k, i] ** 2 for k in rows for i in elements) + 2 * sum(c**2)
    if name == "squares":
        return max(sum(n**2 * off[k, i] ** 2 for k in rows) for i in elements) + 2 * sum(c**2)
    if name == "absolutes":
        return max(sum(n * abs(off[k, i]) for k in rows) for i in elements) + sum(c)
    return max(n**2 * off[k, i] ** 2 + 2 * c[k] ** 2 for k in rows for i in elements)


def scales_by_modelling_layer(values: np.ndarray, changes: Changes, name: str) -> np.ndarray:
    """The best c with P fixed, convex in 1/c."""
    import cvxpy as cp

    start = np.array([changes.worst(p) for p in values]) * len(values)
    load = np.abs(changes.along(values / start[:, None])).T / changes.budget[:, None]
    w = cp.Variable(len(values), pos=True)
    c = cp.multiply(start / start.max(), cp.inv_pos(w))
    cost = {"absolutes": cp.sum(c), "queries": cp.max(c)}.get(name, cp.sum_squares(c))
    cp.Problem(cp.Minimize(cost), [load @ w <= 1]).solve(solver=cp.CLARABEL)
    return np.asarray(start / w.value)


def check(found: Solution[ScaledFit], q: np.ndarray, changes: Changes, count: float, name: str = "total") -> None:
    p, c = found.point.values, found.point.scales
    moves = np.abs(p @ changes.matrix.toarray())
    assert (moves[c == 0] == 0).all()
    # A move is a difference of entries, whose rounding is relative to the entries.
    rounding = 4 * np.finfo(float).eps * (np.abs(p[c > 0]) @ np.abs(changes.matrix).toarray() / c[c > 0, None]).sum(axis=0)
    assert ((moves[c > 0] / c[c > 0, None]).sum(axis=0) <= changes.budget * (1 + 1e-14) + rounding).all()
    assert found.value == pytest.approx(by_definition(name, p - q, c, count), rel=1e-12)
    assert found.lower_bound <= found.value


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("count", [1.0, 10.0, 300.0])
def test_one_row_reaches_the_exact_optimum(count: float, name: str) -> None:
    changes, q = plane(1, 12), np.random.default_rng(1).random((1, 12))
    exact = fit_jointly(q[0], changes, count, ONE_ROW[name])
    found = fit_rows_jointly(q, changes, count, LOSSES[name])
    check(found, q, changes, count, name)
    assert exact.lower_bound * (1 - 1e-9) <= found.value <= exact.value * (1 + 1e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_scales_for_fixed_rows_are_the_best(name: str) -> None:
    changes, rows = plane(2, 10), np.random.default_rng(2).random((3, 10))
    mine, others = best_scales(rows, changes, LOSSES[name]), scales_by_modelling_layer(rows, changes, name)
    assert ScaledFit(rows, mine).worst(changes) <= 1 + 1e-6
    cost = [LOSSES[name].value(np.zeros_like(rows), c * ScaledFit(rows, c).worst(changes), 1.0) for c in (mine, others)]
    assert cost[0] == pytest.approx(cost[1], rel=1e-5)


@dataclass
class Scanned:
    """Changes that are only ever scanned, as the pairs of many elements are: each scan brings back very few."""

    all: Changes
    most: int
    scans: int = 0

    @property
    def size(self) -> int:
        return self.all.size

    def steepest(self, rows: np.ndarray, limit: int) -> Steepest:
        self.scans += 1
        return self.all.steepest(rows, min(limit, self.most))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("count", [3.0, 100.0])
def test_separation_reaches_the_optimum_of_the_written_out_pairs(name: str, count: float) -> None:
    changes, q = plane(8, 14), np.random.default_rng(8).random((2, 14))
    scanned = Scanned(changes, 5)
    one = fit_jointly(q[0], scanned, count, ONE_ROW[name])
    assert one.value == pytest.approx(fit_jointly(q[0], changes, count, ONE_ROW[name]).value, rel=1e-6) and one.gap <= 1e-6
    whole, grown = (fit_rows_jointly(q, pairs, count, LOSSES[name]) for pairs in (changes, scanned))
    check(grown, q, changes, count, name)
    assert grown.lower_bound <= whole.value * (1 + 1e-9) and whole.lower_bound <= grown.value * (1 + 1e-9)
    assert grown.value == pytest.approx(whole.value, rel=2e-2) and scanned.scans > 10


def test_a_working_set_takes_in_each_change_once() -> None:
    changes = plane(9, 6)
    known = WorkingSet.of(changes.steepest(np.eye(6)[:1], 4))
    assert not known.add(changes.steepest(np.eye(6)[:1], 4))
    assert known.add(changes.steepest(np.eye(6)[:2], 9))
    assert len(set(known.keys.tolist())) == known.keys.size == known.changes.count
    for key, column, budget in zip(known.keys, known.changes.matrix.T.toarray(), known.changes.budget, strict=True):
        assert (column == changes.matrix[:, [key]].toarray().ravel()).all() and budget == changes.budget[key]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("count", [0.5, 4.0, 40.0])
def test_no_feasible_pair_of_a_grid_is_below_the_bound_or_far_below_the_value(name: str, count: float) -> None:
    """Two points, two rows moved inwards to differences x: the best c for each is closed."""
    b, spread = 0.8, np.array([1.0, 0.4])
    changes, q = Changes.pairs(2, [0], [1], [b]), np.array([[0.0, 1.0], [0.7, 0.3]])
    x = np.stack(np.meshgrid(np.linspace(0, 1.0, 401), np.linspace(0, 0.4, 401), indexing="ij"), axis=-1)
    off = (spread - x) / 2
    roots, thirds = np.sqrt(x).sum(axis=-1), np.cbrt(np.square(x)).sum(axis=-1)
    least = {
        "total": 2 * count**2 * np.square(off).sum(axis=-1) + 2 * thirds**3 / b**2,
        "squares": count**2 * np.square(off).sum(axis=-1) + 2 * thirds**3 / b**2,
        "absolutes": count * off.sum(axis=-1) + roots**2 / b,
        # Equal scales are the best only where the biases are equal: an upper estimate of the least loss.
        "queries": (count**2 * np.square(off)).max(axis=-1) + 2 * (x.sum(axis=-1) / b) ** 2,
    }[name].min()
    found = fit_rows_jointly(q, changes, count, LOSSES[name], tolerance=1e-6)
    check(found, q, changes, count, name)
    assert found.lower_bound <= least * (1 + 1e-9)
    assert found.value <= least * (1 + 2e-2)


@pytest.mark.parametrize("name", LOSSES)
@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_every_bound_is_below_every_feasible_pair(name: str, seed: int) -> None:
    """Any multipliers and signs, and rows alone, against random rows with scales that keep the budgets."""
    rng = np.random.default_rng(seed)
    changes, k, count = plane(seed, 5), 3, float(rng.choice([0.3, 2.0, 30.0]))
    q, p = rng.random((2, k, 5))
    p = q + rng.choice([0.0, 0.1, 1.0]) * (p - q)
    scales = rng.random(k) + 0.05
    feasible = ScaledFit(p, scales * ScaledFit(p, scales).worst(changes))
    multipliers = rng.exponential(1.0, changes.count) * (rng.random(changes.count) < 0.5) * 10 ** rng.uniform(-2, 2)
    signs = np.where(rng.random((k, changes.count)) < 0.8, np.sign(changes.along(q)), rng.uniform(-2, 2, (k, changes.count)))
    loss: RowsLoss = LOSSES[name]
    value = by_definition(name, feasible.values - q, feasible.scales, count)
    guide = ScaledFit(p + 0.1 * rng.normal(size=p.shape), rng.random(k) + 0.01)
    assert multiplier_bound(q, changes, count, loss, multipliers, signs, guide) <= value * (1 + 1e-12)
    assert fit_rows_alone(q, changes, count, loss)[1] <= value * (1 + 1e-12)


@pytest.mark.parametrize("name", ["squares", "absolutes"])
def test_the_bound_of_two_points_is_reached(name: str) -> None:
    """One row over two points at distance b: the program in closed form, at its own multiplier."""
    changes, q, n, b = Changes.pairs(2, [0], [1], [2.0]), np.array([[0.0, 1.0]]), 3.0, 2.0
    power = LOSSES[name].power
    moved = np.linspace(0, 0.5, 50_001)  # p = (m, 1 - m) moves by 1 - 2 m
    values = (n * moved) ** power + power * ((1 - 2 * moved) / b) ** power
    m = moved[values.argmin()]
    guide = ScaledFit(np.array([[m, 1 - m]]), np.array([max((1 - 2 * m) / b, 1e-3)]))
    loads, sign = np.geomspace(1e-3, 10, 400), np.array([[-1.0]])
    bounds = [multiplier_bound(q, changes, n, LOSSES[name], np.array([load]), sign, guide) for load in loads]
    assert values.min() * (1 + 1e-9) >= max(bounds) >= 0.98 * values.min()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("count", [2.0, 30.0])
def test_rows_alone_are_the_relaxation_by_a_modelling_layer(name: str, count: float) -> None:
    import cvxpy as cp

    changes, q = plane(6, 8), np.random.default_rng(6).random((2, 8))
    p, c = cp.Variable(q.shape), cp.Variable(2, nonneg=True)
    off = count * (p - q)
    value = {
        "total": cp.sum_squares(off) + 2 * cp.sum_squares(c),
        "squares": cp.square(cp.max(cp.norm(off, 2, axis=0))) + 2 * cp.sum_squares(c),
        "absolutes": cp.max(cp.norm(off, 1, axis=0)) + cp.sum(c),
        "queries": cp.max(cp.hstack([cp.square(cp.norm(off[k], "inf")) + 2 * cp.square(c[k]) for k in range(2)])),
    }[name]
    near = [cp.abs(p[k] @ changes.matrix) <= c[k] * changes.budget for k in range(2)]
    least = float(cp.Problem(cp.Minimize(value), near).solve(solver=cp.CLARABEL))
    rows, bound = fit_rows_alone(q, changes, count, LOSSES[name])
    assert bound <= least * (1 + 1e-6) and bound == pytest.approx(least, rel=1e-3)
    needed = np.array([changes.worst(row) for row in rows])
    assert by_definition(name, rows - q, needed, count) <= least * (1 + 1e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_a_bound_of_rows_far_from_0_is_no_higher_than_that_of_the_rows_themselves(name: str) -> None:
    """Constants move nothing: 2^30 more in every entry leaves the optimum where it is, but not the rounding of f'q."""
    changes, q = plane(6, 8), np.round(np.random.default_rng(6).random((2, 8)) * 2**20) / 2**20
    near, far = (fit_rows_jointly(rows, changes, 20.0, LOSSES[name]) for rows in (q, q + 2.0**30))
    assert far.lower_bound <= near.value * (1 + 1e-12) and near.lower_bound <= far.value * (1 + 1e-12)
    assert far.lower_bound >= 0.8 * near.lower_bound


def test_losses_are_what_their_definitions_say() -> None:
    rng = np.random.default_rng(12)
    off, c = rng.normal(size=(3, 6)), rng.random(3)
    for name, loss in LOSSES.items():
        assert loss.value(off, c, 1.7) == pytest.approx(by_definition(name, off, c, 1.7), rel=1e-12)


@pytest.mark.parametrize("kind", ["real", "binary"])
@pytest.mark.parametrize("count", [3.0, 30.0, 1000.0])
def test_several_rows(kind: str, count: float) -> None:
    rng = np.random.default_rng(2)
    changes = plane(2, 10)
    q = rng.random((3, 10)) if kind == "real" else rng.integers(0, 2, (3, 10)).astype(float)
    found = fit_rows_jointly(q, changes, count)
    check(found, q, changes, count)
    best = scales_by_modelling_layer(q, changes, "total")
    start = TOTAL_SQUARES.value(q - q, best, count)
    assert found.value <= start * (1 + 1e-6)
    assert found.gap <= 0.15
    if count == 3.0:
        assert found.value < 0.5 * start
    if count == 1000.0:
        assert found.gap <= 1e-3
    # A local optimum: no random move of P with the best scales for it gains more than the tolerance.
    for size in np.geomspace(1e-4, 0.1, 12):
        moved = found.point.values + size * rng.normal(size=q.shape) * np.abs(found.point.values - q).max()
        fit = ScaledFit(moved, best_scales(moved, changes, TOTAL_SQUARES))
        loss = by_definition("total", moved - q, fit.scales * fit.worst(changes), count)
        assert loss >= found.value * (1 - 1e-3)


def test_the_start_is_stuck_for_plain_alternation_but_not_here() -> None:
    """At P = Q the best P for the scales is Q (no bias), the best scales for Q are the start's: yet a better pair exists."""
    changes, q = plane(3, 8), np.random.default_rng(3).random((2, 8))
    start = ScaledFit(q, best_scales(q, changes, TOTAL_SQUARES))
    assert start.worst(changes) <= 1 + 1e-5
    assert fit_rows_jointly(q, changes, 5.0).value < 0.9 * TOTAL_SQUARES.value(q - q, start.scales, 5.0)


def test_where_records_are_few_some_rows_are_left_still() -> None:
    """Absolute errors: one row takes the budgets, the other one is a constant without noise."""
    changes, q = plane(3, 8), np.random.default_rng(3).random((2, 8))
    found = fit_rows_jointly(q, changes, 0.1, WORST_ABSOLUTES)
    check(found, q, changes, 0.1, "absolutes")
    assert (found.point.scales == 0.0).all() and found.value == pytest.approx(0.1 * found_middle(q), rel=1e-3)


def found_middle(q: np.ndarray) -> float:
    """The least largest l1 distance of a point to the columns of q, by linear programming."""
    import cvxpy as cp

    middle = cp.Variable((len(q), 1))
    return float(cp.Problem(cp.Minimize(cp.max(cp.norm(q - middle @ np.ones((1, q.shape[1])), 1, axis=0)))).solve())


def test_rows_that_do_not_move_cost_nothing() -> None:
    changes = plane(5, 6)
    q = np.vstack([np.full(6, 2.0), np.random.default_rng(5).random(6)])
    found = fit_rows_jointly(q, changes, 4.0)
    check(found, q, changes, 4.0)
    assert found.point.scales[0] == 0.0
    assert np.array_equal(found.point.values[0], q[0])
    still = fit_rows_jointly(q[:1], changes, 4.0)
    assert (still.value, still.status) == (0.0, Status.OPTIMAL)


def test_largest_squared_error_over_all_vectors_of_three_records() -> None:
    rng = np.random.default_rng(6)
    q, p, c = rng.random((2, 4)), rng.random((2, 4)), rng.random(2)
    histograms = [np.bincount(records, minlength=4) for records in itertools.product(range(4), repeat=3)]
    brute = max(float(np.square((p - q) @ x).sum() + 2 * np.square(c).sum()) for x in histograms)
    assert WORST_SQUARES.value(p - q, c, 3.0) == pytest.approx(brute, rel=1e-12)
    assert WORST_SQUARES.value(p - q, c, 3.0) <= TOTAL_SQUARES.value(p - q, c, 3.0)


def test_exact_worst_absolute_and_single_query_errors_over_all_vectors_of_three_records() -> None:
    """`E|b + z| = |b| + c exp(-|b| / c)`: the absolute loss is at least the exact one, and at most 1.47 of it."""
    rng = np.random.default_rng(7)
    histograms = [np.bincount(records, minlength=4) for records in itertools.product(range(4), repeat=3)]
    for _ in range(50):
        off, c = rng.normal(size=(2, 4)) * 10 ** rng.uniform(-2, 1), rng.random(2) + 0.01
        biases = np.abs([off @ x for x in histograms])
        exact = (biases + c * np.exp(-biases / c)).sum(axis=1).max()
        assert exact <= WORST_ABSOLUTES.value(off, c, 3.0) <= 1.47 * exact
        brute = max(float((b**2 + 2 * c**2).max()) for b in biases)
        assert WORST_OF_QUERIES.value(off, c, 3.0) == pytest.approx(brute, rel=1e-12)


def test_worst_is_infinite_where_an_unscaled_row_moves() -> None:
    changes = plane(5, 6)
    assert ScaledFit(np.eye(6)[:2], np.array([0.0, 1.0])).worst(changes) == np.inf


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(0.1, 1.0))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_one_dimensional_infimum(a: float, e: float, v: float) -> None:
    c = np.geomspace(1e-9, 1e4, 60_001)
    t = np.minimum(1.0 / c, a / (2.0 * e))
    dense = float((2.0 * v * c**2 + t * a - t**2 * e).min())
    found = float(least_of_row(np.array(v), np.array(a), np.array(e)))
    assert found <= dense * (1 + 1e-12)
    assert found == pytest.approx(dense, rel=1e-5)


@pytest.mark.parametrize("scales", [[1.0], [1.0, -1.0], [1.0, np.inf]])
def test_validator(scales: list[float]) -> None:
    with pytest.raises(ValueError, match="one finite scale"):
        ScaledFit(np.ones((2, 3)), np.array(scales))
