"""`E |sum_i h_i t_i|` for independent standard exponentials t_i: closed, by a recursion of positive terms only.

Where the sums come from: docs/theory/foundations.md, section 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_absolute(heights: Floats) -> Floats:
    """`E |sum_i h_i t_i|` for every row h of `heights`, shape (J, s) -> (J,).

    >>> mean_absolute(np.array([[1.0, -1.0], [2.0, 3.0]])).tolist()
    [1.0, 5.0]
    """
    descending = -np.sort(-np.asarray(heights, dtype=np.float64), axis=1)
    return _mean_positive(descending) + _mean_positive(-descending[:, ::-1])


def _mean_positive(h: Floats) -> Floats:
    """`E max(0, sum_i h_i t_i)` for rows in descending order.

    With p = h_i > 0 > -m = h_j, the exponentials are memoryless: p t_i - m t_j is p t with probability p / (p + m) and -m t
    otherwise. So F(i..j) = (p F(i..j-1) + m F(i+1..j)) / (p + m);
    where all are nonnegative F is their sum, where none is positive it is 0.
    """
    size = h.shape[1]
    # row[i] holds F(i..i+length-1) for all rows of heights.
    row = [np.maximum(h[:, i], 0.0) for i in range(size)]
    sums = np.concatenate([np.zeros((len(h), 1)), np.cumsum(h, axis=1)], axis=1)
    for length in range(2, size + 1):
        longer = []
        for i in range(size - length + 1):
            p, m = h[:, i], -h[:, i + length - 1]
            with np.errstate(divide="ignore", invalid="ignore"):
                mixed = (p * row[i] + m * row[i + 1]) / (p + m)
            whole = np.where(m <= 0, sums[:, i + length] - sums[:, i], mixed)
            longer.append(np.where(p <= 0, 0.0, whole))
        row = longer
    return np.asarray(row[0])
