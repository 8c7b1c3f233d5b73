"""Seconds from a problem to a certified mechanism, for every family, against the number of queries K and of elements N.

Random real queries over random points of a square, one design each; laplace_joint is given 1,000 records. A family that took
more than 20 s, or refused, is not asked again for larger sizes.

    OMP_NUM_THREADS=1 python -m benchmarks.families_design_time
"""

from __future__ import annotations

import time

import numpy as np

from designer import DesignFailed, Problem, Workload, design, metrics
from designer.families import FAMILIES

SIZES = ((2, 50), (4, 50), (6, 50), (8, 50), (4, 200), (10, 200), (20, 200), (10, 500), (10, 1000))
PATIENCE = 20.0


def problem(queries: int, elements: int, notion: str) -> Problem:
    """Random queries over random points of a square of side 100."""
    points = np.random.default_rng(0).random((elements, 2)) * 100
    workload = Workload.random(queries, elements, seed=1)
    return Problem(workload, metrics.euclidean(points), notion=notion, records=1000.0)  # type: ignore[arg-type]


def cell(family: str, notion: str, queries: int, elements: int) -> tuple[str, float]:
    """What the table says, and the seconds."""
    start = time.perf_counter()
    try:
        design(problem(queries, elements, notion), family)
    except DesignFailed:
        return "refused", time.perf_counter() - start
    seconds = time.perf_counter() - start
    return f"{seconds:.2g}", seconds


def main() -> None:
    """One row a family, one column a size."""
    print("| family | " + " | ".join(f"K {k}, N {n}" for k, n in SIZES) + " |")
    print("| --- |" + " --- |" * len(SIZES))
    for family in FAMILIES:
        design(problem(2, 5, family.notion), family.name)  # imports, outside the measurement
        slow: list[tuple[int, int]] = []
        cells = []
        for k, n in SIZES:
            if any(k >= a and n >= b for a, b in slow):
                cells.append("")
                continue
            words, seconds = cell(family.name, family.notion, k, n)
            cells.append(words)
            if words == "refused" or seconds > PATIENCE:
                slow.append((k, n))
        print(f"| {family.name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
