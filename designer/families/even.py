"""Equal noise in every count under an invariant whose changes nobody wrote out: the optimum by symmetry where the statistics
treat all cells alike, and a proven bound of how far from it elsewhere (docs/theory/invariants.md, 11.6)."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.norms import Norm, NormOrder
from designer.certified.refusals import refuse_extreme
from designer.certified.scale_up import scale_up_to_private
from designer.certified.sensitivity import SensitivitySet
from designer.families.repair import Bound, claimed
from designer.families.sizes import Sizes
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.additive.noise import Grid
from designer.relations.invariants.bounded import Bounded
from designer.relations.invariants.known import Crossed, Exchanges, KnownChanges
from designer.relations.invariants.lengths import length_of
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.problem import Problem
from solvers.programs.noise_costs import NoiseCost
from solvers.programs.scales import minimise_scales

BY_SYMMETRY = "closed form: the cells are alike, and the loss is convex"
LONG = 10_000  # changes; a list of so many is written out and scanned in seconds
SHAPED = 100  # elements, of which exchanges are written out and programs solved in seconds
LARGEST_BALL = 1_000  # dimensions; a ball in 800 takes ten seconds, which grow with the cube
MOST_AXES = 5  # whose rectangles are all looked at
BELOW = 1 - 1e-12  # for the floats that put a bound together


def asks_for_counts(problem: Problem) -> bool:
    """Whether the counts of all elements are asked for, of equal weights, under changes that nobody wrote out."""
    relation = problem.relation
    unlisted = isinstance(relation, (InvariantChanges, LinkedChanges, InvariantMetric)) and not relation.listed
    if isinstance(relation, InvariantMetric) and relation.size <= SHAPED:
        return False
    return unlisted and len(set(problem.costs.tolist())) == 1 and problem.workload.is_identity


def without_long_list(problem: Problem, order: NormOrder) -> Problem:
    """The problem without a list of its changes, where all counts are asked for alike, the list would be long, and the length
    of the changes is known exactly: then equal noise is the optimum that a program over the list would find."""
    relation = problem.relation
    if not isinstance(relation, InvariantChanges) or relation.by_length or relation.known is None:
        return problem
    if len(set(problem.costs.tolist())) > 1 or not problem.workload.is_identity:
        return problem
    known = relation.known
    if known.vacuous or known.count_at_least() < LONG or not known.lengths.exact(order):
        return problem
    return replace(problem, relation=replace(relation, by_length=True))


def refuse_large_ball(problem: Problem, family: str, dimension: int) -> None:
    """`DesignFailed` where noise with exponential fall-off in a Euclidean norm would take minutes to be drawn."""
    if dimension > LARGEST_BALL:
        raise DesignFailed(
            f"{family}: draws from a ball in {dimension} dimensions, of which more than {LARGEST_BALL} take minutes; use "
            f"{Sizes(problem).serving}."
        )


def even_noise(
    problem: Problem,
    family: str,
    order: NormOrder,
    falloff: Literal["exponential", "gaussian"],
    *,
    projected: bool,
    objective: str | None = None,
) -> AdditiveMechanism:
    """Independent noise of one scale in every count (of linked tables one for each table), projected onto what changes reach or
    not; optimality is claimed for an `objective` where it is proven."""
    relation = problem.relation
    assert isinstance(relation, (InvariantChanges, LinkedChanges, InvariantMetric))
    size = relation.size
    if (order, falloff) == ("l2", "exponential"):
        refuse_large_ball(problem, family, size)
    still = relation.unmoved(np.eye(size))
    if still.all():
        raise DesignFailed(f"{family}: no protected change moves a count; publish them all.")
    weights = _weights(relation, order, still)
    refuse_extreme(1 / weights[~still])
    near = Norm(weights, order)
    norm = near.divided(scale_up_to_private(SensitivitySet.of(np.eye(size), relation), near))
    made = _frozen(problem, family, norm, falloff, projected)
    lower = None
    if objective is not None and isinstance(relation, InvariantChanges):
        inflation = 1 if falloff == "gaussian" or order == "l1" else relation.invariant.freedom + 1
        lower = _least_loss(problem, relation, relation.without_list, order)
        lower = None if lower is None else inflation * lower
    if lower is None or objective is None:
        return made
    return claimed(problem, made, Bound(objective, lower * BELOW, BY_SYMMETRY, on_grid=order == "l1"))


def _weights(
    relation: InvariantChanges | LinkedChanges | InvariantMetric, order: NormOrder, still: NDArray[np.bool_]
) -> Floats:
    """Weights on the counts, (N,), that no change exceeds its budget in, up to rounding; infinite where the count stands still.

    Under a taxonomy `|(w_i, w_j)|_p <= d(i, j)` holds where each weight is its share of the least cost of its element.
    """
    if isinstance(relation, InvariantMetric):
        share: Floats = relation.nearest() / {"l1": 2.0, "l2": 2.0**0.5, "linf": 1.0}[order]
        return share
    unit = _table_weights(relation, order, ~still) if isinstance(relation, LinkedChanges) else np.ones(relation.size)
    length = float(relation.longest(np.where(still, 0.0, unit), order).bound)
    return np.where(still, np.inf, unit * (relation.epsilon / length))


def _table_weights(relation: LinkedChanges, order: NormOrder, moving: NDArray[np.bool_]) -> Floats:
    """One weight for each linked table, of least total variance before projection: with n cells and lengths L,
    `sum n / w^2` under `sum L w <= 1`, or under `sum L^2 w^2 <= 1` in l2."""
    weights = np.ones(relation.size)
    for part, (start, end) in zip(relation.parts, itertools.pairwise(relation.linked.starts), strict=True):
        cells, length = int(moving[start:end].sum()), part.lengths.bound(order)
        if cells and length:
            weights[start:end] = (cells / length) ** (1 / 3 if order == "l1" else 1 / 4)
    return weights


def _frozen(
    problem: Problem, family: str, norm: Norm, falloff: Literal["exponential", "gaussian"], projected: bool
) -> AdditiveMechanism:
    """The mechanism on its grid, with a silent coordinate for every public row where the noise is projected."""
    relation = problem.relation
    grid = Grid.for_scales(np.eye(relation.size), 1 / norm.map, whole=norm.order == "l1")
    if projected:
        public = relation.public_rows()
        grid = Grid(grid.exponents + Grid.for_scales(public, np.zeros(len(public))).exponents)
        norm = Norm(np.concatenate([norm.map, np.full(len(public), np.inf)]), norm.order)
    return AdditiveMechanism(
        family, problem.workload, relation, norm, grid, falloff, projected=projected, allow_vacuous=problem.allow_vacuous
    )


def _least_loss(problem: Problem, relation: InvariantChanges, known: KnownChanges, order: NormOrder) -> float | None:
    """A bound below the loss of every design of the family; None where none is known."""
    moving = relation.size - int(known.unmoved(np.eye(relation.size)).sum())
    share = {"squared": float(moving), "absolute": float(moving), "max": 1.0}[problem.loss]
    cost = float(problem.costs[0])
    if isinstance(known, Bounded):
        return None
    if order == "l1":  # equal weights epsilon / |v|_1 by symmetry, v the longest change, on whole numbers
        weight = np.array([relation.epsilon / length_of(known.lengths.longest("l1"), "l1")])
        power = 1 if problem.loss == "absolute" else 2
        return cost * share * power * NoiseCost.of(np.ones(1), power, np.ones(1)).value(weight)
    if problem.loss == "absolute":
        return None
    total = _least_variance(known, relation.invariant.freedom)
    if total is None or problem.loss == "squared":
        return None if total is None else cost * total / relation.epsilon**2
    part = 1 / moving
    if isinstance(known, Exchanges):  # the largest class alone
        part = (1 - 1 / max(map(len, known.blocks))) / relation.invariant.freedom
    return cost * total * part / relation.epsilon**2


def _least_variance(known: KnownChanges, freedom: int) -> float | None:
    """The least `tr Sigma` with `v' Sigma^-1 v <= 1` for all changes, or a bound below it."""
    if not isinstance(known, Crossed):
        # Classes and lines: the permutations that keep the statistics leave every part of the span whole.
        return float(freedom * length_of(known.lengths.longest("l2"), "l2"))
    if known.structure.repeats > 1:
        return None
    parts = _interactions(known.structure.levels)
    dimensions = np.array([math.prod(known.structure.levels[axis] - 1 for axis in axes) for axes in parts], dtype=float)
    rows = np.array([_by_interactions(change, parts) for change in _typical(known)])
    return minimise_scales(rows, dimensions, 1).lower_bound


def _interactions(levels: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The sets of at least two axes, whose interactions published margins leave open."""
    axes = range(len(levels))
    return [chosen for size in axes[1:] for chosen in itertools.combinations(axes, size + 1)]


def _typical(known: Crossed) -> list[Floats]:
    """Some changes as tables: the longest, and as many equal rectangles as a records make, on every two sets of axes."""
    levels, classes = known.structure.levels, known.structure.classes
    found: list[Floats] = []
    for change in dict.fromkeys(known.lengths.changes):
        table = np.zeros(levels)
        for cell, amount in change:
            table[tuple(classes[:, cell])] += amount
        found.append(table)
    for sides in itertools.product((0, 1, 2), repeat=min(len(levels), MOST_AXES)):
        if 1 in sides and 2 in sides:
            table = np.zeros(levels)
            for one, two in itertools.product((0, 1), repeat=2):
                corner = [{1: one, 2: two}.get(side, 0) for side in sides] + [0] * (len(levels) - len(sides))
                table[tuple(corner)] += (known.adjacency // 2) * (-1) ** (one + two)
            found.append(table)
    return found


def _by_interactions(table: Floats, parts: list[tuple[int, ...]]) -> list[float]:
    """`|P_T v|^2` of a change for every set T of axes: means over the axes outside T, differences from them along those of T.

    With `s_T` the precision of the interactions T, averaging over the permutations of levels makes `sum_T s_T |P_T v|^2 <= 1`
    of `v' Sigma^-1 v <= 1`, and `sum_T dim_T / s_T` of the loss, which it does not raise.
    """
    squares = []
    for axes in parts:
        part: Floats = table
        for axis in range(table.ndim):
            mean = part.mean(axis=axis, keepdims=True)
            part = part - mean if axis in axes else np.broadcast_to(mean, part.shape)
        squares.append(float((part**2).sum()))
    return squares
