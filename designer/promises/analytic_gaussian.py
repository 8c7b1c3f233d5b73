"""The analytic Gaussian mechanism: the largest mean that tells N(mu, 1) from N(0, 1) by (b, delta), proven in balls.

Derivation: docs/theory/approximate.md, section 2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import inf, nextafter
from typing import TYPE_CHECKING

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from solvers.exact.balls import decided, normal_cdf, normal_quantile, rational_ball

if TYPE_CHECKING:
    from flint import arb

CACHED = 1 << 18


@lru_cache(maxsize=CACHED)
def largest_mu(budget: Fraction, delta: Fraction) -> float:
    """The largest float m with `Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) <= delta`, proven in balls.

    budget: b >= 0. delta: between 0 and 1.

    >>> largest_mu(Fraction(1), Fraction(1, 10**6))
    0.2367043806634357
    """
    mu = _root(budget, delta)
    while not _keeps(mu, budget, delta):
        mu = nextafter(mu, 0.0)
    while _keeps(nextafter(mu, inf), budget, delta):
        mu = nextafter(mu, inf)
    return mu


def _keeps(mu: float, budget: Fraction, delta: Fraction) -> bool:
    """Is N(mu, 1) against N(0, 1) proven to be (b, delta)?"""

    def question() -> bool | None:
        spent, most = _delta_ball(rational_ball(Fraction(mu)), budget)[0], rational_ball(delta)
        return True if spent <= most else False if spent > most else None

    return bool(decided(question))


def _root(budget: Fraction, delta: Fraction) -> float:
    """About that m, by Newton's method for `log delta(m)`, which is increasing and concave: from below it converges from below.

    It starts below: at `Phi(m/2 - b/m) = delta`, or at the m of budget 0, `2 Phi(m/2) - 1 = delta`.
    """

    def question() -> float | None:
        quantile, most = normal_quantile(rational_ball(delta)), rational_ball(delta)
        start = (quantile + (quantile**2 + 2 * rational_ball(budget)).sqrt()).max(-2 * normal_quantile((1 - most) / 2))
        mu, step = start.mid(), start
        while not abs(step) < mu * 2.0**-70:
            spent, slope = _delta_ball(mu, budget)
            step = spent / slope * (most / spent).log()
            if not step.rel_accuracy_bits() > 1 and not abs(step) < mu * 2.0**-70:
                return None
            mu = (mu + step).mid()
        return float(mu)

    found = decided(question)
    if found is None:
        raise InvalidProblem(
            f"delta: no length was found for {shown(float(delta))} at budget {shown(float(budget))}; give a larger delta or "
            "budget."
        )
    return found


def _delta_ball(mu: arb, budget: Fraction) -> tuple[arb, arb]:
    """delta at b of N(mu, 1) against N(0, 1), and its derivative by mu, `phi(mu/2 - b/mu)`."""
    from flint import arb

    b = rational_ball(budget)
    near, far = mu / 2 - b / mu, -mu / 2 - b / mu
    spent: arb = normal_cdf(near) - b.exp() * normal_cdf(far)
    return spent, (-(near**2) / 2).exp() / (2 * arb.pi()).sqrt()
