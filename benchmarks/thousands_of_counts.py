"""The default at thousands of counts beside the simple strategies: squared error, processor seconds and memory, each workload
in a process of its own.

Add or remove one record at epsilon 1. Noise on the queries is equal, in whole numbers (each budget divided by how many queries
count one record); noise on the cells is added up.

    OMP_NUM_THREADS=1 python -m benchmarks.thousands_of_counts [words of names]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, vstack

from designer import Problem, Workload, design, metrics

ONE = np.cosh(1.0) - 1  # one over the variance of noise at the whole budget


def nested(*labels: np.ndarray) -> Workload:
    """Everybody, and the groups of every level, from the label of each cell."""
    cells = len(labels[0])
    rows = [csr_array(np.ones((1, cells)))]
    for label in labels:
        rows.append(csr_array((np.ones(cells), (label, np.arange(cells))), shape=(int(label.max()) + 1, cells)))
    return Workload(vstack(rows).tocsr())


def even(*sizes: int) -> Workload:
    """Levels of groups of equal sizes."""
    cells = int(np.prod(sizes))
    return nested(*(np.arange(cells) * int(level) // cells for level in np.cumprod(sizes)))


def office(cells: int, municipalities: int = 395) -> Workload:
    """Cells in municipalities of different sizes, in 27 counties, in 5 regions."""
    town = np.unique(np.sort(np.random.default_rng(5).integers(0, municipalities, cells)), return_inverse=True)[1]
    county = (np.arange(town.max() + 1) * 27 // (town.max() + 1))[town]
    return nested((np.arange(27) * 5 // 27)[county], county, town, np.arange(cells))


def skewed(cells: int) -> Workload:
    """Cells in groups of very different sizes, in groups of such groups."""
    rng = np.random.default_rng(5)
    inner = np.searchsorted(
        np.cumsum(np.maximum(1, rng.lognormal(3.5, 1.2, cells // 10)).astype(int)), np.arange(cells), "right"
    )
    groups = int(inner.max()) + 1
    outer = np.searchsorted(np.cumsum(np.maximum(1, rng.lognormal(3, 1, groups)).astype(int)), np.arange(groups), "right")
    return nested(outer[inner], inner, np.arange(cells))


def grid(side: int) -> Workload:
    """A square of cells with its row and column totals."""
    one, cells = np.ones(side), np.eye(side)
    return Workload(np.vstack([np.eye(side * side), np.kron(cells, one), np.kron(one, cells)]))


def blocks(number: int, size: int) -> Workload:
    """Running totals within each block."""
    return Workload(np.kron(np.eye(number), np.tril(np.ones((size, size)))))


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "running totals of 500": lambda: Workload.prefix(500),
    "running totals of 2,000": lambda: Workload.prefix(2000),
    "running totals of 10,000": lambda: Workload.prefix(10_000),
    "running totals of 100,000": lambda: Workload.prefix(100_000),
    "all ranges of 200": lambda: Workload.all_ranges(200),
    "office, 1,580 cells": lambda: office(1580),
    "office, 7,110 cells": lambda: office(7110),
    "grid, 50 x 50": lambda: grid(50),
    "blocks, 40 of 30 running totals": lambda: blocks(40, 30),
    "even, 10 x 100": lambda: even(10, 100),
    "even, 10 x 10 x 12": lambda: even(10, 10, 12),
    "even, 20 x 25 x 10": lambda: even(20, 25, 10),
    "even, 10 x 20 x 80": lambda: even(10, 20, 80),
    "skewed, 100,000 cells": lambda: skewed(100_000),
    "skewed, 1,000,000 cells": lambda: skewed(1_000_000),
}


def simple(workload: Workload) -> tuple[float, float]:
    """The squared error of noise on the queries, and of noise on the cells, added up."""
    rows = workload.matrix
    entries = rows.lengths if hasattr(rows, "lengths") else np.bincount(csr_array(rows).nonzero()[0])
    ends = np.zeros(workload.shape[1] + 1)
    if hasattr(rows, "lengths"):
        np.add.at(ends, rows.starts, 1)
        np.subtract.at(ends, rows.ends, 1)
        deepest = np.cumsum(ends).max()
    else:
        deepest = np.bincount(csr_array(rows).nonzero()[1]).max()
    return workload.shape[0] / (np.cosh(1 / deepest) - 1), float(entries.sum()) / ONE


def measure(name: str) -> None:
    """One row of the table."""
    workload = WORKLOADS[name]()
    queries, cells = simple(workload)
    problem = Problem(workload, metrics.add_remove(workload.shape[1], 1.0))
    start = time.process_time()
    made = design(problem)
    taken, memory = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = f"{workload.shape[0]:,} x {workload.shape[1]:,}"
    errors = f"{queries:,.0f} | {cells:,.0f} | {made.loss:,.1f}"
    print(f"| {name} | {size} | {errors} | {made.mechanism.family} | {taken:.1f} | {memory:,.0f} |")


def main() -> None:
    """Every workload whose name has one of the words."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
        return
    print("| workload | queries x cells | noise on queries | on cells | default | family | seconds | MB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in WORKLOADS:
        if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
            subprocess.run([sys.executable, "-W", "ignore", "-m", "benchmarks.thousands_of_counts", "--one", name], check=True)


if __name__ == "__main__":
    main()
