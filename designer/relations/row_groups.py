"""Records that hold one value in each of several groups, and may change in all of them at once: budgets add up over the groups.

The universe of such records is a product, but answers that are sums over the groups see only the counts of each group's values.
So the elements here are the values of all groups side by side,
their number is a sum instead of a product (docs/theory/statistical.md, 2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.arrays import frozen
from designer.base.checks import assign, names, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import NAMES, of_kind
from designer.problem.relation import Block, Indices, Read, Relation
from designer.relations.metrics.metric import METRICS, Metric
from solvers.exact.rational import last_float_above


def moved_by(start: int, block: Block) -> Block:
    """A block of pairs whose elements are numbered from `start`."""
    return Block(block.left + start, block.right + start, block.budgets)


@dataclass(frozen=True, eq=False)
class RowGroups(Relation):
    """A record is counted once in every group; it may change from `u` to `v` with budget `sum_g d_g(u_g, v_g)`.

    parts: the metrics d_g. names: what the groups are called. Pairs of elements are changes within one group; by the triangle
    inequality of every norm they imply the changes in several groups,
    whose differences are sums and whose budgets are the sums of the budgets.
    """

    parts: tuple[Metric, ...]
    names: tuple[str, ...]
    kind = "row_groups"
    schema = of_kind(
        "relation",
        kind,
        {"names": NAMES, "parts": METRICS},
        "A record has one value in each group; budgets add up over the groups.",
    )
    single_records = False

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple) or not self.parts or not all(isinstance(part, Metric) for part in self.parts):
            raise InvalidProblem(
                f"row_groups.parts: {shown(self.parts)} must be metrics, one for each group, at least one.", value=self.parts
            )
        for part in self.parts:
            part.require_symmetric("row_groups.parts")
        if not isinstance(self.names, (tuple, list)):
            raise InvalidProblem(
                f"row_groups.names: {shown(self.names)} is not a list of names; give one for each group.", value=self.names
            )
        assign(self, names=names(self.names, len(self.parts), "row_groups.names", "g"))
        assign(self, budget_error=max(part.budget_error for part in self.parts))

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> Indices:
        """The first element of each group, and the number of elements at the end."""
        return frozen(np.cumsum([0, *(part.size for part in self.parts)], dtype=np.intp))

    def blocks(self) -> Iterator[Block]:
        for part, start in zip(self.parts, self.starts, strict=False):
            yield from (moved_by(start, block) for block in part.blocks())

    def drawn_pairs(self, *, implied: bool) -> Iterator[Block]:
        """The changes of one group, each in its place."""
        for part, start in zip(self.parts, self.starts, strict=False):
            yield from (moved_by(start, block) for block in part.drawn_pairs(implied=implied))

    def every_pair(self) -> Iterator[Block]:
        raise InvalidProblem(
            "relation: 'row_groups' lists the changes of one group, and (b, delta) has to hold for changes in several at once "
            "too; make one element of each combination of values, with a metric on those (metrics.product), or use the notion "
            "'pure' or 'zcdp'."
        )

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        group, other = (int(np.searchsorted(self.starts, i, side="right")) - 1 for i in (left, right))
        start = int(self.starts[group])
        return self.parts[group].exact_budget(left - start, right - start) if group == other else None

    def components(self) -> Indices:
        labels = [part.components() for part in self.parts]
        before = np.cumsum([0, *(label.max() + 1 for label in labels)])
        return np.concatenate([label + first for label, first in zip(labels, before, strict=False)])

    def entity_budget(self, rows: int) -> Fraction:
        """The sum over the groups."""
        return sum((part.entity_budget(rows) for part in self.parts if part.size > 1), Fraction(0))

    def largest_budget(self) -> float:
        return last_float_above(sum((Fraction(part.largest_budget()) for part in self.parts), Fraction(0)))

    def unprotected(self) -> tuple[str, ...]:
        apart = "Changes between different connected components of a group are not protected."
        return ("The number of records is public.", *([apart] if any(part.components().any() for part in self.parts) else []))

    def facts(self) -> dict[str, float | int | None]:
        """Connected components of the records: one component is chosen in every group."""
        return {"connected_components": math.prod(int(part.components().max()) + 1 for part in self.parts)}

    def sentence(self) -> str:
        listed = "; ".join(
            f"{name} ({part.sentence().removesuffix('.')})" for name, part in zip(self.names, self.parts, strict=True)
        )
        return (
            f"A record has one value in each of {len(self.parts)} groups and may change in all of them; the budget is the "
            f"sum over the changed groups of: {listed}."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> RowGroups:
        return cls(tuple(read(part) for part in spec["parts"]), tuple(spec["names"]))  # type: ignore[misc]
