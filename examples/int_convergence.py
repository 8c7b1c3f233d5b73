"""How far the Markov chain of INT section 4 is from its target: exactly where all states can be written out, by the paper's
coupling bound, and by the diagnostics that the paper uses for counties (potential scale reduction).

*Exactly.* On a lattice of one or two dimensions the transition matrix of Algorithm 1 is written out over all states that hold
but 1e-9 of the target, so the distance after t steps, and the time over which draws are correlated, are numbers. The estimates
from coupled and from parallel chains are held against them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from designer.base.arrays import Floats
from designer.extend import figure
from designer.sampling.entropy import SeededEntropy
from examples.int_counties import EPSILON as COUNTY_EPSILON
from examples.int_counties import counties
from examples.int_setting import exact_noise, published_chain
from examples.reproduction import Result, saved, show
from solvers.lattices.chain import Chain, VariationBound, r_hat, variation_bound

EPSILON, LAG, PAIRS = 0.25, 60, 4000
DECAY = math.exp(-1)
# The kernel of (1, 1; 0, 0), (0, 0; 1, 1), ... : a 2 x 2 table with its margins, and three cells with their sum.
LATTICES = {"2 x 2 table": [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], "three cells": [[1, 1, 1]]}
REACH = {"2 x 2 table": 24, "three cells": 20}
STEPS = np.arange(0, 301)
COUNTY_DECAY, CHAINS, DISPERSED = math.exp(-2.5), 4, 0.1
STATES = ("Delaware", "Wyoming", "Illinois")
DIFFERENCES: dict[str, str] = {}


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


def chain_of(name: str) -> Chain:
    """INT Algorithm 1 on a small lattice, l1 target."""
    return published_chain(np.array(LATTICES[name], dtype=np.int64), "l1", EPSILON, DECAY)


@cache
def kernel(name: str) -> tuple[Floats, Floats, np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """The transition matrix over coefficients of at most REACH, the target over them, and the states.

    What would leave the box stays where it is, as a rejected proposal does: reversible for the target within the box.
    """
    chain, reach = chain_of(name), REACH[name]
    places = np.array(list(product(range(-reach, reach + 1), repeat=len(chain.directions))))
    states = places @ chain.directions
    energy = chain.energy(states)
    jumps = np.prod(chain.law.mass(places[:, None, :] - places[None, :, :]), axis=2)
    moves = jumps * np.exp(np.minimum(energy[:, None] - energy[None, :], 0.0))
    np.fill_diagonal(moves, 0.0)
    np.fill_diagonal(moves, 1 - moves.sum(axis=1))
    target = np.exp(-energy)
    return moves, target / target.sum(), states


@cache
def distances(name: str) -> Floats:
    """Total variation between the chain after 0, 1, ... steps from the origin and its target."""
    moves, target, states = kernel(name)
    law, found = (np.abs(states).sum(axis=1) == 0).astype(float), []
    for _ in STEPS:
        found.append(float(np.abs(law - target).sum()) / 2)
        law = law @ moves
    return np.array(found)


@cache
def coupled(name: str) -> VariationBound:
    """The paper's bound, from pairs of coupled chains (INT Algorithms 2 and 3)."""
    times = chain_of(name).meeting_times(LAG, PAIRS, SeededEntropy(5), 20_000)
    return variation_bound(times, LAG, STEPS, limit=20_000)


def correlation_time(name: str) -> float:
    """`1 + 2 sum rho_k` of the first cell in the stationary chain, from the fundamental matrix: no draws."""
    moves, target, states = kernel(name)
    values = states[:, 0] - target @ states[:, 0]
    summed = np.linalg.solve(np.eye(len(target)) - moves + target[None, :], values)
    return float(2 * (target * values) @ summed / ((target * values) @ values) - 1)


def estimated_correlation_time(name: str, steps: int) -> float:
    """The same from 16 chains that start in the target."""
    chain = chain_of(name)
    start = exact_noise(np.array(LATTICES[name], dtype=np.int64), "l1", EPSILON, 16, seed=3)
    trace = chain.run(start, steps, SeededEntropy(6), thin=1)[2]
    return autocorrelation_time(trace[:, :, 0].astype(float))


def across_chains(trace: Floats) -> Floats:
    """Gelman and Rubin's factor of every coordinate, of whole chains, (draws n, chains m, d):
    `sqrt((n - 1) / n + (1 + 1 / m) B)`, B the variance between the chains' means over the mean variance within them. `r_hat`
    halves the chains, and is stricter."""
    draws, chains = trace.shape[:2]
    within, between = trace.var(axis=0, ddof=1).mean(axis=0), trace.mean(axis=0).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((draws - 1) / draws + (1 + 1 / chains) * between / within))


@cache
def scale_reduction(cells: int, steps: int, seed: int = 1) -> tuple[float, float, float]:
    """The largest potential scale reduction of whole chains and of halved ones, and the median correlation time in steps, over
    the counties of a state: four chains from over-dispersed starts (exact draws at epsilon 0.1), the second half of `steps`
    steps (INT appendix E.4)."""
    total = np.ones((1, cells), dtype=np.int64)
    chain = published_chain(total, "l1", float(COUNTY_EPSILON), COUNTY_DECAY)
    thin = max(1, steps // 2000)
    trace = chain.run(exact_noise(total, "l1", DISPERSED, CHAINS, seed=5), steps, SeededEntropy(seed), thin=thin)[2]
    late = trace[len(trace) // 2 :]
    times = [autocorrelation_time(late[:, :, j].astype(float)) * thin for j in range(0, cells, max(1, cells // 12))]
    return float(across_chains(late.astype(float)).max()), float(r_hat(late).max()), float(np.median(times))


def small_kernels(names: Sequence[str]) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Bound against distance, and estimated against exact correlation times."""
    computed, published = {}, {}
    for name in names:
        truth, bound, time = distances(name), coupled(name), correlation_time(name)
        for step in (5, 10, 20):
            computed[f"{name}: total variation after {step} steps, exactly"] = float(truth[step])
            key = f"{name}: coupling bound after {step} steps"
            computed[key] = float(bound.estimate[step])
            # A bound of the distance, but for the error of its estimate; beyond 1 it says nothing.
            published[key] = (float(truth[step]) - 5 * float(bound.high[step] - bound.estimate[step]) - 1e-9, math.inf)
        computed[f"{name}: correlation time, exactly"] = time
        key = f"{name}: correlation time, estimated over the exact one"
        computed[key], published[key] = estimated_correlation_time(name, 20_000) / time, (0.9, 1.1)
    return computed, published


def reproduce(full: bool = False) -> Result:
    """Small kernels; in full also two dimensions, and for counties the potential scale reduction after the million steps of the
    paper."""
    if not full:
        return small_kernels(["2 x 2 table"])
    computed, published = small_kernels(list(LATTICES))
    for state in STATES:
        reduction, halved, time = scale_reduction(counties()[0].count(state), 1_000_000)
        computed[f"{state}: largest potential scale reduction after 10^6 steps"] = reduction
        published[f"{state}: largest potential scale reduction after 10^6 steps"] = (0.9, 1.01)
        computed[f"{state}: the same of halved chains"] = halved
        computed[f"{state}: steps worth one independent draw, median county"] = time
    return computed, published


def draw(folder: Path) -> Path:
    """Exact distances and coupling bounds of the small lattices."""
    drawing, axes = figure(columns=2, width=5.0, height=3.6)
    for axis, name in zip(axes, LATTICES, strict=True):
        bound = coupled(name)
        axis.semilogy(STEPS, np.maximum(distances(name), 1e-6), color="black", label="total variation, exactly")
        axis.semilogy(STEPS, np.clip(bound.estimate, 1e-4, 2), color="tab:blue", label=f"coupling bound, lag {LAG}")
        axis.set(xlabel="steps of the chain", ylabel="distance from the target", title=name, ylim=(1e-4, 2))
        axis.legend(fontsize=8)
    return saved(drawing, folder / "int_convergence.svg")


if __name__ == "__main__":
    show("INT section 4: the chain's distance from its target, exactly and estimated", reproduce, DIFFERENCES, draw)
