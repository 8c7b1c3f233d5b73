"""Conversions between privacy notions, each proven and rounded to the safe side: what is promised is never overstated.

A name ends with the side it errs on where that is not the usual one. "epsilon", "delta" and "rho" that a mechanism is said to
have are rounded up, a mu that a mechanism may be given is rounded down. Numbers go in as floats, Fractions or Decimals at their
exact value, or as texts ("1e-6"); delta from 0 to 1, both included: a number that does not exist is infinite. Logarithms of
delta serve where delta underflows. Derivations: docs/theory/tradeoff.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import inf, nextafter
from typing import TYPE_CHECKING

from designer.base.checks import count, positive, rational_from, shown
from designer.base.errors import InvalidProblem
from designer.tradeoff.functions import EpsilonDelta, Gaussian
from designer.tradeoff.piecewise import PiecewiseLinear, from_lines, ladder
from solvers.exact.balls import (
    decided,
    exp_ball,
    float_above_real,
    float_below_real,
    normal_cdf,
    normal_quantile,
    rational_ball,
)

if TYPE_CHECKING:
    from flint import arb


# The analytic Gaussian mechanism: the largest mean that tells N(mu, 1) from N(0, 1) by (b, delta), proven in balls.
#
# Derivation: docs/theory/approximate.md, section 2.


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


LARGEST_CONVERTED = 1 << 20  # numbers beyond are converted by what they come down to
MOST_RHO = 1024
ROUNDS = 80
GOLDEN = (math.sqrt(5) - 1) / 2
_FAINT = Fraction(1, 1 << 200)
_ALL_IN_ALL = 2**9  # pure budgets from which rho is epsilon: tanh is 1 in every digit of a float


def gdp_delta(mu: object, epsilon: object) -> float:
    """Find the least delta of mu-GDP at epsilon (Balle and Wang 2018, Theorem 8), rounded up.

    Parameters
    ----------
    mu : of Gaussian privacy, at least 0.
    epsilon : at least 0.

    >>> gdp_delta(1, 1)
    0.12693673750664397
    """
    return Gaussian.of(mu).delta_at(rational_from(epsilon, "epsilon", 0))


def gdp_epsilon(mu: object, delta: object) -> float:
    """Find the least epsilon >= 0 of mu-GDP at delta, rounded up: `delta_(mu)(epsilon) <= delta` is proven for the number
    returned.

    Parameters
    ----------
    mu : of Gaussian privacy, at least 0.
    delta : between 0 and 1.
    """
    return gaussian_epsilon(Gaussian.of(mu), _delta(delta))


def gaussian_epsilon(tradeoff: Gaussian, most: Fraction) -> float:
    """`gdp_epsilon` of a function whose mu may be irrational, at delta = most."""
    if most in (0, 1) or tradeoff.trivial:
        return 0.0 if most == 1 or tradeoff.trivial else math.inf
    if tradeoff.mu_squared > LARGEST_CONVERTED:  # `delta <= Phi(mu / 2 - epsilon / mu)`, and hardly less there
        mu = tradeoff.mu_ball
        return max(0.0, float_above_real(lambda: mu() * (mu() / 2 - normal_quantile(rational_ball(most)))))
    return least_float(lambda epsilon: _at_most(lambda: tradeoff.delta_ball(exp_ball(Fraction(epsilon))), most), "epsilon")


def gdp_mu(epsilon: object, delta: object) -> float:
    """Find the largest mu such that mu-GDP implies (epsilon, delta), rounded down: calibrates Gaussian noise, sigma =
    sensitivity / mu.

    Parameters
    ----------
    epsilon : at least 0.
    delta : between 0 and 1.
    """
    power, most = rational_from(epsilon, "epsilon", 0), _delta(delta)
    if most in (0, 1):
        return math.inf if most else 0.0
    if power <= LARGEST_CONVERTED:
        return largest_mu(power, most)

    def mu() -> arb:
        quantile = normal_quantile(rational_ball(most))
        root: arb = quantile + (quantile**2 + 2 * rational_ball(power)).sqrt()
        return root

    return float_below_real(mu)


def gdp_rho(mu: object) -> float:
    """Convert mu-GDP: it is `mu^2 / 2`-zCDP, rounded up; the converse is false.

    mu: of Gaussian privacy, at least 0.
    """
    squared = rational_from(mu, "mu", 0) ** 2
    return float_above_real(lambda: rational_ball(squared / 2))


def zcdp_group_rho(rho: object, size: int) -> Fraction:
    """Convert rho-zCDP: it is `size^2 rho`-zCDP for groups of `size` (Bun and Steinke 2016, Prop. 27; SEMI Lemma 39), exactly.

    Parameters
    ----------
    rho : for one record.
    size : how many records a group has.

    >>> zcdp_group_rho("64/25", 2) == Fraction("10.24")
    True
    """
    return rational_from(rho, "rho", 0) * count(size, "size") ** 2


def zcdp_epsilon_bun_steinke(rho: object, delta: object) -> float:
    """Compute `rho + 2 sqrt(rho log(1 / delta))` (Bun and Steinke 2016, Prop. 3; SEMI Lemma 40), rounded up.

    Parameters
    ----------
    rho : of zCDP, at least 0.
    delta : between 0 and 1.

    >>> round(zcdp_epsilon_bun_steinke("64/25", 1e-10), 5), round(zcdp_epsilon_bun_steinke("256/25", 1e-10), 5)
    (17.91528, 40.95057)
    """
    budget, most = rational_from(rho, "rho", 0), _delta(delta)
    if most == 0:
        return math.inf if budget else 0.0
    return float_above_real(
        lambda: rational_ball(budget) + 2 * (rational_ball(budget) * -rational_ball(most).log()).nonnegative_part().sqrt()
    )


def zcdp_delta(rho: object, epsilon: object) -> float:
    """Find the smallest delta known to follow from rho-zCDP at epsilon >= 0, rounded up.

    The least of: `exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1)` over orders a > 1 (Canonne, Kamath and Steinke 2020,
    Cor. 13; every a proves a bound, so an a found in floats is as good as another), and of total variation. That is
    `sqrt(rho / 2)` (Pinsker) and `sqrt(1 - exp(-rho))` (Bretagnolle and Huber), for Kullback-Leibler divergences up to rho.

    Parameters
    ----------
    rho : of zCDP, at least 0.
    epsilon : at least 0.
    """
    budget, power = rational_from(rho, "rho", 0), rational_from(epsilon, "epsilon", 0)
    return min(1.0, float_above_real(lambda: zcdp_delta_ball(budget, power))) if budget else 0.0


def zcdp_epsilon(rho: object, delta: object) -> float:
    """Find the smallest epsilon >= 0 at which `zcdp_delta` is at most delta, rounded up.

    Parameters
    ----------
    rho : of zCDP, at least 0.
    delta : between 0 and 1.
    """
    budget, most = rational_from(rho, "rho", 0), _delta(delta)
    if not budget or most in (0, 1):
        return math.inf if budget and not most else 0.0
    if budget > LARGEST_CONVERTED:
        return zcdp_epsilon_bun_steinke(budget, most)  # relatively as good
    return least_float(lambda epsilon: _at_most(lambda: zcdp_delta_ball(budget, Fraction(epsilon)), most), "epsilon")


def zcdp_tradeoff_below(rho: object, steps: int = 60) -> PiecewiseLinear:
    """A tradeoff function that every rho-zCDP mechanism has: the lines `1 - delta - e^epsilon alpha`
    of `zcdp_delta` and their mirror images.

    epsilon runs in `steps` equal steps up to where Bun and Steinke's delta is 2^-40.
    It is a consequence of zCDP and does not imply it. Above rho = 1024 it is 0: what is told apart is no float then.
    """
    budget = rational_from(rho, "rho", 0)
    if budget > MOST_RHO:
        return from_lines([])
    lines = [(Fraction(1), Fraction(1))] if not budget else []
    limit = float(budget) + 2 * math.sqrt(float(budget) * 40 * math.log(2))
    for i, slope in enumerate(ladder(limit, steps) if budget else []):
        # ladder rounds slopes up, so the delta proven at epsilon = limit i / steps is proven at the slope too.
        height = 1 - Fraction(zcdp_delta(budget, Fraction(limit) * i / steps))
        lines += [(slope, height), (1 / slope, height / slope)] if height > 0 else []
    return from_lines(lines)


def pure_rho(epsilon: object) -> float:
    """Convert pure epsilon-privacy: it is `epsilon tanh(epsilon / 2)`-zCDP, rounded up; randomised response attains it.

    At most the `epsilon^2 / 2` of Bun and Steinke 2016, Prop. 4, and at most epsilon.
    Derivation: docs/theory/tradeoff.md, section 5.

    epsilon: of pure privacy, at least 0.
    """
    power = rational_from(epsilon, "epsilon", 0)
    return float_above_real(lambda: rational_ball(power) * rational_ball(power / 2).tanh())


def laplace_rho(epsilon: object, rate: object = 0) -> float:
    """Compare Laplace noise with the same moved by epsilon scales: `epsilon + exp(-epsilon) - 1`-zCDP, and no less, rounded up.

    Discrete noise is moved by `epsilon / rate` steps: `epsilon - (1 - exp(-epsilon)) rate / sinh(rate)`, which rises with the
    rate, to `pure_rho(epsilon)` at one step. A rate above epsilon, of which no step is that short, counts as epsilon. Both are
    the relative entropy, the limit of the divergences at order 1. Derivation: docs/theory/tradeoff.md, section 9.

    Parameters
    ----------
    epsilon : how far it is moved, in scales.
    rate : of discrete Laplace noise, `P(k) ~ exp(-rate |k|)`; 0 is the continuous law.

    >>> round(laplace_rho(1), 3), round(laplace_rho(1, "1/4"), 3), round(pure_rho(1), 3)
    (0.368, 0.374, 0.462)
    """
    power = rational_from(epsilon, "epsilon", 0)
    step = min(power, rational_from(rate, "rate", 0))
    if not step and power < _FAINT:  # there `pure_rho` is within a relative 2^-200 of the same
        return pure_rho(power)

    def entropy() -> arb:
        narrowed = rational_ball(step) / rational_ball(step).sinh() if step else rational_ball(Fraction(1))
        rho: arb = rational_ball(power) - (1 - exp_ball(-power)) * narrowed
        return rho

    return min(pure_rho(power), float_above_real(entropy))


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """`pure_rho` as a Fraction, for an epsilon of any size."""
    return Fraction(pure_rho(epsilon)) if epsilon < _ALL_IN_ALL else epsilon


def rho_of_bounded_range(epsilon: Fraction) -> Fraction:
    """The rho of pure epsilon-privacy whose log-likelihood ratios lie within an interval of that length, as those of the
    exponential mechanism do, `epsilon^2 / 8` (docs/theory/tables.md, section 3), or that of any other where it is less."""
    return min(epsilon**2 / 8, rho_of_pure(epsilon))


def rho_of_laplace(epsilon: Fraction, rate: Fraction = Fraction(0)) -> Fraction:
    """`laplace_rho` as a Fraction, for an epsilon of any size."""
    return Fraction(laplace_rho(epsilon, rate)) if epsilon < _ALL_IN_ALL else epsilon


def pure_delta(epsilon: object, smaller: object) -> float:
    """What epsilon-privacy is at a smaller epsilon: `(e^epsilon - e^smaller)_+ / (1 + e^epsilon)`, rounded up."""
    return approximate_delta(epsilon, 0, smaller)


def approximate_delta(epsilon: object, delta: object, other: object) -> float:
    """The least delta that (epsilon, delta)-privacy implies at another epsilon, rounded up."""
    power, target = rational_from(epsilon, "epsilon", 0), rational_from(other, "other", 0)
    promise = EpsilonDelta(power, rational_from(delta, "delta", 0, 1))
    if target >= power:
        return float_above_real(lambda: rational_ball(promise.delta))
    return promise.delta_at(target)


def _delta(value: object) -> Fraction:
    return rational_from(value, "delta", 0, 1)


def _at_most(real: Callable[[], arb], bound: Fraction) -> bool:
    """Is a real number proven to be at most a rational?"""

    def question() -> bool | None:
        ball, limit = real(), rational_ball(bound)
        if ball <= limit:
            return True
        return False if ball > limit else None

    return bool(decided(question))


def least_float(holds: Callable[[float], bool], field: str) -> float:
    """The least float >= 0 at which a property that stays true once it is true holds, by bisection on the floats themselves."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
        if high > 2.0**500:
            raise InvalidProblem(f"{field}: no number below 2^500 satisfies these parameters; give less extreme ones.")
    while low == 0.0 and high > 1e-300 and holds(high / 1024):
        high /= 1024
    low = max(low, high / 1024) if not holds(max(low, high / 1024)) else low
    while (middle := low + (high - low) / 2) not in (low, high):
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def zcdp_delta_ball(rho: Fraction, epsilon: Fraction, rounds: int = ROUNDS) -> arb:
    """`zcdp_delta` as a ball, for a positive budget; of fewer rounds in search of the order, a little more."""
    best: arb = _log_moments(rho, epsilon, rounds).exp().min(_variation(rho))
    return best


def _log_moments(rho: Fraction, epsilon: Fraction, rounds: int = ROUNDS) -> arb:
    order = (
        Fraction(_best_order(float(rho), float(epsilon), rounds))
        if epsilon < LARGEST_CONVERTED * rho
        else (epsilon + rho) / (2 * rho)
    )
    a = rational_ball(order)
    log: arb = rational_ball((order - 1) * (order * rho - epsilon)) + a * (-1 / a).log1p() - (a - 1).log()
    return log


def _variation(rho: Fraction) -> arb:
    least: arb = rational_ball(rho / 2).sqrt().min((1 - exp_ball(-rho)).sqrt())
    return least


def _best_order(rho: float, epsilon: float, rounds: int) -> float:
    """The order a > 1 that minimises the logarithm of the bound, by golden section on log(a - 1), where it has one minimum."""

    def bound(t: float) -> float:
        a = 1 + math.exp(t)
        return math.exp(t) * (a * rho - epsilon) + a * (t - math.log(a)) - t

    # Orders beyond e^700 are no floats; of extreme rho and epsilon a worse order proves a worse bound.
    widest = -math.log(rho) if rho > 0 else 700.0
    low, high = -20.0, min(700.0, max(math.log(max(epsilon, 1.0)) + widest, widest / 2, math.log(2)) + 5)
    for _ in range(rounds):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return 1 + math.exp(low)


def zcdp_rho_below(epsilon: object, delta: object) -> float:
    """Find the largest rho found such that rho-zCDP implies (epsilon, delta) by `zcdp_delta`, rounded down: calibrates a zCDP
    mechanism.

    Parameters
    ----------
    epsilon : at least 0.
    delta : between 0 and 1.
    """
    power, most = rational_from(epsilon, "epsilon", 0), _delta(delta)
    if most in (0, 1):
        return math.inf if most else 0.0
    if power > LARGEST_CONVERTED:  # Bun and Steinke's conversion, solved for rho

        def root() -> arb:
            log = -rational_ball(most).log()
            return (rational_ball(power) + log).sqrt() - log.sqrt()

        return float_below_real(lambda: root() ** 2)

    def too_large(rho: float) -> bool:
        return rho > 0 and not _at_most(lambda: zcdp_delta_ball(Fraction(rho), power), most)

    return math.nextafter(least_float(too_large, "rho"), 0.0)


def smooth_epsilon(budget: float, delta: float) -> float:
    """Compute `b root(2 log 1/delta) + b^2 / 2`: INT Definition 2 of lattice Gaussian noise with standard deviation 1/b,
    rounded up.

    The rho-zCDP of a change of length r, `rho = (b r)^2 / 2`, gives `delta(r) = exp(-(eps r - rho)^2 / (4 rho))` at eps r. Its
    logarithm grows by at most eps/2 for every unit of r, what Definition 2 allows by eps, so r = 1 decides. Raises
    `InvalidProblem` for a budget that is not positive, and a delta that is not between 0 and 1. Source: INT Theorem 14;
    docs/theory/lattice.md, section 5.

    Parameters
    ----------
    budget : b, in nats for every unit of distance.
    delta : between 0 and 1.
    """
    positive(budget, "budget")
    _between(delta)
    return (budget * math.sqrt(-2 * math.log(delta)) + budget**2 / 2) * (1 + 2.0**-48)


def smooth_deviation(epsilon: float, delta: float) -> float:
    """Find the least standard deviation for which `smooth_epsilon` gives at most epsilon:
    `(root(L) + root(L + 2 eps)) / (2 eps)`, L = 2 log 1/delta; in units of the distance. Raises as `smooth_epsilon`. Source:
    INT Definition 13, made sharp.

    Parameters
    ----------
    epsilon : above 0.
    delta : between 0 and 1.

    >>> round(smooth_deviation(0.25, 1e-6), 2), smooth_epsilon(1 / smooth_deviation(0.25, 1e-6), 1e-6) <= 0.25
    (21.12, True)
    """
    positive(epsilon, "epsilon")
    _between(delta)
    least = -2 * math.log(delta)
    return (math.sqrt(least) + math.sqrt(least + 2 * epsilon)) / (2 * epsilon) * (1 + 2.0**-46)


def smooth_budget(epsilon: float, delta: float) -> float:
    """Find the largest budget b for a unit of distance at which `smooth_epsilon` is at most epsilon: `1 / smooth_deviation`.

    Parameters
    ----------
    epsilon : above 0.
    delta : between 0 and 1.

    >>> smooth_epsilon(smooth_budget(0.25, 1e-6), 1e-6) <= 0.25
    True
    """
    budget = 1 / smooth_deviation(epsilon, delta)
    while smooth_epsilon(budget, delta) > epsilon:
        budget = math.nextafter(budget, 0.0)
    return budget


def _between(delta: object) -> None:
    """Refuse a delta that is no probability strictly between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise InvalidProblem(
            f"delta: {shown(delta)} is not between 0 and 1; Gaussian noise needs one such as 1e-6.", value=delta
        )
