"""What noise in an ellipsoid loses at least, before any is designed: never above what is reached, and attained by one count."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.designing.ellipsoid import floor


@pytest.mark.parametrize("seed", range(8))
def test_what_an_ellipsoid_loses_at_least_is_below_what_it_loses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    queries, elements = int(rng.integers(1, 6)), int(rng.integers(2, 7))
    relation = (metrics.add_remove if seed % 2 else metrics.uniform)(elements, 0.7)
    problem = Problem(Workload(rng.integers(-2, 4, (queries, elements)).astype(float)), relation)
    least, made = floor(problem), design(problem, "ellipsoid")
    assert 0 < least <= made.loss * (1 + 1e-9)
    weighted = Problem(problem.workload, relation, weights=np.arange(1.0, queries + 1))
    assert floor(weighted) <= design(weighted, "ellipsoid").loss * (1 + 1e-9)
    assert floor(Problem(problem.workload, relation, loss="max")) == 0


def test_one_count_in_an_ellipsoid_loses_what_it_must() -> None:
    problem = Problem(Workload([[1.0, 0.0]]), metrics.add_remove(2, 1.0))
    assert floor(problem) == pytest.approx(2, rel=1e-6) == design(problem, "ellipsoid").loss
