"""Renyi divergences between integer noise and its shifts, enclosed by sums with bounded tails: what certifies a zCDP policy.

`D_a(P || Q) = log(sum_k P(k)^a Q(k)^(1 - a)) / (a - 1)`, Q the law P shifted by d.
Noise on several sums is independent: divergences add.
Derivation: docs/theory/records.md, 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, isqrt, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import rational, rational_from, shown
from designer.base.errors import InvalidProblem
from designer.tables.policies.policy import Policy, Unit, parameter, raised, require_unit
from solvers.exact.balls import exp_ball, rational_ball
from solvers.exact.rational import root_above

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


# What a policy promises to groups of records, to replaced records and to sensitive ones (Seeman et al., section 4;
# docs/theory/records.md, 3 and 4).


def group_loss(losses: Iterable[object], unit: Unit = "zcdp") -> Fraction:
    """Bound what a group of records with these losses may lose together: `(sum_j sqrt(P_j))^2` for zCDP, `sum_j P_j` for pure
    privacy.

    In any order; never above `simple_group_loss` and `advanced_group_loss`, and attained by Gaussian noise where all
    contributions point the same way. Rounded up by less than 2^-77. Derivation: docs/theory/records.md, 3.

    Parameters
    ----------
    losses : P(r) of each record, at least 0.
    unit : "zcdp" or "pure".

    >>> group_loss([1, 4]), simple_group_loss([1, 4]), round(float(advanced_group_loss([1, 4])), 3)
    (Fraction(9, 1), Fraction(10, 1), 10.472)
    """
    require_unit(unit)
    listed = _losses(losses)
    if unit == "pure":
        return sum(listed, Fraction(0))
    # Relative to the largest loss, roots are exact where the ratios are squares, of equal losses above all.
    largest = max(listed, default=Fraction(0))
    roots = sum((_root(loss / largest) for loss in listed if loss), Fraction(0))
    return largest * roots * roots


def group_policy_loss(policy: Policy, records: Sequence[Mapping[str, object]]) -> Fraction:
    """Compute `group_loss` of hypothetical records.

    Parameters
    ----------
    policy : by which each record loses.
    records : each with its measures and keys.
    """
    return group_loss([policy.exact(record) for record in records], policy.unit)


def simple_group_loss(losses: Iterable[object]) -> Fraction:
    """Apply Lemma 4.4 of the paper, zCDP: `J sum_j P_j`.

    losses: P(r) of each of the J records.
    """
    listed = _losses(losses)
    return len(listed) * sum(listed, Fraction(0))


def advanced_group_loss(losses: Iterable[object]) -> Fraction:
    """Apply Lemma 4.5 of the paper, zCDP: `inf_k sum_j k^j / (k - 1) P_(j)`, largest loss first, at a rational k within 10^-9
    of the best found.

    The bound holds at every k > 1; as a function of log(k - 1) it has one minimum: each `k^j / (k - 1)` is convex in k.

    losses: P(r) of each record.
    """
    listed = sorted(_losses(losses), reverse=True)

    def bound(k: Fraction) -> Fraction:
        return sum((k ** (j + 1) * loss for j, loss in enumerate(listed)), Fraction(0)) / (k - 1)

    sizes = np.array([float(loss) for loss in listed])

    def rough(t: float) -> float:
        return float(np.logaddexp.reduce(np.log1p(np.exp(t)) * np.arange(1, len(sizes) + 1) + np.log(sizes))) - t

    sizes = sizes[sizes > 0]
    if not len(sizes):
        return Fraction(0)
    low, high = -30.0, 30.0
    for _ in range(64):
        left, right = low + 0.382 * (high - low), high - 0.382 * (high - low)
        low, high = (low, right) if rough(left) < rough(right) else (left, high)
    return bound(1 + Fraction(float(np.exp(low))))


def one_sided_loss(sensitive: object, other: object | None = None, unit: Unit = "zcdp") -> Fraction:
    """Bound one-sided privacy: what replacing a record with `P(r) <= sensitive` may cost, by any record with `P(r') <= other`.

    `(sqrt(sensitive) + sqrt(other))^2` under zCDP. The paper's Lemma 4.8 states `2 sensitive` whatever r' is; that fails for
    Gaussian sums. r = -1 replaced by r' = 1 costs four times P(1), and by a huge r' any multiple (docs/theory/records.md, 4).

    Parameters
    ----------
    sensitive : the largest loss of the record that is replaced.
    other : the largest loss of the record in its place, `sensitive` by default.
    unit : "zcdp" or "pure".

    >>> one_sided_loss("1/2"), one_sided_loss("1/2", 8)
    (Fraction(2, 1), Fraction(25, 2))
    """
    return group_loss([sensitive, sensitive if other is None else other], unit)


def epsilon(loss: object, delta: object, unit: Unit = "zcdp") -> float:
    """The epsilon at which a record (or a group) with this loss has (epsilon, delta)-privacy, rounded up."""
    from designer.tradeoff.conversions import zcdp_epsilon
    from solvers.exact.rational import float_above

    require_unit(unit)
    return zcdp_epsilon(loss, delta) if unit == "zcdp" else float_above(rational_from(loss, "loss", 0))


def group_losses(losses: Floats, groups: NDArray[np.generic], unit: Unit = "zcdp") -> Floats:
    """Compute `group_loss` of every group of records, shape (number of groups,), in the order of `np.unique(groups)`; rounded
    up.

    Parameters
    ----------
    losses : (n,), P(r) of each record.
    groups : (n,), the group of each.
    unit : "zcdp" or "pure".
    """
    require_unit(unit)
    labels = np.asarray(groups)
    if labels.shape != losses.shape:
        raise InvalidProblem(f"groups: shape {labels.shape} for {losses.shape} losses; give the group of every record.")
    where = np.unique(labels, return_inverse=True)[1].ravel()
    counts = np.bincount(where)
    sums = np.bincount(where, np.sqrt(losses) if unit == "zcdp" else losses)
    # Sums of c terms are within c roundings, squaring doubles them; a group of one loses what its record does.
    together = raised((sums**2 if unit == "zcdp" else sums) * (1 + 2 * (counts + 4) * 2.0**-53), 4)
    return np.where(counts == 1, np.bincount(where, losses), together)


def _root(square: Fraction) -> Fraction:
    """A root, exact where it is rational, rounded up elsewhere."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root * root == square else root_above(square)


def _losses(losses: Iterable[object]) -> list[Fraction]:
    return [rational_from(loss, f"losses[{j}]", 0) for j, loss in enumerate(losses)]
