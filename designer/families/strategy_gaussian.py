"""The Gaussian matrix mechanism with a strategy of the caller's: equal independent Gaussian noise in its rows.

The best mechanism with continuous Gaussian noise is the family `gaussian`; this one evaluates, certifies and freezes rows that
come from elsewhere (docs/theory/strategies.md, 6). By itself it counts the records that no query tells apart and adds the
counts up: at large budgets whole-number noise is so much narrower than continuous noise that this has the least error.
"""

from __future__ import annotations

import numpy as np

from designer.base.arrays import Floats
from designer.families.element_classes import Classes
from designer.families.ellipsoid import NARROW
from designer.families.family import Family, StrategyRows
from designer.families.repair import Bound
from designer.families.strategy_laplace import ELEMENTS, PAIRS, brought, frozen_strategy, universe_of
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem
from solvers.programs.changes import Changes
from solvers.programs.strategy import Strategy
from solvers.programs.strategy_search import singular_value_bound


def design_own_strategy(problem: Problem, strategy: StrategyRows | None = None) -> AdditiveMechanism:
    """Gaussian noise in the rows of `strategy`, (p, N), in any units, as little as is private; answers of least variance. Where
    none are given, the counts of records that no query tells apart are measured."""
    universe, changes = universe_of(problem, family="strategy_gaussian")
    given = universe.spread(_atoms(problem, universe)) if strategy is None else strategy
    rows = brought(given, universe, changes, "strategy_gaussian")
    fitted = Strategy(rows / (_longest(rows, changes) or 1.0), "rows of the caller")
    bound = None
    if problem.loss == "squared":
        weighted = universe.workload * np.sqrt(problem.costs)[:, None]
        least = singular_value_bound(weighted.T @ weighted, changes) / 2
        bound = Bound("sum_k v_k Var_k, the weighted squared error", least, "the bound for all Gaussian mechanisms")
    return frozen_strategy(problem, universe, changes, fitted, bound, "strategy_gaussian")


def _atoms(problem: Problem, universe: Classes) -> Floats:
    """A row for each set of classes that no query tells apart, (p, C); where records appear, without those that none counts."""
    columns, place = np.unique(universe.workload, axis=1, return_inverse=True)
    counted = columns.any(axis=0) | (not problem.relation.absence)
    return np.asarray(place.ravel() == np.flatnonzero(counted)[:, None], dtype=np.float64)


def _may_be_narrow(problem: Problem) -> bool:
    """Whether some budget is so large that whole-number noise is narrower than continuous noise, and the changes are few."""
    relation = problem.relation
    if problem.notion != "zcdp" or relation.size > ELEMENTS or not getattr(relation, "listed", True):
        return False
    return relation.pair_count() <= PAIRS and relation.largest_budget() > NARROW**-0.5


def _longest(rows: Floats, changes: Changes) -> float:
    """The largest `||B d||_2 / b`."""
    return float((np.sqrt(np.square(changes.along(rows)).sum(axis=0)) / changes.budget).max(initial=0.0))


STRATEGY_GAUSSIAN = Family(
    "strategy_gaussian",
    "Gaussian noise on counts, or on queries of the caller",
    "zcdp",
    design_own_strategy,
    where=_may_be_narrow,
)
