"""Intervals of the answers of table plans: how often they hold the truth, over releases of numbers that are known."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, norm

from benchmarks.interval_coverage import Plan, plan
from designer import About
from designer.base.answer_table import answer_lines, numbers_of
from designer.certificate.frozen import release_lines
from designer.files.releases import release_document
from designer.publish.content import SeenRelease
from designer.publish.sections import answers
from designer.sampling.entropy import SeededEntropy
from designer.tables import Average, Condition, Count, Groups, Measure, Quantile, Sum, TablePlan
from designer.tables.answers import Answer, Answers
from designer.tables.intervals import limits_of_answers
from designer.tables.other_noise import PureSum
from designer.tables.scans import answer_of, noisy_integers, ratio_of

# Each of the statistical tests fails with a probability below 1e-9 where coverage is the level.
FAILURE = 1e-9


@pytest.fixture(scope="module")
def asked() -> Plan:
    return plan()


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_of_every_kind_of_number_hold_the_truth_as_often_as_they_say(asked: Plan, level: float) -> None:
    draws, entropy = 120, SeededEntropy(11)
    hits, together = [], 0
    for _ in range(draws):
        answers = asked.released(entropy)
        truth = np.concatenate([asked.truth[name] for name in answers.answers])
        for joint in (False, True):
            found = limits_of_answers(asked.plan.queries, asked.plan.noisy, answers, level, joint)
            inside = (found.lower <= truth) & (truth <= found.upper)
            if joint:
                together += bool(inside.all())
            else:
                hits.append(inside)
    counted = [*np.array(hits).sum(axis=0).tolist(), together]
    assert binom.cdf(np.array(counted), draws, level).min() * len(counted) > FAILURE


@pytest.mark.parametrize(
    ("variances", "true_counts"), [((400, 25), (0, 1, 3, 10, 25, 30, 40, 200)), ((4, 1), (1, 3, 5, 7, 20))]
)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_of_averages_of_small_groups_hold_the_truth_and_joint_ones_are_no_narrower(
    variances: tuple[int, int], true_counts: tuple[int, ...], level: float
) -> None:
    """2,000 groups of each true count, with means of 20: below, at and above the count from which on Fieller's set is taken."""
    size, entropy = 2000, SeededEntropy(5)
    keys = tuple((f"{count} {i}",) for count in true_counts for i in range(size))
    measure = Measure("pay", lower=-50, upper=500)
    query = Average("mean", Groups(["g"], keys), measure=measure, variance=variances[0], count_variance=variances[1])
    counts = np.repeat(true_counts, size)
    parts = {
        part.name: answer_of(part, keys, tuple(noisy_integers(part, keys, exact.tolist(), entropy)))
        for part, exact in zip(query.parts, (20 * counts, counts), strict=True)
    }
    released = Answers({**parts, "mean": ratio_of(query, *parts.values())})
    one, joint = (limits_of_answers((query,), query.parts, released, level, together) for together in (False, True))
    own = slice(2 * len(keys), None)
    truth = np.where(counts > 0, 20, 0)
    hits = ((one.lower[own] <= truth) & (truth <= one.upper[own])).reshape(-1, size).sum(axis=1)
    assert binom.cdf(hits, size, level).min() > FAILURE
    assert (joint.lower[own] <= one.lower[own]).all() and (joint.upper[own] >= one.upper[own]).all()


def test_an_average_without_a_clear_count_is_cut_at_its_bounds() -> None:
    query = Average("mean", Groups(), (), Measure("pay", lower=-20, upper=100), 10**4, 25)
    made = TablePlan((query,))

    def limits(total: float, count: float, joint: bool) -> tuple[float, float]:
        parts = {
            part.name: Answer(part.name, (), ((),), np.array([value]), integers=(int(value),))
            for part, value in zip(query.parts, (total, count), strict=True)
        }
        ratio = Answer("mean", (), ((),), np.array([total / max(count, 1)]))
        found = limits_of_answers(made.queries, made.noisy, Answers({**parts, "mean": ratio}), 0.95, joint)
        return float(found.lower[2]), float(found.upper[2])

    for joint in (False, True):
        low, high = limits(300.0, 4.0, joint)
        assert -20 < low < 10 and high == 100.0
        assert limits(300.0, -30.0, joint)[1] == 100.0
        low, high = limits(30_000.0, 1000.0, joint)
        assert -20 < low < 30 < high < 100 and high - low < 1.2
    assert limits(30_000.0, 1000.0, False)[0] > limits(30_000.0, 1000.0, True)[0]


def limits_of(query: Average | Sum, values: list[float], level: float, joint: bool) -> tuple[float, float]:
    """The ends of the last answer of one query over all records, of which these are the noisy numbers in steps."""
    parts = query.parts if isinstance(query, Average) else (query,)
    found = {
        part.name: Answer(part.name, (), ((),), np.array([value * float(part.step)]), integers=(int(value),))
        for part, value in zip(parts, values, strict=True)
    }
    ratio = {query.name: Answer(query.name, (), ((),), np.array([0.0]))} if isinstance(query, Average) else {}
    made = limits_of_answers((query,), parts, Answers({**found, **ratio}), level, joint)
    return float(made.lower[-1]), float(made.upper[-1])


def test_a_sum_in_fine_steps_has_the_quantile_of_its_law_in_its_units() -> None:
    """Noise of variance 9 steps, summed term by term; steps are hundredths."""
    query = Sum("pay", Groups(), variance=Fraction(9, 10**4), measure=Measure("pay", "0.01"))
    z = np.arange(-60, 61)
    law = np.exp(-(z**2) / 18)
    least = min(m for m in range(60) if law[np.abs(z) > m].sum() / law.sum() <= 0.05)
    assert limits_of(query, [1234], 0.95, False) == pytest.approx((12.34 - least / 100, 12.34 + least / 100), rel=1e-12)


def test_averages_end_where_the_noise_of_their_sums_reaches() -> None:
    """At an end t of an interval, s - t c is as far from 0 as the noise y - t z is with probability 9/10 of the misses."""
    query = Average("mean", Groups(), (), Measure("pay", lower=0, upper=1000), 10**4, 400)
    for level in (0.5, 0.95):
        for end in limits_of(query, [30_000.0, 1000.0], level, False):
            reach = abs(30_000.0 - end * 1000.0) / math.sqrt(10**4 + 400 * end**2)
            assert reach == pytest.approx(norm.isf(0.9 * (1 - level) / 2), rel=0.05)


def test_all_numbers_at_once_share_the_misses() -> None:
    """Of 50 independent groups each has the level whose 50th power is asked for."""
    groups = Groups(["place"], [[str(k)] for k in range(50)])
    query = Count("n", groups, variance=2500)
    answers = Answers({"n": Answer("n", ("place",), groups.keys or (), np.zeros(50), integers=(0,) * 50)})
    ends = [limits_of_answers((query,), (query,), answers, *asked).upper for asked in ((0.9, True), (0.9 ** (1 / 50), False))]
    assert ends[0].tolist() == ends[1].tolist() and ends[0].min() > 50 * norm.isf(0.1 / 100) - 1


def test_a_quantile_has_no_interval_and_says_why() -> None:
    sectors = Groups(["sector"], [["a"], ["b"]])
    quantile = Quantile("median", sectors, (), Measure("pay"), 0.5, (0, 10, 20), "0.25")
    made = TablePlan((Count("n", sectors, variance=4), quantile))
    found = limits_of_answers(
        made.queries,
        made.noisy,
        Answers(
            {
                "n": Answer("n", ("sector",), (("a",), ("b",)), np.array([3.0, 4.0]), integers=(3, 4)),
                "median": Answer("median", ("sector",), (("a",), ("b",)), np.array([0.0, 10.0])),
            }
        ),
        0.95,
        True,
    )
    assert np.isnan(found.lower[2:]).all() and np.isfinite(found.lower[:2]).all() and "rank" in found.missing


def test_intervals_of_sums_say_that_amounts_were_clipped() -> None:
    """15 of 5,000 firms above the bound: the interval of the clipped sum is not one of the true sum, and says so wherever it is
    printed; how many lie outside is a count like any other."""
    import ibis

    pay = Measure("pay", upper=50)
    everybody = Groups([], keys=[[]])
    outside = Count("above", everybody, [Condition("pay", ">", 50)], variance=1)
    plan = TablePlan([Sum("pay", everybody, variance=4, measure=pay), outside])
    released = plan.release(ibis.memtable({"pay": [10.0] * 40 + [400.0] * 15}))
    said = "amounts clipped: pay to [0, 50]; intervals of sums and averages say nothing of what clipping took away"
    assert said in released.answer_tables()[0].intervals().law
    assert abs(released.answer_tables()[0].answers[0] - (400 + 15 * 50)) < 40 and abs(released["above"].values[0] - 15) < 12
    assert said in " ".join(" ".join(answer_lines(released.answer_tables())).split())
    assert all(said in meaning for name, meaning in numbers_of(released.answer_tables()[0]).meanings.items() if "lower" in name)
    counts = TablePlan([Count("all", everybody, variance=1)]).release(ibis.memtable({"pay": [1.0]}))
    assert "clipped" not in counts.answer_tables()[0].intervals().law


def test_a_saved_release_and_its_guarantee_state_the_bounds_of_every_sum_and_average() -> None:
    """Who reads the file alone finds what was clipped, and to what; nothing speaks of the answer to another question."""
    import ibis

    everybody, pay = Groups([], keys=[[]]), Measure("pay", "0.5", lower=-2, upper=50)
    asked = [
        Sum("pay", everybody, variance=4, measure=pay),
        Average("mean", everybody, variance=4, count_variance=1, measure=pay),
        PureSum("pure", everybody, measure=pay, scale=3),
        Quantile("median", everybody, measure=pay, candidates=(0, 25, 50), rho="1/8"),
    ]
    plan = TablePlan(asked)
    released = plan.release(ibis.memtable({"pay": [10.0] * 40 + [400.0] * 15}))
    document = json.loads(json.dumps(release_document(plan, released)))
    for told in (released.guarantee.mechanism, document["guarantee"]["mechanism"]):
        assert "r clipped and rounded as stated" in told
        for query in asked:
            assert query.sentence() in told and "pay (steps of 1/2, clipped to [-2, 50])" in query.sentence()
    printed = " ".join([*answer_lines(released.answer_tables()), *numbers_of(released.answer_tables()[0]).meanings.values()])
    assert "the answer without noise" in printed and "true" not in printed


def test_the_page_tells_the_clipping_of_every_sum_and_cuts_no_sentence_off() -> None:
    import ibis

    everybody, columns = Groups([], keys=[[]]), [f"amount_{k}" for k in range(5)]
    sums = [Sum(name, everybody, variance=4, measure=Measure(name, upper=50)) for name in columns]
    released = TablePlan(sums).release(ibis.memtable({name: [400.0] for name in columns}))
    document = {"time": "2026-01-31T12:00:00Z", "fingerprint": "f", "rows": None, "published": None}
    page = str(answers(SeenRelease("release.json", released, document, None)))  # type: ignore[arg-type]
    assert all(f"{name} to [0, 50]" in page for name in columns) and page.count("amounts clipped: ") == 1
    assert "characters)" not in page and "true answer" not in page


def test_each_answer_of_a_plan_is_printed_in_the_unit_of_its_query() -> None:
    """A group is no query: firms were told in euro, because only the unit of all queries was found for a label."""
    groups, pay = Groups(["kind"], [["firms"], ["shops"]]), Measure("pay", upper=10)
    asked = (Count("number", groups, variance=1), Sum("wages", groups, variance=1, measure=pay))
    made = TablePlan(asked).described(About(units={"number": "people", "*": "euro"}))
    lines = release_lines(made, made.release({"kind": ["firms", "shops"], "pay": [1, 2]}))
    told = [line.split()[-1] for line in lines if line.startswith(("firms ", "shops "))]
    assert told == ["people", "people", "euro", "euro"]
