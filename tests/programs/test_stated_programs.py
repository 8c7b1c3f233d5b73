"""The programs at the front: what every design says that it solved, whole, with every solver, in any units."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer import (
    DesignFailed,
    Domain,
    InvalidProblem,
    MarginalProblem,
    MarginalWorkload,
    Problem,
    ReportProblem,
    Workload,
    design,
    invariants,
    metrics,
    programs,
)
from designer.base.lazy_imports import at_address
from designer.designing import FAMILIES
from designer.designing.family import in_own_notion

SOLVED = {family.name: family for family in FAMILIES if family.program}
ACCURACY = {"CLARABEL": 1e-6, "SCS": 1e-3}
# Powers of ten by which answers are multiplied, budgets, and answers in units 10^6 apart.
UNITS: dict[str, dict[str, Any]] = {
    "as they are": {},
    **{f"answers times 1e{k}": {"answers": 10.0**k} for k in (-9, -3, 3, 6, 12)},
    "budgets of 1e-6": {"budget": 1e-6},
    "budgets of 50": {"budget": 50.0},
    "columns 1e6 apart": {"columns": (1e-3, 1.0, 1e3)},
}


def problem_in(
    notion: str = "pure", loss: str = "squared", answers: float = 1.0, budget: float = 1.0, columns: Any = 1.0, seed: int = 0
) -> Problem:
    """Three real queries of nine places in the plane."""
    draw = np.random.default_rng(seed)
    matrix = draw.normal(size=(3, 9)) * answers * np.broadcast_to(columns, 3)[:, None]
    relation = metrics.euclidean(draw.random((9, 2)), per_unit=budget)
    return Problem(Workload(matrix), relation, notion=notion, loss=loss, delta=1e-6 if notion == "approximate" else None)


CONVEX = ("laplace", "ellipsoid", "box", "capped_l1", "gaussian", "diagonal_gaussian")
MATRIX = [
    *((name, "CLARABEL", loss, unit) for name in CONVEX for loss in ("squared", "absolute", "max") for unit in UNITS),
    *((name, "SCS", "squared", unit) for name in CONVEX for unit in ("as they are", "answers times 1e6", "budgets of 1e-6")),
]


@pytest.mark.parametrize(("name", "solver", "loss", "unit"), MATRIX)
def test_a_whole_program_is_solved_in_any_units(name: str, solver: str, loss: str, unit: str) -> None:
    """The loss that design reaches with the own solver, where that minimises it; else no worse."""
    problem = problem_in(SOLVED[name].notion, loss, **UNITS[unit])
    made = design(problem, name)
    program = made.program
    value = program.cvxpy_problem().solve(solver=solver)
    exact = made.optimality is not None
    if exact and loss != "absolute":
        assert value == pytest.approx(made.loss, rel=max(ACCURACY[solver], 2 * made.optimality.gap))
    assert value <= made.loss * (1 + ACCURACY[solver])
    assert program.value == pytest.approx(value, rel=ACCURACY[solver])


@pytest.mark.parametrize("notion", ["pure", "zcdp", "approximate"])
@pytest.mark.parametrize("name", CONVEX)
def test_a_named_solver_designs_for_every_notion_that_the_family_serves(name: str, notion: str) -> None:
    family, problem = SOLVED[name], problem_in(notion)
    if not family.serves(problem):
        with pytest.raises(DesignFailed, match="choose another family"):
            design(problem, name, solver="CLARABEL")
        return
    own, made = design(problem, name), design(problem, name, solver="CLARABEL")
    assert made.privacy.holds and made.problem is problem and made.mechanism.delta == problem.delta
    assert made.loss <= own.loss * (1 + 1e-6)
    assert made.mechanism.provenance["solver"] == "CLARABEL" and made.mechanism.provenance["repaired_loss"] == made.loss
    assert made.optimality is not None and made.optimality.lower_bound <= made.loss


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_says_what_it_solves_or_what_is_in_the_place_of_a_program(family: Any) -> None:
    """The address names a program of the right notion; where there is none, a sentence."""
    if address := family.program or family.part:
        program = at_address(address)
        assert program.source and "subject to" in " ".join(program.formula.split())
        assert family.program is None or program.notion == family.notion
    else:
        with pytest.raises(DesignFailed, match="no program states"):
            family.stated()
    assert family.search.endswith(".") or not family.search


def test_a_program_says_what_it_is_before_and_after_the_design() -> None:
    problem = problem_in()
    before, made = programs.of(problem, "laplace"), design(problem, "laplace")
    assert before.value is None and "value" not in before.to_text()
    text = str(made.program)
    assert text.startswith("laplace (DX Theorem 1") and "subject to  sum_k |u_k| w_k <= b" in text
    assert f"value: {made.loss:.9g}" in text and f"bound: {made.optimality.lower_bound:.9g}" in text  # type: ignore[union-attr]
    assert made.program.value == pytest.approx(made.loss, rel=1e-12)
    with pytest.raises(InvalidProblem, match="'auto' tries many"):
        programs.of(problem)
    with pytest.raises(DesignFailed, match="a family of your own states no program"):
        programs.of(problem, "custom")
    with pytest.raises(DesignFailed, match="no program states 'strategy_2'"):
        programs.of(problem, "strategy_2")


PARTS = {
    "k_norm": "which no program chooses",
    "bundles": "searched by merging",
    "capped_l1": "cap is searched",
    "laplace_joint": "convex restrictions",
    "strategy_laplace": "scales for a given reconstruction",
}


@pytest.mark.parametrize("name", PARTS)
def test_a_family_that_is_searched_says_which_part_is_stated(name: str) -> None:
    draw = np.random.default_rng(4)
    problem = Problem(Workload(draw.normal(size=(2, 5))), metrics.euclidean(draw.random((5, 2)), 1.0), records=20)
    assert PARTS[name] in programs.of(problem, name).to_text() and "search: " in programs.of(problem, name).to_text()


def test_solver_is_refused_where_only_a_part_is_a_program_with_the_search_that_surrounds_it() -> None:
    with pytest.raises(InvalidProblem, match=r"no program states family 'bundles' as a whole. Which .* Leave solver out"):
        design(problem_in(), "bundles", solver="CLARABEL")


def test_the_gauge_of_a_vertex_is_one() -> None:
    program = programs.k_norm(problem_in(answers=1e6))
    assert program.solve("HIGHS") == pytest.approx(1.0, rel=1e-7)
    assert program.dual_problem().solve(solver="HIGHS") == pytest.approx(1.0, rel=1e-7)


@pytest.mark.parametrize("answers", [1e-9, 1.0, 1e12])
@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL", "OSQP", "SCIPY"])
def test_linear_programs_are_scaled_for_every_solver_that_takes_them(answers: float, solver: str) -> None:
    """The gauge grows with z in any units."""
    problem = problem_in(answers=answers)
    rows = programs.k_norm(problem).rows
    vector = 3.0 * rows[np.abs(rows).sum(axis=1).argmax()]
    accuracy = 1e-3 if solver == "OSQP" else 1e-6
    assert programs.k_norm(problem, vector).solve(solver) == pytest.approx(3.0, rel=accuracy)


@pytest.mark.parametrize("answers", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("name", ["lattice", "bundles"])
def test_parts_are_scaled_too(name: str, answers: float) -> None:
    domain = Domain.of({"a": 2, "b": 3})
    if name == "bundles":
        workload = Workload(answers * Workload.marginals(domain, [["a"], ["b"]]).dense())
        problem = Problem(workload, metrics.hamming(domain, {"a": 0.5, "b": 2.0}))
        expected = float(programs.bundles(problem).costs.sum())
    else:
        problem = Problem(Workload(answers * np.eye(4)), invariants.margins((2, 2)).protect(1.0, 2))
        expected = 4.0 * answers**2
    assert getattr(programs, name)(problem).solve() == pytest.approx(expected, rel=1e-5)


def test_losses_of_reports_and_budgets_beyond_floats_leave_a_channel_as_it_is() -> None:
    small = ReportProblem(metrics.uniform(3, 1.0), loss="zero_one")
    value = programs.channel(small).cvxpy_problem().solve(solver="HIGHS")
    made = design(small, "channel")
    assert value == pytest.approx(made.loss, rel=1e-9)
    assert made.program.value == pytest.approx(made.loss, rel=1e-9) and made.program.bound <= made.loss
    wide = programs.channel(ReportProblem(metrics.uniform(3, 60.0), loss="zero_one"))
    assert wide.cvxpy_problem().solve(solver="CLARABEL") == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_a_named_solver_designs_marginals(solver: str) -> None:
    domain = Domain.of({"a": 2, "b": 3, "c": 2})
    problem = MarginalProblem(MarginalWorkload.of(domain, [["a", "b"], ["c"]]), metrics.hamming(domain, [0.5, 1.0, 0.7]))
    own, made = design(problem, "residual"), design(problem, "residual", solver=solver)
    assert made.privacy.holds and made.loss == pytest.approx(own.loss, rel=ACCURACY[solver])
    assert own.program.value == pytest.approx(own.loss, rel=1e-6)
    with pytest.raises(InvalidProblem, match="use 'residual' without targets"):
        design(problem, "structured", solver=solver)


def test_a_box_states_the_absolute_error_of_answers_of_one_coordinate() -> None:
    """`E|z|` of a point of the unit cube times a Gamma radius: (s + 1) / 2 for each side, and no standard error."""
    problem = problem_in(loss="absolute")
    made = design(problem, "box")
    program = made.program
    sides = problem.sensitivity().worst_coordinates()
    assert program.value == pytest.approx(2.0 * sides.sum(), rel=1e-6) and program.loss_is_exact
    assert program.cvxpy_problem().solve() == pytest.approx(made.loss, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_cut_corners_have_the_best_sides_for_their_cap(loss: str, seed: int) -> None:
    """Queries of sizes that differ a hundred times: sides that are no mean of the box and of Laplace noise. Their 12 digits in
    binary cost less than 3e-4."""
    problem = problem_in(loss=loss, columns=(0.1, 1.0, 10.0), seed=seed)
    made = design(problem, "capped_l1")
    assert made.loss <= made.program.cvxpy_problem().solve() * (1 + 3e-4)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(6))
def test_a_strategy_is_found_where_searches_end_in_rows_that_determine_nothing(seed: int) -> None:
    draw = np.random.default_rng([7, seed])
    matrix = draw.normal(size=(4, 5)) * 10.0 ** draw.integers(-6, 7, 4)[:, None]
    problem = Problem(Workload(matrix), metrics.euclidean(draw.random((5, 2)), 2.0))
    made = design(problem, "strategy_laplace", effort="quick")
    assert made.privacy.holds and made.loss <= design(problem, "laplace").loss * (1 + 1e-5)


def test_what_is_preprocessed_is_what_is_answered() -> None:
    """c Q' is the effective matrix, and what Q' moves is within the metric, pair by pair, by an exact sum."""
    draw = np.random.default_rng(0)
    points = draw.random((4, 2))
    problem = Problem(Workload(draw.normal(size=(2, 4))), metrics.euclidean(points, 2.0), records=20)
    for name in ("laplace", "laplace_joint"):
        mechanism = design(problem, name).mechanism
        rows, c = mechanism.preprocessing
        assert not rows.flags.writeable and not c.flags.writeable
        assert c == pytest.approx(mechanism.scales, rel=1e-15)  # type: ignore[attr-defined]
        assert c[:, None] * rows == pytest.approx(mechanism.effective, rel=1e-15)
        for i, j in itertools.combinations(range(4), 2):
            moved = sum(abs(Fraction(rows[k, i]) - Fraction(rows[k, j])) for k in range(2))
            assert float(moved) <= 2.0 * np.linalg.norm(points[i] - points[j]) * (1 + 1e-12)
    rows, c = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "k_norm").mechanism.preprocessing
    assert np.array_equal(rows, np.eye(3)) and np.array_equal(c, np.ones(3))


@pytest.mark.parametrize(
    ("solver", "error", "text"),
    [
        ("MOSEC", InvalidProblem, "'MOSEC' is not an installed solver of CVXPY; use one of"),
        ("OSQP", DesignFailed, "OSQP cannot take a program of this kind; installed ones that can: .*CLARABEL"),
        (lambda numbers: None, DesignFailed, "the status is 'no answer': the function found no answer"),
    ],
)
def test_a_solver_that_has_no_answer_is_told_with_the_remedy(solver: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        design(problem_in(), "laplace", solver=solver)


def test_side_constraints_that_contradict_are_told_in_any_units() -> None:
    for answers in (1.0, 1e6):
        problem = problem_in("zcdp", answers=answers)
        program = programs.diagonal_gaussian(problem)
        alone = problem.sensitivity().worst_coordinates()[0] ** 2
        program.subject_to(program.variances[0] <= alone / 2, name="too good")
        with pytest.raises(DesignFailed, match=r"'too good'.*cannot hold while every pair keeps its budget"):
            program.design()


@pytest.mark.parametrize("name", CONVEX)
def test_an_answer_that_is_not_private_is_repaired_before_it_is_frozen(name: str) -> None:
    """A function that claims no noise at all: what is frozen is private, or nothing is."""
    problem = problem_in(SOLVED[name].notion)

    def silent(numbers: Any) -> Any:
        return np.full(len(numbers["c"]), 1e6), np.zeros(len(numbers["b"]))

    try:
        made = design(problem, name, solver=silent)
    except (DesignFailed, InvalidProblem):
        return
    assert made.privacy.holds and made.loss >= design(problem, name).loss * (1 - 1e-2)


def test_the_problem_of_a_weaker_notion_is_stated_with_its_lengths() -> None:
    problem = problem_in("approximate")
    for name in ("laplace", "gaussian"):
        made = design(problem, name)
        assert programs.of(problem, name).question.notion == SOLVED[name].notion  # type: ignore[attr-defined]
        assert in_own_notion(SOLVED[name], problem).delta is None
        assert made.program.value == pytest.approx(made.loss, rel=1e-5)
