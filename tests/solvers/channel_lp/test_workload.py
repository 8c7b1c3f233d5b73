"""Tables for linear queries beside closed forms and random tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from solvers.channel_lp.cone import Array, envelope
from solvers.channel_lp.mixtures import least_moment, second_moment


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
