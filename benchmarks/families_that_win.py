"""How often each family is the best, or the only one, of problems that grow until most families cannot run.

Vectors of length 1, counts, tables with margins, public totals, normal noise in many dimensions and over many elements. Each
family is asked for by name, with every choice of its options, and may take a limited time of the clock for each problem.

    OMP_NUM_THREADS=1 python -m benchmarks.families_that_win [seconds for each family]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

from designer import Problem, Workload, design, invariants, metrics
from designer.base.errors import Refusal
from designer.designing.auto import chosen_families, runs_for

ALIKE = 1e-3  # of the loss: what is nearer counts as equal


def vectors(dimension: int) -> Problem:
    """Sums of vectors of length 1, of which each record has one."""
    rng = np.random.default_rng(dimension)
    points = rng.normal(size=(dimension, 3 * dimension))
    return Problem(Workload(points / np.linalg.norm(points, axis=0)), metrics.uniform(3 * dimension, 1.0))


def normal(dimension: int, elements: int, loss: str) -> Problem:
    """Real queries under zero-concentrated privacy."""
    rows = np.random.default_rng(dimension).random((dimension, elements))
    return Problem(Workload(rows), metrics.uniform(elements, 1.0), notion="zcdp", loss=loss)  # type: ignore[arg-type]


def growing() -> Iterator[tuple[str, Problem]]:
    """Problems that grow, by name."""
    for dimension in (4, 14, 30, 60):
        yield f"vectors of length 1 in {dimension} dimensions", vectors(dimension)
    for cells in (20, 60, 150, 600):
        yield f"a histogram of {cells}, changes", Problem(Workload.identity(cells), metrics.uniform(cells, 1.0))
    for dimension, elements in ((3, 50), (3, 7000), (40, 400), (150, 300), (400, 500)):
        for loss in ("squared", "absolute", "max"):
            yield f"zCDP, {dimension} queries of {elements} elements, {loss}", normal(dimension, elements, loss)
    for side in (4, 10, 20, 40, 100):
        kept = invariants.margins((side, side))
        for records in (2, 3):
            yield f"margins {side} x {side}, {records} records", Problem(Workload.identity(side**2), kept.protect(1.0, records))
        few = Workload(np.random.default_rng(side).integers(0, 2, (5, side**2)).astype(float))
        yield f"5 queries of {side} x {side} with margins", Problem(few, kept.protect(1.0, 2))
    for size in (10, 60, 200):
        parts = invariants.partition([f"part {i % 5}" for i in range(size)])
        yield f"totals of 5 parts of {size}", Problem(Workload.identity(size), parts.protect(1.0, 2))
        yield f"the total of {size}", Problem(Workload.identity(size), invariants.total(size).protect(1.0, 1))


def losses(problem: Problem, seconds: float) -> tuple[dict[str, float], dict[str, str]]:
    """The least loss of each family that has a mechanism; why the others have none."""
    served = [f for f in chosen_families() if f.serves(problem) and f.concerns(problem) and not f.on_request and not f.baseline]
    found: dict[str, float] = {}
    without: dict[str, str] = {}
    for way in runs_for(served, problem):
        name = way.family.name
        try:
            loss = design(problem, name, effort="thorough", seconds=seconds, **way.options).loss
        except Refusal as refused:
            without[name] = str(refused).partition(";")[0][:90]
        else:
            found[name] = min(loss, found.get(name, np.inf))
    return found, {name: why for name, why in without.items() if name not in found}


def main() -> None:
    """One line a problem; at the end how often each family had a mechanism, was as good as the best, the best, the only one."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    counted: dict[str, Counter[str]] = {key: Counter() for key in ("had one", "as good", "the best", "the only one")}
    for name, problem in growing():
        found, without = losses(problem, seconds)
        order = sorted(found, key=found.__getitem__)
        print(f"{name}: " + ", ".join(f"{family} {found[family] / found[order[0]]:.4g}" for family in order), flush=True)
        for family, why in without.items():
            print(f"    {family}: {why}", flush=True)
        counted["had one"].update(order)
        counted["as good"].update(family for family in order if found[family] <= found[order[0]] * (1 + ALIKE))
        if len(order) == 1:
            counted["the only one"].update(order)
        elif found[order[1]] > found[order[0]] * (1 + ALIKE):
            counted["the best"][order[0]] += 1
    print("\n" + " | ".join(["family", *counted]))
    for family in counted["had one"]:
        print(" | ".join([family, *(str(times[family]) for times in counted.values())]))


if __name__ == "__main__":
    main()
