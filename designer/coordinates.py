"""Where to measure: coordinates in which the protected differences have full rank, so that noise lives exactly where it must.

A rank-deficient set (an identity workload whose total is public, more queries than elements, dependent queries) is measured in a basis
of its span, on a plain grid; what no protected change moves is published beside it, exactly, and the queries are put together again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from designer.frozen import Floats
from designer.problem import Problem
from designer.sensitivity import SensitivitySet
from solvers.rational import dyadic_integers, exact_rank


@dataclass(frozen=True)
class Coordinates:
    """`measured` (R, N) and `reconstruction` (K, R) with `Q = reconstruction measured`; None for Q itself and the identity.

    heard: (R,) booleans, the coordinates in which protected changes move the measurement; their differences have full rank.
    """

    measured: Floats | None
    reconstruction: Floats | None
    heard: NDArray[np.bool_]

    def matrix(self, problem: Problem) -> Floats:
        """The measured matrix, (R, N)."""
        return problem.workload.dense() if self.measured is None else self.measured

    def answers(self, problem: Problem) -> Floats:
        """The reconstruction restricted to the heard coordinates, (K, s)."""
        full = np.eye(problem.workload.shape[0]) if self.reconstruction is None else self.reconstruction
        return np.asarray(full[:, self.heard])

    def sensitivity(self, problem: Problem) -> SensitivitySet:
        """The differences in the heard coordinates."""
        full = SensitivitySet.of(self.matrix(problem), problem.relation)
        return SensitivitySet(problem.relation, full.points[:, self.heard])


def moving_coordinates(problem: Problem) -> Coordinates:
    """Full-rank coordinates for a problem: the queries where they are independent, otherwise a basis among them or the elements."""
    queries, elements = problem.workload.shape
    wide = queries > elements
    base = np.eye(elements) if wide else problem.workload.dense()
    sensitivity = SensitivitySet.of(base, problem.relation)
    heard = ~sensitivity.silent_coordinates()
    span = sensitivity.span()
    rank = exact_rank(span[:, heard]) if heard.any() else 0
    outer = problem.workload.dense() if wide else None
    if rank == int(heard.sum()):
        return Coordinates(base if wide else None, outer, heard)
    measured, reconstruction = _basis(base, span, rank)
    if outer is not None:
        reconstruction = outer @ reconstruction
    return Coordinates(measured, reconstruction, np.arange(len(measured)) < rank)


def _basis(base: Floats, span: Floats, rank: int) -> tuple[Floats, Floats]:
    """`rank` rows of `base` that determine all others up to parts that no difference moves, those parts, and how to combine them.

    With S the span (differences as rows) and p the chosen columns, T solves `S[:, p] T = S` over the rationals; the remainder
    `base - T' base[p]` is then constant wherever differences live, exactly, and stays so as floats.
    """
    from flint import fmpq, fmpq_mat
    from scipy.linalg import qr

    pivots = np.sort(qr(span, mode="r", pivoting=True)[1][:rank])
    rows = qr(span[:, pivots].T, mode="r", pivoting=True)[1][:rank]
    if exact_rank(span[np.ix_(rows, pivots)]) < rank:
        raise ArithmeticError("the pivots chosen in floating point are dependent")

    def exact(matrix: Floats) -> fmpq_mat:
        integers, exponent = dyadic_integers(matrix)
        unit = fmpq(2) ** exponent
        return fmpq_mat([[unit * n for n in row] for row in integers])

    solved = exact(span[np.ix_(rows, pivots)]).solve(exact(span[rows]))
    remainder = exact(base) - solved.transpose() * exact(base[pivots])
    combine = _floats(solved.transpose())
    rest = _floats(remainder)
    kept = np.flatnonzero(rest.any(axis=1))
    return np.vstack([base[pivots], rest[kept]]), np.hstack([combine, np.eye(len(base))[:, kept]])


def _floats(matrix: object) -> Floats:
    """Nearest floats of a rational matrix; equal rationals give equal floats."""
    return np.array([[int(entry.p) / int(entry.q) for entry in row] for row in matrix.tolist()])  # type: ignore[attr-defined]
