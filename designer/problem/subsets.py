"""Families of attribute subsets as arrays: the domain's cells are never listed, and neither are subsets one by one.

What subsets stand for: docs/theory/marginals.md, section 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.errors import InvalidProblem

# Pairs (requested marginal, subset of it). 100 attributes, all marginals of up to 3: 1.3 million.
PARTS_LIMIT = 2**25


@dataclass(frozen=True, eq=False)
class Subsets(Immutable):
    """Rows of rising attribute positions, padded with -1: shape (K, width), each subset once, small subsets first.

    >>> Subsets.of([(2, 0), (1,)]).tuples()
    [(1,), (0, 2)]
    """

    axes: NDArray[np.int16]

    @classmethod
    def of(cls, subsets: Iterable[Sequence[int]]) -> Subsets:
        """From any collection of positions, in any order."""
        rows = [sorted(subset) for subset in subsets]
        if any(len(set(row)) != len(row) for row in rows):
            raise InvalidProblem("subsets: one of them names an attribute twice; name each once.")
        axes = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int16)
        for axis_row, row in zip(axes, rows, strict=True):
            axis_row[: len(row)] = row
        return cls.unique(axes)

    @classmethod
    def up_to(cls, attributes: int, order: int) -> Subsets:
        """All subsets of 1 to `order` of `attributes` positions."""
        rows = [np.array(list(combinations(range(attributes), r)), dtype=np.int16) for r in range(1, order + 1)]
        return cls.unique(np.concatenate([_padded(block, order) for block in rows]))

    @classmethod
    def unique(cls, axes: NDArray[np.int16]) -> Subsets:
        """Sorted by size and then position by position, duplicates dropped.

        axes: (K, r), padded with -1.
        """
        return cls(frozen(axes[np.unique(_keys(axes), return_index=True)[1]]))

    def __len__(self) -> int:
        return len(self.axes)

    @cached_property
    def orders(self) -> NDArray[np.int64]:
        """Number of attributes of each subset, (K,)."""
        return np.asarray((self.axes >= 0).sum(axis=1))

    def tuples(self) -> list[tuple[int, ...]]:
        """The subsets as tuples."""
        return [tuple(row[:r]) for row, r in zip(self.axes.tolist(), self.orders.tolist(), strict=True)]

    def product(self, factors: Floats) -> Floats:
        """For every subset the product over its attributes of `factors` (d,); 1 for the empty one."""
        return np.asarray(np.append(factors, 1)[self.axes].prod(axis=1))

    def find(self, axes: NDArray[np.int16]) -> NDArray[np.intp]:
        """Position of each row among these subsets; every row must be one of them.

        axes: (n, r). Returns (n,).
        """
        return np.searchsorted(_keys(self.axes), _keys(_padded(axes, self.axes.shape[1])))

    def parts(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int16], NDArray[np.int16]]]:
        """Every subset of every subset, in blocks: whose part (M,), the part (M, q), the rest (M, r - q)."""
        total = int(np.ldexp(1.0, self.orders).sum())
        if total > PARTS_LIMIT:
            raise InvalidProblem(
                f"subsets: have {total} subsets of their own, more than {PARTS_LIMIT}; ask for marginals of fewer attributes."
            )
        for order in np.unique(self.orders):
            which = np.flatnonzero(self.orders == order)
            rows = self.axes[which, :order]
            for q in range(order + 1):
                for chosen in combinations(range(order), q):
                    rest = [k for k in range(order) if k not in chosen]
                    yield which, rows[:, list(chosen)], rows[:, rest]

    def closure(self, kept: NDArray[np.bool_]) -> Subsets:
        """All subsets of these subsets that use `kept` attributes (d,) only, the empty one among them."""
        width = self.axes.shape[1]
        blocks = [np.full((1, width), -1, dtype=np.int16)]
        for _, part, _ in self.parts():
            blocks.append(_padded(part[kept[part].all(axis=1)], width))
        return Subsets.unique(np.concatenate(blocks))

    def maximal(self) -> Subsets:
        """The subsets that are contained in no other."""
        covered = np.zeros(len(self), dtype=bool)
        keys = _keys(self.axes)
        for _, part, rest in self.parts():
            if rest.shape[1]:
                sought = _keys(_padded(part, self.axes.shape[1]))
                place = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
                covered[place[keys[place] == sought]] = True
        return Subsets(frozen(self.axes[~covered]))


def _padded(axes: NDArray[np.int16], width: int) -> NDArray[np.int16]:
    wide = np.full((len(axes), width), -1, dtype=np.int16)
    wide[:, : axes.shape[1]] = axes
    return wide


def _keys(axes: NDArray[np.int16]) -> NDArray[np.bytes_]:
    """Rows as byte strings whose order is that of (size, first, second, ...)."""
    rows = np.column_stack([(axes >= 0).sum(axis=1), axes + 1]).astype(">u2")
    return np.ascontiguousarray(rows).view(f"S{2 * rows.shape[1]}").ravel()
