"""The pure noise of least expected loss on the lattice of all protected differences, in few dimensions: a linear program over
laws, or the stairs of Geng and Viswanath for one real number (docs/theory/staircase.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.certificate.certificate import refuse_infinite
from designer.certificate.guarantee import bounded
from designer.certificate.norms import weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.family import Family, Sizes, Tolerance, WorseThanIncumbent, reached_by_others, refuse_outdone
from designer.designing.measured import Coordinates, dimension_of, moving_coordinates
from designer.designing.repair import ProtectedPairs
from designer.limits import LARGEST_STAIRCASE_BUDGET, MOST_HULL_DIMENSIONS, MOST_STAIRCASE_DIMENSIONS, MOST_STAIRCASE_STEPS
from designer.mechanism.consistency import invariant_of
from designer.mechanism.noise import Grid, coarsest_exponent
from designer.mechanism.staircase import StaircaseMechanism
from designer.mechanism.staircase_noise import (
    MOST_PAIRS,
    Difference,
    Peaks,
    Stairs,
    coordinates,
    lattice_walks,
    protected_differences,
    whole_units,
)
from designer.relations.problem import Problem
from designer.sampling.integer_tails import LEAST_UNIT, stair_sums
from solvers.exact.points import ExactIntegers, hermite_form
from solvers.exact.rational import dyadic_integers, float_below
from solvers.lattices.kernel import Lattice
from solvers.lattices.peaked_law import LawTooWide, PeakedLaw
from solvers.programs.coset_bound import CosetProgram, CosetsBound, Offset, bound_all_cosets, bound_some_cosets
from solvers.programs.lattice_law import LinearLoss, TooFewSymmetries, least_law
from solvers.solution import Solution
from solvers.work import is_over

OFFSETS = ("fitting", "whole", "best")
LARGEST_WHOLE = 2**20  # entries of rows that count as whole numbers of a common unit
DENOMINATORS = 1000  # of that unit
LONGEST_STEP = 40  # of one number on a lattice; longer ones are stairs
SHARED_UNIT = 2**20  # budgets that are at most so many times their common measure are whole multiples of the unit
FINE_UNIT = 30  # else the unit is 2^-30 of the least budget
NEARLY = 2.0**-20  # between whole numbers and halves: what decides about a coset is no matter of privacy
LEVELS = 16  # of stairs within the least budget


@dataclass(frozen=True)
class _MeasuredGrid:
    """Where is measured: the coordinates with whole rows, the grid, and the measured answers on it."""

    problem: Problem
    measured: Coordinates
    grid: Grid
    rounded: SensitivitySet

    @cached_property
    def moved(self) -> tuple[Difference, ...]:
        """The differences in steps of the grid, with exact budgets."""
        return protected_differences(self.rounded, self.measured.heard, self.grid.steps)

    @cached_property
    def about(self) -> tuple[NDArray[np.int64], Floats]:
        """The differences of all pairs, (M, s), and about their budgets, (M,), in much less time."""
        pairs, heard = self.rounded.all_pairs(MOST_PAIRS), self.measured.heard
        moves = np.rint(pairs.differences[:, heard] / self.grid.steps[heard]).astype(np.int64)
        leading = np.take_along_axis(moves, (moves != 0).argmax(axis=1)[:, None], axis=1)
        return np.where(leading < 0, -moves, moves), pairs.budgets

    @property
    def rows(self) -> Floats:
        """What a step of each heard coordinate adds to each answer, (K, s)."""
        heard = self.measured.heard
        return np.asarray(self.measured.answers(self.problem) * self.grid.steps[heard])

    @property
    def kept_whole(self) -> NDArray[np.bool_]:
        """(K,) booleans: the queries that are of whole numbers and that noise reaches."""
        return np.asarray(self.problem.workload.whole_rows & (self.rows != 0).any(axis=1))


def design_staircase(
    problem: Problem,
    offset: Annotated[
        str | None,
        "whole keeps noise on the lattice of the differences; best tries its steps by halves, too; fitting is best as far as "
        "answers to queries of whole numbers stay whole. Left out, best for one number where nothing is "
        "published, fitting elsewhere.",
    ] = None,
    tolerance: Tolerance = 1e-4,
) -> StaircaseMechanism:
    """The noise of least loss, on the lattice that all protected differences generate.

    offset: "whole" keeps noise on the lattice itself; "best" also tries its cosets by halves; "fitting" tries those on
    which the answers to queries of whole numbers stay whole. None: "best" for one number, where it takes a moment and no
    published statistic asks for whole answers, "fitting" elsewhere.
    tolerance: the relative gap to the best law of the coset at which the program stops. One real number, or one whole
    number that moves far, gets stairs instead of a program; where it need not stay whole, whichever loses less. Raises
    `DesignFailed` before any long work where dimensions, differences or the width of the noise are beyond what is tabulated.
    """
    if offset is not None and offset not in OFFSETS:
        raise InvalidProblem(f"options.offset: {shown(offset)} is unknown; use one of {list(OFFSETS)}.", value=offset)
    limit = positive(tolerance, "options.tolerance")
    dimension = dimension_of(problem)
    if dimension == 0:
        raise DesignFailed("staircase: no protected change moves an answer, so there is nothing to shape; use laplace.")
    if dimension > MOST_STAIRCASE_DIMENSIONS:
        raise DesignFailed(
            f"staircase: protected changes move {dimension} dimensions, more than {MOST_STAIRCASE_DIMENSIONS}; use "
            f"{f'k_norm (up to {MOST_HULL_DIMENSIONS}) or ' if dimension <= MOST_HULL_DIMENSIONS else ''}laplace."
        )
    if offset is None:
        offset = "best" if dimension == 1 and invariant_of(problem) is None else "fitting"
    coordinates_ = moving_coordinates(problem)
    refuse_infinite(coordinates_.sensitivity(problem), weighted_l1(np.ones(dimension)))
    frame = _framed(problem, coordinates_)
    if frame.grid.exponents and dimension == 1 and _far(frame):
        return _with_stairs(frame)
    if dimension > 1 or offset == "whole" or (offset == "fitting" and frame.kept_whole.any()):
        return _on_lattice(frame, offset, limit)
    lattice: StaircaseMechanism | None = None
    with suppress(WorseThanIncumbent):  # which does not speak of the other law
        lattice = _on_lattice(frame, offset, limit)
    try:
        stairs = _with_stairs(_framed(problem, coordinates_, fine=True))
    except WorseThanIncumbent:
        if lattice is None:
            raise
        return lattice
    return stairs if lattice is None else min(lattice, stairs, key=lambda made: _loss(problem, made))


def _loss(problem: Problem, made: StaircaseMechanism) -> float:
    return problem.loss_of(made.query_variances(), made.query_mean_absolutes() if problem.loss == "absolute" else None)


def _framed(problem: Problem, given: Coordinates, *, fine: bool = False) -> _MeasuredGrid:
    """Whole rows where the measured ones are multiples of a short unit, on the coarsest grid that leaves room for halves, or on
    a fine one, for noise that need not be such multiples."""
    matrix = given.matrix(problem)
    units = [_unit(row) if heard else Fraction(1) for row, heard in zip(matrix, given.heard, strict=True)]
    if any(unit != 1 for unit in units):
        whole = np.array(
            [
                [round(Fraction(x) / unit) for x in row] if unit != 1 else row
                for row, unit in zip(matrix.tolist(), units, strict=True)
            ],
            dtype=np.float64,
        )
        full = np.eye(len(matrix)) if given.reconstruction is None else given.reconstruction
        given = Coordinates(whole, full * np.array([float(unit) for unit in units]), given.heard)
        matrix = whole
    exponents = [coarsest_exponent(row) - int(heard) for row, heard in zip(matrix, given.heard, strict=True)]
    if fine or not _fits(matrix, exponents):
        if int(given.heard.sum()) > 1:
            raise DesignFailed(
                "staircase: the measured answers are no multiples of a unit of which 2^52 hold them; round the queries, or use "
                "laplace or k_norm."
            )
        spread = SensitivitySet.of(matrix, problem.relation).worst_coordinates()
        grid = Grid.for_scales(matrix, np.where(given.heard, spread, 0.0))
    else:
        grid = Grid(tuple(exponents))
    rounded = SensitivitySet.of(grid.values(grid.integers(matrix)), problem.relation)
    return _MeasuredGrid(problem, given, grid, rounded)


def _unit(row: Floats) -> Fraction:
    """The largest rational of which all entries are multiples, up to the rounding of floats; 1 where it is not short."""
    entries = [Fraction(x).limit_denominator(DENOMINATORS) for x in set(row.tolist())]
    largest = float(np.abs(row).max())
    if any(abs(float(near) - x) > 2.0**-46 * largest for near, x in zip(entries, set(row.tolist()), strict=True)):
        return Fraction(1)
    denominator = math.lcm(*(x.denominator for x in entries))
    measure = math.gcd(*(int(x * denominator) for x in entries))
    if denominator > DENOMINATORS or denominator & (denominator - 1) == 0 or largest * denominator > LARGEST_WHOLE * measure:
        return Fraction(1)
    return Fraction(measure, denominator)


def _fits(matrix: Floats, exponents: list[int]) -> bool:
    return all(float(np.abs(row).max()) <= math.ldexp(2.0**44, e) for row, e in zip(matrix, exponents, strict=True))


def _far(frame: _MeasuredGrid) -> bool:
    """Whether one number moves so far, in units of its lattice, that a program over its values is too large."""
    moves = frame.about[0].ravel()
    return bool(moves.max() > LONGEST_STEP * np.gcd.reduce(moves))


def _built(frame: _MeasuredGrid, noise: Peaks | Stairs) -> StaircaseMechanism:
    values = frame.grid.values(frame.grid.integers(frame.measured.matrix(frame.problem)))
    given = frame.measured.measured is None and np.array_equal(values, frame.problem.workload.dense())
    return StaircaseMechanism(
        "staircase",
        frame.problem.workload,
        frame.problem.relation,
        noise,
        frame.grid,
        None if given else values,
        frame.measured.reconstruction,
    )


def _with_stairs(frame: _MeasuredGrid) -> StaircaseMechanism:
    """Stairs of one number: the least budget in 1 to 16 levels, the width that keeps every budget, the best top."""
    power = 0 if frame.problem.loss == "absolute" else 1
    moves, budgets = frame.about
    about = _best_stairs(zip(budgets.tolist(), moves[:, 0].tolist(), strict=True), power, Fraction(1, 2**30))
    if about is None:
        raise DesignFailed(f"staircase: the least budget, {budgets.min():.3g}, is below 2^-16; raise it, or use laplace.")
    if power:
        refuse_outdone(frame.problem, frame.problem.loss_of(frame.rows[:, 0] ** 2 * about[0]))
    best = _best_stairs(((u.budget, abs(u.steps[0])) for u in frame.moved), power)
    assert best is not None
    return _built(frame, best[1])


def _best_stairs(
    moved: Iterable[tuple[float | Fraction, int]], power: int, more: Fraction = Fraction(0)
) -> tuple[float, Stairs] | None:
    """The stairs of least loss, and that loss, for lengths with budgets, of which all but the least count for a part `more`
    above what they are; None where the least is too small. A length that is not above all of smaller budgets decides nothing.
    """
    deciding: list[tuple[Fraction, int]] = []
    for budget, length in sorted(moved, key=lambda one: (one[0], -one[1])):
        if not deciding or length > deciding[-1][1]:
            deciding.append((Fraction(budget) * (1 + more), length))
    best: tuple[float, Stairs] | None = None
    for levels in range(1, LEVELS + 1):
        unit = deciding[0][0] / (1 + more) / levels
        if not unit >= LEAST_UNIT:
            break
        width = max(-(-length // whole_units(budget, unit)) for budget, length in deciding)
        top, value = _best_top(float(unit), width, power)
        if best is None or value < best[0]:
            best = value, Stairs(unit, width, top)
    return best


def _best_top(unit: float, width: int, power: int) -> tuple[int, float]:
    """The top of least loss, from 0 to the width, by ever finer searches: the loss falls, then rises."""
    low, high = 0, width
    while True:
        tops = np.unique(np.linspace(low, high, 65).astype(np.int64))
        sums = stair_sums(unit, float(width), tops.astype(np.float64))
        values = sums[power + 1] / sums[0]
        place = int(values.argmin())
        if high - low <= 64:
            return int(tops[place]), float(values[place])
        low, high = int(tops[max(0, place - 1)]), int(tops[min(len(tops) - 1, place + 1)])


def _on_lattice(frame: _MeasuredGrid, offset: str, tolerance: float) -> StaircaseMechanism:
    """The program over laws on the lattice, then on each of its cosets by halves that is asked for, until the work is done."""
    if 2 * len(frame.moved) > MOST_STAIRCASE_STEPS:
        raise DesignFailed(
            f"staircase: {2 * len(frame.moved)} different protected differences, more than {MOST_STAIRCASE_STEPS}; use k_norm "
            "or laplace."
        )
    if (largest := float(max(u.budget for u in frame.moved))) > LARGEST_STAIRCASE_BUDGET:
        raise DesignFailed(
            f"staircase: budgets reach {largest:.3g} nats, more than {LARGEST_STAIRCASE_BUDGET:g}, where noise is almost "
            "always 0; use laplace."
        )
    basis = _basis(frame.moved)
    unit = _common_unit([u.budget for u in frame.moved])
    led = coordinates([u.steps for u in frame.moved], basis)
    paid = [whole_units(u.budget, unit) for u in frame.moved]
    ample = max(u.budget / (unit * cost) for u, cost in zip(frame.moved, paid, strict=True))
    rows = frame.rows @ np.array(basis, dtype=np.float64).T
    counted = np.abs(rows).max(axis=1) > 0
    loss = LinearLoss(rows[counted], frame.problem.costs[counted], frame.problem.loss)
    ahead = reached_by_others(frame.problem)
    solved: dict[tuple[int, ...], Solution[PeakedLaw]] = {}
    for coset in product((0,) if offset == "whole" else (0, 1), repeat=len(basis)):
        if solved and is_over():
            break
        if offset == "fitting" and not _is_whole(rows[frame.kept_whole] @ np.array(coset) / 2):
            continue
        announce(f"staircase: solving for the law of least loss in {len(basis)} dimensions, {len(led)} differences")
        try:
            solved[coset] = least_law(lattice_walks(led, paid, coset), unit, loss, tolerance, ample, ahead)
        except LawTooWide as wide:
            raise DesignFailed(
                f"staircase: the noise is too wide for a table ({wide}); raise the budgets, or use laplace or k_norm, which "
                "come close where noise is wide."
            ) from None
        except TooFewSymmetries as few:
            raise DesignFailed(f"staircase: {few}; use k_norm.") from None
    coset, best = min(solved.items(), key=lambda item: item[1].value)
    refuse_outdone(frame.problem, best.lower_bound)
    return _claimed(frame, _frozen(basis, coset, best.point), best, len(solved))


def _is_whole(values: Floats) -> bool:
    return bool((np.abs(values - np.rint(values)) < NEARLY).all())


def _basis(moved: tuple[Difference, ...]) -> tuple[tuple[int, ...], ...]:
    """A basis of the lattice that the differences generate, short in the shape of the noise."""
    vectors = np.array([u.steps for u in moved], dtype=np.float64) / np.array([float(u.budget) for u in moved])[:, None]
    scale = np.abs(vectors).max(axis=0)
    form = np.linalg.inv((vectors / scale).T @ (vectors / scale))
    lattice = Lattice.generated_by([list(u.steps) for u in moved]).reduced_for(np.linalg.cholesky(form).T / scale)
    return tuple(tuple(int(x) for x in row) for row in lattice.basis)


def _common_unit(budgets: list[Fraction]) -> Fraction:
    """The largest common measure of the budgets, if they are short multiples of it; else a fine power of two."""
    denominator = math.lcm(*(b.denominator for b in budgets))
    measure = Fraction(math.gcd(*(int(b * denominator) for b in budgets)), denominator)
    if max(budgets) <= SHARED_UNIT * measure:
        return measure
    return Fraction(2) ** (math.frexp(float_below(min(budgets)))[1] - 1 - FINE_UNIT + _excess(budgets))


def _excess(budgets: list[Fraction]) -> int:
    """How many bits the largest budget is longer than the least one: sums of costs stay far below 2^61."""
    return max(0, (max(budgets) / min(budgets)).__ceil__().bit_length() - 10)


def _frozen(basis: tuple[tuple[int, ...], ...], halves: tuple[int, ...], law: PeakedLaw) -> Peaks:
    listed = sorted(zip(map(tuple, law.peaks.tolist()), law.levels.tolist(), strict=True))
    return Peaks(law.unit, basis, halves, tuple(peak for peak, _ in listed), tuple(level for _, level in listed))


def _claimed(frame: _MeasuredGrid, noise: Peaks, best: Solution[PeakedLaw], cosets: int) -> StaircaseMechanism:
    made = _built(frame, noise)
    problem = frame.problem
    value = _loss(problem, made)
    tried = "the lattice" if cosets == 1 else f"the coset, the best of {cosets} by halves"
    claim = bounded(f"{problem.loss} loss of pure noise on {tried}", value, best.lower_bound, best.method, 1e-9 * value)
    return made.annotated(made.provenance, claim)


def _work(sizes: Sizes) -> float:
    """Seconds: of programs of 2,500 orbits at most, and of tables, wide where a budget is small; `DesignFailed`
    where nothing is solved."""
    if not 1 <= sizes.dimension <= MOST_STAIRCASE_DIMENSIONS:
        return 0.0
    moves, budgets = _framed(sizes.problem, sizes.coordinates).about
    if 2 * len(np.unique(moves, axis=0)) > MOST_STAIRCASE_STEPS:
        return 0.0
    programs, tables = ((0.2, 0.1), (1.5, 1.5), (2.5, 9.0), (1.5, 3.0))[sizes.dimension - 1]
    cosets = 1 if sizes.problem.workload.whole_rows.all() else 2**sizes.dimension
    return cosets * (programs + tables / float(budgets.min()))


STAIRCASE = Family(
    "staircase",
    "tabulated noise, the least there is, in up to 3 or 4 dimensions",
    "pure",
    design_staircase,
    part="designer.programs:limit",
    search="The coset is chosen among few; the law on a coset is a linear program by rows, of which the dual is stated.",
    with_delta=False,
    work=_work,
    anytime=True,
)


# The limit by linear programs, where they are small: the best additive noise on every coset of the lattice of all differences
# (docs/theory/least_noise.md, sections 5 and 6).
#
# Differences of whole or rational answers generate a lattice. Noise splits into laws on its cosets, and the program's dual
# bounds each; noise beside the span of the differences only adds loss.


LARGEST_COSET_DIMENSION, MOST_COSET_STEPS, MOST_COSETS = 3, 100, 64
LARGEST_BUDGET = 40.0  # promises beyond are left out: their factors mean nothing to a program
WRITTEN_OUT = 100_000  # entries of the points
# How far the programs reach, in standard deviations of noise at the first bound (1.5 times as many means for absolute loss),
# and in steps: as far as leaves room for some cosets, or else for one.
DEVIATIONS, STEPS = (16.0, 12.0, 8.0), 3.0
COSETS = 8


def bound_by_programs(
    pairs: ProtectedPairs, weights: Floats, power: Literal[1, 2], first: float, rows: int
) -> CosetsBound | None:
    """A bound on `sum_k weights_k E |z_k|^power` for all noise that keeps the promise of the pairs; None where the programs
    would be large, or the differences have no common unit to speak of.

    weights: (K,). first: another bound, by which the reach of the programs is chosen. rows: how many inequalities all programs
    may have together.
    """
    found = _program(pairs, weights, power, first, rows)
    if found is None:
        return None
    program, offsets = found
    return bound_all_cosets(program, rows) if power == 2 else bound_some_cosets(program, offsets, rows)


def coset_program(pairs: ProtectedPairs, weights: Floats, power: Literal[1, 2], first: float, rows: int) -> CosetProgram | None:
    """The program that every coset has, as `bound_by_programs` poses it; None where it poses none.

    weights: (K,).
    """
    found = _program(pairs, weights, power, first, rows)
    return None if found is None else found[0]


def _program(
    pairs: ProtectedPairs, weights: Floats, power: Literal[1, 2], first: float, rows: int
) -> tuple[CosetProgram, list[Offset]] | None:
    """The program, and the cosets of an absolute loss."""
    if first <= 0 or pairs.slack.any() or pairs.measured.shape[1] > LARGEST_COSET_DIMENSION or pairs.points.size > WRITTEN_OUT:
        return None
    found = _distinct(pairs)
    if found is None:
        return None
    steps, budgets, unit = found
    lattice = Lattice.generated_by(steps)
    if lattice.dimension > LARGEST_COSET_DIMENSION:
        return None
    scales = (weights if power == 1 else np.sqrt(weights)) * unit
    with np.errstate(over="ignore"):
        lattice = lattice.reduced_for(np.diag(scales / scales.max()))
        forms = scales[:, None] * lattice.basis.T.astype(np.float64)
    if not np.isfinite(forms).all() or not np.linalg.cond(forms) < 1e4:
        return None
    moves = lattice.coordinates(steps).astype(np.int64)
    longest = float((np.abs(moves @ forms.T) ** power).sum(axis=1).max())
    offsets = [] if power == 2 else _whole_cosets(lattice)
    if power == 1 and not offsets:
        return None
    program = _largest(moves, budgets, forms, power, first, longest, rows / max(1, len(offsets)))
    return None if program is None else (program, offsets)


def _largest(
    moves: NDArray[np.int64], budgets: Floats, forms: Floats, power: Literal[1, 2], first: float, longest: float, rows: float
) -> CosetProgram | None:
    """The program of the farthest reach that has at most so many rows, `COSETS` times for squared loss; or that of the least
    reach, once."""
    cosets = 1 if power == 1 else COSETS
    for deviations in DEVIATIONS:
        reach = max((deviations**2 if power == 2 else 1.5 * deviations) * first, STEPS**power * longest)
        program = CosetProgram(moves, budgets, forms, power, reach)
        if cosets * program.size <= rows:
            return program
    return program if program.size <= rows else None


def _distinct(pairs: ProtectedPairs) -> tuple[ExactIntegers, Floats, float] | None:
    """The differences as integers in one unit, one of each pair of opposites with the least budget, and the unit; None where
    they are many, or all budgets are large."""
    integers, exponent = dyadic_integers(pairs.points)
    least: dict[tuple[int, ...], float] = {}
    for left, right, budget in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.budgets.tolist(), strict=True):
        u = tuple(a - b for a, b in zip(integers[left], integers[right], strict=True))
        step = max(u, tuple(-x for x in u))
        least[step] = min(budget, least.get(step, math.inf))
        if len(least) > MOST_COSET_STEPS:
            return None
    least = {step: budget for step, budget in least.items() if budget <= LARGEST_BUDGET}
    if not least:
        return None
    common = math.gcd(*(x for step in least for x in step))
    steps = np.array([[x // common for x in step] for step in least], dtype=object)
    return steps, np.array(list(least.values())), math.ldexp(common, exponent)


def _whole_cosets(lattice: Lattice) -> list[Offset]:
    """The offsets, in coordinates of the basis, of the cosets that hold a point each of whose entries is an entry that points
    of the lattice can have: where one coset is the best for an absolute loss. Empty where they are many or infinitely many."""
    units = [math.gcd(*column) for column in lattice.basis.T.tolist()]
    if lattice.dimension < lattice.ambient or lattice.squared_determinant > (MOST_COSETS * math.prod(units)) ** 2:
        return []
    echelon = hermite_form(lattice.basis // np.array(units, dtype=object))[0]
    corners = product(*(range(int(echelon[j, j])) for j in range(lattice.dimension)))
    points = [[Fraction(c * unit) for c, unit in zip(corner, units, strict=True)] for corner in corners]
    return [tuple(found) for found in lattice.rational_coordinates(points)]
