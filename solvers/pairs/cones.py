"""How much a convex, symmetric function of directions is at most: the norm of a linear map, for any norm that is evaluated.

Of the l1 and the maximum norm of the direction the ball has few corners. Straight length has none; there the sphere is cut into
cones, finer where the function is large (docs/theory/million.md, section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Lengths = Callable[[Floats], Floats]

CLOSE = 1e-10  # relative, how near the bound over the sphere comes to an attained length
ROOM = 1 << 18  # corners of cones that are looked at together
WIDEST: dict[str, int] = {"l1": 64, "l2": 5, "linf": 12}  # dimensions in which the corners, or cones, are few enough


def steepest(lengths: Lengths, dimension: int, order: Literal["l1", "l2", "linf"]) -> tuple[float, Floats] | None:
    """At least `max N(v)` over |v|_order <= 1, for a norm or seminorm N, rounding of its values apart, and the v of largest N
    that was met, (dimension,); None above `WIDEST`.

    lengths: N of the rows (n, dimension), as (n,).

    >>> steepest(lambda v: np.abs(v).sum(axis=1), 2, "linf")[0], round(steepest(lambda v: np.abs(v).sum(axis=1), 2, "l2")[0], 3)
    (2.0, 1.414)
    """
    if dimension > WIDEST[order]:
        return None
    if order == "l2" and dimension > 1:
        return _on_sphere(lengths, dimension)
    ways = np.eye(dimension) if order == "l1" or dimension == 1 else _corners(dimension)
    values = lengths(ways)
    return float(values.max()), ways[values.argmax()]


def _corners(dimension: int) -> Floats:
    """The corners (1, +-1, ..., +-1) of a cube; the others are their opposites."""
    return np.array([(1.0, *signs) for signs in product((-1.0, 1.0), repeat=dimension - 1)])


def _on_sphere(lengths: Lengths, dimension: int) -> tuple[float, Floats]:
    """Cones over squares of the sides of the cube, halved until the bound of each is near the best corner, or they are many."""
    offsets, half, best, settled, way = _corners(dimension)[:, 1:], 1.0, 0.0, 0.0, np.eye(dimension)[0]
    sides, middles = np.arange(dimension), np.zeros((dimension, dimension - 1))
    while len(middles):
        corners = middles[:, None] + half * offsets
        ends, centres = _lifted(np.repeat(sides, len(offsets)), corners.reshape(-1, dimension - 1)), _lifted(sides, middles)
        every = lengths(ends)
        values = every.reshape(len(middles), -1).max(axis=1)
        cosines = (ends.reshape(*corners.shape[:2], dimension) @ centres[:, :, None])[:, :, 0].min(axis=1)
        bounds = values / cosines
        if values.max() > best:
            best, way = float(values.max()), ends[every.argmax()]
        wide = bounds > best * (1 + CLOSE)
        many = wide.sum() * len(offsets) ** 2 > ROOM
        settled = max(settled, float(bounds[~wide | many].max(initial=0.0)))
        half /= 2
        middles = (middles[wide & ~many][:, None] + half * offsets).reshape(-1, dimension - 1)
        sides = np.repeat(sides[wide & ~many], len(offsets))
    return settled, way


def _lifted(sides: NDArray[np.intp], at: Floats) -> Floats:
    """Unit vectors through points of sides of the cube: coordinate `sides` is 1, the others are `at`."""
    full = np.zeros((len(at), at.shape[1] + 1))
    rows = np.arange(len(at))[:, None]
    others = np.arange(at.shape[1]) + (np.arange(at.shape[1]) >= sides[:, None])
    full[rows, others] = at
    full[rows[:, 0], sides] = 1.0
    return np.asarray(full / np.linalg.norm(full, axis=1, keepdims=True))
