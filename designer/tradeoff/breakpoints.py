"""Corners of piecewise linear tradeoff functions, as balls."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING

from solvers.exact.balls import exp_ball, rational_ball

if TYPE_CHECKING:
    from flint import arb

Kinks = tuple[tuple["arb", "arb"], ...]


def largest_gap(kinks: Kinks, slope: arb) -> arb:
    """`max over kinks of 1 - beta - slope alpha`: a concave function of alpha is largest at a corner."""
    gap: arb = reduce(lambda a, b: a.max(b), (1 - beta - slope * alpha for alpha, beta in kinks))
    return gap


def sorted_balls(balls: Sequence[arb]) -> list[arb]:
    """Balls in order, those that are not told apart as one that covers them."""
    kept: list[arb] = []
    for ball in sorted(balls, key=lambda b: float(b)):
        if not kept or not ball.overlaps(kept[-1]):
            kept.append(ball)
        else:
            kept[-1] = kept[-1].union(ball)
    return kept


def discrete_laplace_kinks(epsilon: Fraction, steps: int) -> Kinks:
    """Of discrete Laplace noise, `P(k)` proportional to `b^|k|`, `b = e^-epsilon`, against the same moved by `steps`.

    Its outcomes up to 0, those from `steps` on and each one between have a loss of their own. It is `f_epsilon` composed
    `steps` times: docs/theory/tradeoff.md, section 9.
    """
    ratio, one = exp_ball(-epsilon), rational_ball(Fraction(1))
    end, inner = 1 / (1 + ratio), (1 - ratio) / (1 + ratio)
    powers = list(accumulate([ratio] * steps, lambda power, b: power * b, initial=one))
    falling = [end * powers[steps], *(inner * power for power in powers[steps - 1 : 0 : -1])]
    alphas = list(accumulate(falling, initial=one * 0))
    betas = [1 - end, *alphas[-2::-1]] if steps > 1 else [1 - end, one * 0]
    return tuple(zip([*alphas, one], [one, *betas], strict=True))
