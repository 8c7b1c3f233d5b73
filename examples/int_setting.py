"""What the examples of INT share: exact noise, the paper's own chain with its bound, and box plots."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.lattice.sampler_choice import lattice_sampler_for
from designer.sampling.entropy import SeededEntropy
from solvers.exact.points import smith_transforms
from solvers.lattices.chain import Chain, JumpLaw, VariationBound, l1_energy, l2_energy, variation_bound

Integers = NDArray[np.int64]


def exact_noise(matrix: Integers, norm: str, rate: float, size: int, seed: int = 1) -> Integers:
    """Exact draws of `exp(-rate ||z||)` on the kernel, (size, d)."""
    sampler = lattice_sampler_for(matrix, norm, Fraction(rate)).sampler
    assert sampler is not None
    return sampler.draw(size, SeededEntropy(seed))


def published_chain(matrix: Integers, norm: str, rate: float, decay: float) -> Chain:
    """INT Algorithm 1: all coefficients of a Smith basis jump at once, by double geometric numbers of that decay."""
    right, form = smith_transforms(matrix)[2], smith_transforms(matrix)[1]
    rank = sum(any(row) for row in form)
    energy = (l1_energy if norm == "l1" else l2_energy)(rate)
    return Chain(right.T[rank:].astype(np.int64), energy, JumpLaw((decay,)), jointly=True)


def bound_of(chain: Chain, lag: int, pairs: int, limit: int) -> VariationBound:
    """The estimated bound of the distance from the target after 0, limit/200, ... steps (INT Algorithms 2 and 3)."""
    times = chain.meeting_times(lag, pairs, SeededEntropy(2), limit)
    return variation_bound(times, lag, np.arange(0, limit, limit // 200), limit=limit)


def steps_until(bound: VariationBound, distance: float = 0.1) -> float:
    """The first step from which the estimate stays below `distance`; infinite where some pairs have not met."""
    below = np.flatnonzero(bound.estimate > distance)
    place = int(below[-1]) + 1 if len(below) else 0
    return np.inf if bound.censored or place >= len(bound.steps) else float(bound.steps[place])


def largest_bias(noise: Integers) -> float:
    """The largest mean of a cell, in its standard errors."""
    return float(np.abs(noise.mean(axis=0) / (noise.std(axis=0) / np.sqrt(len(noise)))).max())


def rank_among(value: float, drawn: Floats) -> float:
    """The share of draws below a value."""
    return float((drawn < value).mean())


def boxes(axis: Any, noise: Integers, title: str, labels: list[str] | None = None) -> None:
    """One box for each cell, whiskers of 1.5 interquartile ranges, as in the paper."""
    crosses = {"marker": "x", "markersize": 2, "alpha": 0.4}
    shown = axis.boxplot(noise, flierprops=crosses, medianprops={"color": "tab:red"}, widths=0.7)
    for artist in chain.from_iterable(shown.values()):
        artist.set_rasterized(True)  # thousands of strokes, in one image
    axis.axhline(0, color="gray", linewidth=0.5)
    axis.set_title(title, fontsize=9)
    axis.set_xticks(
        range(1, noise.shape[1] + 1),
        labels or [str(i + 1) for i in range(noise.shape[1])],
        fontsize=6,
        rotation=90 if labels else 0,
    )
    axis.set_ylabel("noise", fontsize=8)


def curve(axis: Any, bound: VariationBound, label: str) -> None:
    """A bound over the steps, with its confidence limits."""
    line = axis.plot(bound.steps, np.minimum(bound.estimate, 1.5), label=label)[0]
    axis.fill_between(bound.steps, np.minimum(bound.low, 1.5), np.minimum(bound.high, 1.5), alpha=0.2, color=line.get_color())
    axis.set_xlabel("steps of the chain", fontsize=8)
    axis.set_ylabel("total variation, upper bound (estimate)", fontsize=8)
