"""Draws per second of the exact samplers, next to the floating-point draws of numpy, in one run."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import perf_counter

import numpy as np

from designer.sampling.discrete_laplace import DiscreteLaplace
from designer.sampling.entropy import SystemEntropy


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The best of a few runs after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def line(name: str, coordinates: int, duration: float) -> str:
    """One row of the table."""
    return f"{name:<58} {coordinates / duration:>12.3g} /s {duration / coordinates * 1e9:>9.0f} ns a coordinate"


def laplace_rows() -> list[str]:
    """The exact discrete Laplace sampler with a rate per coordinate, and numpy's Laplace."""
    rows, entropy, numpy_generator = [], SystemEntropy(), np.random.default_rng(1)
    for size, k, bits in ((100_000, 10, 40), (100_000, 10, 4), (1, 1000, 40), (1, 10, 40)):
        noise = DiscreteLaplace([Fraction(1, 2**bits) * (1 + Fraction(j, k)) for j in range(k)])
        name = f"discrete Laplace, exact, batch {size} x {k}, rates near 2^-{bits}"
        rows.append(line(name, size * k, seconds(lambda noise=noise, size=size: noise.draw(size, entropy))))  # type: ignore[misc]
    scales = 2.0**40 / (1 + np.arange(10) / 10)
    inexact = seconds(lambda: numpy_generator.laplace(scale=scales, size=(100_000, 10)))
    return [*rows, line("numpy Laplace, floating point, batch 100000 x 10", 1_000_000, inexact)]


if __name__ == "__main__":
    print("\n".join(laplace_rows()))
