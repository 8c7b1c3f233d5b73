"""DX section 4.1, Figure 2 (a, b): improvement of single random queries over a synthetic universe of 50 points."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designer import metrics
from examples.dx_setting import UNIVERSE, draw_factors, improvement_factors, universe
from examples.reproduction import Result, show

# The paper states in words that the improvement is significant; its figure shows most factors above 1 and a tail of several.
DIFFERENCES: dict[str, str] = {}


def factors(count: int) -> np.ndarray:
    """IF of `count` queries with coefficients uniform on [0, 1]."""
    return improvement_factors(metrics.euclidean(universe()), np.random.default_rng(1).random((count, UNIVERSE)))


def reproduce(full: bool = False) -> Result:
    """Distribution of IF over 1000 random queries; IF is at least 1 for every query (c <= Delta_1 / min d by definition)."""
    values = factors(1000 if full else 200)
    computed = {"smallest IF": values.min(), "average IF": values.mean(), "largest IF": values.max()}
    return computed, {"smallest IF": (1.0, np.inf), "average IF": (1.5, np.inf)}


def draw(folder: Path) -> Path:
    """The universe and the histogram of IF."""
    return draw_factors(universe(), ("u", "v"), factors(1000), folder / "dx_figure_2ab.svg")


if __name__ == "__main__":
    show("DX section 4.1: single random queries, N = 50", reproduce, DIFFERENCES, draw)
