"""L-BFGS as all searches of strategies use it.

What they search: docs/theory/strategies.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solvers.work import is_over, spend

Array = NDArray[np.float64]
Objective = Callable[[Array], tuple[float, Array]]


def minimised(
    objective: Objective, start: Array, iterations: int, nonnegative: bool = False, memory: int = 20
) -> tuple[Array, int]:
    """Where the descent ended, (n,), at the end of its work at the latest, and after how many steps.

    What the solver says of its end is not asked: points that are worse than the start, or no numbers, give way to it.

    objective: returns a value and its gradient (n,).
    """
    from scipy.optimize import Bounds, minimize

    bounds = Bounds(0.0, np.inf) if nonnegative else None
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=_until_the_limit,
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": memory, "ftol": 1e-10, "gtol": 1e-9},
    )
    end = np.maximum(found.x, 0.0) if nonnegative else np.asarray(found.x)
    better = np.isfinite(end).all() and objective(end)[0] <= objective(start)[0]
    return (end if better else np.array(start)), int(found.nit)


def _until_the_limit(intermediate_result: object) -> None:
    spend(calls=1)
    if is_over():
        raise StopIteration
