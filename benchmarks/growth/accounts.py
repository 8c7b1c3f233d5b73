"""How accounts grow: with the releases of one kind, with unlike ones, and with the steps of a grid."""

from __future__ import annotations

import math
from fractions import Fraction

from benchmarks.growth.case import Case
from designer.accounting import Account, EpsilonDelta, Gaussian, discrete_laplace
from designer.tradeoff.functions import LaplaceTradeoff


def _told(account: Account, epsilon: Fraction) -> str:
    """delta, and how far it may be from the least one."""
    delta = account.delta_at(epsilon)
    return f"delta {delta:.6g}, gap {1 - account.delta_below(epsilon) / delta:.1e}"


def equal(times: int) -> str:
    """Laplace releases whose losses together have a deviation of about 1."""
    return _told(Account.of([(LaplaceTradeoff(Fraction(1, math.isqrt(times))), times)]), Fraction(3))


def unlike(times: int) -> str:
    """Pure releases of budgets 1/100, 2/100, ..., beside normal noise."""
    factors = [EpsilonDelta(Fraction(i, 100)) for i in range(1, times + 1)]
    return _told(Account.of([*factors, Gaussian.of(1)]), Fraction(4))


def steps(number: int) -> str:
    """Ten releases of discrete Laplace noise for a change of so many steps."""
    return _told(Account.of([(discrete_laplace(1, number), 10)]), Fraction(3))


CASES = (
    Case("account, equal Laplace releases", "releases", (10, 100, 1000, 10_000), equal),
    Case("account, unlike pure releases and a normal one", "releases", (4, 8, 16, 32), unlike),
    Case("account, discrete Laplace by steps", "steps", (4, 32, 256, 2048), steps),
)
