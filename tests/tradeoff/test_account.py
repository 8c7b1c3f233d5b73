"""Products of promises against closed forms, all joint outcomes, integrals, exact rationals and another accountant. Masses on
ladders, coarse ones, are on their side of the exact product at every slope, in both directions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from designer.base.errors import InvalidProblem
from designer.tradeoff import conversions as acc
from designer.tradeoff.account import CLOSE, Account, Tails
from designer.tradeoff.comparison import Subsampled, shortfall
from designer.tradeoff.functions import EpsilonDelta, Gaussian, LaplaceTradeoff, Tradeoff, discrete_laplace
from designer.tradeoff.loss_distribution import Laddered, Rungs, curve_of, laddered, laddered_atoms
from designer.tradeoff.piecewise import PiecewiseLinear, from_distributions

ULPS = 1e-13


def kairouz_oh_viswanath(epsilon: float, times: int, at: float) -> float:
    """delta of `times` randomised responses at epsilon = at (Kairouz, Oh and Viswanath 2015, Theorem 3.3)."""
    p = 1 / (1 + math.exp(-epsilon))
    masses = (math.comb(times, i) * p ** (times - i) * (1 - p) ** i for i in range(times + 1))
    return sum(m * max(0.0, -math.expm1(at - (times - 2 * i) * epsilon)) for i, m in enumerate(masses))


def all_answers(epsilons: list[float], mu: float, at: float) -> float:
    """delta of randomised responses, every joint answer written out, beside normal noise in closed form."""
    total = 0.0
    for signs in product((1, -1), repeat=len(epsilons)):
        mass = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
        rest = at - sum(s * e for s, e in zip(signs, epsilons, strict=True))
        normal = stats.norm.cdf(mu / 2 - rest / mu) - math.exp(rest) * stats.norm.cdf(-mu / 2 - rest / mu) if mu else 0.0
        total += mass * float(normal if mu else max(0.0, -math.expm1(rest)))
    return total


def encloses(account: Account, epsilon: object, exact: float, close: float = CLOSE) -> None:
    low, high = account.delta_below(epsilon), account.delta_at(epsilon)
    assert low * (1 - ULPS) <= exact <= high * (1 + ULPS)
    assert high <= exact * (1 + close + ULPS)


@pytest.mark.parametrize(("epsilon", "times"), [(1.0, 10), (0.1, 100), (1.0, 30), (0.3, 7)])
def test_equal_pure_promises_are_the_closed_form(epsilon: float, times: int) -> None:
    account = Account.of([(EpsilonDelta(epsilon), times)])
    for share in (0.0, 0.1, 0.31, 0.7, 0.97):
        at = share * epsilon * times
        encloses(account, at, kairouz_oh_viswanath(epsilon, times, at), close=1e-12)
    assert account.delta_at(Fraction(epsilon) * times) == 0.0
    assert account.epsilon_at(0) == pytest.approx(epsilon * times, rel=1e-15)


def test_never_looser_than_plain_addition() -> None:
    mixed = [EpsilonDelta("0.3", "1e-6"), EpsilonDelta("0.7"), LaplaceTradeoff("0.11"), EpsilonDelta("0.2", "1e-5")]
    account = Account.of(mixed)
    assert account.delta_at("1.31") <= 1.1e-5 and account.epsilon_at("1.1e-5") <= 1.31
    assert Account.of([(EpsilonDelta(1), 30)]).delta_at(30) == 0.0
    beside = Account.of([Gaussian.of(1), EpsilonDelta(1)])
    assert beside.epsilon_at(1e-9) <= math.nextafter(acc.gdp_epsilon(1, 1e-9) + 1, 9)
    # Losses beyond every ladder: plain addition is what is left.
    far = Account.of([Gaussian.of(1000), EpsilonDelta(1)])
    assert far.epsilon_at(1e-6) == pytest.approx(acc.gdp_epsilon(1000, 1e-6) + 1, rel=1e-12)
    assert Account.of([EpsilonDelta(10**9), EpsilonDelta(1)]).epsilon_at(1e-6) == 10**9 + 1


@pytest.mark.parametrize(
    ("epsilons", "mu", "at"),
    [([0.1, 0.25, 0.3], 0.0, 0.4), ([0.5] * 5, 1.0, 3.0), ([2.0, 0.03], 0.2, 1.0)],
)
def test_unlike_promises_against_every_joint_answer(epsilons: list[float], mu: float, at: float) -> None:
    account = Account.of([*map(EpsilonDelta, epsilons), *([Gaussian.of(mu)] if mu else [])])
    encloses(account, at, all_answers(epsilons, mu, at))


def test_the_first_ladder_has_the_common_unit_of_the_losses() -> None:
    assert Account.of([EpsilonDelta("1/2"), EpsilonDelta("1/3")])._first_step() == Fraction(1, 6)


def test_losses_without_a_common_unit() -> None:
    epsilons = [0.3, 0.7071, 1.1, 0.1234]
    exact, account = all_answers(epsilons, 0.0, 1.5), Account.of(map(EpsilonDelta, epsilons))
    assert exact * (1 - ULPS) <= account.delta_at(1.5) <= exact * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_discrete_laws_against_their_exact_product_in_both_directions(seed: int) -> None:
    generator = np.random.default_rng(seed)
    laws = [[[*generator.integers(0, 7, 4).tolist(), 1] for _ in range(2)] for _ in range(2)]
    factors = [from_distributions(*pair) for pair in laws]
    joint = factors[0] @ factors[1]
    account = Account.of(factors)
    for slope in (Fraction(1), Fraction(7, 3)):
        epsilon = Fraction(math.log(slope))
        exact = float(
            max(joint.exact_delta(Fraction(math.exp(epsilon))), joint.inverse().exact_delta(Fraction(math.exp(epsilon))))
        )
        encloses(account, epsilon, exact)
    certain = float(max(1 - joint.betas[0], 1 - joint.inverse().betas[0]))
    enough = (1 + certain) / 2
    slope = Fraction(math.exp(account.epsilon_at(enough)))
    assert max(joint.exact_delta(slope), joint.inverse().exact_delta(slope)) <= enough * (1 + ULPS)
    assert account.epsilon_at(certain / 2) == account.epsilon_below(certain / 2) == math.inf


def laplace_pair(epsilon: float, at: float) -> float:
    """Two Laplace releases: the mean over the loss of the first of what the second one has left, by quadrature."""
    from scipy.integrate import quad

    def left(rest: float) -> float:
        slope = math.exp(min(rest, 700.0))
        return max(0.0, 1 - slope if rest < -epsilon else 1 - math.exp((rest - epsilon) / 2))

    inner = quad(lambda loss: math.exp((loss - epsilon) / 2) / 4 * left(at - loss), -epsilon, epsilon, limit=400, epsabs=1e-13)[
        0
    ]
    return float(inner) + left(at - epsilon) / 2 + math.exp(-epsilon) / 2 * left(at + epsilon)


@pytest.mark.parametrize("at", [0.3, 1.0, 1.7])
def test_laplace_noise_twice_against_quadrature(at: float) -> None:
    encloses(Account.of([(LaplaceTradeoff(1), 2)]), at, laplace_pair(1.0, at), close=CLOSE + 1e-9)


def test_discrete_laplace_against_its_joint_law() -> None:
    """All pairs of 401 outcomes; what is beyond them has a mass below 1e-30."""
    steps, unit = 3, 0.4
    places = np.arange(-200, 201)
    null, moved = (np.tanh(unit / 2) * np.exp(-unit * np.abs(places - shift)) for shift in (0, steps))
    p, q = np.outer(null, null), np.outer(moved, moved)
    account = Account.of([(discrete_laplace(Fraction(unit) * steps, steps), 2)])
    for at in (0.2, 1.0, 2.1):
        encloses(account, at, float(np.maximum(0.0, q - math.exp(at) * p).sum()), close=1e-9)


def test_ten_laplace_releases_spend_less_than_ten_pure_ones() -> None:
    laplace, pure = (Account.of([(f, 10)]).delta_at(2) for f in (LaplaceTradeoff("1/2"), EpsilonDelta("1/2")))
    assert round(laplace, 4) == 0.1255 and round(pure, 4) == 0.1455


def test_between_one_step_and_none_discrete_laplace_gains() -> None:
    deltas = [Account.of([(f, 10)]).delta_at(3) for f in (EpsilonDelta(1), discrete_laplace(1, 4), LaplaceTradeoff(1))]
    assert deltas == sorted(deltas, reverse=True) and deltas[2] < 0.8 * deltas[0]


def test_normal_noise_and_zcdp_join_exactly() -> None:
    joined = Account.of([Gaussian.of(3), (Gaussian.of(2), 4)])
    assert joined == Account.of([Gaussian.of(5)])
    assert joined.epsilon_at(1e-6) == acc.gdp_epsilon(5, 1e-6) and joined.delta_at(20) == acc.gdp_delta(5, 20)
    spent = Account.of([], "1/4") + Account.of([], "1/4")
    assert spent.epsilon_at(1e-6) == acc.zcdp_epsilon("1/2", 1e-6) and spent.delta_at(3) == acc.zcdp_delta("1/2", 3)


def test_zcdp_beside_other_promises() -> None:
    """A normal mechanism that spends the budget bounds from below; converting all of it to zCDP bounds from above."""
    account = Account.of([(EpsilonDelta("0.1"), 10)], "0.1")
    least = Account.of([(EpsilonDelta("0.1"), 10), Gaussian(Fraction(1, 5))])
    whole = Fraction(1, 10) + 10 * Fraction(acc.pure_rho("0.1"))
    assert least.delta_below(2) == account.delta_below(2)
    assert least.delta_at(2) <= account.delta_at(2) <= acc.zcdp_delta(whole, 2)
    assert account.epsilon_at(1e-6) <= min(acc.zcdp_epsilon(whole, 1e-6), acc.zcdp_epsilon("0.1", 1e-6) + 1.001)


def test_a_delta_of_one_promise_is_rounded_to_either_side() -> None:
    account = Account.of([Gaussian(Fraction(1))])
    for epsilon in (Fraction(1, 3), 1, 3):
        low, high = account.delta_below(epsilon), account.delta_at(epsilon)
        assert low < high == math.nextafter(low, math.inf)


def test_a_delta_below_all_floats_leaves_no_zcdp() -> None:
    """What may be told at once, with whatever small chance, has no budget of zCDP: no epsilon is enough for a smaller delta."""
    chance = Fraction(1, 10**350)
    account = Account.of([EpsilonDelta(1, chance), EpsilonDelta(2)], "1/4")
    assert account.epsilon_at(chance / 1000) == math.inf == account.epsilon_at(0) and account.delta_at(2000) > 0


def test_pure_promises_that_hardly_count_leave_the_delta_of_zcdp() -> None:
    """epsilon = 1e-6 is zCDP of 5e-13: its sum with rho = 1/2 proves less delta than a ladder of losses does."""
    account = Account.of([EpsilonDelta("1/1000000")], "1/2")
    assert account.delta_at(3) == acc.zcdp_delta(Fraction(1, 2) + Fraction(1, 2 * 10**12), 3)


@pytest.mark.parametrize("factor", [EpsilonDelta("0.2"), LaplaceTradeoff("0.3"), discrete_laplace("0.6", 3)])
def test_epsilon_and_delta_are_inverse(factor: Tradeoff) -> None:
    account = Account.of([(factor, 6), EpsilonDelta("0.1", "1e-9")])
    for delta in ("0.2", "1e-3", Fraction(1, 10**6)):
        epsilon = account.epsilon_at(delta)
        assert account.delta_at(epsilon) <= float(Fraction(delta)) * (1 + 2 * CLOSE)
        assert account.epsilon_below(delta) <= epsilon
        assert account.delta_below(account.epsilon_below(delta) * (1 - 1e-12)) >= float(Fraction(delta)) * (1 - 0.01)


def test_the_tradeoff_function_is_below_the_exact_product() -> None:
    factors = [from_distributions([3, 2, 1], [1, 2, 3]), from_distributions([4, 1], [1, 4])]
    below = Account.of(factors).tradeoff_below()
    assert shortfall(factors[0] @ factors[1], below) is None and not below.trivial
    assert float(below.fixed_point()) >= float((factors[0] @ factors[1]).fixed_point()) - 1e-3


def test_against_dp_accounting() -> None:
    """Theirs is pessimistic on a grid of 1e-3: never below our lower bound, and within its own discretisation of the upper."""
    library = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    theirs = library.from_laplace_mechanism(1.0, value_discretization_interval=1e-3).self_compose(5)
    theirs = theirs.compose(library.from_gaussian_mechanism(1.0, value_discretization_interval=1e-3))
    account = Account.of([(LaplaceTradeoff(1), 5), Gaussian.of(1)])
    for epsilon in (1.0, 3.0):
        expected = theirs.get_delta_for_epsilon(epsilon)
        assert account.delta_below(epsilon) <= expected
        assert account.delta_at(epsilon) == pytest.approx(expected, rel=1e-3)
    assert account.epsilon_at(1e-6) == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=1e-3)


def test_extremes() -> None:
    tiny = Account.of([(EpsilonDelta(1e-300), 10)])
    assert tiny.delta_at(0) == pytest.approx(kairouz_oh_viswanath(1e-10, 10, 0) * 1e-290, rel=1e-8)
    assert tiny.epsilon_at(1e-6) == 0.0 and tiny.epsilon_at(0) == pytest.approx(1e-299)
    assert Account.of([(EpsilonDelta(1), 30)]).epsilon_at(1e-300) <= 30
    assert Account.of([(EpsilonDelta(1, 1), 2)]).delta_at(5) == 1.0 and Account.of([]).delta_at(0) == 0.0
    assert Account.of([(EpsilonDelta(1, "0.1"), 3)]).delta_at(3) == pytest.approx(0.271, rel=1e-15)
    assert Account.of([EpsilonDelta(0), Gaussian.of(0)]) == Account.of([])


def test_refusals() -> None:
    for given, message in (
        (EpsilonDelta(1), "promises: .* is not a list"),
        ([1.0], r"promises\[0\]: 1.0 is not a tradeoff function"),
        ([(EpsilonDelta(1), 0)], r"promises\[0\]: 0 is not a whole number"),
    ):
        with pytest.raises(InvalidProblem, match=message):
            Account.of(given)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match=r"delta: 2\.0 must be at least 0 and at most 1"):
        Account.of([EpsilonDelta(1)]).epsilon_at(2)
    with pytest.raises(InvalidProblem, match=r"rho: -1\.0 must be at least 0"):
        Account.of([], -1)


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
