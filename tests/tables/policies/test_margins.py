"""Least squares over lattices of margins, against the normal equations written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

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
