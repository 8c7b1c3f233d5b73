"""Whole-number noise on optimised whole-number rows beside folklore: counts of the finest cells added up, every query for
itself, the cells and each total of a table, and the search of McKenna and others (VLDB 2018, section 5).

    OMP_NUM_THREADS=1 python -m benchmarks.whole_strategies

One line a problem: the total squared error of the family `strategy_geometric`, the least of folklore, their ratio, and the
seconds of processor of the design. Then the same of products of queries of attributes and of marginals, in the pure notion and
under zCDP, beside the finest cells added up and each product for itself with an equal share of the budget.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from benchmarks.strategies_design import gram, plain_p_identity
from designer import MarginalWorkload, Presence, Problem, StructuredProblem, StructuredWorkload, Workload, design, metrics
from designer.problem.domain import Domain
from designer.sampling.integer_gaussian import DiscreteGaussian

MOST_CELLS = 10**7  # that folklore counts


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


def workloads() -> Iterator[tuple[str, StructuredWorkload]]:
    """Products over domains that nobody writes out, and marginals."""
    for attributes, size in ((2, 32), (3, 16)):
        domain = Domain.of({f"a{k}": size for k in range(attributes)})
        every = dict.fromkeys(domain.attributes, "prefix")
        yield f"running totals of {attributes} x {size}", StructuredWorkload.of(domain, [every])
        mixed = [{"a0": "prefix"}, dict.fromkeys(domain.attributes, "identity"), {"a0": "ranges", "a1": "identity"}]
        yield f"cells, ranges and totals of {attributes} x {size}", StructuredWorkload.of(domain, mixed)
    for attributes, size in ((6, 10), (8, 4), (20, 10)):
        domain = Domain.of({f"a{k}": size for k in range(attributes)})
        yield f"tables of 1 and 2 of {attributes} x {size}", StructuredWorkload.of_marginals(MarginalWorkload.up_to(domain, 2))


def products_folklore(workload: StructuredWorkload, budget: float, pure: bool) -> dict[str, float]:
    """Under the presence of a record."""

    def noise(length: float) -> float:
        if pure:
            return variance(budget / length)
        return float(DiscreteGaussian([Fraction(length) / Fraction(budget) ** 2]).variance()[0])

    shape = [workload.domain.shape[axis] for axis in workload.used]
    cells, each = 0.0, 0.0
    for term, count in zip(workload.terms, workload.counts, strict=True):
        added = math.prod(float(np.trace(q.gram)) for q in term.values())
        cells += added * math.prod(n for axis, n in zip(workload.used, shape, strict=True) if axis not in term)
        length = math.prod(int(q.gram.diagonal().max()) for q in term.values())  # columns of zeros and ones
        each += count * noise(length * len(workload.terms))
    found = {"each product for itself": each}
    return {**found, "cells added up": cells * noise(1)} if math.prod(shape) <= MOST_CELLS else found


def line(name: str, loss: float, others: dict[str, float], seconds: float) -> None:
    """One row."""
    best = min(others, key=others.__getitem__)
    print(f"{name:62} {loss:11.6g} {best:24} {others[best]:11.6g} {loss / others[best]:7.4f} {seconds:6.2f} s", flush=True)


def main() -> None:
    """The tables."""
    for name, problem, others in problems():
        start = time.process_time()
        loss = design(problem, "strategy_geometric").loss
        line(name, loss, others, time.process_time() - start)
    for (name, workload), notion, budget in product(workloads(), ("pure", "zcdp"), (1.0, 4.0, 8.0)):
        start = time.process_time()
        hidden = Presence(**{"mu" if notion == "zcdp" else "epsilon": budget})
        loss = design(StructuredProblem(workload, hidden, notion), "structured").loss  # type: ignore[arg-type]
        told = f"{name}, {notion}, budget {budget:g}"
        line(told, loss, products_folklore(workload, budget, notion == "pure"), time.process_time() - start)


if __name__ == "__main__":
    main()
