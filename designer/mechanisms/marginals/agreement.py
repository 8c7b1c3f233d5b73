"""Agreeing tables of marginals: all are margins of one array of counts, with the published ones among them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from designer.certified.agreement import AgreeingTables, Agreement, MOST_CELLS, agreed, require_cells
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.mechanisms.marginals.release import MarginalRelease
from designer.mechanisms.marginals.release_form import exact_tables
from designer.mechanisms.marginals.whole import CELLS, WORDS, whole_tables
from designer.problem.marginals_workload import MarginalWorkload
from designer.base.arrays import Floats
from designer.base.published import PublishedSums

PROVEN_CELLS = 4_000  # of crossing margins whose nearest whole table is proven in seconds
DETOUR = " Found by projected gradients and by moving single records, since the joint cells are many."


class MarginAgreement(Agreement[MarginalMechanism, MarginalRelease]):
    """Exactly where the attributes that are asked about have few combinations; by `whole_tables` where they have more and
    nothing is published."""

    def require(self, mechanism: MarginalMechanism, published: PublishedSums | None) -> None:
        cells = _cells(mechanism.workload)
        if cells > (CELLS if published is None and not _is_exact(mechanism) else MOST_CELLS):
            require_cells(cells, "the attributes that are asked about")
        if published is not None:
            _published(mechanism.workload, published)

    def made(
        self, mechanism: MarginalMechanism, released: MarginalRelease, published: PublishedSums | None, whole: bool
    ) -> AgreeingTables:
        tables, cells = released.answer_tables(), _cells(mechanism.workload)
        free = published is None and not _is_exact(mechanism)
        if cells > MOST_CELLS or (free and whole and cells > PROVEN_CELLS):
            found = whole_tables(released)
            counts = tuple(table.ravel().astype(np.float64) for table in found.tables.values())
            return AgreeingTables(
                counts, ("",) * len(counts), f"Post-processing: {WORDS.format(records=found.records)}{DETOUR}", True
            )
        errors = np.concatenate([np.asarray(table.standard_errors) for table in tables])
        exact = [*_exact(mechanism, released), *([] if published is None else [_published(mechanism.workload, published)])]
        answers = np.concatenate([table.answers for table in tables])
        sums = margin_rows(mechanism.workload, mechanism.workload.subsets.tuples())
        joined, words = agreed(sums, answers, errors, exact, whole)
        ends = np.cumsum([len(table.answers) for table in tables])[:-1]
        return AgreeingTables(tuple(np.split(joined, ends)), ("",) * len(tables), words, whole)


def margin_rows(workload: MarginalWorkload, subsets: Iterable[tuple[int, ...]]) -> Any:
    """Each cell of some tables as a sum of the cells over all attributes that are asked about, (K, N), sparse."""
    from scipy.sparse import csr_array, vstack

    shape = workload.shape(workload.used)
    places = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.intp)
    cells = np.arange(places.shape[1])
    parts = [csr_array((0, len(cells)))]
    for subset in subsets:
        own = [workload.used.index(axis) for axis in subset]
        size = math.prod(shape[k] for k in own)
        row = np.ravel_multi_index(tuple(places[own]), tuple(shape[k] for k in own)) if own else np.zeros_like(cells)
        parts.append(csr_array((np.ones(len(cells)), (row, cells)), shape=(size, len(cells))))
    return vstack(parts)


def _exact(mechanism: MarginalMechanism, released: MarginalRelease) -> list[tuple[Any, Floats]]:
    """The tables that no noise enters, asked for or not: other tables tell them as their margins."""
    tables = exact_tables(mechanism, released)
    values = [np.rint(table).ravel() for table in tables.values()]
    return [(margin_rows(mechanism.workload, tables), np.concatenate([np.zeros(0), *values]))]


def _is_exact(mechanism: MarginalMechanism) -> bool:
    return bool(np.isinf(mechanism.precisions).any())


def _cells(workload: MarginalWorkload) -> int:
    return math.prod(workload.shape(workload.used))


def _published(workload: MarginalWorkload, published: PublishedSums) -> tuple[Any, Floats]:
    """Published sums over the cells of all attributes that are asked about."""
    domain = workload.domain
    keys = list(product(*(domain.values[axis] for axis in workload.used)))
    return published.matched(workload.names(workload.used), keys)
