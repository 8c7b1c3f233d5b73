"""Blocks of whole-number rows with noise on the whole numbers, one rate for each block: which rates are best.

The answers are weighted least squares of all blocks, and a common basis of the blocks' rows splits them into classes of
directions: with p_b the precision of a coordinate of block b, direction class c is known with the precision
`l_c = sum_b E_cb p_b` and adds `G_tc / l_c` to the error of answers t. Feasible means `L w <= 1` for the rates w of the blocks.
Convex in p, not in w: what is found is a local optimum from several starts, never worse than any of them. Derivation in
docs/theory/structured.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from solvers.programs.noise_costs import GaussianCost, NoiseCost
from solvers.programs.scales import minimise_scales
from solvers.programs.whole_strategy import (
    FAINT,
    FEW,
    LONG,
    OVERHEAD,
    POWERS,
    SHORT,
    Effort,
    descended,
    norm_of,
    precision,
    spread_out,
)

Array = NDArray[np.float64]
ALTERNATED = 8  # rounds of rates for a reconstruction, and of the reconstruction for rates
HEAVY = 0.05  # of the rate of chosen blocks: that of all others, at a start
FAINTER = 1e-12  # of the largest rate: the same where more than that is lost
NOTHING = 1e-30  # the same where they get none
FAR = 1e9  # times the least loss of a start, beyond which others are not followed: they leave directions unmeasured
RANDOM = 2  # starts at random rates
FOLLOWED = 2  # starts that are followed to their ends
LOST = 1e-100  # a loss below which nothing is left to search, and squares leave the floats
GAIN = 1e-6  # of the loss: what a round of further blocks must save
LEAST_LEFT = 1e-12  # of the loss: what rates must save to be worth another round


@dataclass(frozen=True, eq=False)
class Blocks:
    """reach E: (C, B), sparse. known: (C,), the precision of a class whatever the rates. costs G: (T, C), sparse, rows that are
    added up ("squared") or of which the largest counts ("max"). loads L: (M, B). noise: of the coordinates, Laplace of rate w
    or Gaussian of variance about 1 / w, on the whole numbers."""

    reach: Any
    known: Array
    costs: Any
    loads: Array
    noise: type[NoiseCost]
    loss_of: Literal["squared", "max"] = "squared"

    @cached_property
    def steps(self) -> Array:
        """(B,), all 1."""
        return np.ones(self.loads.shape[1])

    @cached_property
    def _back(self) -> Any:
        return self.reach.T.tocsr()

    @cached_property
    def _blamed(self) -> Any:
        return self.costs.T.tocsr()

    @property
    def entries(self) -> float:
        """What one evaluation of loss and gradient looks at."""
        return float(4 * (self.reach.nnz + self.costs.nnz + self.loads.size) + OVERHEAD)

    def fitted(self, weights: Array) -> Array:
        """The rates, as large as is feasible."""
        worst = float((self.loads @ weights).max(initial=0.0))
        return weights / worst if worst > 0.0 else weights

    def loss(self, weights: Array) -> float:
        """The loss at feasible rates; infinite where some direction is not measured."""
        known = self.known + self.reach @ precision(weights, self.steps, self.noise)[0]
        if not (known > 0).all():
            return math.inf
        errors = self.costs @ (1 / known)
        return float(errors.sum() if self.loss_of == "squared" else errors.max(initial=0.0))

    def _pulls(self, errors: Array, power: float) -> tuple[float, Array]:
        """The smooth loss of the errors, and its derivative in each."""
        if self.loss_of == "squared":
            return float(errors.sum()), np.ones_like(errors)
        value, gains = norm_of(errors, power)
        return value, value * gains

    def smooth(self, theta: Array, power: float) -> tuple[float, Array]:
        """The logarithm of the loss at `exp(theta)`, divided by a norm of the loads that is at least the largest; its
        gradient."""
        weights, pulled = spread_out(theta, self.loads, self.loads.T, power)
        precisions, slopes = precision(weights, self.steps, self.noise)
        known = self.known + self.reach @ precisions
        if not (known > 0).all():
            return 1e3, np.zeros_like(theta)
        value, pulls = self._pulls(self.costs @ (1 / known), power)
        if not (LOST < value < math.inf):
            return 1e3, np.zeros_like(theta)
        gradient = -(self._back @ ((self._blamed @ pulls) * (1 / known) ** 2)) * slopes / value
        return math.log(value), gradient - gradient.sum() * pulled

    def for_this_reconstruction(self, weights: Array) -> Array | None:
        """The best rates while the answers stay these sums of what is measured, a convex program; None where floats do not hold
        them."""
        precisions, _ = precision(weights, self.steps, self.noise)
        known = self.known + self.reach @ precisions
        value, pulls = self._pulls(self.costs @ (1 / known), POWERS[-1])
        if not value > LOST:
            return None
        shares = precisions * (precisions * (self._back @ ((self._blamed @ pulls) * (1 / known) ** 2)))
        kept = shares > 1e-14 * shares.max(initial=0.0)
        if not kept.any() or not np.isfinite(shares).all():
            return None
        rows = self.loads[:, kept]
        found = minimise_scales(
            rows[rows.any(axis=1)],
            shares[kept] / shares[kept].max(),
            1 if self.noise is GaussianCost else 2,
            steps=self.steps[kept],
            noise=self.noise,
            tolerance=1e-7,
            rounds=20,
        )
        if not (found.status.usable and np.isfinite(found.point).all() and (found.point > 0).all()):
            return None
        full = 1e-9 * weights
        full[kept] = found.point
        return self.fitted(full)

    def without(self, kept: NDArray[np.bool_]) -> Blocks:
        """Without the other blocks; kept: (B,)."""
        return Blocks(self.reach[:, kept], self.known, self.costs, self.loads[:, kept], self.noise, self.loss_of)


def alternated(blocks: Blocks, start: Array, effort: Effort) -> Array:
    """Rates that alternate with the best reconstruction; every round is kept only where it is better."""
    best, lowest = start, blocks.loss(start)
    for _ in range(ALTERNATED):
        if not (0.0 < lowest < math.inf) or effort.steps(1, 40 * blocks.entries) < 1:
            break
        effort.take(40 * blocks.entries)
        target = blocks.for_this_reconstruction(best)
        if target is None:
            break
        tried = [blocks.fitted(best ** (1 - t) * target**t) for t in (1.0, 0.5, 0.1)]
        values = [blocks.loss(weights) for weights in tried]
        least = int(np.argmin(values))
        if not values[least] < lowest * (1 - LEAST_LEFT):
            break
        best, lowest = tried[least], values[least]
    return best


def best_rates(
    blocks: Blocks, favoured: Iterable[NDArray[np.bool_]], effort: Effort, look: bool = False, seed: int = 0
) -> tuple[float, Array]:
    """The least loss that was found, and its feasible rates, (B,), 0 of blocks that are better left out.

    favoured: sets of blocks, (B,), each of which a start gives most of the budget, and another one all of it. look: a few steps
    only. Nothing depends on a clock; where the effort is over, the best start stands.
    """
    starts = [blocks.fitted(start) for start in _starts(blocks, favoured, np.random.default_rng(seed))]
    least = min(map(blocks.loss, starts))
    powers = POWERS if len(blocks.loads) > 1 or blocks.loss_of == "max" else POWERS[:1]
    near = [start for start in starts if blocks.loss(start) <= FAR * least]
    first = [descended(blocks, start, FEW if look else SHORT, effort, powers[1:2] or powers) for start in near]
    best = min([*first, *starts], key=blocks.loss)
    for weights in sorted(first, key=blocks.loss)[: 1 if look else FOLLOWED]:
        ended = descended(blocks, weights, SHORT if look else LONG, effort, powers[1:3] if look and powers[1:] else powers)
        best = min(best, ended if look else alternated(blocks, ended, effort), key=blocks.loss)
    best = best if look else _with_others(blocks, best, effort, powers)
    return _pruned(blocks, best, effort, look)


def _with_others(blocks: Blocks, best: Array, effort: Effort, powers: tuple[float, ...]) -> Array:
    """Where descents lead once each block that has next to nothing gets a small share, or that of all blocks that see nothing
    but what it sees: at a rate of 0 a precision has no slope, so that no descent finds it. The best of them is gone on from,
    until none gains."""
    longest, seen = 1.0 / np.maximum(blocks.loads.max(axis=0), 1e-300), (blocks.reach != 0).astype(np.float64)
    within = (seen.T @ seen).toarray() == seen.sum(axis=0)[:, None]  # (B, B), of each block in each
    lowest = math.inf
    while blocks.loss(best) < lowest * (1 - GAIN):
        lowest = blocks.loss(best)
        for b in np.flatnonzero(best < FAINT * longest).tolist():
            for held, share in ((1 - HEAVY, HEAVY), (~within[:, b], float((best / longest) @ within[:, b]))):
                start = np.where(np.arange(len(best)) == b, share * longest[b], held * best + NOTHING)
                ended = descended(blocks, blocks.fitted(start), SHORT, effort, powers[1:2] or powers)
                best = min(best, ended, key=blocks.loss)
    return best


def _starts(blocks: Blocks, favoured: Iterable[NDArray[np.bool_]], random: np.random.Generator) -> Iterator[Array]:
    longest = 1.0 / np.maximum(blocks.loads.max(axis=0), 1e-300)
    yield longest
    for chosen in favoured:
        yield longest * np.where(chosen, 1.0, HEAVY / max(1, int((~chosen).sum())))
        yield longest * np.where(chosen, 1.0, NOTHING)
    for _ in range(RANDOM):
        yield longest * random.lognormal(0.0, 1.0, len(longest))


def _pruned(blocks: Blocks, weights: Array, effort: Effort, look: bool) -> tuple[float, Array]:
    """Without blocks of faint rates, where the loss does not grow."""
    lowest = blocks.loss(weights)
    rate = weights * blocks.loads.max(axis=0)
    for faint in (FAINT, FAINTER):
        kept = rate > faint * rate.max(initial=0.0)
        thinner = blocks.without(kept)
        fitted = thinner.fitted(weights[kept])
        fitted = fitted if look or kept.all() else alternated(thinner, fitted, effort)
        if thinner.loss(fitted) <= lowest * (1 + 1e-9):
            full = np.zeros(len(weights))
            full[kept] = fitted
            return thinner.loss(fitted), full
    return lowest, weights
