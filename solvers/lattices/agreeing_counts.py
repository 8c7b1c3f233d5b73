"""Counts behind several sums of them: `x >= 0` with `A x = t` whose sums `S x` are nearest to given numbers, real or whole.

    min sum_k w_k ((S x)_k - a_k)^2

Tables that are sums of one x agree wherever they share cells. The real problem is a convex quadratic program. The whole one is
stated in steps of one: y_k = (S x)_k climbs from its lowest value in steps whose prices `w_k (2 (y - a_k) + 1)` grow, so that a
minimum takes them in order. Only a window of steps around the real solution is written down; that it misses nothing is proven
where it is wide enough: with p the real minimum, `f(x) - f(p) >= sum_k w_k ((S (x - p))_k)^2` for every x that is allowed, so
nothing better than x lies farther from p, in any sum, than `sqrt((f(x) - f(p)) / w_k)`. Or by the relaxation: with straight
lines between whole sums f becomes a convex F, which is f where the sums are whole. Where the least F in the window is that of
x, and x is inside the window, F is least at x nearby, hence everywhere: so it is among nested groups and two margins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.programs.conic import ConicBlock, solve_conic
from solvers.status import Status

Array = NDArray[np.float64]

WINDOW = 2.0  # half-width, in units of the sums, that is tried first
MOST_STEPS = 200_000
SECONDS = 60.0  # of one integer program
SAME = 1e-9  # of a program and its relaxation, relative
ROOM = 1e-6  # of the least value of the real program, relative: what its solver may be off


@dataclass(frozen=True, eq=False)
class AskedSums:
    """What is near and what is exact: S (K, N) sparse with whole entries, a (K,), w (K,) positive; A (p, N) sparse, t (p,)."""

    sums: Any
    near: Array
    weights: Array
    exact: Any
    totals: Array

    def squares(self, counts: Array) -> float:
        """`sum_k w_k ((S x)_k - a_k)^2`."""
        return float(self.weights @ (self.sums @ counts - self.near) ** 2)

    def kept(self, counts: Array) -> bool:
        """Does x keep the exact totals, as floats tell it?"""
        size = 1 + abs(self.exact) @ np.abs(counts) + np.abs(self.totals)
        return bool((np.abs(self.exact @ counts - self.totals) <= 1e-6 * size).all())


@dataclass(frozen=True, eq=False)
class AgreeingCounts:
    """The counts x, (N,), or None with the status that says why; value: the sum of squares; proven: is no other x nearer,
    as far as the real minimum is known?"""

    status: Status
    counts: Array | None
    value: float
    proven: bool


def nearest_counts(asked: AskedSums, *, whole: bool = True) -> AgreeingCounts:
    """The nearest nonnegative x, whole unless said otherwise. ValueError where whole numbers are asked and S, A or t are not.

    >>> from scipy.sparse import csr_array
    >>> one = csr_array(np.array([[1, 0], [0, 1], [1, 1]]))
    >>> none = csr_array((0, 2))
    >>> asked = AskedSums(one, np.array([1.4, -3.0, 2.7]), np.ones(3), none, np.zeros(0))
    >>> nearest_counts(asked).counts.tolist()
    [2.0, 0.0]
    """
    if whole and any((np.rint(part) != part).any() for part in (asked.sums.data, asked.exact.data, asked.totals)):
        raise ValueError("sums, exact and totals must be whole numbers for whole counts.")
    real = _real(asked)
    if real is None or not asked.kept(real):
        status = Status.FAILED if _feasible(asked) else Status.INFEASIBLE
        return AgreeingCounts(status, None, np.inf, False)
    if not whole:
        return AgreeingCounts(Status.OPTIMAL, real, asked.squares(real), True)
    return _whole(asked, real)


def _real(asked: AskedSums) -> Array | None:
    """The real minimum, by `min sum w (y - a)^2` with `y = S x`; weights are scaled to at most 1."""
    from scipy.sparse import eye_array, hstack

    kinds, cells = asked.sums.shape
    weights = asked.weights / asked.weights.max(initial=1e-300)
    near = np.concatenate([np.zeros(cells), weights])
    exact = ConicBlock(hstack([asked.exact, _empty(len(asked.totals), kinds)]), asked.totals, [("zero", len(asked.totals))])
    linked = ConicBlock(hstack([asked.sums, -eye_array(kinds)]), np.zeros(kinds), [("zero", kinds)])
    signs = ConicBlock(hstack([-eye_array(cells), _empty(cells, kinds)]), np.zeros(cells), [("nonnegative", cells)])
    linear = np.concatenate([np.zeros(cells), -2 * weights * asked.near])
    found = solve_conic(2 * near, linear, [exact, linked, signs])
    return None if found is None else np.maximum(found[0][:cells], 0.0)


def _empty(rows: int, columns: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((rows, columns))


def _feasible(asked: AskedSums) -> bool:
    """Is there any x at all? A linear program without a cost."""
    from scipy.optimize import linprog

    equal = {} if not len(asked.totals) else {"A_eq": asked.exact, "b_eq": asked.totals}
    return bool(linprog(np.zeros(asked.sums.shape[1]), bounds=(0, None), method="highs", **equal).status != 2)


def _whole(asked: AskedSums, real: Array) -> AgreeingCounts:
    """Windows that widen until the best x that they hold is proven, or no more steps can be written down."""
    middle, least = asked.sums @ real, asked.squares(real)
    widths, best = np.full(len(middle), WINDOW), None
    while True:
        found, ended, tight, edge = _in_window(asked, middle, widths)
        if found is not None:
            best = found
            gap = max(0.0, asked.squares(best) - least) + ROOM * (1 + least)
            needed = np.sqrt(gap / asked.weights) + 1e-6
            if ended and (tight or (needed <= widths).all()):
                return AgreeingCounts(Status.OPTIMAL, best, asked.squares(best), True)
            wider = np.where(edge, 2 * widths, widths) if edge.any() else np.maximum(widths, np.ceil(needed))
            wider = wider if ended else widths
        else:
            wider = 8 * widths
        if (wider == widths).all() or 2 * wider.sum() > MOST_STEPS:
            break
        widths = wider
    if best is None:
        return AgreeingCounts(Status.FAILED, None, np.inf, False)
    return AgreeingCounts(Status.STALLED, best, asked.squares(best), False)


def _in_window(asked: AskedSums, middle: Array, widths: Array) -> tuple[Array | None, bool, bool, NDArray[np.bool_]]:
    """The least sum of squares among whole x whose sums are within the widths, whether the program came to its end, whether
    its relaxation proves that nothing outside is nearer, and which sums, (K,), are at the edge of the window."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack, vstack

    kinds, cells = asked.sums.shape
    low = np.ceil(middle - widths)
    low = np.where(low == 0, -1.0, low)  # so that counts of 0 are within
    steps = (np.floor(middle + widths) - low).astype(int)
    owner = np.repeat(np.arange(kinds), steps)
    level = np.arange(len(owner)) - np.repeat(np.cumsum(steps) - steps, steps)
    prices = asked.weights[owner] * (2 * (low[owner] + level - asked.near[owner]) + 1)
    climb = csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(kinds, len(owner)))
    rows = vstack([hstack([asked.sums, -climb]), hstack([asked.exact, _empty(len(asked.totals), len(owner))])])
    sides = np.concatenate([low, asked.totals])
    cost = np.concatenate([np.zeros(cells), prices / max(1.0, float(np.abs(prices).max(initial=1.0)))])
    stated: dict[str, Any] = {
        "bounds": Bounds(0, np.concatenate([np.full(cells, np.inf), np.ones(len(owner))])),
        "constraints": LinearConstraint(csr_array(rows), sides, sides),
        "options": {"mip_rel_gap": 0.0, "time_limit": SECONDS},
    }
    found = milp(cost, integrality=np.concatenate([np.ones(cells), np.zeros(len(owner))]), **stated)
    if found.x is None:
        return None, found.status == 2, False, np.zeros(kinds, dtype=bool)
    counts = np.rint(found.x[:cells])
    if not ((counts >= 0).all() and (asked.exact @ counts == asked.totals).all()):
        return None, found.status == 0, False, np.zeros(kinds, dtype=bool)
    sums = asked.sums @ counts
    edge = (sums <= low) | (low + steps <= sums)
    relaxed = milp(cost, **stated) if not edge.any() and found.status == 0 else None
    tight = relaxed is not None and relaxed.status == 0 and found.fun - relaxed.fun <= SAME * (1 + abs(found.fun))
    return counts, found.status == 0, bool(tight), edge
