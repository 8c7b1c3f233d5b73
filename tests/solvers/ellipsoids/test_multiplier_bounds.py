"""Bounds from any multipliers: below every feasible value, and tight at the best ones."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.ellipsoids.dual import least_trace, trace_bound
from solvers.ellipsoids.program import minimise_trace


def feasible(generator: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    factor = generator.standard_normal((rows.shape[1], rows.shape[1]))
    precision = factor @ factor.T
    return np.asarray(precision / np.einsum("mi,ij,mj->m", rows, precision, rows).max())


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_point_is_below_the_bound_of_any_multipliers(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows, root = generator.standard_normal((7, 3)), generator.standard_normal((3, 2))
    bounds = [trace_bound(rows, root, generator.random(7)) for _ in range(20)]
    values = [float(np.trace(root.T @ np.linalg.inv(feasible(generator, rows)) @ root)) for _ in range(50)]
    assert max(bounds) <= min(values)
    assert max(bounds) <= minimise_trace(rows, root @ root.T).value


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_point_is_below_the_least_trace_with_any_slope(seed: int) -> None:
    """Slopes with a negative part too; without one the bound is the minimum, taken where `X^-1 L L' X^-1 = G`."""
    generator = np.random.default_rng(seed)
    rows, root = generator.standard_normal((3, 3)), generator.standard_normal((3, 3))
    slope = generator.standard_normal((3, 3))
    slope = slope + slope.T
    bound = least_trace(slope, root, rows)
    for _ in range(200):
        precision = feasible(generator, rows)
        assert np.trace(root.T @ np.linalg.inv(precision) @ root) + np.vdot(slope, precision) >= bound
    positive = slope @ slope
    best = least_trace(positive, root, rows)
    middle = np.linalg.cholesky(root @ root.T)
    values, vectors = np.linalg.eigh(middle.T @ positive @ middle)
    precision = middle @ (vectors / np.sqrt(values)) @ vectors.T @ middle.T
    assert best == pytest.approx(np.trace(root.T @ np.linalg.inv(precision) @ root) + np.vdot(positive, precision), rel=1e-9)


def test_multipliers_that_vanish_prove_nothing_and_no_columns_cost_nothing() -> None:
    assert trace_bound(np.eye(2), np.eye(2), np.zeros(2)) == 0.0
    assert least_trace(np.eye(2), np.zeros((2, 0)), np.eye(2)) == pytest.approx(0.0, abs=1e-12)
