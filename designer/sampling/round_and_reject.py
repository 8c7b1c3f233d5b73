"""Exact noise on the grid Z^s with the fall-off of a norm: draw in the continuum, round to the grid, reject a little.

Rounding is by coordinates, or by nearest plane (Babai) where the norm is skew on Z^s, as norms of lattices in their bases are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.sampling.integer_samplers import LazyUniform, accepted, nearest, resolve
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy


# Rounding to Z^s by nearest plane, for a whole batch with error bounds and for one point in balls.
#
# Derivation: docs/theory/lattice.md, section 2.


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


KEEP_BITS = 53
CELL_SIZE = 2.0**-10  # blocks of 2^m grid points grow until their norm is about this: a rejection in 2^10 draws
LEAST_ACCEPTANCE = 1e-4
BATCH = 2**14
PLANE_ROWS = 2048


class NormLaw(Enum):
    """How the probability falls with the norm: `exp(-||z||)` or `exp(-||z||^2 / 2)`."""

    EXPONENTIAL = "exponential"
    GAUSSIAN = "gaussian"


class GridNorm(Protocol):
    """A norm on R^s whose continuous law `exp(-||y||)` or `exp(-||y||^2 / 2)` is a function of `word_count` uniforms."""

    @property
    def dimension(self) -> int:
        """s."""

    @property
    def falloff(self) -> NormLaw:
        """Which of the two laws."""

    @property
    def share(self) -> float:
        """1 where draws are those of this norm. Below 1: draws, and the norms and errors of `propose`, are those of a norm that
        is nowhere larger, and its ball is that share of the other's volume."""

    @property
    def word_count(self) -> int:
        """Uniforms of one continuous draw."""

    @property
    def spread(self) -> Floats:
        """(s,): coordinate i of a draw is at most `spread[i]` times its norm, and off by that times `propose`'s error."""

    @property
    def log_volume(self) -> float:
        """log of the volume of the unit ball."""

    def largest(self, widths: Floats, plane: NearestPlane | None = None) -> float:
        """At least the norm of every x with `|x_i| <= widths[i]`, or of every x = U^-1 w with such a w, U the shear of `plane`.

        widths: (s,), nonnegative, in grid steps.
        """

    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
        """Draws y (n, s), their norms (n,), and an error (n,) that bounds the norm's and, times `spread`, the coordinates'."""

    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb] | None:
        """One draw and its norm as balls; None where the bits known do not suffice."""

    def norm(self, z: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Norms of the rows of z (n, s) and their errors."""

    def norm_ball(self, z: Sequence[int]) -> arb:
        """The norm of an integer vector, exact up to the working precision."""


@dataclass(frozen=True)
class RoundAndReject:
    """Vectors z of Z^s with `P(z)` exactly proportional to `exp(-||z||)`, or to `exp(-||z||^2 / 2)`, for a `GridNorm`.

    Exactness, as for the other samplers: ideal random bits, and numpy's log, exp, cos, sin right to 2^-48.
    With a `plane` the cell of a grid point is that of nearest plane, `|U x|_inf <= 1/2` in place of `|x|_inf <= 1/2`; any plane
    gives the same law, a good one few rejections. Derivation: docs/theory/sampling.md, section 3, and lattice.md, section 2.
    shifts: (s,), the blocks `2^shift` that places are drawn in. `InvalidProblem` if fewer than one draw in 10^4 would be
    accepted (the grid is too coarse for the norm) or if coordinates would leave 64 bits (too fine).
    """

    shape: GridNorm
    plane: NearestPlane | None = None
    shifts: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    reach: Fraction = field(init=False, repr=False, compare=False)
    stretch: Fraction = field(init=False, repr=False, compare=False)
    bound: Fraction = field(init=False, repr=False, compare=False)
    expected_acceptance: float = field(init=False, repr=False, compare=False)
    _numbers: tuple[float, float, float] = field(init=False, repr=False, compare=False)  # reach, stretch, bound
    _scale: Floats = field(init=False, repr=False, compare=False)  # from coordinates to blocks
    _masks: NDArray[np.int64] = field(init=False, repr=False, compare=False)  # of the places within them

    def __post_init__(self) -> None:
        shifts, reach = self._cells()
        stretch, bound = Fraction(1), reach
        if self.shape.falloff is NormLaw.GAUSSIAN:
            stretch = _stretch(reach, self.shape.dimension)
            bound = reach**2 / (2 * (stretch**2 - 1))
        shifts.setflags(write=False)
        assign(self, shifts=shifts, reach=reach, stretch=stretch, bound=bound)
        assign(
            self,
            expected_acceptance=self._acceptance(),
            _numbers=(float(reach), float(stretch), float(bound)),
            _scale=float(stretch) * 2.0**-shifts,
            _masks=(1 << shifts) - 1,
        )
        if self.expected_acceptance < LEAST_ACCEPTANCE:
            raise InvalidProblem(
                f"shape: about {self.expected_acceptance:.1e} of the draws would be accepted, "
                f"half a cell has norm {float(reach):.3g}; use a finer grid."
            )
        # A norm above 4 s + 512 has probability below e^-256 (Chernoff's bound for Gamma(s) at exponent 1/2).
        if (self.shape.spread * float(stretch) * (4 * self.shape.dimension + 512)).max() > 2.0**61:
            raise InvalidProblem("shape: the noise would leave the 64-bit integers; use a coarser grid.")

    def _cells(self) -> tuple[NDArray[np.int64], Fraction]:
        """Block bits, and the norm that z - y cannot exceed."""
        shifts = _block_bits(self.shape)
        if self.plane is None:
            return shifts, Fraction(self.shape.largest(np.where(shifts > 0, 2.0**shifts, 0.5)) * ROUND_UP)
        # Blocks of one shape only: half of the distance is the cell's, half the place's within the block.
        shifts = np.full_like(shifts, shifts.min())
        halves = np.full(self.shape.dimension, 2.0 ** (shifts[0] - 1))
        place = self.shape.largest(halves) if shifts[0] else 0.0
        return shifts, Fraction((self.shape.largest(halves, self.plane) + place) * ROUND_UP)

    def _acceptance(self) -> float:
        """About the part of the draws that is accepted.

        The masses on the grid and in the continuum agree for fine grids; for coarse ones that of the origin alone is counted.
        """
        s = self.shape.dimension
        gaussian = self.shape.falloff is NormLaw.GAUSSIAN
        radial = s / 2 * math.log(2) + math.lgamma(s / 2 + 1) if gaussian else math.lgamma(s + 1)
        coarse = max(0.0, -self.shape.log_volume - radial)
        return self.shape.share * math.exp(-float(self.bound) - s * math.log(self.stretch) + coarse)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent vectors, shape (size, s)."""
        noise = np.empty((size, self.shape.dimension), dtype=np.int64)
        # Nearest plane goes through the coordinates one after the other: enough rows must share what numpy takes for each.
        most = max(1 if self.plane is None else PLANE_ROWS, BATCH // self.shape.dimension)
        few = self.plane is not None or self.shape.share < 1.0
        done, surplus = 0, 1.0 / self.expected_acceptance if few else 1.0
        while done < size:
            values, kept = self._propose(min(most, math.ceil(surplus * (size - done))), entropy)
            taken = values[kept][: size - done]
            noise[done : done + len(taken)] = taken
            done += len(taken)
        return noise

    def _propose(self, rows: int, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        words, low, last = self._words(rows, entropy)
        y, norm, error = self.shape.propose(words)
        scale = self._scale
        if self.plane is None:
            block, doubtful = nearest(y * scale + 0.5, error[:, None] * (self.shape.spread * scale))
        else:
            block, doubtful = self.plane.round(y * scale, error, self.shape.spread * scale)
        open_: NDArray[np.bool_] = np.asarray(doubtful.any(axis=1))
        z = (block << self.shifts) + low - (self._masks + 1 >> 1)
        kept = np.zeros_like(open_)
        if self.shape.share == 1.0:
            kept = ~open_ & accepted(last, KEEP_BITS, *self._largest_exponent(norm, error))[0]
        rest = np.flatnonzero(~kept & ~open_)
        if rest.size:
            kept[rest], open_[rest] = accepted(last[rest], KEEP_BITS, *self._exponent(z[rest], norm[rest], error[rest]))
        for row in np.flatnonzero(open_):
            uniforms = [LazyUniform(int(word), 64, entropy) for word in words[row]]
            z[row], kept[row] = self._decide(uniforms, low[row].tolist(), LazyUniform(int(last[row]), KEEP_BITS, entropy))
        return z, kept

    def _words(self, rows: int, entropy: Entropy) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
        """Words of the continuous draws, places within the blocks, and 53 bits for the acceptance."""
        s, count, blocks = self.shape.dimension, self.shape.word_count, bool(self.shifts.any())
        words = entropy.random_words(rows * (count + 1 + s * blocks))
        drawn, keep, rest = words[: rows * count], words[rows * count : rows * (count + 1)], words[rows * (count + 1) :]
        places = rest.view(np.int64).reshape(rows, s) & self._masks if blocks else np.zeros((rows, s), dtype=np.int64)
        return drawn.reshape(rows, count), places, keep >> np.uint64(64 - KEEP_BITS)

    def _largest_exponent(self, norm: Floats, error: Floats) -> tuple[Floats, Floats]:
        """What `_exponent` cannot exceed, because `||z|| <= stretch ||y|| + reach`: spares most draws the norm of z."""
        reach, stretch, bound = self._numbers
        if self.shape.falloff is NormLaw.EXPONENTIAL:
            return np.full_like(norm, reach + bound), np.full_like(norm, (reach + bound) * 2.0**-50)
        widened = norm + error
        # Here alone the error is one-sided: at the widened norm the bound is larger still.
        largest = (stretch**2 - 1.0) * widened**2 / 2 + stretch * widened * reach + reach**2 / 2 + bound
        return largest, (largest + stretch**2 * widened**2) * 2.0**-48

    def _exponent(self, z: NDArray[np.int64], norm: Floats, error: Floats) -> tuple[Floats, Floats]:
        """y rounded to z is accepted with chance exp(-this): `||z|| - ||y|| + bound` or `(||z||^2 - ||y||^2) / 2 + bound`,
        where ||y|| may be that of a smaller norm."""
        rounded, rounded_error = self.shape.norm(z)
        bound = self._numbers[2]
        if self.shape.falloff is NormLaw.EXPONENTIAL:
            return rounded - norm + bound, error + rounded_error + (rounded + norm + bound) * 2.0**-50
        error = error * (norm + error) + rounded_error * (rounded + rounded_error)
        return (rounded**2 - norm**2) / 2 + bound, error + (rounded**2 + norm**2 + bound) * 2.0**-50

    def _decide(self, uniforms: list[LazyUniform], low: list[int], keep: LazyUniform) -> tuple[list[int], bool]:
        """The draw that the words stand for and its acceptance, in ball arithmetic."""
        shifts = self.shifts.tolist()

        def blocks() -> list[int] | None:
            if (proposed := self.shape.propose_balls(uniforms)) is None:
                return None
            stretch = rational_ball(self.stretch)
            places = [y * stretch / (1 << m) for y, m in zip(proposed[0], shifts, strict=True)]
            return nearest_balls(places) if self.plane is None else self.plane.round_balls(places)

        z = [(h << m) + place - ((1 << m) >> 1) for h, m, place in zip(resolve(uniforms, blocks), shifts, low, strict=True)]

        def kept() -> bool | None:
            proposed = self.shape.propose_balls(uniforms)
            assert proposed is not None, "decided when the blocks were"
            rounded, norm = self.shape.norm_ball(z), proposed[1]
            difference = rounded - norm if self.shape.falloff is NormLaw.EXPONENTIAL else (rounded**2 - norm**2) / 2
            return keep.is_below((-difference - rational_ball(self.bound)).exp())

        return z, resolve([*uniforms, keep], kept)


def nearest_balls(places: Sequence[arb]) -> list[int] | None:
    """The integers nearest to the places, None while the balls leave one open."""
    half = rational_ball(Fraction(1, 2))
    floors = [(place + half).floor().unique_fmpz() for place in places]
    known = [int(floor) for floor in floors if floor is not None]
    return known if len(known) == len(floors) else None


def _block_bits(shape: GridNorm) -> NDArray[np.int64]:
    """m_i: the largest for which the block `|x_i| <= 2^m_i` has norm about CELL_SIZE, 0 where a unit cell exceeds that."""
    s = shape.dimension
    sides = np.array([shape.largest(row) for row in np.eye(s)])
    return np.clip(np.floor(np.log2(CELL_SIZE / (s * sides))), 0, 60).astype(np.int64)


def _stretch(reach: Fraction, dimension: int) -> Fraction:
    """1 + 2^-j, `1 + eta` its square, near the least `reach^2 / (2 eta) + s log(1 + eta) / 2`, the log of what it costs."""

    def cost(j: int) -> float:
        stretch = 1.0 + 2.0**-j
        return float(reach) ** 2 / (2 * (stretch**2 - 1)) + dimension * math.log(stretch)

    return 1 + Fraction(2) ** -min(range(-40, 41), key=cost)
