"""Moments of lattice noise in the answers: summed over the lattice where few vectors matter, which is also where draws would
hardly ever move; simulated elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from designer.mechanisms.additive.interface import Falloff
from designer.certified.norms import Gauge, Norm
from designer.mechanisms.lattice.law import LatticeLaw
from designer.base.arrays import Floats, frozen
from designer.base.rounding import share_at_most

SIMULATED_DRAWS, LEAST_DRAWS = 20_000, 150  # of the noise, where its error is asked for: a few seconds
PROPOSALS, SIMULATED_CELLS = 500_000, 2**24
NEGLIGIBLE = 1e-10  # of the second moments: what longer vectors would add
ROUNDED = 1e-8  # of variances that are summed: what was left out, and rounding
MOST_DIMENSIONS = 8
MOST_PLACES = 10_000_000  # of the box of coordinates in the basis that holds the vectors that matter
MOST_PRODUCTS = 800_000_000  # of places and rows of the norm: a second or two
CHUNK = 200_000
MOST_SORTED = 20_000_000  # sizes of answers that are put in order: some 3 s
SAME = 1e-12  # of sizes that are one, but for floats
SURE = 5.0  # standard errors of draws that a bound may be off
UNSEEN = 100  # times what was not summed, at least, is a probability that the sums tell
SUMMED = "quantiles of the discrete law, summed over the lattice"


class Moments(NamedTuple):
    """Second moments (K, K), the covariance, and mean absolute values (K,) of the noise in the answers. draws: behind them; 0
    where they are summed. uncertain: the largest relative standard error of a simulated standard error; 0 where none is
    simulated. bounded: how many standard errors are proven bounds, which draws cannot tell from the truth."""

    second: Floats
    absolute: Floats
    draws: int
    uncertain: float = 0.0
    bounded: int = 0

    @property
    def errors(self) -> Floats:
        """Standard errors, (K,); those that are summed are rounded up by what sums leave out."""
        return np.sqrt(self.second.diagonal() * (1 if self.draws else 1 + ROUNDED))

    @property
    def words(self) -> str:
        """What standard errors are where they are not computed, in a sentence; empty where they are."""
        if not self.draws:
            return ""
        own = f"simulated with {self.draws:,} draws, to about {share_at_most(2 * self.uncertain)}"
        proven = "proven bounds, which draws cannot tell from the truth"
        parts = [own] * (self.bounded < len(self.second)) + [proven] * (self.bounded > 0)
        return f"Standard errors are {', or '.join(parts)}."


def simulated_moments(acceptance: float, cells: int, draw: Callable[[int], Floats], bounds: Floats) -> Moments:
    """Moments of as many draws, (draws, K), as 500,000 proposals or 16 million cells give, from 150 to 20,000.

    bounds: of the standard errors, from above, (K,); one that is no more than `SURE` of their own standard errors above the
    simulated ones takes their place.
    """
    draws = min(SIMULATED_DRAWS, max(LEAST_DRAWS, min(int(PROPOSALS * acceptance), SIMULATED_CELLS // cells)))
    noise = draw(draws)
    second, squares = noise.T @ noise / draws, np.square(noise)
    variances = second.diagonal().copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(np.square(squares).mean(axis=0) - variances**2, 0) / draws) / variances  # of variances
        near = np.square(bounds) <= variances * (1 + SURE * spread)
        wider = np.where(near, bounds / np.sqrt(variances), 1.0)
    near |= bounds == 0
    wider = np.where(np.isfinite(wider), wider, 1.0)
    own = spread[~near & (variances > 0)]
    uncertain = float(own.max(initial=0.0)) / 2
    absolute = np.abs(noise).mean(axis=0)
    return Moments(frozen(second * np.outer(wider, wider)), frozen(absolute), draws, uncertain, int(near.sum()))


class SummedTails(NamedTuple):
    """The law of the size of the noise in every answer. sizes: of answer k, (L_k,), in rising order; beyond: (L_k,), the
    probabilities of more than each of them. left: a bound of the probability of all that was not summed."""

    sizes: tuple[Floats, ...]
    beyond: tuple[Floats, ...]
    left: float

    def margins(self, beyond: float) -> Floats | None:
        """The least t, (K,), with `P(|noise in answer k| > t_k) <= beyond`, but for what was not summed; None where that is no
        small part of it."""
        if beyond < UNSEEN * self.left:
            return None
        places = (int(np.argmax(tail + self.left <= beyond)) for tail in self.beyond)
        return np.array([own[place] for own, place in zip(self.sizes, places, strict=True)])


def summed_tails(law: LatticeLaw, falloff: Falloff, queries: Floats) -> SummedTails | None:
    """The law of the noise in each answer to `queries`, (K, N), summed like `summed_moments`; None where that takes long. The
    norm is l1, l2 or an ellipsoid, of which tails are proven (docs/theory/lattice.md, 8)."""
    found = _box(law, falloff)
    if found is None or math.prod((2 * found.reach + 1).tolist()) * len(queries) > MOST_SORTED:
        return None
    moves = law.lattice.basis.astype(np.float64) @ queries.T
    mass = 0.5
    parts: list[list[tuple[Floats, Floats]]] = [[(np.zeros(1), np.full(1, 0.5))] for _ in queries]
    for points, weights in _weighted(law.norm, falloff, found):
        mass += float(weights.sum())
        for own, part in zip(np.abs(points @ moves).T, parts, strict=True):
            part.append(_merged([(own, weights)]))
    merged = [_merged(part) for part in parts]
    dimension, length = law.relation.invariant.freedom, found.length
    size, degrees = (length, dimension) if falloff == "exponential" else (length**2 / 2, dimension / 2)
    left = math.exp(degrees * math.log(size / degrees) + degrees - size)
    tails = tuple(frozen(np.append(np.cumsum(masses[:0:-1])[::-1], 0.0) / mass) for _, masses in merged)
    return SummedTails(tuple(frozen(sizes) for sizes, _ in merged), tails, left + ROUNDED)


def _merged(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Different sizes in rising order, and the weight of each; sizes that floats alone tell apart count as the larger one."""
    sizes, weights = (np.concatenate(kind) for kind in zip(*parts, strict=True))
    order = np.argsort(sizes, kind="stable")
    sizes, weights = sizes[order], weights[order]
    last = np.append(np.flatnonzero(np.diff(sizes) > SAME * (1 + sizes[1:])), len(sizes) - 1)
    return sizes[last], np.diff(np.append(0.0, np.cumsum(weights)[last]))


def summed_moments(law: LatticeLaw, falloff: Falloff, queries: Floats) -> Moments | None:
    """Moments of the noise in the answers to `queries`, (K, N), by summing
    `exp(-||z||)`, or `exp(-||z||^2 / 2)`, over all lattice vectors whose norm is below what matters; None where these are many.

    What is left out is about `NEGLIGIBLE` of the sums: as much as a Gamma law has beyond there.
    """
    found = _box(law, falloff)
    if found is None:
        return None
    moves = law.lattice.basis.astype(np.float64) @ queries.T
    mass, second, absolute = 0.5, np.zeros((len(queries), len(queries))), np.zeros(len(queries))
    for points, weights in _weighted(law.norm, falloff, found):
        answers = points @ moves
        mass += float(weights.sum())
        second += answers.T @ (answers * weights[:, None])
        absolute += weights @ np.abs(answers)
    return Moments(frozen(second / mass), frozen(absolute / mass), 0)


class _Box(NamedTuple):
    """The coordinates in the basis, from `-reach` to `reach` (s,), that hold all vectors of norms up to `length`.
    basis: (s, R), of the measured cells."""

    basis: Floats
    reach: NDArray[np.int64]
    length: float


def _box(law: LatticeLaw, falloff: Falloff) -> _Box | None:
    """The vectors that matter; None where they are many."""
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
    return _Box(basis, reach, length)


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


def _weighted(norm: Norm, falloff: Falloff, box: _Box) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """One of each pair z, -z of vectors in the box, in coordinates of the basis, (n, s), with their weights, (n,), in chunks;
    without 0, whose weight is 1."""
    shape = tuple((2 * box.reach + 1).tolist())
    count = math.prod(shape)
    for start in range(count // 2 + 1, count, CHUNK):
        places = np.arange(start, min(start + CHUNK, count))
        points = np.stack(np.unravel_index(places, shape), axis=1) - box.reach
        lengths = np.asarray(norm(points @ box.basis))
        yield points, np.exp(-lengths if falloff == "exponential" else -(lengths**2) / 2)
