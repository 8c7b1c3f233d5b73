"""Does the time of a draw tell the size of the noise? Rank correlation of time and |noise|, single draws and batches.

    python benchmarks/release_timing.py [draws]

A correlation within +-2 / sqrt(draws) cannot be told from none. Single draws whose bits leave the decision open (about one in
8,000) take a slow path with ball arithmetic; the path depends on random bits that also decide the noise,
so timing is outside the guarantee.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import spearmanr

from designer import Problem, Workload, design, metrics
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.sampling.entropy import SystemEntropy


def release_once(mechanism: AdditiveMechanism) -> float:
    """|noise| of one release of one query, in units of its scale."""
    return abs(float(mechanism.release([0, 0]).answers[0])) / float(mechanism.scales[0])


def draw_once(mechanism: AdditiveMechanism) -> float:
    """|noise| of one bare draw."""
    return (
        abs(int(mechanism.noise.draw(1, SystemEntropy())[0, 0])) * float(mechanism.grid.steps[0]) / float(mechanism.scales[0])
    )


def draw_batch(mechanism: AdditiveMechanism) -> float:
    """Mean |noise| of a batch of 1,000 draws."""
    return float(np.abs(mechanism.noise.draw(1000, SystemEntropy())).mean() * mechanism.grid.steps[0] / mechanism.scales[0])


def timed(
    action: Callable[[AdditiveMechanism], float], mechanism: AdditiveMechanism, times: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nanoseconds and |noise| of each repetition."""
    rows = []
    for _ in range(times):
        start = time.perf_counter_ns()
        noise = action(mechanism)
        rows.append((time.perf_counter_ns() - start, noise))
    clock, sizes = np.array(rows).T
    return clock, sizes


def main(draws: int = 20_000) -> None:
    """Print one line for each way to draw."""
    mechanism = design(Problem(Workload([[1.0, 0.0]]), metrics.uniform(2, 1.0))).mechanism
    mechanism.release([0, 0])
    print(f"{'what is timed':28} {'draws':>8} {'median':>12} {'rank correlation':>17} {'beyond chance at':>17}")
    for label, action, times in (
        ("release of one query", release_once, draws // 4),
        ("one draw", draw_once, draws),
        ("batch of 1,000 draws", draw_batch, draws // 10),
    ):
        clock, sizes = timed(action, mechanism, times)
        correlation = spearmanr(clock, sizes).statistic
        print(f"{label:28} {times:8} {np.median(clock) / 1000:9.1f} us {correlation:17.4f} {2 / np.sqrt(times):17.4f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
