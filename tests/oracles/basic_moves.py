"""The moves of two-way tables that keep all margins."""

from __future__ import annotations

import itertools

import numpy as np

from solvers.exact.points import Points


def basic_moves(r: int, c: int) -> Points:
    """e_ij - e_il - e_kj + e_kl, flattened."""
    rows = []
    for (i, k), (j, m) in itertools.product(itertools.combinations(range(r), 2), itertools.combinations(range(c), 2)):
        table = np.zeros((r, c), int)
        table[i, j] = table[k, m] = 1
        table[i, m] = table[k, j] = -1
        rows.append(table.ravel())
    return Points.from_integers(np.array(rows))
