"""Intervals of the answers of a plan, from the laws of its noise (docs/theory/intervals.md, 6).

| query | interval |
| --- | --- |
| counts, distinct counts, sums | the quantile of the discrete Gaussian of each group |
| sums with Laplace noise | the quantile of the discrete law |
| Student noise | the quantile of the continuous law, which bounds the discrete one, and half a step |
| Gaussian noise on a logarithm or root | the quantile of the discrete Gaussian, taken back through the transformation |
| averages | Fieller's set of the noisy sum and the noisy count, within the public bounds of the measure |
| quantiles | none: the law bounds how many records the rank is off by, and that says nothing of values |

All numbers have noise of their own, so all are within their intervals at once with the product of the probabilities. Averages
follow from their sums and counts then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from designer.base.answer_table import ULP, Limits
from designer.base.arrays import Floats
from designer.base.printing import printed
from designer.sampling.integers.margins import gaussian_margin, laplace_margin
from designer.tables.answers import Answer, Answers
from designer.tables.measure import Measure
from designer.tables.other_noise import PureSum, SlowlyScaledSum
from designer.tables.quantile import Quantile
from designer.tables.queries import Additive, Aggregated, Average, Query

LAW = "quantiles of the discrete laws of independent noise; Fieller's set for averages; none for quantiles"
OF_QUANTILES = (
    "a quantile has none: the law of the selection bounds by how many records its rank is off, and which values those records "
    "have is confidential."
)
OF_FIELLER = 0.9  # of the probability that an average is missed with
CLEAR = 6  # deviations of its noise from which on a true count is told from 0
ROOMY = 1 + 1e-12


class Ends(NamedTuple):
    """Both ends of the intervals of the answers of one query, (G,) each."""

    lower: Floats
    upper: Floats


def limits_of_answers(
    queries: Sequence[Query], noisy: Sequence[Aggregated], released: Answers, level: float, simultaneous: bool
) -> Limits:
    """Intervals of all answers of all queries, in the order of the release; not a number for quantiles."""
    numbers = sum(len(released[part.name].keys) for part in noisy)
    share = -math.expm1(math.log(level) / max(1, numbers)) if simultaneous else 1 - level
    found = {part.name: ends_of_numbers(part, released[part.name], share) for part in noisy}
    for query in queries:
        if isinstance(query, Average):
            found[query.name] = _of_average(query, released, found, None if simultaneous else share)
        if isinstance(query, Quantile):
            unknown = np.full(len(released[query.name].keys), np.nan)
            found[query.name] = Ends(unknown, unknown)
    both = [found[name] for name in released.answers]
    return Limits(
        np.concatenate([own.lower for own in both]), np.concatenate([own.upper for own in both]), law_of(queries), OF_QUANTILES
    )


def law_of(queries: Sequence[Query]) -> str:
    """By which law, and of what: a sum or an average is of amounts that were clipped to the bounds of its measure."""
    summed = (query for query in queries if isinstance(query, (Aggregated, Average)))
    given = (getattr(query, "measure", None) for query in summed)
    measures = dict.fromkeys(measure for measure in given if isinstance(measure, Measure))
    clipped = (
        f"each interval of {printed(m.column)} is for the sum or the average of amounts clipped to [{m.lower}, {m.upper}], and "
        f"says nothing of what clipping took away: to know how many records lie outside, ask for a count where the column is "
        f"below {m.lower} or above {m.upper}"
        for m in measures
    )
    return "; ".join([LAW, *clipped])


def ends_of_numbers(query: Aggregated, answer: Answer, share: float) -> Ends:
    """Intervals of the noisy numbers of one query, each missed with probability `share` at most."""
    if isinstance(query, SlowlyScaledSum):
        return _of_slow(query, answer, share)
    if isinstance(query, PureSum):
        margins = np.full(len(answer.keys), float(laplace_margin(float(query.step / query.scale), share)))
    else:
        assert isinstance(query, Additive)
        variances = query.grid_variances(answer.keys)
        margins = np.broadcast_to([gaussian_margin(float(v), share) for v in variances], len(answer.keys))
    return _around(answer.values, np.floor(margins) * float(query.step))


def _around(values: Floats, margins: Floats) -> Ends:
    slack = ULP * (np.abs(values) + margins)
    exact = (values == np.rint(values)) & (margins == np.rint(margins)) & (np.abs(values) + margins < 2.0**53)
    slack = np.where(exact, 0.0, slack)
    return Ends(values - margins - slack, values + margins + slack)


def _of_slow(query: SlowlyScaledSum, answer: Answer, share: float) -> Ends:
    """Noise on a fine grid: the sum, or what a transformation makes of it, was rounded to it by half a step."""
    noise, step = query.noise, float(query.noise.step)
    places = np.array(answer.integers or (), dtype=np.float64)
    if not hasattr(noise, "deviation"):
        return _around(places * step, np.full(len(places), student_margin(float(noise.scale), noise.power, step, share)))
    reach = gaussian_margin(float((noise.deviation / noise.step) ** 2), share) + 0.5 + 1e-9
    lower, upper = ((places + side * reach) * step * (1 + side * np.sign(places) * 1e-12) for side in (-1, 1))
    least = -math.inf if query.measure.bounds[0] < 0 else 0.0
    low = np.where(lower > 0, _untransformed(noise, np.maximum(lower, 0.0)), least)
    return Ends(low, _untransformed(noise, np.maximum(upper, 0.0)))


@lru_cache(1024)
def student_margin(scale: float, power: int, step: float, share: float) -> float:
    """`P(|z| > m) <= P(|y| >= m) / (1 - w(0) / integral)`, y of the continuous law of the same weights, which fall from 0 on;
    and the half step that the sum was rounded by."""
    from scipy.stats import t

    degrees = 2 * power - 1
    heaviest = step / scale * float(t.pdf(0.0, degrees)) * math.sqrt(degrees)
    quantile = float(t.isf(share * (1 - heaviest) / 2, degrees)) / math.sqrt(degrees)
    return (scale * quantile + 1.5 * step) * (1 + 1e-9)


def _untransformed(noise: object, transformed: Floats) -> Floats:
    """The sum whose logarithm or root this is."""
    offset = float(noise.offset)  # type: ignore[attr-defined]
    with np.errstate(over="ignore"):
        if noise.shape == "log":  # type: ignore[attr-defined]
            return np.asarray(offset * np.expm1(transformed))
        return np.asarray(transformed * (transformed + 2 * math.sqrt(offset)))


def _of_average(query: Average, released: Answers, found: dict[str, Ends], share: float | None) -> Ends:
    """share: of misses, for each; None: where sum and count are within their intervals, which hold together."""
    sums, counts = query.parts
    least, most = (float(units * query.measure.step) for units in query.measure.bounds)
    if share is None:
        made = _quotients(found[sums.name], found[counts.name])
    else:
        made = _of_both(query, released[sums.name], released[counts.name], share)
    lower, upper = (np.clip(ends, least, most) for ends in made)
    empty = made.lower > made.upper
    return Ends(np.where(empty, least, lower), np.where(empty, most, upper))


def _quotients(sums: Ends, counts: Ends) -> Ends:
    """All quotients of a sum and a count, at least 1, within their intervals."""
    least, most = np.maximum(counts.lower, 1.0), np.maximum(counts.upper, 1.0)
    lower = np.where(sums.lower >= 0, sums.lower / most, sums.lower / least)
    upper = np.where(sums.upper >= 0, sums.upper / least, sums.upper / most)
    return Ends(lower - ULP * np.abs(lower), upper + ULP * np.abs(upper))


def _of_both(query: Average, sums: Answer, counts: Answer, share: float) -> Ends:
    """The quotients that a test of each accepts, which depends on the true count alone (docs/theory/intervals.md, 6): from
    `CLEAR` deviations on Fieller's, missed with 9/10 of the share, within the quotients of what both may be, with the rest;
    below, where Fieller's set has no end, those of a sum and a count within margins of one level."""
    parts = query.parts
    of_count = np.broadcast_to([float(v) for v in parts[1].grid_variances(counts.keys)], len(counts.keys))
    clear = CLEAR * np.sqrt(of_count)

    def ends(missed: float) -> tuple[Ends, Ends]:
        return ends_of_numbers(parts[0], sums, missed), ends_of_numbers(parts[1], counts, missed)

    few_sums, few = ends(-math.expm1(math.log1p(-share) / 2))
    many_sums, many = ends((1 - OF_FIELLER) * share / 2)
    below = _quotients(few_sums, Ends(few.lower, np.minimum(few.upper, clear)))
    beyond = _quotients(many_sums, Ends(np.maximum(many.lower, clear), many.upper))
    own = _fieller(query, sums, counts, OF_FIELLER * share)
    is_few, is_many = few.lower < clear, many.upper >= clear
    return Ends(
        np.minimum(np.where(is_few, below.lower, np.inf), np.where(is_many, np.maximum(own.lower, beyond.lower), np.inf)),
        np.maximum(np.where(is_few, below.upper, -np.inf), np.where(is_many, np.minimum(own.upper, beyond.upper), -np.inf)),
    )


def _fieller(query: Average, sums: Answer, counts: Answer, share: float) -> Ends:
    """The t for which `(s - t c)^2 <= k^2 (v_s + t^2 v_c)`: the noise of `s - t c`, t the true average, is within k of its
    deviations with probability 1 - share (docs/theory/intervals.md, 6); everything where the count may be 0."""
    of_sum, of_count = (
        np.broadcast_to([float(v) for v in part.grid_variances(answer.keys)], len(answer.keys))
        for part, answer in zip(query.parts, (sums, counts), strict=True)
    )
    k = two_gaussians(of_sum, of_count, share)
    s, c = sums.values, counts.values
    v, w = of_sum * float(query.measure.step) ** 2, of_count
    square = c**2 - k**2 * w
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(s**2 * k**2 * w + c**2 * k**2 * v - k**4 * v * w, 0.0))
        lower, upper = (s * c - root) / square, (s * c + root) / square
    known = (square > 0) & (c > 0)
    slack = 1e-9 * (np.abs(lower) + np.abs(upper))
    return Ends(np.where(known, lower - slack, -np.inf), np.where(known, upper + slack, np.inf))


def two_gaussians(one: Floats, other: Floats, share: float) -> Floats:
    """k, (G,), with `P(|a y + b z| > k sqrt(a^2 v + b^2 w)) <= share` for all a and b, y and z discrete Gaussians of the
    parameters v and w in steps: by cells, or by moments.

    one, other: v and w, (G,). By cells: half a step each leads at most `sqrt(1/v + 1/w) / 2` deviations on.
    """
    from scipy.stats import norm

    apart = 1 / one + 1 / other
    by_cells = norm.isf(share * np.exp(-apart / 8) / 2) + np.sqrt(apart) / 2
    return np.asarray(np.minimum(by_cells, math.sqrt(2 * math.log(2 / share))) * ROOMY)
