"""Poisson sampling against all samples written out, the closed form, and another accountant."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from designer.base.errors import InvalidProblem
from designer.tradeoff.account import Account
from designer.tradeoff.comparison import Subsampled, poisson_subsampled, sampled_epsilon, shortfall, tradeoff_from_spec
from designer.tradeoff.functions import EpsilonDelta, Gaussian, LaplaceTradeoff
from designer.tradeoff.piecewise import from_distributions

ALPHAS = np.linspace(0, 1, 201)


def noisy_count(records: int, ratio: Fraction, rate: Fraction) -> list[Fraction]:
    """The exact law of a sampled count plus two-sided geometric noise, clamped to -3 .. 6: every sample written out."""

    def reaches(place: int) -> Fraction:
        """The probability that noise is at least that."""
        tail = ratio ** abs(place) / (1 + ratio)
        return tail if place > 0 else 1 - tail * ratio

    law = [Fraction(0)] * 10
    for drawn in product((0, 1), repeat=records):
        weight = math.prod((rate if d else 1 - rate for d in drawn), start=Fraction(1))
        ends = [Fraction(1), *(reaches(place - sum(drawn)) for place in range(-2, 7)), Fraction(0)]
        law = [mass + weight * (left - right) for mass, left, right in zip(law, ends, ends[1:], strict=False)]
    return law


@pytest.mark.parametrize("records", [0, 2])
def test_every_sample_of_a_small_release(records: int) -> None:
    """Whatever records are beside it, the one that appears is protected as promised, in both directions."""
    rate, ratio = Fraction(1, 5), Fraction(1, 2)
    without, with_it = (noisy_count(n, ratio, rate) for n in (records, records + 1))
    exact = from_distributions(without, with_it)
    promised = poisson_subsampled(EpsilonDelta(Fraction(math.log(2)) + Fraction(1, 10**15)), rate)
    assert shortfall(exact, promised) is None
    account = Account.of([(promised, 1)])
    for slope in (Fraction(1), Fraction(11, 10)):
        found = account.delta_at(math.log(slope))
        assert max(exact.exact_delta(slope), exact.inverse().exact_delta(slope)) <= found * (1 + 1e-12)
    if not records:
        assert float(exact.exact_delta(Fraction(11, 10))) == pytest.approx(promised.delta_at(math.log(1.1)), rel=1e-9)


@pytest.mark.parametrize("base", [EpsilonDelta(1), EpsilonDelta("1/2", "1/100"), Gaussian.of(1), LaplaceTradeoff(1)])
def test_the_function_and_its_delta(base: EpsilonDelta) -> None:
    f = poisson_subsampled(base, "1/4")
    assert f.type_two(ALPHAS) == pytest.approx(0.25 * base.type_two(ALPHAS) + 0.75 * (1 - ALPHAS), abs=1e-14)
    assert f.power(ALPHAS) == pytest.approx(1 - f.type_two(ALPHAS), abs=1e-14)
    fine = np.linspace(0, 1, 100_001)
    for epsilon in (-0.5, -0.1, 0.0, 0.2, 0.4):
        gap = (1 - f.type_two(fine) - math.exp(epsilon) * fine).max()
        assert gap - 1e-14 <= f.delta_at(epsilon) <= gap + 1e-4
    assert not f.symmetric and tradeoff_from_spec(f.to_spec()) == f


def test_pure_and_approximate_promises_have_the_closed_form() -> None:
    for epsilon, delta, rate in ((1, 0, "1/10"), (3, "1e-5", "1/2")):
        account = Account.of([poisson_subsampled(EpsilonDelta(epsilon, delta), rate)])
        least = sampled_epsilon(epsilon, rate)
        assert least == pytest.approx(math.log1p(float(Fraction(rate)) * math.expm1(epsilon)), rel=1e-15)
        assert account.delta_at(least) == pytest.approx(float(Fraction(rate)) * float(Fraction(delta)), abs=1e-15)
        assert account.delta_at(least * 0.99) > account.delta_at(least)
    assert sampled_epsilon(1e300, "1/2") == pytest.approx(1e300) and sampled_epsilon(1, 0) == 0.0
    assert sampled_epsilon(1e-300, "1/2") == pytest.approx(5e-301) and sampled_epsilon(2, 1) == 2.0


def test_samples_of_samples_and_whole_ones() -> None:
    once = poisson_subsampled(Gaussian.of(1), "1/2")
    assert poisson_subsampled(once, "1/5") == poisson_subsampled(Gaussian.of(1), "1/10")
    assert poisson_subsampled(Gaussian.of(1), 1) == Gaussian.of(1)
    assert poisson_subsampled(Gaussian.of(1), 0).trivial and Account.of([poisson_subsampled(Gaussian.of(1), 0)]).factors == ()


def test_against_dp_accounting_where_both_directions_matter() -> None:
    library = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    account = Account.of([(poisson_subsampled(Gaussian.of(1), "1/10"), 8)])
    theirs = library.from_gaussian_mechanism(1.0, sampling_prob=0.1, value_discretization_interval=1e-3).self_compose(8)
    for epsilon in (0.5, 1.0):
        assert account.delta_at(epsilon) == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=5e-3)


def test_refusals() -> None:
    with pytest.raises(InvalidProblem, match=r"relation: 'replace_one'; sampling is proven .*group\(2\)"):
        poisson_subsampled(Gaussian.of(1), "1/2", "replace_one")
    with pytest.raises(InvalidProblem, match=r"rate: 2\.0 must be at least 0 and at most 1"):
        poisson_subsampled(Gaussian.of(1), 2)
    with pytest.raises(InvalidProblem, match="give the product of the rates"):
        Subsampled(Subsampled(Gaussian.of(1), Fraction(1, 2)), Fraction(1, 2))
