"""What is known of the changes that an invariant leaves without a list of them: the longest in weighted norms, what no change
moves, and how many there are at least (docs/theory/invariants.md, 11).

The longest changes of a two-way table in a weighted norm: rectangles, and hexagons where three records may move
(docs/theory/invariants.md, 11.5).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable
from designer.certificate.change_norms import Longest
from designer.relations.invariants.changes import sums_are_exact
from designer.relations.invariants.statistics import Classes, Integers, LineTable, Statistics, Structure, line_table
from solvers.exact.rational import root_above

# How long the changes are that statistics leave: the largest `|v|_1`, `|v|_2^2` and `|v|_inf` over all integer v with `A v =
# 0` that move at most a records, in closed form, without a list (docs/theory/invariants.md, 11).
#
# Each length is a bound with a proof for the kind of statistics; beside it stand changes, checked one by one, that are as
# long as any known. Where the two agree, the length is exact.


Order = Literal["l1", "l2", "linf"]
Change = tuple[tuple[int, int], ...]  # element and amount, by element


@dataclass(frozen=True)
class Lengths:
    """Bounds over all changes: `total >= |v|_1`, `square >= |v|_2^2`, `largest >= |v|_inf`; 0 where there is no change.

    changes: the longest known in l1, l2 and l-infinity; none where there is no change. proof: what the bounds rest on.
    """

    total: int
    square: int
    largest: int
    changes: tuple[Change, ...]
    proof: str

    def bound(self, order: Order) -> int:
        """The bound of an order; for l2 that of the square."""
        return {"l1": self.total, "l2": self.square, "linf": self.largest}[order]

    def longest(self, order: Order) -> Change:
        return self.changes[("l1", "l2", "linf").index(order)]

    def exact(self, order: Order) -> bool:
        """Whether a change is known that is as long as the bound."""
        return not self.total or length_of(self.longest(order), order) == self.bound(order)


def length_of(change: Change, order: Order) -> int:
    """`|v|_1`, `|v|_2^2` or `|v|_inf`.

    >>> [length_of(((0, 2), (3, -1)), order) for order in ("l1", "l2", "linf")]
    [3, 5, 2]
    """
    amounts = [abs(amount) for _, amount in change]
    if order == "linf":
        return max(amounts, default=0)
    return sum(amounts) if order == "l1" else sum(amount * amount for amount in amounts)


def known_lengths(constraints: Integers, structure: Structure | None, adjacency: int) -> Lengths | None:
    """The lengths of the changes of at most `adjacency` replaced records; None for statistics of no known kind.

    constraints: (p, N), the total among their combinations. structure: theirs.

    >>> from designer.relations.invariants.statistics import structure_of
    >>> rows = np.kron(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]), [1, 1])
    >>> found = known_lengths(rows, structure_of(rows), 3)
    >>> found.total, found.square, found.largest
    (6, 18, 3)
    """
    if structure is None:
        lines = line_table(constraints)
        return None if lines is None else _of_lines(lines, adjacency)
    if structure.kind != "margins":
        return _of_classes(structure.classes[0], adjacency)
    if structure.repeats > 1:
        return _of_classes(np.unique(structure.classes, axis=1, return_inverse=True)[1].ravel(), adjacency)
    return _of_crossed(structure, adjacency)


def longest_of(bounds: tuple[int, int, int], changes: Iterable[dict[int, int]], proof: str) -> Lengths:
    """The bounds with the longest of the changes in each order."""
    found: list[Change] = [tuple(sorted((cell, n) for cell, n in change.items() if n)) for change in changes]
    if not found:
        return Lengths(0, 0, 0, (), proof)
    longest = [max(found, key=lambda change, order=order: length_of(change, order)) for order in _ORDERS]  # type: ignore[misc]
    return Lengths(*bounds, tuple(longest), proof)


_ORDERS: tuple[Order, ...] = ("l1", "l2", "linf")


def _of_classes(classes: Integers, a: int) -> Lengths:
    """Elements of one class may be exchanged: a records from one to another are the longest change in every norm."""
    order = np.argsort(classes, kind="stable")
    alike = np.flatnonzero(np.diff(classes[order]) == 0)
    pairs = [{int(order[k]): a, int(order[k + 1]): -a} for k in alike[:1]]
    return longest_of((2 * a, 2 * a * a, a), pairs, "records that move between two elements that no statistic tells apart")


# Crossed classes ------------------------------------------------------------------------------------------------------


def _of_crossed(structure: Structure, a: int) -> Lengths:
    """Cells of a table whose margins are published, all of them told apart by their classes."""
    levels = structure.levels
    place = np.empty(levels, dtype=np.intp)
    place[tuple(structure.classes)] = np.arange(structure.size)
    if min(levels) < 2 or a < 2:
        return longest_of((0, 0, 0), [], "one record, or one level along an axis, which published margins fix")
    bounds = _crossed_bounds(len(levels), min(levels), a)
    return longest_of(bounds, _crossed_changes(place, a), f"changes of a table of {len(levels)} axes with published margins")


def _crossed_bounds(axes: int, least: int, a: int) -> tuple[int, int, int]:
    """l1, squared l2 and l-infinity (section 11.3)."""
    largest = a * (axes - 1) // axes
    if axes == 2 and least == 2:
        return 4 * largest, 4 * largest**2, largest
    if a % 2 == 0:
        return 2 * a, a * a, largest
    if axes == 2:
        return 2 * a, 6 if a == 3 else (a - 1) ** 2, largest
    return 2 * a, squares_of_two(a, largest), largest


def squares_of_two(a: int, largest: int) -> int:
    """`|v|_2^2` at most where cells are told apart: the largest entries of v+ and v- have a sum of at most a (11.2).

    >>> [squares_of_two(*a) for a in [(4, 2), (5, 3)]]
    [16, 22]
    """
    entries = range(1, largest + 1)
    return max((_squares(a, m) + _squares(a, n) for m in entries for n in entries if m + n <= a), default=0)


def _squares(total: int, most: int) -> int:
    """The largest sum of squares of numbers up to `most` with this total."""
    full, rest = divmod(total, most)
    return full * most**2 + rest**2


def _crossed_changes(place: Integers, a: int) -> Iterator[dict[int, int]]:
    """Changes that are the longest known: rectangles, stars, hexagons, and sums of them with like signs."""
    axes = place.ndim
    yield _sum((a // 2, _rectangle(place)))
    if axes > 2 and a >= 3:
        yield _sum((1, _star(place, 3)), ((a - 3) // 2, _rectangle(place)))
    most = min(axes, a)
    rest = a % most
    yield _sum((a // most, _star(place, most)), (1, _star(place, rest) if rest > 1 else {}))
    if axes == 2 and min(place.shape) > 2 and a >= 3:
        hexagon = {(0, 0): 1, (0, 1): -1, (1, 1): 1, (1, 2): -1, (2, 2): 1, (2, 0): -1}
        corners = {int(place[cell]): sign for cell, sign in hexagon.items()}
        yield _sum((1, corners), ((a - 3) // 2, _rectangle(place)))


def _star(place: Integers, arms: int) -> dict[int, int]:
    """`(k-1) e_0 + e_1 - sum of e_B`, k = `arms`: 0 the first level of every axis, 1 the second, B the second along one of k
    groups of axes and the first along the others. It moves k records."""
    groups = np.array_split(np.arange(place.ndim), arms)
    change = {int(place[(0,) * place.ndim]): arms - 1, int(place[(1,) * place.ndim]): 1}
    for group in groups:
        change[int(place[tuple(int(axis in group) for axis in range(place.ndim))])] = -1
    return change


def _rectangle(place: Integers) -> dict[int, int]:
    """A star of two arms along the last axes alone, whose signs are those of every star and of the hexagon."""
    front = (0,) * (place.ndim - 2)
    corners = {(0, 0): 1, (0, 1): -1, (1, 0): -1, (1, 1): 1}
    return {int(place[front + corner]): sign for corner, sign in corners.items()}


def _sum(*parts: tuple[int, dict[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for times, change in parts:
        for cell, amount in change.items():
            total[cell] = total.get(cell, 0) + times * amount
    return total


# All margins but one axis each ----------------------------------------------------------------------------------------


def _of_lines(table: LineTable, a: int) -> Lengths:
    """Tables of d axes, of which the sums along every line are published (section 11.4): a change of one cell takes 2^d."""
    place, corners = table.place, 2**table.place.ndim
    times = 2 * a // corners
    changes = list(_line_changes(place, a))
    total = 2 * a if 4 * a >= 3 * corners and sorted(place.shape)[-2] > 2 else corners * times
    proof = f"changes of a table of {place.ndim} axes whose sums along every line are published"
    return longest_of((total, total * times, times), changes, proof)


def _line_changes(place: Integers, a: int) -> Iterator[dict[int, int]]:
    """Multiples of the product of one exchange along each axis, and of a hexagon with exchanges."""
    axes = place.ndim
    box = _product(place, [np.array([1, -1])] * axes)
    times = 2 * a // 2**axes
    if not times:
        return
    yield _sum((times, box))
    long = [axis for axis in range(axes) if place.shape[axis] > 2][:2]
    if len(long) == 2 and 4 * a >= 3 * 2**axes:
        hexagon = np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1]])
        yield _sum((1, _hexagon_product(place, long, hexagon)), (max(0, (4 * a - 3 * 2**axes) // (2 * 2**axes)), box))


def _product(place: Integers, factors: list[Integers]) -> dict[int, int]:
    """The outer product of one vector along each axis, over the first levels."""
    change = np.array(1)
    for factor in factors:
        change = np.multiply.outer(change, factor)
    return {int(place[tuple(map(int, cell))]): int(change[tuple(cell)]) for cell in np.argwhere(change)}


def _hexagon_product(place: Integers, long: list[int], hexagon: Integers) -> dict[int, int]:
    """A hexagon over two axes times an exchange along each of the others."""
    change = hexagon
    for _ in range(place.ndim - 2):
        change = np.multiply.outer(change, np.array([1, -1]))
    order = [*long, *(axis for axis in range(place.ndim) if axis not in long)]
    turned = np.moveaxis(change, range(place.ndim), order)
    return {int(place[tuple(map(int, cell))]): int(turned[tuple(cell)]) for cell in np.argwhere(turned)}


HEAVIEST = 3  # columns of a pair of rows among which a hexagon finds its own: the two others may take two of them
Scored = tuple[float, Change]


def long_cycles(place: Classes, scores: Floats, records: int, limit: int) -> list[Scored]:
    """The cycles of at most `records` (2 or 3) records with the largest sums of scores: of every pair of rows the best
    rectangle, of every three rows the best hexagon; of these at most `limit`, the best first.

    place: (r, c), the element in each cell. scores: (r, c), at least 0.
    """
    found = list(_rectangles(place, scores))
    if records > 2 and min(place.shape) > 2:
        found += _hexagons(place, scores)
    return sorted(found, key=lambda one: -one[0])[:limit]


def _change(place: Classes, cells: tuple[tuple[int, int], ...]) -> Change:
    """Cells with alternating signs, the first one +1."""
    return tuple(sorted((int(place[cell]), 1 - 2 * (k % 2)) for k, cell in enumerate(cells)))


def _rectangles(place: Classes, scores: Floats) -> Iterator[Scored]:
    for i in range(len(scores) - 1):
        sums = scores[i] + scores[i + 1 :]
        best = np.argsort(-sums, axis=1, kind="stable")[:, :2]
        for j, (a, b) in enumerate(best.tolist(), start=i + 1):
            yield float(sums[j - i - 1, [a, b]].sum()), _change(place, ((i, a), (i, b), (j, b), (j, a)))


def _hexagons(place: Classes, scores: Floats) -> Iterator[Scored]:
    """`(i, a) (j, a) (j, b) (k, b) (k, d) (i, d)`: a column for each pair of three rows, all different."""
    rows = len(scores)
    sums = scores[:, None, :] + scores[None, :, :]
    heavy = np.argsort(-sums, axis=2, kind="stable")[:, :, :HEAVIEST]
    weight = np.take_along_axis(sums, heavy, axis=2)
    picks = np.array(list(itertools.product(range(HEAVIEST), repeat=3)))
    for i, j in itertools.combinations(range(rows - 1), 2):
        k = np.arange(j + 1, rows)
        a, b, d = heavy[i, j][picks[:, 0]], heavy[j, k][:, picks[:, 1]], heavy[k, i][:, picks[:, 2]]
        total = weight[i, j][picks[:, 0]] + weight[j, k][:, picks[:, 1]] + weight[k, i][:, picks[:, 2]]
        total = np.where((a == b) | (a == d) | (b == d), -np.inf, total)
        chosen = total.argmax(axis=1)
        for n, pick in enumerate(chosen.tolist()):
            columns = int(a[pick]), int(b[n, pick]), int(d[n, pick])
            row = int(k[n])
            cells = ((i, columns[0]), (j, columns[0]), (j, columns[1]), (row, columns[1]), (row, columns[2]), (i, columns[2]))
            yield float(total[n, pick]), _change(place, cells)


COUNTED = 1000  # records whose changes are counted, class by class
FLOATS = Fraction(1, 2**45)  # more than sums of six floats and their squares are off, relatively
AT_ONCE = 256  # rows that are looked at together: what is made of them stays small beside all rows
Booleans = np.ndarray[tuple[int], np.dtype[np.bool_]]


class KnownChanges(Immutable):
    """The changes of at most a replaced records, of statistics of a known kind."""

    lengths: Lengths

    @property
    def vacuous(self) -> bool:
        """Whether there is no change but 0."""
        return not self.lengths.changes

    @property
    def some_change(self) -> Change:
        """One of the longest."""
        return self.lengths.longest("l1")

    def longest(self, weights: Floats, order: Order) -> Longest:
        """The largest `|w v|_p`, or a bound above it: the largest weight times the length of the changes. weights w: (N,)."""
        most = Fraction(float(weights.max(initial=0.0)))
        change = () if self.vacuous else self.lengths.longest(order)
        return Longest(
            _root(most, self.lengths.bound(order), order), measured(change, weights, order), change, self.lengths.proof
        )

    @abstractmethod
    def unmoved(self, rows: Floats) -> Booleans:
        """Which of these rows, (R, N), no change moves; False where floats cannot tell."""

    @property
    def separates(self) -> bool:
        """Whether `long_changes` finds the longest change for any weights of the cells."""
        return False

    def long_changes(self, weights: Floats, order: Order, limit: int) -> list[Change]:
        """At most `limit` long changes in a weighted norm, the longest known first. weights: (N,)."""
        return [self.longest(weights, order).change]

    @property
    def spans(self) -> bool:
        """Whether the changes reach every direction that the statistics leave open."""
        return not self.vacuous

    @abstractmethod
    def count_at_least(self) -> int:
        """A number of changes that there are, one of each pair +-v."""


def _root(weight: Fraction, length: int, order: Order) -> Fraction:
    """Weight times length; a length in l2 is a square."""
    return root_above(weight * weight * length) if order == "l2" else weight * length


def measured(change: Change, weights: Floats, order: Order) -> Fraction:
    """`|w v|_p` of one change, in l2 rounded up by less than 2^-80. weights w: (N,)."""
    parts = [Fraction(float(weights[i])) * abs(n) for i, n in change]
    if order == "linf":
        return max(parts, default=Fraction(0))
    return root_above(sum((p * p for p in parts), Fraction(0))) if order == "l2" else sum(parts, Fraction(0))


@dataclass(frozen=True, eq=False)
class Exchanges(KnownChanges):
    """Classes of the elements with public sums: every change is a sum of exchanges within classes, so that a records from one
    element to another are the longest change in every norm (section 11.1). classes: (N,)."""

    classes: Classes
    adjacency: int
    lengths: Lengths

    @cached_property
    def blocks(self) -> tuple[NDArray[np.intp], ...]:
        """The elements of each class that has at least two."""
        order = np.argsort(self.classes, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(self.classes[order])) + 1)
        return tuple(np.sort(part) for part in parts if len(part) > 1)

    def longest(self, weights: Floats, order: Order) -> Longest:
        """Exact: the two heaviest elements of one class. weights: (N,)."""
        best: tuple[Fraction, Change] = (Fraction(0), () if self.vacuous else self.some_change)
        for pair in self._heaviest(weights, order):
            change = ((min(pair), self.adjacency), (max(pair), -self.adjacency))
            best = max(best, (measured(change, weights, order), change), key=lambda found: found[0])
        return Longest(best[0], best[0], best[1], self.lengths.proof)

    def _heaviest(self, weights: Floats, order: Order) -> list[list[int]]:
        """The two heaviest elements of the classes that floats leave in question, of equal weights one pair."""
        pairs = [here[np.argsort(-weights[here], kind="stable")[:2]] for here in self.blocks]
        length = {"l1": 1, "l2": 2, "linf": np.inf}[order]
        sizes = np.array([np.linalg.norm(weights[pair], length) for pair in pairs])
        near = np.flatnonzero(sizes >= sizes.max(initial=0.0) * (1 - 2.0**-40))
        return list({tuple(weights[pairs[k]]): pairs[k].tolist() for k in near[::-1]}.values())

    def unmoved(self, rows: Floats) -> Booleans:
        """Rows, (R, N), that are constant on every class."""
        kept = np.ones(len(rows), dtype=bool)
        for here in self.blocks:
            kept &= (rows[:, here] == rows[:, here[:1]]).all(axis=1)
        return kept

    def count_at_least(self) -> int:
        """All of them, class by class: k records leave s elements and go to others; of very many records those of `COUNTED`,
        or the exchanges of two elements alone."""
        most = min(self.adjacency, COUNTED)
        ways = [1] + [0] * most
        for size, classes in zip(*np.unique([len(here) for here in self.blocks], return_counts=True), strict=True):
            one = [_exchanged(int(size), k) for k in range(most + 1)]
            for _ in range(int(classes)):
                ways = [sum(ways[j] * one[k - j] for j in range(k + 1)) for k in range(most + 1)]
        pairs = sum(math.comb(len(here), 2) for here in self.blocks)
        return max((sum(ways) - 1) // 2, pairs * self.adjacency)


def _exchanged(size: int, records: int) -> int:
    """The number of v with sum 0 and `|v|_1 = 2 records` on so many elements.

    >>> [_exchanged(3, k) for k in range(3)]
    [1, 6, 12]
    """
    if not records:
        return 1
    leaving = range(1, min(size - 1, records) + 1)
    return sum(math.comb(size, s) * math.comb(records - 1, s - 1) * math.comb(size - s + records - 1, records) for s in leaving)


@dataclass(frozen=True, eq=False)
class Crossed(KnownChanges):
    """The cells of a table whose margins are published."""

    structure: Structure
    adjacency: int
    lengths: Lengths

    @property
    def separates(self) -> bool:
        """Of two-way tables, where two or three records move: their changes are single cycles."""
        return len(self.structure.levels) == 2 and self.structure.repeats == 1 and self.adjacency in (2, 3)

    def longest(self, weights: Floats, order: Order) -> Longest:
        """By the longest cycle where weights, (N,), differ, up to the rounding of floats (section 11.5)."""
        plain = super().longest(weights, order)
        if self.vacuous or not self.separates or plain.reached == plain.bound or order == "linf":
            return plain
        change = self.long_changes(weights, order, 1)[0]
        reached = measured(change, weights, order)
        bound = reached * (1 + FLOATS)
        return Longest(bound, bound, change, "cycles of a two-way table, up to 2^-45 of it") if bound < plain.bound else plain

    def long_changes(self, weights: Floats, order: Order, limit: int) -> list[Change]:
        if not self.separates or self.vacuous or order == "linf":
            return super().long_changes(weights, order, limit)
        scores = weights[self._place]
        found = long_cycles(self._place, scores if order == "l1" else scores**2, self.adjacency, limit)
        return [change for _, change in found]

    @cached_property
    def _place(self) -> Classes:
        place = np.empty(self.structure.levels, dtype=np.intp)
        place[tuple(self.structure.classes)] = np.arange(self.structure.size)
        return place

    @property
    def spans(self) -> bool:
        """With one record only cells that repeat exchange theirs; rectangles span what margins leave open."""
        return self.adjacency > 1

    def unmoved(self, rows: Floats) -> Booleans:
        """Rows, (R, N), that are sums of functions of one class each: `f(x) = sum_g f(x_g) - (G - 1) f(0)`."""
        classes = self.structure.classes
        first = {tuple(cell): i for i, cell in reversed(list(enumerate(classes.T.tolist())))}
        zero = (0,) * len(classes)
        at = [
            np.array([first[(*zero[:axis], level, *zero[axis + 1 :])] for level in range(levels)])[classes[axis]]
            for axis, levels in enumerate(self.structure.levels)
        ]
        parts = (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE))
        return np.concatenate([_are_sums(part, first[zero], at) for part in parts])

    def count_at_least(self) -> int:
        """Rectangles of the first axis against the others taken together, and hexagons; exchanges of cells that repeat."""
        cells, repeats = self.structure.size, self.structure.repeats
        rows = self.structure.levels[0]
        columns = cells // repeats // rows
        alike = cells // repeats * math.comb(repeats, 2)
        rectangles = math.comb(rows, 2) * math.comb(columns, 2) * (self.adjacency > 1)
        hexagons = 6 * math.comb(rows, 3) * math.comb(columns, 3) * (self.adjacency > 2)
        return max(alike + rectangles + hexagons, self._two_rectangles() if self.adjacency > 3 and repeats == 1 else 0)

    def _two_rectangles(self) -> int:
        """Sums and differences of two rectangles without a common cell, of which at most 18 are the same change: four records
        fall into two pairs in 3 ways on either side, which are matched in 2."""
        levels = self.structure.levels
        rectangles = 0
        for size in range(2, len(levels) + 1):
            for axes in itertools.combinations(range(len(levels)), size):
                boxes = math.prod(math.comb(n, 2) if axis in axes else n for axis, n in enumerate(levels))
                rectangles += boxes * math.comb(2 ** (size - 1), 2)
        through_a_cell = 4 * rectangles // self.structure.size
        return max(0, rectangles * (rectangles - 4 * through_a_cell) // 18)


def _are_sums(rows: Floats, corner: int, at: list[NDArray[np.intp]]) -> Booleans:
    """Which rows, (R, N), are `f(x) = sum_g f(x_g) - (G - 1) f(0)`; 0 is the cell `corner`, and `at` has the x_g, (N,) each."""
    rest = rows + (len(at) - 1) * rows[:, [corner]]
    for cells in at:
        rest = rest - rows[:, cells]
    return np.asarray((rest == 0).all(axis=1) & sums_are_exact(rows.T, 2 * len(at)))


@dataclass(frozen=True, eq=False)
class Lines(KnownChanges):
    """Tables of which the sums along every line are published."""

    table: LineTable
    adjacency: int
    lengths: Lengths

    def unmoved(self, rows: Floats) -> Booleans:
        """Rows, (R, N), whose mixed differences along all axes are 0."""
        axes = self.table.place.ndim
        rest = rows[:, self.table.place]
        for axis in range(1, axes + 1):
            rest = rest - np.take(rest, [0], axis=axis)
        return np.asarray((rest == 0).all(axis=tuple(range(1, axes + 1))) & sums_are_exact(rows.T, 2**axes))

    def count_at_least(self) -> int:
        """The products of one exchange along each axis."""
        return 0 if self.vacuous else math.prod(math.comb(n, 2) for n in self.table.place.shape)


def known_changes(statistics: Statistics, adjacency: int) -> KnownChanges | None:
    """What is known of the changes of at most `adjacency` replaced records; None for statistics of no known kind."""
    structure, constraints = statistics.structure, statistics.constraints
    lengths = known_lengths(constraints, structure, adjacency)
    if lengths is None:
        return None
    if structure is None:
        table = line_table(constraints)
        assert table is not None
        return Lines(table, adjacency, lengths)
    if structure.kind == "margins":
        return Crossed(structure, adjacency, lengths)
    return Exchanges(structure.classes[0], adjacency, lengths)
