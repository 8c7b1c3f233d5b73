"""Pivots do not depend on how a kernel adds up: where columns tie, and last digits differ, the same ones are chosen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from solvers.exact.rational import exact_rank
from solvers.polytopes.extremes import TIES, pivots

Array = NDArray[np.float64]


def marginals() -> Array:
    """Differences (24, 36) of cells in all tables of at most two of three attributes: 17 columns are independent."""
    cells = list(itertools.product(range(4), range(2), range(3)))
    kept = [axes for k in range(3) for axes in itertools.combinations(range(3), k)]
    columns = []
    for axes in kept:
        for value in itertools.product(*(range((4, 2, 3)[axis]) for axis in axes)):
            columns.append([all(cell[axis] == v for axis, v in zip(axes, value, strict=True)) for cell in cells])
    table = np.array(columns, dtype=np.float64).T
    return np.asarray(table - table[0])


@pytest.mark.parametrize(
    "table", [marginals(), np.eye(30) - np.eye(30, k=1), 1.0 - np.eye(12)], ids=["marginals", "steps", "rest"]
)
def test_ties_are_not_decided_by_last_digits(table: Array) -> None:
    rank = exact_rank(table)
    first = pivots(table)[0][:rank]
    assert exact_rank(table[:, first]) == rank
    for seed in range(20):
        noise = 1 + 1e-13 * np.random.default_rng(seed).uniform(-1, 1, table.shape)
        assert pivots(table * noise)[0][:rank].tolist() == first.tolist()


def test_each_column_is_farthest_from_the_span_of_those_before_up_to_the_factors() -> None:
    table = np.random.default_rng(5).normal(size=(9, 14))
    order, distances = pivots(table)
    for k in range(len(order)):
        basis = np.linalg.qr(table[:, order[:k]])[0]
        rest = np.linalg.norm(table - basis @ (basis.T @ table), axis=0)
        assert rest[order[k]] >= (1 - TIES) * rest.max()
        assert (1 - TIES) * rest[order[k]] * (1 - 1e-12) <= distances[k] <= rest[order[k]] * (1 + 1e-12)
