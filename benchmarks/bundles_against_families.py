"""Bundles of coordinates, or boxes with corners cut, against every other pure family on classes of problems: expected squared
error over that of the best other family (below 1: they win), and seconds of each.

    OMP_NUM_THREADS=1 python -m benchmarks.bundles_against_families [--small] [--family=capped_l1]
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator

import numpy as np

from designer import DesignFailed, Problem, Workload, design, metrics
from designer.problem.domain import Domain

OTHERS = ("laplace", "k_norm", "ellipsoid", "box", "strategy_laplace", "bundles", "capped_l1")
HULLS = 6  # dimensions up to which the hull of everything is tried too


def one_way(attributes: int, values: int) -> tuple[Domain, Workload]:
    """All one-way marginals of attributes alike."""
    domain = Domain.of({f"a{i}": values for i in range(attributes)})
    cells = itertools.product(range(values), repeat=attributes)
    columns = [[float(cell[a] == v) for a in range(attributes) for v in range(values)] for cell in cells]
    return domain, Workload(np.array(columns).T, elements=domain.elements)


def marginals() -> Iterator[tuple[str, Problem]]:
    """One budget for a record, and a budget for each of its attributes."""
    for attributes, values in ((3, 3), (5, 3), (3, 4), (4, 4)):
        domain, workload = one_way(attributes, values)
        yield f"{attributes} marginals of {values}, one budget", Problem(workload, metrics.uniform(domain.size, 1.0))
        budgets = [0.5 + 0.3 * i for i in range(attributes)]
        yield f"{attributes} marginals of {values}, a budget each", Problem(workload, metrics.hamming(domain, budgets))


def nested(rng: np.random.Generator) -> Iterator[tuple[str, Problem]]:
    """Counts of records below three thresholds of each of several attributes, on random records."""
    for attributes, elements in ((2, 60), (4, 60), (8, 100)):
        places = rng.random((attributes, elements))
        rows = [places[i] < c for i in range(attributes) for c in (0.3, 0.6, 0.8)]
        yield (
            f"3 thresholds of {attributes} attributes",
            Problem(Workload(np.array(rows, float)), metrics.uniform(elements, 1.0)),
        )


def random_queries(rng: np.random.Generator) -> Iterator[tuple[str, Problem]]:
    """Whole numbers from -3 to 3, and points of the plane with budgets by distance."""
    for queries, elements in ((6, 10), (8, 60), (12, 20), (12, 60), (24, 100)):
        asked = Workload(rng.integers(-3, 4, (queries, elements)).astype(float))
        yield f"{queries} queries on {elements}, one budget", Problem(asked, metrics.uniform(elements, 1.0))
        far = metrics.euclidean(rng.random((elements, 2)) * 4)
        yield f"{queries} queries on {elements} places", Problem(asked, far)


def ballots(rng: np.random.Generator) -> Iterator[tuple[str, Problem]]:
    """Records of at most k of K items, and votes for or against at most k of K questions; one may appear."""
    for total, most in ((16, 4), (16, 5), (16, 8), (32, 8), (32, 11), (32, 16)):
        held = (rng.random((300, total)).argsort(axis=1) < most).astype(float)
        votes = held * rng.choice((-1, 1), held.shape)
        yield f"{most} of {total} items", Problem(Workload(held.T), metrics.add_remove(300, 1.0))
        yield f"votes on {most} of {total}", Problem(Workload(votes.T), metrics.add_remove(300, 1.0))


def ranges() -> Iterator[tuple[str, Problem]]:
    """Prefixes, and all ranges."""
    for elements in (8, 16, 32):
        yield (
            f"prefixes of {elements}",
            Problem(Workload(np.tril(np.ones((elements, elements)))), metrics.uniform(elements, 1.0)),
        )
    rows = [[float(i <= k <= j) for k in range(12)] for i in range(12) for j in range(i, 12)]
    yield "ranges of 12", Problem(Workload(rows), metrics.uniform(12, 1.0))


def problems() -> Iterator[tuple[str, Problem]]:
    rng = np.random.default_rng(0)
    yield from marginals()
    yield from nested(rng)
    yield from random_queries(rng)
    yield from ranges()
    yield from ballots(rng)


def timed(problem: Problem, family: str) -> tuple[float, float]:
    """Loss and seconds; infinite where the family has no mechanism."""
    start = time.perf_counter()
    try:
        loss = design(problem, family).loss
    except DesignFailed:
        loss = float("inf")
    return loss, time.perf_counter() - start


def row(name: str, problem: Problem, family: str) -> str:
    """One line of the table."""
    ours, seconds = timed(problem, family)
    dimension = problem.sensitivity().rank()
    tried = [other for other in OTHERS if other != family and (other != "k_norm" or dimension <= HULLS)]
    others = {other: timed(problem, other) for other in tried}
    best = min(others, key=lambda other: others[other][0])
    return f"| {name} | {dimension} | {best} | {ours / others[best][0]:.3f} | {seconds:.1f} | {others[best][1]:.1f} |"


def main() -> None:
    print("| problem | dimensions | best other | error over its | seconds | seconds of the other |")
    print("| --- | --- | --- | --- | --- | --- |")
    family = next((word.split("=")[1] for word in sys.argv if word.startswith("--family=")), "bundles")
    for name, problem in itertools.islice(problems(), 4 if "--small" in sys.argv else None):
        print(row(name, problem, family), flush=True)


if __name__ == "__main__":
    main()
