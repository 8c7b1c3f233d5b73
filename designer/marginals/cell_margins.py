"""How far the noise of the cells of marginals reaches with a given probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from designer.marginals.workload import MarginalWorkload
from designer.values.arrays import Floats

LAW = "sums of independent discrete Gaussians: their moments are at most those of normal noise"


class MarginalNoise(Protocol):
    """What the margins need to know of a mechanism."""

    @property
    def workload(self) -> MarginalWorkload: ...
    def variances(self, subset: Sequence[str], *, planned: bool = False) -> Floats: ...


def margins_of_cells(mechanism: MarginalNoise, level: float, simultaneous: bool) -> tuple[Floats, str]:
    """Margins of all cells of all requested tables in order, (A,): of each, or of all at once; and by which law."""
    names = map(mechanism.workload.names, mechanism.workload.subsets.tuples())
    variances = np.concatenate([mechanism.variances(own, planned=True).ravel() for own in names])
    share = (1 - level) / (len(variances) if simultaneous else 1)
    return np.sqrt(variances) * math.sqrt(2 * math.log(2 / share)), LAW
