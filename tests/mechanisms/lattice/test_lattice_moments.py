"""Moments of lattice noise that are summed, against sums over all small tables and against draws."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from designer import Problem, Workload, design, invariants

QUERIES = Workload([[1.0, 0, 0, 0, 0, 0], [1, 2, 0, 0, 0, 0], [0, 0, 3, 1, 0, 0]])


def tables(reach: int) -> np.ndarray:
    """All integer 2 x 3 tables without margins whose first two cells are at most `reach`, (n, 6)."""
    return np.array([[a, b, -a - b, -a, -b, a + b] for a, b in product(range(-reach, reach + 1), repeat=2)], dtype=float)


@pytest.mark.parametrize(
    ("family", "shape", "budget"),
    [
        ("lattice_laplace", "l1", 3.0),
        ("lattice_laplace", "l2", 8.0),
        ("lattice_laplace", "ellipsoid", 2.0),
        ("lattice_gaussian", "l2", 1.0),
        ("lattice_gaussian", "ellipsoid", 0.5),
    ],
)
def test_moments_are_the_sums_over_all_tables(family: str, shape: str, budget: float) -> None:
    notion: Any = "zcdp" if family == "lattice_gaussian" else "pure"
    relation = invariants.margins((2, 3)).protect(budget)
    made = design(Problem(QUERIES, relation, notion), family, shape=shape).mechanism
    z = tables(90)
    image = z[:, made.columns] @ np.atleast_2d(made.norm.factor).T
    lengths = np.abs(image).sum(axis=1) if shape == "l1" else np.sqrt((image**2).sum(axis=1))
    law = np.exp(-lengths if notion == "pure" else -(lengths**2) / 2)
    answers = z @ QUERIES.dense().T
    assert made.simulated_draws == 0
    assert made.covariance() == pytest.approx((answers.T * law) @ answers / law.sum(), rel=1e-9)
    assert made.query_mean_absolutes() == pytest.approx(law @ np.abs(answers) / law.sum(), rel=1e-9)
    assert made.standard_errors() == pytest.approx(np.sqrt(made.query_variances()), rel=1e-7)


def test_noise_that_hardly_ever_moves_has_its_error() -> None:
    """At a budget of 12 no draw of 20,000 need move: e^-12 for each of two signs, four cells by one."""
    made = design(Problem(Workload.identity(4), invariants.margins((2, 2)).protect(12.0)), "lattice_laplace").mechanism
    assert made.error() == pytest.approx(4 / (2 * np.sinh(6.0) ** 2), rel=1e-9)


@pytest.mark.slow
def test_draws_of_a_hull_agree_with_the_sums() -> None:
    """Mean squares of 20,000 draws lie within 5 standard errors, which fails with probability 6e-7 for each of 9 cells."""
    made = design(Problem(Workload.identity(9), invariants.margins((3, 3)).protect(4.0, 2)), "lattice_laplace", shape="hull")
    squares = np.asarray(made.mechanism.simulate(20_000, seed=2)) ** 2
    off = squares.mean(axis=0) - made.mechanism.query_variances()
    assert made.mechanism.simulated_draws == 0 and (np.abs(off) < 5 * squares.std(axis=0) / 20_000**0.5).all()


def test_wide_noise_is_simulated() -> None:
    made = design(Problem(Workload.identity(25), invariants.margins((5, 5)).protect(0.1, 2)), "lattice_laplace", shape="l2")
    assert made.mechanism.simulated_draws == 20_000
