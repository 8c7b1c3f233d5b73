"""Targets for single queries at the least privacy cost: fitness-for-use."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.table import PUBLISHED, PeerTable, measured
from designer import Problem, Workload, design, metrics

Matrix = np.ndarray[Any, Any]


def ranges() -> tuple[Matrix, Matrix]:
    """128 ranges of 64 cells with random ends, in the order in which the peer draws; every variance at most 1."""
    random = np.random.RandomState(0)
    rows = np.zeros((128, 64))
    for row in rows:
        ends = sorted((random.randint(64), random.randint(64)))
        random.randint(1, 11)  # a target that the peer draws and does not use
        row[ends[0] : ends[1] + 1] = 1
    return rows, np.ones(128)


def signs() -> tuple[Matrix, Matrix]:
    """128 sums of 64 cells with random signs, variances at most 1 to 10."""
    random = np.random.RandomState(0)
    rows = 2.0 * random.choice(2, (128, 64), replace=True, p=None) - 1
    return rows, random.randint(1, 11, 128)


def ages() -> tuple[Matrix, Matrix]:
    """Sums from an age on, of 116 ages, for two sexes and for both; every variance at most 1."""
    sums = np.triu(np.ones((116, 116)))
    return np.vstack([np.kron(np.eye(2), sums), np.kron(np.ones((1, 2)), sums)]), np.ones(3 * 116)


def cost(rows: Matrix, targets: Matrix) -> tuple[float, float]:
    """The least privacy cost that meets all targets, which is the least of the largest variance over its target at cost 1."""
    relation = metrics.add_remove(rows.shape[1], 1.0)
    made = design(Problem(Workload(rows), relation, notion="zcdp", loss="max", weights=1 / targets), "gaussian")
    assert made.optimality is not None
    return made.loss, made.optimality.lower_bound


def table(small: bool) -> PeerTable:
    """The comparison; small: the ranges alone."""
    published = PUBLISHED["targets"]
    pairs = list(zip(published["rows"], (ranges, signs, ages), strict=True))[: 1 if small else 3]
    rows = tuple(
        measured(given["queries"], {"SM-II": given["SM-II"]}, lambda make=make: cost(*make()))  # type: ignore[misc]
        for given, make in pairs
    )
    about = (
        "Every query has a variance that it may not exceed; the cost to privacy is minimised (`least_budget`). SM-II follows "
        "a smoothed path and stops at a tolerance of one thousandth; here the end is certified."
    )
    number = "privacy cost, twice rho of zCDP, at which all variances are within their targets"
    return PeerTable("targets", "Targets: fitness-for-use", about, number, published["source"], rows)
