"""How long queries take to find their units, and designs of whole-number noise with them."""

from __future__ import annotations

import numpy as np

from benchmarks.growth.case import Case
from designer import Problem, Workload, design, metrics
from designer.designing.evenness import in_units


def in_thirds(size: int) -> str:
    """As many queries as elements, in thirds and on constants: every unit has to be sought among fractions."""
    rows = np.random.default_rng(0).integers(-5, 6, (size, size)) / 3 + np.arange(size)[:, None] / 7
    whole = in_units(rows, metrics.uniform(size, 1.0))
    return f"{int((whole.units < 1).sum())} of {size} in thirds"


def of_counts(size: int) -> str:
    """The least squared error of prefix sums over as many elements, on whole numbers."""
    made = design(Problem(Workload.prefix(size), metrics.uniform(size, 20.0)), "laplace")
    assert made.optimality is not None
    return f"certified gap {made.optimality.gap:.1e}"


CASES = (
    Case("units of queries in thirds", "queries", (125, 250, 500, 1000), in_thirds),
    Case("whole-number noise in prefix sums", "queries", (25, 50, 100, 200), of_counts),
)
