"""How the design of bundles grows: with the attributes of one-way marginals, where the elements grow exponentially, and with
the queries on a hundred elements."""

from __future__ import annotations

import numpy as np

from benchmarks.bundles_against_families import one_way
from benchmarks.growth.case import Case
from designer import Problem, Workload, design, metrics
from designer.sampling.entropy import SeededEntropy


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


def votes(questions: int) -> str:
    """Votes of 200 random records on three in eight of the questions: the loss of a box with corners cut, and drawing it."""
    rng = np.random.default_rng(0)
    asked = rng.random((200, questions)).argsort(axis=1) < 3 * questions // 8
    problem = Problem(Workload((asked * rng.choice((-1.0, 1.0), asked.shape)).T), metrics.add_remove(200, 1.0))
    made = design(problem, "capped_l1")
    made.mechanism.noise.draw(2000, SeededEntropy(1))  # type: ignore[union-attr]
    return f"{made.loss / design(problem, 'box').loss:.3f} of box, 2,000 draws"


CASES = (
    Case("bundles, one-way marginals of three values", "attributes", (2, 3, 4, 5, 6), marginals),
    Case("bundles, three thresholds of each attribute", "attributes", (2, 4, 8, 16), thresholds),
    Case("box with corners cut, votes on three in eight", "questions", (8, 16, 32, 64, 128), votes),
)
