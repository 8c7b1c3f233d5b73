"""What a mechanism for linear queries hands out: released answers, and simulated noise, which is never a release."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from designer.additive.nearest_tables import NearestTable, nearest_table
from designer.certified.guarantee import Guarantee
from designer.invariants.statistics import Statistics
from designer.values.arrays import Floats


def nearest_float(value: Fraction) -> float:
    """Post-processing of one noisy answer; beyond the floats it is infinite, because a refusal would depend on the data."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@dataclass(frozen=True, eq=False)
class Release:
    """Noisy answers, (K,), with the guarantee they carry and the fingerprint of the mechanism that made them.

    kept: statistics of the answers, (q, K), that carry no noise: those of the true counts; None where none are known.
    """

    answers: Floats
    queries: tuple[str, ...]
    guarantee: Guarantee
    fingerprint: str
    kept: Floats | None = field(default=None, kw_only=True)

    def consistent(self, invariant: Statistics, totals: object, **options: Any) -> NearestTable:
        """The nearest table with published statistics, nonnegative and integer as asked: see
        `designer.additive.nearest_tables.nearest_table`."""
        return nearest_table(self, invariant, totals, **options)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: answers by query name, the guarantee, the fingerprint."""
        return {
            "answers": dict(zip(self.queries, self.answers.tolist(), strict=True)),
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


class SimulatedNoise(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of noise draws with a `stamp` that says it is not private."""

    stamp: str

    def __array_finalize__(self, source: object) -> None:
        self.stamp = getattr(source, "stamp", "simulation, not private")

    @classmethod
    def of(cls, draws: Floats, seed: int | None) -> SimulatedNoise:
        """Draws, (size, K), with the stamp that says how they came about."""
        noise = draws.view(cls)
        noise.stamp = f"simulation, not private: {len(draws)} draws, " + ("no seed" if seed is None else f"seed {seed}")
        return noise
