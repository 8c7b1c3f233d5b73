"""One call of a solver of CVXPY: its name, its refusals, and what is recorded of its answer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.families.convex.called import Called, named
from solvers.limited import options_of_cvxpy
from solvers.work import is_over

DEFAULT = "CLARABEL"
USABLE = ("optimal", "optimal_inaccurate", "user_limit")
INFEASIBLE = ("infeasible", "infeasible_inaccurate")


@dataclass(frozen=True)
class Solved:
    """What a solver answered, before anything is repaired.

    status: CVXPY's word, or "stalled" where pairs beyond their budget were still found when the rounds were over.
    value: the objective at the answer. lower_bound: no feasible point has a smaller objective, as its multipliers prove; None
    where they prove nothing, and `bound_from` says why, or how the bound was found.
    raw_violation: the largest part by which the answer exceeds a pair's budget, 0 where every pair holds.
    own_violation: the same of the user's constraints, relative to the size of their terms.
    rounds: how often the solver ran. pairs: the size of the last working set. seconds: all rounds and scans.
    """

    status: str
    value: float
    lower_bound: float | None
    bound_from: str
    raw_violation: float
    own_violation: float
    rounds: int
    pairs: int
    seconds: float
    solver: str

    @property
    def gap(self) -> float | None:
        """`value - lower_bound` over the value's size; None without a bound, below 0 where the answer is not feasible."""
        if self.lower_bound is None:
            return None
        return (self.value - self.lower_bound) / max(abs(self.value), 1e-300)


def known_solver(name: object) -> str:
    """The name of an installed solver as CVXPY spells it, or of a function; `InvalidProblem` lists the installed ones."""
    if callable(name) or isinstance(name, Called):
        return named(name)
    installed = cp.installed_solvers()
    if not isinstance(name, str) or name.upper() not in installed:
        raise InvalidProblem(
            f"solver: {shown(name)} is not an installed solver of CVXPY; use one of {sorted(installed)}.", value=name
        )
    return name.upper()


def solve_with(program: cp.Problem, solver: str, options: Mapping[str, Any]) -> str:
    """Run one solver within limits of its iterations, and the seconds of a caller; returns the status, with the values in the
    variables where it is one of `USABLE`.

    "broke down" is the status of a solver that ended with an error. `DesignFailed` where it cannot take such a program at all,
    `InvalidProblem` for options that it does not know.
    """
    if isinstance(solver, Called):
        return _by_numbers(program, solver, options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "solution may be inaccurate": what was reached is measured here, not believed
            sizes = program.size_metrics
            size = sizes.num_scalar_variables + sizes.num_scalar_eq_constr + sizes.num_scalar_leq_constr
            program.solve(solver=solver, ignore_dpp=True, **options_of_cvxpy(solver, size, options))
    except cp.SolverError:
        if program.status is None and solver not in (able := able_solvers(program)):
            raise DesignFailed(
                f"solver: {solver} cannot take a program of this kind; installed ones that can: {able}."
            ) from None
        is_over()
        return "broke down"  # of SCIPY where a limit is reached, too
    except (TypeError, AttributeError, KeyError) as refusal:
        if not options:
            raise
        raise InvalidProblem(
            f"options: {solver} does not take {shown(dict(options))} ({refusal}); see its settings.", value=solver
        ) from None
    if program.status == "user_limit":
        is_over()  # so that the blocks around remember what the clock cut
    return str(program.status)


def _by_numbers(program: cp.Problem, solver: Called, options: Mapping[str, Any]) -> str:
    """Hand the numbers of the program to a function, and its answer back to the variables; "no answer" where it has none."""
    if options:
        raise InvalidProblem(f"options: {shown(dict(options))} beside {solver}; a function has no options, bind them to it.")
    data, chain, inverse = program.get_problem_data("SCS", ignore_dpp=True)
    sizes = data["dims"]
    cones = {"zero": sizes.zero, "nonnegative": sizes.nonneg, "second_order": list(sizes.soc), "semidefinite": list(sizes.psd)}
    cones |= {"exponential": sizes.exp, "power": list(sizes.p3d)}
    given = solver.call({"P": data.get("P"), "c": data["c"], "A": data["A"], "b": data["b"], "cones": cones})
    if given is None:
        return "no answer"
    x, y = (_vector(part, size, name) for part, size, name in zip(given, (len(data["c"]), len(data["b"])), "xy", strict=True))
    quadratic = 0.0 if data.get("P") is None else float(x @ (data["P"] @ x)) / 2
    known = {"status_val": 1, "pobj": float(data["c"] @ x) + quadratic, "iter": 0, "solve_time": 0.0, "setup_time": 0.0}
    program.unpack_results({"x": x, "y": y, "s": data["b"] - data["A"] @ x, "info": known}, chain, inverse)
    return str(program.status)


def _vector(given: object, size: int, name: str) -> NDArray[np.float64]:
    """What a function handed back, as finite numbers of the length that is asked for."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise InvalidProblem(f"solver: the function must hand back {name} of {size} finite numbers, not {shown(given)}.")
    return found


def able_solvers(program: cp.Problem) -> list[str]:
    """The installed solvers that take a program of this kind."""
    able = []
    for name in sorted(cp.installed_solvers()):
        try:
            program.get_problem_data(name)
        except (cp.SolverError, ValueError):
            continue
        able.append(name)
    return able
