"""Nested counts and running totals of up to a million cells, by their own trees."""

from __future__ import annotations

from benchmarks.growth.case import Case
from benchmarks.thousands_of_counts import skewed
from designer import Problem, Workload, design, metrics


def _designed(workload: Workload) -> str:
    made = design(Problem(workload, metrics.add_remove(workload.shape[1], 1.0)), "hierarchy")
    return f"squared error {made.loss:.6g}, {made.mechanism.privacy.ratio:.12f} of the budget"


def _totals(cells: int) -> str:
    return _designed(Workload.prefix(cells))


CASES = [
    Case("nested counts, skewed groups", "cells", (10_000, 30_000, 100_000, 300_000, 1_000_000), _designed, skewed),
    Case("running totals", "cells", (1_000, 3_000, 10_000, 30_000, 100_000), _totals),
]
