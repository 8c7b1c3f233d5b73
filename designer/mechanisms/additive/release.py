"""What a mechanism for linear queries hands out: released answers, and simulated noise, which is never a release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.mechanisms.additive.grid import Grid
from designer.mechanisms.additive.nearest_tables import NearestTable, nearest_table
from designer.certified.guarantee import Guarantee
from designer.relations.rows.row_unit import RowUnit
from designer.relations.invariants.statistics import Statistics
from designer.problem.relation import RECORDS_PUBLIC, Relation
from designer.problem.workload import Workload
from designer.base.answer_table import AnswerTable, Intervals, LEVEL, LawOfAnswers, tables_in_order
from designer.base.arrays import Floats, frozen
from designer.base.tabular import Tabular

LARGEST_RANKED = 2**22  # entries of a reconstruction whose rank takes seconds


def nearest_float(value: Fraction) -> float:
    """Post-processing of one noisy answer; beyond the floats it is infinite, because a refusal would depend on the data."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def answers_of(multiples: Sequence[int], grid: Grid, reconstruction: Floats | None) -> Floats:
    """The answers, (K,), that follow from noisy multiples of the steps, (R,). reconstruction: (K, R); None for the identity."""
    measured = np.array([nearest_float(number * grid.step(k)) for k, number in enumerate(multiples)])
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest float
        return measured if reconstruction is None else np.asarray(reconstruction @ measured)


def tells(reconstruction: Floats | None, heard: NDArray[np.bool_], integers: NDArray[np.int64], relation: Relation) -> bool:
    """Whether a release may hold every measured number, so that nothing is told exactly that was not told before: what carries
    no noise is determined by the answers, or is a multiple of the number of records, which the guarantee says is public.

    reconstruction: (K, R); None for the identity. heard: (R,), which carry noise. integers: (R, N), the measured matrix.
    """
    if reconstruction is None or heard.all():
        return True
    counts = bool((integers[~heard] == integers[~heard][:, :1]).all()) and RECORDS_PUBLIC in relation.unprotected()
    return counts or (reconstruction.size <= LARGEST_RANKED and determines(reconstruction, heard))


def determines(reconstruction: Floats, heard: NDArray[np.bool_]) -> bool:
    """Whether the answers determine every measured number without noise, once those with noise are known.

    reconstruction: (K, R). heard: (R,), which carry noise.
    """
    noisy = np.linalg.matrix_rank(reconstruction[:, heard]) if heard.any() else 0
    return bool(np.linalg.matrix_rank(reconstruction) == noisy + int((~heard).sum()))


def kept_rows(relation: Relation, workload: Workload, heard: NDArray[np.bool_], reconstruction: Floats | None) -> Floats | None:
    """The rows of the public statistics that no noise enters, (q, N), where every element is counted under an invariant;
    None elsewhere. heard: (R,), which carry noise. reconstruction: (N, R); None for the identity."""
    if relation.single_records or not workload.is_identity:
        return None
    public, rebuilt = relation.public_rows(), np.eye(len(heard)) if reconstruction is None else reconstruction
    noise = np.abs(public @ rebuilt[:, heard]).max(axis=1, initial=0.0)
    return frozen(public[noise <= 1e-9 * np.abs(public).max() * np.abs(rebuilt).max()])


class LawOfRelease(LawOfAnswers, Protocol):
    """What a release knows of the mechanism that made it: what was asked, and how far the answers may be off."""

    @property
    def workload(self) -> Workload: ...
    def known_errors(self) -> Floats | None: ...


@dataclass(frozen=True, eq=False)
class Release(Tabular):
    """Noisy answers, (K,), with the guarantee they carry and the fingerprint of the mechanism that made them.

    Answers may be below 0 where true counts cannot be: they are unbiased as they are. `consistent`, or `agreeing_tables` of
    `designer.files.agreeing`, gives numbers from 0 on that agree with one another.

    kept: statistics of the answers, (q, K), that carry no noise: those of the true counts; None where none are known.
    multiples: the noisy whole multiples of the steps themselves, (R,), which the answers follow from; None where the answers
    do not determine all of them, and for mechanisms without steps. row: what one row was, of releases from a table.
    law: the mechanism, or what else knows the noise, for standard errors and intervals; no part of the data.
    """

    answers: Floats
    queries: tuple[str, ...]
    guarantee: Guarantee
    fingerprint: str
    kept: Floats | None = field(default=None, kw_only=True)
    multiples: tuple[int, ...] | None = field(default=None, kw_only=True)
    row: RowUnit | None = field(default=None, kw_only=True)
    law: LawOfRelease | None = field(default=None, kw_only=True, repr=False)

    @property
    def standard_errors(self) -> Floats | None:
        """Standard deviation of the noise in each of the K answers, or a bound above it; None where none is known."""
        return None if self.law is None else self.law.known_errors()

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """The answers as one table, by the columns of the elements where these are what is counted, else by query."""
        columns: tuple[str, ...] = ("query",)
        keys: tuple[tuple[str, ...], ...] = tuple((name,) for name in self.queries)
        if self.law is not None and (named := self.law.workload.keys) is not None and self.law.workload.is_identity:
            columns, keys = named.columns, named.rows
        return tables_in_order([AnswerTable("answers", columns, keys, self.answers, self.standard_errors)], self.law, self)

    def intervals(self, level: float = LEVEL, simultaneous: bool = False) -> Intervals:
        """Intervals of the answers: each with probability `level`, or all of them at once; see `AnswerTable.intervals`."""
        return self.answer_tables()[0].intervals(level, simultaneous)

    def display_facts(self) -> Mapping[str, object]:
        """How many answers, how many of them are below 0, and the fingerprint."""
        below = int((self.answers < 0).sum())
        return {"answers": len(self.answers), "below 0": below or None, **super().display_facts()}

    def consistent(self, invariant: Statistics, totals: object, **options: Any) -> NearestTable:
        """The nearest table with published statistics, nonnegative and integer as asked: see
        `designer.mechanisms.additive.nearest_tables.nearest_table`."""
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
