"""Solvers of CVXPY on the programs that no family states, beside the specialised solver of each, measured in one run.

    python -m benchmarks.convex_programs_elsewhere [problems of each program, default 5]

Program (8) for MWEM, program (14) and the precisions of records: the time over that of the specialised solver (median over the
problems, the two interleaved, imports before), the largest part by which an answer broke a limit before repair, and how far the
repaired loss is above that of the specialised solver (largest). Solvers that cannot take a program say so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from designer import DesignFailed, Domain, Problem, StatisticalQueries, Workload, metrics, programs
from designer.averages.averages import separable
from designer.synthetic.multiplicative import mwem
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords, design_records
from designer.tables.policies.hierarchies import Hierarchy

SOLVERS = ("CLARABEL", "SCS", "OSQP", "HIGHS")
# The loss of a design and the raw violation, by the specialised solver where the solver is None.
Run = Callable[[int, str | None], tuple[float, float]]


def synthetic(seed: int, solver: str | None) -> tuple[float, float]:
    """Program (8): 5 smooth queries over 24 points in the plane."""
    rng = np.random.default_rng(seed)
    places, centres = rng.random((24, 2)), rng.random((5, 2))
    near = np.exp(-np.linalg.norm(places[None] - centres[:, None], axis=2) / 0.3) + 0.1 * rng.random((5, 24))
    asked = Problem(Workload(near), metrics.euclidean(places, per_unit=3.0), records=100_000)
    made = mwem(asked, constant="optimal") if solver is None else programs.preprocessing(asked).design(solver)
    assert made.optimality is not None
    return made.optimality.value, float(made.provenance.get("raw_violation", 0.0))


def averages(seed: int, solver: str | None) -> tuple[float, float]:
    """Program (14): averages of 4 attributes of 8 values over 30 rows."""
    rng = np.random.default_rng(seed)
    domain = Domain.of(dict.fromkeys("abcd", 8))
    asked = StatisticalQueries.of(
        domain,
        {name: (name, np.sort(rng.random(8))) for name in "abcd"},
        {name: metrics.line(np.arange(8.0), 1, float(rng.uniform(0.02, 0.2))) for name in "abcd"},
    )
    if solver is None:
        found = separable(asked, 30).optimality
        assert found is not None
        return found.value, 0.0
    made = programs.statistical(asked, 30).design(solver)
    assert made.optimality is not None
    return made.optimality.value, float(made.mechanism.provenance["raw_violation"])


def precisions(seed: int, solver: str | None) -> tuple[float, float]:
    """Records in 20 groups on three levels, precisions for two families a level."""
    rng = np.random.default_rng(seed)
    tree = Hierarchy.of([f"s{i % 5}" for i in range(14)], [str(i) for i in range(14)], top="US")
    finest = np.flatnonzero(~tree.inner)
    asked: dict[str, Any] = {
        "hierarchy": tree,
        "accuracies": [Accuracy(name, np.exp(rng.normal(size=tree.size))) for name in ("emp", COUNT)],
        "prior": PriorRecords(("emp",), np.exp(rng.normal(size=(14, 1))), np.full(14, 1 / 14), groups=finest),
        "families": tree.level * 2 + np.arange(tree.size) % 2,
    }
    made = design_records(**asked) if solver is None else programs.records(**asked).design(solver)
    return made.value, float(made.provenance.get("raw_violation", 0.0))


def timed(run: Run, seed: int, solver: str | None) -> tuple[float, float, float]:
    """Seconds, loss and raw violation."""
    start = time.perf_counter()
    loss, violation = run(seed, solver)
    return time.perf_counter() - start, loss, violation


def row(name: str, run: Run, solver: str, count: int) -> str:
    """One line of the table."""
    try:
        pairs = [(timed(run, seed, None), timed(run, seed, solver)) for seed in range(count)]
    except DesignFailed as refusal:
        return f"{name:<16}{solver:<10}{str(refusal).split(';')[0]}"
    own, other = np.array(pairs).transpose(1, 2, 0)
    ratio, worse = np.median(other[0] / own[0]), (other[1] / own[1] - 1).max()
    return f"{name:<16}{solver:<10}{np.median(own[0]):>12.4f}{ratio:>14.1f}{other[2].max():>15.1e}{worse:>14.1e}"


def table(count: int, say: Callable[[str], Any] = print) -> None:
    """All programs, all solvers."""
    say(f"{'program':<16}{'solver':<10}{'own seconds':>12}{'time / own':>14}{'raw violation':>15}{'loss/own - 1':>14}")
    for name, run in {"preprocessing": synthetic, "statistical": averages, "records": precisions}.items():
        for solver in (None, "CLARABEL"):  # imports, and what they compile
            run(0, solver)
        for solver in SOLVERS:
            say(row(name, run, solver, count))


if __name__ == "__main__":
    table(int(sys.argv[1]) if sys.argv[1:] else 5)
