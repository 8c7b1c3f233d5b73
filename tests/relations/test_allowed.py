"""Lengths that (b, delta) allows, pair by pair; relations that no file holds."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from designer import InvalidProblem, InvalidSpec, Problem, Workload, design, metrics
from designer.certificate.frozen import to_spec
from designer.problem.relation import Relation
from designer.relations import delta_lengths as allowed
from designer.relations.delta_lengths import AllowedLengths, with_budgets_times
from designer.relations.kinds import relation_from_spec, require_listed
from designer.relations.metrics.metric import Uniform
from designer.relations.metrics.presence import AppearOrChange
from designer.relations.row_groups import RowGroups
from designer.tradeoff.delta_rule import ROUNDING, DeltaRule, GaussianAllowance, PureAllowance

PLACES = np.random.default_rng(3).uniform(0, 9, (70, 2))
RELATIONS: dict[str, Relation] = {
    "few budgets": metrics.partition(["a", "a", "b", "b", "a"], 0.7),
    "many budgets": metrics.euclidean(PLACES, per_unit=0.4),
    "appearing": metrics.appear_or_change(metrics.line([0, 1, 4], period=1, epsilon=1.0), 2.0),
}
ALLOWANCES = [GaussianAllowance(Fraction(1, 1000)), PureAllowance(Fraction(1, 1000))]


@pytest.mark.parametrize("allowance", ALLOWANCES, ids=["gaussian", "pure"])
@pytest.mark.parametrize("name", RELATIONS)
def test_every_pair_has_the_length_of_its_own_budget(name: str, allowance: DeltaRule) -> None:
    """Floats of all pairs are within the stated error of the exact lengths, and pairs without a budget have none."""
    part = RELATIONS[name]
    made = AllowedLengths(part, allowance)
    points = len(part.points(np.empty((part.size, 0))))
    for left, right in itertools.combinations(range(min(points, 12)), 2):
        budget, length = part.exact_budget(left, right), made.exact_budget(left, right)
        assert (budget is None) == (length is None)
        if budget is not None:
            assert length == allowance.most(budget) and length > 0
    seen = 0
    for block in made.blocks():
        left, right, budgets = np.broadcast_arrays(
            np.asarray(block.left)[:, None], np.asarray(block.right)[None, :], block.budgets
        )
        for i, j, found in zip(
            left.ravel()[:300].tolist(), right.ravel()[:300].tolist(), budgets.ravel()[:300].tolist(), strict=True
        ):
            exact = made.exact_budget(i, j)
            if i != j and exact is not None and np.isfinite(found):
                assert abs(Fraction(found) - exact) <= Fraction(made.budget_error) * exact
                seen += 1
    assert seen


def test_the_error_of_interpolated_lengths_is_stated_and_where_none_is_interpolated_that_of_rounding() -> None:
    few, many = (AllowedLengths(RELATIONS[name], ALLOWANCES[0]) for name in ("few budgets", "many budgets"))
    blocks = [block.budgets for block in RELATIONS["many budgets"].every_pair()]
    assert not all(map(ALLOWANCES[0].exact_on, blocks)) and ALLOWANCES[0].error > ROUNDING
    assert many.budget_error == RELATIONS["many budgets"].budget_error + 2 * ALLOWANCES[0].error
    assert few.budget_error == RELATIONS["few budgets"].budget_error + 2 * ROUNDING


@pytest.mark.parametrize("name", RELATIONS)
def test_more_pairs_than_can_be_scanned_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed, "MOST_ELEMENTS_WITH_DELTA", RELATIONS[name].size)
    assert AllowedLengths(RELATIONS[name], ALLOWANCES[1]).size == RELATIONS[name].size
    monkeypatch.setattr(allowed, "MOST_ELEMENTS_WITH_DELTA", RELATIONS[name].size - 1)
    with pytest.raises(InvalidProblem, match=rf"every pair of {RELATIONS[name].size} elements"):
        AllowedLengths(RELATIONS[name], ALLOWANCES[1])


class Own(Uniform):
    """A rule of the caller's own."""


def test_a_rule_of_the_caller_s_own_is_found_at_any_depth() -> None:
    own = Own(3, 1.0)
    for relation in (own, AppearOrChange(own, np.ones(3)), RowGroups((metrics.uniform(2, 1.0), own), ("a", "b"))):
        with pytest.raises(InvalidProblem, match="a rule of your own, which no file can hold"):
            require_listed(relation)
    for relation in RELATIONS.values():
        require_listed(relation)
    made = design(Problem(Workload.identity(3), AppearOrChange(own, np.ones(3))), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="a rule of your own"):
        to_spec(made)


@pytest.mark.parametrize("spec", [None, 7, [], {}, {"kind": "own"}, {"kind": None}, {"kind": "allowed"}])
def test_a_relation_of_no_listed_kind_is_refused(spec: object) -> None:
    with pytest.raises(InvalidSpec, match=r"relation\.kind: .* is unknown; .*use one of"):
        relation_from_spec(spec)


def test_budgets_of_groups_of_rows_are_multiplied_and_those_of_other_kinds_refused() -> None:
    groups = RowGroups((metrics.uniform(2, 1.0), metrics.line([0, 1, 4], period=1, epsilon=1.0)), ("a", "b"))
    assert groups.size == 5 and groups.starts.tolist() == [0, 2, 5]
    twice = with_budgets_times(2.0, groups)
    assert all(
        float(twice.parts[1].exact_budget(*p) or 0) == 2 * float(groups.parts[1].exact_budget(*p) or 0)
        for p in ((0, 1), (1, 2))
    )
    appearing = with_budgets_times(2.0, AppearOrChange(metrics.uniform(2, 1.0), np.array([3.0, 3.5])))
    assert appearing.change.exact_budget(0, 1) == 2 and appearing.epsilons.tolist() == [6.0, 7.0]
    with pytest.raises(InvalidProblem, match="cannot be multiplied"):
        with_budgets_times(2.0, AllowedLengths(RELATIONS["few budgets"], ALLOWANCES[1]))
