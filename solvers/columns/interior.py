"""Prices of the elements by an interior point method, for many elements that no symmetry maps to others.

Of each report the table has the elements that are near; what is further follows the nearest of these. A Newton step solves a
small dense system for each report, and one of N rows that couples them: `sum over z of K[x, z] = 1`. Prices bound every table
whatever they are (`pricing`), so that this search may stop anywhere. Derivations in docs/theory/columns.md, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.columns.cone import Array, Edges, Indices, envelope
from solvers.work import CALLS, ENTRIES, FLOPS, is_over, spend, units_left

STEPS = 100
ABOUT = 55  # of these are taken for a gap of 1e-2 between 755 cities
REACH = 8.0  # in budgets, from the elements that a report is good for
GOOD = 0.3  # of the cost that an element has in the first table
WIDE = 30.0  # of the first complementarity, beside what makes the gap as large as the value
SHORT = 0.9  # of the way to the border
SHARE = 0.5  # of the work that is left: columns and their prices take the rest
MOST_BYTES = 1.5e9
PASSES = 12  # over all reports, in each step
ARRAYS = 24  # of the pairs of a report, at once
LEAST = 0.1  # of the first table goes to all reports alike, so that each has a column within the cone
ROWS = 1e-6  # by which rows may miss 1


class TooLarge(Exception):
    """The program takes more memory, or more work, than it may; the message says how much."""


@dataclass(frozen=True, eq=False)
class Interior:
    """Prices (N,), and a column (N, M) of the cone for each report."""

    rows: Array
    columns: Array


@dataclass(eq=False)
class _Report:
    """The program of one report: `cost v + ...`, v (n,) of the elements `names`, `s = G v >= 0` of the pairs, both ways each,
    and multipliers of both."""

    names: Indices
    left: Indices
    right: Indices
    half: Array
    cost: Array
    v: Array
    s: Array
    of_s: Array
    of_v: Array

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

    def complementarity(self) -> float:
        """The sum of the products of what is at least 0 with its multipliers."""
        return float(self.s @ self.of_s + self.v @ self.of_v)

    def residual(self, rows: Array) -> Array:
        """By how much the multipliers miss `cost - rows`, (n,)."""
        return np.asarray(self.cost - rows[self.names] - self.back(self.of_s) - self.of_v)


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
    elements and edges that are looked at, and about how many bytes and units of work that takes."""

    costs: Array
    first: Array
    near: tuple[tuple[Indices, Indices], ...]
    takes: float
    units: float


def plan(budgets: Array, costs: Array, edges: Edges) -> Plan:
    """What `interior_prices` will look at.

    budgets: (N, N), finite. costs: (N, M).
    """
    shifted = costs - costs.min(axis=1, keepdims=True)
    halves = np.exp(-budgets / 2)
    halves /= halves.sum(axis=1, keepdims=True)
    best = (halves.T @ shifted).argmin(axis=1)
    first = np.full(costs.shape, LEAST / costs.shape[1])
    np.add.at(first.T, best, (1 - LEAST) * halves.T)
    usual = GOOD * (shifted * first).sum(axis=1)
    near = []
    for z in range(costs.shape[1]):
        good = np.flatnonzero(shifted[:, z] <= usual)
        good = good if len(good) else np.array([int(np.argmin(shifted[:, z] - usual))])
        kept = budgets[:, good].min(axis=1) <= REACH
        near.append((np.flatnonzero(kept), np.flatnonzero(kept[edges.left] & kept[edges.right])))
    takes = 8.0 * sum(len(kept) ** 2 + ARRAYS * len(chosen) for kept, chosen in near)
    return Plan(shifted, first, tuple(near), takes, ABOUT * _work([(len(kept), len(chosen)) for kept, chosen in near]))


def _work(sizes: Sequence[tuple[int, int]]) -> float:
    """Units of a Newton step."""
    return sum(PASSES / CALLS * 4 + (1.5 * n**3 + 4 * n**2) / FLOPS + ARRAYS * pairs * 2 / ENTRIES for n, pairs in sizes)


def interior_prices(budgets: Array, costs: Array, edges: Edges, gap: float) -> Interior:
    """Prices whose own bound is within about `gap` of the optimum over these edges, and the table that goes with them.

    TooLarge where that takes more than there is; `numpy.linalg.LinAlgError` where floats do not hold the program.
    """
    planned = plan(budgets, costs, edges)
    if planned.takes > MOST_BYTES or planned.units > SHARE * units_left():
        raise TooLarge(f"interior prices take about {planned.takes / 1e6:.0f} MB and {planned.units:.0f} units of work")
    value = float((planned.costs * planned.first).sum())
    reports = _started(budgets, planned, edges, value)
    rows = _solved(reports, len(budgets), value, gap)
    columns = np.zeros(costs.shape)
    for z, report in enumerate(reports):
        columns[report.names, z] = report.v
    return Interior(rows + costs.min(axis=1), envelope(budgets, columns))


def _started(budgets: Array, planned: Plan, edges: Edges, value: float) -> list[_Report]:
    """Strictly within the cone, with multipliers that leave no residual where that is possible, at prices of 0."""
    everywhere = np.arange(len(budgets))
    count = sum(2 * len(chosen) + len(kept) for kept, chosen in planned.near)
    central = WIDE * value / count
    reports = []
    for z, (names, chosen) in enumerate(planned.near):
        place = np.searchsorted(names, everywhere)
        far = np.setdiff1d(everywhere, names)
        held = names[budgets[np.ix_(far, names)].argmin(axis=1)] if len(far) else far
        beyond = planned.costs[far, z] * np.exp(-budgets[far, held])
        cost = planned.costs[names, z] + np.bincount(place[held], beyond, len(names))
        left, right = place[edges.left[chosen]].astype(np.intp), place[edges.right[chosen]].astype(np.intp)
        v, nothing = planned.first[names, z], np.zeros(0)
        report = _Report(names, left, right, np.exp(edges.budgets[chosen] / 2), cost, v, nothing, nothing, nothing)
        report.s = report.pairs(v)
        report.of_s = central / report.s
        report.of_v = np.maximum(central / v, cost - report.back(report.of_s))
        reports.append(report)
    return reports


def _solved(reports: list[_Report], size: int, value: float, gap: float) -> Array:
    """Prices (N,), by steps of a predictor and a corrector (Mehrotra 1992)."""
    from scipy.linalg import cho_factor

    rows, units = np.zeros(size), _work([(len(report.names), len(report.left)) for report in reports])
    count = sum(len(report.s) + len(report.v) for report in reports)
    for _ in range(STEPS):
        left = sum(report.complementarity() for report in reports)
        value = sum(float(report.cost @ report.v) for report in reports)
        missing = np.ones(size)
        for report in reports:
            missing[report.names] -= report.v
        if (left <= gap * value and float(np.abs(missing).max()) <= ROWS) or is_over():
            break
        spend(units)
        inverses = [report.inverse() for report in reports]
        coupled = np.zeros((size, size))
        for report, inverse in zip(reports, inverses, strict=True):
            coupled[np.ix_(report.names, report.names)] += inverse
        factor = cho_factor(coupled)
        off = [report.residual(rows) for report in reports]
        _, ahead = _direction(reports, inverses, factor, missing, off, 0.0, None)
        primal, dual = _lengths(reports, ahead)
        after = sum(_complementarity_after(*pair, primal, dual) for pair in zip(reports, ahead, strict=True))
        central = (after / left) ** 3 * left / count
        change, ways = _direction(reports, inverses, factor, missing, off, central, ahead)
        primal, dual = (min(1.0, SHORT * length) for length in _lengths(reports, ways))
        rows = rows + dual * change
        for report, way in zip(reports, ways, strict=True):
            report.v = report.v + primal * way.v
            report.s = report.s + primal * way.s
            report.of_s = report.of_s + dual * way.of_s
            report.of_v = report.of_v + dual * way.of_v
    return rows


def _direction(
    reports: list[_Report],
    inverses: list[Array],
    factor: Any,
    missing: Array,
    off: list[Array],
    central: float,
    ahead: list[_Step] | None,
) -> tuple[Array, list[_Step]]:
    """The Newton step to products `central`, less those of the step `ahead`; of the prices, and of each report."""
    from scipy.linalg import cho_solve

    wanted, forces, right = [], [], missing.copy()
    for k, (report, inverse) in enumerate(zip(reports, inverses, strict=True)):
        of_pairs = central - (ahead[k].s * ahead[k].of_s if ahead else 0.0)
        of_entries = central - (ahead[k].v * ahead[k].of_v if ahead else 0.0)
        wanted.append((of_pairs, of_entries))
        force = report.back(of_pairs / report.s - report.of_s) + of_entries / report.v - report.of_v - off[k]
        forces.append(force)
        right[report.names] -= inverse @ force
    change = cho_solve(factor, right)
    ways = []
    for report, inverse, force, (of_pairs, of_entries) in zip(reports, inverses, forces, wanted, strict=True):
        v = inverse @ (force + change[report.names])
        s = report.pairs(v)
        of_s, of_v = (of_pairs - report.of_s * s) / report.s, (of_entries - report.of_v * v) / report.v
        ways.append(_Step(v, s, of_s - report.of_s, of_v - report.of_v))
    return change, ways


def _lengths(reports: list[_Report], ways: list[_Step]) -> tuple[float, float]:
    """How far the points, and the multipliers, may go before something is 0; 1 at most."""
    primal, dual = 1.0, 1.0
    for report, way in zip(reports, ways, strict=True):
        primal = min(primal, _until_zero(report.v, way.v), _until_zero(report.s, way.s))
        dual = min(dual, _until_zero(report.of_v, way.of_v), _until_zero(report.of_s, way.of_s))
    return primal, dual


def _until_zero(point: Array, way: Array) -> float:
    falls = way < 0
    return float((-point[falls] / way[falls]).min(initial=np.inf))


def _complementarity_after(report: _Report, way: _Step, primal: float, dual: float) -> float:
    own = (report.s + primal * way.s) @ (report.of_s + dual * way.of_s)
    return float(own + (report.v + primal * way.v) @ (report.of_v + dual * way.of_v))
