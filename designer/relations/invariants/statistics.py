"""Statistics of a histogram that are published exactly: integer linear forms with names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Immutable, frozen
from designer.base.checks import count, names, shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.printing import every_name
from designer.base.schema import BOOLEAN, NAMES, PLACE, POSITIONS, Named, list_of, or_null, record, whole
from designer.relations.invariants.lines import LineTable, line_table
from designer.relations.invariants.structure import Structure, structure_of
from solvers.exact.rational import integer_rank

Integers = NDArray[np.int64]
Distance = Literal["l1", "l2"]
LARGEST_ENTRY = 2**31


@dataclass(frozen=True, eq=False)
class Statistics(Immutable):
    """The statistics `A x` of a histogram x, A = `matrix` (p, N) of integers, with a name for each row.

    records_public: the number of records is among what is known, so that adjacent databases differ by replaced records;
    otherwise they differ by added and removed ones. groups: p of SEMI Theorem 16, the number of disjoint groups of features
    whose joint counts are published, which bounds the semi-adjacency by p + 1; None where the theorem says nothing. impossible:
    positions of the elements that no record can have, which is public (structural zeros). names: of the p rows.
    """

    matrix: Integers
    names: tuple[str, ...]
    records_public: bool = True
    groups: int | None = None
    impossible: tuple[int, ...] = ()
    schema = Named(
        "invariant",
        record(
            {"rows": list_of(list_of(whole())), "names": NAMES, "records_public": BOOLEAN, "groups": or_null(PLACE)},
            {"impossible": POSITIONS},
            note=(
                "Statistics rows x that are published exactly. groups: disjoint groups of features, or null. impossible: "
                "elements that no record can have."
            ),
        ),
    )

    def __post_init__(self) -> None:
        assign(self, matrix=frozen(_integers(self.matrix)))
        assign(self, names=names(self.names, len(self.matrix), "invariant.names", "t"))
        assign(self, impossible=_positions(self.impossible, self.size))

    @property
    def size(self) -> int:
        """N, the number of universe elements."""
        return int(self.matrix.shape[1])

    @property
    def sums(self) -> Integers:
        """The rows of `matrix` and, where the number of records is public, their total."""
        total = np.ones((1, self.size), dtype=np.int64)
        return np.concatenate([self.matrix, total]) if self.records_public else self.matrix

    @property
    def constraints(self) -> Integers:
        """All rows that a protected change must leave alone: `sums`, and the count of each impossible element."""
        if not self.impossible:
            return self.sums
        single = np.zeros((len(self.impossible), self.size), dtype=np.int64)
        single[np.arange(len(self.impossible)), list(self.impossible)] = 1
        return np.concatenate([self.sums, single])

    @cached_property
    def structure(self) -> Structure | None:
        """Classes with public sums, alone, nested or crossed, where `constraints` amount to that."""
        return structure_of(self.constraints)

    @cached_property
    def layout(self) -> Structure | LineTable | None:
        """The structure, or the table whose lines' sums the statistics are, or None where neither is known."""
        return line_table(self.constraints) if self.structure is None else self.structure

    @cached_property
    def freedom(self) -> int:
        """The rank of the lattice of changes that keep the statistics, N less the exact rank of `constraints`;
        no basis is computed."""
        known = self.layout
        return self.size - integer_rank(self.constraints.tolist()) if known is None else known.freedom

    def published(self) -> tuple[str, ...]:
        """Sentences: what is public."""
        listed = every_name(self.names)
        said = f"The invariant statistics are published exactly: {listed}. Databases that differ in them are not protected."
        known = ("The number of records is public.",) if self.records_public else ()
        none = f"Public too is that no record has any of {len(self.impossible)} elements, which were declared impossible."
        return (said, *known, none) if self.impossible else (said, *known)

    def __eq__(self, other: object) -> bool:
        return self.to_spec() == other.to_spec() if isinstance(other, Statistics) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.names, self.matrix.tobytes()))

    def to_spec(self) -> dict[str, Any]:
        """Plain data, of `schema`; `from_spec` inverts it."""
        return {
            "rows": self.matrix.tolist(),
            "names": list(self.names),
            "records_public": self.records_public,
            "groups": self.groups,
            **({"impossible": list(self.impossible)} if self.impossible else {}),
        }

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """From plain data."""
        if type(spec["records_public"]) is not bool:
            raise InvalidProblem(
                f"invariant.records_public: {shown(spec['records_public'])} is neither true nor false.",
                value=spec["records_public"],
            )
        groups = None if spec["groups"] is None else count(spec["groups"], "invariant.groups", least=0)
        return cls(spec["rows"], tuple(spec["names"]), spec["records_public"], groups, spec.get("impossible", ()))


def _positions(given: object, size: int) -> tuple[int, ...]:
    """Positions of elements in rising order, each once; not of all elements."""
    listed = list(given) if isinstance(given, (tuple, list, np.ndarray)) else None
    if listed is None or not all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in listed):
        raise InvalidProblem(
            f"impossible: {shown(given)} is not a list of positions of elements; give whole numbers.", value=given
        )
    places = sorted(int(i) for i in listed)
    if len(set(places)) != len(places) or (places and not 0 <= places[0] <= places[-1] < size):
        raise InvalidProblem(f"impossible: {shown(places)} must name elements from 0 to {size - 1}, each once.", value=places)
    if len(places) == size:
        raise InvalidProblem("impossible: names every element; leave some that records can have.")
    return tuple(places)


def _integers(matrix: object) -> Integers:
    try:
        given = np.asarray(matrix)
    except ValueError:
        raise InvalidProblem("invariant.matrix: rows differ in length; give one integer for each element in each.") from None
    if given.ndim != 2 or not given.size:
        raise InvalidProblem(f"invariant.matrix: has shape {given.shape}; give a row of integers for each statistic.")
    if given.dtype.kind not in "biuf" or not (given == np.floor(given)).all() or not (np.abs(given) < LARGEST_ENTRY).all():
        raise InvalidProblem("invariant.matrix: entries must be whole numbers below 2^31; multiply a row by its denominator.")
    return given.astype(np.int64)
