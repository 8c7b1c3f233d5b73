"""What coupled and parallel chains say about convergence: total variation, R-hat, and the choice of a jump scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.lattices.chain import Chain, Words

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class VariationBound:
    """Estimates of an upper bound on the total variation distance after `steps`, with pointwise confidence limits; arrays (n,).

    An estimate from finitely many pairs, not a proof. `censored` pairs had not met; they count as if they met where the search
    stopped, so the estimate is too small, and not to be used, where there are any.

    steps: (n,), numbers of steps. estimate: of the bound after each. low: the lower confidence limit. high: the upper one.
    pairs: how many were run. censored: how many had not met.
    """

    steps: NDArray[np.int64]
    estimate: Floats
    low: Floats
    high: Floats
    pairs: int
    censored: int

    def steps_for(self, distance: float) -> int | None:
        """The first of `steps` from which on the upper confidence limit stays at most `distance`; None if there is none."""
        bad = np.flatnonzero(self.high > distance)
        place = int(bad[-1]) + 1 if len(bad) else 0
        return None if self.censored or place >= len(self.steps) else int(self.steps[place])


def variation_bound(
    times: ArrayLike, lag: int, steps: ArrayLike, confidence: float = 0.95, limit: int | None = None
) -> VariationBound:
    """`E max(0, ceil((tau - lag - t) / lag))` over the meeting times tau (Biswas, Jacob, Vanetti 2019, Theorem 2.5).

    Limits are Student's, for each t by itself; where all pairs have met before t the upper limit is
    `1 - (1 - confidence)^(1/n)`, the largest chance of not meeting that n met pairs leave credible, instead of 0. `limit` is
    where the search for meetings stopped.
    times: (n,) meeting times of independent pairs, -1 where a pair has not met. steps t: (T,). ValueError where pairs have not
    met and no limit is given.
    """
    from scipy import stats

    tau, at = np.asarray(times, dtype=np.int64), np.asarray(steps, dtype=np.int64)
    censored = int((tau < 0).sum())
    if censored and limit is None:
        raise ValueError(f"times: {censored} pairs have not met; give the limit of the search, or search longer.")
    tau = np.where(tau < 0, limit or 0, tau)
    n = len(tau)
    values = np.maximum(0, -((tau[None, :] - lag - at[:, None]) // -lag)).astype(np.float64)
    mean = values.mean(axis=1)
    margin = stats.t.ppf((1 + confidence) / 2, n - 1) * values.std(axis=1, ddof=1) / np.sqrt(n)
    never = 1 - (1 - confidence) ** (1 / n)
    return VariationBound(at, mean, np.maximum(0, mean - margin), np.maximum(mean + margin, never), n, censored)


def r_hat(trace: NDArray[np.int64]) -> Floats:
    """Gelman and Rubin's potential scale reduction of every coordinate, from `trace` (draws, chains, d);
    chains are split in half.

    trace: (draws, chains, d), the states of the chains.

    >>> r_hat(np.tile(np.arange(8)[:, None, None] % 2, (1, 3, 1))).round(3).tolist()
    [0.866]
    """
    half = len(trace) // 2
    if half < 2:
        raise ValueError(f"trace: {len(trace)} draws a chain; give at least 4.")
    parts = np.concatenate([trace[:half], trace[half : 2 * half]], axis=1).astype(np.float64)
    within, between = parts.var(axis=0, ddof=1).mean(axis=0), parts.mean(axis=0).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt((half - 1) / half + between / within)
    return np.where(within > 0, ratio, np.where(between > 0, np.inf, 1.0))


def autocorrelation_time(series: Floats) -> float:
    """Steps that are worth one independent draw of a stationary series (draws, chains): `1 + 2 sum rho_k`, summed while
    the sums of neighbouring autocorrelations stay positive (Geyer's initial positive sequence)."""
    centred = series - series.mean()
    n = len(series)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[:n].mean(axis=1) / (n - np.arange(n))
    pairs = covariance[: n // 2 * 2].reshape(-1, 2).sum(axis=1) / covariance[0]
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    return float(max(1.0, 2 * pairs[:stop].sum() - 1))


def tuned_decay(
    build: Callable[[float], Chain], candidates: Sequence[float], source: Words, chains: int = 64, steps: int = 2000
) -> float:
    """The decay whose chain travels farthest: the largest mean squared length of a step after a short run, of those tried."""

    def travelled(decay: float) -> float:
        chain = build(decay)
        states, _, _ = chain.run(chain.start(chains), steps, source)
        after, _, _ = chain.run(states, 50, source)
        return float(((after - states).astype(np.float64) ** 2).sum(axis=1).mean())

    return max(candidates, key=travelled)
