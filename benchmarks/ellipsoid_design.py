"""Time to design the optimal Gaussian covariance against size, with certified gaps, and against a plain conic formulation.

    python benchmarks/ellipsoid_design.py [largest size, default 1024] [points of the conic comparison, default 24]

Prefix sums and all ranges over N cells, reached through their Gram matrices (all ranges of 1024 cells are 524,800 queries),
when one cell appears (N unit vectors) and when one record moves between any two cells (all N (N - 1) / 2 differences).
Beside other work on the machine set OMP_NUM_THREADS=1: threads that wait for each other cost more than they bring.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from solvers.ellipsoids.program import Differences, minimise_trace
from solvers.ellipsoids.rows import Array


def gram(workload: str, size: int) -> Array:
    """`Q'Q` in closed form."""
    cells = np.arange(size)
    last = size - np.maximum.outer(cells, cells).astype(float)
    return last if workload == "prefix" else last * (np.minimum.outer(cells, cells) + 1.0)


def scaling(largest: int) -> None:
    """One line a size: seconds, root mean squared error a query, certified gap."""
    print(f"{'workload':<9}{'relation':<13}{'N':>6}{'seconds':>9}{'rmse':>10}{'gap':>9}{'steps':>6}")
    sizes = [size for size in (64, 128, 256, 512, 1024, 2048) if size <= largest]
    for workload in ("prefix", "ranges"):
        for relation in ("add/remove", "replace-one"):
            for size in sizes:
                rows = np.eye(size) if relation == "add/remove" else Differences.of(np.eye(size))
                queries = size if workload == "prefix" else size * (size + 1) // 2
                start = time.perf_counter()
                solution = minimise_trace(rows, gram(workload, size), tolerance=1e-4)
                seconds, error = time.perf_counter() - start, np.sqrt(solution.value / queries)
                head = f"{workload:<9}{relation:<13}{size:>6}{seconds:>9.2f}"
                print(f"{head}{error:>10.5f}{solution.gap:>9.1e}{solution.iterations:>6}", flush=True)


def against_conic(size: int) -> None:
    """Plain `matrix_frac` with every pair, handed to a conic solver, in the same run."""
    import cvxpy as cp

    first, second = np.triu_indices(size, 1)
    rows = np.eye(size)[first] - np.eye(size)[second]
    reduced = np.linalg.svd(rows, full_matrices=False)[2][: size - 1]
    cost = reduced @ gram("prefix", size) @ reduced.T
    rows, root = rows @ reduced.T, np.linalg.cholesky(cost).T
    start = time.perf_counter()
    precision = cp.Variable((size - 1, size - 1), PSD=True)
    covers = cp.sum(cp.multiply(rows @ precision, rows), axis=1) <= 1
    problem = cp.Problem(cp.Minimize(cp.matrix_frac(root.T, precision)), [covers])
    problem.solve(solver="CLARABEL")
    conic = time.perf_counter() - start
    start = time.perf_counter()
    solution = minimise_trace(rows, cost)
    own = time.perf_counter() - start
    print(f"prefix, replace-one, N = {size}, {len(rows)} pairs: conic {conic:.2f} s, here {own:.3f} s, ratio {conic / own:.0f}")
    print(f"conic value {problem.value:.6f}, ours in [{solution.lower_bound:.6f}, {solution.value:.6f}]")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    against_conic(numbers[1] if len(numbers) > 1 else 24)
    scaling(numbers[0] if numbers else 1024)
