"""Agreeing tables of answers to linear queries: the counts of the elements behind them, with the published statistics."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from designer.mechanisms.additive.release import Release, kept_rows
from designer.mechanisms.additive.release_form import OnAGrid, known_statistics
from designer.certified.agreement import AgreeingTables, Agreement, agreed, require_cells
from designer.base.errors import InvalidProblem
from designer.problem.relation import Relation
from designer.problem.workload import Workload
from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.published import PublishedSums

Exact = list[tuple[Any, Any]]


class Asked(Protocol):
    """What was asked of which elements."""

    @property
    def workload(self) -> Workload: ...
    @property
    def relation(self) -> Relation: ...


class CountAgreement(Agreement[OnAGrid, Release]):
    """The counts x whose answers Q x are nearest to those that were released."""

    def require(self, mechanism: OnAGrid, published: PublishedSums | None) -> None:
        require_cells(mechanism.workload.shape[1], "the elements of the workload")
        _require_whole(mechanism.workload)
        rows = [] if published is None else [published_rows(mechanism, published)[0]]
        self._require_known(mechanism, rows)

    def made(self, mechanism: OnAGrid, released: Release, published: PublishedSums | None, whole: bool) -> AgreeingTables:
        exact: Exact = unchanging_rows(mechanism)
        if released.kept is not None:
            kept = released.kept[(released.kept == np.rint(released.kept)).all(axis=1)]
            exact.append((kept, np.rint(kept @ released.answers)))
        if published is not None:
            exact.append(published_rows(mechanism, published))
        found, words = agreed(mechanism.workload.matrix, released.answers, released.standard_errors, exact, whole)
        return AgreeingTables((found,), ("",), words, whole)

    def _require_known(self, mechanism: OnAGrid, published: list[Any]) -> None:
        """Every statistic of the invariant is told by the release, or published; which are is a matter of the spec."""
        named = known_statistics(mechanism.relation)
        kept = kept_rows(mechanism.relation, mechanism.workload, mechanism.heard, mechanism.reconstruction)
        held = [part for part in (kept, *published) if part is not None and len(part)]
        told = {*mechanism.exact}
        own = [row for row, name in zip(mechanism.workload.dense(), mechanism.workload.queries, strict=True) if name in told]
        known = np.vstack([np.zeros((0, mechanism.workload.shape[1])), *held, *own])
        missing = [name for row, name in named.items() if not _within(np.array(row), known)]
        if missing:
            raise InvalidProblem(
                f"--published: is missing; the release does not hold the published statistics {shown(missing)}, with which the "
                "tables are to agree: give them in a CSV file, with the columns statistic and value."
            )


def unchanging_rows(mechanism: Asked) -> Exact:
    """What is so whatever the data are: elements that no record can have, and tables of the same records."""
    size, impossible = mechanism.workload.shape[1], list(mechanism.relation.impossible)
    rows: Exact = []
    if impossible:
        rows.append((np.eye(size, dtype=np.int64)[impossible], np.zeros(len(impossible))))
    agreeing = mechanism.relation.agreeing
    return rows if agreeing is None else [*rows, (agreeing, np.zeros(len(agreeing)))]


def published_rows(mechanism: Asked, published: PublishedSums) -> tuple[Any, Floats]:
    """Published sums over the elements, by their columns or by the names of the statistics."""
    keys = mechanism.workload.keys
    columns, rows = (keys.columns, keys.rows) if keys else (("element",), [(name,) for name in mechanism.workload.elements])
    named = {name: row for row, name in known_statistics(mechanism.relation).items()}
    return published.matched(columns, rows, named)


def _require_whole(workload: Workload) -> None:
    entries = workload.matrix if isinstance(workload.matrix, np.ndarray) else workload.matrix.data
    if (entries != np.rint(entries)).any():
        raise InvalidProblem(
            "--consistent: the queries have entries that are no whole numbers, so their answers need not be; ask for counts of "
            "the elements, or leave the option out."
        )


def _within(row: Floats, known: Floats) -> bool:
    """Is a row a combination of others?"""
    if not len(known):
        return False
    found = np.linalg.lstsq(known.T, row, rcond=None)[0]
    return bool(np.abs(known.T @ found - row).max() <= 1e-6 * np.abs(row).max())
