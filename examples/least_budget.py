"""The least epsilon for standard errors below 50 in a cross table of 48,842 persons whose margins are published exactly.

Race by income: both margins are public, the ten cells are released. `least_budget` finds, family by family, the smallest
epsilon at which no cell has a standard error above 50. The check knows nothing of it: epsilon is scanned over a fine grid, a
mechanism is designed from scratch at every value, and its noise is looked at.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from designer import Domain, LeastBudget, Problem, Targets, Workload, datasets, design, invariants, least_budget, plot
from designer.designing.factor_search import towards
from examples.reproduction import Floats, Result, show

MOST = 50.0
TARGETS = Targets(standard_error=MOST)
# What has a closed form here: with two columns a change of up to three records (the bound of SEMI Theorem 16) that keeps both
# margins moves four cells by one, so independent Laplace noise has scale 4 / epsilon in every cell.
LAPLACE = 4 * 2**0.5 / MOST
FAMILIES = {"laplace": "pure", "ellipsoid": "pure", "k_norm": "pure", "gaussian": "zcdp"}
SCANNED = 41  # values of epsilon, from 4 % below the answer to 4 % above
DIFFERENCES: dict[str, str] = {}


@cache
def counts() -> dict[tuple[str, str], int]:
    """The true table, for the size of its cells; the design does not see it."""
    table = datasets.adult()
    return dict(sorted(Counter(zip(table["race"], table["income"], strict=True)).items()))


@cache
def problem(notion: str, epsilon: float = 1.0) -> Problem:
    """Every cell, under both margins."""
    domain = Domain.of({"race": sorted({race for race, _ in counts()}), "income": sorted({income for _, income in counts()})})
    relation = invariants.margins(domain).protect(epsilon=epsilon)
    return Problem(Workload.marginals(domain, [["race", "income"]]), relation, notion=notion)  # type: ignore[arg-type]


@cache
def found(family: str) -> LeastBudget:
    """The least factor on an epsilon of 1, which is the least epsilon."""
    return least_budget(problem(FAMILIES[family]), TARGETS, family)


def errors(family: str, epsilon: float) -> Floats:
    """Standard errors of a mechanism that is designed from scratch at this epsilon, for the largest of them."""
    asked = problem(FAMILIES[family], epsilon)
    aimed = towards(asked, TARGETS, design(asked, family).mechanism)
    return design(aimed, family).mechanism.standard_errors()


def scanned(family: str) -> float:
    """The least epsilon on the grid at which the targets are met."""
    grid = found(family).factor * np.linspace(0.96, 1.04, SCANNED)
    return float(min(epsilon for epsilon in grid if errors(family, float(epsilon)).max() <= MOST))


def reproduce(full: bool = False) -> Result:
    """The least epsilon by family, the scan, and what is proven to be out of reach."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {"laplace: least epsilon": (LAPLACE, LAPLACE * 1.0001)}
    grid_step = 0.08 / (SCANNED - 1)
    for family in FAMILIES if full else ("laplace", "ellipsoid"):
        answer = found(family)
        computed[f"{family}: least epsilon"] = answer.factor
        computed[f"{family}: by the scan"] = scanned(family)
        published[f"{family}: by the scan"] = (answer.factor * (1 - 1e-4), answer.factor * (1 + grid_step))
        if answer.lower_bound is not None:
            computed[f"{family}: no less than"] = answer.lower_bound
            published[f"{family}: no less than"] = (answer.factor * (1 - 2e-4), answer.factor)
    return computed, published


def draw(folder: Path) -> Path:
    """Error against budget for the best pure family that is tried."""
    best = min((family for family in FAMILIES if FAMILIES[family] == "pure"), key=lambda family: found(family).factor)
    return plot(found(best), folder / "least_budget.png")


if __name__ == "__main__":
    show("The least epsilon for standard errors of at most 50", reproduce, DIFFERENCES, draw)
    smallest = min(counts().values())
    print(f"  The cells hold {smallest:,} to {max(counts().values()):,} persons; an error of 50 is seen in the smallest alone.")
