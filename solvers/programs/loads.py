"""Precisions s >= 0 of least largest load `max_k (G s)_k` under `e_j(s) <= 1`, each error convex,
decreasing and of degree -1 in s.

Such errors are `1 / s_i`, the diagonal and the forms `w' (A' diag(s) A)^-1 w` of least squares, and nonnegative sums of them.
With the slope `g = -grad e(p)` at any point p, Euler's identity gives `g'p = e(p)`, and convexity at the multiple `e(p) p`
gives for every s with `e(s) <= 1`

    1 >= e(s) >= 2 - g's / e(p)^2,   that is   g's >= e(p)^2:

one linear inequality, tight on the ray of p. A linear program over such cuts bounds the optimum from below, every point p gives
the feasible point `max_j e_j(p) p`, and the two meet (Kelley's method; derivation in docs/theory/record_design.md, 2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solvers.limited import linear_program
from solvers.solution import Solution, relative_gap
from solvers.status import Status
from solvers.work import spend

Floats = NDArray[np.float64]
# (n,) positive precisions to (J,) errors, all that may be the largest among them, and their (J, n) slopes.
Errors = Callable[[Floats], tuple[Floats, Floats]]

# Cuts are made between the linear program's optimum, which may have zeros and so infinite errors, and the best feasible point.
# Measured, 16 precisions, trees of 498 groups, gap 1e-6: 9 rounds; 21 half-way, 11 with 1 - 1e-9.
TOWARDS = 0.9
TRACES = (0.0, 1e-9, 1e-7)


def least_load(
    loads: Floats, errors: Errors, start: Floats, *, tolerance: float = 1e-6, max_rounds: int = 300
) -> Solution[Floats]:
    """The precisions s (n,) of least `max_k (G s)_k` with all `errors(s) <= 1`.

    loads G: (K, n), nonnegative, no zero column. start: (n,), positive; its scale is taken as that of the unknowns.
    Value and lower bound are recomputed here from the point and from the cuts' multipliers. Where no error bounds an unknown
    from below it may end near 0.

    >>> direct = lambda s: (np.array([4.0, 1.0]) / s, np.diag([4.0, 1.0] / s**2))  # errors 4 / s_0 and 1 / s_1
    >>> least_load(np.array([[1.0, 2.0]]), direct, np.ones(2)).point.round(4)
    array([4., 1.])
    """
    loads = np.asarray(loads, dtype=np.float64) * start
    best, cuts = _feasible(errors, start, np.ones(len(start)))
    # The linear solver's tolerances are absolute. In other units than that of the start 300 rounds left a gap of 1e-3,
    # in these 5 leave 1e-7.
    unit = float((loads @ best).max())
    loads, value, bound, rounds = loads / unit, 1.0, 0.0, 0
    while rounds < max_rounds:
        rounds += 1
        outer = _outer(loads, cuts)
        if outer is None:
            break
        bound = max(bound, outer[1])
        if relative_gap(value, bound) <= tolerance:
            break
        point, new = _feasible(errors, start, TOWARDS * outer[0] + (1 - TOWARDS) * best)
        cuts = np.concatenate([cuts, new])
        if (reached := float((loads @ point).max())) < value:
            best, value = point, reached
    bound = min(bound, value)
    status = Status.OPTIMAL if relative_gap(value, bound) <= tolerance else Status.STALLED
    return Solution(status, best * start, value * unit, bound * unit, rounds, "cutting planes")


def _feasible(errors: Errors, start: Floats, point: Floats) -> tuple[Floats, Floats]:
    """The multiple of a point (in units of the start) whose largest error is 1, and the cuts at the point, (J, n),
    each `cut s >= 1`."""
    values, slopes = errors(point * start)
    return point * values.max(), slopes * start / values[:, None] ** 2


def _outer(loads: Floats, cuts: Floats) -> tuple[Floats, float] | None:
    """Minimise t under `G s <= t`, `cuts s >= 1`: the optimum, and the bound that its multipliers prove."""
    rows, n = loads.shape
    matrix = np.block([[loads, -np.ones((rows, 1))], [-cuts, np.zeros((len(cuts), 1))]])
    side = np.concatenate([np.zeros(rows), -np.ones(len(cuts))])
    spend(calls=60, entries=30.0 * matrix.size)
    done = linear_program(np.eye(n + 1)[n], A_ub=matrix, b_ub=side, bounds=(0, None))
    if done.status != 0 or done.x is None:
        return None
    multipliers = np.maximum(-done.ineqlin.marginals, 0.0)
    weights, prices = multipliers[:rows], multipliers[rows:]
    if not weights.any():
        return done.x[:n], 0.0
    # An unknown that no weighted row pays for and a cut charges by a rounding, 1e-17, would shrink the prices to nothing: a
    # trace of every row pays for it.
    mixed = (weights / weights.sum() * (1 - trace) + trace / rows for trace in TRACES)
    return done.x[:n], max(proven_bound(loads, cuts, each, prices) for each in mixed)


def proven_bound(loads: Floats, cuts: Floats, weights: Floats, prices: Floats) -> float:
    """Weak duality: `max_k (G s)_k >= weights' G s >= prices' cuts s >= sum prices`, prices shrunk until the middle step holds.

    weights: (K,), nonnegative, sum 1. prices: (m,), nonnegative.
    """
    paid, charged = weights @ loads, prices @ cuts
    shrink = np.divide(paid, charged, out=np.full(len(paid), np.inf), where=charged > 0).min(initial=1.0)
    # Lowered for the rounding of the sums, which have nonnegative terms.
    return float(prices.sum() * shrink * (1 - 1e-12))


def bound_near(loads: Floats, errors: Errors, point: Floats, scale: Floats) -> float:
    """The bound of the linear program over the cuts at one point s (n,), positive; near an optimum that of the whole program.

    scale: (n,), positive, the units of the unknowns: where s is nearly 0 there, not s itself.
    """
    values, slopes = errors(point)
    scaled = np.asarray(loads, dtype=np.float64) * scale
    unit = float((scaled @ (point / scale)).max())
    outer = _outer(scaled / unit, slopes * scale / values[:, None] ** 2)
    return 0.0 if outer is None else outer[1] * unit
