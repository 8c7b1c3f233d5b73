"""Error bounds that hold for every histogram of n records, bias and noise apart (DX Theorem 2, and beyond Laplace noise)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from designer.errors import InvalidProblem
from designer.frozen import Floats
from designer.norms import Gauge

if TYPE_CHECKING:
    from designer.mechanism import Mechanism


@dataclass(frozen=True)
class ErrorBounds:
    """Upper bounds for `Z - Q x`, x any histogram of n records, Z the release, P the effective matrix, Y the noise.

    squared: `E ||Z - Qx||_2^2 <= 2 n^2 ||P - Q||_2^2 + 2 E ||Y||_2^2`, norms over all entries.
    l1, l2, linf: `E ||Z - Qx||_p <= n ||P - Q||_p + E ||Y||_p`. high_probability: l-infinity with probability at least 1 - delta.
    bias: the parts of l1, l2 and linf that come from P - Q: n times the sum, the root of the sum of squares and the largest entry.
    """

    n: float
    delta: float
    squared: float
    l1: float
    l2: float
    linf: float
    high_probability: float
    bias: tuple[float, float, float]


def error_bounds(mechanism: Mechanism, n: float, delta: float) -> ErrorBounds:
    """The bounds for a mechanism: those of DX Theorem 2 where the answers carry independent Laplace noise, `joint_noise` elsewhere."""
    if not 0 < delta <= 1:
        raise InvalidProblem(f"delta: {delta} is not a probability in (0, 1].")
    entries = np.abs(mechanism.effective - mechanism.workload.dense())
    bias = (n * float(entries.sum()), n * math.sqrt(float((entries**2).sum())), n * float(entries.max()))
    plain = mechanism.norm.order == "l1" and mechanism.norm.map.ndim == 1 and mechanism.reconstruction is None
    noise = laplace_noise(mechanism.scales, mechanism.grid.steps, delta) if plain else joint_noise(mechanism, delta)
    squared, l1, l2, linf, tail = noise
    return ErrorBounds(
        n, delta, 2 * bias[1] ** 2 + 2 * squared, bias[0] + l1, bias[1] + l2, bias[2] + linf, bias[2] + tail, bias
    )


def laplace_noise(scales: Floats, steps: Floats, delta: float) -> tuple[float, float, float, float, float]:
    """Bounds of `E||Y||_2^2`, `E||Y||_1`, `E||Y||_2`, `E||Y||_inf` and the 1 - delta quantile of `||Y||_inf`.

    `E||Y||_2^2 <= 2 ||c||_2^2`, `E||Y||_1 <= sum c`; `E||Y||_2` by Jensen; `E||Y||_inf <= max c * H_K`, because |Y_k| / c_k are K standard
    exponentials whose largest has mean H_K = 1 + 1/2 + ... + 1/K. Noise on the grid has smaller moments: its E|Y| is
    `step / sinh(step / c) <= c`, its variance `step^2 / (2 sinh^2(step / 2c)) <= 2 c^2`. Its tail is that of a magnitude at most one
    step longer: `P(|Y| >= m step) = 2 a^m / (1 + a) <= a^(m - 1)`, a = exp(-step / c), hence the largest step in the last two bounds.
    """
    queries, largest = len(scales), float(scales.max())
    step = float(steps[scales > 0].max(initial=0.0))
    harmonic = float((1 / np.arange(1, queries + 1)).sum())
    squares = 2 * float((scales**2).sum())
    return (
        squares,
        float(scales.sum()),
        math.sqrt(squares),
        largest * harmonic + step,
        math.log(queries / delta) * largest + step,
    )


def joint_noise(mechanism: Mechanism, delta: float) -> tuple[float, float, float, float, float]:
    """The same for noise drawn jointly or mapped by a reconstruction, from its continuous law.

    `E||Y||_1 <= sum of standard deviations`, `E||Y||_inf <= E||Y||_2 <= root of the total variance` (Jensen). Tail: the norm of an
    exponential draw in s dimensions is Gamma(s), and `|Y_k| <= reach_k ||z||`, reach the dual norm of row k of the reconstruction;
    Gaussian answers by the union of K normal tails.
    """
    from scipy.stats import gamma, norm

    variances = mechanism.query_variances()
    total = float(variances.sum())
    if mechanism.falloff == "gaussian":
        tail = float(np.sqrt(variances).max() * norm.isf(delta / (2 * len(variances))))
    else:
        heard = max(1, len(mechanism.noise.heard))
        tail = float(reach(mechanism).max() * gamma.isf(delta, heard))
    root = math.sqrt(total)
    return total, float(np.sqrt(variances).sum()), root, root, max(0.0, tail)


def reach(mechanism: Mechanism) -> Floats:
    """`max {|T_k z| : ||z|| <= 1}` for each row T_k of the reconstruction: the dual norm."""
    norm, heard = mechanism.norm, mechanism.noise.heard
    rows = np.eye(norm.dimension)[:, heard] if mechanism.reconstruction is None else mechanism.reconstruction[:, heard]
    if isinstance(norm, Gauge):
        return norm.scale * norm.body.dual_gauge(rows)
    dual = {"l1": np.inf, "l2": 2, "linf": 1}[norm.order]
    return np.asarray(np.linalg.norm(rows @ np.linalg.inv(norm.factor), ord=dual, axis=1))
