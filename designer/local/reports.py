"""Design and comparison of channels for one person's own report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from designer.base.checks import shown
from designer.base.display import at_least, at_most
from designer.base.errors import DesignFailed, InvalidProblem
from designer.designing.comparison import Comparison
from designer.designing.design_result import DesignOfKind
from designer.designing.of_kinds import chosen_family, compare_own, design_of_kind, options_apart
from designer.designing.problem_kinds import problem_kind
from designer.local.design import OPTIONS, build_channel, loss_asked, loss_of
from designer.local.problem import ReportProblem
from designer.relations.problem import Problem


def design_report(problem: ReportProblem, /, family: str = "auto", **rest: Any) -> DesignOfKind:
    """A channel for one person's own report; "auto" takes the best one, or where that is too large the best mixture of poles,
    for estimates the exponential mechanism."""
    start, (options, other) = time.perf_counter(), options_apart(rest)
    if (targets := other.pop("targets", None)) is not None:
        asked = loss_asked(targets)
        found = design_report(problem, family, **options, **other)
        if found.loss > asked:
            bound = 0.0 if found.optimality is None else found.optimality.lower_bound
            beyond = f", and no private channel has less than {at_least(bound, 6)}" if bound > asked else ""
            raise DesignFailed(
                f"targets.loss: {shown(asked)} is asked for, and {at_most(found.loss, 6)} is reached at these budgets{beyond}; "
                "ask for less accuracy, or let `least_budget` (`dp-designer budget`) say which budgets are enough.",
                value=asked,
            )
        return found
    solver, settings = other.pop("solver", "auto"), other.pop("solver_options", None)
    chosen = chosen_family(problem, family, options, OPTIONS.get(family, ()), other)
    if solver not in (None, "auto"):
        if chosen != "channel" or options:
            raise InvalidProblem(
                f"solver: {shown(solver)} is named, but no program states family {chosen!r} with options {sorted(options)}; "
                "leave solver out, or use 'channel' without options.",
                value=solver,
            )
        solved = problem_kind(problem).stated(problem).design(solver, **(settings or {}))
        return design_of_kind(problem, start, solved, loss_of(problem, solved))
    try:
        made = build_channel(problem, chosen, **options)
    except DesignFailed:
        if family != "auto":
            raise
        made = build_channel(problem, "poles" if problem.queries is None else "exponential")
    return design_of_kind(problem, start, made, loss_of(problem, made))


def compare_reports(
    problem: ReportProblem,
    families: str | Sequence[str] | None = None,
    *,
    effort: str = "normal",
    seconds: float | None = None,
) -> Comparison:
    """The families side by side; beside those for estimates, what a trusted holder of the values would lose."""
    found = compare_own(problem, families, effort=effort, seconds=seconds)
    if problem.queries is None or not (words := _with_a_trusted_holder(problem, effort)):
        return found
    return replace(found, rows=[{**row, "note": words} if row["family"] in found.designs else row for row in found.rows])


def _with_a_trusted_holder(problem: ReportProblem, effort: str) -> str:
    """What the estimates of an own report would be off by if somebody held the values and added noise to the answers."""
    from designer.designing.dispatch import design

    assert problem.queries is not None
    try:
        made = design(Problem(problem.queries, problem.metric), effort=effort)
    except (DesignFailed, InvalidProblem):
        return ""
    return (
        "loss is for each person: n times as much for the reports of n people; with a trusted holder of the values, who adds "
        f"noise to the answers under the same budgets, squared errors add up to {at_most(made.loss, 4)}, however many people "
        f"there are ({made.mechanism.family})"
    )
