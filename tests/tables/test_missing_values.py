"""Missing values by query: left out of quantiles and averages, nothing to a sum, a record to a count;
the loss is what that moves."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer.base.errors import InvalidProblem
from designer.files import spec
from designer.relations.records.record_files import open_table
from designer.relations.records.row_unit import RowUnit
from designer.tables import (
    Average,
    Condition,
    Count,
    CountDistinct,
    Groups,
    Measure,
    PartitionSelection,
    PureSum,
    Quantile,
    SlowlyScaledSum,
    StudentNoise,
    Sum,
    TablePlan,
    UnitSplitting,
)
from designer.tables.aggregates import cell_counts
from designer.tables.condition import OPERATORS
from designer.tables.policies.policy import measure as magnitude
from designer.tables.scans import numbers

ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")

PAY = Measure("pay", "0.5", lower=-10, upper=100)
STATES = Groups(["state"], [["DE"], ["RI"]])
VALUES = [None, math.nan, 3.0, 40.0, 41.0, math.inf, -math.inf, None, math.nan, -0.0]
QUANTILE = Quantile("median", STATES, (), PAY, 0.5, (-10, 0, 5, 40, 50), Fraction(1, 4))
AVERAGE = Average("mean", STATES, (), PAY, 10, 20)


def table(values: list[Any]) -> Any:
    return ibis.memtable(pa.table({"state": ["DE"] * len(values), "pay": pa.array(values, type=pa.float64())}))


@pytest.mark.parametrize("where", [(), (Condition("pay", "present"),), (Condition("pay", ">", -3),)], ids=str)
def test_quantiles_are_of_the_values_that_are_there(where: Any) -> None:
    query = Quantile("median", STATES, where, PAY, 0.5, QUANTILE.candidates, Fraction(1, 4))
    given = [x for x in VALUES if x is not None and not math.isnan(x) and all(c.meets({"pay": x}) for c in where)]
    bounds = [float(g) for g in query.candidates]
    kept = np.clip(given, -10, 100)
    expected = np.bincount(np.searchsorted(bounds, kept) + np.searchsorted(bounds, kept, "right"), minlength=11)
    assert cell_counts(query, table(VALUES))["DE",].tolist() == expected.tolist()
    assert cell_counts(query, table([None, math.nan])) == {}


def test_a_median_of_mostly_missing_values_is_not_zero() -> None:
    """600 missing values, 200 of 40 and 200 of 41: with budget 200 another candidate is chosen with probability below 1e-20."""
    query = Quantile("median", STATES, (), PAY, 0.5, QUANTILE.candidates, Fraction(200))
    plan = TablePlan((query,))
    assert plan.simulate(1, seed=1, data=table([None] * 600 + [40.0, 41.0] * 200))[0]["median"]["DE"] == 40.0


def test_averages_divide_by_the_number_of_values() -> None:
    for where in ((), (Condition("pay", "present"),)):
        query = Average("mean", STATES, where, PAY, 10, 20)
        found = numbers(STATES, query.parts, table([None, math.nan, 3.0, 5.0]))
        assert found == {("DE",): [16, 2]}
    assert AVERAGE.parts[1].where == (Condition("pay", "present"),)
    assert len(Average("mean", STATES, (Condition("pay", "present"),), PAY, 10, 20).parts[1].where) == 1


@pytest.mark.parametrize("value", VALUES)
def test_the_loss_is_what_the_record_moves(value: float | None) -> None:
    record, present = {"state": "DE", "pay": value}, value is not None and not math.isnan(value)
    assert QUANTILE.loss(record) == (Fraction(1, 4) if present else 0)
    assert AVERAGE.loss(record) == (PAY.units(value) * PAY.step) ** 2 / 20 + (Fraction(1, 40) if present else 0)
    assert Sum("s", STATES, variance=1, measure=PAY).loss(record) == (PAY.units(value) * PAY.step) ** 2 / 2
    assert Count("n", STATES, variance=1).loss(record) == Fraction(1, 2)
    assert numbers(STATES, [Count("n", STATES, variance=1)], table([value])) == {("DE",): [1]}
    distinct = CountDistinct("d", STATES, variance=1, of="pay")
    found = numbers(STATES, [distinct], table([value]))["DE",][0]
    assert distinct.loss(record) == Fraction(found, 2) and found == (value is not None and math.isfinite(value))


def test_plans_say_which_values_count(tmp_path: Any) -> None:
    plan = TablePlan((QUANTILE, AVERAGE))
    text = plan.guarantee.to_text()
    assert (
        "quantile 0.5 of the present values of pay" in text and "COUNT by state, 2 public groups where pay is present" in text
    )
    assert spec.load(plan.save(tmp_path / "plan.json")) == plan


@pytest.mark.parametrize("kind", ["int64", "int16", "uint32", "float64"])
@pytest.mark.parametrize("step", [1, 5])
def test_values_beyond_both_bounds_are_clipped_by_the_engine_as_by_the_rule(kind: str, step: int) -> None:
    measure = Measure("pay", step, lower=0 if kind == "uint32" else -10, upper=100)
    given = [value for value in (-1000, -11, -10, -9, 0, 1, 99, 100, 101, 30_000) if value >= 0 or kind != "uint32"]
    rows = ibis.memtable(pa.table({"state": ["DE"] * len(given), "pay": pa.array(given, type=getattr(pa, kind)())}))
    found = numbers(STATES, [Sum("pay", STATES, variance=1, measure=measure)], rows)
    assert found["DE",] == [sum(measure.units(value) for value in given)]


WRITERS = {
    "pyarrow": lambda columns, path: pytest.importorskip("pyarrow.parquet").write_table(columns, path),
    "polars": lambda columns, path: pytest.importorskip("polars").from_arrow(columns).write_parquet(path),
}


@pytest.mark.parametrize(("writer", "kind"), [("pyarrow", "float64"), ("polars", "float32")])
@pytest.mark.parametrize("values", [[1.0, math.nan], [math.nan, -5.0, None], [50.0, math.nan, math.inf]], ids=str)
def test_nan_in_a_file_whose_statistics_leave_it_out_counts_as_in_memory(
    writer: str, kind: str, values: list[Any], tmp_path: Any
) -> None:
    """DuckDB takes a comparison with every value of a file for decided where the statistics of the file decide it."""
    held = pa.table({"state": ["DE"] * len(values), "pay": pa.array(values, type=getattr(pa, kind)())})
    path = tmp_path / "rows.parquet"
    WRITERS[writer](held, path)
    rows, records = open_table(path), held.to_pylist()
    for measure in (Measure("pay", lower=-1, upper=10), Measure("pay", "0.5", lower=-10, upper=100)):
        splitting = UnitSplitting([measure], [1])
        groups = Groups(["state"], selection=PartitionSelection.design(1, 1e-9, splitting))
        conditions = [(Condition("pay", op, None if op == "present" else (1,) if op == "in" else 1),) for op in OPERATORS]
        asked: list[Any] = [
            Sum("sum", groups, variance=1, measure=measure),
            PureSum("pure", groups, measure=measure, scale=100),
            SlowlyScaledSum("slow", groups, measure=measure, noise=StudentNoise.of_deviation(1000)),
            *(Sum(f"sum {c}", groups, c, variance=1, measure=measure) for c in conditions),
            *(Count(f"count {c}", groups, c, variance=1) for c in conditions),
            *Average("mean", groups, (), measure, 10, 20).parts,
        ]
        found = numbers(groups, asked, rows)["DE",]
        counted = [[row for row in records if query.group_of(row) is not None] for query in asked]
        units = [measure.units(row["pay"]) for row in records]
        expected = [
            len(own) if isinstance(query, Count) else sum(measure.units(row["pay"]) for row in own)
            for query, own in zip(asked, counted, strict=True)
        ]
        split = sum(map(splitting.splits, records))
        assert found == [*expected, split]
        assert rows.select(u=measure.quick_expression(rows))["u"].to_pyarrow().to_pylist() == units
        assert splitting.split(rows).count().to_pyarrow().as_py() == split
        present = [u for u, value in zip(units, values, strict=True) if value is not None and not math.isnan(value)]
        quantile = Quantile("median", STATES, (), measure, 0.5, (-1, 0, 5, 10), Fraction(1, 4))
        bounds = [int(g / measure.step) for g in quantile.candidates]
        cells = cell_counts(quantile, rows).get(("DE",), np.zeros(9, int))
        places = [np.searchsorted(bounds, u) + np.searchsorted(bounds, u, "right") for u in present]
        assert cells.tolist() == np.bincount(places, minlength=9).tolist()
    sizes = [0.0 if value is None or math.isnan(value) else min(abs(value), 1e60) for value in values]
    assert rows.select(m=magnitude(rows, "pay"))["m"].to_pyarrow().to_pylist() == sizes


@pytest.mark.parametrize("text", ["n/a", "1,5", "12 EUR"])
def test_what_is_no_number_is_refused_unless_the_plan_says_that_it_is_missing(text: str, tmp_path: Path) -> None:
    """Under "refuse" whether one record holds it is told by the refusal, as for every value that is not listed."""
    pd = pytest.importorskip("pandas")
    cells, states = [" 3", "4.0", "", text, "nan"], ["DE"] * 5
    (tmp_path / "t.csv").write_text("state,pay\n" + "".join(f'DE,"{cell}"\n' for cell in cells))
    total = Sum("total", STATES, (), 1, Measure("pay", upper=100))
    refusing, dropping = (TablePlan((total,), unlisted=rule) for rule in ("refuse", "drop"))
    frames = [pd.DataFrame({"state": states, "pay": cells}), ibis.memtable(pa.table({"state": states, "pay": cells}))]
    for data in (*frames, open_table(tmp_path / "t.csv", ["pay"])):
        assert dropping._exact(data, RowUnit()).levels[STATES][("DE",)][0] == 7
    for data in frames:
        with pytest.raises(InvalidProblem, match="a column of numbers holds a value that is none"):
            refusing._exact(data, RowUnit())
        readable = data[data["pay"] != text] if isinstance(data, pd.DataFrame) else data.filter(data.pay != text)
        assert refusing._exact(readable, RowUnit()).levels[STATES][("DE",)][0] == 7
    with pytest.raises(InvalidProblem, match="a column of numbers holds a value that is none"):
        open_table(tmp_path / "t.csv", ["pay"], unlisted="refuse")
    open_table(tmp_path / "t.csv", [], unlisted="refuse")
