"""(b, delta) for every change: laws enumerated pair by pair, closed forms, what is refused, and what is compared with what."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

from designer import (
    AdditiveMechanism,
    DesignFailed,
    Domain,
    InvalidProblem,
    InvalidSpec,
    NotPrivate,
    Problem,
    Workload,
    compare,
    design,
    invariants,
    load,
    metrics,
)
from designer.accounts import composed
from designer.certificate.frozen import to_spec
from designer.certificate.norms import Norm
from designer.designing import register
from designer.designing.family import Family
from designer.designing.least_noise import limit
from designer.designing.listed import forget
from designer.mechanism.bounds import error_bounds
from designer.mechanism.interface import spent_delta
from designer.mechanism.noise import Grid
from designer.problem.relation import Relation
from designer.problem_file.linear import read_problem
from designer.relations.joint_promises import for_groups
from designer.relations.metrics.presence import AddRemove
from designer.relations.row_groups import RowGroups
from designer.tradeoff.conversions import gdp_mu
from tests.files.test_spec import read, resealed

DELTA = 1e-3
PATH = metrics.graph([(0, 1), (1, 2), (2, 3, 0.5)], per_edge=0.8, nodes=4)
RELATIONS: dict[str, Relation] = {
    "one budget": metrics.uniform(4, 0.7),
    "paths of a graph": PATH,
    "Blowfish": metrics.blowfish([[0.0], [1.0], [2.0], [3.5]], 1.0, 0.6),
    "line": metrics.line([0, 1, 2, 5], period=1, epsilon=0.5),
    "records that appear": metrics.add_remove(4, [0.5, 1.0, 1.0, 2.0]),
    "appear or change": metrics.appear_or_change(metrics.uniform(4, 0.9), 0.7),
    "attributes": metrics.hamming(Domain.of({"a": 2, "b": 2}), [0.5, 0.8]),
    "two records under an invariant": metrics.uniform(4, 0.6) & invariants.total(4).at(2),
}


def approximate(workload: Workload, relation: Relation, delta: float = DELTA, **options: object) -> Problem:
    return Problem(workload, relation, notion="approximate", delta=delta, **options)  # type: ignore[arg-type]


def pairs_of(relation: Relation) -> list[tuple[int, int, float]]:
    """All pairs of points with their budgets, from the relation's exact budgets alone."""
    points = len(relation.points(np.empty((relation.size, 0))))
    if not relation.single_records:
        return [(m, points - 1, float(relation.exact_budget(m, points - 1) or 0)) for m in range(points - 1)]
    found = [(i, j, relation.exact_budget(i, j)) for i, j in itertools.combinations(range(points), 2)]
    if isinstance(relation, AddRemove):
        found = [(i, j, b) for i, j, b in found if j == points - 1]
    return [(i, j, float(b)) for i, j, b in found if b is not None]


def hockey_stick(law: NDArray[np.float64], shift: int, budget: float) -> float:
    """`sum (P - e^b Q)_+`, the larger of both directions, of a law on a line of integers and its shift."""
    one, other = np.pad(law, (shift, 0)), np.pad(law, (0, shift))
    return float(max(np.maximum(p - math.exp(budget) * q, 0).sum() for p, q in ((one, other), (other, one))))


def rounded_law(deviation: float) -> NDArray[np.float64]:
    ends = np.arange(-round(9 * deviation) - 3, round(9 * deviation) + 4)[:, None] + np.array([-0.5, 0.5])
    lower, upper = ends.T / deviation
    return np.where(lower > 0, stats.norm.sf(lower) - stats.norm.sf(upper), stats.norm.cdf(upper) - stats.norm.cdf(lower))


def moved(relation: Relation, row: list[float]) -> dict[tuple[int, int], int]:
    points = relation.points(np.array([row]).T)[:, 0]
    return {(i, j): round(abs(points[i] - points[j])) for i, j, _ in pairs_of(relation)}


def widest(relation: Relation, row: list[float], family: str, step: int) -> AdditiveMechanism:
    """The mechanism with the least noise on a grid of whole numbers, `step` of them a record:
    the weight of the designed one, which a finer grid carries."""
    fine = design(approximate(Workload([row]), relation), family).mechanism
    weight = float(np.ravel(fine.norm.map)[0]) / step
    made = AdditiveMechanism(
        "custom",
        Workload([[step * entry for entry in row]]),
        relation,
        Norm(np.array([weight]), fine.norm.order if family != "k_norm" else "l1"),
        Grid((0,)),
        fine.falloff,
        delta=DELTA,
    )
    assert made.privacy.holds
    return made


ROW = [0.0, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("name", RELATIONS)
def test_no_protected_pair_is_told_apart_by_more_than_delta_of_the_rounded_law(name: str) -> None:
    """The law on whole numbers enumerated; on 16 steps a record the worst pair spends nearly all of delta."""
    relation, spent = RELATIONS[name], []
    for step in (1, 16):
        made = widest(relation, ROW, "gaussian", step)
        law = rounded_law(1 / float(np.ravel(made.norm.map)[0]))
        shifts = moved(relation, [step * entry for entry in ROW])
        spent.append(max(hockey_stick(law, shifts[i, j], b) for i, j, b in pairs_of(relation)))
        assert made.privacy.pairs >= len(shifts)
    assert spent[0] <= DELTA * (1 + 1e-9) and 0.99 * DELTA < spent[1] <= DELTA * (1 + 1e-9)
    assert spent_delta(made) == pytest.approx(DELTA, rel=1e-6)


@pytest.mark.parametrize("name", RELATIONS)
def test_nor_of_exponential_noise_under_the_lengths_that_pure_noise_is_allowed(name: str) -> None:
    relation = RELATIONS[name]
    made = widest(relation, ROW, "laplace", 4)
    weight = float(made.norm.map[0])
    z = np.arange(-round(40 / weight), round(40 / weight) + 1)
    law = np.exp(-weight * np.abs(z)) * math.tanh(weight / 2)
    shifts = moved(relation, [4 * entry for entry in ROW])
    assert 0.3 * DELTA < max(hockey_stick(law, shifts[i, j], b) for i, j, b in pairs_of(relation)) <= DELTA
    pure = design(Problem(Workload([ROW]), relation), "laplace")
    assert made.query_variances()[0] / 16 < 2 * pure.mechanism.scales[0] ** 2


def test_pairs_that_others_imply_are_not_implied_here() -> None:
    """Noise that keeps (b, delta) along every edge of a path breaks (2 b, delta) for two of them: mu(2 b) < 2 mu(b)."""
    edge, both = gdp_mu(0.1, DELTA), gdp_mu(0.2, DELTA)
    assert both < 1.9 * edge
    law = rounded_law(32 / edge)
    assert hockey_stick(law, 32, 0.1) <= DELTA < 1.2 * DELTA < hockey_stick(law, 64, 0.2)
    path = metrics.graph([(0, 1), (1, 2)], per_edge=0.1, nodes=3)
    assert sum(len(block.budgets) for block in path.blocks()) == 2
    for weight, holds in ((both / 2, True), (edge, False)):
        norm = Norm(np.array([weight * (1 - 1e-12) / 32]), "l2")

        def make(norm: Norm = norm) -> AdditiveMechanism:
            return AdditiveMechanism("custom", Workload([[0, 32, 64]]), path, norm, Grid((0,)), "rounded_gaussian", delta=DELTA)

        if holds:
            assert make().privacy.witness is not None and make().privacy.witness.words.startswith("e0 -> e2 (budget 0.2")
        else:
            with pytest.raises(NotPrivate, match=r"e0 -> e2 \(budget 0.2 with delta 0.001\)"):
                make()


def test_two_correlated_answers_keep_delta_on_their_grid() -> None:
    """The rounded law of two answers, cell by cell, against its shift by every protected difference."""
    relation, delta = metrics.line([0, 1, 2], period=1, epsilon=0.8), 0.01
    rows = np.array([[0.0, 2.0, 3.0], [0.0, 1.0, 3.0]])
    fine = design(approximate(Workload(rows), relation, delta), "gaussian").mechanism
    made = AdditiveMechanism(
        "custom", Workload(rows), relation, fine.norm, Grid((0, 0)), "rounded_gaussian", delta=delta
    )  # on whole numbers
    covariance = np.linalg.inv(fine.norm.factor.T @ fine.norm.factor)
    first, second = np.sqrt(np.diag(covariance))
    assert abs(covariance[0, 1]) > 0.2 * first * second
    slope, rest = covariance[0, 1] / first**2, math.sqrt(second**2 - covariance[0, 1] ** 2 / first**2)
    z = np.arange(-round(8 * max(first, second)), round(8 * max(first, second)) + 1)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x = z[:, None] + nodes / 2
    ends = (z[None, None] + 0.5 - slope * x[:, :, None]) / rest
    cells = stats.norm.cdf(ends) - stats.norm.cdf(ends - 1 / rest)
    law = np.einsum("in,inj->ij", stats.norm.pdf(x / first) / first * weights / 2, cells)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    found = []
    for i, j, budget in pairs_of(relation):
        a, b = (round(abs(c)) for c in rows[:, i] - rows[:, j])
        one, other = np.pad(law, ((a, 0), (b, 0))), np.pad(law, ((0, a), (0, b)))
        found += [np.maximum(p - math.exp(budget) * q, 0).sum() for p, q in ((one, other), (other, one))]
    assert 0.9 * delta < max(found) <= delta * (1 + 1e-9) and made.privacy.holds
    assert np.allclose(made.covariance(), covariance + np.eye(2) / 12, rtol=1e-9)


def analytic(budget: float, delta: float) -> float:
    """Balle and Wang's deviation for one count, by a root finder."""
    return 1 / float(optimize.brentq(lambda m: spent_at(m, budget) - delta, 1e-6, 1e3, xtol=1e-15))


def spent_at(m: float, budget: float) -> float:
    """The delta that a length of m spends (Balle and Wang 2018, Theorem 8)."""
    return float(stats.norm.cdf(m / 2 - budget / m) - math.exp(budget) * stats.norm.cdf(-m / 2 - budget / m))


@pytest.mark.parametrize("family", ["gaussian", "diagonal_gaussian", "isotropic_gaussian"])
@pytest.mark.parametrize(("budget", "delta"), [(0.1, 1e-5), (0.9, 1e-6), (1.0, 0.2), (4.0, 1e-9), (20.0, 1e-6)])
def test_one_count_gets_the_analytic_deviation_which_is_below_the_classical(family: str, budget: float, delta: float) -> None:
    made = design(approximate(Workload([[1.0]]), metrics.add_remove(1, budget), delta), family).mechanism
    deviation = math.sqrt(made.error())
    assert deviation == pytest.approx(analytic(budget, delta), rel=1e-8)
    if budget < 1:
        assert deviation < math.sqrt(2 * math.log(1.25 / delta)) / budget
    shorter = (1 - 2.0**-31) / analytic(budget, delta)  # weights of noise end at 32 bits, towards privacy
    assert spent_at(shorter, budget) * (1 - 1e-9) <= (spent_delta(made) or 0) <= delta
    bounds = error_bounds(made, 10, 0.05)
    assert bounds.high_probability == pytest.approx(float(stats.norm.isf(0.025)) * deviation, rel=1e-6)


def test_the_covariance_is_that_of_the_gaussian_optimum_where_all_budgets_agree() -> None:
    """With one budget for all pairs the program is that of zCDP in other units."""
    relation, asked = metrics.uniform(5, 1.0), Workload.prefix(5)
    ours = design(approximate(asked, relation, 1e-6), "gaussian").mechanism
    theirs = design(Problem(asked, relation, notion="zcdp"), "gaussian").mechanism
    assert np.allclose(ours.covariance() * gdp_mu(1.0, 1e-6) ** 2, theirs.covariance(), rtol=1e-4)
    assert ours.optimality is not None and -1e-12 < ours.optimality.gap < 2e-6


@pytest.mark.parametrize("seed", range(3))
def test_the_gaussian_of_unequal_budgets_agrees_with_a_modelling_layer(seed: int) -> None:
    cp = pytest.importorskip("cvxpy")
    generator = np.random.default_rng(seed)
    relation = metrics.euclidean(generator.random((4, 2)), 3.0)
    rows = generator.integers(-2, 3, (2, 4)).astype(float)
    made = design(approximate(Workload(rows), relation, 1e-5), "gaussian")
    precision = cp.Variable((2, 2), PSD=True)
    covers = []
    for i, j, budget in pairs_of(relation):
        u = rows[:, i] - rows[:, j]
        covers.append(cp.quad_form(u, precision) <= analytic(budget, 1e-5) ** -2 if u.any() else u.sum() == 0)
    least = cp.Problem(cp.Minimize(cp.matrix_frac(np.eye(2), precision)), [c for c in covers if not isinstance(c, np.bool_)])
    assert made.loss == pytest.approx(least.solve(solver="CLARABEL"), rel=1e-5)
    assert made.mechanism.privacy.holds and made.optimality is not None and made.optimality.gap < 1e-5


def test_many_budgets_are_interpolated_and_still_proven() -> None:
    """1,225 distinct budgets: the worst pair is exact, the bound allows for the interpolation."""
    points = np.random.default_rng(2).random((50, 2))
    made = design(approximate(Workload(points.T), metrics.euclidean(points, 2.0), 1e-6), "gaussian")
    ratio = float(made.privacy.worst_ratio or 0)
    assert 1 - 2e-6 < ratio <= 1 and made.privacy.pairs == 1225
    assert made.optimality is not None and 0 <= made.optimality.gap < 1e-5
    assert 1e-6 * (1 - 1e-4) < (spent_delta(made.mechanism) or 0) <= 1e-6


def test_every_change_says_what_it_spends_at_the_same_delta() -> None:
    made = design(approximate(Workload([[0.0, 1.0]]), metrics.uniform(2, 1.0), 1e-6), "gaussian").mechanism
    once, twice, nothing = made.privacy_loss([[-1, 1], [-2, 2], [0, 0]])
    assert once == pytest.approx(1, rel=1e-9) and nothing == 0
    m = 2 * gdp_mu(1.0, 1e-6)
    assert stats.norm.cdf(m / 2 - twice / m) - math.exp(twice) * stats.norm.cdf(-m / 2 - twice / m) == pytest.approx(
        1e-6, rel=1e-6
    )
    assert 2 < twice < 2.2  # more than twice the budget: under one delta budgets of groups do not add up
    assert made.privacy_loss(answers=[-1.0]) == pytest.approx(1, rel=1e-9)


@pytest.mark.nightly
def test_auto_takes_the_family_of_least_loss_whatever_its_own_notion() -> None:
    """A record in all of K counts: Laplace noise grows with K, Gaussian noise with its root."""
    chosen = {}
    for queries in (1, 200):
        relation = metrics.add_remove(1, 1.0)
        made = design(approximate(Workload(np.ones((queries, 1)) * np.arange(1, 2)), relation, 1e-6), "diagonal_gaussian")
        plain = design(approximate(Workload(np.ones((queries, 1))), relation, 1e-6), "laplace")
        chosen[queries] = made.loss < plain.loss
    assert chosen == {1: False, 200: True}
    rows, appears = np.random.default_rng(3).integers(0, 2, (3, 600)), metrics.add_remove(600, 1.0)
    best = design(approximate(Workload(rows), appears, 1e-6))
    tried = best.mechanism.provenance["tried"]
    assert {"laplace", "k_norm", "gaussian", "diagonal_gaussian"} <= set(tried) and "lattice_laplace" not in tried
    losses = [float(words.split("loss ")[1].split(",")[0]) for words in tried.values() if "loss " in words]
    assert best.loss == pytest.approx(min(losses), rel=1e-5)
    wide = design(approximate(Workload(rows), appears, 0.3))
    assert wide.mechanism.family in ("gaussian", "diagonal_gaussian")


@pytest.mark.nightly
def test_compare_shows_all_that_qualify_beside_the_limit() -> None:
    asked = approximate(Workload.identity(3), metrics.uniform(3, 1.0), 0.05)
    rows = {
        row["family"]: row for row in compare(asked, ["laplace", "k_norm", "gaussian", "strategy_1", "lattice_laplace"]).rows
    }
    least = limit(asked)
    assert least is not None and all(row["loss"] is None or least.value <= row["loss"] for row in rows.values())
    assert all(row["efficiency"] is None or 0 < row["efficiency"] <= 1 for row in rows.values())
    assert rows["gaussian"]["improvement"] > 0 and rows["gaussian"]["worst_ratio"] <= 1
    assert rows["lattice_laplace"]["loss"] is None and "lattice_laplace: " in rows["lattice_laplace"]["note"]
    many = approximate(Workload(np.random.default_rng(4).integers(0, 2, (2, 600))), metrics.add_remove(600, 1.0))
    everything = {row["family"] for row in compare(many).rows}
    assert {"laplace", "gaussian", "isotropic_gaussian"} <= everything and "group_laplace" not in everything


def test_a_family_of_ones_own_serves_under_its_own_notion() -> None:
    def build(problem: Problem) -> AdditiveMechanism:
        norm = Norm(np.array([0.1]), "l2")
        return AdditiveMechanism("custom", problem.workload, problem.relation, norm, Grid((-20,)), "gaussian")

    register(Family("wide", "noise of deviation 10", "zcdp", build))
    try:
        made = design(approximate(Workload([[1.0]]), metrics.add_remove(1, 1.0), 1e-3), "wide").mechanism
    finally:
        forget("wide")
    assert (made.falloff, made.delta, made.family) == ("rounded_gaussian", 1e-3, "custom")
    register(Family("other", "noise of another kind than its notion says", "pure", build))
    try:
        with pytest.raises(DesignFailed, match="no delta is proven for the noise of 'other'"):
            design(approximate(Workload([[1.0]]), metrics.add_remove(1, 1.0), 1e-3), "other")
    finally:
        forget("other")


def test_biased_and_absolute_and_maximal_losses_are_served() -> None:
    relation, asked = metrics.uniform(3, 1.0), Workload([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]])
    for loss in ("absolute", "max"):
        for family in ("gaussian", "laplace"):
            made = design(approximate(asked, relation, 0.01, loss=loss), family)
            assert made.privacy.holds and made.loss > 0
    biased = design(approximate(asked, relation, 0.01, records=2.0), "laplace_joint")
    assert biased.is_biased and biased.loss <= design(approximate(asked, relation, 0.01, records=2.0), "laplace").loss * (
        1 + 1e-6
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"notion": "approximate"}, r"problem\.delta: missing"),
        ({"notion": "pure", "delta": 1e-6}, r"problem\.delta: 1e-06 goes with notion"),
        ({"notion": "zcdp", "delta": 1e-6}, r"problem\.delta: 1e-06 goes with notion"),
        ({"notion": "approximate", "delta": 0}, r"problem\.delta: 0 is not between 0 and 1"),
        ({"notion": "approximate", "delta": 1.0}, r"problem\.delta: 1\.0 is not between 0 and 1"),
        ({"notion": "approximate", "delta": "1e-6"}, r"problem\.delta: '1e-6' is not between 0 and 1"),
        ({"notion": "approximate", "delta": 1e-200}, r"problem\.delta: 1e-200 is below 1e-100"),
        ({"notion": "approximately", "delta": 0.1}, r"problem\.notion: 'approximately' is unknown"),
    ],
)
def test_a_delta_goes_with_its_notion_and_with_no_other(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        Problem(Workload.identity(2), metrics.uniform(2, 1.0), **options)  # type: ignore[arg-type]


def test_what_cannot_be_promised_is_refused_with_a_way_on() -> None:
    groups = RowGroups((metrics.uniform(1, 0.5), metrics.uniform(2, 0.5)), ("sex", "age"))
    far = invariants.total(3).protect(0.5, per_distance="l1")
    for relation, message in ((groups, r"metrics\.product"), (far, "state an adjacency")):
        with pytest.raises(InvalidProblem, match=message):
            approximate(Workload.identity(3), relation)
    tables = approximate(Workload.identity(4), invariants.margins((2, 2)).protect(0.5, 2))
    for family in ("lattice_gaussian", "group_gaussian"):
        with pytest.raises(DesignFailed, match="the problem asks for 'approximate'"):
            design(tables, family)
    assert design(tables, "gaussian").privacy.holds
    line, norm = metrics.uniform(2, 1.0), Norm(np.array([0.1]), "l2")
    for falloff, delta, message in (
        ("rounded_gaussian", None, "delta: missing"),
        ("gaussian", 0.1, "no delta is proven"),
        ("rounded_gaussian", 2.0, "delta: 2.0"),
        ("triangular", 0.1, "falloff: 'triangular' is unknown"),
    ):
        with pytest.raises(InvalidProblem, match=message):
            AdditiveMechanism("custom", Workload([[0, 1]]), line, norm, Grid((0,)), falloff, delta=delta)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="proof for l2 norms only"):
        AdditiveMechanism(
            "custom", Workload([[0, 1]]), line, Norm(np.array([0.1]), "l1"), Grid((0,)), "rounded_gaussian", delta=0.1
        )


def test_the_certificate_cites_the_theorem_of_its_noise_and_its_delta() -> None:
    line = metrics.uniform(2, 1.0)
    for falloff, delta, order, words in (
        ("exponential", None, "l1", "changes it by at most exp(||u||) <= exp(b)"),
        ("exponential", 0.1, "l1", "a pure promise of m is (b, delta) for delta = (e^m - e^b) / (1 + e^m)"),
        ("gaussian", None, "l2", "Renyi divergence of every order alpha at most alpha ||u||^2 / 2"),
        ("rounded_gaussian", 0.1, "l2", "(b, delta) exactly if Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) <= delta"),
    ):
        norm = Norm(np.array([0.1]), order)  # type: ignore[arg-type]
        made = AdditiveMechanism("custom", Workload([[0, 1]]), line, norm, Grid((0,)), falloff, delta=delta)  # type: ignore[arg-type]
        assert words in made.privacy.theorem
        assert ("delta" in made.privacy.theorem.replace("docs", "")) == (delta is not None)


def test_a_graph_with_more_pairs_than_can_be_scanned_is_refused_before_it_starts() -> None:
    path = metrics.graph([(i, i + 1) for i in range(50_000)], nodes=50_001)
    asked = approximate(Workload([np.arange(50_001.0)]), path)
    with pytest.raises(InvalidProblem, match="every pair of 50001 elements"):
        design(asked, "gaussian")


def test_several_releases_add_budgets_and_deltas_pair_by_pair() -> None:
    """The product of two rounded laws, enumerated: at most the sum of the deltas at the sum of the budgets."""
    made = [widest(relation, ROW, "gaussian", 2) for relation in (PATH, metrics.uniform(4, 0.7))]
    together = composed(*made)
    told = together.guarantee
    assert told.parameters["delta"] == 2 * DELTA and "delta = 0.002" in told.notion
    assert told.parameters["largest_finite_budget"] == pytest.approx(2.5 * 0.8 + 0.7)
    laws = [rounded_law(1 / float(np.ravel(one.norm.map)[0])) for one in made]
    for i, j, budget in pairs_of(PATH):
        shift = round(2 * abs(ROW[i] - ROW[j]))
        sides = [(np.pad(law, (shift, 0)), np.pad(law, (0, shift))) for law in laws]
        one, other = (np.multiply.outer(sides[0][k], sides[1][k]) for k in (0, 1))
        spent = np.maximum(one - math.exp(budget + 0.7) * other, 0).sum()
        assert spent <= together.delta(budget + 0.7, change=(i, j)) <= 2 * DELTA * (1 + 1e-12)
    appears = metrics.add_remove(4, 0.5)
    alone = design(approximate(Workload([ROW]), appears), "gaussian").mechanism
    assert composed(alone, alone).guarantee.relation == "Any one record may appear or disappear, with budget 1.0."
    # What appears is hidden by a length, and so is what changes: lengths add, where (b, delta) does not.
    mixed = composed(alone, made[1])
    assert mixed.notion == "zcdp" and mixed.delta(8 * 0.5 + 0.7, change=(0, 3)) < 2 * DELTA


def test_statements_for_groups_and_for_several_releases_do_not_add_budgets_under_one_delta() -> None:
    made = design(approximate(Workload.identity(2), metrics.uniform(2, 1.0)), "gaussian").mechanism
    with pytest.raises(InvalidProblem, match="privacy_loss"):
        for_groups(made, 2)
    plain = design(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), "laplace").mechanism
    assert composed(made, plain).notion == "approximate"
    many = design(approximate(Workload.identity(2), metrics.uniform(2, 1.0), 0.6), "gaussian").mechanism
    with pytest.raises(InvalidProblem, match=r"add up to 1\.0"):
        _ = composed(many, many).guarantee
    text = made.guarantee.to_text()
    for words in (
        "Approximate dX-privacy",
        "delta = 0.001",
        "budgets of groups do not add up under one delta",
        "the deltas add up",
    ):
        assert words in text
    assert "adding budgets" not in text and made.guarantee.parameters["delta"] == DELTA


@pytest.mark.parametrize("family", ["gaussian", "diagonal_gaussian", "laplace"])
def test_a_file_that_claims_less_delta_or_less_noise_is_refused(family: str, tmp_path: Path) -> None:
    made = design(approximate(Workload([[0.0, 1.0, 3.0]]), metrics.line([0, 1, 2], 1, 0.5)), family).mechanism
    twin = load(made.save(tmp_path / "s.json"))
    assert twin == made and twin.delta == DELTA and twin.guarantee == made.guarantee and twin.privacy == made.privacy
    assert spent_delta(twin) == spent_delta(made)
    spec = to_spec(made)

    def altered(**core: object) -> dict[str, object]:
        return resealed({**spec, "mechanism": {**spec["mechanism"], **core}})

    weights = spec["mechanism"]["norm"]["map"]
    narrower = (np.array(weights) * (1 + 1e-9)).tolist()
    for core in ({"delta": DELTA / 2}, {"delta": DELTA * (1 - 1e-6)}, {"norm": {**spec["mechanism"]["norm"], "map": narrower}}):
        with pytest.raises(NotPrivate):
            read(tmp_path, altered(**core))
    for core in ({"delta": DELTA * 2}, {"delta": None}, {"delta": "0.001"}, {"delta": True}, {"falloff": "gaussian"}):
        with pytest.raises((InvalidSpec, NotPrivate)):
            read(tmp_path, altered(**core))
    silent = {key: value for key, value in spec["mechanism"].items() if key != "delta"}
    with pytest.raises((InvalidSpec, NotPrivate)):
        read(tmp_path, resealed({**spec, "mechanism": silent}))
    stated = {**spec["guarantee"], "parameters": {**spec["guarantee"]["parameters"], "delta": DELTA / 2}}
    with pytest.raises(InvalidSpec, match="claims something else"):
        read(tmp_path, resealed({**spec, "guarantee": stated}))


def test_releases_carry_the_guarantee_and_noise_of_the_stated_size() -> None:
    """40,000 draws of each answer: their standard deviation within 6 of its own, 2e-9 each."""
    made = design(approximate(Workload.prefix(3), metrics.uniform(3, 1.0), 1e-6), "gaussian").mechanism
    drawn = np.asarray(made.simulate(40_000, seed=1))
    noisy = made.query_variances() > 0
    assert noisy.tolist() == [True, True, False]
    deviations = np.sqrt(made.query_variances()[noisy])
    assert np.abs(drawn[:, noisy].std(axis=0) / deviations - 1).max() < 6 / math.sqrt(2 * 40_000)
    assert np.abs(drawn[:, noisy]).mean(axis=0) == pytest.approx(made.query_mean_absolutes()[noisy], rel=0.03)
    released = made.release([5, 2, 1])
    assert released.guarantee == made.guarantee and released.answers[2] == 8
    assert np.abs(released.answers[:2] - [5, 7]).max() < 8 * deviations.max()


def test_problem_files_state_the_delta(tmp_path: Path) -> None:
    text = (
        '[domain]\nage = 3\n[workload]\nbuilder = "identity"\n[relation]\nmetric = "uniform"\nepsilon = 1.0\n'
        '[problem]\nnotion = "approximate"\n'
    )
    path = tmp_path / "p.toml"
    path.write_text(text + "delta = 1e-6\n")
    found = read_problem(path)
    assert (found.problem.notion, found.problem.delta) == ("approximate", 1e-6)
    for line, message in (("", "delta: missing"), ("delta = 2.0\n", "delta: 2.0"), ("delta = true\n", "delta: True")):
        path.write_text(text + line)
        with pytest.raises(InvalidProblem, match=rf"p\.toml: problem\.{message}"):
            read_problem(path)
