"""The star triangulation of a symmetric polytope from the origin: its proof, its volume and its moments.

A simplex conv(0, v_1, ..., v_s) is a row of s signed labels: label i < m is vertex +v_i, label m + i is -v_i. Only one of every
pair `T, -T` is stored; `both_halves` writes both.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.exact.points import ExactIntegers, Points
from solvers.work import spend

Labels = NDArray[np.int64]


def signed(labels: Labels, m: int) -> tuple[Labels, Labels]:
    """Vertex number and sign (+1, -1) of every label."""
    return labels % m, np.where(labels < m, 1, -1)


def opposite(labels: Labels, m: int) -> Labels:
    """The labels of the antipodes."""
    return (labels + m) % (2 * m)


def closes(simplices: Labels) -> bool:
    """Whether every ridge of these simplices, all of a boundary and not one of each pair, belongs to exactly two of them.

    >>> closes(np.array([[0, 1], [1, 2], [2, 3], [0, 3]])), closes(np.array([[0, 1], [1, 2]]))
    (True, False)
    """
    ordered = np.sort(simplices, axis=1)
    ridges = np.concatenate([np.delete(ordered, j, axis=1) for j in range(simplices.shape[1])])
    if simplices.shape[1] == 1 or not len(ridges):
        return len(ridges) == 2
    order, starts = grouped_labels(ridges, int(ordered.max()) + 1)
    return bool((np.diff(np.append(starts, len(order))) == 2).all())


def corners(points: Points, simplices: Labels) -> ExactIntegers:
    """Integer numerators of the corners, (T, s, s); corner j of simplex t is row j over its vertex's denominator."""
    rows, signs = signed(simplices, len(points))
    return np.asarray(points.numerators[rows] * signs[..., None])


def solved(block: ExactIntegers, right: list[list[int]]) -> tuple[ExactIntegers, int]:
    """`block @ x = right` over the rationals: x is the returned (s, k) integers over the returned positive integer.

    Raises ZeroDivisionError where the block is singular.
    """
    from flint import fmpq_mat, fmpz_mat

    s = len(right)
    solution: fmpq_mat = fmpz_mat(s, s, block.ravel().tolist()).solve(fmpz_mat(right))  # type: ignore[assignment]
    numerators, common = solution.numer_denom()
    return np.array([int(x) for x in numerators.entries()], dtype=object).reshape(s, -1), int(common)


def determinants(points: Points, simplices: Labels) -> list[int]:
    """`det` of the corner numerators of every simplex, exactly.

    Fraction-free elimination keeps only minors, which Hadamard bounds by r^s, r the longest row. Below 2^30.5 two of their
    products stay in 64 bits, and all simplices are eliminated together (34,000 of 9 x 9: 0.1 s against 2 s one by one).
    """
    from flint import fmpz_mat

    s = points.dimension
    longest = max(int((row * row).sum()) for row in points.numerators)
    spend(entries=proof_of(len(simplices), s))
    if longest**s < 2**61:
        return [int(x) for x in _small_determinants(corners(points, simplices).astype(np.int64))]
    spend(calls=0.5 * len(simplices))
    return [int(fmpz_mat(s, s, block.ravel().tolist()).det()) for block in corners(points, simplices)]


def proof_of(simplices: float, dimension: int) -> float:
    """Numbers that a proof looks at for so many simplices, one of each pair: 20 microseconds each in 9 dimensions."""
    return 80.0 * simplices * dimension**2


def _small_determinants(matrices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bareiss elimination of (T, s, s) at once; a zero column makes the pivot, and so the determinant, zero."""
    a, every = matrices.copy(), np.arange(len(matrices))
    sign, last = np.ones(len(a), np.int64), np.ones(len(a), np.int64)
    for k in range(a.shape[1] - 1):
        pivot = k + np.argmax(np.abs(a[:, k:, k]), axis=1)
        sign[pivot != k] *= -1
        a[every, k], a[every, pivot] = a[every, pivot], a[every, k].copy()
        lead = a[:, k, k]
        below = lead[:, None, None] * a[:, k + 1 :, k + 1 :] - a[:, k + 1 :, k, None] * a[:, None, k, k + 1 :]
        a[:, k + 1 :, k + 1 :] = below // last[:, None, None]
        last = np.where(lead == 0, 1, lead)
    return np.asarray(sign * a[:, -1, -1])


def both_halves(simplices: Labels, orientation: Labels, m: int) -> tuple[Labels, Labels]:
    """Both halves with labels ascending, and the sign of the determinant of the corners in that order."""
    full = np.vstack([simplices, opposite(simplices, m)])
    signs = np.concatenate([orientation, orientation * (-1) ** simplices.shape[1]])
    for i in range(full.shape[1]):
        signs = signs * np.where((full[:, i, None] > full[:, i + 1 :]).sum(axis=1) % 2, -1, 1)
    return np.sort(full, axis=1), signs


def open_ridges(simplices: Labels, orientation: Labels, m: int) -> NDArray[np.intp]:
    """Rows of `both_halves` with a ridge at which the oriented boundary of all simplices does not cancel.

    Empty means that the chain of boundary simplices is a cycle; see docs/theory/hull.md for what follows.
    """
    full, signs = both_halves(simplices, orientation, m)
    count, s = full.shape
    ridges = np.vstack([np.delete(full, j, axis=1) for j in range(s)])
    weight = np.concatenate([signs * (-1) ** j for j in range(s)])
    order, starts = grouped_labels(ridges, 2 * m)
    sums = np.add.reduceat(weight[order], starts)
    lengths = np.diff(np.append(starts, len(order)))
    return np.unique(order[np.repeat(sums != 0, lengths)] % count)


def grouped_labels(rows: Labels, base: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A sorting order of equal rows of labels below `base`, and where each group starts; labels are packed into as few 64-bit
    words as hold them."""
    per_word = max(1, int(62 / math.log2(max(2, base))))
    words = [np.zeros(len(rows), np.int64)]
    for j in range(rows.shape[1]):
        if j % per_word == 0 and j:
            words.append(np.zeros(len(rows), np.int64))
        words[-1] = words[-1] * base + rows[:, j]
    order = np.lexsort(words)
    changed = np.any([w[order][1:] != w[order][:-1] for w in words], axis=0)
    return order, np.flatnonzero(np.append(True, changed))


def covers_once(points: Points, simplices: Labels, facet_of: Labels) -> bool:
    """Does some direction lie in exactly one simplex? Tried inside a simplex of the facet that has fewest of them.

    The sum x of that simplex's corners lies in the relative interior of the facet's cone, so only simplices of the same
    facet can hold it; each other one must give x a negative coordinate.
    """
    counts = np.bincount(facet_of)
    same = np.flatnonzero(facet_of == np.argmin(np.where(counts > 0, counts, len(facet_of) + 1)))
    rows, signs = signed(simplices[same[0]], len(points))
    vertices = points.take(rows).fractions()
    inner = [sum(sign * v[k] for sign, v in zip(signs.tolist(), vertices, strict=True)) for k in range(points.dimension)]
    return not any(_holds(block, inner) for block in corners(points, simplices[same[1:]]))


def _holds(rows: ExactIntegers, x: list[Fraction]) -> bool:
    """Is x a nonnegative combination of the rows?"""
    from flint import fmpq, fmpq_mat, fmpz_mat

    s = len(x)
    columns = fmpq_mat(fmpz_mat(s, s, rows.T.ravel().tolist()))
    weights = columns.solve(fmpq_mat(s, 1, [fmpq(v.numerator, v.denominator) for v in x]))
    return all(w >= 0 for w in weights.entries())


def integer_volumes(points: Points, simplices: Labels, minors: list[int]) -> tuple[list[int], int]:
    """`(n, D)` with `|det(v_1, ..., v_s)| = n_t / D` of simplex t: D the product of the denominators of the vertices in use."""
    rows, _ = signed(simplices, len(points))
    common = math.prod(int(points.denominators[i]) for i in np.unique(rows))
    below = [math.prod(chosen) for chosen in points.denominators[rows].tolist()]
    return [abs(n) * (common // d) for n, d in zip(minors, below, strict=True)], common


def pair_weights(simplices: Labels, weights: list[int], m: int) -> ExactIntegers:
    """C (m, m) with `sum_t n_t (sum_i v_i v_i' + (sum_i v_i)(sum_i v_i)') = V' C V`, v_i the corners of simplex t."""
    rows, signs = signed(simplices, m)
    values = np.array(weights, dtype=object)
    total = np.zeros((m, m), object)
    for i in range(simplices.shape[1]):
        for j in range(simplices.shape[1]):
            factor = signs[:, i] * signs[:, j] * (2 if i == j else 1)
            np.add.at(total, (rows[:, i], rows[:, j]), values * factor)
    return total


def second_moment(points: Points, pairs: ExactIntegers, total: int) -> list[list[Fraction]]:
    """`E[U U']`, U uniform on the polytope: `V' C V / ((s + 1)(s + 2) sum_t n_t)`, exact: s lists of s.

    points V: (m, s). pairs C: (m, m) integers. total: `sum_t n_t`. Derivation: docs/theory/hull.md, "Volume and moments".
    """
    s, unit = points.dimension, math.lcm(*points.denominators.tolist())
    from flint import fmpz_mat

    m = len(points)
    scaled = points.numerators * (unit // points.denominators)[:, None]
    v = fmpz_mat(m, s, scaled.ravel().tolist())
    product = v.transpose() * fmpz_mat(m, m, pairs.ravel().tolist()) * v
    below = unit * unit * (s + 1) * (s + 2) * total
    return [[Fraction(int(product[i, j]), below) for j in range(s)] for i in range(s)]
