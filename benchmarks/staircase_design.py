"""What the staircase takes and leaves open: seconds of processor, peaks of the law, and the certified gap to the best law of
its lattice, by dimension and budget.

    OMP_NUM_THREADS=1 python -m benchmarks.staircase_design [--small]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from designer import DesignFailed, Problem, Workload, design, invariants, metrics

BUDGETS = (0.5, 1.0, 2.0, 4.0)


def counts(dimension: int, epsilon: float) -> Problem:
    """A record comes or goes in one of a few cells."""
    return Problem(Workload.identity(dimension), metrics.add_remove(dimension, epsilon))


def moved(dimension: int, epsilon: float) -> Problem:
    """A record moves between the cells of a total: one dimension fewer than cells."""
    return Problem(Workload.identity(dimension + 1), metrics.uniform(dimension + 1, epsilon))


def queries(dimension: int, epsilon: float) -> Problem:
    """Random whole numbers from 0 to 2 on five elements: no symmetry but the sign."""
    rows = np.random.default_rng(dimension).integers(0, 3, (dimension, 5)).astype(float)
    return Problem(Workload(rows), metrics.uniform(5, epsilon))


def tables(dimension: int, epsilon: float) -> Problem:
    """Tables of 3 x 3 with published margins, two records: four dimensions, 72 symmetries and the sign."""
    assert dimension == 4
    return Problem(Workload.identity(9), invariants.margins((3, 3)).protect(epsilon, 2))


def problems() -> Iterator[tuple[str, Problem]]:
    for name, make, dimensions in (("counts", counts, (1, 2, 3)), ("moves", moved, (1, 2, 3)), ("queries", queries, (1, 2, 3))):
        for dimension in dimensions:
            for epsilon in BUDGETS:
                yield f"{name} | {dimension} | {epsilon:g}", make(dimension, epsilon)
    for epsilon in BUDGETS[1:]:
        yield f"margins of 3 x 3 | 4 | {epsilon:g}", tables(4, epsilon)


def row(name: str, problem: Problem) -> str:
    """One line of the table."""
    start = time.process_time()
    try:
        made = design(problem, "staircase")
    except DesignFailed as failed:
        return f"| {name} | {time.process_time() - start:.1f} | | {str(failed)[:60]} |"
    assert made.optimality is not None
    noise = made.mechanism.noise
    return f"| {name} | {time.process_time() - start:.1f} | {len(noise.peaks)} | {made.optimality.gap:.1e} |"  # type: ignore[union-attr]


def main() -> None:
    print("| problem | dimensions | budget | seconds | peaks | gap |")
    print("| --- | --- | --- | --- | --- | --- |")
    small = "--small" in sys.argv
    for number, (name, problem) in enumerate(problems()):
        if not small or number < 4:
            print(row(name, problem), flush=True)


if __name__ == "__main__":
    main()
