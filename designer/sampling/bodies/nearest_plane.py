"""Rounding to Z^s by nearest plane, for a whole batch with error bounds and for one point in balls.

Derivation: docs/theory/lattice.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.integer_samplers import nearest
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from flint import arb

ROUND_UP = 1.0 + 2.0**-30  # more than the roundings of the few thousand float operations behind a bound
UNIT = 2.0**-51  # four roundings
LARGEST_PLACE = 2.0**62
FEW, SHORT = 8, 128  # points of so many coordinates that are rounded without arrays, whose passes for each cost as much


@dataclass(frozen=True, eq=False)
class NearestPlane:
    """The partition of R^s into cells `z + {x : |(U x)_i| <= 1/2}`, z in Z^s, U unit upper triangular,
    entries taken as they are.

    Any U tiles: z is found from the last coordinate to the first,
    `z_k = floor(y_k + sum over j > k of U_kj (y_j - z_j) + 1/2)`. For a lattice with basis B the transposed Gram-Schmidt
    coefficients of B make it Babai's nearest plane, up to their rounding to floats,
    which is nobody's concern: the cells are those of this U.
    shear U: (s, s). `InvalidProblem` where it is no unit upper triangular matrix, or too ill-conditioned to bound its cell.

    >>> NearestPlane(np.array([[1.0, 0.5], [0.0, 1.0]])).round(np.array([[0.4, 0.3]]), np.zeros(1), np.ones(2))[0].tolist()
    [[1, 0]]
    """

    shear: Floats
    _inverse: Floats = field(init=False, repr=False)
    _slack: float = field(init=False, repr=False)
    _reach: Floats = field(init=False, repr=False)
    _rounding: Floats = field(init=False, repr=False)  # of places, while residuals stay within `reach`
    _rows: tuple[tuple[float, ...], ...] = field(init=False, repr=False)  # of U right of its diagonal, for few points

    def __post_init__(self) -> None:
        shear = np.array(self.shear, dtype=np.float64)
        s = len(shear)
        if shear.shape != (s, s) or np.tril(shear, -1).any() or (shear.diagonal() != 1).any():
            raise InvalidProblem(
                f"shear: shape {shear.shape}; give a square upper triangular matrix with ones on the diagonal."
            )
        # With X near U^-1 and U X = I - R, every U^-1 w is X v with |v|_inf <= |w|_inf / (1 - |R|_inf).
        inverse = np.linalg.solve(shear, np.eye(s))
        rest = np.abs(np.eye(s) - shear @ inverse) + np.abs(shear) @ np.abs(inverse) * (s * UNIT)
        slack = float(rest.sum(axis=1).max())
        if not slack < 2.0**-20:
            raise InvalidProblem("shear: too ill-conditioned to bound its cell; reduce the basis first.")
        reach = np.abs(inverse).sum(axis=1) * (0.5 + slack)
        rounding, s = (np.abs(shear) @ reach) * (len(shear) * UNIT), len(shear)
        rows = tuple(tuple(shear[k, k + 1 :].tolist()) for k in range(s)) if s <= SHORT else ()
        assign(self, shear=shear, _inverse=inverse, _slack=slack, _reach=reach, _rounding=rounding, _rows=rows)

    def through(self, factor: Floats) -> tuple[Floats, Floats]:
        """A matrix G and a nonnegative E with `F U^-1 w` in `(G + [-E, E]) v` for some v of `|v|_inf <= |w|_inf`;
        for equal widths.

        factor F: (r, s). G and E: (r, s).
        """
        wider = 1.0 + 2.0 * self._slack
        error = np.abs(factor) @ np.abs(self._inverse) * (len(self.shear) * UNIT * wider)
        return factor @ self._inverse * wider, error

    def corner(self, factor: Floats, widths: Floats) -> Floats:
        """At least `max |(F U^-1 w)_i|` over `|w_j| <= widths[j]`, all widths equal; one bound a row of F.

        factor F: (r, s). widths: (s,). Returns (r,).
        """
        seen, error = self.through(factor)
        return (np.abs(seen) + error) @ widths

    def round(self, y: Floats, error: Floats, spread: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The cells of the rows of y (n, s) and where they are open; coordinate i of row r is known to `error[r] spread[i]`."""
        n, s = y.shape
        steps = np.abs(self.shear) @ spread
        if n <= FEW and s <= SHORT:
            found = [self._round_one(*point, steps.tolist()) for point in zip(y.tolist(), error.tolist(), strict=True)]
            both = np.array(found, dtype=np.int64)
            return both[:, 0], both[:, 1] != 0
        rounding = self._rounding  # residuals stay within `reach`, unless the row is open already
        rest, cells, open_ = np.ascontiguousarray(y.T), np.empty((s, n), dtype=np.int64), np.zeros((s, n), dtype=np.bool_)
        for k in reversed(range(s)):
            place = rest[k] + self.shear[k, k + 1 :] @ rest[k + 1 :]
            cells[k], open_[k] = nearest(place + 0.5, error * steps[k] + rounding[k])
            rest[k] -= cells[k]
        return cells.T, open_.T

    def _round_one(self, rest: list[float], error: float, steps: list[float]) -> tuple[list[int], list[bool]]:
        """The cell of one point, and where it is open: what `round` does with many, comparison by comparison."""
        cells, open_ = [0] * len(rest), [True] * len(rest)
        rounding = self._rounding.tolist()
        for k in reversed(range(len(rest))):
            place = rest[k] + sum(map(mul, self._rows[k], rest[k + 1 :])) + 0.5
            if not abs(place) < LARGEST_PLACE:
                continue  # no number at all is known of it
            cells[k] = math.floor(place)
            fraction, unsure = place - cells[k], error * steps[k] + rounding[k] + (abs(place) + 1.0) * 2.0**-50
            open_[k] = not unsure < fraction < 1.0 - unsure
            rest[k] -= cells[k]
        return cells, open_

    def round_balls(self, places: Sequence[arb]) -> list[int] | None:
        """The cell of one point known as balls, None while it is open."""
        half, rest, cell = rational_ball(Fraction(1, 2)), list(places), [0] * len(places)
        for k in reversed(range(len(rest))):
            above = sum(
                (rational_ball(Fraction(u)) * x for u, x in zip(self.shear[k, k + 1 :], rest[k + 1 :], strict=True) if u), half
            )
            if (floor := (rest[k] + above).floor().unique_fmpz()) is None:
                return None
            cell[k] = int(floor)
            rest[k] -= cell[k]
        return cell
