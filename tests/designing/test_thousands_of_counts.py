"""The default at dozens to thousands of counts: its error by linear algebra of its own, and never above simple strategies."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from tests.oracles.thousands_of_counts import SAMPLED, simple, variances, workload


def held(rows, effort: str) -> None:
    """Simple strategies lose no less, the loss is the sum of the stated variances, and these are the true ones."""
    made = design(Problem(Workload(rows), metrics.add_remove(rows.shape[1], 1.0)), effort=effort)
    assert made.loss <= simple(rows) * (1 + 1e-9)
    stated = made.mechanism.query_variances()
    assert made.loss == pytest.approx(stated.sum(), rel=1e-9)
    chosen = np.unique(np.linspace(0, rows.shape[0] - 1, SAMPLED).astype(int))
    assert variances(made.mechanism, rows, chosen) == pytest.approx(stated[chosen], rel=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_some_counts_have_the_error_that_is_stated_and_no_more_than_simple_strategies(seed: int) -> None:
    held(workload(seed, 40, 60), "quick")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(60))
def test_thousands_of_counts_have_the_error_that_is_stated_and_no_more_than_simple_strategies(seed: int) -> None:
    held(workload(seed), "normal")
