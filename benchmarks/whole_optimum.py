"""What `design` reaches over the least that noise in whole numbers can, and for one query noise in halves: 100 problems of one
and two queries, budgets from 0.5 to 8, each against a linear program of its own.

The program asks nothing of the package. It takes the protected differences u of the answers and their budgets b from the
matrix of the queries, and minimises the expected squared error over laws p on the whole numbers within a box, with
`p(z + u) <= exp(b) p(z)` wherever both are in the box. For one query `design` also tries halves; so does the program, on the
whole numbers and 1/2 by themselves, because no u leads from one kind to the other, and the lesser value is the least of both.
Its value is below that of every law on all such numbers: such a law, given that it is in the box, keeps these inequalities, and
loses no more, because every point beyond the box loses more than the value. So each ratio is at most what is printed, whatever
the box; it is widened until the value grows by less than 1e-5 of itself, or `MOST` points are reached, and the last growth is
printed.

A row for each problem is added to a file; problems whose rows it has are left out.

    OMP_NUM_THREADS=1 python -m benchmarks.whole_optimum --rows benchmarks/whole_optimum.jsonl [--problems 100] [--summary]
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer import Problem, Workload, design, metrics

Array = NDArray[np.float64]
Row = Mapping[str, Any]
GROWN, MOST = 1e-5, 12_000  # of the value, and points of a box
NEAR = 1.001  # of a ratio


def drawn(number: int) -> tuple[Array, str, float]:
    """Queries (K, N), K = 1 for even numbers and 2 for odd ones, whether records appear or change, and the budget. Entries are
    at most 3, of two queries at most 1 + b, because small budgets and large differences make boxes of millions of points."""
    rng = np.random.default_rng([28, number])
    queries, elements = 1 + number % 2, int(rng.integers(2, 7))
    budget = float(np.round(np.exp(rng.uniform(np.log(0.5), np.log(8.0))), 2))
    largest = 3 if queries == 1 else min(3, 1 + int(budget))
    rows = rng.integers(0, largest + 1, (queries, elements)).astype(float)
    rows[:, 0], rows[:, -1] = 0.0, np.maximum(rows[:, -1], 1.0)
    return rows, str(rng.choice(["appear", "change"])), budget


def differences(rows: Array, kind: str) -> Array:
    """The protected differences of the answers that are not 0, each once, (m, K), with their opposites."""
    columns = rows.T
    moved = columns if kind == "appear" else (columns[:, None] - columns[None]).reshape(-1, len(rows))
    both = np.unique(np.vstack([moved, -moved]), axis=0)
    return np.asarray(both[np.abs(both).max(axis=1) > 0])


def least_in_box(moves: Array, budget: float, reach: float) -> tuple[float, int]:
    """The value of the program on `max |z_k| <= reach`, and how many points it has; z and -z share a variable. reach: whole, or
    whole and 1/2, as the points are."""
    from scipy import optimize
    from scipy.sparse import csr_array

    axis = np.linspace(-reach, reach, round(2 * reach) + 1)
    points = np.array(list(product(axis, repeat=moves.shape[1])))
    place = np.arange(len(points))
    variable = np.minimum(place, place[::-1])  # the points are in an order that turns round with their signs
    kept, index = np.unique(variable, return_inverse=True)
    rows, columns, values, count = [], [], [], 0
    for move in moves.astype(int):
        inside = np.flatnonzero((np.abs(points + move) <= reach).all(axis=1))
        step = int(move @ len(axis) ** np.arange(moves.shape[1])[::-1])
        one, other = index[inside + step], index[inside]
        keys = np.unique(np.stack([one, other])[:, one != other], axis=1)
        at = count + np.arange(keys.shape[1])
        rows += [at, at]
        columns += [keys[0], keys[1]]
        values += [np.ones(len(at)), np.full(len(at), -math.exp(budget))]
        count += len(at)
    times = np.bincount(index)
    cost = np.square(points[kept]).sum(axis=1) * times
    matrix = csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(count, len(kept)))
    method: Any = "highs-ds" if len(kept) < 500 else "highs-ipm"
    solve: Any = optimize.linprog
    found = solve(cost, A_ub=matrix, b_ub=np.zeros(count), A_eq=times[None].astype(float), b_eq=np.ones(1), method=method)
    if found.status != 0:
        raise RuntimeError(f"the program ended with status {found.status}: {found.message}")
    return float(found.fun), len(points)


def least(moves: Array, budget: float, beside: float = 0.0) -> tuple[float, int, float]:
    """The value, the points of the last box, and by what part the value grew with it. beside: 1/2 for points beside the whole
    numbers."""
    reach, value = 2 + int(np.abs(moves).max()) + beside, -math.inf
    while True:
        before, (value, points) = value, least_in_box(moves, budget, reach)
        grown = (value - before) / value if value > 0 else math.inf
        wider = max(reach + 1, int(1.5 * reach) + beside)
        large = (2 * wider + 1) ** moves.shape[1] > MOST
        if (reach + 1) ** 2 >= value and (grown <= GROWN or large):
            return value, points, grown
        if large:
            raise RuntimeError(f"{points} points are too few for a value of {value:.4g}")
        reach = wider


def measured(number: int) -> Row:
    """One problem."""
    rows, kind, budget = drawn(number)
    relation = (metrics.add_remove if kind == "appear" else metrics.uniform)(rows.shape[1], budget)
    made = design(Problem(Workload(rows), relation))
    start = time.process_time()
    moves = differences(rows, kind)
    value, points, grown = min(least(moves, budget, beside) for beside in (0.0, 0.5)[: 3 - len(rows)])
    return {
        "number": number,
        "queries": rows.astype(int).tolist(),
        "kind": kind,
        "budget": budget,
        "family": made.mechanism.family,
        "loss": made.loss,
        "least": value,
        "points": points,
        "grown": grown,
        "seconds": time.process_time() - start,
    }


def line_of(row: Row) -> str:
    """One problem."""
    ratio, queries = row["loss"] / row["least"], "; ".join("".join(map(str, one)) for one in row["queries"])
    words = f"{row['number']:3}  {queries:14} {row['kind']:7} {row['budget']:5.2f}  {row['family']:18} {row['loss']:10.5g}"
    return f"{words} {row['least']:10.5g}  {ratio:7.4f}  {row['points']:6} points, grew by {row['grown']:.0e}"


def summary_of(rows: Sequence[Row]) -> str:
    """How many ratios are near 1, and the others."""
    ratios = np.array([row["loss"] / row["least"] for row in rows])
    lines = []
    for queries in (1, 2):
        own = np.array([len(row["queries"]) == queries for row in rows])
        if own.any():
            lines.append(
                f"{own.sum()} problems of {queries} queries: at most {NEAR} in {(ratios[own] <= NEAR).sum()}, "
                f"median {np.median(ratios[own]):.4f}, all from {ratios[own].min():.4f} to {ratios[own].max():.4f}"
            )
    above = [line_of(row) for row, ratio in zip(rows, ratios, strict=True) if ratio > NEAR]
    return "\n".join([*lines, f"above {NEAR}:" if above else f"none above {NEAR}", *above])


def main() -> None:
    """A line for each problem that is new, and what all of the file say."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--rows", type=Path, required=True, help="a file, a row a line")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--summary", action="store_true", help="what the file has, nothing new")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()] if given.rows.exists() else []
    known = {row["number"] for row in rows}
    for number in () if given.summary else range(given.problems):
        if number not in known:
            row = measured(number)
            with given.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(line_of(row), flush=True)
            rows.append(row)
    if rows:
        print(summary_of(rows))


if __name__ == "__main__":
    main()
