"""Elliptic Gaussian noise for counts and votes: the closed forms of Joseph and Yu."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np

from benchmarks.peers.table import PeerTable, Row, measured
from designer import Problem, Workload, design, metrics

SOURCE = (
    "Published closed forms: Theorems 8.9 and 9.10 of Joseph and Yu, Some constructions of private, efficient, and optimal "
    "K-norm and elliptic Gaussian noise (COLT 2024, arXiv 2309.15790), as `k_norm/ellipse_norm_compare.py` of "
    "github.com/google-research/google-research writes them."
)


def two_axes(along: float, across: float, dimension: int) -> float:
    """The least total variance: `along` and `across` are the lengths of a point in and off the direction of all ones."""
    return (along + across * math.sqrt(dimension - 1)) ** 2


def published_count(dimension: int, most: int) -> float:
    """A record adds 1 to at most `most` of the counts, at most half of them."""
    return two_axes(most / math.sqrt(dimension), math.sqrt(most * (dimension - most) / dimension), dimension)


def published_vote(dimension: int) -> float:
    """A record gives 0, ..., d - 1 points to d candidates in some order."""
    return two_axes(math.sqrt(dimension) * (dimension - 1) / 2, math.sqrt(dimension * (dimension**2 - 1) / 12), dimension)


def total(records: list[list[int]]) -> tuple[float, float | None]:
    """The total variance of the design for records with these answers, and its bound."""
    answers = np.array(records, dtype=float).T
    made = design(Problem(Workload(answers), metrics.add_remove(len(records), 1.0), notion="zcdp"), "gaussian")
    assert made.optimality is not None
    return made.loss, made.optimality.lower_bound


def counts(dimension: int, most: int) -> Row:
    """The design sees the list of all answers that a record can have, and is told nothing of its symmetry."""
    sets = [s for size in range(1, most + 1) for s in combinations(range(dimension), size)]
    records = [[int(i in s) for i in range(dimension)] for s in sets]
    theirs = {"Joseph and Yu": published_count(dimension, most)}
    return measured(f"{dimension} counts, a record in at most {most}", theirs, lambda: total(records))


def votes(dimension: int) -> Row:
    """All orders of the candidates."""
    records = [list(order) for order in permutations(range(dimension))]
    return measured(f"ranking of {dimension} candidates", {"Joseph and Yu": published_vote(dimension)}, lambda: total(records))


def table(small: bool) -> PeerTable:
    """The comparison; small: the two smallest of each."""
    rows = [counts(d, k) for d, k in ((4, 1), (6, 2), (10, 3), (12, 6))[: 2 if small else 4]]
    rows += [votes(d) for d in range(3, 5 if small else 8)]
    about = (
        "The same optimum, found by a program that is given a list of answers and no formula: matching digits are the expected "
        "result. "
        "The peer's forms hold at any dimension at once; a list of all rankings ends at about eight candidates."
    )
    number = "total variance at 0.5-zCDP"
    return PeerTable("norms", "Counts and votes: elliptic noise of Joseph and Yu", about, number, SOURCE, tuple(rows))
