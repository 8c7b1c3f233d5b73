"""The same linear queries of counts under the same promise: OpenDP's own Laplace and Gaussian noise, and a design that is
handed to OpenDP.

OpenDP calibrates one scale to the sensitivity of the whole vector of answers (`binary_search_param`); a design chooses scales
and shapes for the queries. Both are asked for their map at one record more or less, both expected errors are those of the exact
laws, and releases are timed side by side. Prints errors, their ratios, and seconds of a release (best of five).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.exchange.opendp import as_measurement, features

ELEMENTS = 64
WORKLOADS = {
    "counts of disjoint groups": np.eye(ELEMENTS),
    "prefix sums": np.tri(ELEMENTS),
    "a tree of ranges": np.vstack([np.kron(np.eye(2**k), np.ones(ELEMENTS // 2**k)) for k in range(7)]),
    "random 0/1 queries": (np.random.default_rng(1).random((48, ELEMENTS)) < 0.3).astype(float),
}


def seconds(run: Callable[[], object]) -> float:
    """The best of five."""
    found = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def own_of_opendp(matrix: np.ndarray[Any, Any], notion: str) -> tuple[Any, float]:
    """OpenDP's noise on the vector of answers at epsilon 1, or rho 1/2, for one record, and its expected squared error."""
    import opendp.prelude as dp

    pure = notion == "pure"
    metric = dp.l1_distance(T=dp.i64) if pure else dp.l2_distance(T=dp.f64)
    moved = float(np.linalg.norm(matrix, ord=1 if pure else 2, axis=0).max())
    maker, apart = (dp.m.make_laplace, int(moved)) if pure else (dp.m.make_gaussian, moved)
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), metric
    scale = dp.binary_search_param(lambda s: maker(*space, scale=s), d_in=apart, d_out=1.0 if pure else 0.5)
    each = 0.5 / np.sinh(0.5 / scale) ** 2 if pure else scale**2
    return maker(*space, scale=scale), len(matrix) * float(each)


def main() -> None:
    """Print the comparison."""
    print(f"{'64 elements, add or remove one record':34}{'notion':>10}{'OpenDP':>12}{'design':>12}{'ratio':>8}{'map(1)':>12}")
    for name, matrix in WORKLOADS.items():
        for notion in ("pure", "zcdp"):
            problem = Problem(Workload(matrix), metrics.add_remove(ELEMENTS, 1.0), notion=notion)
            made = design(problem).mechanism
            with features():
                theirs, error = own_of_opendp(matrix, notion)
                ours = as_measurement(made)
            counted = [5] * ELEMENTS
            times = seconds(lambda: theirs([5] * len(matrix))), seconds(lambda: ours(counted))  # noqa: B023
            print(
                f"{name:34}{notion:>10}{error:12.6g}{made.error():12.6g}{error / made.error():8.3f}{ours.map(1):12.9f}   "
                f"{made.family}; a release {1e3 * times[0]:.2f} and {1e3 * times[1]:.2f} ms"
            )


if __name__ == "__main__":
    main()
