"""One person's own report of a city: the certified channel beside the whole program, and what the literature loses.

The 25 largest cities of the United States; 100 km multiply the odds of two cities by 3 at most. Every loss is over the proven
bound. The whole linear program, with a row for every pair of cities and every report, is solved by HiGHS and knows nothing of
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from designer import ReportProblem, datasets, design, metrics
from examples.reproduction import Result, show
from solvers.channel_lp.cone import Array, NoOptimum, least, spanner
from solvers.channel_lp.generation import ChannelLP, LossLimits, NoMixture
from solvers.limited import Method

CITIES, KILOMETRES = 25, 100
DIFFERENCES: dict[str, str] = {}


METHODS: tuple[Method, ...] = ("highs-ipm", "highs-ds")  # the first, with a crossover to a vertex, is several times faster here


def full_program(
    budgets: ArrayLike, costs: ArrayLike, limits: Sequence[LossLimits] = (), allowed: ArrayLike | None = None
) -> tuple[Array, float]:
    """The optimal table (N, M) and its value, with N (N - 1) M inequalities. NoMixture where HiGHS finds none.

    >>> table, value = full_program([[0, 1], [1, 0]], [[0, 0.5], [0.5, 0]])
    >>> round(value * (1 + np.e), 9)
    1.0
    """
    program = ChannelLP.of(budgets, costs, None, limits, allowed)
    i, j = np.nonzero(np.isfinite(program.budgets) & ~np.eye(len(program.budgets), dtype=bool))
    return _optimum(program, i.astype(np.intp), j.astype(np.intp), program.budgets[i, j])


def spanner_program(budgets: ArrayLike, costs: ArrayLike, stretch: float) -> tuple[Array, float]:
    """The optimal table with inequalities on the greedy spanner alone, budgets divided by the stretch: it keeps all pairs.

    budgets: (N, N). costs: (N, M).
    """
    program = ChannelLP.of(budgets, costs)
    found = spanner(program.budgets, stretch)
    i, j = np.concatenate([found.left, found.right]), np.concatenate([found.right, found.left])
    return _optimum(program, i, j, np.concatenate([found.budgets, found.budgets]) / stretch)


def _optimum(program: ChannelLP, i: Any, j: Any, budgets: Array) -> tuple[Array, float]:
    from scipy.sparse import coo_array, csc_array, eye_array, hstack, kron, vstack

    n, m = program.costs.shape
    index, half = np.arange(len(i)), np.exp(budgets / 2)
    places = (np.concatenate([index, index]), np.concatenate([i, j]))
    pairs = kron(coo_array((np.concatenate([1 / half, -half]), places), (len(i), n)), eye_array(m))
    blocks = [hstack([pairs, coo_array((pairs.shape[0], 1))])]
    sides = [np.zeros(pairs.shape[0])]
    for limits in program.limits:
        loads = (limits.weights[:, :, None] * limits.losses).reshape(len(limits.weights), n * m)
        open_ = limits.caps is None
        blocks.append(hstack([coo_array(loads), coo_array(-np.full((len(loads), 1), float(open_)))]))
        sides.append(np.zeros(len(loads)) if limits.caps is None else limits.caps)
    blocked = np.append(~program.allowed.ravel(), not any(limits.caps is None for limits in program.limits))
    rows = hstack([kron(eye_array(n), np.ones((1, m))), coo_array((n, 1))])
    kept = np.flatnonzero(~blocked)
    cost = np.append(program.costs.ravel(), 1.0)[kept]
    upper, equal = csc_array(vstack(blocks))[:, kept], csc_array(rows)[:, kept]
    try:
        found = least(cost, upper.tocsr(), np.concatenate(sides), equal.tocsr(), np.ones(n), METHODS)
    except NoOptimum as error:
        raise NoMixture(str(error)) from error
    point = np.zeros(n * m + 1)
    point[kept] = found.point
    return point[:-1].reshape(n, m), float(cost @ found.point)


@cache
def asked(loss: str, prior: str) -> ReportProblem:
    """All cities alike, or people as the prior."""
    cities = datasets.us_cities()
    largest = np.argsort(-cities["population"], kind="stable")[:CITIES]
    where = np.column_stack([cities["latitude"], cities["longitude"]])[largest]
    people = cities["population"][largest] / cities["population"][largest].sum()
    near = metrics.great_circle(where, per_km=log(3) / KILOMETRES)
    return ReportProblem(near, loss=loss, prior=people if prior == "people" else None)


def reproduce(full: bool = False) -> Result:
    """The gap, the loss beside that of the whole program, and the ratios of other families to the bound."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}
    for loss in ("distance", "squared") if full else ("distance",):
        for prior in ("equal", "people") if full else ("equal",):
            problem, named = asked(loss, prior), f"{loss}, {prior}"
            best = design(problem, "channel")
            assert best.optimality is not None
            low = best.optimality.lower_bound
            costs = problem.prior[:, None] * problem.losses
            whole = full_program(problem.budgets, costs)[1]
            half = np.exp(-problem.budgets / 2)
            half /= half.sum(axis=1, keepdims=True)
            plain, moved = float((half * costs).sum()) / low, float((half.T @ costs).min(axis=1).sum()) / low
            ratios = {
                f"{named}: whole program": (whole, (1 - 1e-7, 1 + 2e-4)),
                f"{named}: channel": (best.error, (1.0, 1 + 2e-4)),
                f"{named}: poles": (design(problem, "poles").error, (1.0, 1.01)),
                f"{named}: exponential": (design(problem, "exponential").error, (plain * (1 - 1e-6), plain * (1 + 1e-6))),
                f"{named}: exponential, remapped": (
                    design(problem, "exponential", remap=True).error,
                    (moved * (1 - 1e-6), moved * (1 + 1e-6)),
                ),
            }
            computed |= {name: value / low for name, (value, _) in ratios.items()}
            published |= {name: interval for name, (_, interval) in ratios.items()}
    return computed, published


if __name__ == "__main__":
    show("Own reports of 25 cities, losses over the proven bound", reproduce, DIFFERENCES)
