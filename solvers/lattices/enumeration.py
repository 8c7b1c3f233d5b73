"""All short integer vectors of a kernel, by collisions of column sums or by enumeration in a reduced basis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.exact.hermite import integer_matrix
from solvers.lattices.colliding import MULTISETS, Vectors, collisions, distinct, multiset_count
from solvers.lattices.kernel import Lattice, integer_kernel
from solvers.status import Status

Length = Literal["l1", "l2"]
NODES = 1_000_000  # partial vectors of one level that an enumeration may hold
GUARD = (
    2.0**-20
)  # relative widening of a squared radius: exceeds the roundings of the float enumeration, integers decide afterwards


@dataclass(frozen=True, eq=False)
class ShortVectors:
    """`vectors` (N, d), one of each pair +-v, its first nonzero entry positive, in lexicographic order; read-only.

    All of them where `status` is `Status.OPTIMAL`; none, and `Status.TOO_LARGE`, where there are more than the limit or finding
    them would take more memory than this module allows itself. `method` is "collisions" or "enumeration".
    """

    status: Status
    vectors: Vectors
    method: str

    def __post_init__(self) -> None:
        self.vectors.setflags(write=False)


def short_vectors(matrix: ArrayLike, radius: int, norm: Length = "l1", limit: int = 200_000) -> ShortVectors:
    """All integer v != 0 with `A v = 0` and `||v||_1 <= radius` (or `||v||_2 <= radius`), up to sign; A is (k, d) integer.

    In the l1 norm by collisions of column sums or by enumeration in a reduced basis, whichever promises to be cheaper; in the
    l2 norm by enumeration. Both verify in integers. Correctness: derivation in docs/theory/lattice.md, section 1.

    >>> short_vectors([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], 4).vectors.tolist()
    [[1, -1, -1, 1]]
    """
    rows = integer_matrix("matrix", matrix)
    if isinstance(radius, bool) or not isinstance(radius, (int, np.integer)) or radius < 0:
        raise ValueError(f"radius: {radius!r} is not a whole number >= 0; round it down.")
    if norm not in ("l1", "l2"):
        raise ValueError(f"norm: {norm!r}; give 'l1' or 'l2'.")
    radius, lattice = int(radius), integer_kernel(rows)
    if norm == "l2":
        return _found("enumeration", lattice, enumerated(lattice, radius**2, limit))
    balanced = fixes_total(lattice)
    # With a fixed total v+ and v- both have sum at most radius / 2, and squared lengths at most its square.
    square = 2 * (radius // 2) ** 2 if balanced else radius**2
    if multiset_count(rows.shape[1], radius, balanced) <= min(MULTISETS, enumeration_nodes(lattice, square)):
        return _found("collisions", lattice, collisions(rows, radius, balanced, limit))
    return _found("enumeration", lattice, enumerated(lattice, square, limit, radius))


def fixes_total(lattice: Lattice) -> bool:
    """Do all vectors of the lattice have sum zero?"""
    return not any(lattice.basis.sum(axis=1))


def enumeration_nodes(lattice: Lattice, square: int) -> float:
    """About how many partial vectors `enumerated` visits: volumes of balls over those of
    the projected cells (Hanrot and Stehle).

    >>> enumeration_nodes(integer_kernel([[1, 1]]), 8) < 10
    True
    """
    if square <= 0:
        return 1.0
    logs = np.log(lattice.float_lengths[::-1]).cumsum()
    sizes = [
        k / 2 * math.log(math.pi * square) - math.lgamma(k / 2 + 1) - cell for k, cell in enumerate(logs.tolist(), start=1)
    ]
    return math.fsum(math.exp(min(size, 700.0)) for size in sizes) + 1.0


def enumerated(lattice: Lattice, square: int, limit: int, radius: int | None = None) -> Vectors | None:
    """All v != 0 of the lattice with `||v||_2^2 <= square`, and `||v||_1 <= radius` if given, one of each pair +-v.

    Fincke and Pohst: coefficients are fixed from the last to the first, level by level for all partial vectors at once, and a
    partial vector is kept while its projection is short enough. None beyond `limit` vectors or `NODES` partial ones.
    """
    m = lattice.dimension
    partial, length = np.zeros((1, m), dtype=np.int64), np.zeros(1)
    for i in reversed(range(m)):
        grown = _grown(partial, length, lattice, i, square * (1.0 + GUARD))
        if grown is None:
            return None
        partial, length = grown
    basis = lattice.basis if _overflows(lattice, partial) else lattice.basis.astype(np.int64)
    vectors = partial @ basis
    keep = (vectors**2).sum(axis=1) <= square
    if radius is not None:
        keep &= np.abs(vectors).sum(axis=1) <= radius
    found = distinct(vectors[keep & (vectors != 0).any(axis=1)].astype(np.int64))
    return found if len(found) <= limit else None


def _grown(
    partial: NDArray[np.int64], length: NDArray[np.float64], lattice: Lattice, i: int, square: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """The partial vectors with coefficient i added; only 0, 1, ... where all later ones are 0, since v and -v are one."""
    centre = -(partial @ lattice.float_shear[:, i])
    reach = np.sqrt(np.maximum(square - length, 0.0)) / lattice.float_lengths[i]
    low, high = np.ceil(centre - reach - GUARD), np.floor(centre + reach + GUARD)
    low = np.where(partial.any(axis=1), low, 0.0)
    count = np.maximum(high - low + 1.0, 0.0)
    if count.sum() > NODES:
        return None
    number = count.astype(np.int64)
    row = np.repeat(np.arange(len(partial)), number)
    chosen = low[row].astype(np.int64) + np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number)
    grown = partial[row]
    grown[:, i] = chosen
    length = length[row] + ((chosen - centre[row]) * lattice.float_lengths[i]) ** 2
    return grown[length <= square], length[length <= square]


def _overflows(lattice: Lattice, partial: NDArray[np.int64]) -> bool:
    """May a squared length leave 64 bits?"""
    largest = (
        max((abs(int(x)) for x in lattice.basis.flat), default=0) * int(np.abs(partial).max(initial=0)) * lattice.dimension
    )
    return largest**2 * lattice.ambient >= 2**62


def _found(method: str, lattice: Lattice, vectors: Vectors | None) -> ShortVectors:
    if vectors is None:
        return ShortVectors(Status.TOO_LARGE, np.zeros((0, lattice.ambient), dtype=np.int64), method)
    return ShortVectors(Status.OPTIMAL, vectors, method)
