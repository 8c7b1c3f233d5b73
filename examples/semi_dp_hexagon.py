"""A hexagon: two databases three records apart with equal margins,
which the mechanism of Semi-DP Proposition 32 tells apart too well."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from designer import AdditiveMechanism, Problem, Workload, design, invariants
from designer.base.arrays import Floats
from designer.extend import figure
from examples.reproduction import Result, saved, show

EPSILON = 1.0
# Records (row, column) of a 3 x 3 table; in OTHER the last three have moved in a cycle, each to the next column.
FIXED = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 2), (2, 2)]
ONE = [*FIXED, (0, 0), (1, 1), (2, 2)]
OTHER = [*FIXED, (0, 1), (1, 2), (2, 0)]
MARGINS = invariants.margins((3, 3))
NAMES = {2: "hull of basic moves (Proposition 32)", 3: "hull with hexagons"}
CLAIM = f"{NAMES[2]}: largest likelihood ratio / exp(epsilon)"
DIFFERENCES = {
    CLAIM: (
        "Proposition 32 leaves out the cycles of three records. The hexagon is the sum of two basic moves, no convex "
        "combination of fewer, so the mechanism spends its budget twice."
    ),
}


def table(database: list[tuple[int, int]]) -> Floats:
    """The 3 x 3 counts."""
    counted = Counter(database)
    return np.array([[counted[i, j] for j in range(3)] for i in range(3)])


@cache
def mechanism(adjacency: int) -> AdditiveMechanism:
    """The K-norm mechanism of the hull of all changes of at most `adjacency` records."""
    return design(Problem(Workload.identity(9), MARGINS.protect(EPSILON, adjacency)), "k_norm").mechanism


def loss_along(adjacency: int, shares: Floats) -> Floats:
    """Log-likelihood ratio of ONE against OTHER at the outputs `(1 - share) ONE + share OTHER`:
    `||out - OTHER|| - ||out - ONE||`."""
    made = mechanism(adjacency)
    measured = made.grid.values(made.integers)
    one, other = (measured @ table(database).ravel() for database in (ONE, OTHER))
    outputs = one + shares[:, None] * (other - one)
    silent = made.norm.silent
    return np.asarray(made.norm(np.where(silent, 0, outputs - other)) - made.norm(np.where(silent, 0, outputs - one)))


def reproduce(full: bool = False) -> Result:
    """Records moved, margins moved, and the largest likelihood ratio of either mechanism, attained at the output ONE."""
    moved = sum(x != y for x, y in zip(ONE, OTHER, strict=True))
    margins = MARGINS.answers(table(ONE).ravel()) - MARGINS.answers(table(OTHER).ravel())
    ratios = {NAMES[a]: math.exp(loss_along(a, np.zeros(1))[0] - EPSILON) for a in NAMES}
    computed = {
        "records that differ": float(moved),
        "largest difference of a margin": float(np.abs(margins).max()),
        "cells that differ": float((table(ONE) != table(OTHER)).sum()),
        CLAIM: ratios[NAMES[2]],
        f"{NAMES[3]}: largest likelihood ratio / exp(epsilon)": ratios[NAMES[3]],
        "expected squared error, basic moves": mechanism(2).error(),
        "expected squared error, with hexagons": mechanism(3).error(),
    }
    published = {
        "records that differ": (0.0, 3.0),
        "largest difference of a margin": (0.0, 0.0),
        CLAIM: (0.0, 1.0),
        f"{NAMES[3]}: largest likelihood ratio / exp(epsilon)": (0.0, 1.0),
    }
    return computed, published


def draw(folder: Path) -> Path:
    """The two tables with their margins, and the privacy loss at the outputs on the line through them."""
    drawing, axes = figure(columns=3, width=4.2, height=3.9)
    difference = table(OTHER) - table(ONE)
    for axis, database, title in ((axes[0], ONE, "one database"), (axes[1], OTHER, "another, three records apart")):
        counts = table(database)
        axis.imshow(difference if database is OTHER else 0 * difference, cmap="RdBu_r", vmin=-2.5, vmax=2.5)
        for (i, j), value in np.ndenumerate(counts):
            axis.text(j, i, f"{value}", ha="center", va="center", fontsize=15)
        for i in range(3):
            axis.text(3, i, f"{counts[i].sum()}", ha="center", va="center", color="0.35", fontsize=13)
            axis.text(i, 3, f"{counts[:, i].sum()}", ha="center", va="center", color="0.35", fontsize=13)
        axis.set_xlim(-0.5, 3.5)
        axis.set_ylim(3.5, -0.5)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_title(title)
        axis.set_xlabel("grey: public margins")
    shares = np.linspace(-1, 2, 301)
    for adjacency, colour in ((2, "tab:red"), (3, "tab:blue")):
        axes[2].plot(shares, loss_along(adjacency, shares), color=colour, label=NAMES[adjacency])
    axes[2].axhspan(-EPSILON, EPSILON, color="0.9", label="promised: at most epsilon = 1")
    axes[2].set_xlabel("output, from one (0) to the other (1)")
    axes[2].set_ylabel("log likelihood ratio")
    axes[2].set_ylim(-2.3, 3.6)
    axes[2].legend(fontsize=8, loc="upper right")
    return saved(drawing, folder / "semi_dp_hexagon.svg")


if __name__ == "__main__":
    show("A hexagon under Semi-DP with public margins, epsilon = 1", reproduce, DIFFERENCES, draw)
