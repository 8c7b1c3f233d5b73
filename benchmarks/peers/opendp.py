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


def tree(branches: int) -> Matrix:
    """The ranges of every level of a tree over the elements, without the root."""
    depth = round(math.log(ELEMENTS, branches))
    levels = [branches**level for level in range(1, depth + 1)]
    return np.vstack([np.kron(np.eye(parts), np.ones(ELEMENTS // parts)) for parts in levels])


def added_up(matrix: Matrix, answered: Matrix, notion: str) -> float:
    """The root mean squared error of the queries when OpenDP's noise is on other sums, from which least squares has them."""
    _, squared = own_of_opendp(answered, notion)
    each = squared / len(answered)
    return math.sqrt(each * float(np.trace(matrix @ np.linalg.inv(answered.T @ answered) @ matrix.T)) / len(matrix))


def row(name: str, notion: str) -> Row:
    """One workload: OpenDP's noise on its answers, on the counts, and on the best of three trees."""
    matrix = WORKLOADS[name]
    with features():
        noise = {
            "OpenDP, noise on answers": math.sqrt(own_of_opendp(matrix, notion)[1] / len(matrix)),
            "OpenDP, noisy counts added up": added_up(matrix, np.eye(ELEMENTS), notion),
            "OpenDP, best tree": min(added_up(matrix, tree(branches), notion) for branches in (2, 4, 8)),
        }
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
        "`binary_search_param` finds. A tree has 2, 4 or 8 branches at each node, whichever is best for the queries; noise is "
        "on the ranges of all its levels, and least squares (OpenDP's `make_consistent_b_ary_tree`) makes them agree. OpenDP "
        "provides the parts; its user chooses among the three columns."
    )
    first = PeerTable(
        "opendp",
        "The same counts in OpenDP",
        "64 elements, one record more or less. Both sides draw whole-number noise with exact samplers. OpenDP can be asked for "
        "the same queries in three ways, and the best of them is what a design is compared with.",
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
