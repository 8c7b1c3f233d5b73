"""The likeliest shares beside closed forms, plain steps and a general solver."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from solvers.channel_lp.mixtures import likeliest_shares
from solvers.solution import Status
from solvers.work import within


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
