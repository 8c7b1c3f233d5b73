"""DX section 4.1, Figure 2 (a, b): improvement of single random queries over a synthetic universe of 50 points."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designer import metrics
from examples.dx_setting import UNIVERSE, draw_factors, improvement_factors, universe
from examples.reproduction import Result, show

# The paper states in words that the improvement is significant; its figure shows most factors above 1 and a tail of several.
DIFFERENCES: dict[str, str] = {}


def factors(count: int, seed: int = 0, whole: bool = True) -> np.ndarray:
    """IF of `count` queries with coefficients uniform on [0, 1]."""
    return improvement_factors(metrics.euclidean(universe(seed, whole)), np.random.default_rng(1).random((count, UNIVERSE)))


def reproduce(full: bool = False) -> Result:
    """Distribution of IF over 1000 random queries; IF is at least 1 for every query (c <= Delta_1 / min d by definition)."""
    values = factors(1000 if full else 200)
    computed = {"smallest IF": values.min(), "average IF": values.mean(), "largest IF": values.max()}
    return computed, {"smallest IF": (1.0, np.inf), "average IF": (1.5, np.inf)}


def moved(full: bool = False) -> Result:
    """The average IF in other universes: points of the grid, and of the square."""
    computed = {}
    for whole, kind in ((True, "grid"), (False, "square")):
        averages = [factors(1000 if full else 100, seed, whole).mean() for seed in range(20 if full else 4)]
        computed[f"20 universes, points of the {kind}: least average IF"] = min(averages)
        computed[f"20 universes, points of the {kind}: largest average IF"] = max(averages)
    return computed, {}


def draw(folder: Path) -> Path:
    """The universe and the histogram of IF."""
    return draw_factors(universe(), ("u", "v"), factors(1000), folder / "dx_figure_2ab.svg")


if __name__ == "__main__":
    show("DX section 4.1: single random queries, N = 50", reproduce, DIFFERENCES, draw)
    show("The same in other universes", moved, {})
