"""What a collector learns from reports: unbiased, with the stated covariance, in intervals that hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from designer import InvalidProblem, ReportProblem, Workload, design, metrics

FAILURE = 1e-9


def k_rr(size: int, epsilon: float) -> Any:
    return design(ReportProblem(metrics.uniform(size, epsilon), loss="zero_one"), "randomised_response").mechanism


def test_counts_of_randomised_response_are_those_of_the_closed_form() -> None:
    """`(r_k - n q) / (p - q)` with variance `(sum of the variances of single reports) / (p - q)^2` (Wang and others 2017)."""
    size, epsilon = 4, 1.3
    made, reports = k_rr(size, epsilon), np.array([410, 250, 33, 7])
    n, low = reports.sum(), 1 / (math.exp(epsilon) + size - 1)
    high = math.exp(epsilon) * low
    found = made.estimate(dict(zip(map(str, made.reports), reports.tolist(), strict=True)))
    assert found.answers == pytest.approx((reports - n * low) / (high - low), abs=1e-6)
    people = np.array([400.0, 200, 60, 40])
    exact = made.covariance(people)
    variances = people * high * (1 - high) + (n - people) * low * (1 - low)
    assert np.diag(exact) == pytest.approx(variances / (high - low) ** 2)


@pytest.mark.parametrize("size, chosen", [(6, 2), (5, 1)])
def test_counts_of_subset_selection_are_those_of_the_closed_form(size: int, chosen: int) -> None:
    """Ye and Barg 2018: the share of sets that hold a value is `low` for people of others and `high` for its own."""
    epsilon = 1.1
    made = design(ReportProblem(metrics.uniform(size, epsilon), loss="zero_one"), "subset_selection", size=chosen).mechanism
    grown, rest = math.exp(epsilon), size - chosen
    high = chosen * grown / (chosen * grown + rest)
    low = high * (chosen - 1) / (size - 1) + (1 - high) * chosen / (size - 1)
    reports = np.random.default_rng(3).integers(0, 50, len(made.reports))
    members = np.array([[f"e{x}" in name.strip("{}").split(", ") for name in made.reports] for x in range(size)])
    found = made.estimate(dict(zip(map(str, made.reports), reports.tolist(), strict=True)))
    expected = (members @ reports - reports.sum() * low) / (high - low)
    assert found.answers == pytest.approx(expected, abs=1e-6 * reports.sum())


def test_two_answers_are_warner_s() -> None:
    """Warner 1965: the share of yes, `(r / n - q) / (p - q)`."""
    made = k_rr(2, math.log(3))
    assert made.estimate([0] * 60 + [1] * 40).answers == pytest.approx([70.0, 30.0])


def test_the_estimate_is_unbiased_and_its_covariance_is_exact() -> None:
    """By enumeration of the reports of two people: no simulation."""
    made = design(ReportProblem(metrics.line([0.0, 1.0, 2.5], 1, 0.9)), "exponential").mechanism
    people, queries = np.array([1, 0, 1]), np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    mean, square, stated = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
    for first in range(3):
        for second in range(3):
            chance = made.channel[0, first] * made.channel[2, second]
            found = made.estimate([first, second], queries)
            mean += chance * found.answers
            square += chance * np.outer(found.answers, found.answers)
            stated += chance * found.covariance
    truth = queries @ people
    assert mean == pytest.approx(truth)
    exact = square - np.outer(truth, truth)
    assert made.covariance(people, queries) == pytest.approx(exact) and stated == pytest.approx(exact)


@pytest.mark.parametrize("family", ["exponential", "randomised_response", "subset_selection"])
def test_intervals_hold_in_two_thousand_collections(family: str) -> None:
    made = design(ReportProblem(metrics.uniform(5, 1.0), loss="zero_one"), family).mechanism
    people, queries = [300, 0, 120, 7, 73], Workload([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 1, 0, 0, -1]])
    truth, level = queries.dense() @ people, 0.8
    each, joint, errors, answers = [], [], [], []
    for row in made.simulate(2000, 17, data=people).counts:
        found = made.estimate(dict(zip(map(str, made.reports), row.tolist(), strict=True)), queries)
        lower, upper, law, _ = found.intervals(level)
        each.append((lower <= truth) & (truth <= upper))
        lower, upper, _, _ = found.intervals(level, simultaneous=True)
        joint.append(bool(((lower <= truth) & (truth <= upper)).all()))
        errors.append(np.diag(found.covariance))
        answers.append(found.answers)
    assert "Bernstein" in law
    for hits in (*np.sum(each, axis=0).tolist(), sum(joint)):
        assert binom.cdf(hits, 2000, level) > FAILURE
    exact = np.diag(made.covariance(people, queries))
    assert np.mean(answers, axis=0) == pytest.approx(truth, abs=6 * float(np.sqrt(exact.max() / 2000)))
    assert np.var(answers, axis=0) == pytest.approx(exact, rel=0.25) and np.mean(errors, axis=0) == pytest.approx(
        exact, rel=0.05
    )


def test_the_most_likely_histogram_is_a_fixed_point_and_more_likely_than_others() -> None:
    made = k_rr(4, 1.0)
    found = made.estimate({"e0": 60, "e1": 20, "e2": 3, "e3": 17})
    shares = found.histogram / 100
    assert found.histogram.min() >= 0 and found.histogram.sum() == pytest.approx(100)
    reports = np.array([60, 20, 3, 17])
    slope = made.channel @ (reports / (shares @ made.channel)) / 100  # Karush, Kuhn and Tucker: 1 where a share is above 0
    assert slope[shares > 1e-6] == pytest.approx(1, abs=1e-4) and (slope <= 1 + 1e-4).all()
    generator = np.random.default_rng(1)
    for _ in range(50):
        other = generator.dirichlet(np.ones(4))
        assert (reports * np.log(other @ made.channel)).sum() <= found.log_likelihood_bound
    assert 0 <= found.log_likelihood_bound - found.log_likelihood <= 1e-6


@pytest.mark.parametrize("people", [30, 1000, 10**6])
def test_no_counts_are_likelier_by_more_than_a_millionth_even_where_the_channel_tells_little(people: int) -> None:
    """Plain expectation and maximisation is 0.008 short of it at 1,000 people and 7.9 at 10^6, after 5,000 steps."""
    made = design(ReportProblem(metrics.line(np.arange(12.0), 1, 0.3)), "exponential").mechanism
    share = np.random.default_rng(4).dirichlet(np.full(12, 0.4)) @ made.channel
    reports = np.maximum(np.rint(people * share), 0).astype(int)
    found = made.estimate({str(name): int(times) for name, times in zip(made.reports, reports, strict=True)})
    assert found.histogram.sum() == pytest.approx(found.people) and found.histogram.min() >= 0
    assert 0 <= found.log_likelihood_bound - found.log_likelihood <= 1e-6
    chances = found.histogram / found.people @ made.channel
    assert found.log_likelihood == pytest.approx(float(reports[reports > 0] @ np.log(chances[reports > 0])))


def test_nobody_is_spread_evenly() -> None:
    found = k_rr(3, 1.0).estimate([])
    assert found.histogram.tolist() == [0, 0, 0] and found.log_likelihood == found.log_likelihood_bound == 0


def test_sums_that_a_channel_tells_apart_are_answered_and_others_refused() -> None:
    """Two reports for four values: only what their law is linear in."""
    loss = [[0, 1], [0, 1], [1, 0], [1, 0]]
    made = design(ReportProblem(metrics.uniform(4, 1.0), ["left", "right"], loss=loss), "channel").mechanism
    found = made.estimate(["left"] * 30 + ["right"] * 70, [[1, 1, 0, 0]])
    low = 1 / (math.e + 1)
    assert found.answers == pytest.approx([(30 - 100 * low) / (math.e * low - low)], rel=1e-6)
    assert made.release([1, 2, 3, 4]).answer_tables()[0].name == "reports"
    with pytest.raises(InvalidProblem, match="no unbiased answer exists"):
        made.estimate(["left"])
    for wrong, words in ((["up"], "'up' is neither"), ("left", "is no list"), ({"left": -1}, "no count"), ([True], "neither")):
        with pytest.raises(InvalidProblem, match=words):
            made.estimate(wrong, [[1, 1, 0, 0]])
    for wrong in ([1, 2, 3], [1, 2, 3, -4]):
        with pytest.raises(InvalidProblem, match="people: give a number from 0 on for each of 4 values"):
            made.covariance(wrong, [[1, 1, 0, 0]])
    with pytest.raises(InvalidProblem, match="have 3 columns for 4 values"):
        made.estimate([0], [[1, 1, 0]])
