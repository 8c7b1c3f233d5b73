"""The limit: its time beside that of a design and of the ellipsoid program alone, and what linear programs add to it.

    python -m benchmarks.limit_time [--small]

Beside other work on the machine set OMP_NUM_THREADS=1: threads that wait for each other cost more than they bring.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from designer import Problem, Workload, design, invariants, metrics
from designer.designing.least_noise import Limit, limit


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and what came out."""
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def sizes(small: bool) -> dict[str, Problem]:
    """Problems from a handful of pairs to 2 x 10^8."""
    points = np.random.default_rng(0).random
    made = {
        "20 elements, 5 queries": Problem(Workload.random(5, 20, seed=1), metrics.uniform(20, 1.0)),
        "prefix sums of 64": Problem(Workload.prefix(64), metrics.uniform(64, 1.0)),
        "4 x 4 table, margins": Problem(Workload.identity(16), invariants.margins((4, 4)).protect(1.0, 3)),
        "741 in the plane, 10": Problem(Workload.random(10, 741, seed=1), metrics.euclidean(points((741, 2)) * 100)),
        "20,000 on a line, 5": Problem(Workload.random(5, 20_000, seed=1), metrics.euclidean(np.arange(20_000.0))),
    }
    if small:
        return made
    far = Problem(Workload.random(5, 20_000, seed=1), metrics.euclidean(points((20_000, 2)) * 100))
    return {**made, "20,000 in the plane, 5": far}


def whole(seed: int, epsilon: float) -> Problem:
    """Two queries with small whole numbers on a few elements."""
    rows = np.random.default_rng(seed).integers(-2, 3, (2, 4)).astype(float)
    return Problem(Workload(rows), metrics.uniform(4, epsilon))


def main() -> None:
    """Print the times, and how much of the sharper limit every direction alone proves."""
    limit(whole(0, 2.0))  # imports
    print(f"{'problem':<24}{'limit':>9}{'laplace':>9}{'ratio':>7}  theorem")
    for name, problem in sizes("--small" in sys.argv).items():
        seconds, found = timed(lambda problem=problem: limit(problem))  # type: ignore[misc]
        beside, _ = timed(lambda problem=problem: design(problem, "laplace"))  # type: ignore[misc]
        theorem = found.theorem if found else ""
        print(f"{name:<24}{seconds:>8.2f}s{beside:>8.2f}s{seconds / beside:>7.2f}  {theorem}", flush=True)
    print("\nRandom whole queries (25 each): T3 over the limit, seconds of T3, seconds with programs: medians; solved by T6")
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        parts, short, long, by_programs = [], [], [], 0
        for seed in range(25):
            problem = whole(seed, epsilon)
            quick, first = timed(lambda problem=problem: limit(problem, rows=0))  # type: ignore[misc]
            slow, found = timed(lambda problem=problem: limit(problem))  # type: ignore[misc]
            if isinstance(first, Limit) and isinstance(found, Limit):
                parts.append(first.value / found.value)
                by_programs += found.theorem == "T6"
            short, long = [*short, quick], [*long, slow]
        seconds, longer = median(short), median(long)
        print(f"budget {epsilon:<4}{median(parts):>7.3f}{seconds:>8.3f}s{longer:>8.3f}s{by_programs:>4}", flush=True)


if __name__ == "__main__":
    main()
