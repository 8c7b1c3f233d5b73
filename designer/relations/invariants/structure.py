"""What a list of published statistics amounts to: classes of the elements with public sums, alone, nested, or crossed.

It is read off the rows, so nothing is believed of whoever gives them: a file cannot claim a structure, and statistics that were
written by hand have theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.declared import assign

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
