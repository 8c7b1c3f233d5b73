"""Discrete Gaussian noise on a fine grid costs hardly more than normal noise, and never less than it really does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from designer import Problem, StructuredWorkload, Workload, design, metrics
from designer.accounting import gdp_epsilon, zcdp_epsilon
from designer.accounts import composed, expense_of, spent
from designer.domains.products_plan import design_structured
from designer.domains.spec import DomainComposition
from designer.mechanism.composition import cost_of_falloff, near_normal
from designer.mechanism.spec import _fineness
from designer.problem.domain import Domain
from designer.tradeoff.costs import TotalCost, cost_of_tradeoff
from designer.tradeoff.functions import EpsilonDelta, Gaussian

FACTORS = {
    "one coordinate": np.array([[1 / 18]]),
    "coarser": np.array([[1 / 11]]),
    "two": np.array([[1 / 20, 1 / 35], [0.0, 1 / 25]]),
}


def exact_delta(factor: np.ndarray, shift: np.ndarray, epsilon: float) -> float:
    """By summation over a box of the whole numbers that holds all but 1e-12 of the law."""
    reach = int(9 / np.linalg.svd(factor)[1].min()) if len(factor) == 1 else 190
    sides = np.arange(-reach, reach + 1)
    points = np.stack(np.meshgrid(*[sides] * factor.shape[1], indexing="ij"), axis=-1).reshape(-1, factor.shape[1])
    mass = lambda z: np.exp(-((z @ factor.T) ** 2).sum(axis=1) / 2)  # noqa: E731
    here, there = mass(points), mass(points - shift)
    return float(np.maximum(here - np.exp(epsilon) * there, 0).sum() / here.sum())


@pytest.mark.parametrize("name", FACTORS)
def test_no_delta_is_below_the_one_of_the_law_and_all_are_near_it(name: str) -> None:
    factor = FACTORS[name]
    size = factor.shape[1]
    stiffness = np.linalg.norm(factor, 1) * np.linalg.norm(factor, np.inf)
    for shift in (np.eye(size, dtype=int)[0], 7 * np.eye(size, dtype=int)[-1], np.arange(3, 3 + size)):
        length = Fraction(float(np.linalg.norm(factor @ shift)) * (1 + 2**-40))
        cost = cost_of_falloff(None, "gaussian", length, (stiffness, size))
        assert cost.rho == length**2 / 2 and cost.shapes
        for epsilon in (0.0, 0.1, 0.3, 0.7, 1.5):
            told, exact = TotalCost((cost,)).delta_at(epsilon), exact_delta(factor, shift, epsilon)
            assert told >= exact * (1 - 1e-9) - 1e-12
            assert told <= TotalCost((cost_of_falloff(None, "gaussian", length),)).delta_at(epsilon)
            assert exact < 1e-9 or told < 1.6 * exact


def test_a_coarse_grid_has_no_more_than_its_zcdp() -> None:
    assert near_normal(Fraction(1), 1 / 30, 1) == () and near_normal(Fraction(1), 1 / 60, 1) != ()
    assert cost_of_falloff(None, "gaussian", Fraction(1), (1.0, 3)).shapes == ()


def test_forty_releases_cost_what_normal_noise_does_from_their_expenses_too() -> None:
    problem = Problem(Workload.identity(3), metrics.uniform(3, 0.25), notion="zcdp")
    mechanism = design(problem, "gaussian").mechanism
    tight = gdp_epsilon(2.5**0.5, 1e-6)
    assert round(tight, 3) == 8.306 and round(zcdp_epsilon(1.25, 1e-6), 3) == 8.846
    whole, added = composed(*[mechanism] * 40), spent([expense_of(mechanism)] * 40)
    assert whole.epsilon(1e-6) == pytest.approx(tight, rel=1e-9) and added.total.epsilon_at(1e-6) == whole.epsilon(1e-6)
    assert tight <= whole.epsilon(1e-6) and whole.epsilon() is None and float(whole.rho) == 1.25
    assert whole.epsilon(1e-6, records=2) == pytest.approx(gdp_epsilon(10**0.5, 1e-6), rel=1e-9)
    # Below the chances to tell all nothing but zCDP is left.
    assert whole.epsilon(1e-27) == zcdp_epsilon(1.25, 1e-27)


def test_the_fineness_of_a_grid_is_that_of_its_worst_direction() -> None:
    asked = Workload([[1.0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1]])
    mechanism = design(Problem(asked, metrics.uniform(4, 1.0), notion="zcdp"), "gaussian").mechanism
    told, size = _fineness(mechanism) or (0.0, 0)
    moved = mechanism.norm.factor * mechanism.grid.steps[~mechanism.norm.silent]
    assert size == moved.shape[1] > 1 and told >= np.linalg.eigvalsh(moved.T @ moved).max() > told / size**2


def test_chances_that_are_not_small_multiply_as_before() -> None:
    many = TotalCost((cost_of_tradeoff(EpsilonDelta(Fraction(0), Fraction(1, 100))),), (100,))
    assert many.delta_at(0) == pytest.approx(1 - 0.99**100, rel=1e-9)


def test_products_in_whole_numbers_count_what_changes_move_alone() -> None:
    domain = Domain.of({"age": 5, "sex": ["F", "M"]})
    asked = StructuredWorkload.tables(domain, [["age"], ["age", "sex"]], {"age": "prefix"})
    for budget, shaped in ((0.02, True), (1.0, False)):
        made = design_structured(asked, metrics.hamming(domain, [budget, budget]))
        assert made.noise == "gaussian"
        cost = DomainComposition().of_budget(made, Fraction(budget))
        assert bool(cost.shapes) == shaped and cost.rho == Fraction(budget) ** 2 / 2
        if shaped:
            assert isinstance(cost.shapes[0], Gaussian) and 2 * cost.rho < cost.shapes[0].mu_squared < 2 * cost.rho * Fraction(
                16, 15
            )
