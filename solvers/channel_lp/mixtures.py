"""Mixtures of columns from whose reports linear queries of counts are estimated with the least variance.

A column v is reported with probability `p v` under a prior p. Of all unbiased estimates of Q x from a table, the best has the
second moment `tr(G A^-1)` a report, `G = Q'Q`, `A = sum_c mu_c v_c v_c' / (p v_c)`: convex in the weights mu, so that only the
search for columns is local. Derivations in docs/theory/columns.md, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from solvers.channel_lp.cone import Array, Edges, NoOptimum, checked_budgets, envelope, near_edges, no_flow, priced, proven
from solvers.solution import Solution, Status
from solvers.work import is_over, one_thread, spend

STEPS = 400  # of the weights, in each round
STILL = 1e-10  # relative: what a step of the weights gains when they stand still
NEWTON = 60
GAINS = 1e-7  # relative: what gains less is not added
LOCAL, STARTS = 8, 24  # programs from each start; starts of a round among the columns that count most, and as many drawn ones


@dataclass(frozen=True, eq=False)
class Weighted:
    """Columns (N, C) of the cone with weights (C,), whose rows sum to 1: each is a report of its own."""

    columns: Array
    weights: Array

    def table(self) -> Array:
        """K (N, C)."""
        return self.columns * self.weights


def second_moment(table: ArrayLike, prior: ArrayLike, gram: ArrayLike) -> float:
    """`tr(G (sum_z k_z k_z' / (p k_z))^-1)`, k_z the columns of a table (N, M): the least second moment of an unbiased estimate
    of Q x from one report, G = Q'Q. LinAlgError where the table tells nothing of some difference.

    >>> third = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])  # randomised response of 3 values
    >>> round(second_moment(third, np.full(3, 1 / 3), np.eye(3)), 9)
    4.5
    """
    k, p = np.asarray(table, dtype=float), np.asarray(prior, dtype=float)
    chances = p @ k
    some = chances > 0
    return float(np.trace(np.linalg.solve((k[:, some] / chances[some]) @ k[:, some].T, np.asarray(gram, dtype=float))))


def least_moment(
    budgets: ArrayLike, prior: ArrayLike, gram: ArrayLike, start: ArrayLike, rounds: int = 20
) -> Solution[Weighted]:
    """A mixture of small second moment `tr(G A^-1)`, from columns `start` (N, P) of the cone and those local searches find.

    budgets (N, N); prior p (N,) > 0; gram G (N, N), positive semidefinite. The lower bound holds for every table that keeps the
    budgets; it is loose, by a factor of 1.4 for 3 values and more for many, as it rests on the ranges of single entries.
    ValueError for what does not fit.

    >>> b = np.log(3) * (1 - np.eye(3))
    >>> found = least_moment(b, np.full(3, 1 / 3), np.eye(3), np.exp(-b))
    >>> round(found.value, 6), found.lower_bound <= found.value
    (4.5, True)
    """
    b, p, g = checked_budgets(budgets), np.asarray(prior, dtype=float), np.asarray(gram, dtype=float)
    n = len(b)
    if p.shape != (n,) or not (p > 0).all() or g.shape != (n, n) or not np.allclose(g, g.T):
        raise ValueError(
            f"prior of shape {p.shape} and gram of shape {g.shape}: give ({n},), positive, and ({n}, {n}), symmetric."
        )
    p = p / p.sum()
    halves = np.exp(-b / 2)
    columns = np.hstack([halves / halves.sum(axis=1, keepdims=True), np.asarray(start, dtype=float)])
    columns = columns / (p @ columns)
    weights, edges, best, lower, count = np.zeros(0), near_edges(b), np.inf, -np.inf, 0
    found = Weighted(columns, weights)
    with one_thread():
        while count < rounds:
            count += 1
            weights, value, force, y = _weighted(columns, weights, g)
            best, found = (value, Weighted(columns, weights)) if value < best else (best, found)
            lower = max(lower, _bound(b, p, edges, value, force, y))
            drawn = (np.random.default_rng(count).uniform(size=(n, STARTS)) < 0.5).astype(float)
            drawn = envelope(b, drawn + 1e-3)
            around = columns[:, np.argsort(-weights, kind="stable")[:STARTS]]
            new = _local(b, p, edges, force, y, np.hstack([around, drawn / (p @ drawn)]), value)
            if not new.size or is_over():
                break
            kept = weights > 1e-9 * weights.max()
            columns = np.hstack([columns[:, kept], new])
            weights = np.concatenate([weights[kept], np.zeros(new.shape[1])])
    kept = found.weights > 0
    status = Status.OPTIMAL if best - lower <= 1e-6 * best else Status.STALLED
    return Solution(
        status, Weighted(found.columns[:, kept], found.weights[kept]), best, min(lower, best), count, "weights of columns"
    )


def _weighted(columns: Array, weights: Array, gram: Array) -> tuple[Array, float, Array, Array]:
    """Weights mu of least `tr(G A^-1)` with `columns mu = 1`, the value, `W = A^-1 G A^-1`, and the multipliers of the rows.

    columns are scaled to `p v = 1`. `tr(G A(mu)^-1) <= sum_c nu_c^2 w_c / mu_c` for any nu, w = v'W v at nu, with equality at
    mu = nu: the right side is minimised step by step, so the value never rises.
    """
    n, count = columns.shape
    value = np.inf
    fresh = np.maximum(weights, 1e-2 / count) if len(weights) == count else np.ones(count)
    weights, y = _balanced(columns, fresh**2)
    force = np.zeros((n, n))
    for _ in range(STEPS):
        spend(calls=4, flops=20.0 * n * n * count)
        inverse = np.linalg.inv((columns * weights) @ columns.T)
        before, value = value, float(np.einsum("ij,ji->", gram, inverse))
        force = inverse @ gram @ inverse
        if before - value <= STILL * value or is_over():
            break
        w = np.maximum(np.einsum("nc,nm,mc->c", columns, force, columns), 1e-300)
        weights, y = _balanced(columns, weights**2 * w)
    return weights, value, force, y


def _balanced(columns: Array, amounts: Array) -> tuple[Array, Array]:
    """The least `sum a_c / mu_c` with `columns mu = 1`: `mu = sqrt(a / (columns' y))`, y by Newton's method on the dual."""
    y = np.full(len(columns), float(np.sqrt(amounts).sum()) ** 2 / len(columns) / float(columns.sum(axis=0).mean()))
    for _ in range(NEWTON):
        prices = y @ columns
        mu = np.sqrt(amounts / prices)
        off = columns @ mu - 1
        if np.abs(off).max() <= 1e-13:
            break
        bend = (columns * (mu / prices / 2)) @ columns.T
        step = np.linalg.lstsq(bend, off, rcond=None)[0]
        size = 1.0
        while size > 1e-9 and not ((y + size * step) @ columns > 0.05 * prices).all():
            size /= 2
        worth = 2 * np.sqrt(amounts * prices).sum() - y.sum()
        while size > 1e-9:
            moved = y + size * step
            if 2 * np.sqrt(amounts * (moved @ columns)).sum() - moved.sum() >= worth - 1e-14 * abs(worth):
                break
            size /= 2
        y = y + size * step
    return np.sqrt(amounts / (y @ columns)), y


def _ranges(b: Array, p: Array) -> tuple[Array, Array]:
    """Between which entries of a column with `p v = 1` lie."""
    with np.errstate(over="ignore"):
        return 1 / (np.exp(b) @ p), 1 / (np.exp(-b) @ p)


def _bound(b: Array, p: Array, edges: Edges, value: float, force: Array, y: Array) -> float:
    """`f^2 / (sum y + d)` with `v'W v - y v <= d` for all columns of the cone with `p v = 1`.

    With `p v = 1`, `v'W v = v'(W - c p' - p c') v + 2 c v` for any c, which leaves little beside the diagonal; what is left is
    at most linear between the ranges of the entries (McCormick 1976), and a linear program bounds the rest.
    """
    n = len(b)
    low, high = _ranges(b, p)
    i, j = np.triu_indices(n, 1)
    rows = np.zeros((len(i), n))
    rows[np.arange(len(i)), i], rows[np.arange(len(i)), j] = p[j], p[i]
    c = np.linalg.lstsq(rows, force[i, j], rcond=None)[0]
    rest = force - np.outer(c, p) - np.outer(p, c)
    # v_i v_j <= high_i v_j + low_j v_i - high_i low_j, and >= low_i v_j + low_j v_i - low_i low_j.
    up, down = np.maximum(rest, 0.0), np.minimum(rest, 0.0)
    slope = 2 * c + up.T @ high + up @ low + down.T @ low + down @ low
    constant = -float(high @ up @ low + low @ down @ low)
    everywhere = np.ones(n, dtype=bool)
    margin = y - slope - 1e-11 * (np.abs(force).sum(axis=1) * high.max() + np.abs(c))
    try:
        most = priced(margin, p, edges, b, everywhere).bound
    except NoOptimum:
        most = proven(margin, p, no_flow(), b, everywhere)
    most_of_all = float(y.sum()) + most + constant + 1e-11 * (abs(constant) + float(np.abs(y).sum()))
    return (value * (1 - 1e-9)) ** 2 / most_of_all if most_of_all > 0 else 0.0


def _local(b: Array, p: Array, edges: Edges, force: Array, y: Array, starts: Array, value: float) -> Array:
    """Columns (N, L) with `v'W v > y v`, each the end of a local search: the best column for the slope at the last one."""
    everywhere = np.ones(len(b), dtype=bool)
    found: dict[bytes, Array] = {}
    for column in starts.T:
        gain = -np.inf
        for _ in range(LOCAL):
            try:
                made = priced(y - 2 * force @ column, p, edges, b, everywhere).column
            except NoOptimum:
                break
            if not made.any():
                break
            made = made / (p @ made)
            after = float(made @ force @ made - y @ made)
            if after <= gain + GAINS * value:
                break
            column, gain = made, after
        if gain > GAINS * value:
            found[np.round(column, 9).tobytes()] = column
    return np.stack(list(found.values()), axis=1) if found else np.zeros((len(b), 0))


# The shares that make counts of reports most likely, by expectation and maximisation, with a bound on what any could add.
#
# With shares h (N,) that sum to 1, reports z have probabilities `(h K)_z`; the log-likelihood of counts n (M,) is `sum_z n_z
# log (h K)_z`, which is concave. Derivations in docs/theory/columns.md, section 5.


LIKELIEST_STEPS = 20_000
LONGEST = 2.0**20  # of the extrapolated steps, beside one of the plain method


def likeliest_shares(
    table: ArrayLike, counts: ArrayLike, tolerance: float = 1e-6, steps: int = LIKELIEST_STEPS
) -> Solution[Array]:
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
