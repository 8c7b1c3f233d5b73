"""Least squares over lattices of margins, against the normal equations written out. Least squares over levels against the
normal equations: exact rationals on small trees, floats on random ones, simulation for the law.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import InvalidProblem
from designer.tables.intervals import Margin, MarginLattice
from designer.tables.policies.hierarchies import Hierarchy

TREE = Hierarchy.of(["a", "a", "a", "b", "b", "c"], ["1", "2", "3", "1", "2", "1"], top="all")


LATTICE = MarginLattice(TREE, {"sector": 3, "size": 2})


ASKED: dict[str, dict[Margin, Any]] = {
    "state and county by sector": {(1, ("sector",)): 2.0, (2, ("sector",)): 0.5},
    "crossed": {(2, ("sector",)): 1.0, (2, ("size",)): 3.0, (0, ("sector", "size")): 0.25, (1, ()): 4.0},
    "all": {
        (level, axes): 1.0 + level + len(axes)
        for level in range(3)
        for axes in ((), ("sector",), ("size",), ("sector", "size"))
    },
    "by group": {(1, ("sector",)): np.array([1.0, 2.0, 5.0]), (2, ("sector",)): np.arange(1.0, 7.0), (2, ("size",)): 1.0},
    "coarse sectors": {(1, ("sector",)): 1.0, (2, ()): 2.0, (0, ("sector",)): 0.5},
}


def rows_of(lattice: MarginLattice, margin: Margin) -> np.ndarray[Any, Any]:
    """The 0/1 matrix of a margin over leaves x cells, written out."""
    level, kept = margin
    tree, names = lattice.tree, list(lattice.sizes)
    leaves = np.flatnonzero(~tree.inner).tolist()
    cells = list(product(leaves, *(range(lattice.sizes[name]) for name in names)))
    groups = range(tree.slices[level].start, tree.slices[level].stop)

    def ancestor(leaf: int) -> int:
        while tree.level[leaf] > level:
            leaf = int(tree.parents[leaf])
        return leaf

    own = list(product(groups, *(range(lattice.sizes[name]) for name in kept)))
    where = {key: i for i, key in enumerate(own)}
    matrix = np.zeros((len(own), len(cells)))
    for column, (leaf, *cell) in enumerate(cells):
        matrix[where[(ancestor(leaf), *(cell[names.index(name)] for name in kept))], column] = 1
    return matrix


def normal_equations(lattice: MarginLattice, precisions: dict[Margin, Any], answers: dict[Margin, Any]) -> Any:
    """Estimates and covariances of all cells, by a pseudo-inverse: what is asked of it is determined."""
    matrix = np.vstack([rows_of(lattice, margin) for margin in precisions])
    weights = np.concatenate(
        [
            np.broadcast_to(
                np.reshape(np.broadcast_to(s, lattice.shape(m)[:1]), (-1,) + (1,) * len(m[1])), lattice.shape(m)
            ).ravel()
            for m, s in precisions.items()
        ]
    )
    covariance = np.linalg.pinv(matrix.T @ (weights[:, None] * matrix), rcond=1e-10)
    return covariance @ matrix.T @ (weights * np.concatenate([answers[m].ravel() for m in precisions])), covariance


@pytest.mark.parametrize("name", ASKED)
def test_estimates_and_variances_solve_the_normal_equations(name: str) -> None:
    precisions, generator = ASKED[name], np.random.default_rng(3)
    answers = {margin: generator.normal(100, 9, LATTICE.shape(margin)) for margin in precisions}
    found, spread = LATTICE.estimate(answers, precisions), LATTICE.variances(precisions)
    cells, covariance = normal_equations(LATTICE, precisions, answers)
    for margin in precisions:
        matrix = rows_of(LATTICE, margin)
        np.testing.assert_allclose(found[margin].ravel(), matrix @ cells, rtol=1e-8)
        own = np.einsum("ij,jk,ik->i", matrix, covariance, matrix).reshape(LATTICE.shape(margin))
        across = (slice(None),) + (None,) * len(margin[1])
        np.testing.assert_allclose(np.broadcast_to(spread[margin][across], own.shape), own, rtol=1e-8)


def test_margins_that_were_not_asked_follow_from_those_that_were() -> None:
    precisions = ASKED["crossed"]
    answers = {margin: np.random.default_rng(4).normal(50, 3, LATTICE.shape(margin)) for margin in precisions}
    wanted: list[Margin] = [(2, ("sector",)), (1, ("sector",)), (1, ("size",)), (0, ()), (0, ("sector", "size"))]
    found, spread = LATTICE.estimate(answers, precisions, wanted), LATTICE.variances(precisions, wanted)
    states = np.zeros((3, 3))
    np.add.at(states, TREE.parents[TREE.slices[2]] - 1, found[2, ("sector",)])
    np.testing.assert_allclose(found[1, ("sector",)], states)
    np.testing.assert_allclose(found[0, ("sector", "size")].sum(axis=(1, 2)), found[0, ()])
    np.testing.assert_allclose(found[1, ("size",)].sum(axis=(0, 1)), found[0, ()][0])
    _, covariance = normal_equations(LATTICE, precisions, answers)
    matrix = rows_of(LATTICE, (1, ("size",)))
    own = np.einsum("ij,jk,ik->i", matrix, covariance, matrix).reshape(3, 2)
    np.testing.assert_allclose(spread[1, ("size",)], own[:, 0], rtol=1e-8)


def test_fractions_stay_fractions_and_exact_tables_stay_what_they_are() -> None:
    counts = np.vectorize(Fraction)(np.random.default_rng(5).integers(0, 9, (6, 3, 2)))
    states = np.array([counts[:3].sum(axis=0), counts[3:5].sum(axis=0), counts[5:].sum(axis=0)])
    truth: dict[Margin, Any] = {
        (2, ("sector",)): counts.sum(axis=2), (1, ("sector", "size")): states, (0, ("size",)): states.sum(axis=(0, 1))[None],
    }  # fmt: skip
    precisions = {margin: Fraction(1 + i, 3) for i, margin in enumerate(truth)}
    found = LATTICE.estimate(truth, precisions)
    for margin, table in truth.items():
        assert found[margin].tolist() == table.tolist()
        assert all(type(v) is Fraction for v in found[margin].ravel())
    assert all(type(v) is Fraction for own in LATTICE.variances(precisions).values() for v in own)


def test_without_axes_a_lattice_is_its_hierarchy() -> None:
    lattice = MarginLattice(TREE, {})
    given = np.random.default_rng(6).normal(0, 1, TREE.size)
    margins: list[Margin] = [(level, ()) for level in range(3)]
    answers = {m: given[rows] for m, rows in zip(margins, TREE.slices, strict=True)}
    made = lattice.estimate(answers, dict.fromkeys(margins, 2.0))
    np.testing.assert_allclose(np.concatenate([made[m] for m in margins]), TREE.estimate(given, np.full(TREE.size, 2.0)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LATTICE.variances({(3, ()): 1.0}), "margin"),
        (lambda: LATTICE.variances({(1, ("size", "sector")): 1.0}), "in this order"),
        (lambda: LATTICE.variances({(1, ()): 0.0}), "positive"),
        (lambda: LATTICE.variances({}), "at least one"),
        (lambda: LATTICE.variances({(1, ()): 1.0}, [(1, ("size",))]), "no answer tells"),
        (lambda: LATTICE.variances({(1, ()): 1.0}, [(2, ())]), "not determined"),
        (lambda: LATTICE.estimate({(1, ()): [1, 2]}, {(1, ()): 1.0}), "answers"),
        (lambda: LATTICE.estimate({}, {(1, ()): 1.0}), "answers"),
        (lambda: MarginLattice(TREE, {"sector": 0}), "sizes"),
    ],
)
def test_bad_margins_are_refused(call: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        call()


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
