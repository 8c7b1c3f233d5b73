"""The least noise there is, and how near every family comes: random whole queries, unequal budgets, tables with margins.

For every problem all families are designed, with the staircase among them, whose program also proves how near it is to the
best law on its coset; `offset="best"` tries other cosets; and the limit says what no additive noise beats. What lies between
the best family and the limit is open: the proof, or the noise, could be better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from designer import Problem, Workload, compare, design, invariants, metrics
from designer.designing.least_noise import limit
from designer.extend import figure
from examples.reproduction import Result, show

BUDGETS = (0.5, 1.0, 2.0, 4.0, 6.0)
QUERIES = (1, 2, 3)
ELEMENTS = 6
TABLES = ((2, 3), (3, 3), (3, 4), (4, 4))
ROWS = 1_000_000  # inequalities of the programs of the limit, of which `compare` takes fewer
FEW = ("laplace", "k_norm", "staircase")  # families of a sample
SOLVED = 0.01  # of the loss: up to this gap the program of a coset counts as solved
DIFFERENCES: dict[str, str] = {}


@dataclass(frozen=True)
class Found:
    """What is known of one problem: losses by family, the staircase's gap within its coset, the loss on the best of the cosets
    by halves, and the limit with its theorem; None where something has no answer."""

    losses: dict[str, float]
    gap: float | None
    best_coset: float | None
    limit: float
    theorem: str

    @property
    def best(self) -> str:
        """The family of least loss."""
        return min(self.losses, key=self.losses.__getitem__)

    @property
    def efficiency(self) -> float:
        """The limit over the least loss."""
        return self.limit / self.losses[self.best]


def whole_queries(queries: int, budget: float, seed: int = 1) -> Problem:
    """Random whole numbers from 0 to 3 for each of six elements."""
    rows = np.random.default_rng(seed).integers(0, 4, (queries, ELEMENTS)).astype(float)
    rows[:, 0], rows[:, 1] = 0, 1
    return Problem(Workload(rows), metrics.uniform(ELEMENTS, budget))


def unequal_budgets(queries: int, seed: int) -> Problem:
    """The same under budgets that are distances in the plane, from about 0.5 to 4."""
    points = np.random.default_rng(seed).random((ELEMENTS, 2)) * 4
    return Problem(whole_queries(queries, 1.0, seed).workload, metrics.euclidean(points))


def table(shape: tuple[int, int], adjacency: int, budget: float = 2.0) -> Problem:
    """All cells, under both margins."""
    relation = invariants.margins(shape).protect(budget, adjacency)
    return Problem(Workload.identity(math.prod(shape)), relation)


def cases(full: bool) -> dict[str, Problem]:
    """The problems by name."""
    if not full:
        return {
            "K = 1, b = 2": whole_queries(1, 2.0),
            "K = 2, b = 6": whole_queries(2, 6.0),
            "2 x 3 table, A_2": table((2, 3), 2),
        }
    found = {f"K = {k}, b = {b:g}": whole_queries(k, b) for k in QUERIES for b in BUDGETS}
    found |= {f"K = {k}, unequal budgets": unequal_budgets(k, k) for k in QUERIES}
    return found | {f"{n} x {m} table, A_{a}": table((n, m), a) for n, m in TABLES for a in (2, 3)}


@cache
def found(name: str, full: bool) -> Found:
    """Everything about a problem."""
    problem = cases(full)[name]
    side_by_side = compare(problem, None if full else FEW)
    least = limit(problem, rows=ROWS)
    assert least is not None
    rows = {row["family"]: row for row in side_by_side.rows if row["loss"] is not None}
    gap = rows["staircase"]["gap"] if "staircase" in rows else None
    small = problem.workload.shape[0] <= 2 and gap is not None and gap <= SOLVED
    coset = design(problem, "staircase", offset="best").loss if small else None
    return Found({family: row["loss"] for family, row in rows.items()}, gap, coset, least.value, least.theorem)


def reproduce(full: bool = False) -> Result:
    """Efficiencies: within the coset where its program is solved, and overall; and what other cosets gain."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}

    def claim(name: str, value: float, low: float, high: float) -> None:
        computed[name], published[name] = value, (low, high)

    for name in cases(full):
        one = found(name, full)
        least = one.losses[one.best]
        claim(f"{name}: limit ({one.theorem}) / best ({one.best})", one.efficiency, 0.0, 1.0 + 1e-9)
        computed[f"{name}: laplace / best"] = one.losses["laplace"] / least
        if one.gap is None:
            continue
        if one.gap <= SOLVED:
            claim(f"{name}: within the coset", 1 - one.gap, 0.99, 1.0)
            claim(f"{name}: best / staircase", least / one.losses["staircase"], 0.99, 1.0)
        else:
            computed[f"{name}: within the coset, not solved"] = 1 - one.gap
        if one.best_coset is not None:
            claim(f"{name}: best coset / whole numbers", one.best_coset / one.losses["staircase"], 0.0, 1.0 + 1e-6)
    return computed, published


def draw(folder: Path) -> Path:
    """Loss over the limit: left by budget, for each number of queries; right for tables, by family."""
    drawing, (left, right) = figure(columns=2)
    for k, colour in zip(QUERIES, ("tab:blue", "tab:orange", "tab:green"), strict=True):
        known = [found(f"K = {k}, b = {b:g}", True) for b in BUDGETS]
        for family, style in (("laplace", ":"), ("k_norm", "--"), ("staircase", "-")):
            ratios = [one.losses.get(family, math.nan) / one.limit for one in known]
            left.plot(BUDGETS, ratios, style, color=colour, marker="o", markersize=3, label=f"{family}, K = {k}")
    left.set_yscale("log")
    left.set_xlabel("budget b; random whole queries on 6 elements")
    left.set_ylabel("squared error over the limit")
    left.legend(fontsize=7)
    names = [name for name in cases(True) if "table" in name]
    shown = ("laplace", "strategy_laplace", "k_norm", "lattice_laplace, shape l1", "lattice_laplace, shape hull", "staircase")
    for place, family in enumerate(shown):
        ratios = [found(name, True).losses.get(family, math.nan) / found(name, True).limit for name in names]
        right.plot(ratios, range(len(names)), "o^sDvP"[place], label=family)
    right.set_yticks(range(len(names)), [name.replace(" table", "") for name in names])
    right.set_xscale("log")
    right.set_xlabel("squared error of tables with public margins, b = 2, over the limit")
    right.legend(fontsize=7)
    path = folder / "least_noise.png"
    drawing.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    show("The least noise", reproduce, DIFFERENCES, draw)
