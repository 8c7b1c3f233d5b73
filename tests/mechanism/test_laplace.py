"""The Laplace family: global optimality on random problems, baselines, degenerate queries, and the paper's own identities."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, Domain, NotPrivate, Problem, Workload, compare, design, metrics
from designer.accounts.composition.terms import rule_of
from designer.certificate.norms import weighted_l1
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid
from designer.relations.metrics.points import GreatCircle
from designer.relations.metrics.presence import AddRemove

BASELINES = ("strategy_1", "strategy_2", "strategy_3", "uniform_budget")


def random_problem(seed: int) -> Problem:
    """Problems of every kind of relation, loss and query, up to 8 queries and 30 elements."""
    generator = np.random.default_rng(seed)
    queries, elements = int(generator.integers(1, 9)), int(generator.integers(2, 31))
    workload = Workload.random(queries, elements, ("real", "binary")[seed % 2], seed)
    relation = (
        lambda: metrics.euclidean(generator.random((elements, 2)) * 10),
        lambda: metrics.add_remove(elements, generator.random(elements) + 0.1),
        lambda: metrics.uniform(elements, float(generator.random() + 0.1)),
        lambda: metrics.great_circle(generator.uniform(-80, 80, (elements, 2)), 0.001),
        lambda: metrics.from_matrix(uneven(generator, elements), closure=True),
    )[seed % 5]()
    loss = ("squared", "absolute", "max")[seed % 3]
    return Problem(workload, relation, loss=loss, weights=generator.random(queries) + 0.5)  # type: ignore[arg-type]


def uneven(generator: np.random.Generator, size: int) -> np.ndarray:
    """A symmetric matrix of budgets, about a third of them infinite."""
    shape = (size, size)
    upper = np.triu(np.where(generator.random(shape) < 0.3, np.inf, generator.random(shape) + 0.1), 1)
    full = np.maximum(upper, upper.T)
    np.fill_diagonal(full, 0.0)
    full[0, 1] = full[1, 0] = 1.0  # at least one protected change
    return full


def exact_worst_ratio(problem: Problem, mechanism: AdditiveMechanism) -> Fraction:
    """Brute force over all pairs in rationals, from the frozen integers, steps and weights alone."""
    steps = [Fraction(2) ** e for e in mechanism.grid.exponents]
    weights = mechanism.norm.map
    columns = [list(map(int, column)) for column in problem.relation.points(mechanism.integers.T)]
    worst = Fraction(0)
    for i in range(len(columns)):
        for j in range(i):
            alone = isinstance(problem.relation, AddRemove)
            if alone and i < problem.relation.size:
                continue
            budget = problem.relation.exact_budget(j, i)
            moved = [(abs(a - b) * s, w) for a, b, s, w in zip(columns[i], columns[j], steps, weights, strict=True) if a != b]
            if budget is None or not moved:
                continue
            assert all(np.isfinite(w) for _, w in moved)
            worst = max(worst, sum(u * Fraction(float(w)) for u, w in moved) / budget)
    return worst


@pytest.mark.parametrize("block", range(10))
def test_no_baseline_beats_the_optimum_and_certificates_hold_exactly(block: int) -> None:
    """200 random problems: optimum below every baseline, certified gap,
    and the worst ratio recomputed in rationals at most 1."""
    for seed in range(20 * block, 20 * block + 20):
        problem = random_problem(seed)
        table = compare(problem, ["laplace", *BASELINES])
        best = table.designs["laplace"]
        for name in BASELINES:
            if name in table.designs:
                assert best.loss <= table.designs[name].loss * (1 + 1e-8), (seed, name)
        assert best.optimality is not None and best.optimality.gap <= 1e-8, seed
        exact = exact_worst_ratio(problem, best.mechanism)
        assert exact <= 1 and best.privacy.holds and best.privacy.worst_ratio is not None, seed
        assert exact <= best.privacy.worst_ratio <= 1, seed
        assert float(best.privacy.worst_ratio) == pytest.approx(
            float(exact), abs=1e-6 if isinstance(problem.relation, GreatCircle) else 1e-10
        )


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_optimum_agrees_with_cvxpy_over_all_pairs(loss: str) -> None:
    problem = Problem(Workload.random(4, 12, seed=5), metrics.euclidean(np.random.default_rng(5).random((12, 2))), loss=loss)  # type: ignore[arg-type]
    rows = np.abs(problem.sensitivity().all_pairs().normalised)
    weights = cp.Variable(4)
    objective = {
        "squared": 2 * cp.sum(cp.power(weights, -2)),
        "absolute": cp.sum(cp.inv_pos(weights)),
        "max": 2 * cp.max(cp.power(weights, -2)),
    }[loss]
    value = cp.Problem(cp.Minimize(objective), [rows @ weights <= 1]).solve(solver=cp.CLARABEL)
    assert design(problem, "laplace").optimality.value == pytest.approx(value, rel=1e-6)  # type: ignore[union-attr]


def test_error_of_real_valued_answers_is_twice_the_squared_scales() -> None:
    """Entries without a common unit: the grid is as good as the real line."""
    matrix = np.diag([0.3, 0.2, 0.1, 0.25]) @ (np.eye(4) + np.pi)
    made = design(Problem(Workload(matrix), metrics.add_remove(4, 0.5)), "laplace")
    scales = made.mechanism.scales
    assert made.error == pytest.approx(2 * (scales**2).sum(), rel=1e-9)
    assert made.mechanism.error("absolute") == pytest.approx(scales.sum(), rel=1e-9)
    assert made.mechanism.error("max") == pytest.approx(2 * scales.max() ** 2, rel=1e-9)


@pytest.mark.parametrize("budget", [0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_counts_have_the_error_of_the_geometric_law_and_whole_answers(
    budget: float, loss: Literal["squared", "absolute", "max"]
) -> None:
    made = design(Problem(Workload.identity(4), metrics.add_remove(4, budget), loss=loss), "laplace")
    variance, absolute = 1 / (2 * np.sinh(budget / 2) ** 2), 1 / np.sinh(budget)
    assert made.mechanism.grid.exponents == (0, 0, 0, 0)
    assert made.mechanism.error("squared") == pytest.approx(4 * variance, rel=1e-8)
    assert made.mechanism.error("absolute") == pytest.approx(4 * absolute, rel=1e-8)
    assert made.mechanism.error("max") == pytest.approx(variance, rel=1e-8)
    assert made.optimality is not None and made.optimality.gap <= 1e-9
    answers = made.mechanism.release([1, 2, 3, 2**40]).answers
    assert (answers == np.rint(answers)).all()


@pytest.mark.parametrize("unit", [0.25, 4.0, 2.0**-60])
def test_answers_are_multiples_of_the_largest_power_of_two_that_all_entries_share(unit: float) -> None:
    matrix = unit * np.array([[1.0, 3, 0], [2, 4, 6]])
    made = design(Problem(Workload(matrix), metrics.add_remove(3, 3.0)), "laplace").mechanism
    assert made.measured is None and made.grid.steps.tolist() == [unit, 2 * unit] and (made.effective == matrix).all()


COINS = {  # queries, the unit of their protected differences where records come and go, and where their number is public
    "multiples of three": ([3.0, 6, 0, 12], 3.0, 3.0),
    "odd numbers": ([1.0, 3, 5, 9], 1.0, 2.0),
    "signs": ([1.0, -1, 1, -1], 1.0, 2.0),
    "sevens on a constant": ([1002.0, 1009, 995, 1002], 1.0, 7.0),
    "thirds": ([1 / 3, 2 / 3, 0, 1], 1 / 3, 1 / 3),
    "tenths": ([0.1, 0.2, 0.3, -0.4], 0.1, 0.1),
    "tenths on a constant": ([0.25, 0.35, 0.45, 0.15], 0.05, 0.1),
    "sixths and tenths": ([1 / 6, 0.1, 0, 0.3], 1 / 30, 1 / 30),
    "one number": ([0.1234567, 0.1234567, 0, 0], 0.1234567, 0.1234567),
    "large numbers": ([3e12, 9e12, 0, 6e12], 3e12, 3e12),
}


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("name", COINS)
def test_noise_is_whole_multiples_of_the_largest_unit_of_all_differences(name: str, public: bool) -> None:
    row, *units = COINS[name]
    unit, budget = units[public], 1.5
    relation = metrics.uniform(4, budget) if public else metrics.add_remove(4, budget)
    made = design(Problem(Workload([row]), relation), "laplace")
    reach = np.ptp(row) if public else np.abs(row).max()
    assert made.mechanism.scales == pytest.approx([reach / budget], rel=1e-9)
    assert made.error == pytest.approx(unit**2 / (2 * np.sinh(unit * budget / reach / 2) ** 2), rel=1e-8)
    np.testing.assert_allclose(made.mechanism.effective, [row], rtol=1e-12, atol=1e-12 * reach)
    assert made.optimality is not None and made.optimality.gap <= 1e-9
    counts = np.array([5, 0, 7, 2])
    noise = np.array([made.mechanism.release(counts).answers[0] for _ in range(20)]) - counts @ np.array(row)
    np.testing.assert_allclose(noise / unit, np.rint(noise / unit), atol=1e-3)


def test_constants_are_set_aside_component_by_component() -> None:
    """Two islands of whole differences 2 and 6, each with its own constant: noise lies on the even numbers."""
    inf = np.inf
    islands = metrics.from_matrix([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, 1], [inf, inf, 1, 0]])
    made = design(Problem(Workload([[1.0, 3, 8, 14]]), islands), "laplace")
    assert made.error == pytest.approx(4 / (2 * np.sinh(1 / 6) ** 2), rel=1e-9)
    assert {made.mechanism.release([1, 2, 3, 4]).answers[0] % 2 for _ in range(30)} == {1.0}


def test_numbers_without_a_short_common_unit_keep_the_fine_grid() -> None:
    matrix = np.random.default_rng(0).random((3, 5))
    made = design(Problem(Workload(matrix), metrics.uniform(5, 1.0)), "laplace")
    assert made.mechanism.measured is None and max(made.mechanism.grid.exponents) < -35


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_no_other_weights_do_better_on_whole_numbers(seed: int, loss: Literal["squared", "absolute", "max"]) -> None:
    """Against thousands of private weights near and far, the loss summed over the law itself."""
    generator = np.random.default_rng(seed)
    matrix, budgets = generator.integers(-3, 4, (2, 5)).astype(float), generator.uniform(1, 6, 5)
    problem = Problem(Workload(matrix), metrics.add_remove(5, budgets), loss=loss, weights=[1.0, 3.0])
    made = design(problem, "laplace")
    places, steps = np.arange(-400, 401), made.mechanism.grid.steps
    rows = np.abs(
        np.hstack(
            [
                matrix / budgets,
                *[(matrix[:, [i]] - matrix[:, [j]]) / (budgets[i] + budgets[j]) for i in range(5) for j in range(i)],
            ]
        )
    ).T
    found = 1 / made.mechanism.scales
    tries = found * np.exp(generator.normal(0, [[0.02]] * 1500 + [[0.5]] * 500, (2000, 2)))
    tries /= (tries @ rows.T).max(axis=1)[:, None]
    mass = np.exp(-tries[:, :, None] * steps[:, None] * np.abs(places))
    mass /= mass.sum(axis=2, keepdims=True)
    size = np.abs(steps[:, None] * places) ** (1 if loss == "absolute" else 2)
    each = np.array([1.0, 3.0]) * (mass * size).sum(axis=2)
    losses = each.max(axis=1) if loss == "max" else each.sum(axis=1)
    assert made.loss <= losses.min() * (1 + 1e-9) and losses.min() <= made.loss * 1.05


def test_uniform_metric_gives_the_standard_laplace_scale() -> None:
    # DX section 3.1: with d = epsilon everywhere, c = Delta_1 / epsilon is the standard mechanism;
    # with equal weights it is optimal here.
    problem = Problem(Workload.identity(5), metrics.uniform(5, 0.25))
    for name in ("laplace", "strategy_2", "uniform_budget"):
        assert design(problem, name).mechanism.scales == pytest.approx(np.full(5, 8.0), rel=1e-9)


def test_example_1_of_dx_scales() -> None:
    """DX Example 1's queries under the sum metric: the sensitive attribute gets noise 1 / eps_0, the other 1 / eps_1."""
    domain = Domain.of({"sex": ["M", "F"], "native": ["Y", "N"], "age": ["A", "B"]})
    relation = metrics.hamming(domain, {"sex": 2.0, "native": 0.5, "age": 2.0})
    for predicate, scale in (({"native": "N"}, 2.0), ({"sex": "M"}, 0.5)):
        made = design(Problem(Workload.predicates(domain, {"q": predicate}), relation), "laplace")
        assert made.mechanism.scales[0] == pytest.approx(scale, rel=1e-9)


def test_single_query_has_the_closed_form_scale() -> None:
    generator = np.random.default_rng(2)
    points, query = generator.random((40, 2)), generator.random(40)
    made = design(Problem(Workload([query]), metrics.euclidean(points)), "laplace")
    distances = metrics.euclidean(points).distances()
    closed = np.nanmax(np.abs(query[:, None] - query) / np.where(distances > 0, distances, np.nan))
    assert made.mechanism.scales[0] == pytest.approx(closed, rel=1e-9)


def test_constant_queries_are_published_exactly_and_said_so() -> None:
    workload = Workload([[1, 1, 1], [1, 0, 0], [2, 2, 2]], queries=["total", "first", "double"])
    made = design(Problem(workload, metrics.uniform(3, 1.0)), "laplace")
    assert made.mechanism.scales.tolist()[::2] == [0.0, 0.0]
    released = made.mechanism.release([3, 4, 5])
    assert released.answers[0] == 12 and released.answers[2] == 24
    assert any("total" in line and "double" in line for line in made.mechanism.guarantee.unprotected)


def test_all_queries_constant_needs_no_noise() -> None:
    made = design(Problem(Workload([[1, 1]]), metrics.uniform(2, 1.0), allow_vacuous=True), "laplace")
    assert made.error == 0 and made.privacy.holds and made.privacy.worst_ratio == 0


def test_duplicated_queries_share_the_budget() -> None:
    single = design(Problem(Workload([[1, 0, 0]]), metrics.uniform(3, 1.0)), "laplace")
    double = design(Problem(Workload([[1, 0, 0], [1, 0, 0]]), metrics.uniform(3, 1.0)), "laplace")
    assert double.mechanism.scales == pytest.approx(2 * single.mechanism.scales[0] * np.ones(2), rel=1e-6)


def test_equal_columns_at_distance_zero_are_fine_and_unequal_ones_refused() -> None:
    d = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0.0]])
    assert design(Problem(Workload([[1, 1, 0]]), metrics.from_matrix(d)), "laplace").mechanism.scales[0] == pytest.approx(
        1.0, rel=1e-9
    )
    with pytest.raises(DesignFailed, match="budget 0"):
        design(Problem(Workload([[1, 2, 0]]), metrics.from_matrix(d)), "laplace")


def test_infinite_budgets_leave_queries_without_noise() -> None:
    d = np.array([[0, np.inf, np.inf], [np.inf, 0, 1], [np.inf, 1, 0]])
    made = design(Problem(Workload([[1, 0, 0], [0, 1, 0]]), metrics.from_matrix(d)), "laplace")
    assert made.mechanism.scales[0] == 0 and made.mechanism.scales[1] == pytest.approx(1.0, rel=1e-9)
    assert any("components" in line for line in made.mechanism.guarantee.unprotected)


def test_raw_solver_weights_that_violate_are_refused() -> None:
    made = design(
        Problem(Workload.random(3, 10, seed=1), metrics.euclidean(np.random.default_rng(1).random((10, 2)))), "laplace"
    )
    good = made.mechanism
    with pytest.raises(NotPrivate, match=r"e\d+ -> e\d+"):
        AdditiveMechanism(good.family, good.workload, good.relation, weighted_l1(good.norm.map * (1 + 1e-9)), good.grid)


def test_strategies_are_feasible_and_as_defined() -> None:
    generator = np.random.default_rng(8)
    points, queries = generator.random((15, 2)), generator.random((3, 15))
    problem = Problem(Workload(queries), metrics.euclidean(points))
    distances = metrics.euclidean(points).distances() + np.diag(np.full(15, np.inf))
    differences = np.abs(queries[:, :, None] - queries[:, None])
    assert design(problem, "strategy_1").mechanism.scales == pytest.approx(
        3 * (differences / distances).max(axis=(1, 2)), rel=1e-9
    )
    assert design(problem, "strategy_2").mechanism.scales == pytest.approx(
        (differences.sum(axis=0) / distances).max(), rel=1e-9
    )
    assert design(problem, "uniform_budget").mechanism.scales == pytest.approx(
        differences.sum(axis=0).max() / distances.min(), rel=1e-9
    )
    assert design(problem, "strategy_3").mechanism.scales == pytest.approx(algorithm_3(queries, distances), rel=1e-6)


def algorithm_3(queries: np.ndarray, d: np.ndarray) -> np.ndarray:
    """DX Algorithm 3 as printed, pair by pair, stopped after 60 rounds or when a pair that every query needs is spent."""
    count, size = queries.shape
    pairs = [(i, j) for i in range(size) for j in range(i)]
    left = {pair: d[pair] for pair in pairs}
    total = np.zeros(count)
    for _ in range(60):
        live = [k for k in range(count) if all(left[p] > 1e-12 or queries[k, p[0]] == queries[k, p[1]] for p in pairs)]
        if not live:
            break
        moves = {p: np.abs(queries[:, p[0]] - queries[:, p[1]]) for p in pairs}
        alone = {k: max(moves[p][k] / left[p] for p in pairs if moves[p][k]) for k in live}
        step = np.zeros(count)
        for k in live:
            shares = {
                p: left[p] * (moves[p][k] / alone[k]) / sum(moves[p][other] / alone[other] for other in live)
                for p in pairs
                if moves[p][k]
            }
            step[k] = 1 / max(moves[p][k] / shares[p] for p in shares)
        for p in pairs:
            left[p] -= float(step @ moves[p])
        total += step
    return 1 / total


def test_adding_constants_or_permuting_elements_changes_nothing() -> None:
    generator = np.random.default_rng(4)
    points, queries, order = generator.random((20, 2)), generator.random((3, 20)), generator.permutation(20)
    plain = design(Problem(Workload(queries), metrics.euclidean(points)), "laplace").mechanism.scales
    shifted = design(Problem(Workload(queries + 5), metrics.euclidean(points)), "laplace").mechanism.scales
    permuted = design(Problem(Workload(queries[:, order]), metrics.euclidean(points[order])), "laplace").mechanism.scales
    assert shifted == pytest.approx(plain, rel=1e-8) and permuted == pytest.approx(plain, rel=1e-8)


def test_sparse_and_dense_workloads_give_the_same_mechanism() -> None:
    from scipy.sparse import csr_array

    matrix = np.random.default_rng(0).integers(0, 2, (4, 9)).astype(float)
    relation = metrics.uniform(9, 1.0)
    dense, sparse = (design(Problem(Workload(m), relation), "laplace").mechanism for m in (matrix, csr_array(matrix)))
    assert dense.norm.map == pytest.approx(sparse.norm.map, rel=1e-12)
    assert (dense.integers == sparse.integers).all()


def test_the_shapes_of_a_change_are_the_laws_of_the_answers_that_it_moves() -> None:
    """Two answers moved by 3 and 1 steps, one not at all: `sum max(0, p(z) - e^eps p(z - shift))` of each law written out."""
    made = AdditiveMechanism(
        "laplace",
        Workload([[0.0, 3.0], [0.0, 1.0], [1.0, 1.0]]),
        metrics.uniform(2, 2.0),
        weighted_l1([0.25, 0.5, 1.0]),
        grid=Grid((0, 0, 0)),
    )
    change = [(0, -1), (1, 1)]
    found = rule_of(made).shapes(made, change)
    z = np.arange(-300, 301)
    for shape, rate, shift in zip(found, (0.25, 0.5), (3, 1), strict=True):
        here, there = (np.tanh(rate / 2) * np.exp(-rate * np.abs(z - at)) for at in (0, shift))
        for epsilon in (0.0, 0.2, 0.45, 0.7):
            delta = np.maximum(here - np.exp(epsilon) * there, 0).sum()
            assert shape.delta_at(epsilon) == pytest.approx(delta, rel=1e-9, abs=1e-12)
