"""Worst ratios that are bounds, because nearly all pairs tie: never below a look at every pair, and little above it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from designer import NotPrivate, Problem, Workload, design, load, metrics
from designer.base.errors import InvalidSpec
from designer.certificate.certificate import PrivacyCertificate, certify, rounding_error
from designer.certificate.frozen import seal, to_spec
from designer.certificate.max_ratio_search import Clusters, Hunt
from designer.certificate.norms import Norm, RatioBounds
from designer.certificate.sensitivity import SensitivitySet
from designer.problem.budget_bounds import SLACK
from designer.problem.relation import Block
from solvers.exact.rational import float_above, float_below
from tests.certificate.test_searched_pairs import NEAR, answers, norms, of_each_kind, searching

STEEP = "designer.certificate.max_ratio_search"


@contextmanager
def bounding(tolerance: float) -> Iterator[None]:
    """Every search gives way to a bound, whatever it saves."""
    ladder = patch(f"{STEEP}.TOLERANCES", (tolerance,)), patch(f"{STEEP}.COARSE", ())
    limits = patch(f"{STEEP}.HEAVY", 0.0), patch(f"{STEEP}.EACH", 0), patch(f"{STEEP}.WORTH", np.inf)
    with searching(), limits[0], limits[1], limits[2], ladder[0], ladder[1]:
        yield


def exact_ratio(sensitivity: SensitivitySet, norm: Norm, certificate: PrivacyCertificate) -> Fraction:
    """That of the witness."""
    assert certificate.witness is not None
    u, budget = sensitivity.exact(certificate.witness.left, certificate.witness.right)
    length = norm.exact(u)
    assert length is not None and budget
    return length / budget


@pytest.mark.parametrize("kind", range(17))
def test_a_bound_is_above_every_pair_and_within_the_tolerance(kind: int) -> None:
    relation = of_each_kind(1)[kind]
    for place, norm in enumerate(norms(1, 3)):
        tolerance = (0.01, 0.05, 0.3)[(kind + place) % 3]
        everything = SensitivitySet(relation, relation.points(answers(1, relation.size, 3)))
        worst = everything.worst(norm)[0]
        if worst == np.inf:
            continue
        wide = norm.divided(2 * worst)
        truth = certify(everything, wide).worst_ratio
        assert truth is not None
        with bounding(tolerance):
            searched = SensitivitySet(relation, everything.points)
            found = certify(searched, wide)
            seen = searched.worst(norm)[0]
        assert found.holds and found.worst_ratio is not None
        slack = Fraction(1, 1 << 40)
        assert truth - slack <= found.worst_ratio <= truth * Fraction(1 + tolerance) + slack
        assert worst / (1 + tolerance) * (1 - 1e-12) <= seen <= worst * (1 + 1e-12)
        assert truth / Fraction(1 + tolerance) - slack <= exact_ratio(searched, wide, found) <= truth
        assert found.pairs == relation.pair_count()


def linear(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Places in the plane, and answers that are linear in them: along whole lines all pairs have one ratio."""
    places = np.random.default_rng(seed).random((n, 2)) * np.sqrt(n)
    return places, places @ [[1.0, 0.3], [0.2, 1.0]] / n


def test_the_certificate_says_that_its_worst_ratio_is_a_bound() -> None:
    places, values = linear(600)
    told, norm = SensitivitySet(metrics.euclidean(places), values), Norm(np.ones(2), "l1")
    wide = norm.divided(told.worst(norm)[0] * 1.2)
    with bounding(0.05):
        found = certify(SensitivitySet(told.relation, values), wide)
    assert found.arithmetic.endswith("which for whole groups of pairs are up to 5 percent above the worst pair seen")
    assert found.worst_ratio is not None
    assert exact_ratio(told, wide, found) < found.worst_ratio
    assert found.witness is not None and found.place == f"a bound; the worst pair seen is {found.witness.words}"
    assert certify(told, wide).place.startswith("attained at ")


@pytest.mark.parametrize("excess", [0.97, 0.9999999, 1.0000001])
def test_where_a_bound_would_not_settle_the_verdict_the_worst_pair_does(excess: float) -> None:
    places, values = linear(400)
    told, norm = SensitivitySet(metrics.euclidean(places), values), Norm(np.ones(2), "l1")
    tight = norm.divided(told.worst(norm)[0] / excess)
    expected = certify(told, tight)
    with bounding(0.05):
        found = certify(SensitivitySet(told.relation, values), tight)
    assert found.holds == expected.holds == (excess < 1)
    assert expected.worst_ratio is not None and found.worst_ratio is not None
    assert abs(found.worst_ratio - expected.worst_ratio) <= Fraction(1, 1 << 40)
    assert "percent" not in found.arithmetic


@pytest.mark.parametrize(("family", "notion"), [("laplace", "pure"), ("gaussian", "zcdp"), ("box", "pure")])
def test_designs_by_a_bound_are_private_and_cost_the_tolerance_at_most(family: str, notion: str, tmp_path: Path) -> None:
    places, values = linear(500)
    expected = design(Problem(Workload(values.T), metrics.euclidean(places), notion=notion), family)  # type: ignore[arg-type]
    with bounding(0.05):
        found = design(Problem(Workload(values.T), metrics.euclidean(places), notion=notion), family)  # type: ignore[arg-type]
        assert load(found.mechanism.save(tmp_path / "spec.json")) == found.mechanism
    assert found.privacy.holds and "5 percent" in found.privacy.arithmetic
    exhaustive = certify(found.mechanism.sensitivity(), found.mechanism.norm)
    assert exhaustive.holds and exhaustive.worst_ratio is not None and found.privacy.worst_ratio is not None
    assert exhaustive.worst_ratio <= found.privacy.worst_ratio <= 1
    lost = (found.loss / expected.loss) ** 0.5 if notion == "zcdp" else found.loss / expected.loss
    assert 1 - 1e-6 <= lost <= 1.05**2 * (1 + 1e-6)


def test_designs_from_coarser_searches_are_certified_within_the_tolerance_all_the_same() -> None:
    places, values = linear(500)
    problem = Problem(Workload(values.T), metrics.euclidean(places))
    expected = design(problem, "laplace")
    with bounding(0.05), patch(f"{STEEP}.COARSE", (0.2,)), patch(f"{STEEP}.HEAVY", 3e4):
        found = design(Problem(Workload(values.T), metrics.euclidean(places)), "laplace")
    assert found.privacy.holds
    exhaustive = certify(found.mechanism.sensitivity(), found.mechanism.norm)
    assert exhaustive.holds and exhaustive.worst_ratio is not None and found.privacy.worst_ratio is not None
    assert exhaustive.worst_ratio <= found.privacy.worst_ratio <= Fraction(21, 20) * exhaustive.worst_ratio
    assert found.optimality is not None and found.optimality.lower_bound <= expected.loss * (1 + 1e-9)
    assert found.loss <= expected.loss * 1.05**2 * (1 + 1e-3)


def test_a_file_whose_places_or_bound_lie_is_refused(tmp_path: Path) -> None:
    places, values = linear(300)
    with bounding(0.05):
        made = design(Problem(Workload(values.T), metrics.euclidean(places)), "laplace").mechanism
        honest = to_spec(made)
        nearer, lower = (json.loads(json.dumps(honest)) for _ in range(2))
        relation = nearer["mechanism"]["relation"]
        relation["points"] = [[0.9 * each for each in row] for row in relation["points"]]
        lower["certificate"]["worst_ratio"] = "9/10"
        for spec, refusal in ((nearer, NotPrivate), (lower, InvalidSpec)):
            spec["seal"] = seal(spec)
            (tmp_path / "lie.json").write_text(json.dumps(spec))
            with pytest.raises(refusal):
                load(tmp_path / "lie.json")
        (tmp_path / "lie.json").write_text(json.dumps(honest))
        assert load(tmp_path / "lie.json") == made


def leaf_pairs_looked_at(n: int, tolerance: float) -> int:
    """How many pairs of leaves a search for linear answers looks at."""
    places, values = linear(n)
    told, taken, take = SensitivitySet(metrics.euclidean(places), values), [0], Hunt._take

    def counting(hunt: Hunt, a: np.ndarray, b: np.ndarray) -> None:
        taken[0] += len(a)
        take(hunt, a, b)

    with bounding(tolerance) if tolerance else searching(), patch(f"{STEEP}.EACH", 0), patch.object(Hunt, "_take", counting):
        hunt = told.hunt(Norm(np.ones(2), "l1"), 512, RatioBounds(1e-14, 2.0**-40))
    assert hunt is not None and hunt.tolerance == tolerance
    return taken[0]


def test_a_bound_looks_at_a_number_of_pairs_that_grows_with_the_elements_where_a_search_looks_at_more() -> None:
    exact, bounded = ([leaf_pairs_looked_at(n, tolerance) for n in (2000, 8000)] for tolerance in (0.0, 0.5))
    assert bounded[1] < 5 * bounded[0] and exact[1] > 10 * exact[0]
    assert bounded[1] < exact[1] / 7


def test_where_a_look_at_every_pair_is_quickest_the_certificate_is_that_of_one() -> None:
    places, values = linear(400)
    told, norm = SensitivitySet(metrics.euclidean(places), values), Norm(np.ones(2) * 1000, "l1")
    expected, worst = certify(told, norm), told.worst(norm)[0]
    with patch(NEAR, 0), patch(f"{STEEP}.SCANNED_EACH", 0.0):
        again = SensitivitySet(told.relation, values)
        assert again.searches(norm)
        assert again.hunt(norm, 512, RatioBounds(1e-14, 2.0**-40)) is None
        assert certify(again, norm) == expected
        assert again.worst(norm)[0] == worst


@pytest.mark.parametrize("order", ["l1", "l2", "linf"])
def test_what_float_images_lose_is_in_the_bounds_of_pairs_and_of_groups(order: str) -> None:
    """Answers far from 0 that differ by little: rounding of their images is a good part of the exact lengths between them."""
    rng = np.random.default_rng(5)
    points = 2.0**50 + rng.integers(0, 40, (60, 2)).astype(float)
    relation = metrics.euclidean(rng.random((60, 2)), 50.0)
    told, norm = SensitivitySet(relation, points), Norm(np.array([1 / 3, 0.7]), order)
    bounds = RatioBounds(norm.image_error(told.points), relation.budget_error + rounding_error(told, norm))
    assert relation.searched is not None
    groups, lost = Clusters(relation.searched, points, norm, bounds), 0
    for block, ratios in told.ratios(norm):
        above, below = bounds.upper(block, ratios).ravel(), bounds.lower(block, ratios).ravel()
        for position, ratio in enumerate(ratios.ravel()):
            left, right = block.pair(position)
            if np.isfinite(block.budgets.ravel()[position]):
                u, budget = told.exact(left, right)
                exact = norm.exact(u) / budget  # type: ignore[operator]
                lost += exact > Fraction(float(ratio)) * (1 + Fraction(1, 10**6))
                assert float(below[position]) <= exact <= float(above[position])
                _same_in_groups(groups, left, right, exact)
    assert lost > 100


def _same_in_groups(groups: Clusters, left: int, right: int, exact: Fraction) -> None:
    """No bound between the groups of two elements is below their ratio, at any level; nor is that of their leaves."""
    leaves = groups.tree.leaves
    (a, row), (b, column) = (np.argwhere(leaves == element)[0] for element in (left, right))
    for level in range(groups.tree.depth + 1):
        width = groups.tree.depth - level
        assert exact <= float(groups.bound(level, np.array([a >> width]), np.array([b >> width]))[0])
    assert exact <= float(groups.between_leaves(np.array([a]), np.array([b]), 0.0)[row, column, 0])


@pytest.mark.parametrize("terms", [1, 7, 4000])
@pytest.mark.parametrize("of_pairs", [True, False])
def test_bounds_hold_whatever_two_float_lengths_of_one_pair_may_be(terms: int, of_pairs: bool) -> None:
    """The shortest float length that a search may find of a pair, and the longest that a look at it may find afterwards, by
    rationals, down to numbers whose quotients are below the normal floats."""
    near = metrics.euclidean(np.random.default_rng(1).random((8, 2))).searched
    assert near is not None
    part, norm = Fraction(terms + 4, 1 << 53), Norm(np.ones(terms), "l1")
    for absolute in (1.0, 3e-9, 2.0**-1000):
        bounds = RatioBounds(absolute, (terms + 9) * 2.0**-50)
        groups = Clusters(near, np.zeros((8, terms)), norm, bounds)
        for times in (
            Fraction(0),
            Fraction(1, 2),
            Fraction(1),
            1 / (1 - part),
            Fraction(7, 5),
            Fraction(10**6),
            Fraction(10**18),
        ):
            length = times * Fraction(absolute)
            short = float_above(max(Fraction(0), (1 - part) * length - Fraction(absolute)))
            long = float_below((1 + part) * length + Fraction(absolute))
            for budget in (1.0, 0.3, 1e-3, 7e20, 3e300):
                block = Block(np.array([0]), np.array([1]), np.array([budget]))
                looked_at = bounds.upper(block, np.array([long]) / budget)
                assert looked_at > 0
                for least in (budget, budget * (1 - SLACK)):
                    assert groups._ratios(np.array([short]), np.array([least]), of_pairs=of_pairs) >= looked_at


@pytest.mark.parametrize("relative", [2.0**-45, 2.0**-12])
@pytest.mark.parametrize("absolute", [0.0, 3e-9])
def test_bounds_of_a_ratio_leave_room_for_the_relative_error_and_the_absolute_one(absolute: float, relative: float) -> None:
    """The largest ratio is that of a length which is longer by both errors, and the smallest that of one which is shorter."""
    rng, share = np.random.default_rng(8), Fraction(relative)
    budgets = np.append(2.0 ** rng.uniform(-20, 20, 40), np.inf)
    ratios = np.append(rng.uniform(0.5, 2, 40), 0.0)
    block, bounds = Block(np.array([0]), np.arange(1, 42), budgets), RatioBounds(absolute, relative)
    above, below = bounds.upper(block, ratios).tolist(), bounds.lower(block, ratios).tolist()
    for k, (ratio, budget) in enumerate(zip(ratios.tolist()[:-1], budgets.tolist()[:-1], strict=True)):
        moved = Fraction(absolute) / Fraction(budget)
        assert (Fraction(ratio) + moved) * (1 + share) <= Fraction(above[k])
        assert Fraction(below[k]) <= (Fraction(ratio) - moved) * (1 - share)
    assert above[-1] == 0  # of a pair that is not protected
