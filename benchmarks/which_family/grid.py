"""Typical problems, small enough that every family that serves them can be run to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from designer import (
    Domain,
    MarginalWorkload,
    Presence,
    Problem,
    StructuredProblem,
    StructuredWorkload,
    Workload,
    datasets,
    design,
    invariants,
    metrics,
)
from designer.domains.marginals_plan import design_marginals

Another = Callable[[], Any]  # makes a mechanism with `error("squared")`


@dataclass(frozen=True)
class Asked:
    """One problem of the grid.

    key: what the chart calls it. asked, hidden: what is asked, and what is hidden, in words. make: the problem.
    others: other ways to the same answers under the same promise, by name.
    """

    key: str
    asked: str
    hidden: str
    make: Callable[[], Problem]
    others: tuple[tuple[str, Another], ...] = ()


PEOPLE = Domain.of({"age": 4, "sex": 2, "income": 3})
DISTRICTS = np.kron(np.eye(3), np.ones(4))  # three counts of four elements each


def _counts(queries: list[list[int]], notion: str = "pure", delta: float | None = None) -> Problem:
    workload = Workload(np.array(queries, float))
    return Problem(workload, metrics.uniform(workload.shape[1], 1.0), notion=notion, delta=delta)  # type: ignore[arg-type]


def _overlapping(notion: str = "pure", delta: float | None = None) -> Problem:
    """Two counts that share an element."""
    return _counts([[1, 1, 0, 0], [0, 1, 1, 0]], notion, delta)


def _histogram(cells: int, changes: bool, notion: str = "pure", delta: float | None = None) -> Problem:
    relation = metrics.uniform(cells, 1.0) if changes else metrics.add_remove(cells, 1.0)
    return Problem(Workload.identity(cells), relation, notion=notion, delta=delta)  # type: ignore[arg-type]


def _prefix(cells: int, notion: str = "pure", delta: float | None = None) -> Problem:
    return Problem(Workload.prefix(cells), metrics.add_remove(cells, 1.0), notion=notion, delta=delta)  # type: ignore[arg-type]


def _prefix_by_distance() -> Problem:
    """Running totals of an ordered attribute; a step of it costs a fifth."""
    return Problem(Workload.prefix(32), metrics.line(range(32), 1.0, 0.2))


def _ranges() -> Problem:
    return Problem(Workload.all_ranges(12), metrics.uniform(12, 1.0))


def _one_way(budgets: dict[str, float] | float) -> Problem:
    workload = Workload.marginals(PEOPLE, [["age"], ["sex"], ["income"]])
    relation = metrics.uniform(PEOPLE.size, budgets) if isinstance(budgets, float) else metrics.hamming(PEOPLE, budgets)
    return Problem(workload, relation)


def _two_way() -> MarginalWorkload:
    return MarginalWorkload.up_to(PEOPLE, 2)


EACH = {"age": 1.0, "sex": 1.0, "income": 0.3}


def _two_way_written_out() -> Problem:
    """All tables of two attributes, row by row, as linear queries."""
    asked = [[], ["age"], ["sex"], ["income"], ["age", "sex"], ["age", "income"], ["sex", "income"]]
    return Problem(Workload.marginals(PEOPLE, asked), metrics.hamming(PEOPLE, EACH), notion="zcdp")


def _cities(rows: list[str], cities: int, per_km: float) -> Problem:
    """Sums of public columns over the residents of the first US cities of the list; what is near is hidden most."""
    places = datasets.us_cities()
    columns = {name: np.array(places[name], float)[:cities] for name in ("latitude", "longitude", *rows)}
    points = np.column_stack([columns["latitude"], columns["longitude"]])
    return Problem(Workload(np.array([columns[name] for name in rows])), metrics.great_circle(points, per_km))


def _thresholds() -> Problem:
    """How many earn above three amounts; incomes within 10 (thousand) of each other are secrets."""
    incomes = np.arange(0, 100, 5)
    rows = [incomes >= amount for amount in (20, 40, 60)]
    return Problem(Workload(np.array(rows, float)), metrics.blowfish(incomes[:, None], 10, 1.0))


def _random(notion: str = "pure", delta: float | None = None) -> Problem:
    """48 counts, each over a random third of 64 elements."""
    rows = (np.random.default_rng(1).random((48, 64)) < 0.3).astype(float)
    return Problem(Workload(rows), metrics.uniform(64, 1.0), notion=notion, delta=delta)  # type: ignore[arg-type]


def _ballots() -> Problem:
    """Who has which of 16 goods, at most four of them."""
    rng = np.random.default_rng(3)
    held = (rng.random((300, 16)).argsort(axis=1) < 4).astype(float)
    return Problem(Workload(held.T), metrics.add_remove(300, 1.0))


def _margins(rows: int, columns: int, notion: str = "pure") -> Problem:
    """A table whose margins are published; two records change together."""
    kept = invariants.margins((rows, columns)).protect(1.0, 2)
    return Problem(Workload.identity(rows * columns), kept, notion=notion)  # type: ignore[arg-type]


def _margins_by_distance() -> Problem:
    return Problem(Workload.identity(9), invariants.margins((3, 3)).protect(0.5, per_distance="l1"))


def _totals() -> Problem:
    """Eight cells of two districts, whose totals are published."""
    kept = invariants.partition([f"district {i // 4}" for i in range(8)])
    return Problem(Workload.identity(8), kept.protect(1.0, 1))


def _few_records() -> Problem:
    """Three overlapping counts of exactly 10 records, at a small budget."""
    workload = Workload(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], float))
    return Problem(workload, metrics.uniform(4, 0.2), records=10)


def _worst_answer() -> Problem:
    """A total and its four parts, of which the worst answer counts."""
    return Problem(Workload(np.vstack([np.ones((1, 4)), np.eye(4)])), metrics.add_remove(4, 1.0), loss="max")


def _prefix_structured(notion: Literal["pure", "zcdp"] = "pure") -> Any:
    domain = Domain.of({"age": 64})
    asked = StructuredWorkload.of(domain, [{"age": "prefix"}])
    return design(StructuredProblem(asked, Presence(**{"mu" if notion == "zcdp" else "epsilon": 1.0}), notion)).mechanism


def _marginals_design() -> Any:
    return design_marginals(_two_way(), metrics.hamming(PEOPLE, EACH))


CHANGES, APPEARS = "one record changes", "one record appears or disappears"
ZCDP, APPROXIMATE = "; zCDP", "; (ε, δ), δ = 1e-6"
GRID = (
    Asked("one count", "one count of records", CHANGES, lambda: _counts([[1, 1, 0, 0]])),
    Asked("two counts", "two counts that overlap", CHANGES, _overlapping),
    Asked("three counts", "three disjoint counts", CHANGES, lambda: _counts(DISTRICTS.tolist())),
    Asked("histogram of 10", "10 disjoint cells", APPEARS, lambda: _histogram(10, False)),
    Asked("histogram of 10, changes", "10 disjoint cells", CHANGES, lambda: _histogram(10, True)),
    Asked("histogram of 100", "100 disjoint cells", APPEARS, lambda: _histogram(100, False)),
    Asked("histogram of 100, changes", "100 disjoint cells", CHANGES, lambda: _histogram(100, True)),
    Asked("prefix sums of 16", "16 running totals", APPEARS, lambda: _prefix(16)),
    Asked("prefix sums of 64", "64 running totals", APPEARS, lambda: _prefix(64), (("StructuredProblem", _prefix_structured),)),
    Asked("prefix sums by distance", "32 running totals", "a step costs 0.2", _prefix_by_distance),
    Asked("ranges of 12", "all 78 ranges of 12 cells", CHANGES, _ranges),
    Asked("one-way marginals", "tables by age (4), sex (2), income (3)", CHANGES, lambda: _one_way(1.0)),
    Asked("budgets per attribute", "the same", "age and sex cost 1, income 0.3", lambda: _one_way(EACH)),
    Asked("random counts", "48 counts, each over a third of 64 elements", CHANGES, _random),
    Asked("ballots", "16 goods, at most 4 for each record", APPEARS, _ballots),
    Asked("cities, one sum", "sum of latitudes", "a km costs 0.01, 200 cities", lambda: _cities(["latitude"], 200, 0.01)),
    Asked(
        "cities, three sums",
        "sums of latitude, longitude, share in cities",
        "a km costs 0.01, 200 cities",
        lambda: _cities(["latitude", "longitude", "incorporated"], 200, 0.01),
    ),
    Asked("thresholds", "how many earn above three amounts", "incomes within 10,000", _thresholds),
    Asked("worst answer", "a total and its four parts, by the worst error", APPEARS, _worst_answer),
    Asked("few records", "three overlapping counts of 10 records", "one record changes; 0.2", _few_records),
    Asked("margins 3 x 3", "the cells of a table, margins published", "two records change", lambda: _margins(3, 3)),
    Asked("margins 10 x 10", "the cells of a table, margins published", "two records change", lambda: _margins(10, 10)),
    Asked("margins 12 x 12", "the cells of a table, margins published", "two records change", lambda: _margins(12, 12)),
    Asked("margins by distance", "a 3 x 3 table, margins published", "0.5 for each unit of l1 distance", _margins_by_distance),
    Asked("totals of districts", "8 cells, totals of two districts published", CHANGES, _totals),
    Asked("two counts, zCDP", "two counts that overlap", CHANGES + ZCDP, lambda: _overlapping("zcdp")),
    Asked("histogram of 100, zCDP", "100 disjoint cells", CHANGES + ZCDP, lambda: _histogram(100, True, "zcdp")),
    Asked(
        "prefix sums of 64, zCDP",
        "64 running totals",
        APPEARS + ZCDP,
        lambda: _prefix(64, "zcdp"),
        (("StructuredProblem", lambda: _prefix_structured("zcdp")),),
    ),
    Asked(
        "marginals, zCDP",
        "all tables of at most two attributes",
        "age and sex cost 1, income 0.3" + ZCDP,
        _two_way_written_out,
        (("MarginalProblem", _marginals_design),),
    ),
    Asked(
        "margins 3 x 3, zCDP",
        "the cells of a table, margins published",
        "two change" + ZCDP,
        lambda: _margins(3, 3, "zcdp"),
    ),
    Asked("two counts, δ", "two counts that overlap", CHANGES + APPROXIMATE, lambda: _overlapping("approximate", 1e-6)),
    Asked(
        "histogram of 100, δ", "100 disjoint cells", CHANGES + APPROXIMATE, lambda: _histogram(100, True, "approximate", 1e-6)
    ),
    Asked(
        "random counts, δ", "48 counts, each over a third of 64", CHANGES + APPROXIMATE, lambda: _random("approximate", 1e-6)
    ),
    Asked("prefix sums of 64, δ", "64 running totals", APPEARS + APPROXIMATE, lambda: _prefix(64, "approximate", 1e-6)),
)
