"""What design, comparison and least budget of problems that are not linear queries share."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from designer.base.checks import near, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import step
from designer.designing.auto import cap_of, units_of
from designer.designing.comparison import Comparison, empty_row
from designer.designing.design_result import DesignOfKind
from designer.designing.least import LeastBudget

BETA = 0.05  # of what a loss is exceeded with
Settings = Mapping[str, Any]


def chosen_family(problem: Any, family: str, options: Settings, known: Sequence[str], rest: Settings) -> str:
    """The family that is asked for, the first for "auto"; refused where family, options, targets or solver are unknown."""
    if not isinstance(family, str) or family not in ("auto", *problem.families):
        raise InvalidProblem(
            f"family: {shown(family)} is unknown to a {type(problem).__name__}{near(family, problem.families)}; use "
            f"{' or '.join(map(repr, ('auto', *problem.families)))}.",
            value=family,
        )
    given = {**options, **{name: value for name, value in rest.items() if value not in (None, "auto")}}
    if unknown := sorted(set(given) - set(known)):
        raise InvalidProblem(
            f"options: {shown(unknown)} unknown to a {type(problem).__name__}, which takes {list(known) or 'none'}; leave "
            "them out.",
            value=unknown,
        )
    return problem.families[0] if family == "auto" else family


def design_of_kind(problem: Any, start: float, mechanism: Any, loss: float) -> DesignOfKind:
    """A design that began at `start`, a time of `time.perf_counter`."""
    return DesignOfKind(problem, mechanism, time.perf_counter() - start, loss)


def options_apart(rest: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of a builder, and what `design` is given for every kind, but for an effort: there is no search."""
    shared = ("targets", "solver", "solver_options", "seconds")
    return (
        {name: value for name, value in rest.items() if name not in (*shared, "effort")},
        {name: rest[name] for name in shared if name in rest},
    )


def compare_own(
    problem: Any,
    families: str | Sequence[str] | None = None,
    *,
    effort: str = "normal",
    seconds: float | None = None,
) -> Comparison:
    """The families of a kind side by side, each run to its end; see `designer.compare`."""
    units_of(effort), cap_of(seconds)
    asked = problem.families if families is None else [families] if isinstance(families, str) else families
    from designer.designing.dispatch import design, reason

    rows: list[dict[str, Any]] = []
    designs: dict[str, Any] = {}
    if not asked:
        raise InvalidProblem("families: empty; name at least one family, or pass None for all.")
    for name in asked:
        chosen_family(problem, name, {}, (), {})
        try:
            with step(name):
                made = design(problem, name)
        except DesignFailed as failure:
            rows.append(empty_row(name, reason(failure)))
            continue
        gap = None if made.optimality is None else made.optimality.gap
        ratio = getattr(made.privacy, "ratio", None)
        own = {"loss": made.loss, "gap": gap, "worst_ratio": ratio, "seconds": made.seconds}
        rows.append({**empty_row(name, ""), **own})
        designs[name] = made
    return Comparison(problem, rows, designs)


def no_least(problem: Any, targets: object, family: str = "auto", **options: Any) -> LeastBudget:
    """`InvalidProblem`: nothing is stated of the answers of this kind that targets could be held against."""
    what = {
        "SelectionProblem": "a choice has no standard error; compare `design(problem).loss` at other budgets",
        "SyntheticProblem": "the errors of synthetic data depend on the data; compare `design(problem).loss` at other budgets",
        "HierarchyProblem": "its targets are its own (`accuracies`), and `design(problem)` meets them at the least loss",
    }[type(problem).__name__]
    raise InvalidProblem(f"problem: a {type(problem).__name__} has no least budget: {what}; use design.", value=problem)
