"""The shares that make counts of reports most likely, by expectation and maximisation, with a bound on what any could add.

With shares h (N,) that sum to 1, reports z have probabilities `(h K)_z`; the log-likelihood of counts n (M,) is
`sum_z n_z log (h K)_z`, which is concave. Derivations in docs/theory/columns.md, section 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from solvers.columns.cone import Array
from solvers.solution import Solution
from solvers.status import Status
from solvers.work import is_over, spend

STEPS = 20_000
LONGEST = 2.0**20  # of the extrapolated steps, beside one of the plain method


def likeliest_shares(table: ArrayLike, counts: ArrayLike, tolerance: float = 1e-6, steps: int = STEPS) -> Solution[Array]:
    """Shares h (N,), at least 0 with sum 1, of the largest `sum_z n_z log (h K)_z`; the value is that sum times -1.

    table: K (N, M), rows that sum to 1. counts: n (M,), at least 0. No shares have a log-likelihood above that of h by more
    than `value - lower_bound`, which is at most `tolerance` where the status is OPTIMAL. Every step raises the likelihood.
    ValueError for what does not fit, or for a report that no element gives.
    Dempster, Laird and Rubin 1977; steps are extrapolated as in Varadhan and Roland 2008.

    >>> found = likeliest_shares([[0.75, 0.25], [0.25, 0.75]], [60, 40])
    >>> found.point.round(6).tolist(), round(-found.value, 4)
    ([0.7, 0.3], -67.3012)
    """
    k, n = np.asarray(table, dtype=float), np.asarray(counts, dtype=float)
    if k.ndim != 2 or not (k >= 0).all() or not np.allclose(k.sum(axis=1), 1.0, atol=1e-6):
        raise ValueError(f"table of shape {k.shape}: give numbers of at least 0 with rows that sum to 1, (N, M).")
    if n.shape != (k.shape[1],) or not np.isfinite(n).all() or not (n >= 0).all() or not n.any():
        raise ValueError(f"counts of shape {n.shape}: give {k.shape[1]} numbers of at least 0, not all 0.")
    seen = n > 0
    if not k[:, seen].any(axis=0).all():
        raise ValueError(f"counts: no element gives report {int(np.flatnonzero(seen)[~k[:, seen].any(axis=0)][0])}.")
    k, n = np.ascontiguousarray(k[:, seen]), n[seen]
    h = np.full(len(k), 1 / len(k))
    value, gains = _likelihood(k, n, h)
    count, length = 0, 1.0
    while (most := float(gains.max() - n.sum())) > tolerance and count < steps and not is_over():
        count += 1
        h, value, gains, length = _step(k, n, h, value, gains, length)
    bound = value + max(most, 0.0)
    status = Status.OPTIMAL if most <= tolerance else Status.STALLED
    return Solution(status, h, -value, -bound, count, "expectation and maximisation, extrapolated")


def _likelihood(k: Array, n: Array, h: Array) -> tuple[float, Array]:
    """The log-likelihood of shares, and its gradient: what one more unit of each adds."""
    spend(calls=1, flops=4.0 * k.size)
    chances = h @ k
    return float(n @ np.log(chances)), np.asarray(k @ (n / chances))


def _step(k: Array, n: Array, h: Array, value: float, gains: Array, length: float) -> tuple[Array, float, Array, float]:
    """Two plain steps `h gains / n`, and one further along where they lead, if that is no less likely than they are."""
    total = n.sum()
    one = h * gains / total
    gains_one = _likelihood(k, n, one)[1]
    two = one * gains_one / total
    two /= two.sum()
    value_two, gains_two = _likelihood(k, n, two)
    first, second = one - h, (two - one) - (one - h)
    bend = float(np.linalg.norm(second))
    far = min(length, float(np.linalg.norm(first)) / bend) if bend > 0 else 1.0
    if far > 1.0:
        made = np.maximum(h + 2 * far * first + far * far * second, h * 1e-3)
        made /= made.sum()
        value_made, gains_made = _likelihood(k, n, made)
        if value_made >= value_two:
            return made, value_made, gains_made, min(2 * length, LONGEST) if far == length else length
        return two, value_two, gains_two, max(1.0, length / 2)
    return two, value_two, gains_two, min(2 * length, LONGEST) if far == length else length
