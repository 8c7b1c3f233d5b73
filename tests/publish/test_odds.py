"""Odds in numbers for people: never below what is true, and near it."""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from designer import Problem, Workload, design, metrics
from designer.accounts.composition.terms import cost_of_budget
from designer.base.display import closest
from designer.publish.meanings import NO_LIMIT, PRIOR, RARE, Risk, above, below, chance_after, one_in, percent, shift, times
from designer.tradeoff.costs import Cost, TotalCost

BUDGETS = st.fractions(min_value=Fraction(1, 10**6), max_value=20)


def exponential(power: Fraction) -> Fraction:
    """`exp` to sixty digits, by the standard library."""
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(power.numerator) / Decimal(power.denominator)).exp())


def read(text: str) -> Fraction:
    return Fraction(re.sub("[^0-9.]", "", text))


@given(BUDGETS)
def test_the_factor_on_the_odds_is_never_understated(budget: Fraction) -> None:
    true, told = exponential(budget), read(times(budget))
    assert true <= told <= true * Fraction(102, 100)


@given(BUDGETS)
def test_the_shift_in_percent_is_never_understated(budget: Fraction) -> None:
    told, true = shift(budget), 100 * (exponential(budget) - 1)
    if "%" in told:
        assert true <= read(told.partition("%")[0]) <= true * Fraction(111, 100)
    else:
        assert told == times(budget) and true > 90


@given(BUDGETS, st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000)))
def test_a_chance_afterwards_is_that_of_the_rule_of_bayes(budget: Fraction, prior: Fraction) -> None:
    power = exponential(budget)
    true = prior * power / (1 - prior + prior * power)
    told = Fraction(chance_after(budget, prior))
    assert true <= told * (1 + Fraction(1, 10**50)) and told <= true * (1 + Fraction(1, 10**12))


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(min_value=1, max_value=8))
def test_rounded_numbers_stay_on_their_side(value: float, digits: int) -> None:
    def number(text: str) -> Fraction:
        mantissa, _, power = text.replace(",", "").partition(" times 10^")
        return Fraction(mantissa) * Fraction(10) ** int(power or 0)

    assert number(below(value, digits)) <= Fraction(value) <= number(above(value, digits))
    assert (
        number(above(value, digits)) - number(below(value, digits)) <= Fraction(value) * Fraction(10) ** (1 - digits) * 11 / 10
    )


@pytest.mark.parametrize("chance", [0.3, 0.05, 1e-6, Fraction(1, 7), Fraction(1, 19)])
def test_one_in_so_many_never_understates_a_chance(chance: float | Fraction) -> None:
    often = Fraction(one_in(chance).removeprefix("1 in ").replace(",", ""))
    assert Fraction(chance) <= 1 / often <= Fraction(chance) * Fraction(111, 100)
    assert read(percent(chance)) / 100 >= Fraction(chance)


def test_what_no_number_describes_is_said_in_words() -> None:
    assert times(Fraction(21)) == shift(Fraction(21)) == NO_LIMIT
    assert chance_after(Fraction(1000)) == 1.0 and above(math.inf) == "infinite" and one_in(0) == "never"
    assert above(0.0) == "0" and closest(Fraction(1, 3), 6) == "0.333333" and one_in(1e-20).startswith("less than")
    assert Risk(math.inf, RARE, 1.0).cells() == (NO_LIMIT, NO_LIMIT, "100 %")


def laplace_tables(budget: float) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of a noisy count before and after a change, written out far into the tails."""
    places = np.arange(-int(200 / budget), int(200 / budget) + 1)
    weights = np.exp(-budget * np.abs(places))
    before = weights / weights.sum()
    return before, np.roll(before, 1)


@pytest.mark.parametrize("budget", [0.05, 0.5, 1.0, 3.0])
def test_an_attacker_on_discrete_laplace_noise_gains_no_more_than_is_told(budget: float) -> None:
    """Against the best attacker by enumeration: odds, and the chance of what was likely with 1 in 20; guesses by the
    randomised response that has the same budget, which attains them."""
    made = design(Problem(Workload([[1.0]]), metrics.add_remove(1, budget)), "laplace").mechanism
    told = Risk.of(Cost.pure(Fraction(budget)))
    before, after = laplace_tables(budget)
    inner = slice(1, -1)
    assert made.privacy.holds and (before[inner] / after[inner]).max() <= float(read(times(told.exponent)))
    p = float(PRIOR)
    posterior = (p * before[inner] / (p * before[inner] + (1 - p) * after[inner])).max()
    assert posterior <= chance_after(told.exponent) * (1 + 1e-9)
    right = math.exp(budget) / (1 + math.exp(budget))
    guessed = 0.5 + np.abs(before[inner] - after[inner]).sum() / 4
    assert guessed <= right + 1e-12 and right <= told.guess <= right * (1 + 1e-9)


def chance_beyond(before: np.ndarray, after: np.ndarray, loss: float) -> float:
    """The chance, before the change, of an output whose likelihoods before and after are further apart than `exp(loss)`."""
    return float(before[np.abs(np.log(before) - np.log(after)) > loss * (1 + 1e-12)].sum())


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_odds_that_are_exceeded_with_a_chance_are_not_those_of_a_delta(epsilon: float, delta: float) -> None:
    """Rounded normal noise of a frozen (epsilon, delta) mechanism, its law written out: losses above epsilon are several times
    as frequent as delta says, and those above what is told are not."""
    made = design(Problem(Workload([[1.0]]), metrics.add_remove(1, epsilon), notion="approximate", delta=delta), "gaussian")
    (cost,) = (cost_of_budget(made.mechanism, Fraction(epsilon)),)
    mu = float(cost.mu_squared or 0) ** 0.5
    deviation, step = 1 / mu, 2.0 ** min(0, math.floor(math.log2(1 / (50 * mu))))  # any grid keeps the promise
    places = np.arange(-int(9 * deviation / step), int(9 * deviation / step) + 1)
    spread = norm(scale=deviation)
    before = interval(spread, places * step, step)
    after = interval(spread, places * step - 1, step)
    seen = (before > 0) & (after > 0)
    total = TotalCost((cost,))
    told = total.loss_at(Fraction(delta))
    assert told is not None and told > epsilon
    assert chance_beyond(before[seen], after[seen], told) <= delta * (1 + 1e-6)
    assert chance_beyond(before[seen], after[seen], epsilon) > 2 * delta
    # Near the best: that of continuous normal noise, whose loss is normal with mean mu^2 / 2 and deviation mu.
    assert told <= (mu * mu / 2 + mu * norm.isf(delta)) * 1.25


def interval(law: Any, places: np.ndarray, step: float) -> np.ndarray:
    """The probabilities of the cells around places, in the tail that is short, so that no digits cancel."""
    far = np.abs(places)
    return np.asarray(law.sf(far - step / 2) - law.sf(far + step / 2))


@settings(max_examples=8)
@given(st.lists(st.integers(min_value=1, max_value=60), min_size=3, max_size=9), st.data())
def test_the_loss_is_bounded_for_laws_of_few_outputs(weights: list[int], data: st.DataObject) -> None:
    """`P(|L| > c) <= p` for pairs of laws that keep rho, by enumeration: a law and itself with
    two weights exchanged."""
    i, j = data.draw(st.integers(0, len(weights) - 1)), data.draw(st.integers(0, len(weights) - 1))
    other = list(weights)
    other[i], other[j] = other[j], other[i]
    p, q = (np.array(w, dtype=np.float64) / sum(weights) for w in (weights, other))
    orders = np.concatenate([np.linspace(1.0001, 4, 40), np.geomspace(4, 4000, 40)])
    log_ratio = np.log(p) - np.log(q)
    sides = ((np.log(q), log_ratio), (np.log(p), -log_ratio))
    powers = orders[:, None]
    rho = max(float((logsumexp(base + powers * side, axis=1) / (orders - 1) / orders).max()) for base, side in sides)
    rho = max(rho * 1.02, 1e-9)  # between the orders that were tried
    total = TotalCost((Cost.concentrated(Fraction(rho)),))
    for chance in (Fraction(1, 100), Fraction(1, 10), Fraction(1, 3)):
        told = total.loss_at(chance)
        assert told is not None and chance_beyond(p, q, told) <= chance


@pytest.mark.parametrize("budget", [0.1, 0.5, 1.0, 2.0])
def test_an_attacker_on_normal_noise_gains_no_more_than_is_told(budget: float) -> None:
    """Against discrete normal noise written out: the delta at the epsilon that is told, and the best guess."""
    told = Risk.of(Cost.concentrated(Fraction(budget) ** 2 / 2))
    places = np.arange(-400, 401)
    weights = np.exp(-((places * budget) ** 2) / 2)
    before = weights / weights.sum()
    after = np.roll(before, 1)
    beyond = chance_beyond(before[1:-1], after[1:-1], float(told.exponent))
    assert beyond <= float(told.delta) == 1e-6
    assert 0.5 + np.abs(before - after)[1:-1].sum() / 4 <= told.guess
    assert "1 in 1,000,000" in told.but_for


def test_a_promise_with_a_large_delta_of_its_own_is_told_at_a_chance_that_it_bounds() -> None:
    """Against the laws that exceed a loss c most: a chance m with `m (1 - e^(epsilon - c)) = delta`, and `m e^-c` down."""
    told = Risk.of(Cost(epsilon=Fraction(1), delta=Fraction(1, 100)))
    most = 0.01 / (1 - math.exp(1 - float(told.epsilon)))
    assert told.delta == Fraction(4, 100) and 0.01 < most * (1 + math.exp(-float(told.epsilon))) <= 0.04
    loose = Risk.of(Cost.concentrated(Fraction(1, 2), Fraction(1, 1000)))
    normal = norm(0.5, 1)  # the loss of continuous normal noise of that rho, which all may happen with 999 of 1000
    assert loose.delta == Fraction(4, 1000) and normal.sf(float(loose.epsilon)) + normal.cdf(-float(loose.epsilon)) <= 0.003
    assert float(loose.epsilon) <= 0.5 + 2 * math.sqrt(0.5 * math.log(1000)) + math.log(2)
