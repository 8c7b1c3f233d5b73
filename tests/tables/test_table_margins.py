"""Answers of a plan at several margins, made consistent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem
from designer.tables import Answer, Count, Groups, Measure, Quantile, TablePlan, VarianceBy, consistent_margins
from designer.tables.agreement import PlanAgreement

ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")

STATES, COUNTIES = ["DE", "RI"], [("DE", "1"), ("DE", "2"), ("RI", "1")]
SECTORS = ["11", "23", "99"]
LEVELS = {
    "state x sector": Groups(["state", "sector"], [[s, k] for k in SECTORS for s in STATES]),
    "county x sector": Groups(["sector", "state", "county"], [[k, s, c] for s, c in COUNTIES for k in SECTORS]),
    "county": Groups(["state", "county"], COUNTIES),
    "all": Groups(),
}


def table() -> Any:
    generator = np.random.default_rng(1)
    chosen = [COUNTIES[i] for i in generator.integers(0, 3, 5000)]
    sectors = [SECTORS[i] for i in generator.integers(0, 3, 5000)]
    return ibis.memtable(pa.table({"state": [s for s, _ in chosen], "county": [c for _, c in chosen], "sector": sectors}))


def plan(variance: Any = 100) -> TablePlan:
    return TablePlan([Count(name, level, variance=variance) for name, level in LEVELS.items()])


def test_margins_of_a_release_agree_in_all_that_they_share() -> None:
    released = plan().simulate(1, seed=5, data=table())[0]
    made = dict(zip(LEVELS, consistent_margins([released[name] for name in LEVELS], ["state", "county"]), strict=True))
    for state in STATES:
        for sector in SECTORS:
            inside = sum(made["county x sector"][sector, s, c] for s, c in COUNTIES if s == state)
            assert made["state x sector"][state, sector] == pytest.approx(inside)
    for s, c in COUNTIES:
        assert made["county"][s, c] == pytest.approx(sum(made["county x sector"][k, s, c] for k in SECTORS))
    assert made["all"].values[0] == pytest.approx(made["county"].values.sum())


def test_margins_say_how_far_they_were_moved() -> None:
    """3 + 5 beside 11 (variance 2): each cell up by 0.75 standard errors, the total down by 1.5 / sqrt(2) = 1.0607."""
    cells = Answer("a", ("sex",), (("f",), ("m",)), np.array([3.0, 5.0]), np.ones(2))
    total = Answer("b", (), ((),), np.array([11.0]), np.array([2.0]))
    made = consistent_margins([cells, total])
    for answer, errors in zip(made, ("0.75", "1.07"), strict=True):
        assert f"Every number is within {errors} standard errors of its released answer." in answer.post_processing
    wrong = consistent_margins([cells, Answer("b", (), ((),), np.array([1100.0]), np.array([2.0]))])
    assert all("more than its own noise explains" in answer.post_processing for answer in wrong)


def test_the_stated_variances_are_those_of_many_releases() -> None:
    """300 releases: mean squares within 35 % of the variances (chi-square of 300, four deviations, 19 cells: below 1e-3)."""
    exact = TablePlan([Count(name, level, variance="1/10000") for name, level in LEVELS.items()]).simulate(
        1, seed=1, data=table()
    )[0]
    generator, truth = np.random.default_rng(2), {name: exact[name].values for name in LEVELS}
    given = {
        name: Answer(name, exact[name].columns, exact[name].keys, truth[name], np.full(len(truth[name]), 4.0))
        for name in LEVELS
    }
    squares: dict[str, Any] = dict.fromkeys(LEVELS, 0.0)
    for _ in range(300):
        noisy = [
            Answer(a.name, a.columns, a.keys, a.values + generator.normal(0, 2, len(a.keys)), a.variances)
            for a in given.values()
        ]
        for answer in (made := consistent_margins(noisy, ["state", "county"])):
            squares[answer.name] = squares[answer.name] + (answer.values - truth[answer.name]) ** 2 / 300
    for answer in made:
        assert answer.variances is not None and (answer.variances < 4).all()
        np.testing.assert_allclose(squares[answer.name], answer.variances, rtol=0.35)


def test_answers_that_are_no_full_tables_are_refused() -> None:
    released = plan().simulate(1, seed=5, data=table())[0]
    answers = [released[name] for name in LEVELS]
    for given, nested, message in (
        ([answers[0], answers[0]], ["state", "county"], "same key columns"),
        (answers, ["county", "state"], "first few"),
        ([Answer("a", ("k", "l"), (("1", "1"), ("2", "2")), np.zeros(2), np.ones(2))], [], "combinations"),
        ([Answer("a", ("k",), (("1",), ("2",)), np.zeros(2), np.array([1.0, 2.0]))], [], "differs within"),
        ([Answer("a", (), ((),), np.zeros(1))], [], "no variances"),
    ):
        with pytest.raises(InvalidProblem, match=message):
            consistent_margins(given, nested)
    by_state = TablePlan([Count("a", LEVELS["state x sector"], variance=VarianceBy("state", {"DE": 4}, 9))]).simulate(
        1, seed=2, data=table()
    )[0]["a"]
    assert consistent_margins([by_state], ["state"])[0].variances.tolist() == by_state.variances.tolist()  # type: ignore[union-attr]


def test_a_query_without_agreeing_numbers_says_why_in_its_place() -> None:
    """The noise of the counts, of deviation 0.01, rounds away."""
    firms = Count("firms", Groups(["shop"], [["a"], ["b"]]), variance="1/10000")
    middle = Quantile("middle", Groups(), measure=Measure("pay"), candidates=[1, 2], rho="0.1")
    plan = TablePlan([middle, firms, Count("all", Groups(), variance="1/10000")])
    released = plan.release(ibis.memtable(pa.table({"shop": ["a", "a", "b"], "pay": [1, 2, 2]})))
    made = PlanAgreement().made(plan, released, None, whole=True)
    names = [table.name for table in released.answer_tables()]
    numbers = {name: None if own is None else own.tolist() for name, own in zip(names, made.tables, strict=True)}
    assert numbers == {"middle": None, "firms": [2, 1], "all": [3]}
    reasons = dict(zip(names, made.reasons, strict=True))
    assert reasons == {"middle": "It is no sum of parts, so nothing must add up.", "firms": "", "all": ""}


def test_groups_that_one_query_lists_and_another_does_not_are_named() -> None:
    by_state = Count("a", Groups(["state"], keys=[["DE"], ["NY"], ["RI"]]), variance=1)
    by_sex = Count("b", Groups(["state", "sex"], keys=[["DE", "F"], ["DE", "M"], ["RI", "F"]]), variance=1)
    with pytest.raises(InvalidProblem, match=r"list different groups of \['state'\], such as \('NY',\); list the same ones"):
        PlanAgreement().require(TablePlan([by_state, by_sex]), None)
