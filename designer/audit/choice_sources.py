"""Choices among candidates: their law by its definition for public data, and what neighbours' laws differ by."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.audit.balance_tests import Integers, StatedLaw
from designer.audit.enumerated_laws import DEEP, balance_watch
from designer.audit.mean_tests import Columns, Source, in_a_row
from designer.audit.verdict import Finding, not_looked_at
from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.limits import MOST_TRUNCATED
from designer.mechanism.count_noise import Moves, Truncated
from designer.mechanism.staircase import StaircaseMechanism
from designer.mechanism.staircase_noise import Peaks, Stairs, coordinates
from designer.sampling.entropy import Entropy
from designer.sampling.integer_samplers import draw_from_table

if TYPE_CHECKING:
    from designer.local.mechanism import Channel
    from designer.selection.mechanism import Selection
    from designer.synthetic.multiplicative import MWEM
    from designer.synthetic.small_databases import SmallDB

NODES = 96  # of Gauss and Legendre: exact for polynomials of degree 191
MOST_NAMED = 40
SIZES = (0, 1, 2, 3, 6, 10, 30, 100, 300, 1000, 10_000)


def choice_law(name: str, gains: Floats) -> Floats:
    """The probabilities of candidates whose rates times scores are `gains`, (R,): by the formula of the exponential mechanism,
    or of permute-and-flip, `q_r` times the integral over t from 0 to 1 of the product over the others of `1 - t q_s`."""
    q = np.exp(gains - gains.max())
    if name == "exponential":
        return np.asarray(q / q.sum())
    t, weights = _nodes()
    left = 1 - np.multiply.outer(t, q)
    whole = np.log(np.maximum(left, 1e-300)).sum(axis=1)
    return np.asarray(q * (weights[:, None] * np.exp(whole[:, None] - np.log(np.maximum(left, 1e-300)))).sum(axis=0))


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Of Gauss and Legendre, on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return (nodes + 1) / 2, weights / 2


@dataclass(frozen=True, eq=False)
class ChoiceWatch:
    """Draws are indices of candidates whose law is known. gains: (R,), rate times score of each."""

    name: str
    gains: Floats

    def columns(self, draws: Any) -> Columns:
        """How often each candidate is chosen, the mean gain, and products of gains in a row."""
        chances = choice_law(self.name, self.gains)
        named = np.argsort(-chances)[:MOST_NAMED]
        hits = (draws[:, None] == named) - chances[named]
        centred = self.gains - float(chances @ self.gains)
        gain = centred[draws]
        spread = float(np.sqrt(chances @ centred**2))
        known = np.array([*np.sqrt(chances[named] * (1 - chances[named])), spread, spread**2])
        names = (*(f"choice of {k}" for k in named.tolist()), "scale", "in a row: scale")
        return Columns(names, np.column_stack([hits, gain, in_a_row(gain)]), known)

    def effects(self, pilot: Any, sees: float) -> Mapping[str, float]:
        """A rate that is wrong moves the mean gain."""
        wrong = choice_law(self.name, self.gains * (1 + sees))
        return {"scale": abs(float((wrong - choice_law(self.name, self.gains)) @ self.gains))}


def channel_source(made: Channel, entropy: Entropy) -> Source:
    """Reports of the value whose row is spread out most: its law tells most of the table."""
    logs = np.log(made.channel)
    place = int((-(made.channel * logs).sum(axis=1)).argmax())
    law = f"the row of element {place}, {logs.shape[1]} probabilities, as the spec has them"

    def draw(size: int) -> Any:
        return draw_from_table(made.numerators[place], size, entropy)

    return Source("report", law, draw, lambda pilot: ChoiceWatch("exponential", logs[place]))


def selection_source(made: Selection, seed: int | None) -> Source | None:
    """Choices for the public counts that tell most of the rate, of a few; None where none tells anything."""
    found = _telling_counts(made)
    if found is None:
        return None
    x, gains = found
    seeds = iter(range(seed, 10**9)) if seed is not None else None
    law = f"the {made.law} law of {len(gains)} candidates at public counts, by its definition"

    def draw(size: int) -> Any:
        return made.simulate(size, None if seeds is None else next(seeds), data=x).indices

    return Source("choice", law, draw, lambda pilot: ChoiceWatch(made.law, gains))


def _telling_counts(made: Selection) -> tuple[Any, Floats] | None:
    """Of counts of one or two elements those at which the gain varies most."""
    best: tuple[float, Any, Floats] = (1e-9, None, np.zeros(0))
    for x in few_counts(made.score.size):
        try:
            gains = selection_gains(made, x)
        except (InvalidProblem, ValueError, OverflowError):
            continue
        chances = choice_law(made.law, gains)
        told = float(chances @ gains**2 - (chances @ gains) ** 2)
        best = max(best, (told, x, gains), key=lambda entry: entry[0])
    return None if best[1] is None else (best[1], best[2])


def few_counts(size: int) -> Iterator[list[int]]:
    """Counts of one element, or of two."""
    for element in range(min(size, 8)):
        for many in SIZES:
            for rest in (0, 1, many):
                x = [0] * size
                x[element] = many
                x[(element + 1) % size] += rest
                yield x


def selection_gains(made: Selection, x: Sequence[int]) -> Floats:
    """Rate times score of each candidate."""
    scores, step = made.score.exact(np.array(x, dtype=np.int64))
    top = max(scores)
    return np.array([float(made.rate) * float((s - top) * step) for s in scores])


def gains_of_databases(made: SmallDB, x: Sequence[int]) -> Floats:
    """Minus the largest error of each candidate, at its rate: `1 / (2 c)` for every unit of an answer."""
    exact = made.queries.integers.astype(object) @ np.array(x, dtype=object)
    errors = np.abs(made.candidates.answers.astype(object) * made.records - exact * made.size).max(axis=1)
    rate = float(made.queries.rate * made.queries.step) / (2 * made.size)
    return np.array([-rate * float(error) for error in errors])


def small_db_source(made: SmallDB) -> Source:
    """Releases of public counts, told apart by their answers; the law by the errors of all candidates."""
    x = [made.records, *[0] * (made.queries.values.shape[1] - 1)]
    rows, gains = made.candidates.answers, gains_of_databases(made, x)
    place = {tuple(row): k for k, row in enumerate(rows.tolist())}
    unit = float(made.queries.step) * made.records / made.size

    def chosen() -> int:
        return place[tuple(np.rint(made.release(x).answers / unit).astype(np.int64).tolist())]

    def draw(size: int) -> Any:
        return np.array([chosen() for _ in range(size)])

    law = f"the {made.selection} law of {len(gains)} candidates at public counts, by its definition"
    return Source("choice", law, draw, lambda pilot: ChoiceWatch(made.selection, gains), width=2**11)


@dataclass(frozen=True, eq=False)
class RoundsWatch:
    """Draws are rows of one release each: the gain of every round's choice less its mean, its variance, and what moves it when
    rates are wrong; the score of every round's measurement."""

    shares: int

    def columns(self, draws: Any) -> Columns:
        """Sums over rounds, which are martingales, round by round for the first few, and products in a row."""
        gain, size, sign = draws[:, :, 0], draws[:, :, 1], draws[:, :, 2]
        sums = np.column_stack([gain.sum(axis=1), size.sum(axis=1), sign.sum(axis=1)])
        few = min(self.shares, 4)
        row = in_a_row(sums[:, :2])
        values = np.hstack([sums, gain[:, :few], size[:, :few], sign[:, :few], (gain * size).sum(axis=1, keepdims=True), row])
        kinds = ["scale of choices", "scale of measurements", "sign of measurements"]
        kinds += [f"{kind} {t + 1}" for kind in ("choice", "measurement", "sign") for t in range(few)]
        return Columns((*kinds, "choice and measurement", "in a row: choices", "in a row: measurements"), values)

    def effects(self, pilot: Any, sees: float) -> Mapping[str, float]:
        """The rates of all choices, or of all measurements."""
        return {
            "scale of choices": sees * float(pilot[:, :, 3].sum(axis=1).mean()),
            "scale of measurements": sees * float(pilot[:, :, 4].sum(axis=1).mean()),
        }


def mwem_source(made: MWEM) -> Source:
    """Releases of public counts, their rounds followed by the formulas of the mechanism."""
    x = np.zeros(made.queries.values.shape[1], dtype=np.int64)
    x[0] = made.records
    exact = made.queries.values @ x.astype(np.float64)

    def draw(size: int) -> Any:
        return np.array([_followed(made, exact, made.release(x).rounds) for _ in range(size)])

    law = (
        f"{made.rounds} rounds at public counts: choices by the {made.selection} law of errors, measurements by the Laplace law"
    )
    return Source("rounds", law, draw, lambda pilot: RoundsWatch(made.rounds), width=2**11)


def _followed(made: MWEM, exact: Floats, rounds: Sequence[Any]) -> Floats:
    """For each round the centred gain of the choice, the centred size and the sign of the measurement, the variance of the
    gain, and what a wrong rate moves the size by."""
    q = made.queries
    step, logs, found = float(q.step), np.zeros(q.values.shape[1]), []
    for (choice, measure), done in zip(made.shares, rounds, strict=True):
        weights = np.exp(logs - logs.max())
        answers = np.rint(q.values @ (weights / weights.sum()) * made.records / step) * step
        gains = np.abs(exact - answers) * float(choice) * float(q.rate) / 2
        chances = choice_law(made.selection, gains)
        mean = float(chances @ gains)
        variance = float(chances @ gains**2) - mean**2
        found.append([gains[done.query] - mean, *_measured(made, measure, exact, done), variance, 0.0])
        found[-1][4] = _moved(made, measure, done.query)
        row = q.values[done.query]
        logs = logs + made.rate * (done.measurement / made.records - float(row @ (weights / weights.sum()))) * row
    return np.array(found)


def _measured(made: MWEM, share: Any, exact: Floats, done: Any) -> tuple[float, float]:
    """`rate |z|` less its mean, and the sign of z; zeros for a query that is measured exactly."""
    weight = float(made.queries.weights[done.query])
    if np.isinf(weight):
        return 0.0, 0.0
    step = float(made.queries.step)
    rate = float(share) * weight * step
    z = (done.measurement - exact[done.query]) / step
    return rate * abs(z) - mean_size(rate), float(np.sign(z))


def mean_size(rate: float) -> float:
    """`E |rate z| = rate / sinh(rate)` under the discrete Laplace law of that rate."""
    return -2 * rate * math.exp(-rate) / math.expm1(-2 * rate)


def moved_size(rate: float) -> float:
    """`d E |rate z| / d log(scale) = rate^2 cosh(rate) / sinh(rate)^2`, the rate that multiplies z being fixed."""
    return mean_size(rate) * rate / math.tanh(rate)


def _moved(made: MWEM, share: Any, query: int) -> float:
    """What a wrong scale moves the size by; 0 for a query that is measured exactly."""
    weight = float(made.queries.weights[query])
    return 0.0 if np.isinf(weight) else moved_size(float(share) * weight * float(made.queries.step))


# The law of a staircase mechanism by its definition: the cheapest ways from its peaks, tabulated by Dijkstra's algorithm.
MOST_SETTLED = 60_000  # points whose heights are found
MOST_CELLS = 2**24  # of the box that holds them
Point = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Heights:
    """`unit h` on a box of doubled coordinates in the basis, twice as deep beyond. corner: (s,), the first point."""

    table: Floats
    corner: Integers

    def at(self, doubled: Integers) -> Floats:
        """The energies of points (n, s)."""
        place = doubled - self.corner
        inside = ((place >= 0) & (place < self.table.shape)).all(axis=1)
        found = np.full(len(doubled), 2 * DEEP)
        found[inside] = self.table[tuple(place[inside].T)]
        return found


def heights_of(made: StaircaseMechanism) -> Heights | None:
    """The table of a law of peaks; None where it would be too large."""
    noise = made.noise
    assert isinstance(noise, Peaks)
    led = coordinates([u.steps for u in made._differences], noise.basis)
    costs = [math.floor(u.budget / noise.unit) for u in made._differences]
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
    table = np.full(shape, 2 * DEEP)
    table[tuple((points - corner).T)] = levels * float(noise.unit)
    return Heights(table, corner)


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
    """The noise in steps of the grid (stairs), or in halves of the basis (peaks); what is not looked at."""
    if isinstance(made.noise, Stairs):
        return _stairs_source(made, made.noise, entropy), []
    if isinstance(made.noise, Moves):
        return _moves_source(made, made.noise, entropy), []
    if isinstance(made.noise, Truncated):
        return _truncated_source(made, made.noise, entropy), []
    heights = heights_of(made)
    if heights is None:
        reason = f"the law has more than {MOST_SETTLED} points above exp(-{DEEP:g}), too many to tabulate by definition"
        return None, [not_looked_at("noise", reason)]
    return _peaks_source(made, made.noise, heights, entropy), []


def _stairs_source(made: StaircaseMechanism, noise: Stairs, entropy: Entropy) -> Source:
    def energies(z: Floats) -> Floats:
        return np.asarray(float(noise.unit) * np.maximum(0.0, np.ceil((np.abs(z) - noise.top) / noise.width)))

    one = np.eye(1, dtype=np.int64)
    law = StatedLaw(lambda z: energies(z).sum(axis=1), one, np.eye(1), energies)
    words = "stairs of the frozen unit, width and top"
    return Source("noise", words, lambda size: made._drawn.draw(size, entropy), balance_watch(law))


FAR = 2**40  # in the place of counts that do not add up to 0


def _moves_source(made: StaircaseMechanism, noise: Moves, entropy: Entropy) -> Source:
    """All counts but the last, which follows from them."""
    size = noise.cells - 1

    def energy(z: Floats) -> Floats:
        return np.asarray(float(noise.unit) / 2 * (np.abs(z).sum(axis=1) + np.abs(z.sum(axis=1))))

    def draw(many: int) -> Integers:
        drawn = made._drawn.draw(many, entropy)
        return np.where(drawn.sum(axis=1, keepdims=True) == 0, drawn[:, :-1], FAR)

    def belongs(first: Integers) -> NDArray[np.bool_]:
        return np.asarray((first < FAR).all(axis=1))

    law = StatedLaw(energy, np.eye(size, dtype=np.int64), np.eye(size))
    words = "counts that add up to 0, by the frozen unit"
    return Source("noise", words, draw, balance_watch(law), belongs, "a vector that adds up to 0", size)


def _truncated_source(made: StaircaseMechanism, noise: Truncated, entropy: Entropy) -> Source:
    """Every count by itself; tails are those of the stated recursion, anew in floats."""
    known = {rate: _energies_of_tails(rate, noise.delta) for rate in dict.fromkeys(noise.rates)}
    longest = max(map(len, known.values()))
    table = np.full((len(noise.rates), longest + 1), DEEP)
    for k, rate in enumerate(noise.rates):
        table[k, : len(known[rate])] = known[rate]

    def energies(z: Floats) -> Floats:
        return np.asarray(table[np.arange(len(table)), np.minimum(np.abs(z), longest).astype(np.int64)])

    one = np.eye(len(table), dtype=np.int64)
    law = StatedLaw(lambda z: energies(z).sum(axis=1), one, one.astype(np.float64), energies)

    def belongs(drawn: Integers) -> NDArray[np.bool_]:
        return np.asarray((energies(drawn.astype(np.float64)) < DEEP).all(axis=1))

    words, size = "independent counts, by the frozen rates and delta", len(table)
    return Source("noise", words, lambda n: made._drawn.draw(n, entropy), balance_watch(law), belongs, "within the reach", size)


def _energies_of_tails(rate: float, delta: float) -> list[float]:
    """`log P(0) - log P(k)` for k = 0, 1, ..., as long as `P(k)` is above 0."""
    ratio = math.exp(-rate)
    tails = [ratio * (1 - delta) / (1 + ratio)]
    while tails[-1] > 0 and len(tails) <= MOST_TRUNCATED:
        tails.append(ratio * (tails[-1] - delta))
    tails = [max(tail, 0.0) for tail in tails]
    masses = [1 - 2 * tails[0], *(here - further for here, further in pairwise(tails))]
    return [math.log(masses[0] / mass) for mass in masses if mass > 0]


def _peaks_source(made: StaircaseMechanism, noise: Peaks, heights: Heights, entropy: Entropy) -> Source:
    """Draws as doubled coordinates; those off the coset are found first."""
    basis = np.array(noise.basis, dtype=np.int64)
    dual = np.linalg.inv(basis.astype(np.float64))
    halves = np.array(noise.halves)

    def draw(size: int) -> Integers:
        drawn = made._drawn.draw(size, entropy)
        doubled = np.rint(2 * (drawn @ dual)).astype(np.int64)
        off = (doubled @ basis != 2 * drawn).any(axis=1)
        doubled[off] = halves + 1  # no point of the coset
        return doubled

    size = len(basis)
    law = StatedLaw(
        lambda z: heights.at(np.rint(z).astype(np.int64)), 2 * np.eye(size, dtype=np.int64), np.eye(size) / 2, basis=False
    )
    words = f"the law by its definition, tabulated over {int((heights.table <= DEEP).sum())} points"
    belongs = lambda doubled: ((doubled - halves) % 2 == 0).all(axis=1)  # noqa: E731
    return Source("noise", words, draw, balance_watch(law), belongs, "a point of the frozen coset", size)
