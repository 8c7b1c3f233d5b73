"""`E |sum_i h_i t_i|` for independent standard exponentials t_i: closed, by a recursion of positive terms only; and for
independent whole numbers with two-sided geometric laws, from their characteristic function.

Where the sums come from: docs/theory/foundations.md, section 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TERMS = 2**15  # of the series below: an error of about 1e-7


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


def mean_absolute_of_geometrics(coefficients: Floats, rates: Floats) -> Floats:
    """`E |sum_j c_j z_j|` for independent z_j with `P(z) ~ exp(-rate_j |z|)`, up to about 1e-7.

    On a circle of circumference T beyond which nothing of weight lies, |y| is a triangle wave: `E |Y|` is the sum over odd k of
    `(2 T / pi^2) (1 - phi(2 pi k / T)) / k^2`, with `1 / phi(t) = prod_j (1 + sin^2(c_j t / 2) / sinh^2(rate_j / 2))`. What is
    left out after `TERMS` terms has the mean of the second half of these.
    coefficients: (J, m). rates: (m,), positive. Returns (J,).
    """
    return np.array([_mean_of_series(np.abs(row[row != 0]), rates[row != 0]) for row in coefficients])


def _mean_of_series(c: Floats, rates: Floats) -> float:
    if not len(c):
        return 0.0
    with np.errstate(over="ignore"):
        inverse = 1 / np.sinh(rates / 2)
    deviation = np.sqrt((c**2 * inverse**2).sum() / 2)
    circle = 2 * float(12 * deviation + 45 * (c / rates).max() + c.max())
    odd = 2 * np.arange(TERMS) + 1.0
    logs = np.zeros(TERMS)
    for one, factor in zip(c, inverse, strict=True):
        logs += np.log1p((factor * np.sin(np.pi / circle * one * odd)) ** 2)
    missing = -np.expm1(-logs)
    rest = missing[TERMS // 2 :].mean() / (4 * TERMS)  # the sum over odd k > 2 TERMS of 1 / k^2
    return float(2 * circle / np.pi**2 * ((missing / odd**2).sum() + rest))
