"""Answers and noise chosen together for n records: the convex program of Gaussian noise, K-norm noise in the hull of what is
answered, and the limit of pure noise, against closed forms, other solvers and numbers computed elsewhere."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, load, metrics, programs
from designer.designing.family import BEHIND
from designer.designing.joint_norms import JointQuestion
from examples.dx_setting import universe
from solvers.programs.joint_ellipsoid import PairsOfPoints, bound_of, fit_in_ellipsoid, squared_lengths


def synthetic(queries: int, records: float, notion: str = "pure") -> Problem:
    """The first universe of the dX paper with queries of seed 1."""
    workload = Workload(np.random.default_rng(1).random((queries, 50)))
    return Problem(workload, metrics.euclidean(universe(0)), notion=notion, records=records)


def small(seed: int, notion: str = "zcdp", records: float = 3.0) -> Problem:
    rng = np.random.default_rng(seed)
    places = metrics.euclidean(rng.random((6, 2)), per_unit=2.0)
    return Problem(Workload(rng.random((2, 6))), places, notion=notion, records=records, weights=[1.0, 2.5])


def by_another_solver(problem: Problem, lengths: np.ndarray) -> float:
    """The program by its definition in CVXPY, every pair written out, by SCS."""
    q, v, n = problem.workload.dense(), problem.costs, problem.records
    rows, noise = cp.Variable(q.shape), cp.Variable((len(q), len(q)), PSD=True)
    bias = cp.max(v @ cp.square(rows - q))
    near = []
    for i in range(q.shape[1]):
        for j in range(i):
            move = cp.reshape(rows[:, i] - rows[:, j], (len(q), 1), order="F")
            near.append(cp.bmat([[noise, move], [move.T, np.array([[lengths[i, j] ** 2]])]]) >> 0)
    asked = cp.Problem(cp.Minimize(n**2 * bias + v @ cp.diag(noise)), near)
    return float(asked.solve(solver=cp.SCS, eps=1e-8, max_iters=200_000))


@pytest.mark.parametrize(("n", "d", "kappa"), [(3.0, 0.7, 1.0), (5.0, 0.3, 4.0), (0.5, 2.0, 2.0)])
def test_two_points_have_a_closed_form(n: float, d: float, kappa: float) -> None:
    pairs = PairsOfPoints(np.array([0]), np.array([1]), np.array([n * d * kappa**-0.5]))
    found = fit_in_ellipsoid(np.array([[0.0, n]]), pairs, 1e-8)
    exact = kappa * n**2 / (n**2 * d**2 + 4 * kappa)
    assert found.value == pytest.approx(exact, rel=1e-6) and found.lower_bound == pytest.approx(exact, rel=1e-6)
    assert kappa != 1.0 or exact == pytest.approx(1.070155, abs=5e-7)


@pytest.mark.parametrize(("records", "least"), [(3, 0.500675), (1, 0.141047), (10, 0.731289), (100, 0.767249)])
def test_joint_gaussian_noise_is_the_optimum_and_the_default(records: int, least: float) -> None:
    problem = synthetic(3, records, "zcdp")
    made = design(problem, "gaussian_joint")
    assert made.loss == pytest.approx(least, rel=5e-6) and made.optimality.gap < 1e-5
    assert made.privacy.holds and made.is_biased and made.efficiency is None


@pytest.mark.parametrize("seed", range(5))
def test_joint_gaussian_noise_against_another_solver(seed: int) -> None:
    problem = small(seed)
    made, exact = design(problem, "gaussian_joint"), by_another_solver(problem, problem.relation.distances())
    assert made.loss == pytest.approx(exact, rel=1e-5)
    assert made.loss < design(problem, "gaussian").loss


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_the_limit_of_pure_noise_against_another_solver(seed: int) -> None:
    problem = small(seed, "pure")
    made = design(problem, "k_norm_joint")
    exact = by_another_solver(problem, np.sqrt(2) * np.sinh(problem.relation.distances() / 2))
    assert made.optimality.lower_bound == pytest.approx(exact, rel=1e-4)
    for other in ("laplace_joint", "k_norm", "ellipsoid"):
        loss = design(problem, other).loss
        assert loss >= exact * (1 - 1e-5) and (other == "laplace_joint" or made.loss <= loss)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_the_program_in_cvxpy_agrees_and_takes_other_solvers(seed: int) -> None:
    problem = small(seed)
    made = design(problem, "gaussian_joint")
    stated = programs.gaussian_joint(problem).design()
    assert stated.loss == pytest.approx(made.loss, rel=1e-5) and stated.optimality.gap < 1e-5
    assert design(problem, "gaussian_joint", solver="SCS").loss == pytest.approx(made.loss, rel=1e-2)
    assert programs.gaussian_joint(problem).cvxpy_problem().solve() == pytest.approx(made.loss, rel=1e-5)
    assert made.program.value == pytest.approx(made.loss, rel=1e-6)


@pytest.mark.nightly
def test_a_cap_on_a_variance_is_kept_by_the_frozen_noise() -> None:
    problem = small(0)
    most = 0.7 * float(design(problem, "gaussian_joint").mechanism.query_variances()[0])
    made = programs.gaussian_joint(problem).variance_at_most(0, most).design()
    assert made.mechanism.query_variances()[0] <= most and made.loss > design(problem, "gaussian_joint").loss


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_from_anywhere_prove_no_more_than_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = JointQuestion(small(seed), "gaussian_joint")
    least = fit_in_ellipsoid(asked.targets, asked.pairs, 1e-6).value
    for _ in range(200):
        forces, prices = rng.normal(size=(2, len(asked.pairs.budgets))), rng.exponential(size=len(asked.pairs.budgets)) ** 3
        forces *= rng.random(len(prices)) < 0.3
        assert bound_of(asked.targets, asked.pairs, forces, prices) <= least
        z, w, two = rng.exponential(), rng.exponential(), PairsOfPoints(np.array([0]), np.array([1]), np.array([2.1]))
        one = bound_of(np.array([[3.0, 0.0]]), two, np.array([[z]]), np.array([w]))
        assert one == pytest.approx(9 / (2.1**2 + 4), rel=1e-12)  # whatever they are, of one pair


def test_the_program_is_jointly_convex() -> None:
    """Between two feasible points the mean is feasible, and its loss no larger than theirs on average."""
    rng, asked = np.random.default_rng(0), JointQuestion(small(1), "gaussian_joint")
    for _ in range(50):
        points = []
        for _ in range(2):
            rows, root = rng.normal(size=asked.targets.shape), rng.normal(size=(2, 2))
            noise = root @ root.T + 0.1 * np.eye(2)
            points.append((rows, noise * squared_lengths(asked.pairs.moves(rows), noise).max()))
        rows, noise = (sum(parts) / 2 for parts in zip(*points, strict=True))
        assert squared_lengths(asked.pairs.moves(rows), noise).max() <= 1 + 1e-9


# queries, records, the loss that a longer search found, the limit
TABLE = [
    (2, 10, 1.2142, 1.0963),
    (3, 10, 1.4467, 1.2401),
    (2, 3, 0.67722, 0.63437),
    (3, 1, 0.17190, 0.14962),
    (3, 3, 0.76970, 0.69124),
    (3, 100, 1.5920, 1.3479),
    (5, 1, 0.27372, 0.21991),
    (5, 3, 1.2568, 1.0448),
    (5, 10, 2.4085, 1.9088),
    (5, 100, 2.6658, 2.0810),
]


MISSED = pytest.mark.xfail(strict=True, reason="0.78052 where 0.76970 is known: 1.4 % above it")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("queries", "records", "known"),
    [pytest.param(*row[:3], marks=[MISSED] if row[:2] == (3, 3) else []) for row in TABLE],
)
def test_joint_k_norm_noise_is_within_a_hundredth_of_a_longer_search(queries: int, records: float, known: float) -> None:
    assert design(synthetic(queries, records), "k_norm_joint").loss <= 1.01 * known


@pytest.mark.parametrize(("queries", "records", "known", "limit"), TABLE)
def test_joint_k_norm_noise_lies_between_its_limit_and_unbiased_noise(
    queries: int, records: float, known: float, limit: float
) -> None:
    problem = synthetic(queries, records)
    made = design(problem, "k_norm_joint")
    assert limit * (1 - 2e-4) < made.optimality.lower_bound < limit * (1 + 2e-4) < made.loss <= 1.02 * known
    assert made.loss <= design(problem, "k_norm").loss and made.privacy.holds
    assert (
        made.optimality.value
        == made.loss
        == pytest.approx(problem.worst_loss(made.mechanism.query_variances(), None, made.mechanism.effective))
    )


@pytest.mark.nightly
@pytest.mark.parametrize("notion", ["zcdp", "pure"])
@pytest.mark.parametrize("records", [3.0, 1e4])
def test_the_default_takes_it_and_never_bias_that_loses_more_than_unbiased_noise(records: float, notion: str) -> None:
    problem = small(1, notion, records)
    joint, plain = ("gaussian_joint", "gaussian") if notion == "zcdp" else ("k_norm_joint", "k_norm")
    made = design(problem)
    assert made.loss <= design(problem, plain).loss * (1 + 1e-9)
    assert made.loss <= design(problem, joint).loss * (1 + BEHIND)  # what a family must gain to be certified beside another
    assert notion == "pure" or records > 1e3 or made.mechanism.family == joint


@pytest.mark.parametrize("family", ["gaussian_joint", "k_norm_joint"])
def test_files_and_the_pairs_by_themselves(family: str, tmp_path) -> None:
    """Every pair in the norm of the file, and the answered rows as pre-processing."""
    problem = small(2, "zcdp" if family == "gaussian_joint" else "pure")
    made = design(problem, family).mechanism
    made.save(tmp_path / "spec.json")
    again = load(tmp_path / "spec.json")
    rows = again.effective
    assert np.array_equal(rows, made.effective) and np.abs(rows - problem.workload.dense()).max() > 1e-3
    assert np.array_equal(again.preprocessing[0], rows) and again.biased
    measured = again.measured if again.measured is not None else rows
    for i in range(6):
        for j in range(i):
            assert again.norm((measured[:, i] - measured[:, j])[None])[0] <= problem.relation.distances()[i, j] * (1 + 1e-9)


def test_absence_and_elements_at_distance_0_and_constants() -> None:
    """A record that appears is a change from 0; two elements at distance 0 get one answer; one component keeps its constant."""
    asked = Workload(np.array([[0.0, 1.0, 2.0, 2.0], [1.0, 0.5, 0.0, 0.0]]))
    apart = metrics.from_matrix(np.array([[0, 1, 2, 2], [1, 0, 1, 1], [2, 1, 0, 0], [2, 1, 0, 0.0]]))
    for relation in (apart, metrics.add_remove(4, 1.0), metrics.appear_or_change(metrics.uniform(4, 0.5), 1.0)):
        for notion, family, plain in (("zcdp", "gaussian_joint", "gaussian"), ("pure", "k_norm_joint", "k_norm")):
            problem = Problem(asked, relation, notion=notion, records=1.0)
            made = design(problem, family)
            assert made.loss < design(problem, plain).loss and made.privacy.holds
            assert made.mechanism.effective[:, 2] == pytest.approx(made.mechanism.effective[:, 3], abs=1e-5)


@pytest.mark.parametrize("family", ["gaussian_joint", "k_norm_joint"])
def test_what_is_not_designed_is_refused_with_a_remedy(family: str) -> None:
    notion = "zcdp" if family == "gaussian_joint" else "pure"
    plain = Problem(Workload.identity(4), metrics.uniform(4, 1.0), notion=notion)
    with pytest.raises(DesignFailed, match=r"give problem\.records"):
        design(plain, family)
    with pytest.raises(DesignFailed, match="'squared' only"):
        design(Problem(plain.workload, plain.relation, notion=notion, records=3.0, loss="max"), family)
    with pytest.raises(DesignFailed, match="merge elements"):
        design(Problem(plain.workload, plain.relation, notion=notion, records=3.0), family, most=15)
