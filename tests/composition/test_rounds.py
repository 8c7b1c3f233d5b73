"""What mechanisms of several rounds cost: all of their shares, whatever each of them is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from designer import Problem, Workload, design, metrics
from designer.composition import expense_of
from designer.relations.row_groups import RowGroups
from designer.synthetic.multiplicative import MWEM
from tests.oracles.spec_specimens import specimens


@pytest.mark.parametrize("shares", [((1, 10), (2, 10)), ((1, 20), (1, 10), (1, 20)), ((1, 2),)])
def test_rounds_of_synthetic_data_cost_the_sum_of_their_shares(shares: tuple[tuple[int, int], ...]) -> None:
    made = specimens()["mwem"]
    assert isinstance(made, MWEM)
    parts = tuple((Fraction(*share) / 2, Fraction(*share) / 2) for share in shares)
    whole = expense_of(replace(made, shares=((Fraction(1, 2), Fraction(1, 2)),))).epsilon
    assert whole is not None
    assert expense_of(replace(made, shares=parts)).epsilon == whole * sum(Fraction(*share) for share in shares)


def test_a_record_that_may_change_in_several_groups_costs_the_sum_of_their_budgets() -> None:
    groups = RowGroups((metrics.uniform(2, 0.5), metrics.euclidean([0.0, 1.0, 2.5], 0.25)), ("sex", "age"))
    sums = Problem(Workload([[1, 0, 1, 0, 0], [0, 2, 0, 1, 3]]), groups)
    assert expense_of(design(sums, "laplace").mechanism).epsilon == Fraction(1, 2) + Fraction(5, 2) / 4
