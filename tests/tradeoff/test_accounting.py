"""Conversions against another accounting library, integrals and brute force, each on its provable side. What a group of
changes costs, and deltas that go with a rho, against sums and mechanisms written out by hand.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from designer.base.errors import InvalidProblem
from designer.tradeoff import conversions as acc
from designer.tradeoff.comparison import Strength, compare_tradeoffs, shortfall
from designer.tradeoff.costs import Cost, TotalCost, cost_of_tradeoff
from designer.tradeoff.functions import EpsilonDelta, Gaussian
from designer.tradeoff.piecewise import from_distributions

CENSUS = {"rho": Fraction("2.56"), "delta": 1e-10}


def gaussian_delta(mu: float, epsilon: float) -> float:
    """`integral of (n(x - mu) - e^eps n(x))_+`, divided by its integrand's scale so that tails keep their digits."""
    start = epsilon / mu + mu / 2
    scale = stats.norm.logpdf(start - mu)
    density = lambda x: np.exp(stats.norm.logpdf(x - mu) - scale) * -np.expm1(epsilon - mu * x + mu * mu / 2)  # noqa: E731
    return float(integrate.quad(density, start, start + 40, epsabs=0, epsrel=1e-12, limit=200)[0] * np.exp(scale))


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
def test_gaussian_delta_is_its_integral(mu: float, epsilon: float) -> None:
    if (epsilon / mu) ** 2 < 1200:
        assert acc.gdp_delta(mu, epsilon) == pytest.approx(gaussian_delta(mu, epsilon), rel=1e-9)


def test_gaussian_delta_far_out() -> None:
    epsilon = acc.gdp_epsilon(1, 1e-30)
    assert gaussian_delta(1.0, epsilon) == pytest.approx(1e-30, rel=1e-8)
    assert acc.gdp_delta(1, epsilon) <= 1e-30 < acc.gdp_delta(1, math.nextafter(epsilon, 0) * (1 - 1e-12))
    assert acc.gdp_delta(0.01, 30.0) == 5e-324  # rounded up, never to zero


def test_gaussian_conversions_are_inverse_and_safe() -> None:
    for delta in (0.3, 1e-5, 1e-30, 1e-250):
        for mu in (0.05, 1.0, 5.0):
            epsilon = acc.gdp_epsilon(mu, delta)
            assert acc.gdp_delta(mu, epsilon) <= delta or epsilon == 0
            if epsilon:
                assert acc.gdp_mu(epsilon, delta) == pytest.approx(mu, rel=1e-12)
                assert acc.gdp_delta(acc.gdp_mu(epsilon, delta), epsilon) <= delta


def test_gaussian_against_dp_accounting() -> None:
    library = pytest.importorskip("dp_accounting")
    for sigma in (0.5, 1.0, 4.0):
        for delta in (1e-3, 1e-6, 1e-12):
            theirs = library.get_epsilon_gaussian(sigma, delta)
            assert acc.gdp_epsilon(Fraction(1) / Fraction(sigma), delta) == pytest.approx(theirs, rel=1e-6)
    for epsilon in (0.1, 1.0, 4.0):
        theirs = library.get_sigma_gaussian(epsilon, 1e-6)
        assert 1 / acc.gdp_mu(epsilon, 1e-6) == pytest.approx(theirs, rel=1e-6)


def test_zcdp_against_dp_accounting() -> None:
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    orders = np.concatenate([1 + np.geomspace(1e-3, 10, 3000), np.geomspace(11, 3000, 2000)])
    for rho in (0.01, 0.5, 2.56):
        for epsilon in (0.5 + rho, 3 + rho, 10 + rho):
            theirs, _ = rdp.compute_delta(orders, rho * orders, epsilon)
            ours = acc.zcdp_delta(rho, epsilon)
            # Theirs is the same bound on a grid of orders: at least ours, and hardly more.
            # Theirs underflows to 0, ours is never below the truth.
            assert ours <= max(theirs * (1 + 1e-12), 5e-324)
            assert ours == pytest.approx(theirs, rel=2e-3, abs=1e-200)


def test_census() -> None:
    """SEMI section 6 uses Bun and Steinke's conversion; the better one promises more about the same release."""
    doubled = acc.zcdp_group_rho(CENSUS["rho"], 2)
    assert doubled == Fraction("10.24")
    published = [acc.zcdp_epsilon_bun_steinke(rho, CENSUS["delta"]) for rho in (CENSUS["rho"], doubled)]
    assert [round(value, 5) for value in published] == [17.91528, 40.95057]
    better = [acc.zcdp_epsilon(rho, CENSUS["delta"]) for rho in (CENSUS["rho"], doubled)]
    assert better[0] < 17.16 and better[1] < 39.83
    assert all(acc.zcdp_delta(r, e) <= CENSUS["delta"] for r, e in zip((CENSUS["rho"], doubled), better, strict=True))


def test_bun_steinke_is_rounded_up() -> None:
    """Against decimals of 60 digits, at budgets that floats and decimals have alike."""
    with localcontext(prec=60):
        for eighths in range(1, 40):
            rho, delta = Decimal(eighths) / 8, Decimal(2) ** -eighths
            exact = rho + 2 * (rho * -delta.ln()).sqrt()
            assert exact <= Decimal(acc.zcdp_epsilon_bun_steinke(float(rho), float(delta))) <= exact * (1 + Decimal(2) ** -52)


def test_bun_steinke_directions_agree() -> None:
    for rho in (0.1, 1.0, 7.0):
        epsilon = acc.zcdp_epsilon_bun_steinke(rho, 1e-9)
        assert math.exp(-((epsilon - rho) ** 2) / (4 * rho)) == pytest.approx(1e-9, rel=1e-12)
        assert acc.zcdp_delta(rho, epsilon) < 1e-9


def renyi(p: float, q: float, order: float) -> float:
    yes, no = (order * np.log(a) + (1 - order) * np.log(b) for a, b in ((p, q), (1 - p, 1 - q)))
    return float(np.logaddexp(yes, no) / (order - 1))


def zcdp_of_answers(p: float, q: float) -> float:
    """The rho of one bit that is 1 with probability p or q: the largest divergence over the order, both ways,
    on a fine grid."""
    # Closer to order 1 the division by order - 1 eats the digits.
    orders = 1 + np.geomspace(1e-4, 400, 400)
    return max(max(renyi(p, q, a), renyi(q, p, a)) / a for a in orders)


def test_zcdp_covers_every_single_bit() -> None:
    """One-bit mechanisms reach whatever any zCDP mechanism can reach, so no conversion may promise more than they keep."""
    generator = np.random.default_rng(3)
    for p, q in np.sort(generator.uniform(0.01, 0.99, (25, 2)), axis=1)[:, ::-1]:
        rho = zcdp_of_answers(p, q) * 1.001
        for epsilon in (0.0, 0.2, 1.0):
            assert max(p - np.exp(epsilon) * q, (1 - q) - np.exp(epsilon) * (1 - p)) <= acc.zcdp_delta(rho, epsilon)
        assert shortfall(from_distributions([q, 1 - q], [p, 1 - p]), acc.zcdp_tradeoff_below(rho, steps=10)) is None


def test_zcdp_tradeoff_is_kept_by_the_gaussian_and_close_to_it() -> None:
    for rho in (0.02, 0.5, 4.0):
        below = acc.zcdp_tradeoff_below(rho)
        assert below.symmetric and not below.trivial
        assert compare_tradeoffs(Gaussian(Fraction(2) * Fraction(rho)), below).order is Strength.STRONGER
        limit = rho + 2 * math.sqrt(rho * 40 * math.log(2))
        for step in (10, 20, 45, 60):  # elsewhere lines of other slopes, and their mirror images, say more
            epsilon = Fraction(limit) * step / 60
            assert below.delta_at(epsilon) >= acc.zcdp_delta(rho, epsilon)
    # What it costs to know zCDP only: the fixed point of G_1 is 0.3085, Pinsker's total variation of 1/2 leaves (1 - 1/2) / 2.
    assert float(acc.zcdp_tradeoff_below(0.5).fixed_point()) == pytest.approx(0.25, abs=1e-9)
    assert acc.zcdp_tradeoff_below(0).trivial


def test_zcdp_calibration() -> None:
    for epsilon, delta in ((1.0, 1e-6), (0.1, 1e-3), (8.0, 1e-12)):
        rho = acc.zcdp_rho_below(epsilon, delta)
        assert acc.zcdp_delta(rho, epsilon) <= delta < acc.zcdp_delta(rho * (1 + 1e-9), epsilon)
        # Knowing that it is Gaussian allows more.
        assert acc.gdp_rho(acc.gdp_mu(epsilon, delta)) > rho
    assert acc.gdp_rho(1) == 0.5


def test_pure_is_zcdp_and_no_better() -> None:
    for epsilon in (0.01, 0.5, 2.0, 10.0):
        p = 1 / (1 + np.exp(-epsilon))
        attained = zcdp_of_answers(p, 1 - p)
        assert attained <= acc.pure_rho(epsilon) * (1 + 1e-6)
        assert attained == pytest.approx(acc.pure_rho(epsilon), rel=1e-3)
        assert acc.pure_rho(epsilon) <= min(epsilon, epsilon**2 / 2)


def test_pure_to_others() -> None:
    for epsilon in (0.1, 1.0, 5.0):
        p = np.exp(epsilon) / (1 + np.exp(epsilon))
        assert acc.pure_delta(epsilon, epsilon / 2) == pytest.approx(p - np.exp(epsilon / 2) * (1 - p), rel=1e-12)
        assert acc.pure_delta(epsilon, epsilon) == 0 == acc.pure_delta(epsilon, 2 * epsilon)
    # (1, 0.01) at epsilon 0.5: the worst mechanism fails openly with 0.01 and answers at random otherwise.
    assert acc.approximate_delta(1, 0.01, 0.5) == pytest.approx(0.01 + 0.99 * acc.pure_delta(1, 0.5), rel=1e-12)
    assert acc.approximate_delta(1, 0.25, 2) == 0.25


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: acc.gdp_epsilon(1, -1), "delta: -1.0 must be at least 0 and at most 1"),
        (lambda: acc.zcdp_epsilon(1, 2), "delta: 2.0 must be at least 0 and at most 1"),
        (lambda: acc.gdp_delta(-1, 1), "mu: -1.0 must be at least 0"),
        (lambda: acc.zcdp_delta(1, -0.5), "epsilon: -0.5 must be at least 0"),
        (lambda: acc.zcdp_group_rho(1, 0), "size: 0"),
    ],
)  # fmt: skip
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_delta_0_and_1() -> None:
    for convert in (acc.gdp_epsilon, acc.zcdp_epsilon):
        assert convert(1, 0) == math.inf and convert(1, 1) == convert(0, 0) == convert(0, "1/2") == 0.0
    for calibrate in (acc.gdp_mu, acc.zcdp_rho_below):
        assert calibrate(1, 0) == 0.0 and calibrate(1, 1) == math.inf
    assert acc.zcdp_epsilon_bun_steinke(1, 0) == math.inf and acc.zcdp_epsilon_bun_steinke(1, 1) == 1.0


def test_decimals_and_texts_are_exact() -> None:
    exact = acc.gdp_epsilon(1, Fraction(1, 10**6))
    assert (
        acc.gdp_epsilon("1", "1e-6") == acc.gdp_epsilon(Decimal(1), Decimal("0.000001")) == acc.gdp_epsilon(1, "1E-06") == exact
    )
    assert acc.zcdp_epsilon("2.56", "1e-10") == acc.zcdp_epsilon(Fraction("2.56"), Fraction(1, 10**10))
    assert acc.pure_rho("1.5e0") == acc.pure_rho(Fraction(3, 2))


def test_extremes_are_sharp() -> None:
    near = lambda value: pytest.approx(value, rel=1e-9)  # noqa: E731
    assert acc.gdp_delta(1e-300, 0) == near(1e-300 / math.sqrt(2 * math.pi)) and acc.gdp_delta(1, 1e300) == 5e-324
    assert acc.gdp_delta(1e150, 1e300) == 5e-324 and acc.gdp_delta(1e150, 1) == 1.0
    assert acc.gdp_epsilon(1e150, 1e-300) == near(5e299) and acc.gdp_mu(1e300, 1e-300) == near(math.sqrt(2) * 1e150)
    assert acc.gdp_mu(0, 1e-300) == near(1e-300 * math.sqrt(2 * math.pi))
    assert acc.zcdp_epsilon(1e300, 1e-300) == near(1e300) and acc.zcdp_rho_below(1e300, 1e-300) == near(1e300)
    assert acc.zcdp_delta(1, 1e300) == acc.zcdp_delta(1e-300, 1) == 5e-324 and acc.zcdp_delta(1e300, 1) == 1.0
    assert acc.pure_rho(1e300) == near(1e300) and acc.pure_rho(1e-100) == near(5e-201) and acc.pure_rho(0) == 0.0
    assert acc.pure_delta(1e300, 1) == 1.0 and acc.pure_delta(1e-300, 0) == near(5e-301)
    assert acc.zcdp_tradeoff_below(1e300).betas == (0, 0)


@pytest.mark.parametrize("far", [2**20])
def test_conversions_of_large_numbers_continue_those_of_small_ones(far: int) -> None:
    """What takes over beyond 2^20 errs on the same side, by next to nothing."""
    for convert in (lambda x: acc.zcdp_epsilon(x, 1e-6), lambda x: acc.gdp_epsilon(Fraction(math.sqrt(x)), 1e-6)):
        below, beyond = convert(far), convert(far + 1)
        assert below < beyond < below * (1 + 1e-4)
    for least in (lambda x: acc.gdp_mu(x, 1e-6), lambda x: acc.zcdp_rho_below(x, 1e-6)):
        below, beyond = least(far), least(far * (1 + 1e-4))
        assert below < beyond < below * (1 + 2e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
def test_pure_rho_covers_every_order_and_is_reached_near_order_1(epsilon: float) -> None:
    p = 1 / (1 + math.exp(-epsilon))
    orders = 1 + np.geomspace(1e-3, 1e3, 200)
    by_order = [renyi(p, 1 - p, a) / a for a in orders]
    assert max(by_order) <= acc.pure_rho(epsilon) * (1 + 1e-8)
    assert acc.pure_rho(epsilon) == pytest.approx(by_order[0], rel=2e-2)
    assert (np.diff(by_order) <= 1e-8 * max(by_order)).all()


LEAKS = [(Fraction(1, 8), Fraction(1, 100)), (Fraction(1, 2), Fraction(1, 50))]  # (rho, chance that all is told)


def test_a_group_costs_what_its_changes_do_one_after_the_other() -> None:
    """`P <= e^epsilon P' + delta`, put into itself: the deltas add up to `sum_{i < k} e^(i epsilon) delta`. Gaussian noise of
    deviation 1 / mu is moved k times as far, so that its rho and mu^2 are those of k mu."""
    delta, mu = Fraction(1, 10**6), Fraction(2, 5)
    for epsilon, size in product((Fraction(0), Fraction(1, 3), Fraction(2)), (2, 3, 7)):
        group = Cost(epsilon=epsilon, delta=delta, rho=mu**2 / 2, mu_squared=mu**2).of_group(size)
        every = math.fsum(math.exp(i * epsilon) * float(delta) for i in range(size))
        assert group.epsilon == size * epsilon
        assert every * (1 - 1e-14) <= float(group.delta) <= every * (1 + 1e-14)
        assert (group.rho, group.mu_squared) == ((size * mu) ** 2 / 2, (size * mu) ** 2)


@pytest.mark.parametrize("times", [1, 3])
def test_deltas_beside_a_rho_are_the_chance_that_one_release_tells_all(times: int) -> None:
    """Each release tells all with its delta, and else adds Gaussian noise: no smaller delta is true of any epsilon, and above
    it Gaussian noise needs some."""
    total = TotalCost(tuple(Cost.concentrated(*leak) for leak in LEAKS), (times, 1))
    told = 1 - math.prod((1 - delta) ** often for (_, delta), often in zip(LEAKS, (times, 1), strict=True))
    deltas = times * LEAKS[0][1] + LEAKS[1][1]
    assert total.approximate_rho == (times * LEAKS[0][0] + LEAKS[1][0], deltas)
    assert total.rho is None
    for precise in (True, False):
        assert float(told) <= total.delta_at(40, precise=precise) <= float(deltas) + 1e-9
        assert total.epsilon_at(told * Fraction(99, 100), precise=precise) is None
        alone = TotalCost((Cost.concentrated(times * LEAKS[0][0] + LEAKS[1][0]),))
        left, there = alone.epsilon_at(Fraction(1, 1000)), total.epsilon_at(deltas + Fraction(1, 1000), precise=precise)
        assert left is not None and there is not None and there >= left * (1 - 1e-9)


@pytest.mark.parametrize("chance", [Fraction(1, 10), Fraction(1, 10**6)])
@pytest.mark.parametrize("rho", [Fraction(1, 50), Fraction(2)])
def test_the_loss_of_gaussian_noise_exceeds_its_bound_as_rarely_as_stated(rho: Fraction, chance: Fraction) -> None:
    """The loss of zCDP's own example is normal, of mean rho and variance 2 rho: both of its tails are known."""
    bound, deviation = TotalCost((Cost.concentrated(rho),)).loss_at(chance), math.sqrt(2 * rho)
    assert bound is not None
    tails = [math.erfc((bound - sign * float(rho)) / (deviation * math.sqrt(2))) / 2 for sign in (1, -1)]
    assert sum(tails) <= chance


def test_a_longer_change_costs_its_length_or_its_square() -> None:
    times = Fraction(7, 3)
    assert Cost.concentrated(Fraction(1, 8)).of_length(times).rho == Fraction(49, 72)
    assert Cost.pure(Fraction(1, 4)).of_length(times).epsilon == Fraction(7, 12)
    with pytest.raises(InvalidProblem, match="does not add up"):
        Cost(epsilon=Fraction(1), delta=Fraction(1, 100)).of_length(times)


def test_a_shape_without_zcdp_leaves_the_stated_rho() -> None:
    shapes = (Gaussian(Fraction(1, 4)), EpsilonDelta(Fraction(1), Fraction(1, 1000)))
    assert Cost(rho=Fraction(5)).with_shapes(shapes[:1]).rho == Fraction(1, 8)
    assert Cost(rho=Fraction(5)).with_shapes(shapes).rho == 5
    assert Cost().with_shapes(shapes).rho is None


def test_what_one_law_alone_may_show_is_in_the_delta_whichever_of_the_two_it_is() -> None:
    one, other = [6, 2, 2, 0], [2, 5, 1, 2]
    for pair in ((one, other), (other, one)):
        cost = cost_of_tradeoff(from_distributions(*pair))
        assert cost.delta == Fraction(1, 5) and cost.epsilon is not None and cost.epsilon >= Fraction(math.log(3))
