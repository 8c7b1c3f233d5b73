"""Agreeing tables of noise that keeps an invariant: the released table is whole and keeps it; what is below 0 is moved.

Releases of tables that keep published statistics as files: the table is made of whole numbers, and all else follows.

What releases cost together: budgets add, and what a chain draws is not proven to.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec
from designer.base.published_margins import PublishedSums
from designer.base.schema import noted, or_null, whole
from designer.certificate.agreement import (
    BY_NAME,
    RESTORE,
    AgreeingTables,
    Agreement,
    ReleaseForm,
    ReleaseKeys,
    agreed,
    as_entry,
    named_whole_numbers,
    require_cells,
)
from designer.lattice.loss_law import law_of_loss
from designer.lattice.mechanism import LatticeMechanism, LatticeRelease
from designer.mechanism.composition import CompositionOfCounts, cost_of_falloff
from designer.mechanism.spec import known_statistics, published_rows, unchanging_rows
from designer.tradeoff.costs import Cost
from designer.tradeoff.functions import Tradeoff


class LatticeForm(ReleaseForm[LatticeMechanism, LatticeRelease]):
    """A table by the names of its elements, and the answers from it."""

    schema: ClassVar[ReleaseKeys] = {
        "answers": BY_NAME,
        "standard_errors": noted("Null where no bound of the noise in an answer is proven.", or_null(BY_NAME)),
        "table": {"type": "object", "additionalProperties": whole()},
    }
    checked = (
        "The table is one of whole numbers with the published statistics that the file states, so it is on the lattice of the "
        "noise around any table with these; elements that no record can have count 0, and no statistic is below what counts "
        "can give.",
        "Every answer, standard error and published statistic is the one that follows from the table.",
    )

    def content(self, mechanism: LatticeMechanism, released: LatticeRelease) -> dict[str, Any]:
        return {
            "answers": dict(zip(released.queries, released.answers.tolist(), strict=True)),
            "standard_errors": _errors(mechanism),
            "table": dict(zip(released.elements, released.table, strict=True)),
        }

    def published(self, mechanism: LatticeMechanism, released: LatticeRelease) -> list[dict[str, Any]]:
        kept = [as_entry(name, _total(row, released.table)) for row, name in known_statistics(mechanism.relation).items()]
        place = {name: k for k, name in enumerate(released.queries)}
        return [*kept, *(as_entry(name, float(released.answers[place[name]])) for name in mechanism.exact)]

    def rebuilt(self, mechanism: LatticeMechanism, content: Mapping[str, Any]) -> LatticeRelease:
        table = named_whole_numbers(content["table"], mechanism.workload.elements, "table")
        invariant = mechanism.relation.invariant
        if any(table[k] for k in mechanism.relation.impossible):
            raise InvalidSpec(f"table: counts an element that no record can have; {RESTORE}")
        if any(min(row) >= 0 > _total(row, table) for row in invariant.sums.tolist()):
            raise InvalidSpec(f"table: some published statistic is below 0, which no counts give; {RESTORE}")
        agreeing = mechanism.relation.agreeing
        if agreeing is not None and any(_total(row, table) for row in agreeing.tolist()):
            raise InvalidSpec(f"table: its parts count different numbers of the same records; {RESTORE}")
        return mechanism._release_of(table)

    def unchecked(self, mechanism: LatticeMechanism) -> tuple[str, ...]:
        return ("Whether the published statistics are those of the data: compare them with what was published elsewhere.",)


def _errors(mechanism: LatticeMechanism) -> dict[str, float] | None:
    """Standard errors by the names of the queries; None where a chain, or a norm, has no proven bound."""
    try:
        return dict(zip(mechanism.workload.queries, mechanism.standard_errors().tolist(), strict=True))
    except DesignFailed:
        return None


def _total(row: Any, table: Any) -> int:
    """`row table`, exact."""
    return sum(int(a) * int(x) for a, x in zip(row, table, strict=True) if a)


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
        answers = np.asarray(mechanism.workload.matrix @ counts)
        return AgreeingTables.joined(answers, released.answer_tables(), words, True)


class LatticeComposition(CompositionOfCounts[LatticeMechanism]):
    """By the fall-off of the noise."""

    def of_budget(self, made: LatticeMechanism, budget: Fraction) -> Cost:
        return cost_of_falloff(made, made.falloff, budget)

    def shapes_of_all(self, made: LatticeMechanism, budget: Fraction) -> tuple[Tradeoff, ...]:
        law = law_of_loss(made)
        return () if law is None else (law,)

    def require_proven(self, made: LatticeMechanism) -> None:
        if made.chain is not None:
            raise InvalidProblem(
                "mechanism: draws from a Markov chain, whose distance from its law is an estimate and not a proof, so it does "
                "not add up with what is proven; ask for exact noise, or add estimates with "
                "designer.lattice.smoothing.composed_smooth."
            )
