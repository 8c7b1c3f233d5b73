"""Several reports of one person, by enumeration of all courses and all reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import pytest

from designer import Channel, ReportProblem, design, metrics

PLACES = [[0, 0], [1, 0], [0, 2]]
TIMES = 3
SLACK = 1 + 1e-12


@pytest.fixture(scope="module")
def channel() -> Channel:
    """Three places with three different budgets."""
    made = design(ReportProblem(metrics.euclidean(PLACES, 0.8)), "exponential").mechanism
    assert isinstance(made, Channel)
    return made


def fresh(made: Channel, course: Sequence[int], reports: Sequence[int]) -> float:
    """The chance of reports that are each drawn anew."""
    return math.prod(float(made.channel[x, z]) for x, z in zip(course, reports, strict=True))


def remembered(made: Channel, course: Sequence[int], reports: Sequence[int]) -> float:
    """The chance of reports that are drawn once for each value: the sum over all tables of what each value would send."""
    tables = product(range(len(made.reports)), repeat=len(made.elements))
    sends = [table for table in tables if all(table[x] == z for x, z in zip(course, reports, strict=True))]
    return sum(math.prod(float(made.channel[x, z]) for x, z in enumerate(table)) for table in sends)


def pattern(course: Sequence[int]) -> list[int]:
    return [course.index(x) for x in course]


def test_budgets_of_fresh_reports_add_up_along_any_two_courses(channel: Channel) -> None:
    b = channel.relation.distances()
    for one, other in product(product(range(3), repeat=TIMES), repeat=2):
        spent = math.exp(sum(b[x, y] for x, y in zip(one, other, strict=True)))
        for reports in product(range(len(channel.reports)), repeat=TIMES):
            assert fresh(channel, one, reports) <= spent * fresh(channel, other, reports) * SLACK


def test_remembered_reports_cost_each_distinct_value_once_between_courses_of_one_pattern(channel: Channel) -> None:
    b, compared, less = channel.relation.distances(), 0, 0
    for one, other in product(product(range(3), repeat=TIMES), repeat=2):
        if pattern(one) != pattern(other):
            continue
        spent = sum(b[x, y] for x, y in set(zip(one, other, strict=True)))
        compared, less = compared + 1, less + (spent < sum(b[x, y] for x, y in zip(one, other, strict=True)))
        for reports in product(range(len(channel.reports)), repeat=TIMES):
            assert remembered(channel, one, reports) <= math.exp(spent) * remembered(channel, other, reports) * SLACK
    assert compared > 50 and less > 20


def test_the_pattern_of_remembered_reports_is_protected_by_no_budget(channel: Channel) -> None:
    """Different reports are impossible where the value came back, and possible where it did not."""
    assert remembered(channel, (0, 1, 0), (0, 0, 1)) == 0 < remembered(channel, (0, 1, 2), (0, 0, 1))
