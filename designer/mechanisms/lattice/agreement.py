"""Agreeing tables of noise that keeps an invariant: the released table is whole and keeps it; what is below 0 is moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.mechanisms.additive.agreement import published_rows, unchanging_rows
from designer.certified.agreement import AgreeingTables, Agreement, agreed, require_cells
from designer.mechanisms.lattice.mechanism import LatticeMechanism
from designer.mechanisms.lattice.release import LatticeRelease
from designer.base.published import PublishedSums

AS_RELEASED = (
    "Post-processing: none was needed. The released table is whole, nonnegative and keeps the published statistics, so that "
    "its answers agree."
)


class TableAgreement(Agreement[LatticeMechanism, LatticeRelease]):
    """The nonnegative table with the same statistics that is nearest to the released one."""

    def require(self, mechanism: LatticeMechanism, published: PublishedSums | None) -> None:
        require_cells(mechanism.workload.shape[1], "the elements of the workload")
        if published is not None:
            published_rows(mechanism, published)

    def made(
        self, mechanism: LatticeMechanism, released: LatticeRelease, published: PublishedSums | None, whole: bool
    ) -> AgreeingTables:
        table = np.array(released.table, dtype=np.float64)
        sums = mechanism.relation.invariant.sums
        exact: list[tuple[Any, Any]] = [(sums, sums @ table), *unchanging_rows(mechanism)]
        exact += [] if published is None else [published_rows(mechanism, published)]
        kept = (table >= 0).all() and all(np.array_equal(rows @ table, values) for rows, values in exact)
        counts, words = (table, AS_RELEASED) if kept else agreed(np.eye(len(table)), table, None, exact, whole=True)
        return AgreeingTables((np.asarray(mechanism.workload.matrix @ counts),), ("",), words, True)
