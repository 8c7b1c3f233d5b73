"""The protected differences of a few coordinates, each with its least exact budget, and the lattice that they generate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.certified.sensitivity import SensitivitySet

MOST_PAIRS = 200_000  # whose exact budgets take a second


@dataclass(frozen=True)
class Difference:
    """A difference u of s coordinates, in whole steps of the grid, the least exact budget of a pair that makes it,
    and that pair."""

    steps: tuple[int, ...]
    budget: Fraction
    left: int
    right: int


def protected_differences(
    sensitivity: SensitivitySet, heard: NDArray[np.bool_], steps: NDArray[np.float64]
) -> tuple[Difference, ...]:
    """Every difference that is not 0, up to its sign, in the order of its steps.

    heard: (R,), the coordinates that get noise. steps: (R,), powers of two of which all differences are multiples.
    """
    pairs = sensitivity.all_pairs(MOST_PAIRS)
    whole = np.rint(pairs.differences[:, heard] / steps[heard]).astype(np.int64)
    leading = np.take_along_axis(whole, (whole != 0).argmax(axis=1)[:, None], axis=1)
    whole = np.where(leading < 0, -whole, whole)
    kinds, place = np.unique(whole, axis=0, return_inverse=True)
    place = place.ravel()
    least = np.full(len(kinds), np.inf)
    np.minimum.at(least, place, pairs.budgets)
    near = pairs.budgets <= least[place] * (1 + 4 * sensitivity.relation.budget_error + 1e-12)
    found: dict[int, Difference] = {}
    for index in np.flatnonzero(near).tolist():
        left, right, kind = int(pairs.left[index]), int(pairs.right[index]), int(place[index])
        budget = sensitivity.relation.exact_budget(left, right)
        if budget is not None and (kind not in found or budget < found[kind].budget):
            found[kind] = Difference(tuple(kinds[kind].tolist()), budget, left, right)
    return tuple(found[kind] for kind in sorted(found))


def coordinates(steps: Sequence[Sequence[int]], basis: Sequence[Sequence[int]]) -> list[list[int]]:
    """The coordinates of vectors in a basis of s rows, whole numbers; `InvalidProblem` where they are not."""
    from flint import fmpq_mat, fmpz_mat

    square = fmpz_mat([list(row) for row in basis])
    if square.det() == 0:
        raise InvalidProblem("noise.basis: its rows are dependent; give a basis of the lattice of all protected differences.")
    solved = fmpq_mat(fmpz_mat([list(row) for row in steps])) * fmpq_mat(square).inv()
    whole = [[(int(x.p), int(x.q)) for x in row] for row in solved.tolist()]
    if any(q != 1 for row in whole for _, q in row):
        raise InvalidProblem(
            "noise.basis: some protected difference is no whole combination of its rows; give a basis of the lattice that "
            "all of them generate."
        )
    return [[p for p, _ in row] for row in whole]
