"""Time from exact points to a proven polytope (facets, star triangulation, volume, second moment).

Run with `OMP_NUM_THREADS=1 python benchmarks/hull_facets.py`; prints one Markdown row a body.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import numpy as np

from solvers.exact.points import Points
from solvers.exact.span import span_coordinates
from solvers.polytopes.facets import HullFailed
from solvers.polytopes.hull import convex_hull


def column_differences(rows: int, columns: int, seed: int = 1) -> Points:
    """All differences of two columns of a random 0/1 matrix."""
    q = np.random.default_rng(seed).integers(0, 2, (rows, columns))
    return Points.from_integers(np.array([q[:, i] - q[:, j] for i, j in itertools.combinations(range(columns), 2)]))


def columns(rows: int, number: int, seed: int = 1) -> Points:
    """The columns of a random 0/1 matrix."""
    return Points.from_integers(np.random.default_rng(seed).integers(0, 2, (number, rows)))


def metric_differences(rows: int, columns: int, seed: int = 0) -> Points:
    """Differences of 50-bit columns over Euclidean distances of random points in the square, both exact dyadic rationals."""
    rng = np.random.default_rng(seed)
    q, x = rng.integers(-(2**50), 2**50, (rows, columns)), rng.random((columns, 2))
    i, j = np.triu_indices(columns, 1)
    mantissa, exponent = np.frexp(np.linalg.norm(x[i] - x[j], axis=1))
    shift = np.array([1 << (100 - int(e)) for e in exponent], dtype=object)
    below = (mantissa * 2.0**53).astype(np.int64).astype(object)
    return Points.from_integers((q[:, i] - q[:, j]).T.astype(object) * shift[:, None], below * 2**97)


def table_moves(r: int, c: int) -> Points:
    """e_ij - e_il - e_kj + e_kl in coordinates of their span."""
    rows = []
    for (i, k), (j, m) in itertools.product(itertools.combinations(range(r), 2), itertools.combinations(range(c), 2)):
        table = np.zeros((r, c), int)
        table[[i, k, i, k], [j, m, m, j]] = 1, 1, -1, -1
        rows.append(table.ravel())
    return span_coordinates(Points.from_integers(np.array(rows)))[1]


def bodies() -> Iterator[tuple[str, Points]]:
    """Names and points, small first."""
    for r, c in ((3, 3), (3, 4), (3, 5), (4, 4)):
        yield f"{r}x{c} tables, basic moves", table_moves(r, c)
    yield "7 x 32 matrix of 0 and 1, columns", columns(7, 32)
    yield "7 x 32 matrix of 0 and 1, differences", column_differences(7, 32)
    for k in range(2, 9):
        yield f"K = {k}, N = 50, metric budgets", metric_differences(k, 50)
    yield "K = 7, N = 741, metric budgets", metric_differences(7, 741)


def main() -> None:
    """Prints the table."""
    print("| body | points | s | vertices | facets | simplices | seconds | trace of second moment |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, points in bodies():
        start = time.perf_counter()
        try:
            body = convex_hull(points)
        except HullFailed as failure:
            print(f"| {name} | {len(points)} | {points.dimension} | {failure.status.name} |")
            continue
        trace = float(np.trace(body.second_moment))
        seconds = time.perf_counter() - start
        counts = f"{2 * len(body.vertices)} | {2 * len(body.facets)} | {body.simplex_count}"
        print(f"| {name} | {len(points)} | {points.dimension} | {counts} | {seconds:.2f} | {trace:.6g} |", flush=True)


if __name__ == "__main__":
    main()
