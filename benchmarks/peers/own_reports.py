"""One person's own report of a place: what the literature loses beside the proven bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.own_report import STRETCH, Array, exponential, grid, planar, remapped, tight, truncated
from benchmarks.peers.table import PeerTable, Row, measured
from designer import ReportProblem, design, metrics
from examples.own_report import spanner_program

SIDE = 5
LITERATURE = (
    "Computed here from their definitions: the exponential mechanism at half of the budget; planar Laplace of Andres and "
    "others (CCS 2013) on a lattice of half steps, moved to the nearest place, or to the report of least expected loss and "
    "with weights for tight constraints, as by Chatzikokolakis, ElSalamouny and Palamidessi (PETS 2017); the linear program "
    "on a spanner of stretch 1.1, as by Bordenabe, Chatzikokolakis and Palamidessi (CCS 2014). A cell is empty where a weight "
    "would be negative. Many more places, and times: `python -m benchmarks.own_report`."
)


def places(budget: float, loss: str, prior: str) -> Row:
    """A square of places, every loss over the bound that is proven of all private channels."""
    asked = grid(SIDE, budget, loss, prior)
    points = np.array([(i, j) for i in range(SIDE) for j in range(SIDE)], dtype=float)
    found: dict[str, float] = {}

    def designed() -> tuple[float, float | None]:
        made = design(ReportProblem(metrics.euclidean(points, budget), prior=asked.prior, loss=loss), "channel")
        assert made.optimality is not None
        found["bound"] = made.optimality.lower_bound
        return made.error / found["bound"], 1.0

    row = measured(f"{loss}, budget {budget:g}, {prior} prior", {}, designed)

    def over(channel: Array | None, lost: Callable[[Array], float]) -> float | None:
        return None if channel is None else lost(channel) / found["bound"]

    def plain(channel: Array) -> float:
        return float((channel * asked.costs).sum())

    def moved(channel: Array) -> float:
        return remapped(channel, asked)

    theirs = {
        "exponential": over(exponential(asked), plain),
        "remapped": over(exponential(asked), moved),
        "planar Laplace": over(truncated(SIDE, budget), plain),
        "planar Laplace, remapped": over(planar(SIDE, budget), moved),
        "tight constraints": over(tight(asked), moved),
        "spanner": spanner_program(asked.budgets, asked.costs, STRETCH)[1] / found["bound"],
    }
    return Row(row.problem, theirs, row.ours, row.least, row.seconds)


def table(small: bool) -> PeerTable:
    """The comparison; small: one budget and prior."""
    budgets, priors = ((1.0,), ("equal",)) if small else ((0.5, 1.0, 2.0), ("equal", "skewed"))
    rows = [places(budget, loss, prior) for loss in ("distance", "squared") for budget in budgets for prior in priors]
    return PeerTable(
        "own_reports",
        "One person's own report: mechanisms for places",
        "25 places of a square grid, a budget for each unit of distance, and a report that each person draws alone. The skewed "
        "prior is a Dirichlet draw with parameter 0.5. Our channel is frozen in whole numbers and certified pair by pair.",
        "expected distance, or squared distance, of the report, over the proven bound of all private channels",
        LITERATURE,
        tuple(rows),
    )
