"""From a solver's proposal to a frozen mechanism: a grid, a repair towards privacy, and the claim of optimality.

What is certified: docs/theory/foundations.md, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.described import is_described
from designer.certified.guarantee import bounded
from designer.certified.norms import Norm
from designer.certified.scale_up import scale_up_to_private
from designer.certified.sensitivity import SensitivitySet
from designer.families.measured import Coordinates
from designer.mechanisms.additive.interface import Falloff
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.additive.noise import Grid, coarsest_exponent
from designer.problem.relation import Relation
from designer.problem.rows import Intervals
from designer.relations.problem import Problem
from solvers.work import finishing

CONTINUOUS = "of continuous noise of this kind"


@dataclass(frozen=True)
class Bound:
    """What a solver proved: no design of the family has a loss below `lower`; `objective` says which loss, `method` how.

    on_grid: the loss is that of noise on the coarsest grid that holds the queries, not that of continuous noise.
    """

    objective: str
    lower: float
    method: str
    on_grid: bool = False


@finishing()
def freeze(
    problem: Problem,
    family: str,
    coordinates: Coordinates,
    scales: Floats,
    shape: Callable[[SensitivitySet], Norm],
    falloff: Falloff,
    bound: Bound | None = None,
    *,
    whole: bool = False,
) -> AdditiveMechanism:
    """The certified mechanism whose noise follows `shape(differences on the grid)`, divided by what privacy requires.

    scales: rough noise scales of the measured coordinates, (R,), which choose the grid; 0 where there is none.
    whole: on the coarsest grid that holds the measured matrix (see `Grid.for_scales`).
    """
    matrix = coordinates.matrix(problem)
    grid = Grid.for_scales(matrix, scales, whole=whole)
    on_grid = grid.values(grid.integers(matrix))
    refuse_swallowed(problem.relation, matrix, on_grid, scales)
    rounded = SensitivitySet.of(on_grid, problem.relation)
    norm = shape(rounded)
    norm = norm.divided(scale_up_to_private(rounded, norm))
    measured, reconstruction = coordinates.measured, coordinates.reconstruction
    if measured is None and is_described(problem.workload, problem.relation) and not _fits_described(problem, norm, grid):
        measured, reconstruction = matrix, np.eye(len(matrix))
    made = AdditiveMechanism(
        family,
        problem.workload,
        problem.relation,
        norm,
        grid,
        falloff,
        measured,
        reconstruction,
        allow_vacuous=problem.allow_vacuous,
    )
    return made if bound is None else claimed(problem, made, bound)


def _fits_described(problem: Problem, norm: Norm, grid: Grid) -> bool:
    """Whether the certificate of queries that are not written out takes this norm on this grid (`DescribedSet`)."""
    weighted = type(norm) is Norm and norm.map.ndim == 1 and norm.order in ("l1", "l2")
    return weighted and not (isinstance(problem.workload.matrix, Intervals) and any(grid.exponents))


def claimed(problem: Problem, made: AdditiveMechanism, bound: Bound) -> AdditiveMechanism:
    """The mechanism with the note of how near its loss is to a bound; a bound above it by more than rounding is an error. The
    note says where the bound is one of continuous noise: whole-number noise of another family may lose less."""
    value = _loss(problem, made)
    objective = bound.objective if bound.on_grid or bound.lower == 0 else f"{bound.objective}, {CONTINUOUS}"
    rounding = rounding_of(problem, made, on_grid=bound.on_grid) if bound.lower > value else 0.0
    claim = bounded(objective, value, bound.lower, bound.method, rounding)
    return made.annotated(made.provenance, claim)


def _loss(problem: Problem, made: AdditiveMechanism) -> float:
    absolutes = made.query_mean_absolutes() if problem.loss == "absolute" else None
    return problem.loss_of(made.query_variances(), absolutes)


def rounding_of(problem: Problem, made: AdditiveMechanism, *, on_grid: bool = False) -> float:
    """How far the loss of a mechanism on a grid may lie below that of continuous noise for
    the queries before they were rounded.

    With the norm divided by `1 + eta` the noise is private for the unrounded queries, `eta = max ||u - u'|| / b`, u' on the
    grid. On a grid of steps h the variance of Laplace noise is less by at most h^2 / 6, its mean absolute value by h
    (`0 <= 1/r^2 - 1/(4 sinh^2(r/2)) <= 1/12`, `0 <= 1/r - 1/sinh r <= 1` for a rate r per step). Twice h of every coordinate,
    with its part in the answer, is allowed for noise of any shape. What a reconstruction leaves out of the queries, and the
    floats that added the loss up, come on top.
    on_grid: the loss was that of noise on the coarsest grid that holds the queries; where the mechanism has it, h is 0.
    """
    silent = made.norm.silent
    if on_grid:
        silent = silent | (np.array([coarsest_exponent(row) for row in made.target]) == np.array(made.grid.exponents))
    steps = np.where(silent, 0.0, made.grid.steps)
    coarse = 2 * (steps if made.reconstruction is None else np.abs(made.reconstruction) @ steps)
    power = 1 if problem.loss == "absolute" else 2
    loss = _loss(problem, made)
    floats = (len(steps) + len(coarse) + 16) * 2.0**-50
    relative = (1 + _beyond_budgets(made)) ** (power + _rate(made)) * (1 + _left_out(problem, made)) - 1 + floats
    return float(loss * relative + (1 + relative) * problem.loss_of(coarse**2, coarse))


def _rate(made: AdditiveMechanism) -> float:
    """How much faster losses fall with the weights on a coarse grid than by their power: at most by the weight of one step, or
    for Gaussian noise by its square (docs/theory/scales.md)."""
    if made.norm.map.ndim > 1:
        return 0.0
    heard = made.noise.heard
    most = float((made.norm.map[heard] * made.grid.steps[heard]).max(initial=0.0))
    return most if made.falloff == "exponential" else most**2


def _beyond_budgets(made: AdditiveMechanism) -> float:
    """eta: the largest part of a budget that rounding to the grid, and the float budgets of a program, may hide from the
    certificate."""
    off = np.where(made.norm.silent[:, None], 0.0, made.grid.values(made.integers) - made.target)
    floats = 2 * made.relation.budget_error
    if not off.any():
        return floats
    longest = float(made.norm(made.relation.points(off.T)).max(initial=0.0))
    return floats + 2 * longest / made.relation.least_budget(positive=True)


def _left_out(problem: Problem, made: AdditiveMechanism) -> float:
    """What answering the part of the queries that the reconstruction leaves out would cost, relative to the loss.

    Laplace noise for K answers that move by at most r standard deviations of theirs per budget, from a part t of all budgets,
    costs `2 (K r / t)^2` of the variances; with `t = (K r)^(2/3)` all together is at most
    `(1 - t)^-2 + 2 t <= 1 + 6 t` for t up to 0.1.
    """
    if made.reconstruction is None:
        return 0.0
    left = problem.workload.dense() - made.reconstruction @ made.target
    off = 2 * np.abs(made.relation.points(left.T)).max(axis=0)
    deviations = np.sqrt(made.query_variances())
    r = float((off[deviations > 0] / deviations[deviations > 0]).max(initial=0.0)) / made.relation.least_budget(positive=True)
    share = (len(off) * r) ** (2 / 3)
    return 6 * share if share < 0.1 else np.inf


def refuse_swallowed(relation: Relation, matrix: Floats, on_grid: Floats, scales: Floats) -> None:
    """A coordinate whose differences are lost in the grid would be noise around another query: `DesignFailed`.

    matrix: (R, N), the measured queries. on_grid: (R, N), rounded. scales: (R,), 0 where there is no noise.
    """
    spread = np.ptp(relation.points(matrix.T), axis=0)
    lost = (np.abs(on_grid - matrix).max(axis=1) > 1e-3 * spread) & (scales > 0)
    if lost.any():
        k = int(np.flatnonzero(lost)[0])
        raise DesignFailed(
            f"workload: measured answer {k} varies by {spread[k]}, too little beside its noise scale {scales[k]} or its "
            f"largest entry {np.abs(matrix[k]).max()}; raise its budgets, or subtract a constant from it."
        )


def on_heard(values: Floats, coordinates: Coordinates, rest: float = 0.0) -> Floats:
    """Values of the heard coordinates spread over all measured ones, `rest` elsewhere; the last axis is the coordinates.

    values: (..., s). Returns (..., R).
    """
    full = np.full((*values.shape[:-1], len(coordinates.heard)), rest)
    full[..., coordinates.heard] = values
    return full
