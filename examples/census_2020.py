"""SEMI section 6: what the published state totals make of the privacy budget of the 2020 census redistricting file,
level by level.

The budget of the person tables is 2.56-zCDP; a record that changes its state needs a second one that changes back, so what is
protected are pairs of records, at 4 times the budget. The shares of the geographic levels are those that the Bureau announced
for the production run; any other allocation can be put in their place.
"""

from __future__ import annotations

from pathlib import Path

from designer import invariants
from designer.extend import figure
from designer.relations.invariants.adjacency import ZCDP, Scope, allocation, under_invariant
from examples.reproduction import Result, saved, show

RHO, DELTA = "2.56", 1e-10
LEVELS = {
    "nation": "104/4099",
    "state": "1440/4099",
    "county": "447/4099",
    "tract": "687/4099",
    "block group": "1256/4099",
    "block": "165/4099",
}
DIFFERENCES: dict[str, str] = {}


def reproduce(full: bool = False) -> Result:
    """rho and epsilon as announced and under the invariant,
    by Bun and Steinke's conversion as in the paper and by the best known one."""
    states = invariants.partition(["Ohio", "Ohio", "Utah"])  # any partition of places: one group of features, a(t) <= 2
    under = under_invariant(ZCDP.of(RHO), Scope(states.semi_adjacency_bound, states)).promise
    assert isinstance(under, ZCDP)
    rows = allocation(RHO, LEVELS, {"all": 1}, states.semi_adjacency_bound, DELTA)
    whole = rows[-1]
    computed = {
        "rho under the invariant": float(under.rho),
        "epsilon as announced": whole["epsilon_bun_steinke"],
        "epsilon under the invariant": whole["epsilon_bun_steinke_under_invariant"],
        "epsilon as announced, best conversion known": whole["epsilon"],
        "epsilon under the invariant, best conversion known": whole["epsilon_under_invariant"],
        **{f"rho of the {row['level']} level under the invariant": row["rho_under_invariant"] for row in rows[:-1]},
    }
    return computed, {
        "rho under the invariant": (10.24, 10.24),
        "epsilon as announced": (17.915275, 17.915285),
        "epsilon under the invariant": (40.950565, 40.950575),
    }


def draw(folder: Path) -> Path:
    """Epsilon at delta = 1e-10 of every level by itself, announced and under the invariant."""
    rows = allocation(RHO, LEVELS, {"all": 1}, 2, DELTA)
    drawing, axes = figure(width=7.5, height=3.6)
    for shift, key, label in (
        (-0.2, "epsilon", "as announced"),
        (0.2, "epsilon_under_invariant", "with state totals published"),
    ):
        bars = axes.bar([i + shift for i in range(len(rows))], [row[key] for row in rows], 0.38, label=label)
        axes.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
    axes.set_xticks(range(len(rows)), [row["level"] for row in rows])
    axes.set_ylabel("epsilon at delta = 1e-10")
    axes.legend(frameon=False, loc="upper left")
    return saved(drawing, folder / "census_2020.svg")


if __name__ == "__main__":
    show("SEMI section 6: the 2020 census under its state totals", reproduce, DIFFERENCES, draw)
