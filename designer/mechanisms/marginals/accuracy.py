"""How far the noise of the cells of marginals reaches with a given probability (docs/theory/intervals.md, 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Protocol

import numpy as np

from designer.base.arrays import Floats
from designer.mechanisms.marginals.noise import ResidualNoise
from designer.mechanisms.marginals.residuals import synthesis
from designer.problem.marginals_workload import MarginalWorkload
from designer.sampling.integers.margins import sum_of_gaussians_margin, sums_are_nearly_normal
from designer.sampling.reach import NoiseFacts, NoiseReach
from designer.sampling.simulated_reach import seed_of

LAW = "sums of independent discrete Gaussians, by normal noise that smooths them"
MOST_ENTRIES = 10**7  # of the matrix from contrasts to cells: 80 MB


class MarginalNoise(Protocol):
    """What the margins need to know of a mechanism."""

    @property
    def workload(self) -> MarginalWorkload: ...
    @property
    def noise(self) -> ResidualNoise: ...
    @property
    def position(self) -> dict[tuple[int, ...], int]: ...
    @property
    def fingerprint(self) -> str: ...
    def variances(self, subset: Sequence[str], *, planned: bool = False) -> Floats: ...


def reach_of_cells(mechanism: MarginalNoise) -> NoiseReach:
    """The noise of all cells of all requested tables in order."""
    workload, noise = mechanism.workload, mechanism.noise
    names = map(workload.names, workload.subsets.tuples())
    deviations = np.sqrt(np.concatenate([mechanism.variances(own, planned=True).ravel() for own in names]))
    planned = [noise.planned(k) for k in range(len(noise.shapes))]
    heard = [own for own in planned if own.size and own.min() > 0]
    least, coordinates = min((float(own.min()) for own in heard), default=0.0), sum(own.size for own in heard)
    size = sum(own.size for own in planned)
    few = size * len(deviations) <= MOST_ENTRIES
    return NoiseReach(
        lambda level: deviations * sum_of_gaussians_margin(least, coordinates, 1 - level),
        lambda draws, entropy: noise.draw_flat(draws, entropy) @ cells_of_contrasts(mechanism).T,
        deviations == 0,
        NoiseFacts(LAW, sums_are_nearly_normal(least, coordinates), size if few else math.inf),
        seed_of(mechanism.fingerprint),
        "the marginals",
    )


def cells_of_contrasts(mechanism: MarginalNoise) -> Floats:
    """The matrix that makes the cells of all requested tables of the contrasts of all residuals, end to end."""
    workload, shapes = mechanism.workload, mechanism.noise.shapes
    starts = np.cumsum([0, *(math.prod(n - 1 for n in shape) for shape in shapes)])
    found = []
    for subset in workload.subsets.tuples():
        shape = workload.shape(subset)
        table = np.zeros((math.prod(shape), int(starts[-1])))
        for inside in product((False, True), repeat=len(subset)):
            if all(n > 1 for n, chosen in zip(shape, inside, strict=True) if chosen):
                k = mechanism.position[tuple(a for a, chosen in zip(subset, inside, strict=True) if chosen)]
                parts = [synthesis(n)[:, 1:] if c else synthesis(n)[:, :1] for n, c in zip(shape, inside, strict=True)]
                table[:, starts[k] : starts[k + 1]] = kronecker_product(parts)
        found.append(table)
    return np.concatenate(found)


def kronecker_product(parts: Sequence[Floats]) -> Floats:
    """The Kronecker product of matrices.

    parts: (a_i, b_i) each. Returns (product of a, product of b).
    """
    return np.asarray(reduce(lambda one, other: np.asarray(np.kron(one, other)), parts, np.ones((1, 1))), dtype=np.float64)
