"""A design that optimises spends the whole budget, whatever its size: noise wider than privacy asks is error for nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from designer import Problem, Workload, design, invariants, metrics
from designer.certificate.guarantee import ADDITIVE_FAMILIES
from designer.designing import FAMILIES
from designer.designing.family import Family
from designer.lattice.mechanism import LatticeMechanism
from designer.problem.relation import Relation
from designer.synthetic.queries import LipschitzQueries
from tests.oracles.shallow import shallow

BUDGETS = (1e-3, 0.05, 1.0, 8.0, 30.0, 1e3)
SPENT = Fraction(999, 1000)
SHAPES = [("lattice_laplace", shape) for shape in ("l1", "l2", "ellipsoid", "hull")]
SHAPES += [("lattice_gaussian", shape) for shape in ("l2", "ellipsoid")]
OPTIMISING = [family for family in FAMILIES if family.name in ADDITIVE_FAMILIES and not family.baseline]


def distances(seed: int, epsilon: float) -> Relation:
    """A budget of epsilon for every unit of distance between four random points."""
    return metrics.euclidean(np.random.default_rng(seed).normal(size=(4, 2)), epsilon)


def random_invariant(seed: int) -> invariants.Invariant:
    """One or two random statistics of 0 and 1 on four or five elements, the number of records public."""
    random = np.random.default_rng(seed)
    while True:
        matrix = random.integers(0, 2, (int(random.integers(1, 3)), int(random.integers(4, 6))))
        if matrix.any(axis=1).all() and np.ptp(matrix, axis=1).all():
            return invariants.linear(matrix)


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize(("family", "shape"), SHAPES)
def test_integer_noise_spends_the_whole_budget(family: str, shape: str, epsilon: float) -> None:
    cases = [(invariants.margins((3, 3)), 2), *((random_invariant(seed), 3) for seed in range(2))]
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    for invariant, adjacency in cases:
        problem = Problem(Workload.identity(invariant.size), invariant.protect(epsilon, adjacency), notion=notion)
        made = design(problem, family, shape=shape).mechanism
        assert isinstance(made, LatticeMechanism) and SPENT <= made.privacy.worst_ratio <= 1
        # Independent of the certificate: the largest loss among the protected changes is the budget.
        assert made.privacy_loss(made.relation.changes).max() == pytest.approx(epsilon, rel=1e-3)
        noise = made.draw(20, seed=1)
        assert not (noise @ invariant.constraints.T).any()


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("distance", ["l1", "l2"])
def test_a_budget_per_distance_is_spent_in_the_norm_of_that_distance(distance: str, epsilon: float) -> None:
    relation = invariants.margins((2, 3)).protect(epsilon, per_distance=distance)
    made = design(Problem(Workload.identity(6), relation), "lattice_laplace", shape=distance).mechanism
    assert made.privacy.worst_ratio == 1


@pytest.mark.parametrize("family", OPTIMISING, ids=lambda family: family.name)
def test_additive_noise_spends_the_whole_budget(family: Family) -> None:
    for position, epsilon in enumerate(BUDGETS):
        random = np.random.default_rng(position)
        matrix = random.integers(-3, 4, (3, 4)).astype(float) * 10.0 ** random.integers(-3, 4)
        relation = invariants.total(4).protect(epsilon, 2) if family.invariants_only else distances(position, epsilon)
        problem = Problem(Workload(matrix), relation, notion=family.notion, records=1e9 if family.biased else None)
        assert SPENT <= design(problem, family.name, **shallow(family.name)).privacy.worst_ratio <= 1, epsilon


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_stand_in_queries_spend_the_whole_budget(epsilon: float) -> None:
    matrix = np.random.default_rng(5).integers(-3, 4, (3, 4)).astype(float)
    queries = LipschitzQueries.on_grid(Workload(matrix), distances(5, epsilon), matrix, -20)
    assert SPENT <= queries.verify().worst_ratio <= 1
