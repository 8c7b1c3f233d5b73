"""The doors to the solvers that others wrote: every call has a limit of iterations or nodes, by its sizes alone, and ends with
the seconds that a caller set.

Without one, HiGHS's interior point method goes on for ever where it comes no nearer to the tolerance that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from solvers.work import is_over, seconds_left

Method = Literal["highs", "highs-ds", "highs-ipm"]
# The largest use that was measured (300 random problems with 5 s each, the example files, typical problems, and tests of tables
# that agree and of local budgets): 32 iterations of 300 of the interior point method, 25 pivots of 6,250 and 936 of 69,515 of
# the simplex method, 72 iterations of 400 of Clarabel, 20 but where rounding hides distances: margins of 9, 74 and 5.
# No search in whole numbers was among them, and SCS and OSQP run only where a caller names them.
INTERIOR = 300  # iterations of an interior point method
SIMPLEX, SIMPLEX_EACH = 5_000, 5  # of the simplex method, and for each row and unknown
CONIC = 400  # of Clarabel
FIRST_ORDER = 100_000  # of SCS and OSQP, which end at a tolerance long before
NODES = 20_000  # of a search in whole numbers


def linear_program(cost: Any, *, method: Method = "highs", exactness: float | None = None, **stated: Any) -> Any:
    """The answer of `scipy.optimize.linprog` (HiGHS); status 1 where a limit is reached.

    stated: A_ub, b_ub, A_eq, b_eq, bounds. exactness: of rows and reduced costs, 1e-10 at the sharpest.
    """
    from scipy import optimize

    solve: Any = optimize.linprog  # whose options are typed by method
    rows = sum(0 if stated.get(name) is None else stated[name].shape[0] for name in ("A_ub", "A_eq"))
    most = INTERIOR if method == "highs-ipm" else _steps(rows + len(cost))
    options: dict[str, Any] = {"maxiter": most, **_on_the_clock()}
    if exactness is not None:
        options |= {"primal_feasibility_tolerance": exactness, "dual_feasibility_tolerance": exactness}
    found = solve(cost, method=method, options=options, **stated)
    if found.status == 1:
        is_over()  # so that the blocks around remember what the clock cut
    return found


def integer_program(cost: Any, *, nodes: int = NODES, gap: float = 0.0, **stated: Any) -> Any:
    """The answer of `scipy.optimize.milp` (HiGHS); status 1 where a limit is reached, with the best point so far, if any.

    stated: integrality, bounds, constraints. gap: relative, at which the search ends.
    """
    from scipy import optimize

    solve: Any = optimize.milp
    found = solve(cost, options={"node_limit": nodes, "mip_rel_gap": gap, **_on_the_clock()}, **stated)
    if found.status == 1:
        is_over()
    return found


def conic_program(quadratic: Any, linear: Any, matrix: Any, side: Any, cones: list[Any], exactness: float | None = None) -> Any:
    """The answer of Clarabel to `min 1/2 x' quadratic x + linear x` with `side - matrix x` in the cones.

    exactness: of the gap and of feasibility; Clarabel's own, 1e-8, where none is given.
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = CONIC
    settings.time_limit = seconds_left()
    if exactness is not None:
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = exactness
    found = clarabel.DefaultSolver(quadratic, np.asarray(linear, dtype=float), matrix, side, cones, settings).solve()
    if found.status in (clarabel.SolverStatus.MaxIterations, clarabel.SolverStatus.MaxTime):
        is_over()
    return found


def options_of_cvxpy(solver: str, size: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a solver of CVXPY, by its name, with limits where none are given; of one that is not known, those given.

    size: rows and unknowns of the program.
    """
    if solver == "SCIPY":  # which takes options as a dictionary, and removes some from it
        return {**given, "scipy_options": {"maxiter": _steps(size), **_on_the_clock(), **given.get("scipy_options", {})}}
    if solver == "HIGHS":
        iterations = {"simplex_iteration_limit": _steps(size), "ipm_iteration_limit": INTERIOR, "mip_max_nodes": NODES}
        return {**iterations, **_on_the_clock(), **given}
    if solver == "SCS":
        return {"max_iters": FIRST_ORDER, **_on_the_clock("time_limit_secs"), **given}
    if solver in ("CLARABEL", "OSQP"):
        return {"max_iter": CONIC if solver == "CLARABEL" else FIRST_ORDER, **_on_the_clock(), **given}
    return dict(given)


def _steps(size: int) -> int:
    """Of the simplex method, for so many rows and unknowns."""
    return SIMPLEX + SIMPLEX_EACH * size


def _on_the_clock(name: str = "time_limit") -> dict[str, float]:
    """The limit on the clock, where a caller set one: what is found depends on the machine then, and is said to."""
    left = seconds_left()
    return {name: max(left, 1e-3)} if left < math.inf else {}
