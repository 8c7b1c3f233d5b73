"""Error bounds that hold for every histogram of n records, bias and noise apart (DX Theorem 2, and beyond Laplace noise).

Tails of sums of independent discrete Laplace noise,
bounded from above: what answers put together from noisy measurements carry.

`Y = sum_j c_j z_j`, `P(z_j = z)` proportional to `exp(-rate_j |z|)`. Two bounds, the smaller of which counts:

- Chernoff: `P(|Y| > t) <= 2 exp(-theta t) prod_j E exp(theta c_j z_j)` for every theta,
  the generating functions in closed form.
- Convolution: every term is rounded up to a multiple of h, so that the sum does not fall, and the laws on multiples of h are
  convolved on a circle of circumference 2 L. What leaves (-L, L) is bounded by Chernoff;
  an allowance covers the rounding of the transforms.

Tails of `S = sum_j w_j |z_j|`, z_j independent discrete Laplace noise: the l1 error of independent noise.

`P(z_j = z)` proportional to `exp(-rate_j |z|)`, weights w_j >= 0. Bounded from above in two ways, the smaller of which counts:

- Chernoff: `P(S >= t) <= exp(-theta t) prod_j E exp(theta w_j |z_j|)` for every theta, the generating functions in closed form.
- Convolution: every term is rounded up to a multiple of h, so that the sum does not fall, and the laws on multiples of h are
  convolved on a circle; what leaves it is bounded by Chernoff, the rounding of the transforms by an allowance. h is the finest
  weight times a power of two: where the circle is long enough for that weight itself, and the others are whole multiples of it
  (grid steps are), nothing is rounded and the law is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import positive
from designer.base.errors import InvalidProblem
from designer.base.progress import step
from designer.certificate.norms import Norm
from designer.mechanism.noise import Grid, Noise
from designer.problem.compressed_rows import difference, entries_of
from designer.problem.workload import Workload
from designer.sampling.integer_margins import bisected
from solvers.work import spend

POINTS = 2**15  # of the circle
TIMES = 8  # L is this many times the reach that is asked for
FOURIER = 16 * 2.0**-52  # relative error of a transform, generously: log2(POINTS) units of roundoff
MOST_TERMS = 400  # of one sum: rounding up adds half a step for each
MOST_TRANSFORMS = 6000  # 3 s; sums beyond have the Chernoff bound alone
CONVOLVED = 5.0  # entries of `solvers.work` for each point of a transform
THETAS = np.concatenate([np.linspace(0.02, 0.98, 49), 1 - np.geomspace(0.01, 1e-6, 15)])


@dataclass(frozen=True, eq=False)
class LaplaceSum:
    """coefficients c (m,), not 0; rates (m,), positive; `reach`: tails are convolved up to there;
    `convolved`: whether they are at all."""

    coefficients: Floats
    rates: Floats
    reach: float
    convolved: bool = True

    @cached_property
    def _chernoff(self) -> tuple[Floats, Floats]:
        """theta and the logarithm of the generating function of Y at it."""
        scales = np.abs(self.coefficients) / self.rates
        theta = THETAS / scales.max()
        u = theta[:, None] * scales
        growth = 2 * np.log(-np.expm1(-self.rates)) - np.log(-np.expm1(-self.rates * (1 - u)))
        return theta, (growth - np.log(-np.expm1(-self.rates * (1 + u)))).sum(axis=1)

    def chernoff(self, t: float) -> float:
        """`P(|Y| > t) <=` this."""
        theta, logs = self._chernoff
        return float(min(1.0, 2 * np.exp((logs - theta * t).min())))

    def chernoff_quantile(self, delta: float) -> float:
        """A t with `P(|Y| > t) <= delta`."""
        theta, logs = self._chernoff
        return float(((np.log(2 / delta) + logs) / theta).min())

    @cached_property
    def _tail(self) -> Floats:
        """`P(Y >= n h)`, bounded, for n = 0, 1, ... up to the reach."""
        spend(entries=CONVOLVED * len(self.rates) * POINTS)
        length = TIMES * self.reach
        step = 2 * length / POINTS
        transform = np.ones(POINTS // 2 + 1, dtype=complex)
        for c, rate in zip(np.abs(self.coefficients), self.rates, strict=True):
            transform *= np.fft.rfft(_rounded_up(c, rate, step))
        mass = np.fft.irfft(transform, POINTS)
        terms = len(self.rates) + 2
        # Out by wrapping, or by a single term (Levy: P(max_j c_j z_j > L) <= P(|Y| > L)); and the rounding of the transforms.
        beyond = 2 * self.chernoff(length - terms * step) + FOURIER * terms * float(np.abs(transform).mean()) * POINTS
        tail = np.cumsum(np.maximum(mass[: POINTS // 2], 0.0)[::-1])[::-1] + beyond
        return np.asarray(tail[: POINTS // (2 * TIMES) + 1])

    def beyond(self, t: float) -> float:
        """`P(|Y| > t) <=` this."""
        bound = self.chernoff(t)
        if not self.convolved or t < 0:
            return bound
        # The rounded sum is at least Y, so Y > t needs it above t: at the next multiple of h,
        # or one earlier for the rounding of t / h.
        n = int(t / (2 * TIMES * self.reach / POINTS))
        return min(bound, 2 * float(self._tail[min(n, len(self._tail) - 1)]))


def _rounded_up(c: float, rate: float, step: float) -> Floats:
    """The law of `c z` rounded up to multiples of `step`, on the circle: index n >= 0 for `n step`,
    from the end for negative ones.

    `P(c z <= x)` for x = n step; what lies above the last or below the first multiple is put there,
    and is counted as having left.
    """
    n = np.arange(-POINTS // 2, POINTS // 2)
    # 1e-12: a term on a multiple may count for the next one, never for the one before.
    reached = np.floor(n * step / c * (1 - 1e-12 * np.sign(n)) - 1e-300)
    size = np.exp(-rate * np.where(reached >= 0, reached + 1, -reached)) / (1 + np.exp(-rate))
    below = np.where(reached >= 0, 1 - size, size)
    mass = np.diff(below, prepend=0.0)
    mass[-1] += 1 - below[-1]
    return np.fft.ifftshift(mass)


def largest_quantile(coefficients: Floats, rates: Floats, delta: float) -> float:
    """A t such that all K sums, the rows of `coefficients` (K, m), stay within t together with probability 1 - delta,
    by a union bound.

    rates: (m,). Equal rows share their law.
    """
    rows = np.unique(np.abs(coefficients), axis=0, return_counts=True)
    kinds = [(row[row > 0], rates[row > 0], int(many)) for row, many in zip(*rows, strict=True) if (row > 0).any()]
    if not kinds:
        return 0.0
    share = delta / sum(many for *_, many in kinds)
    reach = max(LaplaceSum(c, r, 1.0).chernoff_quantile(share) for c, r, _ in kinds)
    sums: list[tuple[LaplaceSum, int]] = []
    transforms = 0
    for c, r, many in sorted(kinds, key=lambda kind: -LaplaceSum(kind[0], kind[1], 1.0).chernoff_quantile(share)):
        worth = len(c) <= MOST_TERMS and transforms + len(c) <= MOST_TRANSFORMS
        transforms += len(c) if worth else 0
        sums.append((LaplaceSum(c, r, reach, worth), many))
    return bisected(lambda t: sum(many * one.beyond(t) for one, many in sums) <= delta, 0.0, reach, 40) * (1 + 1e-9)


MAGNITUDE_POINTS = 2**16  # of the circle
SHARE = 1e-6  # of delta may leave the circle
MAGNITUDE_ROUNDING = 16 * 2.0**-52  # relative error of a transform, generously: log2(MAGNITUDE_POINTS) units of roundoff
MOST_MAGNITUDES = 2000  # sums of more have the Chernoff bound alone


@dataclass(frozen=True, eq=False)
class MagnitudeSum:
    """weights w (m,), positive; rates (m,), positive."""

    weights: Floats
    rates: Floats

    @cached_property
    def _chernoff(self) -> tuple[Floats, Floats]:
        """theta and the logarithm of the generating function of S at it:
        `E exp(theta w |z|) = (1 - a) / (1 + a) (1 + a e) / (1 - a e)`, `a = exp(-rate)`, `e = exp(theta w)`."""
        longest = (self.weights / self.rates).max()
        theta = THETAS / longest
        lifted = self.rates - theta[:, None] * self.weights  # of a e; positive
        logs = np.log1p(np.exp(-lifted)) - np.log(-np.expm1(-lifted)) + np.log(np.tanh(self.rates / 2))
        return theta, logs.sum(axis=1)

    def chernoff(self, t: float) -> float:
        """`P(S >= t) <=` this."""
        theta, logs = self._chernoff
        return float(min(1.0, np.exp((logs - theta * t).min())))

    def chernoff_quantile(self, delta: float) -> float:
        """A t with `P(S >= t) <= delta`."""
        theta, logs = self._chernoff
        return float(max(0.0, ((np.log(1 / delta) + logs) / theta).min()))

    def quantile(self, delta: float) -> float:
        """A t with `P(S > t) <= delta`; the least one, where nothing had to be rounded, up to the allowance."""
        least = self.chernoff_quantile(delta)
        if len(self.weights) > MOST_MAGNITUDES:
            return least
        step = self._step(delta)
        reached = np.flatnonzero(self._above(step) <= delta)
        return min(least, float(reached[0]) * step) if reached.size else least

    def beyond(self, t: float) -> float:
        """`P(S >= t) <=` this, t > 0."""
        most = self.chernoff(t)
        if len(self.weights) > MOST_MAGNITUDES:
            return most
        step = self._step(most)
        # The last multiple that is below t, or one earlier for the rounding of the quotient.
        below = int(np.ceil(t / step * (1 - 1e-12))) - 1
        return min(most, float(self._above(step)[below])) if below < MAGNITUDE_POINTS else most

    def _step(self, delta: float) -> float:
        """The unit h of a circle that is left with a small part of probability delta."""
        finest = float(self.weights.min())
        length = self.chernoff_quantile(SHARE * delta)
        return finest * float(2.0 ** np.ceil(max(0.0, np.log2(length / finest / (MAGNITUDE_POINTS - 2)))))

    def _above(self, step: float) -> Floats:
        """`P(S > n step)`, bounded, for n = 0, 1, ... on the circle."""
        transform = np.ones(MAGNITUDE_POINTS // 2 + 1, dtype=complex)
        for weight, rate in zip(self.weights, self.rates, strict=True):
            transform *= np.fft.rfft(_magnitudes_rounded_up(weight / step, rate))
        mass = np.maximum(np.fft.irfft(transform, MAGNITUDE_POINTS), 0.0)
        terms = len(self.rates) + 2
        beyond = (
            self.chernoff((MAGNITUDE_POINTS - terms) * step)
            + MAGNITUDE_ROUNDING * terms * float(np.abs(transform).mean()) * MAGNITUDE_POINTS
        )
        return np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0) + beyond


def _magnitudes_rounded_up(weight: float, rate: float) -> Floats:
    """The law of `weight |z|` rounded up to whole numbers, below MAGNITUDE_POINTS; what lies above is put at the end.

    `P(weight |z| <= n) = 1 - 2 a^(m + 1) / (1 + a)`, m the last multiple up to n, `a = exp(-rate)`.
    """
    # 1e-12: a term on a whole number may count for the next one, never for the one before.
    last = np.floor(np.arange(MAGNITUDE_POINTS) / weight * (1 - 1e-12)) if weight % 1 else np.arange(MAGNITUDE_POINTS) // weight
    below = 1 - 2 * np.exp(-rate * (last + 1)) / (1 + np.exp(-rate))
    mass = np.diff(below, prepend=0.0)
    mass[-1] += 1 - below[-1]
    return np.asarray(mass)


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


@step("bounding errors")
def error_bounds(mechanism: AdditiveLaw, n: float, delta: float = 0.05) -> ErrorBounds:
    """Bound the errors at a histogram of n records, squared, l1, l2 and l-infinity, with probability 1 - delta. Raises
    `InvalidProblem` for a delta that is none. Source: DX Theorem 2 for independent Laplace noise, `joint_noise` elsewhere.

    Parameters
    ----------
    mechanism : with additive noise.
    n : the number of records.
    delta : the probability that a bound fails.
    """
    n = positive(n, "n")
    if not 0 < delta <= 1:
        raise InvalidProblem(f"delta: {delta} is not a probability in (0, 1].", value=delta)
    entries = entries_of(difference(mechanism.effective, mechanism.workload.matrix))
    bias = (n * float(entries.sum()), n * math.sqrt(float((entries**2).sum())), n * float(entries.max(initial=0.0)))
    apart = _independent(mechanism)
    squared, l1, l2, linf, tail = joint_noise(mechanism, delta) if apart is None else laplace_noise(*apart, delta)
    return ErrorBounds(
        n, delta, 2 * bias[1] ** 2 + 2 * squared, bias[0] + l1, bias[1] + l2, bias[2] + linf, bias[2] + tail, bias
    )


def _independent(mechanism: AdditiveLaw) -> tuple[Floats, Floats] | None:
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

    def holds(t: float) -> bool:
        tails = 2 * np.exp(-h / c * (np.floor(t / h * (1 - 1e-12)) + 1)) / (1 + np.exp(-h / c))
        return float(-np.expm1(np.log1p(-np.minimum(tails, 1 - 1e-16)).sum())) <= delta

    return bisected(holds, 0.0, math.log(len(c) / delta) * float(c.max()) + float(h.max())) * (1 + 1e-12)


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
