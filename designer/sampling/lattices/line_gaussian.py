"""Exact discrete Gaussians on tables whose sums along every line are 0: tensor products of zero-sum lattices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.lattices.crossed_gaussian import spread
from designer.sampling.lattices.halved_gaussian import Draw, HalvedGaussian
from designer.sampling.lattices.klein_steps import Integers


@dataclass(frozen=True)
class LineGaussian(HalvedGaussian):
    """Tables of shape `levels` with `P(z)` proportional to `exp(-|z|_2^2 / (2 variance))` and sums 0 along every line.

    The slices along the first axis are halved: the upper ones add up to a table of one axis less, of the same kind, around a
    mean that is known (docs/theory/lattice.md, section 9).

    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = LineGaussian((2, 3, 4), Fraction(9)).draw(2, SeededEntropy(1)).reshape(2, 2, 3, 4)
    >>> any(noise.sum(axis=axis).any() for axis in (1, 2, 3))
    False
    """

    levels: tuple[int, ...]
    variance: Fraction

    def __post_init__(self) -> None:
        assign(self, variance=Fraction(self.variance))
        if not self.levels or min(self.levels) < 2:
            raise InvalidProblem(f"levels: {self.levels}; give axes of at least two levels.")
        self.require_drawn()

    @property
    def size(self) -> int:
        return math.prod(self.levels)

    def tables(self, rows: int, draw: Draw) -> Integers:
        means = np.zeros((rows, 1, *self.levels), dtype=np.int64)
        return without_lines(means, 1, self.variance, draw).reshape(rows, -1)


def without_lines(priors: Integers, below: int, variance: Fraction, draw: Draw) -> Integers:
    """Integer tables with sums 0 along every line, around means `priors / below` (n, k, n_1, ..., n_d), cells of this variance.

    Slices with sum D and prior sum G: the first s1 of s have the mean `G1 + (D - G) s1 / s` and the variance `s1 s2 / s`.
    """
    if priors.ndim == 3:
        return spread(np.zeros(priors.shape[:2], dtype=np.int64), priors, below, variance, draw)
    running = np.concatenate([np.zeros_like(priors[:, :, :1]), np.cumsum(priors, axis=2)], axis=2)
    nodes = [(0, priors.shape[2], np.zeros_like(priors[:, :, 0]))]
    while max(size for _, size, _ in nodes) > 1:
        upper: dict[int, Integers] = {}
        for size in {size for _, size, _ in nodes if size > 1}:
            here, half = [(start, held) for start, length, held in nodes if length == size], size // 2
            means = [
                size * (running[:, :, start + half] - running[:, :, start])
                + half * (below * held - (running[:, :, start + size] - running[:, :, start]))
                for start, held in here
            ]
            level = variance * Fraction(half * (size - half), size)
            drawn = without_lines(np.concatenate(means, axis=1), below * size, level, draw)
            upper |= {start: part for (start, _), part in zip(here, np.split(drawn, len(here), axis=1), strict=True)}
        nodes = [part for node in nodes for part in _two_halves(*node, upper)]
    return np.stack([held for _, _, held in nodes], axis=2)


def _two_halves(start: int, size: int, held: Integers, upper: dict[int, Integers]) -> list[tuple[int, int, Integers]]:
    """The halves of some slices, of which the upper one is drawn; single slices stay."""
    if size == 1:
        return [(start, size, held)]
    half = size // 2
    return [(start, half, upper[start]), (start + half, size - half, held - upper[start])]
