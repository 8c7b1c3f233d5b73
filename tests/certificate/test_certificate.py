"""The certificate against brute-force rationals, where floats cannot tell, and no way around it."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import AdditiveMechanism, InvalidProblem, NotPrivate, Problem, Workload, design, invariants, metrics
from designer.certificate import certificate
from designer.certificate.certificate import PrivacyCertificate, _RatioSearch, _verdict, certify
from designer.certificate.norm_kinds import CappedNorm
from designer.certificate.norms import Norm, weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.mechanism.noise import Grid
from designer.problem.relation import Block, Relation
from designer.relations.metrics.metric import Metric


def semimetric(n: int, generator: np.random.Generator) -> np.ndarray:
    """Random budgets with some 0, some infinite, closed by Floyd and Warshall."""
    d = generator.choice([0.0, 0.5, 1.0, 3.0, math.inf], size=(n, n), p=[0.1, 0.2, 0.3, 0.2, 0.2])
    d = np.minimum(d, d.T)
    np.fill_diagonal(d, 0)
    for k in range(n):
        d = np.minimum(d, d[:, k, None] + d[None, k])
    return d


def brute(sensitivity: SensitivitySet, norm: Norm) -> Fraction | None:
    """The worst ratio over all pairs in plain fractions; None when infinite."""
    relation, worst = sensitivity.relation, Fraction(0)
    points = [[Fraction(v) for v in p] for p in sensitivity.points.tolist()]
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            if relation.kind == "add_remove" and j != relation.size:
                continue
            budget = relation.exact_budget(i, j)
            u = [a - b for a, b in zip(points[i], points[j], strict=True)]
            if budget is None or not any(u):
                continue
            if budget == 0 or any(v and math.isinf(w) for v, w in zip(u, norm.map.tolist(), strict=True)):
                return None
            worst = max(
                worst, sum((abs(v) * Fraction(w) for v, w in zip(u, norm.map.tolist(), strict=True) if v), Fraction(0)) / budget
            )
    return worst


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.booleans())
def test_verdict_and_ratio_against_fractions(seed: int, ties: bool) -> None:
    generator = np.random.default_rng(seed)
    n, queries = int(generator.integers(2, 6)), int(generator.integers(1, 4))
    matrix = generator.integers(0, 3, (queries, n)) * (0.1 if ties else generator.random((queries, n)))
    weights = generator.choice([0.1, 0.3, 1 / 3, 0.5, 1.0], queries) if ties else generator.random(queries) + 0.01
    weights = np.where(generator.random(queries) < 0.15, np.inf, weights)
    relations: list[Relation] = [
        metrics.from_matrix(semimetric(n, generator)),
        metrics.uniform(n, 0.1),
        metrics.euclidean(generator.integers(0, 4, (n, 2)).astype(float), 0.3),
        metrics.euclidean(generator.integers(0, 4, n) * 0.1, 0.3),
        metrics.add_remove(n, generator.choice([0.3, 1.0, math.inf], n)),
    ]
    for relation in relations:
        sensitivity = SensitivitySet.of(matrix, relation)
        found = certify(sensitivity, weighted_l1(weights))
        truth = brute(sensitivity, weighted_l1(weights))
        assert found.holds == (truth is not None and truth <= 1)
        assert found.worst_ratio == truth or (relation.budget_error and found.worst_ratio == pytest.approx(truth, rel=2**-70))
        if found.witness is None:
            assert truth == 0
        else:
            u, budget = sensitivity.exact(found.witness.left, found.witness.right)
            length = weighted_l1(weights).exact(u)
            if truth is None:
                assert budget == 0 or length is None
            else:
                assert length / budget == found.worst_ratio


@pytest.mark.parametrize("exponent", [40, 53, 60, 100, 300])
@pytest.mark.parametrize("side", [-1, 0, 1])
def test_ratios_within_2_to_the_minus_60_of_1_are_told_apart(exponent: int, side: int) -> None:
    """||u|| is the sum of 1 - 2^-53, 2^-53 and a speck: 1 in floats, and only exact sums tell on which side."""
    below = 2.0 ** -min(max(exponent, 54), 105) if side < 0 else 0.0
    above = 2.0**-exponent if side > 0 else 0.0
    matrix = np.array([[1 - 2.0**-53, 0.0], [2.0**-53 - below, 0.0], [above, 0.0]])
    sensitivity = SensitivitySet.of(matrix, metrics.uniform(2, 1.0))
    found = certify(sensitivity, weighted_l1(np.ones(3)))
    truth = sum(Fraction(v) for v in matrix[:, 0].tolist())
    assert found.worst_ratio == truth
    assert found.holds == (truth <= 1) == (side <= 0)
    if side > 0:
        with pytest.raises(NotPrivate, match=r"0 -> 1 spends its budget 1\.0 1\.0000000000\d* times"):
            found.require()


def test_the_worst_of_many_near_ties_is_found_exactly() -> None:
    """2,000 pairs whose ratios differ by 2^-52 and less; float scans order them at random."""
    n = 1500
    generator = np.random.default_rng(3)
    steps = generator.integers(0, 2**10, n) * 2.0**-53
    matrix = np.stack([0.5 + steps, 0.5 - steps[::-1]])
    sensitivity = SensitivitySet.of(matrix, metrics.add_remove(n, 1.0))
    found = certify(sensitivity, weighted_l1([1.0, 1.0]))
    truth = max(Fraction(a) + Fraction(b) for a, b in matrix.T.tolist())
    assert truth > 1
    assert not found.holds
    assert found.worst_ratio == truth


def test_silent_coordinates_that_move_are_found_in_any_block() -> None:
    d = np.full((5, 5), math.inf)
    np.fill_diagonal(d, 0)
    d[3, 4] = d[4, 3] = 1.0
    matrix = np.array([[9.0, 8.0, 7.0, 1.0, 1.0 + 2**-52], [0.0, 0.0, 0.0, 1.0, 2.0]])
    found = certify(SensitivitySet.of(matrix, metrics.from_matrix(d)), weighted_l1([np.inf, 0.5]), elements=list("abcde"))
    assert (found.holds, found.worst_ratio, found.witness.words) == (False, None, "d -> e")
    with pytest.raises(NotPrivate, match=r"d -> e spends its budget 1\.0 infinitely often"):
        found.require()
    matrix[0, 4] = 1.0
    assert certify(SensitivitySet.of(matrix, metrics.from_matrix(d)), weighted_l1([np.inf, 0.5])).holds


@pytest.mark.parametrize("weights", [[np.inf, np.inf], [np.inf, 0.5, np.inf]])
def test_coordinates_without_noise_of_which_each_change_moves_one_are_found(weights: list[float]) -> None:
    sensitivity = SensitivitySet.of(np.eye(len(weights)), metrics.add_remove(len(weights), 1.0))
    found = certify(sensitivity, weighted_l1(weights))
    assert (found.holds, found.worst_ratio) == (False, None)
    with pytest.raises(NotPrivate, match="infinitely often"):
        found.require()


@pytest.mark.parametrize("weight", np.linspace(1.0, 1.2, 20).tolist())
def test_zero_budget_pairs_whose_images_round_together(weight: float) -> None:
    """1.9 w and (1.9 + 2^-52) w are the same float for some w: a scan sees no difference where there is one."""
    relation = metrics.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    matrix = np.array([[1.9, np.nextafter(1.9, 2), 1.9]])
    found = certify(SensitivitySet.of(matrix, relation), weighted_l1([weight * 1e-3]))
    assert (found.holds, found.worst_ratio) == (False, None)
    assert {found.witness.left, found.witness.right} == {0, 1}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("entries", "weight", "budget"),
    [
        ([1e200, 0.0, 3e200], 1e200, 1.0),  # products overflow to infinity, differences to not-a-number
        ([1.7e308, -1.7e308, 0.0], 1.0, 1e308),
        ([1e-300, 2e-300, 4e-300], 1e-300, 5e-324),  # products underflow to 0
        ([1.0, 1.0 + 2**-52, 1.0], 1e-300, 5e-324),
        ([1e200, 0.0, 3e200], 1e-200, 2.0),
        ([1e-300, 2e-300, 4e-300], 1e300, 2.0),
    ],
)
def test_extreme_magnitudes_are_decided_exactly(entries: list[float], weight: float, budget: float) -> None:
    for other in (budget, 1e-300 * budget + 5e-324, min(budget * 1e30, 1e308)):
        sensitivity = SensitivitySet.of(np.array([entries]), metrics.uniform(3, other))
        norm = weighted_l1([weight])
        found, truth = certify(sensitivity, norm), brute(sensitivity, norm)
        assert found.holds == (truth <= 1)
        assert truth <= found.worst_ratio <= max(truth * (1 + Fraction(1, 2**30)), Fraction(1))
        if not found.holds:
            with pytest.raises(NotPrivate, match="spends its budget"):
                found.require()


def problem(seed: int = 0) -> Problem:
    generator = np.random.default_rng(seed)
    return Problem(Workload(generator.random((3, 8))), metrics.euclidean(generator.random((8, 2)), 2.0))


@pytest.mark.parametrize("excess", [1e-12, 1e-11, 1e-9, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_solver_answers_scaled_towards_less_noise_are_refused(excess: float, seed: int) -> None:
    good = design(problem(seed), "laplace").mechanism
    worst = good.privacy.witness
    with pytest.raises(NotPrivate) as refusal:
        dataclasses.replace(good, norm=weighted_l1(good.norm.map * float(1 / good.privacy.worst_ratio) * (1 + excess)))
    assert f"the change {worst.words} spends its budget {worst.budget!r} 1.0000000000" in str(refusal.value) or excess > 1e-10
    assert worst.words in str(refusal.value)


@pytest.mark.parametrize("seed", range(4))
def test_raw_solver_points_pass_only_when_they_are_private(seed: int) -> None:
    """The interior point's own weights, divided by nothing: exactly as private as the rationals say,
    whatever the solver claims."""
    from solvers.programs.noise_costs import NoiseCost
    from solvers.programs.scales import interior_point

    made = problem(seed)
    sensitivity = made.sensitivity()
    rows = np.abs(sensitivity.all_pairs().normalised)
    raw, _ = interior_point(rows, NoiseCost.of(np.ones(3), 2))
    for weights in (raw, raw / (rows @ raw).max(), raw * (1 + 1e-9)):
        grid = Grid.for_scales(made.workload.dense(), 1 / weights)
        private = (
            brute(SensitivitySet.of(grid.values(grid.integers(made.workload.dense())), made.relation), weighted_l1(weights))
            <= 1
        )
        if private:
            assert AdditiveMechanism("custom", made.workload, made.relation, weighted_l1(weights), grid).privacy.holds
        else:
            with pytest.raises(NotPrivate):
                AdditiveMechanism("custom", made.workload, made.relation, weighted_l1(weights), grid)


def test_no_constructor_path_leads_around_the_certificate() -> None:
    good = design(problem(), "laplace").mechanism
    loud = weighted_l1(good.norm.map * 2)
    with pytest.raises(NotPrivate):
        dataclasses.replace(good, norm=loud)
    with pytest.raises(NotPrivate):
        dataclasses.replace(good, relation=metrics.uniform(8, 1e-3))
    with pytest.raises(NotPrivate):
        dataclasses.replace(good, workload=Workload(good.workload.dense() * 2))
    with pytest.raises(NotPrivate):
        dataclasses.replace(good, measured=good.workload.dense() * 2)
    with pytest.raises(NotPrivate):
        dataclasses.replace(good, norm=weighted_l1([np.inf] * 3))
    for field in ("privacy", "integers"):
        with pytest.raises((ValueError, TypeError)):
            dataclasses.replace(good, **{field: getattr(good, field)})
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(good, field, None)
    with pytest.raises((TypeError, ValueError)):
        AdditiveMechanism(good.family, good.workload, good.relation, loud, good.grid, privacy=good.privacy)


def test_copies_are_frozen_and_unpickling_certifies_again() -> None:
    good = design(problem(), "laplace").mechanism
    for twin in (good, copy.copy(good), copy.deepcopy(good), pickle.loads(pickle.dumps(good)), good.annotated({"note": "x"})):
        assert twin == good
        assert twin.privacy.holds
        for array in (twin.integers, twin.norm.map, twin.workload.matrix, twin.relation.places, twin.workload.dense()):
            assert not array.flags.writeable
    function, (kind, arguments) = good.__reduce__()
    with pytest.raises(NotPrivate):
        function(kind, {**arguments, "norm": weighted_l1(good.norm.map * 2)})
    assert good.annotated({"note": "x"}) is not good
    assert good.provenance != {"note": "x"}


def test_arrays_given_to_the_constructor_are_copied() -> None:
    good = design(problem(), "laplace").mechanism
    shape, exponents, measured = good.norm.map.copy(), list(good.grid.exponents), good.workload.dense().copy()
    made = AdditiveMechanism("custom", good.workload, good.relation, Norm(shape, "l1"), Grid(exponents), measured=measured)
    shape *= 2
    exponents[0] += 5
    measured *= 2
    assert made.norm.map.tolist() == good.norm.map.tolist()
    assert made.grid == good.grid
    assert made.verify().holds
    assert made.privacy == made.verify()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"falloff": "cauchy"}, "falloff: 'cauchy'"),
        ({"relation": metrics.uniform(7, 1.0)}, "relation: speaks of 7 elements"),
        ({"norm": weighted_l1([1.0])}, "3 rows, 3 steps and a norm on 1"),
        ({"grid": Grid((0,))}, "3 rows, 1 steps"),
        ({"grid": Grid((-2000, 0, 0))}, "beyond 2^52 steps"),
        ({"measured": np.full((3, 8), np.nan)}, "measured: entry [0, 0] is nan"),
        ({"measured": np.ones((3, 9))}, "measured: has shape (3, 9)"),
        ({"reconstruction": np.ones((3, 4))}, "reconstruction: has shape (3, 4)"),
        ({"reconstruction": np.full((3, 3), np.inf)}, "reconstruction: entry"),
        ({"norm": weighted_l1([1e-200, 1.0, 1.0])}, "norm.map: weights from 1e-200"),
        ({"norm": weighted_l1([1e200, 1.0, 1.0])}, "norm.map: weights from 1.0 to 1e+200"),
    ],
)
def test_ill_fitting_parts_are_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        dataclasses.replace(design(problem(), "laplace").mechanism, **change)
    assert text in str(refusal.value)


@pytest.mark.parametrize("exponents", [(0.5, 1), (True,), ("1",), (-3000,)])
def test_bad_grids_are_refused(exponents: tuple[object, ...]) -> None:
    with pytest.raises(InvalidProblem, match=r"grid\.exponents"):
        Grid(exponents)


def test_rounding_of_the_grid_beyond_the_floats_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="beyond the floats"):
        Grid((1023,)).integers(np.array([[1.7e308]]))


def test_a_certificate_says_what_it_covers() -> None:
    found = design(problem(), "laplace").privacy
    assert isinstance(found, PrivacyCertificate)
    assert found.pairs == 28
    assert "exact rationals" in found.arithmetic
    assert "triangle inequality" in found.theorem
    assert 1 - Fraction(1, 2**30) < found.worst_ratio <= 1


@pytest.mark.parametrize(("entry", "rounded"), [(0.6, 1), (2.7, 3), (7.3, 7)])
def test_what_is_certified_is_the_matrix_that_is_released_from(entry: float, rounded: int) -> None:
    """A grid of whole numbers moves entries: noise that hides them as they were need not hide them as they are."""
    workload, relation, grid = Workload([[entry, 0.0]]), metrics.uniform(2, 1.0), Grid((0,))
    for weight in (0.125 / rounded, 1 / entry):
        if Fraction(weight) * rounded > 1:
            with pytest.raises(NotPrivate):
                AdditiveMechanism("custom", workload, relation, weighted_l1([weight]), grid)
            continue
        made = AdditiveMechanism("custom", workload, relation, weighted_l1([weight]), grid)
        assert made.privacy.worst_ratio == Fraction(weight) * rounded


def test_sums_over_a_change_that_are_no_floats_prove_nothing() -> None:
    """Two records that leave an element for another move an answer by 2^53 + 2 steps less one, which no float is."""
    matrix, grid = Workload([[2.0**52, 1.0, -(2.0**52), 0.0]]), Grid((0,))
    relation = invariants.total(4).protect(1.0, 3)
    with pytest.raises(InvalidProblem, match="too fine for sums of its multiples"):
        AdditiveMechanism("custom", matrix, relation, weighted_l1([2.0**-60]), grid)
    coarse = Workload([[2.0**40, 1.0, -(2.0**40), 0.0]])
    assert AdditiveMechanism("custom", coarse, relation, weighted_l1([2.0**-50]), grid).privacy.holds


@pytest.mark.parametrize("order", ["l1", "l2", "linf"])
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1e-160])
@pytest.mark.parametrize("budget", [1e-3, 1e10, 1e200])
@pytest.mark.parametrize("weight", [1e-100, 1.0, 1e100])
def test_a_ratio_below_all_floats_is_stated_above_0(order: str, size: float, budget: float, weight: float) -> None:
    """Floats lose it, in the length or in its division by the budget: rationals do not."""
    sensitivity, norm = SensitivitySet(metrics.uniform(2, budget), size * np.eye(2)), Norm(np.full(2, weight), order)
    found = certify(sensitivity, norm)
    u, exact_budget = sensitivity.exact(0, 1)
    exact = norm.exact(u) / exact_budget  # type: ignore[operator]
    assert found.worst_ratio == exact > 0 and found.witness is not None
    assert found.ratio is not None and 0.0 < found.ratio >= exact > np.nextafter(found.ratio, 0)
    assert "no protected change" not in found.lines()[0] and repr(found.ratio) in found.lines()[0]


@pytest.mark.parametrize("cap", [1e-251, 1e-3, 1.0])
def test_what_underflows_under_a_small_cap_is_in_the_ratio(cap: float) -> None:
    """Images of 1e-323 lose a good part of themselves, and the cap makes it large."""
    rng, norm = np.random.default_rng(1), CappedNorm(np.full(3, 3e-163), cap)
    for _ in range(60):
        sensitivity = SensitivitySet(metrics.uniform(5, 1e-60), 1e-160 * rng.random((5, 3)))
        pairs = [sensitivity.exact(i, j) for i in range(5) for j in range(i)]
        truth = max(norm.exact(u) / b for u, b in pairs)  # type: ignore[operator]
        found = certify(sensitivity, norm)
        assert found.worst_ratio is not None and found.worst_ratio >= truth


def test_a_budget_beyond_the_floats_is_told_as_the_last_of_them() -> None:
    relation = metrics.uniform(3, 1e308) + metrics.uniform(3, 1e308)
    found = certify(SensitivitySet(relation, np.eye(3)), Norm(np.ones(3), "l1"))
    assert found.worst_ratio == 1 / Fraction(1e308)
    assert found.witness is not None and found.witness.budget == np.finfo(float).max


def stated_of(ratios: list[float], *blocks: tuple[range, float, float]) -> Fraction | None:
    """What a search states of pairs with the origin, of these exact ratios; of each block the pairs and, of all of them, the
    float bounds from above and from below."""
    search = _RatioSearch(SensitivitySet.of(np.array([ratios]), metrics.add_remove(len(ratios), 1.0)), weighted_l1([1.0]))
    for pairs, above, below in blocks:
        same = np.ones(len(pairs))
        search.add(Block(np.array(pairs), np.full(len(pairs), len(ratios)), same), above * same, below * same)
    search.finish()
    return _verdict(search, "", None).worst_ratio


def test_a_pair_that_is_not_evaluated_is_covered_by_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of 41 pairs is the worst, and all others have a larger bound: whether one block has them or several."""
    monkeypatch.setattr(certificate, "EXACT_PAIRS", 16)
    ratios = [0.5] * 40 + [0.75]
    last = (range(40, 41), 0.75, 0.0)
    assert stated_of(ratios, (range(40), 0.875, 0.0), last) == Fraction(7, 8)
    assert stated_of(ratios, *((range(k, k + 10), 0.875, 0.0) for k in range(0, 40, 10)), last) == Fraction(7, 8)


def test_a_pair_that_is_passed_over_for_a_lower_bound_that_is_none_is_covered() -> None:
    """Where a budget was clipped a lower bound is too high: the first pair seems to be worse than the second, and is not."""
    assert stated_of([0.125, 0.25], (range(1), 0.75, 0.5), (range(1, 2), 0.25, 0.0)) == Fraction(1, 4)


class Blurred(Metric):
    """Budgets of 1, of which one is a thousandth more in floats."""

    kind = "blurred"
    size = 4  # type: ignore[assignment]
    budget_error = 1e-3

    def rectangle(self, rows: slice, columns: slice) -> np.ndarray:
        budgets = 1.0 - np.eye(4)
        budgets[0, 1] = budgets[1, 0] = 1.0009
        return budgets[rows, columns]

    def exact_budget(self, left: int, right: int) -> Fraction:
        return Fraction(1)

    def sentence(self) -> str:
        return "Blurred."

    def to_spec(self) -> dict[str, Any]:
        return {}


def test_the_error_of_float_budgets_is_in_the_bounds() -> None:
    """The worst pair seems to be better than another by less than that error."""
    relation = dataclasses.dataclass(frozen=True, eq=False)(Blurred)()
    told = SensitivitySet(relation, np.array([[0.0, 0.0], [0.99995, 0.0], [0.5, 0.4998], [0.5, -0.4997]]))
    found = certify(told, weighted_l1([1.0, 1.0])).worst_ratio
    assert found is not None and found >= brute(told, weighted_l1([1.0, 1.0])) >= Fraction(0.99995)  # type: ignore[operator]
