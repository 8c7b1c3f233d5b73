"""K-norms of sets that are not written out, and biased designs of many elements."""

from __future__ import annotations

import numpy as np

from benchmarks.growth.case import Case
from benchmarks.growth.million import places, regions_and_bumps
from designer import Problem, Workload, design, metrics


def _hull(elements: int, queries: int, bumps: bool) -> str:
    draw = np.random.default_rng(3)
    answers = regions_and_bumps(elements, 2 * queries)[1::2] if bumps else draw.random((queries, elements))
    made = design(Problem(Workload(answers), metrics.euclidean(places(elements))), "k_norm")
    return made.mechanism.norm.proof_words.split(",")[0]


def _smooth_2(elements: int) -> str:
    return _hull(elements, 2, True)


def _smooth_3(elements: int) -> str:
    return _hull(elements, 3, True)


def _random_4(elements: int) -> str:
    return _hull(elements, 4, False)


def _joint(elements: int) -> str:
    metric = metrics.euclidean(places(elements))
    made = design(Problem(Workload.random(1, elements, seed=1), metric, records=30.0), "laplace_joint")
    assert made.optimality is not None
    return f"gap {made.optimality.gap:.1e}"


CASES = [
    Case("knorm: smooth answers, K 2", "elements", (750, 1_500, 3_000, 6_000), _smooth_2),
    Case("knorm: smooth answers, K 3", "elements", (750, 1_500, 3_000, 6_000, 20_000), _smooth_3),
    Case("knorm: random answers, K 4", "elements", (750, 5_000, 20_000, 80_000), _random_4),
    Case("joint: one query", "elements", (750, 1_500, 3_000, 6_000), _joint),
]
