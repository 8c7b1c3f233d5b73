"""The least factor at which a ratio that falls about in proportion comes down to 1: bracketed by two evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

LEAST, LARGEST = 1e-30, 1e30  # factors
MOST = 200  # evaluations


@dataclass(frozen=True)
class Bracket:
    """`ratio(met) <= 1 < ratio(missed)`, `met <= missed (1 + step)`: shown by evaluation, whatever lies between.

    evaluations: all factors that were tried, with their ratios, in order.
    """

    met: float
    missed: float
    evaluations: tuple[tuple[float, float], ...]


def least_factor(ratio: Callable[[float], float], step: float, start: float = 1.0) -> Bracket | None:
    """The bracket of relative width `step`; None where no factor from 1e-30 to 1e30 lies on each side of it.

    The next factor is where the last ratio would be 1 if it fell in proportion, a little beyond; a ratio that does not fall
    like that, such as one in steps, is followed by growing strides until both sides are known, and bisected. Where it rises
    and falls, some bracket is found, not the least of all.

    >>> found = least_factor(lambda factor: 7 / factor, 1e-4)
    >>> found.missed < 7 <= found.met, len(found.evaluations)
    (True, 3)
    """
    tried: list[tuple[float, float]] = []
    missed, met, factor = 0.0, math.inf, start
    while len(tried) < MOST and LEAST <= factor <= LARGEST:
        value = ratio(factor)
        tried.append((factor, value))
        if value <= 1:
            met = factor
        else:
            missed = factor
        if met <= missed * (1 + step):
            return Bracket(met, missed, tuple(tried))
        factor = _next(factor, value, missed, met, step, len(tried))
    return None


def _next(factor: float, value: float, missed: float, met: float, step: float, tries: int) -> float:
    """In proportion while that helps, within what is known; then the middle of what is known."""
    if not value:
        return met / 1e3 if not missed else math.sqrt(missed * met)
    guess, stride = factor * value * (1 + step / 3), _stride(step, tries)
    if value <= 1 and guess > met / (1 + step):
        guess = met / stride
    if value > 1 and math.isinf(met) and tries > 2:
        guess = max(guess, missed * stride)
    if math.isfinite(met) and missed and (tries > 8 or not missed < guess < met):
        return math.sqrt(missed * met)
    return guess


def _stride(step: float, tries: int) -> float:
    """One step, a little less; after three evaluations twice as many steps each time, up to a factor of 1,000."""
    return math.exp(min(0.999 * math.log1p(step) * 2.0 ** max(0, tries - 3), math.log(1e3)))
