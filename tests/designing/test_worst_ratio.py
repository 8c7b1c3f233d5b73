"""Every additive family that optimises spends its budget: the worst ratio of loss to budget is between 0.999 and 1."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.certificate.guarantee import ADDITIVE_FAMILIES
from designer.designing import FAMILIES
from designer.designing.family import Family
from designer.problem.relation import Relation
from tests.oracles.shallow import shallow

OPTIMISED = [f for f in FAMILIES if f.name in ADDITIVE_FAMILIES and not (f.baseline or f.invariants_only)]


def random_problem(seed: int, notion: str) -> Problem:
    """Real or whole queries, more or fewer than elements, over a relation with budgets from 1e-3 to 1e3."""
    rng = np.random.default_rng(seed)
    elements, queries = int(rng.integers(3, 8)), int(rng.integers(1, 7))
    epsilon = 10.0 ** rng.uniform(-3, 3)
    matrix = rng.normal(size=(queries, elements)) if seed % 2 else rng.integers(-3, 4, (queries, elements)) + 0.0
    matrix[:, 0] += 1.0 + (np.ptp(matrix, axis=1) == 0)
    relations: list[Relation] = [
        metrics.uniform(elements, epsilon),
        metrics.euclidean(rng.random((elements, 2)), per_unit=epsilon),
        metrics.add_remove(elements, epsilon),
        metrics.from_matrix(epsilon * np.abs(np.subtract.outer(np.arange(elements), np.arange(elements))) + 0.0),
    ]
    return Problem(Workload(matrix), relations[seed % 4], notion, records=20.0)


@pytest.mark.parametrize("family", OPTIMISED, ids=lambda f: f.name)
@pytest.mark.parametrize("seed", range(16))
def test_the_budget_is_spent(family: Family, seed: int) -> None:
    made = design(random_problem(seed, family.notion), family.name, **shallow(family.name))
    worst = made.privacy.worst_ratio
    assert made.privacy.holds and worst is not None and 0.999 <= worst <= 1
