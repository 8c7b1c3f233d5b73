"""Exact discrete Gaussians on tables whose coordinates are drawn half by half: what all of them share.

Why the law is exact: docs/theory/lattice.md, sections 5 and 9.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from designer.base.arrays import Immutable
from designer.base.errors import InvalidProblem
from designer.sampling.lattices.klein_steps import Integers, KleinSteps, Level

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

BATCH = 2**18  # cells at a time
LARGEST_TABLE = 2**20  # cells
LARGEST_SPREAD = 2**108  # of the variance times the cells cubed: 64 deviations of a sum, over a denominator, fit 62 bits
LEAST_ACCEPTANCE = 2e-5
Draw = Callable[[Fraction, Integers, int], Integers]


class HalvedGaussian(Immutable):
    """`P(z)` proportional to `exp(-|z|_2^2 / (2 variance))` on a lattice of tables, by coordinates that `tables` draws.

    Each coordinate is any integer whatever the earlier ones are, and has a mean and a variance given these.
    """

    variance: Fraction

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of cells."""

    @abstractmethod
    def tables(self, rows: int, draw: Draw) -> Integers:
        """`rows` tables, (rows, cells); `draw(variance, numerators, denominator)` gives coordinates around these centres."""

    def require_drawn(self) -> None:
        """`InvalidProblem` for variances out of range, and where hardly a proposal would be accepted."""
        if self.size > LARGEST_TABLE:
            raise InvalidProblem(f"levels: {self.size} cells are more than {LARGEST_TABLE}; merge elements.")
        if not 0 < self.variance * self.size**3 <= LARGEST_SPREAD:
            raise InvalidProblem(
                f"variance: {float(self.variance):.3g} on {self.size} cells is not positive, or leaves 64 bits; rescale."
            )
        if self.acceptance < LEAST_ACCEPTANCE:
            raise InvalidProblem(
                f"variance: {float(self.variance):.3g} on {self.size} cells is too narrow, fewer than one proposal in 50,000 "
                "may be accepted; use smaller budgets."
            )
        _ = self._laws

    @cached_property
    def acceptance(self) -> float:
        """At least this part of the proposals is accepted: `rho(Lambda) / prod rho_v(Z)`, rho(Lambda) at least 1 and at least
        `prod sqrt(2 pi v)` (Poisson summation)."""
        wide = sum(count * math.log(2 * math.pi * float(v)) / 2 for v, count in self.variances.items())
        return math.exp(max(wide, 0.0) - sum(count * _log_mass(float(v)) for v, count in self.variances.items()))

    @cached_property
    def variances(self) -> dict[Fraction, int]:
        """How many coordinates there are of each variance: counted by a walk without draws."""
        found: dict[Fraction, int] = {}

        def count(variance: Fraction, numerators: Integers, denominator: int) -> Integers:
            found[variance] = found.get(variance, 0) + numerators.shape[1]
            return numerators

        self.tables(1, count)
        return found

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """`size` independent tables, (size, cells)."""
        drawn = np.zeros((size, self.size), dtype=np.int64)
        rows = max(1, BATCH // self.size)
        for start in range(0, size, rows):
            waiting = np.arange(start, min(start + rows, size))
            while waiting.size:
                steps = KleinSteps(len(waiting), entropy)
                values = self.tables(len(waiting), lambda v, n, d, steps=steps: steps.draw(self._laws[v], n, d))  # type: ignore[misc]
                kept = steps.kept()
                drawn[waiting[kept]] = values[kept]
                waiting = waiting[~kept]
        return drawn

    @cached_property
    def _laws(self) -> dict[Fraction, Level]:
        return {variance: Level(variance) for variance in self.variances}


def _log_mass(variance: float) -> float:
    """`log rho_v(Z)`, by the series that converges fast."""
    if variance > 0.16:
        dual = 2 * sum(math.exp(-2 * math.pi**2 * variance * k * k) for k in range(1, 12))
        return math.log1p(dual) + math.log(2 * math.pi * variance) / 2
    return math.log1p(2 * sum(math.exp(-k * k / (2 * variance)) for k in range(1, 12)))
