"""Masses on ladders, coarse ones, are on their side of the exact product at every slope, in both directions."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from designer.tradeoff.account import Tails
from designer.tradeoff.comparison import Subsampled
from designer.tradeoff.functions import EpsilonDelta, Tradeoff
from designer.tradeoff.loss_distribution import Laddered, Rungs, curve_of, laddered, laddered_atoms
from designer.tradeoff.piecewise import PiecewiseLinear, from_distributions

BITS = 128


def random_law(generator: np.random.Generator) -> PiecewiseLinear:
    null, alternative = ([*generator.integers(0, 7, 4).tolist(), 1] for _ in range(2))
    return from_distributions(null, alternative)


def on_ladder(function: Tradeoff, step: Fraction, atoms: bool, above: bool, backwards: bool) -> Laddered:
    """Both ways: by its atoms, or by delta at the rungs alone, as what is not piecewise linear is."""
    if atoms:
        return laddered_atoms(function, step, BITS, above=above, backwards=backwards)
    curve = curve_of(function)
    return laddered(curve, Rungs.of(curve, step, BITS), above=above, backwards=backwards)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("atoms", [True, False], ids=["atoms", "curve"])
def test_coarse_ladders_err_to_their_side(seed: int, atoms: bool) -> None:
    generator = np.random.default_rng(seed)
    f, g = random_law(generator), random_law(generator)
    rate, step = Fraction(int(generator.integers(1, 10)), 10), Fraction(int(generator.integers(1, 41)), 100)
    # The sampled function written out, so that the product is exact.
    exact = PiecewiseLinear(f.alphas, tuple(rate * beta + (1 - rate) * (1 - alpha) for alpha, beta in f.points)) @ g
    for backwards in (False, True):
        joint = exact.inverse() if backwards else exact
        low, high = (
            Tails.of([(on_ladder(x, step, atoms, above, backwards), 1) for x in (Subsampled(f, rate), g)], step)
            for above in (False, True)
        )
        for epsilon in (Fraction(-1, 2), Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2)):
            delta = float(joint.exact_delta(Fraction(math.exp(epsilon))))
            assert low.delta(epsilon) <= delta * (1 + 1e-12) + 1e-16
            assert high.delta(epsilon) >= delta * (1 - 1e-12) - 1e-16


@pytest.mark.parametrize("bits", [30, 37, 45])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1, 3)])
def test_masses_are_rounded_to_their_side(bits: int, epsilon: Fraction) -> None:
    """Of a pure promise on rungs at its own epsilon nothing but the rounding is between the bounds:
    `delta(0) = tanh(epsilon/2)`, which is irrational, and they are 16 units of the masses apart at most."""
    curve = curve_of(EpsilonDelta(epsilon))
    low, high = (
        Tails.of([(laddered(curve, Rungs.of(curve, epsilon, bits), above=above, backwards=False), 1)], epsilon)
        for above in (False, True)
    )
    exact = math.tanh(epsilon / 2)
    assert low.delta(Fraction(0)) < exact < high.delta(Fraction(0)) < low.delta(Fraction(0)) + 16 * 2.0**-bits


@pytest.mark.parametrize("known", [True, False], ids=["largest loss known", "sought"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("null", "alternative"), [([0, 3, 5, 2], [4, 1, 2, 3]), ([4, 1, 2, 3], [1, 2, 7, 0])])
def test_what_one_law_never_has_is_counted_in_its_own_direction(
    null: list[int], alternative: list[int], backwards: bool, known: bool
) -> None:
    """Certain losses are those of outcomes that the null never has, backwards those that the alternative never has: a lower
    ladder ends at this mass, from below and no lower than a fine step explains."""
    law, step = from_distributions(null, alternative), Fraction(1, 200)
    curve = curve_of(law) if known else replace(curve_of(law), largest=None)
    joint = law.inverse() if backwards else law
    low = Tails.of([(laddered(curve, Rungs.of(curve, step, 60), above=False, backwards=backwards), 1)], step)
    for epsilon in (Fraction(1), Fraction(5), Fraction(20)):
        exact = float(joint.exact_delta(Fraction(math.exp(epsilon))))
        assert exact - 0.001 <= low.delta(epsilon) <= exact * (1 + 1e-12) + 1e-15


def test_an_atom_that_misses_a_rung_stays_below_it() -> None:
    """Randomised response on a ladder whose tenth rung is a thousandth of a step above its loss: nothing goes up to it, which
    would have to be counted as slack."""
    power = Fraction(math.log(3))
    lower = laddered_atoms(EpsilonDelta(power), power / Fraction(9999, 1000), BITS, above=False, backwards=False)
    assert lower.slack < Fraction(1, 10**8)
