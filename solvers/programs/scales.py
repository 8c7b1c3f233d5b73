"""Weights w of an l1 norm: minimise `sum_k v_k f_k(w_k)` subject to `sum_k r_mk w_k <= 1` for every row r_m >= 0.

f_k is w^-p, or what noise on multiples of a step costs (`noise_costs`): convex and falling, and the constraints are linear, so
the minimum is global. For multipliers lambda >= 0 with `a = r' lambda` the Lagrangian is separable, and its minimum over w,

    g(lambda) = sum_k min_w (v_k f_k(w) + a_k w) - sum_m lambda_m,

bounds the cost of all feasible weights from below. Any lambda proves a bound, whoever found it. See docs/theory/scales.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solvers.programs.noise_costs import NoiseCost
from solvers.solution import Solution, Status
from solvers.work import is_over, spend

Floats = NDArray[np.float64]
Separation = Callable[[Floats], tuple[float, Floats]]
DUAL_STEPS = 40  # Newton's method on a multiple of the multipliers; any number of steps leaves a bound
# Of what the noise costs on the real line: less is nothing that floats could balance, so all costs are made equal.
NIL, VANISHED = 1e-60, 1e-250
STRAIGHT = 1e-40  # of the largest curvature
FAR_OFF = 1e-3  # of the value: a surrogate gap above it is not worth a certified one
MANY, SPARSE = 64, 0.05  # columns, and the share of entries that are not 0, from and up to which zeros are skipped
OUTDONE = 4.0  # times what is reached elsewhere: merges of up to four coordinates have gained a factor of 2.4
SETTLED = 1e-8  # of the right-hand side: what a solution through few rows may leave


def minimise_scales(
    rows: Floats,
    costs: Floats,
    power: int,
    separate: Separation | None = None,
    *,
    steps: Floats | None = None,
    noise: type[NoiseCost] = NoiseCost,
    tolerance: float = 1e-9,
    rounds: int = 60,
) -> Solution[Floats]:
    """The global optimum over `rows`, or over an implicit set of rows that `separate` scans.

    rows: (M, K), nonnegative, no zero column; costs v: (K,), positive; power p: 1 (sum of scales) or 2 (sum of squared scales).
    steps h: (K,), of the grid on which the noise lies, 0 (the real line) where none are given. noise: whose costs these are.
    separate(w) returns the largest `r w` over the implicit set and some rows that exceed 1 most; it is called until the
    certified gap, measured after division by that largest value, is at most `tolerance`.
    The point is w with every row at most 1 (up to rounding), the value is the cost there. Where noise is so narrow beside the
    steps that it hardly ever differs from 0, all costs are made equal, and the bound is one of them.
    """
    cost = noise.of(costs, power, steps)
    if cost.steps.any() and _equal_cost(rows, cost) <= NIL * _equal_on_line(rows, cost):
        found = equalise_costs(rows, costs, power, separate, steps=steps, noise=noise, tolerance=tolerance, rounds=rounds)
        value = cost.value(found.point)
        met = value - found.lower_bound <= tolerance * value
        return replace(found, status=found.status if met else Status.STALLED, value=value)

    def least(rows: Floats) -> tuple[Floats, float, Floats]:
        rows = np.unique(rows[rows.max(axis=1) > 0], axis=0)
        weights, multipliers = interior_point(rows, cost)
        # Rows that are far from binding never come back: dropping them keeps the Newton systems small.
        return weights, dual_bound(rows, cost, multipliers), rows[rows @ weights > 0.5]

    found = _in_rounds(rows, least, cost.value, separate, tolerance, rounds)
    return replace(found, method="interior point on a working set of rows")


def equalise_costs(
    rows: Floats,
    costs: Floats,
    power: int,
    separate: Separation | None = None,
    *,
    steps: Floats | None = None,
    noise: type[NoiseCost] = NoiseCost,
    tolerance: float = 1e-9,
    rounds: int = 60,
) -> Solution[Floats]:
    """Weights of the least `max_k v_k f_k(w_k)`: at the optimum all of these are equal, as raising any other weight only
    tightens the constraints.

    `w(t)`, the weights at which all cost t, falls in t. So the t at which the worst of some rows is 1 bounds the optimum over
    all of them from below, and rounds go on until no row exceeds 1 there.
    rows: (M, K); costs, steps and noise: as in `minimise_scales`.
    """
    cost = noise.of(costs, power, steps)

    def equal(rows: Floats) -> tuple[Floats, float, Floats]:
        t = _equal_cost(rows, cost)
        return cost.weights_at(t or VANISHED * _equal_on_line(rows, cost)), t * (1 - 1e-12), rows

    found = _in_rounds(rows, equal, lambda weights: float(cost.values(weights).max()), separate, tolerance, rounds)
    return replace(found, method="equal costs: one unknown")


def _in_rounds(
    rows: Floats,
    solve: Callable[[Floats], tuple[Floats, float, Floats]],
    value: Callable[[Floats], float],
    separate: Separation | None,
    tolerance: float,
    rounds: int,
) -> Solution[Floats]:
    """Weights of least value over growing sets of rows, whoever solves for some of them.

    solve: weights for some rows, a bound that no weights feasible for them beat, and the rows to go on with. value: of weights.
    The bound of every round holds for all rows, and weights divided by the worst of all rows are feasible. Weights that come
    back end the rounds: the rows that exceed 1 there are known already.
    """
    best, bound, iterations, last = (np.inf, 1.0 / rows.max(axis=0)), 0.0, 0, np.zeros(0)
    for iterations in range(1, rounds + 1):  # noqa: B007
        weights, below, kept = solve(rows)
        bound = max(bound, below)
        if np.array_equal(weights, last):
            break
        last = weights
        worst, more = separate(weights) if separate else (float((rows @ weights).max()), rows[:0])
        best = min(best, (value(weights / worst), weights / worst), key=lambda pair: pair[0])
        if best[0] - bound <= tolerance * best[0] or not len(more):
            break
        rows = np.concatenate([kept, more])
    status = Status.OPTIMAL if best[0] - bound <= tolerance * best[0] else Status.STALLED
    return Solution(status, best[1], best[0], min(bound, best[0]), iterations, "rounds")


def _equal_on_line(rows: Floats, cost: NoiseCost) -> float:
    """What every row of w costs on the real line where all cost the same; no grid exceeds it."""
    return float((rows @ cost.costs ** (1 / cost.power)).max() ** cost.power)


def _equal_cost(rows: Floats, cost: NoiseCost) -> float:
    """The t at which the largest `r w(t)` is 1, to the last few places, by bisection of its logarithm; 0 where t vanishes."""
    line = _equal_on_line(rows, cost)
    low, high = line, line
    while (rows @ cost.weights_at(low)).max() < 1.0:
        low /= 1e3
        if low < VANISHED * line:
            return 0.0
    for _ in range(200):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (middle, high) if (rows @ cost.weights_at(middle)).max() > 1.0 else (low, middle)
    return low


def dual_bound(rows: Floats, cost: NoiseCost, multipliers: Floats) -> float:
    """The best dual bound among multiples of `multipliers`: closed on the real line, found by Newton's method on a grid.

    With `G = (1 + p) p^(-p/(p+1)) sum_k v_k^(1/(p+1)) a_k^(p/(p+1))` and `S = sum lambda`, the maximum over t of
    `G t^(p/(p+1)) - S t` is `G^(p+1) p^p / ((p + 1)^(p+1) S^p)`. Lowered by 1e-13 for the rounding of the sums.
    rows: (M, K). multipliers lambda: (M,), nonnegative.
    """
    p = cost.power
    total = float(multipliers.sum())
    if total <= 0.0:
        return 0.0
    share = rows.T @ (multipliers / total)
    gain = (1 + p) * p ** (-p / (p + 1)) * float((cost.costs ** (1 / (p + 1)) * share ** (p / (p + 1))).sum())
    if cost.steps.any():
        size = float((cost.costs * share**p).max())
        return size * _bound_on_grid(cost.in_units(1 / share), (gain * p / (p + 1)) ** (p + 1) / size)
    return float(gain ** (p + 1) * p**p / (p + 1) ** (p + 1) * (1 - 1e-13))


def _bound_on_grid(cost: NoiseCost, start: float) -> float:
    """`sum_k min_w (v_k f_k(w) + t w) - t` for the t, sought from `start`, at which it is about largest.

    At any weights w, with `a_k` minus the slope of `v_k f_k` there, the minimum over w of `v_k f_k + a_k w` is attained: the
    bound is exact for slopes a, and it grows with them. So it is taken at `t = max a_k`, not at the t sought.
    """
    t = start
    for _ in range(DUAL_STEPS):
        weights = cost.least(np.full_like(cost.costs, t))
        (pull, curvature), load = cost.slopes(weights), float(weights.sum())
        if abs(load - 1.0) <= 1e-12 or not pull.sum() > 0.0:
            break
        # Of log(load) in log(t): a w falls by a^2 / (v f'') for a step of log a.
        slope = float((pull**2 / curvature).sum()) / float(pull.sum())
        t *= min(max(load ** (1 / slope), 1e-30), 1e30)
    weights = cost.least(np.full_like(cost.costs, t))
    pull = cost.pull(weights)
    return float(((cost.values(weights) + pull).sum() - (pull / weights).max()) * (1 - 1e-13))


def interior_point(rows: Floats, cost: NoiseCost, tolerance: float = 1e-11) -> tuple[Floats, Floats]:
    """Primal-dual Newton iteration (Boyd and Vandenberghe, section 11.7); returns weights and multipliers.

    Unknowns are rescaled to `w = unit * x`, where unit_k is the largest weight that query k could have alone: x <= 1 at the
    optimum, whatever the units. Ends on the certified gap, or when rounding stops all progress.
    rows: (M, K). Weights (K,), multipliers (M,), those of the cost divided by the largest `v_k unit_k^-p`.
    """
    unit = 1.0 / rows.max(axis=0)
    scaled, inner = rows * unit, cost.in_units(unit)
    x = _warm_start(scaled, inner.costs, cost.power)
    multipliers = inner.value(x) / len(rows) / (1.0 - scaled @ x)
    states = [_certified(scaled, inner, x, multipliers)]
    passed: list[tuple[Floats, Floats]] = []
    while states[-1][0] > tolerance and len(states) + len(passed) < 200:
        moved = _newton_step(scaled, inner, x, multipliers)
        if moved is None:
            break
        x, multipliers = moved
        if float((1.0 - scaled @ x) @ multipliers) > FAR_OFF * inner.value(x):
            passed.append(moved)
        else:
            states.append(_certified(scaled, inner, x, multipliers))
    if states[-1][0] > FAR_OFF:
        states += [_certified(scaled, inner, *state) for state in passed]
    best = min(states, key=lambda state: state[0])
    return best[1] * unit, best[2]


def _certified(rows: Floats, cost: NoiseCost, x: Floats, multipliers: Floats) -> tuple[float, Floats, Floats]:
    """The certified gap of a state, and the state."""
    return 1.0 - dual_bound(rows, cost, multipliers) / cost.value(x / (rows @ x).max()), x, multipliers


def _warm_start(rows: Floats, v: Floats, p: int) -> Floats:
    """An interior point near the optimum: multiplicative updates of the multipliers,
    which move mass to the rows that are violated.

    From the plain start (all unknowns equal) Newton crawls along the boundary when costs and rows span many orders of
    magnitude. With K = 200, M = 2000, eight orders: a gap of 1 after 200 steps without these updates, 7e-11 with them.
    """
    multipliers = np.full(len(rows), 1.0 / len(rows))
    for _ in range(50):
        x = (p * v / (rows.T @ multipliers)) ** (1 / (p + 1))
        load = rows @ x
        multipliers = multipliers * np.sqrt(np.maximum(load / load.max(), 1e-3))
        multipliers /= multipliers.sum()
    return np.asarray(0.9 * x / load.max())


def _newton_direction(rows: Floats, ratio: Floats, push: Floats, pull: Floats, curvature: Floats) -> Floats:
    """The d that solves `(r' diag(ratio) r + diag(curvature)) d = pull - r' push`.

    Where a column of r is a multiple of another one and its costs are 1e-16 of the others', rounding leaves that matrix
    singular. The same d is the least-squares solution of `sqrt(ratio) r d = -push / sqrt(ratio)` and
    `sqrt(curvature) d = pull / sqrt(curvature)`, whose condition is the square root. Costs that vanish bend by a little here,
    so that steps stay finite.
    """
    curvature = np.maximum(curvature, STRAIGHT * curvature.max())
    sought = pull - rows.T @ push
    if rows.shape[1] >= max(MANY, 2 * len(rows)):
        few = _through_few_rows(rows, ratio, curvature, sought)
        if few is not None:
            return few
    hessian = _weighted_gram(rows, ratio)
    hessian[np.diag_indices_from(hessian)] += curvature
    try:
        return np.asarray(np.linalg.solve(hessian, sought))
    except np.linalg.LinAlgError:
        root = np.sqrt(ratio)
        stacked = np.concatenate([root[:, None] * rows, np.diag(np.sqrt(curvature))])
        found = np.linalg.lstsq(stacked, np.concatenate([-push / root, pull / np.sqrt(curvature)]), rcond=None)
        return np.asarray(found[0])


def _through_few_rows(rows: Floats, ratio: Floats, curvature: Floats, sought: Floats) -> Floats | None:
    """The d of `_newton_direction` from a system of as many unknowns as rows, M^2 K operations in place of K^3; None where
    rounding spoils it.

    With `B = sqrt(ratio) r / sqrt(curvature)` the matrix is `sqrt(curvature) (I + B' B) sqrt(curvature)`, and
    `(I + B' B)^-1 c = c - B' (I + B B')^-1 B c` (Sherman, Morrison and Woodbury). What the first solution leaves is solved
    for once more.
    """
    root = np.sqrt(curvature)
    held = np.sqrt(ratio)[:, None] * rows / root
    small = held @ held.T
    small[np.diag_indices_from(small)] += 1.0

    def solved(given: Floats) -> Floats:
        c = given / root
        return np.asarray((c - held.T @ np.linalg.solve(small, held @ c)) / root)

    def left(found: Floats) -> Floats:
        return np.asarray(sought - curvature * found - rows.T @ (ratio * (rows @ found)))

    try:
        found = solved(sought)
        found = found + solved(left(found))
    except np.linalg.LinAlgError:
        return None
    return found if np.linalg.norm(left(found)) <= SETTLED * np.linalg.norm(sought) else None


def _weighted_gram(rows: Floats, ratio: Floats) -> Floats:
    """`r' diag(ratio) r`, (K, K), from the entries that are not 0 where few are: a change moves few of many counts."""
    if rows.shape[1] < MANY or np.count_nonzero(rows) > SPARSE * rows.size:
        return np.asarray((rows.T * ratio) @ rows)
    from scipy.sparse import csr_array

    held = csr_array(rows)
    return np.asarray((held.T @ csr_array(held.multiply(ratio[:, None]))).toarray())


def _newton_step(rows: Floats, cost: NoiseCost, x: Floats, multipliers: Floats) -> tuple[Floats, Floats] | None:
    """One step towards a tenth of the surrogate gap, cut until everything stays positive and the residual falls;
    None when it cannot."""
    slack = 1.0 - rows @ x
    target = 0.1 * float(slack @ multipliers) / len(slack)
    ratio = multipliers / slack
    # In the units x_k of each variable the Newton matrix is well scaled whatever the costs are.
    step = _newton_direction(rows * x, ratio, target / slack, *cost.slopes(x)) * x
    multiplier_step = target / slack - multipliers + ratio * (rows @ step)

    def residual(point: Floats, dual: Floats) -> float:
        stationarity = x * (rows.T @ dual - cost.pull(point) / point)
        return float(np.hypot(np.linalg.norm(stationarity), np.linalg.norm(dual * (1.0 - rows @ point) - target)))

    falling = multiplier_step < 0
    length = min(1.0, 0.99 * float((multipliers[falling] / -multiplier_step[falling]).min(initial=np.inf)))
    before = residual(x, multipliers)
    while length > 1e-12:
        there, dual = x + length * step, multipliers + length * multiplier_step
        if (there > 0).all() and (rows @ there < 1.0).all() and residual(there, dual) <= (1 - 0.01 * length) * before:
            return there, dual
        length *= 0.5
    return None


# Which coordinates share a hull: bundles of coordinates, merged one after the other while the loss of the noise falls.
#
# Vectors r_m that a norm ball has to hold; for a bundle B of coordinates `g_B` is the gauge of `conv{+-r_mB}`. Two norms keep
# every vector within their unit ball: `max_B g_B`, and `sum_B w_B g_B` with weights for which `sum_B w_B g_B(r_m) <= 1`.
# Under a density `exp(-norm)` the bundles are uncorrelated, and with U_B uniform on the hull of B, m_B = tr(V_BB E[U_B
# U_B']),
#
# max:  E z'Vz = (s + 1)(s + 2) sum_B m_B,          sum:  E z'Vz = sum_B (s_B + 1)(s_B + 2) m_B / w_B^2.
#
# The weights of the sum are a convex program (`scales.py`), the loss of the maximum is closed. Theory:
# docs/theory/bundles.md.


Bundle = tuple[int, ...]
Combine = Literal["sum", "max"]
STARTING_ROWS = 1000


@dataclass(frozen=True)
class Bundling:
    """Disjoint bundles of all coordinates, their weights (B,), 1 under "max", and the expected loss of the noise."""

    bundles: tuple[Bundle, ...]
    weights: Floats
    value: float


def best_bundling(vectors: Floats, loss: Floats, combine: Combine, largest: int, ahead: float = math.inf) -> Bundling:
    """The bundling of least loss on two paths of merges, until no two bundles fit into one: from coordinates by themselves, and
    from those that vectors move together.

    vectors r: (M, s), of rank s. loss V: (s, s), positive semidefinite. largest: coordinates of a bundle, at most.
    The weights hold for these vectors. ahead: a loss that is reached elsewhere; no bundles are merged `OUTDONE` times above it.
    """
    hulls = _Hulls(vectors, loss)
    starts = {tuple((k,) for k in range(vectors.shape[1])), _moved_together(vectors, largest)}
    return min((_path(hulls, start, combine, largest, ahead) for start in sorted(starts)), key=lambda one: one.value)


def _path(hulls: _Hulls, start: tuple[Bundle, ...], combine: Combine, largest: int, ahead: float) -> Bundling:
    """The best bundling from a start until nothing can be merged, or until its work is done."""
    best = state = _priced(hulls, start, combine)
    while best.value <= OUTDONE * ahead and not is_over() and (merged := _merged(hulls, state, combine, largest)) is not None:
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
    return (*rest, _joined(state, i, j))


def _joined(state: Bundling, i: int, j: int) -> Bundle:
    return tuple(sorted(state.bundles[i] + state.bundles[j]))


def _fitting(state: Bundling, largest: int) -> Iterator[tuple[int, int]]:
    """Pairs of bundles that are small enough for one."""
    sizes = [len(bundle) for bundle in state.bundles]
    return ((i, j) for i, j in combinations(range(len(sizes)), 2) if sizes[i] + sizes[j] <= largest)


def _gains_of_max(hulls: _Hulls, state: Bundling, largest: int) -> Iterator[tuple[tuple[int, int], float]]:
    """The exact gain `m_i + m_j - m_ij` of each merge."""
    moments = [hulls.of(bundle)[1] for bundle in state.bundles]
    return (((i, j), moments[i] + moments[j] - hulls.of(_joined(state, i, j))[1]) for i, j in _fitting(state, largest))


def _gains_of_sum(hulls: _Hulls, state: Bundling, largest: int) -> Iterator[tuple[tuple[int, int], float]]:
    """A gain that is certain: the other weights stay, and the merged bundle takes all that the vectors leave it."""
    gauges = np.stack([hulls.of(bundle)[0] for bundle in state.bundles], axis=1)
    parts = gauges * state.weights
    moments = np.array([hulls.of(bundle)[1] for bundle in state.bundles])
    losses = bundle_costs([len(bundle) for bundle in state.bundles], moments) / state.weights**2
    left = 1 - parts.sum(axis=1)
    for i, j in _fitting(state, largest):
        bundle = _joined(state, i, j)
        gauge, moment = hulls.of(bundle)
        weight = 1 / (gauge / np.maximum(left + parts[:, i] + parts[:, j], 1e-300)).max()
        merged = bundle_costs([len(bundle)], np.array([moment])) / weight**2
        yield (i, j), float(losses[i] + losses[j] - merged[0])
