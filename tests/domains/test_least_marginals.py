"""The least budgets for marginal tables: brute force over factors, closed forms, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from designer import DesignFailed, InvalidProblem, MarginalMechanism, MarginalWorkload, Presence, Targets, metrics
from designer.domains.marginals_least import least_marginal_budget, table_margins, weights_of
from designer.domains.marginals_plan import design_marginals
from designer.domains.mechanism import Protection
from designer.problem.domain import Domain
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY

DOMAIN = Domain.of({"age": 4, "sex": 2, "state": 5})
ASK = MarginalWorkload.up_to(DOMAIN, 2)
ATTRIBUTES = metrics.hamming(DOMAIN, {"age": 1, "sex": 0.5, "state": 1})


def error(made: MarginalMechanism, table: tuple[str, ...]) -> float:
    return float(np.sqrt(made.variances(table).max()))


def times(factor: float) -> Protection:
    return metrics.hamming(DOMAIN, [factor * budget for budget in ATTRIBUTES.budgets])


@pytest.mark.parametrize("most", [7.0, 40.0])
def test_brute_force_over_factors_finds_the_same(most: float) -> None:
    """Plans for the weights that the targets set, from scratch at each factor."""
    targets = {("age", "sex"): most, ("state",): most / 3}
    found = least_marginal_budget(ASK, ATTRIBUTES, Targets(standard_error=targets))
    assert found.mechanism.privacy.holds and found.missed_at < found.factor <= found.missed_at * (1 + found.step)
    assert found.lower_bound is not None and found.lower_bound <= found.factor <= found.lower_bound * 1.001
    assert found.rho_factor == found.factor**2 and max(found.reached.values()) <= most
    alone = MarginalWorkload.of(DOMAIN, {table: 1 / value**2 for table, value in targets.items()})
    for factor in found.factor * np.array([0.8, 0.99, 1.01, 1.3]):
        made = design_marginals(alone, times(float(factor)), "max")
        met = all(error(made, table) <= value for table, value in targets.items())
        assert met == (factor >= found.factor)


@pytest.mark.parametrize("most", [7.0, 40.0])
def test_a_coarse_step_proves_the_same_bound_of_the_factor(most: float) -> None:
    """In wide noise the bound is the least factor itself, however far above it the factor is that was met."""
    asked = Targets(standard_error={("age", "sex"): most, ("state",): most / 3})
    fine, coarse = (least_marginal_budget(ASK, ATTRIBUTES, asked, step=step) for step in (1e-6, 3.0))
    assert coarse.factor > 1.8 * fine.factor and fine.lower_bound <= fine.factor
    assert coarse.lower_bound == pytest.approx(fine.factor, rel=1e-5) == fine.lower_bound


def test_a_margin_in_wide_noise_asks_for_what_its_standard_error_does() -> None:
    """At 95 % a margin is 1.96 standard errors, and a little more for the integers that are drawn."""
    errors = {("age", "sex"): 90.0, ("state",): 30.0}
    mixed = Targets(margin={("age", "sex"): 1.959964 * 90}, standard_error={("state",): 30.0})
    by_error, by_margin = (least_marginal_budget(ASK, ATTRIBUTES, asked) for asked in (Targets(standard_error=errors), mixed))
    assert by_error.factor <= by_margin.factor <= 1.02 * by_error.factor
    weights = [weights_of(asked.of(ASK.titles)) for asked in (Targets(standard_error=30.0), Targets(margin=1.959964 * 30))]
    assert weights[0] == pytest.approx(1 / 900) and weights[1] == pytest.approx(1 / 900)


def test_one_attribute_needs_what_the_closed_form_says() -> None:
    """The histogram of one attribute under presence: a Gaussian of variance 1/b^2 in every cell, at most."""
    ask = MarginalWorkload.of(Domain.of({"age": 6}), [("age",)])
    for targets, factor in (
        (Targets(standard_error=30), 1 / 15),
        (Targets(relative_error=0.3, reference=100), 1 / 15),
    ):
        found = least_marginal_budget(ask, Presence(mu=0.5), targets, step=1e-6)
        assert found.factor == pytest.approx(factor, rel=1e-5)


def test_a_wide_and_a_narrow_table_are_bounded_each_by_its_own_noise() -> None:
    """a under a budget of 20 has next to no noise, b under 1/2 that of normal noise: 4 in each of 4 cells, whatever a has."""
    domain = Domain.of({"a": 4, "b": 4})
    ask = MarginalWorkload.of(domain, [("a",), ("b",)])
    found = design_marginals(ask, metrics.hamming(domain, {"a": 20, "b": 0.5})).optimality
    assert 4 * 4 * (1 - 1e-6) <= found.lower_bound <= found.value


def test_narrow_noise_is_judged_by_its_own_law() -> None:
    """Integers show: less budget than continuous noise would need, and a bound that speaks of integers."""
    found = least_marginal_budget(ASK, ATTRIBUTES, Targets(standard_error=0.3))
    assert 0.5 * found.factor < found.lower_bound < found.factor
    assert all(error(found.mechanism, tuple(name.split(" x "))) <= 0.3 for name in found.reached)


def test_margins_hold_for_the_tables_that_are_drawn() -> None:
    found = least_marginal_budget(ASK, ATTRIBUTES, Targets(margin={("age", "sex"): 20.0, ("state",): 10}))
    made, draws = found.mechanism, 400
    for table, most in ((("age", "sex"), 20.0), (("state",), 10.0)):
        margins = table_margins(made, table)
        assert margins.max() <= most and (margins >= 1.95 * np.sqrt(made.variances(table))).all()
        drawn = np.array([made.simulate(1, seed=seed)[0].table(table) for seed in range(draws)])
        assert ((np.abs(drawn) > margins).sum(axis=0) <= binom.isf(FAILURE_PROBABILITY, draws, 0.05)).all()


def test_bad_calls_are_refused() -> None:
    with pytest.raises(InvalidProblem, match="'sex x age' is no query"):
        least_marginal_budget(ASK, ATTRIBUTES, Targets(standard_error={("sex", "age"): 1.0}))
    with pytest.raises(InvalidProblem, match="give a MarginalWorkload"):
        least_marginal_budget("age", ATTRIBUTES, Targets(standard_error=1))  # type: ignore[arg-type]
    free = metrics.hamming(DOMAIN, {"age": math.inf, "sex": 0.5, "state": 1})
    with pytest.raises(DesignFailed, match="at every factor"):
        least_marginal_budget(ASK, free, Targets(standard_error={("age",): 1.0}))
