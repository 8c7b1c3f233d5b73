"""Tables for linear queries beside closed forms and random tables. Symmetries of budgets and costs beside all permutations,
tried one by one. The likeliest shares beside closed forms, plain steps and a general solver.
"""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from examples.own_report import full_program
from solvers.channel_lp.cone import MOST, Array, envelope, poles, symmetries
from solvers.channel_lp.generation import column_generation
from solvers.channel_lp.mixtures import least_moment, likeliest_shares, second_moment
from solvers.solution import Status
from solvers.work import within


def subsets(n: int, budget: float, size: int) -> Array:
    """Subset selection (Ye and Barg 2018)."""
    made = np.array([[np.exp(budget) if x in s else 1.0 for s in combinations(range(n), size)] for x in range(n)])
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def test_the_second_moment_is_that_of_the_best_unbiased_estimate() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, m = 3, 6
        table, prior, q = rng.dirichlet(np.ones(m), n), rng.dirichlet(np.ones(n)), rng.normal(size=(2, n))
        chances = prior @ table
        left = np.linalg.solve((table / chances) @ table.T, table / chances)  # left inverse of least moment, (N, M)
        assert np.allclose(left @ table.T, np.eye(n))
        own = float((chances * ((q @ left) ** 2).sum(axis=0)).sum())
        assert second_moment(table, prior, q.T @ q) == pytest.approx(own)
        other = left + rng.normal(size=(n, m)) @ (np.eye(m) - table.T @ np.linalg.pinv(table.T))
        assert np.allclose(other @ table.T, np.eye(n)) and (chances * ((q @ other) ** 2).sum(axis=0)).sum() >= own - 1e-9


@pytest.mark.parametrize(("n", "budget"), [(3, 0.5), (3, 1.5), (4, 1.0), (5, 1.0), (5, 2.0)])
def test_one_budget_for_all_pairs_is_met_by_a_subset_selection(n: int, budget: float) -> None:
    b, prior = budget * (1 - np.eye(n)), np.full(n, 1 / n)
    best = min(second_moment(subsets(n, budget, size), prior, np.eye(n)) for size in range(1, n))
    found = least_moment(b, prior, np.eye(n), np.exp(-b))
    assert found.value <= best * 1.02 and 0 < found.lower_bound <= best


@pytest.mark.parametrize("seed", range(4))
def test_the_table_keeps_the_budgets_and_no_random_table_is_below_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 2, (5, 2))
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    prior, q = rng.dirichlet(np.full(5, 5.0)), rng.normal(size=(4, 5))
    gram = q.T @ q + 0.1 * np.eye(5)
    found = least_moment(b, prior, gram, np.exp(-b), rounds=6)
    table = found.point.table()
    assert np.allclose(table.sum(axis=1), 1, atol=1e-9)
    assert (table[:, None] <= np.exp(b)[:, :, None] * table[None] * (1 + 1e-9)).all()
    assert second_moment(table, prior, gram) == pytest.approx(found.value, rel=1e-6)
    half = np.exp(-b / 2)
    assert found.value <= second_moment(half / half.sum(axis=1, keepdims=True), prior, gram)
    for _ in range(30):
        made = envelope(0.5 * b, rng.uniform(0, 1, (5, 12)))
        made /= made.sum(axis=1, keepdims=True)  # twice half of the budgets
        assert second_moment(made, prior, gram) >= found.lower_bound


def test_what_does_not_fit_is_refused() -> None:
    b = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"prior of shape \(3,\)"):
        least_moment(b, np.ones(3), np.eye(2), np.exp(-b))


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


@pytest.mark.parametrize("seed", range(20))
def test_where_the_inverse_has_no_negative_shares_it_is_the_likeliest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    table = rng.dirichlet(np.ones(n), n) * 0.4 + 0.6 * np.eye(n)
    shares = rng.dirichlet(np.full(n, 3.0))
    found = likeliest_shares(table, 1000 * shares @ table, 1e-9)
    assert found.status is Status.OPTIMAL and np.abs(found.point - shares).max() <= 1e-5


@pytest.mark.parametrize("seed", range(20))
def test_no_shares_are_likelier_by_more_than_the_bound_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 8)), int(rng.integers(2, 12))
    table = rng.dirichlet(np.full(m, 0.7), n)
    counts = rng.multinomial(500, rng.dirichlet(np.ones(m)))
    found = likeliest_shares(table, counts, 1e-7)

    def value(logits: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        h = np.exp(logits - logits.max())
        chances = h / h.sum() @ table
        return -float(counts[counts > 0] @ np.log(chances[counts > 0]))

    best = min(minimize(value, rng.normal(size=n), method="Nelder-Mead", options={"maxiter": 4000}).fun for _ in range(3))
    assert found.lower_bound <= found.value <= best + 1e-6
    assert found.value - found.lower_bound <= 1e-7 and abs(found.point.sum() - 1) <= 1e-12 and (found.point >= 0).all()
    for h in rng.dirichlet(np.ones(n), 50):
        assert -counts[counts > 0] @ np.log((h @ table)[counts > 0]) >= found.lower_bound


def test_every_step_raises_the_likelihood() -> None:
    rng = np.random.default_rng(1)
    table, counts = rng.dirichlet(np.ones(9), 6), rng.integers(0, 40, 9)
    values = [likeliest_shares(table, counts, 0.0, steps).value for steps in range(30)]
    assert all(after <= before + 1e-10 for before, after in pairwise(values))


def test_a_search_without_work_says_how_far_it_may_be() -> None:
    table, counts = [[0.75, 0.25], [0.25, 0.75]], [60, 40]
    with within(0.0):
        found = likeliest_shares(table, counts)
    assert found.status is Status.STALLED and found.iterations == 0
    assert found.lower_bound <= likeliest_shares(table, counts).value < found.value


@pytest.mark.parametrize(
    ("table", "counts", "message"),
    [
        ([[0.5, 0.4]], [1, 1], "rows that sum to 1"),
        ([[0.5, 0.5]], [1, -1], "not all 0"),
        ([[0.5, 0.5]], [0, 0], "not all 0"),
        ([[1.0, 0.0]], [1, 1], "no element gives report 1"),
    ],
)
def test_what_has_no_likelihood_is_refused(table: list[list[float]], counts: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        likeliest_shares(table, counts)
