"""One answer under pure differential privacy: geometric noise and the staircase of Geng and Viswanath, in closed form."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.peers.table import PeerTable, Row, measured
from designer import Problem, Workload, design, metrics

SOURCE = (
    "Published closed forms: Ghosh, Roughgarden and Sundararajan (STOC 2009) for counts; Geng and Viswanath, The optimal "
    "mechanism in differential privacy (ISIT 2014), for sums of real numbers; Laplace noise has twice the square of 1/epsilon."
)


def geometric(epsilon: float) -> float:
    """The variance of two-sided geometric noise."""
    b = math.exp(-epsilon)
    return 2 * b / (1 - b) ** 2


def staircase(epsilon: float) -> float:
    """The least variance of noise for one real number of sensitivity 1 (Geng and Viswanath, Theorem 7)."""
    b = math.exp(-epsilon)
    return ((b * (1 + b)) ** (2 / 3) / 2 ** (2 / 3) + b) / (1 - b) ** 2


def variance(answers: list[float], epsilon: float) -> tuple[float, float | None]:
    """The variance of the design for one sum to which a record adds one of these numbers, and its bound."""
    made = design(Problem(Workload([answers]), metrics.add_remove(len(answers), epsilon)))
    return made.loss, None if made.limit is None else made.loss * made.efficiency


def count(epsilon: float) -> Row:
    """A count."""
    theirs = {"Laplace": 2 / epsilon**2, "geometric": geometric(epsilon), "staircase": None}
    return measured(f"a count, epsilon {epsilon:g}", theirs, lambda: variance([1.0], epsilon))


def real(steps: int, epsilon: float) -> Row:
    """A sum to which a record adds a multiple of 1 over some steps, at most 1."""
    theirs = {"Laplace": 2 / epsilon**2, "geometric": None, "staircase": staircase(epsilon)}
    answers = (np.arange(1, steps + 1) / steps).tolist()
    return measured(f"a sum of multiples of 1/{steps}, epsilon {epsilon:g}", theirs, lambda: variance(answers, epsilon))


def table(small: bool) -> PeerTable:
    """The comparison; small: two rows of each."""
    rows = [count(epsilon) for epsilon in ((1, 4) if small else (0.5, 1, 2, 4, 8))]
    rows += [real(steps, epsilon) for steps in ((2,) if small else (2, 5, 10)) for epsilon in (1, 4)]
    about = (
        "A count's noise is the geometric one. A sum of multiples of 1/m gets whichever loses least: noise on the lattice of "
        "these multiples, on its halves, or the continuous staircase, which is not restricted to a lattice."
    )
    number = "variance of the answer when one record appears or disappears"
    return PeerTable("single_counts", "One answer: geometric noise and the staircase", about, number, SOURCE, tuple(rows))
