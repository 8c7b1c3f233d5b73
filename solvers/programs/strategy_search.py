"""Better strategies by descent: `min 2 tr(W (B'B)^-1)` subject to `||B d_m||_1 <= b_m`. Not convex; values are upper bounds.

Three searches, each of which starts from a feasible strategy and returns one that is feasible and never worse:

* `p_identity`: columns normalised by construction, for unit vectors (McKenna and others, VLDB 2018, section 5);
* `descend_by_gradient`: all entries of B, any changes;
* `reweigh`: one weight for each row of a given B.

`optimise_strategy` and `optimise_workload` run them from several starts.
`singular_value_bound` is a lower bound for every strategy. Derivations in docs/theory/strategies.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.ellipsoids.dual import follow
from solvers.lattices.kernel import pseudo_inverse
from solvers.programs.changes import Changes
from solvers.programs.loads import MEMORY, steadily_minimised
from solvers.programs.strategy import (
    Strategy,
    best_fixed,
    best_p_identity,
    fit_to_budgets,
    gram_error,
    independent_rows,
    p_identity_matrix,
    spectral,
)
from solvers.rounding import inverse_of, product, rounded_alike, steady
from solvers.solution import Solution, Status
from solvers.work import is_over, spend

Array = NDArray[np.float64]

# Temperatures of the smoothed maximum, relative to it. Each phase starts from the best feasible strategy so far.
TEMPERATURES = (0.1, 0.03, 0.01, 0.003, 0.001)
COLD = (0.01, 0.001, 0.0003, 0.0001)  # for the best of all
# Where records appear, descents from all starts run the first phase, those ahead the next ones, and remember few steps: 6 to 12
# running totals end up to 1.3 % lower than without a race, in half the time. Elsewhere what ends lowest is not ahead so soon.
PHASES, AHEAD, REMEMBERED = (TEMPERATURES[:2], TEMPERATURES[2:3], TEMPERATURES[3:]), (3, 2, None), 6
# Iterations of a descent times changes times dimensions: about 0.2 microseconds for each, some fifty descents a search. A 10 x
# 10 table (81 dimensions, 2025 changes) gets 24 iterations: 40 s instead of 150 s, for the same strategy.
EFFORT = 4_000_000
RANDOM, RANDOM_DIMENSION = 6, 12
# Shares of the elements that p-identity strategies have as further rows, several for small programs; measured up to 256
# elements, an eighth was the better choice up to 64 only.
P_SHARES, P_SEVERAL, P_STARTS, P_STEPS = (16, 8), 64, 4, 300
# A relative weight that makes a Gram matrix regular, and the accuracy of the weights that are sought for a bound.
FULLER = 1e-4
# Of what is reached elsewhere, where the descent from the best start ends the search: in 27 searches it reached at most 1.43
# times the best of all descents, in a tenth of their work. Less gain is none.
OUTDONE, GAIN = 1.5, 1e-3
# More answers than this many times their rank are no strategy: the length of a change grows with their number.
LARGEST_SURPLUS = 3


def p_identity(
    gram: ArrayLike,
    budget: ArrayLike,
    rows: int | None = None,
    restarts: int = 3,
    seed: int = 0,
    iterations: int = 1000,
    lower_bound: float | None = None,
) -> Solution[Strategy]:
    """Minimise `2 tr(W (B'B)^-1)` over `B = [I; T] diag(s)`, T >= 0 (rows, N), `s_i = b_i / (1 + sum_k T_ki)`.

    `||B e_i||_1 = b_i` by construction. `rows` defaults to about N / 16. L-BFGS-B with the analytic gradient from `restarts`
    random starts (`seed`), the best of which go on after a race; never worse than T = 0, the diagonal strategy.
    """
    w, b = np.asarray(gram, dtype=float), np.asarray(budget, dtype=float)
    changes = Changes.units(b)
    k = max(1, round(b.size / 16)) if rows is None else rows
    theta, steps = best_p_identity(w, b, k, restarts, seed, iterations)
    fitted = fit_to_budgets(p_identity_matrix(theta, b), changes, "p-identity")
    return _solution(fitted, w, changes, steps, "L-BFGS-B on the p-identity form", lower_bound)


def descend_by_gradient(
    gram: ArrayLike,
    changes: Changes,
    start: Strategy,
    iterations: int = 300,
    lower_bound: float | None = None,
    temperatures: Sequence[float] = TEMPERATURES,
) -> Solution[Strategy]:
    """Minimise `log error(B) + 2 log worst(B)` over all entries of B, which does not change when B is multiplied by a number.

    `start` needs full column rank on the span of the changes (pass answer coordinates where it cannot: see `in_answers`).
    gram W: (N, N). docs/theory/strategies.md, section 4.
    """
    shape = start.matrix.shape

    def spread(flat: Array) -> Array:
        return flat.reshape(shape)

    def gather(slope: Array, matrix: Array) -> Array:
        return slope.ravel()

    search = _SearchSpace(start.matrix.ravel(), spread, gather, "L-BFGS on the rows")
    return _anneal(gram, changes, start, search, iterations, lower_bound, temperatures)


def reweigh(
    gram: ArrayLike,
    changes: Changes,
    start: Strategy,
    iterations: int = 300,
    lower_bound: float | None = None,
    temperatures: Sequence[float] = TEMPERATURES,
) -> Solution[Strategy]:
    """The same over positive weights of the rows of `start`, `B = diag(exp t) A`.

    With as many rows as dimensions the error is `sum_j g_j w_j^-2` and the program convex; with more it is not (docs/theory).
    gram W: (N, N). docs/theory/strategies.md, section 4.
    """
    rows = start.matrix

    def spread(t: Array) -> Array:
        return np.asarray(rows * np.array([[math.exp(min(30.0, max(-30.0, x)))] for x in t.tolist()]))

    def gather(slope: Array, matrix: Array) -> Array:
        return np.asarray((slope * matrix).sum(axis=1))

    search = _SearchSpace(np.zeros(len(rows)), spread, gather, "L-BFGS on the row weights")
    return _anneal(gram, changes, start, search, iterations, lower_bound, temperatures)


def optimise_strategy(
    gram: ArrayLike,
    changes: Changes,
    starts: dict[str, Array],
    iterations: int = 150,
    keep: int = 3,
    lower_bound: float | None = None,
    seeds: Sequence[Array] = (),
    ahead: float = np.inf,
) -> Solution[Strategy]:
    """Reweigh every start and the p-identity, `descend_by_gradient` from the `keep` best and from `seeds`, return the best.
    Never worse than any start. Descents end when their work is done.

    `lower_bound` replaces `singular_value_bound` where the caller knows a better one. Iterations are cut to what `EFFORT`
    allows; where that is none, the best start is the answer.
    ahead: an error that is reached elsewhere. A descent from the best start that gains nothing above it, or ends `OUTDONE`
    times as far, is the answer.
    gram W: (N, N). starts: matrices (p, N) by name. ValueError where no start has full column rank on the span of the changes.
    """
    iterations = min(iterations, EFFORT // max(1, changes.count * changes.size))
    w = _short(np.asarray(gram, dtype=float))
    changes = Changes(_short(changes.matrix.toarray()), changes.budget)
    span = changes.span()
    bound = singular_value_bound(w, changes) if lower_bound is None else lower_bound
    fitted = [fit_to_budgets(_short(matrix), changes, name) for name, matrix in starts.items()]
    fitted = [s for s in fitted if np.isfinite(gram_error(w, s.matrix, span))]
    if not fitted:
        raise ValueError(
            "no start has full column rank on the span of the changes: add the identity or use answer coordinates."
        )
    if iterations == 0:
        best = min(fitted, key=lambda s: gram_error(w, s.matrix, span))
        return _solution(best, w, changes, 0, "best of the starts, too many changes for a search", bound)

    phases = PHASES if changes.unit_budgets() is not None else (TEMPERATURES,)

    def shaped() -> Solution[Strategy]:
        rows = p_identity(w, np.ones(changes.size), lower_bound=0.0).point.matrix
        return reweighed(fit_to_budgets(rows, changes, "p-identity"))

    def reweighed(start: Strategy) -> Solution[Strategy]:
        return reweigh(w, changes, start, iterations, bound, phases[0])

    def descended(start: Strategy, temperatures: Sequence[float] = TEMPERATURES) -> Solution[Strategy]:
        return descend_by_gradient(w, changes, start, iterations, bound, temperatures)

    pool = [_solution(s, w, changes, 0, "best of the starts", bound) for s in fitted]
    first = min(pool, key=lambda s: s.value)
    scouts = _those_that_succeed([partial(descended, first.point)]) if first.value > ahead else []
    scout = min([*scouts, first], key=lambda s: s.value)  # not in the pool: what is found is the same whatever is ahead
    if scout.value > ahead and (scout.value > OUTDONE * ahead or scout.value > (1 - GAIN) * first.value):
        return scout
    pool += _those_that_succeed([*(partial(reweighed, s) for s in fitted), shaped])
    pool.sort(key=lambda s: steady(s.value))
    places = [s.point for s in pool[:keep]] + [fit_to_budgets(_short(matrix), changes, "random rows") for matrix in seeds]
    for phase, kept in zip(phases, AHEAD, strict=False):
        ends = _those_that_succeed([partial(descended, s, phase) for s in places])
        different = {steady(s.value): s.point for s in reversed(ends)}
        places, pool = [different[value] for value in sorted(different)[:kept]], [*ends, *pool]
    least = min(pool, key=lambda s: steady(s.value))
    polished = partial(descended, least.point, COLD)
    return min([least, *([] if is_over() else _those_that_succeed([polished]))], key=lambda s: s.value)


def _short(matrix: Array) -> Array:
    """A matrix in one unit, from which a search begins alike on every processor."""
    return rounded_alike(matrix.ravel(), 0).reshape(matrix.shape)


def _those_that_succeed(searches: Sequence[Callable[[], Solution[Strategy]]]) -> list[Solution[Strategy]]:
    """What searches find, until their work is done; one that numbers stop, of a start without full rank, leaves the others."""
    found: list[Solution[Strategy]] = []
    for search in searches:
        if found and is_over():
            break
        with suppress(ValueError, ArithmeticError):
            found.append(search())
    return found


@dataclass(frozen=True)
class _SearchSpace:
    """Where a descent moves: parameters t, `spread(t) = B`, and `gather` pulls a gradient with respect to B back to t."""

    origin: Array
    spread: Callable[[Array], Array]
    gather: Callable[[Array, Array], Array]
    method: str


def _anneal(
    gram: ArrayLike,
    changes: Changes,
    start: Strategy,
    search: _SearchSpace,
    iterations: int,
    lower_bound: float | None,
    temperatures: Sequence[float] = TEMPERATURES,
) -> Solution[Strategy]:
    """Descend at falling temperatures; the exact ratio decides what is kept: smoothing may cost quality, never feasibility."""
    w, span, spread = np.asarray(gram, dtype=float), changes.span(), search.spread
    wanted = span.T @ w @ span

    def exact(t: Array) -> float:
        return gram_error(w, spread(t), span) * changes.worst(spread(t)) ** 2

    memory = MEMORY if changes.unit_budgets() is None else REMEMBERED
    point, lowest, count, failures = search.origin, exact(search.origin), 0, 0
    if not np.isfinite(lowest):
        raise ValueError(f"strategy {start.name!r} lacks full column rank on the span of the changes: use answer coordinates.")
    nothing_moves = np.abs(wanted).max(initial=0.0) <= 1e-14 * np.abs(w).max(initial=0.0)
    for temperature in () if nothing_moves else temperatures:
        if is_over():
            break
        scale = temperature * changes.worst(spread(point))

        def objective(t: Array, scale: float = scale) -> tuple[float, Array]:
            matrix = spread(t)
            _spend_on(matrix, changes, span)
            value, slope = _log_error(matrix, wanted, span)
            ratio, push = _log_worst(matrix, changes, scale)
            return value + 2.0 * ratio, search.gather(slope + 2.0 * push, matrix)

        moved, steps = steadily_minimised(objective, point, iterations, memory)
        count += steps
        value = exact(moved)
        failures = 0 if value < lowest * (1.0 - 1e-6) else failures + 1
        if value < lowest:
            point, lowest = moved, value
        if failures == 2:  # two temperatures without gain: a corner of the feasible set, colder phases do not leave it
            break
    better = fit_to_budgets(spread(point), changes, start.name)
    return _solution(better, w, changes, count, search.method, lower_bound)


def _spend_on(matrix: Array, changes: Changes, span: Array) -> None:
    """The work of an error and a worst ratio with their gradients: products with the span and an inverse; every change of every
    row, several times."""
    (p, n), k = matrix.shape, span.shape[1]
    spend(calls=1.5, flops=4.0 * p * k * (n + k) + 8.0 * k**3, entries=5.0 * p * changes.count)


def _log_error(matrix: Array, wanted: Array, span: Array) -> tuple[float, Array]:
    """`log tr(W (B'B)^-1)` and its gradient `-2 B M^-1 W M^-1 / tr`, on the span."""
    measured = product(matrix, span)
    inverse = inverse_of(product(measured.T, measured))
    weighted = product(inverse, wanted)
    trace = float(np.trace(weighted))
    if not 0.0 < trace < np.inf:  # lost to rounding: the line search must turn back
        return np.inf, np.zeros_like(matrix)
    return math.log(trace), product(product(measured, product(weighted, inverse)), span.T) * (-2.0 / trace)


def _log_worst(matrix: Array, changes: Changes, temperature: float) -> tuple[float, Array]:
    """Logarithm of a smooth upper bound of the worst ratio, its norm of order `2^k`, about `worst / t`, with rounded |x|, and
    its gradient."""
    rounding = temperature * changes.typical_budget / len(matrix)
    moved = changes.steadily_along(matrix)
    sizes = np.sqrt(moved * moved + rounding * rounding)
    ratios = sizes.sum(axis=0) / changes.budget
    top = float(ratios.max())
    doublings = max(1, round(math.log2(top / temperature)))
    weight = ratios / top
    for _ in range(doublings):
        weight = weight * weight
    total = float(weight.sum())
    active = np.flatnonzero(weight > 1e-12)
    pull = moved[:, active] / sizes[:, active] * (weight[active] / (total * ratios[active] * changes.budget[active]))
    return math.log(top) + math.log(total) / 2**doublings, changes.steadily_back(pull, active)


def _solution(
    strategy: Strategy, gram: Array, changes: Changes, iterations: int, method: str, lower_bound: float | None
) -> Solution[Strategy]:
    value = gram_error(gram, strategy.matrix, changes.span())
    bound = singular_value_bound(gram, changes) if lower_bound is None else lower_bound
    status = Status.OPTIMAL if value - bound <= 1e-6 * value else Status.STALLED
    return Solution(status, strategy, value, bound, iterations, method)


def singular_value_bound(gram: ArrayLike, changes: Changes, rounds: int = 30) -> float:
    """`2 (tr (W^1/2 S W^1/2)^1/2)^2` with `S = sum_m l_m d_m d_m' / b_m^2`: below the squared error of every feasible strategy.

    Valid for all weights `l_m >= 0` that sum to 1, because `||B d||_2 <= ||B d||_1`; equal weights give the singular value
    bound of Li and Miklau (ICDT 2013). `rounds` multiplicative updates improve the weights, the best value counts.
    gram W: (N, N). docs/theory/strategies.md, section 3.
    """
    values, vectors = np.linalg.eigh(np.asarray(gram, dtype=float))
    kept = values > len(values) * 2.0**-48 * values.max(initial=0.0)
    factor = (vectors[:, kept] * np.sqrt(values[kept])).T  # F'F = W: `F S F'` has the roots of `W^1/2 S W^1/2`, and few rows
    weight, best = np.full(changes.count, 1.0 / max(changes.count, 1)), 0.0
    for _ in range(rounds):
        spend(calls=3, flops=20.0 * len(factor) ** 3, entries=0.5 * len(factor) * changes.count)
        scaled = changes.matrix * (weight / changes.budget**2)
        values, vectors = np.linalg.eigh(factor @ ((scaled @ changes.matrix.T) @ factor.T))
        # The root of the rounding of an eigenvalue that is 0 would add 1e-8 to the bound.
        size = np.sqrt(np.maximum(values - len(values) * 2.0**-48 * np.abs(values).max(initial=0.0), 0.0))
        best = max(best, 2.0 * float(size.sum()) ** 2)
        # Derivative of tr (.)^1/2 along d d': the square of (F S F')^(-1/4) F d, halved; the weights follow it.
        shape = (vectors * np.where(size > 1e-9 * size.max(initial=0.0), size, np.inf) ** -0.5).T @ factor
        pull = np.square(changes.along(shape)).sum(axis=0) / changes.budget**2
        if not pull.sum() > 0.0:  # no wanted row moves under any change
            break
        weight = weight * pull / (weight @ pull)
    return best


def unit_bound(gram: ArrayLike, budget: ArrayLike) -> float:
    """The bound of `singular_value_bound` at nearly the best weights, for changes that are unit vectors with these budgets.

    gram W: (N, N). budget b: (N,), infinite for elements that no change moves. The weights come from Newton's method on a
    slightly fuller W (`solvers.ellipsoids.dual`), and prove the bound for W itself whatever they are.
    """
    b = np.asarray(budget, dtype=float)
    kept = np.isfinite(b)
    scaled = np.asarray(gram, dtype=float)[np.ix_(kept, kept)] / np.outer(b[kept], b[kept])
    if not scaled.any():
        return 0.0
    fuller = scaled + FULLER * np.trace(scaled) / len(scaled) * np.eye(len(scaled))
    reached = follow(fuller, FULLER)
    sides = np.ones(len(scaled)) if reached is None else np.sqrt(reached[0].multipliers)
    values = np.linalg.eigvalsh(scaled * np.outer(sides, sides))
    size = np.sqrt(np.maximum(values - len(values) * 2.0**-48 * values.max(), 0.0))
    return float(2.0 * size.sum() ** 2 / np.square(sides).sum())


def _root(symmetric: Array) -> Array:
    values, vectors = np.linalg.eigh(symmetric)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def optimise_workload(
    workload: ArrayLike,
    changes: Changes,
    starts: dict[str, Array] | None = None,
    iterations: int = 150,
    keep: int = 3,
    seed: int = 0,
    lower_bound: float | None = None,
    ahead: float = np.inf,
) -> Solution[Strategy]:
    """The best strategy found for `workload` Q (K, N), in answer coordinates, and among the elements from `starts` if given.

    Starts in answer coordinates are the rows of Q as they are and equalised, the spectral strategy, and the rows with as many
    random ones (`seed`). Each descent is kept only if it is better, so the result is never worse than measuring the rows of Q.
    Where the changes are unit vectors (records appear) and the answers more than a few, p-identity strategies take the place of
    the descents: they ended at the same errors or lower ones in a hundredth of the time.
    """
    q, alone = np.atleast_2d(np.asarray(workload, dtype=float)), changes.unit_budgets()
    if alone is not None and len(q) > LARGEST_SURPLUS * len(alone) > LARGEST_SURPLUS * RANDOM_DIMENSION:
        w = q.T @ q
        return _for_units(w, alone, changes, starts or {}, seed, unit_bound(w, alone) if lower_bound is None else lower_bound)
    rows, combined, moved = in_answers(q, changes)
    gram = combined.T @ combined
    if lower_bound is None:
        lower_bound = singular_value_bound(gram, moved) if alone is None else unit_bound(q.T @ q, alone)
    bound, starts_here = lower_bound, _answer_starts(combined, moved, seed)
    descends, seeds = alone is None or len(gram) <= RANDOM_DIMENSION, _random_strategies(gram, seed)
    own: dict[str, Any] = {"iterations": iterations, "keep": keep, "lower_bound": bound, "ahead": ahead}
    whole = len(rows) == rows.shape[1]  # of all elements: one search, among the starts of both
    others: list[Callable[[], Solution[Strategy]]] = []
    if alone is not None:
        others.append(partial(_for_units, q.T @ q, alone, changes, starts or {}, seed, bound))
    if starts and descends and whole:
        both = starts | {name: matrix @ rows for name, matrix in starts_here.items()}
        first = optimise_strategy(q.T @ q, changes, both, seeds=[matrix @ rows for matrix in seeds], **own)
        return min([first, *_those_that_succeed(others)], key=lambda s: steady(s.value))
    if descends:
        found = optimise_strategy(gram, moved, starts_here, seeds=seeds, **own)
    else:
        found = _solution(best_fixed(gram, moved, starts_here), gram, moved, 0, "best of the starts", bound)
    lifted = fit_to_budgets(found.point.matrix @ rows, changes, found.point.name)
    first = Solution(found.status, lifted, found.value, min(bound, found.value), found.iterations, found.method)
    if starts and (alone is None or len(alone) <= RANDOM_DIMENSION):
        others.append(partial(optimise_strategy, q.T @ q, changes, starts, **own))
    return min([first, *_those_that_succeed(others)], key=lambda s: steady(s.value))


def _for_units(
    gram: Array, budget: Array, changes: Changes, starts: dict[str, Array], seed: int, bound: float
) -> Solution[Strategy]:
    """The best of the starts and of p-identity strategies where the changes are unit vectors; `budget` (N,) is infinite for
    elements that none moves, which are not measured."""
    kept = np.isfinite(budget)
    w, b = gram[np.ix_(kept, kept)], budget[kept]
    best, steps = best_fixed(gram, changes, {"identity": np.eye(len(gram))} | starts), 0
    lowest = gram_error(gram, best.matrix, changes.span())
    for share in P_SHARES if b.size <= P_SEVERAL else P_SHARES[:1]:
        theta, taken = best_p_identity(w, b, max(1, round(b.size / share)), P_STARTS, seed, P_STEPS)
        matrix = np.zeros((b.size + len(theta), len(gram)))
        matrix[:, kept] = p_identity_matrix(theta, b)
        found = fit_to_budgets(matrix, changes, "p-identity")
        value, steps = gram_error(gram, found.matrix, changes.span()), steps + taken
        if value < lowest:
            best, lowest = found, value
    return _solution(best, gram, changes, steps, "L-BFGS-B on the p-identity form", bound)


def _answer_starts(combined: Array, moved: Changes, seed: int) -> dict[str, Array]:
    k = combined.shape[1]
    longest = (np.abs(moved.matrix) * (1.0 / moved.budget)).max(axis=1).toarray().ravel() if moved.count else np.zeros(k)
    alone = 1.0 / np.where(longest > 0.0, longest, 1.0)
    mixed = np.random.default_rng(seed).normal(size=(k, k)) * alone / k
    starts = {"rows": np.eye(k), "equalised rows": np.diag(alone), "spectral": spectral(combined.T @ combined)}
    along = np.abs(combined @ np.random.default_rng(seed).normal(size=k))
    # Rows that differ, whatever their signs, nearly always differ along a random direction, which is quickly told.
    if (
        len(np.unique(along.round(9))) <= LARGEST_SURPLUS * k + 1
        and k < len(answers := _different(combined)) <= LARGEST_SURPLUS * k
    ):
        starts["all answers"] = answers
    return starts | {"rows and random rows": np.vstack([np.diag(alone), mixed])}


def _different(rows: Array) -> Array:
    """The rows that are no other row, nor its opposite, nor 0: measured twice, a row costs twice its length and brings half."""
    sized = rows[np.abs(rows).max(axis=1) > 1e-9 * np.abs(rows).max(initial=0.0)]
    leading = sized[np.arange(len(sized)), (np.abs(sized) > 1e-9 * np.abs(sized).max(initial=0.0)).argmax(axis=1)]
    signed = sized * np.sign(leading)[:, None]
    return np.asarray(signed[np.sort(np.unique(signed.round(9), axis=0, return_index=True)[1])])


def _random_strategies(gram: Array, seed: int) -> list[Array]:
    """Random rows that look alike in every answer, up to two more than needed; none in high dimension, where they end far off.

    Under symmetric changes (tables with fixed margins) the rows themselves are a saddle that no descent leaves: 2 x 2 x 2
    tables with three records moving cost 288 there, 128 from random rows.
    """
    k, random = len(gram), np.random.default_rng(seed)
    return [random.normal(size=(k + i % 3, k)) @ _root(gram) for i in range(RANDOM)] if k <= RANDOM_DIMENSION else []


def in_answers(workload: ArrayLike, changes: Changes) -> tuple[Array, Array, Changes]:
    """`(C, T, moved)`: rows C (k, N) of Q that are independent where changes move them, T (K, k) with `Q d = T C d` for every
    change d, and the changes `C d_m`.

    A strategy B found for (T'T, moved) is the strategy `B C` for Q. With fewer answers than elements this is the smaller
    program, and the only one of the two in which the rows of Q themselves are a starting point of full rank.
    """
    q = np.atleast_2d(np.asarray(workload, dtype=float))
    reached = q @ changes.span()
    if np.abs(reached).max(initial=0.0) <= 1e-12 * np.abs(q).max(initial=0.0):
        reached = q  # no change moves an answer: any rows serve
    kept = independent_rows(reached)
    return q[kept], reached @ pseudo_inverse(reached[kept]), Changes(changes.along(q[kept]), changes.budget)
