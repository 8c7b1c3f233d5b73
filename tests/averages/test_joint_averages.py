"""Program (13), squared loss: against every row of small domains, a modelling layer with all pairs, closed forms,
and random designs."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from designer import AdditiveMechanism, DesignFailed, Domain, InvalidProblem, StatisticalQueries, design, metrics
from designer.averages.averages import average_bounds
from designer.averages.joint_averages import squared_averages, worst_squared_error
from solvers.programs.biconvex import ScaledFit, fit_rows_alone, fit_rows_jointly, multiplier_bound
from solvers.programs.changes import Changes
from solvers.programs.lipschitz import SQUARED_MAXIMUM, Distances, fit_uniformly
from solvers.programs.row_losses import GroupedSquares

DOMAIN = Domain.of({"a": 3, "b": [0, 1, 4]})
A, B = [0.0, 1.0, 3.0], [0.0, 0.5, 2.0]
BUDGETS = {"a": 0.05, "b": metrics.euclidean([0, 1, 4], per_unit=0.02)}
ONE_BY_ONE: dict[str, Any] = {"a": ("a", A), "b": ("b", B)}
TWO_OF_A: dict[str, Any] = {**ONE_BY_ONE, "top": ("a", [0.0, 0.0, 1.0])}
SHARED: dict[str, Any] = {**ONE_BY_ONE, "both": [("a", [0.0, 1.0, 1.0]), ("b", [1.0, 0.0, 0.0])]}
ASKED = {"one by one": ONE_BY_ONE, "two of a group": TWO_OF_A, "shared": SHARED}
ROWS = list(product(range(3), range(3)))


def asked(name: str) -> StatisticalQueries:
    return StatisticalQueries.of(DOMAIN, ASKED[name], BUDGETS)


def of_rows(queries: StatisticalQueries, matrix: np.ndarray) -> np.ndarray:
    """What a matrix over images, group by group, says of every row of the domain, (K, rows)."""
    start = queries.groups[0].metric.size
    first, second = (group.index for group in queries.groups)
    return np.stack([matrix[:, first[a]] + matrix[:, start + second[b]] for a, b in ROWS], axis=1)


def distance(u: tuple[int, int], v: tuple[int, int]) -> float:
    places = (0, 1, 4)
    return 0.05 * (u[0] != v[0]) + 0.02 * abs(places[u[1]] - places[v[1]])


def answers(name: str) -> np.ndarray:
    """The statistics of every row, written down again."""
    table = {"a": [A[a] for a, _ in ROWS], "b": [B[b] for _, b in ROWS], "top": [float(a == 2) for a, _ in ROWS]}
    table["both"] = [float(a > 0) + float(b == 0) for a, b in ROWS]
    return np.array([table[key] for key in ASKED[name]])


@pytest.mark.parametrize("n", [2.0, 10.0, 60.0])
@pytest.mark.parametrize("name", ASKED)
def test_every_pair_of_rows_is_within_its_budget_and_the_value_is_the_worst_row(name: str, n: float) -> None:
    queries = asked(name)
    made = squared_averages(queries, n)
    p, c = of_rows(queries, made.effective), made.scales
    for (i, u), (j, v) in combinations(enumerate(ROWS), 2):
        moves = np.abs(p[:, i] - p[:, j])
        assert (moves[c == 0] == 0).all()
        assert (moves[c > 0] / c[c > 0]).sum() <= distance(u, v) * (1 + 1e-12)
    worst = np.square(p - answers(name)).sum(axis=0).max()
    stated = worst_squared_error(queries, made)
    if name == "shared":
        assert worst <= stated * (1 + 1e-12)
    else:
        assert stated == pytest.approx(worst, rel=1e-9, abs=1e-12)
    assert made.optimality is not None
    assert made.optimality.value == pytest.approx(stated + 2 * np.square(c).sum() / n**2, rel=1e-12)
    assert made.optimality.gap <= (1e-9 if name == "one by one" else 0.1)
    unbiased = design(queries.problem(), "laplace").mechanism
    assert made.optimality.value <= 2 * np.square(unbiased.scales).sum() / n**2 * (1 + 1e-4)


def least_for_scales(name: str, scales: np.ndarray, n: float) -> float:
    """`n^2 max_u ||p(u) - f(u)||^2 + 2 ||C||^2` over ALL functions p of rows, every pair of rows written out."""
    f = answers(name)
    p = cp.Variable(f.shape)
    near = [cp.sum(cp.abs(p[:, i] - p[:, j]) / scales) <= distance(u, v) for (i, u), (j, v) in combinations(enumerate(ROWS), 2)]
    solved = cp.Problem(cp.Minimize(cp.max(cp.norm(p - f, 2, axis=0))), near).solve(solver=cp.CLARABEL)
    return float(n**2 * solved**2 + 2 * np.square(scales).sum())


@pytest.mark.parametrize("n", [3.0, 20.0])
def test_one_by_one_nothing_is_lost_against_all_functions_of_a_row(n: float) -> None:
    made = squared_averages(asked("one by one"), n)
    assert made.optimality is not None
    value = made.optimality.value * n**2
    assert value == pytest.approx(least_for_scales("one by one", made.scales, n), rel=1e-5)
    for factors in product((0.7, 0.95, 1.05, 1.4), repeat=2):  # and no other scales are better
        assert least_for_scales("one by one", made.scales * factors, n) >= value * (1 - 1e-6)


@pytest.mark.parametrize("name", ["two of a group", "shared"])
def test_the_descent_finds_what_a_search_over_scales_finds(name: str) -> None:
    """For given scales the best p is a convex program: here over all functions of rows, of which sums over groups are some."""
    n = 8.0
    made = squared_averages(asked(name), n)
    assert made.optimality is not None
    generator, near = np.random.default_rng(0), np.where(made.scales > 0, made.scales, 0.2 * made.scales.max())
    found = [least_for_scales(name, near * np.exp(0.3 * generator.normal(size=3)), n) for _ in range(12)]
    # The value of shared statistics is an upper bound, in which each of them has a worst row of its own.
    assert made.optimality.value * n**2 <= min(found) * (1.10 if name == "shared" else 1.02)
    if name != "shared":
        assert min(found) >= made.optimality.lower_bound * n**2 * (1 - 1e-6)


def test_closed_forms_and_the_descent_agree_where_both_apply() -> None:
    generator = np.random.default_rng(3)
    d = [np.abs(np.subtract.outer(x, x)) for x in (generator.random(4), generator.random(5))]
    q = np.zeros((2, 9))
    q[0, :4], q[1, 4:] = generator.random(4), generator.random(5)
    pairs = [(i, j) for i, j in combinations(range(9), 2) if (i < 4) == (j < 4)]
    budgets = [d[0][i, j] if j < 4 else d[1][i - 4, j - 4] for i, j in pairs]
    changes = Changes.pairs(9, *np.array(pairs).T, budgets)
    loss, parts = GroupedSquares(np.array([0, 4, 9]), np.array([0, 1])), (slice(0, 4), slice(4, 9))
    for n in (0.5, 3.0, 30.0):
        exact = sum(fit_uniformly(q[k, own], Distances(d[k]), n, SQUARED_MAXIMUM).value for k, own in enumerate(parts))
        found = fit_rows_jointly(q, changes, n, loss)
        assert found.lower_bound <= exact * (1 + 1e-9) and found.value == pytest.approx(exact, rel=1e-3)


def grouped(seed: int) -> tuple[GroupedSquares, np.ndarray, Changes]:
    """Three groups of 2, 3 and 2 columns; a row of group 0, two of group 1, and one of all."""
    generator = np.random.default_rng(seed)
    starts, owner = np.array([0, 2, 5, 7]), np.array([0, 1, 1, -1])
    group = np.repeat(range(3), (2, 3, 2))
    q = np.where((owner[:, None] == group) | (owner[:, None] < 0), generator.random((4, 7)), 0.0)
    pairs = np.array([(i, j) for i, j in combinations(range(7), 2) if group[i] == group[j]])
    return GroupedSquares(starts, owner), q, Changes.pairs(7, *pairs.T, generator.random(len(pairs)) + 0.3)


@pytest.mark.parametrize("seed", range(5))
def test_the_bias_over_every_choice_of_columns(seed: int) -> None:
    loss, off, _ = grouped(seed)
    choices = [list(u) for u in product((0, 1), (2, 3, 4), (5, 6))]
    totals = np.array([off[:, u].sum(axis=1) for u in choices])
    own = np.square(totals[:, :3]).sum(axis=1).max()
    assert loss.bias(off) == pytest.approx(own + np.square(totals[:, 3]).max(), rel=1e-12)
    assert loss.bias(off) >= np.square(totals).sum(axis=1).max() * (1 - 1e-12)
    still = loss.middle(off)
    assert all(np.ptp(still[:, a:b], axis=1).max() == 0 for a, b in ((0, 2), (2, 5), (5, 7)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [1.0, 10.0])
def test_rows_alone_and_bounds_against_a_modelling_layer(seed: int, n: float) -> None:
    loss, q, changes = grouped(seed)
    p, c = cp.Variable(q.shape), cp.Variable(4, nonneg=True)
    off, ends = n * (p - q), ((0, 2), (2, 5), (5, 7))
    s, rho = cp.Variable(3), cp.Variable()
    limits = [cp.abs(p[k] @ changes.matrix) <= c[k] * changes.budget for k in range(4)]
    limits += [s[g] >= cp.norm(off[:3, i]) for g, (a, b) in enumerate(ends) for i in range(a, b)]
    limits += [rho >= sum(cp.max(sign * off[3, a:b]) for a, b in ends) for sign in (1, -1)]
    least = float(
        cp.Problem(cp.Minimize(cp.sum_squares(s) + cp.square(rho) + 2 * cp.sum_squares(c)), limits).solve(cp.CLARABEL)
    )
    _, bound = fit_rows_alone(q, changes, n, loss)
    assert bound <= least * (1 + 1e-6) and bound == pytest.approx(least, rel=1e-3)
    generator = np.random.default_rng(seed)
    for _ in range(40):  # any multipliers and signs, against random designs that keep the budgets
        moved = q + generator.choice([0.0, 0.1, 1.0]) * generator.normal(size=q.shape) * (q != 0)
        scales = generator.random(4) + 0.05
        scales *= ScaledFit(moved, scales).worst(changes)
        load = generator.exponential(1.0, changes.count) * 10 ** generator.uniform(-2, 2)
        signs = np.where(generator.random((4, changes.count)) < 0.8, np.sign(changes.along(q)), 0.5)
        guide = ScaledFit(moved, generator.random(4) + 0.01)
        assert multiplier_bound(q, changes, n, loss, load, signs, guide) <= loss.value(moved - q, scales, n) * (1 + 1e-12)


def test_weights_and_release() -> None:
    queries = asked("two of a group")
    made = squared_averages(queries, 10.0, {"top": 100.0})
    assert made.optimality is not None and made.optimality.gap <= 0.1
    plain = squared_averages(queries, 10.0)
    v = np.array([1.0, 1.0, 100.0])

    def loss(one: AdditiveMechanism) -> float:
        return worst_squared_error(queries, one, v) + 2 * float((v * one.scales**2).sum()) / 100

    assert made.optimality.value == pytest.approx(loss(made), rel=1e-12) and loss(made) <= loss(plain) * (1 + 1e-3)
    records = [{"a": 0, "b": 4}, {"a": 2, "b": 1}] * 5
    assert np.isfinite(queries.release(made, records).answers).all()
    bounds = average_bounds(queries, made, 10.0)
    assert bounds.centred >= worst_squared_error(queries, made)


@pytest.mark.parametrize(
    ("statistics", "budgets", "options", "error", "text"),
    [
        (ONE_BY_ONE, BUDGETS, {"n": 0}, InvalidProblem, "n"),
        (ONE_BY_ONE, BUDGETS, {"weights": {"c": 1}}, InvalidProblem, "weights: .* the statistics are .'a', 'b'"),
        (ONE_BY_ONE, BUDGETS, {"weights": {"a": -1}}, InvalidProblem, r"weights\[a\]"),
        (ONE_BY_ONE, BUDGETS, {"weights": [1, 2]}, InvalidProblem, "weights: .* is no mapping"),
        (TWO_OF_A, {**BUDGETS, "a": metrics.from_matrix(np.zeros((3, 3)))}, {}, DesignFailed, "budget 0 and different answers"),
        ({"none": ("a", [1.0, 1.0, 1.0])}, BUDGETS, {}, DesignFailed, "no statistic depends on the attributes"),
    ],
)
def test_refusals(statistics: Any, budgets: Any, options: dict[str, Any], error: type[Exception], text: str) -> None:
    queries = StatisticalQueries.of(DOMAIN, statistics, budgets)
    with pytest.raises(error, match=text):
        squared_averages(queries, **{"n": 10.0, **options})


def test_too_many_unknowns_are_refused_before_they_are_tried() -> None:
    domain = Domain.of({"a": 700, "b": 2})
    many: Any = {f"s{k}": ("a", np.arange(700.0) ** (k + 1)) for k in range(6)}
    with pytest.raises(DesignFailed, match="6 statistics of 700 images are 4200 unknowns, more than 4000"):
        squared_averages(StatisticalQueries.of(domain, many, {"a": 1.0, "b": 1.0}), 10.0)
