"""Values of the papers that examples compute by a formula, by brute force or by the design itself."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from designer import Problem, Workload, compare, metrics
from designer.tables.policies.renyi import group_loss, simple_group_loss
from examples import dx_multiple_queries, int_counties, int_projection
from examples.dx_setting import UNIVERSE, universe
from examples.int_delinquent import margins, table
from examples.papers.int.errata import variance_of_equation_8
from examples.papers.rec.counterexamples import least_favourable_order
from solvers.lattices.transport import nearest_integer, nearest_real


def test_the_improvement_of_one_universe_is_that_of_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """DX Figure 2 (d): scales of designs are rounded, by less than 1 %."""
    queries = dx_multiple_queries.binary_queries(1)
    monkeypatch.setattr(dx_multiple_queries, "binary_queries", lambda count: queries)
    problems = [Problem(Workload(rows), metrics.euclidean(universe(3))) for rows in queries]
    designed = [compare(problem, ["strategy_1"]).rows[0]["improvement"] for problem in problems]
    assert queries[0].shape == (10, UNIVERSE)
    assert dx_multiple_queries.one_universe(3, True, False) == pytest.approx(np.mean(designed), rel=0.01)


@pytest.mark.parametrize("count", [2, 3])
def test_deviations_of_counties_are_those_of_the_enumerated_law(count: int) -> None:
    """INT Figure 10: all noise of two or three counties within reach, rounded with each way of breaking ties."""
    reach, rate = 180 if count == 2 else 100, float(int_counties.EPSILON)
    side = np.arange(-reach, reach + 1)
    cells = np.stack([axis.ravel() for axis in np.meshgrid(*[side] * count)])
    chances = np.exp(-rate * np.abs(cells).sum(axis=0))
    kept = cells.sum(axis=0) == 0
    ours = math.sqrt(float(chances[kept] @ cells[0, kept] ** 2 / chances[kept].sum()))
    flat = cells - cells.mean(axis=0)
    floors = np.floor(flat + 1e-9)
    missing = np.rint(-floors.sum(axis=0))  # so many of the cells, whose remainders are equal, are rounded up
    square = missing / count * (floors[0] + 1) ** 2 + (1 - missing / count) * floors[0] ** 2
    theirs = math.sqrt(float(chances @ square / chances.sum()))
    assert np.ptp(flat - floors, axis=0).max() < 1e-8
    assert int_counties.exact_deviations(count) == pytest.approx((ours, theirs), rel=1e-6 if count == 2 else 1e-4)


def test_a_tie_of_whole_tables_is_broken_among_the_nearest_alone() -> None:
    rows, sums = margins().matrix, margins().answers(table())
    errors = int_projection.released("projected Laplace", False, 5)
    for counts, error in zip(int_projection.noisy("projected Laplace", 5), errors, strict=True):
        near = nearest_real(rows, sums, counts, False).point
        assert near is not None and not (rows @ error).any()
        apart = float(np.abs(table() + error - near).sum())
        assert apart == pytest.approx(nearest_integer(rows, sums, near, False, "l1").distance, abs=1e-9)


def test_the_variance_of_equation_8_is_that_of_its_dual_sum() -> None:
    """By Poisson's formula it is sigma^2 less `4 pi^2 sigma^4 sum k^2 r^(k^2) / sum r^(k^2)`, r = exp(-2 pi^2 sigma^2)."""
    sigma, found = variance_of_equation_8()
    ratio = math.exp(-2 * math.pi**2 * sigma**2)
    assert abs(sigma**2 - 8 * math.pi**2 * sigma**4 * ratio - found) < 1e-9 and found > 3 * sigma


def test_the_loss_of_two_records_is_the_same_in_both_orders_and_below_lemma_4_4() -> None:
    stated, found = least_favourable_order()
    grid = [Fraction(step, 1000) for step in range(1001, 4000)]
    assert min(k / (k - 1) * 1 + k * 4 for k in grid) == found == min(k / (k - 1) * 4 + k * 1 for k in [Fraction(3)])
    assert simple_group_loss([1, 4]) == stated > found and abs(float(group_loss([1, 4]) - found)) < 1e-6
