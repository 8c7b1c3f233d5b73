"""Answers affine in the places: bounds by slopes against looks at every pair, and files with the bounds of other searches."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from designer import InvalidSpec, Problem, Workload, design, load, metrics
from designer.base.arrays import Floats
from designer.certificate.certificate import certify
from designer.certificate.frozen import seal, to_spec
from designer.certificate.max_ratio_search import Hunt, Slope
from designer.certificate.norm_kinds import CappedNorm
from designer.certificate.norms import Gauge, Norm, RatioBounds
from designer.certificate.sensitivity import SensitivitySet
from solvers.dual_tree import steepest
from tests.certificate.test_bounded_pairs import STEEP, bounding, linear
from tests.certificate.test_searched_pairs import searching

KINDS = (metrics.euclidean, metrics.manhattan, metrics.chebyshev)


def norms(rng: np.random.Generator, size: int) -> list[Norm]:
    """One of each kind."""
    weights, square = rng.random(size) + 0.2, rng.standard_normal((size, size))
    body = Gauge(rng.standard_normal((3 * size, size)), np.ones(3 * size))
    return [Norm(weights, "l1"), Norm(square, "l2"), Norm(weights, "linf"), CappedNorm(weights, 1.5), body]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_slope_bounds_every_pair_and_little_more(kind: type, dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    places = rng.standard_normal((500, dimension)) * 7 + 100
    for noise in (0.0, 1e-9, 1e-3):
        answers = places @ rng.standard_normal((dimension, 3)) + 5 + noise * rng.random((500, 3))
        relation = kind(places, 0.3)
        told = SensitivitySet(relation, answers)
        assert relation.searched is not None
        for norm in norms(rng, 3):
            slope = Slope.of(relation.searched, told.points, norm)
            assert slope is not None
            left, right = np.triu_indices(500, 1)
            lengths, budgets = norm(answers[left] - answers[right]), relation.along(left, right)
            assert (lengths <= (slope.steep * budgets + slope.apart) * (1 + 1e-12)).all()
            assert slope.apart >= np.max(lengths - slope.steep * budgets)
            attained = (lengths / budgets).max()
            assert attained >= slope.steep * (0.9 if dimension == 3 else 0.97)


def test_the_largest_length_on_the_sphere_is_that_of_the_singular_values_and_of_the_rows() -> None:
    rng = np.random.default_rng(4)
    for dimension in (1, 2, 3, 4):
        moves = rng.standard_normal((5, dimension))
        for order, truth in ((2, np.linalg.norm(moves, 2)), (np.inf, np.linalg.norm(moves, axis=1).max())):
            found = steepest(lambda v, m=moves, o=order: np.linalg.norm(v @ m.T, ord=o, axis=1), dimension, "l2")
            assert found is not None and truth * (1 - 1e-14) <= found[0] <= truth * (1 + 1e-9)
    assert steepest(lambda v: np.linalg.norm(v, axis=1), 6, "l2") is None


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_by_slopes_are_above_a_look_at_every_pair_and_look_at_few(kind: type) -> None:
    places, values = linear(3000)
    told, norm = SensitivitySet(kind(places, 1.0), values), Norm(np.ones(2), "l1")
    wide = norm.divided(told.worst(norm)[0] * 1.2)
    truth = certify(told, wide).worst_ratio
    taken: dict[bool, int] = {}
    for sloped in (True, False):
        with bounding(0.01), patch.object(Hunt, "_take", autospec=True, side_effect=Hunt._take) as take:
            searched = SensitivitySet(told.relation, values)
            with patch(f"{STEEP}.Slope.of", Slope.of if sloped else lambda *_: None):
                found = certify(searched, wide)
        taken[sloped] = sum(len(call.args[1]) for call in take.call_args_list)
        assert found.holds and found.worst_ratio is not None and truth is not None
        assert truth - Fraction(1, 1 << 40) <= found.worst_ratio <= truth * Fraction(101, 100)
    assert taken[True] < taken[False] / 3


def test_the_worst_of_linear_answers_is_found_in_looks_that_grow_with_the_elements_and_bounded_within_a_billionth() -> None:
    looks = []
    for size in (1_000, 4_000, 16_000):
        places, values = linear(size)
        norm, kept = Norm(np.ones(2), "l1"), SensitivitySet(metrics.euclidean(places), values)
        with searching(), patch.object(Hunt, "_take", autospec=True, side_effect=Hunt._take) as take:
            hunt = SensitivitySet(kept.relation, values).hunt(norm, 512, RatioBounds(1e-14, 2.0**-40))
        looks.append(sum(len(call.args[1]) for call in take.call_args_list))
        assert hunt is not None and hunt.tolerance <= 1e-9
        if size == 1_000:
            truth = kept.worst(norm)[0]
            assert truth * (1 - 1e-9) <= hunt.floor <= truth * (1 + 1e-12)
            assert truth <= max(hunt.covered, hunt.bounds.max())
    assert all(after < 4**1.2 * before for before, after in pairwise(looks)), looks


def test_a_slope_leaves_the_verdict_to_the_worst_pair_where_it_hangs_on_it() -> None:
    """A norm whose worst pair spends its budget up to a part in ten billion: a billionth more would refuse it."""
    places, values = linear(2_000)
    told, norm = SensitivitySet(metrics.euclidean(places), values), Norm(np.ones(2), "l1")
    tight = norm.divided(told.worst(norm)[0] * (1 + 1e-10))
    with searching(), patch(f"{STEEP}.EACH", 200):
        found = certify(SensitivitySet(told.relation, values), tight)
    assert found.holds and found.worst_ratio is not None and found.worst_ratio > 1 - Fraction(1, 10**9)
    assert found.place.startswith("attained at ")


def test_answers_far_from_affine_and_budgets_that_are_no_norm_have_no_slope() -> None:
    rng = np.random.default_rng(0)
    places: Floats = rng.random((300, 2))
    norm = Norm(np.ones(1), "l1")
    relations = (metrics.euclidean(places), metrics.great_circle(places), metrics.euclidean(places) + metrics.uniform(300, 1.0))
    random, straight = rng.random((300, 1)), places @ [[1.0], [2.0]]
    for relation, answers in zip(relations, (random, straight, straight), strict=True):
        assert relation.searched is not None and Slope.of(relation.searched, answers, norm) is None
    half, third = metrics.euclidean(places, 0.5).searched, (0.5 * metrics.euclidean(places)).searched
    assert half is not None and third is not None
    assert Slope.of(half, straight, norm) == Slope.of(third, straight, norm)


def test_a_file_with_a_rougher_bound_of_another_search_is_read_and_one_with_a_finer_is_not(tmp_path: Path) -> None:
    places, values = linear(400)
    problem = Problem(Workload(values.T), metrics.euclidean(places))
    with bounding(0.05):
        made = design(problem, "laplace").mechanism
        made.save(tmp_path / "rough.json")
        lie = json.loads(json.dumps(to_spec(made)))
    lie["certificate"]["arithmetic"] = lie["certificate"]["arithmetic"].replace("5 percent", "2 percent")
    lie["seal"] = seal(lie)
    (tmp_path / "lie.json").write_text(json.dumps(lie))
    with bounding(0.01):
        read = load(tmp_path / "rough.json")
        assert read == made and "1 percent" in read.privacy.arithmetic
        with pytest.raises(InvalidSpec, match="claims something else"):
            load(tmp_path / "lie.json")
        read.save(tmp_path / "fine.json")
    with bounding(0.05), pytest.raises(InvalidSpec):
        load(tmp_path / "fine.json")


@pytest.mark.parametrize("order", ["l1", "l2", "linf"])
def test_what_is_left_of_answers_that_are_nearly_affine_counts_in_full(order: str) -> None:
    """Two elements a hair apart whose answers are as far from affine as any, to either side: there the remainder is all."""
    places = np.array([[float(k), 3.0 * (k % 2)] for k in range(-10, 11)] + [[1e-12, 0.0], [-1e-12, 0.0]])
    answers = np.concatenate([places[:21, :1], [[0.25], [-0.25]]])
    relation = metrics.euclidean(places, 1.0)
    told, norm = SensitivitySet(relation, answers), Norm(np.array([1.5]), order)
    assert relation.searched is not None
    slope = Slope.of(relation.searched, told.points, norm)
    assert slope is not None
    length, budget = float(norm(answers[-2] - answers[-1])), 2e-12
    assert length == pytest.approx(0.75, rel=1e-12)
    assert slope.steep * budget + slope.apart >= length
