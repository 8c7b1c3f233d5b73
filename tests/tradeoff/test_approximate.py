"""What lengths (b, delta) allows: against 80-digit arithmetic, a law on two points, and the bounds that scans rely on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from designer import InvalidProblem
from designer.tradeoff.conversions import gdp_mu, largest_mu
from designer.tradeoff.delta_rule import DISTINCT, LARGEST_TOLD, ROUNDING, GaussianAllowance, PureAllowance, checked_delta

# b, delta, and the root m of Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) = delta, bisected by mpmath with 80 digits.
ROOTS = [
    (1, 1e-06, "0.2367043806634357091278329"),
    (0, 1e-06, "0.000002506628274631656622733842"),
    (0.1, 1e-06, "0.02754465024382762165051201"),
    (0.1, 1e-09, "0.01991642341268146727175532"),
    (0.5, 1e-05, "0.1422105586692612232159965"),
    (4, 1e-06, "0.8378587570899980563513916"),
    (10, 1e-09, "1.537877336814539962048735"),
    (100, 1e-05, "10.56301871981593503768273"),
    (2, 0.9, "4.102836371809041281759337"),
    (0.25, 0.25, "0.8525490851968152009646759"),
    (1, 1e-100, "0.04759772147739076488338817"),
]
MILLIONTH = GaussianAllowance(Fraction(1e-6))


@pytest.mark.parametrize(("budget", "delta", "root"), ROOTS)
def test_the_length_is_the_float_below_the_root(budget: float, delta: float, root: str) -> None:
    found, exact = largest_mu(Fraction(budget), Fraction(delta)), Fraction(root)
    assert Fraction(found) <= exact < Fraction(math.nextafter(found, math.inf))
    assert found == gdp_mu(budget, delta)


def test_a_length_spends_its_delta_and_its_budget_and_the_next_float_spends_more() -> None:
    for budget in (Fraction(0), Fraction(1, 10), Fraction(1), Fraction(30)):
        length = MILLIONTH.most(budget)
        assert 1e-6 * (1 - 1e-12) < MILLIONTH.spent_delta(length, budget) <= 1e-6
        assert MILLIONTH.spent_delta(math.nextafter(float(length), 2 * float(length) + 1), budget) > 1e-6
        assert MILLIONTH.spent_budget(float(length)) == pytest.approx(float(budget), abs=1e-12)
    assert MILLIONTH.spent_budget(0.0) == 0.0


def test_budgets_beyond_those_that_are_told_count_as_the_largest() -> None:
    assert MILLIONTH.most(Fraction(10) ** 200) == MILLIONTH.most(Fraction(LARGEST_TOLD))
    assert MILLIONTH.floats(np.array([1e200, math.inf])).tolist() == [float(MILLIONTH.most(Fraction(LARGEST_TOLD))), math.inf]


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.3])
def test_float_lengths_are_within_their_error(delta: float) -> None:
    law, generator = GaussianAllowance(Fraction(delta)), np.random.default_rng(1)
    few, many = np.exp(generator.uniform(-6, 6, DISTINCT)), np.exp(generator.uniform(-0.5, 0.5, (40, 50)))
    few[0] = many[0, 0] = 0.0
    assert law.exact_on(few) and not law.exact_on(many)
    for budgets, error in ((few[:40], ROUNDING), (many, law.error)):
        floats = law.floats(budgets).ravel()
        for k in generator.integers(0, budgets.size, 40).tolist():
            exact = law.most(Fraction(float(budgets.ravel()[k])))
            assert abs(Fraction(float(floats[k])) - exact) <= Fraction(error) * exact


def test_lengths_are_concave_in_the_budget_and_bent_no_more_than_the_interpolation_allows() -> None:
    """The proof in docs/theory/approximate.md, 3: `0 <= -b^2 m'' <= 2 m`, seen in second differences over a wide range."""
    for delta in (1e-30, 1e-6, 0.2, 0.7):
        for b in (1e-8, 1e-3, 0.1, 1.0, 10.0, 1000.0):
            step = b / 64
            below, here, above = (float(largest_mu(Fraction(x), Fraction(delta))) for x in (b - step, b, b + step))
            assert -2.1 * here / b**2 <= (above - 2 * here + below) / step**2 <= 1e-9 * here / step**2
            assert here <= above <= here * (b + step) / b


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.4])
@pytest.mark.parametrize("budget", [0.0, 0.1, 1.0, 5.0])
def test_randomised_response_spends_the_whole_delta_of_its_length(budget: float, delta: float) -> None:
    """A law on two points with ratios e^m and e^-m: its delta at b by enumeration of the four events."""
    law = PureAllowance(Fraction(delta))
    length = float(law.most(Fraction(budget)))
    p = 1 / (1 + math.exp(-length))
    spent = max(x - math.exp(budget) * y for x, y in ((0, 0), (p, 1 - p), (1 - p, p), (1, 1)))
    assert spent == pytest.approx(delta, rel=1e-6)
    assert length >= budget and law.floats(np.array([budget]))[0] == pytest.approx(length, rel=1e-13)
    assert law.spent_delta(length, budget) <= delta
    assert law.spent_budget(length) == pytest.approx(budget, abs=1e-12)


def test_the_length_agrees_with_floats_of_scipy() -> None:
    m = float(MILLIONTH.most(Fraction(1)))
    assert norm.cdf(m / 2 - 1 / m) - math.e * norm.cdf(-m / 2 - 1 / m) == pytest.approx(1e-6, rel=1e-9)


@pytest.mark.parametrize("delta", [0, 1, -1e-6, 2, math.nan, math.inf, "small", True, 1e-101, None])
def test_what_is_no_delta_is_refused(delta: object) -> None:
    with pytest.raises(InvalidProblem, match=r"problem\.delta"):
        checked_delta(delta, "problem.delta")
