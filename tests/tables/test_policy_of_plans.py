"""What a plan states by split rows, with a part that every record pays, and noise that goes by what a group is called."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem, NotPrivate
from designer.files import spec
from designer.tables import (
    OTHERS,
    Average,
    Count,
    Groups,
    Key,
    Measure,
    PartitionSelection,
    Quantile,
    Sum,
    TablePlan,
    UnitSplitting,
    VarianceBy,
    hierarchy,
    variance_for,
)
from tests.oracles.records_tables import TABLE_2, firms, on_duckdb

pytest.importorskip("ibis")

EMP, PAY = Measure("emp"), Measure("pay")
SPLIT = UnitSplitting([EMP, PAY], [50, 5_000_000])
MEDIAN = Quantile("median", Groups(), (), PAY, 0.5, (0, 10**7, 2 * 10**7), Fraction(1, 10))
JOBS = Sum("jobs", Groups(), variance=variance_for(50, "1/5"), measure=EMP)


def test_example_5_7_of_the_paper() -> None:
    """A median at 1/10 before splitting and a sum at 1/5 after it: 1/10 + m^2 / 5 with 3, 3, 2, 2 and 1 rows."""
    plan = TablePlan([MEDIAN, JOBS], SPLIT, constant=Fraction(1, 10))
    assert plan.rho == Fraction(1, 5) and plan.constant == Fraction(1, 10)
    losses = [plan.split_policy.exact(plan.amounts(row)) for row in TABLE_2]
    assert losses == [Fraction(tenths, 10) for tenths in (19, 19, 9, 9, 3)]
    assert all(plan.loss(row) <= loss for row, loss in zip(TABLE_2, losses, strict=True))
    assert TablePlan([MEDIAN, JOBS], SPLIT).rho == Fraction(3, 10)  # without a constant part the median is paid by row


@pytest.mark.parametrize("constant", ["0", "1/20", "1/10", "3/2"])
def test_the_least_rho_beside_a_constant_is_a_tight_bound_of_every_record(constant: str) -> None:
    flat = Count("firms", Groups(), variance=5)
    plan = TablePlan([flat, MEDIAN, JOBS], SPLIT, constant=Fraction(constant))
    assert plan.rho is not None
    records = [{"emp": emp, "pay": pay} for emp, pay in product((0, 1, 50, 51, 150, 10**6), (None, 0, 10**7))]
    assert all(plan.loss(r) <= plan.split_policy.exact(plan.amounts(r)) for r in records)
    if plan.rho > Fraction(1, 5):  # the constant is too small for what every record pays: a record of one row tells
        full = {"emp": 50, "pay": 10**6}
        assert plan.loss(full) == plan.split_policy.exact(plan.amounts(full))
    with pytest.raises(NotPrivate, match="stated rho"):
        TablePlan([flat, MEDIAN, JOBS], SPLIT, plan.rho - Fraction(1, 10**9), Fraction(constant))


def test_a_constant_is_kept_in_specs_and_told_in_guarantees(tmp_path: Any) -> None:
    plan = TablePlan([MEDIAN, JOBS], SPLIT, constant=Fraction(1, 10))
    loaded = spec.load(plan.save(tmp_path / "plan.json"), TablePlan)
    assert loaded == plan and loaded.constant == Fraction(1, 10)
    assert "P(r) <= 1/10 + 1/5 * m(r)^2" in plan.guarantee.mechanism
    assert plan.guarantee.parameters["constant_loss"] == 0.1
    assert TablePlan([MEDIAN, JOBS], SPLIT) != plan


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"constant": "1/10"}, "splitting"), ({"splitting": SPLIT, "constant": "-1"}, "constant"), ({"rho": "1"}, "splitting")],
)
def test_a_constant_needs_a_splitting_and_a_size(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        TablePlan([MEDIAN, JOBS], **arguments)
    with pytest.raises(InvalidProblem, match="splitting: missing"):
        TablePlan([MEDIAN, JOBS]).split_policy.sentence()


FOUND = Groups(["industry"], selection=PartitionSelection.design("1/8", 1e-6, SPLIT))
NOISE = VarianceBy("industry", {"Mining": 10**6, "Retail": 4}, 2500)


def test_noise_by_label_serves_groups_that_are_found_privately(tmp_path: Any) -> None:
    """Groups of 200 rows are found but for a probability below 1e-6; every one has the noise of its name."""
    plan = TablePlan([Sum("jobs", FOUND, variance=NOISE, measure=EMP), Average("pay", FOUND, (), PAY, NOISE, NOISE)])
    assert spec.load(plan.save(tmp_path / "plan.json"), TablePlan) == plan
    assert [plan.queries[0].loss(row) for row in TABLE_2] == [
        Fraction(row["emp"] ** 2, 2 * {"Mining": 10**6, "Retail": 4}.get(row["industry"], 2500)) for row in TABLE_2
    ]
    released = plan.simulate(1, seed=3, data=on_duckdb(list(TABLE_2) * 200))[0]["jobs"]
    assert released.keys == (("Agriculture",), ("Mining",), ("Retail",)) and released.variances is not None
    assert released.variances.tolist() == [2500, 10**6, 4]
    drawn = [plan.simulate(1, seed=seed, data=on_duckdb(list(TABLE_2) * 200))[0]["jobs"].values for seed in range(20)]
    deviations = np.std(np.array(drawn), axis=0) / np.sqrt([2500, 10**6, 4])
    assert (deviations > 0.4).all() and (deviations < 1.9).all()  # chi-square of 19: outside with probability below 1e-4


def test_losses_by_label_are_below_the_split_policy() -> None:
    own = UnitSplitting([EMP], [50], "state", {"DE": [20], "RI": [300]})
    rows = firms(200, seed=12)
    for noise, expected in (
        (VarianceBy("state", {"DE": 200, "CT": 10**4}, 45_000), Fraction(1)),  # CT: 50^2, DE: 20^2, others: 300^2
        (VarianceBy("state", {"DE": 200}, 5000), Fraction(9)),
        (VarianceBy(Key("county"), {"1": 200}, 5000), Fraction(225)),
    ):
        groups = Groups(["state", "county"], selection=PartitionSelection.design("1/8", 1e-6))
        plan = TablePlan([Sum("s", groups, variance=noise, measure=EMP)], own, constant=Fraction(1, 8))
        assert plan.rho == expected
        assert all(plan.loss(row) <= plan.split_policy.exact(plan.amounts(row)) for row in rows)
    listed = hierarchy(["state"], [["DE"], ["CT"]])[1]
    apart = TablePlan([Sum("s", listed, variance=VarianceBy("state", {OTHERS: 200, "DE": 10**6}, 5000), measure=EMP)], own)
    assert apart.rho == Fraction(225) and apart.loss({"state": "RI", "county": 1, "emp": 300}) == 225


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (lambda: VarianceBy("state", {}, 1), "own"),
        (lambda: VarianceBy("state", {"DE": 0}, 1), "variance"),
        (lambda: VarianceBy("state", {"DE": 1}, -1), "variance"),
        (lambda: VarianceBy("county", {"DE": 1}, 1), "no key column"),
        (lambda: VarianceBy("state", {1: 1, "1": 2}, 1), "own"),
    ],
)
def test_noise_by_label_is_checked(noise: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        Count("n", Groups(["state"], [["DE"]]), variance=noise())


@pytest.mark.parametrize("groups", [Groups(), Groups(["county"], [[1], [2]])], ids=["all", "by another column"])
def test_the_rate_of_split_rows_covers_the_largest_threshold_that_a_record_may_have(groups: Groups) -> None:
    """Thresholds by state, and groups that do not tell the state: a record of a state with a large one is in them, too."""
    measure = Measure("emp", upper=1000)
    plan = TablePlan(
        (Sum("jobs", groups, variance=100, measure=measure),), UnitSplitting([measure], [50], "state", {"DE": [20], "RI": [80]})
    )
    assert plan.rho is not None and plan.splitting is not None
    for state, emp in product(("DE", "RI", "NV", None), (0, 1, 19, 20, 21, 50, 80, 81, 160, 999, 1000)):
        record = {"state": state, "county": 1, "emp": emp}
        assert plan.loss(record) <= plan.rho * plan.splitting.splits(record) ** 2
    assert plan.rho == Fraction(80**2, 2 * 100)
