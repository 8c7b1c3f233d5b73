"""Short vectors of a kernel in the l1 norm, as differences of multisets of columns that have equal sums.

Why none is missed: docs/theory/lattice.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from solvers.exact.points import Integers

Labels = NDArray[np.int32]
Vectors = NDArray[np.int64]
MULTISETS = 5_000_000  # held at a time: about 0.3 GB
PAIRS = 50_000_000  # of equal fingerprints looked at: about 10 s
ENTRIES = 20_000_000  # of vectors written out at a time


def multiset_count(columns: int, radius: int, balanced: bool) -> int:
    """How many multisets of columns the search holds."""
    size = radius // 2 if balanced else (radius + 1) // 2
    return math.comb((columns if balanced else 2 * columns) + size, size)


def collisions(rows: Integers, radius: int, balanced: bool, limit: int) -> Vectors | None:
    """All v != 0 with `A v = 0`, `||v||_1 <= radius`, one of each pair +-v; None beyond the limits of count and memory.

    `balanced` promises that `A v = 0` implies `sum v = 0`: then v+ and v- are multisets of at most radius/2 columns of A.
    Otherwise v is split into two halves of at most ceil(radius/2) columns of [A, -A]. Sums are compared by a 64-bit fingerprint
    that is linear in them: equal sums never differ in it, and chance agreements fall to the exact check `A v = 0`.
    rows A: (k, d) integers. Returns (n, d), or None.
    """
    d = rows.shape[1]
    if multiset_count(d, radius, balanced) > MULTISETS:
        return None
    columns = rows if balanced else np.hstack([rows, -rows])
    multisets = _multisets(columns.shape[1] + 1, radius // 2 if balanced else (radius + 1) // 2)
    order, first, pairs = _buckets(_fingerprints(columns)[multisets].sum(axis=1, dtype=np.uint64))
    if pairs.sum() > PAIRS:
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


def _fingerprints(columns: Integers) -> NDArray[np.uint64]:
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


def _in_kernel(vectors: Vectors, rows: Integers, radius: int) -> Vectors:
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
