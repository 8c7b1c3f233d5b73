"""How large lattice noise gets: tail and mean bounds without unknown constants, the paper's own, and its Gaussian baseline.

INT Theorems 12 and 15 bound `P(|z|_2 >= t)` for "t large enough" by `K t^m e^(-eps t)`, with a K that compares lattice points
with volume. Here the sums over the lattice are compared with themselves at another scale,
which holds for every t and needs no K (docs/theory/lattice.md, 8).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from designer.base.checks import positive
from designer.base.errors import InvalidProblem
from designer.certificate.norms import Gauge
from designer.sampling.integer_margins import bisected

if TYPE_CHECKING:
    from designer.lattice.mechanism import LatticeMechanism
    from solvers.lattices.kernel import Lattice


def noise_tail(mechanism: LatticeMechanism, size: float) -> float:
    """Give an upper bound of `P(||z|| >= size)` in the mechanism's own norm, budgets included; 1 where it says nothing.

    Exponential fall-off in an l1, l2 or ellipsoid norm: `(s/m)^m e^(m - s)` for s > m, the Chernoff bound of a Gamma(m)
    variable, m the dimension. Gaussian: `(s^2/m)^(m/2) e^((m - s^2)/2)` for s^2 > m.
    Both for every s, with no constant of the lattice.

    Parameters
    ----------
    mechanism : whose noise z is.
    size : in the mechanism's own norm.
    """
    s, m = positive(size, "size"), mechanism.dimension
    _require_mixture(mechanism)
    if mechanism.falloff == "gaussian":
        s, m = s * s / 2, m / 2  # type: ignore[assignment]  # half a dimension is a half-integer
    return 1.0 if s <= m else math.exp(m * math.log(s / m) + m - s)


def cell_tail(mechanism: LatticeMechanism, query: object, size: float) -> float:
    """Give an upper bound of `P(|<q, z>| >= size)` for Gaussian noise: `2 e^(-size^2 / (2 v))`, v the variance of its
    continuous counterpart.

    Independent of the dimension; `E e^<q, z> <= e^(v / 2)` because a sum over a shifted
    lattice is at most that over the lattice.

    Parameters
    ----------
    mechanism : with Gaussian noise z.
    query : q, one weight for each cell.
    size : of the error of the answer.
    """
    if mechanism.falloff != "gaussian":
        raise InvalidProblem("mechanism: its noise is not Gaussian; bound its norm by noise_tail.")
    basis = mechanism.lattice.basis.astype(np.float64)
    image = np.atleast_2d(mechanism.norm.factor) @ basis[:, mechanism.columns].T
    along = basis @ np.asarray(query, dtype=np.float64)
    variance = float(along @ np.linalg.solve(image.T @ image, along))
    return min(1.0, 2 * math.exp(-(positive(size, "size") ** 2) / (2 * variance))) if variance > 0 else 0.0


def mean_norm(mechanism: LatticeMechanism) -> float:
    """Give an upper bound of `E ||z||`, of `root E ||z||^2` for Gaussian noise: m, or root m.

    mechanism: whose noise z is.
    """
    _require_mixture(mechanism)
    return math.sqrt(mechanism.dimension) if mechanism.falloff == "gaussian" else float(mechanism.dimension)


def mean_square(mechanism: LatticeMechanism) -> float:
    """Give an upper bound of `E ||z||^2` for l2 and ellipsoid norms: `m (m + 1)`, or m for Gaussian noise; continuous noise
    attains it.

    mechanism: whose noise z is, with an l2 or ellipsoid norm.
    """
    if mechanism.norm.order != "l2":
        raise InvalidProblem("norm: mean squares are bounded for l2 and ellipsoid norms; use mean_norm.")
    m = mechanism.dimension
    return float(m if mechanism.falloff == "gaussian" else m * (m + 1))


def _require_mixture(mechanism: LatticeMechanism) -> None:
    if isinstance(mechanism.norm, Gauge) or mechanism.norm.order not in ("l1", "l2"):
        raise InvalidProblem("norm: exp(-||z||) must be a mixture of Gaussians; bounds are known for l1, l2 and ellipsoids.")
    if mechanism.chain is not None:
        raise InvalidProblem(
            "mechanism: draws from a chain, whose law is not the one that the bounds speak of; design it without chain=True."
        )


def theorem_constant(lattice: Lattice) -> float:
    """Compute K of INT Theorems 12 and 15: `4 2^m V_m / root det(C'C)`, V_m the volume of the unit ball; its logarithm is
    finite for every m.

    lattice: of dimension m.
    """
    return math.exp(log_theorem_constant(lattice))


def log_theorem_constant(lattice: Lattice) -> float:
    """`log K`. (The proof of Proposition 18 ends at half of this K; a factor 2 of its ratio test is missing there.)"""
    m = lattice.dimension
    volume = m / 2 * math.log(math.pi) - math.lgamma(m / 2 + 1)
    return math.log(4) + m * math.log(2) + volume - _log(lattice.squared_determinant) / 2


def theorem_12_tail(lattice: Lattice, epsilon: float, size: float) -> float:
    """Compute `K t^m e^(-eps t)`, INT (7), claimed for t large enough only: it may be below the truth before.

    Parameters
    ----------
    lattice : of dimension m.
    epsilon : in nats for each unit of distance.
    size : t, in units of distance.
    """
    return math.exp(min(700.0, log_theorem_constant(lattice) + lattice.dimension * math.log(size) - epsilon * size))


def theorem_15_tail(lattice: Lattice, deviation: float, size: float) -> float:
    """Compute `K t^m e^(-t^2 / (2 sigma^2))`, INT (10), for t large enough.

    Parameters
    ----------
    lattice : of dimension m.
    deviation : sigma, in units of distance.
    size : t, in units of distance.
    """
    exponent = log_theorem_constant(lattice) + lattice.dimension * math.log(size) - (size / deviation) ** 2 / 2
    return math.exp(min(700.0, exponent))


def definition_13_variance(lattice: Lattice, epsilon: float, delta: float) -> float:
    """Compute a baseline only: the variance `2 c_A log(1/delta) / eps^2` of INT Definition 13, with the least c_A that its
    proof can use.

    The paper leaves c_A open up to `O(max(m log m, log K))`. Its inequality (17), with the largest t = sigma^2 eps put in, is
    `c log(1/delta) - eps - log(1/delta) - m log(2 c log(1/delta) / eps) - log K >= 0`; the least c from which on that holds is
    taken. The lattice Gaussian needs `designer.lattices.smooth_deviation`, in which no dimension occurs.

    Parameters
    ----------
    lattice : of dimension m.
    epsilon : above 0.
    delta : between 0 and 1.
    """
    if not 0 < delta < epsilon < 1 / math.e:
        raise InvalidProblem(f"epsilon, delta: INT Theorem 14 asks for 0 < delta < epsilon < 1/e, not {epsilon!r}, {delta!r}.")
    logarithm, m, constant = -math.log(delta), lattice.dimension, log_theorem_constant(lattice)

    def slack(c: float) -> float:
        return c * logarithm - epsilon - logarithm - m * math.log(2 * c * logarithm / epsilon) - constant

    low = max(m / logarithm, 1e-9)  # slack rises from here on
    high = 2 * low
    while slack(high) < 0:
        high *= 2
    return 2 * bisected(lambda c: slack(c) >= 0, low, high, 200) * logarithm / epsilon**2


def _log(number: int) -> float:
    return math.log(int(number))
