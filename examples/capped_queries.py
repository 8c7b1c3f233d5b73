"""Caps on single queries, on 755 real US cities: what it costs the others when one answer must be more accurate.

The four queries of `us_cities.toml`, their weights and its metric. In turn the standard error of one query is capped at 70 % of
what the design of least loss gives it; the budgets stay. (Half would be out of reach for `incorporated`: alone, with all the
budget, it would reach 55 %.) Independent Laplace noise has a dual, so the loss under a cap is proven to be the least up to
1e-4; and a program in CVXPY, which shares nothing with it but the problem, must find the same.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from designer import Design, Mechanism, Problem, Targets, design, read_problem
from designer.extend import figure
from examples.reproduction import Floats, Result, show

PROBLEM = Path(__file__).parent / "us_cities.toml"
CAP = 0.7  # of the standard error without caps
DIFFERENCES: dict[str, str] = {}


@cache
def problem() -> Problem:
    """The mean centre of population, the mean elevation and the share of people in incorporated places."""
    return read_problem(PROBLEM).problem


@cache
def free() -> Design[Mechanism]:
    """Without caps."""
    return design(problem(), "laplace")


@cache
def capped(query: str) -> Design[Mechanism]:
    """One query at 70 % of its standard error, the budgets as they are."""
    most = CAP * float(free().mechanism.standard_errors()[problem().workload.queries.index(query)])
    return design(problem(), "laplace", targets=Targets(standard_error={query: most}))


def by_program(query: str) -> float:
    """The same loss from the program in CVXPY."""
    from designer import programs

    most = CAP * float(free().mechanism.standard_errors()[problem().workload.queries.index(query)])
    return programs.laplace(problem()).variance_at_most(query, most**2).design().loss


def costs(query: str) -> Floats:
    """Standard errors with the cap over those without, (4,)."""
    return np.asarray(capped(query).mechanism.standard_errors() / free().mechanism.standard_errors())


def reproduce(full: bool = False) -> Result:
    """What a cap costs the other queries, and how near to the least that is."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}
    queries = problem().workload.queries
    for place, query in enumerate(queries if full else queries[:1]):
        made = capped(query)
        computed[f"{query}: over what it was"] = float(costs(query)[place])
        published[f"{query}: over what it was"] = (CAP * (1 - 2e-4), CAP)
        computed[f"{query}: the others, on average"] = float(np.delete(costs(query), place).mean())
        published[f"{query}: the others, on average"] = (1.0, 2.5)
        computed[f"{query}: gap"] = made.optimality.gap if made.optimality else np.inf
        published[f"{query}: gap"] = (0.0, 1e-4)
        if full:
            computed[f"{query}: loss over that of the program"] = made.loss / by_program(query)
            published[f"{query}: loss over that of the program"] = (1 - 2e-4, 1 + 2e-4)
    return computed, published


def draw(folder: Path) -> Path:
    """Standard errors with each cap over those without."""
    drawing, axes = figure(width=8.5)
    queries = problem().workload.queries
    image = axes.imshow(np.array([costs(query) for query in queries]), cmap="RdYlGn_r", vmin=0.0, vmax=2.0)
    for row, query in enumerate(queries):
        for column, value in enumerate(costs(query)):
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color="white" if abs(value - 1) > 0.7 else "black")
    axes.set_xticks(range(len(queries)), queries)
    axes.set_yticks(range(len(queries)), [f"{query} capped" for query in queries])
    drawing.colorbar(image, label="standard error over that without caps")
    path = folder / "capped_queries.png"
    drawing.savefig(path, dpi=150, bbox_inches="tight")
    return path


if __name__ == "__main__":
    show("Caps at 70 % of the standard error, one query at a time", reproduce, DIFFERENCES, draw)
