"""Strategies that the caller brings: evaluated as they are, certified, frozen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, load, metrics
from solvers.programs.strategy import hierarchical

TREE = hierarchical(8)


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
@pytest.mark.parametrize("relation", ["add_remove", "uniform"])
def test_a_tree_costs_what_its_formula_says(notion: str, relation: str, tmp_path: Path) -> None:
    """`v tr(Q'Q (A'A)^+)` on the span of the changes, times the square of the longest change; v = 2 (Laplace) or 1."""
    problem = Problem(Workload.prefix(8), getattr(metrics, relation)(8, 0.7), notion=notion)  # type: ignore[arg-type]
    made = design(problem, strategy=37.0 * TREE)
    pairs = np.array([np.eye(8)[i] - np.eye(8)[j] for i in range(8) for j in range(i)])
    changes = np.eye(8) if relation == "add_remove" else pairs
    longest = np.linalg.norm(TREE @ changes.T, ord=1 if notion == "pure" else 2, axis=0).max() / 0.7
    span = np.linalg.qr(changes.T)[0] if relation == "add_remove" else np.linalg.svd(changes)[2][:7].T
    wanted, measured = np.tri(8) @ span, TREE @ span
    variance = 2.0 if notion == "pure" else 1.0
    expected = variance * longest**2 * np.square(wanted @ np.linalg.pinv(measured)).sum()
    assert made.mechanism.error() == pytest.approx(expected, rel=1e-6)
    assert made.mechanism.family == ("strategy_laplace" if notion == "pure" else "strategy_gaussian")
    assert 1 - 1e-6 < float(made.privacy.worst_ratio or 0) <= 1
    claim = made.mechanism.optimality
    assert claim is not None
    assert claim.lower_bound <= design(problem, "laplace" if notion == "pure" else "gaussian").mechanism.error() * (1 + 1e-9)
    assert load(made.mechanism.save(tmp_path / "made.json")) == made.mechanism


def test_the_root_of_the_optimum_is_the_optimum() -> None:
    problem = Problem(Workload.prefix(6), metrics.add_remove(6, 1.0), notion="zcdp")
    best = design(problem, "gaussian").mechanism
    covariance = np.linalg.inv(np.tri(6)) @ best.covariance() @ np.linalg.inv(np.tri(6)).T
    rows = np.linalg.cholesky(np.linalg.inv(covariance)).T
    assert design(problem, strategy=rows).mechanism.error() == pytest.approx(best.error(), rel=1e-5)


def test_it_serves_the_approximate_notion() -> None:
    problem = Problem(Workload.prefix(8), metrics.add_remove(8, 1.0), notion="approximate", delta=1e-6)
    made = design(problem, strategy=TREE)
    assert made.mechanism.family == "strategy_gaussian"
    assert made.privacy.holds


def test_rows_that_cannot_serve_are_refused() -> None:
    problem = Problem(Workload.prefix(8), metrics.add_remove(8, 1.0))
    with pytest.raises(DesignFailed, match="does not determine"):
        design(problem, strategy=TREE[:2])
    with pytest.raises(InvalidProblem, match=r"options\.strategy"):
        design(problem, strategy=np.eye(3))
    bound = metrics.from_matrix(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    with pytest.raises(DesignFailed, match="budget is 0"):
        design(Problem(Workload([[0, 0, 1]]), bound), strategy=np.eye(3))


def test_without_rows_the_elements_are_measured() -> None:
    problem = Problem(Workload.prefix(8), metrics.add_remove(8, 1.0), notion="zcdp")
    assert design(problem, "strategy_gaussian").mechanism.error() == pytest.approx(36.0)
