"""Random problems of all kinds, small enough that every family can be run to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from designer import Problem, Workload, invariants, metrics
from designer.problem.relation import Relation
from designer.relations.invariants.changes import InvariantDistance

Random = np.random.Generator
LOSSES = ("squared", "squared", "absolute", "max")


def problems(number: int, seed: int) -> Iterator[tuple[str, Problem]]:
    """Names and problems, the kinds in turn, everything else drawn from the seed."""
    rng = np.random.default_rng(seed)
    kinds = list(KINDS.items())
    for place in range(number):
        name, make = kinds[place % len(kinds)]
        yield f"{place} {name}", make(rng)


def whole_queries(rng: Random, queries: int, elements: int, most: int = 3) -> Workload:
    """Whole numbers from 0 to `most`, no row constant."""
    rows = rng.integers(0, most + 1, (queries, elements)).astype(float)
    rows[:, 0], rows[:, -1] = 0.0, 1.0 + rng.integers(0, most, queries)
    return Workload(rows)


def asked(rng: Random, workload: Workload, relation: Relation, **rest: Any) -> Problem:
    """A problem with a loss, and sometimes weights."""
    weights = rng.uniform(0.2, 5.0, workload.shape[0]) if rng.random() < 0.3 else None
    return Problem(workload, relation, loss=str(rng.choice(LOSSES)), weights=weights, **rest)  # type: ignore[arg-type]


def _one_budget(rng: Random) -> Problem:
    n = int(rng.integers(3, 13))
    return asked(rng, whole_queries(rng, int(rng.integers(1, 4)), n), metrics.uniform(n, float(rng.uniform(0.5, 6))))


def _unequal_budgets(rng: Random) -> Problem:
    n = int(rng.integers(4, 21))
    points = rng.random((n, 2)) * 4
    relation = metrics.euclidean(points, float(rng.uniform(0.3, 2)))
    return asked(rng, whole_queries(rng, int(rng.integers(1, 4)), n, 2), relation)


def _real_queries(rng: Random) -> Problem:
    n, k = int(rng.integers(10, 61)), int(rng.integers(2, 8))
    relation = metrics.euclidean(rng.random((n, 2)), float(rng.uniform(0.5, 4)))
    return asked(rng, Workload.random(k, n, seed=int(rng.integers(1000))), relation)


def _counts(rng: Random) -> Problem:
    n = int(rng.integers(1, 6))
    return asked(rng, Workload.identity(n), metrics.add_remove(n, float(rng.uniform(0.5, 4))))


def _ranges(rng: Random) -> Problem:
    n = int(rng.integers(6, 25))
    relation = metrics.add_remove(n, 1.0) if rng.random() < 0.5 else metrics.line(range(n), 1.0, float(rng.uniform(0.2, 1)))
    return asked(rng, Workload(np.tril(np.ones((n, n)))[: int(rng.integers(3, n + 1))]), relation)


def _few_records(rng: Random) -> Problem:
    n = int(rng.integers(4, 12))
    workload = whole_queries(rng, int(rng.integers(1, 4)), n)
    return asked(rng, workload, metrics.uniform(n, float(rng.uniform(0.3, 1.5))), records=float(rng.integers(1, 30)))


def _table(rng: Random) -> tuple[int, Any]:
    rows, columns = int(rng.integers(2, 7)), int(rng.integers(2, 7))
    return rows * columns, invariants.margins((rows, columns))


def _of_table(rng: Random, cells: int) -> Workload:
    if rng.random() < 0.6:
        return Workload.identity(cells)
    return Workload(np.tril(np.ones((cells, cells)))) if rng.random() < 0.5 else whole_queries(rng, 3, cells, 1)


def _margins(rng: Random) -> Problem:
    cells, kept = _table(rng)
    adjacency = 3 if cells <= 12 and rng.random() < 0.4 else 2
    return asked(rng, _of_table(rng, cells), kept.protect(float(rng.uniform(0.5, 4)), adjacency))


def _margins_per_distance(rng: Random) -> Problem:
    cells, kept = _table(rng)
    relation: InvariantDistance = kept.protect(float(rng.uniform(0.3, 2)), per_distance=str(rng.choice(["l1", "l2"])))
    return asked(rng, _of_table(rng, cells), relation)


def _totals(rng: Random) -> Problem:
    labels = [f"part {i % 2}" for i in range(int(rng.integers(4, 11)))]
    kept = invariants.partition(labels) if rng.random() < 0.5 else invariants.total(len(labels))
    return asked(rng, _of_table(rng, len(labels)), kept.protect(float(rng.uniform(0.5, 4)), 1))


def _metric_under_invariant(rng: Random) -> Problem:
    rows, columns = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    metric = metrics.euclidean(rng.random((rows * columns, 2)) * 3)
    return asked(rng, Workload.identity(rows * columns), metric & invariants.margins((rows, columns)).at(2))


def _gaussian(rng: Random) -> Problem:
    return replace((_real_queries if rng.random() < 0.5 else _totals)(rng), notion="zcdp")


def _approximate(rng: Random) -> Problem:
    n, k = int(rng.integers(5, 20)), int(rng.integers(1, 6))
    relation = metrics.uniform(n, float(rng.uniform(0.5, 2)))
    return Problem(Workload.random(k, n, seed=int(rng.integers(1000))), relation, notion="approximate", delta=1e-5)


KINDS: dict[str, Callable[[Random], Problem]] = {
    "whole queries, one budget": _one_budget,
    "whole queries, unequal budgets": _unequal_budgets,
    "real queries in the plane": _real_queries,
    "counts, add or remove one": _counts,
    "ranges": _ranges,
    "few records": _few_records,
    "a table with its margins": _margins,
    "margins, a budget per distance": _margins_per_distance,
    "public totals": _totals,
    "a metric under margins": _metric_under_invariant,
    "Gaussian": _gaussian,
    "approximate": _approximate,
}
