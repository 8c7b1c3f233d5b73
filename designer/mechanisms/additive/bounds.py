"""Error bounds that hold for every histogram of n records, bias and noise apart (DX Theorem 2, and beyond Laplace noise)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from designer.mechanisms.additive.grid import Grid
from designer.mechanisms.additive.laplace_sums import largest_quantile
from designer.mechanisms.additive.noise import Noise
from designer.certified.norms import Norm
from designer.base.errors import InvalidProblem
from designer.problem.workload import Workload
from designer.base.arrays import Floats


class AdditiveLaw(Protocol):
    """What the bounds need to know of a mechanism: the law of its noise, and the answers that it adds the noise to."""

    @property
    def workload(self) -> Workload: ...
    @property
    def norm(self) -> Norm: ...
    @property
    def grid(self) -> Grid: ...
    @property
    def falloff(self) -> str: ...
    @property
    def reconstruction(self) -> Floats | None: ...
    @property
    def effective(self) -> Floats: ...
    @property
    def scales(self) -> Floats: ...
    @property
    def noise(self) -> Noise: ...
    def query_variances(self) -> Floats: ...


@dataclass(frozen=True)
class ErrorBounds:
    """Upper bounds for `Z - Q x`, x any histogram of n records, Z the release, P the effective matrix, Y the noise.

    squared: `E ||Z - Qx||_2^2 <= 2 n^2 ||P - Q||_2^2 + 2 E ||Y||_2^2`, norms over all entries.
    l1, l2, linf: `E ||Z - Qx||_p <= n ||P - Q||_p + E ||Y||_p`.
    high_probability: l-infinity with probability at least 1 - delta.
    bias: the parts of l1, l2 and linf that come from P - Q: n times the sum,
    the root of the sum of squares and the largest entry.
    """

    n: float
    delta: float
    squared: float
    l1: float
    l2: float
    linf: float
    high_probability: float
    bias: tuple[float, float, float]


def error_bounds(mechanism: AdditiveLaw, n: float, delta: float) -> ErrorBounds:
    """The bounds for a mechanism: those of DX Theorem 2 where the answers carry independent Laplace noise,
    `joint_noise` elsewhere."""
    if not 0 < delta <= 1:
        raise InvalidProblem(f"delta: {delta} is not a probability in (0, 1].")
    entries = np.abs(mechanism.effective - mechanism.workload.dense())
    bias = (n * float(entries.sum()), n * math.sqrt(float((entries**2).sum())), n * float(entries.max()))
    apart = _apart(mechanism)
    squared, l1, l2, linf, tail = joint_noise(mechanism, delta) if apart is None else laplace_noise(*apart, delta)
    return ErrorBounds(
        n, delta, 2 * bias[1] ** 2 + 2 * squared, bias[0] + l1, bias[1] + l2, bias[2] + linf, bias[2] + tail, bias
    )


def _apart(mechanism: AdditiveLaw) -> tuple[Floats, Floats] | None:
    """Scales and steps of the answers, (K,), where each has Laplace noise of its own, independent of the others; None
    elsewhere."""
    if mechanism.norm.order != "l1" or mechanism.norm.map.ndim != 1:
        return None
    if mechanism.reconstruction is None:
        return mechanism.scales, mechanism.grid.steps
    own, heard = mechanism.noise.own_rows(mechanism.reconstruction), mechanism.noise.heard
    if own is None or (np.count_nonzero(own, axis=0) > 1).any():
        return None
    return own @ (1 / mechanism.norm.map[heard]), own @ mechanism.grid.steps[heard]


def laplace_noise(scales: Floats, steps: Floats, delta: float) -> tuple[float, float, float, float, float]:
    """Bounds of `E||Y||_2^2`, `E||Y||_1`, `E||Y||_2`, `E||Y||_inf` and the 1 - delta quantile of `||Y||_inf`.

    `E||Y||_2^2 <= 2 ||c||_2^2`, `E||Y||_1 <= sum c`; `E||Y||_2` by Jensen; `E||Y||_inf <= max c * H_K`, because |Y_k| / c_k are
    K standard exponentials whose largest has mean H_K = 1 + 1/2 + ... + 1/K. Noise on the grid has smaller moments: its E|Y| is
    `step / sinh(step / c) <= c`, its variance `step^2 / (2 sinh^2(step / 2c)) <= 2 c^2`. Its tail is that of a magnitude at
    most one step longer: `P(|Y| >= m step) = 2 a^m / (1 + a) <= a^(m - 1)`, a = exp(-step / c), hence the largest step in
    `E||Y||_inf`. The quantile is that of the law itself, `P(||Y||_inf <= t) = prod_k (1 - 2 a_k^(m_k) / (1 + a_k))`,
    m_k the first multiple beyond t.
    scales c, steps: (K,), in the units of the answers. Source: DX Theorem 2.
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
        _independent_quantile(scales, steps, delta),
    )


def _independent_quantile(scales: Floats, steps: Floats, delta: float) -> float:
    """A t, least up to bisection, with `P(max_k |Y_k| <= t) >= 1 - delta` for independent discrete Laplace noise."""
    noisy = scales > 0
    if not noisy.any():
        return 0.0
    c, h = scales[noisy], steps[noisy]

    def beyond(t: float) -> float:
        tails = 2 * np.exp(-h / c * (np.floor(t / h * (1 - 1e-12)) + 1)) / (1 + np.exp(-h / c))
        return float(-np.expm1(np.log1p(-np.minimum(tails, 1 - 1e-16)).sum()))

    low, high = 0.0, math.log(len(c) / delta) * float(c.max()) + float(h.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) <= delta else (middle, high)
    return high * (1 + 1e-12)


def joint_noise(mechanism: AdditiveLaw, delta: float) -> tuple[float, float, float, float, float]:
    """The same for noise drawn jointly or mapped by a reconstruction T, on any grid,
    from the continuous law y with the same density.

    `E||Y||_1 <= sum_k s_k`, `E||Y||_inf <= E||Y||_2 <= root of sum_k s_k^2` (Jensen), `s_k^2 >= E Y_k^2`.

    Let C be the cell of steps around 0, `r >= ||h||` and `a_k >= |T_k h|` for h in C, and sigma_k the deviation of `T_k y`.
    Then `|T_k z| <= |T_k (z + h)| + a_k`, and sums over the grid become integrals:

    - exponential: `| ||z + h|| - ||z|| | <= r`, so masses of cells and of their centres agree within `e^r`, and those of a set
      of z and of its cells, both normalised, within `e^(2r)`. Hence `E Y_k^2 <= e^(2r) E(|T_k y| + a_k)^2`,
      `s_k = e^r (sigma_k + a_k)`, and `P(|T_k z| >= t + a_k) <= e^(2r) P(|T_k y| >= t)` for all k at once where
      `|T_k y| <= reach_k ||y||`, and `||y||` is Gamma(s).
    - rounded gaussian: z is y rounded, so `|T_k z| <= |T_k y| + a_k`: `s_k = sigma_k + a_k`, and a tail moves by a_k.
    - gaussian: the masses sum to at least the integral over the cell volume (Poisson summation: all dual terms are positive),
      and over h and -h the density averages to at least `e^(-r^2 / 2)` times that at the centre, so `P(|T_k z| >= t + a_k) <=
      e^(r^2/2) P(|T_k y| >= t)`. On coarse grids `P(|T_k z| >= t) <= 2 exp(-t^2 / (2 sigma_k^2))` is better: `E e^(c T_k z) <=
      e^(c^2 sigma_k^2 / 2)` by the same summation, which also gives `s_k = sigma_k`. Union over the K answers.
    """
    from scipy.stats import gamma, norm

    sizes, (r, reaches) = reach(mechanism), cell(mechanism)
    if mechanism.falloff == "rounded_gaussian":
        deviations, tails = sizes + reaches, sizes * norm.isf(delta / len(sizes) / 2) + reaches
    elif mechanism.falloff == "gaussian":
        deviations, share = sizes, delta / len(sizes)
        by_cells = deviations * norm.isf(share * np.exp(-(r**2) / 2) / 2) + reaches
        tails = np.minimum(by_cells, deviations * math.sqrt(2 * math.log(2 / share)))
    else:
        with np.errstate(over="ignore"):
            deviations = np.exp(r) * (continuous_deviations(mechanism) + reaches)
        tails = sizes * gamma.isf(delta * np.exp(-2 * r), max(1, len(mechanism.noise.heard))) + reaches
        if mechanism.norm.order == "l1" and mechanism.norm.map.ndim == 1:
            tails = np.minimum(tails.max(), _tail_of_sums(mechanism, delta))
    total = float((deviations**2).sum())
    return total, float(deviations.sum()), math.sqrt(total), math.sqrt(total), max(0.0, float(tails.max()))


def _tail_of_sums(mechanism: AdditiveLaw, delta: float) -> float:
    """The 1 - delta quantile of the largest answer of independent Laplace noise, bounded from its own law."""
    heard = mechanism.noise.heard
    steps = mechanism.grid.steps[heard]
    rows = mechanism.noise.rows(mechanism.reconstruction)
    return largest_quantile(rows * steps, mechanism.norm.map[heard] * steps, delta)


def continuous_deviations(mechanism: AdditiveLaw) -> Floats:
    """Standard deviations of the answers under the continuous law; only independent coordinates know a discrete one."""
    if mechanism.norm.order != "l1":
        return np.asarray(np.sqrt(mechanism.query_variances()))
    rows = mechanism.noise.rows(mechanism.reconstruction)
    return np.asarray(math.sqrt(2) * np.linalg.norm(rows / mechanism.norm.map[mechanism.noise.heard], axis=1))


def cell(mechanism: AdditiveLaw) -> tuple[float, Floats]:
    """How far half a grid step in every coordinate leads at most: in the norm, and in each answer."""
    noise, norm = mechanism.noise, mechanism.norm
    half = noise.steps[noise.heard] / 2
    mapped = np.abs(norm.map[noise.heard]) * half if norm.map.ndim == 1 else np.abs(norm.factor) @ half
    told = mechanism.reconstruction
    return float(norm.length(mapped)), noise.spread_out(half) if told is None else np.abs(noise.rows(told)) @ half


def reach(mechanism: AdditiveLaw) -> Floats:
    """`max {|T_k z| : ||z|| <= 1}` for each row T_k of the reconstruction: the dual norm."""
    return mechanism.norm.reach(mechanism.noise.rows(mechanism.reconstruction))
