"""The sensitivity set of changes that nobody wrote out: its largest norm in closed form, by bounds, or by pairs of elements."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign
from designer.base.errors import DesignFailed, NoFeasibleAttribute
from designer.certificate.change_norms import ByLength, Longest, too_many
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import Pairs, SensitivitySet
from solvers.exact.rational import float_above


class UnlistedSet(SensitivitySet):
    """The differences of a relation whose changes nobody wrote out: the largest norm is known, with a change that has it.

    Where the changes are exchanges of elements, every scan of pairs works as well, on points that are made when they are asked
    for. matrix: (R, N).
    """

    relation: Any

    def __init__(self, relation: ByLength, matrix: Floats) -> None:
        assign(self, relation=relation, matrix=frozen(matrix))

    matrix: Floats

    @cached_property
    def points(self) -> Floats:
        """The points of exchanges; `DesignFailed` for other changes."""
        if not self.relation.exchanges:
            raise NoFeasibleAttribute(too_many(self.relation))
        return frozen(self.relation.points(self.matrix.T))

    @property
    def dimension(self) -> int:
        return len(self.matrix)

    def longest(self, norm: Norm) -> Longest | None:
        """In closed form where coordinates are cells, each at most once; for other answers by the lengths of their columns."""
        weights = self._cell_weights(norm)
        if weights is not None:
            found: Longest = self.relation.longest(weights, norm.order)
            return found
        return None if self.relation.exchanges else self._by_columns(norm)

    def _by_columns(self, norm: Norm) -> Longest:
        """`||u|| <= sum |v_i| ||B_i||` over the columns B_i of the map times the matrix, as they are or once what is public was
        taken out of them; rounded up by the error of the floats."""
        heard = ~norm.silent
        rows, factor, kept = self.matrix[heard], norm.factor, self.relation.kept()
        image = factor @ rows
        shares = np.linalg.lstsq(kept.T, image.T, rcond=None)[0].T
        terms = max(*factor.shape, len(kept)) + 8
        bounds: list[Longest] = []
        for part in (0.0 * shares, shares):
            error = terms * 2.0**-52 * (np.abs(factor) @ np.abs(rows) + np.abs(part) @ np.abs(kept))
            sizes = norm.length((np.abs(image - part @ kept) + error).T)
            bounds.append(self.relation.longest(np.nextafter(sizes * (1 + terms * 2.0**-50), np.inf), "l1"))
        found = min(bounds, key=lambda one: one.bound)
        u = [sum((Fraction(float(row[i])) * n for i, n in found.change), Fraction(0)) for row in self.matrix]
        reached = norm.exact(u) or Fraction(0)
        return Longest(found.bound, reached, found.change, f"{found.proof}, each cell by the length of its answers")

    def worst(self, norm: Norm, limit: int = 1, least: float = 0.0) -> tuple[float, Pairs]:
        longest = self.longest(norm)
        if longest is None:
            return super().worst(norm, limit, least)
        return float_above(longest.bound / self.relation.cost(longest.change)), self._written(
            self._long_changes(norm, longest, limit)
        )

    def _long_changes(self, norm: Norm, longest: Longest, limit: int) -> list[tuple[tuple[int, int], ...]]:
        """The longest change, or several where the relation finds those of any weights of the cells."""
        weights = self._cell_weights(norm)
        if weights is None or limit == 1 or not self.relation.separates:
            return [longest.change]
        found: list[tuple[tuple[int, int], ...]] = self.relation.long_changes(weights, norm.order, limit)
        return found

    def _written(self, changes: list[tuple[tuple[int, int], ...]]) -> Pairs:
        """Changes as pairs with the origin."""
        rows = [sum((n * self.matrix[:, i] for i, n in change), np.zeros(self.dimension)) for change in changes]
        here = np.zeros(len(rows), dtype=np.intp)
        return Pairs(here, here + 1, np.array(rows), np.array([float(self.relation.cost(change)) for change in changes]))

    @cached_property
    def _cells(self) -> tuple[NDArray[np.bool_], NDArray[np.intp], Floats]:
        """Which rows count one element, by a power of two; that element, and the power: (R,) each."""
        apart = self.matrix != 0
        columns = apart.argmax(axis=1)
        entries = np.abs(self.matrix[np.arange(self.dimension), columns])
        return (np.count_nonzero(apart, axis=1) == 1) & (np.frexp(entries)[0] == 0.5), columns, entries

    def _cell_weights(self, norm: Norm) -> Floats | None:
        """The weight of each element, (N,), where the rows that a weighted norm hears count one element each, none twice:
        its products are exact. None elsewhere."""
        if norm.map.ndim != 1:
            return None
        heard = ~norm.silent
        single, columns, entries = (part[heard] for part in self._cells)
        if not single.all() or len(np.unique(columns)) < len(columns):
            return None
        full = np.zeros(self.matrix.shape[1])
        full[columns] = norm.map[heard] * entries
        return full if np.isfinite(full).all() else None

    def among(self, coordinates: NDArray[np.intp] | NDArray[np.bool_]) -> SensitivitySet:
        return UnlistedSet(self.relation, self.matrix[coordinates])

    def spread(self) -> Floats:
        return np.asarray(np.ptp(self.matrix, axis=1))

    def require_rows(self) -> None:
        cells = self._cell_weights(Norm(np.ones(self.dimension), "l1"))
        if not (self.relation.exchanges or (self.relation.separates and cells is not None)):
            raise DesignFailed(too_many(self.relation))

    def worst_along(self, coordinate: int) -> Pairs:
        if self.relation.exchanges:
            return super().worst_along(coordinate)
        return self._written(self.relation.long_changes(np.abs(self.matrix[coordinate]), "l1", 1))

    def silent_coordinates(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(self.relation.unmoved(self.matrix))
