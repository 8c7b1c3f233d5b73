"""Gauges of many facets from above, at the price of a few numbers each: read from a table of directions.

A gauge is convex and grows with its argument, so between the nodes of a grid of directions it lies below the mean of the
nodes around, with the weights that make the direction of them. For a vector u whose largest coordinate is the k-th, `u / u_k`
lies on face k of a cube, where the mean is multilinear: its weights are a law with that mean, and Jensen is the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from solvers.pairs.tree import Floats, Indices

CELLS = {2: 4096, 3: 128, 4: 24, 5: 10}  # along each axis of a face: tables of about 10,000 to 70,000 directions
FEWEST = 32  # facets; fewer are looked at as quickly
AT_ONCE = 1 << 18  # numbers that are held at once: two megabytes, which stay in cache
LEAST = 1e-150  # gauges of axes between this and its inverse have products that are floats
RELATIVE, ABSOLUTE = 2.0**-40, 2.0**-44  # roundings of a mean; of a place in the grid, where the gauge of an axis is 1


@dataclass(frozen=True, eq=False)
class DirectionTable:
    """Upper bounds of the gauge `max_f |a_f . u|` over s coordinates.

    units: (s,), the gauge of each axis. values: those of the nodes of all faces, one after the other. cells: of each axis.
    """

    units: Floats
    values: Floats
    cells: int

    @classmethod
    def of(cls, facets: Floats) -> DirectionTable | None:
        """The table of facets (F, s); None where it would not pay.

        >>> table = DirectionTable.of(np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0, 3, 40)]))
        >>> float(np.round(table.above([np.array([3.0]), np.array([4.0])])[0], 2))
        5.0
        """
        count, wide = facets.shape
        units = np.abs(facets).max(axis=0, initial=0.0)
        if wide not in CELLS or count < FEWEST or not ((units > LEAST) & (units < 1 / LEAST)).all():
            return None
        marks = np.linspace(-1.0, 1.0, CELLS[wide] + 1)
        across = np.stack(np.meshgrid(*[marks] * (wide - 1), indexing="ij"), axis=-1).reshape(-1, wide - 1)
        nodes = [np.roll(np.insert(across, 0, 1.0, axis=1), k, axis=1) for k in range(wide)]
        values = gauges(np.concatenate(nodes), facets / units)
        return cls(units, values * (1 + RELATIVE) + ABSOLUTE, CELLS[wide])

    def above(self, coordinates: Sequence[Floats]) -> Floats:
        """Numbers (...,) that no gauge of the vectors is above; s arrays (...,), all finite."""
        scaled = np.stack([part * unit for part, unit in zip(coordinates, self.units, strict=True)])
        wide, shape = len(scaled), scaled.shape[1:]
        flat = scaled.reshape(wide, -1)
        axis = np.abs(flat).argmax(axis=0)
        signed = np.take_along_axis(flat, axis[None], axis=0)[0]
        shares = self._shares(flat, axis, np.where(signed == 0, 1.0, signed))
        return np.asarray(np.abs(signed) * self._means(axis, shares)).reshape(shape)

    def _shares(self, flat: Floats, axis: Indices, signed: Floats) -> Floats:
        """Where the vectors pierce their faces, in cells, (s - 1, n): the coordinates after the largest, in turn."""
        wide = len(flat)
        turned = (axis + np.arange(1, wide)[:, None]) % wide
        places = np.take_along_axis(flat, turned, axis=0) / signed
        return np.asarray((places + 1) * (self.cells / 2))

    def _means(self, axis: Indices, shares: Floats) -> Floats:
        """The multilinear mean of the nodes around each place, (n,)."""
        low = np.minimum(shares.astype(np.intp), self.cells - 1)
        part = shares - low
        strides = (self.cells + 1) ** np.arange(len(shares) - 1, -1, -1)
        first = axis * (self.cells + 1) ** len(shares) + strides @ low
        total = np.zeros(len(first))
        for corner in product((0, 1), repeat=len(shares)):
            weight = np.prod([p if up else 1 - p for p, up in zip(part, corner, strict=True)], axis=0)
            total += weight * self.values[first + int(strides @ corner)]
        return total


def gauges(rows: Floats, facets: Floats) -> Floats:
    """The largest product of each row (n, s) with the facets (F, s), in size, whose (n, F) products are never held together.

    >>> gauges(np.array([[3.0, -4.0]]), np.eye(2)).tolist()
    [4.0]
    """
    step = max(1, AT_ONCE // len(facets))
    parts = [np.abs(rows[i : i + step] @ facets.T).max(axis=1) for i in range(0, len(rows), step)]
    return np.concatenate([*parts, np.zeros(0)])
