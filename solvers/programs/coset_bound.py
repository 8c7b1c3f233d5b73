"""A lower bound on the expected loss of every law whose translates stay within factors: the dual of a linear program.

Laws p on R^s with `p(B + u) <= exp(b) p(B)` and `p(B - u) <= exp(b) p(B)` for steps u of Z^s. On one coset `c + Z^s` they form
a linear program. Multipliers of finite support prove a bound, whoever found them: for `l >= 0`

    E loss  >=  min over z of  loss(z) + sum over steps of  l(z - u, u) - exp(b) l(z, u),

and where no multiplier touches z, that is the loss of z itself. As c moves, the least squared loss is concave up to the square
of c, so finitely many cosets bound all (docs/theory/least_noise.md, sections 5 and 6).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.lattices.kernel import pseudo_inverse
from solvers.limited import linear_program
from solvers.work import spend

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Offset = tuple[Fraction, ...]
UNIT = 2.0**-52
LEAST_PRICE = 200  # inequalities; setting a program up takes 4 ms
PIVOTS = 30  # of the linear solver, about, each of which looks at every entry


@dataclass(frozen=True, eq=False)
class CosetProgram:
    """steps: integers (M, s), none 0, one of each pair of opposites. budgets: (M,). forms: (K, s), of rank s, well-conditioned;
    the loss of z is `sum_k |forms_k z|^power`, and an entry of the forms may be off by 2 `UNIT` of itself. power: 1 or 2.
    reach: points of a loss up to this get a probability of their own."""

    steps: Indices
    budgets: Array
    forms: Array
    power: int
    reach: float

    def __post_init__(self) -> None:
        if self.power not in (1, 2) or not self.reach > 0 or not (self.budgets > 0).all():
            raise ValueError(f"power {self.power}, reach {self.reach}: give 1 or 2, a positive reach and positive budgets.")

    def losses(self, points: Array) -> Array:
        """Lower bounds, to 1e-14 of sizes, on the losses of points (n, s)."""
        sums = np.abs(points @ self.forms.T)
        off = (self.forms.shape[1] + 8) * UNIT * ((np.abs(points) + 1) @ np.abs(self.forms).T)
        return np.asarray((np.maximum(sums - off, 0.0) ** self.power).sum(axis=1) * (1 - (len(self.forms) + 4) * UNIT))

    def widths(self) -> Array:
        """How far each coordinate of a point of loss up to `reach` can be from 0, with room for rounding: `|z_j|` is at
        most the length of row j of a left inverse times `|forms z|_2`, which is at most `|forms z|_1`."""
        lengths = np.linalg.norm(pseudo_inverse(self.forms), axis=1)
        return np.asarray(lengths * self.reach ** (1 / self.power) * (1 + 1e-6))

    def box(self, offset: Offset) -> list[NDArray[np.int64]]:
        """The integers of each coordinate among which all points of `offset + Z^s` with a loss up to `reach` are found."""
        return [
            np.arange(math.ceil(-width - c), math.floor(width - c) + 1)
            for width, c in zip(self.widths().tolist(), map(float, offset), strict=True)
        ]

    @property
    def size(self) -> float:
        """At most so many inequalities the program of a coset has."""
        return 2.0 * len(self.steps) * float(np.prod(2 * self.widths() + 1))

    def bound(self, offset: Offset) -> float:
        """The proven bound for laws on `offset + Z^s`; 0 where the program is not solved."""
        losses, rows, beyond = self.stated(offset)
        if not len(losses):
            return self.reach
        return min(beyond, rows.proven(losses, rows.multipliers(losses)))

    def stated(self, offset: Offset) -> tuple[Array, CosetSteps, float]:
        """The losses of the points of `offset + Z^s` up to the reach, (n,), the steps among them, and the least loss of a point
        beyond, at most the reach."""
        axes = self.box(offset)
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes)) + np.array(offset, dtype=float)
        losses = self.losses(points)
        near = losses <= self.reach
        rows = CosetSteps.of(near.reshape([len(axis) for axis in axes]), self.steps, self.budgets)
        return losses[near], rows, min(self.reach, float(losses[~near].min(initial=math.inf)))


@dataclass(frozen=True, eq=False)
class CosetSteps:
    """`p(target) <= factor p(source)` among n points; factors rounded up."""

    source: Indices
    target: Indices
    factor: Array
    points: int
    most: int  # rows in which one point occurs

    @classmethod
    def of(cls, near: NDArray[np.bool_], steps: Indices, budgets: Array) -> CosetSteps:
        """The steps among the points that are near.

        near: the shape of the box. steps: (M, s). budgets: (M,).
        """
        numbers = np.where(near, near.cumsum().reshape(near.shape) - 1, -1)
        sources, targets, factors = [], [], []
        for step, factor in zip(steps.tolist(), (np.exp(budgets) * (1 + 8 * UNIT)).tolist(), strict=True):
            if any(abs(move) >= length for move, length in zip(step, near.shape, strict=True)):
                continue
            left, right = numbers[_window(step, 1)].ravel(), numbers[_window(step, -1)].ravel()
            both = (left >= 0) & (right >= 0)
            sources += [left[both], right[both]]
            targets += [right[both], left[both]]
            factors.append(np.full(2 * int(both.sum()), factor))
        empty = np.empty(0, dtype=np.int64)
        return cls(
            np.concatenate([empty, *sources]),
            np.concatenate([empty, *targets]),
            np.concatenate([np.empty(0), *factors]),
            int(near.sum()),
            4 * len(steps),
        )

    def multipliers(self, losses: Array) -> Array:
        """Those of the solved program, clipped to be nonnegative; zeros where it is not solved."""
        from scipy.sparse import csr_array

        rows = np.arange(len(self.source))
        entries = np.concatenate([np.ones(len(rows)), -self.factor])
        places = (np.tile(rows, 2), np.concatenate([self.target, self.source]))
        matrix: Any = csr_array((entries, places), shape=(len(rows), self.points))
        whole = np.ones((1, self.points))
        spend(calls=100, pivots=PIVOTS * entries.size)
        done = linear_program(losses, A_ub=matrix, b_ub=np.zeros(len(rows)), A_eq=whole, b_eq=[1.0], bounds=(0, None))
        return np.maximum(-done.ineqlin.marginals, 0.0) if done.success else np.zeros(len(rows))

    def proven(self, losses: Array, multipliers: Array) -> float:
        """The least of all brackets, less what their rounding may be."""
        given = np.bincount(self.target, multipliers, self.points)
        taken = np.bincount(self.source, self.factor * multipliers, self.points)
        off = (self.most + 8) * UNIT * (losses + given + taken)
        return max(0.0, float((losses + given - taken - off).min()))


def _window(step: list[int], sign: int) -> tuple[slice, ...]:
    """The part of a grid whose points have a partner `sign` times the step away."""
    moves = [sign * move for move in step]
    return tuple(slice(max(0, -move), -move if move > 0 else None) for move in moves)


@dataclass(frozen=True)
class CosetsBound:
    """`value <=` the loss of every law on any coset. best: the least bound of a coset that was solved, and its offset; no bound
    for all can be above it. programs: how many were solved. complete: whether the value is within the tolerance of `best`."""

    value: float
    best: float
    offset: Offset
    programs: int
    complete: bool


def bound_all_cosets(program: CosetProgram, rows: int, tolerance: float = 1e-3) -> CosetsBound:
    """Squared loss: cells of cosets, the one with the least bound halved until the bound is within `tolerance` of the best
    coset, or until the programs would have more than `rows` inequalities together.

    In a cell with sides h every c is the mean of independent choices among the corners c_i, so that
    `v(c) >= min v(c_i) - sum_j G_jj h_j^2 / 4`, G the Gram matrix of the forms.
    """
    solved = _Solved(program, rows)
    gram = (program.forms**2).sum(axis=0) * (1 + (len(program.forms) + 4) * UNIT)
    order = program.steps.shape[1]
    cells = [_Cell.of(solved, gram, (Fraction(0),) * order, (Fraction(1),) * order)]
    while cells[0].value < (1 - tolerance) * solved.best[0]:
        halves = cells[0].halves(gram)
        if not solved.affords([corner for low, sides in halves for corner in _corners(low, sides)]):
            break
        heapq.heappop(cells)
        for low, sides in halves:
            heapq.heappush(cells, _Cell.of(solved, gram, low, sides))
    best, offset = solved.best
    value = max(0.0, cells[0].value)
    return CosetsBound(value, best, offset, len(solved.values), value >= (1 - tolerance) * best)


def _corners(low: Offset, sides: Offset) -> list[Offset]:
    return list(product(*((c, c + side) for c, side in zip(low, sides, strict=True))))


@dataclass(frozen=True, order=True)
class _Cell:
    """A bound for all cosets of the cell `low + [0, sides]`."""

    value: float
    low: Offset
    sides: Offset

    @classmethod
    def of(cls, solved: _Solved, gram: Array, low: Offset, sides: Offset) -> _Cell:
        spread = sum(g * float(side) ** 2 for g, side in zip(gram.tolist(), sides, strict=True)) / 4
        return cls(min(map(solved.bound, _corners(low, sides))) - spread * (1 + 1e-14), low, sides)

    def halves(self, gram: Array) -> list[tuple[Offset, Offset]]:
        """The two halves along the side that counts most."""
        widest = max(range(len(self.sides)), key=lambda j: gram[j] * float(self.sides[j]) ** 2)
        half = tuple(side / 2 if j == widest else side for j, side in enumerate(self.sides))
        above = tuple(c + half[j] if j == widest else c for j, c in enumerate(self.low))
        return [(self.low, half), (above, half)]


def bound_some_cosets(program: CosetProgram, offsets: list[Offset], rows: int) -> CosetsBound | None:
    """The least bound of these cosets; None where their programs have more than `rows` inequalities together.

    An absolute loss is linear in c between the offsets at which one of its forms can vanish, so that one of these is the best
    of all cosets.
    """
    solved = _Solved(program, rows)
    if not solved.affords(offsets):
        return None
    value = min(map(solved.bound, offsets))
    return CosetsBound(value, *solved.best, len(solved.values), True)


@dataclass(eq=False)
class _Solved:
    """Bounds of cosets, each solved once: c and -c are the same up to the sign of all. left: inequalities still allowed."""

    program: CosetProgram
    left: float
    values: dict[Offset, float] = field(default_factory=dict)

    def affords(self, offsets: list[Offset]) -> bool:
        """Whether the programs of these cosets are small enough together."""
        new = {_alike(offset) for offset in offsets} - self.values.keys()
        return self._price * len(new) <= self.left

    @property
    def _price(self) -> float:
        """What a program counts: its inequalities, and no fewer than what takes as long as setting it up."""
        return max(self.program.size, LEAST_PRICE)

    def bound(self, offset: Offset) -> float:
        """The bound of a coset."""
        here = _alike(offset)
        if here not in self.values:
            self.left -= self._price
            self.values[here] = self.program.bound(here)
        return self.values[here]

    @property
    def best(self) -> tuple[float, Offset]:
        """The least bound of a coset, and which."""
        return min((value, offset) for offset, value in self.values.items())


def _alike(offset: Offset) -> Offset:
    """One offset for `c + Z^s` and `-c + Z^s`."""
    return min(tuple(c % 1 for c in offset), tuple(-c % 1 for c in offset))
