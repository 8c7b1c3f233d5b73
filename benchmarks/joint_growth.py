"""How the biased designs of DX program (6) grow with the number N of elements: pairs that are scanned against pairs that are
written out, seconds, peak memory of a process of its own, certified gap, and the loss over that of unbiased Laplace noise.

Random real queries over random points of a square, and the US cities of the examples; the number of records is where bias pays.

    OMP_NUM_THREADS=1 python -m benchmarks.joint_growth [--small]
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from multiprocessing.queues import Queue
from typing import Any

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.designing import laplace_joint
from designer.extend import Metric
from examples.dx_us_cities import metric as cities

RECORDS = 30.0


def square(elements: int) -> Metric:
    """Random points, one for each unit of area."""
    points = np.random.default_rng(0).random((elements, 2)) * np.sqrt(elements)
    return metrics.euclidean(points)


def measured(
    make: Callable[..., Metric], size: tuple[int, ...], queries: int, loss: str, written_out: bool, out: Queue[Any]
) -> None:
    """One design in a process of its own: processor seconds, peak memory in MB, gap, and loss over that of Laplace."""
    relation = make(*size)
    problem = Problem(Workload.random(queries, relation.size, seed=1), relation, loss=loss, records=RECORDS)  # type: ignore[arg-type]
    plain = design(problem, "laplace")
    if written_out:
        laplace_joint.WRITTEN_OUT = laplace_joint.MOST_STRATEGY_PAIRS = 10**9  # type: ignore[misc]
    start = time.process_time()
    made = design(problem, "laplace_joint", most=10**6)
    seconds = time.process_time() - start
    assert made.optimality is not None and made.privacy.holds
    out.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, made.optimality.gap, made.loss / plain.loss))


def row(name: str, *case: Any, written_out: bool = False) -> None:
    """Run a case and print it."""
    context = multiprocessing.get_context("spawn")
    out: Queue[Any] = context.Queue()
    process = context.Process(target=measured, args=(*case, written_out, out))
    process.start()
    seconds, memory, gap, ratio = out.get()
    process.join()
    print(f"| {name} | {seconds:.2f} | {memory:.0f} | {gap:.2g} | {ratio:.3f} |", flush=True)


def main() -> None:
    """Print the table."""
    small = "--small" in sys.argv
    print("| case | processor s | peak MB | certified gap | loss / Laplace |")
    print("| --- | --- | --- | --- | --- |")
    for elements in (200, 400):  # 755 elements written out took 9 s and 3.6 GB
        for way in (False, True):
            words = "written out" if way else "scanned"
            row(f"K 1, N {elements}, {words}", square, (elements,), 1, "squared", written_out=way)
    for elements in (755,) if small else (755, 1500, 3000, 6000, 12000):
        row(f"K 1, N {elements}, scanned", square, (elements,), 1, "squared")
    for loss in ("squared", "absolute", "max"):
        for elements in (60, 200) if small else (60, 200, 400, 755):
            row(f"K 3, N {elements}, {loss}", square, (elements,), 3, loss)
    for loss in ("squared", "absolute", "max"):
        row(f"K 1, 755 cities, {loss}", cities, (), 1, loss)
    if not small:
        row("K 3, 755 cities, squared", cities, (), 3, "squared")


if __name__ == "__main__":
    main()
