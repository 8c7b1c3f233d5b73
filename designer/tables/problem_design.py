"""Designs of plans of tables, and the least that meets targets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from designer.certificate.frozen import FrozenMechanism, stated_budgets
from designer.designing.design_result import Design, DesignOfKind
from designer.designing.of_kinds import chosen_family, design_of_kind, options_apart
from designer.problem.targets import Targets
from designer.tables.problem import HierarchyProblem, PlanProblem


def design_hierarchy(
    problem: HierarchyProblem, /, family: str = "auto", *, tolerance: float = 1e-6, **rest: Any
) -> DesignOfKind:
    """The plan whose consistent answers meet all targets at the least functional of the exact policy."""
    from designer.tables.hierarchy_plan import design_table_plan

    start, (options, other) = time.perf_counter(), options_apart(rest)
    chosen_family(problem, family, options, (), other)
    made = design_table_plan(
        problem.levels,
        problem.measures,
        problem.accuracies,
        problem.prior,
        where=problem.where,
        beside=problem.beside,
        splitting=problem.splitting,
        families=problem.shared,
        tolerance=tolerance,
        unlisted=problem.unlisted,
    )
    assert made.optimality is not None
    return design_of_kind(problem, start, made, made.optimality.value)


def design_plan(problem: PlanProblem, /, family: str = "auto", *, targets: Targets | None = None, **rest: Any) -> DesignOfKind:
    """The plan of these queries, with the widest noise that the targets allow where there are some."""
    from designer.tables.least import least_plan
    from designer.tables.plan import TablePlan

    start, (options, other) = time.perf_counter(), options_apart(rest)
    chosen_family(problem, family, options, (), other)
    queries = tuple(problem.queries) if targets is None else least_plan(problem.queries, targets).queries
    made = TablePlan(queries, problem.splitting, unlisted=problem.unlisted)
    _, budgets = stated_budgets(made)
    return design_of_kind(problem, start, made, 0.0 if budgets is None else float(budgets.max()))


@dataclass(frozen=True, eq=False)
class LeastPlan:
    """The plan of least loss for every record at once whose noisy numbers meet their targets: no factor on all budgets does
    better for any record, so there is none. design: the plan, certified. targets: what it meets."""

    problem: PlanProblem
    targets: Targets
    design: Design[Any]

    @property
    def mechanism(self) -> FrozenMechanism:
        made: FrozenMechanism = self.design.mechanism
        return made


def least_plan_of(problem: PlanProblem, targets: Targets, family: str = "auto", **options: Any) -> LeastPlan:
    """The widest noise that each target allows, which costs every record least."""
    return LeastPlan(problem, targets, design_plan(problem, family, targets=targets, **options))
