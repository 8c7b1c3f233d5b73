"""What a law on a lattice says about its draws, without its normalising constant: the identities of balance.

For `P(z)` proportional to `exp(-e(z))` on a coset of a lattice, a vector u of the lattice and any function f,

    E[f(z) exp(e(z) - e(z + u))] = sum_z P(z + u) f(z) = E[f(z - u)],

because the sum runs over the same coset. With `f(z) min(1, exp(e(z + u) - e(z)))` for f and `A = min(1, exp(e(z) - e(z + u)))`

    E[f(z) A(z)] = E[f(z - u) A'(z)],

where A' is the same for -u: detailed balance, in numbers that no rare draw makes large. With x a linear function with
`x(u) = 1`, each of these has mean 0 under the law, and the first is nearly the score of a scale where u is short:

- scale: `(x + 1/2) A - (x - 1/2) A'`, of all of a joint law `1 + x (E - E') / 2` with `E = exp(e(z) - e(z + u))`;
- shift: `A - A'`; support: `(E + E') / 2 - 1`;
- beyond t: `[x > t] A - [x - 1 > t] A'`, and mirrored below; beyond a length: the same in both directions of `[e > t]`;
- crossed: y times the shift and `|y| - c` times the scale for y with `y(u) = 0`;
- residues: `[c = a] A - [c - 1 = a] A'` modulo q for the coordinate c and one step; and products of these for draws in a row.

A rare draw can balance many frequent ones. A sample without it has a mean that looks significant beside the deviation that the
sample shows. So mean squares are estimated at the frequent neighbours of rare draws, too, and are at least that.

Nothing of a sampler enters: only the energy, from the certified norm or the formula of a density, and the lattice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from designer.audit.mean_tests import Columns, in_a_row
from designer.base.arrays import Floats

Integers = NDArray[np.int64]
Kind = tuple[str, Floats, Floats]  # a name, statistics (n, w), and what their mean squares (w,) are at least
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
    for each; None where they are drawn jointly. groups: (m,), rising, of coordinates whose statistics are averaged.
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
        scale, stretched = x * (_accepted(up) - _accepted(down)) + (_accepted(up) + _accepted(down)) / 2, x * (up - down) / 2
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
    squares: dict[str, Floats]  # by kind, means that few draws may never show

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
        heights = np.quantile(total, BEYOND)
        found = cls(
            law,
            edges + np.sign(0.5 - np.array(QUANTILES))[:, None] * OFF_DRAWS * (1 + np.abs(edges)),
            heights + OFF_DRAWS * (1 + np.abs(heights)),
            np.abs(c / law.strides).mean(axis=0),
            _few_pairs(len(law.moves)) if law.groups is None else (),
            np.abs(up).max(axis=0, initial=0.0) > FINE,
            narrow,
            {},
        )
        return replace(found, squares=found._mean_squares(pilot)) if len(law.moves) else found

    def columns(self, draws: Integers) -> Columns:
        """All statistics of draws (n, s)."""
        kinds = self._kinds(draws) if len(self.law.moves) else []
        if len(self.narrow):
            away = (draws[:, self.narrow] != 0).mean(axis=1, keepdims=True) - self._rare.mean()
            kinds.append(("away from 0", away, (self._rare * (1 - self._rare)).sum(keepdims=True) / len(self.narrow) ** 2))
        names = tuple(name for kind, values, _ in kinds for name in self._named(kind, values.shape[1]))
        found = np.hstack([np.zeros((len(draws), 0)), *(values for _, values, _ in kinds)])
        return Columns(names, found, np.sqrt(np.concatenate([np.zeros(0), *(squares for *_, squares in kinds)])))

    def _kinds(self, draws: Integers) -> list[Kind]:
        """The statistics of the coordinates that are wide enough, kind by kind."""
        law = self.law
        c, energy = law.coordinates(draws), law.energies(draws)
        x = c / law.strides
        up, down = law.rises(draws, energy, law.strides)
        scale, shift, support, scales = self._alone(x, up, down)
        kinds = [(name, self._pooled(values)) for name, values in (("scale", scale), ("shift", shift), ("support", support))]
        kinds.append(("scale of all", scales.mean(axis=1, keepdims=True)))
        if law.groups is not None:
            kinds.append(("scale of each", scale))
        kinds += [(f"in a row: {name}", in_a_row(values)) for name, values in (*kinds[:2], kinds[3])]
        kinds += self._joint(x, shift, scale) if law.apart is None else _side_by_side(shift, scale)
        found = [(name, values, self.squares.get(name, np.zeros(values.shape[1]))) for name, values in kinds]
        for q, thresholds in zip(QUANTILES, self.thresholds, strict=True):
            way = 1 if q > 0.5 else -1
            out, back = (_accepted(up), _accepted(down))[::way]
            here, before = way * (c - thresholds) > 0, way * (c - thresholds) - law.strides > 0
            crossing = here * out * (1 - out) + before * back * (1 - back)
            found.append((f"beyond {q:g}", self._pooled(here * out - before * back), self._of_means(crossing)))
        found += self._far(energy, up, down) if law.apart is None else []
        found += self._residues(draws, c, energy)
        if law.radial is not None:
            found.append(("length", (law.radial(energy)[:, None] <= EDGES) - EDGES, EDGES * (1 - EDGES)))
        return found

    def _mean_squares(self, pilot: Integers) -> dict[str, Floats]:
        """The mean squares of statistics by kind, from draws (n, s) and their neighbours z + v for v in 0, u, -u:
        `E s(z)^2 = E sum_v s(z + v)^2 / (1 + E(z + v) + E'(z + v))`, the balance heuristic of importance sampling."""
        law = self.law
        x, energy = law.coordinates(pilot) / law.strides, law.energies(pilot)
        (up, down), (up_two, down_two) = (law.rises(pilot, energy, times * law.strides) for times in (1, 2))
        near = ((x, up, down), (x + 1, up_two - up, -up), (x - 1, -down, down_two - down))
        squares = np.sum([self._alone(x, *rises) ** 2 / (1 + sum(map(_weight, rises))) for x, *rises in near], axis=0)
        scale, shift, _, scales = squares.mean(axis=1)
        found = {name: self._of_means(values) for name, values in zip(("scale", "shift", "support"), squares, strict=False)}
        own = self._alone(x, up, down)[3]
        unseen = np.maximum(scales - (own**2).mean(axis=0), 0.0).sum() / len(law.moves) ** 2
        found |= {"scale of each": scale, "scale of all": np.array([(own.mean(axis=1) ** 2).mean() + unseen])}
        found |= {f"in a row: {name}": found[name] ** 2 for name in ("scale", "shift", "scale of all")}
        if law.apart is not None and len(law.moves) <= MOST_CROSSED:
            found |= {name: values[0] for name, values in _side_by_side(shift[None], scale[None])}
        elif self.crossed:
            left, right = np.array(self.crossed).T
            signs, sizes = (x**2).T @ squares[1] / len(x), ((np.abs(x) - self.sizes) ** 2).T @ squares[0] / len(x)
            found["crossed signs"] = np.concatenate([signs[left, right], signs[right, left]])
            found["crossed sizes"] = sizes[left, right]
        return found

    def _alone(self, x: Floats, up: Floats, down: Floats) -> Floats:
        """The scale, shift and support of each coordinate, and its part in the scale of all: (4, n, m). In a joint law that
        is by E and E', which on few steps show a wrong energy with up to 36 times fewer draws."""
        shift, weights = _accepted(up) - _accepted(down), (_weight(up), _weight(down))
        scale = x * shift + (_accepted(up) + _accepted(down)) / 2
        scales = scale if self.law.apart is not None else 1 + x * (weights[0] - weights[1]) / 2
        return np.stack([scale, shift, sum(weights) / 2 - 1, scales])

    def _of_means(self, squares: Floats) -> Floats:
        """Mean squares of averages over coordinates of one law, of theirs, (n, m)."""
        means = self._pooled(squares.mean(axis=0, keepdims=True))[0]
        return means if self.law.groups is None else np.asarray(means / np.bincount(self.law.groups))

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
        (scale, _, _, scales), stretched = self._alone(x, up, down), x * (up - down) / 2
        whole = stretched.sum(axis=1) if law.apart is not None else law.degree * energy
        own = self._pooled((scale - scale.mean(axis=0)) * (stretched - stretched.mean(axis=0))).mean(axis=0)
        found = {name: sees * abs(float(moved)) for name, moved in zip(self._named("scale", len(own)), own, strict=True)}
        found["scale of all"] = sees * abs(float(np.cov(scales.mean(axis=1), whole)[0, 1]))
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
            return np.asarray(_accepted(up) - _accepted(down))
        for move, stride, step in zip(law.moves, law.strides, steps, strict=True):
            z = (pilot + step * move).astype(np.float64)
            here = law.energy(z)
            rising, falling = (_accepted(law.energy(z + way * stride * move) - here) for way in (1, -1))
            found.append(rising - falling)
        return np.column_stack(found)

    @staticmethod
    def _named(kind: str, count: int) -> list[str]:
        return [f"{kind} {k + 1}" if count > 1 else kind for k in range(count)]

    def _pooled(self, values: Floats) -> Floats:
        """Averages over coordinates of one law."""
        if (groups := self.law.groups) is None:
            return values
        return np.asarray(np.add.reduceat(values, np.flatnonzero(np.diff(groups, prepend=-1)), axis=1) / np.bincount(groups))

    def _joint(self, x: Floats, shift: Floats, scale: Floats) -> list[tuple[str, Floats]]:
        """Pairs of coordinates that are drawn jointly."""
        if not self.crossed or not self.law.basis:
            return []
        left, right = np.array(self.crossed).T
        return [
            ("crossed signs", np.hstack([x[:, left] * shift[:, right], x[:, right] * shift[:, left]])),
            ("crossed sizes", (np.abs(x[:, left]) - self.sizes[left]) * scale[:, right]),
        ]

    def _far(self, energy: Floats, up: Floats, down: Floats) -> list[Kind]:
        """Shells of the energy: what goes out of them comes in. Draws beyond are rarer than those that lead there."""
        found = np.zeros((len(energy), len(self.heights)))
        for rise in (up, down):
            accepted, there = _accepted(rise), energy[:, None] + rise
            for k, t in enumerate(self.heights):
                found[:, k] += (accepted * ((energy > t)[:, None].astype(float) - (there > t))).mean(axis=1) / 2
        out, largest = np.maximum(-found, 0.0), found.max(axis=0)
        squares = (out * (out + np.where(largest > 0, largest, 1.0))).mean(axis=0)
        return [("beyond a length", found, squares)]

    def _residues(self, draws: Integers, c: Floats, energy: Floats) -> list[Kind]:
        """Residues modulo 2 and 3 of the coordinates in a basis, and of their sum."""
        if not self.law.basis:
            return []
        whole, up, down = np.rint(c).astype(np.int64), np.zeros_like(c), np.zeros_like(c)
        if self.noisy_steps.any():
            rises = self.law.rises(draws, energy, np.ones(len(self.law.moves), dtype=np.int64))
            up, down = (np.where(self.noisy_steps, rise, 0.0) for rise in rises)

        def moved(here: NDArray[np.bool_], before: NDArray[np.bool_]) -> tuple[Floats, Floats]:
            values, rise = here * _accepted(up) - before * _accepted(down), np.where(here, up, down)
            return values, np.abs(values) * (1 + np.abs(values)) * np.heaviside(rise, 0.5)

        found: list[Kind] = []
        for q in (2, 3):
            for a in range(1, q):
                values, squares = moved(whole % q == a, (whole - 1) % q == a)
                found.append((f"residue {a} of {q}", self._pooled(values), self._of_means(squares)))
        odd = (whole.sum(axis=1) % 2 == 1)[:, None]
        values, squares = moved(odd, ~odd)
        found.append(("residue of sums", self._pooled(values), self._pooled(squares).mean(axis=0)))
        return found


def _weight(rise: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(-rise, -CLIP, CLIP)))


def _accepted(rise: Floats) -> Floats:
    return np.asarray(np.exp(-np.maximum(rise, 0.0)))


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
