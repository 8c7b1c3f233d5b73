"""Metrics given entry by entry: the check of the triangle inequality, and the closure of a metric."""

from __future__ import annotations

import numpy as np

from benchmarks.growth.case import Case
from designer import metrics
from designer.base.arrays import Floats


def _distances(elements: int) -> Floats:
    return metrics.euclidean(np.random.default_rng(0).random((elements, 3))).distances()


def _checked(matrix: Floats) -> str:
    return f"{metrics.from_matrix(matrix).size} elements, a metric"


def _closed(matrix: Floats) -> str:
    given = matrix.copy()
    given[0, 1:9] = given[1:9, 0] = 9.0
    return f"{int((metrics.from_matrix(given, closure=True).budgets < given).sum()) // 2} lowered"


CASES = [
    Case("matrices: checked", "elements", (500, 1_000, 2_000, 5_000), _checked, _distances),
    Case("matrices: closed, 8 entries too long", "elements", (250, 500, 1_000, 2_000), _closed, _distances),
]
