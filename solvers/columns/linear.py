"""Linear programs `min cost x, upper x <= limits, equal x = sides, x >= 0`, by HiGHS, with counted work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.columns.cone import Array
from solvers.limited import Method, linear_program
from solvers.threads import one_thread
from solvers.work import spend

EXACTNESS = 1e-10  # of rows and reduced costs, the sharpest that HiGHS takes
STEPS = 30  # of the simplex method, about, for each row a fraction of which are looked at


class NoSolution(Exception):
    """The backend says that it found no optimum; the message is its own."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A solution `point`, and what one more unit of each limit or side changes the value by: `of_limits <= 0`, `of_sides`."""

    point: Array
    of_limits: Array
    of_sides: Array


def least(
    cost: Array, upper: Any, limits: Array, equal: Any, sides: Array, methods: tuple[Method, ...] = ("highs-ds", "highs-ipm")
) -> Optimum:
    """The optimum by the first of the methods that finds one; upper may be None, with no limits. NoSolution otherwise."""
    entries = float(getattr(equal, "nnz", equal.size)) + float(0 if upper is None else getattr(upper, "nnz", upper.size))
    found: Any = None
    for method in methods:
        spend(calls=100, pivots=STEPS * entries)
        with one_thread():
            found = linear_program(
                cost,
                A_ub=upper,
                b_ub=None if upper is None else limits,
                A_eq=equal,
                b_eq=sides,
                bounds=(0, None),
                method=method,
                exactness=EXACTNESS,
            )
        if found.status == 0:
            of_limits = np.zeros(0) if upper is None else np.minimum(found.ineqlin.marginals, 0.0)
            return Optimum(np.maximum(found.x, 0.0), of_limits, np.asarray(found.eqlin.marginals))
    raise NoSolution(f"the linear program of {len(cost)} unknowns found no optimum: {found.message}")
