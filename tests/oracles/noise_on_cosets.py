"""Additive noise on cosets of Z^s by definition: laws that keep a promise on a box, their losses, and the best of them.

A law on a small region is proposed by a linear program; its smallest private extension to a large box, by relaxing along steps
until nothing changes, keeps the promise within the box, beyond which it has next to nothing. Its loss is that of a mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import lil_array

Floats = NDArray[np.float64]
Steps = Sequence[tuple[tuple[int, ...], float]]


def box(half: int, dimension: int) -> list[tuple[int, ...]]:
    """The integer points with entries up to half."""
    return list(product(range(-half, half + 1), repeat=dimension))


def signed(steps: Steps) -> list[tuple[tuple[int, ...], float]]:
    """The steps and their opposites."""
    return [(tuple(s * x for x in u), b) for u, b in steps for s in (1, -1)]


def best_on(points: list[tuple[int, ...]], steps: Steps, losses: Floats) -> tuple[Floats, float]:
    """The law on these points, with nothing asked of other points, and its loss."""
    place = {point: i for i, point in enumerate(points)}
    pairs = [(i, place.get(tuple(np.add(z, u))), b) for z, i in place.items() for u, b in signed(steps)]
    kept = [(i, j, b) for i, j, b in pairs if j is not None]
    rows = lil_array((len(kept), len(points)))
    for row, (i, j, b) in enumerate(kept):
        rows[row, j], rows[row, i] = 1.0, -np.exp(b)
    found = linprog(losses, rows.tocsr(), np.zeros(len(kept)), np.ones((1, len(points))), [1.0], method="highs-ds")
    assert found.success
    return np.maximum(found.x, 0.0), float(found.fun)


def extended(heights: Floats, steps: Steps) -> Floats:
    """The smallest function on a box above `heights` (logarithms, -inf where nothing is given) that falls by at most b
    along u."""
    heights, before = heights.copy(), np.full_like(heights, np.nan)
    while not np.array_equal(heights, before):
        before = heights.copy()
        for u, b in signed(steps):
            here = tuple(slice(max(0, -x), heights.shape[j] - max(0, x)) for j, x in enumerate(u))
            there = tuple(slice(max(0, x), heights.shape[j] + min(0, x)) for j, x in enumerate(u))
            heights[there] = np.maximum(heights[there], heights[here] - b)
    return heights


def loss_of(heights: Floats, losses: Floats) -> float:
    """The expected loss of the law with these logarithms."""
    weights = np.exp(heights - heights.max())
    return float((weights * losses).sum() / weights.sum())


def best_loss(steps: Steps, offset: Sequence[float], forms: Floats, power: int, small: int, large: int) -> tuple[Floats, float]:
    """The losses, one for each form, of a law on the coset that keeps the promise and has next to the least total; and the
    value of the program on the small box, where laws need not continue."""
    dimension = len(offset)
    every, inner = box(large, dimension), box(small, dimension)

    def losses(points: list[tuple[int, ...]]) -> Floats:
        return np.abs((np.array(points) + np.array(offset)) @ forms.T) ** power

    law, below = best_on(inner, steps, losses(inner).sum(axis=1))
    heights = np.full((2 * large + 1,) * dimension, -np.inf)
    with np.errstate(divide="ignore"):
        values = np.log(law)
    for point, value in zip(inner, values.tolist(), strict=True):
        if value > -25:  # what the program cannot tell from nothing
            heights[tuple(x + large for x in point)] = value
    whole = extended(heights, steps)
    return np.array([loss_of(whole, part.reshape(whole.shape)) for part in losses(every).T]), below
