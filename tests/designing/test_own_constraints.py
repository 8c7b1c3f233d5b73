"""Constraints and objectives of the user's own: held at the frozen noise, against brute force, and refused in words."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, load, metrics, programs
from designer.programs import conflicts, rounds
from designer.programs import program as base


def ring(queries: int = 3, **given: Any) -> Problem:
    """Counts of which any two may move together: `w_i + w_j <= 1` for all i, j."""
    names = ["north", "south", "east", "west"][:queries]
    return Problem(Workload(np.eye(queries), queries=names), metrics.uniform(queries, 1.0), **given)


def geometric(weight: float) -> float:
    """The variance of the law `P(z) ~ exp(-w |z|)` on the whole numbers."""
    return 1 / (2 * math.sinh(weight / 2) ** 2)


def scattered(seed: int, loss: str = "squared") -> Problem:
    generator = np.random.default_rng(seed)
    return Problem(
        Workload(generator.random((4, 9))),
        metrics.euclidean(generator.random((9, 2)), per_unit=2.0),
        loss=loss,  # type: ignore[arg-type]
        weights=generator.random(4) + 0.5,
    )


def by_brute_force(problem: Problem, own: Any, objective: Any = None) -> float:
    """One program over all pairs, stated here: own(w, variances) gives constraints, objective(variances) what is minimised."""
    rows = np.abs(problem.sensitivity().all_pairs().normalised)
    w = cp.Variable(rows.shape[1], pos=True)
    variances = 2 * cp.power(w, -2)
    loss = cp.sum(cp.multiply(problem.costs, variances)) if objective is None else objective(variances)
    problem = cp.Problem(cp.Minimize(loss), [rows @ w <= 1, *own(w, variances)])
    # At the default of 1e-8 the values of w break caps and pairs by 1e-6, and the loss is too small by as much.
    return float(problem.solve(solver="CLARABEL", tol_gap_rel=1e-11, tol_gap_abs=1e-11, tol_feas=1e-11))


# Caps, ratios, shares -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_caps_that_bind_are_held_exactly_and_the_loss_is_that_of_brute_force(seed: int) -> None:
    problem = scattered(seed)
    free = design(problem, "laplace").mechanism.query_variances()
    caps = free * np.array([0.8, 10, 10, 1.1])
    program = programs.laplace(problem)
    made = program.variance_at_most(0, caps[0]).variance_at_most("q3", caps[3], name="cap on the last").design()
    variances = made.mechanism.query_variances()
    assert made.privacy.holds and variances[0] <= caps[0] and variances[3] <= caps[3]
    assert variances[0] == pytest.approx(caps[0], rel=1e-5)
    expected = by_brute_force(problem, lambda w, v: [v[0] <= caps[0], v[3] <= caps[3]])
    assert made.loss == pytest.approx(expected, rel=2e-6)
    assert made.optimality is not None and made.optimality.gap < 1e-5
    assert made.optimality.lower_bound <= expected * (1 + 1e-6) and made.optimality.objective.endswith("the user's own")


def test_a_norm_whose_slopes_the_installed_version_does_not_have_is_minimised_all_the_same() -> None:
    problem = scattered(3)
    program = programs.laplace(problem)
    made = program.minimise(cp.norm(program.standard_errors, 4)).design()
    expected = by_brute_force(problem, lambda w, v: [], lambda v: cp.sum(cp.square(v)))
    assert made.privacy.holds
    assert float((made.mechanism.query_variances() ** 2).sum()) == pytest.approx(expected, rel=1e-5)


def test_two_caps_leave_the_rest_of_the_budget_by_hand() -> None:
    """`w_north = w_south = 1/2` by caps; then `w_east <= 1/2` too, and its variance is theirs."""
    program = programs.laplace(ring())
    program.subject_to([program.variances[0] <= geometric(0.5), program.variances[1] <= geometric(0.5)])
    assert program.solve().value == pytest.approx(3 * geometric(0.5), rel=1e-6)
    lighter = programs.laplace(ring())
    made = lighter.variance_at_most("north", geometric(0.7)).design()
    assert made.mechanism.scales == pytest.approx([1 / 0.7, 1 / 0.3, 1 / 0.3], rel=1e-5)


def test_equal_scales_ratios_and_standard_errors_are_linear_or_convex_in_w() -> None:
    problem = scattered(1)
    made = programs.laplace(problem).equal_scales(["q0", "q2"]).design()
    scales = made.mechanism.scales
    assert scales[0] == pytest.approx(scales[2], rel=1e-6)
    assert made.loss == pytest.approx(by_brute_force(problem, lambda w, v: [w[0] == w[2]]), rel=1e-5)
    made = programs.laplace(problem).scale_ratio_at_most("q1", "q0", 0.5).design()
    assert made.mechanism.scales[1] <= 0.5 * made.mechanism.scales[0] * (1 + 1e-9)
    assert made.loss == pytest.approx(by_brute_force(problem, lambda w, v: [w[0] <= 0.5 * w[1]]), rel=1e-5)
    program = programs.laplace(problem)
    made = program.subject_to(program.standard_errors[2] <= 7.0).design()
    assert made.mechanism.query_variances()[2] <= 49.0


def test_a_share_of_the_budget_for_a_block_is_that_of_the_worst_pair() -> None:
    """North and south together at most 0.3 of any pair's budget: 0.15 each; east and west share 1 between them."""
    program = programs.laplace(ring(4))
    share = program.budget_share(["north", "south"])
    made = program.subject_to(share <= 0.3, name="a third").design()
    assert 1 / made.mechanism.scales == pytest.approx([0.15, 0.15, 0.5, 0.5], rel=2e-4)
    assert share.value <= 0.3 and made.optimality is not None and made.optimality.gap < 1e-5
    pairs = made.mechanism.sensitivity().all_pairs()
    used = (np.abs(pairs.differences)[:, :2] @ made.mechanism.norm.map[:2] / pairs.budgets).max()
    assert 0.3 * (1 - 1e-6) < used <= share.value


def test_shares_of_blocks_can_be_compared_with_each_other() -> None:
    """North gets a third of what south and east have: `w = (1/3, 1/2, 1/2)`, and west 1/2."""
    program = programs.laplace(ring(4))
    some, others = program.budget_share([0]), program.budget_share(["south", "east"])
    made = program.subject_to(others == 3 * some).design()
    assert others.value == pytest.approx(3 * some.value, rel=1e-5)
    assert 1 / made.mechanism.scales == pytest.approx([1 / 3, 1 / 2, 1 / 2, 1 / 2], rel=1e-3)


def test_a_cone_of_cvxpy_is_a_constraint_like_others() -> None:
    """`|w|_2 <= 0.6`: by symmetry weights are `0.6 / 3^(1/2)`. A cone adds nothing to the bound."""
    expected = 3 * geometric(0.6 / math.sqrt(3))
    program = programs.laplace(ring())
    made = program.subject_to(cp.SOC(cp.Constant(0.6), program.w), name="cone").design()
    assert made.loss == pytest.approx(expected, rel=1e-5) and made.privacy.holds
    assert made.optimality is not None and 0 < made.optimality.lower_bound <= 3 * geometric(0.5)
    other = programs.laplace(ring())
    made = other.subject_to(cp.norm(other.w) <= 0.6).design()
    assert made.loss == pytest.approx(expected, rel=1e-5) and made.optimality is not None and made.optimality.gap < 1e-5


def test_a_loss_that_is_a_largest_one_keeps_its_bound_under_constraints() -> None:
    problem = scattered(2, "max")
    free = design(problem, "laplace").mechanism.query_variances()
    program = programs.laplace(problem)
    made = program.subject_to(program.variances[0] <= 0.7 * free[0]).design()
    expected = by_brute_force(problem, lambda w, v: [v[0] <= 0.7 * free[0]], lambda v: cp.max(cp.multiply(problem.costs, v)))
    assert made.loss == pytest.approx(expected, rel=1e-6)
    assert made.optimality is not None and made.optimality.gap < 1e-5


# Objectives -----------------------------------------------------------------------------------------------------------


def test_another_objective_is_minimised_and_its_value_is_noted_with_a_bound() -> None:
    problem = scattered(3)
    program = programs.laplace(problem)
    goal = cp.sum(cp.power(program.variances, 2)) + 5 * cp.max(program.standard_errors)
    made = program.minimise(goal).design()
    expected = by_brute_force(problem, lambda w, v: [], lambda v: cp.sum(cp.power(v, 2)) + 5 * cp.sqrt(2) * 0)
    assert float(goal.value) > expected  # the second term is left out there
    noted = made.optimality
    assert noted is not None and noted.value == pytest.approx(float(goal.value)) and noted.gap < 1e-4
    assert "standard_errors" in noted.objective and made.mechanism.provenance["objective"].startswith("Sum(")
    # No small step that stays private is better.
    rows, best = np.abs(problem.sensitivity().all_pairs().normalised), np.array(program.w.value)
    for step in np.random.default_rng(0).standard_normal((50, 4)):
        moved = best * (1 + 1e-3 * step)
        program.w.save_value(moved / (rows @ moved).max())
        assert float(goal.value) >= noted.value * (1 - 1e-9)


def test_standard_errors_in_the_objective_are_the_absolute_loss() -> None:
    problem, absolute = scattered(4), scattered(4, "absolute")
    program = programs.laplace(problem)
    made = program.minimise(cp.Minimize(problem.costs @ program.standard_errors)).design()
    assert problem.costs @ made.mechanism.query_mean_absolutes() == pytest.approx(design(absolute, "laplace").loss, rel=1e-6)


def test_variables_that_the_user_brings_along_are_fitted_to_the_frozen_noise() -> None:
    problem = scattered(5)
    program, highest = programs.laplace(problem), cp.Variable(name="highest")
    made = program.subject_to(program.standard_errors <= highest).minimise(highest).design()
    largest = np.sqrt(made.mechanism.query_variances().max())
    assert highest.value == pytest.approx(largest, rel=1e-5)
    unweighted = Problem(problem.workload, problem.relation, loss="max")
    assert largest**2 == pytest.approx(design(unweighted, "laplace").loss, rel=1e-5)
    with pytest.raises(DesignFailed, match="no least value; add a constraint"):
        programs.laplace(problem).minimise(highest).solve()


@pytest.mark.parametrize("said", ["infeasible", "optimal", "broke down"])
@pytest.mark.parametrize("cap", [1.0, 3.0])
def test_a_solver_that_has_no_fit_for_the_variables_of_the_user_leaves_their_values(
    said: str, cap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it says, with or without values: the constraints are measured at those that the variables have."""
    problem = scattered(5)
    least = float(np.sqrt(design(Problem(problem.workload, problem.relation, loss="max"), "laplace").loss))

    def lost(program: cp.Problem, *_: object) -> str:
        for variable in program.variables():
            variable.save_value(None)
        return said

    program, highest = programs.laplace(problem), cp.Variable(name="highest")
    monkeypatch.setattr("designer.programs.program.solve_with", lost)
    made = program.subject_to(program.standard_errors <= highest, highest <= cap * 1.01 * least).minimise(highest).design()
    largest = np.sqrt(made.mechanism.query_variances().max())
    assert made.privacy.holds and largest <= float(highest.value) * (1 + 1e-6) <= cap * 1.01 * least * (1 + 1e-5)


def test_a_linear_program_goes_to_solvers_of_linear_programs() -> None:
    problem = scattered(0)
    values = []
    for solver in ("HIGHS", "CLARABEL", "scipy"):
        program = programs.laplace(problem)
        values.append(program.minimise(-cp.sum(program.w)).solve(solver=solver).value)
    assert values == pytest.approx([values[0]] * 3, rel=1e-6)


def test_an_objective_that_leaves_a_query_out_is_no_design() -> None:
    program = programs.laplace(ring())
    with pytest.raises(DesignFailed, match="no weight, that is noise without bound"):
        program.minimise(program.variances[0]).design()
    assert program.variance_at_most("south", 50).variance_at_most("east", 50).design().privacy.holds


# The frozen noise -----------------------------------------------------------------------------------------------------


def test_what_repair_breaks_is_taken_up_by_a_second_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver answers up to 1e-8, or 1e-3; a cap must hold exactly for the mechanism that was frozen."""
    monkeypatch.setattr(base.Program, "_accepts", lambda self, answer: answer.usable)
    capped = programs.laplace(ring()).variance_at_most("north", 5.0, name="cap")
    rough = capped.design(solver="SCS", eps=1e-3)
    assert rough.mechanism.query_variances()[0] <= 5.0 and rough.privacy.holds
    monkeypatch.setattr(base, "ATTEMPTS", 1)
    once = programs.laplace(ring()).variance_at_most("north", 5.0, name="cap")
    with pytest.raises(DesignFailed, match=r"the frozen mechanism breaks 'cap' by .* of its terms, because the answer of SCS"):
        once.design(solver="SCS", eps=1e-3)


def test_a_mechanism_that_was_designed_under_constraints_is_saved_and_loaded(tmp_path: Path) -> None:
    made = programs.laplace(ring()).variance_at_most("north", 5.0, name="cap").design()
    loaded = load(made.mechanism.save(tmp_path / "spec.json"))
    assert loaded.fingerprint == made.mechanism.fingerprint
    assert list(loaded.provenance["constraints"]) == ["cap: variances['north'] <= 5.0"]


# Conflicts ------------------------------------------------------------------------------------------------------------


def test_caps_that_contradict_each_other_are_named_and_the_relaxation_is_that_by_hand() -> None:
    """Both caps ask for 2/3 of the budget; one alone must become what 1/3 gives. That on east is innocent."""
    program = programs.laplace(ring())
    program.variance_at_most("north", geometric(2 / 3), name="north of interest").variance_at_most("south", geometric(2 / 3))
    program.variance_at_most("east", 100.0, name="innocent")
    with pytest.raises(DesignFailed) as refused:
        program.design()
    said = str(refused.value)
    caps = f"(variances['north'] <= {geometric(2 / 3)}) and variances['south'] <= {geometric(2 / 3)}"
    assert f"'north of interest' {caps} cannot hold together" in said
    assert "while every pair keeps its budget" in said and "innocent" not in said
    relaxed = [float(part.split()[0].rstrip(",.")) for part in said.split("to at most ")[1:]]
    assert relaxed == pytest.approx([geometric(1 / 3)] * 2, rel=1e-3)


@pytest.mark.nightly
def test_the_relaxation_that_is_offered_is_enough_and_a_hundredth_less_is_not() -> None:
    problem = scattered(1)
    free = design(problem, "laplace").mechanism.query_variances()

    def capped(first: float) -> Any:
        program = programs.laplace(problem).variance_at_most(0, first, name="one")
        return program.variance_at_most(1, 0.155 * free[1], name="two").solve

    with pytest.raises(DesignFailed, match=r"'one' .* and 'two' .* cannot hold together") as refused:
        capped(0.075 * free[0])()
    enough = float(str(refused.value).split("Relax 'one' to at most ")[1].split(",")[0])
    assert capped(enough)().status.startswith("optimal")
    with pytest.raises(DesignFailed, match="cannot hold together"):
        capped(0.99 * enough)()


def tight(first: float) -> tuple[Any, float]:
    """A program with two caps of which the second leaves the first next to nothing, and the least that the first can be: the
    weight of a query is largest on the polytope of all pairs, a linear program."""
    problem = scattered(1)
    free = design(problem, "laplace").mechanism.query_variances()
    rows, second = np.abs(problem.sensitivity().all_pairs().normalised), 0.155 * free[1]
    bounds = [(0, None), (math.sqrt(2 / second), None), (0, None), (0, None)]
    weights = linprog([-1, 0, 0, 0], A_ub=rows, b_ub=np.ones(len(rows)), bounds=bounds).x
    program = programs.laplace(problem).variance_at_most(0, first * free[0], name="one")
    return program.variance_at_most(1, second, name="two"), float(2 / weights[0] ** 2)


def test_the_cap_that_is_offered_is_that_of_a_linear_program() -> None:
    """Where 0.003 of the budget is left, so that a solver's accuracy of 1e-5 would be 5 % of the cap."""
    program, least = tight(0.075)
    with pytest.raises(DesignFailed) as refused:
        program.solve()
    offered = float(str(refused.value).split("Relax 'one' to at most ")[1].split(",")[0])
    assert least < offered < 1.001 * least


@pytest.mark.parametrize("ending", ["broke down", "infeasible", "optimal_inaccurate", "user_limit"])
@pytest.mark.nightly
def test_what_a_user_is_told_does_not_depend_on_how_the_solver_says_that_it_ended(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default solver always ends with one word; a conflict stays the same conflict, and what is feasible is designed."""

    solve = rounds.solve_with

    def ends(posed: Any, solver: str, options: Any) -> str:
        said = solve(posed, solver, options)
        return ending if solver == "CLARABEL" else said

    def asked() -> tuple[str, float]:
        program = programs.laplace(ring())
        program.variance_at_most("north", geometric(2 / 3), name="north").variance_at_most("south", 6.0, name="south")
        with pytest.raises(DesignFailed) as refused:
            program.design()
        program = programs.laplace(ring()).variance_at_most("north", geometric(0.7))
        return str(refused.value), program.design().loss

    told, loss = asked()
    assert "'north' (" in told and "cannot hold together while every pair keeps its budget. Relax 'north' to at most" in told
    monkeypatch.setattr(rounds, "solve_with", ends)
    said, reached = asked()
    assert said.split("Relax")[0] == told.split("Relax")[0] and reached == pytest.approx(loss, rel=1e-5)
    amounts = [[float(part.split()[0].rstrip(",.")) for part in words.split("to at most ")[1:]] for words in (said, told)]
    assert len(amounts[0]) == 2 and amounts[0] == pytest.approx(amounts[1], rel=2e-3)


@pytest.mark.parametrize("seed", range(8))
def test_a_bound_on_what_must_give_way_is_below_every_point(seed: int) -> None:
    """Random caps: the bound from multipliers, each moved at random, is below the sum of what any private weights break."""
    generator = np.random.default_rng(seed)
    problem = scattered(seed)
    program = programs.laplace(problem)
    free = design(problem, "laplace").mechanism.query_variances()
    program.subject_to(program.variances <= free * generator.uniform(0.05, 0.6, 4), name="caps")
    own = program._own
    weights = [stated.weights() for stated in own]
    found = [given.least for given in conflicts._answers(program, (), own)]
    rows = np.abs(problem.sensitivity().all_pairs().normalised)
    for _ in range(2000):
        w = generator.exponential(size=4) ** generator.uniform(0.2, 3)
        program.w.save_value(w / (rows @ w).max())
        assert max(found) <= sum(float(stated.slack(weight).sum()) for stated, weight in zip(own, weights, strict=True))
    assert conflicts.least_violation(program, own) <= max(0.0, max(found)) * (1 + 1e-3) + 1e-6


def test_entries_of_a_vector_of_caps_are_told_by_query() -> None:
    """Caps that differ are told one by one, and those that are told are enough."""
    caps = np.array([4.5, 4.5, 100.0])
    program = programs.laplace(ring())
    program.subject_to(program.variances <= caps, name="caps")
    with pytest.raises(DesignFailed, match=r"'caps' .* cannot hold while every pair.*Relax 'caps': variances\[") as refused:
        program.solve()
    for name, amount in re.findall(r"variances\['(\w+)'\] by ([\d.]*\d)", str(refused.value)):
        caps[["north", "south", "east"].index(name)] += float(amount)
    program = programs.laplace(ring())
    assert program.subject_to(program.variances <= caps).solve().status.startswith("optimal")


@pytest.mark.nightly
def test_one_cap_for_many_answers_is_offered_as_one_number_that_is_enough() -> None:
    """All ranges of 6 elements; the least cap that all can have is a program stated here."""
    problem = Problem(Workload.all_ranges(6), metrics.add_remove(6, 1.0), notion="zcdp")
    queries = problem.workload.dense()
    shape = cp.Variable((6, 6), PSD=True)
    largest = cp.max(cp.hstack([cp.matrix_frac(query, shape) for query in queries]))
    least = math.sqrt(cp.Problem(cp.Minimize(largest), [cp.diag(shape) <= 1]).solve(solver="CLARABEL"))

    def capped(cap: float) -> Any:
        program = programs.gaussian(problem)
        return program.subject_to(program.standard_errors <= cap, name="cap").design

    with pytest.raises(DesignFailed, match=r"'cap' .* cannot hold while every pair keeps its budget") as refused:
        capped(1.3)()
    offered = float(str(refused.value).split("Relax 'cap' to at most ")[1].split(",")[0].rstrip("."))
    assert least < offered < 1.001 * least
    assert capped(offered)().mechanism.standard_errors().max() <= offered


def test_the_largest_of_several_errors_is_capped_as_each_of_them() -> None:
    """`max(x) <= c` is `x <= c`, and so refused with the same proof and the same remedy."""

    def refused(cap: Any) -> str:
        program = programs.laplace(ring())
        with pytest.raises(DesignFailed) as found:
            program.subject_to(cap(program.standard_errors), name="cap").design()
        return str(found.value).replace("max(standard_errors)", "standard_errors")

    said = refused(lambda errors: cp.max(errors) <= 2.0)
    assert said == refused(lambda errors: errors <= 2.0) and "Relax 'cap' to at most 2.8" in said


def test_entries_that_are_not_listed_are_counted() -> None:
    program = programs.laplace(Problem(Workload(np.eye(6)), metrics.uniform(6, 1.0)))
    program.subject_to(program.variances <= np.arange(4.0, 4.6, 0.1), name="tight")
    with pytest.raises(DesignFailed, match=r"Relax 'tight': .* by .*, and 2 more entries\."):
        program.solve()


def test_constraints_that_contradict_each_other_without_privacy_are_told_apart() -> None:
    program = programs.laplace(ring())
    program.subject_to(program.w[0] >= 0.6, name="at least").subject_to(program.w[0] <= 0.4, name="at most")
    with pytest.raises(DesignFailed, match=r"cannot hold together even without privacy. Relax 'at least' to at least 0\.3999"):
        program.solve()


def test_an_equality_that_contradicts_is_told_with_the_amount() -> None:
    program = programs.laplace(ring())
    with pytest.raises(DesignFailed, match=r"w\['north'\] == 2.0 cannot hold while every pair .* by 1\.001"):
        program.subject_to(program.w[0] == 2.0).solve()


# Refusals -------------------------------------------------------------------------------------------------------------


def test_what_is_not_convex_is_refused_with_the_expression_at_fault() -> None:
    program = programs.laplace(ring())
    with pytest.raises(InvalidProblem, match=r"\"variances\['north'\]\" is convex, and what is at least something must be"):
        program.subject_to(program.variances[0] >= 4)
    with pytest.raises(InvalidProblem, match=r"scales\['south'\].*is neither convex nor concave"):
        program.subject_to(program.scales[1] * program.w[0] <= 4)
    with pytest.raises(InvalidProblem, match="both sides of an equality must be affine"):
        program.subject_to(program.variances[0] == 4)
    with pytest.raises(InvalidProblem, match=r"objective: .* is not convex"):
        program.minimise(-program.variances[0])
    assert program.is_standard


@pytest.mark.parametrize("given", [True, 3.0, "w <= 1"])
def test_what_is_no_constraint_is_refused(given: Any) -> None:
    with pytest.raises(InvalidProblem, match="is no constraint; compare an expression"):
        programs.laplace(ring()).subject_to(given)


def test_parameters_without_values_integers_and_other_programs_are_refused() -> None:
    program, other = programs.laplace(ring()), programs.laplace(ring())
    cap = cp.Parameter(name="cap")
    with pytest.raises(InvalidProblem, match="has the parameter 'cap' without a value"):
        program.subject_to(program.variances[0] <= cap)
    cap.value = 5.0
    assert program.subject_to(program.variances[0] <= cap).design().mechanism.query_variances()[0] <= 5.0
    with pytest.raises(InvalidProblem, match=r"^constraints: 'w' is of another program"):
        program.subject_to(other.variances[0] <= 5)
    with pytest.raises(InvalidProblem, match=r"^objective: 'w' is of another program"):
        program.minimise(other.loss)
    with pytest.raises(InvalidProblem, match="has the integer variable 'n'"):
        program.subject_to(program.w[0] <= cp.Variable(integer=True, name="n"))


def test_objectives_of_several_numbers_are_refused() -> None:
    program = programs.laplace(ring())
    with pytest.raises(InvalidProblem, match="is no expression of one number"):
        program.minimise(program.variances)
    with pytest.raises(InvalidProblem, match="is no expression of one number"):
        program.minimise(3)


def test_unknown_solvers_options_queries_and_values_are_refused_by_name() -> None:
    program = programs.laplace(ring())
    with pytest.raises(InvalidProblem, match=r"solver: 'GUROBI' is not an installed solver of CVXPY; use one of \['CLARABEL'"):
        program.solve(solver="GUROBI")
    with pytest.raises(InvalidProblem, match=r"options: CLARABEL does not take {'tolerance': 1}"):
        program.solve(tolerance=1)
    with pytest.raises(DesignFailed, match=r"HIGHS cannot take a program of this kind; .*.*'CLARABEL'.*'SCS'\]"):
        program.solve(solver="HIGHS")
    with pytest.raises(InvalidProblem, match="query: 'nord' is unknown; use one of"):
        program.variance_at_most("nord", 3.0)
    with pytest.raises(InvalidProblem, match=r"value: -3.0 is not a positive finite number"):
        program.variance_at_most("north", -3.0)
    with pytest.raises(InvalidProblem, match="rows: 1 given; name at least two"):
        program.equal_scales(["north"])
    with pytest.raises(InvalidProblem, match="rows: none given"):
        program.budget_share([])
