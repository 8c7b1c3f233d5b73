"""The smallest budgets at which a report that a person draws alone is as good as asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import step as told
from designer.designing.choosing import cap_of, units_of
from designer.families.made import Design
from designer.mechanisms.channel.mechanism import Channel
from designer.mechanisms.channel.problem import ReportProblem
from designer.problem.targets import Targets, require_targets
from solvers.programs.factor_bracket import least_factor


@dataclass(frozen=True, eq=False)
class LeastReport:
    """The least factor on all budgets at which a report loses no more than asked.

    problem: at the budgets of the factor. design: its certified design, of the loss `reached`; at `missed_at`, smaller by the
    relative `step`, the same family loses more than `loss`. lower_bound: no private channel of any family loses as little
    at a smaller factor; 0 where nothing is proven.
    """

    problem: ReportProblem
    loss: float
    factor: float
    design: Design[Any]
    missed_at: float
    step: float
    lower_bound: float

    @property
    def mechanism(self) -> Channel:
        """The channel at the factor."""
        made: Channel = self.design.mechanism
        return made

    @property
    def reached(self) -> float:
        """The loss of the channel, as the problem measures it."""
        return self.design.loss


def loss_asked(targets: Targets) -> float:
    """The loss that is asked for; `InvalidProblem` for targets of another kind."""
    if require_targets(targets).loss is None:
        (given, *_) = require_targets(targets).to_dict()
        raise InvalidProblem(
            f"targets.{given}: a report has no {given.replace('_', ' ')}; give Targets(loss=...), the loss of the problem.",
            value=targets,
        )
    assert targets.loss is not None
    return targets.loss


@told("the least budget of a report")
def least_report(
    problem: ReportProblem,
    targets: Targets,
    family: str = "auto",
    *,
    step: float = 1e-4,
    effort: str = "normal",
    seconds: float | None = None,
    **options: Any,
) -> LeastReport:
    """The least factor on the budgets at which the family's report loses no more than `targets.loss`.

    Losses fall as budgets grow: a channel that keeps small budgets keeps larger ones. So the largest factor at which a bound on
    all channels is above the target bounds the factor from below. Budgets alone are multiplied: distances stay as they are in
    the units of the points, and in the budgets that were given where the metric has none. Raises `DesignFailed` where the
    target is met without a word of the value, or by no finite budgets.

    >>> import math
    >>> from designer import ReportProblem, Targets, least_budget, metrics
    >>> two = ReportProblem(metrics.uniform(2, 1.0), loss="zero_one")
    >>> found = least_budget(two, Targets(loss=0.1))  # randomised response is wrong with 1 / (1 + e^budget)
    >>> found.missed_at < math.log(9) <= found.factor < math.log(9) * 1.001, found.lower_bound <= math.log(9)
    (True, True)
    """
    from designer.designing.best import design

    asked, relative = loss_asked(targets), positive(step, "step")
    units_of(effort), cap_of(seconds)
    if not 1e-9 <= relative <= 1:
        raise InvalidProblem(f"step: {relative} is not from 1e-9 to 1; give the relative width of the answer.", value=relative)
    if problem.queries is None:
        _require_between(problem, asked)
    tried: dict[float, Design[Any]] = {}

    def ratio(factor: float) -> float:
        tried[factor] = design(problem.with_budgets_times(factor), family, **options)
        return tried[factor].loss / asked

    bracket = least_factor(ratio, relative)
    if bracket is None:
        raise DesignFailed(
            f"targets.loss: {shown(asked)} is met, or missed, by this family at every factor from 1e-30 to 1e30; ask for "
            "another loss, or leave the family out.",
            value=asked,
        )
    proven = [factor for factor, made in tried.items() if made.optimality is not None and made.optimality.lower_bound > asked]
    least = bracket.met
    at = problem.with_budgets_times(least)
    return LeastReport(at, asked, least, tried[least], bracket.missed, relative, max(proven, default=0.0))


def _require_between(problem: ReportProblem, asked: float) -> None:
    """`DesignFailed` for a loss that one report for all has, and for one that not even the values themselves would have."""
    least, silent = problem.losses.min(axis=1), problem.losses
    floor = float(least.max() if problem.worst else problem.prior @ least)
    says_nothing = silent.max(axis=0) if problem.worst else problem.prior @ silent
    z = int(np.argmin(says_nothing))
    if asked >= says_nothing[z]:
        raise DesignFailed(
            f"targets.loss: {shown(asked)} is met without any budget, by the report {shown(problem.report_names[z])} of "
            f"everybody, which has {says_nothing[z]:.6g}; ask for less.",
            value=asked,
        )
    if asked <= floor:
        raise DesignFailed(
            f"targets.loss: {shown(asked)} is met by no finite budgets: who tells the value itself has {floor:.6g}; ask for "
            "more, or allow nearer reports.",
            value=asked,
        )
