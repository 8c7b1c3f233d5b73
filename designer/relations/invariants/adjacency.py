"""How many records must change with one record when invariants are published: the semi-adjacent parameter a(t)
(SEMI Definition 13).

`a(t) = sup over i, x, y of inf { d(X, Y) : X, Y conform to t, X_i = x, Y_i = y }`, d the Hamming distance, x and y values that
record i can have. Read literally the infimum is over X and Y ("literal"); SEMI Example 5 takes the worst X and the best Y
("worst_case"), and only that lets every database pretend about every record. SEMI Theorem 16 bounds it ("bound"). The
conservative readings are the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from designer.base.errors import InvalidProblem
from designer.relations.invariants.impossible import proven_adjacency
from designer.relations.invariants.invariant import Invariant
from designer.relations.invariants.statistics import Integers
from designer.base.checks import shown
from solvers.lattices.conforming_tables import Fibre, most_moves

Reading = Literal["literal", "worst_case", "bound"]
TABLES = 2_000  # each is compared with every other for every pair of values: some seconds


@dataclass(frozen=True)
class SemiAdjacency:
    """a(t), how Definition 13 was read, and how the number was found."""

    value: int
    reading: Reading
    method: str


@dataclass(frozen=True)
class Conforming:
    """Databases of equal length that share one value of an invariant, D_t, written out;
    adjacency is Hamming distance (SEMI section 3)."""

    databases: tuple[tuple[Hashable, ...], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.databases, tuple) or not all(isinstance(database, tuple) for database in self.databases):
            raise InvalidProblem(
                "databases: must be a tuple of tuples, a value for each record; make them with `Conforming.of`."
            )
        if not self.databases:
            raise InvalidProblem("databases: none conforms to the invariant; check the value of t.")
        if len({len(database) for database in self.databases}) != 1:
            raise InvalidProblem("databases: have different numbers of records; Hamming distance needs one number.")

    @classmethod
    def of(
        cls, space: Iterable[Sequence[Hashable]], statistic: Callable[[tuple[Any, ...]], object], value: object
    ) -> Conforming:
        """D_t = {X in space : statistic(X) = value}.

        >>> three = Conforming.of(product((0, 1), repeat=3), sum, 2)
        >>> three.databases, three.semi_adjacency().value
        (((0, 1, 1), (1, 0, 1), (1, 1, 0)), 2)
        """
        if not isinstance(space, Iterable) or not callable(statistic):
            raise InvalidProblem(
                "space, statistic: give databases, tuples with a value for each record, and a function of one."
            )
        return cls(tuple(sorted((tuple(X) for X in space if statistic(tuple(X)) == value), key=repr)))

    def distance(self, one: int, other: int) -> int:
        """Number of records in which two of the databases differ."""
        return sum(x != y for x, y in zip(self.databases[one], self.databases[other], strict=True))

    def values(self, record: int) -> tuple[Hashable, ...]:
        """D_t^i: the values that record i has in some conforming database."""
        return tuple(sorted({database[record] for database in self.databases}, key=repr))

    def semi_adjacency(self, reading: Reading = "worst_case") -> SemiAdjacency:
        """a(t) by enumeration; 0 where a single database conforms: then nothing is left to protect."""
        if reading not in ("literal", "worst_case"):
            raise InvalidProblem(f"reading: {shown(reading)}; enumeration reads Definition 13 as 'literal' or 'worst_case'.")
        outer = min if reading == "literal" else max
        largest = 0
        for i in range(len(self.databases[0])):
            for x, y in product(self.values(i), repeat=2):
                before = [k for k, X in enumerate(self.databases) if X[i] == x]
                after = [k for k, Y in enumerate(self.databases) if Y[i] == y]
                largest = max(largest, outer(min(self.distance(k, m) for m in after) for k in before))
        return SemiAdjacency(largest, reading, f"enumeration of {len(self.databases)} databases")

    def least_distance(self) -> int | None:
        """a_min of SEMI Remark 14: the least distance of two different conforming databases;
        some may have no neighbour that near."""
        return min(filter(None, self._nearest()), default=None)

    def largest_least_distance(self) -> int | None:
        """a_maxmin of SEMI Remark 14: every database has another at most this far; says nothing about single records."""
        return max(filter(None, self._nearest()), default=None)

    def _nearest(self) -> list[int | None]:
        here = range(len(self.databases))
        return [min((self.distance(k, m) for m in here if m != k), default=None) for k in here]

    def indistinguishable(self, adjacency: int) -> frozenset[tuple[tuple[Hashable, ...], tuple[Hashable, ...]]]:
        """IND(D_t, A_a) of SEMI Definition 19: the ordered pairs of different databases at most `adjacency` records apart."""
        here = range(len(self.databases))
        return frozenset(
            (self.databases[k], self.databases[m]) for k in here for m in here if k != m and self.distance(k, m) <= adjacency
        )

    def components(self, adjacency: int) -> tuple[tuple[tuple[Hashable, ...], ...], ...]:
        """Databases that chains of adjacent ones connect; what lies in different components is told apart without limit."""
        left, found = set(self.databases), []
        pairs = self.indistinguishable(adjacency)
        while left:
            queue = [min(left, key=repr)]
            for X in queue:
                queue += [Y for Y in sorted(left, key=repr) if (X, Y) in pairs and Y not in queue]
            left -= set(queue)
            found.append(tuple(sorted(queue, key=repr)))
        return tuple(found)

    def is_vacuous(self, adjacency: int) -> bool:
        """Whether the guarantee protects no pair at all: a single database, or none within reach of another."""
        return not self.indistinguishable(adjacency)


def semi_adjacency(invariant: Invariant, totals: Sequence[int] | Integers, reading: Reading = "worst_case") -> SemiAdjacency:
    """a(t) of a linear invariant at the published value `totals` (p,), which is public.

    "literal": an integer program for each pair of values. "worst_case": from every conforming table to the best other one,
    where at most `TABLES` of them exist; otherwise the bound, where one is known. "bound": p + 1 for p disjoint groups of
    features (SEMI Theorem 16), whatever t is.

    >>> from designer import invariants
    >>> margins = invariants.margins((2, 2))
    >>> [semi_adjacency(margins, [2, 1, 2, 1], reading).value for reading in ("literal", "worst_case", "bound")]
    [2, 3, 3]
    """
    if not isinstance(invariant, Invariant):
        raise InvalidProblem(f"invariant: {shown(invariant)} is none; make one with designer.invariants.")
    if not isinstance(reading, str) or reading not in ("literal", "worst_case", "bound"):
        raise InvalidProblem(f"reading: {shown(reading)} is unknown; use 'literal', 'worst_case' or 'bound'.")
    if reading == "bound":
        return SemiAdjacency(invariant.semi_adjacency_bound, "bound", "SEMI Theorem 16: groups of features + 1")
    if not invariant.records_public:
        raise InvalidProblem("semi_adjacency: Definition 13 replaces records; use an invariant with records_public=True.")
    fibre = _fibre(invariant, totals)
    possible = np.flatnonzero(fibre.can_be_positive())
    if not len(possible):
        raise InvalidProblem("totals: no table of nonnegative counts has these statistics, or the table is empty; check them.")
    pairs = [(int(x), int(y)) for x in possible for y in possible if x != y]
    if reading == "literal":
        moves = [fibre.fewest_moves(x, y) for x, y in pairs]
        return SemiAdjacency(max(filter(None, moves), default=0), reading, f"{len(pairs)} integer programs")
    tables = fibre.vectors(TABLES) if (fibre.matrix >= 0).all() else None
    return _bounded(invariant, fibre) if tables is None else _worst_case(invariant, tables)


def _worst_case(invariant: Invariant, tables: Integers) -> SemiAdjacency:
    """From every conforming table to the best other one, for every pair of values;
    a known bound ends the search where it is reached."""
    bound = proven_adjacency(invariant)
    value = most_moves(tables, bound)
    ended = "until the bound of SEMI Theorem 16 was reached" if value == bound else "every pair of them"
    return SemiAdjacency(value, "worst_case", f"{len(tables)} conforming tables written out, {ended}")


def _bounded(invariant: Invariant, fibre: Fibre) -> SemiAdjacency:
    """The bound in place of tables that are not written out; `InvalidProblem` where there is none."""
    why = (
        f"more than {TABLES} tables conform" if (fibre.matrix >= 0).all() else "tables of signed statistics are not written out"
    )
    if proven_adjacency(invariant) is None:
        raise InvalidProblem(
            f"semi_adjacency: {why}, and no bound is known for this invariant; read it as 'literal', or state how many "
            "records may change."
        )
    return SemiAdjacency(invariant.semi_adjacency_bound, "bound", f"{why}: the bound of SEMI Theorem 16 instead")


def _fibre(invariant: Invariant, totals: Sequence[int] | Integers) -> Fibre:
    """The conforming tables; the number of records follows from the statistics, or is not needed where they do not fix it."""
    from solvers.exact.rational import integer_rank

    try:
        given = np.asarray(totals)
    except ValueError:
        raise InvalidProblem("totals: is not a list of whole numbers; give one for each statistic.") from None
    if given.shape != (len(invariant.matrix),) or given.dtype.kind not in "iu":
        raise InvalidProblem(
            f"totals: has shape {given.shape}; give {len(invariant.matrix)} whole numbers, one for each statistic."
        )
    if integer_rank(invariant.sums.tolist()) != integer_rank(invariant.matrix.tolist()):
        raise InvalidProblem("totals: do not tell the number of records; add the total to the invariant's rows.")
    none = invariant.constraints[len(invariant.sums) :]
    return Fibre(np.concatenate([invariant.matrix, none]), np.append(given, np.zeros(len(none), dtype=np.int64)))
