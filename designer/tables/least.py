"""The least losses at which the answers of a table plan are as accurate as asked: the widest noise that each target allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from designer.base.checks import positive, rational
from designer.base.errors import InvalidProblem
from designer.base.progress import step
from designer.limits import LARGEST_GAUSSIAN_VARIANCE
from designer.problem.targets import Target, Targets, require_targets
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_margins import gaussian_margin
from designer.tables.plan import TablePlan
from designer.tables.queries import Additive, Average, Query
from designer.tables.unit_splitting import UnitSplitting

BEYOND = 0.05  # of margins
WIDE = 4  # squared steps: from here on a discrete variance is the continuous one in all digits
HALVINGS = 60


def variance_meeting(*, standard_error: float | None = None, margin: float | None = None, step: object = 1) -> Fraction:
    """The largest variance of discrete Gaussian noise on multiples of `step` whose standard error, or 95 % margin, is at most
    that: what `variance_for` is for a loss.

    The standard error is that of the discrete law: below two steps it is smaller than the root of the variance, and more
    variance is allowed than its square. The margin is a quantile of the discrete law.

    >>> variance_meeting(standard_error=50), float(variance_meeting(standard_error=0.1)) > 0.01
    (Fraction(2500, 1), True)
    """
    unit = rational(step, "step")
    if unit <= 0 or (standard_error is None) == (margin is None):
        raise InvalidProblem("standard_error, margin: give one of the two, and a step above 0.")
    if standard_error is not None:
        most = Fraction(positive(standard_error, "standard_error")) / unit
        square: Fraction = most**2 if most**2 >= WIDE else _widest(lambda v: _deviation(v) <= most)
        return min(square, Fraction(LARGEST_GAUSSIAN_VARIANCE)) * unit * unit
    reach = Fraction(positive(margin, "margin")) / unit
    return _widest(lambda v: gaussian_margin(v, BEYOND) <= reach) * unit * unit


@step("the least variances of a plan")
def least_plan(queries: Sequence[Query], targets: Targets, splitting: UnitSplitting | None = None) -> TablePlan:
    """The plan of least loss, for every record at once, whose noisy numbers meet their targets.

    queries: their variances are replaced where there is a target, and kept elsewhere. targets: by the name of the noisy number;
    an average has two, `name.sum` and `name.count`. A record costs `(amount step)^2 / (2 variance)` in each, so the widest
    noise that a target allows costs every record least; no factor on all budgets does better for any. `plan.loss(record)`,
    `plan.policy` and, with a splitting, `plan.rho` say what the targets cost. Quantiles have no standard error and keep
    their rho; sums with other noise than Gaussian keep that.

    >>> from designer import Targets
    >>> from designer.tables import Count, Groups
    >>> plan = least_plan([Count("firms", Groups(), variance=1)], Targets(standard_error={"firms": 10}))
    >>> plan.queries[0].variance, plan.loss({})
    (Fraction(100, 1), Fraction(1, 200))
    """
    given = TablePlan(tuple(queries))
    noisy = [part for part in given.noisy if isinstance(part, Additive)]
    named = {noisy[t.place].name: t for t in require_targets(targets).of([part.name for part in noisy])}
    return TablePlan(tuple(_meeting(query, named) for query in given.queries), splitting)


def _meeting(query: Query, named: dict[str, Target]) -> Query:
    """The query with the variances that its targets allow."""
    if isinstance(query, Additive) and query.name in named:
        return replace(query, variance=_allowed(query, named[query.name]))
    if isinstance(query, Average):
        sums, counts = query.parts
        changed = {"variance": sums, "count_variance": counts}
        widest = {key: _allowed(part, named[part.name]) for key, part in changed.items() if part.name in named}
        return replace(query, **widest)  # type: ignore[arg-type]
    return query


def _allowed(part: Additive, target: Target) -> Fraction:
    margin = target.kind == "margin"
    return variance_meeting(**{"margin" if margin else "standard_error": target.most}, step=part.step)


def _deviation(variance: float) -> float:
    return math.sqrt(float(DiscreteGaussian([Fraction(variance)]).variance()[0]))


def _widest(allowed: Callable[[float], bool]) -> Fraction:
    """The largest float v that is allowed, to 2^-60 of its range: what is allowed holds for all smaller ones, too."""
    low, high = 2.0**-20, 2.0**-19
    if not allowed(low):
        raise InvalidProblem("targets: ask for noise that is never more than 0; ask for less accuracy.")
    while allowed(high):
        low, high = high, 2 * high
        if high > LARGEST_GAUSSIAN_VARIANCE:
            return Fraction(low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return Fraction(low)
