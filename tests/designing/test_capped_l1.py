"""Boxes with corners cut: the hull itself where records vote on at most k of K questions, norms recomputed by hand, moments
against draws, norms and problems that are refused."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from designer import DesignFailed, InvalidProblem, Problem, Workload, compare, design, metrics
from designer.certificate.norm_kinds import CappedNorm
from designer.certificate.norms import Norm
from designer.designing.family import Sizes
from designer.designing.least_noise import limit
from designer.designing.listed import family_named
from designer.mechanism.bounds import error_bounds
from designer.sampling.entropy import SeededEntropy
from solvers.exact.rational import capped_cube
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY


def votes(total: int, most: int, budget: float = 1.0, **rest: Any) -> Problem:
    """Votes for less votes against each of `total` questions, of which a record answers exactly `most`; one may appear."""
    asked = [list(chosen) for chosen in itertools.combinations(range(total), most)]
    records = np.zeros((len(asked) * 2**most, total))
    for row, (chosen, signs) in zip(records, itertools.product(asked, itertools.product((-1, 1), repeat=most)), strict=True):
        row[chosen] = signs
    return Problem(Workload(records.T), metrics.add_remove(len(records), budget), **rest)


def random_problem(seed: int, queries: int = 5, **rest: Any) -> Problem:
    """Whole-number queries of different sizes on eight elements with unequal budgets."""
    rng = np.random.default_rng(seed)
    places = rng.random((8, 2)) * 3 + np.arange(8)[:, None]
    asked = rng.integers(-3, 4, (queries, 8)) * (rng.random((queries, 8)) < 0.6) * 2.0 ** np.arange(queries)[:, None]
    return Problem(Workload(asked), metrics.euclidean(places), **rest)


@pytest.mark.parametrize(("total", "most"), [(2, 1), (4, 2), (5, 3), (8, 3), (12, 2)])
def test_votes_on_k_of_many_questions_get_the_capped_cube(total: int, most: int) -> None:
    made = design(votes(total, most, 0.5), "capped_l1")
    square = float(capped_cube(total, Fraction(most)).square)
    assert made.loss == pytest.approx(4 * total * (total + 1) * (total + 2) * square, rel=1e-8)
    assert made.mechanism.norm.cap == most and 1 - 1e-9 < made.privacy.worst_ratio <= 1


@pytest.mark.parametrize("most", [2, 3])
def test_there_it_is_the_k_norm(most: int) -> None:
    problem = votes(4, most)
    assert design(problem, "capped_l1").loss == pytest.approx(design(problem, "k_norm").loss, rel=1e-8)


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
@pytest.mark.parametrize("seed", range(3))
def test_every_pair_is_within_its_budget_in_rationals_of_its_own(seed: int, loss: Any) -> None:
    made = design(random_problem(seed, loss=loss), "capped_l1").mechanism
    norm, pairs = made.norm, made.sensitivity().all_pairs()
    assert isinstance(norm, CappedNorm)
    ratios = []
    for u, budget in zip(pairs.differences, pairs.budgets, strict=True):
        sizes = [Fraction(float(v)) * abs(Fraction(float(x))) for v, x in zip(norm.weights, u, strict=True)]
        length = max(*sizes, sum(sizes, Fraction(0)) / Fraction(norm.cap))
        assert norm.exact([Fraction(float(x)) for x in u]) == length
        assert norm(u) == pytest.approx(float(length), rel=1e-12)
        ratios.append(float(length / Fraction(float(budget))))
    assert 1 - 1e-8 < max(ratios) <= 1
    between = norm.between(norm.image(made.sensitivity().points), norm.image(made.sensitivity().points))
    assert (between.max() / norm(pairs.differences).max()) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_lies_between_the_limit_and_that_of_the_box(seed: int) -> None:
    problem = random_problem(seed)
    made = design(problem, "capped_l1")
    assert limit(problem).value <= made.loss <= design(problem, "box").loss * (1 + 1e-8)
    scales = 1 / design(problem, "laplace").mechanism.norm.map
    assert made.loss <= 2 * (scales**2).sum() * (1 + 1e-5)  # those of Laplace noise on a fine grid


def test_covariances_and_absolute_values_are_those_of_draws() -> None:
    made = design(votes(6, 3), "capped_l1").mechanism
    drawn = made.noise_in_answers(100_000, SeededEntropy(1))
    white = drawn / np.sqrt(made.query_variances())
    products = np.einsum("ni,nj->nij", white, white)
    off = np.abs(products.mean(axis=0) - np.eye(6)) / products.std(axis=0) * np.sqrt(len(drawn))
    assert off.max() < stats.norm.isf(FAILURE_PROBABILITY / 72)
    sizes = np.abs(drawn)
    off = np.abs(sizes.mean(axis=0) - made.query_mean_absolutes()) / sizes.std(axis=0) * np.sqrt(len(drawn))
    assert off.max() < stats.norm.isf(FAILURE_PROBABILITY / 12)
    assert ((sizes <= made.margins(0.95)).mean(axis=0) >= 0.95).all()
    assert (sizes.max(axis=1) <= error_bounds(made, 1.0, 0.05).high_probability).mean() >= 0.95


def test_published_statistics_and_a_delta_are_served() -> None:
    rows = [[1.0, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]]
    problem = Problem(Workload(rows), metrics.uniform(4, 1.0), notion="approximate", delta=1e-6)
    made = design(problem, "capped_l1").mechanism
    assert made.delta == 1e-6 and made.privacy.holds and made.norm.silent.tolist() == [False, False, True]


def test_the_dual_norm_is_the_largest_value_on_the_ball() -> None:
    weights, row = np.array([2.0, np.inf, 0.5, 1.0]), np.array([3.0, -1.0, 2.0])
    for cap in (0.5, 1.0, 1.7, 2.0, 9.0):
        # x = p - q, p and q nonnegative, at most 1 / v in each coordinate and cap in all
        size = np.array([2.0, 0.5, 1.0])
        bounds = [(0, 1 / v) for v in size] * 2
        found = linprog(-np.concatenate([row, -row]), A_ub=np.tile(size, 2)[None, :], b_ub=[cap], bounds=bounds)
        assert CappedNorm(weights, cap).reach(row[None, :]) == pytest.approx([-found.fun], rel=1e-9)
    norm = CappedNorm(weights, 2.0)
    assert norm.exact([Fraction(0), Fraction(1), Fraction(0), Fraction(0)]) is None
    assert norm.silent.tolist() == [False, True, False, False] and norm.divided(2.0).weights.tolist()[0] == 1.0


def test_caps_of_one_and_of_all_sides_are_the_l1_and_the_maximum_norm() -> None:
    weights, u = np.array([1.0, 0.25, 3.0]), np.random.default_rng(0).normal(size=(20, 3))
    assert CappedNorm(weights, 1.0)(u) == pytest.approx(Norm(weights, "l1")(u))
    assert CappedNorm(weights, 3.0)(u) == pytest.approx(Norm(weights, "linf")(u))


@pytest.mark.parametrize(
    ("weights", "cap", "said"),
    [
        (np.ones(2), 0.0, "norm.cap: 0.0 must be a positive number"),
        (np.ones(2), np.inf, "norm.cap"),
        (np.array([1.0, -1.0]), 1.0, "a diagonal must be positive"),
        (np.eye(2), 1.0, "give one weight for each coordinate"),
    ],
)
def test_norms_that_make_no_sense_are_refused(weights: Any, cap: float, said: str) -> None:
    with pytest.raises(InvalidProblem, match=said):
        CappedNorm(weights, cap)


def test_too_many_dimensions_and_none_are_refused_with_a_way_on() -> None:
    with pytest.raises(DesignFailed, match=r"129 dimensions, more than the 128 .*use box"):
        design(Problem(Workload.identity(129), metrics.add_remove(129, 1.0)), "capped_l1")
    still = Problem(Workload([[1.0, 1.0]]), metrics.uniform(2, 1.0))
    with pytest.raises(DesignFailed, match="no protected change moves an answer"):
        design(still, "capped_l1")


def test_auto_starts_it_before_bundles_and_strategies_and_it_wins_on_ballots() -> None:
    rng = np.random.default_rng(0)
    ballots = rng.choice((-1.0, 1.0), (60, 14)) * (rng.random((60, 14)).argsort(axis=1) < 7)
    problem = Problem(Workload(ballots.T), metrics.add_remove(60, 1.0))
    estimates = [family_named(name).work for name in ("capped_l1", "bundles", "strategy_laplace")]
    ours, *others = (work(Sizes(problem)) for work in estimates if work is not None)
    assert len(others) == 2 and 0 < ours < min(others)
    made = compare(problem, ["laplace", "box", "ellipsoid", "capped_l1"]).best
    assert made.mechanism.family == "capped_l1"
