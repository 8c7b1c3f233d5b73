"""The tradeoff functions of Laplace noise, continuous and discrete, against their laws and the other promises."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb
from scipy import integrate, stats

from designer.base.errors import InvalidProblem
from designer.tradeoff import conversions as acc
from designer.tradeoff.account import Account
from designer.tradeoff.comparison import Strength, compare_tradeoffs, tradeoff_from_spec
from designer.tradeoff.costs import Cost, cost_of_tradeoff
from designer.tradeoff.functions import EpsilonDelta, Gaussian, LaplaceTradeoff, Tradeoff, discrete_laplace
from designer.tradeoff.piecewise import from_distributions
from solvers.exact.balls import rational_ball, working_precision

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


def test_the_round_trip() -> None:
    f = LaplaceTradeoff("3/2")
    assert tradeoff_from_spec(f.to_spec()) == f and LaplaceTradeoff(0).trivial
    with pytest.raises(InvalidProblem, match=r"epsilon: -1\.0 must be at least 0"):
        LaplaceTradeoff(-1)
    with pytest.raises(InvalidProblem, match="steps: 0 is not a whole number"):
        discrete_laplace(1, 0)


def divergence_of_geometric(rate: float, steps: int, order: float) -> float:
    """The Renyi divergence of two-sided geometric noise from itself `steps` further, by its definition: sums over the integers
    in 120 digits, the two tails as geometric series."""
    with working_precision(400):
        a, r = arb(order), arb(rate)
        tail = 1 / (1 - (-r).exp())  # k <= 0 and k >= steps: |k| and |k - steps| rise together
        outer = [(-(1 - a) * r * steps).exp() * tail, (-a * r * steps).exp() * tail]
        between = [(-r * (a * k + (1 - a) * (steps - k))).exp() for k in range(1, steps)]
        return float((sum([*outer, *between]) * (r / 2).tanh()).log() / (a - 1))


def divergence_of_laplace(epsilon: float, order: float) -> float:
    """The same of the continuous law moved by epsilon scales, by quadrature over the line."""

    def height(x: float) -> float:
        return 0.5 * math.exp(-order * abs(x) - (1 - order) * abs(x - epsilon))

    parts = ((-60.0, 0.0), (0.0, epsilon), (epsilon, epsilon + 60.0))
    return math.log(sum(integrate.quad(height, *part, epsabs=0, epsrel=1e-13)[0] for part in parts)) / (order - 1)


ORDERS = (1 + 1e-9, 1.001, 1.1, 1.5, 2.0, 3.0, 7.0, 30.0, 1000.0)


@pytest.mark.parametrize(("rate", "steps"), [(r, m) for r in (0.01, 0.3, 1.0, 4.0) for m in (1, 2, 3, 10)])
def test_zcdp_of_discrete_laplace_noise_is_its_relative_entropy(rate: float, steps: int) -> None:
    proven = acc.laplace_rho(Fraction(rate) * steps, rate)
    by_order = [divergence_of_geometric(rate, steps, order) / order for order in ORDERS]
    assert max(by_order) <= proven
    assert by_order[0] == pytest.approx(proven, rel=1e-7)
    assert by_order == sorted(by_order, reverse=True)
    assert acc.laplace_rho(rate * steps) <= proven <= acc.pure_rho(rate * steps)
    if steps == 1:  # randomised response
        assert proven == acc.pure_rho(rate)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0, 12.0])
def test_zcdp_of_laplace_noise_is_its_relative_entropy(epsilon: float) -> None:
    proven = acc.laplace_rho(epsilon)
    by_order = [divergence_of_laplace(epsilon, order) / order for order in ORDERS[1:-1]]
    assert max(by_order) <= proven and by_order[0] == pytest.approx(proven, rel=5e-3)
    assert proven == pytest.approx(epsilon + math.exp(-epsilon) - 1, rel=1e-12)
    assert proven < acc.pure_rho(epsilon)


def test_zcdp_of_laplace_noise_at_the_extremes() -> None:
    assert acc.laplace_rho(0) == acc.laplace_rho(0, 1) == 0.0
    assert acc.laplace_rho(1e-100) == pytest.approx(5e-201, rel=1e-9) and acc.laplace_rho(1e300) == pytest.approx(1e300)
    assert acc.laplace_rho(1, 1e-100) == pytest.approx(math.exp(-1), rel=1e-9)
    assert acc.laplace_rho(1, 5) == acc.pure_rho(1)  # no grid moves by less than a step
    with pytest.raises(InvalidProblem, match="rate"):
        acc.laplace_rho(1, -1)


def test_functions_of_laplace_noise_cost_what_the_noise_does() -> None:
    """Of a tradeoff function that is that of Laplace noise, also beside a budget of zCDP."""
    for shape, rho in (
        (LaplaceTradeoff("1"), acc.laplace_rho(1)),
        (discrete_laplace("1", 4), acc.laplace_rho(1, "1/4")),
        (EpsilonDelta("1"), acc.pure_rho(1)),
    ):
        assert float(cost_of_tradeoff(shape).rho) == rho
        account = Account.of([shape], "1/10")
        assert account.epsilon_at("1/1000") <= acc.zcdp_epsilon(Fraction(rho) + Fraction(1, 10), "1/1000")


def test_groups_of_laplace_noise_in_zcdp() -> None:
    """Two changes of a quarter each are one of a half, in rho as in epsilon, and never above what any pure promise has."""
    one = cost_of_tradeoff(discrete_laplace("1/4", 8))
    two = one.of_group(2)
    assert two.epsilon == Fraction(1, 2) and float(two.rho) == acc.laplace_rho("1/2", "1/32")
    plain = replace(one, shapes=()).of_group(2)  # as an expense keeps it: numbers alone
    assert two.rho < plain.rho
    assert float(plain.rho) == acc.laplace_rho("1/2", "1/4") < min(4 * float(one.rho), acc.pure_rho("1/2"))


@pytest.mark.parametrize("size", [2, 3, 20, 50])
def test_groups_of_a_pure_promise_in_zcdp(size: int) -> None:
    """What is promised to groups is the function of discrete Laplace noise, of which every order is known."""
    told = float(Cost.pure(Fraction(1, 2)).of_group(size).rho)
    by_order = [divergence_of_geometric(0.5, size, order) / order for order in ORDERS]
    assert max(by_order) <= told == pytest.approx(by_order[0], rel=1e-7)
    assert told < acc.pure_rho(size / 2)
    assert float(Cost.pure(Fraction(1, 2)).of_group(Fraction(5, 2)).rho) == acc.pure_rho("5/4")  # no whole number of changes
