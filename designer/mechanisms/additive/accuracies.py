"""Accuracy (alpha, beta) of DX Definition 8, in l1 and in l-infinity: how far all answers together are off, with what
probability, at any histogram of n records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from designer.mechanisms.additive.bounds import AdditiveLaw, cell, error_bounds, reach
from designer.mechanisms.additive.magnitude_sums import MagnitudeSum
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import track
from designer.base.arrays import Floats
from designer.base.checks import positive, shown

ErrorNorm = Literal["l1", "linf"]
# Up to so many answers all signs of their errors are gone through.
SIGNED = 12
# No beta below is looked for, nor to more than the part e^(-27.6 / 2^20).
LEAST_BETA, HALVINGS = 1e-12, 20


@dataclass(frozen=True)
class AccuracyBound:
    """`P(||Z - Q x|| >= alpha) <= beta` for every histogram x of n records, Z the release: DX Definition 8.

    bias: the part of alpha that comes from answering P in the place of Q: `n max_i ||(P - Q)_i||`, over elements i.
    """

    norm: ErrorNorm
    n: float
    alpha: float
    beta: float
    bias: float


def accuracy_of(
    mechanism: AdditiveLaw, n: float, beta: float | None = None, alpha: float | None = None, norm: ErrorNorm = "l1"
) -> AccuracyBound:
    """The least alpha that is proven for `beta`, or the least beta that is proven for `alpha`: give one of the two.

    l1: the law of `sum |Y_k|` itself for independent Laplace noise (`MagnitudeSum`), a proven bound for all other noise (see
    `_l1_tails`). linf: as in `ErrorBounds.high_probability`.
    """
    if norm not in ("l1", "linf"):
        raise InvalidProblem(f'norm: {shown(norm)} is unknown; use "l1" or "linf".')
    if (beta is None) == (alpha is None):
        raise InvalidProblem("beta, alpha: give one of the two; the other one is what is found.")
    records = positive(n, "n")
    off = np.abs(mechanism.effective - mechanism.workload.dense())
    bias = records * float((off.sum(axis=0) if norm == "l1" else off).max(initial=0.0))

    tails = _l1_tails(mechanism) if norm == "l1" else [Tail(lambda share: _linf_quantile(mechanism, share))]
    if beta is not None:
        if not isinstance(beta, (int, float)) or not 0 < beta < 1:
            raise InvalidProblem(f"beta: {shown(beta)} is not a probability between 0 and 1.")
        return AccuracyBound(norm, records, _above(bias + min(tail.quantile(beta) for tail in tails)), float(beta), bias)
    wanted = positive(alpha, "alpha")
    left = wanted * (1 - 1e-12) - bias
    found = min(tail.beyond(left) for tail in tails) if left > 0 else 1.0
    if not found < 1:
        raise DesignFailed(
            f"alpha: {wanted} is kept with no proven probability, the bias alone may be {bias:.6g}; ask for a larger alpha."
        )
    return AccuracyBound(norm, records, wanted, max(found, LEAST_BETA), bias)


def _above(bound: float) -> float:
    """Beyond what errors exceed rarely: the definition counts errors equal to alpha as failures."""
    return float(bound) * (1 + 1e-9) + 5e-324


@dataclass(frozen=True)
class Tail:
    """A tail that is known by its quantiles: `quantile(delta)` is a t with `P(error > t) <= delta`."""

    quantile: Callable[[float], float]

    def beyond(self, t: float) -> float:
        """`P(error >= t) <=` this: the smallest delta found whose quantile is below t; 1 where none is."""
        if self.quantile(LEAST_BETA) < t:
            return LEAST_BETA
        low, high = math.log(LEAST_BETA), 0.0
        for _ in track(range(HALVINGS), "looking for beta"):
            middle = (low + high) / 2
            low, high = (low, middle) if self.quantile(math.exp(middle)) < t else (middle, high)
        return math.exp(high)


def _linf_quantile(mechanism: AdditiveLaw, delta: float) -> float:
    bounds = error_bounds(mechanism, 1.0, delta)
    return bounds.high_probability - bounds.bias[2]


def _l1_tails(mechanism: AdditiveLaw) -> list[MagnitudeSum | Tail]:
    """Tails of `||Y||_1` for the noise Y of the answers, `Y = T z`, z on the grid; all hold, the least counts.

    - Independent Laplace z: `||T z||_1 <= sum_j w_j |z_j|`, `w_j = ||T_j||_1` (columns), with equality where T is diagonal, so
      that the law of the answers' own noise is exact.
    - Exponential: `||T z||_1 <= ||T (z + h)||_1 + sum_k a_k` and `||T y||_1 <= R ||y||`, so with `P <= e^(2r) P` of cells
      (`joint_noise`) the quantile of a Gamma(s) counts R times. `R = max over signs e of the dual norm of e'T`; above 12
      answers the sum of the rows' dual norms.
    - Gaussian: `E exp(c e'T z) <= exp(c^2 sigma_e^2 / 2)` for every vector of signs e, so `P(||T z||_1 >= t) <= sum over e of
      exp(-t^2 / (2 sigma_e^2))`; above 12 answers each answer stays within `sigma_k sqrt(2 ln(2 K / delta))`, all together.
      Normal noise y that is rounded to z has the same moments before, and `||T z||_1 <= ||T y||_1 + sum_k a_k`.
    """
    heard, rows = mechanism.noise.heard, mechanism.noise.rows(mechanism.reconstruction)
    if not rows.any():
        return [Tail(lambda _: 0.0)]
    if mechanism.falloff != "exponential":
        return [_gaussian_tail(mechanism, rows)]
    if mechanism.norm.order != "l1" or mechanism.norm.map.ndim != 1:
        return [_exponential_tail(mechanism, rows)]
    steps = mechanism.grid.steps[heard]
    weights = np.abs(rows).sum(axis=0) * steps
    law = MagnitudeSum(weights[weights > 0], (mechanism.norm.map[heard] * steps)[weights > 0])
    return [law] if mechanism.reconstruction is None else [law, _exponential_tail(mechanism, rows)]


def _exponential_tail(mechanism: AdditiveLaw, rows: Floats) -> Tail:
    from scipy.stats import gamma

    (r, reaches), size = cell(mechanism), len(mechanism.noise.heard)
    longest = float(_signed_reaches(mechanism, rows).max()) if len(rows) <= SIGNED else float(reach(mechanism).sum())
    return Tail(lambda delta: longest * float(gamma.isf(delta * math.exp(-2 * r), size)) + float(reaches.sum()))


def _gaussian_tail(mechanism: AdditiveLaw, rows: Floats) -> Tail:
    total = float(reach(mechanism).sum())
    rounded = float(cell(mechanism)[1].sum()) if mechanism.falloff == "rounded_gaussian" else 0.0

    def apart(delta: float) -> float:
        return total * math.sqrt(2 * math.log(2 * len(rows) / delta)) + rounded

    if len(rows) > SIGNED:
        return Tail(apart)
    sizes = _signed_reaches(mechanism, rows)
    sizes = sizes[sizes > 0]

    def quantile(delta: float) -> float:
        low, high = 0.0, float(sizes.max()) * math.sqrt(2 * math.log(2 * len(sizes) / delta))
        for _ in range(60):
            middle = (low + high) / 2
            within = 2 * float(np.exp(-((middle / sizes) ** 2) / 2).sum()) <= delta  # each e with its negative
            low, high = (low, middle) if within else (middle, high)
        return min(apart(delta), high + rounded)

    return Tail(quantile)


def _signed_reaches(mechanism: AdditiveLaw, rows: Floats) -> Floats:
    """The dual norms of `e'T` for all vectors e of signs, one of each pair e, -e."""
    signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=len(rows) - 1)])
    return mechanism.norm.reach(signs @ rows)
