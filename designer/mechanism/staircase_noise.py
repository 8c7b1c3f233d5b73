"""The two laws of a staircase mechanism as they are frozen: peaks on a lattice, and stairs of one number."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import count, rational, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import COUNT, PLACE, RATIONAL, keys, list_of, noted, of_kind, whole
from designer.certificate.sensitivity import SensitivitySet
from designer.limits import (
    LARGEST_STAIR_UNIT,
    LARGEST_STAIRCASE_BASIS,
    LARGEST_STAIRCASE_COORDINATE,
    LARGEST_STAIRCASE_COST,
    MOST_STAIRCASE_DIMENSIONS,
    MOST_STAIRCASE_PEAKS,
    MOST_STAIRCASE_STEPS,
)
from designer.sampling.entropy import Entropy
from designer.sampling.integer_tails import DiscreteStairs
from designer.sampling.peaked_sampler import PeakedSampler
from solvers.exact.points import smith_form
from solvers.lattices.peaked_law import LatticeSteps, PeakedLaw, Points, Shells, Walks
from solvers.limits import MOST_TABLE_PLACES

# The protected differences of a few coordinates, each with its least exact budget, and the lattice that they generate.


MOST_PAIRS = 200_000  # whose exact budgets take a second
LEFT_OUT = 1e-9  # of the mass, in laws of the privacy loss
MOST_SUMMED = 20_000_000  # places of a table times differences: half a second


@dataclass(frozen=True)
class Difference:
    """A difference u of s coordinates, in whole steps of the grid, the least exact budget of a pair that makes it,
    and that pair."""

    steps: tuple[int, ...]
    budget: Fraction
    left: int
    right: int


def protected_differences(
    sensitivity: SensitivitySet, heard: NDArray[np.bool_], steps: NDArray[np.float64], *, implied: bool = False
) -> tuple[Difference, ...]:
    """Every difference that is not 0, up to its sign, in the order of its steps.

    heard: (R,), the coordinates that get noise. steps: (R,), powers of two of which all differences are multiples. implied:
    those of pairs whose budgets follow from others, too.
    """
    pairs = sensitivity.all_pairs(MOST_PAIRS, implied=implied)
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


class DrawnNoise(ABC):
    """A law of integer noise with what is needed to draw from it, for certain differences; all in steps of the grid."""

    noise: Any

    @abstractmethod
    def costs(self, moved: Sequence[Difference]) -> Sequence[Any]:
        """For each difference u of its budget the units that it spends: a whole number that no `|h(z + u) - h(z)|` exceeds,
        whatever z, or under a delta the least."""

    def reaches(self, u: Difference) -> bool:
        """Whether the law says what u spends."""
        return True

    def tight(self, rows: Floats) -> bool:
        """Whether margins for rows r, (K, s), are attained."""
        return True

    def chances_of_losses(self, moved: Sequence[Difference]) -> Floats | None:
        """Bounds, (J,), of the probability that a shift by any of these differences changes h by j units or more, j from 1 on;
        None where no more is known than the budget."""
        return None

    @abstractmethod
    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` exact draws, (size, s)."""

    @abstractmethod
    def variances(self, rows: Floats) -> Floats:
        """`E (r . z)^2` for rows r, (K, s); what a table leaves of the tail is counted at its bound."""

    @abstractmethod
    def mean_absolutes(self, rows: Floats) -> Floats:
        """`E |r . z|` for rows r, (K, s), as `variances`."""

    @abstractmethod
    def margins(self, rows: Floats, beyond: float) -> Floats:
        """Numbers t, (K,), with `P(|r . z| > t) <= beyond` for rows r, (K, s); what a table leaves of the tail is counted at
        its bound."""


def whole_units(budget: Fraction, unit: Fraction) -> int:
    """How many whole units a budget holds."""
    return math.floor(budget / unit)


@dataclass(frozen=True)
class Stairs:
    """One number on a grid: constant for |z| <= top, then falling by `exp(-unit)` every `width` steps."""

    unit: Fraction
    width: int
    top: int
    kind = "stairs"
    delta = coset = None
    schema = of_kind(
        "noise",
        "stairs",
        {"unit": RATIONAL, "width": COUNT, "top": PLACE},
        note="exp(-unit k), k = 0 up to the top, one more every width.",
    )

    def __post_init__(self) -> None:
        count(self.width, "noise.width")
        count(self.top, "noise.top", least=0)
        DiscreteStairs(self.unit, self.width, self.top)

    @property
    def dimension(self) -> int:
        """1."""
        return 1

    def over(self, moved: Sequence[Difference]) -> DrawnStairs:
        """The law, whatever the differences are: it is no narrower for them."""
        return DrawnStairs(self, DiscreteStairs(self.unit, self.width, self.top))

    @property
    def sentence(self) -> str:
        """The law in words."""
        return (
            f"P(z) proportional to exp(-{float(self.unit)!r} k), k = 0 for |z| <= {self.top} steps and ceil((|z| - "
            f"{self.top}) / {self.width}) beyond"
        )

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "unit": self.unit, "width": self.width, "top": self.top}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Stairs:
        """From plain data."""
        require_keys(spec, keys(cls.schema), "noise")
        return cls(rational(spec["unit"], "noise.unit"), spec["width"], spec["top"])


@dataclass(frozen=True)
class Peaks:
    """Noise `sum_i n_i basis_i`, n in `halves / 2 + Z^s`, whose law falls off from peaks by the cost of walks.

    basis: s rows of whole steps of the grid, a basis of the lattice of all protected differences, even where halves has a 1.
    peaks: doubled coordinates n of the peaks, in order, with -n for each n. levels: their heights in units, the least 0.
    A step of the walk is a protected difference, and costs as many whole units as its budget holds.
    """

    unit: Fraction
    basis: tuple[tuple[int, ...], ...]
    halves: tuple[int, ...]
    peaks: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]
    kind = "peaks"
    delta = None
    schema = of_kind(
        "noise",
        "peaks",
        {
            "unit": RATIONAL,
            "basis": list_of(list_of(whole()), most=MOST_STAIRCASE_DIMENSIONS),
            "halves": list_of(whole(least=0, most=1), most=MOST_STAIRCASE_DIMENSIONS),
            "peaks": noted("Twice the coordinates in the basis.", list_of(list_of(whole()), distinct=True)),
            "levels": noted("Heights of the peaks: exp(-unit level).", list_of(whole(least=0))),
        },
        note="exp(-unit h), h the least of the level of a peak and the cost of protected differences that lead on from it.",
    )

    def __post_init__(self) -> None:
        s = len(self.basis)
        lists = (self.halves, *self.basis, *self.peaks)
        if not 1 <= s <= MOST_STAIRCASE_DIMENSIONS or any(len(row) != s for row in lists):
            raise InvalidProblem(
                f"noise: needs a basis of 1 to {MOST_STAIRCASE_DIMENSIONS} rows, and coordinates of the same length."
            )
        if not all(type(x) is int for row in (*lists, self.levels) for x in row):
            raise InvalidProblem("noise: basis, halves, peaks and levels are whole numbers.")
        if max(abs(x) for row in self.basis for x in row) > LARGEST_STAIRCASE_BASIS:
            raise InvalidProblem("noise.basis: entries are beyond 2^45 steps; choose a coarser grid.")
        if not 0 < self.unit <= LARGEST_STAIR_UNIT:
            raise InvalidProblem(f"noise.unit: {float(self.unit)} is not from 0 to 2^10; choose other budgets.")
        self._require_halves()
        self._require_even()

    def _require_halves(self) -> None:
        if not set(self.halves) <= {0, 1}:
            raise InvalidProblem(
                f"noise.halves: {shown(self.halves)} are not 0 or 1; give one of them for each coordinate.",
                value=self.halves,
            )
        if any(x % 2 for half, row in zip(self.halves, self.basis, strict=True) for x in row if half):
            raise InvalidProblem("noise.basis: half of a row is no whole number of steps; choose a finer grid.")
        if any((x - half) % 2 for peak in self.peaks for x, half in zip(peak, self.halves, strict=True)):
            raise InvalidProblem("noise.peaks: some peak lies on another coset than noise.halves say; correct either.")

    def _require_even(self) -> None:
        """The peaks in order, each with its opposite, so that the noise has mean 0."""
        known = dict(zip(self.peaks, self.levels, strict=False))
        if not (
            len(self.levels) == len(self.peaks) == len(known) <= MOST_STAIRCASE_PEAKS and list(self.peaks) == sorted(self.peaks)
        ):
            raise InvalidProblem("noise.peaks: must be distinct and in order, with a level for each.")
        if min(self.levels) != 0 or max(self.levels) > LARGEST_STAIRCASE_COST:
            raise InvalidProblem("noise.levels: must be whole numbers up to 2^44, the least of them 0.")
        if max(abs(x) for peak in self.peaks for x in peak) > LARGEST_STAIRCASE_COORDINATE:
            raise InvalidProblem(f"noise.peaks: coordinates are beyond {LARGEST_STAIRCASE_COORDINATE}; take a coarser unit.")
        if any(known.get(tuple(-x for x in peak)) != level for peak, level in known.items()):
            raise InvalidProblem(
                "noise.peaks: some peak has no opposite of its level, so the noise would be biased; give each peak its "
                "opposite."
            )

    @property
    def dimension(self) -> int:
        """s."""
        return len(self.basis)

    @property
    def coset(self) -> tuple[list[int], NDArray[Any] | None]:
        """Half a lattice away from the answers where the law says so, and the basis."""
        basis = np.array(self.basis, dtype=object)
        return (np.array(self.halves, dtype=object) @ basis // 2).tolist(), basis

    def over(self, moved: Sequence[Difference]) -> DrawnPeaks:
        """The law of walks by these differences; peaks that are none, and tables that are too large, are refused."""
        paid = [whole_units(u.budget, self.unit) for u in moved]
        if 2 * len(paid) > MOST_STAIRCASE_STEPS:
            raise InvalidProblem(
                f"noise: {2 * len(paid)} protected differences, more than {MOST_STAIRCASE_STEPS}; use laplace or k_norm."
            )
        if not paid or min(paid) < 1 or max(paid) > LARGEST_STAIRCASE_COST:
            raise InvalidProblem(
                f"noise.unit: {float(self.unit)} does not go into every budget 1 to 2^44 times; take another unit."
            )
        walks = lattice_walks(coordinates([u.steps for u in moved], self.basis), paid, self.halves)
        law = PeakedLaw(walks, self.unit, np.array(self.peaks, dtype=np.int64), np.array(self.levels, dtype=np.int64))
        sampler = PeakedSampler(law)
        if not _all_peaks(law):
            raise InvalidProblem("noise.peaks: some peak is reached from another one at its level or below; leave it out.")
        return DrawnPeaks(self, sampler)

    @property
    def sentence(self) -> str:
        """The law in words."""
        return (
            f"P(z) proportional to exp(-{float(self.unit)!r} h(z)) on a lattice of {self.dimension} dimensions, h(z) the least "
            f"of the level of one of {len(self.peaks)} peaks and the budgets, in whole units, of protected differences that "
            "lead from it to z"
        )

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        listed = {"basis": self.basis, "halves": self.halves, "peaks": self.peaks, "levels": self.levels}
        return {"kind": self.kind, "unit": self.unit, **{key: _lists(value) for key, value in listed.items()}}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Peaks:
        """From plain data."""
        require_keys(spec, keys(cls.schema), "noise")
        basis, peaks = (tuple(tuple(row) for row in spec[key]) for key in ("basis", "peaks"))
        return cls(rational(spec["unit"], "noise.unit"), basis, tuple(spec["halves"]), peaks, tuple(spec["levels"]))


@dataclass(frozen=True)
class DrawnStairs(DrawnNoise):
    """Stairs with their sampler."""

    noise: Stairs
    sampler: DiscreteStairs

    def costs(self, moved: Sequence[Difference]) -> list[int]:
        return [-(-abs(u.steps[0]) // self.noise.width) for u in moved]

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        return self.sampler.draw(size, entropy)

    def variances(self, rows: Floats) -> Floats:
        return np.asarray(rows[:, 0] ** 2 * self.sampler.moments()[1])

    def mean_absolutes(self, rows: Floats) -> Floats:
        return np.asarray(np.abs(rows[:, 0]) * self.sampler.moments()[0])

    def margins(self, rows: Floats, beyond: float) -> Floats:
        return np.asarray(np.abs(rows[:, 0]) * self.sampler.margin(beyond))


@dataclass(frozen=True, eq=False)
class DrawnPeaks(DrawnNoise):
    """Peaks with their sampler, whose law knows the walks."""

    noise: Peaks
    sampler: PeakedSampler

    def reaches(self, u: Difference) -> bool:
        try:
            coordinates([u.steps], self.noise.basis)
        except InvalidProblem:
            return False
        return True

    def costs(self, moved: Sequence[Difference]) -> list[int]:
        """The cheapest walks from 0: h falls off by walks, so that `h(z + u)` is at most `h(z)` and the cost of u."""
        known = self.sampler.law.walks
        walks = Walks(known.steps, Shells(known.shells.widths, (0,) * self.noise.dimension))
        led = 2 * np.array(coordinates([u.steps for u in moved], self.noise.basis), dtype=np.int64)
        k = int(walks.shells.numbers(led).max())
        if walks.places(k) > MOST_TABLE_PLACES:
            raise InvalidProblem("noise.basis: some protected difference leads too far to be tabulated; use laplace or k_norm.")
        table = walks.heights(k, 0 * led[:1], np.zeros(1, dtype=np.int64)).ravel()
        return [int(cost) for cost in table[walks.shells.flat(led, k)]]

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        return np.asarray(self.sampler.draw(size, entropy) @ np.array(self.noise.basis, dtype=np.int64) // 2)

    def variances(self, rows: Floats) -> Floats:
        return self._expected(rows, 2)

    def mean_absolutes(self, rows: Floats) -> Floats:
        return self._expected(rows, 1)

    def margins(self, rows: Floats, beyond: float) -> Floats:
        led = rows @ np.array(self.noise.basis, dtype=np.float64).T / 2
        return self.sampler.law.margins(led, beyond)

    def chances_of_losses(self, moved: Sequence[Difference]) -> Floats | None:
        """What the table leaves counts as the largest change; None also where they are more than are summed."""
        law = self.sampler.law
        k = law.enough(LEFT_OUT)
        if len(moved) * law.walks.shells.volume(k) > MOST_SUMMED:
            return None
        costs = self.costs(moved)
        heights, points = law.table(k), law.walks.shells.points(k)
        masses = np.exp(-float(self.noise.unit) * heights)
        led = 2 * np.array(coordinates([u.steps for u in moved], self.noise.basis), dtype=np.int64)
        chances = np.zeros((len(led), max(costs) + 1))
        for u, cost, own in zip(led, costs, chances, strict=True):
            places = law.walks.shells.flat(points + u, k)
            sizes = np.where(places < 0, cost, np.abs(heights[places] - heights))
            own += np.cumsum(np.bincount(sizes, masses, len(own))[::-1])[::-1]
            own[: cost + 1] += law.tail(k)
        return np.asarray(chances.max(axis=0)[1:] / masses.sum() * (1 + 1e-9))

    def _expected(self, rows: Floats, power: int) -> Floats:
        led = rows @ np.array(self.noise.basis, dtype=np.float64).T
        law = self.sampler.law

        def parts(points: Points) -> Floats:
            return np.asarray(np.abs(points @ (led.T / 2)) ** power)

        growth = (np.abs(led) @ np.array(law.walks.shells.widths, dtype=np.float64)) ** power
        return law.expectation(parts, growth, power).high


def lattice_walks(led: Sequence[Sequence[int]], paid: Sequence[int], halves: tuple[int, ...]) -> Walks:
    """Walks on a coset by differences with these coordinates and costs, which must generate the whole lattice."""
    if max(abs(x) for row in led for x in row) > LARGEST_STAIRCASE_COORDINATE:
        raise InvalidProblem("noise.basis: some protected difference has coordinates beyond 10^6; give longer rows.")
    steps = LatticeSteps.of(led, paid)
    if smith_form(steps.vectors) != (1,) * steps.dimension:
        raise InvalidProblem("noise.basis: the protected differences generate less than its lattice; give a basis of theirs.")
    return Walks(steps, Shells(steps.natural_widths(), halves))


def _all_peaks(law: PeakedLaw) -> bool:
    """Whether every peak is lower than what walks from the others make of it."""
    k, walks = law.first_shell, law.walks
    table = law.table(k)
    if not np.array_equal(table[walks.shells.flat(law.peaks, k)], law.levels):
        return False
    for vector, cost in zip(walks.steps.vectors, walks.steps.costs.tolist(), strict=True):
        before = walks.shells.flat(law.peaks - 2 * vector, k)
        if ((before >= 0) & (table[before] + cost == law.levels)).any():
            return False
    return True


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value
