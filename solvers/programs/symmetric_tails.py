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
    """`phi(u) = prod_j (1 + (c_j u)^2)^-power`: a sum of Laplace variables of scales c (m,), none 0, for power 1; one
    coordinate of a spherical law of density `exp(-|z|)` in s dimensions for one scale and the power `(s + 1) / 2`."""

    scales: Floats
    power: float = 1.0
    mass: float = field(default=1.0, init=False)

    def characteristic(self, u: Floats) -> Floats:
        """phi at u, (n,). Returns (n,)."""
        return np.asarray(np.exp(-self.power * np.log1p(np.square(np.outer(self.scales, u))).sum(axis=0)))

    def left_out(self, last: float, terms: int) -> float:
        """phi falls at least like the power of u that it falls by at `last`, so the terms add up to an integral at most."""
        squares = (self.scales * last) ** 2
        falls = self.power * float((2 * squares / (1 + squares)).sum())
        return float(self.characteristic(np.array([last]))[0]) / np.pi * (1 / (terms + 0.5) + 1 / falls)

    def beyond_all_but(self, share: float) -> float:
        """Chernoff: `E e^(theta X) = prod (1 - (theta c_j)^2)^-power`."""
        theta = np.linspace(0.1, 0.95, 18) / np.abs(self.scales).max()
        logs = -self.power * np.log1p(-np.square(np.outer(self.scales, theta))).sum(axis=0)
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
