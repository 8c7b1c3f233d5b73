"""Budgets that are promised are never below the exact ones: floats that were clipped, or rounded down, promise nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from designer import InvalidProblem, Problem, StructuredWorkload, Workload, design, invariants, metrics
from designer.domains.products_plan import design_structured
from designer.lattice.chain import Assessment
from designer.problem.domain import Domain
from designer.relations.row_groups import RowGroups
from solvers.exact.rational import float_above, max_float

LINE = metrics.line([0.0, 1.0, 4.0], period=1, epsilon=1e-150)
LARGE = metrics.scaled(1e-80, metrics.scaled(1e90, metrics.scaled(1e90, metrics.line([0.0, 3.0, 9.0], period=1, epsilon=1e50))))
SMALL = metrics.scaled(1e90, metrics.scaled(1e-60, LINE))  # 4e-210 counts as 0 on the way
CLIPPED = [
    SMALL,
    LARGE,
    metrics.sum_of(LINE, SMALL),
    metrics.maximum(LINE, LARGE),
    metrics.restriction(LARGE, [0, 2]),
    metrics.product(Domain.of({"a": 3, "b": 2}), [SMALL, metrics.uniform(2, 1e-190)]),
]


@pytest.mark.parametrize("change", [*CLIPPED, LINE, metrics.uniform(3, 0.1)], ids=lambda change: change.kind)
@pytest.mark.parametrize("share", [1e-190, 1e-30, 0.3])
def test_a_record_after_a_noisy_total_costs_the_share_and_its_farthest_exact_change(change, share):
    promised = metrics.after_noisy_total(change, share)
    for i in range(change.size):
        cost = Fraction(share) + max(change.exact_budget(i, j) for j in range(change.size))
        assert cost <= Fraction(float(promised.epsilons[i])) <= cost * (1 + Fraction(1, 10**12))
        assert promised.exact_budget(i, change.size) >= cost


def test_what_no_spec_could_hold_is_refused_after_a_noisy_total():
    with pytest.raises(InvalidProblem, match="epsilons"):
        metrics.after_noisy_total(metrics.uniform(3, 1e-250), 1e-250)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1 / 3, 0.7, 1.1])
@pytest.mark.parametrize("factor", [1.0, 0.3, 1 / 3])
def test_epsilon_of_a_lattice_mechanism_is_at_least_every_exact_budget(epsilon, factor):
    metric = metrics.scaled(factor, metrics.uniform(4, epsilon)) + metrics.line(
        [0.0, 0.1, 0.7, 1.3], period=0.3, epsilon=epsilon
    )
    problem = Problem(Workload.identity(4), metric & invariants.total(4))
    made = design(problem, "lattice_laplace", shape="l1").mechanism
    relation = made.relation
    exact = max(relation.exact_budget(m, len(relation.changes)) for m in range(len(relation.changes)))
    promised = made.epsilon_at(1e-6)
    assert exact <= Fraction(promised) <= exact * (1 + Fraction(1, 2**50))
    assert relation.largest_exact_budget() == exact


def test_a_finite_cost_beyond_the_floats_does_not_become_unprotected():
    huge = metrics.scaled(1e90, metrics.scaled(1e90, metrics.line([0.0, 3.0], period=1, epsilon=1e150)))
    with pytest.raises(InvalidProblem, match="out of range"):
        metrics.after_noisy_total(huge, 1.0)


def test_the_delta_of_a_chain_at_a_budget_beyond_the_exponentials_is_no_promise():
    assert Assessment(0.0, 0.0, 1e-9, 10, 1.0).delta(1000.0) == math.inf


@pytest.mark.parametrize(
    ("values", "budgets"),
    [(3, [1e308, 1e308, 1.0]), (10, [0.1] * 40), (10, [0.3] * 400), (2, [1.7976931348623157e308] * 3), (100, [0.7] * 30)],
)
def test_the_largest_budget_of_many_attributes_is_a_float_from_above_and_none_beyond_the_last(values, budgets):
    domain = Domain.of({f"a{i}": values for i in range(len(budgets))})
    exact = sum(map(Fraction, budgets), Fraction(0))
    pairs = [metrics.uniform(2, b) for b in budgets]
    made = [metrics.hamming(domain, budgets), RowGroups(tuple(pairs), tuple(f"g{i}" for i in range(len(pairs))))]
    if values <= 10:
        made.append(metrics.product(domain, [metrics.uniform(values, b) for b in budgets]))
    for relation in made:
        told = relation.largest_budget()
        assert told == min(float_above(exact), max_float) and math.isfinite(told)
    if values ** len(budgets) > 10**20:  # of no element that could be listed
        assert design_structured(StructuredWorkload.of(domain, [{"a0": "identity"}]), made[0]).guarantee.parameters[
            "largest_finite_budget"
        ] == float_above(exact)
    assert metrics.scaled(2.0, made[0]).largest_budget() == min(float_above(2 * Fraction(made[0].largest_budget())), max_float)
