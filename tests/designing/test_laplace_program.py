"""The program of Laplace scales in CVXPY: against the family's own solver, brute force over all pairs, and closed forms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, invariants, metrics, programs
from designer.mechanism.additive import AdditiveMechanism
from designer.programs.laplace_program import LaplaceProgram
from designer.relations.metrics.presence import AddRemove

LOSSES = ("squared", "absolute", "max")


def random_problem(seed: int, **given: Any) -> Problem:
    """Up to 6 queries and 16 elements, relations of five kinds, unequal weights."""
    generator = np.random.default_rng(seed)
    queries, elements = int(generator.integers(1, 7)), int(generator.integers(2, 17))
    relation = (
        lambda: metrics.euclidean(generator.random((elements, 2)) * 10),
        lambda: metrics.add_remove(elements, generator.random(elements) + 0.1),
        lambda: metrics.uniform(elements, float(generator.random() + 0.1)),
        lambda: metrics.line(np.cumsum(generator.random(elements) + 0.1), 1.0, 0.5),
        lambda: metrics.from_matrix(uneven(generator, elements), closure=True),
    )[seed % 5]()
    options: Any = {"loss": LOSSES[seed % 3], "weights": generator.random(queries) + 0.5, **given}
    return Problem(Workload.random(queries, elements, ("real", "binary")[seed % 2], seed), relation, **options)


def uneven(generator: np.random.Generator, size: int) -> np.ndarray:
    """A symmetric matrix of budgets, about a third of them infinite."""
    upper = np.triu(np.where(generator.random((size, size)) < 0.3, np.inf, generator.random((size, size)) + 0.1), 1)
    upper[0, 1] = 1.0  # at least one protected change
    return np.maximum(upper, upper.T)


def exact_worst_ratio(mechanism: AdditiveMechanism) -> Fraction:
    """Brute force over all pairs of elements (and absence) in rationals, from the frozen integers, steps and weights alone."""
    steps, weights = [Fraction(2) ** e for e in mechanism.grid.exponents], mechanism.norm.map
    points = [list(map(int, point)) for point in mechanism.relation.points(mechanism.integers.T)]
    worst = Fraction(0)
    for i in range(len(points)):
        for j in range(i):
            budget = mechanism.relation.exact_budget(j, i)
            moved = [(abs(a - b) * s, w) for a, b, s, w in zip(points[i], points[j], steps, weights, strict=True) if a != b]
            if budget is not None and moved and not (isinstance(mechanism.relation, AddRemove) and i < 16):
                worst = max(worst, sum(u * Fraction(float(w)) for u, w in moved) / budget)
    return worst


def moved(problem: Problem) -> bool:
    return not problem.sensitivity().silent_coordinates().all()


PROBLEMS = [seed for seed in range(60) if moved(random_problem(seed))][:50]


@pytest.mark.parametrize("seed", PROBLEMS)
def test_the_program_agrees_with_the_solver_of_the_family_and_proves_its_bound(seed: int) -> None:
    problem = random_problem(seed)
    ours, made = design(problem, "laplace"), programs.laplace(problem).design()
    assert made.privacy.holds and made.mechanism.family == "laplace"
    assert made.loss == pytest.approx(ours.loss, rel=1e-6)
    assert made.optimality is not None and made.optimality.gap < 1e-6
    # Each bound is below the other's value: the two solvers share no line of code.
    assert made.optimality.lower_bound <= ours.loss * (1 + 1e-9)
    assert ours.optimality is not None and ours.optimality.lower_bound <= made.loss * (1 + 1e-9)


@pytest.mark.parametrize("seed", [seed for seed in PROBLEMS if seed % 5 in (0, 2, 3)][:8])
def test_no_pair_exceeds_its_budget_in_exact_arithmetic_whatever_the_solver(seed: int) -> None:
    problem = random_problem(seed)
    assert 1 - 1e-6 < exact_worst_ratio(programs.laplace(problem).design().mechanism) <= 1
    assert exact_worst_ratio(programs.laplace(problem).design(solver="SCS", eps=1e-3).mechanism) <= 1


def test_a_relation_of_many_pairs_is_separated_in_several_rounds_until_every_pair_holds() -> None:
    """N = 400, 79,800 pairs: the working set stays small, the answer is that of the family, no pair was left out."""
    generator = np.random.default_rng(5)
    problem = Problem(
        Workload(generator.standard_normal((6, 400)) ** 3), metrics.euclidean(generator.random((400, 2)) * 10), loss="squared"
    )
    program = programs.laplace(problem)
    program.working.rows = program.working.rows[program.working.rows.argmax(axis=0)]  # begin with the worst pair of each query
    solved = program.solve()
    assert solved.rounds > 1 and solved.pairs < 2000
    rows = np.abs(problem.sensitivity().all_pairs().normalised)
    assert (rows @ program.w.value).max() <= 1 + 1e-7
    assert solved.value == pytest.approx(design(problem, "laplace").loss, rel=1e-6)
    assert solved.gap is not None and solved.gap < 1e-6


@pytest.mark.parametrize("loss", LOSSES[:2])
def test_units_that_differ_by_twelve_orders_change_nothing(loss: str) -> None:
    base = random_problem(0, weights=None).workload
    rows = np.random.default_rng(1).random((4, base.shape[1]))
    scaled = rows * np.array([1.0, 1e6, 1e-6, 1.0])[:, None]
    problem = Problem(Workload(scaled), random_problem(0).relation, loss=loss)  # type: ignore[arg-type]
    made = programs.laplace(problem).design()
    assert made.loss == pytest.approx(design(problem, "laplace").loss, rel=1e-6)
    assert made.optimality is not None and made.optimality.gap < 1e-6


def test_queries_that_no_change_moves_are_published_exactly_and_have_variance_zero() -> None:
    names = ["all", "one", "two"]
    problem = Problem(Workload([[1, 1, 1], [1, 0, 0], [0, 2, 0]], queries=names), metrics.uniform(3, 1.0))
    program = programs.laplace(problem)
    made = program.design()
    assert made.mechanism.query_variances()[0] == 0 and program.variances.value[0] == 0
    assert made.loss == pytest.approx(design(problem, "laplace").loss, rel=1e-6)
    with pytest.raises(InvalidProblem, match="'all' is moved by no protected change"):
        program.equal_scales(["all", "one"])
    with pytest.raises(DesignFailed, match="no protected change moves an answer"):
        programs.laplace(Problem(Workload([[1, 1, 1]]), metrics.uniform(3, 1.0), allow_vacuous=True))


def test_the_program_under_an_invariant_is_that_of_the_family() -> None:
    """Records change places within two published parts."""
    held = invariants.partition([0, 0, 0, 1, 1])
    problem = Problem(Workload.prefix(5), held.protect(epsilon=1.0))
    made = programs.laplace(problem).design()
    assert made.privacy.holds and made.loss == pytest.approx(design(problem, "laplace").loss, rel=1e-6)


def test_the_values_of_the_program_after_a_design_are_those_of_the_frozen_noise() -> None:
    problem = random_problem(0)
    program = programs.laplace(problem)
    mechanism = program.design().mechanism
    assert program.variances.value == pytest.approx(mechanism.query_variances(), rel=1e-12)
    assert program.standard_errors.value == pytest.approx(np.sqrt(mechanism.query_variances()), rel=1e-12)
    assert program.loss.value == pytest.approx(problem.loss_of(mechanism.query_variances()), rel=1e-12)


def test_the_record_says_what_the_solver_answered_and_what_became_of_it() -> None:
    problem = random_problem(0)
    program = programs.laplace(problem).subject_to([], name="none")
    made = program.design(solver="SCS", eps=1e-3)
    said = made.mechanism.provenance
    assert said["solver"] == "SCS" and said["options"] == {"eps": 1e-3} and list(said["constraints"]) == []
    assert said["raw_violation"] >= 0 and said["repaired_loss"] == made.loss and made.privacy.holds
    rough = programs.laplace(problem).solve(solver="SCS", eps=1e-3)
    assert rough.raw_violation > 1e-9 and rough.solver == "SCS"


def test_a_program_of_another_notion_and_things_that_are_no_problem_are_refused() -> None:
    with pytest.raises(DesignFailed, match="'laplace' is pure, the problem asks for 'zcdp'; choose another program"):
        programs.laplace(Problem(Workload.identity(3), metrics.uniform(3, 1.0), notion="zcdp"))
    with pytest.raises(DesignFailed, match=r"the problem asks for 'approximate'; no program states it: use design\(problem\)"):
        programs.laplace(Problem(Workload.identity(3), metrics.uniform(3, 1.0), notion="approximate", delta=1e-6))
    with pytest.raises(InvalidProblem, match="'queries' is not a Problem"):
        programs.laplace("queries")  # type: ignore[arg-type]


def test_a_budget_of_zero_that_binds_is_refused_as_everywhere() -> None:
    relation = metrics.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(DesignFailed, match="elements 0 and 1 have budget 0"):
        LaplaceProgram(Problem(Workload.identity(3), relation))
