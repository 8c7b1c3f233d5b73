"""One count among n public records: the least worst-case squared error over all mechanisms, and over all unbiased ones.

A mechanism is a mixture of columns `m(x)`, x = 0..n, with `m(x +- 1) <= e^eps m(x)`, each with the answer y that it gives. The
extreme columns go up or down by the whole factor at every step, 2^n of them; which answers are needed is found by generating
columns. The value is that of a mechanism, the bound is proven by the multipliers for every column and every real answer.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Floats = NDArray[np.float64]


def columns(records: int, epsilon: float) -> Floats:
    """The extreme columns, (2^n, n + 1), each of largest entry 1."""
    signs = np.array(list(product((-1.0, 1.0), repeat=records))).reshape(-1, records)
    logs = np.concatenate([np.zeros((len(signs), 1)), epsilon * signs.cumsum(axis=1)], axis=1)
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def least_loss(records: int, epsilon: float, unbiased: bool, rounds: int = 60) -> tuple[float, float]:
    """The worst expected squared error of a mechanism, and a bound for all, by generating columns."""
    counts, shapes = np.arange(records + 1.0), columns(records, epsilon)
    peaked = [i for i, row in enumerate(shapes) if (np.diff(np.sign(np.diff(row))) <= 0).all()]
    start = np.linspace(-5.0, records + 5.0, 4 * records + 41)
    chosen, answers = np.repeat(peaked, len(start)), np.tile(start, len(peaked))
    value, bound = np.inf, 0.0
    for _ in range(rounds):
        m, off = shapes[chosen].T, answers - counts[:, None]
        equal = [m, m * off] if unbiased else [m]
        spare = np.zeros((len(counts), 1))
        found = linprog(
            np.eye(m.shape[1] + 1)[-1],
            np.hstack([m * off**2, spare - 1]),
            np.zeros(len(counts)),
            np.vstack([np.hstack([rows, spare]) for rows in equal]),
            np.repeat([1.0, 0.0][: len(equal)], len(counts)),
            method="highs",
        )
        assert found.success, found.message
        prior = np.maximum(-found.ineqlin.marginals, 0)
        prior /= prior.sum()
        mean = found.eqlin.marginals[: len(counts)]
        tilt = -found.eqlin.marginals[len(counts) :] if unbiased else np.zeros(len(counts))
        best, short = _shortfall(shapes, prior, tilt, mean)
        value, bound = found.fun, max(bound, float(mean.sum() + len(counts) * min(0.0, short.min())))
        if value - bound <= 1e-7 * value:
            break
        new = np.argsort(short)[:200]
        chosen, answers = np.concatenate([chosen, new]), np.concatenate([answers, best[new]])
    return value, bound


def _shortfall(shapes: Floats, prior: Floats, tilt: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """For every column m the answer y with the least `sum_x m(x) (prior (y - x)^2 + tilt (y - x))`, and by how much that is
    above `sum_x m(x) mean(x)`, for a column of sum 1."""
    counts = np.arange(shapes.shape[1])
    best = (2 * shapes @ (prior * counts) - shapes @ tilt) / (2 * shapes @ prior)
    off = best[:, None] - counts
    return best, ((shapes * (prior * off**2 + tilt * off - mean)).sum(axis=1)) / shapes.sum(axis=1)
