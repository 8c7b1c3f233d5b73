"""Measures and unit splitting: Table 2 of the paper, awkward values, and the same rows here and on an engine."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import InvalidProblem
from designer.tables import Measure, UnitSplitting
from designer.tables.policies.policies import Splitting
from tests.oracles.records_tables import AWKWARD, TABLE_2, firms, on_duckdb

ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")

EMP, PAY = Measure("emp"), Measure("pay", "0.01", upper=10**9)
TABLE_2_SPLIT = [
    (1, "Agriculture", 50, 5_000_000), (1, "Agriculture", 50, 5_000_000), (1, "Agriculture", 50, 0),
    (2, "Agriculture", 50, 5_000_000), (2, "Agriculture", 0, 5_000_000), (2, "Agriculture", 0, 5_000_000),
    (3, "Mining", 50, 5_000_000), (3, "Mining", 50, 5_000_000),
    (4, "Mining", 50, 5_000_000), (4, "Mining", 0, 5_000_000),
    (5, "Retail", 20, 1_000_000),
]  # fmt: skip


def split_rows(splitting: UnitSplitting, rows: Any, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    found = splitting.split(on_duckdb(rows)).order_by("id", "split").to_pyarrow().to_pylist()
    return [tuple(row[name] for name in names) for row in found]


def test_table_2_of_the_paper_row_by_row() -> None:
    splitting = UnitSplitting([Measure("emp"), Measure("pay")], [50, 5_000_000])
    assert split_rows(splitting, TABLE_2, ("id", "industry", "emp", "pay")) == TABLE_2_SPLIT
    here = [(row["id"], row["industry"], part["emp"], part["pay"]) for row in TABLE_2 for part in splitting.rows(row)]
    assert here == TABLE_2_SPLIT


def test_the_groups_of_example_5_8_have_their_own_thresholds() -> None:
    """Mining at 10,000,000 of payroll: record 3 is two rows because of its employees, record 4 one."""
    splitting = UnitSplitting([Measure("emp"), Measure("pay")], [50, 5_000_000], "industry", {"Mining": [50, 10_000_000]})
    assert Counter(row[0] for row in split_rows(splitting, TABLE_2, ("id",))) == {1: 3, 2: 3, 3: 2, 4: 1, 5: 1}
    assert [splitting.splits(row) for row in TABLE_2] == [3, 3, 2, 1, 1]
    assert split_rows(splitting, TABLE_2, ("id", "emp", "pay"))[6:8] == [(3, 50, 10_000_000), (3, 50, 0)]


@pytest.mark.parametrize(
    "measure", [PAY, Measure("pay"), Measure("pay", "1/8", lower=-3, upper=1000), Measure("pay", 1000)], ids=str
)
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("float64", [*AWKWARD, 1.15, 0.285, 1e9, 1e9 - 0.004, 4503599627370495.5]),
        ("float32", [None, math.nan, math.inf, 2.0**60, -1.5, 0.0625, 0.1875]),
        ("int8", [None, -128, 127, 0]),
        ("int64", [None, 2**63 - 1, -(2**63), 2**53 + 1, 7]),
        ("uint64", [None, 2**64 - 1, 2**53 + 1, 5]),
    ],
)
def test_engine_and_python_agree_on_every_value(kind: str, values: list[Any], measure: Measure) -> None:
    table = ibis.memtable(pa.table({"pay": pa.array(values, type=getattr(pa, kind)())}))
    found = table.select(u=measure.expression(table)).to_pyarrow()["u"].to_pylist()
    assert found == [measure.units(value) for value in values]
    low, high = measure.bounds
    assert all(low <= units <= high for units in found)


def test_decimals_are_rounded_to_steps() -> None:
    table = ibis.memtable(pa.table({"pay": pa.array([Decimal("12.345"), None, Decimal("-1")], type=pa.decimal128(20, 3))}))
    assert table.select(u=PAY.expression(table)).to_pyarrow()["u"].to_pylist() == [1235, 0, 0]
    assert PAY.units(Decimal("12.345")) == 1235


record = st.fixed_dictionaries(
    {
        "emp": st.one_of(st.none(), st.integers(-(2**70), 2**70), st.integers(-200, 1000)),
        "pay": st.one_of(st.none(), st.floats(), st.floats(-100, 1e4)),
    }
)


@settings(max_examples=200, deadline=None)
@given(record=record, thresholds=st.tuples(st.integers(1, 50), st.integers(1, 500)))
def test_rows_add_up_are_bounded_and_as_few_as_possible(record: dict[str, Any], thresholds: tuple[int, int]) -> None:
    emp, pay = Measure("emp", lower=-500, upper=500), Measure("pay", "0.5", lower=-1000, upper=5000)
    splitting = UnitSplitting([emp, pay], thresholds)
    rows, sizes = splitting.rows(record), {m.column: m.units(record[m.column]) * m.step for m in (emp, pay)}
    assert {name: sum(row[name] for row in rows) for name in sizes} == sizes
    assert all(abs(row[name]) <= T for row in rows for name, T in zip(("emp", "pay"), thresholds, strict=True))
    assert len(rows) == splitting.splits(record)
    fewer = len(rows) - 1
    assert fewer == 0 or any(fewer * T < abs(sizes[name]) for name, T in zip(("emp", "pay"), thresholds, strict=True))
    assert Splitting(1, dict(zip(("emp", "pay"), thresholds, strict=True))).exact(sizes) == len(rows) ** 2


def test_split_table_on_the_engine_is_the_split_table_here() -> None:
    records = [{**row, "id": i} for i, row in enumerate(firms(300, seed=1))]
    emp, pay = Measure("emp", upper=2000), Measure("pay", "0.01", lower=-100, upper=3000)
    splitting = UnitSplitting([emp, pay], [50, 200], "state", {"DE": [20, "99.5"], "RI": [500, 3000]})
    expected = [(row["id"], row["naics"], part["emp"], float(part["pay"])) for row in records for part in splitting.rows(row)]
    assert split_rows(splitting, records, ("id", "naics", "emp", "pay")) == expected


def test_split_sums_need_no_split_table() -> None:
    table = on_duckdb([{**row, "id": i} for i, row in enumerate(firms(400, seed=2))])
    emp, pay = Measure("emp", upper=2000), Measure("pay", lower=-100, upper=3000)
    splitting = UnitSplitting([emp, pay], [50, 200])
    split = splitting.split(table)
    long = split.group_by("state").agg(emp=split.emp.sum(), pay=split.pay.sum(), rows=split.count(), ids=split.id.nunique())
    wide = table.mutate(e=emp.expression(table), p=pay.expression(table), m=splitting.count(table))
    short = wide.group_by("state").agg(emp=wide.e.sum(), pay=wide.p.sum(), rows=wide.m.sum(), ids=wide.count())
    assert long.order_by("state").to_pyarrow().to_pylist() == short.order_by("state").to_pyarrow().to_pylist()


def test_quotients_are_exact_where_floats_could_round() -> None:
    """Dividends next to multiples of the threshold, up to the largest: the engine divides floats."""
    thresholds = [1, 3, 7, 50, 2**26 + 1, 10**15 - 1, 2**52 - 2]
    upper = 2**52 - 1
    for T in thresholds:
        values = sorted({min(upper, max(0, k * T + d)) for k in (1, 2, 3, upper // T - 1, upper // T) for d in (-1, 0, 1)})
        table = ibis.memtable(pa.table({"pay": pa.array(values, type=pa.int64())}))
        splitting = UnitSplitting([Measure("pay")], [T])
        found = table.select(m=splitting.count(table)).to_pyarrow()["m"].to_pylist()
        assert found == [max(1, -(-value // T)) for value in values]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Measure("pay", 0.01), "step: .* give 1, 1000 or '0.01'"),
        (lambda: Measure("pay", -1), "step: -1"),
        (lambda: Measure("pay", upper=math.inf), "upper: inf is not finite"),
        (lambda: Measure("pay", lower=1), "do not enclose 0"),
        (lambda: Measure("pay", upper=2**52), "coarser step"),
        (lambda: Measure(""), "name of a column"),
        (lambda: UnitSplitting([EMP], [0]), "positive whole number of steps"),
        (lambda: UnitSplitting([PAY], ["0.005"]), "positive whole number of steps"),
        (lambda: UnitSplitting([EMP], [1, 2]), "one threshold for each"),
        (lambda: UnitSplitting([EMP, EMP], [1, 2]), "each once"),
        (lambda: UnitSplitting([EMP], [1], by="state"), "go together"),
    ],
)
def test_refusals_of_definitions(build: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        build()


def test_refusals_of_tables_speak_of_the_schema_alone() -> None:
    table = on_duckdb([{"id": 1, "state": "canary", "county": 1, "naics": "11", "emp": 1, "pay": 1.0}])
    with pytest.raises(InvalidProblem, match="no column 'staff'"):
        Measure("staff").expression(table)
    with pytest.raises(InvalidProblem, match="column 'state' is of type boolean"):
        Measure("state").expression(table.mutate(state=table.id == 1))
    with pytest.raises(InvalidProblem, match="columns \\['id'\\] already"):
        UnitSplitting([EMP], [50]).split(table, place="id")


def test_default_bounds_hold_every_whole_number_below_2_to_52() -> None:
    assert EMP.units(2**52 - 1) == 2**52 - 1 == EMP.units(10**400)
    assert Measure("x", "1/3").upper == Fraction(2**52 - 1, 3)


@pytest.mark.parametrize("lower", [-7, -3, 0])
def test_most_rows_are_those_of_the_largest_of_all_records(lower: int) -> None:
    """Every record within the bounds, counted one by one; negative measures may be the largest."""
    a, b = Measure("a", lower=lower, upper=4), Measure("b", lower=-2, upper=5)
    for default, own in [((3, 2), (1, 5)), ((2, 4), (4, 3))]:
        splitting = UnitSplitting([a, b], default, "k", {"x": own})
        records = [{"a": u, "b": v, "k": k} for u in range(lower, 5) for v in range(-2, 6) for k in "xy"]
        most = max(len(splitting.rows(record)) for record in records)
        assert most <= splitting.most_rows
        alone = UnitSplitting([a, b], default)
        assert alone.most_rows == max(len(alone.rows(record)) for record in records)
