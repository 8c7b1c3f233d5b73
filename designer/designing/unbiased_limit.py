"""The limit: a loss that no unbiased mechanism can beat, additive or not, at databases from which every protected change is
possible (docs/theory/ellipsoid.md, 7).

By Hammersley, Chapman and Robbins any unbiased mechanism with covariance Sigma has `u' Sigma^-1 u <= chi^2(P_{x+u} || P_x)` for
every change u that is possible at the database x; a promise b bounds the right side by `4 sinh^2(b/2)` (pure) or `e^(b^2) - 1`
(gaussian). So the ellipsoid program with those budgets, certified by its dual, is a lower bound on the loss at x, and so on the
largest loss. With fewer records there may be no such x,
and less noise is possible: of one record in two parts of two elements, one part is empty and needs none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.designing.measured import moving_coordinates
from designer.designing.problem import Problem
from designer.invariants.changes import ChangeRelation, InvariantDistance
from designer.question.relation import Block, Relation, finite_pairs, graph_components
from designer.values.arrays import Floats

# Differences beyond this many numbers are not written out for a bound that only informs.
WRITTEN_OUT = 20_000_000


@dataclass(frozen=True)
class Limit:
    """`value <=` the loss of every unbiased mechanism at databases from which every protected change is possible.

    gap: how far the program's own bound is from its value. records: from this number of records on there are such databases.
    """

    value: float
    gap: float
    records: int


def limit(problem: Problem, tolerance: float = 1e-6) -> Limit | None:
    """The limit of a problem with squared or max loss; None for absolute loss, the notion "approximate", budgets of 0, sets too
    large to write out and budgets per distance, and where fewer records are public than make every protected change possible.

    >>> from designer import Workload, metrics
    >>> found = limit(Problem(Workload([[1.0]]), metrics.add_remove(1, 1.0)))
    >>> round(float(found.value * 4 * np.sinh(0.5) ** 2), 6)
    1.0
    """
    from solvers.ellipsoids.program import minimise_maximum, minimise_trace

    if problem.loss == "absolute" or problem.notion == "approximate" or isinstance(problem.relation, InvariantDistance):
        return None
    coordinates = moving_coordinates(problem)
    if not coordinates.heard.any():
        return Limit(0.0, 0.0, 0)
    moving = coordinates.sensitivity(problem)
    if sum(int(np.isfinite(b.budgets).sum()) for b in problem.relation.blocks()) * moving.dimension > WRITTEN_OUT:
        return None
    least = records_for_every_change(problem.relation)
    if problem.records is not None and problem.records < least:
        return None
    pairs = moving.all_pairs()
    if not (pairs.budgets > 0).all():
        return None
    rows = pairs.differences / root_of_divergence(pairs.budgets, problem.notion)[:, None]
    answers = coordinates.answers(problem) * np.sqrt(problem.costs)[:, None]
    if problem.loss == "max":
        found = minimise_maximum(rows, answers, tolerance=tolerance)
    else:
        found = minimise_trace(rows, answers.T @ answers, tolerance=tolerance)
    return Limit(found.lower_bound, found.gap, least)


def records_for_every_change(relation: Relation) -> int:
    """A number of records n such that some histogram of n records, and of every larger number,
    allows every protected change or its opposite.

    A record changes from i to j or back where one of the two elements has a record: a record in all elements but one of each
    component is enough, and necessary where all pairs of a component are protected. A record that appears needs none before.
    For changes v of several cells, `max over v of v-` in every cell, or the same with v+.
    """
    if isinstance(relation, ChangeRelation):
        protected = relation.changes[np.isfinite(relation.budgets)]
        return min(int(np.maximum(sign * protected, 0).max(axis=0, initial=0).sum()) for sign in (1, -1))
    elements = relation.size
    changed = (between for block in relation.blocks() if len((between := _among(block, elements)).budgets))
    return elements - int(graph_components(changed, elements).max()) - 1


def _among(block: Block, elements: int) -> Block:
    """The finite pairs of a block that are pairs of elements."""
    left, right = finite_pairs(block)
    both = (left < elements) & (right < elements)
    return Block(left[both], right[both], np.ones(int(both.sum())))


def root_of_divergence(budgets: Floats, notion: str) -> Floats:
    """The root of the largest chi-squared divergence that a budget allows, rounded up by 1e-12; infinite where it overflows.

    For a ratio bounded by `e^b` both ways the divergence is largest for a law on two points,
    `(e^b - 1)(1 - e^-b) = 4 sinh^2(b / 2)`; under `b^2/2`-zCDP the Renyi divergence of order 2 is at most b^2,
    and `chi^2 = e^(D_2) - 1`.
    budgets: (m,). Returns (m,). docs/theory/ellipsoid.md, section 7.
    """
    with np.errstate(over="ignore"):
        root = 2 * np.sinh(budgets / 2) if notion == "pure" else np.sqrt(np.expm1(budgets**2))
    return np.asarray(root * (1 + 1e-12))
