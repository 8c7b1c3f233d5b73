"""The law of a staircase mechanism by its definition: the cheapest ways from its peaks, tabulated by Dijkstra's algorithm."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from designer.audit.noise_sources import balance_watch
from designer.audit.stated_law import Integers, StatedLaw
from designer.audit.tally import Source
from designer.audit.verdict import Finding, not_looked_at, proven
from designer.base.arrays import Floats
from designer.mechanisms.staircase.differences import coordinates
from designer.mechanisms.staircase.mechanism import StaircaseMechanism
from designer.mechanisms.staircase.noise import Peaks, Stairs
from designer.sampling.entropy import Entropy

MOST_SETTLED = 60_000  # points whose heights are found
DEEP = 40.0  # fall of the law's logarithm that the table reaches
MOST_CELLS = 2**24  # of the box that holds them
Point = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Heights:
    """`unit h` on a box of doubled coordinates in the basis, infinite beyond. corner: (s,), the first point."""

    table: Floats
    corner: Integers
    moves: tuple[tuple[Point, int], ...]  # doubled coordinates and costs of all differences, both signs
    unit: float

    def at(self, doubled: Integers) -> Floats:
        """The energies of points (n, s)."""
        place = doubled - self.corner
        inside = ((place >= 0) & (place < self.table.shape)).all(axis=1)
        found = np.full(len(doubled), np.inf)
        found[inside] = self.table[tuple(place[inside].T)]
        return found


def heights_of(made: StaircaseMechanism) -> Heights | None:
    """The table of a law of peaks; None where it would be too large."""
    noise = made.noise
    assert isinstance(noise, Peaks)
    led = coordinates([u.steps for u in made.differences], noise.basis)
    costs = [math.floor(u.budget / noise.unit) for u in made.differences]
    pairs = zip(led, costs, strict=True)
    moves = tuple((tuple(2 * way * x for x in row), cost) for row, cost in pairs for way in (1, -1))
    settled = _settled(noise, moves, DEEP / float(noise.unit))
    if settled is None:
        return None
    points, levels = np.array(list(settled), dtype=np.int64), np.array(list(settled.values()), dtype=np.float64)
    corner = points.min(axis=0)
    shape = points.max(axis=0) - corner + 1
    if float(np.prod(shape.astype(float))) > MOST_CELLS:
        return None
    table = np.full(shape, np.inf)
    table[tuple((points - corner).T)] = levels * float(noise.unit)
    return Heights(table, corner, moves, float(noise.unit))


def _settled(noise: Peaks, moves: tuple[tuple[Point, int], ...], highest: float) -> dict[Point, int] | None:
    """Heights up to the highest, or None where there are too many points."""
    waiting = [(level, peak) for peak, level in zip(noise.peaks, noise.levels, strict=True)]
    heapq.heapify(waiting)
    settled: dict[Point, int] = {}
    while waiting:
        height, point = heapq.heappop(waiting)
        if height > highest:
            return settled
        if point in settled:
            continue
        if len(settled) == MOST_SETTLED:
            return None
        settled[point] = height
        for move, cost in moves:
            further = tuple(a + b for a, b in zip(point, move, strict=True))
            if further not in settled:
                heapq.heappush(waiting, (height + cost, further))
    return settled


def staircase_source(made: StaircaseMechanism, entropy: Entropy) -> tuple[Source | None, list[Finding]]:
    """The noise in steps of the grid (stairs), or in halves of the basis (peaks); what is enumerated on the way."""
    if isinstance(made.noise, Stairs):
        return _stairs_source(made, made.noise, entropy), [_stairs_enumerated(made, made.noise)]
    heights = heights_of(made)
    if heights is None:
        reason = f"the law has more than {MOST_SETTLED} points above exp(-{DEEP:g}), too many to tabulate by definition"
        return None, [not_looked_at("noise", reason)]
    return _peaks_source(made, made.noise, heights, entropy), [_peaks_enumerated(made, heights)]


def _stairs_source(made: StaircaseMechanism, noise: Stairs, entropy: Entropy) -> Source:
    def energies(z: Floats) -> Floats:
        return np.asarray(float(noise.unit) * np.maximum(0.0, np.ceil((np.abs(z) - noise.top) / noise.width)))

    one = np.eye(1, dtype=np.int64)
    law = StatedLaw(lambda z: energies(z).sum(axis=1), one, np.eye(1), energies)
    words = "stairs of the frozen unit, width and top"
    return Source("noise", words, lambda size: made.drawn.draw(size, entropy), balance_watch(law))


def _peaks_source(made: StaircaseMechanism, noise: Peaks, heights: Heights, entropy: Entropy) -> Source:
    """Draws as doubled coordinates; those off the coset are found first."""
    basis = np.array(noise.basis, dtype=np.int64)
    dual = np.linalg.inv(basis.astype(np.float64))
    halves = np.array(noise.halves)

    def draw(size: int) -> Integers:
        drawn = made.drawn.draw(size, entropy)
        doubled = np.rint(2 * (drawn @ dual)).astype(np.int64)
        off = (doubled @ basis != 2 * drawn).any(axis=1)
        doubled[off] = halves + 1  # no point of the coset
        return doubled

    size = len(basis)
    law = StatedLaw(
        lambda z: heights.at(np.rint(z).astype(np.int64)), 2 * np.eye(size, dtype=np.int64), np.eye(size) / 2, basis=False
    )
    words = f"the law by its definition, tabulated over {int(np.isfinite(heights.table).sum())} points"
    belongs = lambda doubled: ((doubled - halves) % 2 == 0).all(axis=1)  # noqa: E731
    return Source("noise", words, draw, balance_watch(law), belongs, "a point of the frozen coset", size)


def _stairs_enumerated(made: StaircaseMechanism, noise: Stairs) -> Finding:
    """Every protected difference at every place where a stair can end, in whole units."""
    edges = [noise.top + k * noise.width + d for k in range(3) for d in (-1, 0, 1)]

    def height(z: int) -> int:
        return max(0, -(-(abs(z) - noise.top) // noise.width))

    rises = [
        (max(abs(height(z + u.steps[0]) - height(z)) for edge in edges for z in (edge, -edge)), u.budget)
        for u in made.differences
    ]
    worst = max(noise.unit * rise / budget for rise, budget in rises)
    words = f"{len(rises)} protected differences at the ends of the stairs: the largest share of a budget is {float(worst):.9g}"
    return proven("law, enumerated", words, worst <= 1, largest=float(worst))


def _peaks_enumerated(made: StaircaseMechanism, heights: Heights) -> Finding:
    """Every protected difference at every tabulated point whose shifted point is tabulated too."""
    points = np.argwhere(np.isfinite(heights.table)) + heights.corner
    here = heights.at(points)
    worst = 0.0
    for move, cost in heights.moves:
        there = heights.at(points + np.array(move))
        rise = np.abs(there - here)[np.isfinite(there)].max(initial=0.0)
        worst = max(worst, float(rise) / (cost * heights.unit))
    words = (
        f"{len(points)} points and {len(heights.moves)} differences: the largest share of the whole units of a budget is "
        f"{worst:.9g}"
    )
    return proven("law, enumerated", words, worst <= 1 + 1e-9, largest=worst, points=len(points))
