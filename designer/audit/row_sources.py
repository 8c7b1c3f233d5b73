"""Noise that is drawn row by row and balanced: moments of two crossed margins, from the law of a row by convolution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.audit.noise_sources import table_source
from designer.audit.stated_law import Integers
from designer.audit.tally import Columns, Source
from designer.mechanisms.lattice.row_mechanism import RowMechanism
from designer.sampling.entropy import Entropy
from designer.base.arrays import Floats

MOST_CELLS = 24
REACH = 45.0  # of `rate |y|` in the tables of laws


@dataclass(frozen=True, eq=False)
class RowsWatch:
    """Draws are tables, (n, cells). cells: (c,), the watched ones. square: the variance of
    a cell, where it is known; None for signs alone."""

    cells: NDArray[np.intp]
    square: float | None
    alike: tuple[tuple[int, int, float], ...]  # pairs of places in `cells` with their correlation

    def columns(self, draws: Integers) -> Columns:
        """Means, squares, products, and products in a row, of draws (n, cells)."""
        z = draws[:, self.cells].astype(np.float64) / np.sqrt(self.square or 1.0)
        kinds = [("shift", z)]
        if self.square is not None:
            total = (draws.astype(np.float64) ** 2).mean(axis=1, keepdims=True) / self.square - 1
            crossed = [z[:, j] * z[:, k] - known for j, k, known in self.alike]
            kinds += [("scale", z**2 - 1), ("scale of all", total), ("crossed", np.column_stack(crossed))]
        row = np.zeros_like(z)
        row[:-1] = z[:-1] * z[1:]
        kinds.append(("in a row: shift", row))
        names = tuple(f"{name} {k + 1}" if v.shape[1] > 1 else name for name, v in kinds for k in range(v.shape[1]))
        return Columns(names, np.hstack([values for _, values in kinds]))

    def effects(self, pilot: Integers, sees: float) -> Mapping[str, float]:
        """A scale moves squares by twice its share; pilot: (n, cells)."""
        if self.square is None:
            return {}
        return {"scale of all": 2 * sees} | {f"scale {k + 1}": 2 * sees for k in range(len(self.cells))}


def row_source(made: RowMechanism, entropy: Entropy) -> Source:
    """The noise of the table."""
    cells = np.unique(np.linspace(0, made.relation.size - 1, MOST_CELLS).astype(np.intp))
    square, alike = _known(made, cells)
    words = "second moments, from the law of a row by convolution" if square else "signs (the law has no formula here)"

    return table_source(made, words, entropy, lambda _: RowsWatch(cells, square, alike))


def _known(made: RowMechanism, cells: NDArray[np.intp]) -> tuple[float | None, tuple[tuple[int, int, float], ...]]:
    """The variance of every cell of two margins with a cell for each combination, and correlations of the watched ones."""
    crossed: Any = made.crossed
    if len(crossed.levels) != 2 or crossed.repeats != 1:
        return None, ()
    rows, columns = crossed.levels[made.axis], crossed.levels[1 - made.axis]
    one = row_law(columns, float(made.norm.map[0]))
    reach = len(one) // 2
    values = np.arange(-reach, reach + 1)
    summed = _sum_law(one, rows)
    part = np.mod(np.arange(len(summed)) - len(summed) // 2, rows) / rows
    square = ((rows - 1) * float(one @ values**2) + rows * float(summed @ (part * (1 - part)))) / rows
    place = [divmod(int(k), crossed.levels[1]) for k in np.argsort(crossed.order)[cells]]
    levels = crossed.levels
    alike = []
    for j in range(len(cells)):
        for k in range(j + 1, len(cells)):
            same = [place[j][axis] == place[k][axis] for axis in (0, 1)]
            alike.append((j, k, float(np.prod([1.0 if s else -1 / (levels[axis] - 1) for axis, s in enumerate(same)]))))
    return square, tuple(alike[:60])


def row_law(columns: int, rate: float) -> Floats:
    """The law of one cell of a row of `columns` cells with `P(y) ~ exp(-rate |y|_1)` on sum 0: `g(a)` times the chance that the
    others add up to -a."""
    reach = int(np.ceil(REACH / rate))
    values = np.arange(-reach, reach + 1)
    alone = np.exp(-rate * np.abs(values))
    alone /= alone.sum()
    others = _sum_law(alone, columns - 1)
    middle = len(others) // 2
    joint = alone * others[middle - values]
    return np.asarray(joint / joint.sum())


def _sum_law(one: Floats, count: int) -> Floats:
    """The law of a sum of independent numbers, by Fourier transforms; centred."""
    width = (len(one) - 1) * count + 1
    transformed = np.fft.rfft(one, 2 * width) ** count
    return np.asarray(np.maximum(np.fft.irfft(transformed, 2 * width)[:width], 0.0))
