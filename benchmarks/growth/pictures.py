"""Pictures of large objects: bars of many answers, balls of many places, maps; drawn and written as an element for a page."""

from __future__ import annotations

import numpy as np

from benchmarks.growth.case import Case
from designer import Problem, Workload, design, drawings_of, metrics
from designer.base.answer_table import AnswerTable
from designer.base.arrays import Floats
from designer.mechanism.interface import Mechanism
from designer.publish.pictures.answers import answer_drawings
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.labels import shortened
from designer.publish.pictures.maps import map_drawing


def _released(count: int) -> AnswerTable:
    generator = np.random.default_rng(0)
    keys = tuple((f"place {k}",) for k in range(count))
    return AnswerTable("answers", ("place",), keys, generator.normal(size=count) * 100, np.full(count, 2.5))


def _placed(elements: int) -> Mechanism:
    places = np.random.default_rng(0).random((elements, 2)) * 100
    return design(Problem(Workload(places.T.copy()), metrics.euclidean(places, 0.1)), "l2_ball").mechanism


def _written(drawing: Drawing) -> str:
    return f"{len(drawing.svg()) / 1e3:,.0f} kB"


def _answers(table: AnswerTable) -> str:
    return _written(answer_drawings([table])[0])


def _ball(mechanism: Mechanism) -> str:
    return _written(next(drawing for drawing in drawings_of(mechanism) if drawing.name == "ball"))


def _spots(places: int) -> Floats:
    return np.random.default_rng(0).random((places, 2)) * [25, 60] + [24, -125]


def _map(spots: Floats) -> str:
    names = [f"place {k}" for k in range(len(spots))]
    return _written(map_drawing(spots, np.exp(spots[:, 0] / 4), names, "Places", "people"))


def _names(count: int) -> str:
    return f"{len(set(shortened([f'{k} of a very long avenue with many houses {k % 7}' for k in range(count)])))} names"


CASES = [
    Case("pictures: answers of a release", "answers", (100, 1_000, 10_000, 100_000), _answers, _released),
    Case("pictures: norm ball", "places", (100, 500, 2_000, 8_000), _ball, _placed),
    Case("pictures: map", "places", (100, 1_000, 10_000, 100_000), _map, _spots),
    Case("pictures: names that stay different", "names", (1_000, 10_000, 100_000, 1_000_000), _names),
]
