"""Nested groups: least squares, variances, parts and margins against dense algebra and the law itself; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import designer.mechanism.nesting as nesting
from designer.base.errors import InvalidProblem
from designer.mechanism.nesting import Nesting, described_rows
from designer.problem.compressed_rows import intervals_in
from solvers.programs.trees import line
from solvers.trees import Tree, precision


def dense(matrix: np.ndarray) -> object:
    return intervals_in(matrix) or matrix


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Groups, rates, queries, and an element of each leaf: trees and lines, elements in any order, some measured together."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 25))
    random = Tree(np.array([-1, *(int(rng.integers(0, v)) for v in range(1, size))]))
    tree = line(size, int(rng.integers(2, 6))) if seed % 2 else random
    nodes, leaves = tree.indicators(np.arange(len(tree.parent))), len(tree.leaves)
    on = (rng.random(len(tree.parent)) < 0.6) | ~tree.inner
    asked = (np.tril(np.ones((leaves, leaves))), rng.integers(-2, 3, (6, leaves)), nodes * rng.integers(1, 3, (len(nodes), 1)))
    held = np.repeat(np.arange(leaves), rng.integers(1, 4, leaves))
    held = rng.permutation(held) if seed % 5 == 1 else held
    first = np.unique(held, return_index=True)[1]
    return nodes[on][:, held], rng.uniform(0.1, 2, int(on.sum())), asked[seed % 3][:, held].astype(float), first


@pytest.mark.parametrize("seed", range(60))
def test_answers_variances_and_parts_are_those_of_dense_least_squares(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    groups, rates, queries, first = drawn(seed)
    nested = Nesting.of(described_rows(groups), rates, dense(queries))
    measured, asked, weights = groups[:, first], queries[:, first], np.diag(precision(rates))
    known = np.linalg.inv(measured.T @ weights @ measured)
    rebuilt = asked @ known @ measured.T @ weights
    noisy = np.random.default_rng(0).normal(size=(len(groups), 3))
    assert nested.answers(noisy) == pytest.approx(rebuilt @ noisy, abs=1e-9)
    assert nested.variances == pytest.approx(np.diag(asked @ known @ asked.T), abs=1e-9)
    assert nested.covariance() == pytest.approx(asked @ known @ asked.T, abs=1e-9)
    largest, factors = (rebuilt**2 / precision(rates)).max(axis=1), np.abs(rebuilt).max(axis=1)
    assert (nested.parts[0] >= largest * (1 - 1e-9)).all() and (nested.parts[1] >= factors * (1 - 1e-9)).all()
    monkeypatch.setattr(nesting, "LOOKED_AT", 0)
    bounds = Nesting.of(described_rows(groups), rates, dense(queries)).parts
    assert (bounds[0] >= largest * (1 - 1e-9)).all() and (bounds[1] >= factors * (1 - 1e-9)).all()


@pytest.mark.parametrize("seed", [3, 8, 17])
def test_margins_hold_and_are_nearly_attained(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """200,000 draws of the law itself, five standard errors of their shares allowed."""
    groups, rates, queries, _ = drawn(seed)
    nested = Nesting.of(described_rows(groups), rates, dense(queries))
    rng, p = np.random.default_rng(1), 1 - np.exp(-rates)[:, None]
    counts = rng.geometric(p, (len(rates), 200_000)) - rng.geometric(p, (len(rates), 200_000))
    noise, deviations = np.abs(nested.answers(counts.astype(float))), np.sqrt(nested.variances)
    noisy = deviations > 0
    for beyond in (0.05, 0.001):
        margins, room = nested.margins(beyond), 5 * np.sqrt(beyond / 200_000)
        assert ((noise > margins[:, None] + 1e-9).mean(axis=1) <= beyond + room).all()
        inside = margins - 0.03 * deviations
        several = noisy & (nested.parts[0] < 0.7 * nested.variances)
        assert ((noise >= inside[:, None]).mean(axis=1)[several] >= beyond - room).all()
    monkeypatch.setattr(nesting, "MOST_TERMS", 0)
    moments = Nesting.of(described_rows(groups), rates, dense(queries)).margins(0.05)
    assert ((noise > moments[:, None]).mean(axis=1) <= 0.05).all() and (moments <= deviations * np.sqrt(20) * 1.001).all()


def test_queries_of_the_same_law_are_one_kind() -> None:
    """Regular trees have one kind for each level; groups whose noise differs are other kinds."""
    groups = np.vstack([np.repeat(np.eye(4), 3, axis=1), np.eye(12)])
    queries = np.vstack([np.ones(12), groups])
    even = Nesting.of(described_rows(groups), np.repeat([0.3, 0.7], [4, 12]), queries)
    assert even._kinds[1].tolist() == [0, *[1] * 4, *[2] * 12]
    uneven = Nesting.of(described_rows(groups), np.array([0.5, *[0.3] * 3, *[0.5] * 3, *[0.7] * 9]), queries)
    assert uneven._kinds[1].tolist() == [0, 1, *[2] * 3, *[3] * 3, *[4] * 9]


@pytest.mark.parametrize(
    ("groups", "queries", "words"),
    [
        ([[1, 1, 0], [0, 1, 1]], np.eye(3), "groups 0 and 1 share element 1, and none of the two is within the other"),
        ([[1, 1, 1], [1, 0, 0]], np.ones((1, 3)), "some elements of group 0 are in no smaller group"),
        ([[1, 1, 0], [0, 0, 0]], np.eye(3), "group 1 is empty"),
        ([[2, 2, 0], [0, 0, 1]], np.ones((1, 3)), "neither 0 nor 1"),
        ([[1, 1, 0], [0, 0, 1]], np.eye(3), "query 0 tells elements apart"),
        ([[1, 1, 0], [0, 0, 1]], np.array([[1, 2, 0]]), "query 0 tells elements apart"),
        ([[1, 1, 0]], np.ones((1, 3)), "query 0 asks about an element that is in no measured group"),
    ],
)
def test_groups_that_are_not_nested_and_queries_that_are_no_sums_of_them_are_refused(
    groups: object, queries: np.ndarray, words: str
) -> None:
    with pytest.raises(InvalidProblem, match=words):
        Nesting.of(described_rows(np.array(groups, dtype=float)), np.ones(len(groups)), np.asarray(queries, dtype=float))


def test_a_group_that_is_measured_twice_counts_with_both() -> None:
    twice = Nesting.of(described_rows(np.array([[1.0, 1], [1, 1]])), np.array([0.5, 1.0]), np.ones((1, 2)))
    assert twice.variances[0] == pytest.approx(1 / (precision(np.array([0.5])) + precision(np.array([1.0])))[0])


def test_margins_of_the_rarest_probabilities_are_numbers() -> None:
    nested = Nesting.of(described_rows(np.vstack([np.ones(3), np.eye(3)])), np.array([0.3, *[0.7] * 3]), np.eye(3))
    rising = [nested.margins(beyond)[0] for beyond in (1e-2, 1e-9, 1e-13, 1e-15)]
    assert all(np.isfinite(rising)) and rising == sorted(rising) and rising[-1] > 40
