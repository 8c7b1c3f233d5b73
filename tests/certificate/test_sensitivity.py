"""Sensitivity sets against brute force over all neighbouring histograms of small universes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from designer import DesignFailed, Workload, metrics
from designer.certificate.norms import Norm, weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.problem.relation import Relation
from tests.certificate.test_certificate import semimetric

INTEGERS = st.integers(-3, 3).map(float)


def matrices(elements: st.SearchStrategy[float] = INTEGERS, side: int = 4) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(2, side)), elements=elements)


def histograms(records: int, elements: int) -> Iterator[tuple[int, ...]]:
    return (h for h in product(range(records + 1), repeat=elements) if sum(h) == records)


def replaced(matrix: np.ndarray, records: int) -> set[tuple[float, ...]]:
    """Q (x - x') over all histograms of `records` records that differ in one record, by enumeration."""
    every = [np.array(h) for h in histograms(records, matrix.shape[1])]
    return {tuple(matrix @ (x - y)) for x in every for y in every if np.abs(x - y).sum() == 2}


def appeared(matrix: np.ndarray, records: int) -> set[tuple[float, ...]]:
    """Q (x - x') over all pairs of histograms of `records` and `records - 1` records that differ in one."""
    more, fewer = ([np.array(h) for h in histograms(n, matrix.shape[1])] for n in (records, records - 1))
    return {tuple(matrix @ (x - y)) for x in more for y in fewer if np.abs(x - y).sum() == 1}


def differences(sensitivity: SensitivitySet) -> set[tuple[float, ...]]:
    found = sensitivity.all_pairs().differences + 0.0
    return {tuple(row) for row in found} | {tuple(-row + 0.0) for row in found}


def nonzero(vectors: set[tuple[float, ...]]) -> set[tuple[float, ...]]:
    return {tuple(np.array(v) + 0.0) for v in vectors if any(v)}


@settings(max_examples=25, deadline=None)
@given(matrices(), st.integers(2, 3))
def test_replace_one_is_the_differences_of_columns(matrix: np.ndarray, records: int) -> None:
    relation = metrics.uniform(matrix.shape[1], 1.0)
    assert differences(SensitivitySet.of(matrix, relation)) == nonzero(replaced(matrix, records))


@settings(max_examples=25, deadline=None)
@given(matrices(), st.integers(1, 3))
def test_add_remove_is_the_columns(matrix: np.ndarray, records: int) -> None:
    relation = metrics.add_remove(matrix.shape[1], 1.0)
    found = differences(SensitivitySet.of(matrix, relation))
    columns = appeared(matrix, records)
    assert found == nonzero(columns | {tuple(-np.array(c)) for c in columns})


def brute_worst(points: np.ndarray, relation: Relation, norm: Norm) -> float:
    """Largest ||u|| / b in plain Python over all pairs of points, not only those that the relation lists."""
    worst = 0.0
    add_remove = relation.kind == "add_remove"
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            if add_remove and j != relation.size:
                continue
            budget = relation.exact_budget(i, j)
            u = [Fraction(a) - Fraction(b) for a, b in zip(points[i].tolist(), points[j].tolist(), strict=True)]
            if budget is None or not any(u):
                continue
            length = norm.exact(u)
            worst = max(worst, math.inf if budget == 0 or length is None else float(length / budget))
    return worst


@settings(max_examples=80, deadline=None)
@given(matrices(st.floats(-4, 4).map(lambda v: round(v, 3)), 6), st.integers(0, 10**6), st.sampled_from(["l1", "l2", "linf"]))
def test_worst_against_brute_force(matrix: np.ndarray, seed: int, order: str) -> None:
    n = matrix.shape[1]
    generator = np.random.default_rng(seed)
    shape = generator.random((2, len(matrix))) if seed % 2 else generator.random(len(matrix)) + 0.1
    norm = Norm(shape, order)  # type: ignore[arg-type]
    for relation in (
        metrics.from_matrix(semimetric(n, np.random.default_rng(seed))),
        metrics.uniform(n, 0.7),
        metrics.euclidean(generator.integers(0, 5, (n, 2)).astype(float), 0.3),
        metrics.euclidean(generator.integers(0, 5, n).astype(float), 0.3),
        metrics.add_remove(n, [0.5, *[math.inf] * (n - 1)]),
    ):
        sensitivity = SensitivitySet.of(matrix, relation)
        worst, pairs = sensitivity.worst(norm, limit=3)
        assert worst == pytest.approx(brute_worst(sensitivity.points, relation, norm), rel=1e-9)
        assert len(pairs) <= 3
        if worst > 0:
            attained = norm(pairs.differences[:1])[0]
            if math.isinf(worst):
                assert pairs.budgets[0] == 0 < attained
            else:
                assert attained == pytest.approx(worst * pairs.budgets[0], rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(matrices(st.sampled_from([0.0, 1.0, 2.0]), 5), st.integers(0, 10**6))
def test_silent_coordinates_are_those_that_no_protected_pair_moves(matrix: np.ndarray, seed: int) -> None:
    n = matrix.shape[1]
    for relation in (
        metrics.from_matrix(semimetric(n, np.random.default_rng(seed))),
        metrics.uniform(n, 1.0),
        metrics.add_remove(n, [1.0, *[math.inf] * (n - 1)]),
    ):
        sensitivity = SensitivitySet.of(matrix, relation)
        moved = np.zeros(len(matrix), dtype=bool)
        for i in range(len(sensitivity.points)):
            for j in range(i):
                listed = relation.kind != "add_remove" or i == n
                if listed and relation.exact_budget(j, i) is not None:
                    moved |= sensitivity.points[i] != sensitivity.points[j]
        assert sensitivity.silent_coordinates().tolist() == (~moved).tolist()


@settings(max_examples=60, deadline=None)
@given(matrices(INTEGERS, 5), st.integers(0, 10**6))
def test_rank_and_span_against_numpy(matrix: np.ndarray, seed: int) -> None:
    for relation in (
        metrics.from_matrix(semimetric(matrix.shape[1], np.random.default_rng(seed))),
        metrics.add_remove(matrix.shape[1], 1.0),
    ):
        sensitivity = SensitivitySet.of(matrix, relation)
        found = sensitivity.all_pairs().differences
        wanted = int(np.linalg.matrix_rank(found)) if len(found) else 0
        assert sensitivity.rank() == wanted
        assert int(np.linalg.matrix_rank(sensitivity.span())) == wanted


def test_rank_is_exact_where_float_differences_lose_digits() -> None:
    points = np.array([[1e20, 1e20], [1.0, 2.0], [0.0, 0.0]])
    assert SensitivitySet(metrics.uniform(3, 1.0), points).rank() == 2


def test_all_pairs_limit() -> None:
    sensitivity = SensitivitySet.of(Workload.identity(5).dense(), metrics.uniform(5, 1.0))
    assert len(sensitivity.all_pairs(limit=10)) == 10
    with pytest.raises(DesignFailed, match="more than 9 differences"):
        sensitivity.all_pairs(limit=9)


def test_a_relation_without_pairs_has_no_differences() -> None:
    relation = metrics.from_matrix([[0, math.inf], [math.inf, 0]])
    sensitivity = SensitivitySet.of(np.eye(2), relation)
    assert len(sensitivity.all_pairs()) == 0
    assert sensitivity.worst(weighted_l1([1.0, 1.0]))[0] == 0
    assert sensitivity.silent_coordinates().all()
    assert sensitivity.rank() == 0


def test_normalised_differences() -> None:
    pairs = SensitivitySet.of(np.array([[0.0, 2.0, 2.0]]), metrics.from_matrix([[0, 4, 4], [4, 0, 0], [4, 0, 0]])).all_pairs()
    assert sorted(pairs.normalised.ravel().tolist()) == [-0.5, -0.5]


def test_lengths_that_overflow_count_as_infinite() -> None:
    """1e200 * 1e200 is infinite, and infinity minus infinity not a number: neither may hide behind the other pairs."""
    sensitivity = SensitivitySet.of(np.array([[1e200, 3e200, 0.0]]), metrics.from_matrix([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    assert sensitivity.worst(weighted_l1([1e200]))[0] == math.inf
    only = SensitivitySet.of(np.array([[1e200, 3e200]]), metrics.uniform(2, 1.0))
    assert only.worst(weighted_l1([1e200]))[0] == math.inf
    assert only.worst(weighted_l1([1e-200]))[0] == pytest.approx(2.0)
