"""What a law on a lattice says about its draws, without its normalising constant: the identities of balance.

For `P(z)` proportional to `exp(-e(z))` on a coset of a lattice, a vector u of the lattice and any function f,

    E[f(z) exp(e(z) - e(z + u))] = sum_z P(z + u) f(z) = E[f(z - u)],

because the sum runs over the same coset. So with `E = exp(e(z) - e(z + u))` and `E'` the same for -u, and x a linear function
with `x(u) = 1`, each of these has mean 0 under the law, and the first is the score of a scale where u is short:

- scale: `1 + x (E - E') / 2`; shift: `(E - E') / 2`; support: `(E + E') / 2 - 1`;
- beyond t: `[x > t] E - [x - 1 > t]`; crossed: `y (E - E') / 2` and `(|y| - c) (1 + x (E - E') / 2)` for y with `y(u) = 0`;
- residues: `[c = a] E - [c - 1 = a]` modulo q for the coordinate c and one step; and products of these for draws in a row.

Nothing of a sampler enters: only the energy, from the certified norm or the formula of a density, and the lattice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from designer.audit.mean_tests import Columns
from designer.base.arrays import Floats

Integers = NDArray[np.int64]
QUANTILES = (0.003, 0.02, 0.1, 0.3, 0.7, 0.9, 0.98, 0.997)
BEYOND = (0.5, 0.9, 0.99, 0.999)
STRIDES = (0.03, 0.12, 0.5, 1.0)  # of a standard deviation; that which tells most of a scale is taken
NARROW = 4.0  # energy of a step above which a draw is nearly always the same, and the identities tell nothing
FINE = 1e-6  # energy of a step below which residues are equally frequent, up to what no test sees
EDGES = np.array([*np.linspace(0.1, 0.9, 9), 0.99, 0.999, 0.9999])  # of a distribution function
OFF_DRAWS = 2.0**-30  # thresholds lie this far, relatively, above a draw, so that rounding decides nothing
MOST_CROSSED = 60  # pairs of coordinates
CLIP = 40.0  # of exponents: e^40 is beyond what a draw of a correct sampler has


@dataclass(frozen=True, eq=False)
class StatedLaw:
    """`P(z)` proportional to `exp(-energy(z))` on integer vectors z (s,).

    energy: (n, s) floats to (n,). moves: (m, s), vectors of the lattice. places: (s, m), linear functions with
    `moves[k] . places[:, k] = 1`. apart: (n, s) to (n, s), the energies of independent coordinates, one move
    for each; None where they are drawn jointly. groups: (m,), coordinates with one law, whose statistics are averaged.
    basis: whether places[:, k] is whole, and 0 on all other moves. degree: of the energy, as a homogeneous function.
    """

    energy: Callable[[Floats], Floats]
    moves: Integers
    places: Floats
    apart: Callable[[Floats], Floats] | None = None
    groups: NDArray[np.intp] | None = None
    basis: bool = True
    degree: int = 1
    radial: Callable[[Floats], Floats] | None = None  # the distribution function of the energy
    strides: Integers = field(default_factory=lambda: np.ones(0, dtype=np.int64))
    places_watched: NDArray[np.intp] | None = None  # of independent coordinates

    def coordinates(self, draws: Integers) -> Floats:
        """`places . z` for draws (n, s): (n, m); whole numbers for a basis."""
        if self.apart is not None:
            return draws[:, self.watched].astype(np.float64)
        found = draws @ self.places
        return np.rint(found) if self.basis else np.asarray(found)

    def energies(self, draws: Integers) -> Floats:
        """(n,), or of independent coordinates (n, m)."""
        z = draws.astype(np.float64)
        return self.energy(z) if self.apart is None else self.apart(z)[:, self.watched]

    @property
    def watched(self) -> NDArray[np.intp]:
        """The independent coordinates that are looked at."""
        return np.arange(len(self.moves)) if self.places_watched is None else self.places_watched

    def among(self, kept: NDArray[np.bool_]) -> StatedLaw:
        """The same with some of the moves only; kept: (m,) booleans."""
        if kept.all():
            return self
        groups = None if self.groups is None else np.unique(self.groups[kept], return_inverse=True)[1].astype(np.intp)
        return replace(
            self, moves=self.moves[kept], places=self.places[:, kept], groups=groups, places_watched=self.watched[kept]
        )

    def rare(self, size: int) -> Floats:
        """The probability of not being 0 of independent coordinates, (size,): the law summed."""
        assert self.apart is not None
        values = np.arange(-64.0, 65.0)
        energies = self.apart(np.repeat(values[:, None], size, axis=1))
        weights = np.exp(-(energies - energies[64]))
        return np.asarray(1 - 1 / weights.sum(axis=0))

    def rises(self, draws: Integers, here: Floats, times: Integers) -> tuple[Floats, Floats]:
        """`e(z + t_k u_k) - e(z)` and the same for -u_k, (n, m) each."""
        z = draws.astype(np.float64)
        if self.apart is not None:
            step = np.zeros(z.shape[1])
            step[self.watched] = times
            return self.apart(z + step)[:, self.watched] - here, self.apart(z - step)[:, self.watched] - here
        both = np.empty((2, len(z), len(self.moves)))
        for k, move in enumerate(self.moves * times[:, None]):
            both[0, :, k], both[1, :, k] = self.energy(z + move) - here, self.energy(z - move) - here
        return both[0], both[1]

    def with_strides(self, pilot: Integers) -> StatedLaw:
        """The law with the multiple of each move at which a scale shows most, by draws (n, s) of a pilot."""
        x = self.coordinates(pilot)
        wide = np.maximum(x.std(axis=0), 0.5)
        here, best, chosen = self.energies(pilot), np.zeros(len(self.moves)), np.ones(len(self.moves), dtype=np.int64)
        for share in STRIDES:
            times = np.maximum(np.rint(wide * share), 1).astype(np.int64)
            told = self._told(x / times, *self.rises(pilot, here, times))
            better = told > best
            best, chosen = np.where(better, told, best), np.where(better, times, chosen)
        return replace(self, strides=chosen)

    def _told(self, x: Floats, up: Floats, down: Floats) -> Floats:
        """How much a coordinate's stretching moves the statistic of its scale, in standard deviations of that."""
        shift, stretched = (_weight(up) - _weight(down)) / 2, x * (up - down) / 2
        scale = 1 + x * shift
        moved = np.abs(((scale - scale.mean(axis=0)) * (stretched - stretched.mean(axis=0))).mean(axis=0))
        return np.asarray(moved / np.maximum(scale.std(axis=0), 1e-12))


@dataclass(frozen=True, eq=False)
class BalanceStatistics:
    """The identities of one law, their thresholds fixed by a pilot of draws (n, s)."""

    law: StatedLaw
    thresholds: Floats  # (quantiles, m), of the coordinates
    heights: Floats  # of the energy
    sizes: Floats  # (m,), mean |x|
    crossed: tuple[tuple[int, int], ...]
    noisy_steps: NDArray[np.bool_]  # (m,): one step is no small change of the energy
    narrow: NDArray[np.intp]  # independent coordinates whose noise is narrower than a step
    rare_crossings: Floats  # (quantiles, m), variances of crossing a threshold, which few draws may never show
    rare_shells: Floats  # of the heights, bounds

    @classmethod
    def of(cls, law: StatedLaw, pilot: Integers) -> BalanceStatistics:
        """From draws (n, s) that are not tested again."""
        first = pilot[:256]
        ones = np.ones(len(law.moves), dtype=np.int64)
        wide = np.median(np.abs(law.rises(first, law.energies(first), ones)[0]), axis=0) <= NARROW
        narrow = law.watched[~wide] if law.apart is not None else np.zeros(0, dtype=np.intp)
        law = law.among(wide).with_strides(pilot)
        c, energy = law.coordinates(pilot), law.energies(pilot)
        edges = np.quantile(c, QUANTILES, axis=0, method="lower")
        ones = np.ones(len(law.moves), dtype=np.int64)
        up, _ = law.rises(pilot[:64], energy[:64], ones)
        total = energy if law.apart is None else energy.sum(axis=1)
        edges, heights = edges + OFF_DRAWS * (1 + np.abs(edges)), np.quantile(total, BEYOND)
        crossing = np.maximum(_crossings(_weight(law.rises(pilot, energy, law.strides)[0])), 0.0)
        return cls(
            law,
            edges,
            heights,
            np.abs(c / law.strides).mean(axis=0),
            _few_pairs(len(law.moves)) if law.groups is None else (),
            np.abs(up).max(axis=0, initial=0.0) > FINE,
            narrow,
            np.array([((c > edge) * crossing).mean(axis=0) for edge in edges]),
            np.array([((total > t)[:, None] * crossing).mean() if len(law.moves) else 0.0 for t in heights]),
        )

    def columns(self, draws: Integers) -> Columns:
        """All statistics of draws (n, s)."""
        kinds, known = self._kinds(draws) if len(self.law.moves) else ([], [])
        if len(self.narrow):
            kinds.append(("away from 0", (draws[:, self.narrow] != 0).mean(axis=1, keepdims=True) - self._rare.mean()))
            known.append(np.array([np.sqrt((self._rare * (1 - self._rare)).sum()) / len(self.narrow)]))
        names = tuple(name for kind, values in kinds for name in self._named(kind, values.shape[1]))
        found = np.hstack([np.zeros((len(draws), 0)), *(values for _, values in kinds)])
        return Columns(names, found, np.concatenate([np.zeros(0), *known]))

    def _kinds(self, draws: Integers) -> tuple[list[tuple[str, Floats]], list[Floats]]:
        """The statistics of the coordinates that are wide enough, kind by kind, with the deviations that are known."""
        law = self.law
        c, energy = law.coordinates(draws), law.energies(draws)
        x = c / law.strides
        up, down = law.rises(draws, energy, law.strides)
        rising, falling = _weight(up), _weight(down)
        shift, scale = (rising - falling) / 2, 1 + x * (rising - falling) / 2
        kinds: list[tuple[str, Floats]] = [
            ("scale", self._pooled(scale)),
            ("shift", self._pooled(shift)),
            ("support", self._pooled((rising + falling) / 2 - 1)),
            ("scale of all", scale.mean(axis=1, keepdims=True)),
        ]
        for q, thresholds in zip(QUANTILES, self.thresholds, strict=True):
            outside = (c > thresholds) * rising - (c - law.strides > thresholds)
            kinds.append((f"beyond {q:g}", self._pooled(outside)))
        kinds += self._joint(x, shift, scale) if law.apart is None else _side_by_side(shift, scale)
        kinds += self._far(energy, up, down) if law.apart is None else []
        kinds += self._residues(draws, c, energy)
        kinds += [(f"in a row: {name}", _in_a_row(values)) for name, values in kinds[:2]]
        kinds.append(("in a row: scale of all", _in_a_row(kinds[3][1])))
        known = [np.zeros(values.shape[1]) if name not in self._floors else self._floors[name] for name, values in kinds]
        if law.radial is not None:
            kinds.append(("length", _in_bins(law.radial(energy))))
            known.append(np.sqrt(EDGES * (1 - EDGES)))
        return kinds, known

    @cached_property
    def _floors(self) -> dict[str, Floats]:
        """Deviations that statistics of crossings have at least, by their kinds."""
        groups = np.arange(len(self.law.moves)) if self.law.groups is None else self.law.groups
        counts = np.bincount(groups)
        found = {
            f"beyond {q:g}": np.sqrt(np.bincount(groups, weights=row)) / counts
            for q, row in zip(QUANTILES, self.rare_crossings, strict=True)
        }
        return found | {"beyond a length": np.sqrt(self.rare_shells)}

    @cached_property
    def _rare(self) -> Floats:
        """How often the narrow coordinates are not 0."""
        size = int(self.narrow.max()) + 1
        return self.law.rare(max(size, len(self.law.places)))[self.narrow]

    def effects(self, pilot: Integers, sees: float) -> dict[str, float]:
        """How far an error moves the mean of a statistic: a scale that is wrong by the share `sees`, of one coordinate (of one
        law) or of all; a shift of one coordinate by that share of its deviation, by one step at least. pilot: (n, s)."""
        law = self.law
        if not len(law.moves):
            return {}
        x, energy = law.coordinates(pilot) / law.strides, law.energies(pilot)
        up, down = law.rises(pilot, energy, law.strides)
        scale, stretched = 1 + x * (_weight(up) - _weight(down)) / 2, x * (up - down) / 2
        whole = stretched.sum(axis=1) if law.apart is not None else law.degree * energy
        own = self._pooled((scale - scale.mean(axis=0)) * (stretched - stretched.mean(axis=0))).mean(axis=0)
        found = {name: sees * abs(float(moved)) for name, moved in zip(self._named("scale", len(own)), own, strict=True)}
        found["scale of all"] = sees * abs(float(np.cov(scale.mean(axis=1), whole)[0, 1]))
        steps = np.maximum(np.rint(sees * law.coordinates(pilot).std(axis=0)), 1).astype(np.int64)
        shifted = self._pooled(self._shifted(pilot, steps) - self._shifted(pilot, 0 * steps)).mean(axis=0)
        return found | {name: abs(float(moved)) for name, moved in zip(self._named("shift", len(own)), shifted, strict=True)}

    def _shifted(self, pilot: Integers, steps: Integers) -> Floats:
        """The statistics of a shift, (n, m), each of draws that are shifted along its own move."""
        law, found = self.law, []
        if law.apart is not None:
            moved = pilot.copy()
            moved[:, law.watched] += steps
            up, down = law.rises(moved, law.energies(moved), law.strides)
            return np.asarray((_weight(up) - _weight(down)) / 2)
        for move, stride, step in zip(law.moves, law.strides, steps, strict=True):
            z = (pilot + step * move).astype(np.float64)
            here = law.energy(z)
            rising, falling = (_weight(law.energy(z + way * stride * move) - here) for way in (1, -1))
            found.append((rising - falling) / 2)
        return np.column_stack(found)

    @staticmethod
    def _named(kind: str, count: int) -> list[str]:
        return [f"{kind} {k + 1}" if count > 1 else kind for k in range(count)]

    def _pooled(self, values: Floats) -> Floats:
        """Averages over coordinates of one law."""
        if self.law.groups is None:
            return values
        counts = np.bincount(self.law.groups)
        starts = np.flatnonzero(np.diff(self.law.groups, prepend=-1))
        return np.asarray(np.add.reduceat(values, starts, axis=1) / counts)

    def _joint(self, x: Floats, shift: Floats, scale: Floats) -> list[tuple[str, Floats]]:
        """Pairs of coordinates that are drawn jointly."""
        if not self.crossed or not self.law.basis:
            return []
        left, right = np.array(self.crossed).T
        return [
            ("crossed signs", np.hstack([x[:, left] * shift[:, right], x[:, right] * shift[:, left]])),
            ("crossed sizes", (np.abs(x[:, left]) - self.sizes[left]) * scale[:, right]),
        ]

    def _far(self, energy: Floats, up: Floats, down: Floats) -> list[tuple[str, Floats]]:
        """Shells of the energy: what goes out of them comes in."""
        out = [((energy > t)[:, None] * _weight(up) - (energy[:, None] + down > t)).mean(axis=1) for t in self.heights]
        back = [((energy > t)[:, None] * _weight(down) - (energy[:, None] + up > t)).mean(axis=1) for t in self.heights]
        return [("beyond a length", np.column_stack([(a + b) / 2 for a, b in zip(out, back, strict=True)]))]

    def _residues(self, draws: Integers, c: Floats, energy: Floats) -> list[tuple[str, Floats]]:
        """Residues modulo 2 and 3 of the coordinates in a basis, and of their sum."""
        if not self.law.basis:
            return []
        whole, up = np.rint(c).astype(np.int64), np.ones_like(c)
        if self.noisy_steps.any():
            rises, _ = self.law.rises(draws, energy, np.ones(len(self.law.moves), dtype=np.int64))
            up = np.where(self.noisy_steps, _weight(rises), 1.0)
        found: list[tuple[str, Floats]] = []
        for q in (2, 3):
            left = whole % q
            before = (left - 1) % q
            found += [(f"residue {a} of {q}", self._pooled((left == a) * up - (before == a))) for a in range(1, q)]
        together = (whole.sum(axis=1) % 2)[:, None]
        found.append(("residue of sums", self._pooled((together == 1) * up - (together == 0))))
        return found


def _weight(rise: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(-rise, -CLIP, CLIP)))


def _crossings(weights: Floats) -> Floats:
    """The variance of whether a shift leads beyond a threshold, for a draw that is beyond it."""
    return np.asarray(weights * (1 - weights))


def _few_pairs(size: int) -> tuple[tuple[int, int], ...]:
    """All pairs of few coordinates; of many, those that are 1, 2, 4, ... places apart."""
    gaps = sorted(range(1, size), key=lambda gap: (gap.bit_count(), gap))
    return tuple(islice(((j, j + gap) for gap in gaps for j in range(size - gap)), MOST_CROSSED))


def _side_by_side(shift: Floats, scale: Floats) -> list[tuple[str, Floats]]:
    """Products of neighbouring coordinates that are independent, and of such that are two apart: averages over the places."""
    found = []
    for apart in (1, 2):
        if shift.shape[1] > apart:
            for name, values in (("signs", shift), ("sizes", scale)):
                products = values[:, apart:] * values[:, :-apart]
                own = products if products.shape[1] <= MOST_CROSSED else products.mean(axis=1, keepdims=True)
                found.append((f"side by side, {apart} apart: {name}", own))
    return found


def _in_a_row(values: Floats) -> Floats:
    """Products of draws that follow each other; the last has none."""
    products = np.zeros_like(values)
    products[:-1] = values[:-1] * values[1:]
    return products


def _in_bins(heights: Floats) -> Floats:
    """Whether distribution functions fall into tenths, or into a tail, less the probability of that."""
    return np.asarray((heights[:, None] <= EDGES) - EDGES)
