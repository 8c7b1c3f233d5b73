"""The program of column generation written out, N M unknowns and both directions of every pair for every report: an oracle for
small sizes, and, over a spanner with budgets divided by its stretch, a baseline (Bordenabe, Chatzikokolakis, Palamidessi 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from solvers.columns.cone import Array, Edges, spanner
from solvers.columns.generation import Limits, NoMixture, Program
from solvers.columns.linear import NoSolution, least
from solvers.limited import Method

METHODS: tuple[Method, ...] = ("highs-ipm", "highs-ds")  # the first, with a crossover to a vertex, is several times faster here


def full_program(
    budgets: ArrayLike, costs: ArrayLike, limits: Sequence[Limits] = (), allowed: ArrayLike | None = None
) -> tuple[Array, float]:
    """The optimal table (N, M) and its value, with N (N - 1) M inequalities. NoMixture where HiGHS finds none.

    >>> table, value = full_program([[0, 1], [1, 0]], [[0, 0.5], [0.5, 0]])
    >>> round(value * (1 + np.e), 9)
    1.0
    """
    program = Program.of(budgets, costs, None, limits, allowed)
    i, j = np.nonzero(np.isfinite(program.budgets) & ~np.eye(len(program.budgets), dtype=bool))
    return _optimum(program, i.astype(np.intp), j.astype(np.intp), program.budgets[i, j])


def spanner_program(budgets: ArrayLike, costs: ArrayLike, stretch: float, edges: Edges | None = None) -> tuple[Array, float]:
    """The optimal table with inequalities on the greedy spanner alone, budgets divided by the stretch: it keeps all pairs.

    budgets: (N, N). costs: (N, M).
    """
    program = Program.of(budgets, costs)
    found = spanner(program.budgets, stretch) if edges is None else edges
    i, j = np.concatenate([found.left, found.right]), np.concatenate([found.right, found.left])
    return _optimum(program, i, j, np.concatenate([found.budgets, found.budgets]) / stretch)


def _optimum(program: Program, i: Any, j: Any, budgets: Array) -> tuple[Array, float]:
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
    except NoSolution as error:
        raise NoMixture(str(error)) from error
    point = np.zeros(n * m + 1)
    point[kept] = found.point
    return point[:-1].reshape(n, m), float(cost @ found.point)
