"""Very many pairs: what bounds on groups of elements leave, against a look at every pair, on metrics of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import Problem, Workload, design, metrics
from designer.base.errors import DesignFailed
from designer.certificate.certificate import attains, certify
from designer.certificate.norm_kinds import BundleNorm, CappedNorm
from designer.certificate.norms import Gauge, Norm, RatioBounds
from designer.certificate.sensitivity import SensitivitySet
from designer.problem.relation import Relation
from designer.relations.metrics.metric import Metric
from tests.oracles.metric_kinds import nested, products, simple

NEAR = "designer.problem.budget_bounds.SCANNED"


@contextmanager
def searching(pairs: int = 0) -> Iterator[None]:
    """More than so many pairs are searched, however quick it were to look at all."""
    with patch(NEAR, pairs), patch("designer.certificate.max_ratio_search.SCANNED_EACH", 1e9):
        yield


def of_each_kind(seed: int, n: int = 150) -> list[Relation]:
    """Metrics whose pairs are searched, of every rule that bounds budgets, on points with ties and twins."""
    draw = np.random.default_rng(seed)
    places, own = np.round(draw.random((n, 2)) * 20, 1), draw.uniform(0.3, 2.0, n)
    own[draw.random(n) < 0.1] = np.inf
    plane, globe = metrics.euclidean(places, 0.3), metrics.great_circle(places * [4, 9] - [30, 90], 1e-3)
    groups = draw.integers(0, 4, n)
    tree = [[str(g), f"{g}{h}"] for g, h in zip(groups, draw.integers(0, 3, n), strict=True)]
    return [
        metrics.uniform(n, 0.7),
        metrics.per_element(own),
        metrics.instance(own, closure=True),
        metrics.instance(draw.uniform(1.0, 2.0, n)),
        metrics.partition(groups.tolist(), 0.5),
        plane,
        metrics.manhattan(places),
        metrics.chebyshev(np.hstack([places, places[::-1]])),
        globe,
        metrics.taxonomy(tree, [2.0, 1.0, 0.25]),
        2.0 * plane,
        plane + metrics.partition(groups.tolist(), 0.5),
        metrics.maximum(globe, metrics.uniform(n, 0.2)),
        metrics.root_sum_squares(plane, metrics.line(draw.random(n), 1.0, 2.0)),
        metrics.restriction(plane, draw.permutation(n)[: n // 2].tolist()),
        metrics.smooth_threshold(globe, 0.4, 0.8),
        metrics.appear_or_change(metrics.uniform(n, 0.7), 0.5),
    ]


def answers(seed: int, n: int, wide: int) -> np.ndarray:
    """Smooth, stepwise and random answers side by side."""
    draw = np.random.default_rng(seed)
    at = np.linspace(0, 3, n)
    return np.stack([np.sin(at), (at > 1.5) * 1.0, draw.random(n), draw.integers(0, 3, n)][:wide], axis=1)


def norms(seed: int, wide: int) -> list[Norm]:
    draw = np.random.default_rng(seed)
    corners = draw.normal(size=(3 * wide, wide))
    return [
        Norm(draw.uniform(0.5, 2.0, wide), "l1"),
        Norm(draw.normal(size=(wide, wide)), "l2"),
        Norm(draw.uniform(0.5, 2.0, wide), "linf"),
        Gauge(corners, np.ones(len(corners))),
        CappedNorm(draw.uniform(0.5, 2.0, wide), 1.3),
        *(bundles_of(draw, wide, corners) for corners in (3, 40) if wide > 2),
    ]


def bundles_of(draw: np.random.Generator, wide: int, corners: int) -> BundleNorm:
    """The sum of a gauge of the first two coordinates and one of the last."""
    turns = np.pi * (np.arange(corners) + draw.random()) / corners
    first = Gauge(np.stack([np.cos(turns), 2 * np.sin(turns)], axis=1), np.ones(corners))
    return BundleNorm([first, Gauge(np.ones((1, 1)), np.ones(1))], [(0, 1), (wide - 1,)], "sum", wide)


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 3), marks=pytest.mark.nightly)], ids=str)
@pytest.mark.parametrize("kind", range(17))
def test_a_search_finds_the_certificate_of_a_look_at_every_pair(kind: int, seeds: range) -> None:
    for seed in seeds:
        relation = of_each_kind(seed)[kind]
        for norm in norms(seed, 3):
            everything = SensitivitySet(relation, relation.points(answers(seed, relation.size, 3)))
            assert everything.searched is None
            wide = norm.divided(everything.worst(norm)[0] * 1.0001) if everything.worst(norm)[0] < np.inf else norm
            looked_at = certify(everything, wide)
            with searching():
                searched = SensitivitySet(relation, everything.points)
                found = certify(searched, wide)
                assert searched.searched is not None
                assert searched.worst(norm)[0] == pytest.approx(everything.worst(norm)[0], rel=1e-12)
                assert (found.holds, found.pairs, found.arithmetic.split()[-1]) == (
                    looked_at.holds,
                    looked_at.pairs,
                    looked_at.arithmetic.split()[-1],
                )
                same_claim(found, looked_at, searched, wide)


def test_pairs_that_are_too_many_to_hold_are_covered_by_a_bound() -> None:
    """All pairs tie and four are held: what is said of the others is not below any of them."""
    relation, norm, points = metrics.uniform(60, 0.7), Norm(np.ones(1), "l1"), np.repeat([[0.0], [1.0]], 30, axis=0)
    with searching():
        searched = SensitivitySet(relation, points)
        hunt = searched.hunt(norm, 1, RatioBounds(0.0, 2.0**-40))
        assert hunt is not None and len(hunt.left) < 900
        assert hunt.covered >= 1 / 0.7 and searched.ratios_of(norm, searched.in_step(hunt.left, hunt.right)).max() == 1 / 0.7


def same_claim(found, looked_at, searched: SensitivitySet, norm: Norm) -> None:  # type: ignore[no-untyped-def]
    """Equal worst ratios, and the same witness or another one of the same ratio."""
    if looked_at.worst_ratio is None:
        assert found.worst_ratio is None
        return
    assert abs(found.worst_ratio - looked_at.worst_ratio) <= Fraction(1, 1 << 40)
    if found.witness != looked_at.witness:
        assert attains(searched, norm, found.witness, looked_at.worst_ratio, None)


@pytest.mark.parametrize("kind", range(17))
def test_a_search_finds_the_least_and_the_largest_budget(kind: int) -> None:
    for seed in range(3):
        relation = of_each_kind(seed)[kind]
        expected = relation.least_budget(), relation.least_budget(positive=True), relation.largest_budget()
        with searching():
            again = of_each_kind(seed)[kind]
            found = again.least_budget(), again.least_budget(positive=True), again.largest_budget()
        assert found == pytest.approx(expected, rel=1e-11)


def test_pairs_at_distance_0_have_the_least_budget_unless_one_above_0_is_meant() -> None:
    relation = metrics.from_matrix(np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 2.0], [2.0, 2.0, 0.0]]))
    assert (relation.least_budget(), relation.least_budget(positive=True)) == (0, 2)


@settings(max_examples=60, deadline=None)
@given(st.one_of(simple(), products(), nested()), st.integers(0, 5))
def test_bounds_between_groups_are_below_every_budget(relation: Relation, seed: int) -> None:
    if not isinstance(relation, Metric) or relation.nearness is None:
        return
    near, draw = relation.nearness, np.random.default_rng(seed)
    budgets, features = relation.distances(), near.features.T
    for _ in range(5):
        a, b = (draw.choice(relation.size, draw.integers(1, relation.size + 1), replace=False) for _ in range(2))
        low_a, high_a, low_b, high_b = (of(features[:, g], axis=1)[:, None] for g in (a, b) for of in (np.min, np.max))
        gaps = np.maximum(np.maximum(low_a - high_b, low_b - high_a), 0.0)
        different = a[:, None] != b
        if different.any():
            assert near.least(gaps, low_a, low_b)[0] <= budgets[np.ix_(a, b)][different].min()
    left, right = np.triu_indices(relation.size, 1)
    exact = [relation.exact_budget(i, j) for i, j in zip(left.tolist(), right.tolist(), strict=True)]
    for budget, float_budget in zip(exact, relation.along(left, right).tolist() if len(left) else [], strict=True):
        assert (budget is None) == (float_budget == np.inf)
        if budget:
            assert float_budget == pytest.approx(float(budget), rel=2 * relation.budget_error + 1e-15)


@pytest.mark.parametrize("family", ["laplace", "ellipsoid", "box", "gaussian", "strategy_2", "isotropic_gaussian"])
def test_designs_by_search_lose_what_designs_by_every_pair_lose(family: str) -> None:
    draw = np.random.default_rng(4)
    relation = metrics.euclidean(draw.random((120, 2)))
    notion = "zcdp" if "gaussian" in family else "pure"
    problem = Problem(Workload(answers(1, 120, 3).T), relation, notion=notion)
    expected = design(problem, family)
    with searching():
        found = design(Problem(problem.workload, metrics.euclidean(relation.places), notion=notion), family)
    assert found.loss == pytest.approx(expected.loss, rel=2e-6)
    assert found.privacy.holds and found.privacy.pairs == expected.privacy.pairs
    assert found.mechanism.guarantee.parameters.keys() == expected.mechanism.guarantee.parameters.keys()


def test_places_that_many_elements_share_are_settled_at_once() -> None:
    places = np.repeat(np.random.default_rng(0).random((3, 2)), 3000, axis=0)
    shares = np.repeat(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 3000, axis=0)
    with searching():
        certificate = certify(SensitivitySet(metrics.euclidean(places), shares), Norm(np.ones(2) / 100, "l1"))
    assert certificate.holds and certificate.pairs == 9000 * 8999 // 2


def test_a_pair_without_budget_that_moves_an_answer_is_found() -> None:
    places = np.random.default_rng(0).random((500, 2))
    places[77] = places[400]
    values = np.random.default_rng(1).random((500, 1))
    with searching():
        found = certify(SensitivitySet(metrics.euclidean(places), values), Norm(np.ones(1), "l1"))
        with pytest.raises(DesignFailed, match="elements 77 and 400 have budget 0"):
            design(Problem(Workload(values.T), metrics.euclidean(places)), "laplace")
    assert not found.holds and found.worst_ratio is None
    assert found.witness is not None and (found.witness.left, found.witness.right) == (77, 400)


def test_a_search_that_would_take_days_is_refused_with_the_reason() -> None:
    places, values = np.random.default_rng(0).random((400, 20)), np.random.default_rng(1).random((400, 1))
    with (
        searching(),
        patch("designer.certificate.max_ratio_search.MOST_COMPARED_PAIRS", 1e4),
        pytest.raises(DesignFailed, match="many coordinates"),
    ):
        design(Problem(Workload(values.T), metrics.euclidean(places)), "laplace")


@pytest.mark.parametrize("tolerance", [None, 0.05])
def test_every_norm_is_measured_by_its_own_length_in_a_search(tolerance: float | None) -> None:
    """Sums of gauges, and caps below 1, are longer than their largest image: against rationals, pair by pair."""
    from tests.certificate.test_bounded_pairs import bounding  # which takes from here

    places = np.random.default_rng(3).random((24, 2))
    for relation in (metrics.euclidean(places, 1.0), metrics.appear_or_change(metrics.euclidean(places, 1.0), 0.8)):
        for norm in (*norms(2, 3), CappedNorm(np.ones(3), 0.01)):
            told = SensitivitySet.of(answers(2, 24, 3).T, relation)
            points = range(len(told.points))
            pairs = [told.exact(i, j) for i in points for j in range(i)]
            truth = max(norm.exact(u) / b for u, b in pairs if b is not None)  # type: ignore[operator]
            with searching() if tolerance is None else bounding(tolerance):
                found = certify(told, norm).worst_ratio
            assert found is not None and truth <= found <= truth * (1 + Fraction(tolerance or 0) * 2)


def test_what_leaves_the_floats_for_very_many_pairs_is_refused_by_name() -> None:
    """Images of 1e166: what floats make of them is infinite, for more pairs than are evaluated exactly."""
    rng = np.random.default_rng(0)
    relation, norm = metrics.euclidean(rng.random((80, 2)), 1.0), Norm(np.full(2, 1e17), "l2")
    told = SensitivitySet.of(1e149 * rng.random((2, 80)), relation)
    with searching(), pytest.raises(DesignFailed, match="leave the floats"):
        certify(told, norm)
    found = certify(told, norm.divided(1e17))  # which floats can hold
    assert found.worst_ratio is not None and found.worst_ratio > 10**148


@pytest.mark.parametrize("matrix", [True, False])
def test_answers_none_of_which_gets_noise_are_certified_in_a_search(matrix: bool) -> None:
    """None may move: then the ratio is 0, and elsewhere infinite."""
    norm = Norm(np.full((40, 2) if matrix else 2, np.inf), "linf")
    for points, ratio in ((np.ones((30, 2)), 0), (np.eye(30)[:, :2], None)):
        told = SensitivitySet(metrics.uniform(30, 1.0), points)
        with searching():
            assert certify(told, norm).worst_ratio == ratio == certify(SensitivitySet(told.relation, points), norm).worst_ratio
            assert told.worst(norm)[0] == 0.0
