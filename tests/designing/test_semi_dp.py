"""Mechanisms under an invariant: baselines in closed form, projections, hulls against gauges by linear programs, exact errors
against draws, and the likelihood ratios at hexagons."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

from designer import DesignFailed, Problem, Workload, design, invariants, load, metrics
from designer.certificate.certificate import certify
from designer.certificate.norms import Gauge
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.implicit_rows import classes
from designer.designing.laplace import project, subspace_mechanism
from designer.mechanism.additive import AdditiveMechanism, measured_matrix
from designer.problem.domain import Domain
from solvers.programs.strategy_search import optimise_workload

GROUP = ("group_laplace", "group_l2_ball", "group_box")
# Every statistical test below fails with at most this probability; seeds are fixed.
FAILURE = 1e-6


def table(shape: tuple[int, ...], adjacency: int, epsilon: float = 1.0, notion: str = "pure") -> Problem:
    relation = invariants.margins(shape).protect(epsilon, adjacency)
    return Problem(Workload.identity(math.prod(shape)), relation, notion=notion)


@cache
def made(family: str, shape: tuple[int, ...], adjacency: int) -> AdditiveMechanism:
    return design(table(shape, adjacency, notion="zcdp" if "gaussian" in family else "pure"), family).mechanism


def budget_under(mechanism: AdditiveMechanism, adjacency: int, epsilon: float = 1.0) -> Fraction:
    """The worst ratio of a mechanism's norm over the changes of another adjacency."""
    relation = mechanism.relation.invariant.protect(epsilon, adjacency)
    worst = certify(SensitivitySet.of(mechanism.grid.values(mechanism.integers), relation), mechanism.norm).worst_ratio
    assert worst is not None
    return worst


# Baselines ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (4, 4)])
@pytest.mark.parametrize("adjacency", [2, 3])
def test_group_privacy_in_closed_form(shape, adjacency):
    """Sensitivities 2, sqrt 2 and 1 of one replaced record (SEMI section 5.2), on all d cells, at epsilon / a; independent
    noise on whole numbers."""
    d, a = math.prod(shape), adjacency
    expected = {
        "group_laplace": d / (2 * math.sinh(1 / (4 * a)) ** 2),
        "group_l2_ball": (d + 1) * d * 2 * a**2,
        "group_box": d * (d + 1) * (d + 2) / 3 * a**2,
        "group_gaussian": d * 2 * a**2,
    }
    for family, error in expected.items():
        assert made(family, shape, a).error() == pytest.approx(error, rel=1e-9), family


@pytest.mark.parametrize(
    ("family", "used"),
    [
        ("group_laplace", (1, 1)),
        ("group_l2_ball", (2**0.5 / 2, 3**-0.5)),
        ("group_box", (1 / 2, 1 / 3)),
        ("group_gaussian", (2**0.5 / 2, 3**-0.5)),
    ],
)
def test_what_group_privacy_leaves_unused(family, used):
    """Largest changes 4, 2, 1 (A_2) and 6, sqrt 6, 1 (A_3) in the three norms against a times 2, sqrt 2,
    1: slack but for l1."""
    for adjacency, ratio in zip((2, 3), used, strict=True):
        assert float(made(family, (3, 3), adjacency).privacy.worst_ratio) == pytest.approx(ratio, rel=1e-9)


def test_group_privacy_under_a_metric_lets_the_budgets_of_records_add_up():
    domain = Domain.of({"sex": 2, "age": 3})
    metric = metrics.hamming(domain, {"sex": 0.25, "age": 1.5})
    problem = Problem(Workload.identity(6), metric & invariants.margins(domain).at(adjacency=2))
    naive = design(problem, "group_laplace").mechanism
    # The least distance is 0.25: Laplace noise of scale 2 / 0.25 on six cells.
    assert naive.error() == pytest.approx(6 / (2 * math.sinh(1 / 16) ** 2), rel=1e-9)
    assert design(problem, "k_norm").error < naive.error()


@pytest.mark.parametrize("family", GROUP)
def test_group_privacy_needs_an_invariant_with_a_public_number_of_records(family):
    for relation in (metrics.uniform(3, 1.0), invariants.linear([[1, 1, 0]], records_public=False).protect(1.0, 2)):
        with pytest.raises(DesignFailed, match="use laplace"):
            design(Problem(Workload.identity(3), relation), family)


def test_group_privacy_refuses_queries_that_no_record_moves():
    with pytest.raises(DesignFailed, match="no record moves"):
        design(Problem(Workload([[1, 1, 1, 1]]), invariants.margins((2, 2)).protect(1.0)), "group_box")


# Projection ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "adjacency"), [((2, 2), 2), ((3, 4), 3), ((4, 4), 2)])
def test_projected_laplace_in_closed_form(shape, adjacency):
    """Scale 2a on each cell, on whole numbers, and of d cells' worth of variance the (r-1)(c-1) directions that remain."""
    dimensions = math.prod(n - 1 for n in shape)
    variance = 1 / (2 * math.sinh(1 / (4 * adjacency)) ** 2)
    assert made("projected_laplace", shape, adjacency).error() == pytest.approx(dimensions * variance, rel=1e-9)


@pytest.mark.parametrize("family", ["laplace", *GROUP, "group_gaussian"])
def test_projection_keeps_the_certificate_and_the_margins_and_costs_less(family):
    plain = made(family, (3, 3), 3)
    projected = project(plain)
    assert projected.privacy.worst_ratio == plain.privacy.worst_ratio
    assert projected.error() == pytest.approx(plain.error() * 4 / 9, rel=1e-9)
    histogram = np.array([5, 0, 2, 1, 7, 4, 0, 3, 2])
    margins = plain.relation.invariant
    np.testing.assert_allclose(margins.matrix @ projected.release(histogram).answers, margins.answers(histogram), atol=1e-9)


def test_projection_of_noise_is_the_projected_covariance():
    random = np.random.default_rng(0)
    workload = Workload(random.integers(-2, 3, (5, 6)))
    plain = design(Problem(workload, invariants.margins((2, 3)).protect(0.7)), "laplace").mechanism
    projected = project(plain)
    moved = workload.dense() @ plain.relation.changes.T
    onto = moved @ np.linalg.pinv(moved)
    np.testing.assert_allclose(projected.covariance(), onto @ plain.covariance() @ onto, atol=1e-9 * plain.error())
    np.testing.assert_allclose(projected.effective, workload.dense(), atol=1e-8)
    assert projected.error() < plain.error()


def test_projecting_twice_changes_nothing_and_files_bring_it_back(tmp_path):
    once = made("projected_laplace", (3, 3), 2)
    np.testing.assert_allclose(project(once).covariance(), once.covariance(), atol=1e-9)
    assert load(once.save(tmp_path / "spec.json")) == once


def test_projection_of_a_hull_is_the_hull():
    hull = made("k_norm", (2, 3), 2)
    assert project(hull).error() == pytest.approx(hull.error(), rel=1e-9)


# Strategies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "adjacency", "least"), [((2, 5), 2, 64.0), ((2, 2, 2), 3, 128.0)])
def test_strategies_leave_the_saddle_of_the_projected_cells(shape, adjacency, least):
    """Two rows: each cell is minus the other of its column, measured once, 2 x 2^2 x 4 free directions x 2.
    2 x 2 x 2: found by the search."""
    problem = table(shape, adjacency)
    found = optimise_workload(problem.workload.dense(), classes(problem).changes(100_000), iterations=60, keep=1)
    assert found.value == pytest.approx(least, rel=1e-3)
    assert found.lower_bound <= found.value < 0.51 * made("projected_laplace", shape, adjacency).error()


def test_auto_weighs_projected_noise_under_invariants_only():
    under = design(table((3, 3), 3), seconds=1e-3).mechanism.provenance["tried"]
    alone = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0))).mechanism.provenance["tried"]
    assert "projected_laplace" in under and "projected_laplace" not in alone
    assert not any(name.startswith("group_") for name in under)


def test_too_many_changes_for_a_search_leave_the_best_start(monkeypatch):
    from solvers.programs import strategy_search
    from solvers.programs.changes import Changes

    monkeypatch.setattr(strategy_search, "EFFORT", 99)
    changes = Changes.units(np.ones(10))
    found = strategy_search.optimise_strategy(
        np.eye(changes.size), changes, {"identity": np.eye(changes.size)}, lower_bound=0.0
    )
    assert found.iterations == 0 and found.value == pytest.approx(2 * changes.size)


# Subspace differential privacy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("notion", "factors"), [("pure", (2, 3)), ("zcdp", (2**0.5, 3**0.5))])
def test_subspace_privacy_spends_more_than_it_says(notion, factors):
    """Its certificate under Semi-DP fails by ||u|| / Delta(S_DP): 4 / 2 and 6 / 2 in l1,
    2 / sqrt 2 and sqrt 6 / sqrt 2 in l2."""
    for adjacency, factor in zip((2, 3), factors, strict=True):
        mechanism = subspace_mechanism(table((3, 3), adjacency, 0.5, notion))
        assert float(budget_under(mechanism, adjacency, 0.5)) == pytest.approx(factor, rel=1e-8)
        assert mechanism.privacy.holds and mechanism.relation.epsilon == pytest.approx(0.5 * factor, rel=1e-8)
        assert "0.5 " not in mechanism.guarantee.relation


def test_subspace_privacy_at_its_true_budget_is_projected_noise():
    mechanism = subspace_mechanism(table((3, 4), 2))
    honest = design(replace(table((3, 4), 2), relation=mechanism.relation), "projected_laplace")
    assert mechanism.error() == pytest.approx(honest.error, rel=1e-8)


def test_subspace_privacy_needs_one_budget_under_an_invariant():
    with pytest.raises(DesignFailed, match="subspace"):
        subspace_mechanism(Problem(Workload.identity(3), metrics.uniform(3, 1.0)))


# Hulls --------------------------------------------------------------------------------------------------------------


def gauge_by_program(corners: np.ndarray, point: np.ndarray) -> float:
    """`min sum t` subject to `sum t_m (+-u_m) = z`, t >= 0: the gauge of a hull from its vertices."""
    signed = np.concatenate([corners, -corners]).T
    solved = linprog(np.ones(signed.shape[1]), A_eq=signed, b_eq=point, bounds=(0, None))
    assert solved.status == 0
    return float(solved.fun)


@pytest.mark.parametrize(
    ("shape", "adjacency"),
    [((2, 4), 3), ((3, 3), 2), ((3, 3), 3), ((3, 4), 2), ((3, 4), 3), pytest.param((4, 4), 2, marks=pytest.mark.heavy)],
)
def test_hull_facets_against_the_gauge_of_all_changes(shape, adjacency):
    mechanism = made("k_norm", shape, adjacency)
    points = SensitivitySet.of(mechanism.grid.values(mechanism.integers), mechanism.relation).all_pairs().differences
    heard = ~mechanism.norm.silent
    random = np.random.default_rng(1)
    for _ in range(15):
        direction = np.zeros(len(heard))
        direction[heard] = random.normal(size=int(heard.sum()))
        assert mechanism.norm(direction) == pytest.approx(gauge_by_program(points[:, heard], direction[heard]), rel=1e-7)
    lengths = mechanism.norm(points)
    assert lengths.max() <= 1 and lengths.min() > 1 - 1e-9


def test_three_by_three_tables_with_hexagons_have_a_cube_cut_by_the_margins():
    """The hull of A_3 is `{z : margins 0, |z_ij| <= 1}` (derivation in docs/theory/invariants.md): gauge = largest entry."""
    mechanism = made("k_norm", (3, 3), 3)
    random = np.random.default_rng(2)
    centring = np.eye(3) - 1 / 3
    for _ in range(50):
        z = centring @ random.normal(size=(3, 3)) @ centring
        measured = np.where(mechanism.norm.silent, 0.0, measured_matrix(mechanism) @ z.ravel())
        assert mechanism.norm(measured) == pytest.approx(np.abs(z).max(), rel=1e-9)


# Exact errors against draws -----------------------------------------------------------------------------------------


def check_error(mechanism: AdditiveMechanism, draws: int, seed: int) -> None:
    """Mean squared length of simulated noise within `z` standard errors,
    z so that a normal exceeds it with probability FAILURE."""
    from scipy.stats import norm

    squared = (np.asarray(mechanism.simulate(draws, seed)) ** 2).sum(axis=1)
    deviation = abs(squared.mean() - mechanism.error()) / (squared.std() / math.sqrt(draws))
    assert deviation < norm.isf(FAILURE / 2)


def error_by_delaunay(changes: np.ndarray) -> float:
    """`(s + 1)(s + 2) E|U|^2`, U uniform on the hull of all changes in orthonormal coordinates of their span, split by Qhull's
    Delaunay triangulation: a simplex of corners c has `E|U|^2 = (|sum c|^2 + sum |c|^2) / ((s + 1)(s + 2))`."""
    from scipy.spatial import Delaunay

    vectors = changes @ np.linalg.svd(changes, full_matrices=False)[2][: np.linalg.matrix_rank(changes)].T
    corners = np.concatenate([vectors, -vectors])
    simplices = corners[Delaunay(corners).simplices]
    volumes = np.abs(np.linalg.det(simplices[:, 1:] - simplices[:, :1]))
    moments = (simplices.sum(axis=1) ** 2).sum(axis=1) + (simplices**2).sum(axis=(1, 2))
    return float(volumes @ moments / volumes.sum())


@pytest.mark.parametrize(("shape", "adjacency"), [((2, 4), 2), ((3, 3), 2), ((3, 3), 3), ((3, 4), 2), ((3, 4), 3)])
def test_exact_errors_of_small_hulls_against_another_triangulation_and_draws(shape, adjacency):
    mechanism = made("k_norm", shape, adjacency)
    assert mechanism.error() == pytest.approx(error_by_delaunay(mechanism.relation.changes), rel=1e-9)
    check_error(mechanism, 4000, 3)


@pytest.mark.heavy
@pytest.mark.parametrize(("shape", "adjacency"), [((3, 5), 2), ((3, 5), 3), ((4, 4), 2)])
def test_exact_errors_of_large_hulls_against_another_triangulation_and_draws(shape, adjacency):
    mechanism = made("k_norm", shape, adjacency)
    assert mechanism.error() == pytest.approx(error_by_delaunay(mechanism.relation.changes), rel=1e-9)
    check_error(mechanism, 2000, 4)


@pytest.mark.parametrize(
    "family", ["group_laplace", "group_l2_ball", "group_box", "group_gaussian", "projected_laplace", "isotropic_gaussian"]
)
def test_exact_errors_of_baselines_against_draws(family):
    check_error(made(family, (3, 3), 3), 4000, 5)


# Likelihood ratios ----------------------------------------------------------------------------------------------------


def test_two_databases_a_hexagon_apart_break_the_mechanism_for_basic_moves():
    """Three records move in a cycle; the log-likelihood ratio of the two output distributions at the most telling output is
    `||u||`: above epsilon for the hull of basic moves, at epsilon for the one with hexagons."""
    before = np.array([[2, 1, 1], [1, 2, 1], [1, 1, 2]])
    after = before + np.array([[-1, 1, 0], [0, -1, 1], [1, 0, -1]])
    invariant = invariants.margins((3, 3))
    np.testing.assert_array_equal(invariant.answers(before.ravel()), invariant.answers(after.ravel()))
    for adjacency, ratio in ((2, 2.0), (3, 1.0)):
        mechanism = made("k_norm", (3, 3), adjacency)
        one, other = (mechanism.integers @ x.ravel() for x in (before, after))
        steps = [mechanism.grid.step(k) for k in range(len(one))]
        shift = [int(a - b) * step for a, b, step in zip(one, other, steps, strict=True)]
        # At the output equal to `one` the densities are exp(-||0||) and exp(-||one - other||).
        assert float(mechanism.norm.exact(shift)) == pytest.approx(ratio, rel=1e-9)
        assert (mechanism.norm.exact(shift) <= 1) == (adjacency == 3)


def test_radius_of_shape_s_has_an_unbounded_density_at_the_true_answer():
    """z = r v, v uniform on the body, r from Gamma(shape): density at ||z|| = t proportional to the integral of
    `r^(shape - 1 - s) e^-r` over r > t. It is exp(-t) for shape s + 1; for shape s it is the exponential integral E_1(t), whose
    ratio over a shift of 1 has no limit."""
    from scipy.special import exp1

    near = np.array([1e-1, 1e-3, 1e-6, 1e-12])
    ratios = exp1(near) / exp1(1 + near)
    assert (np.diff(ratios) > 0).all() and ratios[0] > math.e and ratios[-1] > 40 * math.e
    assert isinstance(made("k_norm", (2, 2), 3).norm, Gauge)
    # 2 x 2, epsilon 1: z = t (1, -1, -1, 1), t double exponential: E|z|_2 = 2 E|t| = 2, with shape s it would be s / (s + 1)
    # of that.
    draws = np.linalg.norm(np.asarray(made("k_norm", (2, 2), 3).simulate(20_000, 6)), axis=1)
    assert abs(draws.mean() - 2) < 4.9 * 2 / math.sqrt(20_000)
