"""The tradeoff functions of Laplace noise, continuous and discrete, against their laws and the other promises."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from designer.base.errors import InvalidProblem
from designer.promises.kinds import tradeoff_from_spec
from designer.promises.laplace import LaplaceTradeoff, discrete_laplace
from designer.promises.order import Strength, compare_tradeoffs
from designer.promises.piecewise import from_distributions, ladder, piecewise_above, piecewise_below
from designer.promises.tradeoff import EpsilonDelta, Gaussian, Tradeoff
from solvers.exact.balls import rational_ball

ALPHAS = np.linspace(0.0, 1.0, 201)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_it_is_that_of_the_moved_law(epsilon: float) -> None:
    f = LaplaceTradeoff(epsilon)
    by_threshold = stats.laplace.cdf(stats.laplace.isf(ALPHAS) - epsilon)
    assert f.type_two(ALPHAS) == pytest.approx(by_threshold, abs=1e-14)
    assert f.power(ALPHAS) == pytest.approx(1 - by_threshold, abs=1e-13)
    assert float(f.power(1e-300)) == pytest.approx(math.exp(epsilon) * 1e-300)
    for alpha in map(Fraction, (0, "1/20", "1/3", "1/2", "3/4", 1)):
        ball = f.ball(rational_ball(alpha), rational_ball(1 - alpha))
        assert float(ball) == pytest.approx(float(f.type_two(float(alpha))), abs=1e-14)
    x = np.linspace(-40, 40, 400_001)
    for at in (0.0, 0.2, 0.9):
        excess = stats.laplace.pdf(x - epsilon) - math.exp(at) * stats.laplace.pdf(x)
        assert f.delta_at(at) == pytest.approx(np.maximum(0, excess).sum() * (x[1] - x[0]), abs=1e-4)


def test_a_ball_that_straddles_a_corner_covers_both_sides() -> None:
    from flint import arb

    f = LaplaceTradeoff(1)
    for corner in (math.exp(-1) / 2, 0.5):
        wide = arb(corner, 1e-3)
        found = f.ball(wide, 1 - wide)
        for alpha in (corner - 9e-4, corner, corner + 9e-4):
            assert found.contains(f.ball(arb(alpha), 1 - arb(alpha)))


def test_group_is_composition_of_functions() -> None:
    f, x = LaplaceTradeoff("1/2"), 1 - ALPHAS
    for size in (2, 3):
        twice = x
        for _ in range(size):
            twice = f.paper_convention(twice)
        assert f.group(size).type_two(ALPHAS) == pytest.approx(twice, abs=1e-13)
    assert f.group(4) == LaplaceTradeoff(2)


@pytest.mark.parametrize("steps", [1, 2, 3, 8])
def test_discrete_noise_is_that_of_its_law(steps: int) -> None:
    """On integers from -300 to 300: what is beyond has a mass below 1e-30, so all of it may be added at the ends."""
    places, unit = np.arange(-300, 301), 0.25
    null, moved = (np.exp(-unit * np.abs(places - shift)) for shift in (0, steps))
    law = from_distributions(null.tolist(), moved.tolist())
    f = discrete_laplace(Fraction(unit) * steps, steps)
    assert f.type_two(ALPHAS) == pytest.approx(law.type_two(ALPHAS), abs=1e-12)
    by_composition = 1 - ALPHAS
    for _ in range(steps):
        by_composition = EpsilonDelta(unit).paper_convention(by_composition)
    assert f.type_two(ALPHAS) == pytest.approx(by_composition, abs=1e-13)


def test_more_steps_are_a_stronger_promise_up_to_the_continuous_one() -> None:
    rising: list[Tradeoff] = [*(discrete_laplace(1, steps) for steps in (1, 2, 4, 64)), LaplaceTradeoff(1)]
    for weaker, stronger in pairwise(rising):
        assert compare_tradeoffs(stronger, weaker).order is Strength.STRONGER
    # Beyond 4096 the largest divisor up to it stands in: below, and of the same epsilon.
    many = discrete_laplace(1, 3 * 4097)
    assert many == discrete_laplace(1, 723) and many.largest_loss() == 1
    assert discrete_laplace(1, 8209) == EpsilonDelta(1)  # a prime number of steps


def test_order_with_other_promises() -> None:
    f = LaplaceTradeoff(1)
    mu = -2 * stats.norm.ppf(math.exp(-0.5) / 2)  # equal fixed points
    assert compare_tradeoffs(f, Gaussian.of(mu * (1 + 1e-12))).order is Strength.STRONGER
    short = compare_tradeoffs(f, Gaussian.of(mu * (1 - 1e-12)))
    assert short.order is Strength.INCOMPARABLE and short.below_at == pytest.approx(math.exp(-0.5) / 2)
    weak = compare_tradeoffs(Gaussian.of("1/10"), f)
    assert weak.order is Strength.INCOMPARABLE and weak.below_at is not None
    assert Gaussian.of("1/10").power(weak.below_at) > f.power(weak.below_at)
    assert compare_tradeoffs(LaplaceTradeoff(2), f).order is Strength.WEAKER
    assert compare_tradeoffs(f, EpsilonDelta("1/2")).order is Strength.WEAKER
    assert compare_tradeoffs(f, EpsilonDelta(1)).order is Strength.STRONGER
    assert compare_tradeoffs(LaplaceTradeoff(0), Gaussian.of(0)).order is Strength.EQUAL


def test_bounds_by_lines_and_the_round_trip() -> None:
    f = LaplaceTradeoff("3/2")
    below, above = piecewise_below(f, ladder("3/2", 20)), piecewise_above(f, [Fraction(i, 60) for i in range(61)])
    assert (below.type_two(ALPHAS) <= f.type_two(ALPHAS) + 1e-15).all()
    assert (above.type_two(ALPHAS) >= f.type_two(ALPHAS) - 1e-15).all()
    assert tradeoff_from_spec(f.to_spec()) == f and LaplaceTradeoff(0).trivial
    with pytest.raises(InvalidProblem, match=r"epsilon: -1\.0 must be at least 0"):
        LaplaceTradeoff(-1)
    with pytest.raises(InvalidProblem, match="steps: 0 is not a whole number"):
        discrete_laplace(1, 0)
