"""What a group of changes costs, and deltas that go with a rho, against sums and mechanisms written out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from designer.base.errors import InvalidProblem
from designer.tradeoff.costs import Cost, TotalCost, cost_of_tradeoff
from designer.tradeoff.functions import EpsilonDelta, Gaussian
from designer.tradeoff.piecewise import from_distributions

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
