"""The dual bound of the ellipsoid program, proven in floating point: every rounding is counted, and taken off.

Let S be a covariance with `(h' z)^2 <= h' S h` for some vectors z and all h. For directions `h_m = E g_m` (rows g of G) and any
vectors z_m of that kind,

    tr S  >=  sum_m h_m' S h_m / |sum_m h_m h_m'|  >=  sum_m (h_m' z_m)^2 / (|E|^2 |G|^2),

with spectral norms on the right. Whatever E and G are, this holds for them as the floats that they are; the ones that a solver
proposes are good, and only the sizes on the right side have to be evaluated (docs/theory/least_noise.md, section 3).
"""

from __future__ import annotations

import numpy as np

from solvers.ellipsoids.rows import Array

UNIT = 2.0**-52  # twice the unit roundoff: what first-order terms of rounding leave out is far below the rest
LEAST = 1e-280  # below, numbers lose digits that no relative error counts


def proven_trace(vectors: Array, errors: Array, frame: Array, directions: Array) -> float:
    """A number proven to be at most `tr S` for every S >= 0 such that `(h' z_m)^2 <= h' S h` for all h and m.

    vectors: (p, K), each within `errors` (p,), in Euclidean length, of the z_m that is meant. frame: E, (K, s). directions: G,
    (p, s). A sum of n products is off by at most n / 2 `UNIT` times the sum of their sizes, in whatever order it is added.

    >>> proven_trace(np.array([[3.0, 0.0], [0.0, 1.0]]), np.zeros(2), np.eye(2), np.eye(2)) > 10 * (1 - 1e-12)
    True
    """
    count, order = directions.shape
    lengths = np.linalg.norm(vectors, axis=1) + errors
    reach = np.abs(np.einsum("ms,ms->m", directions, vectors @ frame))
    sizes = np.linalg.norm(frame) * np.linalg.norm(directions, axis=1) * (1 + (len(frame) + order + 8) * UNIT)
    lost = sizes * (errors + (len(frame) + order + 8) * UNIT * lengths)
    total = float((np.maximum(reach - lost, 0.0) ** 2).sum())
    if not total > LEAST:
        return 0.0
    spread = _largest_square(frame) * _largest_square(directions)
    return float(total * (1 - (count + 8) * UNIT) / (spread * (1 + 8 * UNIT)))


def _largest_square(matrix: Array) -> float:
    """At least the largest eigenvalue of `matrix' matrix`: no eigenvalue exceeds the largest sum of sizes in a row.

    Rounding moves an entry by at most the product of two columns' lengths.
    """
    lengths = np.linalg.norm(matrix, axis=0)
    off = (len(matrix) + 8) * UNIT * lengths * lengths.sum()
    rows = np.abs(matrix.T @ matrix).sum(axis=1)
    return float((rows * (1 + (len(rows) + 8) * UNIT) + off).max(initial=0.0))
