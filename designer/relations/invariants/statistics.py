"""Statistics of a histogram that are published exactly: integer linear forms with names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import assign, count, names, shown
from designer.base.display import every_name
from designer.base.errors import InvalidProblem
from designer.base.schema import BOOLEAN, NAMES, PLACE, POSITIONS, Named, list_of, or_null, record, whole
from designer.limits import LARGEST_STATISTIC_ENTRY
from solvers.exact.rational import integer_rank

# What a list of published statistics amounts to: classes of the elements with public sums, alone, nested, or crossed.
#
# It is read off the rows, so nothing is believed of whoever gives them: a file cannot claim a structure, and statistics that
# were written by hand have theirs.


Kind = Literal["partition", "nested", "margins"]
Classes = NDArray[np.intp]
FREE = -1  # the class of elements that no statistic counts


@dataclass(frozen=True, eq=False)
class Structure(Immutable):
    """Classes of the elements whose sums over a change are 0, and nothing else is asked of it.

    classes: (G, N), the class of each element in each of G partitions, from 0 on. "partition": G = 1; a change sums to 0 over
    every class, and is free where the class is `FREE`. "nested": the same, of statistics that lie in each other, such as
    counties in states in a nation: the classes are what each of them counts beyond those within it. An element that may not
    change is a class by itself. "margins": G > 1 crossed partitions; all combinations of their classes occur, equally often, as
    the cells of a table do.

    >>> structure_of(np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1]])).classes.tolist()
    [[0, 0, 2, 1, 1]]
    """

    kind: Kind
    classes: Classes

    def __post_init__(self) -> None:
        assign(self, classes=frozen(self.classes))

    @property
    def size(self) -> int:
        """N, the number of elements."""
        return int(self.classes.shape[1])

    @property
    def levels(self) -> tuple[int, ...]:
        """The number of classes of each partition."""
        return tuple(int(row.max()) + 1 for row in self.classes)

    @property
    def repeats(self) -> int:
        """How many elements share each combination of classes of crossed partitions."""
        return self.size // int(np.prod(self.levels))

    @property
    def freedom(self) -> int:
        """The rank of the lattice of changes."""
        if self.kind == "margins":
            return self.size - 1 - sum(n - 1 for n in self.levels)
        return self.size - len(np.unique(self.classes[self.classes != FREE]))

    @property
    def alike(self) -> bool:
        """Whether permutations of the elements that keep the statistics leave no part of the span of the changes alone, but all
        of it: cells of one class, or a table of two margins."""
        if self.kind == "margins":
            return len(self.levels) == 2 and self.repeats == 1
        return not len(self.free) and len(self.blocks()) == 1

    @property
    def steepness(self) -> Floats | None:
        """Squared Gram-Schmidt lengths, (freedom,), of a basis of the lattice of changes; None where none is known. Of numbers
        that sum to 0 the differences of neighbours are a basis, of lengths 2, 3/2, 4/3, ...; of crossed ones their products."""
        if self.kind == "margins":
            return np.multiply.outer(*map(sum_zero_squares, self.levels)).ravel() if self.alike else None
        return np.concatenate([np.ones(len(self.free)), *(sum_zero_squares(len(block)) for block in self.blocks())])

    @cached_property
    def order(self) -> Classes:
        """The elements in the order of a table of shape (*levels, repeats)."""
        return np.asarray(np.lexsort(self.classes[::-1]))

    def projected(self, rows: Floats) -> Floats:
        """The orthogonal projections of rows, (K, N), onto the span of the changes."""
        if self.kind != "margins":
            rest = np.array(rows, dtype=np.float64)
            for block in self.blocks():
                rest[:, block] -= rest[:, block].mean(axis=1, keepdims=True)
            return rest
        table = np.asarray(rows, dtype=np.float64)[:, self.order].reshape(-1, *self.levels, self.repeats)
        rest = np.empty((len(table), self.size))
        rest[:, self.order] = _without_margins(table).reshape(len(table), -1)
        return rest

    def seen(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows, (K, N), some change moves: (K,). By differences of entries, so that equal entries leave no rounding."""
        if self.kind != "margins":
            steps = [np.diff(rows[:, block], axis=1) for block in self.blocks()]
            return np.asarray(np.concatenate([rows[:, self.free], *steps], axis=1).any(axis=1))
        table = rows[:, self.order].reshape(-1, *self.levels, self.repeats)
        axes = range(1, table.ndim - 1)
        swaps = [np.diff(np.diff(table, axis=i), axis=j) for i in axes for j in axes if i < j] + [np.diff(table, axis=-1)]
        return np.asarray(np.any([swap.reshape(len(rows), -1).any(axis=1) for swap in swaps], axis=0))

    def blocks(self) -> list[NDArray[np.intp]]:
        """The elements of each class of a partition, free ones left out."""
        row = self.classes[0]
        order = np.argsort(row, kind="stable")
        ends = np.flatnonzero(np.diff(row[order])) + 1
        return [block for block in np.split(order, ends) if row[block[0]] != FREE]

    @property
    def free(self) -> NDArray[np.intp]:
        """The elements that no statistic counts."""
        return np.flatnonzero(self.classes[0] == FREE)


def sum_zero_squares(count: int) -> Floats:
    """`(k + 1) / k` for k from 1 to count - 1."""
    return np.arange(2, count + 1) / np.arange(1, count)


def _without_margins(table: Floats) -> Floats:
    """Tables (K, *levels, repeats) less the mean of each class of each axis; the mean of all is taken once."""
    axes = range(1, table.ndim - 1)
    mean = table.mean(axis=tuple(range(1, table.ndim)), keepdims=True)
    rest = table - mean
    for axis in axes:
        others = tuple(i for i in range(1, table.ndim) if i != axis)
        rest = rest - (table.mean(axis=others, keepdims=True) - mean)
    return np.asarray(rest)


def structure_of(rows: NDArray[np.integer]) -> Structure | None:
    """The structure of statistics with these rows, (p, N); None for others.

    Rows may repeat, and may be multiples of 0 and 1.
    """
    supports = rows != 0
    largest = np.abs(rows).max(axis=1, keepdims=True) * supports
    equal = (rows == largest).all(axis=1) | (rows == -largest).all(axis=1)
    if not (supports.any(axis=1) & equal).all():
        return None
    return _nested(supports) or _crossed(supports)


def _nested(supports: NDArray[np.bool_]) -> Structure | None:
    """Supports that lie in each other or apart, the large ones first: each one lies in one class that is there, or it crosses.

    The number of all records makes one class more of what nothing else counts.
    """
    classes, made = np.full(supports.shape[1], FREE, dtype=np.intp), 0
    within = False
    whole = supports.all(axis=1)
    for row in sorted(supports[~whole], key=lambda row: -int(row.sum())):
        here = classes[row]
        if (here != here[0]).any():
            return None
        if here[0] == FREE or int((classes == here[0]).sum()) > len(here):
            within |= bool(here[0] != FREE)
            classes[row], made = made, made + 1
    if whole.any():
        classes[classes == FREE] = made
    return Structure("nested" if within else "partition", _renumbered(classes)[None])


def _renumbered(classes: Classes) -> Classes:
    """Classes from 0 on without gaps, in their old order: those that others fill are gone."""
    kept = np.unique(classes[classes != FREE])
    return np.where(classes == FREE, FREE, np.searchsorted(kept, classes))


def _crossed(supports: NDArray[np.bool_]) -> Structure | None:
    """Partitions one after the other, of which all combinations of classes occur equally often."""
    partitions = list(_partitions(supports))
    if not partitions or any((row == FREE).any() for row in partitions):
        return None
    classes = np.array(_finest(partitions))
    occurring = np.unique(classes, axis=1, return_counts=True)[1]
    whole = len(occurring) == np.prod(classes.max(axis=1) + 1) and len(set(occurring.tolist())) == 1
    return Structure("margins", classes) if whole else None


def _finest(partitions: list[Classes]) -> list[Classes]:
    """Those of the partitions that none of the others refines, in their order."""
    kept: dict[int, Classes] = {}
    for place, row in sorted(enumerate(partitions), key=lambda entry: -int(entry[1].max())):
        if not any(len(np.unique(np.stack([row, fine]), axis=1).T) == fine.max() + 1 for fine in kept.values()):
            kept[place] = row
    return [kept[place] for place in sorted(kept)]


def _partitions(supports: NDArray[np.bool_]) -> Iterator[Classes]:
    """Partitions that consecutive rows make, other than of all elements into one; what is left over has `FREE` elements."""
    classes, made = np.full(supports.shape[1], FREE, dtype=np.intp), 0
    for row in supports[~supports.all(axis=1)]:
        if (classes[row] != FREE).any():
            yield classes
            return
        classes[row], made = made, made + 1
        if (classes != FREE).all():
            yield classes
            classes, made = np.full(supports.shape[1], FREE, dtype=np.intp), 0
    if made:
        yield classes


# Tables of which the sums along every line are published: all margins that leave out one axis each.
#
# As with `Structure` nothing is believed: the axes are read off the rows.


@dataclass(frozen=True, eq=False)
class LineTable:
    """place: the element in each cell of a table of d >= 3 axes with at least two levels each."""

    place: Classes

    @property
    def alike(self) -> bool:
        """See `Structure`: permutations of the levels of each axis leave no part of the span alone."""
        return True

    @property
    def steepness(self) -> Floats:
        """See `Structure`: products over all axes."""
        return reduce(np.multiply.outer, map(sum_zero_squares, self.place.shape)).ravel()

    @property
    def freedom(self) -> int:
        """The rank of the lattice of changes: one for each cell beyond the first level of every axis."""
        return int(np.prod([n - 1 for n in self.place.shape]))

    def projected(self, rows: Floats) -> Floats:
        """The orthogonal projections of rows, (K, N), onto the span of the changes."""
        table = np.asarray(rows, dtype=np.float64)[:, self.place]
        for axis in range(1, table.ndim):
            table = table - table.mean(axis=axis, keepdims=True)
        rest = np.empty((len(rows), self.place.size))
        rest[:, self.place.ravel()] = table.reshape(len(rows), -1)
        return rest

    def seen(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows, (K, N), some change moves: (K,). By differences of entries, so that equal entries leave no rounding."""
        table = rows[:, self.place]
        for axis in range(1, table.ndim):
            table = np.diff(table, axis=axis)
        return np.asarray(table.reshape(len(rows), -1).any(axis=1))


def line_table(rows: Classes) -> LineTable | None:
    """The table whose lines have these rows, (p, N), as sums, in any order of the elements; None for other statistics."""
    lines = partitions_of(rows)
    if lines is None or len(lines) < 3:
        return None
    coordinates = [_across([line for h, line in enumerate(lines) if h != g]) for g in range(len(lines))]
    levels = tuple(int(row.max()) + 1 for row in coordinates)
    if min(levels) < 2 or np.prod(levels) != rows.shape[1]:
        return None
    place = np.full(levels, -1, dtype=np.intp)
    place[tuple(coordinates)] = np.arange(rows.shape[1])
    if (place < 0).any() or not all(_are_lines(line, coordinates, axis) for axis, line in enumerate(lines)):
        return None
    return LineTable(place)


def partitions_of(rows: Classes) -> list[Classes] | None:
    """The classes of consecutive rows that count every element once each, the number of all left out; None where some rows do
    not come so."""
    found: list[Classes] = []
    seen = np.zeros(rows.shape[1], dtype=np.int64)
    classes, made = np.zeros(rows.shape[1], dtype=np.intp), 0
    for row in rows[~(rows == 1).all(axis=1)]:
        if not ((row == 0) | (row == 1)).all() or (seen + row > 1).any():
            return None
        seen, classes, made = seen + row, np.where(row == 1, made, classes), made + 1
        if seen.all():
            found.append(classes)
            seen, classes, made = np.zeros_like(seen), np.zeros_like(classes), 0
    return None if made else found


def _across(lines: list[Classes]) -> Classes:
    """The coordinate that no step along these lines changes: their connected components, numbered."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(lines[0])
    starts = list(itertools.accumulate((int(line.max()) + 1 for line in lines), initial=size))
    left = np.tile(np.arange(size), len(lines))
    right = np.concatenate([line + start for line, start in zip(lines, starts, strict=False)])
    graph = coo_array((np.ones(len(left)), (left, right)), shape=(starts[-1], starts[-1]))
    return np.asarray(connected_components(graph, directed=False)[1][:size], dtype=np.intp)


def _are_lines(line: Classes, coordinates: list[Classes], axis: int) -> bool:
    """Whether two elements are in one class just where all their coordinates but that of the axis agree."""
    others = np.unique(np.array([row for k, row in enumerate(coordinates) if k != axis]), axis=1, return_inverse=True)[1]
    return bool(len(np.unique(np.array([line, others.ravel()]), axis=1).T) == line.max() + 1 == others.max() + 1)


Integers = NDArray[np.int64]
Distance = Literal["l1", "l2"]


@dataclass(frozen=True, eq=False)
class Statistics(Immutable):
    """The statistics `A x` of a histogram x, A = `matrix` (p, N) of integers, with a name for each row.

    records_public: the number of records is among what is known, so that adjacent databases differ by replaced records.
    Otherwise they differ by added and removed ones. groups: p of SEMI Theorem 16, the number of disjoint groups of features
    whose joint counts are published. It bounds the semi-adjacency by p + 1. None where the theorem says nothing. impossible:
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
    if (
        given.dtype.kind not in "biuf"
        or not (given == np.floor(given)).all()
        or not (np.abs(given) < LARGEST_STATISTIC_ENTRY).all()
    ):
        raise InvalidProblem("invariant.matrix: entries must be whole numbers below 2^31; multiply a row by its denominator.")
    return given.astype(np.int64)


# How many records must change with one where some elements are impossible: the bound of SEMI Theorem 16, proven anew.
#
# With impossible elements a record cannot always be swapped into its new place by two others, so `p + 1` fails for two
# crossed margins: chains of swaps are needed, as long as the pattern of impossible cells is deep (docs/theory/invariants.md,
# section 12).


def proven_adjacency(statistics: Statistics) -> int | None:
    """A number of records that is enough for any record to become any other, whatever the statistics are; None where none is
    proven: overlapping groups of features, or three and more of them beside impossible elements."""
    groups = statistics.groups
    if groups is None or not statistics.impossible or groups <= 1:
        return None if groups is None else groups + 1
    known = structure_of(statistics.sums)
    if known is None or len(known.levels) > 2:
        return None
    return 2 if len(known.levels) == 1 else 2 + longest_detour(_impossible_pairs(known, statistics.impossible))


def longest_detour(impossible: NDArray[np.bool_]) -> int:
    """The largest s for which s rows and columns may have possible cells (i, i) and impossible ones (i, j), i < j.

    impossible: (R, C). By counting: the i-th of these rows has s - i impossible cells, the i-th column from the end likewise.
    """
    rows, columns = (np.sort(impossible.sum(axis=axis))[::-1] for axis in (1, 0))
    for s in range(min(impossible.shape) - 1, 1, -1):
        needed = s - 1 - np.arange(s)
        if (rows[:s] >= needed).all() and (columns[:s] >= needed).all():
            return s
    return 1


def _impossible_pairs(known: Structure, impossible: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which combinations of classes have no possible element."""
    possible = np.setdiff1d(np.arange(known.size), impossible)
    pairs = np.ones(known.levels, dtype=np.bool_)
    pairs[known.classes[0, possible], known.classes[1, possible]] = False
    return pairs
