"""Exact contrasts of true tables, before any noise: confidential.

The contrasts: docs/theory/marginals.md, section 1.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import frozen
from designer.mechanisms.marginals.residuals import residual
from designer.mechanisms.marginals.tables import Tables


def true_residuals(measured: Container[tuple[int, ...]], tables: Tables) -> dict[tuple[int, ...], NDArray[Any]]:
    """The contrasts of every measured subset, each from one largest table that contains it; confidential.

    |contrasts| are at most the number of records times the product of n - 1: where that leaves 62 bits,
    Python integers take over.
    """
    result: dict[tuple[int, ...], NDArray[Any]] = {}
    for subset, table in tables.items():
        largest = table.astype(np.float64).sum() * float(np.prod(table.shape, dtype=np.float64))
        exact = table if largest < 2.0**62 else table.astype(object)
        for part in _parts(subset):
            if part in measured and part not in result:
                dropped = tuple(k for k, axis in enumerate(subset) if axis not in part)
                result[part] = np.asarray(residual(np.asarray(exact.sum(axis=dropped))))
    return result


def _parts(subset: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [part for size in range(len(subset) + 1) for part in combinations(subset, size)]


def stored(noisy: NDArray[Any]) -> NDArray[Any]:
    """64-bit or Python integers, by the noisy numbers: the type that the true ones took would tell how large they are.

    noisy: (...,), a table of any shape. Returns the same shape.
    """
    wide = np.abs(noisy.astype(np.float64)).max(initial=0.0) >= 2.0**62
    return frozen(noisy.astype(object if wide else np.int64))
