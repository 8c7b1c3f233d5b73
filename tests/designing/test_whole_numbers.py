"""Whole numbers for whole numbers: the families that give them, the variances of one count, older specs, other notions."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import AdditiveMechanism, Problem, Workload, design, invariants, load, metrics, programs
from designer.certificate.norms import weighted_l1
from designer.mechanism.noise import Grid

# Of the two-sided geometric law, digit by digit: `sum z^2 e^(-b |z|) / sum e^(-b |z|)`.
PUBLISHED = {1.0: 1.8413, 2.0: 0.36203, 4.0: 0.038009, 8.0: 0.00067138}


def variance_by_sums(budget: float) -> Fraction:
    """The law itself, summed in rationals with `e^-b` a rational of 60 bits."""
    a = Fraction(round(math.exp(-budget) * 2**60), 2**60)
    masses = [a**z for z in range(math.ceil(60 / budget))]
    return 2 * sum((z * z * mass for z, mass in enumerate(masses)), Fraction(0)) / (2 * sum(masses) - 1)


def geometric(weight: float) -> float:
    return 1 / (2 * math.sinh(weight / 2) ** 2)


@pytest.mark.parametrize("budget", PUBLISHED)
@pytest.mark.parametrize("family", ["laplace", "strategy_1", "strategy_2", "strategy_3", "uniform_budget"])
def test_one_count_has_the_variance_of_the_geometric_law(family: str, budget: float) -> None:
    made = design(Problem(Workload([[1.0, 0.0]]), metrics.add_remove(2, budget)), family)
    assert made.error == pytest.approx(float(variance_by_sums(budget)), rel=1e-8)
    assert made.error == pytest.approx(PUBLISHED[budget], rel=1e-4)
    assert all(float(made.mechanism.release([7, 5]).answers[0]).is_integer() for _ in range(10))


@pytest.mark.parametrize("budget", [1.0, 4.0])
def test_projected_and_group_noise_starts_from_whole_numbers(budget: float) -> None:
    """Two cells under their total: scale `2 / epsilon`; projected onto (1, -1) each keeps half of the variance."""
    problem = Problem(Workload.identity(2), invariants.total(2).protect(epsilon=budget))
    variance = geometric(budget / 2)
    assert design(problem, "group_laplace").error == pytest.approx(2 * variance, rel=1e-9)
    projected = design(problem, "projected_laplace").mechanism
    assert projected.error() == pytest.approx(variance, rel=1e-9)
    answers = np.array([projected.release([3, 4]).answers for _ in range(10)])
    np.testing.assert_allclose(answers.sum(axis=1), 7)
    np.testing.assert_allclose(2 * answers, np.rint(2 * answers), atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
@pytest.mark.parametrize("seed", range(4))
def test_the_program_in_cvxpy_has_the_loss_on_whole_numbers(loss: Any, seed: int) -> None:
    """Budgets from 1 to 20, so that noise is narrow beside the units; both solvers, each within the bound of the other."""
    generator = np.random.default_rng(seed)
    matrix = generator.integers(-4, 5, (3, 6)) * np.array([[1.0], [3.0], [0.25]])
    matrix[:, 0] += [1, 3, 0.25]
    problem = Problem(Workload(matrix), metrics.add_remove(6, generator.uniform(1, 20, 6)), loss=loss, weights=[1.0, 2.0, 0.5])
    own, made = design(problem, "laplace"), programs.laplace(problem).design()
    assert own.optimality is not None and made.optimality is not None
    assert made.loss == pytest.approx(own.loss, rel=2e-6)
    assert own.optimality.gap <= 1e-8 and made.optimality.gap <= 1e-5
    assert made.optimality.lower_bound <= own.loss * (1 + 1e-9)


def test_specs_of_fine_grids_load_unchanged(tmp_path: Path) -> None:
    """One count on steps of 2^-40, as designs were: the same noise, and not that of whole numbers."""
    one, relation = Workload([[1.0]]), metrics.add_remove(1, 4.0)
    old = AdditiveMechanism("laplace", one, relation, weighted_l1([4.0]), Grid((-42,)))
    again = load(old.save(tmp_path / "old.json"), AdditiveMechanism)
    assert again == old and again.fingerprint == old.fingerprint and again.grid.exponents == (-42,)
    assert again.error() == pytest.approx(2 / 16, rel=1e-9)
    assert design(Problem(one, relation), "laplace").error < 0.31 * again.error()


def test_units_and_constants_come_back_from_a_spec(tmp_path: Path) -> None:
    workload = Workload([[1 / 3, 2 / 3, 0], [1, 3, 5]], queries=["thirds", "odd"])
    made = design(Problem(workload, metrics.uniform(3, 2.0)), "laplace").mechanism
    again = load(made.save(tmp_path / "units.json"), AdditiveMechanism)
    assert again == made and again.fingerprint == made.fingerprint and again.privacy.holds
    np.testing.assert_array_equal(again.query_variances(), made.query_variances())
    np.testing.assert_allclose(again.effective, workload.dense(), atol=1e-15)
    thirds, odd = again.release([3, 1, 2]).answers
    assert 3 * thirds == pytest.approx(round(3 * thirds)) and odd % 2 == 0  # six records, each with an odd number


def test_absolute_errors_of_sums_are_those_of_the_law_of_the_sum() -> None:
    """Of two whole variables with `P(z) ~ a^|z|`, half their difference."""
    made = design(Problem(Workload.identity(2), invariants.total(2).protect(epsilon=6.0), loss="absolute"), "projected_laplace")
    places = np.arange(-40, 41)
    mass = np.exp(-3.0 * np.abs(places))
    mass /= mass.sum()
    expected = float((np.abs(places[:, None] - places) / 2 * np.outer(mass, mass)).sum())
    assert made.loss == pytest.approx(2 * expected, rel=1e-6)


def test_exponential_noise_under_a_delta_is_whole_too() -> None:
    problem = Problem(Workload([[1.0]]), metrics.add_remove(1, 2.0), notion="approximate", delta=1e-6)
    made = design(problem, "laplace")
    assert made.mechanism.grid.exponents == (0,) and made.error < geometric(2.0)
    assert made.optimality is not None and made.optimality.lower_bound <= made.loss * (1 + 1e-12)
    assert made.optimality.gap < 1e-8
