"""Published statistics with more changes than anybody lists: designed, certified, saved, loaded and released."""

from __future__ import annotations

import itertools
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.growth.case import Case
from designer import Problem, Workload, design, invariants, load, metrics
from designer.problem.domain import Domain
from designer.relations.invariants import Invariant

STATES = 51


def whole(problem: Problem, family: str, table: object) -> str:
    """The design, its spec there and back, and one release; words on the gap, the error and the spec."""
    made = design(problem, family)
    with tempfile.TemporaryDirectory() as folder:
        path = made.mechanism.save(Path(folder) / "spec.json")
        size = path.stat().st_size / 1e6
        again = load(path)
    assert again.fingerprint == made.mechanism.fingerprint and again.privacy.holds
    again.release(table)
    gap = "none claimed" if made.optimality is None else f"{made.optimality.gap:.1e}"
    return f"gap {gap}, worst ratio {float(made.privacy.worst_ratio or 0):.9f}, spec {size:.1f} MB"


def counts(invariant: Invariant, adjacency: int, family: str) -> str:
    """The counts of all elements under an invariant."""
    notion = "zcdp" if "gaussian" in family else "pure"
    problem = Problem(Workload.identity(invariant.size), invariant.protect(1.0, adjacency), notion=notion)  # type: ignore[arg-type]
    return whole(problem, family, np.arange(invariant.size) % 7)


def two_way(side: int) -> str:
    """Margins of a square table, three records."""
    return counts(invariants.margins((side, side)), 3, "gaussian")


def two_way_laplace(side: int) -> str:
    """The same in pure noise, projected."""
    return counts(invariants.margins((side, side)), 3, "projected_laplace")


def two_way_integers(side: int) -> str:
    """The same in integers."""
    return counts(invariants.margins((side, side)), 3, "lattice_gaussian")


def three_way(side: int) -> str:
    """One-way margins of a cube, four records: the bound of Semi-DP."""
    return counts(invariants.margins((side,) * 3), 4, "gaussian")


def lines(side: int) -> str:
    """All two-way margins of a cube, six records."""
    return counts(invariants.margins((side,) * 3, list(itertools.combinations(range(3), 2))), 6, "gaussian")


def counties(size: int) -> str:
    """Counties within 51 states, two records."""
    return counts(invariants.partition([str(i % STATES) for i in range(size)]), 2, "gaussian")


def counties_in_integers(size: int) -> str:
    """The same in integers."""
    return counts(invariants.partition([str(i % STATES) for i in range(size)]), 2, "lattice_gaussian")


def by_level(family: str, size: int) -> str:
    """Counties in 51 states in 9 regions, which are published; changes cost by level, and two records may change."""
    states = [i * STATES // size for i in range(size)]
    regions = [state // 6 for state in states]
    levels = metrics.taxonomy(list(zip(regions, states, strict=True)), [2.0, 1.0, 0.5])
    notion = "zcdp" if "gaussian" in family else "pure"
    relation = levels & invariants.partition(regions)
    return whole(Problem(Workload.identity(size), relation, notion=notion), family, np.arange(size) % 7)  # type: ignore[arg-type]


def linked(places: int) -> str:
    """Age x sex, age x county and sex x county of the same records, the ages published."""
    domain = Domain.of({"age": 5, "sex": 2, "county": places})
    tables = {"sexes": ["age", "sex"], "counties": ["age", "county"], "both": ["sex", "county"]}
    found = invariants.linked(domain, tables, [["age"]])
    records = np.random.default_rng(0).integers(0, domain.shape, (1000, 3))
    counted = {}
    for (name, attributes), shape in zip(found.tables, found.shapes, strict=True):
        counted[name] = np.zeros(shape, dtype=int)
        np.add.at(counted[name], tuple(records[:, domain.axis(one)] for one in attributes), 1)
    problem = Problem(found.workload(), found.protect(1.0, 2), notion="zcdp")
    return f"{found.size} cells, {whole(problem, 'gaussian', found.stack(counted))}"


CASES = [
    Case("invariant: two-way margins, a = 3, Gaussian", "levels a side", (13, 20, 30, 40, 50), two_way),
    Case("invariant: two-way margins, a = 3, projected Laplace", "levels a side", (13, 20, 30, 50), two_way_laplace),
    Case("invariant: two-way margins, a = 3, integers", "levels a side", (13, 20, 30, 50), two_way_integers),
    Case("invariant: one-way margins of a cube, a = 4", "levels a side", (5, 6, 8, 10), three_way),
    Case("invariant: two-way margins of a cube, a = 6", "levels a side", (7, 8, 10, 12), lines),
    Case("invariant: counties within states, a = 2", "counties", (102, 400, 1600, 3143), counties),
    Case("invariant: counties within states, integers", "counties", (102, 400, 1600, 3143), counties_in_integers),
    Case("invariant: budgets by level, Gaussian", "counties", (102, 400, 1600, 3143), partial(by_level, "gaussian")),
    Case("invariant: budgets by level, Laplace", "counties", (102, 400, 1600, 3143), partial(by_level, "laplace")),
    Case("invariant: budgets by level, integers", "counties", (102, 400, 1600, 3143), partial(by_level, "lattice_gaussian")),
    Case("invariant: three linked tables, a = 2", "counties", (30, 60, 120, 240), linked),
]
