"""Agreeing tables of structured workloads whose domain is small enough to count every combination.

Releases of structured workloads as files: noisy products of whole numbers, from which anybody puts answers together.

What releases cost together: budgets add, or their squares do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.published_margins import PublishedSums
from designer.base.schema import NAMES, list_of, noted, number, or_null, record, text
from designer.certificate.agreement import (
    RESTORE,
    AgreeingTables,
    Agreement,
    ReleaseForm,
    ReleaseKeys,
    agreed,
    require_cells,
    whole_table,
)
from designer.domains.mechanism import DomainMechanism
from designer.domains.products import StructuredMechanism
from designer.domains.products_noise import share_spent
from designer.domains.products_release import StructuredRelease
from designer.mechanism.composition import Composition, Protected, cost_of_falloff
from designer.problem.domain import Domain
from designer.relations.metrics.presence import Presence
from designer.tradeoff.costs import Cost


class StructuredForm(ReleaseForm[StructuredMechanism, StructuredRelease]):
    """The noisy products by the names of their attributes, with the standard error of each of their numbers."""

    schema: ClassVar[ReleaseKeys] = {
        "categories": noted("The values of each attribute, in order.", {"type": "object", "additionalProperties": NAMES}),
        "answers": noted(
            "Every answer by the name of its query, where they are few; null elsewhere.",
            or_null(list_of(record({"query": text(), "answer": number(), "standard_error": number(least=0)}))),
        ),
        "blocks": list_of(
            record(
                {
                    "attributes": list_of(text(), least=0),
                    "values": noted("Nested lists of whole numbers.", {"type": ["array", "integer"]}),
                    "standard_error": number(least=0),
                }
            )
        ),
    }
    checked = (
        "Every noisy product is a table of whole numbers of the shape that the mechanism measures.",
        "Every standard error is the one of the noise of its product; listed answers are those that follow from the products.",
    )

    def content(self, mechanism: StructuredMechanism, released: StructuredRelease) -> dict[str, Any]:
        domain = mechanism.workload.domain
        stated = released.to_dict()
        blocks = zip(stated["blocks"], mechanism.blocks, strict=True)
        return {
            "answers": stated.get("answers"),
            "categories": {name: list(values) for name, values in zip(domain.attributes, domain.values, strict=True)},
            "blocks": [{**told, "standard_error": math.sqrt(mechanism.variance_of(block))} for told, block in blocks],
        }

    def rebuilt(self, mechanism: StructuredMechanism, content: Mapping[str, Any]) -> StructuredRelease:
        listed = content["blocks"]
        if not isinstance(listed, list) or len(listed) != len(mechanism.blocks):
            raise InvalidSpec(f"blocks: are not the {len(mechanism.blocks)} products that the mechanism measures; {RESTORE}")
        noisy = []
        for k, (entry, block) in enumerate(zip(listed, mechanism.blocks, strict=True)):
            shape = [len(mechanism.matrices[axis][block.parts[axis]].rows) for axis in sorted(block.parts)]
            noisy.append(whole_table(entry.get("values"), shape, f"blocks[{k}].values"))
        return mechanism._release_of(noisy)


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
        return AgreeingTables.joined(joined, tables, words, whole)

    def require_unbiased(self, mechanism: StructuredMechanism, whole: bool) -> None:
        if isinstance(mechanism.serves, tuple) and len({*mechanism.serves}) > 1:
            raise InvalidProblem(
                "--consistent unbiased: these terms are measured one by one, so their answers do not agree, and their least "
                "squares are not implemented; use --consistent integer."
            )
        super().require_unbiased(mechanism, whole)


def _published(mechanism: StructuredMechanism, published: PublishedSums) -> tuple[Any, Floats]:
    keys = mechanism.workload.domain.keys
    return published.matched(keys.columns, keys.rows)


class DomainComposition(Composition[DomainMechanism[Any, Any]]):
    """By the noise."""

    def protected(self, made: DomainMechanism[Any, Any]) -> Protected:
        return made.protection

    def counted(self, made: DomainMechanism[Any, Any]) -> Domain:
        domain: Domain = made.workload.domain
        return domain

    def of_budget(self, made: DomainMechanism[Any, Any], budget: Fraction) -> Cost:
        return cost_of_falloff(made, made.law, budget, _product_fineness(made))

    def noise_of_laplace(self, made: DomainMechanism[Any, Any]) -> Iterable[tuple[Fraction, int | None]]:
        """A record moves no coordinate of a product by more than the product of the largest entries, or twice that."""
        if not isinstance(made, StructuredMechanism) or made.noise != "laplace":
            return
        each = 1 if isinstance(made.protection, Presence) else 2
        for block in made.blocks:
            entries = (int(np.abs(made.matrices[axis][place].rows).max()) for axis, place in block.parts.items())
            yield Fraction(block.strength), each * math.prod(entries)


def _product_fineness(made: DomainMechanism[Any, Any]) -> tuple[float, int] | None:
    """The largest strength of what protected changes move, and how many numbers that are; None of noise that is not independent
    in whole numbers."""
    if not isinstance(made, StructuredMechanism) or made.noise != "gaussian":
        return None
    spent = [sum(share_spent(change, made.noise, made.matrices, [block]) for change in made.changes) for block in made.blocks]
    moved = [block for block, share in zip(made.blocks, spent, strict=True) if share]
    sizes = [math.prod(len(made.matrices[axis][place].rows) for axis, place in block.parts.items()) for block in moved]
    return (max(block.strength for block in moved), sum(sizes)) if moved else None
