"""Weights of least cost under a budget for every column: `min sum_k v_k f_k(x_k)`, `sum_k a_ki x_k <= b_i` for every i.

f_k is convex and falls, the entries a are at least 0, and there may be millions of columns: the matrix is asked for products
alone. Multipliers y of the columns are multiplied, again and again, by a power of the load of their column, and every x is the
best answer to them. Whatever y is, `sum_k min_x (v_k f_k(x) + (A y)_k x) - sum_i b_i y_i` is a lower bound (weak duality).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solvers.programs.noise_costs import NoiseCost

Floats = NDArray[np.float64]
Product = Callable[[Floats], Floats]
ROUNDS = 400
NEAR = 1e-4  # of the cost: a gap that is small enough
FADED = 1e-200


def least_loss(cost: NoiseCost, loads: Product, pulls: Product, budgets: Floats) -> tuple[Floats, float]:
    """Weights x, (K,), positive, with `loads(x) <= budgets` up to rounding, and a lower bound of the cost of all such weights.

    cost: `sum_k v_k f_k`. loads: `x -> A' x`, (N,). pulls: `y -> A y`, (K,). budgets: (N,), positive, infinite where there is
    none. Every row of A has an entry above 0 in a column with a budget.
    """
    bounded = np.isfinite(budgets)
    limits = np.where(bounded, budgets, 1.0)
    y = np.where(bounded, 1.0, 0.0)
    best, value, lower = np.ones(len(cost.costs)), np.inf, 0.0
    for _ in range(ROUNDS):
        slopes = np.maximum(pulls(y), FADED)
        x = cost.least(slopes)
        used = np.where(bounded, loads(x) / limits, 0.0)
        most = float(used.max())
        found = cost.value(x / most)
        if found < value:
            best, value = x / most, found
        lower = max(lower, float(cost.value(x) + slopes @ x - limits @ y))
        if lower >= value * (1 - NEAR):
            break
        y = np.maximum(y * used ** ((cost.power + 1) / 2), FADED * bounded)
    return best, lower
