"""The ellipsoid program of nested counts: `min tr(W Sigma)` subject to `(Sigma^-1)_cc <= 1` for each leaf c of a tree, where
`W = sum_v w_v 1_v 1_v'` over the nodes and 1_v marks the leaves at and below v.

Any multipliers lambda of the leaves prove `F^2 / sum lambda`, F the trace of the root of `N = diag(lambda)^(1/2) W
diag(lambda)^(1/2)` (solvers/ellipsoids/program.py). With a grid of numbers t, steps `STEP` apart in their logarithms,

    N^(1/2) = STEP / pi  sum_t t^(1/2) N (t + N)^-1

up to a factor `1 +- 4 e^(-2 pi^2 / STEP)`; terms that are left out are not negative. One pass up the tree and one down find
the diagonal of a term (Sherman and Morrison), as sums of what is not negative: nothing of the square of the number of leaves is
formed, and no digit is lost. Derivations in docs/theory/strategies.md, section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.trees import Array, Places, Tree
from solvers.work import is_over, spend

STEP = 1.0  # 4 e^(-2 pi^2) = 1.1e-8
MARGIN = 32.0  # of the logarithms of t beyond those of the eigenvalues: at most 3e-7 of the trace is left out
ROUNDS = 100
AT_ONCE = 2**20  # numbers of a block of nodes and t


@dataclass(frozen=True)
class TreeBound:
    """value: proven. reached: what some Sigma costs, up to 1e-6 of it; the optimum is at most that. rounds: of multipliers."""

    value: float
    reached: float
    rounds: int


def tree_bound(tree: Tree, weights: Array, tolerance: float) -> TreeBound:
    """The bound with the best multipliers that `lambda_c <- (N^(1/2))_cc^2 / lambda_c` finds, which ends where it is as
    near to what is `reached` as the tolerance says, after `ROUNDS` at most.

    weights w: (V,), at least 0, some of them above 0; of a node that stands for several, of each. docs/theory/strategies.md, 8.

    >>> round(tree_bound(Tree(np.array([-1, 0, 0])), np.array([0.0, 4.0, 9.0]), 1e-6).value, 5)
    13.0
    """
    unit = float(weights.max())
    weights = weights / unit
    leaves, times = tree.leaves, np.ones(len(tree.parent)) if tree.times is None else tree.times
    number = times.copy()
    for nodes in tree.levels[1:]:
        number[nodes] *= number[tree.parent[nodes]]
    many = number[leaves]
    shares, best, reached, rounds = np.full(len(leaves), 1 / many.sum()), 0.0, math.inf, 0
    while rounds < ROUNDS and best < (1 - tolerance) * reached and not (rounds and is_over()):
        diagonal = root_diagonal(tree, weights, shares)
        trace, rounds = float(many @ diagonal), rounds + 1
        best = max(best, trace**2 / float(many @ shares))
        reached = min(reached, trace * float((diagonal / shares).max()))
        shares = diagonal**2 / shares
        shares = shares / float(many @ shares)
    return TreeBound(unit * best * (1 - 3e-8 - 8 * len(times) * 2.0**-52), unit * reached, rounds)


def root_diagonal(tree: Tree, weights: Array, shares: Array) -> Array:
    """The diagonal of `N^(1/2)` at multipliers `shares` (C,) of the leaves, (C,), at most a part 1.1e-8 too large."""
    leaves = tree.leaves
    held = np.zeros(len(tree.parent))
    held[leaves] = shares
    for nodes in tree.levels[:0:-1]:
        held += tree.added(held, nodes)
    below = weights * held  # of the root vector of N that node v adds, its length
    largest = np.zeros(len(held))
    for nodes in tree.levels:
        largest[nodes] = below[nodes] + (largest[tree.parent[nodes]] if nodes[0] else 0.0)
    top = math.log(float(largest.max()))
    least = math.log(float(max(below[leaves].min(), 1e-12 * largest.max())))
    grid = np.exp(STEP * np.arange(math.floor((least - MARGIN) / STEP), math.ceil((top + MARGIN) / STEP) + 1))
    found = np.zeros(len(leaves))
    size, sums = max(1, AT_ONCE // len(held)), _sums(tree)
    spend(calls=8.0 * len(tree.levels), entries=12.0 * len(held) * len(grid))
    for start in range(0, len(grid), size):
        t = grid[start : start + size]
        found += _terms(tree, sums, weights[:, None], shares[:, None], t) @ np.sqrt(t)
    return found * (STEP / math.pi)


def _sums(tree: Tree) -> list[tuple[Places, Places, Any]]:
    """From the deepest level up its nodes, those above them, and the matrix that adds up children."""
    from scipy.sparse import csr_array

    found = []
    for nodes in tree.levels[:0:-1]:
        inner, row = np.unique(tree.parent[nodes], return_inverse=True)
        times = np.ones(len(nodes)) if tree.times is None else tree.times[nodes]
        found.append((nodes, inner, csr_array((times, (row, np.arange(len(nodes)))), shape=(len(inner), len(nodes)))))
    return found


def _terms(tree: Tree, sums: list[tuple[Places, Places, Any]], weights: Array, shares: Array, t: Array) -> Array:
    """The diagonals of `N (t + N)^-1`, (C, T)."""
    leaves = tree.leaves
    alone = t + weights[leaves] * shares
    tells = np.zeros((len(tree.parent), len(t)))  # s' (t + N_v)^-1 s, s the roots of the shares below v
    tells[leaves] = shares / alone
    kept = np.ones_like(tells)
    for nodes, inner, added in sums:
        total = added @ tells[nodes]
        kept[inner] = 1 / (1 + weights[inner] * total)
        tells[inner] = total * kept[inner]
    taken = np.zeros_like(tells)
    for nodes, inner, _ in reversed(sums):
        kept[inner] *= weights[inner] + taken[inner] * kept[inner]  # what each child has taken
        taken[nodes] = kept[tree.parent[nodes]]
    return np.asarray((weights[leaves] * shares + t * tells[leaves] * taken[leaves]) / alone)
