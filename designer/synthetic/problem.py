"""The problem of a synthetic histogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from designer.relations.problem import Problem

if TYPE_CHECKING:
    from designer.problem.relation import Relation
    from designer.problem.workload import Workload


@dataclass(frozen=True, eq=False)
class SyntheticProblem:
    """Linear queries that a synthetic histogram is to answer, with exactly as many records as there are, a public number.

    Raises `InvalidProblem` as `Problem` does. Source: docs/theory/synthetic.md.

    workload: the queries to answer. relation: over its elements. records: n, the number of records.

    >>> from designer import Workload, design, metrics
    >>> asked = Workload([[0, 1, 3], [2, 0, 2]])
    >>> design(SyntheticProblem(asked, metrics.euclidean([[0.0], [1.0], [2.5]]), records=60), "mwem", rounds=2).privacy.holds
    True
    """

    workload: Workload
    relation: Relation
    records: int
    notion: ClassVar[str] = "pure"
    loss: ClassVar[str] = "largest error"
    loss_words: ClassVar[str] = "error that no answer exceeds with probability 95 %"
    families: ClassVar[tuple[str, ...]] = ("mwem", "small_db")

    def __post_init__(self) -> None:
        _ = self.linear

    @property
    def linear(self) -> Problem:
        """The same queries as a problem of additive noise."""
        from designer.relations.problem import Problem

        return Problem(self.workload, self.relation, records=self.records)
