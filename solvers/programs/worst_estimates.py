"""Estimates of a whole number x in 0..n from an outcome j in 0..n whose chance is c_j a^|x - j|, least in the worst case:

    min over y max over x sum_j c_j a^|x - j| (y_j - x)^2

Its dual is concave: the Bayes risk of a prior on 0..n, largest. The inverse of a^|x - j| is tridiagonal, so that a step of
Newton's method on the conditions of Karush, Kuhn and Tucker is a banded system of four unknowns for each x. Sums over j are
running sums of nonnegative terms, the same for floats and for balls.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from solvers.limited import linear_program
from solvers.solution import Solution, Status, relative_gap

Array = NDArray[Any]  # of floats or of balls
TOLERANCE, STEPS = 1e-8, 60
TO_THE_BORDER, SHORT = 0.95, 0.5  # of a step
BAND = 7  # diagonals on each side, of four unknowns coupled with those of both neighbours


class Estimates(NamedTuple):
    """Of each outcome the estimate, (n + 1,), and of each x the weight of the prior, (n + 1,), which add up to 1; and b, where
    the error at x is at most the least value plus b (x - mean)."""

    table: Array
    prior: Array
    slope: float = 0.0


def ends_kept(a: Any, n: int) -> Array:
    """c, (n + 1,): two-sided geometric noise of ratio a, what is beyond 0 or n counted there."""
    return np.array([1 / (1 + a), *[(1 - a) / (1 + a)] * (n - 1), 1 / (1 + a)])


def moments(weights: Array, a: Any) -> tuple[Array, Array, Array]:
    """`sum_j a^|x - j| (x - j)^p w_j` for each x, p = 0, 1, 2, (n + 1,) each."""

    def before(given: list[Any]) -> list[list[Any]]:
        """The sums over j <= x; of p = 2 as k^2 = k + k (k - 1), so that nothing cancels."""
        sums = list(accumulate(given, lambda total, w: a * total + w))
        first = [0 * a, *(a * s for s in accumulate(sums, lambda total, w: a * total + w))][:-1]
        pairs = [0 * a, *(2 * a * s for s in accumulate(first, lambda total, w: a * total + w))][:-1]
        return [sums, first, [s + p for s, p in zip(first, pairs, strict=True)]]

    left = map(np.array, before(weights.tolist()))
    right = (np.array(sums[::-1]) for sums in before(weights[::-1].tolist()))
    (zero, first, second), (zero_after, first_after, second_after) = left, right
    return zero + zero_after - weights, first - first_after, second + second_after


def risks(shifts: Array, c: Array, a: Any) -> Array:
    """Expected squared error of the estimates `j + shifts_j` at each x, (n + 1,)."""
    squares, products = moments(c * shifts * shifts, a)[0], moments(c * shifts, a)[1]
    return np.asarray(squares - 2 * products + moments(c, a)[2])


def bayes(prior: Array, c: Array, a: Any) -> tuple[Array, Any]:
    """The best estimates under a prior, less the outcome, (n + 1,), and their expected squared error, times the sum of it."""
    mass, first, second = moments(prior, a)
    return -first / mass, (c * (second - first * first / mass)).sum()


def least_worst_squares(rate: float, n: int, mean: float | None = None) -> Solution[Estimates]:
    """The estimates for the ratio a = exp(-rate), rate > 0, with their least favourable prior; n at least 1.

    mean: at most n / 2, of x: then the worst case is over the laws of x that have it, and so over the sum of errors of many x
    whose mean it is.
    """
    a, places = math.exp(-rate), np.arange(n + 1)
    known = np.ones((n + 1, 1)) if mean is None else np.stack([np.ones(n + 1), places - mean], axis=1)  # of the prior
    share = 1.0 if mean is None else 2 * mean / n
    c, prior = ends_kept(a, n), np.full(n + 1, share / (n + 1))
    prior[0] += 1 - share
    shifts, lower = bayes(prior, c, a)
    risk = risks(shifts, c, a)
    line = np.append(1.1 * risk.max(), np.zeros(known.shape[1] - 1))
    slack = known @ line - risk
    barrier, best = float(np.mean(slack * prior)), (float(risk.max()), float(lower), Estimates(places + shifts, prior))
    for step in range(1, STEPS + 1):
        moved, by = _direction(a, c, prior, shifts, slack, risk - known @ line + barrier / prior, known)
        slack_by = barrier / prior - slack - slack / prior * moved
        falls = [-x[d < 0] / d[d < 0] for x, d in ((prior, moved), (slack, slack_by))]
        length = min(1.0, *(TO_THE_BORDER * fall.min(initial=math.inf) for fall in falls))
        prior, slack, line = prior + length * moved, slack + length * slack_by, line + length * by
        shifts, lower = bayes(prior, c, a)
        risk = risks(shifts, c, a)
        value = float((risk - known[:, 1:] @ line[1:]).max())
        if relative_gap(value, lower) < relative_gap(*best[:2]):
            best = value, float(lower), Estimates(places + shifts, prior, *line[1:].tolist())
        if relative_gap(*best[:2]) <= TOLERANCE:
            return Solution(Status.OPTIMAL, best[2], *best[:2], step, "Newton on a banded system")
        barrier *= 0.1 if length > SHORT else 0.5
    return Solution(Status.STALLED, best[2], *best[:2], STEPS, "Newton on a banded system")


def _direction(
    a: float, c: Array, prior: Array, shifts: Array, slack: Array, wanted: Array, known: Array
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The change m of the prior and t of the line above all risks, `(2 U diag(1 / w) U' + slack / prior) m + known t = wanted`
    and `known' (prior + m) = (1, 0)`.

    `U_xj = c_j a^|x - j| (x - y_j)`, w_j the chance of j. With A = (a^|x - j|), T its inverse and `E_xj = T_xj (x - j)`, the
    unknowns are `h = A m`, `T k = E h`, `T g = z` and `T d = -E g - b z` with `z = c (k - b h) / A prior`, b the shifts: then
    `U diag(1 / w) U' m = d`. T and E are multiplied by 1 - a^2.
    """
    size, unit = len(c), -math.expm1(2 * math.log(a))
    inverse = np.full(size, 1 + a * a)
    inverse[[0, -1]] = 1.0
    share, pull = slack / prior / unit, unit * c / moments(prior, a)[0]
    h, k, g, d = range(4)  # unknowns, and the equations of m, k, g and d
    entries: list[tuple[int, int, int, Any]] = [
        *((own, own, off, t) for own in (k, g, d) for off, t in ((0, inverse), (1, -a), (-1, -a))),
        *((h, h, off, share * t) for off, t in ((0, inverse), (1, -a), (-1, -a))),
        *((k, h, off, -a * off) for off in (1, -1)),
        *((d, g, off, a * off) for off in (1, -1)),
        *((h, d, 0, 2.0), (g, k, 0, -pull), (g, h, 0, pull * shifts)),
        *((d, k, 0, pull * shifts), (d, h, 0, -pull * shifts**2)),
    ]
    band = np.zeros((2 * BAND + 1, 4 * size))
    for equation, unknown, off, values in entries:
        x = np.arange(max(0, -off), size - max(0, off))
        band[BAND + equation - unknown - 4 * off, 4 * (x + off) + unknown] = np.broadcast_to(values, size)[x]
    right = np.zeros((4 * size, 1 + known.shape[1]))
    right[::4] = np.column_stack([wanted, known])
    solved = solve_banded((BAND, BAND), band, right)[::4]
    changes = inverse[:, None] * solved
    changes[:-1] -= a * solved[1:]
    changes[1:] -= a * solved[:-1]
    own, along = changes[:, 0] / unit, changes[:, 1:] / unit
    short = np.append(1.0, np.zeros(known.shape[1] - 1)) - known.T @ prior
    by = np.linalg.solve(known.T @ along, known.T @ own - short)
    return np.asarray(own - along @ by), by


def least_worst_sizes(rate: float, n: int) -> Solution[Estimates]:
    """The same for absolute errors, by a linear program over the chances of whole estimates: between whole numbers an error is
    linear, so their mean is as good."""
    a, apart = math.exp(-rate), np.abs(np.subtract.outer(range(n + 1), range(n + 1))).astype(np.float64)
    chances, size = a**apart * ends_kept(a, n), n + 1
    costs = (chances[:, :, None] * apart[:, None, :]).reshape(size, -1)
    found = linear_program(
        np.append(np.zeros(size**2), 1.0),
        A_ub=np.hstack([costs, -np.ones((size, 1))]),
        b_ub=np.zeros(size),
        A_eq=np.hstack([np.kron(np.eye(size), np.ones(size)), np.zeros((size, 1))]),
        b_eq=np.ones(size),
        exactness=1e-10,
    )
    if found.x is None:
        raise ArithmeticError(found.message)
    prior = np.maximum(-found.ineqlin.marginals, 0.0)
    prior /= prior.sum()
    lower = (apart @ (prior[:, None] * chances)).min(axis=0).sum()
    table = found.x[:-1].reshape(size, size) @ np.arange(size)
    value = (chances * np.abs(table - np.arange(size)[:, None])).sum(axis=1).max()
    return Solution(Status.OPTIMAL, Estimates(table, prior), float(value), float(lower), int(found.nit), "linear program")
