"""Least squares over levels against the normal equations: exact rationals on small trees, floats on random ones,
simulation for the law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.base.errors import InvalidProblem
from designer.tables.policies.hierarchies import Hierarchy


def random_tree(rng: np.random.Generator, roots: int, levels: int, most: int) -> Hierarchy:
    """Up to `most` children for each group, none for some groups above the last level."""
    parents, last = [-1] * roots, list(range(roots))
    for _ in range(levels):
        new = [parent for parent in last for _ in range(rng.integers(0, most + 1))]
        last = list(range(len(parents), len(parents) + len(new)))
        parents += new
    return Hierarchy(np.array(parents), tuple(map(str, range(len(parents)))))


def incidence(tree: Hierarchy) -> np.ndarray:
    """(n, leaves): which leaves each group contains, by walking up from every leaf."""
    leaves = np.flatnonzero(~tree.inner)
    matrix = np.zeros((tree.size, len(leaves)), dtype=int)
    for k, place in enumerate(leaves):
        while place >= 0:
            matrix[place, k] = 1
            place = tree.parents[place]
    return matrix


def inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Gauss-Jordan in rationals."""
    n = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[n:] for row in rows]


@pytest.mark.parametrize("seed", range(6))
def test_rationals_agree_with_the_normal_equations_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 2, 3, 3)
    contains = incidence(tree)
    s = np.array([Fraction(int(a), int(b)) for a, b in rng.integers(1, 9, size=(tree.size, 2))], dtype=object)
    s[np.flatnonzero(tree.inner)[:1]] = Fraction(0)
    answers = np.array([Fraction(int(a)) for a in rng.integers(-50, 50, size=tree.size)], dtype=object)
    normal = [[sum(s * a * b, Fraction(0)) for b in contains.T] for a in contains.T]
    covariance = np.array(inverse(normal), dtype=object)
    whole = contains @ covariance @ contains.T
    assert (tree.variances(s) == np.diag(whole)).all()
    assert (tree.estimate(answers, s) == whole @ (s * answers)).all()
    weights = np.array([Fraction(int(a)) for a in rng.integers(0, 5, size=tree.size)], dtype=object)
    assert (tree.slopes(s, weights) == [sum(weights * row**2, Fraction(0)) for row in whole]).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_floats_agree_with_weighted_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(1, 4)), 4, 4)
    contains, s = incidence(tree), np.exp(rng.normal(size=tree.size) * 3)
    answers = rng.normal(size=tree.size) * 100
    leaves, *_ = np.linalg.lstsq(contains * np.sqrt(s)[:, None], answers * np.sqrt(s), rcond=None)
    assert np.allclose(tree.estimate(answers, s), contains @ leaves, rtol=1e-6, atol=1e-6)
    covariance = np.linalg.inv(contains.T @ (contains * s[:, None]))
    assert np.allclose(tree.variances(s), np.einsum("il,lm,im->i", contains, covariance, contains), rtol=1e-6)


def test_children_add_up_and_true_totals_are_left_alone() -> None:
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 3, 4, 5)
    s = rng.uniform(0.1, 3, size=tree.size)
    made = tree.estimate(rng.normal(size=tree.size), s)
    assert np.allclose(tree.totals(made[~tree.inner]), made)
    truth = tree.totals(rng.integers(0, 100, size=int((~tree.inner).sum())).astype(float))
    assert np.allclose(tree.estimate(truth, s), truth)


def test_variances_are_those_of_simulated_noise_of_another_law() -> None:
    """Uniform noise: 40,000 draws, each of 12 sample variances within 5 standard errors (failure below 1e-5; seed fixed)."""
    rng = np.random.default_rng(2)
    tree = Hierarchy.of([0, 0, 0, 1, 1, 2, 2, 2], list("abcabcde"), top="all")
    s = rng.uniform(0.2, 4, size=tree.size)
    noise = rng.uniform(-1, 1, size=(40_000, tree.size)) * np.sqrt(3 / s)
    linear = np.stack([tree.estimate(unit, s) for unit in np.eye(tree.size)])
    squares = (noise @ linear) ** 2
    error = squares.std(axis=0) / np.sqrt(len(noise))
    assert (np.abs(squares.mean(axis=0) - tree.variances(s)) < 5 * error).all()


def test_uniform_tree_has_the_closed_form_of_two_levels() -> None:
    """k children of precision s and a parent of precision t: Var(parent) = 1 / (t + s / k),
    Var(child) = 1/s - 1/(k s) + Var(parent) / k^2."""
    k, s, t = 7, 2.0, 0.3
    tree = Hierarchy.of(range(k), top="all")
    variances = tree.variances(np.array([t, *[s] * k]))
    parent = 1 / (t + s / k)
    assert np.allclose(variances, [parent, *[1 / s - 1 / (k * s) + parent / k**2] * k])


def test_large_tree_in_linear_time() -> None:
    tree = Hierarchy.of(np.arange(60_000) // 6000, np.arange(60_000) // 60, np.arange(60_000))
    assert tree.size == 61_010 and tree.depth == 3
    assert tree.variances(np.ones(tree.size)).shape == (61_010,)


@pytest.mark.parametrize(
    ("parents", "labels", "word"),
    [
        ([-1, 2, 0], "abc", "after its parent"),
        ([-1, 0, -1], "abc", "not sorted by level"),
        ([-1, -2], "ab", "after its parent"),
        ([0.5], "a", "one integer"),
        ([], "", "one integer"),
        ([-1, 0], "aa", "twice"),
    ],
)
def test_bad_trees_are_refused(parents: list[int], labels: str, word: str) -> None:
    with pytest.raises(InvalidProblem, match=word):
        Hierarchy(np.array(parents), tuple(labels))


def test_bad_numbers_are_refused() -> None:
    tree = Hierarchy.of("ab", top="all")
    for precisions, word in (
        ([1, 1], "shape"),
        ([1, 0, 1], "without children"),
        ([-1, 1, 1], "at least 0"),
        ([np.inf, 1, 1], "finite"),
    ):
        with pytest.raises(InvalidProblem, match=word):
            tree.variances(np.array(precisions, dtype=float))
    with pytest.raises(InvalidProblem, match="answers"):
        tree.estimate([1, 2], np.ones(3))
    with pytest.raises(InvalidProblem, match="leaves"):
        tree.totals([1.0])
    with pytest.raises(InvalidProblem, match="equally long"):
        Hierarchy.of("ab", "a")
