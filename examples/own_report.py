"""One person's own report of a city: the certified channel beside the whole program, and what the literature loses.

The 25 largest cities of the United States; 100 km multiply the odds of two cities by 3 at most. Every loss is over the proven
bound. The whole linear program, with a row for every pair of cities and every report, is solved by HiGHS and knows nothing of
columns.
"""

from __future__ import annotations

from functools import cache
from math import log

import numpy as np

from designer import ReportProblem, datasets, design, metrics
from examples.reproduction import Result, show
from solvers.channel_lp.whole import full_program

CITIES, KILOMETRES = 25, 100
DIFFERENCES: dict[str, str] = {}


@cache
def asked(loss: str, prior: str) -> ReportProblem:
    """All cities alike, or people as the prior."""
    cities = datasets.us_cities()
    largest = np.argsort(-cities["population"], kind="stable")[:CITIES]
    where = np.column_stack([cities["latitude"], cities["longitude"]])[largest]
    people = cities["population"][largest] / cities["population"][largest].sum()
    near = metrics.great_circle(where, per_km=log(3) / KILOMETRES)
    return ReportProblem(near, loss=loss, prior=people if prior == "people" else None)


def reproduce(full: bool = False) -> Result:
    """The gap, the loss beside that of the whole program, and the ratios of other families to the bound."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}
    for loss in ("distance", "squared") if full else ("distance",):
        for prior in ("equal", "people") if full else ("equal",):
            problem, named = asked(loss, prior), f"{loss}, {prior}"
            best = design(problem, "channel")
            assert best.optimality is not None
            low = best.optimality.lower_bound
            costs = problem.prior[:, None] * problem.losses
            whole = full_program(problem.budgets, costs)[1]
            half = np.exp(-problem.budgets / 2)
            half /= half.sum(axis=1, keepdims=True)
            plain, moved = float((half * costs).sum()) / low, float((half.T @ costs).min(axis=1).sum()) / low
            ratios = {
                f"{named}: whole program": (whole, (1 - 1e-7, 1 + 2e-4)),
                f"{named}: channel": (best.error, (1.0, 1 + 2e-4)),
                f"{named}: poles": (design(problem, "poles").error, (1.0, 1.01)),
                f"{named}: exponential": (design(problem, "exponential").error, (plain * (1 - 1e-6), plain * (1 + 1e-6))),
                f"{named}: exponential, remapped": (
                    design(problem, "exponential", remap=True).error,
                    (moved * (1 - 1e-6), moved * (1 + 1e-6)),
                ),
            }
            computed |= {name: value / low for name, (value, _) in ratios.items()}
            published |= {name: interval for name, (_, interval) in ratios.items()}
    return computed, published


if __name__ == "__main__":
    show("Own reports of 25 cities, losses over the proven bound", reproduce, DIFFERENCES)
