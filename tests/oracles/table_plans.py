"""Plans for tests of tables, and their exact numbers by a loop over records: the slow, obvious way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

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
    UnitSplitting,
    hierarchy,
    nested_codes,
)
from designer.tables.groups import Labels

EMP = Measure("emp", upper=2**45)
PAY = Measure("pay", "0.01", lower=-100, upper=10**9)
SPLITTING = UnitSplitting([EMP, PAY], [50, 5000], "state", {"DE": [20, 1000]})
STATES = Groups(["state"], [["DE"], ["RI"], ["NV"]])
NATION, STATE, COUNTY = hierarchy(["state", "county"], [["DE", 1], ["DE", 2], ["RI", 3], ["NV", 1]], others=False)
SECTORS, SUBSECTORS = nested_codes("naics", [2, 3], ["111", "236", "999"])
FOUND = Groups([Key("naics", 2), "state"], selection=PartitionSelection.design("1/8", 1e-12, SPLITTING))
LARGE = (Condition("emp", ">", 20), Condition("state", "!=", "CT"))


def everything(splitting: UnitSplitting | None = SPLITTING) -> TablePlan:
    """Every kind of additive query, at every kind of level."""
    return TablePlan(
        (
            Count("records", NATION, variance=2),
            Count("large", STATE, LARGE, variance=3),
            CountDistinct("ids", STATE, (Condition("id", "present"),), variance=1, of="id"),
            Sum("jobs", COUNTY, variance=2500, measure=EMP),
            Sum("wages", STATES, LARGE, (10**6, 10**8, 10**7), PAY),
            Sum("sector", SECTORS, (Condition("county", "in", (1, 2)),), 10**4, EMP),
            Average("subsector", SUBSECTORS, (Condition("pay", "present"),), PAY, 10**8, 4),
            Sum("found", FOUND, variance=10**4, measure=EMP),
        ),
        splitting,
    )


def full_plan() -> TablePlan:
    """The same with a quantile."""
    quantile = Quantile("median", STATES, LARGE, PAY, 0.5, (0, 1, 10, 100, 1000), Fraction(1, 4))
    return TablePlan((*everything().queries, quantile), SPLITTING)


def numbers_by_loop(plan: TablePlan, groups: Groups, rows: Sequence[Mapping[str, Any]]) -> dict[Labels, list[int]]:
    """What `aggregates.numbers` returns, of every group that has records and may be answered."""
    queries = [query for query in plan.noisy if query.groups == groups]
    result: dict[Labels, list[int]] = {}
    for labels in {groups.label(row) for row in rows} - {None}:
        inside = [row for row in rows if groups.label(row) == labels]
        result[labels] = [_number(query, [row for row in inside if query.group_of(row) is not None]) for query in queries]
        if groups.selection:
            result[labels].append(sum(groups.selection.contribution(row) for row in inside))
    return result


def _number(query: Any, rows: Sequence[Mapping[str, Any]]) -> int:
    if isinstance(query, CountDistinct):
        return len({row[query.of] for row in rows} - {None})
    if isinstance(query, Sum):
        return sum(query.measure.units(row[query.measure.column]) for row in rows)
    return len(rows)
