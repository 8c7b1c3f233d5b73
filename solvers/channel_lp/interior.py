"""A table and prices of the elements by an interior point method, for many elements that no symmetry maps to others.

Of each report the table has the elements that are near; what is further follows the nearest of these. A Newton step solves a
small dense system for each report, and one of N rows that couples them: `sum over z of K[x, z] = 1`. Multipliers of pairs bound
every table whatever they are (`pricing`), so that this search may stop anywhere. Derivations in docs/theory/columns.md,
section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.channel_lp.cone import Array, Edges, Flow, Indices, envelope, near_edges
from solvers.limits import MOST_INTERIOR_BYTES
from solvers.work import CALLS, ENTRIES, FLOPS, is_over, spend, units_left

STEPS = 120
ATTEMPTS = 3  # with more elements each
LEARNT = 10  # steps after which prices say which far elements are looked at, too
DEAR = 1.25  # times such a price is more than what an element costs that is looked at
ABOUT = 70  # of these are taken for a gap of 5e-2 between 755 cities
REACH = 8.0  # in budgets, from the elements that a report is good for
GOOD = 0.3  # of the cost that an element has in the first table
WIDE = 30.0  # of the first complementarity, beside what makes the gap as large as the value
SHORT = 0.9  # of the way to the border
SLOPE = 0.03  # by which steps of reports may differ, for each unit of budget between what they are good for
STRICT = 1e-3  # of its complementarity, the least that a report is led to in one step
FINAL = 0.1  # of the complementarity that the gap allows: no report is led below
AROUND = 256  # nearest elements, pairs among which are looked at
IMPLIED, FEW = 1.03, 0.03  # pairs that others imply up to so much stretch, and their weight in the barrier
SHARE = 0.75  # of the work that is left
PASSES = 32  # over a report, in each step
ARRAYS = 24  # of the pairs of a report, at once
LEAST = 0.1  # of the first table goes to all reports alike, so that each has a column within the cone
ENOUGH = 0.75  # of the gap
FIRM = 1e-4  # of what a far element costs is kept, so that the proof holds at budgets that floats know to 1e-7, too
EVENED, ROWS = 12, 1e-10  # rounds of making rows 1, and by which they may miss it


class TooLarge(Exception):
    """The program takes more memory, or more work, than it may; the message says how much."""


@dataclass(frozen=True, eq=False)
class Interior:
    """Prices (N,) at which no column gains, with the flow of each report that proves it, and a column (N, M) of the cone for
    each; their rows sum to 1 but for `missing`, the most that one is off."""

    rows: Array
    flows: tuple[Flow, ...]
    columns: Array
    missing: float


@dataclass(eq=False)
class _Report:
    """The program of one report: `cost v + ...`, v (n,) of the elements `names`, `s = G v >= 0` of the pairs, both ways each,
    and multipliers of both. heft: of the pairs, both ways, in the barrier. far: elements that follow the elements `held`."""

    names: Indices
    left: Indices
    right: Indices
    half: Array
    heft: Array
    own: Array
    far: Indices
    held: Indices
    beyond: Array
    decay: Array
    v: Array
    s: Array
    of_s: Array
    of_v: Array

    def cost(self, rows: Array) -> Array:
        """Of an element and those that follow it, which are counted above their prices of all `rows` (N,): (n,)."""
        return np.asarray(self.own + np.bincount(self.held, self.asked(rows), len(self.names)))

    def asked(self, rows: Array) -> Array:
        """What far elements ask of those that they follow, at prices (N,)."""
        return np.asarray(np.maximum(self.beyond * (1 - FIRM) - rows[self.far], 0.0) * self.decay)

    @property
    def state(self) -> tuple[Array, Array, Array, Array]:
        """The point with its multipliers."""
        return self.v, self.s, self.of_s, self.of_v

    @state.setter
    def state(self, given: tuple[Array, Array, Array, Array]) -> None:
        self.v, self.s, self.of_s, self.of_v = given

    @property
    def weight(self) -> float:
        """Of all terms of the barrier."""
        return float(self.heft.sum()) + len(self.v)

    def pairs(self, v: Array) -> Array:
        """G v: `v_right exp(b / 2) - v_left exp(-b / 2)`, and the same the other way round."""
        here, there = v[self.left], v[self.right]
        return np.concatenate([there * self.half - here / self.half, here * self.half - there / self.half])

    def back(self, multipliers: Array) -> Array:
        """G' times multipliers of the pairs, (n,)."""
        one, other = np.split(multipliers, 2)
        n = len(self.names)
        there = np.bincount(self.left, other * self.half - one / self.half, n)
        return np.asarray(there + np.bincount(self.right, one * self.half - other / self.half, n))

    def inverse(self) -> Array:
        """Of `G' D G + diag(of_v / v)`, D the diagonal of `of_s / s`, (n, n)."""
        from scipy.linalg.lapack import dpotrf, dpotri

        n = len(self.names)
        one, other = np.split(self.of_s / self.s, 2)
        h, squared, own = np.zeros((n, n)), self.half**2, np.arange(n)
        h[self.left, self.right] = h[self.right, self.left] = -(one + other)
        here = np.bincount(self.left, one / squared + other * squared, n)
        there = np.bincount(self.right, one * squared + other / squared, n)
        h[own, own] = self.of_v / self.v + here + there
        factor, failed = dpotrf(h, lower=1)
        found, failed_too = dpotri(factor, lower=1)
        if failed or failed_too:
            raise np.linalg.LinAlgError("a system of one report is not positive definite in floats")
        lower = np.tril(found)
        return np.asarray(lower + np.tril(found, -1).T)

    def step(self, v: Array, of_pairs: Array, of_entries: Array) -> _Step:
        """The change `v` of the point with that of the multipliers that leads to these products."""
        s = self.pairs(v)
        return _Step(v, s, (of_pairs - self.of_s * s) / self.s - self.of_s, (of_entries - self.of_v * v) / self.v - self.of_v)

    def complementarity(self) -> float:
        """The sum of the products of what is at least 0 with its multipliers."""
        return float(self.s @ self.of_s + self.v @ self.of_v)

    def left_over(self, rows: Array) -> Array:
        """What the multipliers of the pairs leave of the costs, (n,): no price may be above that."""
        return np.asarray(self.cost(rows) - self.back(self.of_s))

    def flow(self, rows: Array) -> Flow:
        """The multipliers, with what far elements ask, as a proof."""
        one, other = np.split(self.of_s, 2)
        left, right = self.names[self.left], self.names[self.right]
        return Flow(
            np.concatenate([left, right, self.names[self.held]]),
            np.concatenate([right, left, self.far]),
            np.concatenate([one / self.half, other / self.half, self.asked(rows)]),
        )

    def move(self, v: Array) -> None:
        """To another point of the cone."""
        self.v, self.s = v, self.pairs(v)


@dataclass(frozen=True, eq=False)
class _Step:
    """A direction of one report."""

    v: Array
    s: Array
    of_s: Array
    of_v: Array


@dataclass(frozen=True, eq=False)
class Plan:
    """Of a program, before it starts: costs (N, M) less what every table costs, a first table (N, M), of each report the
    elements and edges that are looked at, budgets (N, M) from the elements to those that a report is good for, and about how
    many bytes and units of work that takes."""

    costs: Array
    first: Array
    near: tuple[tuple[Indices, Indices], ...]
    apart: Array
    takes: float
    units: float


def plan(budgets: Array, costs: Array, edges: Edges, rows: Array | None = None) -> Plan:
    """What `interior_prices` will look at.

    budgets: (N, N), finite. costs: (N, M). rows: first prices (N,), at which far elements that cost less are looked at, too.
    """
    shifted = costs - costs.min(axis=1, keepdims=True)
    halves = np.exp(-budgets / 2)
    halves /= halves.sum(axis=1, keepdims=True)
    best = (halves.T @ shifted).argmin(axis=1)
    first = np.full(costs.shape, LEAST / costs.shape[1])
    np.add.at(first.T, best, (1 - LEAST) * halves.T)
    usual = GOOD * (shifted * first).sum(axis=1)
    near, apart = [], np.empty(costs.shape)
    for z in range(costs.shape[1]):
        good = np.flatnonzero(shifted[:, z] <= usual)
        good = good if len(good) else np.array([int(np.argmin(shifted[:, z] - usual))])
        apart[:, z] = budgets[:, good].min(axis=1)
        kept = apart[:, z] <= REACH
        if rows is not None:
            kept |= shifted[:, z] < DEAR * rows
        near.append((np.flatnonzero(kept), np.flatnonzero(kept[edges.left] & kept[edges.right])))
    takes = 8.0 * sum(len(kept) ** 2 + ARRAYS * len(chosen) for kept, chosen in near)
    return Plan(shifted, first, tuple(near), apart, takes, ABOUT * _work([(len(kept), len(chosen)) for kept, chosen in near]))


def _work(sizes: Sequence[tuple[int, int]]) -> float:
    """Units of a Newton step."""
    return sum(PASSES / CALLS + (1.5 * n**3 + 4 * n**2) / FLOPS + ARRAYS * pairs * 2 / ENTRIES for n, pairs in sizes)


def interior_prices(budgets: Array, costs: Array, gap: float) -> Interior:
    """A table and prices that prove that it costs at most about `gap` more than every table, by what it costs.

    budgets: (N, N), finite. costs: (N, M). TooLarge where that takes more than there is; `numpy.linalg.LinAlgError` where
    floats do not hold the program.
    """
    edges = near_edges(budgets, AROUND, 1 + gap / 10)
    planned = plan(budgets, costs, edges)
    if planned.takes > MOST_INTERIOR_BYTES or planned.units > SHARE * units_left():
        raise TooLarge(f"interior prices take about {planned.takes / 1e6:.0f} MB and {planned.units:.0f} units of work")
    reports, plain = _started(budgets, planned, edges), float(costs.min(axis=1).sum())
    rows, _ = _solved(reports, planned, np.zeros(len(costs)), gap, plain, LEARNT)
    largest = rows
    for _ in range(ATTEMPTS):
        largest = np.maximum(largest, rows)
        again = plan(budgets, costs, edges, largest)
        if again.units > planned.units:
            planned, reports, rows = again, _started(budgets, again, edges), np.zeros(len(costs))
        rows, held_up = _solved(reports, planned, rows, gap, plain, STEPS)
        if not held_up:
            break
    columns, missing = _evened(budgets, reports, costs.shape)
    rows, flows = np.minimum(*_prices(reports, rows)), tuple(report.flow(rows) for report in reports)
    return Interior(rows + costs.min(axis=1), flows, columns, missing)


def _started(budgets: Array, planned: Plan, edges: Edges) -> list[_Report]:
    """Strictly within the cone, with multipliers that leave no residual where that is possible, at prices of 0.

    Pairs that others nearly imply have little weight: the centre would else be far from all tables that are good.
    """
    n, everywhere, nothing = len(budgets), np.arange(len(budgets)), np.zeros(0)
    few = near_edges(budgets, AROUND, IMPLIED)
    hefts = np.where(np.isin(edges.left * n + edges.right, few.left * n + few.right), 1.0, FEW)
    each = WIDE * float((planned.costs * planned.first).sum()) / len(planned.near)
    reports = []
    for z, (names, chosen) in enumerate(planned.near):
        place = np.searchsorted(names, everywhere)
        far = np.setdiff1d(everywhere, names)
        held = names[budgets[np.ix_(far, names)].argmin(axis=1)] if len(far) else far
        report = _Report(
            names=names,
            left=place[edges.left[chosen]].astype(np.intp),
            right=place[edges.right[chosen]].astype(np.intp),
            half=np.exp(edges.budgets[chosen] / 2),
            heft=np.tile(hefts[chosen], 2),
            own=planned.costs[names, z],
            far=far,
            held=place[held].astype(np.intp),
            beyond=planned.costs[far, z],
            decay=np.exp(-budgets[far, held]),
            v=nothing,
            s=nothing,
            of_s=nothing,
            of_v=nothing,
        )
        report.move(planned.first[names, z])
        central = each / report.weight
        report.of_s = central * report.heft / report.s
        report.of_v = np.maximum(central / report.v, report.left_over(np.zeros(n)))
        reports.append(report)
    return reports


def _solved(reports: list[_Report], planned: Plan, rows: Array, gap: float, plain: float, steps: int) -> tuple[Array, bool]:
    """Prices (N,), by steps of a predictor and a corrector (Mehrotra 1992), as long as each report may take them: those that
    prove most, and the reports with them. And whether far elements alone, which cost less than their prices, end it.
    Without the gap it ends where a step, refined, still misses the prices' equations by more than what they lack.

    rows: (N,), to start from. plain: what every table costs beside the costs of the plan.
    """
    size, units = len(rows), _work([(len(report.names), len(report.left)) for report in reports])
    best, least_gap, held_up = (rows, [report.state for report in reports]), np.inf, False
    for _ in range(steps):
        value = sum(float(report.cost(np.zeros(size)) @ report.v) for report in reports)
        allowed = gap * abs(value + plain)
        near, far = _prices(reports, rows)
        lacking = value - float(np.minimum(near, far).sum())
        if lacking < least_gap:
            best, least_gap = (rows, [report.state for report in reports]), lacking
        of_near = value - float(near.sum())
        held_up = of_near <= ENOUGH * allowed < lacking and lacking - of_near > allowed / 2
        if lacking <= ENOUGH * allowed or held_up or is_over():
            break
        spend(units)
        try:
            inverses, factor = _factored(reports, size)
        except np.linalg.LinAlgError:
            break
        least = FINAL * allowed / len(reports)
        off = [report.left_over(rows) - rows[report.names] - report.of_v for report in reports]
        nothing = [(np.zeros(len(report.s)), np.zeros(len(report.v))) for report in reports]
        enough = least / size
        _, ahead, _ = _direction(reports, inverses, factor, _missing(reports, size), off, nothing, enough)
        (primal, _), (dual, _) = _lengths(reports, ahead, planned.apart)
        wanted = []
        for report, way, p, d in zip(reports, ahead, primal.tolist(), dual.tolist(), strict=True):
            own = max(max((1 - min(p, d)) ** 3, STRICT) * report.complementarity(), least) / report.weight
            wanted.append((own * report.heft - p * d * way.s * way.of_s, own - p * d * way.v * way.of_v))
        change, ways, left = _direction(reports, inverses, factor, _missing(reports, size), off, wanted, enough)
        if not left * size <= lacking:
            break
        (primal, _), (dual, at_elements) = _lengths(reports, ways, planned.apart)
        rows = rows + SHORT * at_elements * change
        for report, way, p, d in zip(reports, ways, (SHORT * primal).tolist(), (SHORT * dual).tolist(), strict=True):
            report.move(report.v + p * way.v)
            report.of_s = report.of_s + d * way.of_s
            moved = report.of_v + d * way.of_v
            apart = (d - SHORT * at_elements[report.names]) * change[report.names]
            report.of_v = np.clip(moved + apart, moved / 2, 2 * moved)
        _made_one(reports, inverses, factor, _missing(reports, size))
    for report, state in zip(reports, best[1], strict=True):
        report.state = state
    return best[0], held_up


def _missing(reports: list[_Report], size: int) -> Array:
    """What rows are short of 1, (N,)."""
    missing = np.ones(size)
    for report in reports:
        missing[report.names] -= report.v
        missing[report.far] -= report.v[report.held] * report.decay
    return missing


def _prices(reports: list[_Report], rows: Array) -> tuple[Array, Array]:
    """The largest prices (N,) that the multipliers prove of near elements, far ones asking what they do at `rows`; and the
    largest that they prove of far elements, (N,)."""
    near, far = np.full(len(rows), np.inf), rows.copy()
    for report in reports:
        near[report.names] = np.minimum(near[report.names], report.left_over(rows))
        far[report.far] = np.minimum(far[report.far], report.beyond)
    return near, far


def _factored(reports: list[_Report], size: int) -> tuple[list[Array], Any]:
    """The systems of the reports, inverted, and the factor of the one that couples them."""
    from scipy.linalg import cho_factor

    inverses = [report.inverse() for report in reports]
    coupled = np.zeros((size, size))
    for report, inverse in zip(reports, inverses, strict=True):
        coupled[np.ix_(report.names, report.names)] += inverse
    return inverses, cho_factor(coupled)


def _direction(
    reports: list[_Report],
    inverses: list[Array],
    factor: Any,
    missing: Array,
    off: list[Array],
    wanted: list[tuple[Array, Array]],
    enough: float,
) -> tuple[Array, list[_Step], float]:
    """The Newton step to products `wanted`, of pairs and of entries; of the prices, and of each report; and what it leaves of
    the residuals `off`, at most `enough` where rounding allows it.

    Near the optimum the inverses hold few digits: the step is solved again for what it leaves, as long as that halves.
    """
    from scipy.linalg import cho_solve

    change = np.zeros(len(missing))
    ways = [report.step(np.zeros(len(report.v)), *products) for report, products in zip(reports, wanted, strict=True)]
    found, least = (change, ways), np.inf
    while True:
        forces = [
            report.back(way.of_s) + way.of_v + change[report.names] - residual
            for report, way, residual in zip(reports, ways, off, strict=True)
        ]
        left = max(float(np.abs(force).max()) for force in forces)
        if left < least:
            found = (change, ways)
        if left <= enough or not left < least / 2:
            return *found, min(left, least)
        least, right = left, missing.copy()
        for report, inverse, way, force in zip(reports, inverses, ways, forces, strict=True):
            right[report.names] -= way.v + inverse @ force
        more = cho_solve(factor, right)
        change = change + more
        ways = [
            report.step(way.v + inverse @ (force + more[report.names]), *products)
            for report, inverse, way, force, products in zip(reports, inverses, ways, forces, wanted, strict=True)
        ]


def _made_one(reports: list[_Report], inverses: list[Array], factor: Any, missing: Array) -> None:
    """Move towards a table whose rows are 1, by the least change, each report up to half of its way to the border."""
    from scipy.linalg import cho_solve

    change = cho_solve(factor, missing)
    for report, inverse in zip(reports, inverses, strict=True):
        way = inverse @ change[report.names]
        report.move(report.v + min(1.0, _until_zero(report.v, way) / 2, _until_zero(report.s, report.pairs(way)) / 2) * way)


def _lengths(reports: list[_Report], ways: list[_Step], apart: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """How far points, and multipliers, may go before something is 0, 1 at most: of reports (M,) and of elements (N,), each."""
    primal = [
        min(_until_zero(report.v, way.v), _until_zero(report.s, way.s)) for report, way in zip(reports, ways, strict=True)
    ]
    dual = [
        min(_until_zero(report.of_v, way.of_v), _until_zero(report.of_s, way.of_s))
        for report, way in zip(reports, ways, strict=True)
    ]
    return _spread(np.array(primal), apart), _spread(np.array(dual), apart)


def _spread(lengths: Array, apart: Array) -> tuple[Array, Array]:
    """At most these lengths (M,), and 1, that differ little where reports are near: of reports (M,) and of elements (N,)."""
    spend(entries=4.0 * apart.size)
    of_elements = np.minimum(1.0, (lengths + SLOPE * apart).min(axis=1))
    return (of_elements[:, None] + SLOPE * apart).min(axis=0), of_elements


def _until_zero(point: Array, way: Array) -> float:
    falls = way < 0
    return float((-point[falls] / way[falls]).min(initial=np.inf))


def _evened(budgets: Array, reports: list[_Report], shape: tuple[int, int]) -> tuple[Array, float]:
    """A table (N, M) in the cone, and by how much its rows miss 1, at most: with what far elements have, rows are made 1."""
    columns, missing, everywhere = np.zeros(shape), np.inf, np.zeros(shape)
    systems = None
    for _ in range(EVENED):
        for z, report in enumerate(reports):
            everywhere[report.names, z] = report.v
        lifted = envelope(budgets, everywhere)
        short = 1 - lifted.sum(axis=1)
        off = float(np.abs(short).max())
        if off < missing:
            columns, missing = lifted, off
        if off <= ROWS or is_over():
            break
        systems = systems or _factored(reports, len(budgets))
        _made_one(reports, *systems, short)
    return columns, missing
