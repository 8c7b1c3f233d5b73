"""Strategies and the Gaussian optimum for all ranges of n elements, presence of a record protected."""

from __future__ import annotations

import numpy as np

from benchmarks.growth.case import Case


def laplace(n: int) -> str:
    """The whole of the family: search, certificate, frozen mechanism."""
    from designer import Problem, Workload, design, metrics

    made = design(Problem(Workload.prefix(n), metrics.add_remove(n, 1.0)), "strategy_laplace")
    return f"root mean squared error {np.sqrt(made.mechanism.error() / n):.4f}"


def gaussian(n: int) -> str:
    """The solver alone, gap certified."""
    from solvers.ellipsoids.program import minimise_trace
    from solvers.programs.strategy import all_ranges_gram

    found = minimise_trace(np.eye(n), all_ranges_gram(n))
    return f"gap {found.gap:.1e}, {found.iterations} decompositions"


CASES = (
    Case("strategy_laplace, prefix sums", "elements", (64, 128, 256, 512), laplace),
    Case("Gaussian optimum, all ranges", "elements", (128, 256, 512, 1024), gaussian),
)
