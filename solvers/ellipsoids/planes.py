"""Cutting planes for the ellipsoid program in reduced coordinates: solve on a working set, scan the rest, add what sticks
out.

The bound that a working set leaves proven: docs/theory/ellipsoid.md, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from solvers.ellipsoids.barrier import DIRECT_ROWS, follow_path, is_direct
from solvers.ellipsoids.dual import DualPoint
from solvers.ellipsoids.rows import Rows, VectorRows
from solvers.polytopes.pivot_columns import pivots
from solvers.work import is_over, spend

# A working set can hold every row that binds, q (q + 1) / 2 at most in general position, up to this dimension.
WORKING_DIMENSION = 50
ROUNDS = 100
# Relative sizes that tell apart, among equal weights, rows of one length and directions that rows reach.
EVEN = 1e-9


@dataclass(frozen=True)
class Found:
    """The point to use, the largest ratio `worst` of any row known there, and the point that proves the best bound."""

    point: DualPoint
    worst: float
    prover: DualPoint
    iterations: int
    method: str

    @property
    def value(self) -> float:
        """The cost once the covariance is multiplied by `worst`."""
        return self.point.cost * self.worst

    @property
    def bound(self) -> float:
        """What no covering ellipsoid can beat."""
        return self.prover.bound


Scan = Callable[[Found], tuple[float, VectorRows]]


def cover(rows: Rows, queries: VectorRows, scan: Scan | None, tolerance: float, max_iterations: int) -> Found:
    """Solve for all rows at once, or on a working set when `scan` sees more or when the rows are many and short."""
    if rows.count <= DIRECT_ROWS or scan is not None:
        rows = rows.select(slice(None))
    if scan is not None:
        return cut(rows, queries, scan, tolerance, max_iterations)
    if isinstance(rows, VectorRows) and (even := _even(rows, queries, tolerance)) is not None:
        return even
    if rows.count <= 30 * rows.dimension or rows.dimension > WORKING_DIMENSION:
        return _follow(rows, queries, tolerance, max_iterations)
    return cut(first_rows(rows), queries, lambda found: outstanding(rows, found), tolerance, max_iterations)


def _even(rows: VectorRows, queries: VectorRows, tolerance: float) -> Found | None:
    """Equal weights on all rows, or on those that are then the longest, where that is the optimum: rows that are the images of
    one under symmetries, as the changes of a table with published margins are."""
    weights, costs = np.ones(rows.count), np.ones(queries.count)
    for step in (1, 2):
        try:
            point = DualPoint.at(rows, queries, weights, costs)
        except np.linalg.LinAlgError:
            return None
        if not point.roots.min() > EVEN * point.roots.max():
            return None
        if point.value - point.bound <= tolerance * point.value:
            return Found(point, float(point.ratios.max()), point, step, "equal weights")
        weights = (point.ratios >= (1 - EVEN) * point.ratios.max()).astype(np.float64)
    return None


def cut(rows: Rows, queries: VectorRows, scan: Scan, tolerance: float, max_iterations: int) -> Found:
    """Rounds of solving and scanning. Every bound is a bound for the whole set, because fewer rows can only cost less.

    Early rounds are solved as roughly as the last scan was violated: their optimum is thrown away.
    """
    best, prover, violation, steps = None, None, 0.1, 0
    for _ in range(ROUNDS):
        found = _follow(rows, queries, max(tolerance / 2.0, min(1e-2, violation / 10.0)), max_iterations)
        worst, more = scan(found)
        steps, violation = steps + found.iterations, worst - 1.0
        prover = found.prover if prover is None or found.bound >= prover.bound else prover
        method = f"{found.method}, cutting planes, {rows.count} rows at the end"
        candidate = Found(found.point, found.worst * max(worst, 1.0), prover, steps, method)
        best = candidate if best is None or candidate.value <= best.value else best
        solved = best.value - prover.bound <= tolerance * best.value
        if solved or is_over() or (not more.count and found.value - found.bound <= tolerance * found.value):
            break
        # Rows at half their length do not bind and hardly ever come back; without them the Newton systems stay small.
        # A cost that all but ignores a direction may leave no such row along it: then all rows stay, because they must span.
        kept = np.concatenate([rows.select(np.flatnonzero(found.point.ratios > 0.5 * found.worst)).vectors, more.vectors])
        everything = rows.select(slice(None)).vectors
        spans = np.linalg.matrix_rank(kept) == rows.dimension
        rows = VectorRows(kept if spans else np.concatenate([everything, more.vectors]))
    assert best is not None and prover is not None
    return replace(best, prover=prover, iterations=steps)


def outstanding(rows: Rows, found: Found) -> tuple[float, VectorRows]:
    """The largest ratio over explicit or paired rows, and the rows beyond 1 that exceed it most."""
    spend(entries=float(rows.count) * rows.dimension)
    ratios = rows.ratios(found.point.precision) / found.worst
    many = min(rows.count - 1, max(50, 8 * rows.dimension))
    largest = np.argpartition(ratios, -many)[-many:]
    return float(ratios.max()), rows.select(largest[ratios[largest] > 1.0])


def first_rows(rows: Rows) -> VectorRows:
    """Rows that span, by pivoted QR, and those of largest leverage `r' (sum r r')^-1 r`, which no change of basis alters."""
    inverse = np.asarray(np.linalg.pinv(rows.moment(np.ones(rows.count)), hermitian=True), dtype=np.float64)
    many = min(rows.count, 6 * rows.dimension)
    longest = rows.select(np.argpartition(rows.ratios(inverse), -many)[-many:])
    spanning = rows.spanning().vectors
    return VectorRows(np.concatenate([spanning[pivots(spanning.T)[0]], longest.vectors]))


def _follow(rows: Rows, queries: VectorRows, tolerance: float, max_iterations: int) -> Found:
    point, prover, steps = follow_path(rows, queries, tolerance, max_iterations)
    method = "interior point, " + ("Cholesky" if is_direct(rows, queries) else "conjugate gradients")
    return Found(point, float(point.ratios.max()), prover, steps, method)
