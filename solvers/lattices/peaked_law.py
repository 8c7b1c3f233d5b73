"""Laws on a coset of `Z^s` that fall off from a few peaks by the cost of walks: tables, tails and expectations.

`p(z)` is proportional to `exp(-unit h(z))`, h(z) the least of `h(a) + cost of the cheapest walk from a to z` over the peaks a.
Tails: docs/theory/staircase.md, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.limits import MOST_TABLE_PLACES
from solvers.work import spend

# Walks on `Z^s`: what it costs to get somewhere by steps of given costs, tabulated exactly on boxes.
#
# Why a table on a box is exact although walks may leave it: docs/theory/staircase.md, section 3.


Points = NDArray[np.int64]
FAR = 2**61
MOST_SHELLS = 4000  # of a table, margin included: walks of so many steps settle in a second
PASSES = 0.5  # over a table, in effect, that lower it by a step: tables of 2,000 to 3,000,000 places take 0.6 to 1.5 s a unit
MULTIPLES = (32, 16, 8, 4, 2, 1)  # of a step that the first sweep takes at once


@dataclass(frozen=True, eq=False)
class LatticeSteps:
    """Steps u of `Z^s` with whole costs: vectors (M, s), with each u also -u, none 0; costs (M,), positive.

    >>> walk = LatticeSteps.of([[1, 0], [0, 1], [1, 1]], [2, 2, 9])
    >>> walk.vectors.tolist(), walk.costs.tolist()
    ([[-1, 0], [0, -1], [0, 1], [1, 0]], [2, 2, 2, 2])
    """

    vectors: Points
    costs: Points

    @classmethod
    def of(cls, vectors: ArrayLike, costs: ArrayLike) -> LatticeSteps:
        """The steps, (n, s), and their opposites, each at its least cost, (n,), without those that two others replace."""
        given = np.asarray(vectors, dtype=np.int64)
        paid = np.asarray(costs, dtype=np.int64)
        least: dict[tuple[int, ...], int] = {}
        for sign in (1, -1):
            for row, cost in zip((sign * given).tolist(), paid.tolist(), strict=True):
                least[tuple(row)] = min(cost, least.get(tuple(row), FAR))
        least.pop((0,) * given.shape[1], None)
        kept = sorted(step for step in least if not _replaced(step, least))
        return cls(
            np.array(kept, dtype=np.int64).reshape(-1, given.shape[1]), np.array([least[step] for step in kept], dtype=np.int64)
        )

    def divided(self, parts: int) -> LatticeSteps:
        """The same steps, their costs in units that are `parts` times finer."""
        return LatticeSteps(self.vectors, self.costs * parts)

    @property
    def dimension(self) -> int:
        """s."""
        return int(self.vectors.shape[1])

    def rate(self, widths: tuple[int, ...]) -> Fraction:
        """The least cost per length, the length being `max_i |u_i| / widths_i`: a walk to z costs at least that many
        lengths of z."""
        lengths = [max(Fraction(abs(x), r) for x, r in zip(row, widths, strict=True)) for row in self.vectors.tolist()]
        return min(Fraction(cost) / length for cost, length in zip(self.costs.tolist(), lengths, strict=True))

    def reach(self, widths: tuple[int, ...]) -> Fraction:
        """The longest step."""
        return max(Fraction(abs(x), r) for row in self.vectors.tolist() for x, r in zip(row, widths, strict=True))

    def natural_widths(self) -> tuple[int, ...]:
        """Whole widths in proportion to how far a unit of cost leads along each axis."""
        far = (np.abs(self.vectors) / self.costs[:, None]).max(axis=0)
        return tuple(max(1, round(float(x / far.min()))) for x in far)


def _replaced(step: tuple[int, ...], least: dict[tuple[int, ...], int]) -> bool:
    """Whether two other steps together lead there for no more."""
    for other, cost in least.items():
        rest = least.get(tuple(a - b for a, b in zip(step, other, strict=True)))
        if rest is not None and cost + rest <= least[step]:
            return True
    return False


@dataclass(frozen=True)
class Shells:
    """The points z of the coset `halves / 2 + Z^s` by shells `k = max_i ceil(|z_i| / widths_i)`; points are written doubled.

    >>> Shells((1, 2), (0, 1)).shape(1), Shells((1,), (1,)).points(1).tolist()
    ((3, 4), [[-1], [1]])
    """

    widths: tuple[int, ...]
    halves: tuple[int, ...]

    def shape(self, k: int) -> tuple[int, ...]:
        """How many places each axis has up to shell k."""
        return tuple(2 * r * k + 1 - half for r, half in zip(self.widths, self.halves, strict=True))

    def volume(self, k: int) -> int:
        """How many points there are up to shell k."""
        return math.prod(self.shape(k)) if k >= 0 else 0

    def slope(self, k: int) -> int:
        """The derivative of the volume at k: no shell up to k has more points, and log slope is concave."""
        sides = self.shape(k)
        return sum(2 * r * math.prod(sides[:i] + sides[i + 1 :]) for i, r in enumerate(self.widths))

    @property
    def slack(self) -> Fraction:
        """How much the length of a point may be below its shell."""
        return 1 - min(Fraction(2 - half, 2 * r) for r, half in zip(self.widths, self.halves, strict=True))

    def corner(self, k: int) -> Points:
        """The first point up to shell k, doubled."""
        return np.array([half - 2 * r * k for r, half in zip(self.widths, self.halves, strict=True)], dtype=np.int64)

    def points(self, k: int) -> Points:
        """All points up to shell k, doubled, in the order of a flat table; (n, s)."""
        axes = [first + 2 * np.arange(side) for first, side in zip(self.corner(k).tolist(), self.shape(k), strict=True)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def flat(self, points: Points, k: int) -> NDArray[np.int64]:
        """The places of doubled points in a flat table up to shell k; -1 outside. (n, s) -> (n,)."""
        places = (points - self.corner(k)) // 2
        inside = ((places >= 0) & (places < np.array(self.shape(k)))).all(axis=1)
        strides = np.array([math.prod(self.shape(k)[i + 1 :]) for i in range(len(self.widths))], dtype=np.int64)
        return np.where(inside, places @ strides, -1)

    def numbers(self, points: Points) -> NDArray[np.int64]:
        """The shells of doubled points, (n, s) -> (n,)."""
        widths = 2 * np.array(self.widths, dtype=np.int64)
        return np.asarray((-(-np.abs(points) // widths)).max(axis=1))

    def length(self, point: list[int]) -> Fraction:
        """`max_i |z_i| / widths_i` of a doubled point."""
        return max(Fraction(abs(x), 2 * r) for x, r in zip(point, self.widths, strict=True))


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks by steps on a coset of `Z^s`, with boxes of shells in which their costs are tabulated."""

    steps: LatticeSteps
    shells: Shells

    @cached_property
    def rate(self) -> Fraction:
        """What a length of `shells` costs at least."""
        return self.steps.rate(self.shells.widths)

    @cached_property
    def margin(self) -> int:
        """How many shells beyond a box the walks within it can need (Steinitz)."""
        return math.ceil(self.steps.dimension * self.steps.reach(self.shells.widths))

    def places(self, k: int) -> int:
        """How many places a table up to shell k takes while it is made; `FAR` beyond `MOST_SHELLS`."""
        wide = k + self.margin
        return self.shells.volume(wide) if wide <= MOST_SHELLS else FAR

    def heights(self, k: int, sources: Points, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """`min_a values_a + cost of the cheapest walk from a to z`, for all z up to shell k, as a table of `shape(k)`.

        sources: (A, s), doubled, all up to shell k. values: (A,).
        """
        wide = k + self.margin
        table = np.full(self.shells.volume(wide), FAR, dtype=np.int64)
        np.minimum.at(table, self.shells.flat(sources, wide), values)
        settled = _settled(table.reshape(self.shells.shape(wide)), self.steps)
        beyond = [r * self.margin for r in self.shells.widths]
        return settled[tuple(slice(b, side - b) for b, side in zip(beyond, settled.shape, strict=True))].copy()


def _settled(table: NDArray[np.int64], steps: LatticeSteps) -> NDArray[np.int64]:
    """The table when no step lowers any place any more. Multiples of steps come first: together they lead nearly everywhere."""
    _lower(table, moves(steps, table.shape, MULTIPLES))
    single = moves(steps, table.shape)
    while True:
        before = table.copy()
        _lower(table, single)
        if np.array_equal(table, before):
            return table


def _lower(table: NDArray[np.int64], ways: list[tuple[Window, Window, int]]) -> None:
    spend(entries=PASSES * table.size * len(ways))
    for source, target, cost in ways:
        np.minimum(table[target], table[source] + cost, out=table[target])


Window = tuple[slice, ...]


def moves(steps: LatticeSteps, shape: tuple[int, ...], multiples: Sequence[int] = (1,)) -> list[tuple[Window, Window, int]]:
    """The places of a table from which each step, so many at once, stays within it; where it leads; and what it costs."""
    found = []
    for times, (vector, cost) in product(multiples, zip(steps.vectors, steps.costs.tolist(), strict=True)):
        far = [times * v for v in vector.tolist()]
        if all(abs(v) < n for v, n in zip(far, shape, strict=True)):
            source = tuple(slice(max(0, -v), n - max(0, v)) for v, n in zip(far, shape, strict=True))
            target = tuple(slice(max(0, v), n - max(0, -v)) for v, n in zip(far, shape, strict=True))
            found.append((source, target, times * cost))
    return found


FINE_TAIL = 1e-12
AT_ONCE = 200_000  # points whose losses are in memory together


class LawTooWide(ValueError):
    """A table of the law would take more than `MOST_TABLE_PLACES`; the message says how many."""


@dataclass(frozen=True)
class Expectation:
    """Expected values `low <= E f_j <= high` of several functions, each (J,); between them lies what the far tail adds."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PeakedLaw:
    """See the module. unit: of the heights, rational. peaks: (A, s), doubled; levels: (A,), their heights in units. known: a
    table that was made before, as its shell and the heights up to it. table: `_tabulated`, the last one kept."""

    walks: Walks
    unit: Fraction
    peaks: Points
    levels: NDArray[np.int64]
    known: tuple[int, NDArray[np.int64]] | None = field(default=None, repr=False)
    table: Callable[[int], NDArray[np.int64]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", lru_cache(maxsize=1)(self._tabulated))

    @cached_property
    def lead(self) -> Fraction:
        """c with `h(z) >= rate length(z) - c` for all z."""
        lengths = map(self.walks.shells.length, self.peaks.tolist())
        return max(
            self.walks.rate * length - level for length, level in zip(lengths, map(int, self.levels.tolist()), strict=True)
        )

    @property
    def first_shell(self) -> int:
        """The shell that holds all peaks."""
        return max(1, int(self.walks.shells.numbers(self.peaks).max()))

    def height_beyond(self, k: int) -> Fraction:
        """No point in shell k, or beyond, is lower."""
        return self.walks.rate * (k - self.walks.shells.slack) - self.lead

    def log_shrink(self, k: int, power: int = 0) -> float:
        """log of a bound of the ratio of `slope(j) j^power exp(-unit height_beyond(j))` from one shell j > k to the next."""
        slope = self.walks.shells.slope
        grows = math.log(slope(k + 2) / slope(k + 1)) + power * math.log((k + 2) / (k + 1))
        return grows - float(self.unit * self.walks.rate)

    def tail(self, k: int, power: int = 0) -> float:
        """An upper bound of `sum over shells j > k of j^power exp(-unit h)`, next to the mass `exp(-unit h)` itself."""
        shrink = self.log_shrink(k, power)
        if shrink >= -1e-9:
            return math.inf
        first = math.log(self.walks.shells.slope(k + 1)) + power * math.log(k + 1)
        log = first - float(self.unit * self.height_beyond(k + 1)) - math.log(-math.expm1(shrink))
        return math.exp(log) * (1 + 1e-9) if log < 700 else math.inf

    def _tabulated(self, k: int) -> NDArray[np.int64]:
        """The heights up to shell k, flat; `LawTooWide` where that takes too many places."""
        if self.known is not None and self.known[0] == k:
            return self.known[1]
        if (places := self.walks.places(k)) > MOST_TABLE_PLACES:
            raise LawTooWide(f"a table of {places:.3g} points, more than {MOST_TABLE_PLACES}")
        return self.walks.heights(k, self.peaks, self.levels).ravel()

    def enough(self, tail: float, power: int = 0) -> int:
        """The least shell beyond which the tail is at most `tail` of the peaks' mass, or the widest that can be tabulated."""
        mass = float(np.exp(-float(self.unit) * self.levels).sum())
        k = self.first_shell
        while self.tail(k, power) > tail * mass and self.walks.places(k + 1) <= MOST_TABLE_PLACES:
            k += 1
        return k

    def expectation(self, parts: Callable[[Points], NDArray[Any]], growth: NDArray[np.float64], power: int) -> Expectation:
        """`E f_j` for functions f of doubled points, (n, s) -> (n, J), with `|f_j(z)| <= growth_j k^power` in shell k."""
        k = self.enough(FINE_TAIL, power)
        sums, mass = self.sums(k, parts, len(growth))
        rounding = 1e-13 * sums
        return Expectation((sums - rounding) / (mass + self.tail(k)), (sums + rounding + growth * self.tail(k, power)) / mass)

    def margins(self, led: NDArray[np.float64], beyond: float) -> NDArray[np.float64]:
        """Numbers t, (J,), with `P(|l . n| > t) <= beyond` for rows l, (J, s), of doubled points n: the least ones, but for
        what the table leaves of the tail, all of which is counted. Infinite where that is more than `beyond`."""
        k = self.enough(FINE_TAIL * beyond)
        masses, points = np.exp(-float(self.unit) * self.table(k)), self.walks.shells.points(k)
        total, tail = float(masses.sum()), self.tail(k)
        return np.array([_margin(np.abs(points @ row), masses, beyond * total * (1 - 1e-9) - tail) for row in led])

    def sums(self, k: int, parts: Callable[[Points], NDArray[Any]], functions: int) -> tuple[NDArray[np.float64], float]:
        """`sum f_j exp(-unit h)`, (J,), and the mass, up to shell k."""
        masses, points = np.exp(-float(self.unit) * self.table(k)), self.walks.shells.points(k)
        sums = np.zeros(functions)
        for start in range(0, len(points), AT_ONCE):
            sums += masses[start : start + AT_ONCE] @ parts(points[start : start + AT_ONCE])
        return sums, float(masses.sum())


def _margin(sizes: NDArray[np.float64], masses: NDArray[np.float64], allowed: float) -> float:
    """The least size above which the masses add up to at most `allowed`; sizes that differ by rounding are one."""
    if allowed <= 0:
        return math.inf
    order = np.argsort(-sizes)
    above = np.cumsum(masses[order])
    place = min(int(np.searchsorted(above, allowed, side="right")), len(order) - 1)
    return float(sizes[order[place]]) * (1 + 1e-12)


# Linear maps of `Z^s` that permute given steps and keep what is asked for.


MOST_TRIALS = 20_000  # of images for a basis of steps: a second
Matrix = NDArray[np.int64]


def symmetries_of(steps: LatticeSteps, keeps: Callable[[Matrix], bool]) -> list[Matrix]:
    """Matrices g (s, s) of integers, `z -> z g`, that permute the steps with their costs and that `keeps` accepts.

    They form a group with plus and minus the identity in it; if the search is too long, it is these two alone.

    >>> square = LatticeSteps.of([[1, 0], [0, 1]], [1, 1])
    >>> len(symmetries_of(square, lambda g: True))
    8
    """
    one = np.eye(steps.dimension, dtype=np.int64)
    basis = _basis(steps)
    known = {tuple(row): cost for row, cost in zip(steps.vectors.tolist(), steps.costs.tolist(), strict=True)}
    inverse = np.linalg.inv(steps.vectors[basis].astype(np.float64))
    found = []
    for trial, images in enumerate(_images(steps, basis)):
        if trial == MOST_TRIALS:
            return [one, -one]
        g = np.rint(inverse @ steps.vectors[images]).astype(np.int64)
        if np.array_equal(steps.vectors[basis] @ g, steps.vectors[images]) and _permutes(g, known) and keeps(g):
            found.append(g)
    return found


def _basis(steps: LatticeSteps) -> list[int]:
    """Indices of s independent steps, the cheapest first."""
    chosen: list[int] = []
    for index in np.argsort(steps.costs, kind="stable").tolist():
        if np.linalg.matrix_rank(steps.vectors[[*chosen, index]].astype(np.float64)) > len(chosen):
            chosen.append(index)
    return chosen


def _images(steps: LatticeSteps, basis: list[int]) -> Iterator[list[int]]:
    """Where a map may send the basis: steps of the same costs with the same products in the form that all maps keep."""
    weighted = steps.vectors / steps.costs[:, None]
    form = np.linalg.inv(weighted.T @ weighted)
    products = np.rint(steps.vectors @ form @ steps.vectors.T * 1e9 / float(steps.costs.max()) ** 2)

    def extend(images: list[int]) -> Iterator[list[int]]:
        if len(images) == len(basis):
            yield images
            return
        mine = basis[len(images)]
        wanted = [*products[mine, basis[: len(images)]], products[mine, mine]]
        for j in np.flatnonzero(steps.costs == steps.costs[mine]).tolist():
            if np.abs(np.array([*products[j, images], products[j, j]]) - wanted).max() <= 1:
                yield from extend([*images, j])

    return extend([])


def _permutes(g: Matrix, known: dict[tuple[int, ...], int]) -> bool:
    return all(known.get(tuple((np.array(row) @ g).tolist())) == cost for row, cost in known.items())


def keeps_form(g: Matrix, form: NDArray[np.object_]) -> bool:
    """Whether `z form z'` is that of `z g` for all z; form (s, s), symmetric, of rationals."""
    exact = g.astype(object)
    return bool((exact @ form @ exact.T == form).all())


def keeps_rows(g: Matrix, rows: list[tuple[Fraction, ...]], weights: list[Fraction]) -> bool:
    """Whether g permutes the weighted linear forms `|row . z|`, up to their signs."""

    def all_forms(moved: list[tuple[Fraction, ...]]) -> list[tuple[Fraction, tuple[Fraction, ...]]]:
        return sorted((w, max(row, tuple(-x for x in row))) for w, row in zip(weights, moved, strict=True))

    exact = g.astype(object)
    return all_forms(rows) == all_forms([tuple(exact @ np.array(row, dtype=object)) for row in rows])
