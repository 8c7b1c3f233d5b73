"""How large a problem is: what families estimate their work by before they start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from designer.certified.by_length import ByLength
from designer.families.measured import Coordinates, dimension_of, moving_coordinates
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.problem import Problem

SOON = 100  # dimensions in which an ellipsoid is found in seconds


@dataclass(frozen=True, eq=False)
class Sizes:
    """The numbers that decide how long a design takes, each found when it is first asked for.

    queries: K. elements: N. dimension: of the span of all differences of the answers. freedom: of the changes of the histogram.
    pairs: protected changes, about.
    """

    problem: Problem

    @property
    def queries(self) -> int:
        """K, the number of queries."""
        return self.problem.workload.shape[0]

    @property
    def elements(self) -> int:
        """N, the number of elements."""
        return self.problem.workload.shape[1]

    @cached_property
    def coordinates(self) -> Coordinates:
        """Where is measured: see `moving_coordinates`."""
        return moving_coordinates(self.problem)

    @property
    def dimension(self) -> int:
        """Of the noise: how many coordinates the differences of the answers span."""
        if isinstance(self.problem.relation, InvariantDistance):
            return self.freedom
        return dimension_of(self.problem)

    @cached_property
    def freedom(self) -> int:
        """How many dimensions the changes of the histogram span that keep what is public."""
        invariant = getattr(self.problem.relation, "invariant", None)
        return self.elements if invariant is None else int(invariant.freedom)

    @cached_property
    def pairs(self) -> int:
        """How many protected changes there are: those of single records about, others counted."""
        if self.problem.relation.single_records:
            return self.elements * (self.elements + 1) // 2
        return sum(int(block.budgets.size) for block in self.problem.relation.blocks())

    @property
    def serving(self) -> str:
        """The families that a refusal by size names, none of which is refused by size here; `SOON` counts what bounds the
        dimension and is known at once."""
        relation = self.problem.relation
        if isinstance(relation, ByLength) and not relation.listed:
            return "laplace or projected_laplace, for the counts of all elements"
        return "box or laplace" if min(self.queries, self.freedom) > SOON else "ellipsoid, box or laplace"
