"""Which coordinates share a hull: bundles of coordinates, merged one after the other while the loss of the noise falls.

Vectors r_m that a norm ball has to hold; for a bundle B of coordinates `g_B` is the gauge of `conv{+-r_mB}`. Two norms keep
every vector within their unit ball: `max_B g_B`, and `sum_B w_B g_B` with weights for which `sum_B w_B g_B(r_m) <= 1`. Under a
density `exp(-norm)` the bundles are uncorrelated, and with U_B uniform on the hull of B, m_B = tr(V_BB E[U_B U_B']),

    max:  E z'Vz = (s + 1)(s + 2) sum_B m_B,          sum:  E z'Vz = sum_B (s_B + 1)(s_B + 2) m_B / w_B^2.

The weights of the sum are a convex program (`scales.py`), the loss of the maximum is closed. Theory:
docs/theory/bundles.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solvers.programs.scales import minimise_scales
from solvers.work import is_over, spend

Floats = NDArray[np.float64]
Bundle = tuple[int, ...]
Combine = Literal["sum", "max"]
STARTING_ROWS = 1000


@dataclass(frozen=True)
class Bundling:
    """Disjoint bundles of all coordinates, their weights (B,), 1 under "max", and the expected loss of the noise."""

    bundles: tuple[Bundle, ...]
    weights: Floats
    value: float


def best_bundling(vectors: Floats, loss: Floats, combine: Combine, largest: int) -> Bundling:
    """The bundling of least loss on two paths of merges, until no two bundles fit into one: from coordinates by themselves, and
    from those that vectors move together.

    vectors r: (M, s), of rank s. loss V: (s, s), positive semidefinite. largest: coordinates of a bundle, at most.
    The weights hold for these vectors.
    """
    hulls = _Hulls(vectors, loss)
    starts = {tuple((k,) for k in range(vectors.shape[1])), _moved_together(vectors, largest)}
    return min((_path(hulls, start, combine, largest) for start in sorted(starts)), key=lambda one: one.value)


def _path(hulls: _Hulls, start: tuple[Bundle, ...], combine: Combine, largest: int) -> Bundling:
    """The best bundling from a start until nothing can be merged, or until its work is done."""
    best = state = _priced(hulls, start, combine)
    while not is_over() and (merged := _merged(hulls, state, combine, largest)) is not None:
        state = _priced(hulls, merged, combine)
        best = min(best, state, key=lambda bundling: bundling.value)
    return best


def _moved_together(vectors: Floats, largest: int) -> tuple[Bundle, ...]:
    """Coordinates that some vector moves together, directly or through others; too many of them stay by themselves."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    moves = csr_matrix((np.abs(vectors) > 1e-9 * np.abs(vectors).max(axis=0)).astype(np.int64))
    count, label = connected_components(moves.T @ moves, directed=False)
    parts = [tuple(np.flatnonzero(label == c).tolist()) for c in range(count)]
    return tuple(piece for part in parts for piece in ([part] if len(part) <= largest else [(k,) for k in part]))


def bundle_costs(sizes: Sequence[int], moments: Floats) -> Floats:
    """`(s_B + 1)(s_B + 2) m_B`, the losses of bundles of weight 1 under the sum; moments m: (B,)."""
    return np.array([(size + 1) * (size + 2) for size in sizes]) * moments


def bundle_weights(gauges: Floats, costs: Floats) -> Floats:
    """Weights w of least `sum_B c_B / w_B^2` with `gauges @ w <= 1`, up to 1e-7 of the sum.

    gauges: (M, B), no zero column. costs c: (B,), positive. Weights (B,).
    """
    longest = np.concatenate([np.argsort(-gauges.sum(axis=1))[:STARTING_ROWS], gauges.argmax(axis=0)])

    def separate(weights: Floats) -> tuple[float, Floats]:
        loads = gauges @ weights
        worst = np.argsort(-loads)[:STARTING_ROWS]
        return float(loads[worst[0]]), gauges[worst[loads[worst] > 1]]

    return np.asarray(minimise_scales(gauges[np.unique(longest)], costs, 2, separate, tolerance=1e-7).point)


class _Hulls:
    """Gauges of all vectors and moments of the hulls, in floating point; each bundle is computed once."""

    def __init__(self, vectors: Floats, loss: Floats) -> None:
        self.size = np.abs(vectors).max(axis=0)
        self.vectors = vectors / self.size
        self.loss = loss * np.outer(self.size, self.size)
        self.known: dict[Bundle, tuple[Floats, float]] = {}

    def of(self, bundle: Bundle) -> tuple[Floats, float]:
        """`g_B(r_m)`, (M,), and m_B; infinite where floats find no hull."""
        if bundle not in self.known:
            rows = self.vectors[:, bundle]
            gauges, moment = (np.abs(rows[:, 0]), np.array([[1 / 3]])) if len(bundle) == 1 else _hull(rows)
            self.known[bundle] = gauges, float((self.loss[np.ix_(bundle, bundle)] * moment).sum())
        return self.known[bundle]


def _hull(rows: Floats) -> tuple[Floats, Floats]:
    """The gauges of the rows in their symmetric hull, (M,), and `E[U U']`, (s, s), of U uniform on it."""
    from scipy.spatial import ConvexHull, QhullError

    s = rows.shape[1]
    corners = _different(np.concatenate([rows, -rows]))
    spend(calls=20, entries=50.0 * s * s * len(corners))
    try:
        hull = ConvexHull(corners, qhull_options="QJ Pp")
    except QhullError:
        return np.ones(len(rows)), np.diag(np.full(s, np.inf))
    normals = -hull.equations[:, :-1] / hull.equations[:, -1:]
    cones = corners[hull.simplices]
    volumes, middles = np.abs(np.linalg.det(cones)), cones.sum(axis=1)
    squares = np.einsum("t,tij,tik->jk", volumes, cones, cones) + np.einsum("t,tj,tk->jk", volumes, middles, middles)
    return (rows @ normals.T).max(axis=1), squares / volumes.sum() / ((s + 1) * (s + 2))


def _different(rows: Floats) -> Floats:
    """The different rows, in order: `np.unique(rows, axis=0)` in a fifth of its time."""
    ordered = rows[np.lexsort(rows.T[::-1])]
    return np.asarray(ordered[np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))])


def _priced(hulls: _Hulls, bundles: tuple[Bundle, ...], combine: Combine) -> Bundling:
    """The bundling with its weights and its loss."""
    moments = np.array([hulls.of(bundle)[1] for bundle in bundles])
    s = hulls.vectors.shape[1]
    if combine == "max":
        return Bundling(bundles, np.ones(len(bundles)), (s + 1) * (s + 2) * float(moments.sum()))
    spend(calls=100, entries=50.0 * len(hulls.vectors) * len(bundles))
    costs = bundle_costs([len(bundle) for bundle in bundles], moments)
    if not np.isfinite(costs).all():
        return Bundling(bundles, np.ones(len(bundles)), np.inf)
    weights = bundle_weights(np.stack([hulls.of(bundle)[0] for bundle in bundles], axis=1), costs)
    return Bundling(bundles, weights, float((costs / weights**2).sum()))


def _merged(hulls: _Hulls, state: Bundling, combine: Combine, largest: int) -> tuple[Bundle, ...] | None:
    """The bundles after the merge that promises the least loss, which may be above that of the state; None without any."""
    gains = dict(_gains_of_sum(hulls, state, largest) if combine == "sum" else _gains_of_max(hulls, state, largest))
    if not gains:
        return None
    i, j = max(gains, key=lambda pair: gains[pair])
    rest = [bundle for k, bundle in enumerate(state.bundles) if k not in (i, j)]
    return (*rest, _together(state, i, j))


def _together(state: Bundling, i: int, j: int) -> Bundle:
    return tuple(sorted(state.bundles[i] + state.bundles[j]))


def _fitting(state: Bundling, largest: int) -> Iterator[tuple[int, int]]:
    """Pairs of bundles that are small enough for one."""
    sizes = [len(bundle) for bundle in state.bundles]
    return ((i, j) for i, j in combinations(range(len(sizes)), 2) if sizes[i] + sizes[j] <= largest)


def _gains_of_max(hulls: _Hulls, state: Bundling, largest: int) -> Iterator[tuple[tuple[int, int], float]]:
    """The exact gain `m_i + m_j - m_ij` of each merge."""
    moments = [hulls.of(bundle)[1] for bundle in state.bundles]
    return (((i, j), moments[i] + moments[j] - hulls.of(_together(state, i, j))[1]) for i, j in _fitting(state, largest))


def _gains_of_sum(hulls: _Hulls, state: Bundling, largest: int) -> Iterator[tuple[tuple[int, int], float]]:
    """A gain that is certain: the other weights stay, and the merged bundle takes all that the vectors leave it."""
    gauges = np.stack([hulls.of(bundle)[0] for bundle in state.bundles], axis=1)
    parts = gauges * state.weights
    moments = np.array([hulls.of(bundle)[1] for bundle in state.bundles])
    losses = bundle_costs([len(bundle) for bundle in state.bundles], moments) / state.weights**2
    left = 1 - parts.sum(axis=1)
    for i, j in _fitting(state, largest):
        bundle = _together(state, i, j)
        gauge, moment = hulls.of(bundle)
        weight = 1 / (gauge / np.maximum(left + parts[:, i] + parts[:, j], 1e-300)).max()
        merged = bundle_costs([len(bundle)], np.array([moment])) / weight**2
        yield (i, j), float(losses[i] + losses[j] - merged[0])
