"""The synthetic setting of DX section 4 and its yardstick, the improvement factor of a single query."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designer.base.arrays import Floats
from designer.certificate.sensitivity import SensitivitySet
from designer.extend import Metric, figure
from examples.reproduction import saved

UNIVERSE = 50


def universe(seed: int = 0, whole: bool = True) -> Floats:
    """50 distinct points of the integer grid [0, 100]^2, or of the square if not `whole`.
    (DX says distinct points of [0, 100]^2 and that they are roughly evenly spread.)"""
    if not whole:
        return np.random.default_rng(seed).random((UNIVERSE, 2)) * 100
    chosen = np.random.default_rng(seed).choice(101 * 101, UNIVERSE, replace=False)
    return np.stack(np.divmod(chosen, 101), axis=1).astype(float)


def improvement_factors(metric: Metric, queries: Floats) -> Floats:
    """IF(q) = (Delta_1 / min d) / c of each query alone, c = max |q_i - q_j| / d(i, j) (DX section 4.1)."""
    distances = metric.distances()
    smallest = distances[np.triu_indices(len(distances), 1)].min()
    alone = SensitivitySet.of(queries, metric).worst_coordinates()
    return np.asarray(np.ptp(queries, axis=1) / smallest / alone)


def draw_factors(places: Floats, labels: tuple[str, str], factors: Floats, path: Path) -> Path:
    """Left the places of the universe, right the histogram of improvement factors, with the paper's axes."""
    drawing, (left, right) = figure(columns=2)
    left.scatter(*places.T, s=600 / len(places))
    left.set_xlabel(labels[0])
    left.set_ylabel(labels[1])
    right.hist(factors, bins=40)
    right.set_xlabel("improvement factor IF(q)")
    right.set_ylabel("number of queries")
    saved(drawing, path)
    return path
