"""Moments of lattice noise in the answers: summed over the lattice where few vectors matter, which is also where draws would
hardly ever move; simulated elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from designer.additive.interface import Falloff
from designer.certified.norms import Gauge, Norm
from designer.lattice.law import LatticeLaw
from designer.values.arrays import Floats

SIMULATED_DRAWS, LEAST_DRAWS = 20_000, 150  # of the noise, where its error is asked for: a few seconds
PROPOSALS, SIMULATED_CELLS = 500_000, 2**24
NEGLIGIBLE = 1e-10  # of the second moments: what longer vectors would add
ROUNDED = 1e-8  # of variances that are summed: what was left out, and rounding
MOST_DIMENSIONS = 8
MOST_PLACES = 10_000_000  # of the box of coordinates in the basis that holds the vectors that matter
MOST_PRODUCTS = 800_000_000  # of places and rows of the norm: a second or two
CHUNK = 200_000


class Moments(NamedTuple):
    """Second moments (K, K), the covariance, and mean absolute values (K,) of the noise in the answers. draws: behind them; 0
    where they are summed."""

    second: Floats
    absolute: Floats
    draws: int

    @property
    def errors(self) -> Floats:
        """Standard errors, (K,), rounded up by what sums leave out."""
        return np.sqrt(self.second.diagonal() * (1 + ROUNDED))


def simulated_moments(acceptance: float, cells: int, draw: Callable[[int], Floats]) -> Moments:
    """Moments of as many draws, (draws, K), as 500,000 proposals or 16 million cells give, from 150 to 20,000."""
    draws = min(SIMULATED_DRAWS, max(LEAST_DRAWS, min(int(PROPOSALS * acceptance), SIMULATED_CELLS // cells)))
    noise = draw(draws)
    return Moments(noise.T @ noise / draws, np.abs(noise).mean(axis=0), draws)


def summed_moments(law: LatticeLaw, falloff: Falloff, queries: Floats) -> Moments | None:
    """Moments of the noise in the answers to `queries`, (K, N), by summing
    `exp(-||z||)`, or `exp(-||z||^2 / 2)`, over all lattice vectors whose norm is below what matters; None where these are many.

    What is left out is about `NEGLIGIBLE` of the sums: as much as a Gamma law has beyond there.
    """
    dimension = law.relation.invariant.freedom
    if dimension > MOST_DIMENSIONS:
        return None
    basis = law.lattice.basis[:, law.columns].astype(np.float64)
    shortest = float(np.asarray(law.norm(basis)).min())
    length = _length_that_matters(dimension, shortest, falloff == "gaussian")
    reach = np.floor(length * _widths(law.norm, basis) * (1 + 1e-9)).astype(np.int64)
    places = math.prod((2.0 * reach + 1).tolist())
    rows = len(law.norm.body.facets.floats) if isinstance(law.norm, Gauge) else law.norm.dimension
    if not places <= MOST_PLACES or places * rows > MOST_PRODUCTS:
        return None
    moves = law.lattice.basis.astype(np.float64) @ queries.T
    return _sums(law.norm, falloff, basis, moves, reach)


def _length_that_matters(dimension: int, shortest: float, squared: bool) -> float:
    """Norms above it have weights that matter less than `NEGLIGIBLE`, beside those of the shortest vector that is known."""
    from scipy.special import gammainccinv

    if squared:
        return float(math.sqrt(2 * gammainccinv(dimension / 2 + 1, NEGLIGIBLE) + shortest**2))
    return float(gammainccinv(dimension + 2, NEGLIGIBLE)) + shortest


def _widths(norm: Norm, basis: Floats) -> Floats:
    """The largest coordinate in the basis, (s,), of vectors whose norm is at most 1, or a bound above it."""
    if isinstance(norm, Gauge):
        vertices = norm.scale * norm.body.vertices.floats
        return np.asarray(np.abs(np.linalg.solve(basis.T, vertices.T)).max(axis=1))
    image = np.atleast_2d(norm.factor) @ basis.T
    longer = math.sqrt(len(image)) if norm.order == "linf" else 1.0  # an l1 norm is at least the l2 norm
    widths = longer * np.sqrt(np.diagonal(np.linalg.inv(image.T @ image)))
    return np.asarray(np.minimum(widths, np.abs(np.linalg.pinv(image)).max(axis=1)) if norm.order == "l1" else widths)


def _sums(norm: Norm, falloff: Falloff, basis: Floats, moves: Floats, reach: NDArray[np.int64]) -> Moments:
    """The moments over the box of coordinates `-reach .. reach`, half of it, since the law is symmetric. moves: (s, K), what a
    vector of the basis adds to the answers."""
    shape = tuple((2 * reach + 1).tolist())
    count, answered = math.prod(shape), moves.shape[1]
    mass, second, absolute = 0.5, np.zeros((answered, answered)), np.zeros(answered)
    for start in range(count // 2 + 1, count, CHUNK):
        places = np.arange(start, min(start + CHUNK, count))
        points = np.stack(np.unravel_index(places, shape), axis=1) - reach
        lengths = np.asarray(norm(points @ basis))
        weights = np.exp(-lengths if falloff == "exponential" else -(lengths**2) / 2)
        answers = points @ moves
        mass += float(weights.sum())
        second += answers.T @ (answers * weights[:, None])
        absolute += weights @ np.abs(answers)
    return Moments(second / mass, absolute / mass, 0)
