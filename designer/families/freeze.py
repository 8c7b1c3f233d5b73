"""From a solver's proposal to a frozen mechanism: a grid, a repair towards privacy, and the claim of optimality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from designer.certificate import certify, rounding_error
from designer.coordinates import Coordinates
from designer.errors import DesignFailed
from designer.families.limits import refuse_infinite
from designer.frozen import Floats
from designer.grid import Grid
from designer.mechanism import Mechanism
from designer.norms import Norm
from designer.optimality import Optimality
from designer.problem import Problem
from designer.relation import Relation
from designer.sensitivity import SensitivitySet
from solvers.rational import float_above

# Norms are divided by this much beyond the exact requirement, so that a certificate recomputed on another machine, whose float scan
# may round otherwise, still holds.
MARGIN = 2.0**-40


@dataclass(frozen=True)
class Bound:
    """What a solver proved: no design of the family has a loss below `lower`; `objective` says which loss, `method` how."""

    objective: str
    lower: float
    method: str


def freeze(
    problem: Problem,
    family: str,
    coordinates: Coordinates,
    scales: Floats,
    shape: Callable[[SensitivitySet], Norm],
    falloff: Literal["exponential", "gaussian"],
    bound: Bound | None = None,
) -> Mechanism:
    """The certified mechanism whose noise follows `shape(differences on the grid)`, divided by what privacy requires.

    scales: rough noise scales of the measured coordinates, (R,), which choose the grid; 0 where there is none.
    """
    matrix = coordinates.matrix(problem)
    grid = Grid.for_scales(matrix, scales)
    on_grid = grid.values(grid.integers(matrix))
    _refuse_swallowed(problem.relation, matrix, on_grid, scales)
    rounded = SensitivitySet.of(on_grid, problem.relation)
    norm = shape(rounded)
    norm = norm.divided(scale_up_to_private(rounded, norm))
    made = Mechanism(
        family,
        problem.workload,
        problem.relation,
        norm,
        grid,
        falloff,
        coordinates.measured,
        coordinates.reconstruction,
        allow_vacuous=problem.allow_vacuous,
    )
    if bound is None:
        return made
    absolutes = made.query_mean_absolutes() if problem.loss == "absolute" else None
    value = problem.loss_of(made.query_variances(), absolutes)
    # The noise on a grid is slightly narrower than the continuous noise that the bound speaks of.
    return made.annotated(made.provenance, Optimality(bound.objective, value, min(bound.lower, value), bound.method))


def _refuse_swallowed(relation: Relation, matrix: Floats, on_grid: Floats, scales: Floats) -> None:
    """A coordinate whose differences are lost in the grid would be noise around another query."""
    spread = np.ptp(relation.points(matrix.T), axis=0)
    lost = (np.abs(on_grid - matrix).max(axis=1) > 1e-3 * spread) & (scales > 0)
    if lost.any():
        k = int(np.flatnonzero(lost)[0])
        raise DesignFailed(
            f"workload: measured answer {k} varies by {spread[k]}, too little beside its noise scale {scales[k]} or its largest entry "
            f"{np.abs(matrix[k]).max()}; raise its budgets, or subtract a constant from it."
        )


def scale_up_to_private(sensitivity: SensitivitySet, norm: Norm) -> float:
    """A factor, at least 1, by which the norm must be divided so that every pair is proven within its budget, with `MARGIN` to spare.

    A first float scan with its error allowance makes the norm private for certain; the certificate of that norm then says, almost
    exactly, how much of the allowance was not needed.
    """
    if norm.silent.all():
        return 1.0
    worst = refuse_infinite(sensitivity, norm)
    if worst == 0.0:
        return 1.0
    # An error of the float scan on the length of a pair weighs most at the smallest budget.
    least = min(float(b.budgets[b.budgets > 0].min(initial=np.inf)) for b in sensitivity.relation.blocks())
    # Where many pairs tie, floats must settle them: K = 300 equal coordinates would otherwise ask for every pair in rationals.
    margin = 1 + max(MARGIN, 4 * rounding_error(sensitivity, norm))
    safe = (worst + 2 * (sensitivity.relation.budget_error + norm.image_error(sensitivity.points) / least)) * margin
    proven = certify(sensitivity, norm.divided(safe)).worst_ratio
    return safe if proven is None else max(1.0, safe * float_above(proven) * margin)


def on_heard(values: Floats, coordinates: Coordinates, rest: float = 0.0) -> Floats:
    """Values of the heard coordinates spread over all measured ones, `rest` elsewhere; the last axis is the coordinates."""
    full = np.full((*values.shape[:-1], len(coordinates.heard)), rest)
    full[..., coordinates.heard] = values
    return full
