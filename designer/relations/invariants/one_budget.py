"""Semi-DP: one budget for every change of at most a records that keeps published statistics (SEMI Definition 12).

Few changes are written out; where they are too many, what is known of their lengths takes the place of the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import count, positive
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.base.schema import COUNT, POSITIVE, exactly, of_kind
from designer.certified.by_length import ByLength, Longest
from designer.certified.norms import NormOrder as Order
from designer.certified.unlisted import UnlistedSet
from designer.problem.relation import Block, Indices, Read, rectangles
from designer.relations.invariants.bounded import bounded_changes, require_boundable
from designer.relations.invariants.changes import ChangeRelation, change_words, most_changes, points_of_change, sums_are_exact
from designer.relations.invariants.known import Booleans, Exchanges, KnownChanges, known_changes
from designer.relations.invariants.lengths import Change
from designer.relations.invariants.statistics import Statistics
from solvers.lattices.colliding import MULTISETS, multiset_count

SLOW_SEARCH = 100  # elements among which a search takes seconds
FEW = 2000  # changes that are listed and looked at one by one in a few milliseconds
LARGEST_SEARCH = 200  # rank of the lattice whose short vectors are searched for


@dataclass(frozen=True, eq=False)
class InvariantChanges(ChangeRelation, ByLength):
    """One budget for every change of at most `adjacency` records that keeps the statistics: (D_t, A_a,
    f)-DP of SEMI Definition 12.

    by_length: what is known of the lengths of the changes takes the place of their list, however short that is.
    """

    invariant: Statistics
    adjacency: int
    epsilon: float
    by_length: bool = False
    kind = "invariant"
    schema = of_kind(
        "relation",
        kind,
        {"invariant": Statistics.schema, "adjacency": COUNT, "epsilon": POSITIVE},
        "Changes of at most `adjacency` records that keep the statistics, with one budget. by_length: they are known by their "
        "lengths, and no list of them is made.",
        {"by_length": exactly(True)},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by_length and self.known is None:
            raise InvalidProblem(
                "relation.by_length: the lengths of the changes that these statistics leave are not known in closed form; "
                "leave it out, and their list is made."
            )

    @cached_property
    def known(self) -> KnownChanges | None:
        """What is known of the changes without a list; None where the statistics are of no known kind."""
        return known_changes(self.invariant, self.adjacency) if self.invariant.records_public else None

    @cached_property
    def listed(self) -> bool:
        """Whether the changes are written out: where they are few enough, or nothing else is known of them."""
        if self.by_length:
            return False
        if self.known is None:
            return self._found_or_boundable()
        if self.known.count_at_least() > most_changes(self.size) or self._beyond_a_search:
            return False
        try:
            return bool(len(self.changes) >= 0)
        except DesignFailed:
            return False

    def _found_or_boundable(self) -> bool:
        """Whether a list is there, of statistics of no known kind; `DesignFailed` where bounds cannot take its place either."""
        if multiset_count(self.size, self._radius, True) > MULTISETS and self.size > SLOW_SEARCH:
            announce(f"looking for a list of the changes of {self.adjacency} records of {self.size} elements")
        try:
            return bool(len(self.changes) >= 0)
        except DesignFailed:
            if not self.invariant.records_public:
                raise
            require_boundable(self.invariant, self.adjacency)
            return False

    @property
    def how_many(self) -> str:
        if self.listed or self.known is None or self.by_length:
            return ""
        count, most = self.known.count_at_least(), most_changes(self.size)
        if count > most:
            return f" (at least {count:,} of {self.size:,} elements; the limit is {most:,})"
        if self._beyond_a_search:
            return (
                f" (of {self.size:,} elements, on a lattice of rank {self.invariant.freedom:,}; the limit is {LARGEST_SEARCH})"
            )
        return f" (of {self.size:,} elements; the limit is {most:,})"

    @property
    def _beyond_a_search(self) -> bool:
        """Whether a list would be searched for in a reduced basis of a large rank, which takes minutes and ends without one."""
        many = multiset_count(self.size, self._radius, True) > MULTISETS
        return many and self.invariant.freedom > LARGEST_SEARCH

    @property
    def exchanges(self) -> bool:
        return isinstance(self.known, Exchanges)

    @property
    def budget(self) -> Fraction:
        return Fraction(self.epsilon)

    def longest(self, weights: Floats, order: Order) -> Longest:
        return self.without_list.longest(weights, order)

    def needs_no_list(self, weights: Floats, order: Order) -> bool:
        if self.known is None or self.known.count_at_least() <= FEW:
            return False
        longest = self.known.longest(weights, order)
        return longest.reached == longest.bound

    def set_of(self, matrix: Floats) -> UnlistedSet:
        return UnlistedSet(self, matrix)

    @property
    def separates(self) -> bool:
        return self.without_list.separates

    def long_changes(self, weights: Floats, order: Order, limit: int) -> list[Change]:
        return self.without_list.long_changes(weights, order, limit)

    def unmoved(self, rows: Floats) -> Booleans:
        return self.without_list.unmoved(rows)

    def kept(self) -> Floats:
        return self.invariant.constraints.astype(np.float64)

    @cached_property
    def without_list(self) -> KnownChanges:
        """What takes the place of the list: closed forms, or bounds for statistics of no known kind."""
        return self.known or bounded_changes(self.invariant, self.adjacency)

    @property
    def budgets(self) -> Floats:
        return np.full(len(self.changes) if self.listed else 1, self.epsilon)

    def is_vacuous(self) -> bool:
        if self.known is not None:
            return self.known.vacuous
        return not self._exchanges and (not len(self.changes) if self.listed else self.without_list.vacuous)

    def points(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Those of the list; of exchanges, `columns`, (N, R), times the number of records; of other changes, one."""
        if self.listed:
            return super().points(columns)
        if self.exchanges:
            return self.adjacency * columns
        return points_of_change(self.without_list.some_change, columns)

    def blocks(self) -> Iterator[Block]:
        """All changes of the list; of exchanges, the pairs of elements; of other changes one, which has the budget of all."""
        if self.listed:
            yield from super().blocks()
        elif isinstance(self.known, Exchanges):
            for here in self.known.blocks:
                for rows, columns in rectangles(len(here)):
                    left, right = here[rows], here[columns]
                    yield Block(left, right, np.full((len(left), len(right)), self.epsilon))
        else:
            yield Block(np.array([0]), np.array([1]), np.array([self.epsilon]))

    def every_pair(self) -> Iterator[Block]:
        """Those of `blocks` where they are all that counts: fewer records between the same elements move answers less."""
        if not (self.listed or self.exchanges):
            raise InvalidProblem(
                "relation: the invariant leaves too many changes to be written out, and (b, delta) is proven change by change; "
                "use the notion 'pure' or 'zcdp', or lower the adjacency."
            )
        return self.blocks()

    def components(self) -> Indices:
        if self.listed:
            return super().components()
        return self.known.classes if isinstance(self.known, Exchanges) else np.zeros(2, dtype=np.intp)

    def exact_on(self, columns: NDArray[Any]) -> bool:
        return super().exact_on(columns) if self.listed else sums_are_exact(columns, 2 * self.adjacency)

    @property
    def all_protected(self) -> bool:
        return True

    def largest_budget(self) -> float:
        return self.epsilon * (not self.is_vacuous())

    @property
    def spans_kernel(self) -> bool:
        if self.known is not None and self.known.spans:
            return True
        return self.listed_spans if self.listed else self.without_list.spans

    def public_rows(self) -> Floats:
        return super().public_rows() if self.listed else self.kept()

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        if not self.listed and self.components()[left] != self.components()[right]:
            return None
        return Fraction(self.epsilon) * (left != right)

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        if self.listed:
            return super().pair_words(left, right, elements)
        if self.exchanges:
            return change_words(((left, self.adjacency), (right, -self.adjacency)), elements)
        return change_words(self.without_list.some_change, elements)

    def change_words(self, change: Change, elements: Sequence[str]) -> str:
        return change_words(change, elements)

    def largest_exact_budget(self) -> Fraction:
        return Fraction(self.epsilon) * (not self.is_vacuous())

    def sentence(self) -> str:
        return f"{self._moved()} are protected from each other with budget {self.epsilon!r} (Semi-DP)."

    def to_spec(self) -> dict[str, Any]:
        spec = {"kind": self.kind, "invariant": self.invariant.to_spec(), "adjacency": self.adjacency, "epsilon": self.epsilon}
        return spec | ({"by_length": True} if self.by_length else {})

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> InvariantChanges:
        return cls(
            Statistics.from_spec(spec["invariant"]),
            count(spec["adjacency"], "adjacency"),
            positive(spec["epsilon"], "epsilon"),
            "by_length" in spec,
        )
