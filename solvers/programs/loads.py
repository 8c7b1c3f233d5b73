"""Precisions s >= 0 of least largest load `max_k (G s)_k` under `e_j(s) <= 1`, each error convex,
decreasing and of degree -1 in s.

Such errors are `1 / s_i`, the diagonal and the forms `w' (A' diag(s) A)^-1 w` of least squares, and nonnegative sums of them.
With the slope `g = -grad e(p)` at any point p, Euler's identity gives `g'p = e(p)`, and convexity at the multiple `e(p) p`
gives for every s with `e(s) <= 1`

    1 >= e(s) >= 2 - g's / e(p)^2,   that is   g's >= e(p)^2:

one linear inequality, tight on the ray of p. A linear program over such cuts bounds the optimum from below, every point p gives
the feasible point `max_j e_j(p) p`, and the two meet (Kelley's method; derivation in docs/theory/record_design.md, 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from solvers.limited import conic_program, linear_program
from solvers.solution import Solution, Status, relative_gap
from solvers.work import is_over, spend

Floats = NDArray[np.float64]
# (n,) positive precisions to (J,) errors, all that may be the largest among them, and their (J, n) slopes.
Errors = Callable[[Floats], tuple[Floats, Floats]]

# Cuts are made between the linear program's optimum, which may have zeros and so infinite errors, and the best feasible point.
# Measured, 16 precisions, trees of 498 groups, gap 1e-6: 9 rounds; 21 half-way, 11 with 1 - 1e-9.
TOWARDS = 0.9
TRACES = (0.0, 1e-9, 1e-7)


def least_load(
    loads: Floats, errors: Errors, start: Floats, *, tolerance: float = 1e-6, max_rounds: int = 300
) -> Solution[Floats]:
    """The precisions s (n,) of least `max_k (G s)_k` with all `errors(s) <= 1`.

    loads G: (K, n), nonnegative, no zero column. start: (n,), positive; its scale is taken as that of the unknowns.
    Value and lower bound are recomputed here from the point and from the cuts' multipliers. Where no error bounds an unknown
    from below it may end near 0.

    >>> direct = lambda s: (np.array([4.0, 1.0]) / s, np.diag([4.0, 1.0] / s**2))  # errors 4 / s_0 and 1 / s_1
    >>> least_load(np.array([[1.0, 2.0]]), direct, np.ones(2)).point.round(4)
    array([4., 1.])
    """
    loads = np.asarray(loads, dtype=np.float64) * start
    best, cuts = _feasible(errors, start, np.ones(len(start)))
    # The linear solver's tolerances are absolute. In other units than that of the start 300 rounds left a gap of 1e-3,
    # in these 5 leave 1e-7.
    unit = float((loads @ best).max())
    loads, value, bound, rounds = loads / unit, 1.0, 0.0, 0
    while rounds < max_rounds:
        rounds += 1
        outer = _outer(loads, cuts)
        if outer is None:
            break
        bound = max(bound, outer[1])
        if relative_gap(value, bound) <= tolerance:
            break
        point, new = _feasible(errors, start, TOWARDS * outer[0] + (1 - TOWARDS) * best)
        cuts = np.concatenate([cuts, new])
        if (reached := float((loads @ point).max())) < value:
            best, value = point, reached
    bound = min(bound, value)
    status = Status.OPTIMAL if relative_gap(value, bound) <= tolerance else Status.STALLED
    return Solution(status, best * start, value * unit, bound * unit, rounds, "cutting planes")


def _feasible(errors: Errors, start: Floats, point: Floats) -> tuple[Floats, Floats]:
    """The multiple of a point (in units of the start) whose largest error is 1, and the cuts at the point, (J, n),
    each `cut s >= 1`."""
    values, slopes = errors(point * start)
    return point * values.max(), slopes * start / values[:, None] ** 2


def _outer(loads: Floats, cuts: Floats) -> tuple[Floats, float] | None:
    """Minimise t under `G s <= t`, `cuts s >= 1`: the optimum, and the bound that its multipliers prove."""
    rows, n = loads.shape
    matrix = np.block([[loads, -np.ones((rows, 1))], [-cuts, np.zeros((len(cuts), 1))]])
    side = np.concatenate([np.zeros(rows), -np.ones(len(cuts))])
    spend(calls=60, entries=30.0 * matrix.size)
    done = linear_program(np.eye(n + 1)[n], A_ub=matrix, b_ub=side, bounds=(0, None))
    if done.status != 0 or done.x is None:
        return None
    multipliers = np.maximum(-done.ineqlin.marginals, 0.0)
    weights, prices = multipliers[:rows], multipliers[rows:]
    if not weights.any():
        return done.x[:n], 0.0
    # An unknown that no weighted row pays for and a cut charges by a rounding, 1e-17, would shrink the prices to nothing: a
    # trace of every row pays for it.
    mixed = (weights / weights.sum() * (1 - trace) + trace / rows for trace in TRACES)
    return done.x[:n], max(proven_bound(loads, cuts, each, prices) for each in mixed)


def proven_bound(loads: Floats, cuts: Floats, weights: Floats, prices: Floats) -> float:
    """Weak duality: `max_k (G s)_k >= weights' G s >= prices' cuts s >= sum prices`, prices shrunk until the middle step holds.

    weights: (K,), nonnegative, sum 1. prices: (m,), nonnegative.
    """
    paid, charged = weights @ loads, prices @ cuts
    shrink = np.divide(paid, charged, out=np.full(len(paid), np.inf), where=charged > 0).min(initial=1.0)
    # Lowered for the rounding of the sums, which have nonnegative terms.
    return float(prices.sum() * shrink * (1 - 1e-12))


def bound_near(loads: Floats, errors: Errors, point: Floats, scale: Floats) -> float:
    """The bound of the linear program over the cuts at one point s (n,), positive; near an optimum that of the whole program.

    scale: (n,), positive, the units of the unknowns: where s is nearly 0 there, not s itself.
    """
    values, slopes = errors(point)
    scaled = np.asarray(loads, dtype=np.float64) * scale
    unit = float((scaled @ (point / scale)).max())
    outer = _outer(scaled / unit, slopes * scale / values[:, None] ** 2)
    return 0.0 if outer is None else outer[1] * unit


# The least factor at which a ratio that falls about in proportion comes down to 1: bracketed by two evaluations.


LEAST, LARGEST = 1e-30, 1e30  # factors
MOST = 200  # evaluations


@dataclass(frozen=True)
class Bracket:
    """`ratio(met) <= 1 < ratio(missed)`, `met <= missed (1 + step)`: shown by evaluation, whatever lies between.

    evaluations: all factors that were tried, with their ratios, in order.
    """

    met: float
    missed: float
    evaluations: tuple[tuple[float, float], ...]


def least_factor(ratio: Callable[[float], float], step: float, start: float = 1.0) -> Bracket | None:
    """The bracket of relative width `step`; None where no factor from 1e-30 to 1e30 lies on each side of it.

    The next factor is where the last ratio would be 1 if it fell in proportion, a little beyond; a ratio that does not fall
    like that, such as one in steps, is followed by growing strides until both sides are known, and bisected. Where it rises
    and falls, some bracket is found, not the least of all.

    >>> found = least_factor(lambda factor: 7 / factor, 1e-4)
    >>> found.missed < 7 <= found.met, len(found.evaluations)
    (True, 3)
    """
    tried: list[tuple[float, float]] = []
    missed, met, factor = 0.0, math.inf, start
    while len(tried) < MOST and LEAST <= factor <= LARGEST:
        value = ratio(factor)
        tried.append((factor, value))
        if value <= 1:
            met = factor
        else:
            missed = factor
        if met <= missed * (1 + step):
            return Bracket(met, missed, tuple(tried))
        factor = _next(factor, value, missed, met, step, len(tried))
    return None


def _next(factor: float, value: float, missed: float, met: float, step: float, tries: int) -> float:
    """In proportion while that helps, within what is known; then the middle of what is known."""
    if not value:
        return met / 1e3 if not missed else math.sqrt(missed * met)
    guess, stride = factor * value * (1 + step / 3), _stride(step, tries)
    if value <= 1 and guess > met / (1 + step):
        guess = met / stride
    if value > 1 and math.isinf(met) and tries > 2:
        guess = max(guess, missed * stride)
    if math.isfinite(met) and missed and (tries > 8 or not missed < guess < met):
        return math.sqrt(missed * met)
    return guess


def _stride(step: float, tries: int) -> float:
    """One step, a little less; after three evaluations twice as many steps each time, up to a factor of 1,000."""
    return math.exp(min(0.999 * math.log1p(step) * 2.0 ** max(0, tries - 3), math.log(1e3)))


# L-BFGS as all searches of strategies use it.
#
# What they search: docs/theory/strategies.md, section 4.


Array = NDArray[np.float64]
Objective = Callable[[Array], tuple[float, Array]]
MEMORY, LINE = 20, 20  # steps that a descent remembers, and points that it tries along one


def minimised(
    objective: Objective, start: Array, iterations: int, nonnegative: bool = False, memory: int = 20
) -> tuple[Array, int]:
    """Where the descent ended, (n,), at the end of its work at the latest, and after how many steps.

    What the solver says of its end is not asked: points that are worse than the start, or no numbers, give way to it.

    objective: returns a value and its gradient (n,).
    """
    from scipy.optimize import Bounds, minimize

    bounds = Bounds(0.0, np.inf) if nonnegative else None
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=_until_the_limit,
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": memory, "ftol": 1e-10, "gtol": 1e-9},
    )
    end = np.maximum(found.x, 0.0) if nonnegative else np.asarray(found.x)
    better = np.isfinite(end).all() and objective(end)[0] <= objective(start)[0]
    return (end if better else np.array(start)), int(found.nit)


def steadily_minimised(objective: Objective, start: Array, iterations: int, memory: int = MEMORY) -> tuple[Array, int]:
    """As `minimised`, where equal evaluations of the objective lead to equal steps on every processor: L-BFGS with a search
    along the line that halves and doubles, all sums in a fixed order."""
    point, (value, slope) = start, objective(start)
    pairs: list[tuple[Array, Array, float]] = []
    count = 0
    while count < iterations and np.isfinite(value) and not is_over():
        spend(calls=1)
        count += 1
        step = _two_loops(slope, pairs)
        fall = float((slope * step).sum())
        if not fall < 0:
            pairs, step = [], -slope
            fall = -float((slope * slope).sum())
        length = 1.0 if pairs else min(1.0, 1.0 / math.sqrt(max(-fall, 1e-300)))
        found = _along(objective, point, step, value, fall, length)
        if found is None:
            if not pairs:
                break
            pairs = []
            continue
        moved, lower, ahead = found
        taken, change = moved - point, ahead - slope
        curved = float((taken * change).sum())
        if curved > 1e-12 * math.sqrt(float((taken * taken).sum()) * float((change * change).sum())):
            pairs = [*pairs[1 - memory :], (taken, change, curved)]
        settled = value - lower <= 1e-10 * max(abs(value), 1.0)
        point, value, slope = moved, lower, ahead
        if settled or np.abs(slope).max(initial=0.0) <= 1e-9:
            break
    return point, count


def _two_loops(slope: Array, pairs: Sequence[tuple[Array, Array, float]]) -> Array:
    """The step of L-BFGS."""
    step, shares = -slope, []
    for taken, change, curved in reversed(pairs):
        shares.append(float((taken * step).sum()) / curved)
        step = step - shares[-1] * change
    if pairs:
        _, change, curved = pairs[-1]
        step = step * (curved / float((change * change).sum()))
    for (taken, change, curved), share in zip(pairs, reversed(shares), strict=True):
        step = step + (share - float((change * step).sum()) / curved) * taken
    return step


def _along(
    objective: Objective, point: Array, step: Array, value: float, fall: float, length: float
) -> tuple[Array, float, Array] | None:
    """A point along the step that is low and steep enough (Wolfe's conditions), with value and slope; the best of those tried
    where none is, None where all are higher."""
    low, high, best = 0.0, math.inf, None
    for _ in range(LINE):
        moved = point + length * step
        found, slope = objective(moved)
        if not found <= value + 1e-4 * length * fall:
            high = length
        else:
            best = moved, found, slope
            if float((slope * step).sum()) >= 0.9 * fall:
                return best
            low = length
        length = (low + high) / 2 if high < math.inf else 2 * length
    return best


def _until_the_limit(intermediate_result: object) -> None:
    spend(calls=1)
    if is_over():
        raise StopIteration


# Conic programs put together block by block, for Clarabel: `min 1/2 x' diag(curvature) x + linear x` with `side - matrix x`
# in the cones of every block.


# Of each cone its kind and its size, of a power cone (always three rows) the power, of a semidefinite one its order (its upper
# triangle is stated column by column, what is off the diagonal times sqrt(2)).
STEPS = 30  # of the backend, about, each of which looks at every entry
Cone = tuple[Literal["zero", "nonnegative", "second_order", "power", "semidefinite"], float]


@dataclass(frozen=True, eq=False)
class ConicBlock:
    """Rows `matrix` (sparse) with `side` (m,), cone after cone."""

    matrix: Any
    side: Array
    cones: Sequence[Cone]


def sparse_entries(groups: Sequence[tuple[Any, Any, Any]], rows: int, columns: int) -> Any:
    """A sparse matrix from groups of (row, column, value), each broadcast; what falls on one place adds up."""
    from scipy.sparse import coo_array

    full = [np.broadcast_arrays(*group) for group in groups]
    row, column, value = (np.concatenate([group[part].ravel() for group in full]) for part in range(3))
    return coo_array((value.astype(float), (row, column)), shape=(rows, columns))


def solved(found: Any) -> bool:
    """Does Clarabel say that it solved a program, if less sharply than asked? Where it ends otherwise, its point is the last of
    a search, or a direction that is to prove that there is none."""
    import clarabel

    return found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)


def solve_conic(curvature: Array, linear: Array, blocks: Sequence[ConicBlock]) -> tuple[Array, list[Array]] | None:
    """The solution x and the multipliers of every block, or None where the backend does not say that it solved the program."""
    import clarabel
    from scipy.sparse import csc_matrix, diags_array, vstack

    made = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "second_order": clarabel.SecondOrderConeT,
        "semidefinite": clarabel.PSDTriangleConeT,
    }
    cones = [
        clarabel.PowerConeT(size) if kind == "power" else made[kind](int(size))
        for block in blocks
        for kind, size in block.cones
        if size
    ]
    matrix, side = csc_matrix(vstack([block.matrix for block in blocks])), np.concatenate([block.side for block in blocks])
    spend(calls=20, pivots=STEPS * (matrix.nnz + side.size))
    found = conic_program(csc_matrix(diags_array(curvature)), linear, matrix, side, cones)
    x, z = np.array(found.x), np.array(found.z)
    if not solved(found):
        return None
    return x, np.split(z, np.cumsum([block.side.size for block in blocks])[:-1])
