"""The lower bound for independent noise against strategies, against moments of many rows, and in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.programs.changes import Changes
from solvers.programs.noise_costs import LARGEST_DIMENSION, _of_whole_numbers, independent_noise_bound, largest_fourth_moment
from solvers.programs.strategy_search import optimise_workload, singular_value_bound
from solvers.programs.whole_strategy import RateProblem, measured_alone, searched
from solvers.work import within


def test_counts_among_which_a_record_moves_have_the_bound_of_their_cuts() -> None:
    """Pairs of n cells, all weights equal: `S = 2 / (n - 1)` on n - 1 dimensions, and `kappa^2 = 2 / n`, at rows that tell one
    cell from all others."""
    for n in (3, 5, 7):
        found = independent_noise_bound(np.eye(n), Changes.of_metric(1.0 - np.eye(n)))
        assert found == pytest.approx(2 * (2 / n) * (n - 1) ** 3 * 2 / (n - 1), rel=1e-5)


def test_of_counts_among_which_a_record_appears_nothing_is_left_open() -> None:
    """The identity is the best strategy, and the bound says so."""
    for n in (1, 2, 5):
        assert independent_noise_bound(np.eye(n), Changes.units(np.full(n, 2.0))) == pytest.approx(n / 2, rel=1e-5)


@pytest.mark.nightly
@pytest.mark.parametrize("problems", [12, pytest.param(60, marks=pytest.mark.nightly)])
def test_no_strategy_is_below_the_bound(problems: int) -> None:
    """Found by descent, for random queries, budgets and weights; often it is above the bound of singular values."""
    rng, above = np.random.default_rng(3), 0
    for _ in range(problems):
        n, k = int(rng.integers(2, 7)), int(rng.integers(1, 7))
        workload = rng.integers(0, 3, (k, n)) + 1e-3 * np.eye(k, n)
        distances = rng.choice([1.0, 2.0], (n, n)) if rng.random() < 0.5 else np.ones((n, n))
        changes = Changes.of_metric(np.triu(distances, 1) + np.triu(distances, 1).T)
        bound = independent_noise_bound(workload.T @ workload, changes)
        with within(1.0):
            found = optimise_workload(workload, changes, iterations=40, keep=1)
        assert bound <= found.value * (1 + 1e-9)
        above += bound > singular_value_bound(workload.T @ workload, changes)
    assert above > problems / 6


def test_of_whole_numbers_nothing_is_left_open_where_a_record_appears() -> None:
    """Independent geometric counts are the best there is (docs/theory/least_noise.md, section 4)."""
    for n, b in ((1, 1.0), (2, 4.0), (5, 0.1), (5, 8.0)):
        found = independent_noise_bound(np.eye(n), Changes.units(np.full(n, b)), whole=True)
        assert found == pytest.approx(n / (2 * np.sinh(b / 2) ** 2), rel=1e-5)


def test_whole_numbers_need_less_noise_and_as_much_at_small_budgets() -> None:
    for b, near in ((1e-2, True), (1.0, False), (4.0, False)):
        moved = Changes.of_metric(b * (1.0 - np.eye(5)))
        whole, real = independent_noise_bound(np.eye(5), moved, whole=True), independent_noise_bound(np.eye(5), moved)
        assert whole <= real and (whole > real * (1 - 1e-4)) == near


def test_the_program_of_the_bound_is_solved() -> None:
    """Against all splits of the budget between two, on a fine grid: never above the least, and there."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        alphas, fourth, largest = np.exp(rng.normal(size=2) * 2), 1 + np.exp(rng.normal()), np.exp(rng.normal() * 1.5)
        found, _, _ = _of_whole_numbers(alphas, fourth, largest)
        limit = fourth * largest / 2
        first = limit * np.linspace(0, 1, 20_001)[1:-1]
        costs = alphas * fourth * largest**2 / 2
        least = (costs[0] / np.sinh(first) ** 2 + costs[1] / np.sinh(limit - first) ** 2).min()
        assert least * (1 - 1e-4) <= found <= least * (1 + 1e-9)


@pytest.mark.parametrize("problems", [12, pytest.param(60, marks=pytest.mark.nightly)])
def test_no_geometric_noise_is_below_the_bound_of_whole_numbers(problems: int) -> None:
    """Rows of whole numbers with rates drawn at random, each at the largest step of which its moves are multiples, made
    feasible; and searched for. Continuous noise may be in any row as well."""
    rng, reached = np.random.default_rng(6), 0.0
    for _ in range(problems):
        n, budget = int(rng.integers(2, 6)), float(rng.choice([0.5, 2.0, 5.0]))
        changes = Changes.of_metric(budget * (1.0 - np.eye(n))) if rng.random() < 0.5 else Changes.units(np.full(n, budget))
        workload = rng.integers(0, 3, (3, n)).astype(float)
        if not np.abs(changes.along(workload)).any():
            continue
        bound = independent_noise_bound(workload.T @ workload, changes, whole=True)
        asked = RateProblem(workload, np.ones(3), "squared", changes)
        random = np.vstack([np.eye(n), rng.integers(-2, 3, (3, n)), rng.normal(size=(1, n))])
        drawn = {str(k): (random, np.exp(rng.normal(size=n + 4) * 2)) for k in range(3)}
        starts = {"cells": (np.eye(n), None), "queries": (np.vstack([workload, np.eye(n)]), None), **drawn}
        ends = searched(asked, starts, dict, 1.0) + measured_alone(asked, [(rows, {"": w}) for rows, w in starts.values()])
        for end in ends:
            assert bound <= end.loss * (1 + 1e-9)
            reached = max(reached, bound / end.loss)
    assert reached > 0.99


def test_fourth_moments_of_rows_are_below_their_largest() -> None:
    rng = np.random.default_rng(4)
    for s in (1, 2, 3, 5):
        points = rng.normal(size=(30, s)) * np.exp(rng.normal(size=s))
        weights = rng.dirichlet(np.ones(30))
        sizes, axes = np.linalg.eigh((points * weights[:, None]).T @ points)
        white = points @ (axes / np.sqrt(sizes))
        top, _ = largest_fourth_moment(white, weights)
        rows = rng.normal(size=(20_000, s))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        seen = ((white @ rows.T) ** 4 * weights[:, None]).sum(axis=0).max()
        assert seen <= top * (1 + 1e-12) and (s > 1 or seen == pytest.approx(top))


def test_nothing_is_said_of_many_dimensions() -> None:
    n = LARGEST_DIMENSION + 2
    assert independent_noise_bound(np.eye(n), Changes.of_metric(1.0 - np.eye(n))) == 0.0
