"""Strategies beside plain re-implementations of what other matrix mechanisms do, and beside an older checkout of this package.

    OMP_NUM_THREADS=1 python benchmarks/strategies_design.py [--sizes 64 128 256] [--old PATH]

All prefix sums and all ranges of n elements, presence of a record protected with budget 1. Side by side, seconds of processor
and the error reached:

* Laplace: the family `strategy_laplace` (design, certificate and frozen mechanism), and a plain p-identity search after McKenna
  and others (VLDB 2018, section 5): n / 16 rows, one random start, L-BFGS-B to its end, nothing certified;
* Gaussian: `minimise_trace` (gap certified below 1e-6), and a plain descent over the precision matrices with unit diagonal,
  `min tr(W X^-1)`, by L-BFGS (the convex program of Yuan and others, PODS 2016; no bound);
* marginals of up to two attributes: `design_marginals` (certified) and the closed form of residual planning (Xiao and others,
  NeurIPS 2023), its precisions alone.

With ``--old`` the first of each pair runs once more on the code of another checkout. Ratios are times of the peer (or the old
code) over ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from designer.domains.marginals_plan import design_marginals


def seconds_of(run: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """The least seconds of processor of some runs, and the last result."""
    best, result = np.inf, None
    for _ in range(times):
        start = time.process_time()
        result = run()
        best = min(best, time.process_time() - start)
    return best, result


def gram(name: str, n: int) -> np.ndarray[Any, Any]:
    """`Q'Q` of all ranges or prefix sums."""
    from solvers.programs.strategy import all_ranges_gram, prefix

    return all_ranges_gram(n) if name == "ranges" else prefix(n).T @ prefix(n)


def ours(what: str, name: str, n: int) -> tuple[float, float]:
    """Seconds and error of this package."""
    from designer import MarginalWorkload, Presence, Problem, Workload, design, metrics
    from designer.problem.domain import Domain
    from solvers.ellipsoids.program import minimise_trace

    if what == "laplace":
        workload = Workload.all_ranges(n) if name == "ranges" else Workload.prefix(n)
        problem = Problem(workload, metrics.add_remove(n, 1.0))
        seconds, found = seconds_of(lambda: design(problem, "strategy_laplace").mechanism.error(), 1 if n > 64 else 2)
        return seconds, found
    if what == "gaussian":
        cost = gram(name, n)
        seconds, found = seconds_of(lambda: minimise_trace(np.eye(n), cost), 2)
        return seconds, found.value
    domain = Domain.of({f"a{i}": 10 for i in range(n)})
    seconds, made = seconds_of(lambda: design_marginals(MarginalWorkload.up_to(domain, 2), Presence(mu=1.0)), 20)
    return seconds, made.error()


def plain_p_identity(w: np.ndarray[Any, Any], rows: int, seed: int) -> float:
    """The error of the published search: the objective as it is written down, one random start."""
    from scipy.optimize import minimize

    n = len(w)

    def objective(flat: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        theta = flat.reshape(rows, n)
        scale = 1.0 + theta.sum(axis=0)
        v = w * scale[:, None] * scale
        core = np.linalg.solve(np.eye(rows) + theta @ theta.T, theta)
        hv = v - theta.T @ (core @ v)
        hvh = hv - (hv @ theta.T) @ core
        slope = -4.0 * theta @ hvh + 4.0 * (np.diagonal(hv) / scale)[None, :]
        return 2.0 * float(np.trace(hv)), slope.ravel()

    start = np.random.default_rng(seed).random(rows * n)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * (rows * n), options={"maxiter": 1000})
    return min(float(found.fun), 2.0 * float(np.trace(w)))


def plain_gaussian(w: np.ndarray[Any, Any]) -> float:
    """The error of a descent over precision matrices with unit diagonal, from the identity."""
    from scipy.optimize import minimize

    n = len(w)
    lower = np.tril_indices(n, -1)

    def objective(flat: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        x = np.eye(n)
        x[lower] = flat
        x.T[lower] = flat
        try:
            np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            return float("inf"), np.zeros_like(flat)
        inverse = np.linalg.inv(x)
        slope = -inverse @ w @ inverse
        return float(np.vdot(w, inverse)), 2.0 * slope[lower]

    flat = np.zeros(len(lower[0]))
    found = minimize(objective, flat, jac=True, method="L-BFGS-B", options={"maxiter": 500, "maxfun": 1000, "ftol": 1e-9})
    return float(found.fun)


def plain_residuals(attributes: int) -> float:
    """The loss of residual planning for all tables of one and two attributes of 10 values, by its closed form."""
    n = 10.0
    subsets = [part for r in range(3) for part in combinations(range(attributes), r)]
    costs = dict.fromkeys(subsets, 0.0)
    for table in subsets[1:]:
        for r in range(len(table) + 1):
            for part in combinations(table, r):
                costs[part] += n ** len(table) * (1 - 1 / n) ** r * n ** (-2 * (len(table) - r))
    loads = np.array([(1 - 1 / n) ** len(part) for part in subsets])
    return float(np.sqrt(loads * np.array(list(costs.values()))).sum() ** 2)


def peer(what: str, name: str, n: int) -> tuple[float, float]:
    """Seconds and error of the plain re-implementation."""
    if what == "laplace":
        w = gram(name, n)
        return seconds_of(lambda: plain_p_identity(w, max(1, n // 16), 0), 2)
    if what == "gaussian":
        w = gram(name, n)
        return seconds_of(lambda: plain_gaussian(w), 1)
    return seconds_of(lambda: plain_residuals(n), 20)


def old(path: str, what: str, name: str, n: int) -> tuple[float, float] | None:
    """The same as `ours` in another checkout, in a process of its own; None after ten minutes."""
    code = (
        "import json, runpy, sys\n"
        f"space = runpy.run_path({os.path.abspath(__file__)!r})\n"
        f"print(json.dumps(space['ours']({what!r}, {name!r}, {n})))"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=600,
        )
    except subprocess.TimeoutExpired:
        return None
    seconds, error = json.loads(done.stdout.splitlines()[-1])
    return seconds, error


def main() -> None:
    """One line a comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--old", help="another checkout, whose code runs beside")
    asked = parser.parse_args()
    columns = {"ours s": 10, "error": 14, "peer s": 10, "error ": 14, "ratio": 8, "old s": 10, "error  ": 14}
    print(f"{'what':>10}{'of':>9}{'n':>6}" + "".join(f"{name:>{width}}" for name, width in columns.items()))
    rows = [(what, name, n) for n in asked.sizes for what in ("laplace", "gaussian") for name in ("prefix", "ranges")]
    for what, name, n in [*rows, ("marginals", "tables", 5), ("marginals", "tables", 10)]:
        mine, theirs = ours(what, name, n), peer(what, name, n)
        before = None if asked.old is None else old(asked.old, what, name, n)
        line = f"{what:>10}{name:>9}{n:>6}{mine[0]:>10.4f}{mine[1]:>14.6g}{theirs[0]:>10.4f}{theirs[1]:>14.6g}"
        told = "" if before is None else f"{before[0]:>10.3f}{before[1]:>14.6g}"
        print(f"{line}{theirs[0] / mine[0]:>8.2f}{told}", flush=True)


if __name__ == "__main__":
    main()
