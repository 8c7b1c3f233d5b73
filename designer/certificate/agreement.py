"""Tables that agree: post-processing of a release into nonnegative, perhaps whole, numbers that are sums of one array of
counts, and have the published margins.

Computed from the release and from public numbers alone, so the guarantee stays; they are not unbiased, and intervals, which are
those of the raw answers, do not speak of them. docs/guides/tables_out.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable
from designer.base.arrays import Floats, frozen
from designer.base.checks import shown
from designer.base.display import at_most, printed
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec
from designer.base.progress import announce
from designer.base.published_margins import PublishedSums
from designer.base.schema import SIGNED_RATIONAL, Fragment, Named, Schema, either, list_of, number, one_of, record, text, whole
from designer.limits import MOST_AGREEING_CELLS
from solvers.solution import Status

M = TypeVar("M")
R = TypeVar("R")

WHOLE_TOLERANCE = 1e-6  # of a number without noise and the whole number that it is
MOST_ERRORS = 20.0  # standard errors that noise alone does not move an answer by: with Laplace noise once in 10^12 answers
AS_THEY_ARE = (
    "Post-processing: none was needed. The released answers agree with one another and have no bias; they may be below 0."
)
SMALLEST = 1e-12  # of the largest standard deviation: what is below it carries no noise


@dataclass(frozen=True, eq=False)
class AgreeingTables:
    """For each answer table of a release, in order, numbers that agree, (G,); None where there are none, and why.

    words: what was done, in sentences. whole: are they whole numbers (of the step of their query)? farthest: how many standard
    errors the farthest of them lies from what was released, which `compared` finds. laws: tables with the standard errors and
    intervals of these numbers, where they have no bias.
    """

    tables: tuple[Floats | None, ...]
    reasons: tuple[str, ...]
    words: str
    whole: bool
    farthest: float = math.nan
    laws: tuple[AnswerTable, ...] = ()

    @classmethod
    def joined(cls, numbers: Floats, tables: Sequence[AnswerTable], words: str, whole: bool) -> AgreeingTables:
        """From the numbers of all answers of these tables, (K,)."""
        ends = np.cumsum([len(table.answers) for table in tables])[:-1]
        return cls(tuple(np.split(numbers, ends)), ("",) * len(tables), words, whole)

    def compared(self, released: Sequence[AnswerTable]) -> AgreeingTables:
        """The same, with how far they lie from the released answers, and with words for it. `DesignFailed` for numbers that are
        below 0, not finite, or too few: no solver is believed."""
        moves = []
        for table, numbers in zip(released, self.tables, strict=True):
            if numbers is None:
                continue
            if numbers.shape != table.answers.shape or not (np.isfinite(numbers) & (numbers >= 0)).all():
                raise DesignFailed("--consistent: the solver made numbers below 0, or none; leave the option out.")
            moves.append(Moved.of(table.answers, numbers, table.standard_errors, table.names()))
        farthest = max(moves, key=lambda moved: moved.errors, default=None)
        if farthest is None:
            return self
        return replace(self, words=f"{self.words} {farthest.sentence()}", farthest=farthest.errors)


@dataclass(frozen=True)
class Moved:
    """The number of a post-processed table that lies farthest from its released answer: at `errors` standard errors, infinite
    where an answer without noise was moved; not a number where no standard errors are known."""

    errors: float
    name: str
    released: float
    made: float

    @classmethod
    def of(cls, answers: Floats, made: Floats, errors: Floats | None, names: Sequence[str]) -> Moved:
        """Of answers, (G,), and what was made of them. names: (G,)."""
        off = np.abs(made - answers)
        if errors is None:
            farthest = np.full(len(off), math.nan)
        else:
            moved = off > WHOLE_TOLERANCE + 1e-12 * np.abs(answers)
            with np.errstate(divide="ignore", invalid="ignore"):
                farthest = np.where(moved | (errors > 0), off / errors, 0.0)
        if not len(off):
            return cls(0.0, "", 0.0, 0.0)
        k = int(np.argmax(off if errors is None else farthest))
        return cls(float(farthest[k]), names[k], float(answers[k]), float(made[k]))

    def sentence(self) -> str:
        """How far, in words, and where it is farther than noise explains, why."""
        place = f"{printed(self.name)}: {self.made:,.15g} for {self.released:,.15g}"
        if math.isnan(self.errors):
            return f"No standard errors are known; the farthest number from its released answer is {place}."
        if math.isinf(self.errors):
            return f"An answer that no noise enters was moved ({place}), because it does not agree with the others."
        said = f"Every number is within {at_most(self.errors, 3)} standard errors of its released answer"
        if self.errors <= MOST_ERRORS:
            return f"{said}."
        return (
            f"{said}, which is more than its own noise explains (farthest: {place}): the numbers had to agree with one another "
            "and with what was published. Read the released answer there."
        )


class Agreement(ABC, Generic[M, R]):
    """How releases R of mechanisms M are made to agree."""

    @abstractmethod
    def require(self, mechanism: M, published: PublishedSums | None) -> None:
        """Refuse, before any data are touched, what can never be made to agree; `InvalidProblem` with the reason."""

    @abstractmethod
    def made(self, mechanism: M, released: R, published: PublishedSums | None, whole: bool) -> AgreeingTables:
        """The tables. `InvalidProblem` where none have the published margins."""

    def require_unbiased(self, mechanism: M, whole: bool) -> None:
        """Refuse, before any data are touched, what has no agreeing numbers, perhaps whole, without a bias."""
        if whole:
            raise InvalidProblem(
                "--consistent unbiased-integer: is there for answers to linear queries; use unbiased, or integer, which has a "
                "bias."
            )

    def unbiased(self, mechanism: M, released: R, whole: bool) -> AgreeingTables:
        """Numbers that agree and have no bias, perhaps below 0: the answers themselves, where these agree."""
        tables = released.answer_tables()  # type: ignore[attr-defined]
        made = AgreeingTables.joined(np.concatenate([table.answers for table in tables]), tables, AS_THEY_ARE, False)
        return replace(made, laws=tables)


def require_cells(cells: int, what: str) -> None:
    """Refuse more cells than are solved for."""
    if cells > MOST_AGREEING_CELLS:
        raise InvalidProblem(
            f"--consistent: {what} have {cells} cells together, more than the {MOST_AGREEING_CELLS} that agreeing tables are "
            "found for; ask for fewer categories in one release, or leave the option out."
        )


def agreed(
    sums: Any, answers: Floats, deviations: Floats | None, exact: Sequence[tuple[Any, Any]], whole: bool
) -> tuple[Floats, str]:
    """The answers `S x` of the nearest counts, and what was done, in words.

    sums S: (K, N), sparse or dense, of whole entries. answers: (K,). deviations: of their noise, (K,), by which squares are
    weighted; where it is 0 an answer is exact; None for equal weights. exact: rows (p, N) with their sums (p,), several.
    """
    from scipy.sparse import csr_array, vstack

    from solvers.lattices.agreeing_counts import AskedSums, nearest_counts

    sums = csr_array(sums)
    spread = np.ones(len(answers)) if deviations is None else np.asarray(deviations, dtype=np.float64)
    noisy = spread > SMALLEST * spread.max(initial=0.0)
    rows = [csr_array(part) for part, _ in exact]
    totals = [np.asarray(values, dtype=np.float64) for _, values in exact]
    if not noisy.all():
        rows.append(sums[~noisy])
        totals.append(_rounded(answers[~noisy]))
    joined = vstack([csr_array((0, sums.shape[1])), *rows]).tocsr()
    weights = 1 / spread[noisy] ** 2
    announce("tables: finding the nearest that agree")
    asked = AskedSums(sums[noisy], answers[noisy], weights, joined, np.concatenate([np.zeros(0), *totals]))
    found = nearest_counts(asked, whole=whole)
    if found.status is Status.INFEASIBLE:
        kind = "whole nonnegative" if whole else "nonnegative"
        raise InvalidProblem(
            f"published: no {kind} table has these margins; they contradict each other, or what the release tells exactly: "
            "give the published ones."
        )
    if found.counts is None:
        raise DesignFailed(
            "--consistent: the solver gave up, which says nothing about the margins; leave the option out"
            + (", or ask for --consistent nonnegative." if whole else ".")
        )
    return frozen(np.asarray(sums @ found.counts, dtype=np.float64)), agreement_words(whole, found.proven, len(joined.data) > 0)


def _rounded(answers: Floats) -> Floats:
    """Exact answers as whole numbers, where they are."""
    near = np.rint(answers)
    return np.where(np.abs(answers - near) <= WHOLE_TOLERANCE * (1 + np.abs(answers)), near, answers)


def agreement_words(whole: bool, proven: bool, published: bool) -> str:
    """What agreeing tables are."""
    kind = "whole nonnegative" if whole else "nonnegative"
    margins = " and have the published margins" if published else ""
    near = (
        "no nearer ones exist, but for rounding and a thousandth of a standard error over all answers"
        if proven
        else "the nearest that were found, not proven to be the nearest there are"
    )
    return (
        f"{kind.capitalize()} numbers that are made to agree with each other{margins}, as sums of one array of counts: nearest "
        f"in squares over variances of the noise to the released answers ({near}). They are computed from the release and "
        "public numbers alone, so no further protection is needed. They are biased, and the intervals do not speak of them."
    )


# What a release of each format holds in a file, beside what all releases say, and how it follows from a few whole numbers.
#
# A release is made of whole numbers: noisy multiples of steps, a table, the place of a candidate. All else in its file
# follows from them and from the mechanism, and is recomputed when the file is verified.


RELEASE_FORMAT = "dp-designer/release"
ReleaseKeys = Mapping[str, Fragment]

# Numbers that post-processing may drive beyond the floats.
NUMBER = Named("any_number", either(number(), one_of("inf", "-inf", "nan")))
BY_NAME: Schema = {"type": "object", "additionalProperties": NUMBER}
PUBLISHED = Named(
    "published",
    list_of(
        record(
            {"statistic": text(), "value": either(whole(), SIGNED_RATIONAL, number(), {"type": "array"})},
            note="A statistic that no noise enters: a whole number, a fraction, a float, or a table of whole numbers.",
        ),
        least=0,
    ),
)


class ReleaseForm(ABC, Generic[M, R]):
    """How releases R of mechanisms M are written, and rebuilt from what was written.

    schema: the keys beside those of every release, with their forms. checked, unchecked: what `rebuilt` and the comparison
    that follows it settle, and what they leave open, in sentences.
    """

    schema: ClassVar[ReleaseKeys]
    checked: ClassVar[tuple[str, ...]]

    @abstractmethod
    def content(self, mechanism: M, released: R) -> dict[str, Any]:
        """The release under the keys of `schema`."""

    @abstractmethod
    def rebuilt(self, mechanism: M, content: Mapping[str, Any]) -> R:
        """The release whose whole numbers are in a file; `InvalidSpec` where the mechanism cannot have made them."""

    def published(self, mechanism: M, released: R) -> list[dict[str, Any]]:
        """What the release tells exactly, each with its `statistic` and its `value`; nothing by default."""
        return []

    def unchecked(self, mechanism: M) -> tuple[str, ...]:
        """What a file of this form leaves open, beside what every file does."""
        return ()


def as_entry(statistic: str, value: object) -> dict[str, Any]:
    """One entry of what is published exactly; fractions that are whole are written as whole numbers."""
    if isinstance(value, Fraction):
        return {"statistic": statistic, "value": int(value) if value.denominator == 1 else str(value)}
    return {"statistic": statistic, "value": value}


def whole_numbers(value: Any, count: int, field: str) -> list[int]:
    """A list of so many whole numbers from a file."""
    if not isinstance(value, list) or len(value) != count or not all(type(entry) is int for entry in value):
        raise InvalidSpec(f"{field}: is not a list of {count} whole numbers, as the mechanism makes them; {RESTORE}")
    return value


def whole_table(value: Any, shape: Sequence[int], field: str) -> NDArray[Any]:
    """An array of Python integers of this shape, from nested lists of a file."""
    if not shape:
        if type(value) is not int:
            raise InvalidSpec(f"{field}: {shown(value)} is not a whole number; {RESTORE}", value=value)
        return np.array(value, dtype=object)
    if not isinstance(value, list) or len(value) != shape[0]:
        raise InvalidSpec(f"{field}: is not a table of whole numbers of shape {tuple(shape)}; {RESTORE}")
    rows = [whole_table(entry, shape[1:], field) for entry in value]
    return np.array(rows, dtype=object).reshape(tuple(shape))


def named_whole_numbers(value: Any, names: Sequence[str], field: str) -> list[int]:
    """The whole numbers of an object with exactly these keys, in the order of the names."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise InvalidSpec(f"{field}: has not exactly the names of the mechanism; {RESTORE}")
    return whole_numbers([value[name] for name in names], len(names), field)


RESTORE = "restore the file, or ask who released for another one."
