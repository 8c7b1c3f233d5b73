"""Whole programs: every pair written out, solved with CVXPY alone, against `solve` with its working set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, Domain, InvalidProblem, Problem, Workload, design, invariants, metrics, programs
from designer.programs.program import Program
from tests.averages.test_statistical_program import apart
from tests.tables.policies.test_record_design import KINDS, case


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


MORE = [
    *(("box", seed, loss) for seed in range(5) for loss in LOSSES),
    *(("capped_l1", s, loss) for s in range(5) for loss in LOSSES),
]


@pytest.mark.parametrize(("name", "seed", "loss"), MORE)
def test_sides_of_boxes_are_stated_whole_and_are_those_of_the_design(name: str, seed: int, loss: str) -> None:
    """The box in closed form; corners cut at the cap of the design are never the worse for the program."""
    problem = random_problem(seed, "pure", loss)
    solved = getattr(programs, name)(problem).solve()
    assert value_alone(getattr(programs, name)(problem)) == pytest.approx(solved.value, rel=1e-5)
    assert solved.lower_bound is not None and solved.lower_bound == pytest.approx(solved.value, rel=1e-4)
    own, made = design(problem, name), design(problem, name, solver="CLARABEL")
    assert made.privacy.holds and made.loss <= own.loss * (1 + 1e-5)
    if name == "box":
        assert made.loss == pytest.approx(own.loss, rel=1e-5)


def test_a_cap_and_a_constraint_of_ones_own_hold_at_what_is_frozen() -> None:
    problem = random_problem(1)
    program = programs.capped_l1(problem, cap=1.5)
    free = program.solve().value
    made = program.subject_to(program.w[0] <= 0.9 * program.w.value[0]).design()
    assert made.mechanism.norm.cap == 1.5 and made.privacy.holds and made.loss > free  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(6))
def test_the_gauge_of_a_hull_is_a_linear_program_and_the_hull_its_dual(seed: int) -> None:
    problem = random_problem(seed)
    norm = design(problem, "k_norm").mechanism.norm
    vector = np.random.default_rng(seed).normal(size=3)
    program = programs.k_norm(problem, vector)
    dual = program.dual_problem()
    assert dual.solve(solver="HIGHS") == pytest.approx(float(norm(vector)), rel=1e-5)  # the frozen ball is smaller by rounding
    assert program.cvxpy_problem().solve(solver="HIGHS") == pytest.approx(dual.value, rel=1e-7)
    assert program.solve("HIGHS") == pytest.approx(dual.value, rel=1e-7)
    assert (np.abs(program.rows @ program.y.value) <= 1 + 1e-7).all()
    with pytest.raises(InvalidProblem, match="give a number for each of the 3 coordinates"):
        programs.k_norm(problem, [1.0])


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_bundles_are_a_convex_program(seed: int) -> None:
    """Those of the design, as multiples of them: 1 for each."""
    domain = Domain.of({"a": 2, "b": 3, "c": 2})
    workload = Workload.marginals(domain, [["a"], ["b"], ["c"]])
    relation = metrics.hamming(domain, {"a": 0.5 + seed, "b": 1.0, "c": 2.0})
    problem = Problem(workload, relation)
    program = programs.bundles(problem)
    value = program.cvxpy_problem().solve(solver="CLARABEL")
    assert program.t.value == pytest.approx(np.ones(len(program.t.value)), rel=1e-3)
    assert value == pytest.approx(program.costs.sum(), rel=1e-5) and len(program.t.value) > 1
    with pytest.raises(DesignFailed, match="stated for squared loss"):
        programs.bundles(Problem(workload, relation, loss="max"))
    with pytest.raises(DesignFailed, match="no weights are chosen"):
        programs.bundles(problem, design(problem, "bundles", combine="max").mechanism.norm)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("shape", "adjacency"), [((2, 2), 2), ((2, 3), 2), ((3, 3), 2)])
def test_the_ellipsoid_of_a_lattice_is_that_of_the_family(shape: tuple[int, int], adjacency: int, loss: str) -> None:
    size = shape[0] * shape[1]
    queries = np.random.default_rng(size).integers(0, 3, (4, size)).astype(float)
    problem = Problem(Workload(queries), invariants.margins(shape).protect(1.0, adjacency), loss=loss)
    program = programs.lattice(problem)
    value = program.cvxpy_problem().solve(solver="CLARABEL")
    norm = design(problem, "lattice_laplace", shape="ellipsoid").mechanism.norm
    covariance = np.linalg.inv(norm.factor.T @ norm.factor)
    losses = np.einsum("ki,ij,kj->k", program.answers, covariance, program.answers)
    assert (losses.max() if loss == "max" else losses.sum()) == pytest.approx(value, rel=1e-4)
    with pytest.raises(DesignFailed, match="whose relation keeps an invariant"):
        programs.lattice(random_problem(0))


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("rows", [[[0, 1, 2, 3]], [[0, 3, 5]], [[0, 2, 1, 4, 3]]])
@pytest.mark.parametrize("budget", [1.0, 3.0])
def test_the_dual_of_the_limit_is_the_bound_of_its_coset(rows: list[list[int]], loss: str, budget: float) -> None:
    problem = Problem(Workload(rows), metrics.uniform(len(rows[0]), budget), loss=loss)
    program = programs.limit(problem)
    value = program.cvxpy_problem().solve(solver="HIGHS")
    proven = program.program.bound(program.offset)  # from the multipliers of another solver, rounded down
    assert (1 - 1e-4) * value <= proven <= min(value, program.beyond) * (1 + 1e-9)
    assert value <= design(problem, "staircase", offset="whole").loss * (1 + 1e-6)  # whose noise is on the same coset


def scs_of(numbers: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """A solver of one's own: here SCS by its own package, to ten digits."""
    import scs

    cones = numbers["cones"]
    given = {"z": cones["zero"], "l": cones["nonnegative"], "q": cones["second_order"], "s": cones["semidefinite"]}
    given |= {"ep": cones["exponential"], "p": cones["power"]}
    data = {name: numbers[name] for name in ("A", "b", "c")} | ({} if numbers["P"] is None else {"P": numbers["P"]})
    found = scs.solve(data, given, eps_abs=1e-10, eps_rel=1e-10, max_iters=200_000, verbose=False)
    return (found["x"], found["y"]) if found["info"]["status_val"] == 1 else None


@pytest.mark.parametrize("name", ["laplace", "ellipsoid", "gaussian", "box"])
def test_a_function_of_numbers_is_a_solver(name: str) -> None:
    problem = random_problem(3, "zcdp" if name == "gaussian" else "pure")
    made = design(problem, name, solver=scs_of)
    assert made.privacy.holds and made.loss == pytest.approx(design(problem, name).loss, rel=1e-4)
    assert made.mechanism.provenance["solver"] == "callable scs_of"
    own, theirs = (getattr(programs, name)(problem).solve(solver).value for solver in ("CLARABEL", scs_of))
    assert theirs == pytest.approx(own, rel=1e-5)


def test_what_a_function_hands_back_is_checked() -> None:
    problem = random_problem(3)
    for wrong in (
        lambda numbers: ([1.0], [2.0]),
        lambda numbers: (None, None),
        lambda numbers: (numbers["c"] * np.nan, numbers["b"]),
    ):
        with pytest.raises(InvalidProblem, match="the function must hand back x of"):
            design(problem, "laplace", solver=wrong)
    with pytest.raises(DesignFailed):
        design(problem, "laplace", solver=lambda numbers: None)
    with pytest.raises(InvalidProblem, match="solver: 3 is no solver"):
        design(problem, "laplace", solver=3)
    with pytest.raises(InvalidProblem, match="a function has no options"):
        design(problem, "laplace", solver=scs_of, solver_options={"eps": 1})
    wide = design(problem, "laplace", solver=lambda numbers: (numbers["c"] * 0 + 0.5, numbers["b"] * 0))
    assert wide.privacy.holds  # whatever it says, the noise is private
