"""The biased family minimises the loss that the problem states: squared, absolute or largest, with its weights."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, metrics

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_few_records_are_served_better_than_by_the_sum_over_elements() -> None:
    """Program (6) counts the bias of every element; the loss is that of the worst."""
    relation = metrics.euclidean(np.random.default_rng(0).random((7, 2)))
    problem = Problem(Workload.random(3, 7, "real", 0), relation, records=2.0)
    assert design(problem, "laplace_joint").loss < 0.9 * design(problem, "laplace_joint", objective="squared").loss


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["absolute", "max"])
def test_a_loss_of_several_queries_that_it_cannot_minimise_is_refused(loss: str) -> None:
    problem = Problem(Workload.random(3, 5, "real", 1), LINE, loss=loss, records=5.0)
    with pytest.raises(
        DesignFailed, match=f"laplace_joint: minimises the loss '{loss}' for one query only, the workload has 3"
    ):
        design(problem, "laplace_joint")
    assert design(problem, "laplace_joint", objective="squared").privacy.holds
    assert "one query only" in design(problem).mechanism.provenance["tried"]["laplace_joint"]
