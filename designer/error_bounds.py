"""Error bounds that hold for every histogram of n records, bias and noise apart (DX Theorem 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from designer.errors import InvalidProblem
from designer.frozen import Floats


@dataclass(frozen=True)
class ErrorBounds:
    """Upper bounds for `Z - Q x`, x any histogram of n records, Z the release. Each is (bias part, noise part) and their sum.

    squared: `E ||Z - Qx||_2^2 <= 2 n^2 ||P - Q||_2^2 + 4 ||c||_2^2`, P the effective matrix, the norm over all entries.
    l1, l2, linf: `E ||Z - Qx||_p <= n ||P - Q||_p + E ||Y||_p`. high_probability: l-infinity with probability at least 1 - delta.
    """

    n: float
    delta: float
    squared: float
    l1: float
    l2: float
    linf: float
    high_probability: float


def laplace_error_bounds(bias: Floats, scales: Floats, n: float, delta: float, steps: Floats) -> ErrorBounds:
    """The bounds for Laplace noise of the given scales on grids of the given steps; bias = P - Q of shape (K, N).

    `E||Y||_1 = sum c`; `E||Y||_2 <= sqrt(2) ||c||_2` (Jensen); `E||Y||_inf <= max c * H_K`, because |Y_k| / c_k are K standard
    exponentials whose largest has mean H_K = 1 + 1/2 + ... + 1/K. Noise on the grid has smaller moments: its E|Y| is
    `step / sinh(step / c) <= c`, its variance `step^2 / (2 sinh^2(step / 2c)) <= 2 c^2`. Its tail is that of a magnitude at most one
    step longer: `P(|Y| >= m step) = 2 a^m / (1 + a) <= a^(m - 1)`, a = exp(-step / c), hence the largest step in the last two bounds.
    """
    if not 0 < delta <= 1:
        raise InvalidProblem(f"delta: {delta} is not a probability in (0, 1].")
    queries, largest = len(scales), float(scales.max())
    step = float(steps[scales > 0].max(initial=0.0))
    harmonic = float((1 / np.arange(1, queries + 1)).sum())
    entries = np.abs(bias)
    return ErrorBounds(
        n=n,
        delta=delta,
        squared=2 * n**2 * float((bias**2).sum()) + 4 * float((scales**2).sum()),
        l1=n * float(entries.sum()) + float(scales.sum()),
        l2=n * math.sqrt(float((bias**2).sum())) + math.sqrt(2 * float((scales**2).sum())),
        linf=n * float(entries.max()) + largest * harmonic + step,
        high_probability=n * float(entries.max()) + math.log(queries / delta) * largest + step,
    )
