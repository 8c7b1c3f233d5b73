"""Whole-number noise on optimised whole-number rows beside folklore: counts of the finest cells added up, every query for
itself, the cells and each total of a table, and the search of McKenna and others (VLDB 2018, section 5).

    OMP_NUM_THREADS=1 python -m benchmarks.whole_strategies

One line a problem: the total squared error of the family `strategy_geometric`, the least of folklore, their ratio, and the
seconds of processor of the design.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.strategies_design import gram, plain_p_identity
from designer import Problem, Workload, design, metrics


def variance(rate: float) -> float:
    """`2 a / (1 - a)^2`, `a = exp(-rate)`."""
    return 0.5 / math.sinh(rate / 2) ** 2


def folklore(problem: Problem, rate: float) -> dict[str, float]:
    """What is written down without a search; `rate` of a count when all are measured."""
    matrix = problem.workload.dense()
    return {
        "cells added up": float((np.unique(matrix, axis=1) ** 2).sum()) * variance(rate),
        "each query for itself": design(problem, "laplace").loss,
    }


def problems() -> Iterator[tuple[str, Problem, dict[str, float]]]:
    """Names, problems, and what folklore makes of them."""
    for cells, budget in ((17, 1.0), (18, 1.0), (30, 1.0), (30, 4.0)):
        matrix = np.vstack([np.eye(2 * cells), np.repeat(np.eye(2), cells, axis=1)])
        for name, relation, rate in (
            ("replaced", metrics.uniform(2 * cells, budget), budget / 2),
            ("added or removed", metrics.add_remove(2 * cells, budget), budget),
        ):
            problem = Problem(Workload(matrix), relation)
            shares = [i / 100 for i in range(1, 100)]
            both = min(2 * cells * variance(s * rate) + 2 * variance((1 - s) * rate) for s in shares)
            told = f"2 x {cells} cells and their 2 sums, one record {name}, budget {budget:g}"
            yield told, problem, {**folklore(problem, rate), "cells and sums": both}
    for budget in (1.0, 2.0, 4.0):
        problem = Problem(Workload.prefix(6), metrics.add_remove(6, budget))
        yield f"running totals of 6, budget {budget:g}", problem, folklore(problem, budget)
    for kind in ("prefix", "ranges"):
        for size in (32, 64):
            problem = Problem(
                Workload.prefix(size) if kind == "prefix" else Workload.all_ranges(size), metrics.add_remove(size, 1.0)
            )
            searched = plain_p_identity(gram(kind, size), size // 16, 0)
            yield f"{kind} of {size}, budget 1", problem, {**folklore(problem, 1.0), "p-identity search": searched}


def main() -> None:
    """The table."""
    for name, problem, others in problems():
        start = time.process_time()
        loss = design(problem, "strategy_geometric").loss
        seconds = time.process_time() - start
        best = min(others, key=others.__getitem__)
        print(f"{name:62} {loss:11.6g} {best:22} {others[best]:11.6g} {loss / others[best]:7.4f} {seconds:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
