"""One draw of integer noise on a table as a picture: the cells in colours, where every published sum is 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.mechanisms.lattice.mechanism import LatticeMechanism
from designer.reports.pictures.charts import remark, table_in_colours
from designer.reports.pictures.drawing import Drawing

SEED = 0
MOST_CELLS = 4000
MOST_SIDE = 60


@dataclass(frozen=True, eq=False)
class CellOrder:
    """The cells of a table by rows and columns: `places`, (n, m), of its elements, with the names of both."""

    places: NDArray[np.intp]
    rows: Sequence[str]
    columns: Sequence[str]


def noise_on_cells(mechanism: LatticeMechanism) -> tuple[Drawing, ...]:
    """A draw of noise on the table where it has rows and columns; none elsewhere."""
    order = cell_order(mechanism)
    if order is None:
        return ()
    rows, columns = order.places.shape
    alt = f"A table of {rows} rows and {columns} columns: a simulated draw of the noise, which leaves published sums alone."
    width, height = 3.6 + min(0.5 * columns, 9.0), 1.9 + min(0.32 * rows, 8.0)

    def draw(axes: Any) -> None:
        noise = mechanism.draw(1, SEED)[0][order.places].astype(np.float64)
        table_in_colours(axes, noise, order.rows, order.columns, "noise")
        remark(axes, "a simulation, no release")

    return (Drawing("table", "A draw of the noise, cell by cell", alt, draw, width=width, height=height),)


def cell_order(mechanism: LatticeMechanism) -> CellOrder | None:
    """Rows and columns of the table, by the columns that name its elements, or by two published margins that cross; None
    where it has other shapes, or more cells than a picture shows."""
    keys, structure = mechanism.workload.keys, mechanism.relation.invariant.structure
    size = mechanism.relation.size
    if size > MOST_CELLS:
        return None
    if keys is not None and len(keys.columns) == 2:
        rows, columns = (list(dict.fromkeys(row[k] for row in keys.rows)) for k in (0, 1))
        if len(rows) * len(columns) == size and max(len(rows), len(columns)) <= MOST_SIDE:
            known = {row: place for place, row in enumerate(keys.rows)}
            places = np.array([[known[row, column] for column in columns] for row in rows])
            return CellOrder(places, rows, columns)
    if structure is not None and structure.kind == "margins" and len(structure.levels) == 2 and structure.repeats == 1:
        n, m = structure.levels
        named = [f"row {k + 1}" for k in range(n)], [f"column {k + 1}" for k in range(m)]
        return CellOrder(structure.order.reshape(n, m), *named) if max(n, m) <= MOST_SIDE else None
    return None
