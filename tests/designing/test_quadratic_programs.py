"""The programs of ellipsoids and Gaussian noise: against the family's own solver, brute force, closed forms, and caps."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, invariants, metrics, programs
from designer.mechanism.additive import AdditiveMechanism

NAMES = {"pure": "ellipsoid", "zcdp": "gaussian"}


def random_problem(seed: int, **given: Any) -> Problem:
    """Up to 5 queries over up to 8 elements, also more queries than elements; three relations, unequal weights."""
    generator = np.random.default_rng(seed)
    queries, elements = int(generator.integers(2, 6)), int(generator.integers(3, 9))
    relation = (
        lambda: metrics.euclidean(generator.random((elements, 2)), per_unit=3.0),
        lambda: metrics.add_remove(elements, generator.random(elements) + 0.2),
        lambda: metrics.line(np.cumsum(generator.random(elements) + 0.1), 1.0, 0.5),
    )[seed % 3]()
    options: Any = {
        "loss": ("squared", "max")[seed % 2],
        "notion": ("pure", "zcdp")[seed // 2 % 2],
        "weights": generator.random(queries) + 0.5,
    }
    return Problem(Workload.random(queries, elements, "real", seed), relation, **{**options, **given})


def program_of(problem: Problem) -> Any:
    return getattr(programs, NAMES[problem.notion])(problem)


def worst_ratio(mechanism: AdditiveMechanism) -> float:
    """Brute force over all pairs, from the frozen integers, steps and norm."""
    points = mechanism.relation.points(mechanism.grid.values(mechanism.integers).T)[:, ~mechanism.norm.silent]
    worst = 0.0
    for block in mechanism.relation.blocks():
        left, right = points[block.left], points[block.right]
        apart = left - right if block.paired else left[:, None] - right
        lengths = np.linalg.norm(apart @ mechanism.norm.factor.T, axis=-1)
        worst = max(worst, float((lengths[block.budgets > 0] / block.budgets[block.budgets > 0]).max(initial=0.0)))
    return worst


@pytest.mark.parametrize("seed", range(50))
def test_the_program_agrees_with_the_solver_of_the_family_within_the_certified_gaps(seed: int) -> None:
    problem = random_problem(seed)
    ours, made = design(problem, NAMES[problem.notion]), program_of(problem).design()
    assert made.privacy.holds and made.mechanism.family == NAMES[problem.notion]
    assert made.optimality is not None and made.optimality.gap < 1e-6
    assert ours.optimality is not None and made.loss == pytest.approx(ours.loss, rel=ours.optimality.gap + 1e-6)
    assert made.optimality.lower_bound <= ours.loss and ours.optimality.lower_bound <= made.loss
    assert 1 - 1e-5 < worst_ratio(made.mechanism) <= 1 + 1e-12


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_another_solver_is_repaired_and_certified_too(seed: int) -> None:
    made = program_of(random_problem(seed)).design(solver="SCS", eps=1e-5)
    assert made.privacy.holds and worst_ratio(made.mechanism) <= 1 + 1e-12
    assert made.optimality is not None and made.optimality.gap < 1e-2
    assert made.mechanism.provenance["solver"] == "SCS"


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_counts_that_come_or_go_by_hand(notion: Any) -> None:
    """u = e_i with budget 1: X = I, and variances are s + 1 in the ellipsoid, 1 for Gaussian noise."""
    problem = Problem(Workload.identity(3), metrics.add_remove(3, [1.0] * 3), notion)
    program = program_of(problem)
    made = program.design()
    variance = 4 if notion == "pure" else 1
    assert made.mechanism.query_variances() == pytest.approx([variance] * 3, rel=1e-6)
    assert program.X.value == pytest.approx(np.eye(3), abs=1e-6)


@pytest.mark.parametrize("seed", [0, 2, 5, 8])
def test_the_absolute_loss_is_minimised_itself_and_beats_the_squared_loss_in_its_place(seed: int) -> None:
    problem = random_problem(seed, loss="absolute")
    made = program_of(problem).design()
    stand_in = design(problem, NAMES[problem.notion])
    assert made.loss <= stand_in.loss * (1 + 1e-6)
    assert made.optimality is not None and made.optimality.gap < 1e-4
    assert made.optimality.value == pytest.approx(problem.costs @ made.mechanism.query_mean_absolutes())
    assert made.optimality.objective.startswith("sum_k v_k E|noise_k|")


@pytest.mark.parametrize("seed", [2, 4])
def test_the_absolute_loss_agrees_with_repeated_squared_losses_of_the_own_solver(seed: int) -> None:
    """`s <= (s^2 / t + t) / 2`: squared losses with weights v_k / s_k, again and again, fall to the least `sum v_k s_k`."""
    problem = random_problem(seed, loss="absolute", weights=None)
    deviations = np.ones(len(problem.costs))
    for _ in range(12):
        squared = Problem(problem.workload, problem.relation, problem.notion, weights=1 / deviations)
        deviations = np.sqrt(design(squared, NAMES[problem.notion]).mechanism.query_variances())
    program = program_of(problem)
    assert program.design().loss == pytest.approx(program.absolute_per_deviation * deviations.sum(), rel=1e-5)


@pytest.mark.parametrize("seed", [0, 3, 4, 8])
def test_caps_on_variances_and_standard_errors_hold_at_the_frozen_noise(seed: int) -> None:
    problem = random_problem(seed)
    free = design(problem, NAMES[problem.notion]).mechanism.query_variances()
    program = program_of(problem)
    program.variance_at_most(0, 0.99 * free[0], name="cap")
    made = program.subject_to(program.standard_errors[1] <= 1.5 * np.sqrt(free[1])).design()
    variances = made.mechanism.query_variances()
    assert variances[0] <= 0.99 * free[0] and variances[1] <= 2.25 * free[1] and made.privacy.holds
    assert made.optimality is not None and made.optimality.gap < 1e-4
    assert made.optimality.lower_bound <= by_brute_force(program, 0.99 * free[0]) * (1 + 1e-6)
    assert made.loss <= by_brute_force(program, 0.99 * free[0], 2.25 * free[1]) * (1 + 1e-4)


def by_brute_force(program: Any, cap: float, other: float = np.inf) -> float:
    """All pairs, every variance a Schur complement of its own, stated here."""
    rows, queries, order = program.moving.all_pairs().normalised, program.queries, program.order
    precision, variances = cp.Variable((order, order), symmetric=True), cp.Variable(len(queries))
    whole = [
        cp.bmat([[precision, q[:, None]], [q[None, :], cp.reshape(variances[k], (1, 1), order="F")]]) >> 0
        for k, q in enumerate(queries)
    ]
    held = [cp.sum(cp.multiply(rows @ precision, rows), axis=1) <= 1, program.inflation * variances[0] <= cap]
    if np.isfinite(other):
        held.append(program.inflation * variances[1] <= other)
    weighted = cp.multiply(program.inflation * program.question.costs, variances)
    loss = cp.sum(weighted) if program.question.loss == "squared" else cp.max(weighted)
    return float(cp.Problem(cp.Minimize(loss), [*whole, *held]).solve(solver="CLARABEL"))


def test_a_cap_below_what_the_query_needs_alone_is_refused_with_that_variance() -> None:
    """A query alone needs `(s + 1) max (u / b)^2`, here 4, whatever becomes of the others."""
    program = programs.ellipsoid(Problem(Workload.identity(3), metrics.add_remove(3, [1.0] * 3)))
    with pytest.raises(DesignFailed, match=r"variances\['q1'\] <= 3.0 cannot hold while every pair .* to at most 4\.001"):
        program.variance_at_most("q1", 3.0).design()


def test_a_semidefinite_constraint_on_x_is_held_and_keeps_a_bound() -> None:
    """Counts that come or go want X = I; `X <= I / 2` doubles every variance."""
    program = programs.gaussian(Problem(Workload.identity(3), metrics.add_remove(3, [1.0] * 3), "zcdp"))
    made = program.subject_to(np.eye(3) / 2 - program.X >> 0, name="wide").design()
    assert made.mechanism.query_variances() == pytest.approx([2.0] * 3, rel=1e-5)
    assert made.optimality is not None and made.optimality.gap < 1e-5
    with pytest.raises(DesignFailed, match=r"'narrow' .* cannot hold while every pair"):
        programs_of_narrow = programs.gaussian(program.question)
        programs_of_narrow.subject_to(programs_of_narrow.X - 2 * np.eye(3) >> 0, name="narrow").solve()


def test_another_objective_over_standard_errors() -> None:
    problem = random_problem(2)
    program = program_of(problem)
    made = program.minimise(cp.norm(program.standard_errors, 2)).design()
    squared = Problem(problem.workload, problem.relation, problem.notion)
    assert (program.standard_errors.value**2).sum() == pytest.approx(design(squared, NAMES[problem.notion]).loss, rel=1e-5)
    assert made.mechanism.query_variances() == pytest.approx(program.standard_errors.value**2, rel=1e-6)


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_units_that_differ_by_twelve_orders_change_nothing(notion: Any) -> None:
    rows = np.random.default_rng(1).random((4, 7)) * np.array([1.0, 1e6, 1e-6, 1.0])[:, None]
    relation = metrics.euclidean(np.random.default_rng(2).random((7, 2)), per_unit=2.0)
    problem = Problem(Workload(rows), relation, notion)
    made, ours = program_of(problem).design(), design(problem, NAMES[notion])
    assert made.loss == pytest.approx(ours.loss, rel=1e-6)
    assert made.optimality is not None and made.optimality.gap < 1e-6


def test_more_queries_than_elements_and_queries_that_depend_on_each_other() -> None:
    for workload in (Workload.all_ranges(4), Workload([[1, 0, 0], [0, 1, 0], [1, 1, 0]])):
        problem = Problem(workload, metrics.uniform(workload.shape[1], 1.0))
        assert programs.ellipsoid(problem).design().loss == pytest.approx(design(problem, "ellipsoid").loss, rel=1e-6)


def test_tables_with_published_margins() -> None:
    held = invariants.margins((2, 3))
    problem = Problem(Workload.identity(6), held.protect(epsilon=1.0), "zcdp")
    made = programs.gaussian(problem).design()
    assert made.privacy.holds and made.loss == pytest.approx(design(problem, "gaussian").loss, rel=1e-6)


def test_pairs_that_were_left_out_join_in_later_rounds() -> None:
    generator = np.random.default_rng(4)
    problem = Problem(Workload(generator.standard_normal((3, 150)) ** 3), metrics.euclidean(generator.random((150, 2))), "zcdp")
    program = programs.gaussian(problem)
    program.working.rows = program.working.rows[:3]
    solved = program.solve()
    rows = program.moving.all_pairs().normalised
    assert solved.rounds > 1 and np.einsum("mi,ij,mj->m", rows, program.X.value, rows).max() <= 1 + 1e-5
    assert solved.value == pytest.approx(design(problem, "gaussian").loss, rel=1e-6)


def test_sizes_that_semidefinite_solvers_do_not_finish_are_refused_before_they_start() -> None:
    with pytest.raises(DesignFailed, match=r"41 coordinates, more than the 40 .* use design"):
        programs.gaussian(Problem(Workload.identity(41), metrics.add_remove(41, [1.0] * 41), "zcdp"))
