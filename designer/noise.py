"""The noise of a mechanism: exact draws in grid steps, and the moments of its law.

`noise_for` chooses the sampler that a norm and a fall-off call for. Moments of independent coordinates are those of the discrete law,
exactly; moments of jointly drawn coordinates are those of the continuous law, from which a grid of 2^-40 scales cannot be told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from designer.errors import InvalidProblem
from designer.frozen import Floats
from designer.grid import Grid
from designer.norms import Gauge, Norm
from designer.sampling.box_grid import BoxGrid
from designer.sampling.discrete_gaussian import DiscreteGaussian
from designer.sampling.discrete_laplace import DiscreteLaplace
from designer.sampling.ellipsoid_grid import EllipsoidGrid
from designer.sampling.entropy import Entropy, SeededEntropy
from designer.sampling.polytope_grid import PolytopeGrid
from designer.sampling.round_and_reject import Falloff, RoundAndReject

# Draws behind a mean absolute value that has no closed form: its standard error is about 0.3 % of the value.
SIMULATED_DRAWS = 100_000


class Sampler(Protocol):
    """Draws integer vectors, (size, s)."""

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class Noise:
    """Noise in R measured coordinates; `heard` lists the s that get any.

    sampler: exact draws of those s, in grid steps. covariance: (s, s), in the units of the answers. mean_absolute: (s,), or None where
    only simulation gives it. absolute_factor: E|a z| / sqrt(a' covariance a) where it is the same for every direction a, else None.
    """

    sampler: Sampler | None
    heard: NDArray[np.intp]
    steps: Floats
    heard_covariance: Floats
    independent_absolutes: Floats | None = None
    absolute_factor: float | None = None

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent draws in grid steps, (size, R)."""
        drawn = np.zeros((size, len(self.steps)), dtype=np.int64)
        if self.sampler is not None:
            drawn[:, self.heard] = self.sampler.draw(size, entropy)
        return drawn

    def variances(self, reconstruction: Floats | None) -> Floats:
        """Variance of each answer, `diag(T covariance T')` with T the reconstruction."""
        if reconstruction is not None:
            rows = reconstruction[:, self.heard]
            return np.asarray(np.einsum("kr,rs,ks->k", rows, self.heard_covariance, rows, optimize=True))
        variances = np.zeros(len(self.steps))
        variances[self.heard] = self.heard_covariance.diagonal()
        return variances

    def mean_absolutes(self, reconstruction: Floats | None) -> Floats:
        """Expected |noise| of each answer: closed where the law allows it, otherwise simulated to about 0.3 %."""
        if self.absolute_factor is not None:
            return self.absolute_factor * np.sqrt(self.variances(reconstruction))
        if self.independent_absolutes is not None and reconstruction is None:
            values = np.zeros(len(self.steps))
            values[self.heard] = self.independent_absolutes
            return values
        drawn = self.draw(SIMULATED_DRAWS, SeededEntropy(0)) * self.steps
        return np.asarray(np.abs(drawn if reconstruction is None else drawn @ reconstruction.T).mean(axis=0))


def noise_for(norm: Norm, grid: Grid, falloff: str) -> Noise:
    """The noise with density falling off in `norm` on `grid`."""
    heard = np.flatnonzero(~norm.silent)
    steps = grid.steps
    if not len(heard):
        return Noise(None, heard, steps, np.zeros((0, 0)))
    exact_steps = [grid.step(int(k)) for k in heard]
    if norm.order == "l1" and norm.map.ndim == 1 and falloff == "exponential":
        law = DiscreteLaplace([Fraction(float(norm.map[k])) * step for k, step in zip(heard, exact_steps, strict=True)])
        units = steps[heard]
        return Noise(law, heard, steps, np.diag(law.variance() * units**2), law.mean_absolute() * units)
    if norm.order == "l2" and norm.map.ndim == 1 and falloff == "gaussian":
        weights = [Fraction(float(norm.map[k])) * step for k, step in zip(heard, exact_steps, strict=True)]
        gaussian = DiscreteGaussian([1 / w**2 for w in weights])
        covariance = np.diag(gaussian.variance() * steps[heard] ** 2)
        return Noise(gaussian, heard, steps, covariance, absolute_factor=math.sqrt(2 / math.pi))
    if norm.order == "l2":
        return _ellipsoid(norm, heard, steps, exact_steps, Falloff(falloff))
    if isinstance(norm, Gauge) and falloff == "exponential":
        s = len(heard)
        covariance = (s + 1) * (s + 2) * norm.body.second_moment
        return Noise(_Lazy(norm, tuple(exact_steps)), heard, steps, covariance)
    if norm.order == "linf" and norm.map.ndim == 1 and falloff == "exponential":
        s, weights = len(heard), [Fraction(float(norm.map[k])) for k in heard]
        box = RoundAndReject(BoxGrid([w * step for w, step in zip(weights, exact_steps, strict=True)]))
        radii = 1 / norm.map[heard]
        return Noise(box, heard, steps, np.diag((s + 1) * (s + 2) / 3 * radii**2), (s + 1) / 2 * radii)
    raise InvalidProblem(f"norm: no exact sampler for a norm of order {norm.order} with {falloff} fall-off.")


def _ellipsoid(norm: Norm, heard: NDArray[np.intp], steps: Floats, exact_steps: list[Fraction], falloff: Falloff) -> Noise:
    """`|F z|_2`: covariance `(F'F)^-1`, times s + 1 for the exponential fall-off.

    There z = r F^-1 w with r from Gamma(s), w uniform on the sphere: E r = s and E|w_1| = Gamma(s/2) / (sqrt(pi) Gamma((s+1)/2)), while
    E r^2 / s = s + 1; the quotient is the factor from a standard deviation to a mean absolute value.
    """
    s, factor = len(heard), norm.factor
    scaled = [[Fraction(float(w)) * step for w, step in zip(row, exact_steps, strict=True)] for row in factor]
    inverse = np.linalg.inv(factor)
    covariance = inverse @ inverse.T
    absolute = math.sqrt(2 / math.pi)
    if falloff is Falloff.EXPONENTIAL:
        covariance = (s + 1) * covariance
        absolute = s * math.exp(math.lgamma(s / 2) - math.lgamma((s + 1) / 2)) / math.sqrt(math.pi * (s + 1))
    sampler = RoundAndReject(EllipsoidGrid(scaled, falloff))
    return Noise(sampler, heard, steps, covariance, absolute_factor=absolute)


class _Lazy:
    """The sampler of a polytope gauge, built at the first draw: proving its triangulation takes longer than all moments."""

    def __init__(self, norm: Gauge, steps: tuple[Fraction, ...]) -> None:
        self.norm, self.steps = norm, steps
        self.sampler: RoundAndReject | None = None

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        if self.sampler is None:
            self.sampler = RoundAndReject(gauge_grid(self.norm, self.steps))
        return self.sampler.draw(size, entropy)


def gauge_grid(norm: Gauge, steps: tuple[Fraction, ...]) -> PolytopeGrid:
    """The gauge in grid steps: vertices divided, facets multiplied by the steps, both halves of the symmetric body."""
    body = norm.body
    vertices = [[c / step for c, step in zip(row, steps, strict=True)] for row in body.vertices.fractions()]
    facets = [[c * step for c, step in zip(row, steps, strict=True)] for row in body.facets.fractions()]
    count = len(vertices)
    opposite = np.where(body.simplices < count, body.simplices + count, body.simplices - count)
    return PolytopeGrid(
        vertices + [[-c for c in row] for row in vertices],
        np.concatenate([body.simplices, opposite]).tolist(),
        facets + [[-c for c in row] for row in facets],
    )
