"""What a mechanism for linear queries hands out: released answers, and simulated noise, which is never a release.

Post-processing of a table under an invariant (SEMI Remark 33): the nearest table that keeps the published statistics.

Margins are public and released counts are noisy: unbiased counts are negative and fractional. A function of the release and of
the public statistics alone keeps the guarantee (SEMI Proposition 23). What it costs is bias: empty
cells are pushed up, and the others of their rows and columns down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import LEVEL, AnswerTable, Intervals, LawOfAnswers, Tabular, tables_in_order
from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, count, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import step
from designer.certificate.agreement import Moved
from designer.certificate.guarantee import Guarantee
from designer.mechanism.noise import Grid
from designer.problem.relation import RECORDS_PUBLIC, Relation
from designer.problem.workload import Workload
from designer.relations.invariants.statistics import Integers, Statistics
from designer.relations.records.row_unit import RowUnit
from designer.sampling.entropy import simulation_stamp
from solvers.solution import Status

TableDistance = Literal["l1", "l2"]


class ReleasedAnswers(Protocol):
    """What a table is computed from: noisy answers, the statistics of them that carry no noise, and what they promise."""

    @property
    def answers(self) -> Floats: ...
    @property
    def queries(self) -> tuple[str, ...]: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def standard_errors(self) -> Floats | None: ...
    @property
    def kept(self) -> Floats | None: ...


@dataclass(frozen=True, eq=False)
class NearestTable:
    """A table `answers`, (N,), with the published statistics, computed from the release of `fingerprint`,
    whose guarantee it keeps.

    distance: how far it is from the released counts, in the norm `closeness`. post_processing: what was done, and how far it
    moved the counts in standard errors, in sentences.
    """

    answers: Floats
    queries: tuple[str, ...]
    distance: float
    closeness: TableDistance
    post_processing: str
    guarantee: Guarantee
    fingerprint: str

    def __post_init__(self) -> None:
        assign(self, answers=frozen(self.answers))

    def to_dict(self) -> dict[str, Any]:
        """Plain data: answers by query name, what was done, the guarantee, the fingerprint."""
        return {
            "answers": dict(zip(self.queries, self.answers.tolist(), strict=True)),
            "post_processing": self.post_processing,
            "distance": self.distance,
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


@step("the nearest consistent table")
def nearest_table(
    release: ReleasedAnswers,
    invariant: Statistics,
    totals: object,
    *,
    nonnegative: bool = True,
    integer: bool = False,
    closeness: TableDistance = "l2",
    records: int | None = None,
) -> NearestTable:
    """The table closest to the released counts whose statistics `A x` are the published `totals`, (p,).

    release: answers of the identity workload, one count for each element of the invariant. records: their public number, where
    the statistics do not determine it. Real tables are nearest in least squares ("l2"); integer ones in l1 or l2, by an integer
    program that is a min-cost flow for two-way margins. Raises `InvalidProblem` where no such table exists: totals that
    contradict each other, or statistics that the release keeps exactly; `DesignFailed` where the solver gives up.

    >>> from designer import Problem, Workload, design, invariants
    >>> margins = invariants.margins((2, 2))
    >>> made = design(Problem(Workload.identity(4), margins.protect(1.0)), "k_norm").mechanism
    >>> table = nearest_table(made.release([3, 1, 0, 2]), margins, [4, 2, 3, 3], integer=True)
    >>> margins.answers(table.answers).tolist(), table.fingerprint == made.fingerprint
    ([4, 2, 3, 3], True)
    """
    from solvers.lattices.transport import nearest_integer, nearest_real

    _require_fit(release, invariant, closeness, integer)
    counts = real_array(release.answers, "release.answers", 1)
    rows, sums = _public(invariant, totals, records)
    _refuse_contradiction(release, rows, sums, (*invariant.names, "the number of records"))
    found = (
        nearest_integer(rows, sums, counts, nonnegative, closeness)
        if integer
        else nearest_real(rows, sums, counts, nonnegative)
    )
    if found.status is Status.FAILED:
        raise DesignFailed(
            "nearest table: the solver gave up, which says nothing about the totals; ask for a real table, or for closeness "
            "'l1' with integer=True."
        )
    if found.point is None:
        kind = " ".join(word for word, said in (("nonnegative", nonnegative), ("integer", integer)) if said)
        raise InvalidProblem(f"totals: no {kind or 'real'} table with these statistics was found; give the published ones.")
    moved = Moved.of(counts, found.point, release.standard_errors, release.queries)
    return NearestTable(
        found.point,
        release.queries,
        found.distance,
        closeness,
        f"{_words(nonnegative, integer, closeness)} {moved.sentence()}",
        release.guarantee,
        release.fingerprint,
    )


def _require_fit(release: ReleasedAnswers, invariant: Statistics, closeness: str, integer: bool) -> None:
    """The release speaks of the elements of the invariant, and the closeness is one that is offered."""
    if len(release.answers) != invariant.size:
        raise InvalidProblem(
            f"release: has {len(release.answers)} answers; release the identity workload over the {invariant.size} elements "
            "of the invariant."
        )
    if closeness not in ("l1", "l2") or (closeness == "l1" and not integer):
        raise InvalidProblem(f"closeness: {closeness!r} is not offered; use 'l2', or 'l1' with integer=True.", value=closeness)


def _public(invariant: Statistics, totals: object, records: int | None) -> tuple[Integers, Floats]:
    sums = real_array(totals, "totals", 1)
    if len(sums) != len(invariant.matrix) or (sums != np.rint(sums)).any():
        raise InvalidProblem(f"totals: {len(sums)} values; give the {len(invariant.matrix)} published whole numbers.")
    if records is None:
        return invariant.matrix, sums
    ones = np.ones((1, invariant.size), dtype=np.int64)
    return np.concatenate([invariant.matrix, ones]), np.append(sums, count(records, "records", least=0))


def _refuse_contradiction(release: ReleasedAnswers, rows: Integers, sums: Floats, names: tuple[str, ...]) -> None:
    """Totals other than those that the release itself tells without noise are refused; all of these numbers are public."""
    from solvers.lattices.transport import row_space

    if release.kept is None or not len(release.kept):
        return
    basis, _ = row_space(release.kept)
    beside = np.abs(rows - (rows @ basis.T) @ basis).max(axis=1)
    told = rows @ release.answers
    # Totals are whole numbers; answers on a grid add up to them but for rounding.
    wrong = (beside <= 1e-9 * np.abs(rows).max(axis=1)) & (
        np.abs(told - sums) > 0.5 + 1e-9 * (np.abs(rows) @ np.abs(release.answers))
    )
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise InvalidProblem(
            f"totals: {sums[k]:.0f} for {shown(names[k])} contradicts the release, which keeps this statistic exactly, at "
            f"{told[k]:.0f}; give the published totals."
        )


def _words(nonnegative: bool, integer: bool, closeness: TableDistance) -> str:
    kind = ("nonnegative " if nonnegative else "") + ("integer" if integer else "real")
    return (
        f"The {kind} table with the published statistics that is nearest in {closeness} to the released counts. Computed "
        "from these and public numbers alone, so the guarantee is that of the release; its counts are no longer unbiased."
    )


LARGEST_RANKED = 2**22  # entries of a reconstruction whose rank takes seconds


def summed(exact: NDArray[Any], noise: NDArray[Any]) -> list[int]:
    """Answers and noise, added as integers of any size.

    exact, noise: (R,), of int64 or of Python integers.
    """
    return list(map(int.__add__, exact.tolist(), noise.tolist()))


def answers_of(multiples: Sequence[int], grid: Grid, reconstruction: Floats | None) -> Floats:
    """The answers, (K,), that follow from noisy multiples of the steps, (R,). reconstruction: (K, R); None for the identity."""
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest float
        measured = grid.nearest_floats(multiples)
        return measured if reconstruction is None else np.asarray(reconstruction @ measured)


def publishes_integers(
    reconstruction: Floats | None, heard: NDArray[np.bool_], integers: NDArray[np.int64], relation: Relation
) -> bool:
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


class ErrorSource(NamedTuple):
    """How variances are known, in words where they are not computed: simulated, by how many draws, or bounds. uncertain: to
    which share simulated standard errors are known, twice their largest relative standard error."""

    words: str = ""
    draws: int = 0
    uncertain: float = 0.0


class LawOfRelease(LawOfAnswers, Protocol):
    """What a release knows of the mechanism that made it: what was asked, and how far the answers may be off."""

    @property
    def workload(self) -> Workload: ...
    def standard_errors(self) -> Floats: ...
    @property
    def error_source(self) -> ErrorSource: ...


def known_errors(law: LawOfRelease) -> Floats | None:
    """Its standard errors; None where no bound of the noise in an answer is proven."""
    try:
        return law.standard_errors()
    except DesignFailed:
        return None


@dataclass(frozen=True, eq=False)
class Release(Tabular):
    """Noisy answers, (K,), with the guarantee they carry and the fingerprint of the mechanism that made them.

    Answers may be below 0 where true counts cannot be: they are unbiased as they are. `consistent`, or `agreeing_tables` of
    `designer.files.table_files`, gives numbers from 0 on that agree with one another.

    kept: statistics of the answers, (q, K), that carry no noise: those of the true counts; None where none are known.
    multiples: the noisy whole multiples of the steps themselves, (R,), which the answers follow from. None where the answers do
    not determine all of them, and for mechanisms without steps. row: what one row was, of releases from a table. law: the
    mechanism, or what else knows the noise, for standard errors and intervals; no part of the data.
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
        return None if self.law is None else known_errors(self.law)

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """The answers as one table, by the columns of the elements where these are what is counted, else by query; of nested
        units a table for each level, by the columns of the level and those above it."""
        levels = None if self.law is None else self.law.workload.levels
        if levels is None:
            return (self._one_table(),)
        depths = np.array([sum(map(bool, row)) for row in levels.rows])
        tables = []
        for depth in np.unique(depths).tolist():
            own = np.flatnonzero(depths == depth)
            keys = tuple(levels.rows[k][:depth] for k in own.tolist())
            name, columns = (levels.columns[depth - 1], levels.columns[:depth]) if depth else ("total", ("query",))
            keys = keys if depth else (("total",),)
            tables.append(self._table(name, columns, keys, slice(int(own[0]), int(own[-1]) + 1)))
        return tables_in_order(tables, self.law, self)

    def _one_table(self) -> AnswerTable:
        """All answers in one table."""
        columns: tuple[str, ...] = ("query",)
        keys: tuple[tuple[str, ...], ...] = tuple((name,) for name in self.queries)
        if self.law is not None and (named := self.law.workload.keys) is not None and self.law.workload.is_identity:
            columns, keys = named.columns, named.rows
        return tables_in_order([self._table("answers", columns, keys, slice(None))], self.law, self)[0]

    def _table(self, name: str, columns: tuple[str, ...], keys: tuple[tuple[str, ...], ...], own: slice) -> AnswerTable:
        """Some answers, with what is known of their noise."""
        words, errors = "" if self.law is None else self.law.error_source.words, self.standard_errors
        return AnswerTable(name, columns, keys, self.answers[own], None if errors is None else errors[own], error_words=words)

    def intervals(self, level: float = LEVEL, simultaneous: bool = False) -> Intervals:
        """Intervals of the answers: each with probability `level`, or all of them at once; see `AnswerTable.intervals`.

        level: the probability that an interval holds the answer without noise. simultaneous: that all do, together.
        """
        return self._one_table().intervals(level, simultaneous)

    def _display_facts(self) -> Mapping[str, object]:
        below = int((self.answers < 0).sum())
        return {"answers": len(self.answers), "below 0": below or None, **super()._display_facts()}

    def consistent(self, invariant: Statistics, totals: object, **options: Any) -> NearestTable:
        """The nearest table with published statistics, nonnegative and integer as asked: see
        `designer.mechanism.release.nearest_table`.

        invariant: the published statistics. totals: (p,), their values. options: of the search.
        """
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
        noise.stamp = simulation_stamp(seed, f"{len(draws)} draws")
        return noise


def require_no_data(data: object) -> None:
    """Refuse data beside noise whose law they do not decide."""
    if data is not None:
        raise InvalidProblem("data: have no part in this noise, whose law does not depend on them; leave them out.")
