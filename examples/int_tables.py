"""Error of integer noise that keeps both margins of a table, by shape of the noise, at one guarantee,
from 2 x 2 to 50 x 50 cells.

INT leaves the choice of the norm open. All columns keep the same relation, three records and their changes (SEMI Theorem 16)
with budget 1: pure for the first five, 1/2-zCDP, which pure budget 1 implies, for the Gaussian. Beyond 10 x 10 two ways are
left: pure noise row by row, and the Gaussian.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from designer import DesignFailed, Problem, Workload, design, invariants
from examples.reproduction import Result, saved, show

SHAPES = {
    "l1": ("lattice_laplace", "l1"),
    "l2": ("lattice_laplace", "l2"),
    "ellipsoid": ("lattice_laplace", "ellipsoid"),
    "hull": ("lattice_laplace", "hull"),
    "row by row": ("lattice_rows", ""),
    "Gaussian": ("lattice_gaussian", "l2"),
}
SIDES = (2, 3, 4, 6, 8, 10, 20, 50)
# Largest tables: hulls have up to 4 dimensions at 3 x 3 and 9 at 4 x 4, too many faces; ellipsoids are balls by symmetry; no
# proposal of l1 and l2 noise is accepted at 20 x 20.
LARGEST = {"l1": 10, "l2": 10, "ellipsoid": 6, "hull": 3}
DIFFERENCES: dict[str, str] = {}


@cache
def error(side: int, name: str, draws: int) -> float:
    """Mean squared noise of a cell, from exact draws; NaN where the shape has no mechanism."""
    family, shape = SHAPES[name]
    relation = invariants.margins((side, side)).protect(1.0)
    notion = "zcdp" if name == "Gaussian" else "pure"
    try:
        options = {"shape": shape} if shape else {}
        made = design(Problem(Workload.identity(side * side), relation, notion=notion), family, **options).mechanism
    except DesignFailed:
        return float("nan")
    return float((made.draw(draws, seed=1).astype(float) ** 2).mean())


def rows(full: bool) -> dict[str, dict[int, float]]:
    """Errors by shape and side."""
    found: dict[str, dict[int, float]] = {}
    for name in SHAPES:
        sides = [side for side in SIDES if side <= LARGEST.get(name, 50) and (full or side <= 3)]
        found[name] = {side: error(side, name, 100 if side > 10 or (name == "l1" and side > 6) else 5000) for side in sides}
    return found


def reproduce(full: bool = False) -> Result:
    """The table, and what must hold in it: one dimension has one shape; balls are best among ellipsoids;
    Gaussian noise grows slowest."""
    found = rows(full)
    computed = {f"{name}, {side} x {side}": value for name, by_side in found.items() for side, value in by_side.items()}
    computed["2 x 2: largest over least pure error"] = max(found[n][2] for n in LARGEST) / min(
        found[n][2] for n in ("l1", "l2")
    )
    computed["3 x 3: hull over the best other pure error"] = found["hull"][3] / min(
        found[n][3] for n in ("l1", "l2", "ellipsoid")
    )
    computed["3 x 3: ellipsoid over l2"] = found["ellipsoid"][3] / found["l2"][3]
    published = {
        "2 x 2: largest over least pure error": (0.3, 1.15),
        "3 x 3: hull over the best other pure error": (0.0, 1.0),
        "3 x 3: ellipsoid over l2": (0.9, 1.1),
    }
    if full:
        computed["10 x 10: l2 over Gaussian"] = found["l2"][10] / found["Gaussian"][10]
        # Continuous noise: m (m + 1) / m = m + 1 = 82.
        published["10 x 10: l2 over Gaussian"] = (75.0, 90.0)
        # Three records: l1 of rate 1/6, whose exact law has 4,441 in all, row by row 5,038.
        computed["10 x 10: row by row over l1"] = found["row by row"][10] / found["l1"][10]
        published["10 x 10: row by row over l1"] = (1.0, 1.3)
        computed["50 x 50: row by row over projected Laplace"] = found["row by row"][50] * 2500 / (49**2 * 72)
        published["50 x 50: row by row over projected Laplace"] = (0.94, 1.0)
    return computed, published


def draw(folder: Path) -> Path:
    """Standard deviation of a cell against the side of the table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.5), layout="constrained")
    axis = figure.subplots()
    for marker, (name, by_side) in zip("osD*v^", rows(True).items(), strict=True):
        axis.plot(list(by_side), np.sqrt(list(by_side.values())), marker=marker, markersize=5, label=name)
    axis.set_yscale("log")
    axis.set_xticks(SIDES, [f"{side} x {side}" for side in SIDES])
    axis.set_ylabel("standard deviation of a cell's noise")
    axis.set_title("Integer noise with both margins kept, budget 1 for three records", fontsize=10)
    axis.legend()
    return saved(figure, folder / "int_tables.svg")


if __name__ == "__main__":
    show("Integer noise on tables with fixed margins, by shape", reproduce, DIFFERENCES, draw)
