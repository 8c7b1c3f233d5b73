"""Pictures of large objects: bars of many answers, balls of many places, maps; drawn and written as an element for a page."""

from __future__ import annotations

import numpy as np

from benchmarks.growth.case import Case
from designer import Problem, Workload, design, metrics
from designer.additive.interface import Mechanism
from designer.pictures.drawing import Drawing
from designer.pictures.labels import shortened
from designer.pictures.maps import map_drawing
from designer.values.arrays import Floats


def _counted(elements: int) -> Mechanism:
    return design(Problem(Workload.identity(elements), metrics.add_remove(elements, 1.0)), "laplace").mechanism


def _placed(elements: int) -> Mechanism:
    places = np.random.default_rng(0).random((elements, 2)) * 100
    return design(Problem(Workload(places.T.copy()), metrics.euclidean(places, 0.1)), "l2_ball").mechanism


def _written(drawing: Drawing) -> str:
    return f"{len(drawing.svg()) / 1e3:,.0f} kB"


def _errors(mechanism: Mechanism) -> str:
    return _written(next(drawing for drawing in mechanism.drawings() if drawing.name == "errors"))


def _ball(mechanism: Mechanism) -> str:
    return _written(next(drawing for drawing in mechanism.drawings() if drawing.name == "ball"))


def _spots(places: int) -> Floats:
    return np.random.default_rng(0).random((places, 2)) * [25, 60] + [24, -125]


def _map(spots: Floats) -> str:
    names = [f"place {k}" for k in range(len(spots))]
    return _written(map_drawing(spots, np.exp(spots[:, 0] / 4), names, "Places", "people"))


def _names(count: int) -> str:
    return f"{len(set(shortened([f'{k} of a very long avenue with many houses {k % 7}' for k in range(count)])))} names"


CASES = [
    Case("pictures: standard errors", "answers", (100, 1_000, 10_000, 100_000), _errors, _counted),
    Case("pictures: norm ball", "places", (100, 1_000, 5_000, 20_000), _ball, _placed),
    Case("pictures: map", "places", (100, 1_000, 10_000, 100_000), _map, _spots),
    Case("pictures: names that stay different", "names", (1_000, 10_000, 100_000, 1_000_000), _names),
]
