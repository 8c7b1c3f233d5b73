"""All short integer vectors of a kernel, by collisions of column sums or by enumeration in a reduced basis."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.exact.points import ExactIntegers, integer_matrix
from solvers.lattices.kernel import Lattice, integer_kernel
from solvers.limits import MOST_EQUAL_PAIRS, MOST_MULTISETS, MOST_PARTIAL_VECTORS
from solvers.solution import Status

# Short vectors of a kernel in the l1 norm, as differences of multisets of columns that have equal sums.
#
# Why none is missed: docs/theory/lattice.md, section 1.


Labels = NDArray[np.int32]
Vectors = NDArray[np.int64]
ENTRIES = 20_000_000  # of vectors written out at a time


def multiset_count(columns: int, radius: int, balanced: bool) -> int:
    """How many multisets of columns the search holds."""
    size = radius // 2 if balanced else (radius + 1) // 2
    return math.comb((columns if balanced else 2 * columns) + size, size)


def collisions(rows: ExactIntegers, radius: int, balanced: bool, limit: int) -> Vectors | None:
    """All v != 0 with `A v = 0`, `||v||_1 <= radius`, one of each pair +-v; None beyond the limits of count and memory.

    `balanced` promises that `A v = 0` implies `sum v = 0`: then v+ and v- are multisets of at most radius/2 columns of A.
    Otherwise v is split into two halves of at most ceil(radius/2) columns of [A, -A]. Sums are compared by a 64-bit fingerprint
    that is linear in them: equal sums never differ in it, and chance agreements fall to the exact check `A v = 0`.
    rows A: (k, d) integers. Returns (n, d), or None.
    """
    d = rows.shape[1]
    if multiset_count(d, radius, balanced) > MOST_MULTISETS:
        return None
    columns = rows if balanced else np.hstack([rows, -rows])
    multisets = _multisets(columns.shape[1] + 1, radius // 2 if balanced else (radius + 1) // 2)
    order, first, pairs = _buckets(_fingerprints(columns)[multisets].sum(axis=1, dtype=np.uint64))
    if pairs.sum() > MOST_EQUAL_PAIRS:
        return None
    found = [np.zeros((0, d), dtype=np.int64)]
    seen = 0
    for left, right in _pairs(first, pairs, max(1, ENTRIES // d)):
        disjoint = _disjoint(multisets[order[left]], multisets[order[right]], columns.shape[1])
        seen += int(disjoint.sum())
        if balanced and seen > limit:  # every vector is one pair: v+ and v-
            return None
        one, other = (multisets[order[side[disjoint]]] for side in (left, right))
        found.append(distinct(_in_kernel(_differences(one, other, d, columns.shape[1]), rows, radius)))
        if sum(map(len, found)) > limit:
            found = [distinct(np.concatenate(found))]
            if len(found[0]) > limit:
                return None
    return distinct(np.concatenate(found))


def _multisets(symbols: int, size: int) -> Labels:
    """Nondecreasing sequences of `size` symbols, (N, size): the last symbol stands for no column,
    so smaller multisets are among them."""
    chosen: Labels = np.zeros((1, 0), dtype=np.int32)
    for _ in range(size):
        low = chosen[:, -1] if chosen.shape[1] else np.zeros(1, dtype=np.int32)
        rows = np.repeat(np.arange(len(chosen)), symbols - low)
        starts = np.repeat(np.cumsum(symbols - low) - (symbols - low), symbols - low)
        added = np.arange(len(rows)) - starts + low[rows]
        chosen = np.hstack([chosen[rows], added[:, None].astype(np.int32)])
    return chosen


def _fingerprints(columns: ExactIntegers) -> NDArray[np.uint64]:
    """A random linear map of the columns modulo 2^64, and 0 for no column. Any multipliers are right; random ones are fast."""
    multipliers = [int(x) for x in np.random.Philox(1).random_raw(len(columns))]
    prints = [sum(m * int(x) for m, x in zip(multipliers, column, strict=True)) % 2**64 for column in columns.T]
    return np.array([*prints, 0], dtype=np.uint64)


def _buckets(prints: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """The order that sorts the fingerprints; for each place in it that has partners further on, the place and their number."""
    order = np.argsort(prints, kind="stable")
    ordered = prints[order]
    ends = np.searchsorted(ordered, ordered, side="right")
    partners = ends - np.arange(len(ordered)) - 1
    first = np.flatnonzero(partners)
    return order, first, partners[first]


def _pairs(
    first: NDArray[np.intp], partners: NDArray[np.intp], portion: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """All pairs (place, later place with the same fingerprint), about `portion` at a time."""
    ends = np.cumsum(partners)
    start = 0
    while start < len(first):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + portion, side="right")))
        count = partners[start:stop]
        left = np.repeat(first[start:stop], count)
        yield left, left + 1 + np.arange(len(left)) - np.repeat(ends[start:stop] - count - done, count)
        start = stop


def _disjoint(left: Labels, right: Labels, nothing: int) -> NDArray[np.bool_]:
    """Pairs without a common column; the others differ by a vector that smaller multisets give as well."""
    shared = np.zeros(len(left), dtype=np.bool_)
    for i in range(left.shape[1]):
        for j in range(right.shape[1]):
            shared |= (left[:, i] == right[:, j]) & (left[:, i] != nothing)
    return ~shared


def _differences(left: Labels, right: Labels, d: int, nothing: int) -> Vectors:
    """The vectors v of the pairs: columns d .. 2d - 1, where there are any, are the negatives of 0 .. d - 1."""
    vectors = np.zeros((len(left), d), dtype=np.int64)
    row = np.arange(len(left))
    for labels, sign in ((left, 1), (right, -1)):
        for column in labels.T:
            vectors[row, column % d] += np.where(column == nothing, 0, np.where(column < d, sign, -sign))
    return vectors


def _in_kernel(vectors: Vectors, rows: ExactIntegers, radius: int) -> Vectors:
    """Those with `A v = 0` exactly and norm between 1 and the radius."""
    size = np.abs(vectors).sum(axis=1)
    vectors = vectors[(size > 0) & (size <= radius)]
    fits = max((abs(int(x)) for x in rows.flat), default=0) * radius < 2**62
    return np.asarray(vectors[(vectors @ rows.T.astype(np.int64 if fits else object) == 0).all(axis=1)])


def distinct(vectors: Vectors) -> Vectors:
    """One of each pair +-v, with the first nonzero entry positive, each once, in lexicographic order.

    Rows are compared as bytes, big end first and with the sign bit turned: 0.5 s where comparing
    them by fields takes 4 s (88,425 x 100).
    """
    if not len(vectors):
        return vectors
    lead = vectors[np.arange(len(vectors)), np.argmax(vectors != 0, axis=1)]
    vectors = np.where(lead[:, None] < 0, -vectors, vectors)
    keys = (vectors.view(np.uint64) ^ np.uint64(2**63)).astype(">u8")
    keys = np.ascontiguousarray(keys).view(f"V{8 * vectors.shape[1]}").ravel()
    return np.asarray(vectors[np.unique(keys, return_index=True)[1]])


Length = Literal["l1", "l2"]
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
        return _short_vectors("enumeration", lattice, enumerated(lattice, radius**2, limit))
    balanced = fixes_total(lattice)
    # With a fixed total v+ and v- both have sum at most radius / 2, and squared lengths at most its square.
    square = 2 * (radius // 2) ** 2 if balanced else radius**2
    if multiset_count(rows.shape[1], radius, balanced) <= min(MOST_MULTISETS, enumeration_nodes(lattice, square)):
        return _short_vectors("collisions", lattice, collisions(rows, radius, balanced, limit))
    return _short_vectors("enumeration", lattice, enumerated(lattice, square, limit, radius))


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
    partial vector is kept while its projection is short enough. None beyond `limit` vectors, or
    `MOST_PARTIAL_VECTORS` partial ones.
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
    if count.sum() > MOST_PARTIAL_VECTORS:
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


def _short_vectors(method: str, lattice: Lattice, vectors: Vectors | None) -> ShortVectors:
    if vectors is None:
        return ShortVectors(Status.TOO_LARGE, np.zeros((0, lattice.ambient), dtype=np.int64), method)
    return ShortVectors(Status.OPTIMAL, vectors, method)
