"""Multiplicative weights: move a distribution over N points towards measured values of linear functions of it.

Weights are kept as logarithms, so no sequence of measurements overflows or loses a point for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def distribution(logs: Array) -> Array:
    """The distribution with these log-weights, (N,).

    >>> distribution(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def updated(logs: Array, row: Array, value: float, rate: float) -> Array:
    """Log-weights, the largest 0, after one step `w_i *= exp(rate * row_i * (value - row . p))`, p the distribution before it.

    With `rate = 4 / R^2`, R the range of the row, the relative entropy to any distribution b falls by at least
    `2 / R^2 * ((row . (p - b))^2 - (value - row . b)^2)`, by Hoeffding's lemma (docs/theory/synthetic.md, 4).

    >>> updated(np.zeros(2), np.array([0.0, 1.0]), 0.75, 4.0).tolist()
    [-1.0, 0.0]
    """
    moved = logs + rate * (value - float(row @ distribution(logs))) * row
    return np.asarray(moved - moved.max())


def replayed(logs: Array, rows: Sequence[Array], values: Sequence[float], rate: float, passes: int) -> Array:
    """Log-weights after `passes` rounds through all measurements in turn."""
    for _ in range(passes):
        for row, value in zip(rows, values, strict=True):
            logs = updated(logs, row, value, rate)
    return logs
