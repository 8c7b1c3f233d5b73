"""Releases: the one place where confidential counts are touched, and simulated noise, which is never a release."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.confidential import withholding
from designer.frozen import Floats, count, frozen
from designer.guarantee import Guarantee
from designer.histogram import counts
from designer.sampling.entropy import SeededEntropy, SystemEntropy

if TYPE_CHECKING:
    from designer.invariants.nearest_tables import NearestTable
    from designer.invariants.statistics import Statistics
    from designer.mechanism import Mechanism


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
        """The nearest table with published statistics, nonnegative and integer as asked: see `designer.invariants.nearest_tables.nearest_table`."""
        from designer.invariants.nearest_tables import nearest_table

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


@withholding
def release(mechanism: Mechanism, histogram: object) -> Release:
    """`reconstruction (M x + z)`, M x in exact integers, z exact noise from the operating system's entropy."""
    exact = exact_answers(mechanism.integers, counts(histogram, mechanism.workload.universe))
    noise = mechanism.noise.draw(1, SystemEntropy())[0]
    noisy = np.array([int(a) + int(z) for a, z in zip(exact, noise, strict=True)], dtype=object)
    answers = np.array([_nearest_float(v * mechanism.grid.step(k)) for k, v in enumerate(noisy)])
    if mechanism.reconstruction is not None:
        answers = mechanism.reconstruction @ answers
    return Release(
        frozen(answers),
        mechanism.workload.queries,
        mechanism.guarantee,
        mechanism.fingerprint,
        kept=kept_statistics(mechanism),
    )


def kept_statistics(mechanism: Mechanism) -> Floats | None:
    """The rows of the public statistics that no noise enters, (q, N), where every element is counted under an invariant; None elsewhere."""
    if mechanism.relation.single_records or not mechanism.workload.is_identity:
        return None
    public, heard = mechanism.relation.public_rows(), ~mechanism.norm.silent
    rebuilt = np.eye(len(heard)) if mechanism.reconstruction is None else mechanism.reconstruction
    noise = np.abs(public @ rebuilt[:, heard]).max(axis=1, initial=0.0)
    return frozen(public[noise <= 1e-9 * np.abs(public).max() * np.abs(rebuilt).max()])


def _nearest_float(value: Fraction) -> float:
    """Post-processing of one noisy answer; beyond the floats it is infinite, because a refusal would depend on the data."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def simulate(mechanism: Mechanism, size: int, seed: int | None) -> SimulatedNoise:
    """Draws of the noise in the answers, stamped."""
    entropy = SystemEntropy() if seed is None else SeededEntropy(count(seed, "seed", least=0))
    draws = mechanism.grid.values(mechanism.noise.draw(count(size, "size"), entropy).T).T
    if mechanism.reconstruction is not None:
        draws = draws @ mechanism.reconstruction.T
    noise = draws.view(SimulatedNoise)
    noise.stamp = f"simulation, not private: {size} draws, " + ("no seed" if seed is None else f"seed {seed}")
    return noise


def exact_answers(integers: NDArray[np.int64], histogram: NDArray[np.int64]) -> NDArray[Any]:
    """`M x` without rounding or overflow: int64 where the largest sum fits, Python integers otherwise."""
    bound = np.abs(integers).astype(np.float64) @ histogram.astype(np.float64)
    if bound.max() < 2.0**62:
        return np.asarray(integers @ histogram)
    return np.asarray(integers.astype(object) @ histogram.astype(object))
