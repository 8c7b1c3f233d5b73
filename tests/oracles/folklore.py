"""What anybody would do without a design: counts of the finest cells, added up, or each query for itself, with two-sided
geometric noise. Written out by its formulas: nothing is asked of a design, and every pair of elements is looked at.
"""

from __future__ import annotations

import math

import numpy as np

from designer import Problem
from designer.base.arrays import Floats
from designer.problem.relation import Indices, finite_pairs


def folklore(problem: Problem) -> float:
    """The least loss of both, infinite where neither applies: single records and pure noise alone; cells that are added up by
    their variances, so for the squared and the largest loss."""
    if problem.notion != "pure" or not problem.relation.single_records:
        return math.inf
    matrix = problem.workload.dense()
    columns = np.hstack([matrix, np.zeros((len(matrix), 1))])  # no record, at the end
    left, right, budgets = _pairs(problem)
    return min(_cells_added_up(problem, columns, left, right, budgets), _each_alone(problem, columns, left, right, budgets))


def _pairs(problem: Problem) -> tuple[Indices, Indices, Floats]:
    """Both elements of every pair with a finite budget, N for no record, and the budget."""
    found = []
    for block in problem.relation.blocks():
        left, right = finite_pairs(block)
        found.append((left, right, block.budgets[np.isfinite(block.budgets)]))
    size = problem.relation.size
    left, right, budgets = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return np.minimum(left, size), np.minimum(right, size), budgets


def _cells_added_up(problem: Problem, columns: Floats, left: Indices, right: Indices, budgets: Floats) -> float:
    """The number of records in each finest cell, at the one rate that every pair of cells allows."""
    _, first, cell = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    cell = cell.ravel()
    one, other = cell[left], cell[right]
    moved = (one != other) * ((one != cell[-1]).astype(int) + (other != cell[-1]))
    if problem.loss == "absolute" or not moved.any():
        return math.inf
    rate = float((budgets[moved > 0] / moved[moved > 0]).min())
    return problem.loss_of(np.square(columns[:, first]).sum(axis=1) / (2 * math.sinh(rate / 2) ** 2))


def _each_alone(problem: Problem, columns: Floats, left: Indices, right: Indices, budgets: Floats) -> float:
    """Every query that moves with an equal share of the budgets, in the largest steps that its differences are multiples of."""
    moves = np.abs(columns[:, left] - columns[:, right])
    moving = moves.max(axis=1) > 0
    if not (moves == np.rint(moves)).all() or not moving.any():
        return math.inf
    variances, absolutes = np.zeros(len(moves)), np.zeros(len(moves))
    for k in np.flatnonzero(moving):
        step = float(np.gcd.reduce(moves[k].astype(int)))
        rate = float((budgets[moves[k] > 0] / moves[k][moves[k] > 0]).min()) / moving.sum() * step
        variances[k] = step**2 / (2 * math.sinh(rate / 2) ** 2)
        absolutes[k] = step / math.sinh(rate)
    return problem.loss_of(variances, absolutes)
