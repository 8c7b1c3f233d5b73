"""Renyi divergences between integer noise and its shifts, enclosed by sums with bounded tails: what certifies a zCDP policy.

`D_a(P || Q) = log(sum_k P(k)^a Q(k)^(1 - a)) / (a - 1)`, Q the law P shifted by d.
Noise on several sums is independent: divergences add.
Derivation: docs/theory/records.md, 7.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil, sqrt
from typing import TYPE_CHECKING

from designer.base.checks import rational, shown
from designer.base.errors import InvalidProblem
from designer.tables.policies.policy import parameter
from solvers.exact.balls import exp_ball, rational_ball

if TYPE_CHECKING:
    from flint import arb

Divergence = Callable[[Fraction], "arb"]
# Orders for `sharp_rho`: from 1.05, in steps of 10 %, to beyond 1000.
ORDERS = tuple(Fraction(21, 20) * Fraction(11, 10) ** i for i in range(74))


def gaussian_divergence(variance: object, shift: int, order: object) -> arb:
    """`D_a` for the discrete Gaussian `exp(-k^2 / (2 v))`, enclosed;
    at most `a d^2 / (2 v)`, equal where `(a - 1) d` is an integer.

    >>> float(gaussian_divergence(4, 3, 2)), round(float(gaussian_divergence("1/4", 1, "3/2")), 3)
    (2.25, 2.942)
    """
    v, a = parameter(variance, "variance"), _order(order)
    # P^a Q^(1 - a) is the Gaussian about c = (1 - a) d, times exp(a (a - 1) d^2 / (2 v)).
    ratio = _gaussian_mass(v, (1 - a) * shift) / _gaussian_mass(v, Fraction(0))
    ball: arb = rational_ball(a * shift**2 / (2 * v)) + ratio.log() / rational_ball(a - 1)
    return ball


def student_divergence(scale: object, power: int, shift: int, order: object, reach: int | None = None) -> arb:
    """`D_a` for the weights `(s^2 + k^2)^-m` on the integers, enclosed by the sum over `|k| <= reach` (400 (s + |d|)
    by default).

    >>> float(student_divergence(5, 2, 5, 2)) < 4 * 0.4813  # 2 m asinh(d / (2 s))
    True
    """
    s, a = parameter(scale, "scale"), _order(order)
    n = 400 * (ceil(s) + abs(shift)) if reach is None else reach
    if n <= abs(shift):
        raise InvalidProblem(f"reach: {n} does not go beyond the shift {shift}; give a larger one.", value=n)
    squares = [rational_ball(s * s + k * k) for k in range(n + abs(shift) + 1)]
    # Beyond n the weights are below k^-2m, whose sum is below the integral;
    # the ratio of two of them lies within (1 + |d| / n)^2.
    tail = rational_ball(Fraction(2, 2 * power - 1) / Fraction(n) ** (2 * power - 1))
    exponent = rational_ball(power * (a - 1))
    growth = rational_ball((1 + Fraction(abs(shift), n)) ** 2) ** exponent
    weights = {k: squares[abs(k)] ** -power for k in range(-n, n + 1)}
    moved = sum(
        (w * (squares[abs(k - shift)] / squares[abs(k)]) ** exponent for k, w in weights.items()), start=_up_to(tail * growth)
    )
    ratio = moved / sum(weights.values(), start=_up_to(tail))
    ball: arb = ratio.log() / rational_ball(a - 1)
    return ball


def sharp_rho(divergence: Divergence, largest: arb) -> tuple[float, float]:
    """Bounds of `sup_{a > 1} D_a / a`, the least rho, from the divergence as a function of the order, and D at order infinity.

    D_a never falls with a, so between two orders a < b the quotient is at most `D_b / a`;
    below the first it is at most D itself.
    """
    values = [(order, divergence(order)) for order in ORDERS]
    below = max(float((value / rational_ball(order)).lower()) for order, value in values)
    between = [(upper[1] / rational_ball(lower[0])).upper() for lower, upper in pairwise(values)]
    above = [values[0][1].upper(), *between, (largest / rational_ball(ORDERS[-1])).upper()]
    return below, max(map(float, above))


def _gaussian_mass(variance: Fraction, centre: Fraction) -> arb:
    """`sum_k exp(-(k - c)^2 / (2 v))`: beyond distance n of the centre, terms fall by at least `exp(-n / v)` each."""
    n = 16 * ceil(sqrt(variance)) + 16
    nearest = round(centre)
    edge = exp_ball(-Fraction(n * n) / (2 * variance))
    tail = 2 * edge / (1 - exp_ball(-Fraction(n) / variance))
    window = range(nearest - n, nearest + n + 1)
    return sum((exp_ball(-((k - centre) ** 2) / (2 * variance)) for k in window), start=_up_to(tail))


def _up_to(bound: arb) -> arb:
    """A ball around every number from 0 to a bound."""
    from flint import arb

    half: arb = bound.upper() / 2
    return arb(half, half)


def _order(order: object) -> Fraction:
    number = rational(order, "order")
    if number <= 1:
        raise InvalidProblem(f"order: {shown(float(number))} must be above 1.", value=number)
    return number
