"""Strategies and the Gaussian optimum for all ranges of n elements, presence of a record protected."""

from __future__ import annotations

import numpy as np

from benchmarks.growth.case import Case


def laplace(n: int) -> str:
    """The whole of the family: search, certificate, frozen mechanism."""
    from designer import Problem, Workload, design, metrics

    made = design(Problem(Workload.prefix(n), metrics.add_remove(n, 1.0)), "strategy_laplace")
    return f"root mean squared error {np.sqrt(made.mechanism.error() / n):.4f}"


def few(n: int) -> str:
    """Both families on few elements, where most of the time is that of descents."""
    from designer import Problem, Workload, design, metrics

    problem = Problem(Workload.prefix(n), metrics.add_remove(n, 1.0))
    return ", ".join(f"{family} {design(problem, family).loss:.4f}" for family in ("strategy_geometric", "strategy_laplace"))


def by_attribute(attributes: int) -> str:
    """The default for a sum over each attribute of ten values, budgets by attribute: ten elements for each."""
    from designer import Domain, StatisticalQueries, design

    domain = Domain.of({f"x{k}": 10 for k in range(attributes)})
    sums = {name: (name, float) for name in domain.attributes}
    made = design(StatisticalQueries.of(domain, sums, dict.fromkeys(domain.attributes, 0.5)).problem())
    return f"loss {made.loss:.6g}"


def gaussian(n: int) -> str:
    """The solver alone, gap certified."""
    from solvers.ellipsoids.program import minimise_trace
    from solvers.programs.strategy import all_ranges_gram

    found = minimise_trace(np.eye(n), all_ranges_gram(n))
    return f"gap {found.gap:.1e}, {found.iterations} decompositions"


CASES = (
    Case("strategy_laplace, prefix sums", "elements", (64, 128, 256, 512), laplace),
    Case("strategies, few prefix sums", "elements", (6, 8, 10, 12), few),
    Case("sums over attributes by default", "attributes", (25, 50, 100, 200), by_attribute),
    Case("Gaussian optimum, all ranges", "elements", (128, 256, 512, 1024), gaussian),
)
