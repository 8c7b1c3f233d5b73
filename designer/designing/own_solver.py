"""A solver of one's own: a function from the numbers of a conic program to those of its answer.

    minimise    x' P x / 2 + c' x       subject to  A x + s = b,  s in a product of cones

`solve(numbers)` is handed `{"P": (n, n) or None, "c": (n,), "A": (m, n), "b": (m,), "cones": {...}}`, matrices sparse, cones in
this order of the rows: "zero" and "nonnegative" (how many rows), "second_order" and "semidefinite" (the sizes of each, matrices
as their lower triangles by columns, off the diagonal times root 2), "exponential" (how many of three rows), "power" (the
exponent of each). It hands back `(x, y)`, y (m,) the multipliers, or None where it finds no answer. What it says is repaired
and certified as what any solver says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from designer.base.checks import shown
from designer.base.errors import InvalidProblem

Numbers = Callable[[Mapping[str, Any]], tuple[Any, Any] | None]
Solver = str | Numbers


class Called(str):
    """The name of such a function, in provenances and messages, with the function itself."""

    call: Numbers

    @classmethod
    def of(cls, call: Numbers) -> Called:
        """Named after the function."""
        made = cls(f"callable {getattr(call, '__name__', type(call).__name__)}")
        made.call = call
        return made


def named(solver: Solver) -> str:
    """The name of a solver; of a function one that holds it."""
    if isinstance(solver, str) or callable(solver):
        if solver != "auto" and find_spec("cvxpy") is None:
            raise InvalidProblem(
                f"solver: {shown(solver)} is handed programs of CVXPY, which is not installed; install cvxpy, or leave it out."
            )
        return solver if isinstance(solver, str) else Called.of(solver)
    raise InvalidProblem(
        f"solver: {shown(solver)} is no solver; give 'auto', the name of a solver of CVXPY, or a function of its numbers.",
        value=solver,
    )


def known_solver(name: object) -> str:
    """The name of an installed solver as CVXPY spells it, or of a function; `InvalidProblem` lists the installed ones."""
    if callable(name) or isinstance(name, Called):
        return named(name)
    from cvxpy import installed_solvers

    installed = installed_solvers()
    if not isinstance(name, str) or name.upper() not in installed:
        raise InvalidProblem(
            f"solver: {shown(name)} is not an installed solver of CVXPY; use one of {sorted(installed)}.", value=name
        )
    return name.upper()
