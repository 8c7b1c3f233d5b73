"""Answers that agree without a bias: against the Gauss-Markov estimate by pseudo-inverses, by exact sums, and by coverage."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest

from designer import AdditiveMechanism, InvalidProblem, Problem, Workload, design, invariants, metrics
from designer.certificate.norms import Norm
from designer.extend import Grid
from designer.mechanism import agreeing_answers as module
from designer.mechanism.agreeing_answers import consistent_answers, space_of, whole_answers
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.mechanism.interface import Mechanism
from designer.sampling.entropy import SeededEntropy


def crossed(rows: int, columns: int) -> np.ndarray:
    """The cells of a table, its row and column sums, and its total."""
    cells = np.eye(rows * columns)
    table = cells.reshape(rows, columns, -1)
    return np.vstack([cells, table.sum(axis=1), table.sum(axis=0), np.ones((1, rows * columns))])


CUBE = np.array([[*cell] for cell in itertools.product((0, 1), repeat=3)])
WORKLOADS = {
    "table": crossed(2, 3),
    "nested": np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0]], dtype=float),
    "repeated": np.array([[1, 1, 0], [1, 1, 0], [2, 2, 0], [0, 0, 1]], dtype=float),
    "halves": np.array([[1, 1], [0.5, 0.25], [1, 0], [0, 1]], dtype=float),
    "negative": np.array([[1, -1, 0], [0, 1, -1], [1, 0, -1]], dtype=float),
    "three pairs": np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=float),
    "cube": np.vstack([CUBE[:, k] == value for k in range(3) for value in (0, 1)]).astype(float),
}


@cache
def made_for(name: str, mu: float | None = None) -> Mechanism:
    """Of noise with different scales: Laplace noise, or under zCDP Gaussian."""
    queries = WORKLOADS[name]
    size = queries.shape[1]
    weights = np.linspace(1, 5, len(queries))
    relation = metrics.add_remove(size, 0.7)
    if mu is None:
        return design(Problem(Workload(queries), relation, weights=weights), "laplace").mechanism
    norm = Norm(mu / np.sqrt(np.square(queries).sum(axis=0).max()) * np.linspace(0.2, 1, len(queries)), "l2")
    return AdditiveMechanism("custom", Workload(queries), relation, norm, Grid((-8,) * len(queries)), "gaussian")


@pytest.mark.parametrize("mu", [None, 0.6])
@pytest.mark.parametrize("name", WORKLOADS)
def test_they_are_the_unbiased_answers_of_least_variances(name: str, mu: float | None) -> None:
    made = made_for(name, mu)
    queries, covariance = WORKLOADS[name], made.covariance()
    inverse = np.linalg.inv(covariance)
    best = queries @ np.linalg.pinv(queries.T @ inverse @ queries) @ queries.T @ inverse
    released = made.release(np.arange(queries.shape[1]) * 7)
    found = consistent_answers(released)
    assert found.answers == pytest.approx(best @ released.answers, abs=1e-8)
    assert best @ queries == pytest.approx(queries, abs=1e-9)
    assert isinstance(found.law, Mechanism)
    assert found.law.covariance() == pytest.approx(best @ covariance @ best.T, abs=1e-9)
    assert found.standard_errors is not None and (found.standard_errors <= made.standard_errors() + 1e-9).all()
    assert (found.guarantee, found.fingerprint, found.queries) == (released.guarantee, released.fingerprint, released.queries)
    assert consistent_answers(found) is found
    if mu is not None:  # quantiles of the normal law
        assert found.law.margins(0.95) == pytest.approx(1.96 * found.standard_errors, rel=2e-3)
    for simultaneous in (False, True):
        own, before = found.intervals(simultaneous=simultaneous), released.intervals(simultaneous=simultaneous)
        assert (own.lower <= found.answers).all() and (found.answers <= own.upper).all()
        assert (own.upper - own.lower).sum() < (before.upper - before.lower).sum()


def test_an_answer_without_noise_is_kept() -> None:
    """Under `uniform` the number of records is public, so the total has no noise, and its parts add up to it."""
    made = design(Problem(Workload(crossed(2, 2)), metrics.uniform(4, 1.0)), "laplace").mechanism
    assert len(made.exact) == 1
    released = made.release([5, 6, 7, 8])
    found = consistent_answers(released).answers
    assert released.answers[8] == found[8] == 26 and found[:4].sum() == pytest.approx(26, abs=1e-9)
    whole = whole_answers(released).answers
    assert whole[8] == 26 == sum(whole[:4])


@pytest.mark.parametrize("name", ["table", "nested", "repeated", "cube"])
def test_decimals_add_up_as_decimals(name: str) -> None:
    made = made_for(name)
    space, released = space_of(made), made.release(np.arange(WORKLOADS[name].shape[1]) * 1001)
    found = consistent_answers(released)
    assert found.standard_errors is not None
    numbers = [Decimal(repr(number)) for number in space.decimals(found.answers, found.standard_errors).tolist()]
    basis = [numbers[k] for k in space.basis]
    sums = space.sums.astype(int).tolist()
    assert space.whole and [sum((f * b for f, b in zip(row, basis, strict=True)), Decimal(0)) for row in sums] == numbers
    assert np.array(numbers, dtype=float) == pytest.approx(found.answers, abs=1e-4 * found.standard_errors.min())


def test_answers_that_agree_are_left_as_they_are() -> None:
    tree = Workload.nested(4, {"region": ["N", "N", "S", "S"], "town": ["a", "b", "c", "d"]})
    lattice = Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0))
    for problem, family in (
        (Problem(tree, metrics.add_remove(4, 1.0), weights=[9, 3, 3, 1, 1, 1, 1]), "hierarchy"),
        (Problem(Workload(crossed(2, 2)), metrics.add_remove(4, 1.0)), "k_norm"),
        (lattice, "lattice_laplace"),
    ):
        released = design(problem, family).mechanism.release([4, 3, 2, 1])
        assert consistent_answers(released) is released


def test_nested_counts_beyond_the_limit_are_those_of_a_hierarchy(monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_for("nested")
    released = made.release([40, 30, 20, 10])
    dense = consistent_answers(released)
    for cached in (module.space_of, module.best_answers, module._as_hierarchy):
        cached.cache_clear()
    monkeypatch.setattr(module, "MOST_CONSISTENT_ANSWERS", 4)
    tree = consistent_answers(released)
    assert isinstance(tree.law, HierarchyMechanism) and dense.standard_errors is not None
    assert tree.answers == pytest.approx(dense.answers, abs=1e-9)
    assert tree.standard_errors == pytest.approx(dense.standard_errors, rel=1e-9)
    with pytest.raises(InvalidProblem, match=r"12 answers over 6 cells are more than the 4 answers"):
        consistent_answers(made_for("table").release(np.arange(6)))
    monkeypatch.undo()
    for cached in (module.space_of, module.best_answers, module._as_hierarchy):
        cached.cache_clear()


def test_biased_answers_and_releases_without_their_queries_are_refused() -> None:
    released = made_for("table").release(np.arange(6))
    with pytest.raises(InvalidProblem, match="released: does not know what was asked; read it with its spec"):
        consistent_answers(replace(released, law=None))


@pytest.mark.nightly
def test_whole_answers_of_crossing_tables_add_up_and_have_no_bias() -> None:
    made = made_for("table")
    released = made.release(np.arange(6) * 3)
    near, draws = consistent_answers(released).answers, 4000
    found = np.array([whole_answers(released, SeededEntropy(seed)).answers for seed in range(draws)])
    cells = found[:, :6].reshape(-1, 2, 3)
    assert np.array_equal(found[:, 6:8], cells.sum(axis=2)) and np.array_equal(found[:, 8:11], cells.sum(axis=1))
    assert np.array_equal(found[:, 11], found[:, :6].sum(axis=1)) and (np.abs(found - near) < 1).all()
    share = near - np.floor(near)
    deviations = np.sqrt(share * (1 - share) / draws)
    assert (np.abs(found.mean(axis=0) - near) <= 5 * deviations + 1e-9).all()


def test_whole_answers_that_need_not_exist_are_refused() -> None:
    for name, message in (("cube", "overlap in three ways or more"), ("repeated", "weights other than 0 and 1")):
        with pytest.raises(InvalidProblem, match=message):
            whole_answers(made_for(name).release(np.arange(WORKLOADS[name].shape[1])))


def coverage(draws: int) -> tuple[np.ndarray, int]:
    """How many intervals of each answer, and of all at once, hold the skewed counts."""
    made, counts = made_for("table"), np.array([0, 1, 2, 9, 80, 4000])
    true = WORKLOADS["table"] @ counts
    held, joint = np.zeros(12, dtype=int), 0
    for _ in range(draws):
        found = consistent_answers(made.release(counts))
        each, every = found.intervals(), found.intervals(simultaneous=True)
        held += (each.lower <= true) & (true <= each.upper)
        joint += bool(((every.lower <= true) & (true <= every.upper)).all())
    return held, joint


@pytest.mark.parametrize("draws", [200, pytest.param(2000, marks=pytest.mark.nightly)])
def test_intervals_of_consistent_answers_hold_what_was_counted_as_often_as_they_say(draws: int) -> None:
    held, joint = coverage(draws)
    least = 0.95 * draws - 5 * math.sqrt(0.95 * 0.05 * draws)
    assert held.min() >= least and joint >= least
    assert held.mean() <= 0.97 * draws + 5 * math.sqrt(draws / 20)  # and no wider than that
