"""The units of the queries are the user's: rows in other units, and weights in theirs, give the same design in other units."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, metrics
from designer.designing import FAMILIES
from solvers.exact.points import Points
from solvers.polytopes.hull import convex_hull

QUERIES = np.random.default_rng(0).normal(size=(3, 6))
WHOLE = np.array([[2.0, -3, -3, 3, -1, -3], [0, 0, -1, 0, 0, 3], [-3, -1, 3, -2, 0, 3]])
PLANE = metrics.euclidean(np.random.default_rng(1).random((6, 2)))
UNITS = {
    "one row by 1e9": [1e9, 1.0, 1.0],
    "one row by 1e-9": [1.0, 1.0, 1e-9],
    "both ways": [1.0, 1e9, 1e-9],
    "powers of two": [2.0**30, 1.0, 2.0**-30],
    "all small": [1e-6, 1e-8, 1e-5],
}
SHAPED = ("k_norm", "box", "laplace", "ellipsoid", "strategy_1", "gaussian", "diagonal_gaussian")


def notion(family: str) -> str:
    return next(f.notion for f in FAMILIES if f.name == family)


@pytest.mark.parametrize("family", SHAPED)
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("matrix", [QUERIES, WHOLE], ids=["real", "whole"])
def test_rows_in_other_units_give_the_same_errors_in_those_units(family: str, units: list[float], matrix: np.ndarray) -> None:
    scale = np.array(units)
    plain = design(Problem(Workload(matrix), PLANE, notion(family)), family)
    other = design(Problem(Workload(matrix * scale[:, None]), PLANE, notion(family), weights=scale**-2.0), family)
    assert other.mechanism.query_variances() / scale**2 == pytest.approx(plain.mechanism.query_variances(), rel=1e-4)
    assert other.loss == pytest.approx(plain.loss, rel=1e-5) and other.privacy.holds
    if plain.optimality is not None:
        assert other.optimality is not None and other.optimality.gap <= max(1e-5, 2 * plain.optimality.gap)


@pytest.mark.parametrize("units", [UNITS["both ways"], UNITS["all small"]])
def test_a_strategy_answers_every_row_in_its_own_units(units: list[float]) -> None:
    """The descent takes other steps in other units, but to about the same loss; each answer is exact beside its own entries."""
    scale, quick = np.array(units), {"iterations": 30, "keep": 1}
    plain = design(Problem(Workload(QUERIES), PLANE), "strategy_laplace", **quick)
    made = design(Problem(Workload(QUERIES * scale[:, None]), PLANE, weights=scale**-2.0), "strategy_laplace", **quick)
    assert made.loss == pytest.approx(plain.loss, rel=0.05)
    assert made.mechanism.effective / scale[:, None] == pytest.approx(QUERIES, abs=1e-6)


@pytest.mark.parametrize("family", ["laplace", "ellipsoid", "gaussian"])
def test_the_largest_error_is_minimised_in_any_units(family: str) -> None:
    scale = np.array([1.0, 1e9, 1e-9])
    made = [
        design(Problem(Workload(QUERIES * s[:, None]), PLANE, notion(family), loss="max", weights=s**-2.0), family)
        for s in (np.ones(3), scale)
    ]
    assert made[1].loss == pytest.approx(made[0].loss, rel=1e-5)


@pytest.mark.parametrize("family", ["ellipsoid", "gaussian", "diagonal_gaussian", "k_norm"])
@pytest.mark.parametrize("loss", ["squared", "max"])
def test_a_row_that_costs_almost_nothing_is_served_all_the_same(family: str, loss: str) -> None:
    """Without weights the small rows hardly count: the design is about that of the large one alone, and its bound is true."""
    units = np.array([1.0, 1e9, 1e-9])
    problem = Problem(Workload(QUERIES * units[:, None]), PLANE, notion(family), loss=loss)
    made = design(problem, family)
    alone = design(Problem(Workload(QUERIES[1:2] * 1e9), PLANE, notion(family), loss=loss), family)
    assert made.privacy.holds and np.isfinite(made.mechanism.query_variances()).all()
    if made.optimality is not None:
        assert made.optimality.lower_bound <= made.loss * (1 + 1e-9)
        factor = {"ellipsoid": 2.0}.get(family, 1.0)  # (s + 1) / 2 for three dimensions in the place of one
        assert made.loss <= 1.01 * factor * alone.loss


def test_queries_that_nearly_repeat_others_are_refused_in_words_about_them() -> None:
    """Not with what a solver says of a program that it solved."""
    near = np.vstack([QUERIES[:2], QUERIES[0] + QUERIES[1] * (1 + 1e-15)])
    for family in ("ellipsoid", "gaussian", "k_norm"):
        try:
            made = design(Problem(Workload(near), PLANE, notion(family)), family)
        except DesignFailed as refused:
            assert "Solved" not in str(refused)
        else:
            assert made.privacy.holds


def test_points_take_whole_numbers_of_any_size_as_they_are() -> None:
    """Lists with numbers on both sides of 2^63 are floats to numpy."""
    made = Points.of([[Fraction(1, 2**63 + 3), 1], [Fraction(5, 7), 2**64]])
    assert made.fractions() == [(Fraction(1, 2**63 + 3), 1), (Fraction(5, 7), 2**64)]
    with pytest.raises(ValueError, match="integers are needed"):
        Points.from_integers([[1.0, 2.0]])


@pytest.mark.parametrize("seed", range(4))
def test_a_hull_in_other_units_is_the_same_hull(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-9, 10, (12, 3)).astype(float)
    exponents = rng.integers(-60, 61, 3)
    plain, other = convex_hull(Points.of(rows)), convex_hull(Points.of(rows * 2.0**exponents))
    assert other.volume == plain.volume * Fraction(2) ** int(exponents.sum())
    back = Points.of(
        [[x / Fraction(2) ** int(e) for x, e in zip(row, exponents, strict=True)] for row in other.vertices.fractions()]
    )
    assert sorted(back.fractions()) == sorted(plain.vertices.fractions())
    z = rng.normal(size=(5, 3))
    assert other.gauge(z * 2.0**exponents) == pytest.approx(plain.gauge(z), rel=1e-12)
    assert sum(other.integer_weights) > 0 and math.isclose(other.weights.sum(), 1.0)
    u = np.ldexp(np.asarray(plain.second_moment), exponents[:, None] + exponents[None, :])
    assert other.second_moment == pytest.approx(u, rel=1e-12)
