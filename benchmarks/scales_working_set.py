"""The optimal Laplace scales: all pairs handed to a modelling layer against the working-set solver,
and a universe of 20,000 points.

Prints times, objectives and peak memory of one run; the large case can be left out with `--small`.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.designing.laplace import best_weights


def euclidean_problem(elements: int, queries: int) -> Problem:
    """Random queries over random points of a square."""
    points = np.random.default_rng(0).random((elements, 2)) * 100
    return Problem(Workload.random(queries, elements, seed=1), metrics.euclidean(points))


def timed(run: Callable[[], float]) -> tuple[float, float]:
    """Seconds and value."""
    start = time.perf_counter()
    value = run()
    return time.perf_counter() - start, value


def by_cvxpy(problem: Problem) -> float:
    """All pairs as constraints of one modelled program."""
    import cvxpy as cp

    rows = np.abs(problem.sensitivity().all_pairs().normalised)
    unit = 1 / rows.max(axis=0)
    weights = cp.Variable(rows.shape[1])
    costs = unit**-2.0 / (unit**-2.0).max()
    program = cp.Problem(cp.Minimize(cp.sum(cp.multiply(costs, cp.power(weights, -2)))), [(rows * unit) @ weights <= 1])
    return 2 * float(program.solve(solver=cp.CLARABEL)) * float((unit**-2.0).max())


def main() -> None:
    """Print both comparisons."""
    problem = euclidean_problem(741, 10)
    ones = np.ones(10)
    best_weights(problem.sensitivity(), ones, "squared", 1e-9)  # imports and caches, outside the measurement
    times = [timed(lambda: best_weights(problem.sensitivity(), ones, "squared", 1e-9).value) for _ in range(5)]
    ours, value = float(np.median([t for t, _ in times])), times[0][1]
    import cvxpy  # noqa: F401

    theirs, reference = timed(lambda: by_cvxpy(problem))
    print("N = 741, K = 10: 274,170 pairs")
    print(f"  all pairs in CVXPY with Clarabel  {theirs:8.3f} s   squared error {reference:.9g}")
    print(f"  working set                       {ours:8.3f} s   squared error {value:.9g}")
    print(f"  ratio {theirs / ours:.0f}, relative difference {abs(value - reference) / reference:.1e}")
    if "--small" in sys.argv:
        return
    large = euclidean_problem(20_000, 20)
    start = time.perf_counter()
    made = design(large, "laplace")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert made.optimality is not None
    print("N = 20,000, K = 20: 199,990,000 pairs, from problem to certified mechanism")
    print(
        f"  {seconds:.1f} s, peak memory of the process {peak:.2f} GiB, gap {made.optimality.gap:.1e}, worst ratio "
        f"{float(made.privacy.worst_ratio or 0):.12f}"
    )


if __name__ == "__main__":
    main()
