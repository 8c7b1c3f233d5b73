"""The noise of a mechanism: exact draws in grid steps, and the exact moments of the law that is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from designer.errors import InvalidProblem
from designer.frozen import Floats
from designer.grid import Grid
from designer.norms import Norm
from designer.sampling.discrete_laplace import DiscreteLaplace
from designer.sampling.entropy import Entropy


@dataclass(frozen=True, eq=False)
class LaplaceNoise:
    """Independent discrete Laplace coordinates: `P(z_k) proportional to exp(-w_k 2^e_k |z_k|)`, none where w_k is infinite."""

    law: DiscreteLaplace | None
    heard: NDArray[np.intp]
    steps: Floats

    @classmethod
    def of(cls, norm: Norm, grid: Grid) -> LaplaceNoise:
        """For a weighted l1 norm with weights w on the steps `2^e`."""
        if norm.map.ndim != 1 or norm.order != "l1":
            raise InvalidProblem("norm: only weighted l1 norms have independent Laplace coordinates.")
        heard = np.flatnonzero(~norm.silent)
        rates = [Fraction(float(norm.map[k])) * grid.step(int(k)) for k in heard]
        return cls(DiscreteLaplace(rates) if rates else None, heard, grid.steps)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent draws in grid steps, (size, R)."""
        steps = np.zeros((size, len(self.steps)), dtype=np.int64)
        if self.law is not None:
            steps[:, self.heard] = self.law.draw(size, entropy)
        return steps

    def variance(self) -> Floats:
        """Variance of each coordinate, in the units of the answers."""
        return self._moment(self.law.variance(), 2) if self.law else np.zeros(len(self.steps))

    def mean_absolute(self) -> Floats:
        """Expected absolute value of each coordinate, in the units of the answers."""
        return self._moment(self.law.mean_absolute(), 1) if self.law else np.zeros(len(self.steps))

    def _moment(self, values: Floats, power: int) -> Floats:
        moments = np.zeros(len(self.steps))
        moments[self.heard] = values * self.steps[self.heard] ** power
        return moments
