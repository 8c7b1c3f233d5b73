"""How composing grows: with the releases, of one kind and of different ones, and with the elements whose pairs are looked
at."""

from __future__ import annotations

from typing import Literal

import numpy as np

from benchmarks.growth.case import Case
from designer import Problem, Workload, design, metrics
from designer.accounts import composed, expense_of, spent
from designer.certificate.frozen import FrozenMechanism
from designer.problem.relation import Relation

NOTIONS_IN_TURN: tuple[Literal["pure"], Literal["zcdp"]] = ("pure", "zcdp")


def _made(relation: Relation, notion: Literal["pure", "zcdp"] = "pure") -> FrozenMechanism:
    workload = Workload(np.arange(relation.size, dtype=float)[None, :])
    return design(Problem(workload, relation, notion=notion), "laplace" if notion == "pure" else "gaussian").mechanism


def _told(mechanisms: list[FrozenMechanism]) -> str:
    """The epsilon at a delta of 1e-6, over that of plain addition."""
    both = composed(*mechanisms)
    least, plain = both.epsilon(1e-6), both.epsilon(0)
    return f"epsilon {least:.4g}" + (f", {least / plain:.4f} of plain addition" if least and plain else "")


def alike(releases: int) -> str:
    """The same pure release again and again."""
    return _told([_made(metrics.uniform(3, 0.1))] * releases)


def different(releases: int) -> str:
    """Pure and Gaussian releases of two budgets each."""
    kinds = [_made(metrics.uniform(3, b), notion) for b in (0.1, 0.15) for notion in NOTIONS_IN_TURN]
    return _told((kinds * releases)[:releases])


def elements(size: int) -> str:
    """A metric of the plane beside one budget for all, pair by pair where they are few."""
    points = np.random.default_rng(0).random((size, 2)).tolist()
    return _told([_made(metrics.euclidean(points, 1.0)), _made(metrics.uniform(size, 0.25))])


def recorded(expenses: int) -> str:
    """What a ledger adds up: expenses as plain data, of two budgets."""
    made = [expense_of(_made(metrics.uniform(3, b))) for b in (0.01, 0.02)]
    total = spent((made * expenses)[:expenses])
    return f"epsilon {total.epsilon_at(1e-6):.4g} of {float(total.epsilon or 0):.4g}"


CASES = (
    Case("composition, one release again and again", "releases", (10, 100, 1_000, 10_000), alike),
    Case("composition, four kinds in turn", "releases", (4, 40, 400, 4_000), different),
    Case("composition, a metric beside one budget", "elements", (10, 50, 200, 1_000), elements),
    Case("composition, expenses of a ledger", "expenses", (10, 100, 1_000, 10_000), recorded),
)
