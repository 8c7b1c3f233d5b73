"""How handing a mechanism to other tools grows: the privacy map with the elements, the files with the queries, noise from bytes
with the numbers that are drawn."""

from __future__ import annotations

import random

import numpy as np

from benchmarks.growth.case import Case
from designer import Mechanism, Problem, Workload, design, metrics
from designer.base.json_text import readable_text
from designer.exchange.device import GivenBytes, byte_laws, portable_text
from designer.exchange.opendp import as_measurement, noise_document


def counts(size: int) -> Mechanism:
    """A count for each of so many elements."""
    return design(Problem(Workload.identity(size), metrics.add_remove(size, 1.0)), "laplace").mechanism


def few_queries(size: int) -> Mechanism:
    """Ten queries of so many points of a plane."""
    points = np.random.default_rng(0).random((size, 2)) * 100
    rows = (np.random.default_rng(1).random((10, size)) < 0.3).astype(float)
    return design(Problem(Workload(rows), metrics.appear_or_change(metrics.euclidean(points, 0.01), 1.0)), "laplace").mechanism


def mapped(mechanism: Mechanism) -> str:
    """Three maps, and one release by OpenDP."""
    told = [as_measurement(mechanism, distance=distance).map(1) for distance in ("records", "budget", "l1")]
    answers = as_measurement(mechanism)([7] * mechanism.workload.shape[1])
    return f"maps at 1: {told[0]:.6g}, {told[1]:.6g}, {told[2]:.6g}; {len(answers)} answers"


def on_file(mechanism: Mechanism) -> str:
    """The law of the noise, without covariances above 1,000 queries."""
    return f"{len(readable_text(noise_document(mechanism))) / 2**20:.3g} MB"


def as_lines(mechanism: Mechanism) -> str:
    """The portable file."""
    return f"{len(portable_text(mechanism)) / 2**20:.3g} MB"


def from_bytes(size: int) -> str:
    """Discrete Gaussian numbers of 2^40 steps, by the rules that other languages follow."""
    made = design(Problem(Workload.identity(1), metrics.add_remove(1, 1.0), notion="zcdp"), "gaussian").mechanism
    [law] = byte_laws(made)  # type: ignore[arg-type]
    given = GivenBytes(random.Random(1).randbytes(2_000 * size))
    drawn = np.array([law.draw(given) for _ in range(size)], dtype=float)
    spread = float(drawn.std() * made.grid.steps[0])  # type: ignore[attr-defined]
    return f"{given.used / size:.0f} bytes each, deviation {spread:.3f} of 1"


CASES = (
    Case("exchange, maps and a release in OpenDP", "elements", (100, 400, 1_600, 6_400), mapped, few_queries),
    Case("exchange, the law of the noise on file", "queries", (30, 100, 300, 1_000), on_file, counts),
    Case("exchange, lines for other languages", "queries", (30, 100, 300, 1_000), as_lines, counts),
    Case("exchange, Gaussian numbers from bytes", "numbers", (100, 1_000, 10_000, 30_000), from_bytes),
)
