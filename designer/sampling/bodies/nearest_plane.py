"""Rounding to Z^s by nearest plane, for a whole batch with error bounds and for one point in balls.

Derivation: docs/theory/lattice.md, section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
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
    _rounding: Floats = field(init=False, repr=False)  # of places, while residuals stay within `reach`

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
        rounding = (np.abs(shear) @ reach) * (s * UNIT)
        assign(self, shear=shear, _inverse=inverse, _slack=slack, _rounding=rounding)

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
        rest, places = np.array(y.T, order="C"), np.empty((s, n))
        for k in reversed(range(s)):
            places[k] = rest[k] + self.shear[k, k + 1 :] @ rest[k + 1 :] + 0.5
            rest[k] -= np.floor(places[k])
        # Residuals stay within `reach`, unless the row is open already.
        cells, open_ = nearest(places, error * steps[:, None] + self._rounding[:, None])
        return cells.T, open_.T

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
