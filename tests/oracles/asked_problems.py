"""Two hundred problems as people ask them: ten kinds, twenty of each, small enough that every family can be run to its end.

Each is drawn from a seed of its own, so that any of them can be made again alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from designer import Problem, Workload, invariants, metrics
from designer.base.arrays import Floats

Random = np.random.Generator
OF_EACH = 20
BUDGETS = (0.5, 1.0, 2.0, 4.0)


def asked(kind: str, number: int, seed: int = 1) -> Problem:
    """The problem of a kind with a number."""
    return KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind), number]))


def names(of_each: int = OF_EACH) -> Iterator[tuple[str, int]]:
    """Kinds and numbers, the kinds in turn."""
    return ((kind, number) for number in range(of_each) for kind in KINDS)


def _budget(rng: Random) -> float:
    return float(rng.choice(BUDGETS))


def _anyone(rng: Random, cells: int) -> Any:
    """One record appears, or changes."""
    make: Any = metrics.add_remove if rng.random() < 0.5 else metrics.uniform
    return make(cells, _budget(rng))


def _intervals(rng: Random, cells: int, number: int) -> Floats:
    ends = np.sort(rng.choice(cells + 1, (number, 2)), axis=1)
    ends[ends[:, 0] == ends[:, 1]] = (0, cells)
    at = np.arange(cells)
    return np.asarray((ends[:, :1] <= at) & (at < ends[:, 1:]), dtype=float)


def _places(rng: Random) -> Problem:
    """Counts of regions, a record's place protected by distance."""
    points = rng.random((int(rng.integers(6, 31)), 2)) * 4
    middles, reach = rng.random((int(rng.integers(2, 7)), 2)) * 4, rng.uniform(0.8, 2.5)
    rows = (np.linalg.norm(points - middles[:, None], axis=2) <= reach).astype(float)
    rows[:, 0], rows[:, -1] = 0.0, 1.0
    return Problem(Workload(rows), metrics.euclidean(points, float(rng.uniform(0.3, 2))))


def _counts(rng: Random) -> Problem:
    cells = int(rng.integers(1, 13))
    return Problem(Workload.identity(cells), _anyone(rng, cells))


def _ranges(rng: Random) -> Problem:
    cells = int(rng.integers(5, 25))
    return Problem(Workload(_intervals(rng, cells, int(rng.integers(3, 13)))), _anyone(rng, cells))


def _prefix(rng: Random) -> Problem:
    cells = int(rng.integers(3, 25))
    line = metrics.line(range(cells), 1.0, float(rng.uniform(0.2, 1.0)))
    return Problem(Workload(np.tril(np.ones((cells, cells)))), line if rng.random() < 0.3 else _anyone(rng, cells))


def _marginals(rng: Random) -> Problem:
    """All marginals of one or two attributes among two or three."""
    sizes = rng.integers(2, 5, int(rng.integers(2, 4)))
    cells = list(product(*map(range, sizes)))
    rows = [
        [float(tuple(cell[a] for a in kept) == value) for cell in cells]
        for kept in combinations(range(len(sizes)), int(rng.integers(1, min(2, len(sizes) - 1) + 1)))
        for value in product(*(range(sizes[a]) for a in kept))
    ]
    return Problem(Workload(rows), _anyone(rng, len(cells)))


def _votes(rng: Random) -> Problem:
    """How many name each candidate, where a ballot names at most so many."""
    candidates, most = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    ballots = [vote for vote in product((0.0, 1.0), repeat=candidates) if sum(vote) <= most]
    return Problem(Workload(np.array(ballots).T), metrics.uniform(len(ballots), _budget(rng)))


def _margins(rng: Random) -> Problem:
    """A table whose margins are public: its cells, or a few sums of them."""
    shape = (int(rng.integers(2, 4)), int(rng.integers(2, 5)))
    relation = invariants.margins(shape).protect(_budget(rng))
    size = shape[0] * shape[1]
    rows = np.eye(size) if rng.random() < 0.6 else rng.integers(0, 2, (int(rng.integers(1, 4)), size)).astype(float)
    rows[0, 0], rows[0, 1:] = 1.0, rows[0, 1:] * (len(rows) > 1)
    return Problem(Workload(rows), relation)


def _hierarchy(rng: Random) -> Problem:
    """Cells, sums of groups, and the total."""
    fan, groups = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    rows = np.vstack([np.eye(fan * groups), np.kron(np.eye(groups), np.ones(fan)), np.ones(fan * groups)])
    return Problem(Workload(rows[rng.integers(0, 2) * fan * groups :]), _anyone(rng, fan * groups))


def _mixture(rng: Random) -> Problem:
    """Cells, the total and intervals, with weights, for any loss."""
    cells = int(rng.integers(4, 17))
    rows = np.vstack([np.eye(cells), np.ones(cells), _intervals(rng, cells, int(rng.integers(1, 5)))])
    weights = np.round(np.exp(rng.normal(size=len(rows))), 2)
    return Problem(Workload(rows), _anyone(rng, cells), loss=str(rng.choice(("squared", "absolute", "max"))), weights=weights)  # type: ignore[arg-type]


def _table(rng: Random) -> Problem:
    """What new users tried: whole-number queries, ranges on a torus, cells and two sums, a table with a margin, totals."""
    which = int(rng.integers(5))
    if which == 0:
        queries, elements = int(rng.integers(1, 4)), int(rng.integers(3, 8))
        rows = rng.integers(0, 7, (queries, elements)).astype(float)
        rows[:, 0], rows[:, -1] = 0.0, 1.0 + rng.integers(0, 6, queries)
        return Problem(Workload(rows), metrics.uniform(elements, _budget(rng)))
    if which == 1:
        side = int(rng.integers(4, 7))
        at = np.array(list(product(range(side), repeat=2)))
        apart = np.abs(at[:, None] - at)
        rows = np.array([(at < np.sort(rng.integers(1, side + 1, 2))).all(axis=1) for _ in range(3 * side)], dtype=float)
        return Problem(Workload(rows), metrics.from_matrix(np.minimum(apart, side - apart).sum(axis=2) * 0.5))
    if which == 2:
        half = int(rng.integers(5, 16))
        rows = np.vstack([np.eye(2 * half), np.kron(np.eye(2), np.ones(half))])
        return Problem(Workload(rows), metrics.uniform(2 * half, _budget(rng)))
    if which == 3:
        groups = int(rng.integers(4, 13))
        rows = np.vstack([np.eye(2 * groups), np.kron(np.eye(2), np.ones(groups))])
        return Problem(Workload(rows), metrics.add_remove(2 * groups, _budget(rng)))
    cells = int(rng.integers(5, 8))
    return Problem(Workload(np.tril(np.ones((cells, cells)))), metrics.add_remove(cells, _budget(rng)))


KINDS: dict[str, Callable[[Random], Problem]] = {
    "places": _places,
    "counts": _counts,
    "ranges": _ranges,
    "prefix": _prefix,
    "marginals": _marginals,
    "votes": _votes,
    "published margins": _margins,
    "hierarchies": _hierarchy,
    "weighted mixtures": _mixture,
    "the table": _table,
}
