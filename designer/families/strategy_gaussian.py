"""The Gaussian matrix mechanism with a strategy of the caller's: equal independent Gaussian noise in its rows.

The best Gaussian mechanism of all is the family `gaussian`; this one evaluates, certifies and freezes rows that come from
elsewhere (docs/theory/strategies.md, 6).
"""

from __future__ import annotations

import numpy as np

from designer.base.arrays import Floats
from designer.families.family import Family, StrategyRows
from designer.families.repair import Bound
from designer.families.strategy_laplace import brought, frozen_strategy, universe_of
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem
from solvers.programs.changes import Changes
from solvers.programs.strategy import Strategy
from solvers.programs.strategy_search import singular_value_bound


def design_own_strategy(problem: Problem, strategy: StrategyRows | None = None) -> AdditiveMechanism:
    """Gaussian noise in the rows of `strategy`, (p, N), in any units, as little as is private; answers of least variance. Where
    none are given, the counts of the elements are measured."""
    universe, changes = universe_of(problem, family="strategy_gaussian")
    given = universe.spread(np.eye(len(universe))) if strategy is None else strategy
    rows = brought(given, universe, changes, "strategy_gaussian")
    fitted = Strategy(rows / (_longest(rows, changes) or 1.0), "rows of the caller")
    bound = None
    if problem.loss == "squared":
        weighted = universe.workload * np.sqrt(problem.costs)[:, None]
        least = singular_value_bound(weighted.T @ weighted, changes) / 2
        bound = Bound("sum_k v_k Var_k, the weighted squared error", least, "the bound for all Gaussian mechanisms")
    return frozen_strategy(problem, universe, changes, fitted, bound, "strategy_gaussian")


def _longest(rows: Floats, changes: Changes) -> float:
    """The largest `||B d||_2 / b`."""
    return float((np.sqrt(np.square(changes.along(rows)).sum(axis=0)) / changes.budget).max(initial=0.0))


STRATEGY_GAUSSIAN = Family(
    "strategy_gaussian", "Gaussian noise on queries of the caller", "zcdp", design_own_strategy, on_request=True
)
