"""Klein's proposal in coordinates whose centres are ratios of small integers: steps of many draws at once, exact acceptance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.sampling.integer_samplers import LazyUniform, accepted, resolve
from designer.sampling.integers.centred_gaussian import CentredGaussian
from designer.sampling.integers.theta_ratio import ThetaRatio

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

KEEP_BITS = 53
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Level:
    """Coordinates of one variance."""

    variance: Fraction
    law: CentredGaussian = field(init=False, compare=False)
    ratio: ThetaRatio = field(init=False, compare=False)

    def __post_init__(self) -> None:
        assign(self, law=CentredGaussian(self.variance))
        assign(self, ratio=ThetaRatio(self.variance))


@dataclass(eq=False)
class KleinSteps:
    """`rows` vectors that grow by discrete Gaussian coordinates and are then accepted with probability
    `prod rho(Z - centre) / rho(Z)`, which makes their joint law the Gaussian one (docs/theory/lattice.md, section 5)."""

    rows: int
    entropy: Entropy
    _exponent: Floats = field(init=False, repr=False)
    _error: Floats = field(init=False, repr=False)
    _steps: list[tuple[Level, Integers, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._exponent, self._error, self._steps = np.zeros(self.rows), np.zeros(self.rows), []

    def draw(self, level: Level, numerators: Integers, denominator: int) -> Integers:
        """Integers around the centres `numerators / denominator`, (rows, k), any number of them a row."""
        flat = numerators.ravel()
        centres = flat.astype(np.float64) / denominator
        doubts = np.abs(centres) * 2.0**-51
        drawn = level.law.draw(centres, doubts, lambda i: Fraction(int(flat[i]), denominator), self.entropy)
        exponent, error = level.ratio.exponent(centres, doubts)
        self._exponent += exponent.reshape(numerators.shape).sum(axis=1)
        self._error += error.reshape(numerators.shape).sum(axis=1)
        self._steps.append((level, numerators, denominator))
        return drawn.astype(np.int64).reshape(numerators.shape)

    def kept(self) -> NDArray[np.bool_]:
        """Which of the rows are accepted."""
        words = self.entropy.random_words(self.rows) >> np.uint64(64 - KEEP_BITS)
        terms = sum(numerators.shape[1] for _, numerators, _ in self._steps) + 1
        kept, open_ = accepted(words, KEEP_BITS, self._exponent, self._error + self._exponent * (terms * 2.0**-52))
        for row in np.flatnonzero(open_):
            kept[row] = self._decide(int(row), LazyUniform(int(words[row]), KEEP_BITS, self.entropy))
        return kept

    def _decide(self, row: int, keep: LazyUniform) -> bool:
        """The acceptance in ball arithmetic. Coordinates whose centre is an integer have ratio 1."""
        centres = [
            (level.ratio, Fraction(int(numerator), denominator))
            for level, numerators, denominator in self._steps
            for numerator in numerators[row]
            if int(numerator) % denominator
        ]
        if not centres:
            return True

        def below() -> bool | None:
            chance: arb = math.prod(ratio.ball(centre) for ratio, centre in centres)  # type: ignore[assignment]
            return keep.is_below(chance)

        return resolve([keep], below)
