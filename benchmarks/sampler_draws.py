"""Draws per second of the exact samplers, next to the floating-point draws of numpy, in one run."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from time import perf_counter

import numpy as np

from designer.sampling.bodies.ellipsoid_grid import EllipsoidGrid
from designer.sampling.bodies.polytope_grid import PolytopeGrid
from designer.sampling.bodies.round_and_reject import NormLaw, RoundAndReject
from designer.sampling.entropy import SystemEntropy
from designer.sampling.integers.discrete_gaussian import DiscreteGaussian
from designer.sampling.integers.discrete_laplace import DiscreteLaplace
from designer.sampling.integers.rounded_normal import RoundedNormal, RoundedVector


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
    return f"{name:<66} {coordinates / duration:>12.3g} /s {duration / coordinates * 1e9:>9.0f} ns a coordinate"


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


def gaussian_rows() -> list[str]:
    """The exact discrete Gaussian sampler, wide and narrow."""
    rows, entropy = [], SystemEntropy()
    for variance in (Fraction(1, 3), Fraction(100), Fraction(2**80)):
        noise = DiscreteGaussian([variance] * 10)
        name = f"discrete Gaussian, exact, batch 10000 x 10, variance {float(variance):.3g}"
        rows.append(line(name, 100_000, seconds(lambda noise=noise: noise.draw(10_000, entropy))))  # type: ignore[misc]
    return rows


def rounded_rows() -> list[str]:
    """Normal noise rounded to the integers: floats decide it on coarse grids, balls on the finest."""
    rows, entropy = [], SystemEntropy()
    for bits in (0, 20, 40, 47):
        noise, size = RoundedNormal([Fraction(2) ** bits] * 10), 10_000 if bits < 30 else 200
        name = f"rounded normal, exact, batch {size} x 10, deviation 2^{bits}"
        rows.append(line(name, size * 10, seconds(lambda noise=noise, size=size: noise.draw(size, entropy))))  # type: ignore[misc]
    for s in (2, 10, 100):
        factor = (np.eye(s) + np.tri(s) / s) * 2.0**-40
        joint, size = RoundedVector(EllipsoidGrid(factor.tolist(), NormLaw.GAUSSIAN)), 2000 // s
        name = f"rounded normal vector, batch {size} x {s}, deviations near 2^40"
        rows.append(line(name, size * s, seconds(lambda joint=joint, size=size: joint.draw(size, entropy))))  # type: ignore[misc]
    return rows


def round_and_reject_rows() -> list[str]:
    """Ellipsoids and cross-polytopes on a grid of 2^-40."""
    rows, entropy = [], SystemEntropy()
    for s in (2, 10, 100):
        factor = (np.eye(s) + np.tri(s) / s) * 2.0**-40
        shapes: list[EllipsoidGrid | PolytopeGrid] = [EllipsoidGrid(factor.tolist(), falloff) for falloff in NormLaw]
        shapes += [cross_polytope(s)] if s <= 10 else []
        for shape in shapes:
            noise, size = RoundAndReject(shape), 20_000 // s
            name = f"{type(shape).__name__}, {shape.falloff.value}, batch {size} x {s}"
            rows.append(line(name, size * s, seconds(lambda noise=noise, size=size: noise.draw(size, entropy))))  # type: ignore[misc]
    return rows


def cross_polytope(s: int) -> PolytopeGrid:
    """Gauge `2^-40 |z|_1`: 2^s simplices and as many facets."""
    unit, signs = Fraction(2**40), list(product((1, -1), repeat=s))
    vertices = [[sign * unit * (i == j) for j in range(s)] for sign in (1, -1) for i in range(s)]
    simplices = [[i + (s if sign < 0 else 0) for i, sign in enumerate(row)] for row in signs]
    return PolytopeGrid(vertices, simplices, [[sign / unit for sign in row] for row in signs])


if __name__ == "__main__":
    print("\n".join([*laplace_rows(), *gaussian_rows(), *rounded_rows(), *round_and_reject_rows()]))
