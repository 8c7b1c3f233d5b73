"""The limit by linear programs, where they are small: the best additive noise on every coset of the lattice of all differences
(docs/theory/least_noise.md, sections 5 and 6).

Differences of whole or rational answers generate a lattice. Noise splits into laws on its cosets, and the program's dual bounds
each; noise beside the span of the differences only adds loss.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.families.protected_pairs import ProtectedPairs
from solvers.exact.hermite import hermite_form
from solvers.exact.points import Integers
from solvers.exact.rational import dyadic_integers
from solvers.lattices.kernel import Lattice
from solvers.programs.coset_bound import CosetProgram, CosetsBound, Offset, bound_all_cosets, bound_some_cosets

LARGEST_DIMENSION, MOST_STEPS, MOST_COSETS = 3, 100, 64
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
    if first <= 0 or pairs.slack.any() or pairs.measured.shape[1] > LARGEST_DIMENSION or pairs.points.size > WRITTEN_OUT:
        return None
    found = _distinct(pairs)
    if found is None:
        return None
    steps, budgets, unit = found
    lattice = Lattice.generated_by(steps)
    if lattice.dimension > LARGEST_DIMENSION:
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


def _distinct(pairs: ProtectedPairs) -> tuple[Integers, Floats, float] | None:
    """The differences as integers in one unit, one of each pair of opposites with the least budget, and the unit; None where
    they are many, or all budgets are large."""
    integers, exponent = dyadic_integers(pairs.points)
    least: dict[tuple[int, ...], float] = {}
    for left, right, budget in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.budgets.tolist(), strict=True):
        u = tuple(a - b for a, b in zip(integers[left], integers[right], strict=True))
        step = max(u, tuple(-x for x in u))
        least[step] = min(budget, least.get(step, math.inf))
        if len(least) > MOST_STEPS:
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
