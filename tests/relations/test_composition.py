"""Composition, groups, post-processing and unbounded data: arithmetic of budgets, statements, and an enumerated protocol."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import AdditiveMechanism, InvalidProblem, Problem, Workload, design, metrics
from designer.accounts import composed
from designer.problem.relation import Relation
from designer.relations.joint_promises import composition, for_groups, group_budget, group_privacy, post_processing
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AppearOrChange
from tests.oracles.metric_kinds import every_metric, with_origin

LINE = metrics.line([0, 1, 4], 1, 0.5)
OWN = metrics.per_element([1.0, 2.0, 0.25])


def made(relation: Relation, notion: str = "pure", matrix: object = ((1.0, 2.0, 4.0),)) -> AdditiveMechanism:
    return design(Problem(Workload(matrix), relation, notion=notion), "laplace" if notion == "pure" else "gaussian").mechanism


@settings(max_examples=40, deadline=None)
@given(every_metric(), st.integers(1, 3))
def test_pure_budgets_add_and_gaussian_ones_in_squares(metric: Metric, copies: int) -> None:
    listed = [metric, *[metrics.uniform(metric.size, 0.75)] * copies]
    added, squared = composition(listed), composition(listed, "zcdp")
    for i, j in itertools.product(range(metric.size), repeat=2):
        budget = metric.exact_budget(i, j)
        if budget is None:
            assert added.exact_budget(i, j) is None
            assert squared.exact_budget(i, j) is None
            continue
        other = Fraction(3, 4) * (i != j)
        assert added.exact_budget(i, j) == budget + copies * other
        square = budget**2 + copies * other**2
        root = squared.exact_budget(i, j)
        assert root is not None
        # A root within the metric is itself rounded down, by less than 2^-79: the square of its
        # budget is a little below the truth.
        assert square * (1 - Fraction(1, 2**78)) <= root**2 <= square * (1 + Fraction(1, 2**78))


@settings(max_examples=40, deadline=None)
@given(with_origin(), st.sampled_from([0.1, 0.3, 2.0]))
def test_budgets_of_appearing_compose_too(relation: AppearOrChange, epsilon: float) -> None:
    size, origin = relation.size, relation.size
    together = composition([relation, metrics.add_remove(size, epsilon)])
    for i in range(size):
        alone = relation.exact_budget(i, origin)
        spent = together.exact_budget(i, origin)
        assert (alone is None) == (spent is None)
        if alone is not None:
            assert spent is not None
            assert alone + Fraction(epsilon) <= spent
    for i, j in itertools.combinations(range(size), 2):
        alone, spent = relation.exact_budget(i, j), together.exact_budget(i, j)
        assert (alone is None) == (spent is None)
        if alone is not None and spent is not None:
            assert alone + 2 * Fraction(epsilon) <= spent * (1 + Fraction(1, 2**70))


def test_bounded_and_unbounded_together_protect_changes_only() -> None:
    together = composition([LINE, metrics.appear_or_change(LINE, 3.0)])
    assert isinstance(together, Metric)
    assert together.exact_budget(0, 2) == 4


def test_groups() -> None:
    assert group_privacy(LINE, 3).exact_budget(0, 2) == 6
    assert group_budget(LINE, [(0, 2), (1, 0), (1, 1)]) == Fraction(5, 2)
    assert group_budget(metrics.partition(["a", "b", "a"], 1.0), [(0, 2), (0, 1)]) is None
    presence = metrics.add_remove(2, [1.0, 2.0])
    assert group_budget(presence, [(0, 2), (2, 1), (0, 1), (1, 1)]) == 6
    worst = max(LINE.exact_budget(i, j) for i, j in itertools.product(range(3), repeat=2))
    pairs = [(0, 1), (1, 2), (0, 2)]
    assert group_budget(LINE, pairs) <= 2 * len(pairs) * worst  # DX Fact 1, 3: three changes are at l1 distance 6


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_group_and_composition_bounds_hold_for_the_noise(notion: str) -> None:
    """The loss of joint releases is the norm of both differences: l1 norms add, Euclidean ones in squares.
    Every pair, two mechanisms."""
    first, second = made(LINE, notion), made(OWN, notion, ((1.0, 0.0, -2.0), (0.5, 1.0, 0.0)))
    together = composition([first.relation, second.relation], notion)
    for i, j in itertools.combinations(range(3), 2):
        losses = [
            m.norm.exact([Fraction(float(a - b)) for a, b in zip(p[i], p[j], strict=True)])
            for m in (first, second)
            for p in [m.grid.values(m.integers).T]
        ]
        spent = sum(losses) if notion == "pure" else sum(loss**2 for loss in losses)
        allowed = together.exact_budget(i, j)
        assert spent <= (allowed if notion == "pure" else allowed**2) * (1 + Fraction(1, 2**70))


def test_statements_for_groups_and_after_processing() -> None:
    mechanism = made(LINE)
    group = for_groups(mechanism, 3)
    assert group.relation == (3.0 * LINE).sentence()
    assert group.parameters["largest_finite_budget"] == 6.0
    assert group.unit.startswith("The values of 3 records")
    told = post_processing(mechanism.guarantee, "negative counts are set to 0.")
    assert (told.relation, told.parameters, told.notion) == (
        mechanism.guarantee.relation,
        mechanism.guarantee.parameters,
        mechanism.guarantee.notion,
    )
    assert told.mechanism.endswith("from the release alone: negative counts are set to 0.")
    assert len({told.fingerprint, group.fingerprint, mechanism.fingerprint}) == 3


def test_noisy_total_spends_nothing_on_changes() -> None:
    """The number of records, then queries under a metric: appearing costs both budgets, changing the second alone."""
    number = made(metrics.number_of_records(3, 0.25), matrix=((1.0, 1.0, 1.0),))
    queries = made(metrics.appear_or_change(LINE, [2.0, 2.0, 2.0]))
    assert number.scales[0] == pytest.approx(4.0, rel=1e-9)
    together = composition([number.relation, queries.relation])
    assert [together.exact_budget(0, j) for j in (1, 2)] == [LINE.exact_budget(0, j) for j in (1, 2)]
    assert float(together.exact_budget(0, 3)) == pytest.approx(2.25, rel=1e-15)


def test_cut_or_filled_lists_keep_the_promise_of_after_noisy_total() -> None:
    """Every list of at most 3 records, every place, every m: how far the histograms of exactly m records move."""
    epsilon = 0.5
    promise = metrics.after_noisy_total(LINE, epsilon)

    def prepared(records: tuple[int, ...], m: int) -> tuple[int, ...]:
        return tuple(sorted((*records, *[0] * m)[:m]))

    def cost(a: tuple[int, ...], b: tuple[int, ...]) -> Fraction:
        return min(
            sum((LINE.exact_budget(i, j) for i, j in zip(a, order, strict=True)), Fraction(0))
            for order in itertools.permutations(b)
        )

    attained = dict.fromkeys(range(3), Fraction(0))
    for size, m in itertools.product(range(4), range(5)):
        for records in itertools.product(range(3), repeat=size):
            for place, i in itertools.product(range(size + 1), range(3)):
                longer = (*records[:place], i, *records[place:])
                spent = Fraction(epsilon) + cost(prepared(records, m), prepared(longer, m))
                assert spent <= promise.exact_budget(i, 3)
                attained[i] = max(attained[i], spent)
            for place, j in itertools.product(range(size), range(3)):
                changed = (*records[:place], j, *records[place + 1 :])
                assert cost(prepared(records, m), prepared(changed, m)) <= LINE.exact_budget(records[place], j)
    assert all(float(promise.exact_budget(i, 3)) == pytest.approx(float(attained[i]), rel=1e-12) for i in range(3))


REFUSED = {
    "no relations": (lambda: composition([]), "relations: []; give metrics"),
    "text": (lambda: composition(["a"]), "relations: ['a']"),
    "notion": (lambda: composition([LINE], "renyi"), "notion: 'renyi' is unknown"),
    "sizes": (lambda: composition([LINE, metrics.uniform(4, 1.0)]), "metric.parts[1]: speaks of 4 elements where 3 are needed"),
    "group of 0": (lambda: group_privacy(LINE, 0), "records: 0 is not a whole number"),
    "group beyond": (lambda: group_budget(LINE, [(0, 3)]), "changes[0]: (0, 3) names an element beyond the last of 3"),
    "group with an origin": (lambda: for_groups(made(metrics.add_remove(3, 1.0)), 2), "records appear in it"),
    "no sentence": (lambda: post_processing(made(LINE).guarantee, " "), "computation: ' ' is no sentence"),
    "factor 0": (lambda: 0 * LINE, "metric.factor: 0.0 is not a positive"),
    "factor infinite": (lambda: math.inf * LINE, "metric.factor: inf"),
    "factor 1e200": (lambda: 1e200 * LINE, "metric.factor: 1e+200 is out of range"),
    "no parts": (metrics.sum_of, "metric.parts: () lists no metrics"),
    "part": (lambda: metrics.maximum(LINE, 3), "metric.parts[1]: 3 is not a metric"),
    "part with an origin": (lambda: metrics.scaled(2, metrics.add_remove(3, 1.0)), "is not a metric"),
    "restriction empty": (lambda: metrics.restriction(LINE, []), "metric.elements: [] of 3 elements"),
    "restriction twice": (lambda: metrics.restriction(LINE, [0, 0]), "each once"),
    "restriction beyond": (lambda: metrics.restriction(LINE, [3]), "metric.elements: [3] of 3"),
    "restriction of text": (lambda: metrics.restriction(LINE, ["a"]), "metric.elements[0]: 'a' is not a whole number"),
    "presence short": (lambda: metrics.appear_or_change(LINE, [1.0]), "relation.epsilons: 1 budgets for 3 elements"),
    "presence zero": (lambda: metrics.appear_or_change(LINE, [1.0, 0.0, 1.0]), "relation.epsilons[1]: 0.0"),
    "presence of a list": (lambda: metrics.appear_or_change([1.0], 1.0), "relation.change: [1.0] is not a metric"),
    "closure of text": (lambda: metrics.appear_or_change(LINE, 1.0, closure="yes"), "relation.closure: 'yes'"),
    "change too long": (lambda: metrics.appear_or_change(LINE, 0.5), "d(0, 2) = 2.0 is more than epsilon_0 + epsilon_2 = 1.0"),
    "presence too long": (lambda: metrics.appear_or_change(LINE, [1, 9, 1]), (
        "epsilon_1 = 9.0 is more than d(1, 0) "
        "+ epsilon_0 = 1.5"
    )),
    "presence too long before": (lambda: metrics.appear_or_change(LINE, [9, 1, 2]), (
        "epsilon_0 = 9.0 is more than d(0, 1) "
        "+ epsilon_1 = 1.5"
    )),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_composed_is_refused(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(InvalidProblem) as refusal:
        call()
    assert text in str(refusal.value)


def test_sums_with_something_else_are_type_errors() -> None:
    for wrong in (lambda: LINE + 1, lambda: "a" * LINE):
        with pytest.raises(TypeError):
            wrong()
    assert (np.float64(2.0) * LINE).exact_budget(0, 1) == 1
    assert len((LINE + OWN + LINE).parts) == 3


def test_what_any_of_several_releases_publishes_exactly_is_said_of_the_whole() -> None:
    apart = metrics.from_matrix([[0, 1, math.inf], [1, 0, math.inf], [math.inf, math.inf, 0]])
    noisy = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism
    exact = design(Problem(Workload([[1, 1, 0], [1, 0, 0]], ["those two", "one"]), apart), "laplace").mechanism
    assert any("those two" in line for line in exact.guarantee.unprotected)
    for order in ((noisy, exact), (exact, noisy)):
        assert set(exact.guarantee.unprotected) <= set(composed(*order).guarantee.unprotected)


def test_records_that_only_appear_do_not_compose_with_changes_under_one_delta() -> None:
    with pytest.raises(InvalidProblem, match="says nothing of the second"):
        composition([metrics.add_remove(3, 1.0), metrics.uniform(3, 1.0)], "approximate")
