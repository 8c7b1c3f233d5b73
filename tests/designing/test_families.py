"""Every family on the problems it serves: closed forms, rank-deficient workloads, specs, the limit, biased designs,
refusals, auto."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate, Problem, Workload, design, invariants, load, metrics
from designer.certificate.frozen import to_spec
from designer.certificate.guarantee import ADDITIVE_FAMILIES
from designer.certificate.norms import weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing import FAMILIES
from designer.designing.least_noise import limit
from designer.designing.listed import family_named
from designer.designing.measured import dimension_of
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.bounds import error_bounds
from designer.mechanism.noise import Grid
from designer.problem.relation import Relation
from designer.relations.metrics.presence import AddRemove

# Group privacy, which needs an invariant, is tested in test_semi_dp.py.
# The staircase, which serves few dimensions, is tested in tests/mechanism/test_least_noise.py, hierarchy, which serves one
# budget, in test_hierarchy.py.
PURE = tuple(
    f.name
    for f in FAMILIES
    if f.notion == "pure" and f.name in ADDITIVE_FAMILIES and (not f.invariants_only or f.name == "projected_laplace")
    if f.name != "hierarchy"
)
GAUSSIAN = tuple(f.name for f in FAMILIES if f.notion == "zcdp" and not (f.invariants_only or f.biased))
UNBIASED = tuple(f for f in PURE if not f.endswith("_joint"))
# Families that measure in the span of the differences; the others put independent noise on the queries themselves.
SPANNING = ("k_norm", "ellipsoid", "box", "l2_ball", "strategy_laplace", "projected_laplace", *GAUSSIAN)


def notion(family: str) -> Any:
    return "zcdp" if family in GAUSSIAN else "pure"


def quick(family: str) -> dict[str, Any]:
    """Few steps for the strategy search: what is tested with it holds at every step."""
    return {"iterations": 5, "keep": 1} if family == "strategy_laplace" else {}


def loss(family: str, workload: Workload, relation: Relation, **rest: Any) -> float:
    return design(Problem(workload, relation, notion(family), **rest), family, **quick(family)).loss


def geometric(rate: float) -> float:
    """The variance of two-sided geometric noise on the integers."""
    return 1 / (2 * math.sinh(rate / 2) ** 2)


# Closed forms --------------------------------------------------------------------------------------------------------

# Losses over b^2 of N counts when a record comes or goes: s = N, u = e_i. Those of the Laplace family are geometric.
COMING_OR_GOING = {
    "laplace": lambda n: n * geometric(0.7) * 0.49,
    "k_norm": lambda n: 2 * n,  # the cross-polytope: E U_1^2 = 2 / ((s + 1)(s + 2)), the l1 norm
    "ellipsoid": lambda n: n * (n + 1),
    "l2_ball": lambda n: n * (n + 1),
    "box": lambda n: n * (n + 1) * (n + 2) / 3,
    "strategy_laplace": lambda n: 2 * n,
    "gaussian": lambda n: n,
    "diagonal_gaussian": lambda n: n,
    "isotropic_gaussian": lambda n: n,
}
# When a record changes: s = N - 1, u = e_i - e_j.
CHANGING = {
    "laplace": lambda n: n * geometric(0.35) * 0.49,
    "ellipsoid": lambda n: 2 * n * (n - 1),  # (s + 1) 2 (I - 11'/N)
    "l2_ball": lambda n: 2 * n * (n - 1),
    "gaussian": lambda n: 2 * (n - 1),
    "isotropic_gaussian": lambda n: 2 * (n - 1),
}


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("family", COMING_OR_GOING)
def test_counts_when_a_record_comes_or_goes(family: str, size: int) -> None:
    expected = COMING_OR_GOING[family](size) / 0.49
    assert loss(family, Workload.identity(size), metrics.add_remove(size, 0.7)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("family", CHANGING)
def test_counts_when_a_record_changes(family: str, size: int) -> None:
    expected = CHANGING[family](size) / 0.49
    assert loss(family, Workload.identity(size), metrics.uniform(size, 0.7)) == pytest.approx(expected, rel=1e-5)


def test_three_counts_of_changing_records_have_a_regular_hexagon() -> None:
    """Circumradius R = sqrt(2): E|U|^2 = 5 R^2 / 12, times (s + 1)(s + 2) = 12."""
    made = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "k_norm").mechanism
    assert made.error() == pytest.approx(10.0, rel=1e-9)
    assert made.covariance() == pytest.approx(10 / 2 * (np.eye(3) - 1 / 3), rel=1e-8, abs=1e-9)
    # The box in the coordinates (x_1, x_2): variance (s + 1)(s + 2) / 3 = 4 each, their sum for the third.
    box = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "box").mechanism
    assert box.error() == pytest.approx(16.0, rel=1e-9)


def test_prefix_sums_of_64_cells_have_the_published_gaussian_error() -> None:
    found = design(Problem(Workload.prefix(64), metrics.add_remove(64, 1.0), "zcdp"), "gaussian")
    assert math.sqrt(found.loss / 64) == pytest.approx(2.09986, abs=5e-6)
    assert found.optimality is not None and found.optimality.gap < 1e-5


def random_problem(seed: int, **rest: Any) -> Problem:
    """Up to 3 queries over up to 7 elements, all kinds of relations."""
    generator = np.random.default_rng(seed)
    queries, size = int(generator.integers(1, 4)), int(generator.integers(4, 8))
    relation = (
        lambda: metrics.euclidean(generator.random((size, 2)) + 0.1),
        lambda: metrics.add_remove(size, generator.random(size) + 0.1),
        lambda: metrics.uniform(size, float(generator.random() + 0.1)),
    )[seed % 3]()
    return Problem(Workload.random(queries, size, "real", seed), relation, **rest)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("aim", ["squared", "max"])
def test_the_gaussian_optimum_agrees_with_a_modelling_layer(seed: int, aim: Any) -> None:
    problem = random_problem(seed, notion="zcdp", loss=aim)
    pairs, count = problem.sensitivity().all_pairs(), problem.workload.shape[0]
    rows = pairs.normalised
    scale = np.abs(rows).max()
    precision = cp.Variable((count, count), PSD=True)
    variances = [cp.matrix_frac(np.eye(count)[k], precision) for k in range(count)]
    objective = sum(variances) if aim == "squared" else cp.maximum(*variances) if count > 1 else variances[0]
    covered = [cp.sum(cp.multiply(np.outer(u, u) / scale**2, precision)) <= 1 for u in rows]
    optimum = cp.Problem(cp.Minimize(objective), covered).solve(solver=cp.CLARABEL) * scale**2
    assert design(problem, "gaussian").loss == pytest.approx(optimum, rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_the_gaussian_optimum_is_never_worse_and_the_ellipsoid_is_its_multiple(seed: int) -> None:
    normal = random_problem(seed, notion="zcdp")
    best = design(normal, "gaussian").loss
    assert best <= min(design(normal, name).loss for name in ("diagonal_gaussian", "isotropic_gaussian")) * (1 + 2e-6)
    dimension = normal.sensitivity().rank()
    assert design(random_problem(seed), "ellipsoid").loss == pytest.approx((dimension + 1) * best, rel=5e-6)


# Rank-deficient workloads --------------------------------------------------------------------------------------------


def islands() -> Relation:
    """Two components, each of three places on a line; no change from one to the other is protected."""
    place = np.array([0.0, 0.5, 2.0, 0.0, 1.0, 1.5])
    d = np.abs(np.subtract.outer(place, place))
    d[:3, 3:] = d[3:, :3] = np.inf
    return metrics.from_matrix(d)


DEFICIENT = {
    "total is public": (Workload.identity(4), metrics.uniform(4, 0.5)),
    "more queries than elements": (Workload.all_ranges(4), metrics.add_remove(4, [0.3, 0.5, 0.7, 1.0])),
    "ranges, total public": (Workload.all_ranges(4), metrics.uniform(4, 1.0)),
    "dependent": (Workload([[1, 0, 2, 0.3], [0, 1, 1, 0.7], [1, 1, 3, 1.0], [1, 0, 2, 0.3]]), metrics.uniform(4, 1.0)),
    "dependent but for rounding": (
        Workload([[0.1, 0.7, 0.2, 0], [0.2, 0.1, 0.1, 0], [0.30000000000000004, 0.8, 0.3, 0]]),
        metrics.uniform(4, 1.0),
    ),
    "many of low rank": (Workload(np.outer(np.arange(1, 9) / 7, [0.3, 0.1, 0.7, 0.2])), metrics.add_remove(4, 1.0)),
    "islands": (Workload.identity(6), islands()),
    "one island asked": (Workload([[0.1, 0.7, 0.3, 0, 0, 0], [1, 1, 1, 2, 2, 2]]), islands()),
}


@pytest.mark.parametrize("name", DEFICIENT)
@pytest.mark.parametrize("family", [*PURE, *GAUSSIAN])
def test_rank_deficient_workloads_are_put_together_exactly(family: str, name: str) -> None:
    workload, relation = DEFICIENT[name]
    made = design(Problem(workload, relation, notion(family), records=30.0), family, **quick(family)).mechanism
    assert made.privacy.holds
    if not family_named(family).biased:
        assert made.effective == pytest.approx(workload.dense(), rel=1e-9, abs=1e-9)
    if family not in SPANNING:
        return
    # The span of what changes may move, from the budgets alone, and the noise in it.
    points = relation.points(workload.dense().T)
    finite = np.array(
        [points[i] - points[j] for i in range(len(points)) for j in range(i) if relation.exact_budget(j, i) is not None]
    )
    if isinstance(relation, AddRemove):
        finite = workload.dense().T
    span = np.linalg.svd(finite)[2][: np.linalg.matrix_rank(finite, tol=1e-9)]
    drawn = np.asarray(made.simulate(200, seed=1))
    outside = drawn - drawn @ span.T @ span
    assert np.abs(outside).max() <= 1e-9 * np.abs(drawn).max()
    assert np.linalg.matrix_rank(made.covariance(), tol=1e-9 * made.covariance().max()) == len(span)


@pytest.mark.parametrize("family", SPANNING)
def test_answers_add_up_to_the_public_sizes(family: str) -> None:
    workload, relation = DEFICIENT["islands"]
    made = design(Problem(workload, relation, notion(family)), family, **quick(family)).mechanism
    histogram = np.array([5, 0, 100, 3, 10**6, 1])
    answers = made.release(histogram).answers
    assert answers[:3].sum() == pytest.approx(105.0, abs=1e-8) and answers[3:].sum() == pytest.approx(1000004.0, abs=1e-8)
    assert np.abs(answers - histogram).max() < 1e4
    assert (made.query_variances()[:3] > 0).all()


@pytest.mark.parametrize("family", ["k_norm", "ellipsoid", "strategy_laplace", "gaussian"])
def test_released_ranges_are_consistent(family: str) -> None:
    workload, relation = DEFICIENT["ranges, total public"]
    made = design(Problem(workload, relation, notion(family)), family, **quick(family)).mechanism
    answers = made.release([3, 1, 4, 1]).answers
    single = np.linalg.lstsq(workload.dense(), answers, rcond=None)[0]
    assert workload.dense() @ single == pytest.approx(answers, abs=1e-8)
    assert single.sum() == pytest.approx(9.0, abs=1e-8)


def test_a_total_of_weights_that_are_no_dyadic_numbers_is_answered_when_records_come_and_go() -> None:
    """Its entries are all alike, and yet every change moves it."""
    for family in ("laplace", "k_norm", "strategy_laplace"):
        made = design(Problem(Workload([[0.1, 0.1, 0.1]]), metrics.add_remove(3, 1.0)), family, **quick(family)).mechanism
        assert made.error() == pytest.approx(0.01 / (2 * np.sinh(0.5) ** 2) if family == "laplace" else 0.02, rel=1e-6)


def test_a_fitted_row_that_hardly_varies_is_published_without_noise() -> None:
    """With few records the best answer to a faint query is a constant."""
    relation = metrics.euclidean(np.arange(4.0)[:, None] / 4)
    workload = Workload([[0, 1, 2, 3], [1, 1 + 1e-4, 1, 1 - 1e-4], [5, 1, 0, 2]])
    made = design(Problem(workload, relation, records=2.0), "laplace_joint").mechanism
    assert made.privacy.holds and (made.scales[made.norm.silent] == 0).all()
    silent = made.effective[made.norm.silent]
    assert (silent == silent[:, :1]).all()


# Specs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*PURE, *GAUSSIAN])
@pytest.mark.parametrize("name", ["total is public", "dependent"])
def test_specs_of_every_family_come_back_the_same(family: str, name: str, tmp_path: Path) -> None:
    workload, relation = DEFICIENT[name]
    made = design(Problem(workload, relation, notion(family), records=30.0), family, **quick(family)).mechanism
    twin = load(made.save(tmp_path / "spec.json"))
    assert twin == made and twin.fingerprint == made.fingerprint and twin.verify() == made.privacy
    assert twin.query_variances().tolist() == made.query_variances().tolist()
    assert np.asarray(twin.simulate(20, seed=2)).tolist() == np.asarray(made.simulate(20, seed=2)).tolist()
    for copied in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert copied == made and copied.verify().holds


@pytest.mark.nightly
def test_a_large_hull_of_faces_with_many_corners_comes_back_the_same(tmp_path: Path) -> None:
    """Designed it is grown in another way than from a file: thousands of simplices in few facets, which may be divided in many
    ways; bodies, and so draws, are those of the file."""
    made = design(
        Problem(Workload(np.random.default_rng(3).integers(0, 2, (6, 40))), metrics.uniform(40, 1.0)), "k_norm"
    ).mechanism
    twin = load(made.save(tmp_path / "spec.json"))
    ours, theirs = made.norm.body, twin.norm.body
    assert 2 * len(ours.simplices) > 3000 and len(ours.facets) < len(ours.simplices) / 10
    assert np.array_equal(ours.simplices, theirs.simplices) and np.array_equal(ours.facet_of, theirs.facet_of)
    assert np.asarray(twin.simulate(20, seed=2)).tolist() == np.asarray(made.simulate(20, seed=2)).tolist()


def test_a_gauge_with_a_weaker_scale_or_without_a_vertex_is_refused(tmp_path: Path) -> None:
    from tests.files.test_spec import read, resealed

    made = design(Problem(Workload([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]), metrics.uniform(3, 1.0)), "k_norm").mechanism
    spec = json.loads(json.dumps(to_spec(made)))
    norm = spec["mechanism"]["norm"]
    assert len(norm["differences"]) == 3
    for k in range(3):
        mutant = copy.deepcopy(spec)
        del mutant["mechanism"]["norm"]["differences"][k], mutant["mechanism"]["norm"]["budgets"][k]
        with pytest.raises(NotPrivate):
            read(tmp_path, resealed(mutant))
    for scale in (norm["scale"] * (1 - 1e-9), norm["scale"] / 2):
        mutant = copy.deepcopy(spec)
        mutant["mechanism"]["norm"]["scale"] = scale
        with pytest.raises(NotPrivate):
            read(tmp_path, resealed(mutant))
    for scale in (5e-324, 1e308):
        mutant = copy.deepcopy(spec)
        mutant["mechanism"]["norm"]["scale"] = scale
        with pytest.raises((InvalidSpec, NotPrivate)):
            read(tmp_path, resealed(mutant))


# The limit -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_no_additive_family_beats_the_limit(seed: int) -> None:
    kind = {"notion": ("pure", "zcdp")[seed % 2], "loss": ("squared", "max")[seed // 2 % 2]}
    problem = random_problem(seed, **kind)
    found = limit(problem)
    assert found is not None and found.value > 0
    for name in UNBIASED if kind["notion"] == "pure" else GAUSSIAN:
        made = design(problem, name, **quick(name))
        assert made.loss >= found.value
        assert made.efficiency is not None and 0 < made.efficiency <= 1


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 5.0])
def test_a_single_count_and_the_geometric_mechanism(epsilon: float) -> None:
    """The limit is 1 / (2 sinh^2(eps / 2)), twice that of unbiased mechanisms by Hammersley, Chapman and Robbins; Laplace noise
    on the integers, of variance 2 a / (1 - a)^2, attains it."""
    workload, relation = Workload([[1.0]]), metrics.add_remove(1, epsilon)
    found = limit(Problem(workload, relation))
    assert found is not None and found.unbiased == pytest.approx(1 / (4 * math.sinh(epsilon / 2) ** 2), rel=1e-9)
    geometric = AdditiveMechanism("laplace", workload, relation, weighted_l1([epsilon]), Grid((0,)))
    assert geometric.error() == pytest.approx(found.value, rel=1e-9) and found.theorem == "T4"


@pytest.mark.parametrize("budget", [0.1, 1.0])
@pytest.mark.parametrize("aim", ["squared", "max"])
def test_gaussian_noise_comes_close_to_the_limit(budget: float, aim: Any) -> None:
    problem = Problem(Workload.prefix(8), metrics.add_remove(8, budget), "zcdp", aim)
    found = limit(problem)
    assert found is not None
    assert design(problem, "gaussian").loss / found.value == pytest.approx(math.expm1(budget**2) / budget**2, rel=1e-5)


# Biased designs ------------------------------------------------------------------------------------------------------

SINGLE = Workload([[0.3, 1.0, 2.0, 2.2, 5.0]])
LINE = metrics.euclidean([[0.0], [0.1], [0.5], [1.0], [1.2]])
PLACED = [(0.3, 0.0), (1.0, 0.1), (2.0, 0.5), (2.2, 1.0), (5.0, 1.2)]


def single_program(objective: str, records: float, delta: float) -> float:
    """The convex program of one query, all pairs written out."""
    q, d = SINGLE.dense()[0], LINE.distances()
    p, c = cp.Variable(q.size), cp.Variable(nonneg=True)
    off = records * (p - q)
    value = {
        "squared": cp.sum_squares(off) + 2 * cp.square(c),
        "worst_case": cp.square(cp.norm(off, "inf")) + 2 * cp.square(c),
        "l1": cp.norm1(off) + c,
        "l2": cp.norm2(off) + c,
        "linf": cp.norm(off, "inf") + c,
        "high_probability": cp.norm(off, "inf") + math.log(1 / delta) * c,
    }[objective]
    near = [cp.abs(p[i] - p[j]) <= c * d[i, j] for i in range(q.size) for j in range(i)]
    return float(cp.Problem(cp.Minimize(value), near).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("objective", ["squared", "worst_case", "l1", "l2", "linf", "high_probability"])
@pytest.mark.parametrize("records", [0.5, 3.0, 30.0])
def test_biased_single_queries_agree_with_a_modelling_layer(objective: str, records: float) -> None:
    found = design(Problem(SINGLE, LINE, records=records), "laplace_joint", objective=objective, delta=0.1)
    assert found.privacy.holds and found.is_biased and found.efficiency is None
    assert found.optimality is not None
    assert found.optimality.value == pytest.approx(single_program(objective, records, 0.1), rel=1e-5)


def test_error_bounds_keep_bias_apart_and_hold_for_the_worst_histogram() -> None:
    found = design(Problem(SINGLE, LINE, records=3.0), "laplace_joint", objective="linf")
    bounds = error_bounds(found.mechanism, 3.0, 0.05)
    off = np.abs(found.mechanism.effective - SINGLE.dense())
    assert bounds.bias == pytest.approx((3 * off.sum(), 3 * np.linalg.norm(off), 3 * off.max()))
    assert bounds.bias[2] > 1e-3  # there is a bias to speak of
    drawn = np.asarray(found.mechanism.simulate(20_000, seed=3))[:, 0]
    errors = drawn + 3 * float((found.mechanism.effective - SINGLE.dense())[0, off.argmax()])
    assert (errors**2).mean() <= bounds.squared and np.abs(errors).mean() <= min(bounds.l1, bounds.l2, bounds.linf)
    assert (np.abs(errors) > bounds.high_probability).mean() <= 0.05


def test_more_records_cost_more_and_in_the_end_bias_does_not_pay() -> None:
    plain = 2 * max(abs(p - q) / abs(x - y) for p, x in PLACED for q, y in PLACED if x != y) ** 2  # of continuous noise
    values = []
    for records in (0.1, 1.0, 3.0, 10.0, 100.0, 1e4):
        found = design(Problem(SINGLE, LINE, records=records), "laplace_joint")
        assert found.optimality is not None
        values.append(found.optimality.value)
        assert found.loss <= found.optimality.value * (1 + 1e-9)  # the worst of n records, not their sum over elements
    assert values == sorted(values) and values[0] < 0.1 * plain
    assert values[-1] <= plain * (1 + 1e-6) and values[-1] == pytest.approx(plain, rel=1e-3)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("records", [1.0, 20.0])
def test_biased_designs_of_several_queries_are_below_laplace_and_above_their_bound(seed: int, records: float) -> None:
    relation = metrics.euclidean(np.random.default_rng(seed).random((7, 2)))
    problem = Problem(Workload.random(3, 7, "real", seed), relation, records=records)
    found, plain = design(problem, "laplace_joint"), design(problem, "laplace")
    assert found.privacy.holds and found.optimality is not None
    assert found.optimality.lower_bound <= found.optimality.value <= plain.loss * (1 + 1e-6)
    assert found.loss <= plain.loss * (1 + 1e-6)


# The choice, and refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_auto_takes_the_least_loss_and_lists_all_it_tried(kind: Any) -> None:
    problem = Problem(Workload.random(3, 7, "real", 5), metrics.uniform(7, 1.0), kind)
    best = design(problem)
    kept = {f.name for f in FAMILIES if f.notion in (kind, "pure") and not (f.baseline or f.on_request) and f.concerns(problem)}
    names = list(dict.fromkeys(way.partition(",")[0] for way in best.mechanism.provenance["tried"]))
    assert {f.name for f in FAMILIES if f.name in kept and f.notion == kind} <= set(names) <= kept
    losses = {}
    for name in names:
        try:
            losses[name] = design(problem, name).loss
        except DesignFailed as refusal:
            note = best.mechanism.provenance["tried"][name]
            assert note == f"no mechanism: {refusal}" or note.startswith("not started: no pure noise loses less than")
    assert best.loss == pytest.approx(min(losses.values()), rel=1e-12)
    assert best.mechanism.family == min(losses, key=losses.__getitem__)


def test_auto_out_of_time_keeps_the_best_of_what_started_and_says_what_was_left() -> None:
    """The first family that has a mechanism is waited for; what a caller's clock cuts off says so."""
    found = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "auto", seconds=1e-9)
    tried = found.mechanism.provenance["tried"]
    assert [name for name, note in tried.items() if note.startswith("loss ")] == ["laplace"]
    assert found.mechanism.family == "laplace"
    assert {note for name, note in tried.items() if name != "laplace"} == {"not started: 1e-09 s were over"}
    assert "seconds = 1e-09" in found.mechanism.provenance["cut"] and "cut ended by the clock" in repr(found)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidProblem, match="seconds"):
            design(found.problem, "auto", seconds=wrong)


def test_auto_goes_on_past_its_time_until_there_is_a_design(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(problem: Problem) -> AdditiveMechanism:
        raise DesignFailed("laplace: not today")

    listed = tuple(replace(family, build=refuse) if family.name == "laplace" else family for family in FAMILIES)
    monkeypatch.setattr("designer.designing.listed.FAMILIES", listed)
    found = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "auto", seconds=1e-9)
    assert found.mechanism.family == "by_moves" and "not today" in found.mechanism.provenance["tried"]["laplace"]


@pytest.mark.parametrize(
    ("family", "options", "size", "text"),
    [
        ("k_norm", {}, 14, "13 dimensions, more than 12; use ellipsoid"),
        ("k_norm", {"max_simplices": 3}, 4, "k_norm: .*simplices.*; use ellipsoid"),
        ("k_norm", {"max_simplices": 50}, 12, "k_norm: .*simplices.*; use ellipsoid"),
        ("laplace_joint", {}, 3, "give problem.records"),
        ("gaussian", {}, 3, "is zcdp, the problem asks for 'pure'"),
    ],
)
def test_refusals_say_what_to_do(family: str, options: dict[str, Any], size: int, text: str) -> None:
    with pytest.raises(DesignFailed, match=text):
        design(Problem(Workload.identity(size), metrics.uniform(size, 1.0)), family, **options)


@pytest.mark.parametrize("family", ["k_norm", "capped_l1", "bundles", "staircase"])
def test_what_has_too_many_dimensions_is_refused_before_changes_are_listed(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of 16 x 16 with published margins: its freedom is known, and the way on is not what is refused as well."""
    table = invariants.margins((16, 16)).protect(1.0, adjacency=2)
    monkeypatch.setattr(SensitivitySet, "of", lambda *given: pytest.fail("changes are listed"))
    with pytest.raises(DesignFailed, match=r"225 dimensions.*use (ellipsoid|box|laplace)"):
        design(Problem(Workload.identity(256), table), family)


@pytest.mark.parametrize(
    "relation",
    [
        invariants.margins((3, 4)).protect(1.0, adjacency=2),
        invariants.margins((2, 2, 2)).protect(1.0, adjacency=2),
        invariants.total(5).protect(1.0),
        invariants.partition([0, 0, 1, 1, 1]).protect(1.0),
        invariants.linear([[1, 2, 3, 4]]).protect(1.0, adjacency=2),
        metrics.add_remove(4, 1.0),
    ],
    ids=["margins", "three margins", "total", "classes", "linear", "records"],
)
def test_the_dimension_that_is_known_is_that_of_the_differences(relation: Relation) -> None:
    queries = np.vstack([np.eye(relation.size), np.ones(relation.size)])
    for asked in (queries[:-1], queries, queries[1:]):
        problem = Problem(Workload(asked), relation)
        differences = SensitivitySet.of(asked, relation).all_pairs().differences
        assert dimension_of(problem) == np.linalg.matrix_rank(differences)


@pytest.mark.parametrize("family", [*PURE, *GAUSSIAN])
def test_unknown_options_are_refused_and_the_known_ones_named(family: str) -> None:
    problem = Problem(Workload.identity(3), metrics.uniform(3, 1.0), notion(family), records=3.0)
    with pytest.raises(InvalidProblem, match=r"nonsense.* unknown to family"):
        design(problem, family, nonsense=1)
    for other in () if family in GAUSSIAN else GAUSSIAN:
        with pytest.raises(DesignFailed, match="the problem asks for"):
            design(problem, other)


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("k_norm", {"max_simplices": 0}),
        ("k_norm", {"max_simplices": 2.5}),
        ("laplace", {"tolerance": -1.0}),
        ("ellipsoid", {"tolerance": math.nan}),
        ("strategy_laplace", {"iterations": -1}),
        ("strategy_laplace", {"keep": 0}),
        ("strategy_geometric", {"whole": 1}),
        ("laplace_joint", {"objective": "l7"}),
        ("laplace_joint", {"objective": "high_probability", "delta": 1.0}),
        ("laplace_joint", {"tolerance": 0.0}),
        ("diagonal_gaussian", {"tolerance": -1.0}),
        ("gaussian", {"tolerance": 0.0}),
    ],
)
def test_senseless_options_are_refused_by_name(family: str, options: dict[str, Any]) -> None:
    problem = Problem(SINGLE, LINE, notion(family), records=3.0)
    with pytest.raises(InvalidProblem, match="options"):
        design(problem, family, **options)
