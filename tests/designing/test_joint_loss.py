"""The biased family minimises the loss that the problem states: squared, absolute or largest, with its weights."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, metrics
from designer.relations.metrics.metric import Metric

LINE = metrics.euclidean([[0.0], [0.1], [0.5], [1.0], [1.2]])
QUERY = np.array([[0.3, 1.0, 2.0, 2.2, 5.0]])


def least(loss: str, weight: float, records: float) -> float:
    """The least loss of one query over P and c, every pair written out."""
    q, d = QUERY[0], LINE.distances()
    p, c = cp.Variable(q.size), cp.Variable(nonneg=True)
    bias = records * cp.norm(p - q, "inf")
    value = weight * (bias + c if loss == "absolute" else cp.square(bias) + 2 * cp.square(c))
    near = [cp.abs(p[i] - p[j]) <= c * d[i, j] for i in range(q.size) for j in range(i)]
    return float(cp.Problem(cp.Minimize(value), near).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
@pytest.mark.parametrize(("weight", "records"), [(1.0, 3.0), (9.0, 0.7)])
def test_one_query_reaches_the_least_loss_of_the_problem(loss: str, weight: float, records: float) -> None:
    problem = Problem(Workload(QUERY), LINE, loss=loss, weights=[weight], records=records)
    made = design(problem, "laplace_joint")
    assert made.loss == pytest.approx(least(loss, weight, records), rel=1e-5)
    assert made.optimality.value == pytest.approx(made.loss, rel=1e-12) and made.optimality.gap < 1e-5
    assert made.loss <= design(problem, "laplace").loss * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("records", [0.5, 2.0, 20.0])
def test_several_queries_lose_no_more_than_unbiased_ones_nor_than_program_6(seed: int, records: float) -> None:
    relation = metrics.euclidean(np.random.default_rng(seed).random((7, 2)))
    problem = Problem(Workload.random(3, 7, "real", seed), relation, weights=[4.0, 1.0, 0.25], records=records)
    made = design(problem, "laplace_joint")
    assert made.optimality.value == pytest.approx(made.loss, rel=1e-12)
    assert made.optimality.lower_bound <= made.loss
    others = (design(problem, "laplace"), design(problem, "laplace_joint", objective="squared"))
    assert made.loss <= min(other.loss for other in others) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("loss", "least"), [("squared", 4 * 1.8413471884192087), ("absolute", 4 * 0.8509181282), ("max", 1.8413471884192087)]
)
def test_many_counted_records_have_the_noise_on_whole_numbers_that_unbiased_counts_have(loss: str, least: float) -> None:
    """Closed form of the geometric law, a = exp(-1): 2 a / (1 - a)^2, and 2 a / (1 - a^2) in absolute size; continuous noise
    would have 2 and 1."""
    problem = Problem(Workload.identity(4), metrics.uniform(4, 2.0), loss=loss, records=100.0)
    made = design(problem, "laplace_joint")
    assert made.loss == pytest.approx(least, rel=1e-9) and made.bias == 0.0 and made.mechanism.family == "laplace_joint"
    assert made.optimality.lower_bound <= made.loss


def test_few_records_are_served_better_than_by_the_sum_over_elements() -> None:
    """Program (6) counts the bias of every element; the loss is that of the worst."""
    relation = metrics.euclidean(np.random.default_rng(0).random((7, 2)))
    problem = Problem(Workload.random(3, 7, "real", 0), relation, records=2.0)
    assert design(problem, "laplace_joint").loss < 0.9 * design(problem, "laplace_joint", objective="squared").loss


def test_the_bound_of_several_queries_is_below_every_feasible_design() -> None:
    """Random rows and scales that keep the budgets, measured by the definition."""
    rng, n = np.random.default_rng(4), 1.5
    relation = metrics.euclidean(rng.random((5, 2)))
    problem = Problem(Workload(rng.random((2, 5))), relation, records=n)
    bound = design(problem, "laplace_joint").optimality.lower_bound
    q, d = problem.workload.dense(), relation.distances()
    upper = np.triu_indices(5, 1)
    for _ in range(4000):
        share, p = rng.random(), q * rng.random((2, 1)) + rng.normal(size=(2, 5)) * rng.choice([0.0, 0.05, 0.2])
        moves = np.abs(p[:, :, None] - p[:, None, :])[:, *upper] / d[upper]
        weights = np.array([share, 1 - share])
        c = (moves / weights[:, None]).max(axis=1) if rng.random() < 0.5 else moves.sum(axis=0).max() * np.ones(2)
        assert (moves / c[:, None]).sum(axis=0).max() <= 1 + 1e-9
        assert n**2 * ((p - q) ** 2).sum(axis=0).max() + 2 * (c**2).sum() >= bound * (1 - 1e-9)


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
@pytest.mark.parametrize("records", [1.0, 12.0, 300.0])
def test_every_loss_of_several_queries_is_certified_and_below_laplace(loss: str, records: float) -> None:
    relation = metrics.euclidean(np.random.default_rng(5).random((6, 2)))
    problem = Problem(Workload.random(2, 6, "real", 5), relation, loss=loss, weights=[4.0, 0.5], records=records)
    made = design(problem, "laplace_joint")
    assert made.privacy.holds and made.optimality.value == pytest.approx(made.loss, rel=1e-12)
    assert made.optimality.lower_bound <= made.loss <= design(problem, "laplace").loss * (1 + 1e-4)
    assert made.optimality.gap <= 0.15


def worst_of_histograms(problem: Problem, effective: np.ndarray, scales: np.ndarray) -> float:
    """The largest expected loss over all histograms, by the law of continuous Laplace noise at each."""
    n, queries, worst = int(problem.records), problem.workload.dense(), 0.0
    v = problem.costs
    for records in itertools.combinations_with_replacement(range(queries.shape[1]), n):
        bias = np.abs((effective - queries)[:, records].sum(axis=1))
        squares = v * (bias**2 + 2 * scales**2)
        apart = np.where(scales > 0, scales, 1.0)
        absolutes = v * (bias + np.where(scales > 0, apart * np.exp(-bias / apart), 0.0))
        worst = max(worst, {"squared": squares.sum(), "max": squares.max(), "absolute": absolutes.sum()}[problem.loss])
    return worst


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_the_loss_is_the_worst_over_every_histogram(loss: str) -> None:
    relation = metrics.euclidean(np.random.default_rng(5).random((4, 2)))
    problem = Problem(Workload.random(2, 4, "real", 5), relation, loss=loss, weights=[4.0, 0.5], records=3)
    made = design(problem, "laplace_joint")
    exact = worst_of_histograms(problem, made.mechanism.effective, made.mechanism.scales)
    if loss == "absolute":
        assert exact <= made.loss * (1 + 1e-6) and made.loss <= 1.47 * exact
    else:
        assert made.loss == pytest.approx(exact, rel=1e-4)  # noise on the grid is narrower


@pytest.mark.parametrize("queries", [1, 2])
def test_scanned_pairs_give_the_design_of_written_out_ones(queries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = metrics.euclidean(np.random.default_rng(6).random((24, 2)))
    problem = Problem(Workload.random(queries, 24, "real", 6), relation, records=20.0)
    whole = design(problem, "laplace_joint")
    monkeypatch.setattr("designer.designing.laplace_joint.WRITTEN_OUT", 0)
    scanned = design(problem, "laplace_joint")
    assert scanned.privacy.holds
    assert scanned.loss == pytest.approx(whole.loss, rel=1e-6 if queries == 1 else 2e-3)
    assert scanned.optimality.lower_bound <= whole.loss and whole.optimality.lower_bound <= scanned.loss


@pytest.mark.parametrize(
    "relation",
    [
        metrics.add_remove(5, [0.5, 1.0, 2.0, 0.7, 1.5]),
        metrics.appear_or_change(LINE, 0.8, closure=True),
        metrics.partition(list("aabbb"), 0.5),
    ],
    ids=["appear", "appear or change", "components"],
)
@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_scans_know_the_origin_and_components(relation: Metric, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("designer.designing.laplace_joint.WRITTEN_OUT", 0)
    problem = Problem(Workload(np.vstack([QUERY, QUERY[0, ::-1] ** 2])), relation, loss=loss, records=4.0)
    made = design(problem, "laplace_joint")
    assert made.privacy.holds and made.optimality.lower_bound <= made.loss
    assert made.loss <= design(problem, "laplace").loss * (1 + 1e-4)


def test_more_unknowns_than_asked_for_are_refused_before_they_are_tried() -> None:
    problem = Problem(Workload.random(3, 6, "real", 1), metrics.uniform(6, 1.0), records=5.0)
    with pytest.raises(DesignFailed, match=r"3 queries of 6 elements are 18 unknowns, more than 17.*options.most = 18"):
        design(problem, "laplace_joint", most=17)
    assert design(problem, "laplace_joint", most=18).privacy.holds
    large = Problem(Workload.random(9, 500, "real", 1), metrics.uniform(500, 1.0), records=5.0)
    with pytest.raises(
        DesignFailed,
        match=r"4500 unknowns, more than 4000; so many take a minute or two per 4000, or longer.*options.most = 4500",
    ):
        design(large, "laplace_joint")


def test_a_single_query_of_700_elements_is_solved_to_its_optimum() -> None:
    """Beyond what is written out; the paper's cities are 741."""
    relation = metrics.euclidean(np.random.default_rng(0).random((700, 2)))
    for loss in ("squared", "absolute"):
        made = design(Problem(Workload.random(1, 700, "real", 0), relation, loss=loss, records=30.0), "laplace_joint")
        assert made.privacy.holds and made.optimality.gap <= 1e-6 and made.bias > 0
