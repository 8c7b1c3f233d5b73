"""Lower bounds that multipliers prove, whoever found them.

For a convex objective f, constraints `g_j <= 0` (convex) and `h_j = 0` (affine), and multipliers mu >= 0, nu, the Lagrangian
`L = f + sum mu_j g_j + sum nu_j h_j` is at most f at every feasible point, and it is convex: with any subgradient s at any
point y, `f(x) >= L(y) + <s, x - y>`. So L(y) - <s, y> plus the least value of `<s, x>` over a bounded set that contains every
feasible x is a lower bound. At the optimal multipliers s vanishes, and nothing is lost. Where the least value of `f + <s, x>`
is known in closed form, f is left as it is, and only the constraints are linearised. See docs/guides/programs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from designer.base.arrays import Floats

# What is taken off for the rounding of sums and gradients, of the sum of the terms' sizes.
ALLOWANCE = 1e-11
Slopes = Mapping[str, Floats]


@dataclass(frozen=True)
class LinearTerm:
    """An expression of the Lagrangian with its multiplier, nonnegative but for equalities.

    multiplier: the shape of the expression, (...,).
    """

    expression: Any
    multiplier: Floats

    def value(self) -> float:
        """`<multiplier, expression>`."""
        return float(np.vdot(self.multiplier, self.expression.value))

    def slopes(self) -> dict[Any, Floats] | None:
        """A subgradient of the value by variable; None where there is none at the present values."""
        found = {}
        try:
            gradients = self.expression.grad
        except (NotImplementedError, ValueError):
            # Some atoms of CVXPY have none, the largest absolute value for one; beside NumPy 1 no p-norm but that of p = 2 has.
            return None
        for variable, jacobian in gradients.items():
            if jacobian is None:
                return None
            matrix = jacobian.toarray() if hasattr(jacobian, "toarray") else np.asarray(jacobian)
            flat = matrix.reshape(variable.size, -1) @ np.ravel(self.multiplier, order="F")
            found[variable] = flat.reshape(variable.shape, order="F")
        return found


def lagrangian_bound(
    terms: Sequence[LinearTerm], variables: Mapping[str, Any], least: Callable[[Slopes], float | None]
) -> float | None:
    """The bound of these terms at the present values of the variables; None where the multipliers prove none.

    variables: the program's own, by name; one that is not among them may be anything, so its slope must vanish.
    least(s): the least `sum <s, x>`, plus what of the Lagrangian is not among the terms, over a set that contains every
    feasible point; None where none is known.
    """
    total, size = 0.0, 0.0
    slopes: dict[Any, Floats] = {variable: np.zeros(variable.shape) for variable in variables.values()}
    for term in terms:
        parts = term.slopes()
        if parts is None or any(variable not in slopes and np.abs(slope).max() > 0 for variable, slope in parts.items()):
            return None
        for variable in set(parts) & set(slopes):
            slopes[variable] += parts[variable]
            size += float(np.abs(parts[variable] * variable.value).sum())
        total += term.value()
        size += abs(term.value())
    named = {name: slopes[variable] for name, variable in variables.items()}
    rest = least(named)
    if rest is None:
        return None
    here = sum(float(np.vdot(slope, variables[name].value)) for name, slope in named.items())
    bound = total - here + rest - ALLOWANCE * (size + abs(rest))
    return bound if np.isfinite(bound) else None
