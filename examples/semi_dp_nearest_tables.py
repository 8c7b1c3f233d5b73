"""What it costs to make a released table nonnegative and whole: error and bias by cell, margins public (Semi-DP Remark 33)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from designer import Problem, Release, Workload, design, invariants
from designer.base.arrays import Floats
from designer.extend import figure
from examples.reproduction import Result, saved, show

# Rows and columns with few records and with many, so that some cells are pushed up from below zero and others pay for it.
TABLE = np.array([[0, 1, 2, 40], [1, 3, 0, 25], [0, 0, 9, 60], [12, 30, 45, 90]])
MARGINS = invariants.margins(TABLE.shape)
EPSILON = 0.5
WAYS: dict[str, dict[str, bool]] = {
    "nonnegative": {"nonnegative": True},
    "nonnegative, integer": {"nonnegative": True, "integer": True},
    "integer": {"nonnegative": False, "integer": True},
}
DIFFERENCES: dict[str, str] = {}


@cache
def tables(count: int) -> dict[str, Floats]:
    """`count` simulated releases and their nearest tables, (count, 16) each."""
    mechanism = design(Problem(Workload.identity(TABLE.size), MARGINS.protect(EPSILON, 2)), "l2_ball").mechanism
    noisy = TABLE.ravel() + np.asarray(mechanism.simulate(count, seed=33))
    totals = MARGINS.answers(TABLE.ravel())
    # Simulated, so not private; a real release comes from mechanism.release.
    released = [Release(row, mechanism.workload.queries, mechanism.guarantee, mechanism.fingerprint) for row in noisy]
    nearest = {way: [r.consistent(MARGINS, totals, **options).answers for r in released] for way, options in WAYS.items()}
    return {"released": noisy} | {way: np.array(rows) for way, rows in nearest.items()}


def reproduce(full: bool = False) -> Result:
    """Error in total and bias by cell; margins, signs and whole numbers as asked."""
    found = tables(500 if full else 25)
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}
    for way, rows in found.items():
        off = rows - TABLE.ravel()
        computed[f"{way}: mean squared error of the table"] = float((off**2).sum(axis=1).mean())
        computed[f"{way}: mean bias of empty cells"] = float(off[:, TABLE.ravel() == 0].mean())
        computed[f"{way}: bias of the largest cell"] = float(off[:, TABLE.argmax()].mean())
        computed[f"{way}: largest error of a margin"] = float(np.abs(off @ MARGINS.matrix.T).max())
        published[f"{way}: largest error of a margin"] = (0.0, 1e-6)
    for way in ("nonnegative", "nonnegative, integer"):
        computed[f"{way}: smallest count"] = float(found[way].min())
        published[f"{way}: smallest count"] = (0.0, float(TABLE.sum()))
    whole = found["nonnegative, integer"]
    computed["nonnegative, integer: largest fraction of a count"] = float(np.abs(whole - np.rint(whole)).max())
    published["nonnegative, integer: largest fraction of a count"] = (0.0, 0.0)
    # Projection onto a convex set that holds the truth cannot move away from it.
    gain = (found["nonnegative"] - TABLE.ravel()) ** 2 - (found["released"] - TABLE.ravel()) ** 2
    computed["nonnegative: largest growth of the squared error of a table"] = float(gain.sum(axis=1).max())
    published["nonnegative: largest growth of the squared error of a table"] = (-np.inf, 1e-6)
    return computed, published


def draw(folder: Path) -> Path:
    """Bias and root mean squared error of every cell, before and after."""
    found = {way: rows - TABLE.ravel() for way, rows in tables(500).items() if way != "integer"}
    drawing, axes = figure(columns=len(found), width=4.2, height=4.4)
    for axis, (way, off) in zip(axes, found.items(), strict=True):
        bias, spread = off.mean(axis=0).reshape(TABLE.shape), np.sqrt((off**2).mean(axis=0)).reshape(TABLE.shape)
        shown = axis.imshow(bias, cmap="RdBu_r", vmin=-8, vmax=8)
        for (i, j), value in np.ndenumerate(TABLE):
            axis.text(j, i, f"{value}\n{bias[i, j]:+.1f}\nrms {spread[i, j]:.1f}", ha="center", va="center", fontsize=9)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_title(way)
    axes[0].set_xlabel("in each cell: true count, bias, root mean squared error")
    drawing.colorbar(shown, ax=axes, label="bias", shrink=0.8)
    return saved(drawing, folder / "semi_dp_nearest_tables.svg")


if __name__ == "__main__":
    show(f"Nearest tables with public margins, epsilon = {EPSILON}", reproduce, DIFFERENCES, draw)
