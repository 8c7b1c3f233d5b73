"""Whole programs: every pair written out, solved with CVXPY alone, against `solve` with its working set."""

from __future__ import annotations

import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, metrics, programs
from designer.families.convex.program import Program
from tests.families.averages.test_statistical_program import apart
from tests.tables.policies.test_records_program import KINDS, case


def random_problem(seed: int, notion: str = "pure", loss: str = "squared", queries: int = 3) -> Problem:
    """Places in the plane, real answers and whole ones in turns."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(4, 12))
    matrix = draw.normal(size=(queries, size)) if seed % 2 else draw.integers(-3, 4, (queries, size)).astype(float)
    relation = metrics.euclidean(draw.random((size, 2)), per_unit=float(draw.uniform(0.5, 4)))
    return Problem(Workload(matrix), relation, notion=notion, loss=loss, records=20)


def value_alone(program: Program) -> float:
    return float(program.cvxpy_problem().solve(solver="CLARABEL"))


LOSSES = ("squared", "absolute", "max")
CASES = [
    *(("laplace", seed, loss, "pure") for seed in range(12) for loss in LOSSES),
    *(("ellipsoid", seed, loss, "pure") for seed in range(7) for loss in LOSSES),
    *(("gaussian", seed, loss, "zcdp") for seed in range(7) for loss in LOSSES),
    *(("laplace_joint", seed, loss, "pure") for seed in range(6) for loss in LOSSES),
    *(("strategy", seed, "squared", "pure") for seed in range(6)),
]


@pytest.mark.parametrize(("name", "seed", "loss", "notion"), CASES)
def test_cvxpy_alone_finds_the_value_of_the_whole_program(name: str, seed: int, loss: str, notion: str) -> None:
    problem = random_problem(seed, notion, loss, queries=1 if name == "laplace_joint" else 3)
    ours = getattr(programs, name)(problem)
    value = ours.solve().value
    fresh = getattr(programs, name)(problem, ours.rows) if name == "strategy" else getattr(programs, name)(problem)
    if name == "strategy":  # convex for the reconstruction of now
        fresh.solve()
    assert value_alone(fresh) == pytest.approx(value, rel=1e-5)


def test_every_pair_is_stated_and_the_values_are_those_of_its_variables() -> None:
    """As many pairs as have a difference, and the answer keeps all of them."""
    problem = random_problem(1)
    program = programs.laplace(problem)
    assert len(program.working) < (pairs := len(problem.sensitivity().all_pairs().budgets))
    stated = program.cvxpy_problem()
    assert stated.is_dcp() and len(program.working) == pairs
    stated.solve(solver="CLARABEL")
    assert float(program.loss.value) == pytest.approx(stated.value, rel=1e-6)
    assert np.abs(problem.sensitivity().all_pairs().normalised) @ program.w.value == pytest.approx(
        np.minimum(np.abs(problem.sensitivity().all_pairs().normalised) @ program.w.value, 1 + 1e-6)
    )


def test_constraints_of_ones_own_are_part_of_the_whole() -> None:
    problem = random_problem(3)
    free = value_alone(programs.laplace(problem))
    capped = programs.laplace(problem)
    capped.subject_to(capped.variances[0] <= 0.5 * design(problem, "laplace").mechanism.query_variances()[0])
    assert value_alone(capped) == pytest.approx(capped.solve().value, rel=1e-5) and capped.loss.value > 1.01 * free


def test_queries_and_scales_have_the_names_of_the_paper() -> None:
    """(Q', c) of program (6); elements that no budget tells apart have one column, although nothing else says so."""
    relation = metrics.from_matrix([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    program = programs.laplace_joint(Problem(Workload([[1.0, 1.0, 4.0]]), relation, records=3))
    program.cvxpy_problem().solve(solver="CLARABEL")
    Q, c = program.Q.value, program.c.value
    assert Q[0, 0] == pytest.approx(Q[0, 1], abs=1e-7) and abs(Q[0, 2] - Q[0, 0]) <= c[0] + 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_programs_that_are_not_convex_state_the_part_that_is(seed: int) -> None:
    """laplace_joint: the restriction at its answer ends where it began. preprocessing: the chord of a concave price is below
    it."""
    several = programs.laplace_joint(random_problem(seed, queries=2))
    value = several.solve().value
    assert value_alone(programs.laplace_joint(random_problem(seed, queries=2))) == pytest.approx(value, rel=1e-4)
    prepared = programs.preprocessing(random_problem(seed, queries=2))
    found = prepared.solve().value
    assert value_alone(programs.preprocessing(random_problem(seed, queries=2))) <= found * (1 + 1e-7)


@pytest.mark.parametrize("n", [1.0, 30.0])
def test_averages_of_rows_are_stated_whole(n: float) -> None:
    """Program (14), in which every group of attributes decides one average."""
    value = programs.statistical(apart(0), n).solve().value
    assert value_alone(programs.statistical(apart(0), n)) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_precisions_of_records_are_stated_whole(kind: dict[str, bool]) -> None:
    value = programs.records(**case(0, **kind)).solve().value
    assert value_alone(programs.records(**case(0, **kind))) == pytest.approx(value, rel=1e-4)


def test_a_program_of_too_many_pairs_is_refused_with_the_way_on() -> None:
    places = np.random.default_rng(0).random((4000, 2))
    program = programs.laplace(Problem(Workload.random(2, 4000, seed=0), metrics.euclidean(places, per_unit=1.0)))
    with pytest.raises(DesignFailed, match="more than 5000000 differences"):
        program.cvxpy_problem()
