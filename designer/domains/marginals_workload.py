"""Marginal tables that are asked for, over a product domain of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import assign, count, positive, shown
from designer.base.display import Displayed
from designer.base.errors import InvalidProblem
from designer.limits import MOST_ATTRIBUTES, MOST_MARGINAL_CELLS, MOST_SUBSET_PAIRS
from designer.problem.domain import Domain, require_domain

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# Families of attribute subsets as arrays: the domain's cells are never listed, and neither are subsets one by one.
#
# What subsets stand for: docs/theory/marginals.md, section 1.


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
        if total > MOST_SUBSET_PAIRS:
            raise InvalidProblem(
                f"subsets: have {total} subsets of their own, more than {MOST_SUBSET_PAIRS}; ask for marginals of fewer "
                "attributes."
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


@dataclass(frozen=True, eq=False)
class MarginalWorkload(Immutable, Displayed):
    """Marginal tables over subsets of attributes, each with a positive weight.
    Only the sizes of attributes enter any computation.

    subsets: sorted by size and then by position; a table's axes follow the order of the attributes in the domain.
    weights: (K,), multiply the variance of every cell of a table in the objective.

    >>> ask = MarginalWorkload.up_to(Domain.of({f"a{i}": 10 for i in range(100)}), 2)
    >>> len(ask.subsets), len(ask.measured), ask.domain.size
    (5050, 5051, 10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000)
    """

    domain: Domain
    subsets: Subsets
    weights: Floats

    @classmethod
    def up_to(cls, domain: Domain, order: int) -> MarginalWorkload:
        """All marginals of one to `order` attributes, with weight 1.

        domain: the attributes. order: the largest number of attributes of a table.
        """
        require_domain(domain)
        attributes = len(domain.attributes)
        chosen = min(count(order, "order"), attributes)
        sets = Subsets.up_to(attributes, chosen)
        return cls(domain, sets, np.ones(len(sets)))

    @classmethod
    def of(cls, domain: Domain, subsets: Mapping[Sequence[str], float] | Sequence[Sequence[str]]) -> MarginalWorkload:
        """The marginals of the named subsets; a mapping gives weights. The empty subset is the total.

        domain: the attributes. subsets: the attributes of each table, with its weight where it is not 1.
        """
        if not isinstance(domain, Domain) or not isinstance(subsets, (Mapping, list, tuple)):
            raise InvalidProblem(
                f"domain, subsets: {shown(subsets)} is not a list of lists of attributes, or there is no Domain to them.",
                value=subsets,
            )
        rows = [tuple(sorted(positions(domain, subset))) for subset in subsets]
        if not rows or len(set(rows)) != len(rows):
            raise InvalidProblem(
                f"subsets: {shown(list(subsets))} is empty or holds a subset twice; name each once.", value=subsets
            )
        sets = Subsets.of(rows)
        given = list(subsets.values()) if isinstance(subsets, Mapping) else [1.0] * len(rows)
        weight = {row: positive(w, f"weights[{row}]") for row, w in zip(rows, given, strict=True)}
        return cls(domain, sets, np.array([weight[row] for row in sets.tuples()]))

    def _display_facts(self) -> Mapping[str, object]:
        """How many tables, over how many attributes."""
        return {"tables": len(self.subsets), "attributes": len(self.domain.attributes)}

    def __post_init__(self) -> None:
        attributes = len(self.domain.attributes)
        if attributes > MOST_ATTRIBUTES:
            raise InvalidProblem(f"domain: has {attributes} attributes; at most {MOST_ATTRIBUTES} are supported.")
        if not len(self.subsets) or int(self.subsets.axes.max(initial=-1)) >= attributes:
            raise InvalidProblem(
                f"subsets: name no table, or an attribute beyond the {attributes} of the domain; name attributes of the "
                "domain.",
            )
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (len(self.subsets),) or not (np.isfinite(weights) & (weights > 0)).all():
            raise InvalidProblem(f"weights: must be {len(self.subsets)} positive finite numbers, one for each subset.")
        assign(self, weights=frozen(weights))
        if (largest := float(self.cells.max())) > MOST_MARGINAL_CELLS:
            raise InvalidProblem(
                f"subsets: a table has {largest:g} cells, more than {MOST_MARGINAL_CELLS}; ask for fewer attributes."
            )

    @cached_property
    def sizes(self) -> Floats:
        """Number of values of each attribute, as floats for products."""
        return frozen(np.array(self.domain.shape, dtype=np.float64))

    @cached_property
    def cells(self) -> Floats:
        """Number of cells of each table, (K,)."""
        return self.subsets.product(self.sizes)

    @cached_property
    def measured(self) -> Subsets:
        """The subsets that have a residual: all subsets of the requested ones, without attributes of one value."""
        return self.subsets.closure(np.array(self.domain.shape) > 1)

    @cached_property
    def maximal(self) -> Subsets:
        """The requested tables that determine all the others."""
        return self.subsets.maximal()

    @cached_property
    def cell_variances(self) -> csr_array:
        """V (K tables, M measured): a cell of table B has variance `sum_A V_BA sigma_A^2` (docs/theory/marginals.md, 2).

        `V_BA = prod_{i in A} (n_i - 1)/n_i * prod_{i in B - A} 1/n_i^2` for A within B.
        """
        from scipy.sparse import coo_array, csr_array

        rows, columns, values = self._shares
        return csr_array(coo_array((values, (rows, columns)), shape=(len(self.subsets), len(self.measured))))

    def summed_variances(self, weights: Floats) -> Floats:
        """`weights' V`, (M,), for weights of the tables, (K,)."""
        rows, columns, values = self._shares
        return np.asarray(np.bincount(columns, values * weights[rows], len(self.measured)), dtype=np.float64)

    @cached_property
    def _shares(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """The entries of V: whose table, whose residual, how much."""
        own, other = np.append((self.sizes - 1) / self.sizes, 1.0), np.append(self.sizes**-2.0, 1.0)
        rows, columns, values = [], [], []
        for which, part, rest in self.subsets.parts():
            kept = (self.sizes[part] > 1).all(axis=1)
            rows.append(which[kept])
            columns.append(self.measured.find(part[kept]))
            values.append(own[part[kept]].prod(axis=1) * other[rest[kept]].prod(axis=1))
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Positions of the attributes that some requested table has."""
        return tuple(sorted({axis for subset in self.maximal.tuples() for axis in subset}))

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names."""
        return self.names(self.used)

    def names(self, subset: Sequence[int]) -> tuple[str, ...]:
        """Attribute names of positions.

        subset: numbers of attributes.
        """
        return tuple(self.domain.attributes[i] for i in subset)

    @property
    def titles(self) -> tuple[str, ...]:
        """What each table is called: its attributes joined by " x ", "total" for the empty one."""
        return tuple(" x ".join(self.names(subset)) or "total" for subset in self.subsets.tuples())

    def names_of(self, place: int) -> tuple[str, ...]:
        """The attributes of one table."""
        return self.names(self._rows[place])

    def keys_of(self, place: int) -> tuple[tuple[str, ...], ...]:
        """The values of its attributes, cell by cell."""
        return tuple(product(*(self.domain.values[axis] for axis in self._rows[place])))

    @cached_property
    def _rows(self) -> list[tuple[int, ...]]:
        return self.subsets.tuples()

    def shape(self, subset: Sequence[int]) -> tuple[int, ...]:
        """Shape of the table over positions.

        subset: numbers of attributes.
        """
        return tuple(self._shape[i] for i in subset)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return self.domain.shape


def positions(domain: Domain, subset: Sequence[str]) -> tuple[int, ...]:
    """Positions of named attributes, in the order given, each once."""
    listed = isinstance(subset, (list, tuple)) and all(isinstance(name, str) for name in subset)
    if not listed or len(set(subset)) != len(subset):
        raise InvalidProblem(f"subsets: {shown(subset)} is not a list of attributes, each named once.", value=subset)
    return tuple(domain.axis(name) for name in subset)
