"""Every program of CVXPY against the specialised solver of its family, on 50 random problems each.

The two share no code but the scan of pairs. CVXPY is never worse, by more than 1e-6 or what both certify to be left to gain; it
is never better either, where the specialised solver claims to have minimised the loss of the problem. Neither beats the other's
lower bound. Bounds and programs of biased families are of continuous noise, and their own solvers take unbiased noise on whole
numbers where that loses less: so these are held to the loss of the same noise on a grid on which it is continuous. A few of
the problems run every time, the rest with the heavy tests.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from designer import Problem, Workload, design, invariants, metrics
from designer.base.lazy_imports import at_address
from designer.designing import FAMILIES
from designer.designing.design_result import Design
from designer.mechanism.noise import Grid
from designer.problem.relation import Relation

PROGRAMS = {family.name: at_address(family.program) for family in FAMILIES if family.program}
BIASED = {family.name for family in FAMILIES if family.biased}
COUNT, ALWAYS = 50, {"strategy_laplace": 1}  # a search for strategies takes seconds
CASES = [
    pytest.param(family, seed, marks=() if seed < ALWAYS.get(family, 8) else pytest.mark.heavy)
    for family in PROGRAMS
    for seed in range(COUNT)
]
AGREE = 1e-6


def drawn_relation(rng: np.random.Generator, n: int, biased: bool) -> Relation:
    """One of seven kinds, on n elements; budgets over two orders of magnitude. biased: without the invariant."""
    own = np.exp(rng.uniform(-2, 2, n))
    tree = [[int(i) for i in rng.integers(0, 2, 2)] for _ in range(n)]
    kinds = (
        lambda: metrics.uniform(n, float(own[0])),
        lambda: metrics.per_element(own),
        lambda: metrics.euclidean(rng.normal(size=(n, 2)), float(own[0])),
        lambda: metrics.line(rng.permutation(n).astype(float), 1, float(own[0])),
        lambda: metrics.taxonomy(tree, own[:3]),
        lambda: metrics.add_remove(n, own),
        lambda: invariants.total(n).protect(float(own[0])),
    )
    return kinds[int(rng.integers(len(kinds) - biased))]()


def drawn_problem(seed: int, family: str) -> Problem:
    """One to five queries over four to eight elements (strategies: half as many), real or of 0 and 1; some losses weighted."""
    rng = np.random.default_rng([seed, *family.encode()])
    n, k = int(rng.integers(4, 9)), int(rng.integers(1, 6))
    n, k = (3 + n // 4, 1 + k // 2) if family == "strategy_laplace" else (n, k)
    matrix = rng.integers(0, 2, (k, n)).astype(float) if rng.random() < 0.5 else rng.normal(size=(k, n))
    matrix[np.ptp(matrix, axis=1) == 0, 0] += 1  # a constant query is public
    losses, biased = ["squared", "absolute", "max"], family in BIASED
    losses = losses[:1] if family == "gaussian_joint" else losses  # its program is of the worst squared error
    return Problem(
        Workload(matrix),
        drawn_relation(rng, n, biased),
        notion=PROGRAMS[family].notion,
        loss=losses[int(rng.integers(len(losses)))],  # type: ignore[arg-type]
        records=float(np.exp(rng.uniform(-1, 7))) if biased else None,
        weights=np.exp(rng.uniform(-1, 1, k)) if rng.random() < 0.5 else None,
    )


def gap(made: Design) -> float:
    return made.optimality.gap if made.optimality else 0.0


def continuous(made: Design) -> float:
    """The loss; of a biased family, were its noise continuous: on steps of at most 2^-40."""
    if made.mechanism.family not in BIASED:
        return made.loss
    fine = Grid(tuple(min(one, -40) for one in made.mechanism.grid.exponents))
    return replace(made, mechanism=replace(made.mechanism, grid=fine)).loss


def beats_no_bound(made: Design, other: Design) -> None:
    """No design of a family is below what the other solver proved of the same objective."""
    if made.optimality and other.optimality and made.optimality.objective == other.optimality.objective:
        value = continuous(made) if made.mechanism.family in BIASED else made.optimality.value
        assert value >= other.optimality.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_cvxpy_agrees_with_the_specialised_solver(family: str, seed: int) -> None:
    problem = drawn_problem(seed, family)
    own, made = (design(problem, family, solver=solver) for solver in ("auto", "CLARABEL"))
    assert made.privacy.holds and own.privacy.holds
    beats_no_bound(made, own)
    beats_no_bound(own, made)
    allowed = max(AGREE, gap(own) + gap(made))
    assert made.loss / continuous(own) - 1 <= allowed
    # Without a claim the family's own solver minimises something else (the squares, for the absolute loss) or searches.
    assert 1 - made.loss / own.loss <= allowed or own.optimality is None
