"""Table plans for targets: the widest noise that each target allows, against the laws added up."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from designer import InvalidProblem, Targets
from designer.tables import Average, Count, Groups, Measure, Sum, UnitSplitting, variance_for
from designer.tables.least import least_plan, variance_meeting

STATES = Groups(["state"], [["DE"], ["MD"]])
PAY = Measure("payroll", step=10, lower=0, upper=10**6)
Z = np.arange(-4000, 4001)


def law(variance: float) -> np.ndarray:
    masses = np.exp(-(Z.astype(float) ** 2) / (2 * variance))
    return np.asarray(masses / masses.sum())


@pytest.mark.parametrize("most", [0.05, 0.4, 1.0, 1.9, 2.0, 17.3])
@pytest.mark.parametrize("step", [1, 10])
def test_the_variance_is_the_largest_that_a_standard_error_allows(most: float, step: int) -> None:
    found = float(variance_meeting(standard_error=most * step, step=step)) / step**2
    deviations = [math.sqrt((law(found * grown) * Z**2).sum()) for grown in (1, 1 + 1e-6)]
    assert deviations[0] <= most * (1 + 1e-12) and deviations[1] > most


@pytest.mark.parametrize("most", [0, 0.9, 1, 2.5, 40])
def test_the_variance_is_the_largest_that_a_margin_allows(most: float) -> None:
    if not most:
        with pytest.raises(InvalidProblem, match="margin"):
            variance_meeting(margin=most)
        return
    found = float(variance_meeting(margin=most))
    beyond = [law(found * grown)[np.abs(Z) > most].sum() for grown in (1, 1 + 1e-6)]
    assert beyond[0] <= 0.05 < beyond[1]


def test_wide_noise_has_the_square() -> None:
    assert variance_meeting(standard_error=50) == 2500 == variance_for(50, "1/2")
    assert variance_meeting(standard_error=50, step="1/4") == 2500


def test_the_plan_gives_every_number_what_its_target_allows() -> None:
    queries = [
        Count("firms", STATES, variance=1),
        Sum("pay", STATES, measure=PAY, variance=100),
        Average("mean", STATES, measure=PAY, variance=100, count_variance=7),
    ]
    targets = Targets(standard_error={"firms": 12, "pay": 5000}, relative_error={"mean.sum": 0.1}, reference=80_000)
    plan = least_plan(queries, targets)
    assert [part.variance for part in plan.noisy] == [144, 5000**2, 8000**2, 7]
    record = {"state": "DE", "payroll": 30_000}
    assert plan.loss(record) == Fraction(1, 288) + Fraction(30_000**2, 2 * 5000**2) + Fraction(
        30_000**2, 2 * 8000**2
    ) + Fraction(1, 14)
    split = least_plan(queries[:2], Targets(standard_error=5000), UnitSplitting((PAY,), (50_000,)))
    assert split.privacy.holds and split.rho is not None and split.rho >= Fraction(50_000**2, 2 * 5000**2)


def test_no_plan_that_meets_the_targets_costs_any_record_less() -> None:
    """Brute force over a grid of variances for one count."""
    plan = least_plan([Count("firms", STATES, variance=1)], Targets(margin=9))
    met = [v for v in np.arange(5, 40, 0.01) if law(v)[np.abs(Z) > 9].sum() <= 0.05]
    assert plan.loss({"state": "MD"}) <= 1 / (2 * max(met)) <= float(plan.loss({"state": "MD"})) * 1.001


def test_unknown_names_and_several_kinds_are_refused() -> None:
    count = Count("firms", STATES, variance=1)
    with pytest.raises(InvalidProblem, match="'pay' is no query"):
        least_plan([count], Targets(standard_error={"pay": 1}))
    with pytest.raises(InvalidProblem, match="one of the two"):
        variance_meeting(standard_error=1, margin=2)
    with pytest.raises(InvalidProblem, match="one of the two"):
        variance_meeting()
    with pytest.raises(InvalidProblem):
        variance_meeting(standard_error=math.nan)
