"""Pairs that a relation leaves out of its scan: a certificate holds exactly when every pair, those left out too,
keeps its exact budget."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import metrics
from designer.certificate.certificate import certify
from designer.certificate.norms import weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.problem.relation import Relation
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AppearOrChange
from tests.oracles.metric_kinds import SPECIMENS, every_metric

ONE = weighted_l1([1.0])
ANTIPODES = [[0.0, 0.0], [1e-7, 179.99999], [10.0, 20.0], [-10.0, -159.9999999], [45.0, 90.0]]
HALF = metrics.from_matrix([[0, 9.9e-201, 9.9e-201], [9.9e-201, 0, 1.01e-200], [9.9e-201, 1.01e-200, 0]])
TINY = metrics.sum_of(HALF, HALF)  # its shorter budgets count as 0, its longest does not
LARGE = 1e-90 * metrics.sum_of(1e90 * metrics.line([0, 1, 2, 3], 1.0, 1e180), metrics.uniform(4, 1e199))
KINDS: dict[str, Metric] = {
    **{name: made for name, made in SPECIMENS.items() if isinstance(made, Metric)},
    "great_circle": metrics.great_circle(ANTIPODES, 1.0),
    "great circle in a sum": metrics.great_circle(ANTIPODES, 0.3) + metrics.uniform(5, 1e-9),
    "clipped above": LARGE,
}
WITHIN = 1 - 1e-9
GAPS = [0.0, 3e-16, 1e-15, 1e-13, 1e-11, 3e-9, 3e-8, 2e-7, 1e-2, 0.9]


def broken(relation: Relation, places: list[float]) -> bool:
    """Whether some pair of points is farther apart than its exact budget; each pair by itself, in rationals."""
    return any(
        (budget := relation.exact_budget(i, j)) is not None and abs(Fraction(places[i]) - Fraction(places[j])) > budget
        for i, j in itertools.combinations(range(len(places)), 2)
    )


def holds(relation: Relation, places: list[float]) -> bool:
    return certify(SensitivitySet(relation, np.array(places)[:, None]), ONE).holds


def tied(change: Metric, i: int, j: int, gap: float, share: float) -> tuple[AppearOrChange, list[float]] | None:
    """Elements i and j appear with budgets whose sum is `1 + gap` times that of the change, and are that sum apart; all others
    lie within their budgets of these two, as far as floats go."""
    direct = change.exact_budget(i, j)
    if not direct or float(direct) * min(share, 1 - share) < 1e-200 or direct > 1e200:
        return None
    epsilons = [math.inf] * change.size
    epsilons[i] = float(direct) * share
    epsilons[j] = float(direct * (1 + Fraction(gap)) - Fraction(epsilons[i]))
    relation = metrics.appear_or_change(change, epsilons, closure=True)
    places = [0.0] * (change.size + 1)
    places[i], places[j] = epsilons[i], -epsilons[j]
    for k in set(range(change.size)) - {i, j}:
        ways = [(places[m], relation.exact_budget(k, m)) for m in (i, j, change.size)]
        places[k] = min((at + float(budget) * WITHIN for at, budget in ways if budget is not None), default=0.0)
    return relation, places


@pytest.mark.parametrize("share", [pytest.param(0.5, marks=pytest.mark.nightly), 0.3])
@pytest.mark.parametrize("name", KINDS)
def test_no_change_is_dropped_for_a_way_round_that_floats_take_for_shorter(name: str, share: float) -> None:
    """The sum of the ends' budgets is a hair above the change's own, and the points are that sum apart: one pair is broken,
    by that hair."""
    change, tried = KINDS[name], 0
    for (i, j), gap in itertools.product(itertools.combinations(range(change.size), 2), GAPS):
        made = tied(change, i, j, gap, share)
        if made is not None:
            tried += (bad := broken(*made))
            assert holds(*made) is not bad, (i, j, gap)
    assert tried or change.size < 2


def stretched(relation: AppearOrChange, a: int, b: int, gap: float) -> list[float]:
    """Points within their budgets, as far as floats go, but for a and b,
    which are `1 + gap` times theirs apart where the origin allows it."""
    ends = [relation.exact_budget(m, relation.size) for m in (a, b)]
    apart = relation.exact_budget(a, b)
    if None in ends or apart is None:
        return [0.0] * (relation.size + 1)
    reach = min(float(apart * (1 + Fraction(gap))), float(sum(ends)) * WITHIN)
    places = {relation.size: 0.0, a: min(reach, float(ends[0]) * WITHIN)}
    places[b] = places[a] - reach
    for k in set(range(relation.size)) - {a, b}:
        ways = [(at, relation.exact_budget(k, m)) for m, at in places.items()]
        places[k] = min((at + float(budget) * WITHIN for at, budget in ways if budget is not None), default=0.0)
    return [places[m] for m in range(relation.size + 1)]


def test_changes_beside_budgets_that_floats_take_for_0_are_not_dropped() -> None:
    """Elements 1 and 2 appear through 0, at a cost that floats understate,
    so the way round looks shorter than the change: it is not."""
    relation = metrics.appear_or_change(TINY, [1e-200, math.inf, math.inf], closure=True)
    places = stretched(relation, 1, 2, 0.9)
    assert broken(relation, places) and not holds(relation, places)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_certificates_agree_with_all_pairs_one_by_one(data: st.DataObject) -> None:
    change = data.draw(every_metric())
    i, j = data.draw(st.tuples(*[st.integers(0, change.size - 1)] * 2))
    gap = data.draw(st.sampled_from(GAPS))
    made = tied(change, i, j, gap, data.draw(st.sampled_from([0.5, 0.3, 0.01]))) if i != j else None
    if made is not None:
        assert holds(*made) is not broken(*made)
        places = stretched(made[0], *data.draw(st.permutations(range(change.size)))[:2], gap)
        assert holds(made[0], places) is not broken(made[0], places)


def test_a_bound_too_high_for_its_pair_hides_no_broken_pair() -> None:
    """Float budgets above 1e200 are clipped, so that their ratios look larger than they are; another pair is truly broken."""
    relation = 1e-90 * (1e90 * metrics.graph([(0, 1, 1e80), (2, 3, 1e30)], per_edge=1e90, nodes=4))
    places = [1e140, 0.0, 2e120, 0.0]
    assert broken(relation, places) and not holds(relation, places)
