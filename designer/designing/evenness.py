"""Equal noise in every count under an invariant whose changes nobody wrote out: the optimum by symmetry where the statistics
treat all cells alike, and a proven bound of how far from it elsewhere (docs/theory/invariants.md, 11.6)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.certificate import refuse_extreme, scale_up_to_private
from designer.certificate.norms import Norm, NormOrder
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.family import Sizes
from designer.designing.measured import DEPENDENT, Coordinates
from designer.designing.repair import Bound, claimed
from designer.limits import LARGEST_MULTIPLE, MOST_BALL_DIMENSIONS
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid, coarsest_exponent
from designer.problem.relation import Indices, Relation
from designer.relations.invariants.known import Crossed, Exchanges, KnownChanges, length_of
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import Bounded, InvariantChanges
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.problem import Problem
from solvers.programs.noise_costs import NoiseCost
from solvers.programs.scales import minimise_scales

BY_SYMMETRY = "closed form: the cells are alike, and the loss is convex"
LONG = 10_000  # changes; a list of so many is written out and scanned in seconds
SHAPED = 100  # elements, of which exchanges are written out and programs solved in seconds
MOST_AXES = 5  # whose rectangles are all looked at
BELOW = 1 - 1e-12  # for the floats that put a bound together


def asks_for_counts(problem: Problem) -> bool:
    """Whether the counts of all elements are asked for, of equal weights, under changes that nobody wrote out."""
    relation = problem.relation
    unlisted = isinstance(relation, (InvariantChanges, LinkedChanges, InvariantMetric)) and not relation.listed
    if isinstance(relation, InvariantMetric) and relation.size <= SHAPED:
        return False
    return unlisted and len(set(problem.costs.tolist())) == 1 and problem.workload.is_identity


def with_implicit_changes(problem: Problem, order: NormOrder) -> Problem:
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
    if dimension > MOST_BALL_DIMENSIONS:
        raise DesignFailed(
            f"{family}: draws from a ball in {dimension} dimensions, of which more than {MOST_BALL_DIMENSIONS} take minutes; "
            f"use {Sizes(problem).serving}."
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


# Queries as whole multiples of a unit: what may be measured on a grid of units, so that its noise is a whole number of them.
#
# The answers to a query (3, 6, 0) move by multiples of 3, those to (1, 3, 5), where the number of records is public, by
# multiples of 2, and those to (1/3, 2/3) by thirds. Noise on these multiples is private by the same proof as any other, and
# spreads less than finer noise of the same weight (docs/theory/scales.md). Grids have steps that are powers of two; where the
# unit is none, or where a constant is in the way, the query is measured in units, and the answer is made of that.


# A query of larger multiples keeps its grid: noise at the budgets of such a query cannot be told from continuous noise.
MOST_UNITS = 2**20
# Common units are sought among parts of the largest entry up to such a denominator, of so many different entries.
DENOMINATOR, ENTRIES = 1000, 1000


@dataclass(frozen=True, eq=False)
class Whole:
    """Rows, (R, N), as whole multiples of units: `diag(units) multiples + shares public`.

    multiples: (R, N). units: (R,), 1 for a row that stays as it is. public: (P, N), rows that no protected change moves.
    shares: (R, P).
    """

    multiples: Floats
    units: Floats
    public: Floats
    shares: Floats

    @property
    def steps(self) -> Floats:
        """The steps of the coarsest grid of every row, in the units of the row itself, (R,)."""
        return np.ldexp(self.units, [coarsest_exponent(row) for row in self.multiples])

    @property
    def changed(self) -> bool:
        return len(self.public) > 0 or bool((self.units != 1).any())

    def coordinates(self, heard: NDArray[np.bool_], reconstruction: Floats | None = None) -> Coordinates:
        """Where to measure: the multiples, and the public rows beside them.

        heard: (R,), the rows with noise. reconstruction: (K, R), the answers from these; None: they are them.
        """
        if not self.changed:
            return Coordinates(None if reconstruction is None else self.multiples, reconstruction, heard)
        rows = np.hstack([np.diag(self.units), self.shares])
        noisy = np.append(heard, np.zeros(len(self.public), dtype=bool))
        return Coordinates(
            np.vstack([self.multiples, self.public]), rows if reconstruction is None else reconstruction @ rows, noisy
        )

    def weights(self, weights: Floats) -> Floats:
        """Weights of what is measured, (R + P,), for weights of the rows, (R,); infinite where there is no noise."""
        return np.append(weights * self.units, np.full(len(self.public), np.inf))


def in_units(rows: Floats, relation: Relation) -> Whole:
    """Every row in the largest unit of which its protected differences are multiples, found exactly or up to `DEPENDENT`.

    Constants are set aside where a relation of single records publishes the sizes of its components.
    rows: (R, N).
    """
    heard = ~SensitivitySet.of(rows, relation).silent_coordinates()
    first = _first_of_component(relation)
    units, multiples, offsets = np.ones(len(rows)), rows.copy(), np.zeros_like(rows)
    for k in np.flatnonzero(heard).tolist():
        if (found := _unit(rows[k], first)) is not None:
            units[k], multiples[k] = found
            off = (rows[k] - units[k] * multiples[k])[first]
            offsets[k] = off * ((first >= 0) & (np.abs(off) > DEPENDENT * np.abs(rows[k]).max()))
    public, shares = _public(first, offsets)
    return Whole(multiples, units, public, shares)


def _first_of_component(relation: Relation) -> Indices:
    """For every element the first one of its connected component, -1 in that of the origin and where several records change at
    once, (N,)."""
    none = np.full(relation.size, -1, dtype=np.intp)
    if not relation.single_records:
        return none
    label = relation.components()
    at_origin = np.isin(label[: relation.size], label[relation.size :])
    first = np.unique(label, return_index=True)[1][label[: relation.size]]
    return np.where(at_origin, none, first)


def _unit(row: Floats, first: Indices) -> tuple[float, Floats] | None:
    """The unit of a query and the multiples of it, (N,), that differ as the query does; None where the plain grid has the same
    unit, or none is found.

    row: (N,). first: (N,).
    """
    exponent = coarsest_exponent(row)
    integers = np.ldexp(row, -exponent)
    if np.abs(integers).max() > LARGEST_MULTIPLE:
        return _common_unit(row, first)
    whole = integers.astype(np.int64)
    moves = whole - whole[first] * (first >= 0)
    divisor, top = int(np.gcd.reduce(moves)), int(np.abs(moves).max())
    if top > MOST_UNITS * divisor:
        return _common_unit(row, first)
    if divisor == 1:
        return None
    multiples = moves if (whole % divisor).any() else whole
    return math.ldexp(float(divisor), exponent), (multiples // divisor).astype(np.float64)


def _common_unit(row: Floats, first: Indices) -> tuple[float, Floats] | None:
    """The same for entries that differ by fractions of each other up to rounding. row: (N,). first: (N,)."""
    moves = row - row[first] * (first >= 0)
    top, allowed = float(np.abs(moves).max()), DEPENDENT * float(np.abs(row).max())
    ratios, place = np.unique(moves / top, return_inverse=True)
    parts, whole = [], 1
    for ratio in ratios.tolist():
        parts.append(Fraction(ratio).limit_denominator(DENOMINATOR))
        whole = math.lcm(whole, parts[-1].denominator)
        if abs(float(parts[-1]) - ratio) * top > allowed or whole > MOST_UNITS or len(parts) > ENTRIES:
            return None
    counts = [int(part * whole) for part in parts]
    divisor = math.gcd(*counts)
    unit = float(_rounded(top) * divisor / whole)
    multiples = np.array(counts, dtype=np.float64)[place] / divisor
    given = np.rint(row / unit)
    if np.abs(given).max() <= MOST_UNITS and np.abs(row - unit * given).max() <= allowed:
        multiples = given
    off = row - unit * multiples
    return (unit, multiples) if np.abs(off - off[first] * (first >= 0)).max() <= allowed else None


def _rounded(number: float) -> Fraction:
    """The short fraction that a float stands for; the float itself where there is none."""
    near = Fraction(number).limit_denominator(DENOMINATOR)
    return near if abs(near - Fraction(number)) <= Fraction(number) / 2**50 else Fraction(number)


def _public(first: Indices, offsets: Floats) -> tuple[Floats, Floats]:
    """The public rows that constants on components need, (P, N), and their shares, (K, P).

    first: (N,). offsets: (K, N), constant on components.
    """
    named = np.unique(first[(offsets != 0).any(axis=0)])
    return (first[None, :] == named[:, None]).astype(np.float64), offsets[:, named]
