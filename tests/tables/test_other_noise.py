"""Sums with Laplace, Student and transformed noise in plans of tables: what a record costs, what is promised, what is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem, NotPrivate, Targets
from designer.base.errors import InvalidSpec
from designer.files import spec
from designer.tables import (
    Condition,
    Count,
    Groups,
    Measure,
    PartitionSelection,
    PureSum,
    SlowlyScaledSum,
    StudentNoise,
    Sum,
    TablePlan,
    TransformedNoise,
    UnitSplitting,
)
from designer.tables.least import least_plan
from designer.tradeoff.conversions import pure_rho
from tests.oracles.records_tables import firms, on_duckdb
from tests.oracles.table_plans import STATES

pytest.importorskip("ibis")

EMP = Measure("emp", upper=10**6)
PAY = Measure("pay", "0.01", lower=-100, upper=10**6)
STUDENT, LOG = StudentNoise(Fraction(100), 3), TransformedNoise("log", Fraction(1000), Fraction(1, 5))
ROOT = TransformedNoise("root", Fraction(50), Fraction(3))
PURE = PureSum("pure", STATES, measure=EMP, scale=Fraction(100))
HEAVY = SlowlyScaledSum("heavy", STATES, (Condition("county", "==", 1),), measure=PAY, noise=STUDENT)
SLOW = SlowlyScaledSum("slow", Groups(), measure=PAY, noise=LOG)
GAUSS = Sum("jobs", STATES, variance=10**4, measure=EMP)
RECORDS = [
    {"state": state, "county": county, "emp": emp, "pay": pay}
    for state, county, emp, pay in product(("DE", "ZZ"), (1, 2), (0, None, 7, 10**7), (0.0, -3.0, 12.34, 1e9))
]


def test_a_record_costs_what_the_laws_allow_and_costs_add_up() -> None:
    """Laplace: e = |x| / b, and e - (1 - exp(-e)) r / sinh(r) of zCDP. Student: 2 m asinh(|x| / 2 s). Logarithm: square over
    twice the variance."""
    plan = TablePlan([PURE, HEAVY, SLOW, GAUSS])
    for row in RECORDS:
        emp = min(row["emp"] or 0, 10**6) * (row["state"] == "DE")
        pay = abs(min(max(row["pay"], -100), 10**6))
        here = pay * (row["state"] == "DE" and row["county"] == 1)
        student, log = 6 * math.asinh(here / 200), math.log1p(pay / 1000)
        assert PURE.pure_loss(row) == Fraction(emp, 100)
        assert float(HEAVY.pure_loss(row)) == pytest.approx(student, abs=6 * 2.0**-20)  # the grid
        laplace = emp / 100 + math.expm1(-emp / 100) * 0.01 / math.sinh(0.01)
        expected = [laplace, student * math.tanh(student / 2), log**2 * 12.5, emp**2 / 20_000]
        assert float(plan.loss(row)) == pytest.approx(sum(expected), rel=1e-4)
        assert plan.loss(row) <= plan.policy.exact(plan.amounts(row))


def test_no_likelihood_moves_by_more_than_the_stated_budget() -> None:
    """Weights of the laws themselves, at every place around both centres: the largest ratio is the budget, but for the grid."""
    noise = StudentNoise(Fraction(40), 2)
    heavy = SlowlyScaledSum("s", Groups(), measure=Measure("pay", upper=10**4), noise=noise)
    laplace = PureSum("p", Groups(), measure=Measure("pay", upper=10**4), scale=Fraction(7, 3))
    for pay in (1, 10, 300):
        z = np.linspace(-5000, 5000, 1_000_001)
        ratios = 2 * np.log((40.0**2 + (z + pay) ** 2) / (40.0**2 + z**2))
        assert ratios.max() <= float(heavy.pure_loss({"pay": pay})) <= ratios.max() * (1 + 1e-4)
        assert (np.abs(z + pay) - np.abs(z)).max() * 3 / 7 == pytest.approx(float(laplace.pure_loss({"pay": pay})))
        assert float(heavy.loss({"pay": pay})) == pytest.approx(pure_rho(heavy.pure_loss({"pay": pay})))


@pytest.mark.parametrize("query", [PURE, HEAVY, SLOW, SlowlyScaledSum("root", Groups(), measure=EMP, noise=ROOT)])
def test_the_bound_by_split_rows_is_above_every_record(query: Any) -> None:
    split = UnitSplitting([EMP, PAY], [50, 20], "state", {"DE": [3, "0.05"]})
    plan = TablePlan([query], split)
    assert plan.rho is not None
    for emp, pay, state in product((0, 1, 3, 50, 51, 10**5), (0, 0.05, 0.06, 20, 1e5), ("DE", "RI")):
        row = {"state": state, "county": 1, "emp": emp, "pay": pay}
        assert plan.loss(row) <= plan.rho * split.splits(row) ** 2
    with pytest.raises(NotPrivate):
        TablePlan([query], split, plan.rho * Fraction(999, 1000))
    with pytest.raises(InvalidProblem, match="no threshold"):
        TablePlan([query], UnitSplitting([Measure("other")], [1]))


def test_pure_plans_say_so_and_others_do_not() -> None:
    plan = TablePlan([PURE, HEAVY])
    row = {"state": "DE", "county": 1, "emp": 50, "pay": 100}
    assert plan.pure and plan.pure_loss(row) == PURE.pure_loss(row) + HEAVY.pure_loss(row)
    assert plan.loss(row) < plan.pure_loss(row)
    assert "exp(E(r))" in plan.guarantee.notion and "Laplace" in plan.guarantee.sampling
    assert "asinh" in plan.guarantee.mechanism and "|emp| / 100" in plan.guarantee.mechanism
    found = Groups(["state"], selection=PartitionSelection.design("1/8", 1e-6))
    for queries in (
        [PURE, GAUSS],
        [PURE, SLOW],
        [PureSum("p", found, measure=EMP, scale=1)],
        [PURE, Count("n", STATES, variance=1)],
    ):
        other = TablePlan(queries)
        assert not other.pure and "exp(E(r))" not in other.guarantee.notion
        with pytest.raises(InvalidProblem, match="no pure budget"):
            other.pure_loss(row)
    assert "Laplace" not in TablePlan([GAUSS]).guarantee.sampling


def exact(measure: Measure, state: str | None, county: int | None = None) -> float:
    rows = [row for row in ROWS if state in (None, row["state"]) and county in (None, row["county"])]
    return float(sum(measure.units(row[measure.column]) for row in rows) * measure.step)


ROWS = firms(300, seed=31)


def test_what_is_drawn_is_the_exact_sum_with_the_stated_noise() -> None:
    """400 releases: standardised means within 4.5 (probability below 1e-5 each), spreads of Laplace noise within a fifth."""
    plan, table = TablePlan([PURE, HEAVY, SLOW], unlisted="drop"), on_duckdb(ROWS)
    made = plan.simulate(400, seed=1, data=table)
    for name, measure, county in (("pure", EMP, None), ("heavy", PAY, 1)):
        values = np.array([one[name].values for one in made])
        truth = [exact(measure, key[0], county) for key in STATES.keys or ()]
        variances = made[0][name].variances
        assert variances is not None and (np.abs(values.mean(axis=0) - truth) < 4.5 * np.sqrt(variances / 400)).all()
        assert made[0][name].integers is not None and made[0][name].step is not None
        assert made[0][name].values.tolist() == [float(k * made[0][name].step) for k in made[0][name].integers]
        if name == "pure":
            assert np.allclose(variances, 2 * 100**2, rtol=1e-4) and np.allclose(values.var(axis=0), variances, rtol=0.4)
    slow, total = np.array([one["slow"][()] for one in made]), exact(PAY, None)
    assert made[0]["slow"].variances is None and made[0]["slow"].step is None
    assert abs(slow.mean() - total) < 4.5 * LOG.standard_deviation(total) / 20
    assert plan.release(table)["pure"].values.tolist() != made[0]["pure"].values.tolist()


def test_found_groups_have_other_noise_too() -> None:
    found = Groups(["state"], selection=PartitionSelection.design(2, 1e-9))
    plan = TablePlan(
        [PureSum("p", found, measure=EMP, scale=1), SlowlyScaledSum("s", found, measure=PAY, noise=STUDENT)], unlisted="drop"
    )
    made = plan.simulate(1, seed=1, data=on_duckdb(ROWS))[0]
    assert made["p"].keys == made["s"].keys == (("CT",), ("DE",), ("RI",))
    nothing = plan.simulate(1, seed=1, data=on_duckdb(ROWS[:1]).filter(False))[0]
    assert nothing["p"].keys == () and nothing["s"].values.shape == (0,)


def test_specs_keep_every_law_and_refuse_others(tmp_path: Any) -> None:
    plan = TablePlan([PURE, HEAVY, SLOW, SlowlyScaledSum("root", Groups(), measure=EMP, noise=ROOT), GAUSS])
    assert spec.load(plan.save(tmp_path / "plan.json"), TablePlan) == plan
    core = plan.core()
    for noise in ({"law": "cauchy"}, {"law": "student", "scale": "1"}, None, {"law": ["student"]}):
        with pytest.raises(InvalidSpec, match="noise"):
            TablePlan.from_core({**core, "queries": [{**core["queries"][1], "noise": noise}]})


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: PureSum("p", Groups(), measure=EMP, scale=0), "scale"),
        (lambda: PureSum("p", Groups(), measure=EMP, scale=2**56), "scale"),
        (lambda: PureSum("p", Groups(), scale=1), "measure"),
        (lambda: SlowlyScaledSum("p", Groups(), measure=EMP), "noise"),
        (lambda: SlowlyScaledSum("p", Groups(), noise=STUDENT), "measure"),
        (lambda: least_plan([PURE, GAUSS], Targets(standard_error={"pure": 1})), "pure"),
    ],
)
def test_bad_queries_are_refused(made: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        made()
