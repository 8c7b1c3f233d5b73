"""How long the changes are that statistics leave: the largest `|v|_1`, `|v|_2^2` and `|v|_inf` over all integer v with
`A v = 0` that move at most a records, in closed form, without a list (docs/theory/invariants.md, 11).

Each length is a bound with a proof for the kind of statistics; beside it stand changes, checked one by one, that are as long as
any known. Where the two agree, the length is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from designer.relations.invariants.lines import LineTable, line_table
from designer.relations.invariants.statistics import Integers
from designer.relations.invariants.structure import Structure

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
        """The longest change known in an order."""
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

    >>> from designer.relations.invariants.structure import structure_of
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
