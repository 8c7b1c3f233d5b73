"""What a group of changes costs, and deltas that go with a rho, against sums and mechanisms written out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from designer.promises.costs import Cost, TotalCost

LEAKS = [(Fraction(1, 8), Fraction(1, 100)), (Fraction(1, 2), Fraction(1, 50))]  # (rho, chance that all is told)


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 3), Fraction(2)])
def test_a_group_costs_what_its_changes_do_one_after_the_other(epsilon: Fraction, size: int) -> None:
    """`P <= e^epsilon P' + delta`, put into itself: the deltas add up to `sum_{i < k} e^(i epsilon) delta`. Gaussian noise of
    deviation 1 / mu is moved k times as far, so that its rho and mu^2 are those of k mu."""
    delta, mu = Fraction(1, 10**6), Fraction(2, 5)
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
