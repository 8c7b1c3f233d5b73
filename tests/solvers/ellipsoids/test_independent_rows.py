"""Newton's method for as many independent rows as dimensions, against the general program."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.ellipsoids.dual import AxisPoint, follow, trace_bound
from solvers.ellipsoids.program import minimise_trace
from solvers.programs.strategy import all_ranges_gram, prefix


def test_both_methods_find_one_optimum() -> None:
    """A further row of half the length changes nothing, but sends the program to the general method."""
    random, methods = np.random.default_rng(1), set()
    for _ in range(25):
        n = int(random.integers(1, 12))
        rows, queries = random.normal(size=(n, n)), random.normal(size=(n + 3, n))
        cost = queries.T @ queries
        found, general = minimise_trace(rows, cost), minimise_trace(np.vstack([rows, 0.5 * rows[:1]]), cost)
        methods.add(found.method)
        assert found.value == pytest.approx(general.value, rel=3e-6)
        assert found.lower_bound <= general.value * (1 + 1e-12)
        assert found.gap <= 1e-6
        assert np.einsum("ij,jk,ik->i", rows, found.point.precision, rows).max() <= 1 + 1e-9
        assert np.allclose(found.point.precision @ found.point.covariance, np.eye(n), atol=1e-6)
    assert "Newton's method on independent rows" in methods


def test_the_bound_is_what_its_multipliers_prove() -> None:
    cost = prefix(20).T @ prefix(20)
    reached = follow(cost, 1e-7)
    assert reached is not None
    point, bound, steps = reached
    assert bound == pytest.approx(trace_bound(np.eye(20), prefix(20).T, point.multipliers), rel=1e-7)
    assert steps <= 6
    assert np.allclose(np.diagonal(np.linalg.inv(point.covariance)), 1.0)


def test_newton_and_the_fixed_point_meet() -> None:
    slow = AxisPoint.at(all_ranges_gram(9), np.zeros(9))
    for _ in range(60):
        slow = slow.fixed_point()
    assert slow.apart < 1e-8
    near = AxisPoint.at(all_ranges_gram(9), slow.logs + 0.05 * np.sin(np.arange(9)))
    assert near.newton().newton().apart < 0.01 * near.apart


def test_dependent_rows_and_flat_costs_are_left_to_the_general_program() -> None:
    assert follow(np.ones((3, 3)), 1e-6) is None
    flat = minimise_trace(np.eye(3), np.ones((3, 3)))
    assert not flat.method.startswith("Newton") and flat.value == pytest.approx(1.0)
    dependent = minimise_trace(np.array([[1.0, 0.0], [2.0, 0.0]]))
    assert dependent.value == pytest.approx(4.0, rel=1e-5)


def test_rows_that_do_not_bind_are_solved_all_the_same() -> None:
    """The second row hardly binds: along it, the first asks for nearly all the variance."""
    found = minimise_trace(np.array([[1.0, 0.0], [1e-4, 1e-4]]), np.array([[1.0, 0.0], [0.0, 1e-9]]))
    assert found.gap <= 1e-6
    assert found.value == pytest.approx(1.0, rel=1e-3)
