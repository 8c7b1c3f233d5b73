"""Residuals of values that are asked about alike: their closed form is what the program finds."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest

from designer import metrics
from designer.domains import products_noise as residuals
from designer.domains.products_noise import StrategyMatrix


@pytest.mark.parametrize("longest", [math.inf, 0.3, 2.0])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("budget", [None, 0.5, 3.0])
def test_values_that_are_asked_about_alike_need_no_program(size: int, budget: float | None, longest: float) -> None:
    part = None if budget is None else metrics.uniform(size, budget)
    found = residuals.protected_residual(3 * np.eye(size), part, longest)
    with patch.object(residuals, "_alike", lambda gram, basis: False):
        solved = residuals.protected_residual(3 * np.eye(size), part, longest)
    assert found is not None and solved is not None
    np.testing.assert_allclose(found.T @ found, solved.T @ solved, atol=1e-5 * np.abs(found.T @ found).max())


def test_values_of_which_some_pairs_are_not_protected_are_not_alike() -> None:
    """A path: the ends may be told apart, so more of their difference is measured."""
    path = metrics.graph([(0, 1, 1.0), (1, 2, 1.0)])
    found = residuals.protected_residual(np.eye(3), path)
    assert found is not None and not np.allclose(found.T @ found, np.trace(found.T @ found) / 2 * (np.eye(3) - 1 / 3))


@pytest.mark.parametrize("entry", [1, 2**20, 2**24])
def test_changes_are_exact_at_every_size_of_entries(entry: int) -> None:
    """In floats where that is exact, in integers where not."""
    rows = np.random.default_rng(entry).integers(-entry, entry + 1, (200, 4))
    columns = [[int(x) for x in column] for column in rows.T]
    worst = max(sum((x - y) ** 2 for x, y in zip(one, other, strict=True)) for one in columns for other in columns)
    assert StrategyMatrix(rows).change("gaussian") == worst
