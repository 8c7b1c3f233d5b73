"""Counts behind several sums of them: `x >= 0` with `A x = t` whose sums `S x` are nearest to given numbers, real or whole.

    min sum_k w_k ((S x)_k - a_k)^2

Tables that are sums of one x agree wherever they share cells. The real problem is a convex quadratic program
(`solvers.programs.nearest_sums`). The whole one is stated as steps away from the rounded real solution p, so that large
numbers lose no digits: with g the slope at p, `f(x) - f(p) = sum_k w_k ((S (x - p))_k)^2 + g (x - p)`, and (S x)_k climbs
from its lowest value in steps of one whose prices `w_k (2 (y - (S p)_k) + 1)` grow, so that a minimum takes them in order.
Only a window of steps around p is written down; that it misses nothing is proven where it is wide enough: g is at least 0,
and 0 where p is above 0, so nothing better than x lies farther from p, in any sum, than `sqrt((f(x) - f(p)) / w_k)`. Or by
the relaxation: with straight lines between whole sums f becomes a convex F, which is f where the sums are whole. Where the
least F in the window is that of x, and x is inside the window, F is least at x nearby, hence everywhere: so it is among
nested groups and two margins. Or because x is as good as p, for all that anybody could see.

What takes the time is the integer program, so its relaxation comes first: where that is whole, as it is among nested groups and
two margins, there is no other. Of many cells a thousandth of a standard error in the root of the sum of squares ends it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.limited import integer_program
from solvers.limits import LARGEST_SUM
from solvers.programs.nearest_sums import NearestSums, fitted_sums, left_over, none_at_all, told_by
from solvers.solution import Status

Array = NDArray[np.float64]

WINDOW = 2.0  # half-width, in units of the sums, that is tried first
REACH = 2.0**20  # how far single counts may move from the rounded real ones
MOST_STEPS, STEPS_EACH = 4096, 16  # that wider windows have: in all or for each sum, whichever is more
NODES, WORK = 2000, 250_000  # of one integer program, whose end so hangs on no clock; times its unknowns, where it is large
SMALL = 500  # cells up to which an integer program goes on to its end, however near its bound is
SAME = 1e-9  # of a program and its relaxation, relative
CLOSE = 1e-3  # standard errors in the root of the sum of squares: nobody sees what is nearer by less


@dataclass(frozen=True, eq=False)
class AskedSums:
    """What is near and what is exact: S (K, N) sparse with whole entries, a (K,), w (K,) positive: one over the variances;
    A (p, N) sparse, t (p,)."""

    sums: Any
    near: Array
    weights: Array
    exact: Any
    totals: Array

    def squares(self, counts: Array) -> float:
        """`sum_k w_k ((S x)_k - a_k)^2`."""
        return float(self.weights @ left_over(self.sums, counts, self.near) ** 2)


@dataclass(frozen=True, eq=False)
class AgreeingCounts:
    """The counts x, (N,), or None with the status that says why; value: the sum of squares; proven: is no other x nearer, but
    for `CLOSE` and the rounding of floats?"""

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
    real = fitted_sums(asked.sums, asked.near, asked.weights**-0.5, asked.exact, asked.totals)
    if real is None:
        status = Status.INFEASIBLE if none_at_all(asked.exact, asked.totals) else Status.FAILED
        return AgreeingCounts(status, None, np.inf, False)
    if not whole:
        return AgreeingCounts(Status.OPTIMAL, real.cells, asked.squares(real.cells), real.off <= CLOSE)
    if (abs(asked.sums) @ real.cells).max(initial=0.0) >= LARGEST_SUM:
        return AgreeingCounts(Status.FAILED, None, np.inf, False)
    free = ~told_by(asked.exact, asked.sums)  # the others are the same whatever x is, and their weights hide these
    found = _Rounding.of(replace(asked, sums=asked.sums[free], near=asked.near[free], weights=asked.weights[free]), real).best()
    if found.counts is None:
        return found
    return replace(found, value=asked.squares(found.counts), proven=found.proven and real.off <= CLOSE)


def _empty(rows: int, columns: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((rows, columns))


@dataclass(frozen=True, eq=False)
class _WindowOptimum:
    """What the best of a window is: moves, (N,); has the program come to its end; does its relaxation prove that nothing
    outside is nearer; which sums, (K,), are at the edge of the window."""

    moves: Array | None
    ended: bool
    tight: bool
    edge: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Rounding:
    """Whole counts near a real minimum p: start, p rounded; middle, `S (p - start)`; left, `t - A start`; slopes g at p."""

    asked: AskedSums
    start: Array
    middle: Array
    left: Array
    slopes: Array
    offset: Array  # p - start

    @classmethod
    def of(cls, asked: AskedSums, real: NearestSums) -> _Rounding:
        start = np.rint(real.cells)
        offset = real.cells - start
        left = left_over(asked.exact, start, asked.totals)
        return cls(asked, start, asked.sums @ offset, left, real.slopes, offset)

    def excess(self, moves: Array) -> float:
        """`f(x) - f(p)` at `x = start + moves`, without the rounding of either."""
        away = moves - self.offset
        return float(self.asked.weights @ (self.asked.sums @ away) ** 2 + self.slopes @ away)

    @property
    def large(self) -> bool:
        """Are there so many cells that what nobody sees is not worth the search for it?"""
        return len(self.start) > SMALL

    @property
    def closeness(self) -> float:
        """By how much the sum of squares may be above that at p: its root by `CLOSE` at most, of many cells; of few by nothing
        but `CLOSE` squared."""
        return CLOSE**2 + (2 * CLOSE * math.sqrt(self.asked.squares(self.start + self.offset)) if self.large else 0.0)

    @property
    def sharp(self) -> bool:
        """Does p tell the sums to a part of `CLOSE`, or are its floats too large for that?"""
        spacing = abs(self.asked.sums) @ np.spacing(self.start)
        return bool((spacing * np.sqrt(self.asked.weights)).max(initial=0.0) <= CLOSE / 10)

    def best(self) -> AgreeingCounts:
        """Windows that widen until the best x that they hold is proven, or have as many steps as are tried: then the best of
        them, or whole numbers near p that keep the totals."""
        widths, best = np.full(len(self.middle), WINDOW), None
        most = max(MOST_STEPS, STEPS_EACH * len(self.middle))
        while True:
            found = self.in_window(widths)
            if found.moves is not None:
                best, excess = found.moves, max(0.0, self.excess(found.moves))
                needed = np.sqrt(excess / self.asked.weights) + 1e-6
                if (excess <= self.closeness and self.sharp) or (found.ended and (found.tight or (needed <= widths).all())):
                    return self._made(best, Status.OPTIMAL)
                wider = np.where(found.edge, 2 * widths, widths) if found.edge.any() else np.maximum(widths, np.ceil(needed))
                wider = wider if found.ended else widths
            else:
                wider = 8 * widths
            if (wider == widths).all() or 2 * wider.sum() > most:
                break
            widths = wider
        return self._made(self._nearby() if best is None else best, Status.STALLED)

    def _nearby(self) -> Array | None:
        """The moves of least sum of sizes that keep the totals; None where none were found."""
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import hstack

        cells = len(self.start)
        most = np.concatenate([np.full(cells, REACH), np.minimum(self.start, REACH)])
        if not self.left.any():
            return np.zeros(cells)
        found = integer_program(
            np.ones(2 * cells),
            integrality=np.ones(2 * cells, dtype=np.intp),
            bounds=Bounds(np.zeros(2 * cells), most),
            constraints=LinearConstraint(hstack([self.asked.exact, -self.asked.exact]).tocsr(), self.left, self.left),
            nodes=NODES,
            gap=1e-4,
        )
        moves = None if found.x is None else np.rint(found.x[:cells]) - np.rint(found.x[cells:])
        return moves if moves is not None and self._keeps(moves) else None

    def _keeps(self, moves: Array) -> bool:
        """Are the counts nonnegative, with the totals, exactly?"""
        return bool((moves >= -self.start).all() and (self.asked.exact @ moves == self.left).all())

    def _made(self, moves: Array | None, status: Status) -> AgreeingCounts:
        if moves is None:
            return AgreeingCounts(Status.FAILED, None, np.inf, False)
        counts = self.start + moves
        return AgreeingCounts(status, counts, self.asked.squares(counts), status is Status.OPTIMAL)

    def in_window(self, widths: Array) -> _WindowOptimum:
        """The least sum of squares among whole x whose sums are within the widths of those of p."""
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import csr_array, hstack, vstack

        asked, (kinds, cells) = self.asked, self.asked.sums.shape
        low = np.ceil(self.middle - widths)
        zero = -(asked.sums @ self.start)  # where a sum is 0, which is within where -1 is
        low = np.where(low == zero, low - 1, low)
        steps = (np.floor(self.middle + widths) - low).astype(int)
        owner = np.repeat(np.arange(kinds), steps)
        level = np.arange(len(owner)) - np.repeat(np.cumsum(steps) - steps, steps)
        prices = asked.weights[owner] * (2 * (low[owner] + level - self.middle[owner]) + 1)
        climb = csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(kinds, len(owner)))
        rows = vstack([hstack([asked.sums, -climb]), hstack([asked.exact, _empty(len(asked.totals), len(owner))])])
        sides = np.concatenate([low, self.left])
        cost = np.concatenate([self.slopes, prices])
        unit = max(1e-300, float(np.abs(prices).max(initial=1.0)))
        cost /= unit
        least, most = -np.minimum(self.start, REACH), np.full(cells, REACH)
        stated: dict[str, Any] = {
            "bounds": Bounds(np.concatenate([least, np.zeros(len(owner))]), np.concatenate([most, np.ones(len(owner))])),
            "constraints": LinearConstraint(csr_array(rows), sides, sides),
        }
        inside = np.zeros(kinds, dtype=bool)
        found = relaxed = integer_program(cost, nodes=NODES, **stated)
        if relaxed.x is None or (np.abs(relaxed.x[:cells] - np.rint(relaxed.x[:cells])) > SAME).any():
            close = 0.0 if relaxed.x is None or not self.large else self.closeness / unit / max(1e-300, abs(relaxed.fun))
            nodes = max(1, WORK // len(cost)) if self.large else NODES
            whole = np.concatenate([np.ones(cells), np.zeros(len(owner))])
            found = integer_program(cost, nodes=nodes, gap=close, integrality=whole, **stated)
        if found.x is None:
            return _WindowOptimum(None, found.status == 2, False, inside)
        moves = np.rint(found.x[:cells])
        if not self._keeps(moves):
            return _WindowOptimum(None, False, False, inside)
        sums = asked.sums @ moves
        edge = (sums <= low) | (low + steps <= sums)
        ended = found.status == 0 and np.abs(moves).max(initial=0.0) < REACH  # else single counts may be held back
        near = relaxed.status == 0 and found.fun - relaxed.fun <= SAME * (1 + abs(found.fun))
        return _WindowOptimum(moves, bool(ended), bool(near and ended and not edge.any()), edge)
