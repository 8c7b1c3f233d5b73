"""How the design of bundles grows: with the attributes of one-way marginals, where the elements grow exponentially, and with
the queries on a hundred elements."""

from __future__ import annotations

import numpy as np

from benchmarks.bundles_against_families import one_way
from benchmarks.growth.case import Case
from designer import Problem, Workload, design, metrics


def _told(problem: Problem) -> str:
    """The norm, the largest bundle, and the loss over that of the smallest box."""
    made = design(problem, "bundles")
    norm = made.mechanism.norm
    largest = max(map(len, norm.places))  # type: ignore[union-attr]
    return f"{norm.combine}, up to {largest}, {made.loss / design(problem, 'box').loss:.3f} of box"  # type: ignore[union-attr]


def marginals(attributes: int) -> str:
    """All one-way marginals of attributes of three values, one budget."""
    domain, workload = one_way(attributes, 3)
    return _told(Problem(workload, metrics.uniform(domain.size, 1.0)))


def thresholds(attributes: int) -> str:
    """Counts below three thresholds of each attribute, on a hundred random records."""
    places = np.random.default_rng(0).random((attributes, 100))
    rows = [places[i] < c for i in range(attributes) for c in (0.3, 0.6, 0.8)]
    return _told(Problem(Workload(np.array(rows, float)), metrics.uniform(100, 1.0)))


CASES = (
    Case("bundles, one-way marginals of three values", "attributes", (2, 3, 4, 5, 6), marginals),
    Case("bundles, three thresholds of each attribute", "attributes", (2, 4, 8, 16), thresholds),
)
