"""Ratios, differences and quantiles of released answers with intervals by the joint law of the noise: post-processing.

Let U = u + X and V = v + Y be released sums with noise (X, Y), and r = u / v. Then U - r V = X - r Y, whose law is known for
each r. So the numbers r with |U - r V| within the quantile of |X - r Y| at the level hold u / v with that probability, whatever
the data are (Fieller 1954). The quantile is an order statistic of repeatable draws of the exact sampler, too low with
probability 1e-9 (docs/theory/intervals.md, 3). It is compared at all r at once: draw i counts against r where
|X_i - r Y_i| < |U - r V|, which turns at (U - X_i) / (V - Y_i) and (U + X_i) / (V + Y_i) alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from designer.base.answer_table import LEVEL
from designer.base.arrays import Floats, frozen
from designer.base.checks import meant, probability, shown
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism, Released
from designer.sampling.entropy import SeededEntropy
from designer.sampling.margins import FAILURE, ROOMY, affordable, safe_rank, seed_of

LARGEST_SAMPLE = 20_000  # draws; more move the ends by less than 2 %
Weights = str | Mapping[str, float]  # an answer by its name, or a weighted sum of answers


@dataclass(frozen=True)
class DerivedAnswer:
    """A number computed from released answers, and an interval that holds it without noise with probability `level`.

    value: None where it is no number. lower, upper: infinite where the answers leave it open. law: in a sentence.
    """

    value: float | None
    lower: float
    upper: float
    level: float
    law: str


def ratio(
    mechanism: FrozenMechanism, released: Released, numerator: Weights, denominator: Weights, level: float = LEVEL
) -> DerivedAnswer:
    """Divide one released sum by another: a mean, a rate, a share of a total. Raises `InvalidProblem` for an unknown answer,
    for biased answers, and where the noise cannot be drawn often enough.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    released : what a release of the mechanism returned.
    numerator : the name of an answer, or weights of answers by name.
    denominator : the same; without noise it must not be 0.
    level : of the interval, between 0 and 1.
    """
    sums = np.stack([_weights(released, numerator, "numerator"), _weights(released, denominator, "denominator")])
    noise, rank, law = _noise(mechanism, released, sums, probability(level, "level"), 0)
    above, below = (sums @ _answers(released)).tolist()
    lower, upper = _ratio_limits(above, below, noise[:, 0], noise[:, 1], rank)
    return DerivedAnswer(above / below if below else None, lower, upper, level, law)


def difference(
    mechanism: FrozenMechanism,
    released: Released,
    other: FrozenMechanism,
    other_released: Released,
    answer: Weights,
    level: float = LEVEL,
) -> DerivedAnswer:
    """Subtract a released sum from the same sum of another release, whose noise is independent: a change between two periods.
    Raises `InvalidProblem` as `ratio` does.

    Parameters
    ----------
    mechanism : of the later release.
    released : the later release.
    other : the mechanism of the earlier release.
    other_released : the earlier release, another one.
    answer : the name of an answer of both, or weights of answers by name.
    level : of the interval, between 0 and 1.
    """
    if other_released is released:
        raise InvalidProblem("other_released: is the same release, whose noise cancels; give another one.")
    level = probability(level, "level")
    later, earlier = _weights(released, answer, "answer")[None], _weights(other_released, answer, "answer")[None]
    noise, rank, law = _noise(mechanism, released, later, level, 0)
    beside, other_rank, _ = _noise(other, other_released, earlier, level, 1)
    if len(beside) != len(noise):
        draws = min(len(beside), len(noise))
        noise, beside, rank = noise[:draws], beside[:draws], rank if len(noise) == draws else other_rank
    margin = float(np.partition(np.abs(noise[:, 0] - beside[:, 0]), rank - 1)[rank - 1]) * ROOMY
    value = float((later @ _answers(released) - earlier @ _answers(other_released))[0])
    return DerivedAnswer(value, value - margin, value + margin, level, law)


def quantile(
    mechanism: FrozenMechanism,
    released: Released,
    counts: Sequence[Weights],
    values: Sequence[float],
    q: float = 0.5,
    level: float = LEVEL,
) -> DerivedAnswer:
    """Find the q-quantile of all records that were counted: the least value that at least a share q of them does not exceed.

    The interval holds the values that two tests do not reject, each with half of what the level leaves. A value is rejected
    where the records up to it are too few, or those up to the value before it too many. Raises `InvalidProblem` as `ratio`
    does.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    released : what a release of the mechanism returned.
    counts : of the records at each value, or above the value before and up to it: names of answers, or weights of answers.
    values : rising, one for each count.
    q : between 0 and 1.
    level : of the interval, between 0 and 1.
    """
    q, level = probability(q, "q"), probability(level, "level")
    if not len(counts) == len(values) > 0 or not all(low < high for low, high in pairwise(values)):
        raise InvalidProblem("values: do not rise, or are not one for each count; give the upper end of each group, in order.")
    cells = np.stack([_weights(released, one, f"counts[{k}]") for k, one in enumerate(counts)])
    sums = np.cumsum(cells, axis=0) - q * cells.sum(axis=0)
    noise, rank, law = _noise(mechanism, released, sums, (1 + level) / 2, 0)
    above = sums @ _answers(released)
    lowest, highest = (np.partition(side, rank - 1, axis=0)[rank - 1] * ROOMY for side in (-noise, noise))
    slack = ROOMY - 1
    enough = above >= -lowest - slack * np.abs(above)
    before = np.append(True, (above < highest + slack * np.abs(above))[:-1])
    found = int(np.argmax(above >= 0)) if (above >= 0).any() else len(values) - 1
    kept = np.append(np.flatnonzero(enough & before), found)
    return DerivedAnswer(float(values[found]), float(values[kept.min()]), float(values[kept.max()]), level, law)


def _answers(released: Released) -> Floats:
    return np.concatenate([table.answers for table in released.answer_tables()])


def _weights(released: Released, given: Weights, field: str) -> Floats:
    """The weight of each answer of a release."""
    names = list(getattr(released, "queries", ())) or [name for table in released.answer_tables() for name in table.names()]
    places, weights = {name: k for k, name in enumerate(names)}, np.zeros(len(names))
    for name, weight in ({given: 1.0} if isinstance(given, str) else given).items():
        if name not in places:
            raise InvalidProblem(
                f"{field}: {shown(name)} is no answer; {meant(name, names)}use one of {shown(names)}.", value=name
            )
        if not math.isfinite(weight):
            raise InvalidProblem(
                f"{field}: the weight of {shown(name)} is {shown(weight)}, not finite; give a number.", value=weight
            )
        weights[places[name]] = weight
    return weights


def _noise(mechanism: Any, released: Released, sums: Floats, level: float, stream: int) -> tuple[Floats, int, str]:
    """Draws of the noise in some sums of answers, (draws, sums), the rank of a safe order statistic, and both in words."""
    if released.fingerprint != mechanism.fingerprint:
        raise InvalidProblem("released: was made by another mechanism; give the one whose fingerprint it names.")
    if getattr(mechanism, "biased", None):
        raise InvalidProblem(
            "mechanism: its answers are biased, so no interval is known; design an unbiased one, or give the answers alone."
        )
    law = getattr(released, "law", None)
    made = law if hasattr(law, "noise_in_answers") else mechanism  # answers that were made to agree have less noise
    answers = sums.shape[1]
    draws = min(LARGEST_SAMPLE, affordable(answers, answers))
    rank = safe_rank(draws, level, FAILURE)
    if rank is None:
        raise InvalidProblem(f"level: {draws:,} draws of {answers:,} answers are too few for {level:g}; ask for a lower level.")
    words = f"{draws:,} repeatable draws of the joint noise, an order statistic too low with probability {FAILURE:g}"
    return _drawn(made, draws, stream) @ sums.T, rank, words


@lru_cache(maxsize=2)
def _drawn(mechanism: Any, draws: int, stream: int) -> Floats:
    """Draws of the noise in all answers, (draws, K), at most 32 MB."""
    draw = getattr(mechanism, "noise_in_answers", None)
    if draw is None and hasattr(mechanism, "_noise_reach"):
        draw = mechanism._noise_reach().draw
    if draw is None:
        raise InvalidProblem(
            f"mechanism: the noise of {mechanism.format!r} cannot be drawn in all answers; use intervals of each answer."
        )
    entropy = SeededEntropy(seed_of(mechanism.fingerprint) + 2 + stream)
    return frozen(draw(draws, entropy))


def _ratio_limits(above: float, below: float, x: Floats, y: Floats, rank: int) -> tuple[float, float]:
    """The least and the largest r against which fewer than `rank` draws count."""
    outside = np.abs(y) < abs(below)  # the draw counts against every r beyond both of its ends; else against those between them
    if outside.sum() < rank:
        return -math.inf, math.inf
    inside = np.abs(y) > abs(below)
    turns = outside | inside
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort(np.stack([(above - x) / (below - y), (above + x) / (below + y)]), axis=0)[:, turns]
    steps = np.where(outside[turns], -1, 1)

    def reach(far: Floats, near: Floats) -> float:
        """Coming from infinity, where fewer than `rank` draws count for the first time."""
        at, by = np.concatenate([far, near]), np.concatenate([steps, -steps])
        order = np.argsort(-at, kind="stable")
        at, counts = at[order], int(outside.sum()) + np.cumsum(by[order])
        return float(at[np.argmax(counts < rank)])

    lower, upper = -reach(-ends[0], -ends[1]), reach(ends[1], ends[0])
    slack = (ROOMY - 1) * max(abs(lower), abs(upper))
    return lower - slack, upper + slack
