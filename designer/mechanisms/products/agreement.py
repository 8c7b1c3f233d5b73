"""Agreeing tables of structured workloads whose domain is small enough to count every combination."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.certified.agreement import AgreeingTables, Agreement, agreed, require_cells
from designer.base.errors import InvalidProblem
from designer.mechanisms.products.mechanism import StructuredMechanism
from designer.mechanisms.products.release import StructuredRelease
from designer.base.arrays import Floats
from designer.base.published import PublishedSums


class ProductAgreement(Agreement[StructuredMechanism, StructuredRelease]):
    """The counts of all combinations of values whose answers are nearest to the released ones."""

    def require(self, mechanism: StructuredMechanism, published: PublishedSums | None) -> None:
        require_cells(mechanism.workload.domain.size, "the attributes of the domain")
        matrix = mechanism.workload.written_out().dense()
        if (matrix != np.rint(matrix)).any():
            raise InvalidProblem(
                "--consistent: the queries have entries that are no whole numbers, so their answers need not be; leave the "
                "option out."
            )
        if published is not None:
            _published(mechanism, published)

    def made(
        self, mechanism: StructuredMechanism, released: StructuredRelease, published: PublishedSums | None, whole: bool
    ) -> AgreeingTables:
        tables = released.answer_tables()
        errors = np.concatenate([np.asarray(table.standard_errors) for table in tables])
        answers = np.concatenate([table.answers for table in tables])
        exact = [] if published is None else [_published(mechanism, published)]
        joined, words = agreed(mechanism.workload.written_out().matrix, answers, errors, exact, whole)
        ends = np.cumsum([len(table.answers) for table in tables])[:-1]
        return AgreeingTables(tuple(np.split(joined, ends)), ("",) * len(tables), words, whole)


def _published(mechanism: StructuredMechanism, published: PublishedSums) -> tuple[Any, Floats]:
    keys = mechanism.workload.domain.keys
    return published.matched(keys.columns, keys.rows)
