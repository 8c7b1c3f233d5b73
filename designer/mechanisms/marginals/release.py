"""What marginals hand out: tables put together from noisy residuals, released with a guarantee or simulated with a stamp.

Why the tables agree: docs/theory/marginals.md, section 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, LawOfAnswers, tables_in_order
from designer.base.arrays import Floats
from designer.base.tabular import Tabular
from designer.certified.guarantee import Guarantee
from designer.mechanisms.marginals.residuals import assemble
from designer.problem.marginals_workload import MarginalWorkload
from designer.relations.rows.row_unit import RowUnit


class Determined(LawOfAnswers, Protocol):
    """What tables are put together by: a workload, the axes of a subset that the residuals determine,
    the variance of its cells."""

    @property
    def workload(self) -> MarginalWorkload: ...
    def axes(self, subset: Sequence[str]) -> tuple[int, ...]: ...
    def variances(self, subset: Sequence[str]) -> Floats: ...
    def is_exact(self, subset: Sequence[str]) -> bool: ...


@dataclass(frozen=True, eq=False)
class Residuals:
    """Tables of a mechanism's subsets from noisy contrasts, `residuals[A]` for every measured subset A.

    The residual of sizes (n_1, ..., n_r) has shape (n_1 - 1, ..., n_r - 1). docs/theory/marginals.md, section 1.
    """

    mechanism: Determined
    residuals: Mapping[tuple[int, ...], NDArray[Any]]

    def table(self, subset: Sequence[str]) -> Floats:
        """The noisy table over a requested subset, or any part of one; axes follow the domain. Unbiased; cells may be negative.

        All tables come from the same residuals, so they agree: summing one over an axis gives the other, up to float rounding.
        A table that no noise enters holds the counts themselves, as whole numbers.
        """
        axes = self.mechanism.axes(subset)
        table = assemble(axes, self.mechanism.workload.shape(axes), lambda part: self.residuals[part].astype(np.float64))
        return np.rint(table) + 0.0 if self.mechanism.is_exact(subset) else table

    def tables(self) -> dict[tuple[str, ...], Floats]:
        """All requested tables."""
        workload = self.mechanism.workload
        return {names: self.table(names) for names in map(workload.names, workload.subsets.tuples())}


@dataclass(frozen=True, eq=False)
class MarginalRelease(Residuals, Tabular):
    """Noisy marginals, with the guarantee they carry and the fingerprint of the mechanism that made them.

    residuals: the noisy integers themselves, from which anyone recomputes the tables in exact arithmetic.
    """

    guarantee: Guarantee
    fingerprint: str
    row: RowUnit | None = field(default=None, kw_only=True)

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """Each requested table, by the columns of its attributes."""
        return tables_in_order(
            [self._answer_table(names, table) for names, table in self.tables().items()], self.mechanism, self
        )

    def display_facts(self) -> Mapping[str, object]:
        """How many tables, and the fingerprint."""
        return {"tables": len(self.mechanism.workload.subsets), **super().display_facts()}

    def _answer_table(self, names: tuple[str, ...], table: Floats) -> AnswerTable:
        domain = self.mechanism.workload.domain
        keys = tuple(product(*(domain.values[domain.axis(name)] for name in names)))
        errors = np.sqrt(self.mechanism.variances(names)).ravel()
        called = " x ".join(names) or "total"
        return AnswerTable(called, names or ("query",), keys if names else (("total",),), table.ravel(), errors)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: tables by the names of their attributes, the variance of their cells, the guarantee, the fingerprint."""
        return {
            "tables": [
                {"attributes": list(names), "counts": table.tolist(), "variances": self.mechanism.variances(names).tolist()}
                for names, table in self.tables().items()
            ],
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class SimulatedTables(Residuals):
    """Tables of noise alone, with a `stamp` that says that they are not private."""

    stamp: str
