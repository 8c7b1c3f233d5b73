"""Means of statistics that should be 0, and the verdict on them: how many draws are needed, drawn, and what they show."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.audit.verdict import Finding, TestPower, not_looked_at, tested
from designer.base.arrays import Floats
from designer.base.progress import announce, track

PILOT = 2**14
MARGIN = 1.05  # on the draws that are needed: effects are known from a pilot
BATCH_NUMBERS = 2**18  # statistics computed together: what caches hold
ROUNDING = 1e-9
LEAST_DRAWS = 32
UNDECLARED = 2**17  # draws for statistics without a declared error


@dataclass(frozen=True)
class Columns:
    """Statistics of a batch of draws, (n, T), each of mean 0 under the law, and what each of them looks for.
    deviations: (T,), which they have at least where the law gives them; 0 elsewhere."""

    names: tuple[str, ...]
    values: Floats
    deviations: Floats | None = None


def in_a_row(values: Floats) -> Floats:
    """Products of draws that follow each other; the last has none."""
    products = np.zeros_like(values)
    products[:-1] = values[:-1] * values[1:]
    return products


class Watch(Protocol):
    """Statistics that know a law."""

    def columns(self, draws: Any) -> Columns:
        """The statistics of a batch."""

    def effects(self, pilot: Any, sees: float) -> Mapping[str, float]:
        """How far errors of the share `sees` move the means of some of them."""


@dataclass(frozen=True, eq=False)
class Source:
    """Draws of one part of a frozen object with what they are compared with.

    draw: (size) to that many draws, as a release has them. watch: the statistics, from the draws of a pilot. belongs: for each
    draw whether it is of the set of all possible draws; a single one that is not fails, (n,) booleans. set_words: that set.
    """

    name: str
    law_words: str
    draw: Callable[[int], Any]
    watch: Callable[[Any], Watch]
    belongs: Callable[[Any], NDArray[np.bool_]] | None = None
    set_words: str = ""
    width: int = 1  # numbers in a draw

    @property
    def pilot(self) -> int:
        """Draws that fix thresholds and are not tested again."""
        return int(min(PILOT, max(32, BATCH_NUMBERS // self.width)))


@dataclass(eq=False)
class Tally:
    """Running sums of powers of the statistics: sums (3, T), least (T,) of the squares."""

    names: tuple[str, ...] = ()
    count: int = 0
    sums: Floats = field(default_factory=lambda: np.zeros((3, 0)))
    least: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, found: Columns) -> None:
        """A further batch."""
        values = found.values
        squares = values * values
        powers = np.array([values.sum(axis=0), squares.sum(axis=0), np.einsum("nt,nt->t", squares, values)])
        self.names, self.count = found.names, self.count + len(found.values)
        self.sums = powers if not self.sums.size else self.sums + powers
        least = np.zeros(len(found.names)) if found.deviations is None else len(values) * found.deviations**2
        self.least = least if not self.least.size else self.least + least

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the single statistics, (T,)."""
        mean, square = self.sums[0] / self.count, self.sums[1] / self.count
        return np.asarray(np.sqrt(np.maximum(square - mean**2, self.least / self.count)))

    def scores(self) -> Floats:
        """Means in standard errors, (T,)."""
        mean, spread = self.sums[0] / self.count, self.deviations
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.abs(mean) * math.sqrt(self.count) / spread
        return np.asarray(np.where(np.abs(mean) <= ROUNDING, 0.0, found))

    def limits(self, quantile: float) -> Floats:
        """What scores must not exceed, (T,): the quantile, and what skewness adds (Cornish and Fisher, on the safe side)."""
        m1, m2, m3 = self.sums / self.count
        spread = self.deviations
        with np.errstate(divide="ignore", invalid="ignore"):
            skew = np.abs(m3 - 3 * m1 * m2 + 2 * m1**3) / spread**3 / math.sqrt(self.count)
        skew = np.where(np.isfinite(skew), skew, 0.0)
        return np.asarray(quantile + skew * (quantile**2 - 1) / 6 + skew**2 * quantile**3 / 18)


@dataclass(frozen=True)
class Sharpness:
    """How sharp the statistics of one source are: the draws that the declared power takes, those made, what they reach."""

    needed: int
    draws: int
    worst: str
    probability: float
    sees: float

    @property
    def words(self) -> str:
        """For the verdict."""
        if not self.worst:
            return f"{self.draws} draws, no power declared"
        return (
            f"{self.draws} draws of {self.needed} that the declared power takes ({self.worst} takes most): an error of the "
            f"declared size is seen with probability {self.probability:.4g}"
            + ("" if self.draws >= self.needed else f"; one of {100 * self.sees:.3g} % with the declared probability")
        )


def needed_draws(effects: Mapping[str, float], tally: Tally, power: TestPower) -> tuple[int, str]:
    """The draws at which every declared error is seen with the declared probability, and which of them takes most."""
    place = {name: k for k, name in enumerate(tally.names)}
    quantile, further = power.quantiles(len(tally.names))
    spread = tally.deviations
    worst, most = "", LEAST_DRAWS if effects else UNDECLARED
    for name, effect in effects.items():
        ratio = (quantile + further) * float(spread[place[name]]) / effect if effect > 0 else math.inf
        count = math.ceil(MARGIN * min(ratio, 1e9) ** 2)
        if count > most:
            worst, most = name, count
    return most, worst


def watched(source: Source, power: TestPower, seconds: float, most: int | None = None) -> list[Finding]:
    """The findings about one source: as many draws as the power takes, or as the time allows."""
    start = time.perf_counter()
    pilot = _pilot(source, start + seconds / 8)
    if outside := _outside(source, pilot):
        return [outside]
    watch = source.watch(pilot)
    tally, first = Tally(), time.perf_counter()
    tally.add(watch.columns(pilot))
    cost = max(time.perf_counter() - start, 2 * (time.perf_counter() - first)) / len(pilot)
    effects = watch.effects(pilot, power.sees)
    needed, worst = needed_draws(effects, tally, power)
    target = min(needed, most or needed)
    if target * cost > 2:
        announce(f"{source.name}: {target} draws, about {min(target * cost, seconds):.0f} s of {seconds:.0f}")
    if not tally.names:
        return [not_looked_at(source.name, "all noise is so much narrower than a step that draws tell nothing")]
    at_once = max(16, int(seconds / (8 * cost)))
    tally, failed = _drawn(source, watch, target, start + seconds, min(at_once, _batch(source, len(tally.names))))
    if failed:
        return [failed]
    if tally.count < LEAST_DRAWS:
        return [not_looked_at(source.name, f"no time: a draw takes about {1000 * cost:.3g} ms; give more seconds")]
    return [_judged(source, tally, power, effects, needed, worst)]


def _pilot(source: Source, until: float) -> Any:
    """The draws that fix thresholds, fewer where they take long."""
    pilot, start = source.draw(min(source.pilot, 256)), time.perf_counter()
    while len(pilot) < source.pilot and time.perf_counter() + (time.perf_counter() - start) < until:
        pilot = np.concatenate([pilot, source.draw(min(source.pilot - len(pilot), 3 * len(pilot)))])
    return pilot


def _batch(source: Source, width: int) -> int:
    """Draws whose statistics are computed together."""
    return max(16, min(2**16, BATCH_NUMBERS // max(width, 2 * source.width)))


def _drawn(source: Source, watch: Watch, target: int, until: float, batch: int) -> tuple[Tally, Finding | None]:
    """The sums over fresh draws, until there are enough or the time is over."""
    tally = Tally()
    for _ in track(range(-(-target // batch)), f"drawing {source.name}"):
        if time.perf_counter() > until:
            break
        draws = source.draw(min(batch, target - tally.count))
        if outside := _outside(source, draws):
            return tally, outside
        tally.add(watch.columns(draws))
    return tally, None


def _outside(source: Source, draws: Any) -> Finding | None:
    """The failure of draws that no correct sampler makes."""
    if source.belongs is None or (inside := source.belongs(draws)).all():
        return None
    share = f"{int((~inside).sum())} of {len(inside)} draws are not {source.set_words}"
    return tested(f"{source.name}: reachable outputs", share, False, draws=len(inside))


def _judged(source: Source, tally: Tally, power: TestPower, effects: Mapping[str, float], needed: int, worst: str) -> Finding:
    """The line about the statistics of one source."""
    quantile, further = power.quantiles(len(tally.names))
    scores, limits = tally.scores(), tally.limits(quantile)
    wrong = np.flatnonzero(scores > limits)
    place = {name: k for k, name in enumerate(tally.names)}
    spread = tally.deviations
    errors = [effect * math.sqrt(tally.count) / max(float(spread[place[name]]), 1e-300) for name, effect in effects.items()]
    least = min(errors, default=math.inf)
    sees = power.sees * (quantile + further) / max(least, 1e-300)
    reached = Sharpness(needed, tally.count, worst, power.reached(len(tally.names), least), sees)
    k = int((scores - limits).argmax())
    words = f"{len(tally.names)} statistics of {source.law_words}; {reached.words}; the largest is {scores[k]:.2f} standard "
    words += f"errors ({tally.names[k]}), {limits[k]:.2f} are allowed"
    if len(wrong):
        listed = sorted(wrong, key=lambda i: -scores[i])[:4]
        words += "; rejected by " + ", ".join(f"{tally.names[i]} ({scores[i]:.1f})" for i in listed)
    if source.belongs is not None:
        words += f"; every draw is {source.set_words}"
    numbers = {
        "draws": tally.count,
        "false_alarm": power.false_alarm,
        "needed": needed,
        "statistics": len(tally.names),
        "power": reached.probability if effects else None,
        "sees": min(sees, 1e9) if effects else None,
        "largest": float(min(scores[k], 1e9)),
        "allowed": float(limits[k]),
        "rejected_by": [tally.names[i] for i in wrong.tolist()],
    }
    return tested(source.name, words, not len(wrong), **numbers)
