"""Seeded workloads of hundreds to thousands of counts, what simple strategies lose on them, and the variances of frozen
mechanisms by linear algebra of their own: nothing here calls what designs use."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import block_array, coo_array, csr_array, diags_array, eye_array, kron, vstack
from scipy.sparse.linalg import splu

from designer.mechanism.hierarchy import HierarchyMechanism

KINDS = ("nested", "lists of cells", "grids", "blocks", "ranges", "running totals")
SAMPLED = 200  # queries whose variances are computed anew


def workload(seed: int, least: int = 500, most: int = 20_000) -> Any:
    """Rows of ones and zeros (K, N), compressed; kinds take turns, sizes spread evenly on a logarithmic scale."""
    random = np.random.default_rng(seed)
    size = int(least * (most / least) ** random.random())
    return {
        "nested": _nested,
        "lists of cells": _lists,
        "grids": _grid,
        "blocks": _blocks,
        "ranges": _ranges,
        "running totals": lambda size, random: _of_ranges(np.zeros(size, dtype=int), np.arange(1, size + 1), size),
    }[KINDS[seed % len(KINDS)]](size, random)


def _groups(label: Any, cells: int) -> Any:
    """The groups of cells that labels (N,) form."""
    own = np.unique(label, return_inverse=True)[1]
    return csr_array((np.ones(cells), (own, np.arange(cells))), shape=(int(own.max()) + 1, cells))


def _nested(size: int, random: Any) -> Any:
    """Cells in groups of different sizes, these in groups, and everybody."""
    cells = max(size * 4 // 5, 2)
    inner = np.sort(random.integers(0, max(cells // int(random.integers(4, 60)), 1), cells))
    outer = inner // int(random.integers(2, 12))
    return vstack([eye_array(cells), _groups(inner, cells), _groups(outer, cells), _groups(np.zeros(cells), cells)]).tocsr()


def _lists(size: int, random: Any) -> Any:
    """Cells, and sums of cells that are drawn for each."""
    cells, lists = size * 9 // 10, size // 10
    drawn = [random.choice(cells, int(random.integers(2, 40)), replace=False) for _ in range(lists)]
    places = np.repeat(np.arange(lists), [len(one) for one in drawn]), np.concatenate(drawn)
    return vstack([eye_array(cells), coo_array((np.ones(len(places[0])), places), shape=(lists, cells))]).tocsr()


def _grid(size: int, random: Any) -> Any:
    """The cells of a table and both margins."""
    rows = max(int(np.sqrt(size) * random.uniform(0.5, 1.0)), 2)
    columns = max(size // rows - 1, 2)
    margins = [kron(eye_array(rows), np.ones((1, columns))), kron(np.ones((1, rows)), eye_array(columns))]
    return vstack([eye_array(rows * columns), *margins]).tocsr()


def _blocks(size: int, random: Any) -> Any:
    """Running totals within blocks."""
    each = int(random.integers(5, 31))
    return kron(eye_array(size // each), np.tri(each)).tocsr()


def _ranges(size: int, random: Any) -> Any:
    """Ranges of half as many cells."""
    cells = size // 2
    ends = np.sort(random.integers(0, cells + 1, (size, 2)), axis=1)
    ends[:, 1] = np.where(ends[:, 0] == ends[:, 1], np.minimum(ends[:, 1] + 1, cells), ends[:, 1])
    ends[:, 0] = np.where(ends[:, 0] == ends[:, 1], ends[:, 0] - 1, ends[:, 0])
    return _of_ranges(ends[:, 0], ends[:, 1], cells)


def _of_ranges(starts: Any, ends: Any, cells: int) -> Any:
    columns = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)])
    rows = np.repeat(np.arange(len(starts)), ends - starts)
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(starts), cells))


def simple(rows: Any) -> float:
    """The less that noise on the queries at one rate, and noise on the cells, added up, lose at budget 1."""
    deepest = float(rows.sum(axis=0).max())
    return float(min(rows.shape[0] / (np.cosh(1 / deepest) - 1), (rows.power(2)).sum() / (np.cosh(1.0) - 1)))


def variances(mechanism: Any, rows: Any, chosen: Any) -> Any:
    """Of the answers to some queries, (n,), from the rates and the rows of what is measured: weighted least squares by a sparse
    factorisation of `[[-1/p, G], [G', 0]]`, or, where a reconstruction is frozen, what that makes of the noise."""
    asked = rows[chosen]
    if isinstance(mechanism, HierarchyMechanism):
        groups = mechanism.groups.tocsr() if hasattr(mechanism.groups, "tocsr") else csr_array(mechanism.groups)
        marks = groups.T.astype(np.int64) @ np.random.default_rng(0).integers(1 << 40, size=groups.shape[0])
        used = np.unique(marks, return_index=True)[1][int((marks == 0).any()) :]  # of cells in the same groups the first
        groups, asked = groups[:, used], asked[:, used]
        count, spread = groups.shape[0], 1 / (np.cosh(mechanism.rates) - 1)
        system = block_array([[diags_array(-spread), groups], [groups.T, None]])
        solved = splu(system.tocsc()).solve(np.vstack([np.zeros((count, len(chosen))), asked.toarray().T]))
        return (asked.toarray().T * solved[count:]).sum(axis=0)
    measured = csr_array(mechanism.measured.tocsr() if hasattr(mechanism.measured, "tocsr") else mechanism.measured)
    each = eye_array(rows.shape[0]) if mechanism.reconstruction is None else csr_array(mechanism.reconstruction)
    answers = csr_array(each.tocsr()[chosen])
    assert abs(answers @ measured - asked).max() < 1e-8
    steps = mechanism.grid.steps
    return answers.power(2) @ (steps**2 / (2 * np.sinh(steps / mechanism.scales / 2) ** 2))
