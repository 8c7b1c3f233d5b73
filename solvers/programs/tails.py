"""Tails of symmetric laws from their characteristic functions, bounded from above: sums of exponentials and their like.

Davies (1973, Biometrika 60, 415-417): for X symmetric with characteristic function phi and any step d, `u_k = (k + 1/2) d`,

    P(X > x) <= 1/2 - sum_k phi(u_k) sin(u_k x) / (pi (k + 1/2)) + P(X > 2 pi / d - x),

and the last term is bounded by Chernoff. The sum is cut off after n terms; what is left of it is bounded, because phi falls at
least like the power of u that it falls by at the last term. So the bound holds for every number of terms, and more terms only
make it sharper. What is narrow against the rest, whose phi falls late, is kept out of the sum: its tails are bounded directly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST, MOST = 2**9, 2**14  # terms
ENOUGH = 1e-9  # of the allowed probability: what may be left out of the sum
WRAPPED = 1e-13
ROUNDING = 1e-12  # of 2^14 terms, generously
AT_ONCE = 2**21
NARROW = 1 / 32  # of the largest height: cones all of whose heights are below hardly reach the margins that are asked for


class SymmetricLaw(Protocol):
    """A law that is symmetric around 0, with exponential tails; a part of it may be narrow."""

    @property
    def mass(self) -> float:
        """How much is not narrow."""

    def characteristic(self, u: Floats) -> Floats:
        """phi at u, (n,), of what is not narrow: phi(0) is the mass. Returns (n,)."""

    def narrow_tail(self, x: float) -> float:
        """A bound of `P(narrow and |X| > x)`."""

    def left_out(self, last: float, terms: int) -> float:
        """A bound of `sum over k >= terms of |phi(u_k)| / (pi (k + 1/2))`, `last = u_terms`."""

    def beyond_all_but(self, share: float) -> float:
        """An L with `P(X > L) <= share`."""


@dataclass(frozen=True, eq=False)
class LaplaceLaw:
    """`phi(u) = prod_j (1 + (c_j u)^2)^-power_j`: a sum of Laplace variables of scales c (m,), none 0, so many of each; one
    coordinate of a spherical law of density `exp(-|z|)` in s dimensions for one scale and the power `(s + 1) / 2`."""

    scales: Floats
    power: float | Floats = 1.0
    mass: float = field(default=1.0, init=False)

    def characteristic(self, u: Floats) -> Floats:
        """phi at u, (n,). Returns (n,)."""
        return np.asarray(np.exp(-(np.log1p(np.square(np.outer(u, self.scales))) * self.power).sum(axis=1)))

    def left_out(self, last: float, terms: int) -> float:
        """phi falls at least like the power of u that it falls by at `last`, so the terms add up to an integral at most."""
        squares = (self.scales * last) ** 2
        falls = float((2 * self.power * squares / (1 + squares)).sum())
        return float(self.characteristic(np.array([last]))[0]) / np.pi * (1 / (terms + 0.5) + 1 / falls)

    def beyond_all_but(self, share: float) -> float:
        """Chernoff: `E e^(theta X) = prod (1 - (theta c_j)^2)^-power`."""
        theta = np.linspace(0.1, 0.95, 18) / np.abs(self.scales).max()
        logs = -(np.log1p(-np.square(np.outer(theta, self.scales))) * self.power).sum(axis=1)
        return float(((logs - np.log(share)) / theta).min())

    def narrow_tail(self, x: float) -> float:
        """Nothing is narrow."""
        return 0.0


@dataclass(frozen=True, eq=False)
class ConeLaw:
    """`phi(u) = Re sum_q w_q prod_i 1 / (1 - i u h_qi)`: with probability w_q, and either sign, a sum of exponentials of
    heights `h_q`, as one coordinate of a law with density `exp(-gauge)` is on the cones of a triangulated body.

    weights w: (M,), sum 1. heights h: (M, s), some of each row not 0. narrow: the share of the largest height up to which a
    cone's tail is bounded directly; which share makes the sharper bound depends on the law, and each makes one.
    """

    weights: Floats
    heights: Floats
    narrow: float = NARROW

    @cached_property
    def _largest(self) -> Floats:
        return np.asarray(np.abs(self.heights).max(axis=1))

    @cached_property
    def _wide(self) -> tuple[Floats, Floats]:
        """Weights and heights of the cones that are not narrow."""
        wide = self._largest > self.narrow * self._largest.max()
        return self.weights[wide], self.heights[wide]

    @property
    def mass(self) -> float:
        """The weights of the cones that are not narrow."""
        return float(self._wide[0].sum())

    def characteristic(self, u: Floats) -> Floats:
        """phi at u, (n,), of what is not narrow. Returns (n,)."""
        weights, heights = self._wide
        found = np.empty(len(u))
        size = max(1, AT_ONCE // heights.size)
        for start in range(0, len(u), size):
            part = u[start : start + size]
            turned = 1 - 1j * part[:, None, None] * heights
            found[start : start + size] = (weights / turned.prod(axis=2)).real.sum(axis=1)
        return found

    def narrow_tail(self, x: float) -> float:
        """A sum of s exponentials of heights up to h is above x only if one of them is above `x / (s h)`."""
        narrow = self._largest <= self.narrow * self._largest.max()
        s, heights = self.heights.shape[1], np.maximum(self._largest[narrow], 1e-300)
        return float(self.weights[narrow] @ np.minimum(1.0, s * np.exp(-x / (s * heights))))

    def left_out(self, last: float, terms: int) -> float:
        """phi falls at least like the power of u that it falls by at `last`, so the terms add up to an integral at most."""
        weights, heights = self._wide
        squares = (heights * last) ** 2
        sizes = weights * np.exp(-0.5 * np.log1p(squares).sum(axis=1))
        falls = (squares / (1 + squares)).sum(axis=1)
        return float((sizes * (1 / (terms + 0.5) + 1 / np.maximum(falls, 1e-300))).sum() / np.pi)

    def beyond_all_but(self, share: float) -> float:
        """Chernoff, with the moments of the mixture."""
        theta = np.linspace(0.1, 0.95, 18) / np.abs(self.heights).max()
        turned = theta[:, None, None] * self.heights
        logs = np.logaddexp(-np.log1p(-turned).sum(axis=2), -np.log1p(turned).sum(axis=2)) - np.log(2)
        largest = logs.max(axis=1, keepdims=True)
        sums = largest[:, 0] + np.log((self.weights * np.exp(logs - largest)).sum(axis=1))
        return float(((sums - np.log(share)) / theta).min())


SMOOTHED = 0.01  # of a standard deviation: how far whole-number noise is smoothed, by so many uniform numbers
UNIFORMS = 10
WIDEST = 24  # parts that bound the terms that are left out
ROUGH_ENOUGH = 1e-3  # of the tail of a smoothed law: a quantile is off by as little


@dataclass(frozen=True, eq=False)
class SmoothedGeometric:
    """A sum of whole numbers with two-sided geometric laws, and of uniform ones that add up to `reach` at most:
    `phi(u) = prod_j (1 + v_j (1 - cos(a_j u)))^-m_j (sin(w u) / (w u))^10`, v the variance of one, w a tenth of the reach.

    factors a: (n,), above 0. rates: (n,), of `P(z) ~ exp(-rate |z|)`. times m: (n,), how many there are of each.
    """

    factors: Floats
    rates: Floats
    times: Floats
    mass: float = field(default=1.0, init=False)
    _found: dict[float, Floats] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _variances(self) -> Floats:
        return np.asarray(0.5 / np.sinh(self.rates / 2) ** 2)

    @cached_property
    def reach(self) -> float:
        """The most that the uniform numbers add up to."""
        return SMOOTHED * float(np.sqrt(self.times @ (self.factors**2 * self._variances)))

    def characteristic(self, u: Floats) -> Floats:
        """phi at u, (n,). Returns (n,)."""
        return self._of_parts(u, slice(None)) * np.sinc(u * self.reach / (UNIFORMS * np.pi)) ** UNIFORMS

    def _of_parts(self, u: Floats, parts: slice | NDArray[np.intp]) -> Floats:
        """The characteristic function of some of the whole numbers at u, (n,)."""
        factors, variances, times = self.factors[parts], self._variances[parts], self.times[parts]
        found = np.empty(len(u))
        size = max(1, AT_ONCE // len(factors))
        for start in range(0, len(u), size):
            turned = np.outer(u[start : start + size], factors)
            found[start : start + size] = np.exp(-(np.log1p(2 * variances * np.sin(turned / 2) ** 2) @ times))
        return found

    def left_out(self, last: float, terms: int) -> float:
        """What the widest of its parts, and the uniform numbers, leave of the terms up to `MOST`, and what these alone leave of
        those beyond: their characteristic function is below `(w u)^-10`."""
        step, end = last / (terms + 0.5), MOST + 0.5
        beyond = (end * step * self.reach / UNIFORMS) ** -UNIFORMS / np.pi * (1 / end + 1 / UNIFORMS)
        return float(self._sizes(step)[terms:].sum() + beyond)

    def _sizes(self, step: float) -> Floats:
        """Bounds of the sizes of all terms up to `MOST`, (MOST,)."""
        if step not in self._found:
            self._found[step] = self._bounds(step)
        return self._found[step]

    def _bounds(self, step: float) -> Floats:
        widest = np.argsort(-(self.factors**2 * self._variances), kind="stable")[:WIDEST]
        place = np.arange(MOST) + 0.5
        smooth = np.minimum(1.0, (place * step * self.reach / UNIFORMS) ** -UNIFORMS)
        u: Floats = np.asarray(place * step)
        return np.asarray(self._of_parts(u, widest) * smooth / (np.pi * place))

    def beyond_all_but(self, share: float) -> float:
        """Chernoff: `E e^(theta X) = prod (1 - v_j (cosh(a_j theta) - 1))^-m_j`, theta below every `rate_j / a_j`."""
        theta = np.linspace(0.1, 0.95, 18) * float((self.rates / self.factors).min())
        moved = np.outer(theta, self.factors)
        logs = -np.log1p(-2 * self._variances * np.sinh(moved / 2) ** 2) @ self.times
        return float(((logs - np.log(share)) / theta).min()) + self.reach

    def narrow_tail(self, x: float) -> float:
        """Nothing is narrow."""
        return 0.0


def geometric_margin(factors: Floats, rates: Floats, times: Floats, beyond: float) -> float:
    """A t with `P(|X| > t) <= beyond` for `X = sum_j a_j z_j`, z_j independent whole numbers with `P(z) ~ exp(-rate_j |z|)`;
    the tail at t, less a fiftieth of a standard deviation, is above about `beyond`.

    factors a, rates, times: (n,), see `SmoothedGeometric`. Smoothing moves X by at most `reach`, so `P(|X| > t + reach)` is at
    most the tail of the smoothed sum at t.

    >>> round(geometric_margin(np.array([1.0]), np.array([0.01]), np.array([1.0]), 0.05) * 0.01, 1)
    3.0
    """
    law = SmoothedGeometric(factors, rates, times)
    return symmetric_margin(law, beyond, ROUGH_ENOUGH) + law.reach


def symmetric_margin(law: SymmetricLaw, beyond: float, enough: float = ENOUGH) -> float:
    """A t with `P(|X| > t) <= beyond`, at which the tail is that up to about `enough` of it where the law is smooth.

    >>> round(symmetric_margin(LaplaceLaw(np.array([1.0])), 0.05), 5), round(float(np.log(20)), 5)
    (2.99573, 2.99573)
    """
    farthest = law.beyond_all_but(beyond / 4)
    step = 2 * np.pi / (law.beyond_all_but(WRAPPED) + farthest)
    terms = FEWEST
    while law.left_out((terms + 0.5) * step, terms) > enough * beyond and terms < MOST:
        terms *= 2
    u: Floats = np.asarray((np.arange(terms) + 0.5) * step)
    shares = law.characteristic(u) / (np.pi * (np.arange(terms) + 0.5))
    unsure = law.left_out((terms + 0.5) * step, terms) + WRAPPED + ROUNDING
    low, high = 0.0, farthest
    for _ in range(60):
        middle = (low + high) / 2
        tail = law.mass - 2 * float(shares @ np.sin(u * middle)) + 2 * unsure + law.narrow_tail(middle)
        low, high = (low, middle) if tail <= beyond else (middle, high)
    return high


def cone_margin(weights: Floats, heights: Floats, beyond: float, enough: float = ENOUGH) -> float:
    """The margin of a `ConeLaw`: the smaller of those with every cone in the sum, and with the narrow ones kept out of it.

    weights: (M,). heights: (M, s).
    """
    return min(symmetric_margin(ConeLaw(weights, heights, narrow), beyond, enough) for narrow in (0.0, NARROW))


# `E |sum_i h_i t_i|` for independent standard exponentials t_i: closed, by a recursion of positive terms only; and for
# independent whole numbers with two-sided geometric laws, from their characteristic function.
#
# Where the sums come from: docs/theory/foundations.md, section 5.


TERMS = 2**15  # of the series below: an error of about 1e-7


def mean_absolute(heights: Floats) -> Floats:
    """`E |sum_i h_i t_i|` for every row h of `heights`, shape (J, s) -> (J,).

    >>> mean_absolute(np.array([[1.0, -1.0], [2.0, 3.0]])).tolist()
    [1.0, 5.0]
    """
    descending = -np.sort(-np.asarray(heights, dtype=np.float64), axis=1)
    return _mean_positive(descending) + _mean_positive(-descending[:, ::-1])


def _mean_positive(h: Floats) -> Floats:
    """`E max(0, sum_i h_i t_i)` for rows in descending order.

    With p = h_i > 0 > -m = h_j, the exponentials are memoryless: p t_i - m t_j is p t with probability p / (p + m) and -m t
    otherwise. So F(i..j) = (p F(i..j-1) + m F(i+1..j)) / (p + m);
    where all are nonnegative F is their sum, where none is positive it is 0.
    """
    size = h.shape[1]
    # row[i] holds F(i..i+length-1) for all rows of heights.
    row = [np.maximum(h[:, i], 0.0) for i in range(size)]
    sums = np.concatenate([np.zeros((len(h), 1)), np.cumsum(h, axis=1)], axis=1)
    for length in range(2, size + 1):
        longer = []
        for i in range(size - length + 1):
            p, m = h[:, i], -h[:, i + length - 1]
            with np.errstate(divide="ignore", invalid="ignore"):
                mixed = (p * row[i] + m * row[i + 1]) / (p + m)
            whole = np.where(m <= 0, sums[:, i + length] - sums[:, i], mixed)
            longer.append(np.where(p <= 0, 0.0, whole))
        row = longer
    return np.asarray(row[0])


def mean_absolute_of_geometrics(coefficients: Floats, rates: Floats) -> Floats:
    """`E |sum_j c_j z_j|` for independent z_j with `P(z) ~ exp(-rate_j |z|)`, up to about 1e-7.

    On a circle of circumference T beyond which nothing of weight lies, |y| is a triangle wave: `E |Y|` is the sum over odd k of
    `(2 T / pi^2) (1 - phi(2 pi k / T)) / k^2`, with `1 / phi(t) = prod_j (1 + sin^2(c_j t / 2) / sinh^2(rate_j / 2))`. What is
    left out after `TERMS` terms has the mean of the second half of these.
    coefficients: (J, m). rates: (m,), positive. Returns (J,).
    """
    return np.array([_mean_of_series(np.abs(row[row != 0]), rates[row != 0]) for row in coefficients])


def _mean_of_series(c: Floats, rates: Floats) -> float:
    if not len(c):
        return 0.0
    with np.errstate(over="ignore"):
        inverse = 1 / np.sinh(rates / 2)
    deviation = np.sqrt((c**2 * inverse**2).sum() / 2)
    circle = 2 * float(12 * deviation + 45 * (c / rates).max() + c.max())
    odd = 2 * np.arange(TERMS) + 1.0
    logs = np.zeros(TERMS)
    for one, factor in zip(c, inverse, strict=True):
        logs += np.log1p((factor * np.sin(np.pi / circle * one * odd)) ** 2)
    missing = -np.expm1(-logs)
    rest = missing[TERMS // 2 :].mean() / (4 * TERMS)  # the sum over odd k > 2 TERMS of 1 / k^2
    return float(2 * circle / np.pi**2 * ((missing / odd**2).sum() + rest))
