"""From a solver's proposal to a frozen mechanism: a grid, a repair towards privacy, and the claim of optimality.

What is certified: docs/theory/foundations.md, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.certificate import scale_up_to_private
from designer.certificate.change_norms import ByLength, too_many
from designer.certificate.guarantee import bounded
from designer.certificate.implicit_rows import is_described
from designer.certificate.norms import Norm, weighted_l1
from designer.certificate.sensitivity import Pairs, SensitivitySet
from designer.designing.measured import Coordinates
from designer.limits import MOST_LISTED_LATTICE_ELEMENTS, MOST_REPAIR_NUMBERS, MOST_REPAIR_PAIRS
from designer.mechanism.additive import AdditiveMechanism, measured_matrix
from designer.mechanism.interface import Falloff
from designer.mechanism.noise import Grid, coarsest_exponent
from designer.problem.compressed_rows import IntervalRows, distinct_columns
from designer.problem.relation import Indices, Relation
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.metrics.algebra import unclipped
from designer.relations.problem import Problem
from solvers.programs.changes import Changes
from solvers.rounding import rounded as short
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
    """Build the certified mechanism whose noise follows `shape(differences on the grid)`, in short numbers, divided by what
    privacy requires.

    Parameters
    ----------
    problem : linear queries.
    family : the name that the provenance gives.
    coordinates : what is measured, and how it makes the answers.
    scales : rough noise scales of the measured coordinates, (R,), which choose the grid; 0 where there is none.
    shape : the norm of the noise, from the differences on the grid.
    falloff : "exponential", "gaussian" or "rounded_gaussian".
    bound : what a solver proved of all designs of the family.
    whole : on the coarsest grid that holds the measured matrix (see `Grid.for_scales`).
    """
    matrix = coordinates.matrix(problem)
    grid, rounded = rounded_to_grid(problem, matrix, scales, whole=whole)
    norm = shape(rounded).shortened()
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


def rounded_to_grid(problem: Problem, matrix: Floats, scales: Floats, *, whole: bool = False) -> tuple[Grid, SensitivitySet]:
    """The grid that noise of these scales is on, and the differences of the queries `matrix` (R, N), rounded to it."""
    grid = Grid.for_scales(matrix, short(scales), whole=whole)
    on_grid = grid.values(grid.integers(matrix))
    refuse_swallowed(problem.relation, matrix, on_grid, scales)
    return grid, SensitivitySet.of(on_grid, problem.relation)


def _fits_described(problem: Problem, norm: Norm, grid: Grid) -> bool:
    """Whether the certificate of queries that are not written out takes this norm on this grid (`DescribedSet`)."""
    weighted = type(norm) is Norm and norm.map.ndim == 1 and norm.order in ("l1", "l2")
    return weighted and not (isinstance(problem.workload.matrix, IntervalRows) and any(grid.exponents))


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
        silent = silent | (np.array([coarsest_exponent(row) for row in measured_matrix(made)]) == np.array(made.grid.exponents))
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
    off = np.where(made.norm.silent[:, None], 0.0, made.grid.values(made.integers) - measured_matrix(made))
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
    left = problem.workload.dense() - made.reconstruction @ measured_matrix(made)
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
    """Spread values of the heard coordinates over all measured ones, (..., R); the last axis is the coordinates.

    Parameters
    ----------
    values : (..., s), on the heard coordinates.
    coordinates : R of them, of which s are heard.
    rest : the value elsewhere.
    """
    full = np.full((*values.shape[:-1], len(coordinates.heard)), rest)
    full[..., coordinates.heard] = values
    return full


# Some of the infinitely many changes under a budget for every unit of distance: those of few records, for a limit. A limit for
# some of the promises is a limit for all (docs/theory/least_noise.md, section 3).


# Records that change at once: margins of three-way tables, or of one group in two, need no more.
MOST_RECORDS = 4
MOST_CHANGES = 500_000


def changes_of_few_records(relation: InvariantDistance) -> InvariantChanges | None:
    """The changes of as few records as reach every direction that the statistics leave open, all with the budget of one unit of
    distance; None where they are many, or where to find them takes long."""
    if relation.size > MOST_LISTED_LATTICE_ELEMENTS:
        return None
    for adjacency in range(1, MOST_RECORDS + 1):
        near = InvariantChanges(relation.invariant, adjacency, relation.epsilon)
        try:
            changes = near.changes
        except DesignFailed:
            return None
        if changes.size > MOST_CHANGES:
            return None
        if len(changes) and near.spans_kernel:
            return near
    return None


def lengths_of(changes: InvariantChanges, distance: str) -> Floats:
    """The length of every change, rounded up, (M,)."""
    sizes = np.abs(changes.changes).astype(np.float64)
    lengths = sizes.sum(axis=1) if distance == "l1" else np.sqrt((sizes**2).sum(axis=1))
    return np.asarray(lengths * (1 + 2.0**-50))


# Differences beyond this many numbers are not written out for a bound that only informs.
WRITTEN_OUT = 20_000_000
FEW = 500_000  # numbers in the worst partners of all points, which stand for the rest
CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class ProtectedPairs:
    """m pairs with u != 0. measured: (m, s), their differences in the heard coordinates. budgets: (m,), never below those that
    are promised. points: (P, K), the answers at the points `left` and `right` (m,). slack: (K,), how far a difference of
    points may be from that of the exact answers, beyond one rounding of its own. complete: whether these are all pairs."""

    measured: Floats
    budgets: Floats
    left: Indices
    right: Indices
    points: Floats
    slack: Floats
    complete: bool

    @classmethod
    def of(cls, problem: Problem, coordinates: Coordinates) -> ProtectedPairs | None:
        """All protected pairs, or, of more than `WRITTEN_OUT` numbers, each point's worst partner; None where these are more
        than `FEW` numbers, or where float budgets may be far below those that are promised."""
        moving = coordinates.sensitivity(problem)
        total = problem.relation.pair_count()
        complete = total * (moving.dimension + 3) <= WRITTEN_OUT
        if (not complete and moving.points.size > FEW) or not unclipped(problem.relation):
            return None
        found = moving.all_pairs() if complete else _worst_partners(moving)
        answers = problem.workload.dense()
        points = SensitivitySet.of(answers, problem.relation).points
        above = found.budgets * (1 + problem.relation.budget_error + 2.0**-50)
        slack = _slack(problem.relation, answers)
        return cls(found.differences, above, found.left, found.right, points, slack, complete)

    def differences(self, chosen: Indices | slice) -> Floats:
        """Differences of the answers, (m, K) for m that are chosen (m,)."""
        return np.asarray(self.points[self.left[chosen]] - self.points[self.right[chosen]])

    def chunks(self) -> Iterator[slice]:
        """Slices of the pairs whose differences have about `CHUNK` numbers."""
        step = max(1, CHUNK // self.points.shape[1])
        return (slice(start, start + step) for start in range(0, len(self.budgets), step))

    @cached_property
    def move_one_answer_each(self) -> bool:
        """Whether every pair moves one answer only, and all that move the same one move it equally far: then independent
        noise, of its own unit and least budget in each answer, keeps the promise."""
        if not self.complete or self.slack.any():
            return False
        unit = np.zeros(self.points.shape[1])
        for chunk in self.chunks():
            sizes = np.abs(self.differences(chunk))
            unit = np.maximum(unit, sizes.max(axis=0, initial=0.0))
            if (np.count_nonzero(sizes, axis=1) != 1).any() or ((sizes != 0) & (sizes != unit)).any():
                return False
        return True


def _worst_partners(moving: SensitivitySet) -> Pairs:
    """The worst partner of each point, in units in which all coordinates vary alike."""
    spread = np.ptp(moving.points, axis=0)
    return moving.worst(weighted_l1(1 / spread), limit=len(moving.points))[1]


def _slack(relation: Relation, answers: Floats) -> Floats:
    """Zero where points are columns, or sums of them without rounding; otherwise what adding up one change may lose."""
    if relation.exact_on(answers.T) or not isinstance(relation, ChangeRelation):
        return np.zeros(len(answers))
    longest = float(np.abs(relation.changes).sum(axis=1).max(initial=0))
    return np.asarray((longest + 2) * 2.0**-51 * longest * np.abs(answers).max(axis=1, initial=0.0))


# Atoms: elements that no query tells apart are one element, and what binds two atoms is the least budget between them.


_changes_known: WeakKeyDictionary[Problem, Changes] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Atoms:
    """first: (C,) one element of each atom, in their order. label: (N,) the atom of each element."""

    problem: Problem
    first: Indices
    label: Indices

    @classmethod
    def of(cls, problem: Problem) -> Atoms:
        """Elements with equal columns of the workload; `DesignFailed` where there are too many changes to be written out."""
        relation = problem.relation
        if isinstance(relation, ByLength) and not relation.listed:
            raise DesignFailed(too_many(relation))
        return cls(problem, *distinct_columns(problem.workload.matrix))

    def __len__(self) -> int:
        return len(self.first)

    def spread(self, rows: Floats) -> Floats:
        """Rows over the atoms, (p, C), as rows over the elements, (p, N)."""
        return np.asarray(rows[:, self.label])

    @cached_property
    def workload(self) -> Floats:
        """The queries on the atoms, (K, C)."""
        return np.asarray(self.problem.workload.dense()[:, self.first])

    @cached_property
    def changes(self) -> Changes:
        """The protected changes of the counts of the atoms, each once, with its least budget, found once for a problem;
        `DesignFailed` where there are too many to look at, and where a budget of 0 binds elements that the queries tell
        apart."""
        if self.problem not in _changes_known:
            _changes_known[self.problem] = self._written_out()
        return _changes_known[self.problem]

    def _written_out(self) -> Changes:
        relation = self.problem.relation
        if (pairs := relation.pair_count()) > MOST_REPAIR_PAIRS:
            raise DesignFailed(
                f"strategy_geometric: {pairs:,} pairs of elements, more than {MOST_REPAIR_PAIRS:,}; use laplace."
            )
        if not relation.single_records and pairs * len(self) > MOST_REPAIR_NUMBERS:
            raise DesignFailed(
                f"strategy_geometric: {pairs:,} changes of {len(self)} counts, more than {MOST_REPAIR_NUMBERS:,} numbers; use "
                "laplace."
            )
        return self._of_single() if relation.single_records else self._of_several()

    def _of_several(self) -> Changes:
        """Of changes of several records, written out."""
        from scipy.sparse import csr_array

        relation = self.problem.relation
        images = relation.points(self.spread(np.eye(len(self))).T)
        rows, budgets = [], []
        for block in relation.blocks():
            left, right = (block.left, block.right) if block.paired else map(np.ravel, np.meshgrid(block.left, block.right))
            known = block.budgets if block.paired else block.budgets.T.ravel()
            finite = np.isfinite(known)
            rows.append(images[left[finite]] - images[right[finite]])
            budgets.append(known[finite])
        moved, least = _least(np.concatenate(rows), np.concatenate(budgets))
        refuse_bound(least)
        return Changes(csr_array(moved).T, least)

    def _of_single(self) -> Changes:
        """Of single records: every pair of atoms, and of an atom and absence, which stands last."""
        relation, size = self.problem.relation, len(self)
        label = np.append(self.label, size)
        least = np.full((size + 1, size + 1), np.inf)
        for block in relation.blocks():
            left, right = label[block.left], label[block.right]
            if block.paired:
                np.minimum.at(least, (left, right), block.budgets)
            else:
                by_column = np.full((len(left), size + 1), np.inf)
                np.minimum.at(by_column.T, right, block.budgets.T)
                np.minimum.at(least, left, by_column)
        least = np.minimum(least, least.T)
        left, right = np.nonzero(np.isfinite(least) & np.tri(size + 1, k=-1, dtype=bool))
        refuse_bound(least[left, right])
        present, absent = np.where(left == size, right, left), np.where(left == size, -1, right)
        return Changes.pairs(size, present, absent, least[left, right])


def refuse_bound(budgets: Floats) -> None:
    """`DesignFailed` where a budget is 0."""
    if not (budgets > 0).all():
        raise DesignFailed(
            "strategy_geometric: a budget of 0 binds a change that the queries tell; give it a budget above 0, or use laplace."
        )


def _least(rows: Floats, budgets: Floats) -> tuple[Floats, Floats]:
    """Each change once, whatever its sign, with its least budget, without those that move nothing."""
    moving = np.abs(rows).max(axis=1, initial=0.0) > 0
    rows, budgets = rows[moving], budgets[moving]
    if not len(rows):
        return rows, budgets
    signed = rows * np.sign(rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)])[:, None]
    order = np.lexsort(signed.T[::-1])
    signed = signed[order]
    first = np.flatnonzero(np.append(True, (signed[1:] != signed[:-1]).any(axis=1)))
    return signed[first], np.minimum.reduceat(budgets[order], first)
