"""Strategies `B = [I; T] diag(s)` whose columns have the lengths of the budgets by construction: p-identity strategies.

For changes that are unit vectors, `s_i = b_i / (1 + sum_k T_ki)` with `T >= 0` gives `||B e_i||_1 = b_i` identically, and the
error `2 tr(W (B'B)^-1)` is a smooth function of T without further constraints (McKenna and others, VLDB 2018, section 5). With
`V = diag(1/s) W diag(1/s)`, `R = (I + T T')^-1 T` and `U = R V`, all that value and gradient need is

    (I + T'T)^-1 = I - T'R,   diag of its product with V:  V_ii - sum_k T_ki U_ki,   T (I + T'T)^-1 V (I + T'T)^-1 = U - U T' R,

one product of a (k, N) with the (N, N) matrix: docs/theory/strategies.md, section 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.programs.descent import minimised
from solvers.work import spend

Array = NDArray[np.float64]

# Random starts run a race over this many steps; the one that is ahead goes on.
RACE = 40
AHEAD = 1
# Pairs of steps that the descent remembers: 5 end at the errors of 20, in two thirds of the time.
MEMORY = 5


def p_identity_error(theta: Array, gram: Array, budget: Array) -> tuple[float, Array]:
    """The error `2 tr(W (B'B)^-1)` and its gradient in T.

    theta T: (k, N). gram W: (N, N). budget b: (N,). Returns a number and (k, N).
    """
    spend(calls=2, flops=12.0 * len(theta) * budget.size**2, entries=10.0 * theta.size)
    wide = (1.0 + theta.sum(axis=0)) / budget
    core = np.linalg.solve(np.eye(len(theta)) + theta @ theta.T, theta)
    product = ((core * wide) @ gram) * wide
    diagonal = gram.diagonal() * wide**2 - np.einsum("ki,ki->i", theta, product)
    inner = product - (product @ theta.T) @ core
    return float(2.0 * diagonal.sum()), 4.0 * (diagonal / wide / budget - inner)


def p_identity_matrix(theta: Array, budget: Array) -> Array:
    """`B = [I; T] diag(s)`, (N + k, N), columns of length `budget` in the l1 norm, up to rounding."""
    return np.asarray(np.vstack([np.eye(budget.size), theta]) * (budget / (1.0 + theta.sum(axis=0))))


def nested_start(rows: int, size: int, random: np.random.Generator) -> Array:
    """T (rows, size) about the intervals of a binary tree from the top down, for queries along an ordered attribute: from there
    running totals and intervals end lower than from random starts, and sooner."""
    level = 2 ** np.floor(np.log2(np.arange(1, rows + 1))).astype(int)
    place = np.arange(1, rows + 1) - level
    inside = np.arange(size) * level[:, None] // size == place[:, None]
    return np.asarray(0.5 * inside + 0.1 * random.random((rows, size)))


def best_p_identity(
    gram: Array, budget: Array, rows: int, restarts: int, seed: int, iterations: int, *, ordered: bool = False
) -> tuple[Array, int]:
    """The best T (rows, N) found, and the steps that it took: L-BFGS-B from random starts (`seed`), all for `RACE` steps, those
    ahead to the end. T = 0, which is the diagonal strategy, is kept when it is better.

    gram W: (N, N). budget: (N,). ordered: neighbours are asked about alike, so that `nested_start` is among the starts, and a
    random one of a third of the size.
    """

    def objective(flat: Array) -> tuple[float, Array]:
        value, slope = p_identity_error(flat.reshape(rows, -1), gram, budget)
        return value, slope.ravel()

    random = np.random.default_rng(seed)
    starts, count = [random.random(rows * budget.size) for _ in range(restarts)], 0
    if ordered:
        starts += [nested_start(rows, budget.size, random).ravel(), random.random(rows * budget.size) / 3]
    if len(starts) > AHEAD:
        raced = [minimised(objective, start, min(RACE, iterations), nonnegative=True, memory=MEMORY) for start in starts]
        count = sum(steps for _, steps in raced)
        starts = sorted((place for place, _ in raced), key=lambda place: objective(place)[0])[:AHEAD]
    found = [minimised(objective, start, iterations, nonnegative=True, memory=MEMORY) for start in starts]
    places = [np.zeros(rows * budget.size)] + [place for place, _ in found]
    best = min(places, key=lambda place: objective(place)[0])
    return best.reshape(rows, -1), count + sum(steps for _, steps in found)
