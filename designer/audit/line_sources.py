"""The noise of tests of odds ratios: its distribution function by the recursion that makes it canonical."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from designer.audit.tally import Columns, Source
from designer.audit.verdict import Finding, proven
from designer.mechanisms.odds_ratio.odds_ratio_test import OddsRatioTest
from designer.promises.tradeoff import Gaussian, Tradeoff
from designer.sampling.entropy import Entropy
from designer.base.arrays import Floats

SHARES = (0.002, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98, 0.998)
TABLE_STEP = 2.0**-8
MOST_STEPS = 4096  # of the recursion
COARSE = 1 / 8  # of the enumerated outputs


def canonical_cdf(promise: Tradeoff, normal: bool) -> Callable[[Floats], Floats]:
    """F with `F(x) = f(F(x + 1))` to the left of -1/2 and symmetric, f in the paper's convention: linear between its fixed
    point and the mirror image of that, or normal."""
    if normal:
        assert isinstance(promise, Gaussian)
        from scipy.special import ndtr

        return lambda x: np.asarray(ndtr(x * float(promise.mu)))
    low = _fixed_point(promise)

    def left(x: Floats) -> Floats:
        steps = np.clip(np.ceil(-x - 0.5), 0, MOST_STEPS)
        inner = np.maximum(x + steps, -0.5)
        value = low + (1 - 2 * low) * (inner + 0.5)
        for k in range(int(steps.max(initial=0))):
            value = np.where(steps > k, promise.paper_convention(value), value)
        return np.asarray(value)

    return lambda x: np.where(x <= 0, left(-np.abs(x)), 1 - left(-np.abs(x)))


def _fixed_point(promise: Tradeoff) -> float:
    """c with `beta(c) = c`, by bisection."""
    low, high = 0.0, 0.5
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if float(promise.type_two(middle)) > middle else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, eq=False)
class LineWatch:
    """Draws are numbers of grid steps, each the noise rounded down. edges: (E,), where shares are counted."""

    step: float
    cdf: Callable[[Floats], Floats]
    edges: Floats  # in steps
    mean: float  # of the absolute middle of a step
    offset: bool

    @classmethod
    def of(cls, step: float, cdf: Callable[[Floats], Floats], pilot: Any) -> LineWatch:
        """From draws (n,) that are not tested again."""
        values = pilot.astype(np.float64)
        width = max(step, TABLE_STEP)
        far = 1.0 + float(np.abs(values).max()) * step * 3
        ends = np.arange(0, math.ceil(far / width) + 1) * width
        mean = 2 * float((np.diff(cdf(np.asarray(ends, dtype=np.float64))) * (ends[:-1] + width / 2)).sum())
        edges: Floats = np.unique(np.quantile(values, SHARES, method="lower")).astype(np.float64)
        return cls(step, cdf, edges, mean, step <= 2.0**-16)

    def columns(self, draws: Any) -> Columns:
        """Shares below edges, the mean size, the sign, and products in a row."""
        whole = draws.astype(np.float64)
        size, sign = np.abs(whole + 0.5) * self.step - self.mean, np.sign(whole + 0.5)
        shares = self.cdf(self.edges * self.step)
        kinds = [("scale", size), ("sign", sign)]
        kinds += [(f"below {share:.4f}", (whole < edge) - share) for edge, share in zip(self.edges, shares, strict=True)]
        kinds += [("in a row: scale", _next(size)), ("in a row: sign", _next(sign))]
        if self.offset:
            parts = np.array([int(z) % 6 for z in draws])
            kinds += [("residue of 2", parts % 2 - 0.5), ("residue of 3", parts % 3 - 1.0)]
        known = np.zeros(len(kinds))
        known[2 : 2 + len(shares)] = np.sqrt(shares * (1 - shares))
        return Columns(tuple(name for name, _ in kinds), np.column_stack([values for _, values in kinds]), known)

    def effects(self, pilot: Any, sees: float) -> Mapping[str, float]:
        """A scale moves the mean size in proportion."""
        return {"scale": sees * self.mean}


def _next(values: Floats) -> Floats:
    products = np.zeros_like(values)
    products[:-1] = values[:-1] * values[1:]
    return products


def odds_ratio_source(made: OddsRatioTest, entropy: Entropy) -> Source:
    """The noise of the count, in steps of the grid."""
    cdf = _cdf_of(made)
    step = 2.0**-made.exponent
    return Source(
        "noise",
        "the canonical law of the tradeoff function, by its recursion",
        lambda size: made.law.draw(size, made.exponent, entropy),
        lambda pilot: LineWatch.of(step, cdf, pilot),
    )


def _cdf_of(made: OddsRatioTest) -> Callable[[Floats], Floats]:
    closed = made.noise == "closed_form" and isinstance(made.tradeoff, Gaussian)
    return canonical_cdf(made.tradeoff, closed)


def enumerated_test(made: OddsRatioTest) -> Finding:
    """The best tests between two neighbours on a coarse grid of outputs, from the law's own balls: none beats the promise."""
    from solvers.exact.bits import working_precision

    half = min(64.0, 2 + 40 / max(1 - 2 * _fixed_point(made.tradeoff), 0.02))
    ends = np.arange(-half, half + 1.5, COARSE)
    with working_precision(128):
        below = np.array([float(made.law.ball(Fraction(float(x)))) for x in ends])
    cells = np.maximum(np.diff(below), 0.0)
    moved = round(1 / COARSE)
    first, second = cells[moved:], cells[:-moved]
    order = np.argsort(-(second / np.maximum(first, 1e-300)))
    alpha, power = np.cumsum(first[order]), np.cumsum(second[order])
    beta = np.clip(1 - power, 0.0, 1.0)
    gap = float((beta - made.tradeoff.type_two(np.clip(alpha, 0.0, 1.0))).min())
    words = (
        f"all best tests between two neighbours on a grid of {COARSE:g} ({len(cells)} outputs): errors of the second kind "
        f"exceed what is promised by {gap:.2g} or more (rounding 1e-9)"
    )
    return proven("law, enumerated", words, gap >= -1e-9, least_excess=gap)
