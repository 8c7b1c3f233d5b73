"""The same counts under the same promise in OpenDP: expected errors, and the time of a release, side by side."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.opendp_same_problem import ELEMENTS, WORKLOADS, own_of_opendp, seconds
from benchmarks.peers.table import PeerTable, Row, measured
from designer import Mechanism, Problem, Workload, design, metrics
from designer.exchange.opendp import as_measurement, features

Matrix = np.ndarray[Any, Any]


def problem(matrix: Matrix, notion: str) -> Problem:
    """One record more or less; epsilon 1, or 0.5-zCDP."""
    return Problem(Workload(matrix), metrics.add_remove(ELEMENTS, 1.0), notion=notion)  # type: ignore[arg-type]


def error(matrix: Matrix, notion: str) -> tuple[float, float | None]:
    """The root mean squared error of a query, and its bound."""
    made = design(problem(matrix, notion))
    bound = None if made.limit is None else math.sqrt(made.loss * made.efficiency / len(matrix))
    return math.sqrt(made.loss / len(matrix)), bound


def row(name: str, notion: str) -> Row:
    """One workload."""
    matrix = WORKLOADS[name]
    with features():
        _, squared = own_of_opendp(matrix, notion)
    noise = {"OpenDP": math.sqrt(squared / len(matrix))}
    return measured(f"{name}, {notion}", noise, lambda: error(matrix, notion))


def timed(name: str, notion: str) -> Row:
    """A release of OpenDP's own noise, and of the design as a measurement of OpenDP, in milliseconds; the best of five."""
    matrix = WORKLOADS[name]
    made: Mechanism = design(problem(matrix, notion)).mechanism
    with features():
        theirs, _ = own_of_opendp(matrix, notion)
        ours = as_measurement(made)
    times = seconds(lambda: theirs([5] * len(matrix))), seconds(lambda: ours([5] * ELEMENTS))
    return Row(f"{name}, {notion}", {"OpenDP": 1000 * times[0]}, 1000 * times[1], None, None)


def tables(small: bool) -> tuple[PeerTable, PeerTable]:
    """Errors and times; small: two workloads."""
    cases = [(name, notion) for name in list(WORKLOADS)[: 2 if small else None] for notion in ("pure", "zcdp")]
    source = (
        f"Run beside each other: OpenDP {version('opendp')}, its own `make_laplace` and `make_gaussian` with the scale that "
        "`binary_search_param` finds, `python -m benchmarks.opendp_same_problem`. OpenDP gives tools to build mechanisms with; "
        "it does not design noise for queries, so this compares what its reader gets without effort."
    )
    first = PeerTable(
        "opendp",
        "The same counts in OpenDP",
        "64 elements, one record more or less. Both sides release whole numbers with exact samplers.",
        "root mean squared error of a query, at epsilon 1 or 0.5-zCDP",
        source,
        tuple(row(*case) for case in cases),
    )
    second = PeerTable(
        "opendp_time",
        "The time of a release in OpenDP",
        "The designs are wrapped as measurements of OpenDP, so that both are called alike. OpenDP's samplers are compiled; "
        "ours are written in Python, and the design may draw more numbers than there are queries.",
        "milliseconds of one release, the best of five on the machine that built this page",
        source.split(", its own")[0] + ". Called directly, at 1 to 100,000 answers: `python -m benchmarks.instant`.",
        tuple(timed(*case) for case in cases),
    )
    return first, second
