"""Gaussian noise in the rows of a strategy: HDMM's published table of prefix sums, all ranges and ranges of width 32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.peers.table import PUBLISHED, PeerTable, Row, measured
from solvers.ellipsoids.program import minimise_trace
from solvers.programs.strategy import all_ranges_gram, prefix


def gram(workload: str, cells: int) -> tuple[np.ndarray[Any, Any], int]:
    """`Q'Q` (cells, cells) and the number of queries."""
    if workload == "all-range":
        return all_ranges_gram(cells), cells * (cells + 1) // 2
    rows = prefix(cells) if workload == "prefix" else np.tri(cells)[31:] - np.tri(cells, k=-32)[31:]
    return rows.T @ rows, len(rows)


def error(workload: str, cells: int) -> tuple[float, float]:
    """The root mean squared error of the optimal covariance, and its proven bound."""
    products, queries = gram(workload, cells)
    solution = minimise_trace(np.eye(cells), products)
    return math.sqrt(solution.value / queries), math.sqrt(solution.lower_bound / queries)


def row(given: dict[str, Any]) -> Row:
    """A line of the published table."""
    theirs = {"HDMM": given["HDMM"], "wavelet": given["wavelet"]}
    problem = f"{given['workload']}, {given['cells']} cells"
    return measured(problem, theirs, lambda: error(given["workload"], given["cells"]))


def table(small: bool) -> PeerTable:
    """The comparison; small: 128 cells alone."""
    published = PUBLISHED["gaussian_strategies"]
    rows = tuple(row(given) for given in published["rows"] if given["cells"] <= (128 if small else 2048))
    about = (
        "One record appears or disappears. HDMM searches a strategy by gradient descent; here the covariance is the optimum of "
        "a convex program, with a dual bound. HDMM's figures for 2048 cells show a search that stopped early. The seconds are "
        "those of the solver alone, given `Q'Q`; `design` also freezes the mechanism and certifies every change."
    )
    number = "root mean squared error of a query, at noise of variance 1 for a difference of length 1 (0.5-zCDP)"
    return PeerTable(
        "gaussian_strategies", "Gaussian strategies: HDMM", about, number, published["source"], rows, "seconds of the solver"
    )
