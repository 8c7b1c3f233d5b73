"""Solvers of CVXPY on the programs of the families, beside the specialised solver of each, measured in one run.

    python -m benchmarks.convex_programs [problems of each program, default 5] [elements, default 24]

For every program and solver: the time of the design over that by the specialised solver (median over the problems, the two
interleaved, imports before), the largest part of a budget by which an answer broke it before repair, and how far the repaired
loss is above that of the specialised solver (largest; below 0: CVXPY's is smaller). Solvers that cannot take a program say so:
the programs of the families need cones of second order or more, which OSQP and HiGHS lack. The largest variance alone has a
linear form, `max min_k w_k / v_k^1/2`, which is given as an objective of one's own. Beside other work on the machine set
OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from designer import Design, DesignFailed, Problem, Workload, design, metrics
from designer.base.lazy_imports import at_address
from designer.designing import FAMILIES

PROGRAMS = {family.name: at_address(family.program) for family in FAMILIES if family.program}
SOLVERS = ("CLARABEL", "SCS", "OSQP", "HIGHS")
LINEAR = "laplace, linear"
# The search for a strategy, and descents to biased rows, take seconds on any size; their programs are small.
SMALLER = {"strategy_laplace": 4, "laplace_joint": 2}
LOSSES = {
    "laplace": ("squared", "absolute", "max"),
    LINEAR: ("max",),
    "strategy_laplace": ("squared",),
    "laplace_joint": ("squared", "absolute", "max"),
}


@dataclass(frozen=True)
class Measured:
    """One design: seconds, its loss, and how far the solver's own answer broke a budget."""

    seconds: float
    loss: float
    violation: float


def drawn(seed: int, name: str, elements: int) -> Problem:
    """Random queries over points in the plane, with the losses that the specialised solver minimises in turn."""
    rng = np.random.default_rng([seed, *name.encode()])
    size, losses = max(4, elements // SMALLER.get(name, 1)), LOSSES.get(name, ("squared", "max"))
    return Problem(
        Workload(rng.random((max(2, size // 3), size))),
        metrics.euclidean(rng.normal(size=(size, 2))),
        notion=PROGRAMS[family_of(name)].notion,
        loss=losses[seed % len(losses)],  # type: ignore[arg-type]
        weights=rng.uniform(1, 2, max(2, size // 3)),
        records=50.0,
    )


def family_of(name: str) -> str:
    """The family that a row of the table is about."""
    return name.split(",")[0]


def by_solver(problem: Problem, name: str, solver: str) -> Design[Any]:
    """The design by a solver of CVXPY, of the program itself or of its linear form."""
    if name != LINEAR:
        return design(problem, name, solver=solver)
    import cvxpy as cp

    program = PROGRAMS["laplace"](problem)
    weights = program.variables["w"]
    return program.minimise(-cp.min(cp.multiply(problem.costs**-0.5, weights))).design(solver)


def measured(make: Callable[[], Design[Any]]) -> Measured:
    """One design."""
    start = time.perf_counter()
    made = make()
    seconds = time.perf_counter() - start
    return Measured(seconds, made.loss, float(made.mechanism.provenance.get("raw_violation", 0.0)))


def attempted(problems: list[Problem], name: str, solver: str) -> tuple[list[tuple[Measured, Measured]], str]:
    """The specialised solver and this one in turn on every problem, and why it stopped where it did."""
    pairs = []
    try:
        for problem in problems:
            own = measured(lambda problem=problem: design(problem, family_of(name)))  # type: ignore[misc]
            pairs.append((own, measured(lambda problem=problem: by_solver(problem, name, solver))))  # type: ignore[misc]
    except DesignFailed as refusal:
        return pairs, str(refusal).split(";")[0].split("(")[0]
    return pairs, ""


def line(name: str, solver: str, pairs: list[tuple[Measured, Measured]], why: str) -> str:
    """One row of the table."""
    head = f"{name:<18}{solver:<10}"
    if not pairs:
        return f"{head}{why}"
    ratios = [other.seconds / own.seconds for own, other in pairs]
    worse = max(other.loss / own.loss - 1 for own, other in pairs)
    violation = max(other.violation for _, other in pairs)
    own_seconds = np.median([own.seconds for own, _ in pairs])
    row = f"{head}{own_seconds:>12.3f}{np.median(ratios):>14.1f}{violation:>15.1e}{worse:>14.1e}"
    return row + (f"  ({len(pairs)} solved, then: {why})" if why else "")


def table(count: int, elements: int, say: Callable[[str], Any] = print) -> None:
    """All programs, all solvers."""
    say(f"{'program':<18}{'solver':<10}{'own seconds':>12}{'time / own':>14}{'raw violation':>15}{'loss/own - 1':>14}")
    for name in (*PROGRAMS, LINEAR):
        problems = [drawn(seed, name, elements) for seed in range(count)]
        attempted(problems[:1], name, "CLARABEL")  # imports, and what they compile
        for solver in SOLVERS:
            say(line(name, solver, *attempted(problems, name, solver)))


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    table(numbers[0] if numbers else 5, numbers[1] if len(numbers) > 1 else 24)
