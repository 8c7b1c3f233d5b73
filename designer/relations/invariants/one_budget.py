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
from designer.base.progress import announce, track
from designer.base.schema import COUNT, POSITIVE, exactly, of_kind
from designer.certificate.change_norms import ByLength, Longest
from designer.certificate.implicit_changes import UnlistedSet
from designer.certificate.norms import NormOrder as Order
from designer.limits import LARGEST_SEARCHED_RANK, MOST_BOUNDED_CELLS, MOST_SEARCHED_MULTISETS
from designer.problem.relation import Block, Indices, Read, rectangles
from designer.relations.invariants.changes import ChangeRelation, change_words, most_changes, points_of_change, sums_are_exact
from designer.relations.invariants.known import (
    Booleans,
    Change,
    Exchanges,
    KnownChanges,
    Lengths,
    known_changes,
    longest_of,
    squares_of_two,
)
from designer.relations.invariants.statistics import Integers, Statistics, partitions_of
from solvers.exact.rational import integer_rank
from solvers.lattices.enumeration import multiset_count, short_vectors
from solvers.limited import linear_program
from solvers.limits import MOST_MULTISETS
from solvers.work import spend

# Bounds for the changes of statistics of no known kind, where a list would be too long: by counting classes, or by a linear
# program for each cell whose dual proves the bound in whole numbers (docs/theory/invariants.md, 11.7).


FINE = 2**30  # multipliers are rounded to multiples of 1 / FINE, and then proven as they are


@dataclass(frozen=True, eq=False)
class Bounded(KnownChanges):
    """Changes of any statistics, (p, N), whose lengths are bounded, and of which one was found."""

    constraints: Integers
    lengths: Lengths

    def unmoved(self, rows: Floats) -> Booleans:
        """Rows, (R, N), that are combinations of the constraints; others count as moved."""
        return in_row_space(self.constraints, rows)

    def count_at_least(self) -> int:
        return len(self.lengths.changes[:1])


def in_row_space(constraints: Integers, rows: Floats) -> Booleans:
    """Which rows, (R, N), of whole numbers are combinations of the constraints, (p, N), by exact ranks; False for others."""
    listed = {row.tobytes() for row in constraints}
    whole = (rows == np.rint(rows)).all(axis=1) & (np.abs(rows) < 2**31).all(axis=1)
    found = whole & np.array(
        [row.tobytes() in listed for row in np.where(whole[:, None], rows, 0.0).astype(np.int64)], dtype=bool
    )
    kept = constraints.astype(np.float64)
    shares = np.linalg.lstsq(kept.T, rows.T, rcond=None)[0]
    off = np.abs(rows.T - kept.T @ shares).max(axis=0)
    near = whole & ~found & (off <= 1e-9 * np.abs(rows).max(axis=1))
    if near.any():
        both = np.vstack([constraints, rows[near].astype(np.int64)]).tolist()
        found |= near & (integer_rank(both) == integer_rank(constraints.tolist()))
    return np.asarray(found)


def require_boundable(statistics: Statistics, adjacency: int) -> None:
    """`DesignFailed` with what it would cost, where the programs would take too long."""
    if partitions_of(statistics.sums) is None and statistics.size > MOST_BOUNDED_CELLS:
        listed = multiset_count(statistics.size, 2 * adjacency, True)
        raise DesignFailed(
            f"relation: the statistics are of no kind whose changes are known in closed form (totals, classes, nested sums, "
            f"margins of disjoint features, sums along lines); a list would compare {listed:.2g} multisets of {adjacency} "
            f"records (up to {MOST_MULTISETS:.0g} are), and bounds take a linear program for each of the {statistics.size} "
            f"elements (up to {MOST_BOUNDED_CELLS}); lower the adjacency, merge elements, or protect every distance "
            "(per_distance)."
        )


def bounded_changes(statistics: Statistics, adjacency: int) -> Bounded:
    """The changes of at most `adjacency` replaced records, bounded; `DesignFailed` where none is found."""
    constraints = statistics.constraints
    classes = partitions_of(statistics.sums)
    changes = _some_changes(constraints, adjacency)
    if classes is not None and len(np.unique(np.array(classes), axis=1).T) == statistics.size:
        largest = adjacency * (len(classes) - 1) // len(classes)
        bounds = (2 * adjacency, squares_of_two(adjacency, largest), largest)
        return Bounded(constraints, longest_of(bounds, changes, f"changes under {len(classes)} crossed partitions"))
    largest = min(adjacency, _largest_entry(constraints, adjacency))
    bounds = (2 * adjacency, min(2 * adjacency**2, 2 * adjacency * largest), largest)
    return Bounded(constraints, longest_of(bounds, changes, "changes, by a dual of a linear program for each cell"))


def _some_changes(constraints: Integers, adjacency: int) -> list[dict[int, int]]:
    """Multiples of the changes of as few records as have any."""
    size = constraints.shape[1]
    for records in range(1, adjacency + 1):
        if multiset_count(size, 2 * records, True) > MOST_SEARCHED_MULTISETS:
            break
        vectors = short_vectors(constraints, 2 * records, limit=MOST_SEARCHED_MULTISETS).vectors
        if len(vectors):
            times = adjacency // records
            longest = vectors[[int(np.argmax(np.abs(vectors).sum(axis=1))), int(np.argmax((vectors**2).sum(axis=1)))]]
            return [{int(i): times * int(v[i]) for i in np.flatnonzero(v)} for v in longest]
    raise DesignFailed(
        f"relation: no change of few records that keeps the statistics was found among {size} elements, so nothing may be left "
        "to protect; lower the number of statistics, or merge elements."
    )


def _largest_entry(constraints: Integers, adjacency: int) -> int:
    """A bound for every entry of every change: `|v_i| = |(e_i - A'y) v| <= 2a max |e_i - A'y|` for any y, rounded down.

    The y of a linear program is rounded to whole multiples of 1 / FINE; what is then evaluated are whole numbers.
    """
    columns, counts = np.unique(constraints, axis=1, return_counts=True)
    if (counts > 1).any():
        return adjacency
    largest = 0
    for cell in track(range(columns.shape[1]), "bounding cells"):
        rest = _rest(columns, cell)
        largest = max(largest, 2 * adjacency * rest // FINE)
    return largest


def _rest(columns: Integers, cell: int) -> int:
    """FINE times `max |e_i - A'y|`, exactly, for the y that a solver proposes."""
    proposed = np.rint(FINE * _multipliers(columns, cell)).tolist()
    rest = [0] * columns.shape[1]
    for y, row in zip(proposed, columns.tolist(), strict=True):
        if y:
            rest = [r - int(y) * a for r, a in zip(rest, row, strict=True)]
    rest[cell] += FINE
    return max(map(abs, rest))


def _multipliers(columns: Integers, cell: int) -> Floats:
    """The y of least `max |e_i - A'y|`, as a solver sees it; 0 where it fails."""
    rows, size = columns.shape
    matrix, one = columns.T.astype(np.float64), np.ones((size, 1))
    target = np.zeros(size)
    target[cell] = 1.0
    bounded = np.vstack([np.hstack([-matrix, -one]), np.hstack([matrix, -one])])
    cost = np.append(np.zeros(rows), 1.0)
    limits = [(None, None)] * rows + [(0, None)]
    spend(calls=60, entries=30.0 * bounded.size)
    found = linear_program(cost, A_ub=bounded, b_ub=np.concatenate([-target, target]), bounds=limits)
    return np.asarray(found.x[:rows]) if found.status == 0 and found.x is not None else np.zeros(rows)


SLOW_SEARCH = 100  # elements among which a search takes seconds
FEW = 2000  # changes that are listed and looked at one by one in a few milliseconds


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
        if multiset_count(self.size, self._radius, True) > MOST_MULTISETS and self.size > SLOW_SEARCH:
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
            rank = f"on a lattice of rank {self.invariant.freedom:,}; the limit is {LARGEST_SEARCHED_RANK}"
            return f" (of {self.size:,} elements, {rank})"
        return f" (of {self.size:,} elements; the limit is {most:,})"

    @property
    def _beyond_a_search(self) -> bool:
        """Whether a list would be searched for in a reduced basis of a large rank, which takes minutes and ends without one."""
        many = multiset_count(self.size, self._radius, True) > MOST_MULTISETS
        return many and self.invariant.freedom > LARGEST_SEARCHED_RANK

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

    def largest_exact_budget(self) -> Fraction:
        return Fraction(self.epsilon) * (not self.is_vacuous())

    def sentence(self) -> str:
        return f"{self._moved()} are protected from each other with budget {self.epsilon!r} (Semi-DP)."

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> InvariantChanges:
        return cls(
            Statistics.from_spec(spec["invariant"]),
            count(spec["adjacency"], "adjacency"),
            positive(spec["epsilon"], "epsilon"),
            "by_length" in spec,
        )
