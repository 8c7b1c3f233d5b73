"""Many levels from one scan: the same exact numbers as a loop over records, level by level, whatever shares the scan."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer.tables import (
    Average,
    Condition,
    Count,
    CountDistinct,
    Groups,
    Key,
    Measure,
    PartitionSelection,
    Quantile,
    Sum,
    TablePlan,
    hierarchy,
    nested_codes,
    scans,
)
from designer.tables.aggregates import cell_counts
from designer.tables.queries import Additive
from designer.tables.scans import joint_scans, level_numbers
from tests.oracles.records_tables import columns, firms, on_duckdb
from tests.oracles.table_plans import EMP, FOUND, LARGE, PAY, SPLITTING, everything, numbers_by_loop

ibis = pytest.importorskip("ibis")
pytest.importorskip("pyarrow")

CENTS = Measure("pay", "0.01", lower=-100, upper=1000)
COUNTIES = hierarchy(["state", "county"], [["DE", 1], ["DE", 2], ["RI", 3]])
CODES = nested_codes("naics", [2, 3, 4], ["1112", "236", "99"])
CROSS = Groups(["state", Key("naics", 2)], [["DE", "11"], ["RI", "23"], ["CT", "44"]])


def stored(rows: Any) -> Any:
    """A table of an engine of its own, which groups texts under the collation of bytes."""
    engine = ibis.duckdb.connect()
    engine.con.register("given", columns(rows))
    engine.con.execute("create table firms as select * from given")
    return engine.table("firms")


def of_levels(levels: Any, pay: Measure = CENTS) -> TablePlan:
    return TablePlan(
        [
            query
            for i, level in enumerate(levels)
            for query in (
                Sum(f"jobs {i}", level, variance=9, measure=EMP),
                Average(f"pay {i}", level, LARGE, pay, 4, 5),
                CountDistinct(f"ids {i}", level, variance=1, of="id"),
                Count(f"large {i}", level, (Condition("emp", ">", 20),), 1),
            )
        ]
    )


def asked(plan: TablePlan) -> dict[Groups, list[Additive]]:
    return {level: [query for query in plan.noisy if query.groups == level] for level in plan.levels}


def expected(plan: TablePlan, rows: Any) -> dict[Groups, Any]:
    return {level: numbers_by_loop(plan, level, rows) for level in plan.levels}


def answered(found: dict[Groups, Any]) -> dict[Groups, Any]:
    """Listed groups with records: an engine may return a few that are not listed."""
    return {
        level: {key: row for key, row in own.items() if level.keys is None or key in level.place}
        for level, own in found.items()
    }


PLANS = {
    "columns": of_levels(COUNTIES),
    "codes": of_levels(CODES),
    "crossed": of_levels([*COUNTIES, CROSS, Groups(["county"], [[1], [3], [9]])]),
    "found": of_levels([FOUND, Groups(["state"], [["DE"], ["CT"]]), Groups()], PAY),
    "every kind": everything(SPLITTING),
    "everybody": of_levels([Groups()]),
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("made", [on_duckdb, stored])
def test_levels_of_one_scan_are_what_a_loop_finds(name: str, made: Any) -> None:
    plan, rows = PLANS[name], firms(300, seed=5)
    assert answered(level_numbers(asked(plan), made(rows))) == answered(expected(plan, rows))


@pytest.mark.parametrize("name", ["columns", "found"])
def test_where_a_table_in_memory_cannot_be_joined_labels_are_compared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "joins", lambda _: False)
    plan, rows = PLANS[name], firms(100, seed=6)
    assert answered(level_numbers(asked(plan), stored(rows))) == answered(expected(plan, rows))


def fetches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made, fetched = list[Any](), scans.fetched
    monkeypatch.setattr(scans, "fetched", lambda expression: made.append(expression) or fetched(expression))
    return made


def test_five_levels_take_one_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = [*COUNTIES, CROSS, Groups(["county"], [[1], [3]])]
    plan = TablePlan([Sum(f"jobs {i}", level, variance=9, measure=EMP) for i, level in enumerate(levels)])
    made = fetches(monkeypatch)
    level_numbers(asked(plan), stored(firms(50, seed=1)))
    assert len(made) == 1 and ibis.to_sql(made[0]).upper().count('FROM "FIRMS"') == 1


def test_levels_share_a_scan_where_one_is_below_the_other_or_few_labels_are_listed() -> None:
    many = [[str(i)] for i in range(1000)]
    a, b, everybody = Groups(["a"], many), Groups(["b"], many), Groups()
    both = Groups(["a", "b"], [["0", "0"]])
    assert joint_scans([everybody, a, b]) == [[a, everybody], [b]]
    assert joint_scans([a, b, both]) == [[both, a, b]]
    few = Groups(["c"], [["x"], ["y"]])
    assert joint_scans([a, few]) == [[a, few]]
    found = Groups(["c"], selection=PartitionSelection.design("1/8", 1e-6))
    assert joint_scans([a, found]) == [[a], [found]]  # nobody knows how many there are


@pytest.mark.parametrize("levels", [COUNTIES, [Groups(["state"], [["DE"], ["RI"]])]], ids=["three", "one"])
def test_sums_of_floats_are_taken_only_while_they_are_exact(levels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """2^53 over the bound is many millions of rows; here the limit is set to three, so that most groups are beyond it."""
    rows = firms(200, seed=8)
    plan = TablePlan([Sum(f"pay {i}", level, variance=9, measure=CENTS) for i, level in enumerate(levels)])
    made = fetches(monkeypatch)
    quick = level_numbers(asked(plan), stored(rows))
    monkeypatch.setattr(Sum, "quick_rows", property(lambda query: 3))
    assert level_numbers(asked(plan), stored(rows)) == quick and len(made) == 3
    assert answered(quick) == answered(expected(plan, rows))


def test_how_many_floats_are_summed() -> None:
    bound = max(map(abs, CENTS.bounds))
    query = Sum("s", Groups(), variance=1, measure=CENTS)
    assert query.quick_rows * bound <= 2**53 < (query.quick_rows + 1) * bound
    assert Sum("s", Groups(), variance=1, measure=Measure("pay", "0.01")).quick_rows == math.inf
    assert Count("n", Groups(), variance=1).quick_rows == math.inf


@pytest.mark.parametrize("apart", [3, 2**30])
def test_cells_of_even_candidates_are_those_of_comparisons(apart: int) -> None:
    measure = Measure("pay", lower=-(2**40), upper=2**40)
    rows = [
        {**row, "pay": float(p)}
        for row, p in zip(firms(400, 3), np.random.default_rng(2).normal(0, 5 * apart, 400).round(), strict=True)
    ]
    rows += [{**rows[0], "pay": float(first * apart + off)} for first in range(-7, 8) for off in (-1, 0, 1)]
    even = Quantile("q", Groups(), (), measure, 0.5, tuple(apart * i for i in range(-5, 6)), Fraction(1))
    found = cell_counts(even, on_duckdb(rows))[()]
    bounds = [int(g) for g in even.candidates]
    cells = [sum((b < u) + (b <= u) for b in bounds) for u in (measure.units(row["pay"]) for row in rows)]
    assert found.tolist() == np.bincount(cells, minlength=2 * len(bounds) + 1).tolist()
