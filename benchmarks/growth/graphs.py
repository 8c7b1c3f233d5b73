"""Graphs and distance policies: design, guarantee, save and load."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.growth.case import Case
from benchmarks.growth.million import places
from designer import Problem, Workload, design, load, metrics
from designer.extend import Metric


def _whole(metric: Metric) -> str:
    problem = Problem(Workload.random(3, metric.size, seed=0), metric)
    start = time.perf_counter()
    made = design(problem, "laplace").mechanism
    designed = time.perf_counter()
    largest = made.guarantee.parameters["largest_finite_budget"]
    with TemporaryDirectory() as folder:
        assert load(made.save(Path(folder) / "spec.json")) == made
    ended = time.perf_counter()
    bound = "a bound" if "upper bound" in made.guarantee.relation else "exact"
    return f"design {designed - start:.2f} s, the rest {ended - designed:.2f} s; largest budget {largest:.6g} ({bound})"


def _roads(nodes: int) -> str:
    side = int(np.sqrt(nodes))
    at = np.arange(side * side).reshape(side, side)
    ends = np.concatenate(
        [np.stack([at[:, :-1], at[:, 1:]], -1).reshape(-1, 2), np.stack([at[:-1], at[1:]], -1).reshape(-1, 2)]
    )
    lengths = np.random.default_rng(1).uniform(1, 2, len(ends))
    return _whole(metrics.graph([(i, j, w) for (i, j), w in zip(ends.tolist(), lengths.tolist(), strict=True)]))


def _ring(nodes: int) -> str:
    return _whole(metrics.graph([(i, (i + 1) % nodes) for i in range(nodes)]))


def _policy(elements: int) -> str:
    return _whole(metrics.blowfish(places(elements), 1.5, 0.5))


SIZES = (5_000, 10_000, 25_000, 50_000, 100_000)
CASES = [
    Case("graphs: roads of a grid", "nodes", SIZES, _roads),
    Case("graphs: a ring", "nodes", SIZES, _ring),
    Case("graphs: a distance policy", "elements", SIZES, _policy),
]
