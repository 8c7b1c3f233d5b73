"""Design of the choice of one candidate."""

from __future__ import annotations

import time
from typing import Any

from designer.designing.design_result import DesignOfKind
from designer.designing.of_kinds import BETA, chosen_family, design_of_kind, options_apart
from designer.selection.problem import SelectionProblem


def design_selection(problem: SelectionProblem, /, family: str = "auto", **rest: Any) -> DesignOfKind:
    """The exponential mechanism, or permute-and-flip, at the largest private rate."""
    from designer.selection.mechanism import best_selection

    start, (options, other) = time.perf_counter(), options_apart(rest)
    chosen: Any = chosen_family(problem, family, options, (), other)
    made = best_selection(problem.score, problem.relation, chosen, problem.constant)
    return design_of_kind(problem, start, made, made.shortfall_bound(BETA))
