"""Tables that agree: post-processing of a release into nonnegative, perhaps whole, numbers that are sums of one array of
counts, and have the published margins.

Computed from the release and from public numbers alone, so the guarantee stays; they are not unbiased, and intervals, which are
those of the raw answers, do not speak of them. docs/guides/tables_out.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from designer.errors import DesignFailed, InvalidProblem
from designer.progress import announce
from designer.values.arrays import Floats, frozen
from designer.values.published import PublishedSums
from solvers.lattices.agreeing_counts import AskedSums, nearest_counts
from solvers.status import Status

M = TypeVar("M")
R = TypeVar("R")

MOST_CELLS = 20_000
SAME = 1e-6  # of a number without noise and the whole number that it is
SMALLEST = 1e-9  # of the largest standard deviation: what is below it carries no noise


@dataclass(frozen=True, eq=False)
class AgreeingTables:
    """For each answer table of a release, in order, numbers that agree, (G,); None where there are none, and why.

    words: what was done, in sentences. whole: are they whole numbers (of the step of their query)?
    """

    tables: tuple[Floats | None, ...]
    reasons: tuple[str, ...]
    words: str
    whole: bool


class Agreement(ABC, Generic[M, R]):
    """How releases R of mechanisms M are made to agree."""

    @abstractmethod
    def require(self, mechanism: M, published: PublishedSums | None) -> None:
        """Refuse, before any data are touched, what can never be made to agree; `InvalidProblem` with the reason."""

    @abstractmethod
    def made(self, mechanism: M, released: R, published: PublishedSums | None, whole: bool) -> AgreeingTables:
        """The tables. `InvalidProblem` where none have the published margins."""


def require_cells(cells: int, what: str) -> None:
    """Refuse more cells than are solved for."""
    if cells > MOST_CELLS:
        raise InvalidProblem(
            f"--consistent: {what} have {cells} cells together, more than the {MOST_CELLS} that agreeing tables are found for; "
            "ask for fewer categories in one release, or leave the option out."
        )


def agreed(
    sums: Any, answers: Floats, deviations: Floats | None, exact: Sequence[tuple[Any, Any]], whole: bool
) -> tuple[Floats, str]:
    """The answers `S x` of the nearest counts, and what was done, in words.

    sums S: (K, N), sparse or dense, of whole entries. answers: (K,). deviations: of their noise, (K,), by which squares are
    weighted; where it is 0 an answer is exact; None for equal weights. exact: rows (p, N) with their sums (p,), several.
    """
    from scipy.sparse import csr_array, vstack

    sums = csr_array(sums)
    spread = np.ones(len(answers)) if deviations is None else np.asarray(deviations, dtype=np.float64)
    noisy = spread > SMALLEST * spread.max(initial=0.0)
    rows = [csr_array(part) for part, _ in exact]
    totals = [np.asarray(values, dtype=np.float64) for _, values in exact]
    if not noisy.all():
        rows.append(sums[~noisy])
        totals.append(_told(answers[~noisy]))
    joined = vstack([csr_array((0, sums.shape[1])), *rows]).tocsr()
    weights = 1 / spread[noisy] ** 2
    announce("tables: finding the nearest that agree")
    asked = AskedSums(
        sums[noisy], answers[noisy], weights / weights.max(initial=1e-300), joined, np.concatenate([np.zeros(0), *totals])
    )
    found = nearest_counts(asked, whole=whole)
    if found.status is Status.INFEASIBLE:
        kind = "whole nonnegative" if whole else "nonnegative"
        raise InvalidProblem(
            f"published: no {kind} table has these margins; they contradict each other, or what the release tells exactly: "
            "give the published ones."
        )
    if found.counts is None:
        raise DesignFailed("--consistent: the solver gave up, which says nothing about the margins; leave the option out.")
    return frozen(np.asarray(sums @ found.counts, dtype=np.float64)), agreement_words(whole, found.proven, len(joined.data) > 0)


def _told(answers: Floats) -> Floats:
    """Exact answers as whole numbers, where they are."""
    near = np.rint(answers)
    return np.where(np.abs(answers - near) <= SAME * (1 + np.abs(answers)), near, answers)


def agreement_words(whole: bool, proven: bool, published: bool) -> str:
    """What agreeing tables are."""
    kind = "whole nonnegative" if whole else "nonnegative"
    margins = " and have the published margins" if published else ""
    near = "no nearer ones exist" if proven else "the nearest that were found, not proven to be the nearest there are"
    return (
        f"Post-processing: {kind} numbers that are sums of one array of counts, so that they agree with one another{margins}; "
        f"nearest in squares over variances of the noise to the released answers ({near}). Computed from the release and from "
        "public numbers alone, so the guarantee stays. Not unbiased, and the intervals do not speak of them."
    )
