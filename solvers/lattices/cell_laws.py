"""The law of one cell of an integer table whose lines sum to 0, where every cell has the same weight function.

`P(z)` proportional to the product of `w(z_cell)` over all lines, or all tables, that sum to 0 along every axis. Rows are
independent but for the sums of the columns: the law of a row, times the law of what the others must sum to, which is a
convolution, found by discrete Fourier transforms on a circle for each column but the last. All that a circle of G points gets
wrong are sums that are off by a multiple of G; G is such that these matter less than `NEGLIGIBLE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weight = Callable[[NDArray[np.int64]], Floats]

NEGLIGIBLE = 1e-13  # of the chance that all sums are 0
FAINT = 1e-40  # of the weight of 0: cells of smaller weights are left out
MOST_POINTS = 2**23  # of a circle, or of a product of circles: a second or two
MOST_COLUMNS = 9
MOST_MIXED = 2**22  # of all scales together
TILTS = 200
ROUNDING, WRONG = 1e-15, 1e-8  # of a transform; and what it may make of the mass that moves
STEPS, WIDEST, LONGEST = 20, 0.1, 4.5  # of the scales that exp(-t) is mixed from: right to 1e-8 of it from t = 20 steps on


class CellLaw(NamedTuple):
    """`masses`, (2 k + 1,): the chances of -k, ..., k in a cell. log_total: the logarithm of the sum of all products."""

    masses: Floats
    log_total: float

    @property
    def variance(self) -> float:
        """`E z^2`."""
        return float((np.square(_centred(len(self.masses))) * self.masses).sum())


def l1_weight(rate: float) -> tuple[Weight, int]:
    """`exp(-rate |z|)`, and the largest cell that matters."""
    return lambda z: np.exp(-rate * np.abs(z)), math.ceil(-math.log(FAINT) / rate)


def gaussian_weight(variance: float) -> tuple[Weight, int]:
    """`exp(-z^2 / (2 variance))`, and the largest cell that matters."""
    largest = math.ceil((-2 * variance * math.log(FAINT)) ** 0.5)
    return lambda z: np.exp(-np.square(z, dtype=np.float64) / (2 * variance)), largest


def law_of_cell(shape: tuple[int, ...], weight: Weight, largest: int) -> CellLaw | None:
    """The law of a cell of lines of `shape[0]` cells, of tables of `shape` rows and columns, or, for `()`, of a cell that is
    free; None where it takes long, or where floats do not resolve how seldom it moves.

    >>> law = law_of_cell((2, 2), *l1_weight(0.25))  # z times [[1, -1], [-1, 1]]
    >>> round(law.variance, 6) == round(0.5 / math.sinh(0.5) ** 2, 6)
    True
    """
    found = _law(shape, weight, largest)
    return None if found is None or not found[1] else found[0]


def _law(shape: tuple[int, ...], weight: Weight, largest: int) -> tuple[CellLaw, bool] | None:
    """The law, and whether the transform's rounding is no part of it; None where it takes long."""
    if 2 * largest + 1 > MOST_POINTS or (len(shape) == 2 and min(shape) > MOST_COLUMNS):
        return None
    if not shape:
        masses = weight(_centred(2 * largest + 1))
        return CellLaw(masses / masses.sum(), math.log(float(masses.sum()))), True
    columns = 1 if len(shape) == 1 else min(shape)
    rows = max(shape)
    if len(shape) == 1:
        single = weight(_centred(2 * largest + 1))
    else:
        line = _law((columns,), weight, largest)
        if line is None:
            return None
        single = line[0].masses
    axes = max(columns - 1, 1)
    points = _points(single / single.sum(), rows, axes)
    if points**axes > MOST_POINTS:
        return None
    cells = np.fft.ifftshift(_centred(points))
    grids = np.meshgrid(*[cells] * axes, indexing="ij", sparse=True)
    one = np.ones(())
    for grid in grids:
        one = one * weight(grid)
    if len(shape) == 2:
        one = one * weight(sum(grids))  # type: ignore[arg-type]  # of one array at least
    mass = float(one.sum())
    one /= mass
    waves = np.fft.rfftn(one).real  # the law is the same for -z
    others = np.fft.irfftn(waves ** (rows - 1), one.shape, axes=tuple(range(axes)))
    found = np.fft.fftshift((one * others).sum(axis=tuple(range(1, axes))))
    found = np.maximum((found + found[::-1]) / 2, 0.0)
    total = float(found.sum())
    return CellLaw(found / total, math.log(total) + rows * math.log(mass)), _resolved(one, others)


def mixed_laws(shapes: Mapping[tuple[int, ...], int], rate: float) -> dict[tuple[int, ...], CellLaw] | None:
    """The law of a cell of each of several lines, tables and free cells, under `exp(-rate |z|_2)`, the length of all of them
    together; None where it takes long.

    shapes: those of `law_of_cell`, and how many there are of each.
    `exp(-t)` is the mean of `exp(-t^2 / (4 h^2))` over h > 0 with density `(2 / root pi) exp(-h^2)`, by the trapezoid rule.
    """
    cells = sum(math.prod(shape) * many for shape, many in shapes.items())
    step = min(WIDEST, (math.sqrt(2) if () not in shapes else 1.0) * rate / STEPS)  # over the length of the shortest vector
    scales = np.arange(step, LONGEST + math.sqrt(cells / 2), step)
    if sum(_rough_points(shape, 2 * (h / rate) ** 2) for h in scales.tolist() for shape in shapes) > MOST_MIXED:
        return None
    known = [dict.fromkeys(shapes, CellLaw(np.ones(1), 0.0))]
    logs = [-math.log(2)]  # at h = 0 nothing moves; half an end of the rule
    for h in scales.tolist():
        laws: dict[tuple[int, ...], CellLaw] = {}
        for shape in shapes:
            found = _law(shape, *gaussian_weight(2 * (h / rate) ** 2))
            if found is None:
                return None
            laws[shape] = found[0]
        known.append(laws)
        logs.append(sum(laws[shape].log_total * many for shape, many in shapes.items()) - h * h)
    shares = np.exp(np.array(logs) - max(logs))
    shares /= shares.sum()
    return {shape: _mixture([laws[shape].masses for laws in known], shares) for shape in shapes}


def _mixture(parts: list[Floats], shares: Floats) -> CellLaw:
    masses = np.zeros(max(map(len, parts)))
    for share, own in zip(shares.tolist(), parts, strict=True):
        start = (len(masses) - len(own)) // 2
        masses[start : start + len(own)] += share * own
    return CellLaw(masses, math.nan)


def _centred(points: int) -> NDArray[np.int64]:
    """-k, ..., k; an odd number of points."""
    return np.arange(points, dtype=np.int64) - points // 2


def _resolved(one: Floats, others: Floats) -> bool:
    """Whether the transform's rounding, a share of its largest number, is no part of what moves."""
    products = one * others
    moved, rounding = float(products.sum() - products.flat[0]), float(one.sum() - one.flat[0]) * ROUNDING * float(others.max())
    return rounding <= WRONG * moved


def _rough_points(shape: tuple[int, ...], variance: float) -> float:
    """About as many points as `law_of_cell` takes for a Gaussian."""
    axes = 1 if len(shape) < 2 else min(shape) - 1
    return (8 * math.sqrt(variance * max(shape, default=1)) + 3.0) ** axes


def _points(single: Floats, times: int, axes: int) -> int:
    """An odd number of points of a circle beyond which sums of so many cells with this law matter less than `NEGLIGIBLE`, by
    Chernoff's bound."""
    places = _centred(len(single))
    variance = float((np.square(places) * single).sum())
    wanted = axes / 2 * math.log(max(2 * math.pi * times * variance, 1.0)) - math.log(NEGLIGIBLE)
    tilts = np.geomspace(1e-3, 40.0, TILTS) / max(math.sqrt(variance), 0.02)
    logs = np.log(np.maximum(single, FAINT**2))
    reach = min((times * _log_sum(logs + tilt * places) + wanted) / tilt for tilt in tilts.tolist())
    return 2 * int(max(reach, 1.0) / 2 + 2) + 1


def _log_sum(logs: Floats) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


# Moments of two-sided geometric numbers whose sum is 0, by their characteristic function on a circle of points.
#
# With `p(z) ~ a^|z|`, `phi(t) = (1 - a)^2 / (1 - 2 a cos t + a^2)`, the chance that n of them sum to 0 is the mean of `phi^n`
# over the circle. The mean over G points adds the chances of the sums that are multiples of G, which is all its error.


FINEST = 2.0**-10  # the rate below which the continuous law is near enough: squares are off by 1e-6, relatively


@dataclass(frozen=True)
class ZeroSumMoments:
    """One of `count` integers with `P(z) ~ exp(-rate |z|_1)` on sum 0; floats, right to about 1e-9.

    >>> round(ZeroSumMoments(2, 1.0).variance, 6) == round(0.5 / math.sinh(1) ** 2, 6)
    True
    """

    count: int
    rate: float

    @property
    def variance(self) -> float:
        """`E z_1^2`."""
        scale = max(self._rate / self.rate, 1.0)
        return scale**2 * float((-self._curvature * self._others).mean() / self._chance)

    def rounding(self, rows: int) -> float:
        """`E f (1 - f)`, f the fractional part of `C / rows`, C the sum of `rows` independent such numbers."""
        remainders = np.arange(rows) / rows
        waves = np.fft.rfft(remainders * (1 - remainders)).real / rows
        total = float(waves[0])
        for k in range(1, len(waves)):
            mass = self._wave(k / rows) ** rows
            if abs(mass) < 1e-15:  # it falls in k
                break
            total += float(waves[k]) * mass * (1 if 2 * k == rows else 2)
        return total

    @property
    def _rate(self) -> float:
        return max(self.rate, FINEST)

    @cached_property
    def _circle(self) -> Floats:
        width = 16 * math.sqrt(self.count * 2) / self._rate + 64 / self._rate + 64
        points = 2 ** math.ceil(math.log2(width))
        return np.asarray(2 * np.pi * np.arange(points) / points)

    def _phi(self, angles: Floats) -> Floats:
        a = math.exp(-self._rate)
        return np.asarray((1 - a) ** 2 / (1 - 2 * a * np.cos(angles) + a * a))

    @cached_property
    def _others(self) -> Floats:
        return np.asarray(self._phi(self._circle) ** (self.count - 1))

    @cached_property
    def _chance(self) -> float:
        return float((self._phi(self._circle) * self._others).mean())

    @property
    def _curvature(self) -> Floats:
        """The second derivative of phi."""
        a, t = math.exp(-self._rate), self._circle
        below = 1 - 2 * a * np.cos(t) + a * a
        return np.asarray(-((1 - a) ** 2) * (2 * a * np.cos(t) / below**2 - 8 * (a * np.sin(t)) ** 2 / below**3))

    def _wave(self, part: float) -> float:
        """`E cos(2 pi part z_1)`."""
        return float((self._phi(self._circle + 2 * np.pi * part) * self._others).mean() / self._chance)
