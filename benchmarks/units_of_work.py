"""How many seconds of the processor a unit of counted work takes, search by search: what the constants of `solvers/work.py`
are calibrated by.

Each search runs to its end on problems that grow. Behind its units and seconds stands which module counted them, and the
median over all searches that spend more than a tenth of a unit is what a unit is.

    OMP_NUM_THREADS=1 python -m benchmarks.units_of_work [words of names]
"""

from __future__ import annotations

import importlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from designer import Problem, Workload, design, invariants, metrics
from designer.designing.least_noise import limit
from solvers import work
from solvers.programs.changes import Changes
from solvers.programs.strategy_search import singular_value_bound
from solvers.work import one_thread

COUNTING = (
    *("ellipsoids.barrier", "ellipsoids.planes", "polytopes.extremes"),
    *(f"programs.{name}" for name in ("bundling", "conic", "coset_bound", "descent", "lattice_law", "p_identities")),
    "programs.strategy_search",
)
LEAST = 0.1  # units below which a search says nothing of what one takes
Searches = Iterator[tuple[str, Callable[[], object]]]


def places(number: int, queries: int, **rest: Any) -> Problem:
    """Random queries of so many random places in a square, protected by distance."""
    points = np.random.default_rng(number).random((number, 2))
    return Problem(Workload.random(queries, number, seed=queries), metrics.euclidean(points, 2.0), **rest)


def totals(size: int) -> Problem:
    """Running totals, one record added or removed."""
    return Problem(Workload(np.tril(np.ones((size, size)))), metrics.add_remove(size, 1.0))


def grid(side: int, queries: int) -> Problem:
    """Random ranges of a square of places, protected by distance."""
    rng = np.random.default_rng(side)
    points = [(i, j) for i in range(side) for j in range(side)]
    rows = []
    for _ in range(queries):
        (a, b), (c, d) = np.sort(rng.integers(0, side, (2, 2)), axis=0)
        rows.append([float(a <= i <= c and b <= j <= d) for i, j in points])
    return Problem(Workload(rows), metrics.euclidean(points, 1.0))


def margins(rows: int, columns: int) -> Problem:
    """Tables whose margins are public, two records changed."""
    return Problem(Workload.identity(rows * columns), invariants.margins((rows, columns)).protect(1.0, 2))


def whole(queries: int, elements: int, budget: float) -> Problem:
    """Whole-number queries with one budget for all."""
    rows = np.random.default_rng(queries + elements).integers(0, 4, (queries, elements))
    return Problem(Workload(rows.astype(float)), metrics.uniform(elements, budget))


def searches() -> Searches:
    """Every search by name, smaller ones first."""

    def by(family: str, problem: Problem, **options: Any) -> Callable[[], object]:
        return partial(design, problem, family, effort="thorough", **options)

    def bound(problem: Problem) -> Callable[[], object]:
        return partial(limit, problem)

    for number, queries in ((12, 6), (40, 5), (80, 10)):
        yield f"strategy_laplace, {queries} queries of {number} places", by("strategy_laplace", places(number, queries))
    yield "strategy_laplace, 60 ranges of 8 x 8", by("strategy_laplace", grid(8, 60))
    yield "strategy_laplace, 200 ranges of 12 x 12", by("strategy_laplace", grid(12, 200))
    for size in (16, 64, 256):
        yield f"strategy_laplace, {size} running totals", by("strategy_laplace", totals(size))
    yield "strategy_laplace, margins 5 x 5, two records", by("strategy_laplace", margins(5, 5))
    for number in (40, 144, 300):
        yield f"singular_value_bound, {number} places", partial(singular_value_bound, np.eye(number), _changes(number))
    for number, queries in ((40, 5), (100, 30), (300, 60), (400, 150)):
        yield f"ellipsoid, {queries} queries of {number} places", by("ellipsoid", places(number, queries))
        yield f"gaussian, {queries} queries of {number} places", by("gaussian", places(number, queries, notion="zcdp"))
    for number, queries in ((60, 4), (60, 6), (30, 8)):
        yield f"k_norm, {queries} queries of {number} places", by("k_norm", places(number, queries))
    for number, queries in ((12, 4), (30, 6)):
        yield f"bundles, {queries} queries of {number} places", by("bundles", places(number, queries))
    for queries, elements, budget in ((1, 6, 2.0), (2, 5, 2.0), (2, 7, 1.0), (3, 5, 2.0)):
        yield f"staircase, {queries} x {elements}, budget {budget:g}", by("staircase", whole(queries, elements, budget))
    for rows, columns in ((2, 3), (3, 3), (3, 4)):
        yield f"limit, margins {rows} x {columns}", bound(margins(rows, columns))
        yield f"lattice_laplace, margins {rows} x {columns}", by("lattice_laplace", margins(rows, columns))
    for queries, elements in ((2, 7), (3, 9)):
        yield f"limit, {queries} x {elements}", bound(whole(queries, elements, 2.0))
    for number, queries in ((40, 5), (100, 30)):
        yield f"laplace, {queries} queries of {number} places", by("laplace", places(number, queries))


def _changes(number: int) -> Changes:
    """From every of so many places to every other."""
    points = np.random.default_rng(number).random((number, 2))
    left, right = np.triu_indices(number, 1)
    matrix = np.zeros((number, len(left)))
    matrix[left, np.arange(len(left))], matrix[right, np.arange(len(left))] = 1.0, -1.0
    return Changes(matrix, np.linalg.norm(points[left] - points[right], axis=1))


def watched(counted: Counter[str]) -> None:
    """Let every module that counts work say so here as well."""
    for name in COUNTING:
        module = importlib.import_module(f"solvers.{name}")

        def spend(units: float = 0.0, name: str = name, **parts: float) -> None:
            with work.within() as own:
                work.spend(units, **parts)
            counted[name.rpartition(".")[2]] += own.spent  # type: ignore[assignment]

        module.spend = spend  # type: ignore[attr-defined]


def main() -> None:
    """One line a search; at the end what a unit is."""
    counted: Counter[str] = Counter()
    watched(counted)
    ratios = []
    with one_thread():
        for name, search in searches():
            if not all(word in name for word in sys.argv[1:]):
                continue
            counted.clear()
            start = time.process_time()
            with work.within() as budget:
                try:
                    search()
                except Exception as failure:  # a search that is refused has counted, too
                    name += f" ({type(failure).__name__})"
            seconds = time.process_time() - start
            parts = ", ".join(f"{part} {units:.2f}" for part, units in counted.most_common(3))
            ratio = seconds / budget.spent if budget.spent else float("nan")
            print(f"{name:52} {budget.spent:8.2f} units {seconds:8.2f} s {ratio:8.2f} s a unit | {parts}", flush=True)
            if budget.spent >= LEAST:
                ratios.append(ratio)
    print(f"\n{len(ratios)} searches of at least {LEAST} units: {np.median(ratios):.2f} s a unit (median), ", end="")
    print(f"{min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
